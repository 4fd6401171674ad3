"""Results of jobs: sealed folders, each delivered once, and told to the caller whose job it was as long as a read would tell them the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.host.keys import Keys
from governed_memory.reads.ask import Opened
from governed_memory.reads.released import INDEX, released
from governed_memory.sealed import Manifest, SealError, folder_of, generations, verified
from governed_memory.sealed.opening import envelope
from governed_memory.service.jobs.job import Job
from governed_memory.service.jobs.kinds import BRIDGE, KINDS, PACKETS, Setting, asked_of
from governed_memory.service.jobs.store import FIRST

# Of these, the caller gets the files.
READABLE = (PACKETS, BRIDGE)


class OutdatedError(InputError):
    """What a result tells is no longer what its caller would be told."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a job gave, of which all that is told is checked.

    Attributes:
        folder: the sealed folder.
        manifest: the files of it, with their hashes.
        names: those that its caller may have.
        shown: the records in it.
    """

    folder: Path
    manifest: Manifest
    names: tuple[str, ...]
    shown: tuple[str, ...]

    def read(self, name: str) -> bytes:
        """The content of a file, as it was sealed.

        Raises:
            SealError: it is not.
        """
        return _checked(self.folder, self.manifest, name)

    def as_data(self) -> dict[str, Any]:
        """The manifest, as its caller is told: no host, path or key (rule M13)."""
        manifest = self.manifest
        return {
            "root": manifest.root, "facts": dict(manifest.facts),
            "files": [{"name": file.name, "size": file.size, "sha256": file.sha256} for file in manifest.files],
        }  # fmt: skip


def is_delivered(job: Job, out: Path, keys: Keys) -> bool:
    """Whether the job has its result; one that is not what was sealed is none.

    Raises:
        InputError: there is one, and it is not what was sealed.
    """
    if not out.is_dir() or FIRST not in generations(out):
        return False
    verified(folder_of(out, FIRST), KINDS[job.kind].sealed_as, keys)
    return True


def result_of(job: Job, out: Path, keys: Keys, opened: Opened | None, caller: Caller) -> Result:
    """The result of a job that is done, for the caller whose it is.

    Raises:
        OutdatedError: it holds a record that this caller would not be shown now.
        SealError: it is not there, or not what was sealed.
    """
    sealed_as, folder = KINDS[job.kind].sealed_as, folder_of(out, FIRST)
    # A result may be large: of what is not told, nothing is read. Of a snapshot its caller gets the proof that it is there, so all of it is.
    manifest = verified(folder, sealed_as, keys) if sealed_as not in READABLE else envelope(folder, sealed_as, keys)
    members = set(_members(folder, manifest))
    if members:
        _expect_shown(members, job, opened, caller)
    names = tuple(file.name for file in manifest.files) if sealed_as in READABLE else ()
    return Result(folder, manifest, names, tuple(sorted(name for _, name in members)))


def note_run(job: Job, out: Path, setting: Setting) -> None:
    """Note a run of the bridge, once, where dbt reads runs."""
    if job.kind != "bridge" or setting.runs is None:
        return
    from governed_memory.bridge.recorded import expect_writable, record, recorded

    sealed = folder_of(out, FIRST)
    run = json.loads(_checked(sealed, envelope(sealed, BRIDGE, setting.keys), "run.json"))
    folder = Path(setting.runs)
    expect_writable(folder)
    try:
        recorded(folder, run["run_id"])
    except InputError:
        record(folder, run)


def _members(folder: Path, manifest: Manifest) -> Iterator[tuple[str | None, str]]:
    """(store, record) of all that a result tells."""
    if manifest.kind == PACKETS:
        for line in _checked(folder, manifest, "packet_members.jsonl").splitlines():
            row = json.loads(line)
            yield row["store_id"], row["member_id"]
    elif manifest.kind == BRIDGE:
        for group in json.loads(_checked(folder, manifest, "packet.json"))["manifest"]["groups"]:
            for member in group["members"]:
                yield member["store"], member["id"]


def _checked(folder: Path, manifest: Manifest, name: str) -> bytes:
    """The bytes of a file that were hashed, and no others."""
    [sealed] = [file for file in manifest.files if file.name == name]
    content = (folder / name).read_bytes()
    if (len(content), sha256(content).hexdigest()) != (sealed.size, sealed.sha256):
        raise SealError(folder, "hash", f"{name} has other bytes than were sealed")
    return content


def _expect_shown(members: set[tuple[str | None, str]], job: Job, opened: Opened | None, caller: Caller) -> None:
    """Nobody sees more by a job than directly: not later either, when a release has been taken back or a record has been replaced."""
    if opened is None:
        raise InputError("the stores are not open")
    now = {(record["store"], record["record_id"]) for record in released(opened, caller, fields=INDEX, **asked_of(job))}
    if not members <= now:
        raise OutdatedError("what you would be shown is not what it was when the job was done; submit it again under another name")
