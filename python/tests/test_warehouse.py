"""The one place that opens databases."""

from __future__ import annotations

import subprocess
import sys

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
