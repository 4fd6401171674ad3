"""The errors that people are meant to read.

GovernedMemoryError
└── InputError    a file, table, argument or record cannot be used; the message says what, where and what to do
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class GovernedMemoryError(Exception):
    """Root of every error this package raises on purpose. The message is one line."""


class InputError(GovernedMemoryError):
    """Something given to the package cannot be used. Commands exit with 2 on it."""


SHOWN = 200


def shown(value: object) -> str:
    """A value as a message names it: quoted, and no longer than a line bears."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` for the known word that comes nearest, or nothing where none is near."""
    near = get_close_matches(word, sorted(known), n=1)
    return f"did you mean {near[0]!r}?" if near else ""
