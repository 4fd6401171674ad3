"""The process that does one attempt at one job. It ends with the process that began it, however that one ends."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb

from governed_memory.errors import BusyError, InputError
from governed_memory.log.folders import lock_folder
from governed_memory.packets import DoesNotFitError
from governed_memory.service.jobs.job import Job
from governed_memory.service.jobs.kinds import KINDS, NothingFoundError, Setting, Work
from governed_memory.service.jobs.results import is_delivered, note_run

# What an attempt tells: ('progress', done, whole), then ('done',) or ('failed', code, what happened, for the log).
Told = tuple[Any, ...]


def attempt(job: Job, setting: Setting, working: Path, out: Path, tell: Connection) -> None:
    """Do the job, or find that it was done, and say how it went."""
    _end_with_parent()
    logging.disable(logging.CRITICAL)
    try:
        with _alone(working):
            if not is_delivered(job, out, setting.keys):
                caller = setting.host.caller(job.caller)
                work = Work(job, caller, setting, out, lambda done, whole: tell.send(("progress", done, whole)))
                KINDS[job.kind].does(work)
            note_run(job, out, setting)
        tell.send(("done",))
    except Exception as error:
        tell.send(("failed", _code(error), _for_the_log(error)))


def _code(error: Exception) -> str:
    if isinstance(error, NothingFoundError):
        return "nothing_found"
    if isinstance(error, DoesNotFitError):
        return "does_not_fit"
    # A build that holds the database is an InputError like any other; what it is about may be different the next time.
    if isinstance(error, (BusyError, OSError, duckdb.Error, sqlite3.Error)) or isinstance(error.__cause__, (OSError, duckdb.Error)):
        return "unavailable"
    return "unusable" if isinstance(error, InputError) else "internal"


def _for_the_log(error: Exception) -> str:
    """What happened, without a value: an InputError names none, and of any other only its kind is told."""
    return str(error) if isinstance(error, InputError) and not isinstance(error.__cause__, duckdb.Error) else type(error).__name__


@contextmanager
def _alone(working: Path) -> Iterator[None]:
    """Nobody else does the job meanwhile: not even a process whose server was killed a moment ago."""
    handle = lock_folder(working)
    if handle is None:
        raise BusyError("another process still does this job")
    try:
        yield
    finally:
        os.close(handle)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    # The terminal's interrupt is for the server, which hands the job back.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
