"""What a governed read leaves in the memory log, where one is configured (rule M5): who read what, and which records were shown. Nothing of what
was withheld, and no value."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from governed_memory.host.configuration import Host
from governed_memory.log import Read, Witness, witness_at

if TYPE_CHECKING:
    import polars


def add_memory(parser: argparse.ArgumentParser) -> None:
    """Add --memory."""
    parser.add_argument("--memory", metavar="DIR", help="note the read in the log of this memory before anything is told (default: GMEM_MEMORY, else nowhere)")


def memory_place(given: str | None) -> str | None:
    """The folder of the memory: as given, else as GMEM_MEMORY names it; None where there is none."""
    return given or os.environ.get("GMEM_MEMORY") or None


def witness_for(arguments: argparse.Namespace, host: Host | None) -> AbstractContextManager[Witness]:
    """The witness of a command's reads.

    Raises:
        InputError: on entering, the log cannot be opened; nothing was read then.
    """
    return witness_at(memory_place(arguments.memory), host.keys if host else None)


def of_answer(kind: str, answer: dict[str, Any]) -> Read:
    """The read of one answer, as `ask` gives it, perhaps with its explanation."""
    told = answer.get("answers", [answer])
    sides = [side for one in told for side in ([one["answer"]] if one["answer"] else one["sides"] or [])]
    explained = [step for step in answer.get("explanation", []) if step["record_id"] is not None]
    outcome = ",".join(dict.fromkeys(one["outcome"] for one in told)) or "empty"
    return Read(kind, outcome, [one["record_id"] for one in [*sides, *explained]], answer["concept"], answer["as_of"])


def of_listing(kind: str, shown: Iterable[str], *, query: str | None = None, on_date: str | None = None) -> Read:
    """The read of records that are listed and not decided between."""
    shown = list(shown)
    return Read(kind, "found" if shown else "nothing", shown, query, on_date)


def of_statement(sql: str, result: polars.DataFrame, visible: Iterable[str | None], on_date: str) -> Read:
    """The read of a statement: its text without the texts and numbers in it, and those of the records put before it whose identifiers it gave."""
    import polars

    texts: set[Any] = set()
    for column in result.get_columns():
        whole = column.explode(empty_as_null=False) if column.dtype == polars.List(polars.String) else column
        if whole.dtype == polars.String:
            texts.update(whole.unique().to_list())
    shown = sorted(name for name in texts & set(visible) if name is not None)
    return Read("sql", "found" if len(result) else "nothing", shown, _without_literals(sql), on_date)


def _without_literals(sql: str) -> str | None:
    """A statement with ? for each text and number, which may be a value or the guess of a name; None where it cannot be read so."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        statement = sqlglot.parse_one(sql, read="duckdb")
        return statement.transform(lambda node: exp.Placeholder() if isinstance(node, exp.Literal) else node).sql("duckdb", comments=False)
    except (SqlglotError, RecursionError, ValueError):
        return None
