"""Where the log keeps what, and what a line of it looks like.

    <log>/<writer>/<stream>.<000001>.jsonl    the segments of one writer's stream, numbered from 1
    <log>/<writer>/.lock                      held by the process that writes there
    <heads>/<writer>.json                     how far that writer's streams reach: what is beyond does not exist

A line is exactly `{"chain":"<64 hex>","seq":<n>,"event":<canonical JSON object>}` and a line feed. `seq` counts from 1 in one writer's
stream, over all its segments. `chain` is SHA-256 over the chain before it, the seq and the event's bytes, so that an edit, a reorder, an
insertion or a gap changes every chain that follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from governed_memory.errors import InputError, shown

SEGMENT_BYTES = 64 * 1024 * 1024
BLOCK = 1 << 16
# What dbt reads as one line, less the layout around the event.
EVENT_BYTES = 64 * 1024 * 1024 - 1024
LOCK = ".lock"
NAME = re.compile(r"[a-z0-9_-]+")
SEGMENT = re.compile(r"([a-z0-9_-]+)\.([0-9]{6,})\.jsonl")
BEFORE_CHAIN, BEFORE_SEQ, BEFORE_EVENT, LINE_END = b'{"chain":"', b'","seq":', b',"event":', b"}\n"
CHAIN_AT = len(BEFORE_CHAIN)
DAMAGED = "`gmem memory verify` says what is damaged"
SEQ_AT = CHAIN_AT + 64 + len(BEFORE_SEQ)


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """One segment file of one writer's stream."""

    writer: str
    stream: str
    number: int

    def path(self, log: Path) -> Path:
        """Where it is."""
        return log / self.writer / f"{self.stream}.{self.number:06}.jsonl"


def heads_folder(log: Path, heads: Path | None) -> Path:
    """Where the heads of a log are: as given, else in `heads` beside the log."""
    return heads if heads is not None else log.parent / "heads"


def checked_name(kind: str, name: str) -> str:
    """A writer's or stream's name, which becomes part of a file's.

    Raises:
        InputError: it has other characters than the layout allows.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"a {kind} of the log is named with lower case letters, digits, '_' and '-', got {shown(name)}")
    return name


def segments_in(log: Path, writer: str) -> Iterator[Segment]:
    """The segment files in a writer's folder, by stream and number."""
    matches = (SEGMENT.fullmatch(path.name) for path in (log / writer).iterdir())
    found = (Segment(writer, match[1], int(match[2])) for match in matches if match)
    return iter(sorted(segment for segment in found if segment.path(log).is_file()))


def first_chain(writer: str, stream: str) -> bytes:
    """The chain before a stream's first row: rows of one stream cannot stand in another's."""
    return sha256(f"governed_memory log 1\n{writer}\n{stream}".encode()).hexdigest().encode()


def next_chain(chain: bytes, seq: int, event: bytes) -> bytes:
    """The chain of a row, from that of the row before."""
    return sha256(b"%b\n%d\n%b" % (chain, seq, event)).hexdigest().encode()


def line_of(chain: bytes, seq: int, event: bytes) -> bytes:
    """A row as its segment holds it; `chain` is the row's own."""
    return b'{"chain":"%b","seq":%d,"event":%b}\n' % (chain, seq, event)


def lines_of(chain: bytes, seq: int, events: Iterable[bytes]) -> tuple[bytes, bytes]:
    """The lines of events that follow the row with this chain and seq, and the chain of the last."""
    lines = []
    for number, event in enumerate(events, start=seq + 1):
        chain = sha256(b"%b\n%d\n%b" % (chain, number, event)).hexdigest().encode()
        lines.append(b'{"chain":"%b","seq":%d,"event":%b}\n' % (chain, number, event))
    return b"".join(lines), chain


def read_line(line: bytes) -> tuple[int, bytes]:
    """The seq and the event of a line.

    Raises:
        ValueError: it has not the layout of one.
    """
    end = line.index(b",", SEQ_AT)
    if not (line.startswith(BEFORE_CHAIN) and line.startswith(BEFORE_EVENT, end) and line.endswith(LINE_END)):
        raise ValueError("not a line of the log")
    return int(line[SEQ_AT:end]), line[end + len(BEFORE_EVENT) : -len(LINE_END)]


def last_line(path: Path, end: int) -> bytes:
    """The line of a file that ends at this byte."""
    with path.open("rb") as file:
        start, found = end - 1, -1
        while start and found < 0:
            end_of_block, start = start, max(0, start - BLOCK)
            file.seek(start)
            found = file.read(end_of_block - start).rfind(b"\n")
        file.seek(start + found + 1)
        return file.read(end - start - found - 1)


@contextmanager
def os_errors(path: Path, what: str) -> Iterator[None]:
    """Failures of the operating system as the one line that people read."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename or path}: {what}: {error.strerror or error}") from error
