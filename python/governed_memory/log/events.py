"""The one sequence of bytes that each event is written, hashed and compared as."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

from governed_memory.errors import InputError, shown

ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False)
CONTAINERS = (dict, list, tuple)
SIMPLE = frozenset({str, int, float, bool, type(None)})
# {field: it, with the value that it has, as JSON}.
Fragments = dict[str, str]


def canonical_event(event: Mapping[str, Any]) -> bytes:
    """An event as canonical JSON: UTF-8 without white space, keys in the order of their code points, null only where null is.

    Raises:
        InputError: it is no JSON object, or holds NaN, an infinity, an unpaired surrogate or a value that JSON has no form for. Its values are not
            repeated.
    """
    return in_bytes(joined(fragments(event)))


def joined(of: Fragments) -> str:
    """An object as canonical JSON, of its fragments."""
    return "{" + ",".join([of[name] for name in sorted(of)]) + "}"


def in_bytes(text: str) -> bytes:
    """Canonical JSON as it is written and hashed.

    Raises:
        InputError: it holds an unpaired surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError("an event holds an unpaired surrogate, which is no text; write the character itself") from None


def fragments(event: Mapping[str, Any]) -> Fragments:
    """The fields of an event as canonical JSON, so that what stands in several objects is made once: that is most of a large write.

    Raises:
        InputError: as `canonical_event`, but for surrogates, which the whole is asked for.
    """
    try:
        plain = event if type(event) is dict else dict(event)
        return {name: f"{_quoted(name)}:{FORMS.get(type(value), _encoded)(value)}" for name, value in plain.items()}
    except RecursionError:
        raise InputError("an event is nested too deeply, or contains itself") from None
    except (TypeError, ValueError):
        # Not from the error: it may quote what the event holds.
        raise InputError("an event is a JSON object: texts as keys, and as values texts, finite numbers, true, false, null, lists and objects") from None


def _finite(number: float) -> str:
    if not isfinite(number):
        raise ValueError("no number of JSON")
    return float.__repr__(number)


def _encoded(value: Any) -> str:
    if isinstance(value, CONTAINERS):
        _refuse_keys_that_are_no_texts(value)
    return ENCODER.encode(value)


# What the encoder does with simple values, without what it does before it gets there.
_quoted = lru_cache(maxsize=1000)(encode_basestring)
FORMS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring, int: int.__repr__, float: _finite, bool: lambda value: "true" if value else "false", type(None): lambda _: "null",
}  # fmt: skip


def timestamp(instant: datetime.datetime) -> str:
    """An instant as events write it: UTC, to the microsecond."""
    # Not strftime, which writes the year 900 as 900.
    return in_utc(instant).isoformat(timespec="microseconds") + "Z"


def in_utc(instant: datetime.datetime) -> datetime.datetime:
    """An instant as tables have it: in UTC, without a zone. One that names none is in UTC."""
    return instant.astimezone(datetime.UTC).replace(tzinfo=None) if instant.tzinfo else instant


def expect_text(what: str, given: object) -> str:
    """A text as it was given.

    Raises:
        InputError: it is none, or holds an unpaired surrogate, which no file or table can hold.
    """
    try:
        if isinstance(given, str) and given.encode() is not None:
            return given
    except UnicodeEncodeError:
        raise InputError(f"{what}: {shown(given)} holds an unpaired surrogate, which is no text; write the character itself") from None
    raise InputError(f"{what}: expected a text, got {type(given).__name__}")


def _refuse_keys_that_are_no_texts(value: Any) -> None:
    # The encoder would make texts of them, after sorting them as what they were.
    if isinstance(value, dict):
        "".join(value)  # the quickest way to find one that is none: it raises
        value = value.values()
    if not SIMPLE.issuperset(map(type, value)):
        for part in value:
            if isinstance(part, CONTAINERS):
                _refuse_keys_that_are_no_texts(part)
