"""Checking the rows of one stream against their chain."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from governed_memory.log.findings import Problem
from governed_memory.log.heads import Pruned, StreamHead
from governed_memory.log.layout import BEFORE_EVENT, LINE_END, SEQ_AT, Segment, first_chain, read_line

CHANGED = "was changed: its event does not give its chain"


@dataclass
class Reached:
    """How far the check of a stream has come; it goes on from here when the head has moved.

    Attributes:
        segment: the number of the segment in which it stands.
        offset: how many of its bytes are checked.
        line: how many of its lines are.
        seq: the last row's that agreed.
        chain: that row's.
        rows: how many rows agreed.
        noted_seq: a row whose chain is noted elsewhere; 0 for none.
        noted_chain: that chain.
    """

    segment: int
    offset: int
    line: int
    seq: int
    chain: bytes
    rows: int = 0
    noted_seq: int = 0
    noted_chain: bytes = b""

    @classmethod
    def at_start(cls, writer: str, stream: str, state: StreamHead, noted: StreamHead | None) -> Reached:
        """Before the first row that is still there."""
        start = cls(1, 0, 0, 0, first_chain(writer, stream))
        if noted and noted.seq > (state.pruned.seq if state.pruned else 0):
            start.noted_seq, start.noted_chain = noted.seq, noted.chain.encode()
        return start

    def go_on_behind(self, pruned: Pruned) -> None:
        """Stand behind what retention removed, of which nothing can be checked any more."""
        self.segment, self.offset, self.line = pruned.segments + 1, 0, 0
        self.seq, self.chain = pruned.seq, pruned.chain.encode()


def check_stream(log: Path, writer: str, stream: str, state: StreamHead, reached: Reached) -> Problem | None:
    """Check a stream from where the last check of it stopped up to its head; the first bad row, or None.

    Raises:
        OSError: a segment cannot be read.
    """
    if state.pruned and reached.segment <= state.pruned.segments:
        reached.go_on_behind(state.pruned)
    while True:
        path = Segment(writer, stream, reached.segment).path(log)
        try:
            problem = check_lines(path, reached, state.bytes if reached.segment >= state.segments else None)
        except FileNotFoundError:
            return Problem(path, None, reached.seq + 1, "is missing: the segment was removed or renamed")
        if problem:
            return problem
        if reached.segment >= state.segments:
            break
        reached.segment, reached.offset, reached.line = reached.segment + 1, 0, 0
    if reached.seq != state.seq:
        return Problem(path, reached.line + 1, min(reached.seq, state.seq) + 1, f"the stream ends with row {reached.seq}, though its head counts {state.seq}")
    if reached.chain != state.chain.encode():
        return Problem(path, reached.line, reached.seq, "is not the row that the head names as the last")
    if reached.noted_seq > reached.seq:
        return Problem(path, reached.line + 1, reached.seq + 1, f"is gone: a head noted elsewhere counts {reached.noted_seq} rows")
    return None


def check_lines(path: Path, reached: Reached, size: int | None) -> Problem | None:
    """Check a segment's lines from where the check stands, to its end or to a size that is known to end a line."""
    chain, seq, noted_seq, offset = reached.chain, reached.seq, reached.noted_seq, reached.offset
    problem = None
    with path.open("rb", buffering=1 << 20) as file:
        file.seek(offset)
        line_number = reached.line
        for line in file:
            if size is not None and offset + len(line) > size:
                break
            text = b"%d" % (seq + 1)
            event = line[SEQ_AT + len(text) + len(BEFORE_EVENT) : -len(LINE_END)]
            next_chain = sha256(b"%b\n%b\n%b" % (chain, text, event)).hexdigest().encode()
            if line != b'{"chain":"%b","seq":%b,"event":%b}\n' % (next_chain, text, event):
                problem = Problem(path, line_number + 1, seq + 1, _what_is_wrong(line, seq + 1))
                break
            if seq + 1 == noted_seq and next_chain != reached.noted_chain:
                problem = Problem(path, line_number + 1, seq + 1, "is not the row that a head noted elsewhere names")
                break
            chain, seq, line_number, offset = next_chain, seq + 1, line_number + 1, offset + len(line)
    if problem is None and size is not None and offset != size:
        problem = Problem(path, line_number + 1, seq + 1, f"is cut off or lengthened: the head counts {size} bytes, and no line ends there")
    reached.rows += seq - reached.seq
    reached.chain, reached.seq, reached.offset, reached.line = chain, seq, offset, line_number
    return problem


def _what_is_wrong(line: bytes, expected: int) -> str:
    try:
        seq = read_line(line)[0]
    except ValueError:
        return "stands where a line is that no log writes"
    return CHANGED if seq == expected else f"row {seq} stands in its place: rows were removed, added or put in another order"
