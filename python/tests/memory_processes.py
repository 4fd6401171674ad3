"""Processes of memory's tests: ones that are killed while they write, take in an inbox or replay, and one that may not write. Run as a script.

What forks imports all that it needs and uses nothing of it: an engine that has run has threads, which a fork has not.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_stores import ANN, GIVEN_ANEW, NOON, cell, frame, tables

from governed_memory.errors import InputError
from governed_memory.log import LogWriter, rows_since, verify
from governed_memory.memory import MemoryStore
from governed_memory.memory.ingest import ingest
from governed_memory.memory.projection import KEYS
from governed_memory.warehouse.models import compiled

# A process is killed after so many acknowledgements at most, the first of which says that it has begun, and a moment of so long at most: about
# what it takes from one acknowledgement to the next.
ACKNOWLEDGED = 4
MOMENT_S = {"write": 0.02, "replay": 0.04, "ingest": 0.3}


def acknowledge(tell: int, names: dict[str, Any]) -> None:
    """Tell the one who will kill this process what it has been told is written."""
    os.write(tell, json.dumps(names).encode() + b"\n")


def write_on(store: MemoryStore, place: Path, number: int, tell: int) -> None:
    """Cells a few at a time, all in one step, and links between them."""
    for part in range(1 << 30):
        told = [cell(f"{number}-{part}-{one}", f"note {one}", metadata={"of": part % 3 + 1}) for one in range(part % 3 + 1)]
        outcomes = store.write(told, **ANN)
        acknowledge(tell, {"cells": [outcome.target_id for outcome in outcomes]})
        if len(told) > 1:
            linked = store.link([{"from_cell_id": told[0]["cell_id"], "to_cell_id": told[1]["cell_id"], "link_type": "task"}], **ANN)
            acknowledge(tell, {"links": [outcome.target_id for outcome in linked]})


def take_in(store: MemoryStore, place: Path, number: int, tell: int) -> None:
    """An inbox of this round, twice."""
    for _ in range(2):
        done = ingest(store, inbox(place, number), principal="crm", session_id="i", now=NOON)
        assert not done.refused and not done.unreadable, done
        acknowledge(tell, {})


def replay_on(store: MemoryStore, place: Path, number: int, tell: int) -> None:
    """Frames over a few cells, each replayed."""
    names = [f"{number}-{one}" for one in range(5)]
    store.write([cell(name, event_index=one) for one, name in enumerate(names)], **ANN)
    for part in range(1 << 30):
        [bound] = store.bind([frame(*names[: part % 5 + 1], outcome=f"outcome {part}")], **ANN)
        acknowledge(tell, {"frames": [bound.target_id]})
        [replayed] = store.replay([str(bound.target_id)], **ANN)
        assert replayed.is_complete and replayed.outcome == "written"
        acknowledge(tell, {"replays": [bound.target_id]})


WORK: dict[str, Callable[[MemoryStore, Path, int, int], None]] = {"write": write_on, "ingest": take_in, "replay": replay_on}


def inbox(place: Path, number: int) -> Path:
    """The inbox of a round: cells that name one another whatever file comes first, links, annotations and a frame."""
    folder = place / f"inbox{number}"
    if not folder.exists():
        folder.mkdir(parents=True)
        names = [f"{number}-{one}" for one in range(12)]
        cells = [cell(name, event_index=one, source_ids=names[one + 1 : one + 2] if one % 3 else []) for one, name in enumerate(names)]
        links = [{"from_cell_id": one, "to_cell_id": names[0], "link_type": "temporal", "weight": 0.1} for one in names[1:]]
        notes = [{"target_id": name, "kind": "note", "reason": "seen"} for name in names]
        for file, told in {"a.cells": cells[:5], "b.cells": cells[5:], "a.links": links, "a.annotations": notes, "a.frames": [frame(*names)]}.items():
            (folder / f"{file}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in told), encoding="utf-8")
    return folder


def killed(place: Path, what: str, rounds: int) -> int:
    """Kill a process at a random moment of its work, again and again, and look at the log after each. How many things were acknowledged."""
    compiled()
    draw, seen, acknowledged, logged = random.Random(what), {}, Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for number in range(rounds):
        inbox(place, number)
        told, tell = os.pipe()
        # Every other one dies right behind one of its commits, where a second one that belongs to it would be missing.
        commits = draw.randrange(1, 13) if number % 2 else 0
        child = os.fork()
        if not child:
            with MemoryStore(place / "memory") as store:
                die_after(commits)
                os.write(tell, b"{}\n")
                WORK[what](store, place, number, tell)
            os._exit(0)
        os.close(tell)
        with os.fdopen(told, encoding="utf-8") as lines:
            first = []
            if not commits:
                first = [lines.readline() for _ in range(draw.randrange(ACKNOWLEDGED))]
                time.sleep(draw.random() * MOMENT_S[what])
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            assert status in (0, signal.SIGKILL), f"round {number}: the process failed by itself"
            for line in [*first, *lines]:
                acknowledged.update((stream, name) for stream, names in json.loads(line).items() for name in names)
        with LogWriter(place / "memory/log"):
            found = verify(place / "memory/log")
        assert found.is_whole, (number, [str(problem) for problem in found.problems])
        events = []
        for row in rows_since(place / "memory/log", None, seen):
            seen[row.writer, row.stream] = row.seq
            events.append((row.stream, json.loads(row.event)))
        expect_nothing_half(events)
        logged.update((stream, event["frame_id" if stream == "replays" else KEYS[stream]]) for stream, event in events if stream in KEYS)
        assert acknowledged.keys() <= logged.keys(), f"round {number}: lost {acknowledged.keys() - logged.keys()}"
    assert max(logged.values()) == 1, "something was written twice"
    return len(acknowledged)


def die_after(commits: int) -> None:
    """Kill this process as soon as so many heads are in place; 0 for never."""
    real, left = os.replace, [commits]

    def replace(*given: Any) -> None:
        real(*given)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = replace  # type: ignore[assignment]


def expect_nothing_half(events: list[tuple[str, dict[str, Any]]]) -> None:
    """Cells told in one step and a replay with its links are there all or not at all."""
    of_step = Counter((event["cell_id"].rsplit("-", 1)[0], event["metadata"]["of"]) for stream, event in events if stream == "cells" and "metadata" in event)
    assert all(count == told for (_, told), count in of_step.items()), of_step
    verified = {event["frame_id"]: event["verified_steps"] for stream, event in events if stream == "replays"}
    linked = Counter(event["from_cell_id"] for stream, event in events if stream == "links" and event["link_type"] == "replay")
    assert verified == linked, (verified, linked)


def ends_the_same(place: Path, rounds: int) -> None:
    """Taken in once more, the inboxes make the tables that they make where nothing was ever killed."""
    made = []
    for name in ("memory", "undisturbed"):
        with MemoryStore(place / name) as store:
            for number in range(rounds):
                ingest(store, inbox(place, number), principal="crm", session_id="i", now=NOON)
            made.append(tables(store, but=GIVEN_ANEW))
    assert made[0] == made[1]
    assert len(made[0]["cells"]) == 12 * rounds


def without_rights(place: Path) -> str:
    """What a process says that may read a memory and not write to it."""
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        MemoryStore(place)
    except InputError as error:
        return str(error)
    return "opened"


if __name__ == "__main__":
    what, given = sys.argv[1], Path(sys.argv[2])
    if what == "without_rights":
        print(without_rights(given))
    elif what == "writes":
        with MemoryStore(given) as store:
            write_on(store, given, int(sys.argv[3]), 1)
    else:
        rounds = int(sys.argv[3])
        print(killed(given, what, rounds))
        with MemoryStore(given / "memory") as store:
            tables(store)
        if what == "ingest":
            ends_the_same(given, rounds)
        shutil.rmtree(given)
