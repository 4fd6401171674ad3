"""Keeping no more of the log than a policy asks for: seal, archive, then prune with a checkpoint in the signed head.

A policy is {stream: for how many days its rows are kept}; a stream that it does not name is kept for good. How old a segment is says the `recorded_at`
of its last event.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from governed_memory.errors import BusyError, InputError, shown
from governed_memory.host.keys import Keys
from governed_memory.log.archives import Archived, archived, at_of, is_whole, moment, put_copy, put_manifest, read_archive, read_copy
from governed_memory.log.chain import Reached, check_lines
from governed_memory.log.folders import lock_folder
from governed_memory.log.heads import Head, Pruned, read_heads
from governed_memory.log.layout import DAMAGED, Segment, last_line, os_errors, read_line
from governed_memory.log.writer import LogWriter

Policy = Mapping[str, int]


@dataclass
class Retained:
    """What sealing or pruning did.

    Attributes:
        segments: which were sealed, or removed.
        kept: {segment that is past its time and yet kept: why}.
        busy: writers at work, of which nothing was touched; they do it themselves, or it is done when they have ended.
    """

    segments: list[Segment] = field(default_factory=list)
    kept: dict[Segment, str] = field(default_factory=dict)
    busy: list[str] = field(default_factory=list)


def seal(log: Path, policy: Policy, now: str, *, heads: Path | None = None, keys: Keys | None = None) -> Retained:
    """Seal the open segments whose last event is past its time; a stream with few events would never fill one.

    Raises:
        InputError: the log cannot be read or written, or `now` or the policy is not understood.
    """
    done, ends = Retained(), _ends(policy, now)
    for writer in _writers(log, heads, keys, done):
        due = []
        for stream, state in writer.head.streams.items():
            if stream in ends and state.bytes:
                segment = Segment(writer.writer, stream, state.segments)
                at = at_of(read_line(last_line(segment.path(log), state.bytes))[1])
                if at is None:
                    done.kept[segment] = "its last event has no time `recorded_at`"
                elif moment(at) < ends[stream]:
                    due.append(stream)
        done.segments += writer.seal(due, now)
    return done


def archive(log: Path, to: Path, *, heads: Path | None = None, keys: Keys | None = None) -> list[Archived]:
    """Copy the sealed segments that have no whole copy yet, compressed, and name them in the manifest. Writers may go on meanwhile.

    Copies that are there are unpacked and held against the manifest; one that is damaged or missing is made again from the log.

    Args:
        log: the folder of the log.
        to: the folder of the archive; made where there is none.
        heads: the folder of the heads.
        keys: the host's, to sign the manifest with.

    Returns:
        What was copied now.

    Raises:
        InputError: the log cannot be read, the archive not written, or a segment does not agree with its chain: that one and later ones of its
            stream are not archived.
        BusyError: another process archives there.
    """
    with _alone_in(to):
        known = read_archive(to, keys)
        new: dict[Segment, Archived] = {}
        try:
            for head in read_heads(log, heads).values():
                for stream in sorted(head.streams):
                    for segment, content in _not_archived(log, to, head, stream, known):
                        entry = archived(segment, content)
                        if known.get(segment, entry) != entry:
                            raise InputError(f"{segment.path(log)}: is not what was archived of it, and the copy in {to} is damaged; {DAMAGED}")
                        put_copy(to, entry, content)
                        new[segment] = entry
        finally:
            if new:
                put_manifest(to, {**known, **new}.values(), keys)
    return list(new.values())


def prune(log: Path, archive: Path, policy: Policy, now: str, *, heads: Path | None = None, keys: Keys | None = None) -> Retained:
    """Remove the sealed segments whose last event is past its time and whose copies in the archive are whole. The head, signed, says so first.

    Raises:
        InputError: there is no such archive, a copy is damaged, the log cannot be read or written, or `now` or the policy is not understood.
        BusyError: another process archives there.
    """
    done, ends = Retained(), _ends(policy, now)
    if not archive.is_dir():
        raise InputError(f"{archive}: is no folder of an archive; `gmem memory archive --to` makes one")
    with _alone_in(archive):
        known = read_archive(archive, keys)
        for writer in _writers(log, heads, keys, done):
            starts: dict[str, Pruned] = {}
            removed: list[Segment] = []
            for stream in writer.head.streams:
                for entry in _due(writer.head, stream, ends[stream], known, done) if stream in ends else ():
                    _refuse_unless_copied(log, archive, entry)
                    starts[stream] = Pruned(entry.segment, entry.seq, entry.chain)
                    removed.append(entry.key)
            writer.prune(starts, now)
            done.segments += removed
    return done


def _ends(policy: Policy, now: str) -> dict[str, datetime]:
    """{stream: the time before which its rows are past theirs}."""
    for stream, days in policy.items():
        if type(days) is not int or days < 0:
            raise InputError(f"retention of stream {stream!r}: a number of days from 0, got {shown(days)}")
    try:
        return {stream: moment(now) - timedelta(days=days) for stream, days in policy.items()}
    except (ValueError, TypeError):
        raise InputError(f"retention: now is a time such as '2026-10-01T00:00:00Z', got {shown(now)}") from None
    except OverflowError:
        raise InputError("retention: so many days reach before all times; leave the stream out to keep it for good") from None


def _writers(log: Path, heads: Path | None, keys: Keys | None, done: Retained) -> Iterator[LogWriter]:
    """Each writer of a log in turn, unless another process writes as it."""
    for name in read_heads(log, heads):
        try:
            with LogWriter(log, heads, writer=name, keys=keys) as writer:
                yield writer
        except BusyError:
            done.busy.append(name)


@contextmanager
def _alone_in(archive: Path) -> Iterator[None]:
    with os_errors(archive, "the archive cannot be opened"):
        locked = lock_folder(archive)
    if locked is None:
        raise BusyError(f"{archive}: another process archives there; wait for its end")
    try:
        yield
    finally:
        os.close(locked)


def _not_archived(log: Path, to: Path, head: Head, stream: str, known: Mapping[Segment, Archived]) -> Iterator[tuple[Segment, bytes]]:
    """The sealed segments of a stream that have no whole copy, each checked from the last row before it."""
    state = head.streams[stream]
    reached = Reached.at_start(head.writer, stream, state, None)
    if state.pruned:
        reached.go_on_behind(state.pruned)
    for number in range(state.first_segment, state.segments):
        segment = Segment(head.writer, stream, number)
        if segment in known and is_whole(to, known[segment]):
            reached.seq, reached.chain = known[segment].seq, known[segment].chain.encode()
            continue
        path = segment.path(log)
        with os_errors(path, "the log cannot be archived"):
            reached.offset = reached.line = 0
            problem = check_lines(path, reached, None)
            content = path.read_bytes()
        if problem:
            raise InputError(f"{problem}; nothing of this stream was archived from there on")
        yield segment, content


def _due(head: Head, stream: str, end: datetime, known: Mapping[Segment, Archived], done: Retained) -> Iterator[Archived]:
    """The first segments of a stream that are past their time, up to one that is not or must stay."""
    state = head.streams[stream]
    for number in range(state.first_segment, state.segments):
        segment = Segment(head.writer, stream, number)
        entry = known.get(segment)
        if entry is None or entry.at is None:
            done.kept[segment] = "is not archived" if entry is None else "its last event has no time `recorded_at`"
            return
        if moment(entry.at) >= end:
            return
        yield entry


def _refuse_unless_copied(log: Path, archive: Path, entry: Archived) -> None:
    path = entry.key.path(log)
    content = read_copy(archive, entry)
    with os_errors(path, "the log was not pruned"):
        if path.read_bytes() != content:
            raise InputError(f"{path}: is not what was archived of it; {DAMAGED}")
