"""Reading cells (rule M5): which match a question and why in this order, and what is held of one. The queries are macros of models/memory."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import duckdb

from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.log import expect_text, in_utc
from governed_memory.memory.terms import query_terms
from governed_memory.warehouse import fragment, literal, rows

# Who tells of a time to live that is over, and who writes what an approval makes: nobody's session, so that two who do so at once write the same.
CLOCK, CONSOLIDATION = "clock", "consolidation"
OWN = (CLOCK, CONSOLIDATION)


@dataclass(frozen=True, slots=True)
class Sight:
    """From where memory is read.

    Attributes:
        caller: who reads, as authentication or the host's configuration says (rule G8).
        session_id: their session.
        is_global: whether across sessions; the caller needs the right to.
        on_date: only what was there by the end of that day.
        now: the instant that expiry is judged at.
    """

    caller: Caller
    session_id: str | None
    now: datetime.datetime
    is_global: bool = False
    on_date: datetime.date | None = None

    def __post_init__(self) -> None:
        """Refuse what is no text, before anything is read.

        Raises:
            InputError: the caller's name or the session is none, or the name is memory's own.
        """
        expect_other_than_own(expect_text("the caller", self.caller.name))
        if self.session_id is not None:
            expect_text("the session", self.session_id)

    def clock(self) -> datetime.datetime:
        """The instant as tables have it: UTC, without a zone. A read as of a day judges expiry at that day's end, and of one not over yet, now (T6)."""
        now = in_utc(self.now)
        return now if self.on_date is None else min(now, datetime.datetime.combine(self.on_date, datetime.time.max))

    def asked(self) -> dict[str, Any]:
        """The parameters of who reads."""
        return {
            "principal": self.caller.name, "session_id": self.session_id, "parties": list(self.caller.parties), "boundary": self.caller.boundary,
            "is_global": self.is_global, "on_date": self.on_date,
        }  # fmt: skip


# What a score is made of.
PARTS = ("term_share", "system_part", "confidence_part", "importance_part", "link_part")


@dataclass(frozen=True, slots=True)
class CellGroups:
    """Cells that a packet is chosen from.

    Attributes:
        groups: as `cell_groups` gives them.
        scores: of the cells that match, what their score is made of, by cell_id.
        generation: how far each stream was read, by writer and stream.
    """

    groups: list[dict[str, Any]]
    scores: dict[str, dict[str, float]]
    generation: dict[str, int]


def expect_other_than_own(name: str) -> str:
    """A principal's name, if memory does not write under it itself: whoever called themselves so could read all that was learned.

    Raises:
        InputError: it does.
    """
    if name in OWN:
        raise InputError(f"principal: {name!r} is a name under which memory writes itself; use another")
    return name


def recalled(connection: duckdb.DuckDBPyConnection, query: str, sight: Sight, *, system: str | None, takes_expired: bool, most: int) -> list[dict[str, Any]]:
    """The cells that match a question, the best first, each with the parts of its score; none for a question without a word."""
    terms = query_terms(query)
    if not terms:
        return []
    sql = fragment("recalled", terms=", ".join(map(literal, terms)), count=str(len(terms)))
    asked = {"asked_system": system, "clock": sight.clock(), "takes_expired": takes_expired, "most": most}
    return _without_unreadable_sources(connection, rows(connection, sql, sight.asked() | asked), sight)


def shown(connection: duckdb.DuckDBPyConnection, cell_id: str, sight: Sight) -> dict[str, Any] | None:
    """A cell with its state, its links and what was said of it; None where there is none that the caller may read."""
    found = rows(connection, fragment("shown_cell"), sight.asked() | {"cell_id": cell_id, "clock": sight.clock()})
    return _without_unreadable_sources(connection, found, sight)[0] if found else None


def cell_groups(connection: duckdb.DuckDBPyConnection, cell_ids: Collection[str], sight: Sight) -> list[dict[str, Any]]:
    """The groups of cells that enter a packet together, {is_live, members}; of one that the caller may not read whole, members is None (rule M9)."""
    found = rows(connection, fragment("conflict_groups"), sight.asked() | {"ids": sorted(cell_ids), "clock": sight.clock()})
    return [
        {**group, "members": group["members"] and _without_unreadable_sources(connection, group["members"], sight)}
        for group in found
    ]  # fmt: skip


def readable(connection: duckdb.DuckDBPyConnection, ids: Collection[str], sight: Sight) -> set[str]:
    """Which of these cells the caller may read."""
    return {row["cell_id"] for row in rows(connection, fragment("readable_ids"), sight.asked() | {"ids": list(ids)})}


def _without_unreadable_sources(connection: duckdb.DuckDBPyConnection, cells: list[dict[str, Any]], sight: Sight) -> list[dict[str, Any]]:
    """The cells, each naming those of its sources that the caller may read: of the others not even the identifier crosses (rule G7)."""
    named = {name for cell in cells for name in cell["source_ids"]}
    known = readable(connection, named, sight) if named else set()
    return [{**cell, "source_ids": [name for name in cell["source_ids"] if name in known]} for cell in cells]


def due(connection: duckdb.DuckDBPyConnection, now: datetime.datetime) -> list[dict[str, Any]]:
    """Working cells, {cell_id, expires_at}, whose time to live is over and of which no event tells yet."""
    return rows(connection, fragment("due_cells"), {"clock": in_utc(now)})


def expired(connection: duckdb.DuckDBPyConnection, ids: Collection[str], now: datetime.datetime) -> dict[str, str]:
    """{cell_id: annotation_id} of those of these working cells that an event has ended by an instant."""
    sql = (
        "select target_id, arg_min(annotation_id, (effective_at, annotation_id)) from main.annotations "
        "where kind = 'expire' and effective_at <= $clock and target_id in (select unnest($ids)) group by target_id"
    )
    return dict(connection.execute(sql, {"ids": list(ids), "clock": in_utc(now)}).fetchall())
