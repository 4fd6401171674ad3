"""One sequence of bytes for each JSON value, which is what gets hashed and signed (rule G9)."""

from __future__ import annotations

import hashlib
import json
from json.encoder import encode_basestring
from typing import Any


class Number(str):
    """A JSON number as it is written: 1, 1.0 and 1e0 are three, since the store's text is what is read."""

    __slots__ = ()


def parse(text: str) -> Any:
    """A JSON text whose numbers stay as they are written.

    Raises:
        ValueError: it is no JSON, or an object has one key twice, of which readers would choose differently.
    """
    try:
        return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=_refuse, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def canonical(value: Any) -> bytes:
    """UTF-8 without white space, keys in the order of their code points, texts as they are (no Unicode normalisation), null only where null is.

    Args:
        value: what `parse` gives; integers may stand for numbers.
    """
    # An unpaired surrogate is no UTF-8, yet two records that differ in one must not be alike.
    return _text(value).encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _text(value: Any) -> str:
    if isinstance(value, str):
        return str(value) if isinstance(value, Number) else encode_basestring(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode_basestring(key)}:{_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has one key twice")
    return found


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")
