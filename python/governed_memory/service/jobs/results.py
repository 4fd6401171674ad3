"""Results of jobs: sealed folders, each delivered once, and told to the caller whose job it was as long as a read would tell them the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.host.keys import Keys
from governed_memory.reads.ask import Opened
from governed_memory.reads.released import INDEX, released
from governed_memory.sealed import Manifest, SealError, folder_of, generations, verified
from governed_memory.sealed import Opened as OpenedFolder
from governed_memory.sealed import opened as opened_folder
from governed_memory.service.jobs.job import Job
from governed_memory.service.jobs.kinds import BRIDGE, KINDS, PACKETS, Setting, asked_of
from governed_memory.service.jobs.store import FIRST


class OutdatedError(InputError):
    """What a result tells is no longer what its caller would be told."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a job gave, checked.

    Attributes:
        manifest: the files of it, with their hashes.
        files: the content of those that its caller may have, by name.
        shown: the records in it.
    """

    manifest: Manifest
    files: dict[str, bytes]
    shown: tuple[str, ...]

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
        InputError: it is not there, or not what was sealed.
    """
    sealed_as = KINDS[job.kind].sealed_as
    try:
        with opened_folder(folder_of(out, FIRST), sealed_as, keys) as held:
            members = set(_members(held, sealed_as))
            if members:
                _expect_shown(members, job, opened, caller)
            # What a snapshot holds is not for its caller, who gets the proof that it was taken.
            files = {file.name: held.read(file.name) for file in held.manifest.files} if sealed_as in (PACKETS, BRIDGE) else {}
            return Result(held.manifest, files, tuple(sorted(name for _, name in members)))
    except SealError as error:
        raise InputError(f"the result of job {job.job_id} is not what was sealed: {error.check} check failed; submit it again under another name") from None


def note_run(job: Job, out: Path, setting: Setting) -> None:
    """Note a run of the bridge, once, where dbt reads runs."""
    if job.kind != "bridge" or setting.runs is None:
        return
    from governed_memory.bridge.recorded import expect_writable, record, recorded

    with opened_folder(folder_of(out, FIRST), BRIDGE, setting.keys) as held:
        run = json.loads(held.read("run.json"))
    folder = Path(setting.runs)
    expect_writable(folder)
    try:
        recorded(folder, run["run_id"])
    except InputError:
        record(folder, run)


def _members(held: OpenedFolder, sealed_as: str) -> Iterator[tuple[str | None, str]]:
    """(store, record) of all that a result tells."""
    if sealed_as == PACKETS:
        for line in held.read("packet_members.jsonl").splitlines():
            row = json.loads(line)
            yield row["store_id"], row["member_id"]
    elif sealed_as == BRIDGE:
        for group in json.loads(held.read("packet.json"))["manifest"]["groups"]:
            for member in group["members"]:
                yield member["store"], member["id"]


def _expect_shown(members: set[tuple[str | None, str]], job: Job, opened: Opened | None, caller: Caller) -> None:
    """Nobody sees more by a job than directly: not later either, when a release has been taken back or a record has been replaced."""
    if opened is None:
        raise InputError("the stores are not open")
    now = {(record["store"], record["record_id"]) for record in released(opened, caller, fields=INDEX, **asked_of(job))}
    if not members <= now:
        raise OutdatedError("what you would be shown is not what it was when the job was done; submit it again under another name")
