"""Dates and times as a person writes them, for arguments and for fields of a change."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from governed_memory.errors import InputError, shown


def day(name: str, text: object) -> str:
    """The text, if it is a date written yyyy-mm-dd; InputError naming the argument if not."""
    try:
        if isinstance(text, str) and datetime.date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise InputError(f"{name}: {shown(text)} is no date; write it as yyyy-mm-dd")


def instant(name: str, text: object) -> str:
    """A date as it is, or a timestamp in UTC without its offset; InputError naming the argument if it is neither."""
    if not isinstance(text, str) or len(text) <= 10:
        return day(name, text)
    try:
        parsed = datetime.datetime.fromisoformat(text)
        return (parsed.astimezone(datetime.UTC).replace(tzinfo=None) if parsed.tzinfo else parsed).isoformat(sep=" ")
    except ValueError as error:
        raise InputError(f"{name}: {shown(text)} is neither a date nor a timestamp; write it as yyyy-mm-dd or yyyy-mm-ddThh:mm:ss (UTC)") from error
    except OverflowError as error:
        raise InputError(f"{name}: {shown(text)} lies in UTC outside the years 1 to 9999; write a moment within them") from error


def date_as_text(value: Any) -> Any:
    """A date or timestamp in ISO form, as JSON, CSV and pages hold it; anything else as it is."""
    return value.isoformat() if isinstance(value, datetime.date) else value


def dates_as_text(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with each value as `date_as_text` gives it."""
    return {name: date_as_text(value) for name, value in row.items()}
