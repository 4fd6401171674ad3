"""Questions about real stores, answered by hand from their sources: which records of a concept are in force on a date (T3)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import duckdb
import oracle
import pytest

from governed_memory import warehouse
from governed_memory.warehouse import StoreFile

SHARED = Path(os.environ.get("GMEM_SHARED") or Path(__file__).resolve().parents[3] / "shared")
DATA = SHARED / "data"
NAMES = ("peps", "metric_hub", "datahub")

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real stores here: {DATA} does not exist (GMEM_SHARED names another place)")


def lines(file: Path) -> list[dict[str, Any]]:
    # Only a line feed ends a record.
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]


def questions() -> list[Any]:
    files = sorted((DATA / "questions").glob("*.jsonl")) if DATA.is_dir() else []
    return [pytest.param(question, id=f"{question['set']}-{question['n']}") for file in files for question in lines(file)]


@pytest.fixture(scope="module")
def built() -> dict[str, duckdb.DuckDBPyConnection]:
    connections = {}
    for name in NAMES:
        connection = warehouse.open_memory()
        attached = warehouse.attach(connection, StoreFile(str(DATA / f"{name}.jsonl")))
        warehouse.build(connection, {"records_as_of", "record_intervals"}, empty={"record_ledger"}, constants=attached.constants)
        connections[name] = connection
    return connections


@pytest.mark.parametrize("question", questions())
def test_a_question_answered_by_hand_T3(question: dict[str, Any], built: dict[str, duckdb.DuckDBPyConnection]) -> None:
    """T3, T1, T4, T11: as the sources have it, whatever the records' scope."""
    rows = (
        built[question["set"]]
        .execute(f"select record_id from records_as_of(date '{question['date']}') where concept_id = ? order by 1", [question["concept"]])
        .fetchall()
    )
    assert [row[0] for row in rows] == sorted(question["in_force"]), question["why"]


def test_every_store_has_questions_T3() -> None:
    """T3: none of the stores above goes unasked."""
    assert {parameter.values[0]["set"] for parameter in questions()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_real_store_has_the_intervals_of_the_oracle_T3_T4_T5(name: str, built: dict[str, duckdb.DuckDBPyConnection]) -> None:
    """T1, T3, T4, T5, T9, T11: every record of the store, not only those asked for. The oracle takes one concept at a time, with all it touches."""
    found = {
        index: tuple(rest)
        for index, *rest in built[name]
        .execute("select record_index, interval_status, in_force_from, in_force_to, ended_by, end_reason from record_intervals")
        .fetchall()
    }
    records = lines(DATA / f"{name}.jsonl")
    assert len(found) == len(records)
    for group in connected(records):
        # The oracle tries every day, so a store that spans decades is told on the days that its records name, in their order.
        part = [records[index] for index in group]
        days = sorted({day for record in part for day in (record["valid_from"], record["valid_to"], after(record["valid_to"])) if day})
        place = {day: f"2026-{1 + number // 28:02}-{1 + number % 28:02}" for number, day in enumerate(days)}
        assert len(days) <= 12 * 28
        told = [{**record, "valid_from": place.get(record["valid_from"]), "valid_to": place.get(record["valid_to"])} for record in part]
        answers = oracle.answers({"records": told})
        back = {oracle.calendar_date(short): oracle.calendar_date(day) for day, short in place.items()}
        for number, index in enumerate(group):
            interval = answers[number + 1]
            expected = (interval.status, back.get(interval.in_force_from), interval.ended_by, interval.end_reason)
            status, starts, ends, ended_by, reason = found[index + 1]
            assert (status, starts, ended_by, reason) == expected, records[index]
            # The last day is the one before the next day named, on which the record no longer holds.
            following = [day for short, day in back.items() if interval.in_force_to and short > interval.in_force_to]
            assert (ends and ends + oracle.DAY) == min(following, default=None), records[index]


def after(day: str | None) -> str | None:
    """The day after an end, on which the record no longer holds."""
    parsed = oracle.calendar_date(day)
    return (parsed + oracle.DAY).isoformat() if parsed else None


def connected(records: list[dict[str, Any]]) -> list[list[int]]:
    """Groups of records that supersede each other or share an id, as places in the store."""
    group: dict[str, set[int]] = {}
    for index, record in enumerate(records):
        touched = {record["record_id"], *oracle.names(record["supersedes"])}
        merged = {index}.union(*(group.get(name, set()) for name in touched))
        names = touched.union(*({records[place]["record_id"], *oracle.names(records[place]["supersedes"])} for place in merged))
        group.update(dict.fromkeys(names, merged))
    return [list(places) for places in {tuple(sorted(places)) for places in group.values()}]
