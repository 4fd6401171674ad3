"""The errors that people are meant to read.

GovernedMemoryError
└── InputError    a file, table, argument or record cannot be used; the message says what, where and what to do
"""

from __future__ import annotations


class GovernedMemoryError(Exception):
    """Root of every error this package raises on purpose. The message is one line."""


class InputError(GovernedMemoryError):
    """Something given to the package cannot be used. Commands exit with 2 on it."""
