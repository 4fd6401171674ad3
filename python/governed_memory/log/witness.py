"""The trace that a governed read leaves (rule M5): an event in the stream `reads`, on disk before anything of what was read is told."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.host.keys import Keys
from governed_memory.log.events import canonical_event, timestamp
from governed_memory.log.writer import LogWriter

# A question is a name or some words; of a text far longer than that, its beginning tells which one it was.
LONGEST = 4000


def utc_now() -> datetime.datetime:
    """The clock that is used where none is passed in."""
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True)
class Read:
    """One governed read, as its event tells it: never an identifier that was withheld, and never a value (rule G7).

    Attributes:
        kind: which read it was.
        outcome: what came of it.
        shown: the identifiers that were shown, in their order.
        query: what was asked for, in the words of whoever asked; None where those could name what is withheld.
        on_date: the day that was asked for, as yyyy-mm-dd.
        is_global: whether it was across sessions.
        session_id: the session it was made from.
        asked_at: the instant that was asked for, where that may be another than that of the read.
    """

    kind: str
    outcome: str
    shown: Iterable[str] = ()
    query: str | None = None
    on_date: str | None = None
    is_global: bool = False
    session_id: str | None = None
    asked_at: datetime.datetime | None = None


class Witness:
    """Leaves the events of governed reads. Threads may share it."""

    def __init__(self, writer: LogWriter | None, clock: Callable[[], datetime.datetime] = utc_now) -> None:
        """A witness that writes with this writer; without one it sees nothing."""
        self._writer, self._clock = writer, clock

    def note(self, principal: str, reads: Sequence[Read]) -> None:
        """Leave an event of each read, all in one step, with the clock's time. Call it before anything of them is told.

        Raises:
            InputError: they cannot be written. Then nothing may be told.
        """
        if self._writer is None or not reads:
            return
        at = timestamp(self._clock())
        try:
            self._writer.append({"reads": [_event(read, principal, at) for read in reads]}, at)
        except InputError as error:
            raise InputError(f"nothing is told, since the read cannot be noted in the memory log: {error}") from error


@contextmanager
def witness_at(memory: Path | str | None, keys: Keys | None = None) -> Iterator[Witness]:
    """A witness that writes to the log of this memory, in a slot of its own, so that it waits for nobody; without a memory it sees nothing.

    Args:
        memory: the folder of the memory; the log is in `log` there, and is begun where there is none.
        keys: the host's, to sign heads with.

    Raises:
        InputError: there is no such folder, or the log cannot be opened, or was damaged.
    """
    if memory is None:
        yield Witness(None)
        return
    if not Path(memory).is_dir():
        raise InputError(f"{str(memory)!r} is no folder, so no read is noted in a log there; make it to begin a memory, or name another with --memory")
    with LogWriter(Path(memory) / "log", keys=keys) as writer:
        yield Witness(writer)


def _event(read: Read, principal: str, at: str) -> bytes:
    told = {
        "read_kind": read.kind, "query": None if read.query is None else read.query[:LONGEST], "outcome": read.outcome,
        "found_ids": list(dict.fromkeys(read.shown)), "is_global": read.is_global, "on_date": read.on_date, "recorded_at": at,
        "principal": principal, "session_id": read.session_id, "transition": "read",
        "asked_at": None if read.asked_at is None else timestamp(read.asked_at),
    }  # fmt: skip
    return canonical_event({name: value for name, value in told.items() if value is not None})
