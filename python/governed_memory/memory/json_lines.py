"""Files of JSON Lines that tell of things, one object a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.log import canonical_event
from governed_memory.warehouse.json_text import parse

# What an event holds is written and compared by functions that call themselves for each level.
DEEPEST = 200


def json_lines(file: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, or of standard input for '-', each with the number of its line.

    Raises:
        InputError: it cannot be read, or a line is no JSON object; the message says which.
    """
    try:
        text = sys.stdin.buffer.read() if str(file) == "-" else Path(file).read_bytes()
        lines = text.decode("utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, _object(file, number, line)


def _object(file: Path | str, number: int, line: str) -> dict[str, Any]:
    try:
        parse(line, unique_keys=True)
        found = json.loads(line)
    except ValueError as error:
        raise InputError(f"{file} line {number}: is no JSON ({error}); every line is one object") from None
    if line.count("{") + line.count("[") > DEEPEST and _depth(found) > DEEPEST:
        raise InputError(f"{file} line {number}: is nested more than {DEEPEST} levels deep")
    if not isinstance(found, dict):
        raise InputError(f"{file} line {number}: expected an object with fields, got {type(found).__name__}")
    try:
        canonical_event(found)
    except InputError as error:
        raise InputError(f"{file} line {number}: {error}") from None
    return found


def _depth(value: Any) -> int:
    levels, deeper = 0, [value]
    while deeper := [part for one in deeper if isinstance(one, dict | list) for part in (one.values() if isinstance(one, dict) else one)]:
        levels += 1
    return levels
