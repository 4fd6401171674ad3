"""What a call is refused with, apart from what a question is refused with: the call itself cannot be answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from governed_memory.errors import InputError


class ToolError(Exception):
    """A code for programs, and one line for whoever reads it."""

    def __init__(self, code: str, message: str) -> None:
        """A refusal with a code of: unauthenticated, unknown_tool, unknown_argument, invalid_argument, not_found, store_unavailable,
        memory_unavailable, jobs_unavailable, result_unavailable, not_done, outdated, read_not_noted, timed_out, internal."""
        super().__init__(message)
        self.code = code

    def as_data(self) -> dict[str, Any]:
        """The refusal as a tool's result."""
        return {"error": {"code": self.code, "message": str(self)}}


class GuardRefusal(ToolError):
    """What a guard of memory refuses (rule M3)."""

    def __init__(self, guard: str, code: str, requirement: str) -> None:
        """A refusal by this guard, with the condition that is broken and what is expected instead."""
        super().__init__(code, f"refused: expected that {requirement}")
        self.guard, self.requirement = guard, requirement

    def as_data(self) -> dict[str, Any]:
        """The refusal as a tool's result."""
        return {"error": {**super().as_data()["error"], "guard": self.guard, "requirement": self.requirement}}


@contextmanager
def of_arguments() -> Iterator[None]:
    """Reads arguments: an InputError in here is about what the caller has sent, and is told to them as it is."""
    try:
        yield
    except InputError as error:
        raise ToolError("invalid_argument", str(error)) from None
