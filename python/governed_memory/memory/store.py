"""Memory as a program uses it: written through the guards into the log, and read from the tables derived from it (rules M1 to M5)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from governed_memory.errors import InputError
from governed_memory.host.keys import Keys
from governed_memory.log import LogWriter, canonical_event
from governed_memory.memory.frames import Replayed, bound, findings, frame_read, replayed
from governed_memory.memory.guards import judge
from governed_memory.memory.projection import KEYS, Projection
from governed_memory.memory.proposals import Outcome, Scene, event_of, timestamp
from governed_memory.memory.recall import Reader, recall

Told = Mapping[str, Any]


def utc_now() -> datetime.datetime:
    """The clock that is used where none is passed in."""
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True)
class _Proposed:
    """What is told, judged: what came of each, and the events and refusals that are to be written."""

    outcomes: list[Outcome]
    accepted: list[tuple[Told, bytes]]
    refusals: list[tuple[Told, bytes]]


class MemoryStore:
    """One memory, opened to be written and read.

    Any number of processes may have it open: each writes in a slot of its own, and sees what the others have committed at its next write or read.
    """

    def __init__(
        self, place: Path | str, *, heads: Path | str | None = None, keys: Keys | None = None, clock: Callable[[], datetime.datetime] = utc_now
    ) -> None:
        """Open the memory at a place, or begin one there.

        Args:
            place: its folder; the log is in `log` there.
            heads: the folder of the log's heads, where it is not `heads` in there.
            keys: the host's, to sign heads with.
            clock: tells the time; every method also takes an instant.

        Raises:
            InputError: it cannot be opened, or was damaged.
        """
        self._log, self._heads = Path(place) / "log", Path(heads) if heads else None
        self._clock = clock
        self._writer = LogWriter(self._log, self._heads, keys=keys)
        try:
            self._projection = Projection(self._log, self._heads)
        except BaseException:
            self._writer.close()
            raise

    def write(self, cells: Iterable[Told], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None) -> list[Outcome]:
        """Write cells, each on its own: what the guards refuse changes nothing but the list of refusals. Durable when it returns.

        Args:
            cells: fields as the model `cells` has them; a working or episodic cell needs system, content and source or source_ids.
            principal: the authenticated one who writes.
            session_id: the session they are written in.
            now: the instant; by default what the clock says.

        Raises:
            InputError: one of them is no JSON object, or the log cannot be written; nothing was written then.
        """
        return self._put("cells", cells, Scene("write", principal, session_id, now or self._clock()))

    def link(self, links: Iterable[Told], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None) -> list[Outcome]:
        """Link cells, {from_cell_id, to_cell_id, link_type}, as `write` does. A conflict keeps both sides and says why."""
        return self._put("links", links, Scene("link", principal, session_id, now or self._clock()))

    def annotate(self, annotations: Iterable[Told], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None) -> list[Outcome]:
        """Say something of cells, {target_id, kind, reason}, as `write` does; the cell stays as it is."""
        return self._put("annotations", annotations, Scene("annotate", principal, session_id, now or self._clock()))

    def expire(self, cell_ids: Iterable[str], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None) -> list[Outcome]:
        """End working cells before their time; they stay in the log and can be asked for."""
        told = [{"target_id": cell_id, "kind": "expire"} for cell_id in cell_ids]
        return self._put("annotations", told, Scene("expire", principal, session_id, now or self._clock()))

    def bind(self, frames: Iterable[Told], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None) -> list[Outcome]:
        """Bind cells as event frames, as `write` does: scene, goal, action, outcome, entities, cues, starts_at, ends_at and steps (rule M6).

        Steps are cell ids in any order: the order is that of the source, by event_index, created_at, cell_id; or objects with cell_id and
        position, all of them, where the frame states another. The cells stay as they are.
        """
        given = [_mapping(place, one) for place, one in enumerate(frames, start=1)]
        self._projection.catch_up()
        return self._put("frames", bound(self._projection, given), Scene("bind", principal, session_id, now or self._clock()))

    def replay(self, frame_ids: Iterable[str], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None) -> list[Replayed]:
        """Walk the steps of frames in order, and link those that are still what was bound, up to the first that is not (rule M6).

        A frame with such a step stays, marked as incomplete. What is found and the links are written together or not at all.

        Raises:
            InputError: a frame is not named by a text, or the log cannot be read or written; nothing was written then.
        """
        asked = list(dict.fromkeys(given := [_frame_id(place, one) for place, one in enumerate(frame_ids, start=1)]))
        scene = Scene("replay", principal, session_id, now or self._clock())
        self._projection.catch_up()
        found = findings(self._projection, self._log, self._heads, asked)
        told = {name: found[name].told() if name in found else {"frame_id": name} for name in asked if name not in found or not found[name].is_known}
        replays = self._proposed("replays", told.values(), scene, [given.index(name) + 1 for name in told])
        of_frame = dict(zip(told, replays.outcomes, strict=True))
        linked = [name for name, outcome in of_frame.items() if outcome.outcome == "written"]
        links = self._proposed("links", [link for name in linked for link in found[name].links()], scene)
        if links.refusals:
            raise InputError("replay links are refused, so nothing was written; look at the rows of 'replay' in transition_policies")
        self._commit({"replays": replays.accepted, "links": links.accepted, "refusals": replays.refusals}, scene)
        return [replayed(place, name, of_frame.get(name), found.get(name)) for place, name in enumerate(given, start=1)]

    def recall(
        self,
        query: str,
        reader: Reader,
        *,
        session_id: str | None = None,
        is_global: bool = False,
        system: str | None = None,
        on_date: datetime.date | None = None,
        takes_expired: bool = False,
        most: int = 10,
        now: datetime.datetime | None = None,
    ) -> list[dict[str, Any]]:
        """The cells that match a question and that the reader may read, the best first, each with the parts of its score; the read leaves an event.

        Raises:
            InputError: the log cannot be read, or the event cannot be written; nothing is told then.
        """
        now = now or self._clock()
        scene = Scene("read", reader.name, session_id, now)
        self._refuse_to_read_beyond(reader, is_global, scene)
        self._projection.catch_up()
        found = recall(
            self._projection.connection, query, reader, session_id=session_id, is_global=is_global, system=system, on_date=on_date,
            clock=now, takes_expired=takes_expired, most=most,
        )  # fmt: skip
        read = {
            "read_kind": "recall",
            "query": query,
            "outcome": "found" if found else "nothing",
            "found_ids": [cell["cell_id"] for cell in found],
            "is_global": is_global,
        }
        self._leave("reads", read, scene)
        return found

    def frame(
        self, frame_id: str, reader: Reader, *, session_id: str | None = None, is_global: bool = False, now: datetime.datetime | None = None
    ) -> dict[str, Any] | None:
        """An event frame with its state, its steps and the cells they lead back to; None where there is none that the reader may read.

        The read leaves an event.

        Raises:
            InputError: the log cannot be read, or the event cannot be written; nothing is told then.
        """
        scene = Scene("read", reader.name, session_id, now or self._clock())
        self._refuse_to_read_beyond(reader, is_global, scene)
        self._projection.catch_up()
        found = frame_read(self._projection.connection, frame_id, reader, session_id=session_id, is_global=is_global)
        read = {"read_kind": "frame", "query": frame_id, "outcome": "found" if found else "nothing", "found_ids": [frame_id] if found else []}
        self._leave("reads", {**read, "is_global": is_global}, scene)
        return found

    def close(self) -> None:
        """Give the slot back."""
        self._writer.close()
        self._projection.connection.close()

    def __enter__(self) -> MemoryStore:
        """The store itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def _refuse_to_read_beyond(self, reader: Reader, is_global: bool, scene: Scene) -> None:
        if is_global and not reader.reads_all_sessions:
            self._leave("refusals", {"stream": "cells", "guard": "policy", "code": "global_not_allowed"}, scene)
            raise InputError(f"{reader.name!r} may not read across sessions; ask without that, or have the host file say reads_all_sessions")

    def _put(self, stream: str, told: Iterable[Told], scene: Scene) -> list[Outcome]:
        """Put what is told before the guards and write what passes, with a note of each refusal, in one step."""
        proposed = self._proposed(stream, told, scene)
        self._commit({stream: proposed.accepted, "refusals": proposed.refusals}, scene)
        return proposed.outcomes

    def _proposed(self, stream: str, told: Iterable[Told], scene: Scene, places: Sequence[int] | None = None) -> _Proposed:
        """What is told, as the guards judge it; nothing is written yet. `places`: where each stands in what was given, from 1."""
        events = [event_of(stream, _mapping(place, one), scene) for place, one in enumerate(told, start=1)]
        encoded = [canonical_event(event) for event in events]
        if not events:
            return _Proposed([], [], [])
        self._projection.read_others()
        verdicts = judge(self._projection, stream, events, encoded)
        outcomes, accepted = [], {}
        for place, event, line, verdict in zip(places or range(1, len(events) + 1), events, encoded, verdicts, strict=True):
            name = event[KEYS[stream]]
            if verdict.code is None and not verdict.is_held and name not in accepted:
                accepted[name] = event, line
                outcomes.append(Outcome(place, name, "written"))
            elif verdict.code is None:
                outcomes.append(Outcome(place, name, "held"))
            else:
                shown_name = name if isinstance(name, str) else None
                outcomes.append(Outcome(place, shown_name, "refused", verdict.guard, verdict.code, verdict.requirement))
        return _Proposed(outcomes, list(accepted.values()), [_refusal(stream, outcome, scene) for outcome in outcomes if outcome.code])

    def _leave(self, stream: str, event: Told, scene: Scene) -> None:
        self._commit({stream: [_control(event, scene)]}, scene)

    def _commit(self, events: Mapping[str, Sequence[tuple[Told, bytes]]], scene: Scene) -> None:
        written = {stream: rows for stream, rows in events.items() if rows}
        seqs = self._writer.append({stream: [encoded for _, encoded in rows] for stream, rows in written.items()}, timestamp(scene.now))
        for stream in written.keys() & KEYS.keys():
            self._projection.wrote(self._writer.writer, stream, seqs[stream], written[stream])


def _refusal(stream: str, outcome: Outcome, scene: Scene) -> tuple[Told, bytes]:
    return _control({"stream": stream, "target_id": outcome.target_id, "guard": outcome.guard, "code": outcome.code, "place": outcome.place}, scene)


def _control(event: Told, scene: Scene) -> tuple[Told, bytes]:
    told = {"recorded_at": timestamp(scene.now), "principal": scene.principal, "session_id": scene.session_id, "transition": scene.transition}
    said = {name: value for name, value in {**event, **told}.items() if value is not None}
    return said, canonical_event(said)


def _frame_id(place: int, told: object) -> str:
    if not isinstance(told, str):
        raise InputError(f"item {place}: expected a frame_id, got {type(told).__name__}")
    return told


def _mapping(place: int, told: object) -> Told:
    if not isinstance(told, Mapping):
        raise InputError(f"item {place}: expected an object with fields, got {type(told).__name__}")
    return told
