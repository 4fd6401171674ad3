"""Where runs are kept: a file of JSON Lines, one run a line, that is only appended to and that dbt reads; beside it, one of gates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.warehouse.append import locked_path
from governed_memory.warehouse.durable import append_bytes, settled

RUNS, GATES, ENCODINGS = "runs.jsonl", "gates.jsonl", "encodings.duckdb"


def expect_writable(folder: Path) -> None:
    """Make the folder where there is none.

    Raises:
        InputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--runs: {str(folder)!r} cannot be made: {error.strerror}") from error


def record(folder: Path, run: Mapping[str, Any], name: str = RUNS) -> None:
    """Append a run, or to the file of gates a gate. It is on disk when this returns, whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    file = folder / name
    try:
        file.touch()
        with locked_path(file, file):
            append_bytes(file, json.dumps(run, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    except OSError as error:
        raise InputError(f"--runs: {str(file)!r} cannot be written: {error.strerror}; the run is not kept") from error


def recorded(folder: Path, run_id: str) -> Mapping[str, Any]:
    """A run by its identifier.

    Raises:
        InputError: there is none.
    """
    file = folder / RUNS
    try:
        runs = [json.loads(line) for line in settled(file).splitlines()] if file.is_file() else []
    except (OSError, ValueError):
        raise InputError(f"--runs: {str(file)!r} cannot be read; expected what `gmem bridge run` appended") from None
    for run in runs:
        if isinstance(run, dict) and run.get("run_id") == run_id:
            return run
    raise InputError(f"{shown(run_id)} is no run in {str(file)!r}; it has {', '.join(str(run['run_id']) for run in runs[-5:]) or 'none'}")
