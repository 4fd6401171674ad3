"""Execution traces (rule M8): what was run, which tools it called, and what came of it; skills are learned from them and from nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from governed_memory.errors import InputError
from governed_memory.log import canonical_event

# What a step may tell in full, of which its hash alone is kept: it shows whether two runs were the same, and what was in it stays where it was.
HASHED = {"inputs": "inputs_hash", "result": "result_hash"}


def recorded(traces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Traces as they are recorded: inputs and results as hashes, and conditions, which are a set, in one order.

    What does not fit is left as it is, for the guards to say why.

    Raises:
        InputError: inputs or a result are no JSON.
    """
    return [_recorded(place, trace) for place, trace in enumerate(traces, start=1)]


def _recorded(place: int, trace: Mapping[str, Any]) -> dict[str, Any]:
    told = dict(trace)
    conditions, steps = told.get("conditions"), told.get("steps")
    if isinstance(conditions, list | tuple) and all(isinstance(one, str) for one in conditions):
        told["conditions"] = sorted(set(conditions))
    if isinstance(steps, list | tuple):
        told["steps"] = [_step(place, step) for step in steps]
    return told


def _step(place: int, step: object) -> object:
    if not isinstance(step, Mapping):
        return step
    told = dict(step)
    for name, hashed in HASHED.items():
        if name in told and told.get(hashed) is None:
            told[hashed] = _hash(place, name, told.pop(name))
        elif told.get(name, hashed) is None:
            del told[name]  # a column of a table that has no value here
    return told


def _hash(place: int, name: str, value: object) -> str:
    try:
        return hashlib.sha256(canonical_event({name: value})).hexdigest()
    except InputError as error:
        raise InputError(f"item {place}: {error}") from None
