"""The reads as polars frames, for notebooks and scripts: `governed_memory.open`. It formats and binds; what it reads is defined in SQL."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import duckdb

from governed_memory import warehouse
from governed_memory.errors import InputError, shown
from governed_memory.reads.as_of import as_of_query, open_store
from governed_memory.reads.diff import diff_query
from governed_memory.reads.history import expect_history, history_query
from governed_memory.warehouse.store_file import DUCKDB, FORMATS, StoreFile, expect_role

if TYPE_CHECKING:
    import polars

Day = str | datetime.date
Moment = str | datetime.date | datetime.datetime

# What can be read of a store file. Only what as-of reads need is worked out on opening, the rest when it is asked for.
READS = ("records_as_of", "record_intervals_at", "records_in_force", "changes_between", "concept_histories", "concept_segments")
CHECKS = ("findings", "rule_statuses", "store_levels")
WHEN_ASKED = {"findings": "view", "finding_counts": "view", "concept_segments": "view"}


def open(path: str | Path | None = None, *, mapping: Mapping[str, str] | None = None, policy: str | None = None, zone: str = "UTC") -> Stores:
    """Open a store file, or the database that `dbt build` wrote, for reading.

    Args:
        path: a JSON Lines, JSON array, CSV or Parquet file, a table as FILE.duckdb::TABLE, or the built database as FILE.duckdb. Without
            one, the built database that GMEM_DATABASE names, else governed_memory.duckdb in this folder.
        mapping: for a store file: {role: your column or key}, where they differ.
        policy: for a store file: the conflict policy's name, where it is stated beside the records.
        zone: for a store file: the time zone in which its timestamps become dates.

    Raises:
        InputError: the file or database cannot be read, or a role is unknown.

    >>> import governed_memory
    >>> with governed_memory.open("stores/reference.jsonl") as store:
    ...     store.records_as_of("2026-10-01", concept="data_retention").select("record_id", "in_force_from").rows()
    [('M-603', datetime.date(2026, 10, 1))]
    """
    text = None if path is None else str(path)
    if text is None or ("::" not in text and FORMATS.get(Path(text).suffix.lower()) == DUCKDB):
        if mapping or policy or zone != "UTC":
            raise InputError("mapping, policy and zone describe a store file; a built database has them from its dbt project")
        connection, notices = open_store(None, text)
        return Stores(text or "the built database", connection, notices)
    for role in mapping or {}:
        expect_role("mapping", role)
    connection, notices = open_store(StoreFile(text, dict(mapping or {}), policy, zone), reads=[*READS, *CHECKS], kinds=WHEN_ASKED)
    return Stores(text, connection, notices)


class Stores:
    """One store file, or every store that `dbt build` attached, opened to read. Made by `governed_memory.open`.

    Every read returns a polars frame. Nothing here looks at who asks: as-of reads show restricted values as the store holds them, histories,
    comparisons and checks do not.

    Attributes:
        notices: what opening found out, one line each.
    """

    def __init__(self, name: str, connection: duckdb.DuckDBPyConnection, notices: Sequence[str]) -> None:
        """Take over an open connection."""
        self.notices = list(notices)
        self._name = name
        self._connection: duckdb.DuckDBPyConnection | None = connection

    def records_as_of(
        self,
        date: Day,
        known_on: Moment | None = None,
        scope: str | Sequence[str] | None = None,
        *,
        concept: str | None = None,
        store: str | None = None,
    ) -> polars.DataFrame:
        """The records in force on a date, by store, concept and record (T3).

        Args:
            date: a date, or its text as yyyy-mm-dd.
            known_on: as known at the end of that date, or at that UTC timestamp (T6).
            scope: question classes: only what applies to one of them; an empty list keeps what applies everywhere (T11).
            concept: only this concept.
            store: only this attached store.

        Raises:
            InputError: a date is none, there is no such store, or the stores are closed.

        >>> import datetime, governed_memory
        >>> store = governed_memory.open("stores/reference.jsonl")
        >>> store.records_as_of(datetime.date(2026, 9, 30), scope="renewals", concept="discount_cap")["value"].to_list()
        ['A seller may grant up to 10 percent']
        >>> store.close()
        """
        classes = [scope] if isinstance(scope, str) else scope
        if classes is not None and not (isinstance(classes, Sequence) and all(isinstance(name, str) for name in classes)):
            raise InputError(f"scope: {shown(scope)} is no class of question; give the name of one, or a list of names")
        return self._read(*as_of_query(_text(date), store_id=self._named(store), concept=_concept(concept), known_on=_moment(known_on), scope=classes))

    def history(self, concept: str, *, store: str | None = None) -> polars.DataFrame:
        """Every record that had a part in a concept, withdrawals too: when it was in force, why it ended, when it was recorded (T4, T9).

        Args:
            concept: the concept.
            store: only this attached store.

        Raises:
            InputError: no record is about the concept, there is no such store, or the stores are closed.

        >>> import governed_memory
        >>> with governed_memory.open("stores/reference.jsonl") as store:
        ...     store.history("data_retention").select("record_id", "end_reason", "ended_by").rows()
        [('M-601', 'replaced', 'M-602'), ('M-602', 'replaced', 'M-603'), ('M-603', None, None)]
        """
        if _concept(concept) is None:
            raise InputError("concept: a history is of one concept; name it")
        records = self._read(*history_query(concept, store_id=self._named(store)))
        expect_history(self._open(), concept, records)
        return records

    def diff(
        self,
        first: Day,
        second: Day,
        *,
        known_on: Moment | tuple[Moment, Moment | None] | None = None,
        concept: str | None = None,
        store: str | None = None,
    ) -> polars.DataFrame:
        """What came into force, ended or changed owner between two dates, or between two states of knowledge of them.

        Args:
            first: the first date.
            second: the second date, not before the first.
            known_on: one date or UTC timestamp: both dates as known then. A pair: each date as known on its own, the second perhaps None
                for everything known now (T6).
            concept: only this concept.
            store: only this attached store.

        Raises:
            InputError: a date is none, the second comes before the first, there is no such store, or the stores are closed.

        >>> import governed_memory
        >>> with governed_memory.open("stores/reference.jsonl") as store:
        ...     store.diff("2026-09-30", "2026-10-01").select("kind", "record_id", "end_reason", "ended_by").rows()
        [('began', 'M-603', None, None), ('ended', 'M-602', 'replaced', 'M-603')]
        """
        states = () if known_on is None else known_on if isinstance(known_on, tuple) else (known_on,)
        known = [_moment(state) for state in states]
        return self._read(*diff_query(_text(first), _text(second), known_on=known, store_id=self._named(store), concept=_concept(concept)))

    def check(self, *, store: str | None = None) -> polars.DataFrame:
        """Every finding: the record, the rule it fails, at which level, and who must act (L5).

        Args:
            store: only this attached store.

        Raises:
            InputError: there is no such store, or the stores are closed.

        >>> import governed_memory
        >>> with governed_memory.open("stores/reference_edges.jsonl", mapping={"record_id": "uuid", "valid_from": "valid_at"}) as store:
        ...     store.check().filter(rule_id="valid_to_unstated").select("requirement", "level").unique().rows()
        [('MUST', 1)]
        """
        return self._read(
            "select * from findings where $store::varchar is null or store_id = $store order by store_id, level, rule_id, record_index, field, detail",
            {"store": self._named(store)},
        )

    def levels(self) -> polars.DataFrame:
        """The level that each store reaches and the one it declares (L3). A store file declares level 3.

        Raises:
            InputError: the stores are closed.

        >>> import governed_memory
        >>> with governed_memory.open("stores/reference.jsonl") as store:
        ...     store.levels().select("row_count", "level").rows()
        [(24, 3)]
        """
        return self._read("select * from store_levels order by store_id", {})

    def query(self, sql: str, values: dict[str, Any] | None = None) -> polars.DataFrame:
        """The result of any select over the models, such as record_intervals, findings or records_as_of(...).

        Args:
            sql: one select.
            values: for the names that the statement writes as $name.

        Raises:
            InputError: it is not one select, it cannot be answered, or the stores are closed.

        >>> import governed_memory
        >>> with governed_memory.open("stores/reference.jsonl") as store:
        ...     store.query("select count(*) as records from record_intervals where concept_owner = $owner", {"owner": "legal"}).item()
        6
        """
        warehouse.expect_select(self._open(), sql)
        return self._read(sql, values or {})

    def close(self) -> None:
        """Give the file back; a second call does nothing."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close."""
        self.close()

    def __repr__(self) -> str:
        """What it reads, and whether it is closed."""
        return f"<governed_memory.Stores {self._name!r}{'' if self._connection else ', closed'}>"

    def _open(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            raise InputError(f"{self._name}: closed; open it again")
        return self._connection

    def _read(self, sql: str, values: dict[str, Any]) -> polars.DataFrame:
        return warehouse.frame(self._open(), sql, values)

    def _named(self, store: str | None) -> str | None:
        if store is not None:
            warehouse.expect_attached(self._open(), store)
        return store


def _text(day: Day) -> str:
    if isinstance(day, datetime.date):
        return day.isoformat()
    if not isinstance(day, str):
        raise InputError(f"{shown(day)} is no date; give a datetime.date, or its text as yyyy-mm-dd")
    return day


def _concept(concept: str | None) -> str | None:
    if concept is not None and not isinstance(concept, str):
        raise InputError(f"concept: {shown(concept)} is no name of a concept; give its text")
    return concept


def _moment(moment: Moment | None) -> str | None:
    return None if moment is None else _text(moment)
