"""Handovers: where work passes from one process to the next, giver and taker each note the root hash of it; a pair that does not match stops the
chain (rule M11).

One JSON object a line, {generation, root, side, step, told_at}, only ever appended. The rows find accidents and say where; they are not signed, so
that against somebody who can write the file only signed snapshots help.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.host.canonical import canonical
from governed_memory.log import timestamp
from governed_memory.warehouse.durable import append_bytes, recover

GIVER, TAKER = "giver", "taker"
PLACE = "GMEM_HANDOVERS"


@dataclass(frozen=True, slots=True)
class Handover:
    """One row.

    Attributes:
        step: what is handed over: 'ingest', 'build', 'publish' or 'snapshot'.
        side: 'giver' or 'taker'.
        generation: which one, within the step.
        root: the hash of all of it.
        told_at: when.
    """

    step: str
    side: str
    generation: str
    root: str
    told_at: str


class Handovers:
    """The file of handovers of a chain; without one, nothing is noted and nothing compared."""

    def __init__(self, path: Path | None) -> None:
        """Note handovers in a file, which is made by the first of them."""
        self._path = path

    @property
    def are_kept(self) -> bool:
        """Whether there is a file to note them in."""
        return self._path is not None

    def give(self, step: str, generation: str, root: str, now: datetime) -> None:
        """Note what is given, before anybody can take it; the same again is noted once.

        Raises:
            InputError: it was given with another root hash before, or the file cannot be read or written.
        """
        if self._path is None:
            return
        with _alone(self._path):
            given = _given(self._path, step, generation)
            if given not in (None, root):
                raise InputError(f"{self._path}: {step} {generation} was given with root {given} and now has root {root}; the chain stops here")
            if given is None:
                _append(self._path, Handover(step, GIVER, generation, root, timestamp(now)))

    def take(self, step: str, generation: str, root: str, now: datetime) -> None:
        """Note what is taken, and refuse it where it is not what was given.

        Raises:
            InputError: nobody gave it, or it was given with another root hash; nothing may be made of it then.
        """
        if self._path is None:
            return
        with _alone(self._path):
            _append(self._path, Handover(step, TAKER, generation, root, timestamp(now)))
            given = _given(self._path, step, generation)
        if given is None:
            raise InputError(f"{self._path}: {step} {generation} was taken and nobody has given it; the chain stops here")
        if given != root:
            raise InputError(f"{self._path}: {step} {generation} was given with root {given} and taken with root {root}; the chain stops here")


def kept_handovers() -> Handovers:
    """The handovers of the file that GMEM_HANDOVERS names, if it names one."""
    place = os.environ.get(PLACE)
    return Handovers(Path(place) if place else None)


def read_handovers(path: Path) -> list[Handover]:
    """All rows, in their order; none where there is no file yet.

    Raises:
        InputError: it cannot be read, or a line is no handover.
    """
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            row = Handover(**json.loads(line))
        except (ValueError, TypeError):
            raise InputError(f"{path}, line {number}: is no handover; expected step, side, generation, root and told_at") from None
        found.append(row)
    return found


def _given(path: Path, step: str, generation: str) -> str | None:
    rows = (row for row in read_handovers(path) if (row.step, row.side, row.generation) == (step, GIVER, generation))
    return next((row.root for row in rows), None)


def _append(path: Path, row: Handover) -> None:
    append_bytes(path, canonical(asdict(row)) + b"\n")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """While no other process reads or writes the file; what one that was cut off has left there is taken back."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InputError(f"{path}: handovers cannot be noted: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        recover(path)
        yield
    except OSError as error:
        raise InputError(f"{path}: handovers cannot be noted: {error.strerror}") from error
    finally:
        os.close(handle)
