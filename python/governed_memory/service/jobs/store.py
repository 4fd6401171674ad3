"""The queue of jobs, which outlives every process: an SQLite file of persist-queue, whose items are acknowledged when they are done.

    <place>/queue/jobs.db         the jobs, in their order; one that was taken and not acknowledged is taken again
    <place>/cancelled/<job id>    the caller wants it no more
    <place>/results/<job id>/     its result, a sealed folder: generation-000001
    <place>/working/<job id>/     held by the process that does it
    <place>/.lock                 held by the process that takes jobs from the queue

Any process may submit, look and cancel; one takes jobs, and it alone changes what is in the queue.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from governed_memory.errors import BusyError, InputError
from governed_memory.log.folders import lock_folder, make_folder, sync_folder
from governed_memory.sealed import folder_of
from governed_memory.service.jobs.job import OPEN, Job, Standing, State, expect_request, job_of

if TYPE_CHECKING:
    from persistqueue import SQLiteAckQueue

FILE = "jobs.db"
# A job has one result.
FIRST = 1
# Jobs that one caller may have waiting; more are a mistake of a program.
MOST_OPEN = 100
# How long another process may hold the file, in seconds.
PATIENCE = 30.0
# The states of persist-queue: put, put back, taken, acknowledged, given up.
TAKEN, ACKNOWLEDGED, GIVEN_UP = 2, 5, 9


class JobStore:
    """The jobs of a place, for whoever submits them, looks at them or cancels them."""

    def __init__(self, place: Path) -> None:
        """Open a place of jobs; it is made where there is none, and is this user's alone.

        Raises:
            InputError: it cannot be made, or persist-queue is not installed.
        """
        self.place = place
        try:
            import persistqueue  # noqa: F401
        except ImportError:
            raise InputError("jobs need the `mcp` extra; install it with: pip install 'governed-memory[mcp]'") from None
        try:
            make_folder(place)
            place.chmod(0o700)
            for name in ("queue", "cancelled", "results", "working"):
                make_folder(place / name)
            with self._queue():
                pass
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"--jobs: {str(place)!r} cannot be written: {getattr(error, 'strerror', None) or 'it holds no queue of jobs'}") from error

    def submit(self, job: Job) -> Standing:
        """Put a job in the queue; it is on disk when this returns. One that is there under its name stays as it is.

        Raises:
            InputError: its name is none, another job has it, or the caller has too many open.
        """
        expect_request(job.request)
        with self._submitting():
            standing = self.standings()
            for one in standing:
                if one.job.job_id == job.job_id:
                    if (one.job.kind, dict(one.job.arguments)) != (job.kind, dict(job.arguments)):
                        raise InputError(f"request: {job.request!r} is the name of another job of yours; the same name stands for the same job")
                    return one
            if sum(one.job.caller == job.caller and one.state in OPEN for one in standing) >= MOST_OPEN:
                raise InputError(f"request: {MOST_OPEN} jobs of yours are not done yet; wait for them, or cancel some")
            with self._queue() as queue:
                return Standing(job, "queued", int(queue.put(job.as_row()) or 0))

    def standings(self) -> list[Standing]:
        """All jobs, in the order in which they were submitted."""
        with self._queue() as queue:
            rows = queue.queue()
        found = [(job_of(row["data"]), row["status"], row["id"]) for row in rows]
        return sorted((Standing(job, self._state(job, int(status)), place) for job, status, place in found), key=lambda one: one.place)

    def standing(self, job_id: str) -> Standing | None:
        """A job by its identifier, whosever it is."""
        return next((one for one in self.standings() if one.job.job_id == job_id), None)

    def cancel(self, one: Standing) -> None:
        """Say that a job is wanted no more. One that has ended stays as it is."""
        if one.state in OPEN:
            self._cancelled(one.job).touch()
            sync_folder(self.place / "cancelled")

    def is_cancelled(self, job: Job) -> bool:
        """Whether the job is wanted no more."""
        return self._cancelled(job).exists()

    def results(self, job: Job) -> Path:
        """The place of a job's result."""
        return self.place / "results" / job.job_id

    def result_folder(self, job: Job) -> Path:
        """The sealed folder of a result."""
        return folder_of(self.results(job), FIRST)

    def has_result(self, job: Job) -> bool:
        """Whether a result was put in place, whether or not it is whole."""
        return self.result_folder(job).is_dir()

    def working(self, job: Job) -> Path:
        """The folder that whoever does the job holds."""
        return self.place / "working" / job.job_id

    def remove(self, job: Job) -> None:
        """Remove what is left of a job that is forgotten."""
        shutil.rmtree(self.results(job), ignore_errors=True)
        self._cancelled(job).unlink(missing_ok=True)

    def _cancelled(self, job: Job) -> Path:
        return self.place / "cancelled" / job.job_id

    def _state(self, job: Job, status: int) -> State:
        if status in (ACKNOWLEDGED, GIVEN_UP):
            return "cancelled" if job.ended == "cancelled" else "done" if status == ACKNOWLEDGED else "failed"
        if self.is_cancelled(job):
            # What is not begun yet never will be.
            return "cancelling" if status == TAKEN else "cancelled"
        return "running" if status == TAKEN else "queued"

    @contextmanager
    def _submitting(self) -> Iterator[None]:
        """One process submits at a time, so that a name is given once."""
        handle = os.open(self.place / ".submitting", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def _queue(self, *, resumes: bool = False) -> Iterator[SQLiteAckQueue]:
        queue = opened_queue(self.place / "queue", resumes=resumes)
        try:
            yield queue
        finally:
            queue.close()


class Taking:
    """The jobs of a place, for the one process that does them."""

    def __init__(self, store: JobStore) -> None:
        """Take the queue over, and with it what a process that was killed had taken.

        Raises:
            BusyError: another process has it.
        """
        self.store = store
        locked = lock_folder(store.place)
        if locked is None:
            raise BusyError(f"--jobs: {str(store.place)!r}: another process does the jobs of this place; it does those that you submit too")
        self._lock = locked
        try:
            self._queue = opened_queue(store.place / "queue", resumes=True)
        except BaseException:
            os.close(locked)
            raise

    def close(self) -> None:
        """Leave the queue to others."""
        self._queue.close()
        os.close(self._lock)

    def take(self) -> Standing | None:
        """The next job that is wanted, or None. It stays taken until it is ended or handed back."""
        from persistqueue.exceptions import Empty

        while True:
            try:
                taken: dict[str, Any] = self._queue.get(block=False, raw=True)
            except Empty:
                return None
            one = Standing(job_of(taken["data"]), "running", taken["pqid"])
            if one.job.ended is not None:
                # Whoever wrote that down was killed before the queue was told.
                self.end(one, one.job.ended, one.job.code)
            elif self.store.is_cancelled(one.job):
                self.end(one, "cancelled")
            else:
                return one

    def keep(self, one: Standing) -> Standing:
        """Write down what has become of a job that is taken."""
        self._queue.update(one.job.as_row(), id=one.place)
        return one

    def begun(self, one: Standing) -> Standing:
        """One more attempt; it counts however it ends."""
        return self.keep(replace(one, job=replace(one.job, attempts=one.job.attempts + 1, done=0, whole=0)))

    def progressed(self, one: Standing, done: int, whole: int) -> Standing:
        """So much of the attempt is done."""
        return self.keep(replace(one, job=replace(one.job, done=done, whole=whole)))

    def end(self, one: Standing, how: str, code: str | None = None) -> None:
        """It has ended: 'done', 'failed' or 'cancelled'. What was left of a result that is none is removed."""
        self.keep(replace(one, job=replace(one.job, ended=how, code=code)))
        if how == "failed":
            self._queue.ack_failed(id=one.place)
        else:
            self._queue.ack(id=one.place)
        if how != "done":
            shutil.rmtree(self.store.results(one.job), ignore_errors=True)
        shutil.rmtree(self.store.working(one.job), ignore_errors=True)

    def forget(self, most: int) -> None:
        """Keep so many of the jobs that have ended, the latest, and no result of the others."""
        ended = [one for one in self.store.standings() if one.state not in OPEN]
        for one in ended[: max(0, len(ended) - most)]:
            self.store.remove(one.job)
        if len(ended) > most:
            self._queue.clear_acked_data(max_delete=len(ended), keep_latest=most, clear_ack_failed=True)

    def hand_back(self, one: Standing, *, counts: bool) -> None:
        """Put a job back in its place, to be done again; an attempt that was interrupted on purpose does not count."""
        self.keep(replace(one, job=replace(one.job, attempts=one.job.attempts - (not counts), done=0, whole=0)))
        self._queue.nack(id=one.place)


def opened_queue(folder: Path, *, resumes: bool) -> SQLiteAckQueue:
    """The queue in a folder; `resumes` puts back what was taken and not acknowledged."""
    import persistqueue.serializers.json
    from persistqueue import SQLiteAckQueue

    # Threads take turns by themselves; two connections would only wait for each other.
    return SQLiteAckQueue(str(folder), auto_resume=resumes, multithreading=True, timeout=PATIENCE, serializer=persistqueue.serializers.json, db_file_name=FILE)
