"""Asking the guards (rule M3): what they ask stands in the models `cell_refusals`, `link_refusals` and so on, and which of it is asked in the
seed `transition_policies`; here what is proposed is put before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars

from governed_memory.memory.projection import KEYS, REFUSALS, Projection
from governed_memory.memory.recall import Sight, readable

# The fields by which an event names cells or frames, beside its own identifier.
NAMES = {
    "cells": ("source_ids",),
    "links": ("from_cell_id", "to_cell_id"),
    "annotations": ("target_id",),
    "frames": ("steps",),
    "replays": ("frame_id",),
    "traces": ("source_ids",),
    "approvals": ("cell_id",),
    "proposals": (),
}
JUDGED = {"place": polars.Int64, "event": polars.String}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guards say of one event.

    Attributes:
        is_held: the same is there already.
        guard: which guard refuses it; None where none does.
        code: the condition that it breaks.
        requirement: what is expected instead, in words.
    """

    is_held: bool = False
    guard: str | None = None
    code: str | None = None
    requirement: str | None = None


PASSED, HELD = Verdict(), Verdict(is_held=True)


def judge(projection: Projection, stream: str, events: Sequence[Mapping[str, Any]], encoded: Sequence[bytes], sight: Sight | None = None) -> list[Verdict]:
    """What the guards say of each event, in their order.

    Args:
        projection: caught up with the log.
        stream: the events' stream.
        events: what would be written.
        encoded: the same, as the log would hold it.
        sight: from where the one who writes knows other cells; the projection has to be caught up with what this process wrote, too. None: all.
    """
    held = put_before_guards(projection, stream, events, encoded, sight)
    refused = {
        place: Verdict(False, guard, code, requirement)
        for place, guard, code, requirement in projection.connection.execute(f"select place, guard, code, requirement from main.{REFUSALS[stream]}").fetchall()
    }
    return [refused.get(place) or (HELD if _is_held(stream, event, held) else PASSED) for place, event in enumerate(events)]


def put_before_guards(
    projection: Projection, stream: str, events: Sequence[Mapping[str, Any]], encoded: Sequence[bytes], sight: Sight | None = None
) -> Mapping[tuple[str, str], str]:
    """Put events where the models read what is judged, and what is held of all that they name where they read that.

    Returns:
        {(stream, id): fingerprint} of what is held.
    """
    named = {name for field in NAMES[stream] for event in events if field in event for name in _texts(event[field])}
    if sight is not None:
        # Never looked up, so that what may not be read and what is not there cannot be told apart. A frame is nothing to be named so.
        named = readable(projection.connection, named, sight)
    own = {event[KEYS[stream]] for event in events if isinstance(event.get(KEYS[stream]), str)}
    wanted = {"cells": named, "frames": named if stream in ("links", "replays") else set()}
    held = projection.hold(wanted | {stream: own | wanted.get(stream, set())})
    places = range(len(events))
    projection.fill(f"main.int_judged_{stream}", polars.DataFrame({"place": places, "event": [event.decode() for event in encoded]}, JUDGED))
    return held


def requirement(projection: Projection, transition: str, code: str) -> str | None:
    """What is expected by a condition of a transition, in words; None where it is not asked."""
    sql = "select requirement from main.transition_policies where transition = $1 and code = $2 and is_on"
    found = projection.connection.execute(sql, [transition, code]).fetchone()
    return str(found[0]) if found else None


def _is_held(stream: str, event: Mapping[str, Any], held: Mapping[tuple[str, str], str]) -> bool:
    return bool(held.get((stream, event[KEYS[stream]])) == event["fingerprint"])


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    values = value if isinstance(value, list | tuple) else [value]
    names = (one.get("cell_id") if isinstance(one, Mapping) else one for one in values)
    return [name for name in names if isinstance(name, str)]
