"""Copies of sealed segments in a folder, with a manifest of what each holds."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.host.keys import Keys
from governed_memory.log.events import canonical_event
from governed_memory.log.folders import make_folder
from governed_memory.log.layout import DAMAGED, Segment, os_errors, read_line
from governed_memory.warehouse.durable import write_whole

SIGNED_AS = b"governed-memory log archive 1\n"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Archived:
    """One archived segment, as the manifest names it.

    Attributes:
        writer: whose.
        stream: of which stream.
        segment: its number.
        seq: its last row's.
        chain: its last row's.
        at: its last event's, as written; null where that event has none.
        size: how many bytes it has, not compressed.
        sha256: of its bytes, not compressed.
    """

    writer: str
    stream: str
    segment: int
    seq: int
    chain: str
    at: str | None
    size: int
    sha256: str

    @property
    def key(self) -> Segment:
        """The segment that was archived."""
        return Segment(self.writer, self.stream, self.segment)

    def path(self, archive: Path) -> Path:
        """Where its copy is."""
        return archive / self.writer / f"{self.stream}.{self.segment:06}.jsonl.gz"

    def is_copy_of(self, content: bytes) -> bool:
        """Whether these are the bytes that were archived."""
        return len(content) == self.size and sha256(content).hexdigest() == self.sha256


def archived(segment: Segment, content: bytes) -> Archived:
    """What the manifest says of a segment with these bytes, whose chain is checked."""
    line = content[content.rfind(b"\n", 0, -1) + 1 :]
    seq, event = read_line(line)
    chain = json.loads(line)["chain"]
    return Archived(segment.writer, segment.stream, segment.number, seq, chain, at_of(event), len(content), sha256(content).hexdigest())


def at_of(event: bytes) -> str | None:
    """When an event says that it was; None where it does not say so as a time."""
    try:
        found = json.loads(event).get("recorded_at")
        moment(found)
    except (ValueError, TypeError):
        return None
    return str(found)


def moment(text: str) -> datetime:
    """A time in ISO form; without a zone it is in UTC.

    Raises:
        ValueError, TypeError: it is none.
    """
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def put_copy(archive: Path, entry: Archived, content: bytes) -> None:
    """Write the copy of a segment; on disk when this returns."""
    path = entry.path(archive)
    with os_errors(path, "nothing was archived"):
        make_folder(path.parent)
        write_whole(path, gzip.compress(content, mtime=0))


def read_copy(archive: Path, entry: Archived) -> bytes:
    """A segment's bytes from its copy.

    Raises:
        InputError: the copy is not there, or is not what the manifest says.
    """
    path = entry.path(archive)
    try:
        content = unpacked(archive, entry)
    except ValueError as error:
        raise InputError(f"{path}: is no archived segment: {error}; `gmem memory archive` makes it again") from None
    if not entry.is_copy_of(content):
        raise InputError(f"{path}: is not the segment that {MANIFEST} names; `gmem memory archive` makes it again")
    return content


def unpacked(archive: Path, entry: Archived) -> bytes:
    """What a segment's copy holds.

    Raises:
        InputError: it cannot be read.
        ValueError: it holds nothing that was packed; names the kind of fault.
    """
    path = entry.path(archive)
    with os_errors(path, "the archived segment cannot be read"):
        packed = path.read_bytes()
    try:
        return gzip.decompress(packed)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ValueError(type(error).__name__) from None


def is_whole(archive: Path, entry: Archived) -> bool:
    """Whether a segment's copy is there and is what the manifest says.

    Raises:
        InputError: it is there and cannot be read.
    """
    if not entry.path(archive).exists():
        return False
    try:
        return entry.is_copy_of(unpacked(archive, entry))
    except ValueError:
        return False


def put_manifest(archive: Path, entries: Iterable[Archived], keys: Keys | None) -> None:
    """Write the manifest; signed where the host has keys."""
    content = {"segments": [asdict(entry) for entry in sorted(entries, key=lambda entry: entry.key)]}
    key_id, signature = keys.sign(SIGNED_AS + canonical_event(content)) if keys else (None, None)
    with os_errors(archive / MANIFEST, "the manifest of the archive was not written"):
        write_whole(archive / MANIFEST, canonical_event({"archive": content, "key_id": key_id, "signature": signature}) + b"\n")


def read_archive(archive: Path, keys: Keys | None) -> dict[Segment, Archived]:
    """What an archive's manifest names; nothing where there is none yet.

    Raises:
        InputError: it cannot be read, or with keys: none of them signed it.
    """
    path = archive / MANIFEST
    with os_errors(path, "the manifest of the archive cannot be read"):
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return {}
    try:
        given = json.loads(text)
        content, key_id, signature = given["archive"], given["key_id"], given["signature"]
        entries = [Archived(**entry) for entry in content["segments"]]
        is_signed = keys is None or (key_id is not None and keys.verify(key_id, signature, SIGNED_AS + canonical_event(content)))
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{path}: is no manifest of an archive of the log") from None
    if not is_signed:
        raise InputError(f"{path}: is not signed by a key of this host; {DAMAGED}")
    return {entry.key: entry for entry in entries}
