"""Dates and times as a person writes them, for arguments and for fields of a change."""

from __future__ import annotations

import datetime

from governed_memory.errors import InputError


def day(name: str, text: str) -> str:
    """The text, if it is a date written yyyy-mm-dd; InputError naming the argument if not."""
    try:
        parsed = datetime.date.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{name}: {text!r} is no date; write it as yyyy-mm-dd") from error
    if parsed.isoformat() != text:
        raise InputError(f"{name}: {text!r} is no date; write it as yyyy-mm-dd")
    return text


def instant(name: str, text: str) -> str:
    """A date as it is, or a timestamp in UTC without its offset; InputError naming the argument if it is neither."""
    if len(text) <= 10:
        return day(name, text)
    try:
        parsed = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{name}: {text!r} is neither a date nor a timestamp; write it as yyyy-mm-dd or yyyy-mm-ddThh:mm:ss (UTC)") from error
    return (parsed.astimezone(datetime.UTC).replace(tzinfo=None) if parsed.tzinfo else parsed).isoformat(sep=" ")
