"""JSON files of a form: one value, or one object a line; each object with the place that a message names it by."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.warehouse.json_text import Number, dumps, parse

KINDS = {dict: "an object", list: "an array", str: "a text", bool: "true or false", Number: "a number", type(None): "null"}
# Deeper than any export is, and far from what Python's own stack bears.
DEEPEST = 100
LINES = (".jsonl", ".ndjson")
HALF = re.compile(r"\\u[dD][89a-fA-F]")

Placed = list[tuple[str, dict[str, Any]]]


def text_of(path: Path) -> str:
    """What a file holds.

    Raises:
        InputError: there is no such file, it cannot be read, or it is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def values_in(path: Path) -> list[tuple[str, Any]]:
    """The values of a JSON file, each with its place: one value, or one a line.

    Raises:
        InputError: a line is no JSON, repeats a key, is nested too deeply or holds half a character.
    """
    text = text_of(path)
    start = text.lstrip()[:1]
    if not start or (path.suffix.lower() in LINES and start != "["):
        return _by_line(text, path)
    try:
        return [(str(path), _checked(text, str(path)))]
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and start == "{":
            return _by_line(text, path)
        raise InputError(f"{path}, line {error.lineno}, column {error.colno}: not JSON ({error.msg}); expected one JSON value, whole") from error


def objects_in(path: Path, listed: str | None = None) -> tuple[Placed, dict[str, Any]]:
    """The objects of an export: one a line, an array of them, or one object that lists them under a key.

    Args:
        path: the file.
        listed: the key under which one object lists the others.

    Returns:
        The objects, each with its place; and the other keys of the object that lists them.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    values = values_in(path)
    around: dict[str, Any] = {}
    if len(values) == 1 and isinstance(values[0][1], list):
        values = elements(values[0][1], str(path))
    elif len(values) == 1 and listed and isinstance(values[0][1], dict) and listed in values[0][1]:
        around = dict(values[0][1])
        found = around.pop(listed)
        values = elements(expect(found, list, f"{path}: {listed!r}"), f"{path}: {listed!r}")
    if listed and (mixed := next((place for place, value in values if isinstance(value, dict) and listed in value), None)):
        raise InputError(f"{mixed}: lists {listed!r} of its own among objects that stand alone: two versions of the export in one file; split it")
    return [(place, expect(value, dict, place)) for place, value in values], around


def expect_ending(path: Path, endings: Sequence[str]) -> None:
    """InputError where a name to write to does not end in one of the form's endings: another reader would not take the file."""
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: its name ends in {path.suffix!r}; expected {', '.join(endings[:-1])} or {endings[-1]}")


def elements(values: list[Any], place: str) -> list[tuple[str, Any]]:
    """The elements of an array, each with its place."""
    return [(f"{place}, element {number}", value) for number, value in enumerate(values, start=1)]


def expect(value: Any, kind: type, place: str) -> Any:
    """The value, if it is of that kind; its kind is named where not, and never what it holds."""
    if type(value) is not kind:
        raise InputError(f"{place}: holds {KINDS.get(type(value), type(value).__name__)}; expected {KINDS[kind]}")
    return value


def names_in(value: Any, place: str) -> tuple[str, ...]:
    """A list of names, as a tuple."""
    return tuple(expect(name, str, where) for where, name in elements(expect(value, list, place), place))


def lines(objects: Iterable[dict[str, Any]]) -> str:
    """Objects as JSON Lines."""
    return "".join(as_json(entry) + "\n" for entry in objects)


def as_json(value: Any) -> str:
    """A value as JSON on one line.

    Raises:
        InputError: it is nested too deeply to write.
    """
    try:
        return dumps(value)
    except ValueError as error:
        raise InputError(f"a record is {error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a file that holds this text."""
    try:
        path.write_bytes(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InputError(f"{path}: a text holds half of a surrogate pair, which is no character") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _by_line(text: str, path: Path) -> list[tuple[str, Any]]:
    # Only a line feed ends a line: other separators may stand in a text.
    return [(place, _line(line, place)) for number, line in enumerate(text.split("\n"), start=1) if line.strip() and (place := f"{path}, line {number}")]


def _line(text: str, place: str) -> Any:
    try:
        return _checked(text, place)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}, column {error.colno}: not JSON ({error.msg}); every line must be one JSON object") from error


def _checked(text: str, place: str) -> Any:
    try:
        value = parse(text, unique_keys=True)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise InputError(f"{place}: {error}") from error
    expect_shallow(value, place)
    if HALF.search(text):
        try:
            dumps(value).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"{place}: a text holds half of a surrogate pair, which is no character; write the whole pair") from error
    return value


def expect_shallow(value: Any, place: str) -> None:
    """InputError where a value is nested deeper than any record is."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())]
        if not level:
            return
    raise InputError(f"{place}: nested more than {DEEPEST} deep; expected records, which are flat or nearly so")
