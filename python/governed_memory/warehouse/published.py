"""Database files that are written once, whole, for readers: put in place in one step, so that no reader waits and none sees half of one."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from governed_memory.errors import BusyError, InputError
from governed_memory.warehouse.connection import attach_built, connect, literal, open_memory, rows
from governed_memory.warehouse.durable import put_in_place

# The table in each such file that says what it is.
MANIFEST = "published_manifest"


def manifest(path: Path) -> dict[str, Any] | None:
    """What a file says it is: {generation_id, published_at, built_at, audience, stores}; None where it was not published.

    Raises:
        InputError: it cannot be opened.
    """
    try:
        with connect(path, read_only=True) as connection:
            if not connection.execute("select 1 from duckdb_tables() where table_name = $name", {"name": MANIFEST}).fetchall():
                return None
            [held] = rows(connection, f"select * from {MANIFEST}")
            return held
    except duckdb.Error as error:
        raise InputError(f"{path}: cannot be read as a DuckDB database; it was not replaced") from error


@contextmanager
def writing(path: Path, database: Path, waits: Callable[[], None], *, seconds: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an empty database, `published`, that takes the place of a file when the block ends well; else the file stays as it was.

    The built database is attached as `built`, and its schema is in use. Nothing is copied from a file, so the new one holds what the block puts
    there and no remains of anything else.

    Args:
        path: the file to be replaced or made.
        database: what `dbt build` wrote.
        waits: called once if another process holds the built database, or writes this file.
        seconds: to wait for that.

    Raises:
        InputError: the built database stays held, or the folder cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputError(f"{path.parent}: cannot be written: {error.strerror}") from error
    patience = _Patience(waits, seconds)
    try:
        patience.until_done(lambda: _lock(lock, path))
        _remove(part)
        with open_memory() as connection:
            # Where DuckDB puts what does not fit into memory: beside the database it comes from, not beside what readers are given.
            connection.execute(f"set temp_directory = {literal(f'{database}.tmp')}")
            schema = patience.until_done(lambda: attach_built(connection, str(database)))
            connection.execute(f"attach {literal(part)} as published")
            connection.execute(f"use {schema}")
            yield connection
            connection.execute("use memory")
            connection.execute("detach built")
            connection.execute("checkpoint published")
            connection.execute("detach published")
        # For readers only: to open it for writing would lock the others out.
        part.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o444 & ~_umask())
        put_in_place(part, path)
    except OSError as error:
        raise InputError(f"{path}: not written: {error.strerror}; it is as it was") from error
    finally:
        _remove(part)
        os.close(lock)


class _Patience:
    """Tries again while another process holds something."""

    def __init__(self, waits: Callable[[], None], seconds: float) -> None:
        self._waits, self._until, self._seconds, self._is_told = waits, time.monotonic() + seconds, seconds, False

    def until_done(self, attempt: Callable[[], Any]) -> Any:
        while True:
            try:
                return attempt()
            except BusyError as error:
                if time.monotonic() > self._until:
                    raise BusyError(f"{error}. Waited {self._seconds:g} s; nothing was published") from error
                if not self._is_told:
                    self._waits()
                    self._is_told = True
                time.sleep(0.1)


def _lock(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BusyError(f"{path}: another process is publishing it") from error


def _remove(part: Path) -> None:
    """Take away what a publication that was cut off has left."""
    for left in (part, part.with_name(f"{part.name}.wal")):
        left.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_manifest(connection: duckdb.DuckDBPyConnection, held: Mapping[str, str]) -> None:
    """Put the manifest into the published database: {column: SQL}."""
    connection.execute(f"create table published.{MANIFEST} as select {', '.join(f'{sql} as {name}' for name, sql in held.items())}")
