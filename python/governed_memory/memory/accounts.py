"""What memory can account for of things that were handed out (rules M2, G5, G7): why a reader may read the cell, and what the thing derives from.

Both are SQL (macros/memory/why_readable.sql and lineage.sql); here they are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from governed_memory.memory.approvals import asked_across
from governed_memory.memory.recall import Sight
from governed_memory.memory.trace import MOST_STEPS, MOST_THINGS, Trace, traced
from governed_memory.warehouse import fragment, rows


@dataclass(frozen=True, slots=True)
class Account:
    """What is told of one identifier.

    Attributes:
        cell: {cell_id, system, source, recorded_at, written_by, state, session_code, release_code, explanation}; None where it is no cell that the
            reader may read.
        trace: its lineage as it is now, whatever the day that the cell is read as of; None where nothing that they may read is called so.
    """

    cell: Mapping[str, Any] | None
    trace: Trace | None


def accounts(connection: duckdb.DuckDBPyConnection, names: Collection[str], sight: Sight) -> dict[str, Account]:
    """{identifier: what is told of it} for each of these."""
    found = rows(connection, fragment("why_readable"), sight.asked() | {"ids": list(names), "clock": sight.clock()})
    cells, today = {row["cell_id"]: row for row in found}, asked_across(replace(sight, on_date=None))
    return {name: Account(cells.get(name), traced(connection, name, today, most_steps=MOST_STEPS, most_things=MOST_THINGS)) for name in names}
