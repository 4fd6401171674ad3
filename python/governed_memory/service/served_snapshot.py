"""The snapshot that a server serves: the newest that is whole, never one in part and never a newer one that is not (rule M11)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.host.configuration import Host
from governed_memory.log import utc_now
from governed_memory.sealed import kept_handovers
from governed_memory.snapshots import opened_newest
from governed_memory.snapshots.opening import MEMORY, SEALED, holds_memory
from governed_memory.snapshots.taking import FILE


@dataclass(frozen=True, slots=True)
class ServedSnapshot:
    """What of a snapshot is served.

    Attributes:
        memory: the folder of its memory, a private copy; None where it holds none.
        database: the published file that it holds, a private copy; None where it holds none.
        notices: which it is, and which newer ones were refused and why.
    """

    memory: Path | None
    database: Path | None
    notices: tuple[str, ...]


@contextmanager
def served_snapshot(root: Path, host: Host) -> Iterator[ServedSnapshot]:
    """The newest snapshot of a place that passes every check, in private copies for as long as the block runs.

    Raises:
        InputError: none does, the host has no keys, or it holds more than one published file.
    """
    if host.keys is None:
        raise InputError("--snapshots: the host file names no keys to verify snapshots with")
    with opened_newest(root, host.keys) as (newest, private):
        refused = [f"refused: {one.why}" for one in newest.refused]
        if newest.manifest is None:
            raise InputError(f"--snapshots: {str(root)!r} holds no snapshot that is whole, so nothing is served{''.join(f'; {why}' for why in refused)}")
        kept_handovers().take("snapshot", str(newest.manifest.generation), newest.manifest.root, utc_now())
        published = [file.name for file in newest.manifest.files if file.name.startswith(FILE) and file.name.endswith(".duckdb")]
        if len(published) > 1:
            raise InputError(f"--snapshots: {newest.folder} holds {len(published)} database files; one is served, so take it with one")
        served = f"served is generation {newest.manifest.generation} of {newest.manifest.facts['taken_at']}, root {newest.manifest.root}"
        without = [] if published else ["the snapshot holds no published file; records are those of the built database"]
        yield ServedSnapshot(
            private / MEMORY if holds_memory(newest.manifest) else None, private / SEALED / published[0] if published else None, (*refused, served, *without)
        )
