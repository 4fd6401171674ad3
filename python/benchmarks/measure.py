"""Medians of whole processes and of queries, taken in turn so that whatever else the machine does meets all of them alike."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

RUNS = 5


@dataclass(frozen=True, slots=True)
class Figure:
    """Medians of one command: wall-clock seconds, and peak memory in MiB where a process was measured."""

    seconds: float
    peak_mib: float | None = None


def processes(commands: dict[str, list[str]], runs: int = RUNS) -> dict[str, Figure]:
    """Run each command `runs` times, in turn.

    Raises:
        SystemExit: a command cannot be run, or stops with neither 0 nor 1 (a store that misses its level exits 1).
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            taken[name].append(_process(command))
    return {name: Figure(median(s for s, _ in figures), median(m for _, m in figures)) for name, figures in taken.items()}


def calls(functions: dict[str, Callable[[], object]], runs: int = RUNS) -> dict[str, Figure]:
    """Call each function once unmeasured and then `runs` times, in turn."""
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(runs + 1):
        for name, function in functions.items():
            started = time.perf_counter()
            function()
            if turn:
                taken[name].append(time.perf_counter() - started)
    return {name: Figure(median(figures)) for name, figures in taken.items()}


def _process(command: list[str]) -> tuple[float, float]:
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} stopped with {child.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024
