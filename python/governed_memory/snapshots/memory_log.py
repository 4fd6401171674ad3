"""The memory log in a snapshot: its segments as they are, up to what the heads count, and the heads.

log.<writer>.<stream>.<000001>.jsonl    a segment; names of writers and streams hold no dot
head.<writer>.json                      a head
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.log import Head
from governed_memory.log.heads import head_path, parse_head, writers_with_a_head
from governed_memory.log.layout import Segment, heads_folder
from governed_memory.sealed import Part, SealError

SEGMENT = re.compile(r"log\.([a-z0-9_-]+)\.([a-z0-9_-]+\.[0-9]{6,}\.jsonl)")
HEAD = re.compile(r"head\.([a-z0-9_-]+\.json)")
# Writers at work commit thousands of times a second at most; between two commits of one of them the heads of all are looked at twice.
TRIES, PAUSE_S = 200, 0.005


def put_log(part: Part, log: Path, heads: Path | None) -> dict[str, Head]:
    """Copy what is committed of a log, as of one moment, while writers may go on; the heads it was copied up to.

    Raises:
        InputError: there is no such log, a head cannot be read, or what a head counts is not there.
    """
    if not log.is_dir():
        raise InputError(f"{str(log.parent)!r} holds no memory; name its folder with --memory")
    found = _heads_of_one_moment(heads_folder(log, heads))
    for writer, (head, content) in found.items():
        part.put(f"head.{writer}.json", content)
        for stream, state in sorted(head.streams.items()):
            for number in range(state.first_segment, state.segments + 1):
                size = state.bytes if number == state.segments else None
                _copy(part, Segment(writer, stream, number), log, size)
    return {writer: head for writer, (head, _) in found.items()}


def lay_out(names: Iterable[str], place: Path, memory: Path) -> None:
    """Give the copies of a snapshot the names that they have in a memory, `log` and `heads`, beside those of the snapshot."""
    for name in ("log", "heads"):
        (memory / name).mkdir(parents=True)
    for name in names:
        if match := SEGMENT.fullmatch(name):
            (memory / "log" / match[1]).mkdir(exist_ok=True)
            os.link(place / name, memory / "log" / match[1] / match[2])
        elif match := HEAD.fullmatch(name):
            os.link(place / name, memory / "heads" / match[1])


def expect_segments(where: object, memory: Path) -> None:
    """Refuse a memory whose heads count other segments than are there.

    Raises:
        SealError: a segment is not named by a head, or one that is named is not there.
    """
    named = set()
    for writer in writers_with_a_head(memory / "heads"):
        path = head_path(memory / "heads", writer)
        head = parse_head(path, writer, path.read_bytes()).head
        named |= {
            Segment(writer, stream, number).path(memory / "log")
            for stream, state in head.streams.items()
            for number in range(state.first_segment, state.segments + 1)
        }
    there = {path for path in (memory / "log").rglob("*") if path.is_file()}
    if odd := named ^ there:
        path = min(odd)
        raise SealError(where, "topology", f"segment {path.relative_to(memory)} is {'missing' if path in named else 'counted by no head'}")


def _heads_of_one_moment(heads: Path) -> dict[str, tuple[Head, bytes]]:
    """The heads of all writers: what one has written may be named by another, so that they are looked at until none has moved meanwhile."""
    before = _contents(heads)
    for _ in range(TRIES):
        now = _contents(heads)
        if now == before:
            return {writer: (parse_head(head_path(heads, writer), writer, content).head, content) for writer, content in now.items()}
        before = now
        time.sleep(PAUSE_S)
    raise InputError(f"{heads}: writers have committed all the time; take the snapshot when there is less to do")


def _contents(heads: Path) -> dict[str, bytes]:
    return {writer: head_path(heads, writer).read_bytes() for writer in writers_with_a_head(heads)}


def _copy(part: Part, segment: Segment, log: Path, size: int | None) -> None:
    path = segment.path(log)
    name = f"log.{segment.writer}.{path.name}"
    if not size and size is not None and not path.exists():
        part.put(name, b"")
        return
    try:
        part.copy(name, path, size)
    except OSError as error:
        raise InputError(f"{path}: cannot be copied: {error.strerror}; nothing was sealed") from error
