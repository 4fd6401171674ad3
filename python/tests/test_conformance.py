"""`gmem conformance`: the published fixture passes on every path, and what is wrong or exposed is found (G1 to G8, C31)."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from governed_memory import cli
from governed_memory.errors import InputError
from governed_memory.reads import conformance_paths
from governed_memory.reads.conformance import EXPOSED, FAIL, PASS, Told, conformance, judge, read_fixture
from governed_memory.reads.conformance_paths import PATHS

SHARED = Path(os.environ.get("GMEM_SHARED") or Path(__file__).resolve().parents[3] / "shared")
PUBLISHED = SHARED / "data" / "adversarial.json"

OPEN = {"valid_from": "2026-01-01", "valid_to": None, "source": "POL-1"}
CALLER = {"principal": "rep", "audiences": ["sales"]}
FIXTURE: dict[str, Any] = {
    "fixture": "tested/1",
    "host": {"owners": {"margin": "finance", "discount": "finance"}, "policy": "abstain"},
    "cases": [
        {
            "id": "an answer", "concept": "discount", "as_of": "2026-09-01", "caller": CALLER, "scope": ["renewals"],
            "records": [
                {"written_by": "finance", "record": {"record_id": "A-1", "concept": "discount", "value": "bis 15 % für \"alle\"", **OPEN, "applies_to": ["renewals"]}},
                {"written_by": "finance", "record": {"record_id": "A-2", "concept": "discount", "value": "none", **OPEN, "applies_to": ["new"]}},
            ],
            "expect": {"outcome": "answered", "record_id": "A-1", "reasons": ["out_of_scope"], "withheld_records": 0, "forbidden": ["none yet"]},
        },
        {
            "id": "withheld", "concept": "margin", "as_of": "2026-09-01", "caller": CALLER,
            "records": [{"written_by": "finance", "record": {"record_id": "M-1", "concept": "margin", "value": "41", **OPEN, "release_to": ["board"]}}],
            "expect": {"outcome": "refused", "record_id": None, "reasons": ["not_released"], "withheld_records": 1, "forbidden": ["M-1"]},
        },
        {
            "id": "outside", "concept": "margin", "as_of": "2026-09-01", "caller": {**CALLER, "boundary": "outside"},
            "records": [{"written_by": "finance", "record": {"record_id": "M-1", "concept": "margin", "value": "41", **OPEN}}],
            "expect": {"outcome": "refused", "record_id": None, "reasons": ["not_released"], "forbidden": ["M-1"]},
        },
        {
            "id": "released to oneself", "concept": "margin", "as_of": "2026-09-01", "caller": CALLER,
            "records": [{"written_by": "finance", "record": {"record_id": "M-1", "concept": "margin", "value": "41", **OPEN, "release_to": ["rep"]}}],
            "expect": {"outcome": "answered", "record_id": "M-1", "reasons": [], "forbidden": []},
        },
        {
            "id": "not held", "concept": "nps", "as_of": "2026-09-01", "caller": CALLER,
            "records": [{"written_by": "finance", "record": {"record_id": "M-1-WITHHELD", "concept": "margin", "value": "MARGIN-41", **OPEN, "release_to": ["board"]}}],
            "expect": {"outcome": "empty", "record_id": None, "conflict": [], "reasons": ["not_held"], "forbidden": ["M-1-WITHHELD", "MARGIN-41"]},
        },
    ],
}  # fmt: skip


def file_of(folder: Path, fixture: Any) -> str:
    path = folder / "fixture.json"
    path.write_text(json.dumps(fixture), encoding="utf-8")
    return str(path)


@pytest.mark.skipif(not PUBLISHED.is_file(), reason=f"no published fixture here: {PUBLISHED} does not exist (GMEM_SHARED names another place)")
def test_the_published_fixture_passes_on_every_path_G1_to_G8(capsys: pytest.CaptureFixture[str]) -> None:
    """8 of 8 cases in SQL, on the command line and over MCP, and nothing exposed."""
    code = cli.main(["conformance", str(PUBLISHED), "--path=sql", "--path=cli", "--path=mcp"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["case", "sql", "cli", "mcp"] and lines[-1] == "8 of 8 cases pass, 0 exposed"
    assert code == 0


def test_scope_boundary_and_missing_concepts_C31(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C31, G2, G5: what the published fixture does not ask; as data."""
    code = cli.main(["conformance", file_of(tmp_path, FIXTURE), "--path=sql", "--path=cli", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (code, report["passed"], report["exposed"], report["met"]) == (0, 5, 0, True), report
    assert (report["fixture"], report["covered"], report["not_covered"]) == ("tested/1", ["sql", "cli"], {})


def test_what_is_wrong_or_exposed_is_found_and_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A text that must not occur, and does, is counted and never printed; each other difference is a failure."""
    fixture = copy.deepcopy(FIXTURE)
    first, second, third, fourth, fifth = (case["expect"] for case in fixture["cases"])
    first["forbidden"] = ['für "alle"', "A-1", "no such text"]
    second["withheld_records"] = 2
    third["reasons"] = ["conflict_unresolved"]
    fourth["record_id"] = "M-2"
    fifth["outcome"] = "refused"
    assert cli.main(["conformance", file_of(tmp_path, fixture), "--path=sql"]) == 1
    output = capsys.readouterr().out
    assert [line.split()[-1] for line in output.splitlines()[1:6]] == [EXPOSED, FAIL, FAIL, FAIL, FAIL]
    assert "an answer, sql: 2 forbidden texts occur" in output and "alle" not in output and "A-1" not in output
    for said in ("another number", "does not say conflict_unresolved", "answered by another record, expected M-2", "outcome empty, expected refused"):
        assert said in output
    assert output.splitlines()[-1] == "0 of 5 cases pass, 2 exposed"


def test_what_a_path_says_beside_its_answer_counts_as_exposed(tmp_path: Path) -> None:
    """Standard error too, and the escapes of JSON."""
    fixture = {**FIXTURE, "cases": [{**FIXTURE["cases"][1], "expect": {"outcome": "refused", "forbidden": ["für"]}}]}
    _, [case] = read_fixture(file_of(tmp_path, fixture))
    answer = {"outcome": "refused", "answer": None, "sides": None, "reasons": [], "withheld_records": 0}
    assert judge(case.expected, Told(answer, "nothing")).status == PASS
    assert [judge(case.expected, Told(answer, text)).exposed for text in ("log: für", 'log: "f\\u00fcr"')] == [1, 1]
    assert judge(case.expected, Told(None, "für")).status == EXPOSED
    assert judge(case.expected, Told(None, "")).problems == ("gave no answer",)


@pytest.mark.parametrize("name", ["governed_sql", "published"])
def test_the_paths_of_other_modules_G5_G7(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Governed SQL and the file of an audience, each where its module is there; else it is said."""
    fixture = file_of(tmp_path, FIXTURE)
    why = PATHS[name].missing()
    if why:
        assert cli.main(["conformance", fixture, f"--path={name}"]) == 2
        assert f"none of these paths is covered: {name} (there is no governed_memory.reads." in capsys.readouterr().err
        assert conformance(fixture, ["sql", name]).not_covered == {name: why}
    else:
        report = conformance(fixture, [name])
        assert report.is_met, report


def test_an_error_of_a_path_is_something_it_put_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no answer, and what it says is looked at like all the rest."""
    fixture = file_of(tmp_path, {**FIXTURE, "cases": FIXTURE["cases"][1:2]})

    def ask(prepared: Any) -> Told:
        raise InputError("record M-1 cannot be read")

    monkeypatch.setitem(PATHS, "sql", conformance_paths.Path(ask))
    [paths] = conformance(fixture, ["sql"]).results.values()
    assert (paths["sql"].status, paths["sql"].problems) == (EXPOSED, ("1 forbidden text occurs", "gave no answer (InputError)"))


def test_without_the_extra_mcp_is_not_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that cannot be covered is said, and fails nothing."""
    monkeypatch.setattr(conformance_paths, "find_spec", lambda name: None)
    assert cli.main(["conformance", file_of(tmp_path, FIXTURE), "--path=sql", "--path=mcp"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["not covered: mcp (the `mcp` extra is not installed)", "5 of 5 cases pass, 0 exposed"]


@pytest.mark.parametrize(
    ("fixture", "said"),
    [
        ("{", "is not JSON"),
        ([], "expected an object"),
        ({}, "has no 'cases'"),
        ({"cases": []}, "has no cases"),
        ({"cases": [{}]}, "case 1: has no 'id'"),
        ({"cases": [{"id": "x", "caller": {"principal": "p"}, "records": 1}]}, "case 1 ('x'): records is a list, got 1"),
        ({"cases": [FIXTURE["cases"][0], FIXTURE["cases"][0]]}, "two cases are called 'an answer'"),
        ({"cases": [{**FIXTURE["cases"][0], "as_of": "2026-9-1"}]}, "as_of: '2026-9-1' is no date"),
        ({"cases": [{**FIXTURE["cases"][0], "caller": {"principal": "p", "boundary": "in"}}]}, "boundary is one of inside, outside"),
        ({"cases": [{**FIXTURE["cases"][0], "scope": "renewals"}]}, "scope is a list"),
        ({"cases": [{**FIXTURE["cases"][0], "expect": {"outcome": "yes"}}]}, "outcome is one of"),
        ({"cases": [{**FIXTURE["cases"][0], "expect": {"outcome": "empty", "forbidden": [""]}}]}, "forbidden is a list of texts"),
        ({"cases": [{**FIXTURE["cases"][0], "expect": {"outcome": "empty", "withheld_records": True}}]}, "a whole number, got True"),
        ({"cases": [{**FIXTURE["cases"][0], "records": [{"record": "r"}]}]}, "record 1: record is an object"),
        ({"host": {"owners": {"c": 1}}, "cases": FIXTURE["cases"]}, "owners: c is a text"),
    ],
)
def test_a_fixture_that_cannot_be_understood_gets_one_line(fixture: Any, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which case, which entry, and what was found there."""
    path = file_of(tmp_path, fixture)
    if isinstance(fixture, str):
        Path(path).write_text(fixture, encoding="utf-8")
    assert cli.main(["conformance", path]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_path_or_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both are said at once."""
    assert cli.main(["conformance", file_of(tmp_path, FIXTURE), "--path=sq"]) == 2
    assert "'sq' is no path; did you mean 'sql'?" in capsys.readouterr().err
    assert cli.main(["conformance", str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err
