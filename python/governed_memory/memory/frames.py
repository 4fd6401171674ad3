"""Event frames (rule M6): cells bound in the order of their source, and walked again before a link says that they were replayed.

In which order steps are bound, and what is wrong with a step, is said by the models `int_bound_steps` and `int_step_checks`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars

from governed_memory.errors import InputError
from governed_memory.log import canonical_event, rows_at
from governed_memory.memory.guards import put_before_guards
from governed_memory.memory.projection import KEYS, Projection
from governed_memory.memory.proposals import Outcome, remade_fingerprint
from governed_memory.memory.recall import Sight
from governed_memory.warehouse import fragment, literal, rows

# What a binding makes; told by the one who binds, it goes under a name that the type guard refuses.
BOUND = "order_from"
REREAD = {"stream": polars.String, "held_id": polars.String, "event": polars.String, "remade_fingerprint": polars.String}


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of the replay of one frame.

    Attributes:
        place: its place in what was given, from 1.
        frame_id: the frame.
        outcome: 'written', 'held' where the frame's last replay found the same, or 'refused'.
        is_complete: whether every step was verified; None where it was refused.
        verified_steps: how many were, from the first on.
        failed_position: the first step that was not.
        failed_cell_id: its cell.
        reason: what is wrong with it, as the model `int_step_checks` names it.
        links_written: how many replay links were written.
        guard: which guard refused it.
        code: the condition that it broke.
        requirement: what is expected instead, in words.
    """

    place: int
    frame_id: str
    outcome: str
    is_complete: bool | None = None
    verified_steps: int = 0
    failed_position: int | None = None
    failed_cell_id: str | None = None
    reason: str | None = None
    links_written: int = 0
    guard: str | None = None
    code: str | None = None
    requirement: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a replay of a frame finds now.

    Attributes:
        frame_id: the frame.
        steps: how many it has.
        is_complete: whether every step was verified.
        verified_steps: how many were, from the first on.
        failed_position: the first step that was not; None where all were.
        failed_cell_id: its cell.
        reason: what is wrong with it, as `int_step_checks` names it.
        cells_to_link: the cells of verified steps that no replay link leads to yet.
        follows: the frame's last replay.
        is_known: whether that one found the same.
    """

    frame_id: str
    steps: int
    is_complete: bool
    verified_steps: int
    failed_position: int | None
    failed_cell_id: str | None
    reason: str | None
    cells_to_link: list[str]
    follows: str | None
    is_known: bool

    def told(self) -> dict[str, Any]:
        """What the replay says of the frame; with the replay before it, so that finding again what was found before last is another replay."""
        return {name: getattr(self, name) for name in ("frame_id", "is_complete", "verified_steps", "failed_position", "reason", "follows")}

    def links(self) -> list[dict[str, Any]]:
        """The replay links that are still to be written."""
        return [{"from_cell_id": self.frame_id, "to_cell_id": cell_id, "link_type": "replay"} for cell_id in self.cells_to_link]


def bound(projection: Projection, frames: Sequence[Mapping[str, Any]], sight: Sight | None = None) -> list[dict[str, Any]]:
    """The frames with their steps as they are bound: in order, each with the fingerprint that its cell has now (rule M6).

    Steps are told as cell ids, or as objects with cell_id and position, in any order. A frame that cannot be bound is left as it is, for the
    guards to say why. Entities and cues are sets, so their order is none. With a sight, cells that cannot be read from there are none.
    """
    told = [_unordered(frame) for frame in frames]
    put_before_guards(projection, "frames", told, [canonical_event({"steps": frame.get("steps")}) for frame in told], sight)
    steps = defaultdict(list)
    for step in rows(projection.connection, "select * from main.int_bound_steps where is_bindable order by place, position"):
        steps[step["place"]].append(step)
    for place, of_frame in steps.items():
        told[place]["steps"] = [{name: step[name] for name in ("position", "cell_id", "cell_fingerprint")} for step in of_frame]
        told[place][BOUND] = of_frame[0][BOUND]
    return told


def findings(projection: Projection, log: Path, heads: Path | None, frame_ids: Sequence[str]) -> dict[str, Finding]:
    """What a replay of frames finds now, after reading the rows of the frames and of their cells in the log again (rule M6).

    Returns:
        {frame_id: finding}, of those that are held.

    Raises:
        InputError: the log cannot be read, or is damaged where they are.
    """
    if not frame_ids:
        return {}
    frames = ", ".join(map(literal, frame_ids))
    projection.fill("main.int_reread", _reread(projection, log, heads, frames))
    found = rows(projection.connection, f"select * from main.int_replay_findings where frame_id in ({frames})")
    return {one["frame_id"]: Finding(**one) for one in found}


def replayed(place: int, frame_id: str, outcome: Outcome | None, finding: Finding | None) -> Replayed:
    """What came of the replay of a frame: why it was refused, else its finding; written the first time it is named, and held after that or
    where its last replay found the same."""
    if outcome and outcome.code:
        return Replayed(place, frame_id, "refused", guard=outcome.guard, code=outcome.code, requirement=outcome.requirement)
    assert finding, "a frame that is not held is refused"
    is_written = outcome is not None and (outcome.outcome, outcome.place) == ("written", place)
    return Replayed(
        place, frame_id, "written" if is_written else "held", finding.is_complete, finding.verified_steps, finding.failed_position,
        finding.failed_cell_id, finding.reason, len(finding.cells_to_link) if is_written else 0,
    )  # fmt: skip


def frame_read(connection: duckdb.DuckDBPyConnection, frame_id: str, sight: Sight) -> dict[str, Any] | None:
    """A frame as the caller may see it, with its state, `steps` and `lineage`; None where there is none for them (rules M5 and M6)."""
    return next(iter(rows(connection, fragment("frame_read"), sight.asked() | {"frame_id": frame_id})), None)


def _unordered(frame: Mapping[str, Any]) -> dict[str, Any]:
    told = {f"{name} (given)" if name == BOUND else name: value for name, value in frame.items()}
    for name in ("entities", "cues"):
        if isinstance(told.get(name), list | tuple) and all(isinstance(value, str) for value in told[name]):
            told[name] = sorted(set(told[name]))
    if isinstance(told.get("steps"), list | tuple):
        told["steps"] = [_step(step) for step in told["steps"]]
    return told


def _step(step: object) -> object:
    if isinstance(step, str):
        return {"cell_id": step}
    if isinstance(step, Mapping):
        return {f"{name} (given)" if name == "cell_fingerprint" else name: value for name, value in step.items() if value is not None}
    return step


def _reread(projection: Projection, log: Path, heads: Path | None, frames: str) -> polars.DataFrame:
    """The rows of the log that hold the frames and the cells of their steps, with the fingerprints they make now."""
    of_steps = f"select cell_id from main.frame_steps where frame_id in ({frames})"
    places = defaultdict(list)
    for stream, ids in {"frames": frames, "cells": of_steps}.items():
        held = projection.connection.execute(f"select writer, seq, {KEYS[stream]} from main.{stream} where {KEYS[stream]} in ({ids})").fetchall()
        for writer, seq, name in held:
            places[writer, stream, seq].append(name)
    wanted = defaultdict(set)
    for writer, stream, seq in places:
        wanted[writer, stream].add(seq)
    found = []
    for row in rows_at(log, heads, wanted):
        for name in places[row.writer, row.stream, row.seq]:
            remade = _remade(row.stream, name, row.event)
            found.append((row.stream, name, "{}" if remade is None else row.event.decode(), remade))
    return polars.DataFrame(found, REREAD, orient="row")


def _remade(stream: str, name: str, event: bytes) -> str | None:
    """The fingerprint that a row makes; None where it is the row of something else or of nothing."""
    try:
        told = json.loads(event)
        return remade_fingerprint(stream, told) if told.get(KEYS[stream]) == name else None
    except (ValueError, AttributeError, RecursionError, InputError):
        return None
