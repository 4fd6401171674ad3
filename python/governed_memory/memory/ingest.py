"""An inbox: files that other systems put in a folder, taken into memory. Identifiers are made of content, so it may run twice, in any order and
after any crash, and takes nothing twice.

    NAME.cells.jsonl, NAME.links.jsonl, NAME.annotations.jsonl, NAME.frames.jsonl      one object a line, as `gmem memory write` and so on read them

Files whose names begin with a dot are still being written, and left alone.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.memory.json_lines import json_lines
from governed_memory.memory.proposals import Outcome
from governed_memory.memory.store import MemoryStore

# What others may name comes first.
ORDER = ("cells", "links", "annotations", "frames")
AT_ONCE = 50_000


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
    put: dict[str, Callable[..., list[Outcome]]] = dict(zip(ORDER, (memory.write, memory.link, memory.annotate, memory.bind), strict=True))
    for stream in ORDER:
        told = list(_told(inbox, stream, done))
        while told:
            refused: list[tuple[_Told, Outcome]] = []
            for start in range(0, len(told), AT_ONCE):
                chunk = told[start : start + AT_ONCE]
                outcomes = put[stream]([one.fields for one in chunk], principal=principal, session_id=session_id, now=now)
                refused += [(one, outcome) for one, outcome in zip(chunk, outcomes, strict=True) if outcome.outcome == "refused"]
                done.counts.update((stream, outcome.outcome) for outcome in outcomes if outcome.outcome != "refused")
            # What a file names may stand in a later one: as long as something gets in, what was missing something is asked again.
            again = [one for one, outcome in refused if outcome.guard == "integrity"] if len(refused) < len(told) else []
            final = [(one.file, one.line, outcome) for one, outcome in refused if not again or outcome.guard != "integrity"]
            done.refused += final
            done.counts[stream, "refused"] += len(final)
            told = again
    return done


def _told(inbox: Path, stream: str, done: Ingested) -> Iterable[_Told]:
    for file in sorted(inbox.glob(f"*.{stream}.jsonl")):
        if file.name.startswith("."):
            continue
        try:
            yield from [_Told(file, line, fields) for line, fields in json_lines(file)]
        except InputError as error:
            done.unreadable.append(str(error))
