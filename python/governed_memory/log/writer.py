"""Appending to the log: durable when it returns, all of it or nothing."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType

from governed_memory.errors import BusyError, InputError
from governed_memory.host.keys import Keys
from governed_memory.log.heads import Head, SignedHead, StreamHead, before_any_row, head_path, part_path, put_head, read_head, signed, sync_folder
from governed_memory.log.layout import DAMAGED, LOCK, SEGMENT_BYTES, Segment, checked_name, heads_folder, lines_of, os_errors
from governed_memory.log.recovery import settle

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
                _make_folder(self._heads)
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
                    self._append({stream: events for stream, events in sorted(rows.items()) if events}, at)
            after = self._head.head.streams
        reach = {stream: (before[stream].seq if stream in before else 0, after[stream].seq if stream in after else 0) for stream in rows}
        return {stream: range(first + 1, last + 1) for stream, (first, last) in reach.items()}

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
            raise InputError(f"{head_path(self._heads, self.writer)}: the head of the log is not signed by a key of this host; {DAMAGED}")
        return head

    def _refuse_to_write_here(self) -> None:
        if self._locked < 0:
            raise InputError(f"{self._log}: writer {self.writer!r} was closed; open another")
        if os.getpid() != self._process:
            raise InputError(f"{self._log}: writer {self.writer!r} belongs to the process that opened it; open another in this one")
        if not self._is_settled:
            with os_errors(self._log / self.writer, "what a failed write left in the log cannot be taken back, so nothing was written"):
                self._take_back()

    def _append(self, rows: Mapping[str, Sequence[bytes]], at: str) -> None:
        """Write rows to their streams, sync each, then put the head in place; or take all back."""
        try:
            before = self._head.head
            states, to_sync = dict(before.streams), []
            for stream, events in rows.items():
                states[stream], handles = self._write(stream, events)
                to_sync += handles
            head = signed(Head(self.writer, before.commit + 1, at, states), self._keys)
            self._commit(head, to_sync)
            self._head = head
        except BaseException:
            with suppress(OSError, InputError):
                self._take_back()
            raise

    def _write(self, stream: str, events: Sequence[bytes]) -> tuple[StreamHead, list[int]]:
        """Write events behind a stream's last row: how far it then reaches, and what must be synced before that is true."""
        state = self._head.head.streams.get(stream) or before_any_row(self.writer, stream)
        begins = state.segments == 0 or state.bytes >= self._segment_bytes
        if begins:
            state = replace(state, segments=state.segments + 1, bytes=0)
        handle = self._file(Segment(self.writer, stream, state.segments), state.bytes, begins)
        data, chain = lines_of(state.chain.encode(), state.seq, events)
        _write_at(handle, data, state.bytes)
        after = replace(state, seq=state.seq + len(events), chain=chain.decode(), bytes=state.bytes + len(data))
        return after, [handle, self._folder] if begins else [handle]

    def _file(self, segment: Segment, size: int, begins: bool) -> int:
        """A segment's file, open for writing at its end."""
        path = segment.path(self._log)
        if begins:
            for older in [open_one for open_one in self._open_files if open_one.stream == segment.stream]:
                os.close(self._open_files.pop(older))
        if segment not in self._open_files:
            self._open_files[segment] = os.open(path, os.O_WRONLY | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if begins else 0), 0o644)
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
        locked = _lock(log / checked_name("writer", writer))
        if locked is None:
            raise BusyError(f"{log}: another process writes as {writer!r}; wait for its end, or leave the name out to take a free slot")
        return writer, locked
    for number in count(1):
        name = f"w{number:03}"
        locked = _lock(log / name)
        if locked is not None:
            return name, locked
    raise AssertionError("numbers do not end")


def _lock(folder: Path) -> int | None:
    _make_folder(folder)
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        raise
    return handle


def _make_folder(path: Path) -> None:
    """A folder and those above it, each on disk before what is put in it."""
    if path.is_dir():
        return
    _make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)
