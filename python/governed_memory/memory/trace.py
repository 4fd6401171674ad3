"""The lineage of something (rule M2): what it derives from, back to what was observed. What derives from what, and who may read it, is SQL
(macros/memory/lineage.sql); here a walk is asked for."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from governed_memory.errors import InputError
from governed_memory.warehouse import fragment, rows

MOST_STEPS, MOST_THINGS = 32, 1000
# Where a lineage ends: who wrote or owns something.
AGENTS = ("principal", "party")


@dataclass(frozen=True, slots=True)
class Edge:
    """One derivation.

    Attributes:
        relation: a term of W3C PROV, such as wasDerivedFrom.
        role: what the other is, in our words: source, step, evidence and so on.
        kind: of what it derives from.
        id: of what it derives from.
        at: when that was written (UTC).
    """

    relation: str
    role: str
    kind: str
    id: str
    at: datetime.datetime | None


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing of a lineage.

    Attributes:
        kind: cell, frame, replay, trace, candidate, proposal, approval, record, principal or party.
        id: its identifier.
        steps: how far back it lies.
        what: what it is in a word, such as the system of a cell; None where its kind says all.
        edges: what it derives from.
    """

    kind: str
    id: str
    steps: int
    what: str | None
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A lineage, as far as its reader may see it.

    Attributes:
        things: the nearest first.
        withheld: how many things come right behind these that the reader may not read, or that are not held; what lies behind them is not counted.
        further: how many come right behind these and were left out to keep it short.
    """

    things: tuple[Thing, ...]
    withheld: int
    further: int


def traced(connection: duckdb.DuckDBPyConnection, name: str, asked: Mapping[str, Any], *, most_steps: int, most_things: int) -> Trace | None:
    """The lineage of what is called so; None where nothing that the reader may read is.

    Args:
        connection: memory's tables.
        name: an identifier.
        asked: the parameters of who reads.
        most_steps: how far back at most.
        most_things: how many things at most.

    Raises:
        InputError: one of the numbers is none to go by.
    """
    for word, number in (("steps", most_steps), ("things", most_things)):
        if not 1 <= number <= 1_000_000:
            raise InputError(f"{word}: {number!r} is no number to stop at; give 1 to 1000000")
    found = rows(connection, fragment("lineage_walk"), {**asked, "id": name, "most_steps": most_steps, "most_things": most_things})
    if not found:
        return None
    things = tuple(Thing(row["kind"], row["id"], row["steps"], row["what"], tuple(Edge(**edge) for edge in row["edges"])) for row in found)
    return Trace(things, found[0]["withheld"], found[0]["further"])
