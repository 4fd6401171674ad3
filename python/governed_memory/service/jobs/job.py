"""A job: what was asked for and by whom, and what became of it. No value of a record is ever part of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from governed_memory.errors import InputError
from governed_memory.host.canonical import digest

State = Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]
OPEN: tuple[State, ...] = ("queued", "running", "cancelling")
# A name that a caller gives a job; it stands in file names and logs.
REQUEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

# Why a job has failed, in words that hold nothing of what it read.
FAILURES = {
    "nothing_found": "there is nothing of which the caller would be told on that date; name concepts, or another date",
    "does_not_fit": "what has to be in a packet does not fit its budget; give a larger one",
    "unusable": "it cannot be done with what the server was started with; its log says why",
    "unavailable": "the stores or the place of results could not be read or written, however often it was tried; submit it under another name later",
    "timed_out": "it took longer than the server lets a job take",
    "crashed": "the process that did it ended, however often it was tried",
    "internal": "it failed on the server",
}
# What may be different the next time.
PASSING = ("unavailable", "crashed", "internal")


@dataclass(frozen=True, slots=True)
class Job:
    """A job, as the queue keeps it.

    Attributes:
        kind: 'packets', 'bridge' or 'snapshot'.
        caller: whose it is, and as whom it acts (rule G8).
        request: what its caller calls it; the same again is the same job.
        arguments: what is asked for.
        submitted_at: when.
        attempts: how often it was begun.
        done: how much of it the attempt under way has done, of `whole`.
        whole: how much there is; 0 where that is not known yet.
        ended: 'done', 'failed' or 'cancelled'; None before.
        code: of a failure, why: a key of FAILURES.
    """

    kind: str
    caller: str
    request: str
    arguments: Mapping[str, Any]
    submitted_at: str
    attempts: int = 0
    done: int = 0
    whole: int = 0
    ended: str | None = None
    code: str | None = None

    @property
    def job_id(self) -> str:
        """Made of the caller and the name that they gave, so that nobody's job has the name of another's."""
        return digest(["job", self.caller, self.request])[:32]

    def as_row(self) -> dict[str, Any]:
        """As the queue has it."""
        return asdict(self) | {"arguments": dict(self.arguments)}


@dataclass(frozen=True, slots=True)
class Standing:
    """A job and where it stands.

    Attributes:
        job: the job.
        state: where it stands.
        place: its key in the queue.
    """

    job: Job
    state: State
    place: int = field(compare=False)

    def as_data(self) -> dict[str, Any]:
        """What its caller is told."""
        job = self.job
        told: dict[str, Any] = {
            "job_id": job.job_id, "request": job.request, "kind": job.kind, "arguments": dict(job.arguments), "state": self.state,
            "submitted_at": job.submitted_at, "attempts": job.attempts, "progress": {"done": job.done, "whole": job.whole},
        }  # fmt: skip
        if self.state == "failed" and job.code:
            told["failure"] = {"code": job.code, "message": FAILURES[job.code]}
        return told


def job_of(row: Mapping[str, Any]) -> Job:
    """A job from its row in the queue."""
    return replace(Job("", "", "", {}, ""), **row)


def expect_request(name: str) -> None:
    """Refuse a name that no job can have.

    Raises:
        InputError: it is none.
    """
    if not REQUEST.fullmatch(name):
        raise InputError("request: expected 1 to 64 letters, digits, points, lines and underscores, the first a letter or digit")
