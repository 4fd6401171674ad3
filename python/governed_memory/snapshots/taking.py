"""Taking a snapshot: what this project alone holds, and a hash of everything it is attached to.

    head.*, log.*                   the memory log and its heads
    table.record_ledger.jsonl       what builds keep and cannot build again
    table.level_history.jsonl
    attached.jsonl                  each attached store: its rows and a hash of them
    file.<name>                     files that were named, such as registers, attestations and the trace of the worklist

Views and all that a build derives are left out: they are built again from these. So whatever happens to them, the root hash stays.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.host.canonical import digest
from governed_memory.host.keys import Keys
from governed_memory.log import Head, timestamp, verify
from governed_memory.sealed import Manifest, Part, SealError, seal
from governed_memory.snapshots.kept_tables import attached_hashes, kept_tables
from governed_memory.snapshots.memory_log import expect_segments, lay_out, put_log
from governed_memory.snapshots.opening import KIND
from governed_memory.snapshots.topology import unresolved
from governed_memory.warehouse.models import compiled

ATTACHED = "attached.jsonl"
FILE = "file."


@dataclass(frozen=True, slots=True)
class Sources:
    """What a snapshot is taken of.

    Attributes:
        memory: the folder of the memory; None without one.
        database: what `dbt build` wrote; None without one.
        ledger: the file that GMEM_LEDGER named when it was built, where it did.
        files: more files to hold, each under its name.
    """

    memory: Path | None = None
    database: Path | None = None
    ledger: Path | None = None
    files: Sequence[Path] = field(default_factory=tuple)


def take(root: Path, sources: Sources, keys: Keys, now: datetime.datetime) -> tuple[Path, Manifest]:
    """Seal a snapshot as the next generation of a place. It is on disk when this returns; else nothing has changed there.

    Args:
        root: the place of the snapshots.
        sources: what it is taken of; writers of the memory may go on meanwhile.
        keys: the host's; the active one, of Ed25519, signs.
        now: the instant, for the manifest.

    Returns:
        Its folder, and its manifest.

    Raises:
        InputError: something cannot be read, the memory is damaged or names what it does not hold, or the place cannot be written.
        BusyError: another process is taking one there, or a build holds the database.
    """
    if sources.memory is None and sources.database is None and not sources.files:
        raise InputError("there is nothing to take a snapshot of; name a memory with --memory, a built database with --database, or files with --file")

    def write(part: Part) -> dict[str, Any]:
        reached = _put_memory(part, sources.memory, keys) if sources.memory else None
        tables = _put_tables(part, sources.database, sources.ledger) if sources.database else {}
        for path in sources.files:
            _put_file(part, path)
        return {
            "taken_at": timestamp(now),
            "memory": reached,
            "tables": tables,
            "files": sorted(path.name for path in sources.files),
            "versions": versions(),
        }

    return seal(root, KIND, write, keys)


def versions() -> dict[str, str]:
    """Of which code, schema, policies and seeds this is: what says how a snapshot was read."""
    models = compiled()
    policies = {name: rows for name, rows in models["seeds"].items() if name.endswith("_policies") or name == "approver_roles"}
    try:
        code = version("governed-memory")
    except PackageNotFoundError:
        code = "not installed"
    return {"code": code, "schema": digest(models["models"]), "policies": digest(policies), "seeds": digest(models["seeds"])}


def _put_memory(part: Part, memory: Path, keys: Keys) -> dict[str, dict[str, int]]:
    heads = put_log(part, memory / "log", None)
    laid_out = part.place.with_name(f"{part.place.name}.memory")
    shutil.rmtree(laid_out, ignore_errors=True)
    try:
        lay_out((path.name for path in part.place.iterdir()), part.place, laid_out)
        _expect_whole(memory, laid_out, keys)
    finally:
        shutil.rmtree(laid_out, ignore_errors=True)
    return _reached(heads)


def _reached(heads: dict[str, Head]) -> dict[str, dict[str, int]]:
    return {writer: {stream: state.seq for stream, state in sorted(head.streams.items())} for writer, head in sorted(heads.items())}


def _expect_whole(memory: Path, laid_out: Path, keys: Keys) -> None:
    """Refuse to seal a memory that was damaged: a signature would say that it is what the host remembers."""
    found = verify(laid_out / "log", laid_out / "heads", keys)
    if found.problems:
        problem = str(found.problems[0]).replace(f"{laid_out}/", "")
        mended = (
            "`gmem memory sign --host FILE` signs what was written without keys"
            if problem.endswith("is unsigned")
            else "`gmem memory verify` says what is damaged"
        )
        raise InputError(f"{memory}: {problem}; nothing was sealed, {mended}")
    try:
        expect_segments(memory, laid_out)
    except SealError as error:
        raise InputError(f"{error}; nothing was sealed, `gmem memory verify` says what is damaged") from None
    missing = unresolved(laid_out / "log", laid_out / "heads")
    if missing:
        raise InputError(f"{memory}: {missing}; nothing was sealed")


def _put_tables(part: Part, database: Path, ledger: Path | None) -> dict[str, int]:
    tables = kept_tables(ledger or database)
    for table, lines in tables.items():
        part.put(table_file(table), b"".join(lines))
    part.put(ATTACHED, b"".join(attached_hashes(database)))
    return {table: len(lines) for table, lines in tables.items()}


def table_file(table: str) -> str:
    """The name of a kept table's file."""
    return f"table.{table}.jsonl"


def _put_file(part: Part, path: Path) -> None:
    try:
        part.copy(f"{FILE}{path.name}", path)
    except OSError as error:
        raise InputError(f"--file: {shown(str(path))} cannot be read: {error.strerror}; nothing was sealed") from error
