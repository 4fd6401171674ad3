"""Finding cells for a question, with the reasons for their order (rule M5); the query itself is the macro `recalled`."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import duckdb

from governed_memory.memory.terms import query_terms
from governed_memory.warehouse import fragment, literal, rows


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads, as authentication or the host's configuration says (rule G8).

    Attributes:
        name: the principal.
        parties: the parties whose releases they may read.
        boundary: 'inside' or 'outside'.
        reads_all_sessions: whether they may read across sessions.
    """

    name: str
    parties: tuple[str, ...] = ()
    boundary: str = "inside"
    reads_all_sessions: bool = False


def recall(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    reader: Reader,
    *,
    session_id: str | None,
    is_global: bool,
    system: str | None,
    on_date: datetime.date | None,
    clock: datetime.datetime,
    takes_expired: bool,
    most: int,
) -> list[dict[str, Any]]:
    """The cells that match a question, the best first, each with the parts of its score; none for a question without a word."""
    terms = query_terms(query)
    if not terms:
        return []
    sql = fragment("recalled", terms=", ".join(map(literal, terms)), count=str(len(terms)))
    asked = {
        "principal": reader.name, "session_id": session_id, "parties": list(reader.parties), "boundary": reader.boundary, "is_global": is_global,
        "on_date": on_date, "asked_system": system, "clock": clock.astimezone(datetime.UTC).replace(tzinfo=None), "takes_expired": takes_expired, "most": most,
    }  # fmt: skip
    return rows(connection, sql, asked)
