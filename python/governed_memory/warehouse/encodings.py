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

    def relation(self, fingerprints: Sequence[str]) -> duckdb.DuckDBPyRelation:
        """The encodings that are kept of these, in their order, as one column."""
        sql = (
            f"select encodings.encoding from (select unnest($names::varchar[]) as name, generate_subscripts($names::varchar[], 1) as place) as wanted "
            f"inner join {self._table} as encodings on wanted.name = encodings.cell_fingerprint and encodings.model_fingerprint = $model order by wanted.place"
        )
        return self._connection.sql(sql, params={"model": self._model, "names": list(fingerprints)})

    def array(self, fingerprints: Sequence[str]) -> numpy.ndarray[Any, Any]:
        """[facts, size], in the order of the fingerprints: the memory that DuckDB's Arrow export wrote, not copied and so not to be written to.

        Raises:
            InputError: one of them is not kept.
        """
        array = exported_array(self.relation(fingerprints))
        if len(array) != len(fingerprints):
            raise InputError(f"encodings: {len(fingerprints) - len(array)} of {len(fingerprints)} facts are not encoded by this model; run it again")
        return array


def exported_array(relation: duckdb.DuckDBPyRelation) -> numpy.ndarray[Any, Any]:
    """One column of float arrays as [rows, size], in the memory of its Arrow export."""
    import polars

    series = polars.DataFrame(relation).to_series()
    # Several chunks are one memory only after a copy; DuckDB exports a result of up to a million rows as one.
    return series.rechunk().to_numpy(allow_copy=False)


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
