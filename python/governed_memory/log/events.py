"""The one sequence of bytes that each event is written, hashed and compared as."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from governed_memory.errors import InputError

ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False)


def canonical_event(event: Mapping[str, Any]) -> bytes:
    """An event as canonical JSON: UTF-8 without white space, keys in the order of their code points, null only where null is.

    Raises:
        InputError: it is no JSON object, or holds NaN, an infinity, an unpaired surrogate or a value that JSON has no form for. Its values are not
            repeated.
    """
    try:
        plain = event if type(event) is dict else dict(event)
        _refuse_keys_that_are_no_texts(plain)
        return ENCODER.encode(plain).encode()
    except UnicodeEncodeError:
        raise InputError("an event holds an unpaired surrogate, which is no text; write the character itself") from None
    except RecursionError:
        raise InputError("an event is nested too deeply, or contains itself") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"an event is a JSON object with texts as keys and finite numbers: {_without_values(error)}") from None


def _refuse_keys_that_are_no_texts(value: Any) -> None:
    # The encoder would make texts of them, after sorting them as what they were.
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError("keys must be str")
        value = value.values()
    for part in value:
        if isinstance(part, (dict, list, tuple)):
            _refuse_keys_that_are_no_texts(part)


def _without_values(error: Exception) -> str:
    # "Out of range float values are not JSON compliant: nan" says which; only what comes before the colon is free of what the event holds.
    return str(error).partition(":")[0]
