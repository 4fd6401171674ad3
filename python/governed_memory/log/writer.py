"""Appending to the log: durable when it returns, all of it or nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType

from governed_memory.errors import BusyError, InputError
from governed_memory.host.keys import Keys
from governed_memory.log.folders import lock_folder, make_folder, sync_folder
from governed_memory.log.heads import Head, Pruned, SignedHead, StreamHead, before_any_row, head_path, part_path, put_head, read_head, signed
from governed_memory.log.layout import DAMAGED, EVENT_BYTES, SEGMENT_BYTES, Segment, checked_name, heads_folder, lines_of, os_errors
from governed_memory.log.recovery import settle

# A stream, how far it reaches with what was written, and what must be synced before that is true.
Written = tuple[str, StreamHead, list[int]]
CANNOT_OPEN = "the log cannot be opened for writing"


class LogWriter:
    """The one process that appends to the streams of one writer.

    Without a name it takes the first of the slots w001, w002, … that no other process holds, so that writers never wait for each other and slots
    are used again. Opening it takes back what a crash left beyond the head.

    Attributes:
        writer: its name.
    """

    def __init__(
        self, log: Path, heads: Path | None = None, *, writer: str | None = None, keys: Keys | None = None, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        """Open a writer.

        Args:
            log: the folder of the log; made where there is none.
            heads: the folder of the heads, by default `heads` beside the log.
            writer: a name of its own instead of a slot.
            keys: the host's, to sign heads with.
            segment_bytes: a segment that has passed this size is sealed, and the next begun.

        Raises:
            InputError: the log cannot be opened, or was damaged; nothing is changed then.
            BusyError: another process writes under this name.
        """
        self._log, self._heads = log.absolute(), heads_folder(log, heads).absolute()
        self._keys, self._segment_bytes = keys, segment_bytes
        self._one_at_a_time, self._process = threading.Lock(), os.getpid()
        self._open_files: dict[Segment, int] = {}
        self._syncing: ThreadPoolExecutor | None = None
        with os_errors(self._log, CANNOT_OPEN):
            self.writer, self._locked = _take(self._log, writer)
        self._folder, self._is_settled = -1, True
        try:
            with os_errors(self._log, CANNOT_OPEN):
                self._folder = os.open(self._log / self.writer, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                make_folder(self._heads)
                self._head = self._first_or_last_head()
                settle(self._log, self._head.head)
        except BaseException:
            self.close()
            raise

    @property
    def head(self) -> Head:
        """How far its streams reach."""
        return self._head.head

    def append(self, rows: Mapping[str, Sequence[bytes]], at: str) -> dict[str, range]:
        """Append events to one or several streams: all of them or none, and on disk when it returns.

        Args:
            rows: {stream: its events, each as `canonical_event` gives it}.
            at: when this is, for the head.

        Returns:
            {stream: the seqs its events have}.

        Raises:
            InputError: an event or name cannot be written, or writing failed. Nothing was written then, and the writer can go on.
        """
        _refuse_what_is_no_line(rows)
        with self._one_at_a_time:
            self._refuse_to_write_here()
            before = self._head.head.streams
            if any(rows.values()):
                with os_errors(self._log / self.writer, "nothing was written to the log"):
                    self._change(lambda: [self._write(stream, events) for stream, events in sorted(rows.items()) if events], at)
            after = self._head.head.streams
        reach = {stream: (before[stream].seq if stream in before else 0, after[stream].seq if stream in after else 0) for stream in rows}
        return {stream: range(first + 1, last + 1) for stream, (first, last) in reach.items()}

    def seal(self, streams: Collection[str], at: str) -> list[Segment]:
        """Begin the next segment of streams before the last one is full, so that it can be archived; which were sealed.

        Raises:
            InputError: as for `append`.
        """
        with self._one_at_a_time, os_errors(self._log / self.writer, "nothing was sealed"):
            self._refuse_to_write_here()
            states = {stream: state for stream, state in self._head.head.streams.items() if stream in streams and state.bytes}
            if states:
                self._change(lambda: [self._begin(stream, state) for stream, state in states.items()], at)
            return [Segment(self.writer, stream, state.segments) for stream, state in states.items()]

    def prune(self, starts: Mapping[str, Pruned], at: str) -> None:
        """Let streams start later: the head says so first, signed; then the segments before are removed. `retention.prune` decides where.

        Raises:
            InputError: a start is none of a sealed segment, or writing failed; what is not removed yet is when this writer is next opened.
        """
        with self._one_at_a_time, os_errors(self._log / self.writer, "the log was not pruned"):
            self._refuse_to_write_here()
            now = self._head.head.streams
            for stream, start in starts.items():
                if stream not in now or not now[stream].first_segment <= start.segments < now[stream].segments or start.seq > now[stream].seq:
                    raise InputError(f"{self._log}: {self.writer}/{stream} cannot start behind segment {start.segments}, which is not sealed or not there")
            if starts:
                self._change(lambda: [(stream, replace(now[stream], pruned=start), []) for stream, start in starts.items()], at)
                settle(self._log, self._head.head)

    def close(self) -> None:
        """Give the name back. What was appended is on disk already."""
        with self._one_at_a_time:
            self._close_files()
            if self._syncing:
                self._syncing.shutdown()
                self._syncing = None
            for handle in (self._folder, self._locked):
                if handle >= 0:
                    os.close(handle)
            self._folder = self._locked = -1

    def __enter__(self) -> LogWriter:
        """The writer itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def _first_or_last_head(self) -> SignedHead:
        head = read_head(self._heads, self.writer)
        if head is None:
            # Before the first row there is a head of nothing. So files without a head are a log whose head was lost, never one to cut to nothing.
            if any((self._log / self.writer).glob("*.jsonl")):
                raise InputError(f"{head_path(self._heads, self.writer)}: the head of the log is missing, while {self._log / self.writer} has segments")
            head = signed(Head(self.writer, 0, ""), self._keys)
            put_head(self._heads, head)
        elif self._keys and not head.is_signed_by(self._keys):
            # To go on would sign whatever the head was made to say.
            raise InputError(
                f"{head_path(self._heads, self.writer)}: the head of the log is not signed by a key of this host; {DAMAGED}, "
                "and where it began without keys, `gmem memory sign` signs it"
            )
        elif self._keys is None and head.signature is not None:
            # To go on would put a head without a signature in its place, and nobody with a key could write any more.
            raise InputError(f"{head_path(self._heads, self.writer)}: the head of the log is signed; name the host file that has its key with --host")
        return head

    def _refuse_to_write_here(self) -> None:
        if self._locked < 0:
            raise InputError(f"{self._log}: writer {self.writer!r} was closed; open another")
        if os.getpid() != self._process:
            raise InputError(f"{self._log}: writer {self.writer!r} belongs to the process that opened it; open another in this one")
        if not self._is_settled:
            with os_errors(self._log / self.writer, "what a failed write left in the log cannot be taken back, so nothing was written"):
                self._take_back()

    def _change(self, write: Callable[[], list[Written]], at: str) -> None:
        """Write to streams, sync what was written, then put the head in place that says so; or take all back."""
        try:
            before, written = self._head.head, write()
            states = {**before.streams, **{stream: state for stream, state, _ in written}}
            head = signed(Head(self.writer, before.commit + 1, at, states), self._keys)
            self._commit(head, [handle for *_, handles in written for handle in handles])
            self._head = head
        except BaseException:
            with suppress(OSError, InputError):
                self._take_back()
            raise

    def _write(self, stream: str, events: Sequence[bytes]) -> Written:
        """Write events behind a stream's last row."""
        state = self._head.head.streams.get(stream) or before_any_row(self.writer, stream)
        begun: list[int] = []
        if state.segments == 0 or state.bytes >= self._segment_bytes:
            _, state, begun = self._begin(stream, state)
        handle = self._file(Segment(self.writer, stream, state.segments), state.bytes)
        data, chain = lines_of(state.chain.encode(), state.seq, events)
        _write_at(handle, data, state.bytes)
        return stream, replace(state, seq=state.seq + len(events), chain=chain.decode(), bytes=state.bytes + len(data)), [handle, *begun]

    def _begin(self, stream: str, state: StreamHead) -> Written:
        """Begin a stream's next segment, empty."""
        for older in [segment for segment in self._open_files if segment.stream == stream]:
            os.close(self._open_files.pop(older))
        segment = Segment(self.writer, stream, state.segments + 1)
        handle = self._open_files[segment] = os.open(segment.path(self._log), os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL, 0o644)
        return stream, replace(state, segments=segment.number, bytes=0), [handle, self._folder]

    def _file(self, segment: Segment, size: int) -> int:
        """A segment's file, open for writing at its end."""
        path = segment.path(self._log)
        if segment not in self._open_files:
            self._open_files[segment] = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        handle = self._open_files[segment]
        there, ours = os.stat(path), os.fstat(handle)
        # Rows written to a file that was replaced, or behind rows that are gone, would be acknowledged and lost.
        if there.st_ino != ours.st_ino or ours.st_size < size:
            raise InputError(f"{path}: was replaced or cut short by somebody else; nothing was written, {DAMAGED}")
        if ours.st_size > size:
            os.ftruncate(handle, size)
        return handle

    def _commit(self, head: SignedHead, to_sync: list[int]) -> None:
        """Put a head in place once everything it speaks of is on disk."""
        part = os.open(part_path(self._heads, self.writer), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            _write_at(part, head.encoded(), 0)
            self._sync({part, *to_sync})
        finally:
            os.close(part)
        part_path(self._heads, self.writer).replace(head_path(self._heads, self.writer))
        sync_folder(self._heads)

    def _sync(self, handles: set[int]) -> None:
        # At the same time: the file system then writes its journal once for all of them, which takes half as long.
        if self._syncing is None:
            self._syncing = ThreadPoolExecutor(4, "log-sync")
        last, *others = sorted(handles)
        waiting = [self._syncing.submit(os.fsync, handle) for handle in others]
        try:
            os.fsync(last)
        finally:
            wait(waiting)
        for synced in waiting:
            synced.result()

    def _take_back(self) -> None:
        """Make the files what they were before an append that failed."""
        self._is_settled = False
        self._close_files()
        # The new head may be in place already, where only making that durable failed. Who read it meanwhile has seen rows that never were.
        if head_path(self._heads, self.writer).read_bytes() != self._head.encoded():
            put_head(self._heads, self._head)
        settle(self._log, self._head.head)
        self._is_settled = True

    def _close_files(self) -> None:
        while self._open_files:
            os.close(self._open_files.popitem()[1])


def _refuse_what_is_no_line(rows: Mapping[str, Sequence[bytes]]) -> None:
    for stream, events in rows.items():
        checked_name("stream", stream)
        for event in events:
            if not (event.startswith(b"{") and event.endswith(b"}")) or b"\n" in event:
                raise InputError(f"stream {stream!r}: an event is written as canonical_event gives it: one JSON object without line ends")
            if len(event) > EVENT_BYTES:
                raise InputError(f"stream {stream!r}: an event has {len(event)} bytes; the log takes {EVENT_BYTES} for one, so tell less at once")
        try:
            b"".join(events).decode()
        except UnicodeDecodeError:
            raise InputError(f"stream {stream!r}: an event is written as canonical_event gives it: in UTF-8") from None


def _write_at(handle: int, data: bytes, offset: int) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(handle, data[written:] if written else data, offset + written)


def _take(log: Path, writer: str | None) -> tuple[str, int]:
    """The name to write under, and the lock that keeps it."""
    if writer is not None:
        locked = lock_folder(log / checked_name("writer", writer))
        if locked is None:
            raise BusyError(f"{log}: another process writes as {writer!r}; wait for its end, or leave the name out to take a free slot")
        return writer, locked
    for number in count(1):
        name = f"w{number:03}"
        locked = lock_folder(log / name)
        if locked is not None:
            return name, locked
    raise AssertionError("numbers do not end")
