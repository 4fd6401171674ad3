"""What CI systems read of a check: JUnit XML and SARIF 2.1.0, exit codes over several stores, and the pre-commit hook (L3, G7)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.overlay import reports

ROOT = Path(__file__).parents[2]
Record = dict[str, Any]
SECRET = "what only the board may read"
GOOD = {"record_id": "G", "concept": "arr", "valid_from": "2026-01-01", "valid_to": None, "source": "S", "concept_owner": "finance", "owner_role": "Head"}
POLICY = {**GOOD, "record_id": "policy", "conflict_policy": "latest", "applies_to": ["a"], "does_not_apply_to": ["b"]}
# On lines 1, 2, 4 and 5.
LINES = [POLICY, {**GOOD, "record_id": "A", "source": "", "value": SECRET, "release_to": ["board"]}, None, {**GOOD, "record_id": "B\u0007", "valid_to": "2025-01-01"},
         {**GOOD, "record_id": None, "supersedes": ["X", "Y"]}]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "stores" / "a store.jsonl"
    file.parent.mkdir()
    file.write_text("\n".join(json.dumps(record) if record else " " for record in LINES), encoding="utf-8")
    return file.relative_to(tmp_path)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["check", *map(str, arguments)])
    return code, capsys.readouterr().out


# JUnit


def junit(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, ElementTree.Element]:
    code, text = asked(capsys, "--format", "junit", *arguments)
    root = ElementTree.fromstring(text)
    for suite in [root, *root.iter("testsuite")]:
        counted = {
            name: len(suite.findall(f".//{path}"))
            for name, path in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
        }
        assert {name: int(suite.get(name, "")) for name in counted} == counted
    return code, root


def cases(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {case.get("name", ""): case for case in root.iter("testcase")}


def said(case: ElementTree.Element, kind: str) -> str:
    found = case.find(kind)
    assert found is not None, ElementTree.tostring(case)
    return f"{found.get('message')}\n{found.text}"


def test_l3_junit_has_a_case_for_each_rule_and_fails_on_what_the_level_asks(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, root = junit(capsys, store, "--min-level", "1")
    found = cases(root)
    assert code == 1
    assert list(found) == [rule["rule_id"] for rule in warehouse.seed("rules")]
    assert {name for name, case in found.items() if case.find("failure") is not None} == {"record_id_missing", "interval_inverted"}
    assert said(found["interval_inverted"], "failure").endswith("B\ufffd (valid_to); for finance (Head)")
    # above the asked level, and a SHOULD
    assert "level 2 MUST, 1 finding: The record names no source. " in said(found["source_missing"], "system-out")
    assert "#3 (supersedes, supersedes Y)" in said(found["supersedes_unresolved"], "system-out")
    assert said(found["party_unknown"], "skipped").startswith("there is no register of parties")
    assert list(found["valid_from_missing"]) == []
    assert SECRET not in ElementTree.tostring(root, encoding="unicode")


def test_l3_junit_asks_presence_alone_where_told_to(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, root = junit(capsys, store, "--presence-only")
    assert list(cases(root)) == [rule["rule_id"] for rule in warehouse.seed("rules") if rule["kind"] == "presence"]


def test_junit_names_a_few_and_counts_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(json.dumps({**GOOD, "record_id": f"R{number}", "valid_from": "soon"}) for number in range(60)))
    _, root = junit(capsys, file)
    lines = said(cases(root)["valid_from_invalid"], "failure").splitlines()
    assert "60 findings" in lines[0]
    assert len(lines) == 1 + reports.JUNIT_LISTED + 1 and lines[-1] == "and 10 more"


def test_l3_junit_counts_what_the_baseline_accepts(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", str(store), "-o", "base.csv"]) == 0
    with store.open("a") as file:
        file.write("\n" + json.dumps({**GOOD, "record_id": "new", "source": None}))
    code, root = junit(capsys, store, "--min-level", "2", "--baseline", "base.csv")
    assert code == 1
    assert {name for name, case in cases(root).items() if case.find("failure") is not None} == {"source_missing"}
    assert "1 finding in the baseline" in said(cases(root)["source_missing"], "system-out")
    assert "new (source)" in said(cases(root)["source_missing"], "failure")


def test_junit_tells_of_stores_that_are_empty_or_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.jsonl").write_text("{")
    code, root = junit(capsys, tmp_path / "empty.jsonl", tmp_path / "broken.jsonl")
    assert code == 2
    assert said(cases(root)["records"], "failure").startswith("no records; nothing to check")
    assert "broken.jsonl, line 1, column 2: not JSON" in said(cases(root)["readable"], "error")


# SARIF


def sarif(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """The one run of a report, after what schema 2.1.0 and uploads to code scanning ask of it."""
    code, text = asked(capsys, "--format", "sarif", *arguments)
    document = json.loads(text)
    assert (document["version"], document["$schema"]) == ("2.1.0", "https://json.schemastore.org/sarif-2.1.0.json")
    assert set(document) == {"$schema", "version", "runs"}
    [run] = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] and driver["version"]
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert all(rule[key]["text"].endswith(".") for key in ("shortDescription", "fullDescription", "help"))
        assert rule["defaultConfiguration"]["level"] in ("error", "note")
    assert all(isinstance(call["executionSuccessful"], bool) for call in run["invocations"])
    prints = []
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
        [location] = result["locations"]
        physical = location["physicalLocation"]
        assert not re.search(r"[\s\\]", physical["artifactLocation"]["uri"])
        assert physical.get("region", {"startLine": 1})["startLine"] >= 1
        assert all(isinstance(value, str) and value for value in result["partialFingerprints"].values())
        assert result.get("baselineState", "new") in ("new", "unchanged")
        prints.append(result["partialFingerprints"]["primaryLocationLineHash"])
    assert len(set(prints)) == len(prints)
    return code, run


def test_l3_sarif_names_each_finding_at_its_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, run = sarif(capsys, store, "--min-level", "1")
    assert code == 1
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule["rule_id"] for rule in warehouse.seed("rules")]
    found = {(result["ruleId"], result["locations"][0]["physicalLocation"]["region"]["startLine"], result["level"]) for result in run["results"]}
    assert found >= {
        ("record_id_missing", 5, "error"), ("interval_inverted", 4, "error"), ("source_missing", 2, "warning"), ("supersedes_unresolved", 5, "note"),
    }  # fmt: skip
    assert {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]} == {"stores/a%20store.jsonl"}
    assert not any("baselineState" in result or "suppressions" in result for result in run["results"])
    assert SECRET not in json.dumps(run)


def test_l3_sarif_has_the_fingerprints_of_the_baseline_and_tells_known_from_new(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", str(store), "-o", "base.csv"]) == 0
    with store.open("a") as file:
        file.write("\n" + json.dumps({**GOOD, "record_id": "new", "source": None}))
    code, run = sarif(capsys, store, "--min-level", "2", "--baseline", "base.csv")
    assert code == 1
    new = [(result["ruleId"], result["level"]) for result in run["results"] if result["baselineState"] == "new"]
    assert new == [("source_missing", "error"), ("supersedes_missing", "note")]
    known = [result for result in run["results"] if result["baselineState"] == "unchanged"]
    assert {result["level"] for result in known} == {"note"} and all(result["suppressions"][0]["kind"] == "external" for result in known)
    accepted = {line.split(",")[-3] for line in Path("base.csv").read_text().splitlines()[1:] if line.count(",") >= 7}
    assert {result["partialFingerprints"]["finding/v1"] for result in known} == accepted


def test_sarif_gives_no_line_where_a_record_has_none(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [record for record in LINES if record]
    # as many lines as records, and yet no record to a line
    texts = [json.dumps(record) for record in records]
    Path("array.json").write_text("\n".join(["[", ",".join(texts[:2]) + ",", ",".join(texts[2:]), "]"]))
    _, run = sarif(capsys, "array.json")
    assert run["results"] and not any("region" in result["locations"][0]["physicalLocation"] for result in run["results"])


def test_sarif_names_the_findings_of_a_store_of_another_form_without_lines_F1(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(store), "--from", "relational", "--to", "vector_memory", "--out", "memories.jsonl"]) == 0
    _, rows = sarif(capsys, store)
    _, run = sarif(capsys, "memories.jsonl", "--form", "vector_memory")
    found = [[(result["ruleId"], result["level"], result["message"]["text"]) for result in told["results"]] for told in (run, rows)]
    assert found[0] == found[1] and found[0]
    assert {json.dumps(result["locations"][0]["physicalLocation"]) for result in run["results"]} == {'{"artifactLocation": {"uri": "memories.jsonl"}}'}


def test_sarif_lists_some_and_says_how_many_more_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "many.jsonl"
    count = reports.SARIF_LISTED + 7
    file.write_text("\n".join(json.dumps({**GOOD, "record_id": f"R{number}", "valid_from": "soon"}) for number in range(count)))
    _, run = sarif(capsys, file)
    assert sum(result["ruleId"] == "valid_from_invalid" for result in run["results"]) == reports.SARIF_LISTED
    texts = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert f"{file}: 7 findings more of valid_from_invalid" in texts


def test_sarif_tells_of_a_store_that_cannot_be_read(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.jsonl").write_text("{")
    code, run = sarif(capsys, "broken.jsonl", store)
    assert code == 2 and run["results"]
    [call] = run["invocations"]
    assert not call["executionSuccessful"]
    assert [note["level"] for note in call["toolExecutionNotifications"]] == ["error"]


def test_both_reports_are_the_same_each_time(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("junit", "sarif"):
        assert len({asked(capsys, "--format", form, store) for _ in range(2)}) == 1


# Several stores


def test_of_several_stores_the_worst_decides(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("good.jsonl").write_text(json.dumps(POLICY))
    alone = [asked(capsys, name)[1] for name in ("good.jsonl", store)]
    assert asked(capsys, "good.jsonl", store) == (1, "\n".join(alone))
    assert asked(capsys, "good.jsonl", "good.jsonl")[0] == 0
    code = main(["check", "nothing.jsonl", "good.jsonl"])
    told = capsys.readouterr()
    assert (code, told.out) == (2, alone[0])
    assert told.err.startswith("gmem check: nothing.jsonl: no such file; ") and told.err.count("\n") == 1


def test_one_store_is_an_object_in_json_and_several_are_a_list(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = json.loads(asked(capsys, store, "--json")[1])
    assert asked(capsys, store, "--format", "json")[1] == asked(capsys, store, "--json")[1]
    assert json.loads(asked(capsys, store, store, "--json")[1]) == [one, one]


# pre-commit


def test_the_hook_runs_a_command_that_is_there_on_files_it_can_read(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["id"], hook["language"], hook["require_serial"]) == ("gmem-check", "python", True)
    program, command = hook["entry"].split()
    assert f'\n{program} = "governed_memory.cli:main"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(hook["files"], store.as_posix()) and not re.search(hook["files"], "models/stores/x.sql")
    # options come before the files, as pre-commit passes them
    assert main([command, "--min-level", "0", "--quiet", str(store)]) == 0


def test_the_page_on_adopting_holds_yaml_that_can_be_read() -> None:
    text = (ROOT / "docs/adopting.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, flags=re.S)]
    assert len(blocks) == 4 and all(isinstance(block, dict) for block in blocks)
    columns = next(block for block in blocks if "seeds" in block)["seeds"][0]["config"]["column_types"]
    assert {name: type_.upper() for name, type_ in columns.items()} == warehouse.columns("stg_baseline")
