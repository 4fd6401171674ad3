"""Finding what was done to a log: an edit, a reorder, an insertion, a removed tail, a removed or added file, an edited or older head."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.host.keys import Keys
from governed_memory.log.chain import Reached, check_stream
from governed_memory.log.findings import Problem, Verification
from governed_memory.log.heads import HEAD, Head, SignedHead, head_path, read_head, writers_with_a_head
from governed_memory.log.layout import LOCK, NAME, SEGMENT, Segment, heads_folder, os_errors, segments_in

# A writer at work has rows on disk for a moment before its head counts them.
TRIES, PAUSE_S = 60, 0.05
BEYOND = "is beyond what the head counts: added, or left by a write that was cut off, which the next opening of this writer takes back"


def verify(log: Path, heads: Path | None = None, keys: Keys | None = None, noted: Path | None = None) -> Verification:
    """Check every row of the log against its chain and its head, while writers may go on.

    Args:
        log: the folder of the log.
        heads: the folder of its heads, by default `heads` beside it.
        keys: the host's; then a head that none of them signed is a problem.
        noted: a folder with copies of heads that were kept elsewhere; the log must still hold what they speak of.

    Raises:
        InputError: there is no such log or folder of copies, a file cannot be read, or a key cannot.
    """
    if not log.is_dir():
        raise InputError(f"{log}: is no folder of a log; the first writer makes it")
    if noted and not noted.is_dir():
        raise InputError(f"{noted}: is no folder with copies of heads; name the one that the folder of heads was copied to")
    folder = heads_folder(log, heads)
    found = Verification()
    with os_errors(log, "the log cannot be verified"):
        writers = {path.name for path in log.iterdir() if path.is_dir() and NAME.fullmatch(path.name)}
        for path in sorted({*log.iterdir()} - {log / writer for writer in writers}):
            found.problems.append(Problem(path, None, None, "is no part of the log: added"))
        kept = _heads_in(noted, found) if noted else {}
        for writer in sorted({*writers, *writers_with_a_head(folder), *kept}):
            _Writer(log, folder, writer, kept.get(writer), keys).verify(found)
        found.problems.extend(_added_beside_heads(folder))
    return found


@dataclass
class _Writer:
    """The check of one writer's streams."""

    log: Path
    heads: Path
    writer: str
    noted: Head | None
    keys: Keys | None
    reached: dict[str, Reached] = field(default_factory=dict)

    def verify(self, found: Verification) -> None:
        signed = self._head(found)
        if signed is None:
            return
        problems, beyond = self._check(signed.head), self._beyond(signed.head)
        for _ in range(TRIES):
            # A missing segment may have been pruned since the head was read.
            if not beyond and all(problem.line for problem in problems):
                break
            time.sleep(PAUSE_S)
            signed = self._head(found)
            if signed is None:
                return
            problems, now = self._check(signed.head), self._beyond(signed.head)
            # Only what was there at first: a busy writer always has rows that its head does not count yet.
            beyond = {segment: size for segment, size in beyond.items() if segment in now and _is_beyond(segment, size, signed.head)}
        found.rows.update({(self.writer, stream): reached.rows for stream, reached in sorted(self.reached.items())})
        found.heads[self.writer] = signed.head
        found.problems.extend(problems)
        found.problems.extend(self._described(segment, signed.head) for segment in sorted(beyond))
        found.problems.extend(self._added_files())
        found.problems.extend(self._older_than_noted(signed.head))
        self._signature(signed, found)

    def _head(self, found: Verification) -> SignedHead | None:
        path = head_path(self.heads, self.writer)
        try:
            signed = read_head(self.heads, self.writer)
        except InputError as error:
            found.problems.append(Problem(path, None, None, str(error).removeprefix(f"{path}: ")))
            return None
        if signed is None and (self.noted or any(self._segments())):
            found.problems.append(Problem(path, None, None, "is missing: the head was removed, and nothing says how far its rows reach"))
            found.problems.extend(self._added_files())
        return signed

    def _check(self, head: Head) -> list[Problem]:
        problems = []
        for stream, state in sorted(head.streams.items()):
            noted = self.noted.streams.get(stream) if self.noted else None
            reached = self.reached.setdefault(stream, Reached.at_start(self.writer, stream, state, noted))
            problem = check_stream(self.log, self.writer, stream, state, reached)
            if problem:
                problems.append(problem)
        return problems

    def _segments(self) -> Iterator[Segment]:
        return segments_in(self.log, self.writer) if (self.log / self.writer).is_dir() else iter(())

    def _beyond(self, head: Head) -> dict[Segment, int]:
        """Segments, with their sizes, of which the head does not count all."""
        found = {}
        for segment in self._segments():
            try:
                size = segment.path(self.log).stat().st_size
            except FileNotFoundError:
                continue
            if _is_beyond(segment, size, head):
                found[segment] = size
        return found

    def _described(self, segment: Segment, head: Head) -> Problem:
        state, path = head.streams.get(segment.stream), segment.path(self.log)
        if state is None or segment.number > state.segments:
            return Problem(path, None, None, BEYOND)
        if segment.number < state.first_segment:
            return Problem(path, None, None, "was pruned, yet it is there: added again, or left by a prune that was cut off")
        with path.open("rb") as file:
            line = file.read(state.bytes).count(b"\n") + 1
        return Problem(path, line, state.seq + 1, f"what follows row {state.seq} {BEYOND}")

    def _added_files(self) -> list[Problem]:
        folder = self.log / self.writer
        if not folder.is_dir():
            return []
        # Listed once: a writer may begin a segment at any moment.
        added = [path for path in folder.iterdir() if path.name != LOCK and not (SEGMENT.fullmatch(path.name) and not path.is_dir())]
        return [Problem(path, None, None, "is no part of the log: added") for path in sorted(added)]

    def _older_than_noted(self, head: Head) -> list[Problem]:
        path, noted = head_path(self.heads, self.writer), self.noted
        if noted is None:
            return []
        if head.commit < noted.commit:
            return [Problem(path, None, None, f"is older than the head noted elsewhere: commit {head.commit} where {noted.commit} was noted")]
        if head.commit == noted.commit and head != noted:
            return [Problem(path, None, None, f"differs from the head noted elsewhere for the same commit {head.commit}")]
        gone = sorted(stream for stream in noted.streams if stream not in head.streams)
        return [Problem(path, None, None, f"does not name stream {stream!r}, which the head noted elsewhere names") for stream in gone]

    def _signature(self, signed: SignedHead, found: Verification) -> None:
        path = head_path(self.heads, self.writer)
        if self.keys is None:
            found.notices.append(f"{path}: {'its signature was not checked: no keys were given' if signed.key_id else 'is unsigned'}")
        elif signed.key_id is None:
            found.problems.append(Problem(path, None, None, "is unsigned"))
        elif not signed.is_signed_by(self.keys):
            found.problems.append(Problem(path, None, None, f"is not what key {signed.key_id!r} of this host signed"))


def _is_beyond(segment: Segment, size: int, head: Head) -> bool:
    state = head.streams.get(segment.stream)
    if state is None or not state.first_segment <= segment.number <= state.segments:
        return True
    return segment.number == state.segments and size > state.bytes


def _added_beside_heads(heads: Path) -> Iterator[Problem]:
    for path in sorted(heads.iterdir()) if heads.is_dir() else []:
        if not HEAD.fullmatch(path.name):
            yield Problem(path, None, None, "is no head of the log: added")


def _heads_in(noted: Path, found: Verification) -> dict[str, Head]:
    heads = {}
    for writer in writers_with_a_head(noted):
        signed = read_head(noted, writer)
        if signed:
            heads[writer] = signed.head
    if not heads:
        found.notices.append(f"{noted}: has no heads to compare with")
    return heads
