"""Opening a snapshot: the seal, then whether it is whole in itself, then what it holds; from copies of the bytes that were checked."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.host.keys import Keys
from governed_memory.sealed import Manifest, Newest, Opened, SealError, newest_valid, whole
from governed_memory.snapshots.memory_log import expect_segments, lay_out
from governed_memory.snapshots.topology import unresolved

KIND = "snapshot"
# In the private folder: the sealed files under their names, and the same as a memory.
SEALED, MEMORY = "sealed", "memory"


def holds_memory(manifest: Manifest) -> bool:
    """Whether a memory was in what was sealed."""
    return manifest.facts.get("memory") is not None


def check_topology(held: Opened) -> None:
    """Whether a snapshot, whose hashes agree, is whole in itself: every segment that a head counts, and all that things of memory name.

    Raises:
        SealError: it is not.
    """
    if not holds_memory(held.manifest):
        return
    memory = held.place.with_name(MEMORY)
    lay_out((file.name for file in held.manifest.files), held.place, memory)
    try:
        expect_segments(held.place, memory)
        missing = unresolved(memory / "log", memory / "heads")
    except SealError:
        raise
    except InputError as error:
        # What it says may name a place that is gone in a moment.
        raise SealError(held.place, "topology", str(error).replace(f"{memory}/", "")) from None
    if missing:
        raise SealError(held.place, "topology", missing)


@contextmanager
def opened_newest(root: Path, keys: Keys, beside: Path | None = None) -> Iterator[tuple[Newest, Path]]:
    """The newest snapshot of a place that passes every check, and a private folder with what it holds while the block runs.

    Args:
        root: the place of the snapshots.
        keys: the host's.
        beside: a folder to hold the copies in, where the system's place for temporary files is too small.

    Raises:
        InputError: the place cannot be read, or there is no room for the copies.
    """
    with _private(beside) as place:

        def check(held: Opened) -> None:
            shutil.rmtree(place / MEMORY, ignore_errors=True)
            check_topology(held)

        yield newest_valid(root, KIND, keys, place / SEALED, check), place


def verified_snapshot(folder: Path, keys: Keys, beside: Path | None = None) -> Manifest:
    """What one snapshot holds, after every check.

    Raises:
        SealError: a check fails.
        InputError: it cannot be read, or there is no room for the copies.
    """
    with _private(beside) as place:
        return whole(folder, KIND, keys, place / SEALED, check_topology)


@contextmanager
def _private(beside: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=".gmem-snapshot-", dir=beside) as place:
        yield Path(place)
