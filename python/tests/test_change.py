"""Supersede and withdraw: one record more, nothing else touched, whatever happens meanwhile (T7, T9, L4)."""

from __future__ import annotations

import csv
import datetime
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import oracle
import pytest
from dbt_harness import DATABASE, copy_project, dbt
from hypothesis import given, settings
from hypothesis import strategies as st

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.overlay.change import Change, change
from governed_memory.reads.as_of import as_of_query, open_store
from governed_memory.warehouse import StoreFile
from governed_memory.warehouse.durable import append_bytes, journal_of, recover

RETENTION = {"concept": "data_retention", "source": "LEG-2", "concept_owner": "legal", "owner_role": "General Counsel", "valid_to": None}
RECORDS: list[dict[str, Any]] = [
    {"record_id": "D-801", "value": "seven years", "valid_from": "2025-01-01", "supersedes": None, "conflict_policy": "the latest wins",
     "applies_to": ["all"], "does_not_apply_to": ["archives"], "withdrawal": None, **RETENTION},
    {"record_id": "D-802", "value": "five years", "valid_from": "2026-06-01", "supersedes": "D-801", "conflict_policy": None,
     "applies_to": ["all"], "does_not_apply_to": ["archives"], "withdrawal": None, **RETENTION},
]  # fmt: skip
REPLACED = ["supersede", "--of", "D-802", "--id", "D-806", "--value", "three years", "--from", "2026-10-01", "--source", "LEG-3"]


def json_lines(path: Path, records: list[dict[str, Any]]) -> StoreFile:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return StoreFile(str(path))


def csv_file(path: Path, records: list[dict[str, Any]], line_end: str = "\n") -> StoreFile:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), delimiter=";", lineterminator=line_end)
        writer.writeheader()
        for record in records:
            writer.writerow({name: f"['{value[0]}']" if isinstance(value, list) else value for name, value in record.items()})
    return StoreFile(str(path))


def crlf_file(path: Path, records: list[dict[str, Any]]) -> StoreFile:
    return csv_file(path, records, "\r\n")


def table(path: Path, records: list[dict[str, Any]]) -> StoreFile:
    lines = json_lines(path.with_suffix(".jsonl"), records)
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"create table policies as select * replace (conflict_policy::varchar as conflict_policy, withdrawal::varchar as withdrawal, valid_to::date as valid_to) from '{lines.path}'"
        )
    return StoreFile(f"{path}::policies")


def parquet_folder(path: Path, records: list[dict[str, Any]]) -> StoreFile:
    path.mkdir()
    with duckdb.connect(table(path.with_suffix(".duckdb"), records).file) as connection:
        connection.execute(f"copy policies to '{path}/part-0.parquet'")
    return StoreFile(str(path))


FORMATS: dict[str, Callable[[Path, list[dict[str, Any]]], StoreFile]] = {
    "s.jsonl": json_lines, "s.csv": csv_file, "crlf.csv": crlf_file, "s.duckdb": table, "parts": parquet_folder,
}  # fmt: skip


@pytest.fixture(params=list(FORMATS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFile:
    return FORMATS[request.param](tmp_path / request.param, RECORDS)


def held(store: StoreFile) -> Any:
    """What may not change: bytes of files, rows of a table."""
    if store.table:
        with duckdb.connect(str(store.file), read_only=True) as connection:
            return connection.execute("select * from policies order by record_id").fetchall()
    return {part.name: part.read_bytes() for part in store.parts()} or store.file.read_bytes()


def as_of(store: StoreFile, day: str) -> list[str]:
    return [record["record_id"] for record in records_as_of(open_store(store)[0], day)]


def records_as_of(connection: duckdb.DuckDBPyConnection, day: str) -> list[dict[str, Any]]:
    return warehouse.rows(connection, *as_of_query(day))


def run(store: StoreFile, arguments: list[str]) -> int:
    return main([arguments[0], "--store", store.path, *arguments[1:]])


# What a change does


def test_t7_a_change_appends_one_record_and_touches_nothing_else(store: StoreFile) -> None:
    before = held(store)
    assert run(store, REPLACED) == 0
    after = held(store)
    if isinstance(before, bytes):
        assert after.startswith(before) and after.count(b"\n") == before.count(b"\n") + 1
    elif isinstance(before, dict):
        assert {name: after[name] for name in before} == before and len(after) == 2
    else:
        assert after[: len(before)] == before and len(after) == 3
    # The worked example: the old row still says that its end is open, and ends the day before.
    assert as_of(store, "2026-09-30") == ["D-802"]
    assert as_of(store, "2026-10-01") == ["D-806"]
    [old] = [record for record in records_as_of(open_store(store)[0], "2026-09-30") if record["record_id"] == "D-802"]
    assert (old["valid_to"], old["in_force_to"]) == (None, datetime.date(2026, 9, 30))


def test_t7_what_is_not_said_is_taken_over_from_what_is_replaced(store: StoreFile) -> None:
    assert run(store, [*REPLACED, "--set", "owner_role=Head of Privacy"]) == 0
    [new] = records_as_of(open_store(store)[0], "2026-10-01")
    assert (new["concept"], new["concept_owner"], new["owner_role"], new["applies_to"]) == ("data_retention", "legal", "Head of Privacy", ["all"])
    assert (new["value"], new["source"], new["supersedes"], new["valid_to"]) == ("three years", "LEG-3", ["D-802"], None)


def test_t9_a_withdrawal_from_the_first_day_brings_back_what_was_replaced(store: StoreFile) -> None:
    assert run(store, REPLACED) == 0
    assert run(store, ["withdraw", "--of", "D-806", "--id", "D-807", "--was-wrong", "--reason", "never agreed", "--source", "LEG-4"]) == 0
    assert as_of(store, "2026-10-01") == ["D-802"]


def test_t9_a_withdrawal_from_a_later_day_ends(store: StoreFile) -> None:
    assert run(store, ["withdraw", "--of", "D-802", "--id", "D-803", "--from", "2026-11-01", "--reason", "no longer kept", "--source", "LEG-4"]) == 0
    assert as_of(store, "2026-10-31") == ["D-802"] and as_of(store, "2026-11-01") == []


def test_t7_a_dry_run_shows_before_and_after_and_writes_nothing(store: StoreFile, capsys: pytest.CaptureFixture[str]) -> None:
    before = held(store)
    assert run(store, [*REPLACED, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "2026-06-01 .. ~" in out and "2026-06-01 .. 2026-09-30" in out and "replaced, by D-806" in out
    assert held(store) == before


def test_t7_many_changes_go_in_together_or_not_at_all(store: StoreFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = tmp_path / "changes.jsonl"
    lines = [
        {"record_id": "D-806", "supersedes": "D-802", "value": "three years", "valid_from": "2026-10-01", "source": "LEG-3"},
        {"record_id": "D-807", "supersedes": ["D-806"], "value": "two years", "valid_from": "2027-01-01", "source": "LEG-3"},
    ]
    changes.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {**lines[0], "record_id": "D-808", "supersedes": "D-900"}]), encoding="utf-8")
    before = held(store)
    assert run(store, ["supersede", "--from-file", str(changes)]) == 2
    assert "D-900" in capsys.readouterr().err and held(store) == before
    changes.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert run(store, ["supersede", "--from-file", str(changes)]) == 0
    assert as_of(store, "2026-12-31") == ["D-806"] and as_of(store, "2027-01-01") == ["D-807"]


def test_t7_a_file_without_a_last_line_end_gets_one(tmp_path: Path) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    store.file.write_bytes(store.file.read_bytes().rstrip(b"\n"))
    assert run(store, REPLACED) == 0
    assert len(store.file.read_text(encoding="utf-8").splitlines()) == 3


def test_t2_an_exclusive_end_is_written_as_the_day_after(tmp_path: Path) -> None:
    store = StoreFile(json_lines(tmp_path / "s.jsonl", RECORDS).path, is_valid_to_exclusive=True)
    change(store, [Change("D-806", ("D-802",), {"value": "x", "source": "s", "valid_from": "2026-10-01", "valid_to": "2026-12-31"})])
    assert json.loads(store.file.read_text(encoding="utf-8").splitlines()[-1])["valid_to"] == "2027-01-01"
    assert as_of(store, "2026-12-31") == ["D-806"] and as_of(store, "2027-01-01") == []


def test_t6_a_store_that_keeps_when_records_are_written_gets_it(tmp_path: Path) -> None:
    store = json_lines(tmp_path / "s.jsonl", [{**record, "recorded_at": "2026-01-01T00:00:00Z"} for record in RECORDS])
    assert run(store, REPLACED) == 0
    stamp = json.loads(store.file.read_text(encoding="utf-8").splitlines()[-1])["recorded_at"]
    assert abs(datetime.datetime.fromisoformat(stamp) - datetime.datetime.now(tz=datetime.UTC)) < datetime.timedelta(minutes=5)


# What is refused, in one line, with the store as it was

REFUSED: dict[str, tuple[list[str], str]] = {
    "an id that exists": (["supersede", "--of", "D-802", "--id", "D-801", "--value", "x", "--from", "2026-10-01"], "exists already"),
    "the record itself": (["supersede", "--of", "D-802", "--id", "D-802", "--value", "x", "--from", "2026-10-01"], "cannot replace itself"),
    "an unknown predecessor": (["supersede", "--of", "D-8o2", "--id", "D-806", "--value", "x", "--from", "2026-10-01"], "did you mean 'D-802'"),
    "no first day": (["supersede", "--of", "D-802", "--id", "D-806", "--value", "x"], "no first day"),
    "no such day": (["supersede", "--of", "D-802", "--id", "D-806", "--value", "x", "--from", "2026-02-30"], "'2026-02-30'"),
    "a loose day": (["supersede", "--of", "D-802", "--id", "D-806", "--value", "x", "--from", "2026-1-5"], "'2026-1-5'"),
    "no predecessor": (["supersede", "--id", "D-806", "--value", "x", "--from", "2026-10-01"], "--of"),
    "no id": (["supersede", "--of", "D-802", "--value", "x", "--from", "2026-10-01"], "--id"),
    "a writer": ([*REPLACED, "--set", "written_by=finance"], "the host attests it"),
    "an unknown role": ([*REPLACED, "--set", "ownr_role=x"], "did you mean 'owner_role'"),
    "a withdrawal without a reason": (["withdraw", "--of", "D-802", "--id", "D-806", "--from", "2026-10-01"], "--reason"),
    "an end before its beginning": ([*REPLACED, "--to", "2026-09-01"], "interval_inverted"),
    "a rule it would break": ([*REPLACED, "--set", "concept_owner= "], "concept_owner_missing"),
    "no source": (["supersede", "--of", "D-802", "--id", "D-806", "--value", "x", "--from", "2026-10-01"], "source_missing"),
    "an unknown column": (["supersede", "--map", "record_id=key", *REPLACED[1:]], "key"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_t7_l4_what_is_refused_leaves_the_store_as_it_was(name: str, store: StoreFile, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, said = REFUSED[name]
    before = held(store)
    assert run(store, arguments) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and "Traceback" not in error
    assert held(store) == before


def test_t7_a_column_that_the_store_lacks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = csv_file(tmp_path / "s.csv", [{name: value for name, value in record.items() if name != "supersedes"} for record in RECORDS])
    assert run(store, REPLACED) == 2
    assert "no column for supersedes" in capsys.readouterr().err


def test_t7_a_json_array_and_a_single_parquet_file_say_how_to_convert_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    array = tmp_path / "s.json"
    array.write_text(json.dumps(RECORDS), encoding="utf-8")
    assert run(StoreFile(str(array)), REPLACED) == 2
    assert "gmem compact --full" in capsys.readouterr().err
    folder = parquet_folder(tmp_path / "parts", RECORDS)
    assert run(StoreFile(str(folder.parts()[0])), REPLACED) == 2
    assert "mkdir" in capsys.readouterr().err


def test_t5_a_change_without_effect_is_refused_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    assert run(store, ["withdraw", "--of", "D-802", "--id", "D-803", "--from", "2026-11-01", "--reason", "gone", "--source", "LEG-4"]) == 0
    assert run(store, ["supersede", "--of", "D-803", "--id", "D-804", "--value", "x", "--from", "2027-01-01", "--source", "LEG-5"]) == 2
    assert "points_at_withdrawal" in capsys.readouterr().err


def test_t11_a_predecessor_that_ended_for_some_questions_only_is_no_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    narrower = {**RECORDS[-1], "record_id": "D-805", "value": "for renewals", "valid_from": "2026-07-01", "supersedes": RECORDS[-1]["record_id"]}
    narrower |= {"applies_to": ["renewals"], "does_not_apply_to": ["new contracts"]}
    store = json_lines(tmp_path / "s.jsonl", [*RECORDS, narrower])
    run(store, ["supersede", "--of", RECORDS[-1]["record_id"], "--id", "D-806", "--value", "x", "--from", "2026-10-01", "--source", "LEG-5"])
    printed = capsys.readouterr()
    assert "D-806" in printed.out and "is not in force on" not in printed.err


def test_t7_a_predecessor_that_has_ended_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    assert run(store, ["supersede", "--of", "D-801", "--id", "D-806", "--value", "x", "--from", "2026-10-01", "--source", "LEG-5"]) == 0
    assert "'D-801' is not in force on 2026-10-01: it ends on 2026-05-31" in capsys.readouterr().err


def test_l4_findings_that_were_there_before_refuse_nothing(tmp_path: Path) -> None:
    store = json_lines(tmp_path / "s.jsonl", [*RECORDS, {"record_id": "D-900", "valid_from": "2026-02-30"}])
    assert run(store, REPLACED) == 0


# What is written reads back as it was meant


@pytest.mark.parametrize("value", ["a\r\nb", "a\rb", "a\nb", "\r", 'say "so";', "a;b\r"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_t7_c10_a_break_in_a_value_leaves_a_csv_file_that_reads(value: str, line_end: str, tmp_path: Path) -> None:
    store = csv_file(tmp_path / "s.csv", RECORDS, line_end)
    before = store.file.read_bytes()
    assert run(store, [value if word == "three years" else word for word in REPLACED]) == 0
    assert store.file.read_bytes().startswith(before)
    assert [record["value"] for record in records_as_of(open_store(store)[0], "2026-10-01")] == [value]


def test_t7_a_csv_file_that_cannot_grow_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(csv_file(tmp_path / "s.csv", RECORDS, "\r"), REPLACED) == 2
    assert "carriage return" in capsys.readouterr().err
    odd = [{name if name != "withdrawal" else "with\ndrawal": value for name, value in record.items()} for record in RECORDS]
    store = csv_file(tmp_path / "odd.csv", odd)
    assert run(store, REPLACED) == 0
    assert as_of(store, "2026-10-01") == ["D-806"]


def test_t7_a_change_that_widens_who_may_see_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = json_lines(tmp_path / "s.jsonl", [RECORDS[0], RECORDS[1] | {"release_to": ["board", "legal"]}])
    changes = tmp_path / "changes.jsonl"
    line = {"record_id": "D-806", "supersedes": "D-802", "value": "x", "valid_from": "2026-10-01", "source": "LEG-3"}
    for released, said in ((None, "is open to everyone"), ([], "is open to everyone"), (["board", "sales"], "also for sales")):
        changes.write_text(json.dumps(line | {"release_to": released}), encoding="utf-8")
        assert run(store, ["supersede", "--from-file", str(changes), "--dry-run"]) == 0
        assert f"warning: 'D-806': widens who may see: 'D-802' is for board, legal alone, 'D-806' {said}" in capsys.readouterr().err
    for released in ({}, {"release_to": ["board"]}):
        changes.write_text(json.dumps(line | released), encoding="utf-8")
        assert run(store, ["supersede", "--from-file", str(changes), "--dry-run"]) == 0
        assert "widens" not in capsys.readouterr().err


def test_t7_numbers_are_taken_over_and_given_as_they_are_written(tmp_path: Path) -> None:
    digits = "12345678901234567890.123456789"
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    store.file.write_text(store.file.read_text(encoding="utf-8").replace('"withdrawal": null', f'"priority": {digits}, "withdrawal": null'), encoding="utf-8")
    changes = tmp_path / "changes.jsonl"
    changes.write_text(
        f'{{"record_id": "D-806", "supersedes": "D-802", "value": {{"a": [1e400, {digits}]}}, "valid_from": "2026-10-01", "source": "s"}}', encoding="utf-8"
    )
    assert run(store, ["supersede", "--from-file", str(changes)]) == 0
    assert f'"value": {{"a": [1e400, {digits}]}}' in store.file.read_text(encoding="utf-8").splitlines()[-1]
    assert f'"priority": {digits}' in store.file.read_text(encoding="utf-8").splitlines()[-1]


FILES = {
    "no JSON number": ('{"record_id": "D-806", "supersedes": "D-802", "value": NaN, "valid_from": "2026-10-01"}', "NaN is no number"),
    "a repeated key": ('{"record_id": "D-806", "supersedes": "D-802", "value": "x", "value": "y", "valid_from": "2026-10-01"}', "'value' is given twice"),
    "no supersedes": ('{"record_id": "D-806", "value": "x", "valid_from": "2026-10-01"}', "has no supersedes"),
    "no such record": ('{"record_id": "D-806", "supersedes": "D-900", "value": "x", "valid_from": "2026-10-01"}', "'D-900'"),
    "no such day": ('{"record_id": "D-806", "supersedes": "D-802", "value": "x", "valid_from": "2026-02-30"}', "'2026-02-30'"),
    "no first day": ('{"record_id": "D-806", "supersedes": "D-802", "value": "x"}', "no first day"),
    "no moment": ('{"record_id": "D-806", "supersedes": "D-802", "valid_from": "2026-10-01", "recorded_at": "yesterday"}', "'yesterday'"),
    "a moment that is a number": ('{"record_id": "D-806", "supersedes": "D-802", "valid_from": "2026-10-01", "recorded_at": 20261001}', "20261001"),
    "half a character": ('{"record_id": "\\ud800", "supersedes": "D-802", "value": "x", "valid_from": "2026-10-01"}', "half of a surrogate pair"),
    "nested too deeply": ('{"record_id": "D-806", "supersedes": "D-802", "value": ' + "[" * 3000 + "]" * 3000 + "}", "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_t7_a_mistake_in_a_file_of_changes_names_file_and_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    before = store.file.read_bytes()
    (tmp_path / "changes.jsonl").write_text("\n" + FILES[name][0], encoding="utf-8")
    assert run(store, ["supersede", "--from-file", str(tmp_path / "changes.jsonl")]) == 2
    error = capsys.readouterr().err
    assert "changes.jsonl, line 2" in error and FILES[name][1] in error and error.count("\n") == 1
    assert store.file.read_bytes() == before


def test_t7_what_would_read_as_no_value_in_a_column_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value in ("null", ""):
        assert run(csv_file(tmp_path / "s.csv", RECORDS), [value if word == "three years" else word for word in REPLACED]) == 2
        assert f"value {value!r} would read as no value" in capsys.readouterr().err


def test_t7_options_beside_a_file_of_changes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(json_lines(tmp_path / "s.jsonl", RECORDS), ["supersede", "--from-file", "changes.jsonl", "--of", "D-802", "--value", "x"]) == 2
    assert "--of, --value would count for nothing" in capsys.readouterr().err


def test_t7_a_record_is_named_once_and_in_the_spelling_of_the_store(tmp_path: Path) -> None:
    composed, decomposed = "D-\u00e9", "D-e\u0301"
    store = json_lines(tmp_path / "s.jsonl", [RECORDS[0], RECORDS[1] | {"record_id": composed}])
    assert run(store, ["supersede", "--of", decomposed, "--of", composed, *REPLACED[3:]]) == 0
    assert lines_of(store)[-1]["supersedes"] == composed


@pytest.mark.parametrize(("written", "name"), [("true", "true"), ("1e400", "1e400"), ('["A"]', '["A"]'), ("7", "7")])
def test_t7_an_identifier_that_is_no_text_is_found_or_refused_in_one_line(written: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    store.file.write_text(store.file.read_text(encoding="utf-8").replace('"record_id": "D-802"', f'"record_id": {written}'), encoding="utf-8")
    before = store.file.read_bytes()
    code = run(store, ["supersede", "--of", name, *REPLACED[3:]])
    if code == 0:
        assert as_of(store, "2026-10-01") == ["D-806"]
    else:
        error = capsys.readouterr().err
        assert code == 2 and error.count("\n") == 1 and "did you mean" not in error and store.file.read_bytes() == before


@pytest.mark.parametrize("value", ["[" * 3000 + "]" * 3000, "9" * 5000])
def test_t7_what_is_replaced_may_hold_anything(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    store.file.write_text(store.file.read_text(encoding="utf-8").replace('"five years"', value), encoding="utf-8")
    assert run(store, REPLACED) == (2 if value[0] == "[" else 0)
    assert capsys.readouterr().err.count("\n") == (value[0] == "[")


def test_t7_an_append_that_was_cut_off_through_a_link_is_taken_back(tmp_path: Path) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(store.file)
    assert journal_of(link) == journal_of(store.file)
    assert run(StoreFile(str(link)), REPLACED) == 0
    assert link.is_symlink() and len(lines_of(store)) == 3


# What may happen meanwhile

ONE_CHANGE = """
import sys
from governed_memory.overlay.change import Change, change
from governed_memory.warehouse import StoreFile
change(StoreFile(sys.argv[1]), [Change(sys.argv[2], ("D-802",), {"value": "x", "source": "s", "valid_from": "2026-10-01"})])
"""


def started(store: StoreFile, record_id: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", ONE_CHANGE, store.path, record_id], stderr=subprocess.DEVNULL)


def lines_of(store: StoreFile) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.file.read_text(encoding="utf-8").splitlines()]


def test_t7_two_at_once_lose_nothing(store: StoreFile) -> None:
    writers = [started(store, f"D-9{number}") for number in range(3)]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert len(as_of(store, "2026-10-01")) == 3


def test_t7_of_two_that_write_one_id_one_is_refused(tmp_path: Path) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    writers = [started(store, "D-900") for _ in range(2)]
    assert sorted(writer.wait(120) for writer in writers) == [0, 1]
    assert [line["record_id"] for line in lines_of(store)] == ["D-801", "D-802", "D-900"]


def test_t7_a_writer_that_is_killed_leaves_all_of_its_record_or_nothing(tmp_path: Path) -> None:
    """At 100 moments around the write, with a record too large for one page. The append itself is a small part of the time: it is aimed at."""
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    before = store.file.read_bytes()
    chance = random.Random(7)
    whole = max(_seconds_to_append(store, before) for _ in range(3))
    appended = 0
    for _ in range(100):
        child = _appending(store)
        time.sleep(chance.random() * 1.3 * whole)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        recover(store.file)
        held = store.file.read_bytes()
        assert held.startswith(before) and held.endswith(b"\n")
        assert all(len(record["value"]) in (10, 11, 2_000_000) for record in lines_of(store))
        appended += held != before
        store.file.write_bytes(before)
    assert 0 < appended < 100


def _seconds_to_append(store: StoreFile, before: bytes) -> float:
    start = time.monotonic()
    os.waitpid(_appending(store), 0)
    store.file.write_bytes(before)
    return time.monotonic() - start


def _appending(store: StoreFile) -> int:
    with warnings.catch_warnings(action="ignore"):  # the child only writes and exits
        child = os.fork()
    if child == 0:
        append_bytes(store.file, json.dumps({**RECORDS[1], "record_id": "D-900", "value": "x" * 2_000_000}).encode() + b"\n")
        os._exit(0)
    return child


def test_t7_an_append_cut_off_at_any_byte_is_taken_back(tmp_path: Path) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    before = store.file.read_bytes()
    data = json.dumps({"record_id": "D-806"}).encode() + b"\n"
    for cut in range(len(data) + 1):
        store.file.write_bytes(before + data[:cut])
        journal_of(store.file).write_bytes(str(len(before)).encode() + b"\n" + data)
        recover(store.file)
        assert store.file.read_bytes() == (before + data if cut == len(data) else before)
        assert not journal_of(store.file).exists()


def test_t7_a_journal_that_is_cut_off_or_overtaken_takes_nothing_back(tmp_path: Path) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    before = store.file.read_bytes()
    for journal in (b"", b"12", str(len(before)).encode(), str(len(before)).encode() + b"\nabc\n", b"0\nabc\n"):
        journal_of(store.file).write_bytes(journal)
        recover(store.file)
        assert store.file.read_bytes() == before


def test_t7_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    store = json_lines(tmp_path / "s.jsonl", RECORDS)
    before = store.file.read_bytes()
    synced = []

    def full(handle: int) -> None:
        synced.append(handle)
        if len(synced) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("governed_memory.warehouse.durable.os.fsync", full)
    assert run(store, REPLACED) == 2
    assert "No space left" in capsys.readouterr().err
    assert store.file.read_bytes() == before


# Any sequence of changes

STEPS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 11), st.sampled_from(["supersede", "withdraw", "was wrong"])), min_size=1, max_size=4
)


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(steps=STEPS)
def test_t3_t4_t5_t7_any_sequence_of_changes_reads_as_the_rules_say(steps: list[tuple[int, int, int, str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    store = json_lines(tmp_path_factory.mktemp("steps") / "s.jsonl", RECORDS)
    for number, (first, second, month, kind) in enumerate(steps):
        before = store.file.read_bytes()
        ids = [record["record_id"] for record in lines_of(store)]
        replaced = tuple(dict.fromkeys(ids[place % len(ids)] for place in (first, second)))
        given = {"source": "s", "valid_from": f"2026-{month + 1:02}-01"} | ({"value": f"v{number}"} if kind == "supersede" else {"withdrawal": "gone"})
        if kind == "was wrong":
            replaced = replaced[:1]
            del given["valid_from"]
        try:
            change(store, [Change(f"N-{number}", replaced, given, kind == "was wrong")])
        except InputError:
            assert store.file.read_bytes() == before
            continue
        assert store.file.read_bytes().startswith(before)
    records = lines_of(store)
    connection, _ = open_store(store)
    for day in ("2025-12-31", *(f"2026-{month:02}-{day}" for month in range(1, 13) for day in ("01", "28"))):
        expected = {records[place - 1]["record_id"] for place in oracle.in_force_on({"records": records}, datetime.date.fromisoformat(day))}
        assert {record["record_id"] for record in records_as_of(connection, day)} == expected, (day, records)


# A store that a project has attached


def built(project: Path) -> Path:
    run = dbt(project, "build", "--exclude-resource-type", "test", "unit_test", project=project)
    assert run.returncode == 0, run.stdout + run.stderr
    return project / DATABASE


def test_t7_t10_an_attached_store_is_changed_by_name_and_held_against_the_registers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = built(copy_project(tmp_path / "project", "stores"))
    monkeypatch.chdir(tmp_path / "project")
    file = tmp_path / "project/stores/reference.jsonl"
    before = file.read_bytes()
    command = ["supersede", "--store", "reference", "--database", str(database), "--of", "M-603", "--id", "M-699", "--value", "x", "--from", "2027-01-01"]
    assert main([*command, "--source", "NOT-IN-REGISTER"]) == 2
    assert "source_unknown" in capsys.readouterr().err
    assert main([*command[:2], "refrence", *command[3:]]) == 2
    assert "did you mean 'reference'" in capsys.readouterr().err
    assert main([*command, "--source", "LEG-P-04"]) == 0
    after = file.read_bytes()
    assert after.startswith(before) and after.count(b"\n") == before.count(b"\n") + 1
    built(tmp_path / "project")
    capsys.readouterr()
    assert main(["as-of", "2027-01-01", "--store", "reference", "--concept", "data_retention", "--format", "json", "--database", str(database)]) == 0
    assert [record["record_id"] for record in json.loads(capsys.readouterr().out)] == ["M-699"]
    # T10: editing and deleting where a record stands is found by the next build, which names fields and no values.
    lines = file.read_text(encoding="utf-8").splitlines()
    edited = json.loads(lines[1]) | {"value": "quite another thing"}
    file.write_text("\n".join([lines[0], json.dumps(edited), *lines[3:]]) + "\n", encoding="utf-8")
    built(tmp_path / "project")
    with duckdb.connect(str(database), read_only=True) as connection:
        found = connection.execute("select record_id, detail from findings where rule_id = 'history_rewritten' order by record_id").fetchall()
    assert found == [(edited["record_id"], "changed: value"), (json.loads(lines[2])["record_id"], "removed")]


def test_lines_that_say_who_wrote_a_record_are_for_the_host_to_append(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "signed.jsonl"
    file.write_text(json.dumps({"written_by": "finance", "record": {"record_id": "A", "concept": "c", "valid_from": "2026-01-01", "valid_to": None}}) + "\n")
    before = file.read_bytes()
    assert main(["supersede", "--store", str(file), "--of", "A", "--id", "B", "--value", "x", "--from", "2026-05-01"]) == 2
    assert "its lines say who wrote each record" in capsys.readouterr().err and file.read_bytes() == before
