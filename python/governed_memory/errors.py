"""The errors that people are meant to read.

GovernedMemoryError
└── InputError    a file, table, argument or record cannot be used; the message says what, where and what to do
    ├── BusyError    another process holds it; the same will work when that one has ended
    └── NotAllowedError    who asks may not; it is refused by a guard of memory
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


class GovernedMemoryError(Exception):
    """Root of every error this package raises on purpose. The message is one line."""


class InputError(GovernedMemoryError):
    """Something given to the package cannot be used. Commands exit with 2 on it."""


class BusyError(InputError):
    """Another process holds what is needed; later the same will work."""


class NotAllowedError(InputError):
    """Whoever asks may not: a guard of memory refuses it (rule M3)."""

    def __init__(self, message: str, guard: str, code: str, requirement: str) -> None:
        """A refusal by this guard, with the condition that is broken and what is expected instead."""
        super().__init__(message)
        self.guard, self.code, self.requirement = guard, code, requirement


SHOWN = 200


def shown(value: object) -> str:
    """A value as a message names it: quoted, and no longer than a line bears."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


# Characters that move the cursor, end a line or turn the direction of writing.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
QUOTED = re.compile(rf"('(?:[^'\\]|\\.){{{SHOWN}}})(?:[^'\\]|\\.)+'")
LONG_WORD = re.compile(rf"(\S{{{2 * SHOWN}}})\S+")


def one_line(text: str) -> str:
    """A text for a terminal: control characters are escaped, so that what a record or an argument holds is shown and does nothing."""
    return CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def message(text: str) -> str:
    """A message as one line of bearable length: what it echoes is cut."""
    return LONG_WORD.sub(r"\1…", QUOTED.sub(r"\1…'", one_line(text)))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` for the known word that comes nearest, or nothing where none is near."""
    near = get_close_matches(word, sorted(known), n=1)
    return f"did you mean {near[0]!r}?" if near else ""
