"""What waits for somebody of memory, on the worklist of stewards: cells in doubt and proposed changes, with the command that settles each (M7)."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dbt_harness
import pytest
from test_learning import HOUR, NOON, House
from test_mcp import HERE

from governed_memory.cli import main
from governed_memory.memory import Sight

STORE = {"record_id": "M-1", "concept": "margin", "value": "20 %", "valid_from": "2026-01-01", "valid_to": None, "source": "memo", "concept_owner": "finance"}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.store.close()


def listed(project: dbt_harness.Project, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    """The items of memory on the worklist of a build."""
    project.run("steward_worklist", "policies", "policy_criteria", "parties", "question_classes", "redactions", "stg_registers").close()
    capsys.readouterr()
    assert main(["worklist", "list", "--json", "--database", str(project.folder / "opened.duckdb"), *options]) == 0
    return [item for item in json.loads(capsys.readouterr().out) if item["kind"] in ("in_doubt", "proposal")]


def command(item: dict[str, Any], place: int = 1) -> str:
    return str(item["fix"].split("`")[place])


def test_what_is_in_doubt_or_proposed_waits_until_it_is_settled(house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        house.frame(number)
    schema = str(house.decide("approve", house.candidates()[0]["candidate_fingerprint"]).target_id)
    who: dict[str, Any] = {"principal": "ann", "session_id": "desk", "now": NOON}
    told = {"system": "episodic", "content": "as the schema says", "source_ids": [schema], "cell_id": 'it\'s "so" $x'}
    assert house.store.write([told], **who)[0].code is None
    store = tmp_path / "store.jsonl"
    store.write_text(json.dumps(STORE) + "\n", encoding="utf-8")
    project = dbt_harness.Project(tmp_path)
    project.attach("policies", store, steward="office", policy="latest_valid_from", target_level=0)
    project.vars["memory"] = {"log": str(house.place / "log")}
    project.vars["on_date"] = "2026-10-05"
    assert listed(project, capsys) == []

    assert house.decide("revoke", schema, "lee", now=NOON + HOUR, reason="it was the paper").code is None
    change = {
        "kind": "record",
        "store_id": "policies",
        "concept": "margin",
        "value": "SECRET",
        "valid_from": "2026-10-01",
        "supersedes": ["M-1"],
        "reason": "x",
    }
    # Nobody waits for a change of a store that is not attached.
    changes = [change, {**change, "store_id": "elsewhere"}]
    proposal = house.store.propose(changes, Sight(house.host.caller("bob"), "s", NOON))[0].target_id
    found = {item["kind"]: item for item in listed(project, capsys)}
    assert set(found) == {"in_doubt", "proposal"}
    doubt, proposed = found["in_doubt"], found["proposal"]
    assert (doubt["record_id"], doubt["party_id"], doubt["party_role"], doubt["store_id"]) == (told["cell_id"], "support", "knowledge_steward", None)
    assert (doubt["detail"], doubt["since_on"]) == (f"derives from {schema}, revoked", "2026-10-01")
    assert (proposed["record_id"], proposed["party_id"], proposed["concept_id"]) == (proposal, "office", "margin")
    assert "SECRET" not in json.dumps(found)
    assert [item["kind"] for item in listed(project, capsys, "--store", "policies")] == ["proposal"]

    # The command that stands there, with what is in capitals said, is one that a shell runs and that settles it.
    start = f"PYTHONPATH={HERE['PYTHONPATH']} GMEM_MEMORY={shlex.quote(str(house.place))} {shlex.quote(dbt_harness.sys.executable)} -m governed_memory.cli"
    settled = command(doubt).replace("| gmem", f"| {start}").replace("NAME", "ann").replace("WHY", "seen anew")
    ran = subprocess.run(["sh", "-c", settled], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert shlex.split(command(proposed))[:2] == ["gmem", "proposals"]
    [read] = [one for one in house.store.proposals(house.sight()) if one["proposal_id"] == proposal]
    accept = [word.replace("NEW_ID", "M-2") for word in shlex.split(read["command"])[1:]]
    assert main([*accept, "--level=1", "--database", str(project.folder / "opened.duckdb")]) == 0
    assert listed(project, capsys) == []


def test_without_a_memory_nothing_of_it_waits_and_it_may_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store.jsonl"
    store.write_text(json.dumps(STORE) + "\n", encoding="utf-8")
    project = dbt_harness.Project(tmp_path)
    project.attach("policies", store, steward="office", policy="latest_valid_from", target_level=0)
    file = project.folder / "dbt_project.yml"
    text = file.read_text()
    for folder in ("memory", "packets"):  # packets read memory, so they go with it (docs/guest.md)
        kept = f"\n        {folder}: {{+group: governed_memory_{folder}}}\n"
        assert kept in text
        text = text.replace(kept, f"\n        {folder}: {{+enabled: false}}\n")
    file.write_text(text)
    assert listed(project, capsys) == []
