"""JSON as it is written: a number keeps its digits, and what is no JSON is refused, however leniently it might be read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn


@dataclass(frozen=True, slots=True, repr=False)
class Number:
    """A number by its text: as a float or an int it could lose digits, or be too long to read."""

    text: str

    def __str__(self) -> str:
        """As it is written."""
        return self.text

    __repr__ = __str__


def parse(text: str, *, unique_keys: bool = False) -> Any:
    """The value that a text holds, with a Number for every number.

    Raises:
        ValueError: it is no JSON, holds NaN or Infinity, is nested too deeply, or, with unique_keys, an object repeats a key.
    """
    try:
        return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=_refuse_constant, object_pairs_hook=_unique if unique_keys else None)
    except RecursionError as error:
        raise ValueError("nested too deeply to read") from error


def dumps(value: Any, *, sort_keys: bool = False) -> str:
    """The text of a value, in which a Number stands as it was written.

    Raises:
        ValueError: it is nested too deeply, or a float is none that JSON can write.
    """
    try:
        return _text(value, sort_keys)
    except RecursionError as error:
        raise ValueError("nested too deeply to write") from error


def plain(value: Any) -> Any:
    """The value with its numbers as texts, for a column, whose type reads them."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.text if isinstance(value, Number) else value


def _text(value: Any, sort_keys: bool) -> str:
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        items = sorted(value.items()) if sort_keys else value.items()
        return "{" + ", ".join([f"{json.dumps(key, ensure_ascii=False)}: {_text(item, sort_keys)}" for key, item in items]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join([_text(item, sort_keys) for item in value]) + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number in JSON; write null, or a text")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is given twice; say it once")
        found[key] = value
    return found
