"""Taking back what a crash or a failed write left beyond the head."""

from __future__ import annotations

import os
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.log.folders import sync_folder
from governed_memory.log.heads import Head, StreamHead
from governed_memory.log.layout import CHAIN_AT, DAMAGED, Segment, last_line, segments_in


def settle(log: Path, head: Head) -> None:
    """Make a writer's segments what its head says: cut rows beyond it, remove segments beyond it and those that it says were pruned.

    What is cut was never acknowledged, so nobody counts on it, and keeping it somewhere would keep events that no erasure or retention finds.

    Raises:
        InputError: the segments do not reach the head, or are not those it speaks of; nothing is changed then.
    """
    there = set(segments_in(log, head.writer))
    for stream, state in head.streams.items():
        _refuse_other_than(log, head.writer, stream, state, there)
    removed = [segment for segment in there if not _belongs(segment, head)]
    for segment in removed:
        segment.path(log).unlink()
    if removed:
        sync_folder(log / head.writer)
    for stream, state in head.streams.items():
        _cut(Segment(head.writer, stream, state.segments).path(log), state.bytes)


def _belongs(segment: Segment, head: Head) -> bool:
    state = head.streams.get(segment.stream)
    return state is not None and state.first_segment <= segment.number <= state.segments


def _refuse_other_than(log: Path, writer: str, stream: str, state: StreamHead, there: set[Segment]) -> None:
    """Refuse to go on behind segments that are not those of the head: rows that it speaks of are gone, or it is the head of another log."""
    for number in range(state.first_segment, state.segments + 1):
        if Segment(writer, stream, number) not in there:
            raise InputError(f"{Segment(writer, stream, number).path(log)}: is missing, though the head of the log names it; restore it")
    path = Segment(writer, stream, state.segments).path(log)
    size = path.stat().st_size
    if size < state.bytes:
        raise InputError(f"{path}: has {size} bytes, though the head of the log counts {state.bytes}; restore it")
    if state.bytes and last_line(path, state.bytes)[CHAIN_AT : CHAIN_AT + 64] != state.chain.encode():
        raise InputError(f"{path}: does not end with the row that the head of the log names; {DAMAGED}")


def _cut(path: Path, size: int) -> None:
    if path.stat().st_size > size:
        with path.open("r+b") as file:
            file.truncate(size)
            os.fsync(file.fileno())
