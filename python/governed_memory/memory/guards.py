"""Asking the guards (rule M3): what they ask stands in the models `cell_refusals`, `link_refusals` and `annotation_refusals`, and which of it is
asked in the seed `transition_policies`; here what is proposed is put before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars

from governed_memory.memory.projection import Projection

REFUSALS = {"cells": "cell_refusals", "links": "link_refusals", "annotations": "annotation_refusals"}
# The fields by which an event names cells, beside its own identifier.
NAMES_CELLS = {"cells": ("source_ids",), "links": ("from_cell_id", "to_cell_id"), "annotations": ("target_id",)}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an event may not be written.

    Attributes:
        guard: which guard refused it.
        code: the condition that it broke.
        requirement: what is expected instead, in words.
    """

    guard: str
    code: str
    requirement: str


def judge(projection: Projection, stream: str, key: str, events: Sequence[Mapping[str, Any]], encoded: Sequence[bytes]) -> tuple[dict[int, Refusal], set[int]]:
    """Which events the guards refuse, and which are held already, by their place from 0.

    Args:
        projection: caught up with the log.
        stream: the events' stream.
        key: the field that identifies them.
        events: what would be written.
        encoded: the same, as the log would hold it.
    """
    connection = projection.connection
    named = {name for event in events for field in NAMES_CELLS[stream] for name in _names(event.get(field))}
    own = {event[key] for event in events if isinstance(event[key], str)}
    wanted = {stream: own | named, "frames": named} if stream == "cells" else {"cells": named, "frames": named, stream: own}
    projection.hold(wanted)
    connection.execute(f"truncate main.int_judged_{stream}")
    rows = polars.DataFrame({"place": range(len(events)), "event": [event.decode() for event in encoded]}, {"place": polars.Int64, "event": polars.String})
    connection.from_arrow(rows.__arrow_c_stream__()).insert_into(f"main.int_judged_{stream}")
    refused = {
        place: Refusal(guard, code, requirement)
        for place, guard, code, requirement in connection.execute(f"select place, guard, code, requirement from main.{REFUSALS[stream]}").fetchall()
    }
    prints = dict(connection.execute("select held_id, fingerprint from main.int_held where stream = $stream", {"stream": stream}).fetchall())
    held = {place for place, event in enumerate(events) if place not in refused and prints.get(event[key]) == event["fingerprint"]}
    return refused, held


def _names(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [name for name in values if isinstance(name, str)]
