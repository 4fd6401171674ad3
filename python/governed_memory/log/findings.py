"""What a verification says."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from governed_memory.log.heads import Head


class Problem(NamedTuple):
    """Something that is not as it was written.

    Attributes:
        path: the file concerned.
        line: its line, from 1; None where the whole file is concerned.
        seq: the row's number in its stream.
        what: what is wrong, without values of events.
    """

    path: Path
    line: int | None
    seq: int | None
    what: str

    def __str__(self) -> str:
        """As one line: where, and what."""
        return f"{self.path}{f':{self.line}' if self.line else ''}: {f'row {self.seq}: ' if self.seq else ''}{self.what}"


@dataclass
class Verification:
    """The result of verifying a log.

    Attributes:
        rows: {(writer, stream): how many rows agreed with their chain}.
        problems: what is wrong; of each stream only the first bad row, since every chain after it depends on it.
        notices: what could not be checked.
        heads: {writer: the head that was checked}, to be noted elsewhere.
    """

    rows: dict[tuple[str, str], int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    heads: dict[str, Head] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def first_bad_row(self) -> Problem | None:
        """The first problem that names a row, by writer, stream and seq."""
        return next((problem for problem in self.problems if problem.seq is not None), None)
