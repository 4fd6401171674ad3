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
    runs = all_recorded(folder)
    for run in runs:
        if run.get("run_id") == run_id:
            return run
    raise InputError(f"{shown(run_id)} is no run in {str(folder / RUNS)!r}; it has {', '.join(str(run.get('run_id')) for run in runs[-5:]) or 'none'}")


def all_recorded(folder: Path) -> list[Mapping[str, Any]]:
    """All runs in the order in which they were appended; none where nothing was run yet.

    Raises:
        InputError: they cannot be read.
    """
    file = folder / RUNS
    try:
        runs = [json.loads(line) for line in settled(file).splitlines()] if file.is_file() else []
    except (OSError, ValueError):
        raise InputError(f"--runs: {str(file)!r} cannot be read; expected what `gmem bridge run` appended") from None
    return [run for run in runs if isinstance(run, dict)]


def is_sound(run: Mapping[str, Any]) -> bool:
    """Whether the run shows what it must, as the dbt tests have it: the base untouched, the control still, no rival left that was looked at."""
    is_untouched = run["base_sha256_before"] == run["base_sha256_after"] and not run["base_parameters_trainable"] and not run["base_parameters_with_gradient"]
    is_still = run["control_equals_base"] and not any(site["control_delta_norm"] for site in run["sites"])
    return is_untouched and is_still and not any(control["is_held"] is False for control in run["controls"])
