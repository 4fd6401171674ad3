"""What callers hand in, before it is anything else."""

from __future__ import annotations

from governed_memory.errors import InputError, shown


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
