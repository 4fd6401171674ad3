"""Adopting a messy store: what the baseline accepts, that it only goes down, and that dbt and gmem read the same one (L3)."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dbt_harness import copy_project

from governed_memory.cli import main
from governed_memory.overlay import baseline as baselines
from governed_memory.overlay.check import check
from governed_memory.warehouse import StoreFile

Record = dict[str, Any]
SECRET = "what only the board may read"
GOOD = {"record_id": "G", "concept": "arr", "valid_from": "2026-01-01", "valid_to": None, "source": "S", "concept_owner": "finance", "owner_role": "Head"}
MESSY: list[Record] = [
    {**GOOD, "record_id": "policy", "conflict_policy": "latest", "applies_to": ["a"], "does_not_apply_to": ["b"]},
    {**GOOD, "record_id": "sourceless", "source": "", "value": SECRET, "classification": "secret"},
    {**GOOD, "record_id": None},
    {**GOOD, "record_id": 'awk,ward "id"\nof two lines', "valid_to": "2025-01-01"},
    {**GOOD, "record_id": "two edges", "supersedes": ["gone", "gone too"]},
]


def write(file: Path, records: list[Record]) -> str:
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(file)


def entries(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """messy.jsonl in the working directory, with its findings accepted in base.csv."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "messy.jsonl", MESSY)
    assert main(["baseline", "messy.jsonl", "-o", "base.csv"]) == 0
    return tmp_path / "messy.jsonl"


def checked(records: list[Record] | None = None, *options: str, level: int = 3) -> int:
    if records is not None:
        write(Path("messy.jsonl"), records)
    return main(["check", "messy.jsonl", "--baseline", "base.csv", "--min-level", str(level), *options])


# What it accepts


def test_l3_a_store_of_another_form_has_the_baseline_of_its_rows_F1(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(store), "--from", "relational", "--to", "documents", "--out", "messy"]) == 0
    assert main(["baseline", "messy", "--form", "documents", "-o", "pages.csv"]) == 0
    assert Path("pages.csv").read_text() == Path("base.csv").read_text()
    assert main(["check", "messy", "--form", "documents", "--baseline", "pages.csv", "--min-level", "3"]) == 0


def test_l3_accepted_findings_do_not_fail_and_a_new_one_does(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "messy.jsonl"]) == 1
    assert checked() == 0
    capsys.readouterr()
    assert checked([*MESSY, {**GOOD, "record_id": "new", "source": None}]) == 1
    text = capsys.readouterr().out
    assert "presence level 0 of 3\nlevel apart from the baseline: 1\nasked level 3: NOT reached\n" in text
    assert [line.split()[-1] for line in text.splitlines() if " MUST source_missing" in line] == ["new"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"record_id": "another id"}, 1),
        ({"concept_owner": None}, 1),
        ({"value": "another value"}, 0),
        ({"source": "S2"}, 0),
        ({"owner_role": None}, 0),
    ],
    ids=["another id", "another rule", "another value", "repaired", "a new SHOULD"],
)
def test_l3_a_finding_goes_by_its_record_and_rule(store: Path, changed: Record, code: int) -> None:
    assert checked([{**record, **changed} if record["record_id"] == "sourceless" else record for record in MESSY]) == code


def test_l3_the_presence_level_and_its_findings_know_no_baseline(store: Path) -> None:
    """L1, L3: neither what the published checker reports nor its verdict changes; `reached` does."""
    file = StoreFile("messy.jsonl")
    plain = check(file, min_level=2)
    beside = check(file, min_level=2, baseline=baselines.read_baseline("base.csv"))
    same = ("records", "level", "min_level", "pass", "mapping", "findings", "value_findings")
    assert {key: plain[key] for key in same} == {key: beside[key] for key in same}
    assert (plain["pass"], plain["reached"], beside["reached"]) == (False, False, True)


def test_l3_presence_only_asks_and_reports_presence_alone(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert checked(None, "--presence-only", "--json") == 0
    told = capsys.readouterr()
    report = json.loads(told.out)
    assert report["level"] == 0
    assert {rule["rule"] for rule in report["baseline"]["rules"]} == {"record_id_missing", "source_missing", "supersedes_missing", "release_to_missing"}
    assert report["baseline"]["gone"] == 0, told.err


def test_l3_findings_of_one_record_and_rule_are_counted(store: Path) -> None:
    [entry] = [row for row in entries(Path("base.csv")) if row["rule_id"] == "supersedes_unresolved"]
    assert (entry["record_id"], entry["finding_count"]) == ("two edges", "2")
    three = [{**record, "supersedes": ["gone", "gone too", "gone as well"]} if record["record_id"] == "two edges" else record for record in MESSY]
    write(store, three)
    report = check(StoreFile("messy.jsonl"), baseline=baselines.read_baseline("base.csv"))
    [rule] = [rule for rule in report["baseline"]["rules"] if rule["rule"] == "supersedes_unresolved"]
    assert (rule["known"], rule["new"], rule["gone"]) == (2, 1, 0)


# The file


def test_l3_the_file_is_the_same_each_time_and_holds_no_value(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """G7: identifiers and rules only."""
    text = Path("base.csv").read_text(encoding="utf-8")
    write(store, MESSY)
    capsys.readouterr()
    assert main(["baseline", "messy.jsonl"]) == 0
    assert capsys.readouterr().out == text
    assert SECRET not in text
    assert [row["record_id"] for row in entries(Path("base.csv")) if row["rule_id"] == "interval_inverted"] == ['awk,ward "id"\nof two lines']


def test_l3_a_baseline_that_exists_is_left_alone(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("base.csv").read_bytes()
    assert main(["baseline", "messy.jsonl", "-o", "base.csv"]) == 2
    assert "base.csv: exists; --prune takes out" in capsys.readouterr().err
    assert Path("base.csv").read_bytes() == before


def test_l3_pruning_takes_out_what_is_gone_and_adds_nothing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = entries(Path("base.csv"))
    one_edge = {**MESSY[4], "supersedes": ["gone"]}
    changed = [MESSY[0], MESSY[2], MESSY[3], one_edge, {**GOOD, "record_id": "new", "source": None}]
    assert checked(changed) == 1
    told = capsys.readouterr()
    assert "`gmem baseline messy.jsonl -o base.csv --prune` takes them out" in told.err
    assert main(["baseline", "messy.jsonl", "-o", "base.csv", "--prune"]) == 0
    after = entries(Path("base.csv"))
    counts = {row["fingerprint"]: int(row["finding_count"]) for row in before}
    assert all(int(row["finding_count"]) <= counts[row["fingerprint"]] for row in after)
    assert not {"sourceless", "new"} & {row["record_id"] for row in after}
    assert [row["finding_count"] for row in after if row["rule_id"] == "supersedes_unresolved"] == ["1"]
    capsys.readouterr()
    assert checked() == 1
    assert "notice" not in capsys.readouterr().err
    # what is repaired and pruned does not come back unseen
    assert checked(MESSY) == 1


def test_l3_new_findings_enter_only_when_asked_for_and_keep_older_days(store: Path) -> None:
    aged = Path("base.csv").read_text(encoding="utf-8").replace(entries(Path("base.csv"))[0]["created_on"], "2020-02-02")
    Path("base.csv").write_text(aged, encoding="utf-8")
    three = {**MESSY[4], "supersedes": ["gone", "gone too", "gone as well"]}
    write(store, [*MESSY[:4], three, {**GOOD, "record_id": "new", "source": None}])
    assert main(["baseline", "messy.jsonl", "-o", "base.csv", "--accept-new"]) == 0
    assert checked() == 0
    days = {row["record_id"]: row["created_on"] for row in entries(Path("base.csv")) if row["rule_id"] == "source_missing"}
    assert days["sourceless"] == "2020-02-02" < days["new"]
    [raised] = [row for row in entries(Path("base.csv")) if row["rule_id"] == "supersedes_unresolved"]
    assert (raised["finding_count"], raised["created_on"]) == ("3", "2020-02-02")


def test_l3_a_rule_that_cannot_be_asked_here_keeps_its_entries(store: Path) -> None:
    """A file is checked without registers: what dbt found with one is not gone."""
    row = {"store_id": "messy", "rule_id": "party_unknown", "field": "concept_owner", "record_id": "G", "detail": None}
    add(row)
    assert main(["baseline", "messy.jsonl", "-o", "base.csv", "--prune"]) == 0
    assert [entry["record_id"] for entry in entries(Path("base.csv")) if entry["rule_id"] == "party_unknown"] == ["G"]


def test_l3_a_file_may_hold_several_stores(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(Path("second.jsonl"), MESSY[1:3])
    capsys.readouterr()
    assert main(["check", "second.jsonl", "--baseline", "base.csv"]) == 1
    assert "base.csv: is of 'messy' and accepts nothing of 'second'" in capsys.readouterr().err
    assert main(["baseline", "second.jsonl", "-o", "base.csv", "--accept-new"]) == 0
    assert main(["check", "messy.jsonl", "second.jsonl", "--baseline", "base.csv", "--min-level", "3"]) == 0
    assert main(["baseline", "second.jsonl", "-o", "base.csv", "--prune"]) == 0
    assert {row["store_id"] for row in entries(Path("base.csv"))} == {"messy", "second"}


def test_l3_a_store_that_was_moved_goes_by_the_name_it_is_given(store: Path) -> None:
    store.rename("moved.jsonl")
    assert main(["check", "moved.jsonl", "--baseline", "base.csv"]) == 1
    assert main(["check", "moved.jsonl", "--baseline", "base.csv", "--store-id", "messy"]) == 0


# What cannot be used


def add(row: dict[str, Any], **changes: Any) -> None:
    """One more entry, with its own fingerprint unless `changes` gives another."""
    connection = baselines.warehouse.open_memory()
    sql = "select md5(cast(to_json([$store_id, $rule_id, $field, $record_id, $detail]) as varchar)) as fingerprint"
    [found] = baselines.warehouse.rows(connection, sql, row)
    with Path("base.csv").open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow({**row, **found, "finding_count": 1, "created_on": "2026-01-01", **changes}.values())


def append(line: bytes) -> None:
    with Path("base.csv").open("ab") as file:
        file.write(line)


ENTRY = {"store_id": "messy", "rule_id": "source_missing", "field": "source", "record_id": "A", "detail": None}
UNUSABLE: dict[str, tuple[Any, str]] = {
    "no file": (lambda: Path("base.csv").unlink(), "base.csv: no such baseline; `gmem baseline STORE -o base.csv` writes one"),
    "another file": (lambda: Path("base.csv").write_text("a,b\n1,2\n"), "base.csv: is no baseline, since it has no column 'created_on'"),
    "an empty file": (lambda: Path("base.csv").write_text(""), "base.csv: is no baseline"),
    "a store": (lambda: shutil.copy("messy.jsonl", "base.csv"), "base.csv: is no baseline"),
    "no text": (lambda: append(b"messy,\xff\n"), "base.csv, line 13: byte 7 is not UTF-8"),
    "a short row": (lambda: append(b"messy,source_missing\n"), "base.csv, line 13: 2 columns where the header has 8"),
    "an unknown rule": (lambda: add({**ENTRY, "rule_id": "source_mising"}), "rule 'source_mising', record 'A': there is no such rule; did you mean 'source_missing'?"),
    "another fingerprint": (lambda: add(ENTRY, fingerprint="0" * 32), "record 'A': its fingerprint is not that of what stands beside it"),
    "another record": (lambda: add({**ENTRY}, record_id="B"), "record 'B': its fingerprint is not that"),
    "a count of none": (lambda: add(ENTRY, finding_count="many"), "its finding_count is no whole number above 0"),
    "twice": (lambda: (add(ENTRY), add(ENTRY)), "it stands there twice; keep one of the two"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNUSABLE)
@pytest.mark.parametrize(
    "command", [["check", "messy.jsonl", "--baseline", "base.csv"], ["baseline", "messy.jsonl", "-o", "base.csv", "--prune"]], ids=["check", "prune"]
)
def test_an_unusable_baseline_is_one_line_and_nothing_is_written(case: str, command: list[str], store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, message = UNUSABLE[case]
    change()
    before = sorted((path.name, path.read_bytes()) for path in Path().iterdir())
    capsys.readouterr()
    assert main(command) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err and told.err.count("\n") == 1
    assert sorted((path.name, path.read_bytes()) for path in Path().iterdir()) == before


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["baseline", "messy.jsonl", "--prune"], "-o: name the baseline that is to be changed"),
        (["baseline", "messy.jsonl", "-o", "no/folder.csv"], "no/folder.csv: cannot be written: No such file or directory"),
        (["baseline", "nothing.jsonl", "-o", "new.csv"], "nothing.jsonl: no such file"),
        (["check", "messy.jsonl", "base.csv", "--store-id", "x"], "--store-id: 'x' names one store, and 2 are given"),
    ],
)
def test_a_command_that_cannot_be_run_says_why(command: list[str], message: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["base.csv", "messy.jsonl"]


# In dbt


SOURCE = """
          - name: messy
            description: One object per record.
            meta: {external_location: messy.jsonl}
"""
SEED = """
version: 2
seeds:
    - name: baseline
      config:
          column_types:
              {store_id: varchar, rule_id: varchar, field: varchar, record_id: varchar, detail: varchar, fingerprint: varchar,
               finding_count: integer, created_on: date}
"""


def dbt_build(project: Path, registers: dict[str, str]) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--no-use-colors", "build", "--selector", "findings", "--profiles-dir", ".",
         "--vars", json.dumps({"stores": {"messy": {"source": ["attached", "messy"], "target_level": 2}}, "registers": registers})],
        cwd=project, env={**os.environ, "GMEM_DATABASE": str(project / "built.duckdb")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.returncode, run.stdout + run.stderr


def test_l3_dbt_build_fails_on_new_findings_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """L3, G7: the file that gmem writes is the register that dbt reads, and of the store as a file it says the same."""
    project = copy_project(tmp_path / "project")
    with (project / "models/staging/_staging__sources.yml").open("a") as file:
        file.write(SOURCE)
    monkeypatch.chdir(project)
    monkeypatch.setenv("GMEM_DATABASE", str(project / "built.duckdb"))
    # only part of the findings are errors: the build is held to level 2
    write(project / "messy.jsonl", MESSY)
    code, text = dbt_build(project, {})
    assert code == 1 and "no_required_finding_source_missing" in text, text

    assert main(["baseline", "messy", "-o", "seeds/baseline.csv"]) == 0
    (project / "seeds/_baseline.yml").write_text(SEED)
    assert main(["baseline", "messy.jsonl", "-o", "of_file.csv"]) == 0
    capsys.readouterr()
    assert [{**row, "created_on": ""} for row in entries(Path("of_file.csv"))] == [{**row, "created_on": ""} for row in entries(Path("seeds/baseline.csv"))]

    code, text = dbt_build(project, {"baseline": "baseline"})
    assert code == 0, text
    assert "WARN=0 ERROR=0" in text, text
    assert main(["status"]) == 0
    assert "in the baseline" in capsys.readouterr().out

    repaired = [{**record, "source": "S"} if record["record_id"] == "sourceless" else record for record in MESSY]
    write(project / "messy.jsonl", [*repaired, {**GOOD, "record_id": "new", "source": None}])
    code, text = dbt_build(project, {"baseline": "baseline"})
    assert code == 1 and "no_required_finding_source_missing" in text, text
    # the repair is an edit where the record stands, which the ledger tells (T10)
    failing = re.findall(r"FAIL (\d+) (no_\w+?)_? ", text)
    assert sorted(failing) == [("1", "no_required_finding_history_rewritten"), ("1", "no_required_finding_source_missing")], text
    assert "WARN 1 the_baseline_holds_only_what_is_still_found" in text, text
    assert SECRET not in text
    assert main(["baseline", "messy", "-o", "seeds/baseline.csv", "--prune"]) == 0
    assert [row["record_id"] for row in entries(Path("seeds/baseline.csv")) if row["rule_id"] == "source_missing"] == []
    assert main(["baseline", "mesy"]) == 2
    assert "'mesy' is neither a file nor an attached store; did you mean 'messy'?" in capsys.readouterr().err
