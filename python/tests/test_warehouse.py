"""The one place that opens databases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from governed_memory.warehouse.connection import connect, session_of

# DuckDB draws the progress of what takes more than two seconds, unless it is told not to.
ASKED = """
import time
from governed_memory import warehouse
connection, size, took = warehouse.open_memory(), 50_000, 0.0
while took < 3:
    started = time.monotonic()
    connection.execute(f"select sum(i * j % 7) from range(20000) as a(i), range({size}) as b(j)").fetchall()
    took, size = time.monotonic() - started, size * 3
"""


def test_a_slow_statement_draws_nothing_on_standard_output() -> None:
    run = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, check=True)
    assert (run.stdout, run.stderr) == (b"", b"")


def test_who_opens_a_file_that_was_replaced_reads_the_new_one(tmp_path: Path) -> None:
    """Also while others in the same process still read the former one: a published file is replaced under a server that is never idle."""
    path, newer = tmp_path / "file.duckdb", tmp_path / "newer.duckdb"
    for place, number in ((path, 1), (newer, 2)):
        with duckdb.connect(str(place)) as written:
            written.execute(f"create table told as select {number} as number")
    with connect(path, read_only=True) as former:
        newer.replace(path)
        with connect(path, read_only=True) as latter:
            assert [one.execute("select number from told").fetchone() for one in (former, latter)] == [(1,), (2,)]
            with pytest.raises(duckdb.InvalidInputException, match="read-only"):
                latter.execute("insert into told values (3)")


def test_a_session_of_its_own_has_days_in_utc_and_names_tables_as_its_connection_does(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as written:
        written.execute("create schema other; create table other.here as select 1 as one")
    with connect(tmp_path / "a.duckdb", read_only=True) as connection:
        connection.execute("use file_that_is_read.other")
        connection.execute("set global TimeZone = 'Asia/Tokyo'")
        with session_of(connection) as session:
            assert session.execute("select current_setting('TimeZone'), (select one from here)").fetchall() == [("UTC", 1)]
