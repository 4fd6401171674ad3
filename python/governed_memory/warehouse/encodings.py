"""Encodings of facts, kept in a DuckDB file as float arrays of fixed size, so that what a model made of a fact is made once (rule M12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from governed_memory.errors import BusyError, InputError
from governed_memory.warehouse.connection import connect

if TYPE_CHECKING:
    import numpy


# How many rows are exported at most for one that is wanted.
DENSE = 2


class Encodings:
    """The encodings of one model: {fingerprint of a fact: array of `size` floats}."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, model_fingerprint: str, size: int) -> None:
        """Those of a model in a database; their table is made where there is none."""
        self._connection, self._model, self._size, self._table = connection, model_fingerprint, size, f"encodings_{size}"
        connection.execute(
            f"create table if not exists {self._table} ("
            f"cell_fingerprint varchar, model_fingerprint varchar, encoding float[{size}] not null, primary key (cell_fingerprint, model_fingerprint))"
        )

    def missing(self, fingerprints: Sequence[str]) -> list[str]:
        """Those that are not kept yet, each once, in their order."""
        sql = f"select cell_fingerprint from {self._table} where model_fingerprint = $model and cell_fingerprint in (select unnest($names::varchar[]))"
        found = self._connection.execute(sql, {"model": self._model, "names": list(fingerprints)}).fetchall()
        kept = {name for (name,) in found}
        return [name for name in dict.fromkeys(fingerprints) if name not in kept]

    def keep(self, encoded: Mapping[str, Sequence[float]]) -> None:
        """Keep what is not kept yet: all of it, or nothing where this is cut off."""
        self._connection.execute("begin")
        try:
            for name, encoding in encoded.items():
                sql = f"insert into {self._table} values ($name, $model, $encoding::float[{self._size}])"
                self._connection.execute(sql, {"name": name, "model": self._model, "encoding": list(encoding)})
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")

    def array(self, fingerprints: Sequence[str]) -> numpy.ndarray[Any, Any]:
        """[facts, size], in the order of the fingerprints.

        Where they are kept side by side in that order, as when they were kept for this list first, it is the memory that DuckDB's Arrow export wrote, not
        copied and so not to be written to; else that is put in order once.

        Raises:
            InputError: one of them is not kept.
        """
        import numpy

        wanted = self._rows(fingerprints)
        if len(wanted) != len(fingerprints):
            raise InputError(f"encodings: {len(fingerprints) - len(wanted)} of {len(fingerprints)} facts are not encoded by this model; run it again")
        found, array = self._export(wanted)
        if numpy.array_equal(found, wanted):
            return array
        order = numpy.argsort(found)
        ordered: numpy.ndarray[Any, Any] = array[order[numpy.searchsorted(found[order], wanted)]]
        return ordered

    def _rows(self, fingerprints: Sequence[str]) -> numpy.ndarray[Any, Any]:
        """The rowids of those that are kept, in the order of the fingerprints. Found apart from the encodings, which would be slow to join and to sort."""
        import numpy

        asked = {"name": numpy.array(fingerprints, dtype=object), "place": numpy.arange(len(fingerprints))}
        sql = (
            f"select asked.place, encodings.rowid from asked inner join {self._table} as encodings "
            "on asked.name = encodings.cell_fingerprint and encodings.model_fingerprint = $model"
        )
        with self._registered("asked", asked):
            found = self._connection.execute(sql, {"model": self._model}).fetchnumpy()
        return found["rowid"][numpy.argsort(found["place"])]

    def _export(self, rows: numpy.ndarray[Any, Any]) -> tuple[numpy.ndarray[Any, Any], numpy.ndarray[Any, Any]]:
        """Rowids, and their encodings, in the order in which DuckDB gives them."""
        import polars

        first, last = (int(rows.min()), int(rows.max())) if rows.size else (0, -1)
        scan = f"select rowid, encoding from {self._table} where rowid between {first} and {last}"
        with self._registered("wanted", {"row": rows}):
            # Where most of what lies between is wanted, all of it is the quicker export.
            is_dense = last - first < DENSE * rows.size
            frame = polars.DataFrame(self._connection.sql(scan if is_dense else f"{scan} and rowid in (select wanted.row from wanted)"))
        # Several chunks are one memory only after a copy; DuckDB exports a result of up to a million rows as one.
        return frame["rowid"].to_numpy(), frame["encoding"].rechunk().to_numpy(allow_copy=False)

    @contextmanager
    def _registered(self, name: str, columns: Mapping[str, numpy.ndarray[Any, Any]]) -> Iterator[None]:
        """Arrays as a table, which DuckDB reads where they are; long lists as parameters take it longer than the query does."""
        self._connection.register(name, columns)
        try:
            yield
        finally:
            self._connection.unregister(name)


@contextmanager
def encodings_kept(path: Path | None, model_fingerprint: str, size: int) -> Iterator[Encodings]:
    """The encodings of a model in a file, which is made where there is none; in memory without one.

    Raises:
        BusyError: another process holds the file.
        InputError: it is no DuckDB database, or cannot be written.
    """
    try:
        connection = connect(path or ":memory:")
    except duckdb.Error as error:
        if "lock" in str(error):
            raise BusyError(f"{path}: another process holds the encodings; wait for its run to end") from error
        raise InputError(f"{path}: cannot be opened as a DuckDB database; name another folder, or remove the file: encodings are made again") from error
    with connection:
        yield Encodings(connection, model_fingerprint, size)
