"""Opening a sealed folder: everything is checked before anything is handed out, and what is handed out are the bytes that were checked.

Files are copied to a private place while they are hashed, so that it does not matter what happens to the folder after the check.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO

from governed_memory.errors import InputError, shown
from governed_memory.host.keys import Keys
from governed_memory.sealed.manifest import MANIFEST, Manifest, SealedFile, SealError, expect_name, parsed

BLOCK = 1 << 20
# A manifest of a hundred thousand files has some 15 MB.
MANIFEST_BYTES = 256 * 1024 * 1024
# Nothing that is not a plain file is ever waited for or followed.
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
THREADS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Opened:
    """A sealed folder that was found whole.

    Attributes:
        manifest: what was sealed.
        place: the private folder that holds the checked bytes, under the same names.
    """

    manifest: Manifest
    place: Path

    def path(self, name: str) -> Path:
        """Where the checked bytes of a file are."""
        return self.place / expect_name(name)

    def read(self, name: str) -> bytes:
        """The checked bytes of a file."""
        return self.path(name).read_bytes()


def verified(folder: Path, kind: str, keys: Keys) -> Manifest:
    """What a sealed folder holds, after every check; nothing of it is kept.

    Args:
        folder: the sealed folder itself.
        kind: what it must have been sealed as.
        keys: the host's; one of them, of Ed25519, must have signed it.

    Raises:
        SealError: it is not what was sealed; `check` says which check failed.
        InputError: it cannot be read, or a key cannot.
    """
    return _checked(folder, kind, keys, lambda file, source: _hashed(source, file.size))


def taken(folder: Path, kind: str, keys: Keys, into: Path) -> Opened:
    """Check a sealed folder as `verified` does, and put the bytes that were checked in a new folder.

    Args:
        folder: the sealed folder itself.
        kind: what it must have been sealed as.
        keys: the host's.
        into: a folder that is empty and the caller's alone; what was put there stays there when a check fails, for the caller to remove.

    Raises:
        SealError: it is not what was sealed.
        InputError: it cannot be read, or the copies cannot be written.
    """

    def copied(file: SealedFile, source: int) -> str:
        with (into / file.name).open("xb", buffering=0) as target:
            return _hashed(source, file.size, target)

    return Opened(_checked(folder, kind, keys, copied), into)


@contextmanager
def opened(folder: Path, kind: str, keys: Keys, *, beside: Path | None = None) -> Iterator[Opened]:
    """Check a sealed folder as `verified` does, and hold the bytes that were checked while the block runs.

    Args:
        folder: the sealed folder itself.
        kind: what it must have been sealed as.
        keys: the host's.
        beside: a folder to hold the copies in, where the system's place for temporary files is too small.

    Raises:
        SealError: it is not what was sealed.
        InputError: it cannot be read, or there is no room for the copies.
    """
    with tempfile.TemporaryDirectory(prefix=".gmem-opened-", dir=beside) as place:
        yield taken(folder, kind, keys, Path(place))


def envelope(folder: Path, kind: str, keys: Keys) -> Manifest:
    """What a sealed folder says it holds, its signature checked and nothing else.

    Raises:
        SealError: the manifest is missing, or not what a key of this host signed.
    """
    with _handle(folder) as handle:
        return _manifest(folder, handle, kind, keys)


def _checked(folder: Path, kind: str, keys: Keys, digest: Callable[[SealedFile, int], str]) -> Manifest:
    with _handle(folder) as handle:
        manifest = _manifest(folder, handle, kind, keys)
        _expect_its_files(folder, handle, manifest)

        def check(file: SealedFile) -> None:
            source = _open_plain(folder, handle, file.name)
            try:
                size = os.fstat(source).st_size
                if size != file.size:
                    raise SealError(folder, "size", f"{file.name} has {size} bytes, sealed with {file.size}")
                if digest(file, source) != file.sha256:
                    raise SealError(folder, "hash", f"{file.name} has other bytes than were sealed")
            finally:
                os.close(source)

        with ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(check, manifest.files):
                pass
    return manifest


@contextmanager
def _handle(folder: Path) -> Iterator[int]:
    """The folder itself, held open: it cannot be swapped for another while it is checked."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise SealError(folder, "envelope", f"is no folder that can be opened: {error.strerror}") from None
    try:
        yield handle
    except OSError as error:
        raise InputError(f"{error.filename or folder}: the sealed folder {str(folder)!r} cannot be read or copied: {error.strerror}") from error
    finally:
        os.close(handle)


def _manifest(folder: Path, handle: int, kind: str, keys: Keys) -> Manifest:
    source = _open_plain(folder, handle, MANIFEST)
    with os.fdopen(source, "rb") as file:
        content = file.read(MANIFEST_BYTES + 1)
    if len(content) > MANIFEST_BYTES:
        raise SealError(folder, "envelope", f"{MANIFEST} is larger than any manifest")
    return parsed(folder, content, kind, keys)


def _expect_its_files(folder: Path, handle: int, manifest: Manifest) -> None:
    named = {file.name for file in manifest.files} | {MANIFEST}
    with os.scandir(handle) as entries:
        there = {entry.name for entry in entries}
    if missing := sorted(named - there):
        raise SealError(folder, "file list", f"{missing[0]} is missing{_and_more(missing)}")
    if added := sorted(there - named):
        raise SealError(folder, "file list", f"{shown(added[0])} was not sealed{_and_more(added)}")


def _and_more(names: list[str]) -> str:
    return f", and {len(names) - 1} more" if len(names) > 1 else ""


def _open_plain(folder: Path, handle: int, name: str) -> int:
    """A handle on a plain file of the folder."""
    try:
        source = os.open(name, FLAGS, dir_fd=handle)
    except FileNotFoundError:
        raise SealError(folder, "file list", f"{name} is missing") from None
    except OSError as error:
        raise SealError(folder, "file list", f"{name} is no plain file that can be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(source).st_mode):
        os.close(source)
        raise SealError(folder, "file list", f"{name} is no plain file")
    return source


def _hashed(source: int, size: int, target: IO[bytes] | None = None) -> str:
    """SHA-256 of what is read of a file, at most one byte more than it should have; what was hashed is what is written to the target."""
    found, left = sha256(), size + 1
    while left and (block := os.read(source, min(BLOCK, left))):
        found.update(block)
        left -= len(block)
        if target is not None:
            write_all(target, block)
    return found.hexdigest()


def write_all(target: IO[bytes], block: bytes) -> None:
    """Write a block to a file without a buffer, which may take less of it at a time."""
    rest = memoryview(block)
    while rest:
        rest = rest[target.write(rest) :]
