"""Restoring a snapshot into a new folder: all of it, from the bytes that were checked, or nothing.

    <to>/memory/log, <to>/memory/heads    the memory; name it with --memory or GMEM_MEMORY
    <to>/ledger.duckdb                    the kept tables; name it with GMEM_LEDGER, and build
    <to>/files/<name>                     the files
    <to>/recovery_report.json             what was restored from what, and every check

A report is left of a failure too, beside the folder that was not made: `<to>.recovery_report.json`.
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.host.keys import Keys
from governed_memory.log import timestamp
from governed_memory.log.folders import sync_folder
from governed_memory.sealed import Manifest, Opened, SealError, folder_of, kept_handovers, taken_generations, whole
from governed_memory.snapshots.kept_tables import attached_hashes, restore_tables
from governed_memory.snapshots.opening import KIND, SEALED, check_topology, opened_newest
from governed_memory.snapshots.taking import ATTACHED, FILE, table_file
from governed_memory.warehouse.durable import write_whole

REPORT = "recovery_report.json"
CHECKS = ("envelope", "signature", "generation", "file list", "size", "hash", "topology")


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored.

    Attributes:
        manifest: of the snapshot.
        folder: where it is now.
        changed_stores: attached stores that read other than when it was taken; None where no built database was named to compare with.
    """

    manifest: Manifest
    folder: Path
    changed_stores: tuple[str, ...] | None


def restore(root: Path, to: Path, keys: Keys, now: datetime.datetime, *, generation: int | None = None, database: Path | None = None) -> Restored:
    """Restore a snapshot into a new folder, which is on disk when this returns; it is there whole or not at all.

    Args:
        root: the place of the snapshots.
        to: the folder; it must not be there yet.
        keys: the host's.
        now: the instant, for the report.
        generation: which; by default the last one that was taken, and no older one in its place.
        database: what `dbt build` has written of the stores as they are now, to say which have changed.

    Raises:
        SealError: a check fails; the message names it and offers the newest snapshot that is whole.
        InputError: the folder is there, the place cannot be read, or the folder cannot be written.
    """
    if to.exists() or to.is_symlink():
        raise InputError(f"{str(to)!r} is there already; a restore never writes over anything, so name a new folder")
    wanted = _wanted(root, generation)
    part = to.with_name(f".{to.name}.restoring")
    with _errors(to):
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            manifest = whole(folder_of(root, wanted), KIND, keys, part / SEALED, check_topology)
            kept_handovers().take("snapshot", str(manifest.generation), manifest.root, now)
            changed = _filled(part, manifest, database, now)
            part.rename(to)
        except SealError as error:
            offered = _newest_whole(root, keys, part)
            told = {"failed_check": error.check, "why": str(error), "generation": wanted, "newest_valid_generation": offered}
            write_whole(to.with_name(f"{to.name}.{REPORT}"), _report(None, now, outcome="refused", **told))
            what = f"generation {offered} is the newest that is whole: --generation {offered}" if offered else "no generation is whole"
            raise SealError(folder_of(root, wanted), error.check, f"{error.what}; nothing was restored; {what}") from None
        finally:
            shutil.rmtree(part, ignore_errors=True)
        sync_folder(to.parent)
    return Restored(manifest, to, changed)


def _wanted(root: Path, generation: int | None) -> int:
    there = taken_generations(root)
    if not there:
        raise InputError(f"{str(root)!r} holds no snapshot")
    if generation is not None and generation not in there:
        raise InputError(f"{str(root)!r} holds no generation {generation}; it has {', '.join(map(str, sorted(there)))}")
    return max(there) if generation is None else generation


def _newest_whole(root: Path, keys: Keys, beside: Path) -> int | None:
    with opened_newest(root, keys, beside) as (newest, _):
        return newest.manifest.generation if newest.manifest else None


def _filled(part: Path, manifest: Manifest, database: Path | None, now: datetime.datetime) -> tuple[str, ...] | None:
    """Put everything in its place in the folder and on disk; the stores that have changed."""
    held = Opened(manifest, part / SEALED)
    changed = _changed(held, database) if database else None
    _put(held, part)
    report = _report(manifest, now, outcome="restored", checks=list(CHECKS), changed_stores=None if changed is None else list(changed))
    write_whole(part / REPORT, report)
    shutil.rmtree(part / SEALED)
    _sync(part)
    return changed


def _put(held: Opened, part: Path) -> None:
    """Give everything that is not of the memory, which lies there already, its place."""
    names = [file.name for file in held.manifest.files]
    files = [name for name in names if name.startswith(FILE)]
    if files:
        (part / "files").mkdir()
    for name in files:
        os.link(held.path(name), part / "files" / name.removeprefix(FILE))
    tables = {table: held.read(table_file(table)) for table in held.manifest.facts["tables"]}
    if tables:
        restore_tables(tables, part / "ledger.duckdb")


def _changed(held: Opened, database: Path) -> tuple[str, ...]:
    """Attached stores of which a built database has read other rows than the snapshot says."""
    names = {file.name for file in held.manifest.files}
    taken = _hashes(held.read(ATTACHED).splitlines()) if ATTACHED in names else {}
    now = _hashes(attached_hashes(database))
    return tuple(sorted(store for store in taken.keys() | now.keys() if taken.get(store) != now.get(store)))


def _hashes(lines: list[bytes]) -> dict[str, Any]:
    return {row["store_id"]: row for row in map(json.loads, lines)}


def _report(manifest: Manifest | None, now: datetime.datetime, **told: Any) -> bytes:
    of_it = {"generation": manifest.generation, "root": manifest.root, "snapshot_facts": manifest.facts} if manifest else {}
    return json.dumps({"at": timestamp(now), **of_it, **told}, ensure_ascii=False, indent=2, sort_keys=True).encode() + b"\n"


def _sync(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())


@contextmanager
def _errors(to: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename or to}: nothing was restored to {str(to)!r}: {error.strerror}") from error
