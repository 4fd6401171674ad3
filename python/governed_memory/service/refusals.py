"""What a call is refused with, apart from what a question is refused with: the call itself cannot be answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from governed_memory.errors import InputError


class ToolError(Exception):
    """A code for programs, and one line for whoever reads it."""

    def __init__(self, code: str, message: str) -> None:
        """A refusal with a code of: unauthenticated, unknown_tool, unknown_argument, invalid_argument, store_unavailable, internal."""
        super().__init__(message)
        self.code = code

    def as_data(self) -> dict[str, Any]:
        """The refusal as a tool's result."""
        return {"error": {"code": self.code, "message": str(self)}}


@contextmanager
def of_arguments() -> Iterator[None]:
    """Reads arguments: an InputError in here is about what the caller has sent, and is told to them as it is."""
    try:
        yield
    except InputError as error:
        raise ToolError("invalid_argument", str(error)) from None
