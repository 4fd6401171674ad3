"""What changed between two dates and between two states of knowledge: as the oracle reads the rules, and what a person is told."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import duckdb
import oracle
import pytest
from harness import Difference, build_time, built_database
from test_intervals_against_oracle import FIRST, first_rows, for_batches, literal
from test_real_stores import DATA

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.reads.as_of import open_store
from governed_memory.reads.diff import diff_query
from governed_memory.warehouse import StoreFile

STEPS = [(0, 0), (0, 1), (1, 4), (-2, 8), (2, 2)]
# None for each: what is known now. The first of two is never the later one.
STATES = [
    (None, None),
    (datetime.date(2026, 1, 3), datetime.date(2026, 1, 3)),
    (datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 4, 11, 0)),
    (datetime.date(2026, 1, 2), None),
]


def asked(first: datetime.date, second: datetime.date, states: tuple[Any, Any]) -> str:
    then, now = states
    known = ""
    if states != (None, None):
        known = f", known_on => {literal(then)}" if then == now else f", first_known_on => {literal(then)}, second_known_on => {literal(now)}"
    return f"changes_between(date '{first}', date '{second}'{known})"


COLUMNS = "kind, record_index, concept_id, changed_on, in_force_to, end_reason, ended_by, former_in_force_to, owners_before, owners_after"


def test_changes_as_the_rules_read_T3_T4_T6_T8_T9(tmp_path: Path) -> None:
    """T3, T4, T6, T8, T9: each record's changes and each concept's owners, for pairs of dates and of states of knowledge."""
    seen: Counter[str] = Counter()

    def compare(stores: list[dict[str, Any]]) -> None:
        for store in stores:
            for record in store["records"]:
                record["concept_owner"] = record["written_by"]
                # What is known first is mostly what successors change later.
                if not record["supersedes"]:
                    record["recorded_at"] = "2026-01-01"
        starts = first_rows(stores)
        connection = build_time(stores, tmp_path / "stores.jsonl", {"changes_between"})
        for (before, after), states in product(STEPS, STATES):
            first, second = FIRST + oracle.DAY * before, FIRST + oracle.DAY * after
            source = asked(first, second, states)
            rows = connection.execute(f"select store_id, {COLUMNS} from {source}").fetchall()
            for store in stores:
                got: Counter[tuple[Any, ...]] = Counter()
                for store_id, kind, index, concept, changed_on, *told, owners_before, owners_after in rows:
                    if store_id == store["store_id"]:
                        is_owner = kind == "owner_changed"
                        got[
                            (kind, concept, tuple(owners_before), tuple(owners_after)) if is_owner else (kind, index - starts[store_id], changed_on, *told)
                        ] += 1
                wanted = Counter(oracle.changes(store, first, second, *states))
                if got != wanted:
                    raise Difference(store, f"{source}: {sorted(got - wanted, key=str)}, expected {sorted(wanted - got, key=str)}")
                seen.update(kind for kind, *_ in wanted)
        connection.close()

    for_batches(6, compare)
    for kind in ("began", "ended", "owner_changed", "added", "dropped", "end_changed"):
        assert seen[kind] >= 50, f"{kind} came up {seen[kind]} times: {seen}"


RECORDS = [
    {"record_id": "A", "concept": "arr", "value": "first text", "valid_from": "2025-06-01", "valid_to": None, "concept_owner": "finance",
     "recorded_at": "2025-06-01"},
    {"record_id": "B", "concept": "arr", "value": "second text", "valid_from": "2025-12-01", "valid_to": None, "concept_owner": "sales", "supersedes": "A",
     "recorded_at": "2026-02-10"},
    {"record_id": "C", "concept": "churn", "value": "third text", "valid_from": "2026-01-01", "valid_to": "2026-03-31", "concept_owner": "ops",
     "release_to": ["board"], "recorded_at": "2026-01-01"},
    {"record_id": "D", "concept": "churn", "value": "fourth text", "valid_from": "2026-01-01", "valid_to": None, "recorded_at": "2026-01-05"},
    {"record_id": "W", "concept": "churn", "valid_from": "2026-01-01", "valid_to": None, "withdrawal": "typed in error", "supersedes": "D",
     "recorded_at": "2026-02-20"},
    {"record_id": "E", "concept": "churn", "value": "fifth text", "valid_from": "2026-05-01", "valid_to": None, "supersedes": "C", "recorded_at": "2026-02-01"},
    {"record_id": "F", "concept": "quota", "value": "sixth text", "valid_from": "2025-01-01", "valid_to": None, "recorded_at": "2025-01-01"},
    {"record_id": "G", "concept": "quota", "value": "seventh text", "valid_from": "2026-09-01", "valid_to": None, "supersedes": "F", "recorded_at": "2026-02-25"},
]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Path:
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join(json.dumps(record) for record in RECORDS), encoding="utf-8")
    return file


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    assert main(["diff", *arguments]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_two_dates_tell_what_began_and_ended_and_why_T3_T9(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T3, T9: with what replaced it, on the first day that differs; nothing of the first date itself."""
    assert told(capsys, "2026-01-01", "2026-05-01", "--store", str(store)) == [
        ["2026-04-01", "ended", "C", "churn", "reached", "its", "own", "end"],
        ["2026-05-01", "began", "E", "churn"],
        ["owner_changed", "churn", "ops", "->", "nobody"],
        ["1", "came", "into", "force,", "1", "ended,", "1", "changed", "owner"],
    ]


def test_two_states_of_knowledge_tell_what_was_learned_of_one_day_T6(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T6, T9: learned in between about 1 January: B since December instead of A, D was wrong, and F will end."""
    known = ["--known-on", "2026-01-31", "--known-on", "2026-03-01"]
    assert told(capsys, "2026-01-01", "2026-01-01", "--store", str(store), *known) == [
        ["2025-12-01", "added", "B", "arr", "2025-12-01", "..", "open"],
        ["2025-12-01", "dropped", "A", "arr", "replaced", "by", "B"],
        ["2026-01-01", "dropped", "D", "churn", "was", "wrong:", "taken", "back", "by", "W"],
        ["2026-09-01", "end_changed", "F", "quota", "last", "day", "2026-08-31,", "before", "open"],
        ["owner_changed", "arr", "finance", "->", "sales"],
        [
            "1",
            "changed",
            "owner,",
            "1",
            "turned",
            "out",
            "to",
            "be",
            "in",
            "force,",
            "2",
            "turned",
            "out",
            "not",
            "to",
            "be",
            "in",
            "force,",
            "1",
            "turned",
            "out",
            "to",
            "end",
            "on",
            "another",
            "day",
        ],
    ]


def test_a_record_holds_again_once_its_successor_was_wrong_T6_T9(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T6, T9: the first day that differs is the one on which it had been thought to end, not its own first day."""
    file = tmp_path / "records.jsonl"
    records = [
        {"record_id": "A", "concept": "c", "valid_from": "2025-01-01", "valid_to": None, "recorded_at": "2025-01-01"},
        {"record_id": "B", "concept": "c", "valid_from": "2026-01-01", "valid_to": None, "supersedes": "A", "recorded_at": "2026-01-01"},
        {"record_id": "W", "concept": "c", "valid_from": "2026-01-01", "valid_to": None, "withdrawal": "wrong", "supersedes": "B", "recorded_at": "2026-02-01"},
    ]
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    assert told(capsys, "2026-01-15", "2026-01-15", "--store", str(file), "--known-on", "2026-01-15", "--known-on", "now") == [
        ["2026-01-01", "added", "A", "c", "2025-01-01", "..", "open"],
        ["2026-01-01", "dropped", "B", "c", "was", "wrong:", "taken", "back", "by", "W"],
        ["1", "turned", "out", "to", "be", "in", "force,", "1", "turned", "out", "not", "to", "be", "in", "force"],
    ]


def test_one_state_of_knowledge_holds_for_both_dates_T6(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "2025-01-01", "2026-01-01", "--store", str(store), "--known-on", "2026-01-04", "--concept", "arr") == [
        ["2025-06-01", "began", "A", "arr"],
        ["1", "came", "into", "force"],
    ]


def test_now_is_a_second_state_of_knowledge_T6(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = told(capsys, "2026-01-01", "2026-01-01", "--store", str(store), "--known-on", "2026-01-31", "--known-on", "2026-03-01")
    assert told(capsys, "2026-01-01", "2026-01-01", "--store", str(store), "--known-on", "2026-01-31", "--known-on", "now") == later


def test_as_json_no_value_is_told(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "2025-01-01", "2027-01-01", "--store", str(store), "--json", "--known-on", "2025-01-01", "--known-on", "now"]) == 0
    text = capsys.readouterr().out
    changes = json.loads(text)
    assert "text" not in text
    assert {change["kind"] for change in changes} == {"began", "ended"}
    assert "store_id" not in changes[0]
    assert [change["ended_by"] for change in changes if change["record_id"] == "A" and change["kind"] == "ended"] == ["B"]


def test_same_date_has_no_changes(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "2026-01-01", "2026-01-01", "--store", str(store)) == [["no", "changes"]]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["2026-2-30", "2026-03-01"], "DATE1: '2026-2-30' is no date; write it as yyyy-mm-dd"),
        (["2026-02-01", "2026-02-30"], "DATE2: '2026-02-30' is no date"),
        (["2026-02-01", "2026-01-01"], "DATE2: '2026-01-01' comes before '2026-02-01'; name the earlier date first"),
        (["2026-01-01", "2026-01-01", "--known-on", "soon"], "--known-on: 'soon' is no date"),
        (["2026-01-01", "2026-01-01", "--known-on", "2026-03-01", "--known-on", "2026-02-01"], "'2026-02-01' comes before '2026-03-01'"),
        (["2026-01-01", "2026-01-01", "--known-on", "2026-03-01", "--known-on", "2026-03-01T23:00:00"], "comes before '2026-03-01'"),
        (["2026-01-01", "2026-01-01", "--known-on", "now", "--known-on", "2026-02-01"], "'2026-02-01' comes before 'now'"),
        (["2026-01-01", "2026-01-01", *["--known-on", "2026-02-01"] * 3], "--known-on: given 3 times"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(arguments: list[str], says: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *arguments, "--store", str(store)]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_stores_of_a_database_are_compared_apart_and_by_the_register_T8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T8: the register's owner counts before the records' claims; an entry may say that nobody owns a concept any more."""
    ownerships = [
        {"store_id": "one", "concept_id": "arr", "party_id": "legal", "valid_from": datetime.date(2025, 1, 1)},
        {"store_id": "one", "concept_id": "arr", "party_id": "board", "valid_from": datetime.date(2026, 2, 1)},
        {"store_id": "two", "concept_id": "arr", "party_id": None, "valid_from": datetime.date(2026, 2, 1)},
        {"store_id": "two", "concept_id": "held nowhere", "party_id": "legal", "valid_from": datetime.date(2026, 2, 1)},
    ]
    stores = [{"store_id": name, "records": RECORDS[:2], "ownerships": [entry for entry in ownerships if entry["store_id"] == name]} for name in ("one", "two")]
    database = str(built_database(stores, tmp_path))
    assert told(capsys, "2025-11-30", "2026-03-01", "--database", database) == [
        ["one"],
        ["2025-12-01", "began", "B", "arr"],
        ["2025-12-01", "ended", "A", "arr", "replaced", "by", "B"],
        ["2026-02-01", "owner_changed", "arr", "legal", "->", "board"],
        ["two"],
        ["2025-12-01", "began", "B", "arr"],
        ["2025-12-01", "ended", "A", "arr", "replaced", "by", "B"],
        ["2026-02-01", "owner_changed", "arr", "finance", "->", "nobody"],
        ["2", "came", "into", "force,", "2", "ended,", "2", "changed", "owner"],
    ]
    assert next(line[0] for line in told(capsys, "2025-11-30", "2026-03-01", "--database", database, "--store", "two")) == "two"
    assert main(["diff", "2025-11-30", "2026-03-01", "--database", database, "--store", "three"]) == 2
    assert "'three' is neither a file nor an attached store; attached are one, two" in capsys.readouterr().err


def test_a_database_of_an_earlier_version_says_to_build_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = built_database([{"store_id": "one", "records": RECORDS}], tmp_path)
    with duckdb.connect(str(database)) as connection:
        connection.execute("drop macro table changes_between; drop view concept_histories")
    for command in (["diff", "2026-01-01", "2026-02-01"], ["history", "arr"]):
        assert main([*command, "--database", str(database)]) == 2
        assert "has to be built again with `dbt build`" in capsys.readouterr().err


@pytest.mark.skipif(not DATA.is_dir(), reason="no real stores here")
@pytest.mark.parametrize("name", ["peps", "metric_hub", "datahub"])
def test_the_changes_of_a_real_store_turn_one_as_of_read_into_the_other_T3(name: str) -> None:
    """T3: what is in force on the first date, less what ended, with what began, is what is in force on the second."""
    connection, _ = open_store(StoreFile(str(DATA / f"{name}.jsonl")), reads=["changes_between", "records_as_of"])
    days = [
        row[0] for row in connection.execute("select distinct in_force_from from record_intervals_built where in_force_from is not null order by 1").fetchall()
    ]
    days = [days[0] - oracle.DAY, *days[:: max(1, len(days) // 12)], days[-1]]
    in_force = {day: {row[0] for row in connection.execute(f"select record_index from records_as_of(date '{day}')").fetchall()} for day in days}
    for first, second in [*pairwise(days), (days[0], days[-1])]:
        rows = connection.execute(f"select kind, record_index from {asked(first, second, (None, None))} where kind <> 'owner_changed'").fetchall()
        began, ended = ({index for kind, index in rows if kind == wanted} for wanted in ("began", "ended"))
        assert (in_force[first] | began) - ended == in_force[second], (first, second)
        assert began - ended <= in_force[second]


@pytest.mark.skipif(not DATA.is_dir(), reason="no real stores here")
def test_a_real_supersession_is_a_change_T3_T4() -> None:
    """T3, T4: PEP 566 takes over from 345 on the day it was created."""
    connection, _ = open_store(StoreFile(str(DATA / "peps.jsonl")), reads=["changes_between"])
    changes = warehouse.rows(connection, *diff_query("2017-11-30", "2017-12-01", concept="pep-line-241"))
    assert [(change["kind"], change["record_id"], change["ended_by"]) for change in changes if change["record_id"]] == [
        ("began", "pep-566", None),
        ("ended", "pep-345", "pep-566"),
    ]
