"""Compact lines: one record a line in a fixed order of columns, and back (rule F2).

    # record_id|valid_from|valid_to|source|concept_owner|owner_role|supersedes|release_to|value
    D-102|2026-04-01|~|FIN-POL-07|finance|Head of Finance

Empty means absent, `~` open (null), lists are joined by `,`, empties at the end of a line are dropped. Inside a value a bar is written
`\\p`, a comma `\\c`, a backslash `\\\\`, line breaks `\\n` and `\\r`, so that a line may be split at its bars as it is. One name in release_to,
applies_to or does_not_apply_to is a list of one, elsewhere a text; `\\s` and `\\[` say so where it is the other. `\\e` is an empty text, `\\[`
alone an empty list, and `\\j` begins any other value as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from governed_memory.errors import InputError
from governed_memory.warehouse.json_text import dumps, parse

PUBLISHED_COLUMNS = ("record_id", "valid_from", "valid_to", "source", "concept_owner", "owner_role", "supersedes", "release_to", "value")
LIST_COLUMNS = frozenset({"release_to", "applies_to", "does_not_apply_to"})
OPEN = "~"
ESCAPES = {"\\": "\\\\", "|": "\\p", ",": "\\c", "\n": "\\n", "\r": "\\r", OPEN: "\\o"}
ESCAPED = {escape: character for character, escape in ESCAPES.items()}


def compact(records: Iterable[dict[str, Any]], *, full: bool = False, mapping: dict[str, str] | None = None) -> Iterator[str]:
    """Records as compact lines, the header first.

    Args:
        records: as they stand in the store.
        full: every key that a record has, which loses nothing; else the nine published columns, in which only valid_to can be open.
        mapping: {role: the store's own key} for the published columns.
    """
    records = list(records)
    columns = _all_columns(records) if full else PUBLISHED_COLUMNS
    keys = {column: column if full else (mapping or {}).get(column, column) for column in columns}
    yield "# " + "|".join(_escape(column) for column in columns)
    for record in records:
        fields = [
            "" if key not in record or (record[key] is None and not full and column != "valid_to") else _encode(column, record[key])
            for column, key in keys.items()
        ]
        while fields and not fields[-1]:
            fields.pop()
        yield "|".join(fields)


def expand(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Compact lines as records, each with the keys that its line states.

    Raises:
        InputError: there is no header, or a line has more fields than the header or an unknown escape; the message names the line.
    """
    numbered = enumerate(lines, start=1)
    _, header = next(numbered, (1, ""))
    if not header.startswith("# "):
        raise InputError(f"line 1: {header[:60]!r} is no header; expected `# record_id|valid_from|...`")
    columns = [_unescape(name, 1) for name in header[2:].rstrip("\r\n").split("|")]
    if len(set(columns)) < len(columns):
        raise InputError("line 1: the header names a column twice")
    for number, line in numbered:
        fields = line.rstrip("\n").removesuffix("\r").split("|")
        if len(fields) > len(columns):
            raise InputError(f"line {number}: {len(fields)} fields, but the header names {len(columns)}; write a bar inside a value as \\p")
        yield {column: _decode(column, text, number) for column, text in zip(columns, fields, strict=False) if text}


def escaped_field(text: str) -> str:
    """A text as one field of a compact line."""
    return _escape(text) or "\\e"


def json_field(text: str) -> str:
    """A value that is written as JSON, as one field of a compact line."""
    return "\\j" + _escape(text)


def _all_columns(records: list[dict[str, Any]]) -> tuple[str, ...]:
    others = dict.fromkeys(key for record in records for key in record)
    published = [column for column in PUBLISHED_COLUMNS if column in others]
    return (*published, *(key for key in others if key not in PUBLISHED_COLUMNS))


def _encode(column: str, value: Any) -> str:
    if value is None:
        return OPEN
    if isinstance(value, str):
        return ("\\s" if column in LIST_COLUMNS else "") + escaped_field(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        items = ",".join(_escape(item) or "\\e" for item in value)
        return items if len(value) > 1 or (value and column in LIST_COLUMNS) else "\\[" + items
    try:
        return json_field(dumps(value, sort_keys=True))
    except ValueError as error:
        raise InputError(f"{column}: a value is {error}") from error


def _decode(column: str, text: str, number: int) -> Any:
    if text == OPEN:
        return None
    if text.startswith("\\j"):
        return _json(_unescape(text[2:], number), number)
    if text.startswith("\\s"):
        return _unescape(text[2:], number)
    if text.startswith("\\["):
        return [_unescape(text[2:], number)] if text != "\\[" else []
    if "," in text or column in LIST_COLUMNS:
        return [_unescape(item, number) for item in text.split(",")]
    return _unescape(text, number)


def _json(text: str, number: int) -> Any:
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        raise InputError(f"line {number}: {text[:60]!r} after \\j is not JSON") from error
    except ValueError as error:
        raise InputError(f"line {number}: {text[:60]!r} after \\j: {error}") from error


def _escape(text: str) -> str:
    return re.sub(r"[\\|,\n\r]|^~$", lambda match: ESCAPES[match[0]], text)


def _unescape(text: str, number: int) -> str:
    if text == "\\e":
        return ""

    def character(match: re.Match[str]) -> str:
        if match[0] not in ESCAPED:
            raise InputError(f"line {number}: {match[0]!r} is no escape; known are {' '.join(sorted(ESCAPED))}")
        return ESCAPED[match[0]]

    return re.sub(r"\\.?", character, text, flags=re.DOTALL)
