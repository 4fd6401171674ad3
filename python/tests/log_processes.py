"""Processes of the log's tests: writers that are killed, writers side by side, and one that may not write. Run as a script, light to start."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.host.keys import Keys, read_keys
from governed_memory.log import LogWriter, canonical_event, rows_since, verify

AT = "2026-10-01T00:00:00Z"
SMALL = 2000


def host_keys(folder: Path) -> Keys:
    if not (folder / "k1.key").exists():
        (folder / "k1.key").write_text("correct horse battery staple, 32 bytes")
    return read_keys(str(folder / "host.yml"), {"active": "k1", "k1": {"algorithm": "hmac-sha-256", "file": "k1.key"}})


def append_pairs(folder: Path, name: str, count: int, acknowledged: int) -> None:
    """Append the same rows to two streams, a few at a time; the name of each is told once it is acknowledged."""
    draw = random.Random(name)
    with LogWriter(folder / "log", keys=host_keys(folder), segment_bytes=SMALL) as writer:
        for number in range(count):
            events = [canonical_event({"id": f"{name}-{number}-{part}", "at": AT, "text": "x" * draw.randrange(300)}) for part in range(draw.randrange(1, 4))]
            writer.append({"cells": events, "links": events}, AT)
            os.write(acknowledged, f"{name}-{number} {len(events)}\n".encode())


def killed(folder: Path, rounds: int) -> int:
    """Kill a writer at a random moment, again and again; after each kill the log is reopened and must hold what was acknowledged. How many rows that was."""
    draw, keys, total, seen = random.Random(7), host_keys(folder), 0, {}
    for number in range(rounds):
        told, tell = os.pipe()
        child = os.fork()
        if not child:
            append_pairs(folder, f"r{number}", 1 << 30, tell)
        os.close(tell)
        with os.fdopen(told, encoding="utf-8") as lines:
            # Every other one while it opens or writes its first rows, the others while it goes on.
            told_first = lines.readline() if number % 2 else ""
            time.sleep(draw.random() * 0.02)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            acknowledged = sum(int(line.split()[1]) for line in [told_first, *lines] if line)
        with LogWriter(folder / "log", keys=keys):
            found = verify(folder / "log", keys=keys)
        assert found.is_whole, (number, [str(problem) for problem in found.problems])
        streams: dict[str, list[bytes]] = {"cells": [], "links": []}
        for row in rows_since(folder / "log", None, seen):
            seen[row.writer, row.stream] = row.seq
            streams[row.stream].append(row.event)
        assert streams["cells"] == streams["links"], f"round {number}: an append is half there"
        ids = [json.loads(event)["id"] for event in streams["cells"]]
        assert all(name.startswith(f"r{number}-") for name in ids) and len(set(ids)) == len(ids)
        # The last append may be there without its acknowledgement; no other row may.
        assert acknowledged <= len(ids) <= acknowledged + 3, f"round {number}: {acknowledged} acknowledged, {len(ids)} found"
        total += acknowledged
    return total


def without_rights(folder: Path) -> str:
    """What a process says that may read the log and not write to it."""
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        LogWriter(folder / "log", keys=None)
    except InputError as error:
        return str(error)
    return "opened"


if __name__ == "__main__":
    what, given = sys.argv[1], Path(sys.argv[2])
    run: dict[str, Callable[[], object]] = {
        "killed": lambda: print(killed(given, int(sys.argv[3]))),
        "append": lambda: append_pairs(given, sys.argv[3], int(sys.argv[4]), 1),
        "without_rights": lambda: print(without_rights(given)),
    }
    run[what]()
