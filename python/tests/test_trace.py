"""The lineage of anything: from what was learned back to what was observed, for whoever may read it, in three forms that nothing can forge (M2, G7)."""

from __future__ import annotations

import datetime
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Any

import dbt_harness
import pytest
from prov.model import ProvDocument
from test_learning import HOUR, NOON, House

from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.log import LogWriter, canonical_event, rows_since
from governed_memory.memory import Sight
from governed_memory.memory.trace import Trace
from governed_memory.memory.trace_forms import as_mermaid, as_prov, as_tree

FORMS = (as_tree, as_prov, as_mermaid)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def schema(house: House) -> str:
    """What was learned of three incidents, by its identifier."""
    for number in range(3):
        house.frame(number)
    return approved(house)


def approved(house: House, by: str = "kim", now: datetime.datetime = NOON) -> str:
    [open_one] = [one for one in house.candidates() if one["state"] == "open"]
    outcome = house.decide("approve", open_one["candidate_fingerprint"], by, now=now)
    assert outcome.code is None
    return str(outcome.target_id)


def trace(house: House, name: str, **more: Any) -> Trace:
    found = house.store.trace(name, more.pop("sight", house.sight()), **more)
    assert found is not None
    return found


def edges(found: Trace) -> set[tuple[str, str, str, str]]:
    """{(kind, id, role, id of the other)}, without who wrote it."""
    return {(thing.kind, thing.id, edge.role, edge.id) for thing in found.things for edge in thing.edges if edge.kind not in ("principal", "party")}


def test_a_record_leads_back_over_approval_candidate_replays_and_frames_to_what_was_observed(house: House, schema: str) -> None:
    candidate, approval = schema.removeprefix("schema_"), schema.replace("schema_", "approve_")
    found = trace(house, schema)
    replays = {edge[1]: edge[3] for edge in edges(found) if edge[2] == "frame"}
    assert sorted(replays.values()) == ["f0", "f1", "f2"]
    expected = {("record", schema, "schema", schema), ("cell", schema, "approval", approval), ("approval", approval, "candidate", candidate)}
    expected |= {("candidate", candidate, "evidence", replay) for replay in replays} | {("replay", replay, "frame", f) for replay, f in replays.items()}
    expected |= {("frame", f"f{number}", "step", f"{number}-{step}") for number in range(3) for step in (1, 2)}
    expected |= {("cell", schema, "source", f"{number}-{step}") for number in range(3) for step in (1, 2)}
    assert edges(found) == expected
    assert (found.withheld, found.further) == (0, 0)
    agents = {(thing.kind, edge.relation, edge.id) for thing in found.things for edge in thing.edges if edge.kind in ("principal", "party")}
    assert agents == {
        ("record", "wasAttributedTo", "support"), ("approval", "wasAssociatedWith", "kim"), ("replay", "wasAttributedTo", "ann"),
        ("frame", "wasAttributedTo", "ann"), ("cell", "wasAttributedTo", "ann"),
    }  # fmt: skip


def test_each_kind_of_thing_has_a_lineage_of_its_own(house: House, schema: str) -> None:
    found = trace(house, schema)
    kinds = {thing.kind: thing.id for thing in found.things if thing.kind not in ("principal", "party")}
    assert set(kinds) == {"record", "cell", "approval", "candidate", "replay", "frame"}
    for kind, name in kinds.items():
        assert [thing.kind for thing in trace(house, name).things if thing.steps == 0 and thing.kind == kind] == [kind]


def test_a_candidate_that_awaits_an_approval_and_one_that_was_rejected_have_one_too(house: House) -> None:
    for number in range(3):
        house.frame(number)
    candidate = house.candidates()[0]["candidate_fingerprint"]
    before = edges(trace(house, candidate))
    assert {edge[3] for edge in before if edge[2] == "step"} == {f"{number}-{step}" for number in range(3) for step in (1, 2)}
    house.decide("reject", candidate, reason="one printer")
    assert edges(trace(house, f"reject_{candidate}")) == before | {("approval", f"reject_{candidate}", "candidate", candidate)}
    # Also when other evidence has made another candidate, and a later replay has failed.
    house.frame(3)
    [segment] = (house.place / "log").glob("*/cells.*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b'"content":"2 2"', b'"content":"2 9"'))
    house.store.replay(["f2"], principal="ann", session_id="desk", now=NOON + HOUR)
    assert edges(trace(house, candidate)) == before


def test_what_supersedes_and_what_was_revoked_is_told(house: House, schema: str) -> None:
    house.frame(3)
    second = approved(house, "lee", NOON + HOUR)
    house.decide("revoke", second, now=NOON + 2 * HOUR, reason="it was the paper")
    revocation = f"revoke_{second}"
    found = edges(trace(house, revocation))
    assert {("record", revocation, "supersedes", second), ("record", second, "supersedes", schema), ("record", schema, "schema", schema)} <= found
    assert {("record", revocation, "revocation", revocation), ("approval", revocation, "revoked", second), ("cell", second, "revocation", revocation)} <= found
    assert as_tree(trace(house, revocation)).startswith(f"record {revocation}  withdrawal, of support")


def test_a_conflict_is_told_and_not_followed(house: House, schema: str) -> None:
    for number in range(3, 6):
        house.frame(number, outcome="it jams again")
    other = approved(house)
    found = trace(house, schema)
    assert ("cell", schema, "conflict", other) in edges(found)
    assert not {edge for edge in edges(found) if edge[1] == other}
    assert "3-1" not in as_tree(found)
    assert ("cell", other, "conflict", schema) in edges(trace(house, other))


def test_a_skill_leads_back_over_its_approval_to_the_runs_that_worked_and_those_that_did_not_M8(house: House) -> None:
    who: dict[str, Any] = {"principal": "ann", "session_id": "desk", "now": NOON}
    house.store.write([{"cell_id": "ticket", "system": "episodic", "content": "the printer jams", "source": "log"}], **who)
    house.runs(5, 2, source_ids=["ticket"])
    candidate = house.candidates()[0]["candidate_fingerprint"]
    runs = {("candidate", candidate, "success" if number < 5 else "failure", f"t{number}") for number in range(7)}
    runs |= {("trace", f"t{number}", "source", "ticket") for number in range(7)}
    assert edges(trace(house, candidate)) == runs
    skill = approved(house)
    approval = f"approve_{candidate}"
    learned = {("cell", skill, "approval", approval), ("cell", skill, "source", "ticket"), ("approval", approval, "candidate", candidate)}
    assert edges(trace(house, skill)) == runs | learned
    assert edges(trace(house, "t6")) == {("trace", "t6", "source", "ticket")}
    assert {(thing.id, thing.what) for thing in trace(house, skill).things if thing.kind == "trace" and thing.id > "t3"} == {
        ("t4", "succeeded"), ("t5", "failed"), ("t6", "failed"),
    }  # fmt: skip
    tree = as_tree(trace(house, skill)).splitlines()
    assert "      success: trace t0  succeeded, by ann, 2026-10-01 12:00:00" in tree
    assert "      failure: trace t6  failed, by ann, 2026-10-01 12:00:00" in tree
    document = ProvDocument.deserialize(content=as_prov(trace(house, skill)), format="json")
    assert len([one for one in document.get_records() if "trace:t" in str(one.identifier)]) == 7
    house.decide("revoke", skill, now=NOON + HOUR, reason="it was the plug")
    assert ("cell", skill, "revocation", f"revoke_{skill}") in edges(trace(house, skill))


def test_a_skill_that_was_rejected_and_one_that_has_grown_keep_their_runs(house: House) -> None:
    house.runs(5, 1)
    candidate = house.candidates()[0]["candidate_fingerprint"]
    house.decide("reject", candidate, reason="one printer")
    before = edges(trace(house, f"reject_{candidate}"))
    assert {edge[3] for edge in before if edge[0] == "candidate"} == {f"t{number}" for number in range(6)}
    house.trace(6)
    assert edges(trace(house, f"reject_{candidate}")) == before
    assert {edge[3] for edge in edges(trace(house, house.candidates()[0]["candidate_fingerprint"]))} == {f"t{number}" for number in range(7)}


def test_of_runs_and_their_cells_that_a_caller_may_not_read_only_the_number_is_told_G7(house: House) -> None:
    who: dict[str, Any] = {"principal": "ann", "session_id": "desk", "now": NOON}
    house.store.write([{"cell_id": "ticket", "system": "episodic", "content": "the printer jams", "source": "log", "release_to": ["board"]}], **who)
    house.runs(5)
    house.trace(5, release_to=["support"], source_ids=["ticket"], by="ann")
    # Whoever may read the run, and not the cell that it names, has the run and no candidate.
    kim, max_ = house.sight(), house.sight("max")
    told = trace(house, "t5", sight=kim)
    assert (edges(told), told.withheld) == (set(), 1)
    assert house.store.trace("t5", max_) is None
    candidate = house.candidates("ann")[0]["candidate_fingerprint"]
    assert house.store.trace(candidate, kim) is None
    assert trace(house, "t0", sight=max_).things[0].what == "succeeded"
    # Outside of its session a run of nobody in particular is not read either.
    assert house.store.trace("t0", Sight(house.host.caller("max"), "elsewhere", NOON)) is None
    outside = Sight(Caller("guest", ("board",), "outside", True), None, NOON, True)
    assert house.store.trace("t0", outside) is None


def test_of_what_a_caller_may_not_read_only_the_number_is_told_G7(house: House) -> None:
    house.frame(0, cell={"release_to": ["support"]})
    house.frame(1, cell={"release_to": ["support", "legal"]})
    house.frame(2, cell={"release_to": ["support"]})
    schema = approved(house)
    own = Sight(house.host.caller("ann"), "desk", NOON)
    assert trace(house, schema, sight=own).withheld == 0
    # No other session, so nothing but the schema itself, which its parties may read.
    local = trace(house, schema, sight=Sight(house.host.caller("kim"), None, NOON))
    assert Counter(thing.kind for thing in local.things) == Counter(record=1, cell=1, approval=1, principal=1, party=1)
    # The candidate, and each of the cells that the schema names.
    assert local.withheld == 7
    for form in FORMS:
        text = form(local)
        assert not re.search(r"\bf[0-2]\b|\b[0-2]-[12]\b|\bann\b|\br_", text), text
        assert "7" in text
    # To others there is no such thing at all, whatever they call it by.
    stranger = Sight(Caller("max", ("marketing",), "inside", True), None, NOON, True)
    for name in (schema, schema.replace("schema_", "approve_"), schema.removeprefix("schema_"), "f0", "0-1", "nowhere"):
        assert house.store.trace(name, stranger) is None


def test_a_thing_whose_evidence_is_partly_withheld_is_left_out_as_a_whole_G7(house: House) -> None:
    house.frame(0, cell={"release_to": ["legal"]})
    kim = house.sight()
    assert house.store.trace("f0", kim) is None
    [child] = house.store.write([{"system": "episodic", "content": "so it goes", "source_ids": ["0-1"]}], principal="kim", session_id="k", now=NOON)
    found = trace(house, str(child.target_id), sight=kim)
    assert (len(found.things), found.withheld) == (2, 1)
    assert "0-1" not in "".join(form(found) for form in FORMS)


def test_a_circle_ends(house: House) -> None:
    """No guard lets one in; a log that somebody forged may hold it."""
    told = {"system": "episodic", "content": "x", "created_at": "2026-10-01T12:00:00.000000Z", "recorded_at": "2026-10-01T12:00:00.000000Z"}
    who = {"principal": "kim", "session_id": "s", "transition": "write", "fingerprint": "f"}
    ring = [{**told, **who, "cell_id": f"c{number}", "source_ids": [f"c{(number + 1) % 3}"]} for number in range(3)]
    with LogWriter(house.place / "log") as writer:
        writer.append({"cells": [canonical_event(cell) for cell in ring]}, "2026-10-01T12:00:00Z")
    found = trace(house, "c0")
    assert edges(found) == {("cell", f"c{number}", "source", f"c{(number + 1) % 3}") for number in range(3)}
    assert as_tree(found).splitlines()[-1].strip() == "source: cell c0 (above)"


def test_a_walk_stops_where_it_is_told_to_and_says_so(house: House) -> None:
    who: dict[str, Any] = {"principal": "kim", "session_id": "s", "now": NOON}
    chain = [{"system": "episodic", "content": "x", "cell_id": "c0", "source": "log"}]
    chain += [{"system": "episodic", "content": "x", "cell_id": f"c{number}", "source_ids": [f"c{number - 1}"]} for number in range(1, 6)]
    for cell in chain:
        house.store.write([cell], **who)
    short = trace(house, "c5", most_steps=2)
    assert ([thing.id for thing in short.things if thing.kind == "cell"], short.further) == (["c5", "c4", "c3"], 1)
    few = trace(house, "c5", most_things=2)
    assert (len(few.things), few.further) == (2, 2)
    assert as_tree(short).endswith("1 not shown: further away than was asked for")
    assert len(trace(house, "c5").things) == 7
    with pytest.raises(InputError, match="steps: 0 is no number"):
        house.store.trace("c5", house.sight(), most_steps=0)


AWKWARD = ['x"] --> n9["y', "a\nb  cell c", "%% x", "end", "c (above)", "#quot;", "<b>", "[x](y)", "ä;|`", "cell:0-1", "x%22"]


def test_no_identifier_passes_for_another_thing_or_for_markup(house: House) -> None:
    who: dict[str, Any] = {"principal": 'kim"] --> n1', "session_id": "s\n", "now": NOON}
    for name in AWKWARD:
        assert house.store.write([{"system": "episodic", "content": "x", "cell_id": name, "source": "log"}], **who)[0].outcome == "written"
    house.store.write([{"system": "episodic", "content": "x", "cell_id": "top", "source_ids": AWKWARD}], **who)
    found = trace(house, "top")
    count = len(AWKWARD) + 1
    chart = as_mermaid(found).splitlines()
    assert chart[0] == "flowchart BT"
    nodes = [line for line in chart if re.fullmatch(r'    n\d+\["[A-Za-z0-9_.:/ #;-]+"\]', line)]
    drawn = [line for line in chart if re.fullmatch(r"    n\d+ -->\|\w+\| n\d+", line)]
    assert (len(nodes), len(drawn), len(chart)) == (count + 1, count + len(AWKWARD), 1 + len(nodes) + len(drawn))
    assert len(as_tree(found).splitlines()) == count
    assert '  source: cell "a\\nb  cell c"  episodic' in as_tree(found)
    document = ProvDocument.deserialize(content=as_prov(found), format="json")
    labels = {str(label) for record in document.get_records() for label in record.get_attribute("prov:label")}
    assert labels == {"top", *AWKWARD, who["principal"]}


def test_prov_is_what_its_own_library_reads(house: House, schema: str) -> None:
    found = trace(house, schema)
    document = ProvDocument.deserialize(content=as_prov(found), format="json")
    kinds = Counter(type(record).__name__ for record in document.get_records())
    of_one = Counter(edge.relation for thing in found.things for edge in thing.edges)
    assert (kinds["ProvActivity"], kinds["ProvAgent"], kinds["ProvEntity"]) == (1, 3, len(found.things) - 4)
    assert kinds["ProvDerivation"] == of_one["wasDerivedFrom"] and kinds["ProvGeneration"] == of_one["wasGeneratedBy"] == 1
    assert (kinds["ProvUsage"], kinds["ProvAssociation"], kinds["ProvAttribution"]) == (1, 1, of_one["wasAttributedTo"])
    assert document == ProvDocument.deserialize(content=as_prov(found), format="json")


def test_the_same_memory_gives_the_same_text(house: House, schema: str) -> None:
    texts = {form: form(trace(house, schema)) for form in FORMS}
    for seed, (form, text) in enumerate(texts.items()):
        name = form.__name__.removeprefix("as_")
        command = ["trace", schema, "--as", name, "--global", "--principal", "kim", "--memory", str(house.place), "--host", str(house.folder / "host.yml")]
        again = subprocess.run(
            [sys.executable, "-m", "governed_memory.cli", *command], env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=True
        )
        assert again.stdout == text + "\n"


def test_a_trace_leaves_an_event_and_what_is_not_found_leaves_no_name(house: House, schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--memory", str(house.place), "--host", str(house.folder / "host.yml"), "--now", "2026-10-01T12:00:00", "--principal", "kim"]
    assert main(["trace", schema, "--global", *common]) == 0
    assert capsys.readouterr().out.startswith(f"record {schema}  of support, 2026-10-01 12:00:00\n  schema: cell {schema}")
    assert main(["trace", "f0", *common]) == 1
    assert capsys.readouterr().err == "f0: nothing is called so, or nothing that you may read\n"
    one, other = ([json.loads(row.event) for row in rows_since(house.place / "log", None, {}, ["reads"])])[-2:]
    assert (one["read_kind"], one["query"], one["outcome"], one["is_global"]) == ("trace", schema, "found", True)
    assert {"0-1", "f0", schema} <= set(one["found_ids"])
    assert (other["read_kind"], other["outcome"], other.get("query"), other["found_ids"]) == ("trace", "nothing", None, [])


def test_a_read_across_sessions_that_is_not_allowed_is_refused(house: House, schema: str) -> None:
    with pytest.raises(InputError, match="may not read across sessions"):
        house.store.trace("f0", Sight(Caller("eve"), None, NOON, True))


def test_without_the_package_prov_the_command_says_what_to_install(
    house: House, schema: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = util.find_spec
    monkeypatch.setattr("governed_memory.memory.trace_forms.find_spec", lambda name: None if name == "prov" else find(name))
    common = ["--memory", str(house.place), "--host", str(house.folder / "host.yml"), "--principal", "kim", "--global"]
    assert main(["trace", schema, "--as", "prov", *common]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "pip install 'governed-memory[trace]'" in said.err
    assert main(["trace", schema, "--as", "mermaid", *common]) == 0


def test_the_example_of_the_docs_says_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    docs = {name: (dbt_harness.ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in ("learning", "lineage")}
    program, *_ = re.findall(r"```python\n(.*?)```", docs["learning"], flags=re.S)
    approve = re.findall(r"^\$ gmem (approve .*)$", docs["learning"], flags=re.M)[0]
    [session] = re.findall(r"```console\n(.*?)```", docs["lineage"], flags=re.S)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GMEM_MEMORY", raising=False)
    exec(program, {})
    assert main(shlex.split(approve)) == 0
    capsys.readouterr()
    asked = re.findall(r"^\$ gmem (.*)\n((?:(?!\$ ).*\n)*)", session, flags=re.M)
    assert len(asked) == 3
    for command, printed in asked:
        assert main(shlex.split(command)) == 0
        times = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
        assert times.sub("TIME", capsys.readouterr().out) == times.sub("TIME", printed)
