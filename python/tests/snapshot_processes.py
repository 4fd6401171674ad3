"""A process that takes snapshots and is killed at random moments, again and again. Run as a script, so that nothing of a database is open when it forks."""

from __future__ import annotations

import datetime
import os
import random
import signal
import sys
import time
from pathlib import Path

import polars  # noqa: F401  what a snapshot imports late would be imported anew after each fork
from sealed_folders import host_keys

from governed_memory.sealed import generations, newest_valid
from governed_memory.snapshots import KIND, Sources, take

NOON = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.UTC)


def killed(folder: Path, rounds: int) -> None:
    """Kill a process that takes snapshots, and after each kill find the newest whole: never an older one than before, and nothing to refuse."""
    draw, keys, root, newest = random.Random(5), host_keys(folder), folder / "snapshots", 1
    for _ in range(rounds):
        child = os.fork()
        if not child:
            try:
                while True:
                    take(root, Sources(memory=folder / "memory"), keys, NOON)
            finally:
                os._exit(1)
        time.sleep(draw.random() * 0.4)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = newest_valid(root, KIND, keys)
        assert found.refused == (), found
        assert found.manifest and found.manifest.generation >= newest, found
        newest = found.manifest.generation
    print(newest, len(generations(root)))


if __name__ == "__main__":
    killed(Path(sys.argv[1]), int(sys.argv[2]))
