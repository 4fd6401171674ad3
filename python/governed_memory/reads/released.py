"""What a caller may see besides single answers: the records their answers rest on, and a concept's history (rules G5 to G7, F3). What decides is SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from governed_memory import warehouse
from governed_memory.dates import dates_as_text, day, instant
from governed_memory.host.configuration import Caller
from governed_memory.reads.ask import Opened, name_list, text_or_null
from governed_memory.warehouse import literal

# What `disclosed_history` reads, for a store file.
READS = ("concept_histories",)

RECORD = {"store": "store_id", "concept": "concept_id", "record_id": "record_id", "value": "value", "source": "source_id", "valid_from": "valid_from"}
# What tells records apart before one is asked for; how long a value is says what reading it costs.
INDEX = {name: column for name, column in RECORD.items() if name != "value"} | {"characters": "length(value)"}
HISTORY = {
    "store": "store_id", "record_id": "record_id", "concept": "record_concept_id", "value": "value", "status": "interval_status",
    "in_force_from": "in_force_from", "in_force_to": "in_force_to", "valid_from": "valid_from", "valid_to": "valid_to",
    "end_reason": "end_reason", "ended_by": "ended_by", "is_partly_ended": "is_partly_ended", "partly_ended_scopes": "partly_ended_scopes",
    "validity_problem": "validity_problem", "supersedes": "supersedes", "ineffective_supersessions": "ineffective_supersessions",
    "withdrawal": "withdrawal", "source": "source_id", "concept_owner": "concept_owner", "owner_role": "owner_role",
    "applies_to": "applies_to", "does_not_apply_to": "does_not_apply_to", "recorded_at": "recorded_at",
}  # fmt: skip


def released(
    opened: Opened,
    caller: Caller,
    as_of: str,
    *,
    concept: str | None = None,
    scope: Sequence[str] = (),
    known_on: str | None = None,
    store: str | None = None,
    fields: dict[str, str] = RECORD,
) -> list[dict[str, Any]]:
    """The records that the caller's answers on a date rest on, by store, concept and record. A refused question gives none (G6).

    Args:
        opened: stores that can be asked.
        caller: who asks.
        as_of: yyyy-mm-dd.
        concept: one concept; all if None.
        scope: classes of question; none asks for what applies everywhere (G2).
        known_on: a date (its end) or UTC timestamp: as known then (T6).
        store: one attached store; every one if None.
        fields: {name: column}, RECORD or INDEX.

    Raises:
        InputError: a date is none.
    """
    asked = every_concept(as_of, caller, scope, store, concept)
    if known_on is not None:
        answers = warehouse.fragment("worked_out_as_known", asked=asked, known=literal(instant("known_on", known_on)))
    else:
        answers = warehouse.fragment("looked_up" if opened.is_built and len(scope) <= 1 else "worked_out", asked=asked)
    chosen = ", ".join(f"{column} as {name}" for name, column in fields.items())
    sql = f"select {chosen} from ({warehouse.fragment('released', answers=answers)}) order by store_id, concept_id, record_id, valid_from"
    return [dates_as_text(row) for row in warehouse.rows(opened.connection, sql)]


def every_concept(as_of: str, caller: Caller, scope: Sequence[str], store: str | None, concept: str | None = None) -> str:
    """The question of every concept held, or of one, as SQL that a statement of answers takes; InputError where the date is none."""
    return warehouse.fragment(
        "every_concept",
        day=literal(day("as_of", as_of)),
        scope=name_list(scope),
        store=text_or_null(store),
        concept=text_or_null(concept),
        **_caller(caller),
    )


def disclosed_history(opened: Opened, caller: Caller, concept: str, *, store: str | None = None) -> list[dict[str, Any]]:
    """The records of a concept that the caller may see, by store and first day, each with what derives from the others (T4, G7).

    Nothing tells a concept of which the caller may see no record from one that nobody holds: both give an empty list.
    """
    sql = warehouse.fragment("disclosed_history", concept=literal(concept), store=text_or_null(store), **_caller(caller))
    return [dates_as_text({name: row[column] for name, column in HISTORY.items()}) for row in warehouse.rows(opened.connection, sql)]


def visible_beside(opened: Opened, caller: Caller, store: str, concept: str | None, names: Sequence[str]) -> dict[int, list[str]]:
    """The records of a store that the caller may see and that are of a concept, have one of these identifiers or replace one.

    Returns:
        {record_index: the identifiers it replaces that are of visible records}, in the order of the store.
    """
    sql = warehouse.fragment("visible_beside", store=literal(store), concept=text_or_null(concept), names=name_list(names), **_caller(caller))
    return {row["record_index"]: row["visible_supersedes"] for row in warehouse.rows(opened.connection, sql)}


def _caller(caller: Caller) -> dict[str, str]:
    return {"parties": name_list(caller.parties), "boundary": literal(caller.boundary)}
