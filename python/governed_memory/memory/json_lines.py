"""Files of JSON Lines that tell of things, one object a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError


def json_lines(file: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, or of standard input for '-', each with the number of its line.

    Raises:
        InputError: it cannot be read, or a line is no JSON object; the message says which.
    """
    try:
        text = sys.stdin.buffer.read() if str(file) == "-" else Path(file).read_bytes()
        lines = text.decode("utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, _object(file, number, line)


def _object(file: Path | str, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} line {number}: is no JSON: {getattr(error, 'msg', None) or 'nested too deeply, or a number that JSON has not'}") from None
    if not isinstance(found, dict):
        raise InputError(f"{file} line {number}: expected an object with fields, got {type(found).__name__}")
    return found


def _refuse(text: str) -> Any:
    raise ValueError(text)
