"""Gates are true only from tests that ran: failed, skipped, missing and unreadable each make them false or stop in one line (rules M1 to M14)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import dbt_harness
import duckdb
import pytest

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.gates.judged import judge
from governed_memory.gates.outcomes import Outcome, read_junit, read_run_results

ROOT = Path(__file__).parents[2]
EVIDENCE = warehouse.seed("gate_evidence")
STAGES = ["sun", "orion", "trifid", "lagoon", "eagle", "rosette_context", "rosette_graph"]
ALL = [*STAGES, "stage_set", "artefacts", "rule_coverage"]


def outcome_of(row: dict[str, str], outcome: str = "passed") -> Outcome:
    """A test that is evidence of a claim: its expression, read as the shortest name that it holds for."""
    name = row["tests"].replace(".*_(?i:", "test_any.py::test_of_").replace(")([_\\[].*)?", "").removesuffix(".*")
    name = re.sub(r"^(test_gate_artefacts\.py::test_it_is_there)\.(.*)\.$", r"\1[\2]", name)
    file, _, test = name.partition("::")
    return Outcome(row["suite"], file, test or "any", outcome)


def passing() -> list[Outcome]:
    return sorted({outcome_of(row) for row in EVIDENCE})


def row_of(gate: str, subject: str) -> dict[str, str]:
    return next(row for row in EVIDENCE if (row["gate_id"], row["subject"]) == (gate, subject))


def false_of(outcomes: Iterable[Outcome]) -> list[str]:
    return [gate["gate_id"] for gate in judge(outcomes).gates if not gate["is_true"]]


def test_all_are_true_where_all_of_their_evidence_passed() -> None:
    judged = judge(passing())
    assert [gate["gate_id"] for gate in judged.gates] == ALL
    assert judged.is_met
    for gate in judged.gates:
        assert (gate["rules_covered"], gate["artefacts_there"], gate["problems"]) == (gate["rules_total"], gate["artefacts_total"], [])
        assert gate["tests_passed"] > 0 == gate["tests_failed"] == gate["tests_skipped"]


def test_without_a_test_none_is_true() -> None:
    assert false_of([]) == ALL


@pytest.mark.parametrize("outcome", ["failed", "skipped", None])
@pytest.mark.parametrize(
    ("gate", "subject"),
    [("sun", "M13"), ("orion", "M5"), ("trifid", "M6"), ("lagoon", "M7"), ("eagle", "M8"), ("rosette_context", "M9"), ("rosette_graph", "M10")],
)
def test_a_test_that_failed_was_skipped_or_did_not_run_turns_its_gate_false(gate: str, subject: str, outcome: str | None) -> None:
    one = outcome_of(row_of(gate, subject))
    others = [other for other in passing() if other != one]
    judged = judge([*others, Outcome(one.suite, one.file, one.test_name, outcome)] if outcome else others)
    assert [row["gate_id"] for row in judged.gates if not row["is_true"]] == [gate, "stage_set", "rule_coverage"]
    [problem] = next(row["problems"] for row in judged.gates if row["gate_id"] == gate)
    assert problem.startswith(f"{subject}: ")
    assert {"failed": "1 failed, the first", "skipped": "only skipped", None: "did not run"}[outcome] in problem


@pytest.mark.parametrize("subject", ["table graph_edges", "command graph", "page docs/graph.md"])
def test_an_artefact_that_is_missing_turns_its_gate_false(subject: str) -> None:
    missing = outcome_of(row_of("rosette_graph", subject))
    assert false_of([outcome for outcome in passing() if outcome != missing]) == ["rosette_graph", "stage_set", "artefacts"]


def test_one_failure_of_many_parameters_is_a_failure_and_one_skip_is_none() -> None:
    one = outcome_of(row_of("eagle", "M8"))
    more = Outcome(one.suite, one.file, f"{one.test_name}[2]", "skipped")
    assert false_of([*passing(), more]) == []
    assert false_of([*passing(), Outcome(one.suite, one.file, f"{one.test_name}[3]", "failed")]) == ["eagle", "stage_set", "rule_coverage"]


def test_every_rule_of_the_page_is_covered_and_every_stage_has_rules_and_artefacts() -> None:
    page = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    promised = {*re.findall(r"^### ([TLGFM]\d+)", page, flags=re.M), *re.findall(r"^\| ([TLGFM]\d+) \|", page, flags=re.M)}
    assert {row["subject"] for row in EVIDENCE if row["kind"] == "rule"} == promised
    assert {row["gate_id"] for row in EVIDENCE if row["kind"] == "artefact"} == set(STAGES)
    # Over an empty memory every test of dbt passes: of a rule it shows something only beside one of pytest that gives it something to find.
    of_rules = {(row["gate_id"], row["subject"]) for row in EVIDENCE if row["kind"] == "rule"}
    assert {(row["gate_id"], row["subject"]) for row in EVIDENCE if row["kind"] == "rule" and row["suite"] == "pytest"} == of_rules


def test_what_is_evidence_is_in_the_project_but_for_rules_still_to_come() -> None:
    page = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    to_come = set(re.findall(r"^\| ([TLGFM]\d+) \|", page, flags=re.M))
    there = [
        f"{path.name}::{name}"
        for path in (ROOT / "python/tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)|^Test\w+", path.read_text(encoding="utf-8"), flags=re.M)
    ]
    there += [f"test::{path.stem}" for path in (ROOT / "tests").rglob("*.sql")] + [f"model::{path.stem}" for path in (ROOT / "models").rglob("*.sql")]
    there += [f"test_gate_artefacts.py::test_it_is_there[{row['subject']}]" for row in EVIDENCE]
    absent = [row["tests"] for row in EVIDENCE if row["subject"] not in to_come and not any(re.fullmatch(row["tests"], name) for name in there)]
    assert absent == []


# Reports ------------------------------------------------------------------------------------------------------------------------------


def junit(path: Path, *cases: str) -> Path:
    path.write_text(f"<?xml version='1.0' encoding='utf-8'?><testsuites><testsuite name='pytest'>{''.join(cases)}</testsuite></testsuites>", encoding="utf-8")
    return path


def case(outcome: Outcome) -> str:
    inner = {"failed": "<failure message='no'/>", "skipped": "<skipped/>"}.get(outcome.outcome, "")
    return f"<testcase classname='python.tests.{outcome.file.removesuffix('.py')}' name={quoteattr(outcome.test_name)}>{inner}</testcase>"


def run_results(path: Path, *results: tuple[str, str], **arguments: Any) -> Path:
    told = {"args": {"which": "build", **arguments}, "results": [{"unique_id": name, "status": status} for name, status in results]}
    path.write_text(json.dumps(told), encoding="utf-8")
    return path


def reports(folder: Path, outcomes: list[Outcome]) -> list[str]:
    """The options that name a report of each kind."""
    xml = junit(folder / "pytest.xml", *(case(outcome) for outcome in outcomes if outcome.suite == "pytest"))
    of_dbt = [(f"{outcome.file}.governed_memory.{outcome.test_name}", "success") for outcome in outcomes if outcome.suite == "dbt"]
    return ["--junit", str(xml), "--dbt", str(run_results(folder / "run_results.json", *of_dbt))]


def test_a_report_of_pytest_is_read_by_file_name_and_outcome(tmp_path: Path) -> None:
    file = junit(
        tmp_path / "x.xml",
        "<testcase classname='python.tests.lint.test_a' name='test_x[a &amp; b.c]'/>",
        "<testcase classname='python.tests.test_b.TestAll' name='runTest'><skipped/></testcase>",
        "<testcase classname='test_b' name='test_y'><failure/></testcase>",
        "<testcase classname='test_b' name='test_z'><system-out/><error/></testcase>",
        "<testcase classname='' name='python.tests.test_c'><error/></testcase>",
        "<testcase/>",
    )
    assert [(found.file, found.test_name, found.outcome) for found in read_junit(file)] == [
        ("test_a.py", "test_x[a & b.c]", "passed"), ("test_b.py", "TestAll::runTest", "skipped"), ("test_b.py", "test_y", "failed"),
        ("test_b.py", "test_z", "failed"), ("test_c.py", "(the whole file)", "failed"), (".py", "(the whole file)", "passed"),
    ]  # fmt: skip


def test_a_report_of_dbt_is_read_by_kind_name_and_outcome(tmp_path: Path) -> None:
    file = run_results(
        tmp_path / "r.json", ("model.governed_memory.cells", "success"), ("test.governed_memory.not_null_cells_cell_id.0a1b2c3d4e", "pass"),
        ("test.governed_memory.no_half", "fail"), ("test.governed_memory.warned", "warn"), ("unit_test.governed_memory.gates.whole", "error"),
        ("seed.governed_memory.rules", "skipped"), ("model.governed_memory.new", "partial success"),
    )  # fmt: skip
    assert [(found.file, found.test_name, found.outcome) for found in read_run_results(file)] == [
        ("model", "cells", "passed"), ("test", "not_null_cells_cell_id", "passed"), ("test", "no_half", "failed"), ("test", "warned", "failed"),
        ("unit_test", "gates.whole", "failed"), ("seed", "rules", "skipped"), ("model", "new", "failed"),
    ]  # fmt: skip


def test_what_is_no_report_is_one_line_and_judges_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = reports(tmp_path, passing())
    bad = tmp_path / "bad"
    for option, data, says in (
        ("--junit", None, "No such file or directory; write it with `pytest --junitxml=FILE`"),
        ("--junit", b"", "is no XML: no element found"),
        ("--junit", b"<testsuites><testsuite>", "is no XML: no element found"),
        ("--junit", b"\xff\xfe\x00 binary", "is no XML"),
        ("--junit", b"<?xml version='1.0' encoding='klingon'?><testsuites/>", "is no XML"),
        ("--junit", b"<html/>", "its root is 'html'"),
        ("--dbt", None, "No such file or directory; write it with `dbt build`"),
        ("--dbt", b"{", "is no run_results.json of dbt"),
        ("--dbt", b"[]", "is no run_results.json of dbt"),
        ("--dbt", b"{}", "is no run_results.json of dbt"),
        ("--dbt", b'{"args": {"which": "build"}, "results": [{"status": "pass"}]}', "is no run_results.json of dbt"),
        ("--dbt", b'{"args": {"which": "compile"}, "results": []}', "is of `dbt compile`, which tests nothing"),
        ("--dbt", b'{"args": {"which": "build", "empty": true}, "results": []}', "is of `dbt build --empty`, which tests nothing"),
        ("--out", None, "cannot be written: No such file or directory"),
    ):  # fmt: skip
        bad.unlink(missing_ok=True)
        if data is not None:
            bad.write_bytes(data)
        given = str(tmp_path / "nowhere/out.jsonl") if option == "--out" else str(bad)
        assert main(["gates", *good, option, given]) == 2, says
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith(f"gmem gates: {option}: ")
        assert says in told.err
        assert told.err.count("\n") == 1


def test_the_command_prints_each_gate_and_ends_with_1_where_one_is_false(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gates", *reports(tmp_path, passing())]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:-1]] == [[gate, "true"] for gate in ALL]
    assert lines[-1] == "10 of 10 gates are true"
    skipped = outcome_of(row_of("eagle", "M8"))
    rest = [Outcome(*skipped_as) for skipped_as in [(skipped.suite, skipped.file, skipped.test_name, "skipped")]] + [one for one in passing() if one != skipped]
    assert main(["gates", *reports(tmp_path, rest), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["met"], [gate["gate_id"] for gate in told["gates"] if not gate["is_true"]]) == (False, ["eagle", "stage_set", "rule_coverage"])
    assert [(claim["gate_id"], claim["tests_skipped"]) for claim in told["claims"] if not claim["is_held"]] == [("eagle", 1)]


def test_two_reports_that_differ_are_the_worse_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = outcome_of(row_of("trifid", "M6"))
    other = junit(tmp_path / "other.xml", case(Outcome(one.suite, one.file, one.test_name, "failed")))
    assert main(["gates", *reports(tmp_path, passing()), "--junit", str(other)]) == 1
    assert f"trifid: M6: 1 failed, the first {one.file}::{one.test_name}" in capsys.readouterr().out


def test_a_build_has_the_gates_that_the_command_prints(tmp_path: Path) -> None:
    missing = outcome_of(row_of("lagoon", "M14"))
    outcomes = [outcome for outcome in passing() if outcome != missing]
    file = tmp_path / "outcomes.jsonl"
    main(["gates", *reports(tmp_path, outcomes), "--out", str(file)])
    select = ["build", "--exclude-resource-type", "unit_test", "--select", "+gates", "+gate_claims", "--vars"]
    run = dbt_harness.dbt(tmp_path, *select, json.dumps({"gates": {"outcomes": str(file)}}))
    assert run.returncode == 0, run.stdout + run.stderr
    with duckdb.connect(str(tmp_path / dbt_harness.DATABASE), read_only=True) as connection:
        built = warehouse.rows(connection, "select * from gates order by position")
    assert built == judge(outcomes).gates
    assert [gate["gate_id"] for gate in built if not gate["is_true"]] == ["lagoon", "stage_set", "rule_coverage"]
    nothing = dbt_harness.dbt(tmp_path, *select, json.dumps({"gates": {"outcomes": str(tmp_path / "none.jsonl")}}))
    assert nothing.returncode == 0, nothing.stdout + nothing.stderr
    assert "so every gate is false" in (tmp_path / "logs/dbt.log").read_text(encoding="utf-8")
    with duckdb.connect(str(tmp_path / dbt_harness.DATABASE), read_only=True) as connection:
        assert connection.execute("select bool_or(is_true), count(*) from gates").fetchone() == (False, 10)
    wrong = dbt_harness.dbt(tmp_path, *select, json.dumps({"gates": {"file": "x"}}))
    assert wrong.returncode != 0
    assert "vars: gates: expected outcomes: FILE" in wrong.stdout
