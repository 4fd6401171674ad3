"""Transitions (rule M3): what is told becomes events, the guards judge them, and what passes is written with a note of each refusal, in one step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from governed_memory.errors import InputError
from governed_memory.log import LogWriter, canonical_event
from governed_memory.memory.guards import Verdict, judge
from governed_memory.memory.projection import KEYS, Projection
from governed_memory.memory.proposals import Outcome, Scene, event_of

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Proposed:
    """What is told, judged: what came of each, and the events and refusals that are to be written.

    Attributes:
        outcomes: what came of each thing.
        accepted: the events of what passed.
        refusals: the events that note what did not.
        read: how much of the stream others had told when it was judged.
    """

    outcomes: list[Outcome]
    accepted: list[tuple[Told, bytes]]
    refusals: list[tuple[Told, bytes]]
    read: int = 0


class Transitions:
    """What changes memory: one writer of the log, and the tables that the guards ask.

    Attributes:
        writer: this process's slot in the log.
        projection: the derived tables.
    """

    def __init__(self, writer: LogWriter, projection: Projection) -> None:
        """Bring the two together."""
        self.writer, self.projection = writer, projection

    def put(self, stream: str, told: Iterable[Told], scene: Scene, *, asks_again: bool = False, places: Sequence[int] | None = None) -> list[Outcome]:
        """Put what is told before the guards and write what passes, with a note of each refusal, in one step.

        `asks_again`: not of those of the integrity guard, since what is missing may come. `places`: as `propose` takes them.
        """
        proposed = self.propose(stream, told, scene, places)
        refused = [outcome for outcome in proposed.outcomes if outcome.code]
        noted = [note for outcome, note in zip(refused, proposed.refusals, strict=True) if not (asks_again and outcome.guard == "integrity")]
        self.commit({stream: proposed.accepted, "refusals": noted}, scene)
        return self.settled(stream, proposed, scene)

    def propose(self, stream: str, told: Iterable[Told], scene: Scene, places: Sequence[int] | None = None, made: Sequence[Told] | None = None) -> Proposed:
        """What is told, as the guards judge it; nothing is written yet.

        Args:
            stream: where it would be written.
            told: what is told.
            scene: by whom and when.
            places: where each stands in what was given, from 1.
            made: of each, fields that were worked out and not told.
        """
        drafts = [_event(stream, place, one, scene, made[place - 1] if made else None) for place, one in enumerate(rows_of(told), start=1)]
        if not drafts:
            return Proposed([], [], [])
        events, encoded = [event for event, _ in drafts], [line for _, line in drafts]
        self.projection.read_others()
        read = self.projection.read[stream]
        verdicts = judge(self.projection, stream, events, encoded, scene.sight)
        outcomes, accepted = [], {}
        for place, event, line, verdict in zip(places or range(1, len(events) + 1), events, encoded, verdicts, strict=True):
            name = event[KEYS[stream]]
            if verdict.code is None and not verdict.is_held and name not in accepted:
                accepted[name] = event, line
                outcomes.append(Outcome(place, name, "written"))
            elif verdict.code is None:
                outcomes.append(Outcome(place, name, "held"))
            else:
                outcomes.append(_refused(place, name if isinstance(name, str) else None, verdict))
        return Proposed(outcomes, list(accepted.values()), [_refusal(stream, outcome, scene) for outcome in outcomes if outcome.code], read)

    def settled(self, stream: str, proposed: Proposed, scene: Scene) -> list[Outcome]:
        """What came of what was proposed and is committed, now that others can be looked at again.

        Writers wait for none of the others, so another may have told of the same identifier since this was judged. The first told is what is held
        (`first_told`); whoever told it later is told so, and the guards, asked again, say why it is refused, if it is not the same.
        """
        self.projection.read_others()
        if self.projection.read[stream] == proposed.read or not proposed.accepted:
            return proposed.outcomes
        names = [event[KEYS[stream]] for event, _ in proposed.accepted]
        # What this process wrote waits, so whatever the tables have of these is of somebody else. Approvals also meet under other identifiers.
        if stream != "approvals" and not self.projection.writers_of(stream, names):
            return proposed.outcomes
        self.projection.catch_up()
        events, encoded = [event for event, _ in proposed.accepted], [line for _, line in proposed.accepted]
        verdicts = dict(zip(names, judge(self.projection, stream, events, encoded, scene.sight), strict=True))
        elsewhere = {name for name, writer in self.projection.writers_of(stream, names).items() if writer != self.writer.writer}
        outcomes = [_settled(one, verdicts, elsewhere) if one.outcome == "written" else one for one in proposed.outcomes]
        lost = [now for before, now in zip(proposed.outcomes, outcomes, strict=True) if now.code and not before.code]
        self.commit({"refusals": [_refusal(stream, outcome, scene) for outcome in lost]}, scene)
        return outcomes

    def leave(self, stream: str, event: Told, scene: Scene) -> None:
        """Write an event that no guard judges: a read, or a refusal."""
        self.commit({stream: [control(event, scene)]}, scene)

    def commit(self, events: Mapping[str, Sequence[tuple[Told, bytes]]], scene: Scene) -> None:
        """Write events, {stream: (event, as it is written)}, all of them or none."""
        written = {stream: rows for stream, rows in events.items() if rows}
        seqs = self.writer.append({stream: [encoded for _, encoded in rows] for stream, rows in written.items()}, scene.at)
        for stream in written.keys() & KEYS.keys():
            self.projection.wrote(self.writer.writer, stream, seqs[stream], written[stream])


def _event(stream: str, place: int, told: object, scene: Scene, made: Told | None) -> tuple[dict[str, Any], bytes]:
    fields = as_mapping(place, told)
    try:
        return event_of(stream, fields, scene, made)
    except InputError as error:
        raise InputError(f"item {place}: {error}") from None


def rows_of(told: Iterable[Told]) -> Iterable[Told]:
    """What is told one by one, also where it comes as a polars frame or any Arrow table; a null there is a field that is not told."""
    if hasattr(told, "__arrow_c_stream__"):
        import polars

        return polars.DataFrame(told).iter_rows(named=True)
    return told


def _refused(place: int, name: str | None, verdict: Verdict) -> Outcome:
    return Outcome(place, name, "refused", verdict.guard, verdict.code, verdict.requirement)


def _settled(outcome: Outcome, verdicts: Mapping[str, Verdict], elsewhere: Collection[str]) -> Outcome:
    """What came of something written, as the guards say now, where the first told may be somebody else's."""
    name = str(outcome.target_id)
    if verdicts[name].code:
        return _refused(outcome.place, name, verdicts[name])
    return replace(outcome, outcome="held") if name in elsewhere else outcome


def _refusal(stream: str, outcome: Outcome, scene: Scene) -> tuple[Told, bytes]:
    return control({"stream": stream, "target_id": outcome.target_id, "guard": outcome.guard, "code": outcome.code, "place": outcome.place}, scene)


def control(event: Told, scene: Scene) -> tuple[Told, bytes]:
    """An event that no guard judges, with who and when, and as it is written."""
    told = {"recorded_at": scene.at, "principal": scene.principal, "session_id": scene.session_id, "transition": scene.transition}
    said = {name: value for name, value in {**event, **told}.items() if value is not None}
    return said, canonical_event(said)


def as_mapping(place: int, told: object) -> Told:
    """What is told, if it has fields; InputError naming its place if not."""
    if not isinstance(told, Mapping):
        raise InputError(f"item {place}: expected an object with fields, got {type(told).__name__}")
    return told
