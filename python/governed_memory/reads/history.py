"""The history of a concept: every record that had a part in it, when it was in force, and why it ended (rules T4, T5, T6, T9, T11)."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence, Sized
from itertools import groupby
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.errors import InputError
from governed_memory.reads.as_of import unknown_concept

# The fields of a record in a history, and the columns of concept_histories they come from.
COLUMNS = {
    "store_id": "store_id",
    "record_id": "record_id",
    "concept": "record_concept_id",
    "value": "open_value",
    "is_restricted": "is_restricted",
    "interval_status": "interval_status",
    "in_force_from": "in_force_from",
    "in_force_to": "in_force_to",
    "valid_from": "valid_from",
    "valid_to": "valid_to",
    "end_reason": "end_reason",
    "ended_by": "ended_by",
    "is_partly_ended": "is_partly_ended",
    "partly_ended_scopes": "partly_ended_scopes",
    "validity_problem": "validity_problem",
    "supersedes": "supersedes",
    "ineffective_supersessions": "ineffective_supersessions",
    "withdrawal": "open_withdrawal",
    "source": "source_id",
    "concept_owner": "concept_owner",
    "owner_role": "owner_role",
    "applies_to": "applies_to",
    "does_not_apply_to": "does_not_apply_to",
    "recorded_at": "recorded_at",
    "known_at": "known_at",
}

# What stands in place of a period.
NO_PERIOD = {
    "never_in_force": "never in force",
    "validity_unknown": "validity unknown",
    "duplicate_record_id": "identifier shared",
    "withdrawal": "withdrawal",
}
VALIDITY_PROBLEMS = {
    "valid_from_missing": "it has no valid_from",
    "valid_from_invalid": "its valid_from is no date",
    "valid_to_invalid": "its valid_to is no date",
    "valid_to_unstated": "it does not state its valid_to, not even as open",
}
WIDTH = 100


def history_query(concept: str, *, store_id: str | None = None) -> tuple[str, dict[str, Any]]:
    """The statement that reads the history of a concept, by store and first day, and its values."""
    return (
        f"""select {", ".join(f"{column} as {name}" for name, column in COLUMNS.items())}
        from concept_histories
        where concept_id = $concept and ($store::varchar is null or store_id = $store)
        order by store_id, valid_from nulls last, known_at nulls last, record_index""",
        {"concept": concept, "store": store_id},
    )


def expect_history(connection: duckdb.DuckDBPyConnection, concept: str, records: Sized) -> None:
    """InputError where nothing is held of a concept."""
    if not len(records):
        raise InputError(unknown_concept(connection, concept))


def history(connection: duckdb.DuckDBPyConnection, concept: str, *, store_id: str | None = None) -> list[dict[str, Any]]:
    """The history of a concept, one dictionary per record.

    Args:
        connection: from `open_store`, with the read concept_histories.
        concept: the concept.
        store_id: one attached store; all if None.

    Raises:
        InputError: no record is about the concept.
    """
    records = warehouse.rows(connection, *history_query(concept, store_id=store_id))
    expect_history(connection, concept, records)
    return records


def timeline(concept: str, records: Sequence[dict[str, Any]], *, is_file: bool) -> Iterator[str]:
    """The history as lines for a person, store by store."""
    for store_id, group in groupby(records, key=lambda record: record["store_id"]):
        held = list(group)
        where = "" if is_file else f" in {store_id}"
        yield f"{concept}{where}: {len(held)} {'record' if len(held) == 1 else 'records'}"
        for record in held:
            yield f"  {_period(record):<26}{record['record_id'] or '(no identifier)'}: {_value(record)}"
            yield from (f"{'':28}{line}" for line in _notes(concept, record))


def ending(record: dict[str, Any]) -> str:
    """Why a record stops holding, as a few words; '' while it is open."""
    reason, by = record["end_reason"], record["ended_by"] or "a record without an identifier"
    if reason is None:
        return ""
    if reason == "was_wrong":
        return f"was wrong: taken back by {by}"
    text = "reached its own end" if reason == "expired" else f"{reason} by {by}"
    if record.get("is_partly_ended"):
        text += f", only for {', '.join(record['partly_ended_scopes']) or 'questions that the successor names'}; for others it holds on"
    return text


def _period(record: dict[str, Any]) -> str:
    if record["interval_status"] != "in_force":
        return NO_PERIOD[record["interval_status"]]
    return f"{record['in_force_from']} .. {record['in_force_to'] or 'open'}"


def _value(record: dict[str, Any]) -> str:
    is_withdrawal = record["interval_status"] == "withdrawal"
    text = record["withdrawal"] if is_withdrawal else record["value"]
    # a withdrawal always has a reason: where none is given, it is of a restricted record
    if record["is_restricted"] or (is_withdrawal and text is None):
        return "(restricted)"
    plain = " ".join(str(text if text is not None else "(no value)").split())
    return plain if len(plain) <= WIDTH else plain[: WIDTH - 1] + "…"


def _notes(concept: str, record: dict[str, Any]) -> Iterator[str]:
    status = record["interval_status"]
    if status == "withdrawal":
        yield f"takes back {', '.join(record['supersedes'] or ['nothing'])} from {record['valid_from'] or 'no stated day'}"
    elif status == "validity_unknown":
        yield VALIDITY_PROBLEMS[record["validity_problem"]]
    elif status == "duplicate_record_id":
        yield "another record has this identifier, and nothing says which is meant"
    elif status == "never_in_force" and record["end_reason"] == "expired":
        yield f"its stated end {record['valid_to']} lies before its first day {record['valid_from']}"
    elif record["end_reason"]:
        until = "" if record["valid_to"] is None or record["end_reason"] == "expired" else f" (stated end {record['valid_to']})"
        since = f", which begins no later than it does ({record['valid_from']})" if status == "never_in_force" and record["end_reason"] == "replaced" else ""
        yield ending(record) + since + until
    yield from (f"no effect on {reason}" for reason in record["ineffective_supersessions"] or [])
    if record["concept"] != concept:
        yield f"about {record['concept']}" if record["concept"] else "names no concept"
    scopes = [("applies to ", record["applies_to"]), ("not to ", record["does_not_apply_to"])]
    if any(classes for _, classes in scopes):
        yield "; ".join(words + ", ".join(classes) for words, classes in scopes if classes)
    owner = record["concept_owner"] or "no owner claimed"
    role = f" ({record['owner_role']})" if record["owner_role"] else ""
    yield f"{owner}{role}; source {record['source'] or 'not stated'}; {_recording(record)}"


def _recording(record: dict[str, Any]) -> str:
    known = record["recorded_at"] or record["known_at"]
    if known is None:
        return "recording unknown"
    # a date counts from the start of its day (T6)
    moment = f"{known:%Y-%m-%d}" if known.time() == datetime.time() else f"{known:%Y-%m-%d %H:%M}"
    return f"{'recorded' if record['recorded_at'] else 'first seen'} {moment}"
