"""Folders that are on disk before anything is put in them, and the locks that say whose they are."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from governed_memory.log.layout import LOCK


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, each durable in the one above."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def lock_folder(folder: Path) -> int | None:
    """Make a folder this process's own, until the handle that is given is closed; None where another process holds it.

    The system gives it back when the process ends, however it ends.
    """
    make_folder(folder)
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        raise
    return handle
