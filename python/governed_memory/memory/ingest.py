"""An inbox: files that other systems put in a folder, taken into memory. Identifiers are made of content, so it may run twice, in any order and
after any crash, and takes nothing twice.

    NAME.cells.jsonl, NAME.links.jsonl, NAME.annotations.jsonl, NAME.frames.jsonl, NAME.traces.jsonl

One object a line, as `gmem memory write` and so on read them.

Files whose names begin with a dot are still being written, and left alone.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.memory.json_lines import json_lines
from governed_memory.memory.proposals import Outcome
from governed_memory.memory.store import MemoryStore

# What others may name comes first.
ORDER = ("cells", "links", "annotations", "frames", "traces")
AT_ONCE = 50_000
Put = Callable[..., list[Outcome]]


@dataclass
class Ingested:
    """What came of an inbox.

    Attributes:
        counts: {(stream, 'written' | 'held' | 'refused'): how many}.
        refused: (file, line, outcome) of each thing that a guard refused.
        unreadable: one line for each file that was left out whole.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: list[tuple[Path, int, Outcome]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Told:
    file: Path
    line: int
    fields: dict[str, Any]


def ingest(memory: MemoryStore, inbox: Path, *, principal: str, session_id: str | None, now: datetime.datetime) -> Ingested:
    """Take in what the files of a folder tell. A file that cannot be read is left out whole and named; the rest goes on.

    Raises:
        InputError: there is no such folder, or the log cannot be written; what was taken in before stays, and the next run goes on from there.
    """
    if not inbox.is_dir():
        raise InputError(f"{str(inbox)!r} is no folder; name the one that other systems put files in")
    done = Ingested()
    for stream, write in zip(ORDER, (memory.write, memory.link, memory.annotate, memory.bind, memory.record_traces), strict=True):
        put: Put = partial(write, principal=principal, session_id=session_id, now=now)
        told = list(_told(inbox, stream, done))
        waiting: list[_Told] = []
        for layer in _in_layers(told) if stream == "cells" else [told]:
            waiting += _put(put, stream, layer, done)
        # What a thing names may stand in a later file: as long as something gets in, what was missing something is asked for again.
        while waiting and len(still := _put(put, stream, waiting, done)) < len(waiting):
            waiting = still
        _put(put, stream, waiting, done, is_last=True)
    return done


def _put(put: Put, stream: str, told: Sequence[_Told], done: Ingested, *, is_last: bool = False) -> list[_Told]:
    """Have things written and note what came of each; those that name what is not held, which may come yet, are given back."""
    waiting = []
    for start in range(0, len(told), AT_ONCE):
        chunk = told[start : start + AT_ONCE]
        outcomes = put([one.fields for one in chunk], asks_again=not is_last)
        for one, outcome in zip(chunk, outcomes, strict=True):
            if outcome.guard == "integrity" and not is_last:
                waiting.append(one)
                continue
            done.counts[stream, outcome.outcome] += 1
            if outcome.outcome == "refused":
                done.refused.append((one.file, one.line, outcome))
    return waiting


def _in_layers(told: Sequence[_Told]) -> Iterator[list[_Told]]:
    """Cells so that each comes after those of the inbox that it names: all of a long conversation would be asked for again for each of its turns."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(told):
        if isinstance(name := one.fields.get("cell_id"), str):
            places[name].append(place)
    named = {place: {before for name in _texts(one.fields.get("source_ids")) for before in places.get(name, ())} for place, one in enumerate(told)}
    sorter = TopologicalSorter(named)
    try:
        sorter.prepare()
    except CycleError:
        yield list(told)
        return
    while sorter.is_active():
        ready = sorter.get_ready()
        yield [told[place] for place in sorted(ready)]
        sorter.done(*ready)


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _told(inbox: Path, stream: str, done: Ingested) -> Iterable[_Told]:
    for file in sorted(inbox.glob(f"*.{stream}.jsonl")):
        if file.name.startswith("."):
            continue
        try:
            yield from [_Told(file, line, fields) for line, fields in json_lines(file)]
        except InputError as error:
            done.unreadable.append(str(error))
