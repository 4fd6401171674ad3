"""The small inputs that a governed store must get right, each through a file, and every way in which a file can be unusable.

A case is named by its number (C01 ...), and cites the rules (T, L) that it shows.
"""

from __future__ import annotations

import csv
import datetime
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.overlay.check import check
from governed_memory.warehouse import StoreFile
from governed_memory.warehouse.store_file import parse_mapping

Record = dict[str, Any]
FIRST = datetime.date(2025, 12, 1)
EVERY_MONTH = [FIRST + datetime.timedelta(days=number) for number in range(0, 300, 30)]
LISTS = ("applies_to", "does_not_apply_to", "release_to")


# Writing a store in each format, and asking it


def as_lines(file: Path, records: list[Record]) -> None:
    file.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")


def as_array(file: Path, records: list[Record]) -> None:
    file.write_text(json.dumps(records, indent=1), encoding="utf-8")


def columns_of(records: list[Record]) -> list[str]:
    return list(dict.fromkeys(key for record in records for key in record))


def as_csv(file: Path, records: list[Record]) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, columns_of(records))
        writer.writeheader()
        writer.writerows(records)


def fill(connection: duckdb.DuckDBPyConnection, records: list[Record], types: dict[str, str]) -> None:
    columns = columns_of(records)
    typed = [f"{column} {types.get(column, 'varchar')}" for column in columns]
    connection.execute(f"create table records ({', '.join(typed)})")
    for record in records:
        connection.execute(f"insert into records values ({', '.join('?' for _ in columns)})", [record.get(column) for column in columns])


def as_parquet(file: Path, records: list[Record]) -> None:
    connection = duckdb.connect()
    fill(connection, records, {})
    connection.execute(f"copy records to '{file}' (format parquet)")


def as_typed_parquet(file: Path, records: list[Record]) -> None:
    connection = duckdb.connect()
    records = [{key: [value] if key == "supersedes" and isinstance(value, str) else value for key, value in record.items()} for record in records]
    fill(connection, records, {"valid_from": "date", "valid_to": "date", "supersedes": "varchar[]"} | dict.fromkeys(LISTS, "varchar[]"))
    connection.execute(f"copy records to '{file}' (format parquet)")


def as_database(file: Path, records: list[Record]) -> None:
    with duckdb.connect(str(file)) as connection:
        fill(connection, records, {"valid_from": "date", "valid_to": "date"})


JSON_FORMATS = {"lines.jsonl": as_lines, "array.json": as_array}
COLUMN_FORMATS = {"text.csv": as_csv, "text.parquet": as_parquet, "dates.parquet": as_typed_parquet, "dates.duckdb": as_database}
FORMATS: dict[str, Callable[[Path, list[Record]], None]] = {**JSON_FORMATS, **COLUMN_FORMATS}


@pytest.fixture(params=FORMATS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., StoreFile]:
    """Writes records in one of the formats; a test that takes it runs once for each."""

    def write(records: list[Record], **options: Any) -> StoreFile:
        folder = tmp_path / f"store {len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        return written(folder, request.param, records, **options)

    return write


def written(folder: Path, name: str, records: list[Record], **options: Any) -> StoreFile:
    FORMATS[name](folder / name, records)
    return StoreFile(str(folder / name), **options)


def opened(store_file: StoreFile, *targets: str) -> duckdb.DuckDBPyConnection:
    connection = warehouse.open_memory()
    attached = warehouse.attach(connection, store_file, on_date=datetime.date(2026, 6, 1))
    warehouse.build(connection, {"record_intervals", "records_as_of", "record_supersessions", *targets}, empty={"record_ledger"}, constants=attached.constants)
    return connection


def as_of(connection: duckdb.DuckDBPyConnection, on_date: str | datetime.date) -> list[str]:
    return [row[0] for row in connection.execute(f"select record_id from records_as_of(date '{on_date}') order by 1").fetchall()]


def interval(connection: duckdb.DuckDBPyConnection, record_id: str, columns: str = "in_force_from, in_force_to") -> tuple[Any, ...]:
    [row] = connection.execute(f"select {columns} from record_intervals where record_id = ?", [record_id]).fetchall()
    return row


def findings(report: dict[str, Any], rule: str) -> list[str]:
    """The offenders of a value rule."""
    return [offender for finding in report["value_findings"] if finding["rule"] == rule for offender in finding["offenders"]]


def missing(report: dict[str, Any], field: str) -> list[str]:
    """The offenders of the presence findings of a field."""
    return [offender for finding in report["findings"] if finding["field"] == field for offender in finding["offenders"]]


def record(record_id: str | None, valid_from: str | None = "2026-01-01", valid_to: str | None = None, **fields: Any) -> Record:
    return {"record_id": record_id, "concept": "c", "value": f"value of {record_id}", "valid_from": valid_from, "valid_to": valid_to, **fields}


def date(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


# The cases


def test_c01_last_day_counts_T1(store: Callable[..., StoreFile]) -> None:
    """C01, T1: both ends inclusive; a date covers its whole day."""
    connection = opened(store([record("A", "2026-01-01", "2026-06-30")]))
    assert as_of(connection, "2025-12-31") == []
    assert as_of(connection, "2026-01-01") == ["A"]
    assert as_of(connection, "2026-06-30") == ["A"]
    assert as_of(connection, "2026-07-01") == []
    assert interval(connection, "A", "in_force_from, in_force_to, end_reason") == (date("2026-01-01"), date("2026-06-30"), "expired")


def test_c02_hand_over_day_T3_T4(store: Callable[..., StoreFile]) -> None:
    """C02, T3, T4: the day before the successor is the predecessor's last, and its stored end stays open."""
    connection = opened(store([record("A"), record("B", "2026-04-01", supersedes="A")]))
    assert as_of(connection, "2026-03-31") == ["A"]
    assert as_of(connection, "2026-04-01") == ["B"]
    assert interval(connection, "A", "in_force_to, valid_to, ended_by, end_reason") == (date("2026-03-31"), None, "B", "replaced")


def test_c03_expired_successor_T4(store: Callable[..., StoreFile]) -> None:
    """C03, T4: a successor that has expired does not bring its predecessor back."""
    connection = opened(store([record("A"), record("B", "2026-04-01", "2026-06-30", supersedes="A")]))
    assert as_of(connection, "2026-06-30") == ["B"]
    assert as_of(connection, "2026-07-01") == []
    assert interval(connection, "A")[1] == date("2026-03-31")


def test_c04_successor_in_the_future_and_then_withdrawn_T4_T5_T9(store: Callable[..., StoreFile]) -> None:
    """C04, T4, T5, T9: a successor ends nothing before it begins; withdrawn from its own first day, it never did."""
    records = [record("B", "2026-04-01"), record("C", "2030-01-01", supersedes="B")]
    connection = opened(store(records))
    assert as_of(connection, "2026-06-01") == ["B"]
    assert as_of(connection, "2029-12-31") == ["B"]
    assert as_of(connection, "2030-01-01") == ["C"]

    # The columns a record lacks are there all the same in a table.
    records = [{**one, "withdrawal": None} for one in records]
    connection = opened(store([*records, {**record("W", "2030-01-01", supersedes="C"), "withdrawal": "decided against"}]))
    assert as_of(connection, "2030-01-01") == ["B"]
    assert interval(connection, "B", "in_force_to, ended_by, end_reason") == (None, None, None)
    assert interval(connection, "C", "interval_status, in_force_from, ended_by, end_reason") == ("never_in_force", None, "W", "was_wrong")
    assert connection.execute("select count(*) from record_intervals where in_force_to < in_force_from").fetchone() == (0,)


def test_c06_inverted_interval_L2_T4(store: Callable[..., StoreFile]) -> None:
    """C06, L2, T4: the rule names the record, no date returns it, and no derived end comes before its start."""
    records = [
        record("A", "2026-05-01", "2026-04-01"),
        record("B", "2026-06-01"),
        record("C", "2026-06-01", supersedes="B"),
        record("D", "2026-05-15", supersedes="C"),
    ]
    inverted = store(records)
    report = check(inverted)
    assert findings(report, "interval_inverted") == ["A"]
    assert report["level_with_values"] == 0
    connection = opened(inverted)
    assert not any("A" in as_of(connection, day) for day in [*EVERY_MONTH, "2026-04-01", "2026-04-15", "2026-05-01"])
    assert interval(connection, "A", "interval_status, in_force_from, in_force_to") == ("never_in_force", None, None)
    assert connection.execute("select count(*) from record_intervals where in_force_to < in_force_from").fetchone() == (0,)
    # B and C both have a successor that begins no later than they do: never in force, but not inverted.
    assert findings(report, "never_in_force") == ["B", "C"]


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_c08_spellings_of_open_in_json_T1_L1_L2(name: str, tmp_path: Path) -> None:
    """C08, T1: null is open, a missing key unknown, a blank no date, a far-future end open and flagged."""
    records = [record("open"), record("blank", valid_to=""), record("year 9999", valid_to="9999-12-31"), record("infinity", valid_to="infinity")]
    records.append({key: value for key, value in record("missing").items() if key != "valid_to"})
    spelled = written(tmp_path, name, records)
    report = check(spelled)
    assert report["level"] == 0
    assert missing(report, "valid_to") == ["missing"]
    assert findings(report, "valid_to_invalid") == ["blank"]
    assert findings(report, "open_end_sentinel") == ["year 9999", "infinity"]
    connection = opened(spelled)
    assert as_of(connection, "2026-06-01") == ["infinity", "open", "year 9999"]
    assert interval(connection, "missing", "interval_status") == ("validity_unknown",)
    assert interval(connection, "blank", "interval_status") == ("validity_unknown",)
    assert_table_and_view_agree_on_the_open(connection, 3)


@pytest.mark.parametrize(("name", "blank"), [("text.csv", "  "), ("text.parquet", "  "), ("text.parquet", "")])
def test_c08_spellings_of_open_in_a_column_T1_L2(name: str, blank: str, tmp_path: Path) -> None:
    """C08, T1: NULL and blank are open, a blank with a notice; a far-future end is open and flagged; a column that is not there states no end."""
    records = [record("open"), record("blank", valid_to=blank), record("year 9999", valid_to="9999-12-31"), record("infinity", valid_to="infinity")]
    spelled = written(tmp_path, name, records)
    report = check(spelled)
    assert findings(report, "valid_to_blank") == ["blank"]
    assert findings(report, "open_end_sentinel") == ["year 9999", "infinity"]
    assert findings(report, "valid_to_invalid") == []
    connection = opened(spelled)
    assert as_of(connection, "2026-06-01") == ["blank", "infinity", "open", "year 9999"]
    assert_table_and_view_agree_on_the_open(connection, 4)
    endless = written(tmp_path, name, [{key: value for key, value in records[0].items() if key != "valid_to"}])
    assert missing(check(endless), "valid_to") == ["open"]


def assert_table_and_view_agree_on_the_open(connection: duckdb.DuckDBPyConnection, count: int) -> None:
    assert connection.execute("select count(*) from records where is_validity_known and valid_to is null").fetchone() == (count,)
    assert connection.execute("select count(*) from record_intervals where interval_status = 'in_force' and in_force_to is null").fetchone() == (count,)


def test_c09_blanks_in_csv_T1_L1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C09, L1, T1: blanks and the words for null are missing; as an end they are named with record and column."""
    file = tmp_path / "store.csv"
    file.write_text(
        'record_id,valid_from,valid_to,source\nR1,2026-01-01,,""\nR2,2026-01-01,,null\nR3,2026-01-01,,NULL\nR4,2026-01-01,,"  "\nR5,2026-01-01,null,S-1\n',
        encoding="utf-8",
    )
    blanks = StoreFile(str(file))
    report = check(blanks)
    assert missing(report, "source") == ["R1", "R2", "R3", "R4"]
    connection = opened(blanks)
    assert connection.execute("select record_id from records where source_id is null order by 1").fetchall() == [("R1",), ("R2",), ("R3",), ("R4",)]
    assert findings(report, "valid_to_invalid") == ["R5"]
    assert main(["check", str(file)]) == 1
    [line] = [line for line in capsys.readouterr().out.splitlines() if "valid_to_invalid" in line]
    assert "R5" in line
    assert "valid_to" in line.split()


@pytest.mark.parametrize("name", FORMATS)
def test_c10_ids_that_look_like_data_L5(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C10, L5: an id is text, kept as written in the table, the findings and what is printed."""
    ids = ["0012", "29051_00040", "SAT", "1e5", "true", "2026-01-01", "NaN", "00", "-0", "1.0", " x "]
    data_like = written(tmp_path, name, [record(record_id) for record_id in ids])
    connection = opened(data_like)
    assert [row[0] for row in connection.execute("select record_id from records order by record_index").fetchall()] == ids
    assert as_of(connection, "2026-06-01") == sorted(ids)
    assert missing(check(data_like, presence_only=True), "source") == ids
    assert main(["as-of", "2026-06-01", "--store", data_like.path, "--format", "json"]) == 0
    assert sorted(entry["record_id"] for entry in json.loads(capsys.readouterr().out)) == sorted(ids)


@pytest.mark.parametrize("name", ["text.csv", "text.parquet"])
def test_c11_list_columns_of_text_L1_L2(name: str, tmp_path: Path) -> None:
    """C11, L1, L2: lists in a column of text; several names in plain text are malformed, and a column of blanks is a list column still."""
    texts = {
        "two": "[finance, board]",
        "none": "[]",
        "blank": None,
        "one": "['a, b']",
        "plain": "finance,board",
        "json": '["finance", "board"]',
        "single": "finance",
    }
    lists = written(tmp_path, name, [record(record_id, release_to=text) for record_id, text in texts.items()])
    found = dict(opened(lists).execute("select record_id, release_to from records").fetchall())
    assert found["two"] == ["finance", "board"]
    assert found["json"] == ["finance", "board"]
    assert found["one"] == ["a, b"]
    assert found["single"] == ["finance"]
    assert found["blank"] is None
    assert not found["none"], "no item"
    assert findings(check(lists), "field_malformed") == ["plain"]
    blanks = written(tmp_path, name, [record("A", release_to=None), record("B", release_to="  ")])
    assert opened(blanks).execute("select distinct typeof(release_to) from records").fetchall() == [("VARCHAR[]",)]


def test_c11_list_columns_of_lists_L1(tmp_path: Path) -> None:
    """C11, L1: columns that are lists already."""
    lists = written(
        tmp_path,
        "dates.parquet",
        [record("two", release_to=["finance", "board"]), record("none", release_to=[]), record("blank", release_to=None), record("one", release_to=["a, b"])],
    )
    found = dict(opened(lists).execute("select record_id, release_to from records").fetchall())
    assert (found["two"], found["blank"], found["one"]) == (["finance", "board"], None, ["a, b"])
    assert not found["none"], "no item"


def test_c11_an_empty_list_says_nothing_and_opens_nothing_L1_L2(store: Callable[..., StoreFile], request: pytest.FixtureRequest) -> None:
    """C11, L1: as no list at all. A record with a mark of restriction stays closed to everybody, and is asked for its parties."""
    empty, board = ("[]", "[board]") if "text" in request.node.name else ([], ["board"])
    marked = [record("marked", classification="secret", release_to=empty), record("released", classification="secret", release_to=board)]
    listed = store([*marked, record("unmarked", classification=None, release_to=empty)])
    assert missing(check(listed, presence_only=True), "source") == ["marked", "released", "unmarked"]
    connection = opened(listed, "release_to_missing")
    assert connection.execute("select record_id, is_restricted, release_to from records order by 1").fetchall() == [
        ("marked", True, None),
        ("released", True, ["board"]),
        ("unmarked", False, None),
    ]
    assert connection.execute("select record_id from release_to_missing").fetchall() == [("marked",)]


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_c11_a_list_in_which_nothing_can_be_read_releases_to_nobody_L2(name: str, tmp_path: Path) -> None:
    """C11, L2: unlike an empty list it says something: the record is closed, and the shape is reported."""
    closed = written(tmp_path, name, [record("blank", release_to=[" "]), record("null", release_to=[None]), record("object", release_to={"board": True})])
    assert opened(closed).execute("select distinct is_restricted, release_to from records").fetchall() == [(True, [])]
    assert findings(check(closed), "field_malformed") == ["blank", "null", "object"]


@pytest.mark.parametrize("name", FORMATS)
def test_c12_one_id_two_values_T5_L2(name: str, tmp_path: Path) -> None:
    """C12, T5, L2: two records of one id fail a MUST and are in force on no date; neither ends, nor is ended by, anything."""
    records = [record("A") | {"value": "x"}, record("A") | {"value": "y"}, record("B", "2026-03-01", supersedes="A"), record("C") | {"supersedes": None}]
    clashing = written(tmp_path, name, records)
    report = check(clashing)
    assert findings(report, "record_id_duplicated") == ["A", "A"]
    [finding] = [finding for finding in report["value_findings"] if finding["rule"] == "record_id_duplicated"]
    assert (finding["requirement"], finding["level"], report["level_with_values"]) == ("MUST", 1, 0)
    connection = opened(clashing)
    assert as_of(connection, "2026-02-01") == ["C"]
    assert as_of(connection, "2026-06-01") == ["B", "C"]
    assert connection.execute("select interval_status, count(*) from record_intervals where record_id = 'A' group by all").fetchall() == [
        ("duplicate_record_id", 2)
    ]
    assert connection.execute("select distinct ineffective_reason from record_supersessions").fetchall() == [("duplicate_record_id",)]


@pytest.mark.parametrize("name", FORMATS)
def test_c12_copies_are_one_record_L2(name: str, tmp_path: Path) -> None:
    """C12, L2: two equal copies are one record and a warning."""
    copied = written(tmp_path, name, [record("A"), record("A"), record("B", "2026-03-01", supersedes="A")])
    report = check(copied)
    assert findings(report, "record_id_duplicated") == []
    assert findings(report, "record_id_copied") == ["A"]
    [finding] = [finding for finding in report["value_findings"] if finding["rule"] == "record_id_copied"]
    assert (finding["requirement"], report["level_with_values"]) == ("SHOULD", 1)
    connection = opened(copied)
    assert as_of(connection, "2026-02-01") == ["A"]
    assert as_of(connection, "2026-03-01") == ["B"]


@pytest.mark.parametrize("name", FORMATS)
def test_c12_copies_are_rows_equal_in_all_that_is_read_L2(name: str, tmp_path: Path) -> None:
    """C12, L2: a key without a role makes no difference, and a role does, also one that no rule looks at."""
    assert findings(check(written(tmp_path, name, [record("A", note="x"), record("A", note="y")])), "record_id_copied") == ["A"]
    (tmp_path / "other").mkdir()
    report = check(written(tmp_path / "other", name, [record("A", priority="x"), record("A", priority="y")]))
    assert (findings(report, "record_id_copied"), findings(report, "record_id_duplicated")) == ([], ["A", "A"])


def test_c12_ids_equal_in_unicode_form_clash_L2(tmp_path: Path) -> None:
    """C12, L2: ids are compared in form NFC."""
    clashing = written(tmp_path, "lines.jsonl", [record("caf\u00e9"), record("cafe\u0301")])
    assert findings(check(clashing), "record_id_duplicated") == ["caf\u00e9", "cafe\u0301"]
    assert as_of(opened(clashing), "2026-06-01") == []


@pytest.mark.parametrize("name", FORMATS)
def test_c14_supersession_loops_T5_L2(name: str, tmp_path: Path) -> None:
    """C14, T5, L2: no member of a loop disappears, and the rule lists every member."""
    loops = {"S": "S", "P": "Q", "Q": "P", "X": "Y", "Y": "Z", "Z": "X", "N": "X"}
    looping = written(tmp_path, name, [record(successor, supersedes=predecessor) for successor, predecessor in loops.items()])
    assert findings(check(looping), "supersession_cycle") == ["S", "P", "Q", "X", "Y", "Z"]
    connection = opened(looping)
    # N supersedes a member of a loop from outside of it, which counts.
    assert as_of(connection, "2026-06-01") == ["N", "P", "Q", "S", "Y", "Z"]
    reasons = dict(connection.execute("select successor_id, ineffective_reason from record_supersessions").fetchall())
    assert reasons == {"S": "points_at_itself", "N": None} | dict.fromkeys("PQXYZ", "supersession_cycle")


def test_c14_a_loop_behind_a_long_way_is_no_reason_T5(tmp_path: Path) -> None:
    """C14, T5: an edge that leads to a loop without lying on it counts, whichever way the dates run."""
    records = [
        record("A", "2026-01-05", supersedes="E"),
        record("B", "2026-01-05", supersedes="C"),
        record("C", supersedes="E"),
        record("E", "2026-01-03", supersedes="A"),
    ]
    connection = opened(written(tmp_path, "lines.jsonl", records))
    assert dict(connection.execute("select successor_id, ineffective_reason from record_supersessions").fetchall()) == {
        "A": "supersession_cycle",
        "B": None,
        "C": None,
        "E": "supersession_cycle",
    }


def test_c14_a_merge_of_many_records_is_no_long_way_T5(tmp_path: Path) -> None:
    """T5: what makes an edge undecided is a way of many steps, not many records two steps away."""
    many = [f"R{number}" for number in range(1500)]
    records = [record("S", supersedes="H"), record("H", "2026-06-01", supersedes=many), *(record(name, "2026-03-01") for name in many)]
    connection = opened(written(tmp_path, "lines.jsonl", records))
    assert connection.execute("select distinct ineffective_reason from record_supersessions").fetchall() == [(None,)]
    assert interval(connection, "H", "interval_status, ended_by") == ("never_in_force", "S")


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_c15_orphan_targets_T5_L2(name: str, tmp_path: Path) -> None:
    """C15, T5, L2: an orphan target is listed and ends nothing; null and blank are no targets."""
    orphans = written(
        tmp_path,
        name,
        [
            record("D", supersedes="ZZZ"),
            record("E", supersedes=""),
            record("F", supersedes=None),
            record("G", supersedes=[]),
            record("H", supersedes=["", "D"]),
        ],
    )
    assert findings(check(orphans), "supersedes_unresolved") == ["D"]
    connection = opened(orphans, "supersedes_unresolved", "rules")
    [(detail, requirement)] = connection.execute(
        "select detail, (select requirement from rules where rule_id = 'supersedes_unresolved') from supersedes_unresolved"
    ).fetchall()
    assert "ZZZ" in detail
    assert requirement == "SHOULD"
    assert as_of(connection, "2026-06-01") == ["E", "F", "G", "H"]
    assert connection.execute("select successor_id, predecessor_id, ineffective_reason from record_supersessions order by 1").fetchall() == [
        ("D", "ZZZ", "points_at_nothing"),
        ("H", "D", None),
    ]


@pytest.mark.parametrize("name", ["text.csv", "text.parquet"])
def test_c15_orphan_targets_in_columns_T5_L2(name: str, tmp_path: Path) -> None:
    """C15, T5, L2: the same in columns, where a list is text."""
    orphans = written(
        tmp_path,
        name,
        [
            record("D", supersedes="ZZZ"),
            record("E", supersedes=""),
            record("F", supersedes=None),
            record("G", supersedes="[]"),
            record("H", "2026-02-01", supersedes="[D, E]"),
        ],
    )
    assert findings(check(orphans), "supersedes_unresolved") == ["D"]
    assert as_of(opened(orphans), "2026-06-01") == ["F", "G", "H"]


def test_c18_neighbours_T3(store: Callable[..., StoreFile]) -> None:
    """C18, T3: what is not superseded is not retired, however alike."""
    connection = opened(store([record("suite tested_with 7b") | {"value": "7b"}, record("suite tested_with 3b") | {"value": "3b"}]))
    assert as_of(connection, "2026-06-01") == ["suite tested_with 3b", "suite tested_with 7b"]


# Dates


NO_DATES = (
    "2026-02-30", "2026-1-5", "2026-13-01", "20260105", "05.01.2026", "2026", "January", "2026-01-05T", "2026-01-05T25:00:00Z", "0", "2026-W01-1",
)  # fmt: skip


@pytest.mark.parametrize("name", ["lines.jsonl", "array.json", "text.csv", "text.parquet"])
def test_what_is_no_calendar_date_is_named_L2_T1(name: str, tmp_path: Path) -> None:
    """L2, T1: nothing looser than yyyy-mm-dd or an ISO timestamp is a date; its record has unknown validity."""
    starts, ends = [record(f"from {text}", text) for text in NO_DATES], [record(f"to {text}", valid_to=text) for text in NO_DATES]
    dated = written(tmp_path, name, [*starts, *ends, record("fine")])
    report = check(dated)
    assert findings(report, "valid_from_invalid") == [start["record_id"] for start in starts]
    assert findings(report, "valid_to_invalid") == [end["record_id"] for end in ends]
    assert missing(report, "valid_from") == [], "present, if no date (L1)"
    known = opened(dated).execute("select record_id from record_intervals where interval_status <> 'validity_unknown'").fetchall()
    assert known == [("fine",)]


ZONED = {
    "UTC": {
        "2026-03-31T23:30:00Z": "2026-03-31",
        "2026-03-31T23:30:00-05:00": "2026-04-01",
        "2026-04-01T01:30:00+02:00": "2026-03-31",
        "2026-04-01T01:30:00.5+0200": "2026-03-31",
    },
    "Europe/Berlin": {
        "2026-03-31T21:59:59.999999Z": "2026-03-31",
        "2026-03-31T23:30:00Z": "2026-04-01",
        "2026-03-31T23:30:00": "2026-03-31",
        "2026-03-31T23:30": "2026-03-31",
        "2026-03-31": "2026-03-31",
    },
    "America/New_York": {"2026-04-01T03:59:59Z": "2026-03-31", "2026-04-01T04:00:00Z": "2026-04-01"},
    "Asia/Kolkata": {"2026-03-31 18:30:00+00": "2026-04-01", "2026-03-31T18:29:59.999999Z": "2026-03-31"},
}


@pytest.mark.parametrize("zone", ZONED)
@pytest.mark.parametrize("name", ["lines.jsonl", "text.csv", "text.parquet"])
def test_a_timestamp_is_its_date_in_the_zone_of_the_store_T2(name: str, zone: str, tmp_path: Path) -> None:
    """T2: a timestamp becomes its date in the store's zone; one without an offset, and a date, is in that zone already."""
    texts = ZONED[zone]
    zoned = written(tmp_path, name, [*(record(f"from {text}", text) for text in texts), *(record(f"to {text}", valid_to=text) for text in texts)], zone=zone)
    report = check(zoned)
    assert findings(report, "valid_from_invalid") == findings(report, "valid_to_invalid") == []
    connection = opened(zoned)
    for text, expected in texts.items():
        assert interval(connection, f"from {text}", "valid_from, interval_status") == (date(expected), "in_force")
        assert interval(connection, f"to {text}", "valid_to, interval_status") == (date(expected), "in_force")


@pytest.mark.parametrize("type_", ["timestamp", "timestamptz", "timestamp_ns", "date"])
def test_typed_columns_of_time_are_read_T2(type_: str, tmp_path: Path) -> None:
    """T2: a column that is a date or timestamp by type; one with a zone is an instant."""
    file = tmp_path / "typed.parquet"
    connection = warehouse.open_memory()
    connection.execute(f"copy (select 'A' as record_id, '2026-03-31 23:30:00'::timestamp::{type_} as valid_from, null::{type_} as valid_to) to '{file}'")
    assert interval(opened(StoreFile(str(file), zone="Europe/Berlin")), "A", "valid_from") == (date("2026-04-01" if type_ == "timestamptz" else "2026-03-31"),)


@pytest.mark.parametrize("name", ["lines.jsonl", "text.csv", "text.parquet"])
def test_far_future_ends_read_as_open_and_are_flagged_T1(name: str, tmp_path: Path) -> None:
    """T1: the sentinels that stand for an open end; a date merely far off is one."""
    sentinels = ["9999-12-31", "9999-01-01", "infinity", "Infinity", "9999-12-31T23:59:59Z", "9999-12-31 00:00:00"]
    dated = written(tmp_path, name, [*(record(text, valid_to=text) for text in sentinels), record("far", valid_to="9998-12-31")])
    report = check(dated)
    assert findings(report, "open_end_sentinel") == sentinels
    assert findings(report, "valid_to_invalid") == []
    connection = opened(dated)
    assert all(interval(connection, text, "valid_to, in_force_to") == (None, None) for text in sentinels)
    assert interval(connection, "far") == (date("2026-01-01"), date("9998-12-31"))


def test_nothing_before_and_after_the_calendar_T1(tmp_path: Path) -> None:
    """T1, T4: a first day at the beginning of the calendar has no day before it on which a predecessor could end."""
    early = written(tmp_path, "lines.jsonl", [record("A", "0001-01-01"), record("B", "0001-01-01", supersedes="A")])
    connection = opened(early)
    assert interval(connection, "A", "interval_status") == ("never_in_force",)
    assert as_of(connection, "0001-01-01") == ["B"]


# Files that cannot be used, and some that look so

GOOD = '{"record_id": "A", "valid_from": "2026-01-01", "valid_to": null}'
HEADER = "record_id,valid_from,valid_to\n"
BOM = b"\xef\xbb\xbf"

UNUSABLE = {
    "not JSON": ("x.jsonl", "hello\n", "x.jsonl, line 1"),
    "not JSON, by name an array": ("x.json", "hello\n", "x.json, line 1"),
    "a table of contents": ("x.jsonl", "# records\n" + GOOD, "x.jsonl, line 1"),
    "one bad line in many": ("x.jsonl", "\n".join([GOOD] * 5000 + ['{"record_id": B}'] + [GOOD] * 5000), "x.jsonl, line 5001, column 15"),
    "one line cut off": ("x.jsonl", "\n".join([GOOD] * 3 + [GOOD[:-9]]), "x.jsonl, line 4"),
    "two records on a line": ("x.jsonl", f"{GOOD}\n{GOOD} {GOOD}\n", "x.jsonl, line 2"),
    "comma after a line": ("x.jsonl", f"{GOOD},\n{GOOD}\n", "x.jsonl, line 1"),
    "comma after the last element": ("x.json", f"[{GOOD},]", "x.json, line 1"),
    "array cut off": ("x.json", f"[{GOOD},\n{GOOD}", "x.json, line 2"),
    "two arrays": ("x.json", f"[{GOOD}]\n[{GOOD}]", "x.json, line 2"),
    "not UTF-8": ("x.jsonl", GOOD.encode() + b'\n{"record_id": "\xe9"}\n', "x.jsonl, line 2: byte 16 is not UTF-8"),
    "not UTF-8 in an array": ("x.json", b'[{"record_id": "\xe9"}]', "x.json: byte 17 is not UTF-8"),
    "not UTF-8 in CSV": ("x.csv", HEADER.encode() + b"A,2026-01-01,\n\xe9,2026-01-01,\n", "x.csv, line 3"),
    "UTF-16": ("x.jsonl", GOOD.encode("utf-16"), "x.jsonl, line 1"),
    "array of scalars": ("x.json", "[1, 2]", "x.json, element 0: holds a number"),
    "scalar lines": ("x.jsonl", f"{GOOD}\n7\n", "x.jsonl, line 2: holds a number"),
    "null line": ("x.jsonl", f"{GOOD}\nnull\n", "x.jsonl, line 2: holds null"),
    "only null": ("x.jsonl", "null\n", "x.jsonl, line 1: holds null"),
    "mixed lines": ("x.jsonl", f"{GOOD}\n[{GOOD}]\n", "x.jsonl, line 2: holds an array"),
    "an empty array for a record": ("x.jsonl", f"{GOOD}\n[]\n", "x.jsonl, line 2: holds an array"),
    "mixed array": ("x.json", f'[{GOOD}, "B"]', "x.json, element 1: holds a text"),
    "array of arrays": ("x.json", f"[[{GOOD}]]", "x.json, element 0: holds an array"),
    "half a surrogate pair": ("x.jsonl", GOOD + '\n{"record_id": "\\ud800"}', "x.jsonl, line 2"),
    "a raw control character": ("x.jsonl", GOOD + '\n{"record_id": "a\x01b"}', "x.jsonl, line 2"),
    "CSV row too short": ("x.csv", HEADER + "A,2026-01-01,\nB,2026-01-01\n", "line 3"),
    "CSV row too long": ("x.csv", HEADER + "A,2026-01-01,\nB,2026-01-01,,x,y\n", "line 3"),
    "CSV row too short, far down": ("x.csv", HEADER + "A,2026-01-01,\n" * 60_000 + "B,2026-01-01\n" + "A,2026-01-01,\n" * 9, "line 60002"),
    "CSV row too long, far down": ("x.csv", HEADER + "A,2026-01-01,\n" * 60_000 + "B,2026-01-01,,x\n" + "A,2026-01-01,\n" * 9, "line 60002"),
    "CSV quote without end": ("x.csv", HEADER + 'A,2026-01-01,\n"B,2026-01-01,\n', "x.csv"),
    "no database": ("x.duckdb", "hello", "x.duckdb"),
    "empty database file": ("x.duckdb", "", "x.duckdb"),
    "empty Parquet": ("x.parquet", "", "x.parquet"),
    "no Parquet": ("x.parquet", "PAR1 hello PAR1", "x.parquet"),
    "unknown suffix": ("x.txt", GOOD, "'.txt'; expected one of .jsonl"),
    "no suffix": ("x", GOOD, "expected one of .jsonl"),
}  # fmt: skip


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which a command refuses, exit code 2."""
    assert main(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1, f"one line, not a trace: {err}"
    assert err.startswith(f"gmem {arguments[0]}: ")
    return err


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_file_is_refused_in_one_line_that_says_where_L1(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: file and line, or element, are named; InputError in Python."""
    name, content, where = UNUSABLE[case]
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    for command in (("check", str(file)), ("as-of", "2026-06-01", "--store", str(file))):
        message = refusal(capsys, *command)
        assert where in message
        assert name in message
    with pytest.raises(InputError):
        check(StoreFile(str(file)))


def test_what_is_no_file_is_refused_L1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: a missing file, and a folder, under whatever name."""
    assert "missing.jsonl: no such file" in refusal(capsys, "check", str(tmp_path / "missing.jsonl"))
    assert "no such file" in refusal(capsys, "check", str(tmp_path / "missing.duckdb::records"))
    for name in ("folder", "folder.jsonl", "folder.parquet", "folder.duckdb"):
        (tmp_path / name).mkdir()
        assert f"{name}: a folder" in refusal(capsys, "check", str(tmp_path / name))


def test_a_truncated_parquet_file_is_refused_L1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: cut in the middle, and with a page overwritten."""
    file = tmp_path / "x.parquet"
    duckdb.sql(f"copy (select 'A' || range as record_id, '2026-01-01' as valid_from, null::varchar as valid_to from range(50000)) to '{file}'")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert "x.parquet" in refusal(capsys, "check", str(file))
    file.write_bytes(whole[:4000] + b"\xff" * 20_000 + whole[24_000:])
    assert "x.parquet" in refusal(capsys, "check", str(file))


def test_a_database_needs_one_table_or_its_name_L1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: with no table, with two, and with one that is not there."""
    none, two = tmp_path / "none.duckdb", tmp_path / "two.duckdb"
    duckdb.connect(str(none)).close()
    with duckdb.connect(str(two)) as connection:
        connection.execute("create table a as select 'A' as record_id; create table b as select 'B' as record_id")
    assert "holds 0 tables" in refusal(capsys, "check", str(none))
    assert "(a, b)" in refusal(capsys, "check", str(two))
    assert "it has a, b" in refusal(capsys, "check", f"{two}::z")
    assert main(["check", f"{two}::b", "--presence-only"]) == 1
    assert "1 records" in capsys.readouterr().out


EMPTY = {
    "empty.jsonl": b"", "empty.json": b"", "empty.csv": b"", "blank.jsonl": b" \n\n\t\n", "blank.json": b"\n", "blank.csv": b"\n\n",
    "array.json": b"[]", "array.jsonl": b" [ ]\n", "bom.jsonl": BOM, "header.csv": HEADER.encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_a_file_without_records_says_so_L1(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: no record, no level, no finding of presence; exit code 1."""
    file = tmp_path / name
    file.write_bytes(EMPTY[name])
    assert main(["check", str(file)]) == 1
    out, err = capsys.readouterr()
    assert "no records" in out
    assert err == ""
    report = check(StoreFile(str(file)))
    assert (report["records"], report["level"], report["findings"], report["value_findings"]) == (0, 0, [], [])


READABLE = {
    "BOM": ("x.jsonl", BOM + GOOD.encode()),
    "BOM before an array": ("x.json", BOM + f"[{GOOD}]".encode()),
    "BOM in CSV": ("x.csv", BOM + HEADER.encode() + b"A,2026-01-01,\n"),
    "one-line array": ("x.jsonl", f"[{GOOD}]\n"),
    "array over many lines": ("x.jsonl", "[\n" + GOOD + "\n]\n"),
    "array after blank lines": ("x.json", f"\n\n  [{GOOD}]"),
    "lines in .json": ("x.json", GOOD + "\n"),
    "blank lines between": ("x.jsonl", f"\n{GOOD}\n\n"),
    "CRLF": ("x.jsonl", f"{GOOD}\r\n"),
    "CRLF in CSV": ("x.csv", HEADER.replace("\n", "\r\n") + "A,2026-01-01,\r\n"),
    "upper-case suffix": ("x.JSONL", GOOD),
    ".ndjson": ("x.ndjson", GOOD),
    "a blank line at the end of CSV": ("x.csv", HEADER + "A,2026-01-01,\n\n"),
    "columns in quotes": ("x.csv", '"record_id","valid_from","valid_to"\n"A","2026-01-01",""\n'),
    "an id that begins with #": ("x.csv", HEADER + "#A,2026-01-01,\n"),
    "semicolons": ("x.csv", "record_id;valid_from;valid_to\nA;2026-01-01;\n"),
    "tabs": ("x.tsv", "record_id\tvalid_from\tvalid_to\nA\t2026-01-01\t\n"),
    "a value of 10 MB": ("x.jsonl", GOOD[:-1] + ', "value": "' + "x" * (10 << 20) + '"}'),
    "a value of 10 MB in an array": ("x.json", "[" + GOOD[:-1] + ', "value": "' + "x" * (10 << 20) + '"}]'),
    "a value of 10 MB in CSV": ("x.csv", "record_id,valid_from,valid_to,value\nA,2026-01-01,," + "x" * (10 << 20) + "\n"),
    "a value of 40 MB": ("x.jsonl", GOOD[:-1] + ', "value": "' + "x" * (40 << 20) + '"}'),
    "a value that is nested": ("x.jsonl", GOOD[:-1] + ', "value": {"record_id": "B", "list": [{"valid_to": 1}]}}'),
    "quotes and line breaks in CSV": ("x.csv", 'record_id,valid_from,valid_to,value\nA,2026-01-01,,"say ""so"",\nthen"\n'),
    "a comma before the closing brace": ("x.jsonl", GOOD[:-1] + ",}"),
}  # fmt: skip


@pytest.mark.parametrize("case", READABLE)
def test_a_file_that_looks_odd_is_read_L1(case: str, tmp_path: Path) -> None:
    """L1: one record A of level 1, whatever stands around it. (DuckDB forgives a comma before a closing brace.)"""
    name, content = READABLE[case]
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    report = check(StoreFile(str(file)))
    assert (report["records"], report["level"], report["level_with_values"]) == (1, 1, 1)
    connection = opened(StoreFile(str(file)))
    assert as_of(connection, "2026-06-01") == ["#A" if "#" in case else "A"]
    if "MB" in case:
        [(length,)] = connection.execute("select length(value) from records").fetchall()
        assert length in (10 << 20, 40 << 20)


def test_a_store_whose_path_needs_quoting_is_read_L1(tmp_path: Path) -> None:
    """L1: a quote, a star or a bracket in the name is part of it, not a pattern over other files."""
    for name in ("it's.jsonl", "a*.jsonl", "[ab].jsonl", "a?.jsonl", "ab.jsonl", "a b;c.jsonl"):
        (tmp_path / name).write_text(GOOD.replace('"A"', json.dumps(name)), encoding="utf-8")
    for name in ("it's.jsonl", "a*.jsonl", "[ab].jsonl", "a?.jsonl", "a b;c.jsonl"):
        assert as_of(opened(StoreFile(str(tmp_path / name))), "2026-06-01") == [name]


@pytest.mark.parametrize("name", ["lines.jsonl", "text.csv", "text.parquet"])
def test_a_folder_whose_name_looks_like_a_column_is_none_L1(name: str, tmp_path: Path) -> None:
    """L1: what a record says stands in the file, not in its path."""
    folder = tmp_path / "source=S-1" / "concept_owner=sales"
    folder.mkdir(parents=True)
    assert {finding["field"] for finding in check(written(folder, name, [record("A")]), presence_only=True)["findings"]} >= {"source", "concept_owner"}


# Mapping


@pytest.mark.parametrize("name", COLUMN_FORMATS)
def test_a_mapped_column_that_is_missing_is_refused_L1(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: in columns, exit code 2, with the column that was probably meant."""
    mapped = written(tmp_path, name, [{"uuid": "A", "valid_from": "2026-01-01", "valid_to": None}])
    message = refusal(capsys, "check", mapped.path, "--map", "record_id=uudi")
    assert name in message
    assert "'uudi'" in message
    assert "did you mean 'uuid'" in message
    assert main(["check", mapped.path, "--map", "record_id=uuid"]) == 0


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_a_mapped_key_that_is_missing_is_noticed_L1(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: in JSON, where no record need have a key, a notice and the report."""
    mapped = written(tmp_path, name, [{"uuid": "A", "valid_from": "2026-01-01", "valid_to": None}])
    assert main(["check", mapped.path, "--map", "record_id=uudi"]) == 1
    out, err = capsys.readouterr()
    assert "1 records, presence level 0" in out
    [notice] = err.splitlines()
    assert "'uudi'" in notice
    assert "did you mean 'uuid'" in notice


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("recordid=uuid", "'recordid' is no role; did you mean 'record_id'"),
        ("zzz=uuid", "'zzz' is no role; roles are record_id"),
        ("record_id", "'record_id' is not role=column"),
        ("record_id=", "'record_id=' is not role=column"),
        ("=uuid", "'=uuid' is not role=column"),
        ("=", "'=' is not role=column"),
        ("record_id=a,record_id=b", "mapped twice"),
        ("record_id:uuid", "is not role=column"),
    ],
)
def test_a_malformed_map_is_refused_L1(mapping: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: an unknown role is refused with the one that was probably meant, and so is what is no pair."""
    file = tmp_path / "x.jsonl"
    file.write_text(GOOD, encoding="utf-8")
    assert message in refusal(capsys, "check", str(file), "--map", mapping)
    with pytest.raises(InputError):
        parse_mapping(mapping)


def test_a_map_may_have_blanks_around_its_parts_L1() -> None:
    """L1: blanks and a last comma are no part of a name."""
    assert parse_mapping(" record_id = uuid , valid_to=until,") == {"record_id": "uuid", "valid_to": "until"}


def test_written_by_is_read_only_where_it_is_mapped_T8(tmp_path: Path) -> None:
    """T8: a record cannot attest its own writer by having such a key."""
    store_file = written(tmp_path, "lines.jsonl", [record("A", written_by="finance")])
    assert opened(store_file).execute("select written_by from records").fetchall() == [(None,)]
    mapped = StoreFile(store_file.path, {"written_by": "written_by"})
    assert opened(mapped).execute("select written_by from records").fetchall() == [("finance",)]


# Findings that are about the shape of a record


@pytest.mark.parametrize("wrap", ["{}", "[{}]"])
def test_a_repeated_key_is_a_finding_L2(wrap: str, tmp_path: Path) -> None:
    """L2: a record that has one key twice is named; the first of the two is read."""
    file = tmp_path / "x.json"
    lines = [
        '{"record_id": "A", "valid_from": "2026-01-01", "valid_to": null, "record_id": "B"}',
        '{"record_id": "C", "valid_from": "2026-01-01", "valid_to": null, "x": 1, "x": 2}',
        GOOD.replace('"A"', '"D"'),
    ]
    file.write_text(wrap.replace("{}", ",\n".join(lines)) if wrap != "{}" else "\n".join(lines), encoding="utf-8")
    report = check(StoreFile(str(file)))
    assert findings(report, "key_repeated") == ["A", "C"]
    assert report["level_with_values"] == 0


@pytest.mark.parametrize("field", ["record_id", "concept", "source", "concept_owner", "owner_role", "valid_from", "valid_to"])
def test_a_list_where_text_is_meant_is_a_finding_L2(field: str, tmp_path: Path) -> None:
    """L2: the field and the record are named."""
    values: list[Any] = [["a"], {"a": 1}, [None], [[]]]
    shaped = written(tmp_path, "lines.jsonl", [*({**record(f"A{place}"), field: value} for place, value in enumerate(values)), record("B")])
    [finding] = [finding for finding in check(shaped)["value_findings"] if finding["rule"] == "field_malformed"]
    assert finding["field"] == field
    as_json = [json.dumps(value, separators=(",", ":")) for value in values]
    assert finding["offenders"] == (as_json if field == "record_id" else ["A0", "A1", "A2", "A3"])


@pytest.mark.parametrize("field", ["supersedes", *LISTS])
def test_an_object_where_a_list_is_meant_is_a_finding_L2(field: str, tmp_path: Path) -> None:
    """L2: the field and the record are named."""
    shaped = written(tmp_path, "lines.jsonl", [{**record("A"), field: {"a": 1}}, {**record("B"), field: ["x", "y"]}, {**record("C"), field: "x"}])
    [finding] = [finding for finding in check(shaped)["value_findings"] if finding["rule"] == "field_malformed"]
    assert (finding["field"], finding["offenders"]) == (field, ["A"])


def test_the_word_null_is_text_in_json_and_missing_in_columns_L1(tmp_path: Path) -> None:
    """L1, C09: JSON has a null of its own; a column of text has not."""
    for name in ("lines.jsonl", "array.json"):
        assert missing(
            check(written(tmp_path, name, [record("A", source="null"), record("B", source=" "), record("C", source=None)]), presence_only=True), "source"
        ) == ["B", "C"]
    for name in ("text.csv", "text.parquet"):
        assert missing(
            check(
                written(tmp_path, name, [record("A", source="null"), record("B", source=" "), record("C", source=None), record("D", source="nullable")]),
                presence_only=True,
            ),
            "source",
        ) == ["A", "B", "C"]


def test_the_commands_say_what_they_were_given_wrongly_L1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1, T6: dates given to a read are read as strictly as a store's."""
    file = tmp_path / "x.jsonl"
    file.write_text(GOOD, encoding="utf-8")
    for text in ("2026-02-30", "2026-1-5", "today", "20260105"):
        assert repr(text) in refusal(capsys, "as-of", text, "--store", str(file))
        assert repr(text) in refusal(capsys, "as-of", "2026-06-01", "--store", str(file), "--known-on", text)


@pytest.mark.parametrize("tail", [",", "", ",]"])
def test_an_array_that_is_cut_off_is_refused_L1(tail: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: DuckDB reads it as far as it goes, and a store that lost records must not look whole."""
    file = tmp_path / "store.json"
    file.write_text(f'[{{"record_id": "A", "valid_from": "2026-01-01"}},{{"a": "b"}}{tail}', encoding="utf-8")
    for arguments in (["check"], ["compact"], ["as-of", "2026-01-01", "--store"]):
        said = refusal(capsys, *arguments, str(file))
        assert "store.json, line 1, column" in said and "one array of objects" in said


def test_a_role_that_two_columns_have_is_refused_L1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: in any case of letters, since names of columns have none; a column that no role reads may be there twice."""
    file = tmp_path / "store.csv"
    for header in ("record_id,value,value", "record_id,value,Value"):
        file.write_text(f"{header},x,x\nA,b,c,d,e\n", encoding="utf-8")
        assert "2 columns named 'value'" in refusal(capsys, "check", str(file))
    file.write_text("record_id,value,x,x\nA,b,c,d\n", encoding="utf-8")
    assert main(["check", str(file)]) == 1


def test_breaks_in_quotes_are_no_lines_C10(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C10: a spreadsheet ends lines in one way and breaks within a cell in another."""
    file = tmp_path / "store.csv"
    file.write_bytes(b'record_id;value;valid_from;valid_to\r\nA;"one\ntwo";2026-01-01;\r\n')
    assert main(["as-of", "2026-01-01", "--store", str(file), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["value"] == "one\ntwo"


GIVEN = {
    "a moment before the year 1": ["as-of", "2026-01-01", "--store", "STORE", "--known-on", "0001-01-01T00:00:00+14:00"],
    "a moment after the year 9999": ["as-of", "2026-01-01", "--store", "STORE", "--known-on", "9999-12-31T23:59:59-12:00"],
    "bytes that are no text": ["as-of", "\udcff\udcfe", "--store", "STORE"],
    "a concept that is no text": ["history", "\ud800", "--store", "STORE"],
    "a path that is too long": ["check", "x" * 5000 + ".jsonl"],
    "a database whose path is too long": ["status", "--database", "x" * 5000],
    "a baseline whose path is too long": ["check", "STORE", "--baseline", "x" * 5000],
    "a date that is too long": ["as-of", "x" * 5000, "--store", "STORE"],
    "a table for a database": ["status", "--database", "TABLE"],
    "a zone that is none": ["as-of", "2026-01-01", "--store", "STORE", "--zone", "Mars/X"],
    "a device": ["check", "/dev/null"],
    "a pipe": ["check", "PIPE"],
    "an empty folder": ["check", "FOLDER"],
}


@pytest.mark.parametrize("name", GIVEN)
def test_whatever_is_given_the_answer_is_one_line_of_bearable_length_L1(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: with exit code 2, and without waiting for what never comes."""
    (tmp_path / "x.jsonl").write_text(GOOD, encoding="utf-8")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder").mkdir()
    places = {"STORE": "x.jsonl", "TABLE": "x.csv", "PIPE": "pipe.jsonl", "FOLDER": "folder"}
    assert main([str(tmp_path / places[word]) if word in places else word for word in GIVEN[name]]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and len(error) < 1000, error
    assert "no such file" not in error or "x" * 100 in error


def test_what_a_record_holds_does_nothing_to_a_terminal_L1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1: control characters are shown as what they are."""
    file = tmp_path / "x.jsonl"
    file.write_text(
        json.dumps({"record_id": "A\x1b[31m\u202e", "concept": "c\n", "value": "\x07", "valid_from": "2026-01-01", "valid_to": None}), encoding="utf-8"
    )
    for arguments in (["check", str(file)], ["as-of", "2026-01-01", "--store", str(file)], ["history", "c\n", "--store", str(file)]):
        main(arguments)
        told = capsys.readouterr().out
        assert "A\\x1b[31m\\u202e" in told and not set(told) & set("\x1b\u202e\x07")


def test_how_ends_read_can_be_said_for_a_file_T1_T2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T1, T2: as for an attached store, whose entry says it."""
    file = tmp_path / "x.csv"
    file.write_text("record_id,concept,valid_from,valid_to\nA,c,2026-01-01,2026-03-31T22:00:00Z\nB,c,2026-01-01,\n", encoding="utf-8")

    def held(day: str, *options: str) -> list[str]:
        assert main(["as-of", day, "--store", str(file), "--format", "json", *options]) == 0
        return [record["record_id"] for record in json.loads(capsys.readouterr().out)]

    assert held("2026-03-31") == ["A", "B"]
    assert held("2026-04-01", "--zone", "Europe/Berlin") == ["A", "B"]
    assert held("2026-04-01", "--zone", "Europe/Berlin", "--ends", "exclusive") == ["B"]
    assert held("2026-03-31", "--null-end", "unknown") == ["A"]
    for arguments in (["check", str(file)], ["history", "c", "--store", str(file)], ["diff", "2026-01-01", "2026-02-01", "--store", str(file)]):
        assert main([*arguments, "--ends", "exclusive", "--zone", "UTC", "--null-end", "open"]) < 2
    capsys.readouterr()
    assert "is said in the project" in refusal(capsys, "as-of", "2026-01-01", "--store", "attached", "--ends", "exclusive")


# A million records


MANY = 1_000_000
CHAIN = "case when range > 0 then 'R' || (range - 1) end"
STAR = "case when range > 0 then 'R0' end"
# The first record of the chain supersedes the last; the same within the last ten.
CIRCLE = f"case when range > 0 then 'R' || (range - 1) else 'R{MANY - 1}' end"
SHORT_CIRCLE = f"case when range = {MANY - 10} then 'R{MANY - 1}' when range > 0 then 'R' || (range - 1) end"


def large_store(folder: Path, supersedes: str, order: str) -> StoreFile:
    """A million records R0, R1 ... that begin on one day, each superseding what the SQL says, in their order or the other one."""
    file = folder / "large.parquet"
    columns = f"'R' || range as record_id, '2026-01-01' as valid_from, null::varchar as valid_to, {supersedes} as supersedes"
    duckdb.sql(f"copy (select {columns} from range({MANY}) order by range {order}) to '{file}'")
    return StoreFile(str(file))


def counted(store_file: StoreFile) -> tuple[dict[str, int], dict[str | None, int]]:
    """How many records have each status, and how many edges each reason."""
    connection = opened(store_file)
    statuses = dict(connection.execute("select interval_status, count(*) from record_intervals group by all").fetchall())
    reasons = dict(connection.execute("select ineffective_reason, count(*) from record_supersessions group by all").fetchall())
    return statuses, reasons


@pytest.mark.large
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_chain_of_a_million_records_of_one_day_is_built_T5(order: str, tmp_path: Path) -> None:
    """T5: only the last one is in force, whichever way the file runs."""
    statuses, reasons = counted(large_store(tmp_path, CHAIN, order))
    assert statuses == {"in_force": 1, "never_in_force": MANY - 1}
    assert reasons == {None: MANY - 1}


@pytest.mark.large
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_star_of_a_million_records_of_one_day_is_built_T5(order: str, tmp_path: Path) -> None:
    """T5: all but the one that all supersede are in force, whichever way the file runs."""
    statuses, reasons = counted(large_store(tmp_path, STAR, order))
    assert statuses == {"in_force": MANY - 1, "never_in_force": 1}
    assert reasons == {None: MANY - 1}


@pytest.mark.large
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_million_records_in_one_circle_are_built_T5(order: str, tmp_path: Path) -> None:
    """T5: a circle too long to be walked is undecided, which itself makes the edge walked from ineffective; no member is lost."""
    statuses, reasons = counted(large_store(tmp_path, CIRCLE, order))
    assert reasons == {None: MANY - 1, "cycle_undecided": 1}
    assert statuses == {"in_force": 1, "never_in_force": MANY - 1}


@pytest.mark.large
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_short_circle_in_a_million_records_is_found_T5(order: str, tmp_path: Path) -> None:
    """T5: of a long chain of one day, the part that is closed into a circle is ineffective and the rest is not."""
    statuses, reasons = counted(large_store(tmp_path, SHORT_CIRCLE, order))
    assert reasons == {None: MANY - 11, "supersession_cycle": 10}
    assert statuses == {"in_force": 11, "never_in_force": MANY - 11}
