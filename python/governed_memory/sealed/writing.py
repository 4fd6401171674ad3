"""Writing the files of a sealed folder, before it is put in place."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest, sha256
from pathlib import Path

from governed_memory.errors import InputError, shown
from governed_memory.log.folders import sync_folder
from governed_memory.sealed.manifest import MANIFEST, SealedFile, expect_name
from governed_memory.sealed.opening import BLOCK, write_all

# Syncs wait for the disk, so that many at once take little longer than one.
THREADS = 8


class Part:
    """A folder that is being written, and that nobody reads yet.

    Attributes:
        place: the folder.
    """

    def __init__(self, place: Path) -> None:
        """Begin to write files in an empty folder."""
        self.place = place
        self._files: dict[str, SealedFile | None] = {}
        self._names: set[str] = set()

    def put(self, name: str, content: bytes) -> None:
        """Write a file.

        Raises:
            InputError: it may not have this name, or there is one.
        """
        with self.path(name).open("xb") as file:
            file.write(content)
        self._files[name] = SealedFile(name, len(content), sha256(content).hexdigest())

    def copy(self, name: str, source: Path, size: int | None = None) -> None:
        """Copy a file, whole or so many of its first bytes; what is hashed is what is written.

        Raises:
            InputError: it may not have this name, or there is one.
            OSError: it cannot be read, or is shorter.
        """
        found, done = sha256(), 0
        with source.open("rb", buffering=0) as given, self.path(name).open("xb", buffering=0) as target:
            while size is None or done < size:
                block = given.read(BLOCK if size is None else min(BLOCK, size - done))
                if not block:
                    break
                found.update(block)
                write_all(target, block)
                done += len(block)
        if size is not None and done < size:
            raise OSError(errno.ENODATA, f"has {done} bytes, not {size}", str(source))
        self._files[name] = SealedFile(name, done, found.hexdigest())

    def path(self, name: str) -> Path:
        """Where the caller writes a file of this name itself, before the folder is sealed.

        Raises:
            InputError: it may not have this name, or there is one.
        """
        if expect_name(name).lower() in self._names:
            raise InputError(f"{shown(name)}: is there already; some systems take names for one that differ only in case")
        self._names.add(name.lower())
        self._files[name] = None
        return self.place / name

    def synced(self) -> tuple[SealedFile, ...]:
        """All files, by name, each on disk.

        Raises:
            InputError: something else is in the folder, or a file was not written.
        """
        if added := {path.name for path in self.place.iterdir()} ^ set(self._files):
            raise InputError(f"{shown(min(added))}: is not one of the files that were to be sealed, or was not written")
        with ThreadPoolExecutor(THREADS) as pool:
            return tuple(pool.map(self._synced, sorted(self._files)))

    def finish(self, manifest: bytes) -> None:
        """Write the manifest, and have the folder on disk."""
        with (self.place / MANIFEST).open("xb") as file:
            file.write(manifest)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self.place)

    def _synced(self, name: str) -> SealedFile:
        with (self.place / name).open("rb", buffering=0) as file:
            os.fsync(file.fileno())
            known = self._files[name]
            return known or SealedFile(name, os.fstat(file.fileno()).st_size, file_digest(file, "sha256").hexdigest())
