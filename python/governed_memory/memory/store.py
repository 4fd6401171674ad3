"""Memory as a program uses it: written through the guards into the log, and read from the tables derived from it (rules M1 to M5)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from governed_memory.errors import InputError, NotAllowedError
from governed_memory.errors import shown as shown_value
from governed_memory.host.keys import Keys
from governed_memory.log import LogWriter, Read, Witness, expect_text, in_utc, utc_now
from governed_memory.memory.accounts import Account, accounts
from governed_memory.memory.approvals import asked_across, candidates, decide, offer, statement
from governed_memory.memory.frames import Replayed, bound, findings, frame_read, replayed
from governed_memory.memory.guards import requirement
from governed_memory.memory.projection import KEYS, Projection
from governed_memory.memory.proposals import Outcome, Scene
from governed_memory.memory.recall import CLOCK, PARTS, CellGroups, Sight, cell_groups, due, expired, readable, recalled, shown
from governed_memory.memory.trace import AGENTS, MOST_STEPS, MOST_THINGS, Trace, traced
from governed_memory.memory.traces import recorded
from governed_memory.memory.transitions import Told, Transitions, as_mapping, rows_of
from governed_memory.warehouse import fragment, plain_frame, rows

if TYPE_CHECKING:
    import polars

# The transition by which each stream is told.
TOLD = {"cells": "write", "links": "link", "frames": "bind"}


class MemoryStore:
    """One memory, opened to be written and read.

    Any number of processes may have it open: each writes in a slot of its own, and sees what the others have committed at its next write or read.

    Attributes:
        witness: leaves the events of governed reads, those of this process too that are none of memory; in the same log unless another was given.
    """

    def __init__(
        self,
        place: Path | str,
        *,
        heads: Path | str | None = None,
        keys: Keys | None = None,
        clock: Callable[[], datetime.datetime] = utc_now,
        witness: Witness | None = None,
    ) -> None:
        """Open the memory at a place, or begin one there.

        Args:
            place: its folder; the log is in `log` there.
            heads: the folder of the log's heads, where it is not `heads` in there.
            keys: the host's, to sign heads with.
            clock: tells the time; every method also takes an instant.
            witness: where the events of its reads are left instead, for a copy that is not kept.

        Raises:
            InputError: it cannot be opened, or was damaged.
        """
        self._log, self._heads = Path(place) / "log", Path(heads) if heads else None
        self._clock = clock
        self._writer = LogWriter(self._log, self._heads, keys=keys)
        self.witness = witness or Witness(self._writer, clock)
        try:
            self._projection = Projection(self._log, self._heads)
        except BaseException:
            self._writer.close()
            raise
        self._transitions = Transitions(self._writer, self._projection)

    def write(
        self, cells: Iterable[Told], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None, asks_again: bool = False
    ) -> list[Outcome]:
        """Write cells, each on its own: what the guards refuse changes nothing but the list of refusals. Durable when it returns.

        Args:
            cells: fields as the model `cells` has them, as mappings, or as a polars frame or Arrow table; a working or episodic cell needs
                system, content and source or source_ids.
            principal: the authenticated one who writes.
            session_id: the session they are written in.
            now: the instant; by default what the clock says.
            asks_again: whether the caller will ask again for what names something that is not held yet; its refusal is not noted then.

        Raises:
            InputError: one of them is no JSON object, or the log cannot be written; nothing was written then.
        """
        return self._transitions.put("cells", cells, Scene("write", principal, session_id, now or self._clock()), asks_again=asks_again)

    def link(
        self, links: Iterable[Told], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None, asks_again: bool = False
    ) -> list[Outcome]:
        """Link cells, {from_cell_id, to_cell_id, link_type}, as `write` does. A conflict keeps both sides and says why."""
        return self._transitions.put("links", links, Scene("link", principal, session_id, now or self._clock()), asks_again=asks_again)

    def annotate(
        self, annotations: Iterable[Told], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None, asks_again: bool = False
    ) -> list[Outcome]:
        """Say something of cells, {target_id, kind, reason}, as `write` does; the cell stays as it is."""
        return self._transitions.put("annotations", annotations, Scene("annotate", principal, session_id, now or self._clock()), asks_again=asks_again)

    def expire(self, cell_ids: Iterable[str], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None) -> list[Outcome]:
        """End working cells before their time; they stay in the log and can be asked for. One that has ended is 'held', whoever ended it."""
        scene = Scene("expire", principal, session_id, now or self._clock())
        asked = dict(enumerate(_several(cell_ids), start=1))
        self._projection.catch_up()
        over = expired(self._projection.connection, [name for name in asked.values() if isinstance(name, str)], scene.now)
        told = {place: {"target_id": name, "kind": "expire"} for place, name in asked.items() if name not in over}
        outcomes = {one.place: one for one in self._transitions.put("annotations", told.values(), scene, places=list(told))}
        return [outcomes.get(place) or Outcome(place, over[name], "held") for place, name in asked.items()]

    def bind(
        self, frames: Iterable[Told], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None, asks_again: bool = False
    ) -> list[Outcome]:
        """Bind cells as event frames, as `write` does: scene, goal, action, outcome, entities, cues, starts_at, ends_at and steps (rule M6).

        Steps are cell ids in any order: the order is that of the source, by event_index, created_at, cell_id; or objects with cell_id and
        position, all of them, where the frame states another. The cells stay as they are.
        """
        given = [as_mapping(place, one) for place, one in enumerate(rows_of(frames), start=1)]
        self._projection.catch_up()
        scene = Scene("bind", principal, session_id, now or self._clock())
        return self._transitions.put("frames", bound(self._projection, given), scene, asks_again=asks_again)

    def replay(self, frame_ids: Iterable[str], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None) -> list[Replayed]:
        """Walk the steps of frames in order, and link those that are still what was bound, up to the first that is not (rule M6).

        A frame with such a step stays, marked as incomplete. What is found and the links are written together or not at all.

        Raises:
            InputError: a frame is not named by a text, or the log cannot be read or written; nothing was written then.
        """
        asked = list(dict.fromkeys(given := [expect_text(f"item {place}: frame_id", one) for place, one in enumerate(_several(frame_ids), start=1)]))
        scene = Scene("replay", principal, session_id, now or self._clock())
        self._projection.catch_up()
        found = findings(self._projection, self._log, self._heads, asked)
        told = {name: found[name].told() if name in found else {"frame_id": name} for name in asked if name not in found or not found[name].is_known}
        replays = self._transitions.propose("replays", told.values(), scene, [given.index(name) + 1 for name in told])
        of_frame = dict(zip(told, replays.outcomes, strict=True))
        linked = [name for name, outcome in of_frame.items() if outcome.outcome == "written"]
        links = self._transitions.propose("links", [link for name in linked for link in found[name].links()], scene)
        if links.refusals:
            raise InputError("replay links are refused, so nothing was written; look at the rows of 'replay' in transition_policies")
        self._transitions.commit({"replays": replays.accepted, "links": links.accepted, "refusals": replays.refusals}, scene)
        of_frame = dict(zip(told, self._transitions.settled("replays", replays, scene), strict=True))
        return [replayed(place, name, of_frame.get(name), found.get(name)) for place, name in enumerate(given, start=1)]

    def record_traces(
        self, traces: Iterable[Told], *, principal: str, session_id: str | None = None, now: datetime.datetime | None = None, asks_again: bool = False
    ) -> list[Outcome]:
        """Record execution traces, as `write` does: skill, steps, succeeded, executor, ended_at, and what else the model `traces` has (rule M8).

        A step has tool, inputs, result and succeeded, in the order in which tools were called; of inputs and result the hashes are kept, which
        may be told in their place as inputs_hash and result_hash. A trace that holds a model's output alone is kept, and is evidence of nothing.
        """
        given = [as_mapping(place, one) for place, one in enumerate(rows_of(traces), start=1)]
        return self._transitions.put("traces", recorded(given), Scene("trace", principal, session_id, now or self._clock()), asks_again=asks_again)

    def tell(self, stream: str, told: Iterable[Told], sight: Sight) -> list[Outcome]:
        """Write cells, link them or bind them for somebody who knows only what they may read from their session.

        To them any other cell is one that is not held, however it is named, so that no refusal says that it is there (rule G7).

        Args:
            stream: 'cells', 'links' or 'frames'.
            told: as `write`, `link` and `bind` take it.
            sight: who writes, in which session and when.

        Raises:
            InputError: as `write`.
        """
        scene = Scene(TOLD[stream], sight.caller.name, sight.session_id, sight.now, replace(sight, is_global=False))
        given = [as_mapping(place, one) for place, one in enumerate(rows_of(told), start=1)]
        self._projection.catch_up()
        return self._transitions.put(stream, bound(self._projection, given, scene.sight) if stream == "frames" else given, scene)

    def candidates(self, sight: Sight) -> list[dict[str, Any]]:
        """What could be learned, schemas and then skills, as far as the caller may read the evidence (rules M6 to M8). The read leaves an event.

        Raises:
            InputError: as `recall`.
        """
        self._begin_reading(sight)
        found = candidates(self._transitions, sight)
        self._leave_read("candidates", "", [one["candidate_fingerprint"] for one in found], sight)
        return found

    def propose(self, proposals: Iterable[Told], sight: Sight) -> list[Outcome]:
        """Propose that a record be replaced or a candidate be approved, each on its own; never a fact, and decided on by somebody else (rules M4, M7).

        Args:
            proposals: {kind: 'record', store_id, concept, value, valid_from, supersedes, reason} or {kind: 'consolidation',
                candidate_fingerprint, reason}; with classification and release_to where not everybody may read it.
            sight: who proposes, in which session and when; they know the candidates that they may read.

        Raises:
            InputError: one of them is no JSON object, or the log cannot be read or written; nothing was written then.
        """
        given = [as_mapping(place, one) for place, one in enumerate(rows_of(proposals), start=1)]
        self._projection.catch_up()
        offer(self._transitions, replace(sight, is_global=sight.caller.reads_all_sessions))
        return self._transitions.put("proposals", given, Scene("propose", sight.caller.name, sight.session_id, sight.now))

    def proposals(self, sight: Sight) -> list[dict[str, Any]]:
        """What was proposed, as far as the caller may read it, with its state and the command that accepts it. The read leaves an event.

        Raises:
            InputError: as `recall`.
        """
        self._begin_reading(sight)
        found = rows(self._projection.connection, fragment("proposals_read"), asked_across(sight))
        self._leave_read("proposals", "", [one["proposal_id"] for one in found], sight)
        return found

    def trace(self, name: str, sight: Sight, *, most_steps: int = MOST_STEPS, most_things: int = MOST_THINGS) -> Trace | None:
        """What something derives from, back to what was observed, as far as the caller may read it (rules M2, G7). The read leaves an event.

        Args:
            name: the identifier of a cell, frame, replay, trace, candidate, proposal, approval or record of memory.
            sight: who reads, from which session and when.
            most_steps: how far back at most.
            most_things: how many things at most, the nearest first.

        Returns:
            The lineage; None where nothing that they may read is called so.

        Raises:
            InputError: as `recall`.
        """
        expect_text("the identifier", name)
        self._begin_reading(sight)
        found = traced(self._projection.connection, name, asked_across(sight), most_steps=most_steps, most_things=most_things)
        # As with `show`: what is not found is not named.
        self._leave_read("trace", name if found else None, [thing.id for thing in found.things if thing.kind not in AGENTS] if found else [], sight)
        return found

    def accounts(self, names: Collection[str], sight: Sight) -> dict[str, Account]:
        """Why the caller may read cells, and what each of these derives from, {identifier: Account}. No event is left, as with `groups`.

        Raises:
            InputError: as `recall`.
        """
        self._begin_reading(sight)
        return accounts(self._projection.connection, names, sight)

    def statement(
        self, verdict: str, target: str, sight: Sight, *, reason: str, party: str | None = None, valid_from: datetime.date | None = None
    ) -> dict[str, Any]:
        """What the caller would sign: 'approve' or 'reject' of a candidate, by its fingerprint, or 'revoke' of what was learned, by its cell_id (rule M7).

        Args:
            verdict: one of the three.
            target: of what.
            sight: who says so, as the host file has them, and when.
            reason: why.
            party: for which of their parties they speak, where they have several.
            valid_from: since when it holds; by default the day of the statement.

        Raises:
            InputError: the party is none of theirs, or the log cannot be read.
        """
        self._projection.catch_up()
        return statement(self._transitions, verdict, target, sight, reason=reason, party=party, valid_from=valid_from)

    def decide(self, verdict: str, statements: Iterable[Told], sight: Sight, approvers: Keys | None) -> list[Outcome]:
        """Take in signed statements of one verdict, each on its own; an approval, its cell and the links of conflicts are one append (rule M7).

        Args:
            verdict: 'approve', 'reject' or 'revoke'.
            statements: as `statement` makes them, with the signature that `approvals.signed` adds.
            sight: who says so, as the host file has them, and when.
            approvers: the public keys of the host's callers.

        Raises:
            InputError: one of them is no JSON object, or the log cannot be read or written; nothing was written then.
        """
        self._projection.catch_up()
        return decide(self._transitions, verdict, statements, sight, approvers)

    def records(self) -> list[dict[str, Any]]:
        """What was learned as records of a store, as the model `memory_records` has them."""
        self._projection.catch_up()
        return rows(self._projection.connection, "select * from main.memory_records order by recorded_at, record_id")

    def recall(self, query: str, sight: Sight, *, system: str | None = None, takes_expired: bool = False, most: int = 10) -> list[dict[str, Any]]:
        """The cells that match a question and that the caller may read, the best first, each with the parts of its score; the read leaves an event.

        Args:
            query: its words count, in whatever order.
            sight: who reads, from which session and when.
            system: cells of this system come before others that match as many words.
            takes_expired: whether expired working cells take part.
            most: how many at most.

        Raises:
            InputError: the caller may not read so, the log cannot be read, or the event cannot be written; nothing is told then.
        """
        expect_text("the question", query)
        if not 1 <= most < 1 << 63:
            raise InputError(f"most: {most!r} is no number of cells; give 1 or more")
        self._begin_reading(sight)
        found = recalled(self._projection.connection, query, sight, system=system, takes_expired=takes_expired, most=most)
        self._leave_read("recall", query, [cell["cell_id"] for cell in found], sight)
        return found

    def groups(self, sight: Sight, *, query: str | None, cell_ids: Collection[str], most: int) -> CellGroups:
        """What a packet is chosen from: the cells that match a question or are named, as far as the caller may read them, each with what contradicts it.

        No event is left: whoever hands out something of it leaves one.

        Raises:
            InputError: as `recall`.
        """
        self._begin_reading(sight)
        connection = self._projection.connection
        matched = recalled(connection, query, sight, system=None, takes_expired=True, most=most) if query else []
        named = readable(connection, cell_ids, sight) if cell_ids else set()
        scores = {cell["cell_id"]: {part: cell[part] for part in PARTS} for cell in matched}
        return CellGroups(cell_groups(connection, {*scores, *named}, sight), scores, self._projection.reached())

    def walk(
        self, start: str, sight: Sight, *, adjacencies: Collection[str] | None, scales: Collection[str] | None, most: int, steps: int
    ) -> list[dict[str, Any]]:
        """A walk over the graph of memory, nearest first, as far as the caller may read (rule M10); none where the start is nothing of theirs.

        The walk leaves an event.

        Args:
            start: a cell, frame, decision or approval.
            sight: who walks, from which session and when.
            adjacencies: along which; all if None.
            scales: over which; all if None.
            most: nodes at most.
            steps: how far at most.

        Returns:
            {place, steps, node_id, scale, kind, edges, cut_by_budget, withheld, cut_by_scale, cut_by_type, cut_by_steps} for each node; what was cut is the
            same in all.

        Raises:
            InputError: as `recall`.
        """
        expect_text("the start", start)
        self._begin_reading(sight)
        self._projection.take_in_decisions()
        asked = {"start": start, "adjacencies": _listed(adjacencies), "scales": _listed(scales), "most_nodes": most, "most_steps": steps}
        found = rows(self._projection.connection, fragment("graph_walk"), sight.asked() | asked)
        self._leave_read("walk", start if found else None, [node["node_id"] for node in found], sight)
        return found

    def now(self) -> datetime.datetime:
        """What the clock says."""
        return self._clock()

    def show(self, cell_id: str, sight: Sight) -> dict[str, Any] | None:
        """One cell with its state, links and annotations; None where there is none that the caller may read. The read leaves an event.

        Raises:
            InputError: as `recall`.
        """
        expect_text("cell_id", cell_id)
        self._begin_reading(sight)
        found = shown(self._projection.connection, cell_id, sight)
        # What was asked for is not noted where it may be the name of a cell that is withheld (G7).
        self._leave_read("show", cell_id if found else None, [cell_id] if found else [], sight)
        return found

    def frame(self, frame_id: str, sight: Sight) -> dict[str, Any] | None:
        """An event frame with its state, its steps and the cells they lead back to; None where there is none that the caller may read.

        The read leaves an event.

        Raises:
            InputError: as `recall`.
        """
        expect_text("frame_id", frame_id)
        self._begin_reading(sight)
        found = frame_read(self._projection.connection, frame_id, sight)
        self._leave_read("frame", frame_id if found else None, [frame_id] if found else [], sight)
        return found

    def readable(self, cell_ids: Collection[str], sight: Sight) -> set[str]:
        """Which of these cells the caller may read.

        Raises:
            InputError: as `recall`.
        """
        for cell_id in cell_ids:
            expect_text("cell_id", cell_id)
        self._begin_reading(sight)
        return readable(self._projection.connection, cell_ids, sight)

    def expire_due(self, now: datetime.datetime | None = None) -> list[Outcome]:
        """Leave an expire event for each working cell whose time to live is over; every read does so too.

        Raises:
            InputError: the log cannot be read or written.
        """
        now = now or self._clock()
        self._projection.catch_up()
        return self._expire_due(now)

    def _begin_reading(self, sight: Sight) -> None:
        is_beyond = sight.is_global and not sight.caller.reads_all_sessions
        expected = requirement(self._projection, "read", "global_not_allowed") if is_beyond else None
        if expected is not None:
            refused = {"stream": "cells", "guard": "policy", "code": "global_not_allowed"}
            self._transitions.leave("refusals", refused, Scene("read", sight.caller.name, sight.session_id, self._clock()))
            raise NotAllowedError(
                f"{sight.caller.name!r} may not read across sessions; leave that out, or have the host file say reads_all_sessions: true of this caller",
                refused["guard"], refused["code"], expected,
            )  # fmt: skip
        self._projection.catch_up()
        # Whoever reads what will be leaves no event of it: nothing is over before the clock says so.
        if self._expire_due(min(in_utc(sight.now), in_utc(self._clock()))):
            self._projection.catch_up()

    def _expire_due(self, now: datetime.datetime) -> list[Outcome]:
        # Told by the clock and by nobody's session, so that whoever notices it first writes the same event.
        told = [
            {"target_id": cell["cell_id"], "kind": "expire", "effective_at": cell["expires_at"], "reason": "time to live is over"}
            for cell in due(self._projection.connection, now)
        ]
        return self._transitions.put("annotations", told, Scene("expire", CLOCK, None, now, is_own=True)) if told else []

    def _leave_read(self, kind: str, query: str | None, found: Sequence[str], sight: Sight) -> None:
        on_date = sight.on_date.isoformat() if sight.on_date else None
        read = Read(kind, "found" if found else "nothing", found, query, on_date, sight.is_global, sight.session_id, sight.now)
        self.witness.note(sight.caller.name, [read])

    def table(self, name: str) -> polars.DataFrame:
        """A derived table as a polars frame: cells, links, annotations, frames, replays or traces, whoever may read what; for operators (rule G8).

        Raises:
            InputError: there is no such table, or the log cannot be read.
        """
        if name not in KEYS:
            raise InputError(f"{shown_value(name)} is no table of memory; there are {', '.join(KEYS)}")
        self._projection.catch_up()
        return plain_frame(self._projection.connection, f"select * exclude (writer, seq) from main.{name} order by {KEYS[name]}")

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


def _listed(names: Collection[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _several(ids: Iterable[str]) -> Iterable[str]:
    if isinstance(ids, str):
        raise InputError(f"expected a list of identifiers, got the text {shown_value(ids)}")
    return ids
