"""The head of a writer: how far its streams reach. It is the commit record: rows beyond it do not exist for readers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.host.keys import Keys
from governed_memory.log.events import canonical_event
from governed_memory.log.folders import sync_folder
from governed_memory.log.layout import DAMAGED, NAME, first_chain, heads_folder, os_errors

# What is signed begins with this, so that no signature of another kind of thing serves here.
SIGNED_AS = b"governed-memory log head 1\n"
# A head, or the next one while it is written.
HEAD = re.compile(r"[a-z0-9_-]+\.json|\.[a-z0-9_-]+\.json\.part")
CHAIN = re.compile("[0-9a-f]{64}")
SIGNATURE = re.compile("(?:[0-9a-f]{2})+")


@dataclass(frozen=True, slots=True)
class Pruned:
    """What retention removed of a stream: its first segments, up to the row with this seq and chain."""

    segments: int
    seq: int
    chain: str


@dataclass(frozen=True, slots=True)
class StreamHead:
    """How far a stream reaches.

    Attributes:
        segments: how many segments were begun; the last of them is open.
        seq: the last row's.
        chain: the last row's.
        bytes: how many bytes of the last segment count.
        pruned: what retention removed from its start.
    """

    segments: int
    seq: int
    chain: str
    bytes: int
    pruned: Pruned | None = None

    @property
    def first_segment(self) -> int:
        """The first that is still there."""
        return self.pruned.segments + 1 if self.pruned else 1


def before_any_row(writer: str, stream: str) -> StreamHead:
    """The state of a stream that has no segment yet."""
    return StreamHead(0, 0, first_chain(writer, stream).decode(), 0)


@dataclass(frozen=True, slots=True)
class Head:
    """How far all streams of a writer reach after one append.

    Attributes:
        writer: whose.
        commit: counts the heads of this writer from 0, which holds nothing.
        at: when the caller says that the append was.
        streams: {stream: how far it reaches}.
    """

    writer: str
    commit: int
    at: str
    streams: Mapping[str, StreamHead] = field(default_factory=dict)

    def signed_bytes(self) -> bytes:
        """What a signature of it is over."""
        return SIGNED_AS + canonical_event(asdict(self))


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head with the signature over it; both null where the host gave no keys."""

    head: Head
    key_id: str | None = None
    signature: str | None = None

    def encoded(self) -> bytes:
        """The file's bytes."""
        return canonical_event(asdict(self)) + b"\n"

    def is_signed_by(self, keys: Keys) -> bool:
        """Whether one of these keys signed exactly this head."""
        if self.key_id is None or self.signature is None or not SIGNATURE.fullmatch(self.signature):
            return False
        return keys.verify(self.key_id, self.signature, self.head.signed_bytes())


def signed(head: Head, keys: Keys | None) -> SignedHead:
    """A head signed with the host's active key, or unsigned without keys.

    Raises:
        InputError: no key is active, or it cannot be read.
    """
    return SignedHead(head, *keys.sign(head.signed_bytes())) if keys else SignedHead(head)


def head_path(heads: Path, writer: str) -> Path:
    """Where a writer's head is."""
    return heads / f"{writer}.json"


def part_path(heads: Path, writer: str) -> Path:
    """Where a writer's next head is written before it is put in place; a crash may leave it there, and the next append overwrites it."""
    return heads / f".{writer}.json.part"


def put_head(heads: Path, head: SignedHead) -> None:
    """Put a head in place in one step; it is on disk when this returns."""
    part = part_path(heads, head.head.writer)
    with part.open("wb") as file:
        file.write(head.encoded())
        file.flush()
        os.fsync(file.fileno())
    part.replace(head_path(heads, head.head.writer))
    sync_folder(heads)


def read_head(heads: Path, writer: str) -> SignedHead | None:
    """The head of one writer, its signature not verified; None where there is none.

    Raises:
        InputError: the file cannot be read or is no head of this writer.
    """
    path = head_path(heads, writer)
    with os_errors(path, "the head of the log cannot be read"):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
    return parse_head(path, writer, content)


def read_heads(log: Path, heads: Path | None = None) -> dict[str, Head]:
    """{writer: its head}, signatures not verified. A writer whose head cannot be read stops the reading, since rows would be missed.

    Raises:
        InputError: there is no such log, or a head cannot be read.
    """
    if not log.is_dir():
        raise InputError(f"{log}: is no folder of a log; the first writer makes it")
    folder = heads_folder(log, heads)
    found = {writer: read_head(folder, writer) for writer in writers_with_a_head(folder)}
    return {writer: head.head for writer, head in found.items() if head}


def writers_with_a_head(heads: Path) -> list[str]:
    """The writers whose heads are in a folder, by name."""
    if not heads.is_dir():
        return []
    with os_errors(heads, "the heads of the log cannot be listed"):
        return sorted(path.name[:-5] for path in heads.iterdir() if path.name.endswith(".json") and NAME.fullmatch(path.name[:-5]))


def parse_head(path: Path, writer: str, content: bytes) -> SignedHead:
    """A head from its file's bytes, which are exactly those that writing it gives.

    Raises:
        InputError: they are anything else.
    """
    try:
        found = _signed_head(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError(f"{path}: is no head of a log; {DAMAGED}") from None
    if found.encoded() != content:
        raise InputError(f"{path}: is not written as a head of the log is; {DAMAGED}")
    if found.head.writer != writer:
        raise InputError(f"{path}: is the head of writer {found.head.writer!r}, not of {writer!r}")
    return found


def _signed_head(given: Any) -> SignedHead:
    head = given["head"]
    streams = {_name(stream): _stream_head(**state) for stream, state in head["streams"].items()}
    if not all(value is None or isinstance(value, str) for value in (given["key_id"], given["signature"])):
        raise TypeError("key_id and signature are texts")
    return SignedHead(Head(_name(head["writer"]), _count(head["commit"]), _text(head["at"]), streams), given["key_id"], given["signature"])


def _stream_head(segments: Any, seq: Any, chain: Any, bytes: Any, pruned: Any) -> StreamHead:
    start = Pruned(_count(pruned["segments"]), _count(pruned["seq"]), _chain(pruned["chain"])) if pruned is not None else None
    found = StreamHead(_count(segments), _count(seq), _chain(chain), _count(bytes), start)
    if start and (start.segments >= found.segments or start.seq > found.seq):
        raise ValueError("more is pruned than there is")
    return found


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("a count is a whole number from 0")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _name(value: Any) -> str:
    if not NAME.fullmatch(value):
        raise ValueError("not a name")
    return str(value)


def _chain(value: Any) -> str:
    if not CHAIN.fullmatch(value):
        raise ValueError("not a chain")
    return str(value)
