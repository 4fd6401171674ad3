"""Reading what is committed. Readers wait for nobody and nobody waits for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.log.chain import CHANGED
from governed_memory.log.heads import StreamHead, read_head, read_heads
from governed_memory.log.layout import CHAIN_AT, DAMAGED, Segment, first_chain, heads_folder, next_chain, read_line

Positions = dict[tuple[str, str], int]
# Below this distance, lines are read one by one to find a seq.
NEAR = 1 << 16
# Rows no further apart than this are read in one go when single rows are asked for.
NEAR_ROWS = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One committed row of the log.

    Attributes:
        writer: who wrote it.
        stream: what it is a row of.
        seq: its number in this writer's stream, from 1.
        event: the canonical JSON object.
    """

    writer: str
    stream: str
    seq: int
    event: bytes


def positions(log: Path, heads: Path | None = None) -> Positions:
    """How far each stream of each writer is committed: {(writer, stream): seq of its last row}.

    Raises:
        InputError: there is no such log, or a head cannot be read.
    """
    return {(writer, stream): state.seq for writer, head in read_heads(log, heads).items() for stream, state in head.streams.items()}


def rows_since(log: Path, heads: Path | None, seen: Positions, streams: Collection[str] | None = None) -> Iterator[Row]:
    """The rows committed after those seen, by writer, stream and seq, as the heads are when this is called; each is held against its chain first.

    Nothing is kept between calls: where the new rows begin is found by bisection, in about a dozen small reads of one segment whatever the log's
    size, and a stream without new rows costs nothing but its head. Rows that retention removed are not among them.

    Args:
        log: the folder of the log.
        heads: the folder of its heads, by default `heads` beside it.
        seen: how far each stream was read, as `positions` gives it; {} for all rows.
        streams: only these.

    Raises:
        InputError: there is no such log, a head cannot be read, rows that a head counts are not there, more was seen than there is, or a row is not
            what was written: then nothing is given of it or of what follows it.
    """
    folder = heads_folder(log, heads)
    found = [
        (_Stream(log, folder, writer, stream, state), seen.get((writer, stream), 0))
        for writer, head in read_heads(log, heads).items()
        for stream, state in sorted(head.streams.items())
        if streams is None or stream in streams
    ]
    return (row for stream, seq in found for row in stream.rows_after(seq))


def rows_at(log: Path, heads: Path | None, wanted: Mapping[tuple[str, str], Collection[int]]) -> Iterator[Row]:
    """Single rows, as the log holds them now, also where they were changed: by writer, stream and seq; what is not there, or not any more, is left out.

    Args:
        log: the folder of the log.
        heads: the folder of its heads, by default `heads` beside it.
        wanted: {(writer, stream): the seqs of the rows}.

    Raises:
        InputError: there is no such log, a head cannot be read, or the log is damaged where they are.
    """
    folder, found = heads_folder(log, heads), read_heads(log, heads)
    for (writer, stream), seqs in sorted(wanted.items()):
        state = found[writer].streams.get(stream) if writer in found else None
        if state:
            there = sorted(seq for seq in set(seqs) if 1 <= seq <= state.seq)
            yield from _Stream(log, folder, writer, stream, state).rows_of(there)


@dataclass(frozen=True, slots=True)
class _Stream:
    """One stream of one writer, as its head is when reading begins."""

    log: Path
    heads: Path
    writer: str
    stream: str
    state: StreamHead

    def rows_after(self, seen: int, *, is_checked: bool = True) -> Iterator[Row]:
        state = self.state
        if seen > state.seq:
            raise InputError(f"{self} ends at row {state.seq}, though {seen} were seen; the log or its head is older than what was read from it")
        if seen == state.seq:
            return
        seen = max(seen, state.pruned.seq if state.pruned else 0)
        chain = state.pruned.chain.encode() if state.pruned else first_chain(self.writer, self.stream)
        for number in range(self._segment_with(seen), state.segments + 1):
            path = self._path(number)
            try:
                end = path.stat().st_size if number < state.segments else state.bytes
                at, before = _after(path, seen, end)
                chain = before or chain
                for seq, event, stated in _lines(path, at, end):
                    if seq != seen + 1:
                        raise InputError(f"{path}: row {seq} stands where row {seen + 1} should; {DAMAGED}")
                    if is_checked and next_chain(chain, seq, event) != stated:
                        raise InputError(f"{path}: row {seq} {CHANGED}; {DAMAGED}")
                    yield Row(self.writer, self.stream, seq, event)
                    seen, chain = seq, stated
            except FileNotFoundError:
                seen, chain = self._pruned_meanwhile(number, seen, chain)
            except OSError as error:
                raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        if seen != state.seq:
            raise InputError(f"{self} ends after row {seen}, though its head counts {state.seq}; {DAMAGED}")
        if is_checked and chain != state.chain.encode():
            raise InputError(f"{self}: row {seen} is not the row that the head names as the last; {DAMAGED}")

    def rows_of(self, seqs: Sequence[int]) -> Iterator[Row]:
        """The rows with these seqs, which ascend; those near each other in one reading."""
        begins = [place for place, seq in enumerate(seqs) if place == 0 or seq - seqs[place - 1] > NEAR_ROWS]
        for first, beyond in pairwise([*begins, len(seqs)]):
            run = set(seqs[first:beyond])
            for row in self.rows_after(seqs[first] - 1, is_checked=False):
                if row.seq in run:
                    yield row
                if row.seq >= seqs[beyond - 1]:
                    break

    def _path(self, number: int) -> Path:
        return Segment(self.writer, self.stream, number).path(self.log)

    def _pruned_meanwhile(self, number: int, seen: int, chain: bytes) -> tuple[int, bytes]:
        """Where to go on, since retention has removed a segment that was there when the head was read: behind which row, and that one's chain."""
        now = read_head(self.heads, self.writer)
        pruned = now.head.streams[self.stream].pruned if now and self.stream in now.head.streams else None
        if pruned is None or pruned.segments < number:
            raise InputError(f"{self._path(number)}: is missing, though the head of the log names it; restore it") from None
        return (pruned.seq, pruned.chain.encode()) if pruned.seq > seen else (seen, chain)

    def _segment_with(self, seen: int) -> int:
        """The number of the segment that holds this row, else of the first; from the last one back, since readers come often."""
        for number in range(self.state.segments, self.state.first_segment, -1):
            if number == self.state.segments and not self.state.bytes:
                continue  # it holds no committed row yet
            try:
                with self._path(number).open("rb") as file:
                    if _read(self._path(number), file.readline())[0] <= seen:
                        return number
            except FileNotFoundError:
                return number
        return self.state.first_segment

    def __str__(self) -> str:
        """How messages name it."""
        return f"{self.log}: {self.writer}/{self.stream}"


def _lines(path: Path, at: int, end: int) -> Iterator[tuple[int, bytes, bytes]]:
    """The seq, event and stated chain of each line of a segment between two places."""
    with path.open("rb") as file:
        file.seek(at)
        for line in file:
            at += len(line)
            if at > end:
                return
            seq, event = _read(path, line)
            yield seq, event, line[CHAIN_AT : CHAIN_AT + 64]


def _after(path: Path, seen: int, end: int) -> tuple[int, bytes | None]:
    """Where the first line after a seq begins, and the chain that the line before it states; None for the first line of a segment."""
    before = None
    with path.open("rb") as file:
        low, high = 0, end
        while high - low > NEAR:
            middle = (low + high) // 2
            file.seek(middle)
            begins = middle + len(file.readline())
            line = file.readline()
            if begins >= high or not line or _read(path, line)[0] > seen:
                high = middle
            else:
                low = begins
        file.seek(low)
        while low < end and _read(path, line := file.readline())[0] <= seen:
            low, before = low + len(line), line[CHAIN_AT : CHAIN_AT + 64]
    return low, before


def _read(path: Path, line: bytes) -> tuple[int, bytes]:
    try:
        return read_line(line)
    except ValueError:
        raise InputError(f"{path}: holds what is no line of a log; {DAMAGED}") from None
