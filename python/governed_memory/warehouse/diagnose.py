"""Turn what DuckDB says of an unreadable file into one line: file, line, what is wrong, what to do.

Runs only after a read has failed, so it may take its time; it never holds more than one line.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.warehouse.connection import open_memory
from governed_memory.warehouse.json_text import Number, dumps, parse
from governed_memory.warehouse.readers import csv_delimiter
from governed_memory.warehouse.store_file import ANOTHER_FORM, CSV, JSON_ARRAY, JSON_LINES, StoreFile


def expect_whole(store: StoreFile, kind: str) -> None:
    """InputError where a JSON array breaks off or ends in a comma, which DuckDB reads as far as it goes.

    Only the end of the file is looked at, and the whole of it where that is no end of an array.
    """
    if kind != JSON_ARRAY:
        return
    with store.file.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 65536))
        tail = file.read().rstrip()
    if (not tail.endswith(b"]") or tail[:-1].rstrip().endswith(b",")) and (found := _bad_array(store.file)):
        cut = "" if tail.endswith(b"]") else "; it is cut off, so records may be missing"
        raise InputError(f"{store.file}{found}{cut}")


def explain_unreadable(store: StoreFile, kind: str, error: Exception) -> InputError:
    """The error to raise in place of DuckDB's own."""
    path = store.file
    if kind == JSON_LINES:
        found = next(_bad_lines(path), None)
    elif kind == JSON_ARRAY:
        found = _bad_array(path)
    else:
        found = _not_utf8(path) or _bad_row(store) if kind == CSV else None
    if found:
        # Where an array would be as good, an object is likely to hold a store of another form.
        return InputError(f"{path}{found}{ANOTHER_FORM if kind == JSON_LINES and path.suffix.lower() == '.json' else ''}")
    first_line = str(error).strip().splitlines()[0].removeprefix("Invalid Input Error: ")
    return InputError(f"{path}: cannot be read as {kind}: {first_line}")


def _bad_lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not text.strip():
                continue
            try:
                record = parse(text.decode("utf-8"))
            except UnicodeDecodeError as error:
                yield f", line {number}: byte {error.start + 1} is not UTF-8; save the file as UTF-8"
            except json.JSONDecodeError as error:
                yield f", line {number}, column {error.colno}: not JSON ({error.msg}); every line must be one JSON object"
            except ValueError as error:
                yield f", line {number}: {error}"
            else:
                if not isinstance(record, dict):
                    yield f", line {number}: holds {_kind(record)}; every line must be one JSON object"
                elif _has_lone_surrogate(record):
                    yield f", line {number}: a text holds half of a surrogate pair, which is no character; write the whole pair"


def _bad_array(path: Path) -> str | None:
    try:
        records = parse(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return f": byte {error.start + 1} is not UTF-8; save the file as UTF-8"
    except json.JSONDecodeError as error:
        return f", line {error.lineno}, column {error.colno}: not JSON ({error.msg}); expected one array of objects"
    except ValueError as error:
        return f": {error}"
    for place, record in enumerate(records):
        if not isinstance(record, dict):
            return f", element {place}: holds {_kind(record)}; every element must be an object"
        if _has_lone_surrogate(record):
            return f", element {place}: a text holds half of a surrogate pair, which is no character; write the whole pair"
    return None


def _not_utf8(path: Path) -> str | None:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f", line {number}: byte {error.start + 1} is not UTF-8; save the file as UTF-8"
    return None


def _bad_row(store: StoreFile) -> str | None:
    with store.file.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=csv_delimiter(open_memory(), store), strict=True)
        line = 1
        try:
            header = next(rows)
            for row in rows:
                line, started = rows.line_num, line + 1
                if row and len(row) != len(header):
                    return f", line {started}: {len(row)} columns where the header has {len(header)}; put a value that holds the separator in quotes"
        except csv.Error as error:
            return f", line {line + 1}: {error}; a quoted value must end in a quote"
    return None


def _kind(value: object) -> str:
    names = {list: "an array", str: "a text", bool: "true or false", Number: "a number", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _has_lone_surrogate(value: object) -> bool:
    try:
        return any(0xD800 <= ord(character) <= 0xDFFF for character in dumps(value))
    except ValueError:
        # Nested so deeply that it can be read and just not be written again; what is wrong lies elsewhere.
        return False
