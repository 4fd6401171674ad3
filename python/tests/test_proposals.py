"""Proposals: what an agent proposes is never a fact, is read by whom it may be, and is decided on by somebody else (G7, G8, M3, M4, M7, M14)."""

from __future__ import annotations

import datetime
import json
import os
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from service_processes import over_http
from test_learning import HOUR, NOON, House
from test_mcp import GMEM, HERE

from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.log import LogWriter, canonical_event, rows_since
from governed_memory.memory import Sight
from governed_memory.memory.proposals import Scene
from governed_memory.memory.trace_forms import as_tree

CHANGE: dict[str, Any] = {
    "kind": "record", "store_id": "policies", "concept": "margin", "value": "it's 20 %; $(rm)", "valid_from": "2026-11-01", "supersedes": ["M 1"],
    "reason": "as agreed",
}  # fmt: skip


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    for number in range(3):
        made.frame(number)
    yield made
    made.store.close()


def told(house: House, by: str = "lee", now: datetime.datetime = NOON, **proposal: Any) -> str:
    [outcome] = house.store.propose([proposal], Sight(house.host.caller(by), "s", now))
    assert outcome.outcome == "written", outcome
    return str(outcome.target_id)


def consolidation(house: House) -> dict[str, Any]:
    return {"kind": "consolidation", "candidate_fingerprint": house.candidates()[0]["candidate_fingerprint"], "reason": "seen three times"}


def test_who_proposed_a_candidate_does_not_approve_it_nor_one_that_it_has_grown_into(house: House) -> None:
    proposal = told(house, **consolidation(house))
    assert house.candidates()[0]["proposed_by"] == ["lee"]
    assert house.decide("approve", house.candidates()[0]["candidate_fingerprint"], "lee").code == "proposer_approves"
    house.frame(3)
    grown = house.candidates()[0]["candidate_fingerprint"]
    assert house.decide("approve", grown, "lee").code == "proposer_approves"
    assert house.decide("approve", grown, "kim", now=NOON + HOUR).outcome == "written"
    found = house.store.trace(f"approve_{grown}", house.sight())
    assert found and ("proposal", proposal) in {(edge.role, edge.id) for thing in found.things for edge in thing.edges}
    assert f"proposal {proposal}  consolidation, by lee" in as_tree(found)


def test_who_proposes_after_having_approved_has_approved(house: House) -> None:
    """A build asks again what a writer was asked; a later proposal makes no earlier approval wrong."""
    fingerprint = consolidation(house)
    assert house.decide("approve", fingerprint["candidate_fingerprint"], "lee").outcome == "written"
    told(house, now=NOON + HOUR, **fingerprint)
    assert house.decide("approve", fingerprint["candidate_fingerprint"], "lee").outcome == "held"


def test_a_proposal_is_no_fact_and_the_same_twice_is_one(house: House) -> None:
    before = house.rows()
    first = told(house, **CHANGE)
    [again] = house.store.propose([CHANGE], Sight(house.host.caller("lee"), "s", NOON + HOUR))
    assert (again.outcome, again.target_id) == ("held", first)
    assert house.rows() - before == Counter(proposals=1)
    assert house.store.records() == []
    assert house.store.recall("margin", house.sight()) == []
    assert house.table("select principal, session_id, is_restricted from main.proposals") == [("lee", "s", False)]


def test_a_candidate_that_the_caller_may_not_read_is_none_that_there_is(house: House) -> None:
    stranger = Sight(Caller("eve", ("support",), "inside"), "s", NOON)
    [outcome] = house.store.propose([consolidation(house)], stranger)
    assert (outcome.guard, outcome.code) == ("integrity", "candidate_unknown")
    [other] = house.store.propose([{**consolidation(house), "candidate_fingerprint": "nowhere"}], stranger)
    assert (other.code, other.requirement) == (outcome.code, outcome.requirement)


def test_proposals_are_read_by_whom_they_are_for_G5_G7(house: House) -> None:
    open_one = told(house, **CHANGE)
    restricted = told(house, **{**CHANGE, "value": "21 %"}, release_to=["legal"])
    ours = told(house, **consolidation(house))

    def seen(sight: Sight) -> list[str]:
        return sorted(one["proposal_id"] for one in house.store.proposals(sight))

    assert seen(Sight(house.host.caller("lee"), "s", NOON)) == sorted([open_one, restricted, ours])
    assert seen(house.sight("kim")) == sorted([open_one, ours])
    assert seen(house.sight("max")) == sorted([open_one, restricted, ours])
    assert seen(Sight(house.host.caller("kim"), None, NOON)) == []
    # Whoever may not read the evidence does not learn that a candidate was proposed.
    house.frame("secret", scene="safe", cell={"release_to": ["legal"]})
    for number in (4, 5):
        house.frame(number, scene="safe")
    mine = next(one for one in house.candidates("max") if one["scene"] == "safe")["candidate_fingerprint"]
    told(house, "max", kind="consolidation", candidate_fingerprint=mine, reason="seen")
    assert len(seen(house.sight("kim"))) == 2 and len(seen(house.sight("max"))) == 4
    assert house.store.trace(ours, Sight(house.host.caller("kim"), None, NOON)) is None
    last = [json.loads(row.event) for row in rows_since(house.place / "log", None, {}, ["reads"])][-2]
    assert (last["read_kind"], len(last["found_ids"])) == ("proposals", 4)


def test_the_command_lists_them_with_what_accepts_them_quoted_for_a_shell(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--memory", str(house.place), "--host", str(house.folder / "host.yml"), "--global", "--principal", "kim"]
    assert main(["proposals", *common]) == 1
    assert capsys.readouterr().out == "no proposal that you may read\n"
    change, ours = told(house, **CHANGE), told(house, now=NOON + HOUR, **consolidation(house))
    long = told(house, now=NOON + 2 * HOUR, **{**CHANGE, "value": "one\ntwo"})
    assert main(["proposals", *common]) == 0
    lines = capsys.readouterr().out.splitlines()
    commands = [shlex.split(line.removeprefix("  accept with: ")) for line in lines if "accept with" in line]
    store = ["gmem", "supersede", "--store=policies", "--of=M 1", "--id=NEW_ID", "--from=2026-11-01"]
    assert commands[0] == [*store, "--value=it's 20 %; $(rm)", f"--source={change}"]
    fingerprint = house.candidates()[0]["candidate_fingerprint"]
    assert commands[1] == ["gmem", "approve", fingerprint, "--key=FILE", "--reason=WHY", "--principal=NAME", "--host=FILE"]
    assert commands[2] == [*store, "--value=VALUE", f"--source={long}"]
    house.decide("approve", fingerprint)
    capsys.readouterr()
    assert main(["proposals", "--json", "--all", *common]) == 0
    assert {(one["proposal_id"], one["state"]) for one in map(json.loads, capsys.readouterr().out.splitlines())} == {
        (change, "open"), (ours, "approved"), (long, "open"),
    }  # fmt: skip


def test_who_proposed_a_skill_does_not_approve_it_and_it_is_listed_until_it_is_settled_M8(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--memory", str(house.place), "--host", str(house.folder / "host.yml"), "--global", "--principal", "kim"]
    house.runs(5, 1, release_to=["support"])
    [skill] = [one for one in house.candidates() if one["kind"] == "skill"]
    fingerprint = skill["candidate_fingerprint"]
    stranger = Sight(house.host.caller("max"), "s", NOON, True)
    [unknown] = house.store.propose([{"kind": "consolidation", "candidate_fingerprint": fingerprint, "reason": "r"}], stranger)
    assert unknown.code == "candidate_unknown"
    proposal = told(house, kind="consolidation", candidate_fingerprint=fingerprint, reason="works mostly")
    assert main(["candidates", *common]) == main(["proposals", *common]) == 0
    printed = capsys.readouterr().out
    assert "  recorded by ann\n  proposed by lee\n" in printed
    assert f"{proposal}  consolidation  open  by lee" in printed and f"gmem approve {fingerprint} --key=FILE" in printed
    # One of a candidate is read with all its evidence.
    assert [one["proposal_id"] for one in house.store.proposals(stranger)] == []
    assert house.decide("approve", fingerprint, "lee").code == "proposer_approves"
    learned = house.decide("approve", fingerprint, now=NOON + HOUR)
    assert [one["state"] for one in house.store.proposals(house.sight())] == ["approved"]
    lineage = house.store.trace(str(learned.target_id), house.sight())
    assert lineage and f"    proposal {proposal}" in as_tree(lineage)


def test_a_proposal_of_a_skill_that_has_grown_since_is_outdated(house: House) -> None:
    house.runs(5)
    [skill] = [one for one in house.candidates() if one["kind"] == "skill"]
    told(house, kind="consolidation", candidate_fingerprint=skill["candidate_fingerprint"], reason="works")
    house.trace(5)
    assert [(one["state"], one["reason"]) for one in house.store.proposals(house.sight())] == [("outdated", "works")]
    [grown] = [one for one in house.candidates() if one["kind"] == "skill"]
    assert grown["proposed_by"] == ["lee"]
    assert house.decide("approve", grown["candidate_fingerprint"], "lee").code == "proposer_approves"


def test_what_was_proposed_of_a_candidate_that_is_none_any_more_is_outdated(house: House) -> None:
    told(house, **consolidation(house))
    house.frame(3)
    assert [one["state"] for one in house.store.proposals(house.sight())] == ["outdated"]


# What consolidating asks, where nothing else has a case -----------------------------------------------------------------------------------


def consolidated(house: House, **cell: Any) -> Any:
    scene = Scene("consolidate", "consolidation", None, NOON, is_own=True)
    said = {"cell_id": "schema_x", "system": "semantic", "content": "x", "source_ids": ["0-1"], **cell}
    return house.store._transitions.propose("cells", [said], scene, made=[{"approval_id": "approve_x"}]).outcomes[0]


def test_what_is_learned_is_of_a_known_system(house: House) -> None:
    house.store._projection.catch_up()
    outcome = consolidated(house, system="dream")
    assert (outcome.guard, outcome.code) == ("type", "system_unknown")
    assert consolidated(house).outcome == "written"


def test_one_identifier_of_what_was_learned_is_one_content_for_ever(house: House) -> None:
    """No guard lets such a cell or approval in: the log was forged, and an approval then writes nothing."""
    candidate = house.candidates()[0]["candidate_fingerprint"]
    forged = {
        "cell_id": f"schema_{candidate}", "system": "semantic", "content": "forged", "source_ids": ["0-1"], "created_at": "2026-10-01T12:00:00.000000Z",
        "recorded_at": "2026-10-01T12:00:00.000000Z", "principal": "eve", "transition": "consolidate", "fingerprint": "f", "approval_id": "p",
    }  # fmt: skip
    with LogWriter(house.place / "log") as writer:
        writer.append({"cells": [canonical_event(forged)]}, "2026-10-01T12:00:00Z")
    house.store._projection.catch_up()
    outcome = consolidated(house, cell_id=f"schema_{candidate}")
    assert (outcome.guard, outcome.code) == ("identity", "identity_conflict")
    before = house.rows()
    with pytest.raises(InputError, match="so nothing was written"):
        house.decide("approve", candidate)
    assert house.rows() == before
    said = {"approval_id": f"approve_{candidate}", "verdict": "approve", "recorded_at": "2026-10-01T12:00:00.000000Z", "principal": "eve", "fingerprint": "f"}
    with LogWriter(house.place / "log") as writer:
        writer.append({"approvals": [canonical_event(said)]}, "2026-10-01T12:00:00Z")
    refused = house.decide("approve", candidate)
    assert (refused.guard, refused.code) == ("identity", "identity_conflict")


# Over MCP --------------------------------------------------------------------------------------------------------------------------------

RECORDS = [
    {"record_id": "M-1", "concept": "margin", "value": "20 %", "valid_from": "2026-01-01", "valid_to": None, "source": "memo"},
    {"record_id": "M-2", "concept": "margin", "value": "SECRET", "valid_from": "2026-02-01", "valid_to": None, "source": "memo", "release_to": ["legal", "board"]},
    {"record_id": "M-3", "concept": "rate", "value": "3 %", "valid_from": "2026-01-01", "valid_to": None, "source": "memo"},
]  # fmt: skip


@pytest.fixture
def url(house: House) -> Iterator[str]:
    """A server over HTTP of the house's memory and a store, for its people by the tokens token-of-NAME."""
    host = json.loads((house.folder / "host.yml").read_text())
    for name, entry in host["callers"].items():
        entry["token"] = {"env": f"TOKEN_{name.upper()}"}
    (house.folder / "host.yml").write_text(json.dumps(host))
    (house.folder / "store.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    tokens = {f"TOKEN_{name.upper()}": f"token-of-{name}" for name in host["callers"]}
    process = subprocess.Popen(
        [*GMEM, "serve", f"--host={house.folder / 'host.yml'}", f"--store={house.folder / 'store.jsonl'}", "--http=127.0.0.1:0", f"--memory={house.place}"],
        env={**os.environ, **HERE, **tokens}, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr and process.stdout
    line = process.stderr.readline()
    assert line.startswith("gmem serve: http://127.0.0.1:"), line
    yield line.split()[-1]
    process.terminate()
    assert process.communicate(timeout=20) == ("", "")


def call(url: str, who: str, tool: str, **given: Any) -> dict[str, Any]:
    async def asked(client: Client) -> Any:
        return await client.call_tool(tool, {"session": "s1", **given})

    return dict(over_http(url, f"token-of-{who}", asked).structured_content)


def test_an_agent_sees_the_candidates_it_may_read_and_proposes_one_M7_G8(url: str, house: House) -> None:
    assert call(url, "bob", "candidates")["candidates"] == []
    [candidate] = call(url, "bob", "candidates", across_sessions=True)["candidates"]
    assert (candidate["state"], candidate["evidence_count"], candidate["proposed_by"]) == ("open", 3, [])
    fingerprint = candidate["candidate_fingerprint"]
    first = call(url, "lee", "propose", candidate_fingerprint=fingerprint, reason="seen three times")
    assert (first["outcome"], first["kind"], first["proposed_by"], first["session"]) == ("written", "consolidation", "lee", "s1")
    assert call(url, "lee", "propose", candidate_fingerprint=fingerprint, reason="seen three times")["outcome"] == "held"
    assert call(url, "kim", "candidates", across_sessions=True)["candidates"][0]["proposed_by"] == ["lee"]
    assert house.decide("approve", fingerprint, "lee", now=datetime.datetime.now(datetime.UTC)).code == "proposer_approves"
    assert house.decide("approve", fingerprint, "kim", now=datetime.datetime.now(datetime.UTC)).outcome == "written"
    assert call(url, "kim", "candidates", across_sessions=True)["candidates"] == []
    assert call(url, "kim", "candidates", across_sessions=True, include_settled=True)["candidates"][0]["state"] == "approved"


def test_an_agent_sees_and_proposes_skills_too_M8(url: str, house: House) -> None:
    house.runs(5, 2)
    schema, skill = call(url, "bob", "candidates", across_sessions=True)["candidates"]
    assert (schema["kind"], skill["kind"]) == ("schema", "skill") and "skill" not in schema and "scene" not in skill
    assert (skill["skill"], skill["tools"], skill["success_count"], skill["counter_example_ids"]) == ("free the printer", ["look", "restart"], 5, ["t5", "t6"])
    first = call(url, "lee", "propose", candidate_fingerprint=skill["candidate_fingerprint"], reason="works mostly")
    assert first["outcome"] == "written"
    assert [one["proposed_by"] for one in call(url, "kim", "candidates", across_sessions=True)["candidates"]] == [[], ["lee"]]
    now = datetime.datetime.now(datetime.UTC)
    assert house.decide("approve", skill["candidate_fingerprint"], "ann", now=now).code == "proposer_approves"
    assert house.decide("approve", skill["candidate_fingerprint"], "kim", now=now).outcome == "written"


def test_an_agent_proposes_a_change_of_records_that_it_may_see_G7_M14(url: str, house: House) -> None:
    change = {"concept": "margin", "value": "25 %", "valid_from": "2026-11-01", "reason": "as agreed"}
    done = call(url, "bob", "propose", supersedes=["M-1"], **change)
    assert (done["outcome"], done["kind"]) == ("written", "record")
    # Neither what is withheld, nor what is not there, nor a record of another concept: told apart by the name that was given alone.
    errors = [call(url, "bob", "propose", supersedes=["M-1", name], **change)["error"] for name in ("M-2", "M-3", "M-9")]
    assert {(error["code"], error["message"].replace(name, "NAME")) for error, name in zip(errors, ("M-2", "M-3", "M-9"), strict=True)} == {
        ("not_found", "supersedes: 'NAME' is no record of this concept that you may see")
    }
    # What would replace a restricted record is for whom that is, at most.
    call(url, "max", "propose", supersedes=["M-1", "M-2"], **change)
    call(url, "max", "propose", supersedes=["M-2"], release_to=["legal", "support"], **change)
    call(url, "max", "propose", supersedes=["M-2"], release_to=["support"], **change)
    house.store._projection.catch_up()
    found = house.table("select supersedes, release_to, classification, store_id from main.proposals where principal = 'max' order by recorded_at")
    assert found == [
        (["M-1", "M-2"], ["board", "legal"], None, "store"), (["M-2"], ["legal"], None, "store"), (["M-2"], [], "restricted", "store"),
    ]  # fmt: skip
    assert [one["principal"] for one in house.store.proposals(house.sight("kim"))] == ["bob"]
    assert len(house.store.proposals(house.sight("max"))) == 4
    assert house.rows("cells", "approvals") == Counter(cells=6)


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ({"reason": "x"}, "invalid_argument", "concept: say it to propose"),
        ({"reason": "x", "concept": "margin", "value": "1"}, "invalid_argument", "valid_from: say it"),
        ({"reason": "x", "concept": "margin", "value": "1", "valid_from": "soon", "supersedes": ["M-1"]}, "invalid_argument", "valid_from: 'soon'"),
        ({"reason": "x", "candidate_fingerprint": "c", "value": "1"}, "invalid_argument", "value: a consolidation says nothing of a record"),
        ({"reason": "x", "candidate_fingerprint": "c"}, "candidate_unknown", "expected that there is a candidate"),
        ({"reason": " ", "concept": "margin", "value": "1", "valid_from": "2026-11-01", "supersedes": ["M-1"]}, "reason_missing", "a proposal says why"),
        ({"reason": "x", "principal": "kim"}, "unknown_argument", "'principal' is not accepted"),
        ({"candidate_fingerprint": "c"}, "invalid_argument", "says no reason"),
    ],
)
def test_a_proposal_that_cannot_be_made_says_why(url: str, house: House, given: dict[str, Any], code: str, says: str) -> None:
    error = call(url, "bob", "propose", **given)["error"]
    assert error["code"] == code and says in error["message"], error
    assert house.rows("proposals") == Counter()
