"""The history of a concept: every record that had a part in it, what became of it and why, for a person and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness import built_database
from test_real_stores import DATA, lines

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.reads.as_of import open_store
from governed_memory.reads.history import history
from governed_memory.warehouse import StoreFile

# Every way in which a record can have a part in the history of `arr`.
RECORDS: list[dict[str, Any]] = [
    {"record_id": "A", "concept": "arr", "value": "text A", "valid_from": "2025-06-01", "valid_to": None, "concept_owner": "finance", "owner_role": "CFO",
     "source": "S-1", "recorded_at": "2025-06-01"},
    {"record_id": "B", "concept": "arr", "value": "text B", "valid_from": "2025-12-01", "valid_to": "2026-12-31", "supersedes": ["A", "Z"],
     "recorded_at": "2026-02-10T10:30:00"},
    {"record_id": "C", "concept": "arr", "value": "text C", "valid_from": "2026-01-01", "valid_to": None},
    {"record_id": "W1", "valid_from": "2026-01-01", "valid_to": None, "withdrawal": "typed twice", "supersedes": "C"},
    {"record_id": "D", "concept": "arr", "value": "text D", "valid_from": "2026-01-02", "valid_to": None, "release_to": ["board"]},
    {"record_id": "W2", "concept": "arr", "valid_from": "2026-03-01", "valid_to": None, "withdrawal": "text D is over", "supersedes": "D"},
    {"record_id": "E", "concept": "arr", "value": "text E", "valid_from": "2026-01-03", "valid_to": "2026-01-31"},
    {"record_id": "F", "concept": "arr", "value": "text F", "valid_from": "2026-01-04", "valid_to": "2025-01-01"},
    {"record_id": "G", "concept": "arr", "value": "text G", "valid_from": "2026-01-05"},
    {"record_id": "H", "concept": "arr", "value": "text H", "valid_to": None},
    {"record_id": "I", "concept": "arr", "value": "text I", "valid_from": "2026-01-07", "valid_to": None},
    {"record_id": "I", "concept": "arr", "value": "text I again", "valid_from": "2026-01-07", "valid_to": None},
    {"record_id": "J", "concept": "arr", "value": "text J", "valid_from": "2026-01-08", "valid_to": None},
    {"record_id": "K", "concept": "arr per region", "value": "text K", "valid_from": "2026-06-01", "valid_to": None, "supersedes": "J", "applies_to": ["emea"],
     "does_not_apply_to": ["apac"]},
    {"record_id": "L", "concept": "arr", "value": "text L", "valid_from": "2026-01-09", "valid_to": None},
    {"record_id": "M", "concept": "arr", "value": "text M", "valid_from": "2026-01-09", "valid_to": None, "supersedes": "L"},
    {"record_id": "N", "concept": "arr", "value": "text N", "valid_from": "2026-01-10", "valid_to": "soon"},
    {"record_id": "O", "concept": "arr", "value": "text O", "valid_from": "soon", "valid_to": None},
    {"record_id": "other", "concept": "churn", "value": "text other", "valid_from": "2026-01-01", "valid_to": None},
]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> str:
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join(json.dumps(record) for record in RECORDS), encoding="utf-8")
    return str(file)


@pytest.fixture
def told(store: str, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, list[str]]]:
    """{record: (its period, what is said of it)}, of the text."""
    assert main(["history", "arr", "--store", store]) == 0
    head, *rest = capsys.readouterr().out.splitlines()
    assert head == "arr: 18 records"
    found: dict[str, tuple[str, list[str]]] = {}
    for line in rest:
        if line[:28].strip():
            name = line[28:].split(":")[0]
            found[name] = (line[:28].strip(), [])
        else:
            found[name][1].append(line.strip())
    return found


@pytest.mark.parametrize(
    ("record", "period", "note"),
    [
        ("A", "2025-06-01 .. 2025-11-30", "replaced by B"),
        ("B", "2025-12-01 .. 2026-12-31", "reached its own end"),
        ("C", "never in force", "was wrong: taken back by W1"),
        ("W1", "withdrawal", "takes back C from 2026-01-01"),
        ("D", "2026-01-02 .. 2026-02-28", "ended by W2"),
        ("E", "2026-01-03 .. 2026-01-31", "reached its own end"),
        ("F", "never in force", "its stated end 2025-01-01 lies before its first day 2026-01-04"),
        ("G", "validity unknown", "it does not state its valid_to, not even as open"),
        ("H", "validity unknown", "it has no valid_from"),
        ("I", "identifier shared", "another record has this identifier, and nothing says which is meant"),
        ("J", "2026-01-08 .. 2026-05-31", "replaced by K, only for emea; for others it holds on"),
        ("L", "never in force", "replaced by M, which begins no later than it does (2026-01-09)"),
        ("N", "validity unknown", "its valid_to is no date"),
        ("O", "validity unknown", "its valid_from is no date"),
    ],
)  # fmt: skip
def test_the_timeline_says_when_and_why_T4_T5_T9(record: str, period: str, note: str, told: dict[str, tuple[str, list[str]]]) -> None:
    assert told[record][0] == period
    assert told[record][1][0] == note


def test_the_timeline_names_what_had_no_effect_and_where_records_come_from_T5_T6(told: dict[str, tuple[str, list[str]]]) -> None:
    """T5, T6: an ineffective supersession with its reason; owner, role, source, and when it was recorded, or that nobody knows."""
    assert told["B"][1] == ["reached its own end", "no effect on Z: points_at_nothing", "no owner claimed; source not stated; recorded 2026-02-10 10:30"]
    assert told["A"][1][-1] == "finance (CFO); source S-1; recorded 2025-06-01"
    assert told["K"][1] == ["about arr per region", "applies to emea; not to apac", "no owner claimed; source not stated; recording unknown"]
    assert "names no concept" in told["W1"][1]


def test_no_restricted_value_is_told_nor_why_it_was_withdrawn(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    for format_ in ([], ["--json"]):
        assert main(["history", "arr", "--store", store, *format_]) == 0
        text = capsys.readouterr().out
        assert "text D" not in text
        assert "text C" in text
        assert "typed twice" in text


def test_json_holds_every_record_with_its_fields(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "arr", "--store", store, "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert {record["record_id"] for record in records} == {record["record_id"] for record in RECORDS} - {"other"}
    by_id = {record["record_id"]: record for record in records}
    told = ("in_force_from", "in_force_to", "end_reason", "ended_by", "known_at", "concept", "validity_problem", "is_partly_ended", "partly_ended_scopes")
    assert [by_id["J"][name] for name in told] == ["2026-01-08", "2026-05-31", "replaced", "K", None, "arr", None, True, ["emea"]]
    assert [by_id["W1"][name] for name in ("interval_status", "concept", "withdrawal", "supersedes")] == ["withdrawal", None, "typed twice", ["C"]]
    assert by_id["A"]["known_at"] == "2025-06-01T00:00:00"
    assert "store_id" not in by_id["A"]


def test_each_attached_store_tells_its_own_history_T6(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T6: where a record says not when it was recorded, the first build that saw it counts, and the text says so."""
    stores = [
        {"store_id": "one", "records": RECORDS[:2]},
        {"store_id": "two", "records": [*RECORDS[2:3], RECORDS[-1]], "first_built": {"C": "2026-03-05 08:00:00"}},
    ]
    database = str(built_database(stores, tmp_path))
    assert main(["history", "arr", "--database", database]) == 0
    text = capsys.readouterr().out.splitlines()
    assert [line for line in text if not line.startswith(" ")] == ["arr in one: 2 records", "arr in two: 1 record"]
    assert text[-1].strip().endswith("first seen 2026-03-05 08:00")
    assert main(["history", "arr", "--database", database, "--store", "two", "--json"]) == 0
    assert [(record["store_id"], record["record_id"]) for record in json.loads(capsys.readouterr().out)] == [("two", "C")]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["arrr"], "no record is about 'arrr'; did you mean 'arr'?"),
        (["xyz"], "no record is about 'xyz'\n"),
        (["arr", "--map", "concept=topic"], "no record is about 'arr'"),
        (["arr", "--map", "idea=topic"], "--map: 'idea' is no role"),
    ],
)
def test_what_no_store_holds_is_said_in_one_line(arguments: list[str], says: str, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", *arguments, "--store", store]) == 2
    assert says in capsys.readouterr().err


def test_an_unknown_store_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = str(built_database([{"store_id": "one", "records": RECORDS}], tmp_path))
    assert main(["history", "arr", "--database", database, "--store", "two"]) == 2
    assert capsys.readouterr().err == "gmem history: 'two' is neither a file nor an attached store; attached are one\n"


@pytest.mark.skipif(not DATA.is_dir(), reason="no real stores here")
@pytest.mark.parametrize("name", ["peps", "metric_hub", "datahub"])
def test_the_histories_of_a_real_store_hold_each_of_its_records_T4(name: str) -> None:
    """T4: each once among its concept's, with the interval that record_intervals has."""
    connection, _ = open_store(StoreFile(str(DATA / f"{name}.jsonl")), reads=["concept_histories"])
    [counts] = warehouse.rows(
        connection,
        """select count(*) as records, count(distinct histories.record_index) as distinct_records
        from concept_histories as histories
        inner join record_intervals_built as intervals
            on histories.record_index = intervals.record_index and histories.concept_id = intervals.concept_id
            and histories.in_force_from is not distinct from intervals.in_force_from and histories.in_force_to is not distinct from intervals.in_force_to""",
    )
    expected = len(lines(DATA / f"{name}.jsonl"))
    assert counts == {"records": expected, "distinct_records": expected}


@pytest.mark.skipif(not DATA.is_dir(), reason="no real stores here")
def test_a_real_line_of_proposals_reads_as_it_went_T3_T4(capsys: pytest.CaptureFixture[str]) -> None:
    """T3, T4: the metadata of Python packages, as the proposals replaced each other."""
    connection, _ = open_store(StoreFile(str(DATA / "peps.jsonl")), reads=["concept_histories"])
    line = [(record["record_id"], str(record["in_force_from"]), record["ended_by"]) for record in history(connection, "pep-line-241")]
    assert line[:4] == [
        ("pep-241", "2001-03-12", "pep-314"),
        ("pep-314", "2003-04-12", "pep-345"),
        ("pep-345", "2005-04-28", "pep-566"),
        ("pep-566", "2017-12-01", line[3][2]),
    ]
