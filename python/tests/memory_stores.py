"""What the tests of memory have in common: an instant, somebody who asks, cells, and how two memories are compared."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb

from governed_memory.host.configuration import Caller
from governed_memory.log import rows_since, timestamp
from governed_memory.memory import MemoryStore, Sight
from governed_memory.memory.projection import KEYS
from governed_memory.warehouse import columns

NOON = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.UTC)
ANN: dict[str, Any] = {"principal": "ann", "session_id": "s", "now": NOON}
# What each run, or each writer, gives anew.
GIVEN_ANEW = {"recorded_at", "writer", "seq", "cell_number"}


def later(seconds: float) -> datetime.datetime:
    return NOON + datetime.timedelta(seconds=seconds)


def sight(name: str = "ann", session_id: str | None = "s", now: datetime.datetime = NOON, **more: Any) -> Sight:
    return Sight(Caller(name, (name,), "inside"), session_id, now, **more)


def cell(cell_id: str | None = None, content: str | None = None, **more: Any) -> dict[str, Any]:
    return {"cell_id": cell_id, "system": "episodic", "content": content or f"note {cell_id}", "source": "ticket 4", **more}


def frame(*steps: str, **more: Any) -> dict[str, Any]:
    return {"scene": "printer jam", "goal": "print", "action": "restart it", "outcome": "it prints", "steps": list(steps), **more}


def trace(**more: Any) -> dict[str, Any]:
    step = {"tool": "restart", "inputs_hash": "i", "result_hash": "r", "succeeded": True}
    return {"skill": "free the printer", "executor": "runner", "ended_at": timestamp(NOON), "succeeded": True, "steps": [step], **more}


def written(store: MemoryStore, *cells: dict[str, Any], **more: Any) -> list[str]:
    """Write cells that no guard refuses; their identifiers."""
    outcomes = store.write(cells, **{**ANN, **more})
    assert [outcome.outcome for outcome in outcomes] == ["written"] * len(cells), outcomes
    return [str(outcome.target_id) for outcome in outcomes]


def recalled(store: MemoryStore, query: str, now: datetime.datetime = NOON, **more: Any) -> list[str]:
    return [found["cell_id"] for found in store.recall(query, sight(now=now), **more)]


def events(place: Path, *streams: str) -> list[dict[str, Any]]:
    """The events of streams in the log of a memory."""
    return [json.loads(row.event) for row in rows_since(place / "log", None, {}, streams)]


def race(one: MemoryStore, other: MemoryStore, tell: Callable[[MemoryStore, int], Any]) -> list[Any]:
    """Both tell before either sees what the other tells: the one does right before the other's rows go into the log. What each was told."""
    append, told = other._writer.append, {}

    def late(*given: Any) -> Any:
        other._writer.append = append  # type: ignore[method-assign]
        told[0] = tell(one, 0)
        return append(*given)

    other._writer.append = late  # type: ignore[method-assign]
    told[1] = tell(other, 1)
    return [told[0], told[1]]


def tables(store: MemoryStore, *, but: Iterable[str] = ("cell_number",)) -> dict[str, list[tuple[Any, ...]]]:
    """All that an open memory has derived from the log, without some columns, in one order."""
    store._projection.catch_up()
    return derived(store._projection.connection, but=but)


def derived(connection: duckdb.DuckDBPyConnection, *, but: Iterable[str] = ("cell_number",)) -> dict[str, list[tuple[Any, ...]]]:
    """The same of any database that has the tables of memory."""
    asked = {table: f"select {', '.join(name for name in columns(table) if name not in set(but))} from main.{table} order by all" for table in KEYS}
    asked["cell_terms"] = "select cell_id, term from main.cells full join main.cell_terms using (cell_number) order by all"
    asked["cell_link_weights"] = "select * from main.cell_link_weights order by all"
    return {table: connection.execute(sql).fetchall() for table, sql in asked.items()}
