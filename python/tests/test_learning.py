"""Learning by approval: evidence makes candidates, a signature makes a schema, and nothing is raised or lost on the way (M1, M2, M3, M6, M7, M14)."""

from __future__ import annotations

import datetime
import json
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learning_houses import HOUR, JAM, NOON, House
from memory_stores import race

from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller, read_host
from governed_memory.log import LogWriter, canonical_event, rows_since
from governed_memory.memory import MemoryStore, Outcome, Sight
from governed_memory.memory.approvals import signed, signed_message


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def learned(house: House) -> House:
    for number in range(3):
        house.frame(number)
    return house


# Candidates ------------------------------------------------------------------------------------------------------------------------------


def test_three_replayed_frames_of_one_signature_make_a_candidate(house: House) -> None:
    for number in range(2):
        house.frame(number)
    house.frame("unreplayed", replays=False)
    house.frame("another outcome", outcome="it jams again")
    house.frame("another scene", scene="paper jam")
    assert house.candidates() == []
    assert dict(house.table("select frame_id, reason from main.schema_evidence where not is_counted")) == {"funreplayed": "replay_missing"}
    house.frame(2, entities=["tray", "printer"])
    [candidate] = house.candidates()
    assert (candidate["evidence_count"], candidate["frame_ids"], candidate["state"]) == (3, ["f0", "f1", "f2"], "open")
    assert candidate["opposing_frame_ids"] == ["fanother outcome"]
    assert candidate["proposers"] == ["ann"]
    house.store.replay(["funreplayed"], principal="ann", session_id="desk", now=NOON)
    assert house.candidates()[0]["frame_ids"] == ["f0", "f1", "f2", "funreplayed"]


def test_a_frame_whose_replay_fails_or_whose_cells_were_bound_before_does_not_count(house: House) -> None:
    for number in range(3):
        house.frame(number)
    [first] = house.candidates()
    house.store.bind([{**JAM, "frame_id": "f0 again", "cues": ["noise"], "steps": ["0-1", "0-2"]}], principal="ann", session_id="desk", now=NOON)
    house.store.replay(["f0 again"], principal="ann", session_id="desk", now=NOON)
    assert house.candidates()[0]["candidate_fingerprint"] == first["candidate_fingerprint"]
    [segment] = (house.place / "log").glob("*/cells.*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b'"content":"2 2"', b'"content":"2 9"'))
    house.store.replay(["f2"], principal="ann", session_id="desk", now=NOON)
    assert house.candidates() == []
    reasons = house.table("select frame_id, reason from main.schema_evidence where not is_counted order by frame_id")
    assert reasons == [("f0 again", "repeats_evidence"), ("f2", "replay_failed")]


def test_who_may_not_read_all_the_evidence_sees_no_candidate_and_cannot_approve_it(house: House) -> None:
    house.frame(0, cell={"release_to": ["legal"]})
    house.frame(1)
    house.frame(2)
    assert house.candidates() == []
    unseen = house.store.candidates(Sight(Caller("ann", ("support", "legal"), "inside", True), None, NOON, True))[0]["candidate_fingerprint"]
    assert house.decide("approve", unseen).code == "candidate_unknown"
    # Nor does who may not read across sessions, whatever they ask for.
    local = Sight(replace(house.host.caller("kim"), parties=("support", "legal"), reads_all_sessions=False), None, NOON, True)
    said = signed(house.store.statement("approve", unseen, local, reason="x", party="support"), local.caller, house.key("kim"))
    assert house.store.decide("approve", [said], local, house.host.approvers)[0].code == "candidate_unknown"


steps = st.lists(
    st.tuples(st.sampled_from(["it prints", "it jams again"]), st.sampled_from([True, True, True, False]), st.sampled_from([None, 0.5, 0.9])),
    min_size=6, max_size=8,
)  # fmt: skip


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), steps)
def test_order_of_arrival_batching_and_runs_again_change_nothing(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, told: list[Any]) -> None:
    found = []
    for _ in range(2):
        house = House(tmp_path_factory.mktemp("house"))
        order = data.draw(st.permutations(range(len(told))))
        cut = data.draw(st.integers(0, len(told)))
        other = MemoryStore(house.place)
        for place in [*order[:cut], *order]:  # some of them twice, and by two writers
            outcome, replays, confidence = told[place]
            store = data.draw(st.sampled_from([house.store, other]))
            house.frame(place, outcome=outcome, replays=replays, store=store, cell={"confidence": confidence})
        seen = [{name: value for name, value in one.items() if name != "state"} for one in house.candidates()]
        for one in data.draw(st.permutations(seen)):
            assert house.decide("approve", one["candidate_fingerprint"], now=NOON, store=data.draw(st.sampled_from([house.store, other]))).code is None
        tables = [house.table(f"select * from main.{table} order by all") for table in ("memory_records", "learned_schemas", "int_revoked_lineage")]
        learned = house.table("select cell_id, content, source_ids, confidence, metadata from main.cells where transition = 'consolidate' order by cell_id")
        conflicts = house.table("select from_cell_id, to_cell_id, link_id from main.links where link_type = 'conflict' order by all")
        found.append((seen, tables, learned, conflicts, len(house.store.records())))
        assert house.unlinked() == []
        other.close()
        house.store.close()
    assert found[0] == found[1]


# Approval --------------------------------------------------------------------------------------------------------------------------------


def test_an_approval_makes_a_schema_its_cell_and_a_record_in_one_append(learned: House, monkeypatch: pytest.MonkeyPatch) -> None:
    [candidate] = learned.candidates()
    before = learned.rows()
    appends: list[set[str]] = []
    append = LogWriter.append
    monkeypatch.setattr(LogWriter, "append", lambda writer, rows, at: (appends.append({name for name in rows if rows[name]}), append(writer, rows, at))[1])
    outcome = learned.decide("approve", candidate["candidate_fingerprint"], valid_from=datetime.date(2026, 9, 1))
    assert outcome == Outcome(1, f"schema_{candidate['candidate_fingerprint']}", "written")
    assert [streams for streams in appends if streams] == [{"approvals", "cells"}]
    assert learned.rows() - before == Counter(approvals=1, cells=1)
    [schema] = learned.table("select system, source_ids, approval_id from main.cells where system = 'semantic'")
    assert schema == ("semantic", candidate["source_ids"], f"approve_{candidate['candidate_fingerprint']}")
    [approval] = rows_since(learned.place / "log", None, {}, ["approvals"])
    told = json.loads(approval.event)
    assert (told["principal"], told["role"], told["party"], told["policy_version"]) == ("kim", "knowledge_steward", "support", "2026-01")
    assert (told["evidence_fingerprint"], told["is_signed"]) == (candidate["evidence_fingerprint"], True)
    assert learned.host.approvers and learned.host.approvers.verify("kim", told["signature"], signed_message(told, learned.host.caller("kim")))
    [record] = learned.store.records()
    assert (record["record_id"], record["value"], record["concept_owner"], record["source"]) == (outcome.target_id, "it prints", "support", schema[2])
    assert record["valid_from"] == datetime.date(2026, 9, 1)
    assert learned.candidates()[0]["state"] == "approved"


def test_the_same_fingerprint_twice_is_the_first_object(learned: House) -> None:
    fingerprint = learned.candidates()[0]["candidate_fingerprint"]
    first = learned.decide("approve", fingerprint)
    before, records = learned.rows(), learned.store.records()
    for name in ("kim", "lee"):
        again = learned.decide("approve", fingerprint, name, now=NOON + HOUR)
        assert (again.outcome, again.target_id) == ("held", first.target_id)
    assert learned.rows() == before
    assert learned.store.records() == records
    # Also after more evidence has come: that is another candidate.
    learned.frame(3)
    assert learned.decide("approve", fingerprint, "lee").outcome == "held"
    assert learned.candidates()[0]["candidate_fingerprint"] != fingerprint


def test_two_who_approve_at_once_make_one_object(learned: House) -> None:
    fingerprint = learned.candidates()[0]["candidate_fingerprint"]
    by = [("kim", NOON), ("lee", NOON + HOUR)]
    with MemoryStore(learned.place) as other:
        told = race(learned.store, other, lambda store, which: learned.decide("approve", fingerprint, by[which][0], store=store, now=by[which][1]))
        assert [outcome.outcome for outcome in told] == ["written", "held"]
        assert learned.rows("approvals", "cells") == Counter(approvals=2, cells=8)
        assert other.records() == learned.store.records()
    assert [record["record_id"] for record in learned.store.records()] == [f"schema_{fingerprint}"]
    assert learned.table("select principal from main.approvals") == [("kim",)]


@pytest.mark.parametrize("first", ["approve", "reject"])
def test_of_an_approval_and_a_rejection_at_once_the_approval_counts_and_the_other_is_told(learned: House, first: str) -> None:
    fingerprint = learned.candidates()[0]["candidate_fingerprint"]
    verdicts = ["approve", "reject"] if first == "approve" else ["reject", "approve"]
    with MemoryStore(learned.place) as other:
        told = race(learned.store, other, lambda store, which: learned.decide(verdicts[which], fingerprint, ("kim", "lee")[which], store=store))
        found = dict(zip(verdicts, told, strict=True))
        assert found["approve"].outcome == "written"
        # A rejection that was told before the approval was to be seen has been told so; candidates say what counts.
        assert (found["reject"].outcome, found["reject"].code) == (("refused", "candidate_approved") if first == "approve" else ("written", None))
        assert learned.decide("reject", fingerprint, "lee", store=other).code == "candidate_approved"
        assert learned.decide("approve", fingerprint, store=other).outcome == "held"
    assert learned.candidates()[0]["state"] == "approved"
    assert [record["record_id"] for record in learned.store.records()] == [f"schema_{fingerprint}"]


def test_two_who_approve_opposites_at_once_leave_a_conflict(learned: House) -> None:
    for number in range(3, 6):
        learned.frame(number, outcome="it jams again")
    opposites = [candidate["candidate_fingerprint"] for candidate in learned.candidates()]
    with MemoryStore(learned.place) as other:
        told = race(learned.store, other, lambda store, which: learned.decide("approve", opposites[which], ("kim", "lee")[which], store=store))
    assert [outcome.outcome for outcome in told] == ["written", "written"]
    assert learned.unlinked() == []
    assert learned.rows("decisions") == Counter(decisions=1)


Change = Callable[[House, dict[str, Any]], dict[str, Any]]


def other_evidence(house: House, said: dict[str, Any]) -> dict[str, Any]:
    house.frame("later")
    return said


@pytest.mark.parametrize(
    ("by", "change", "now", "code"),
    [
        ("kim", lambda house, said: {**said, "candidate_fingerprint": "0" * 64, "frame_ids": []}, NOON, "candidate_unknown"),
        (
            "kim",
            lambda house, said: {name: value for name, value in said.items() if name != "frame_ids"} | {"candidate_fingerprint": "0"},
            NOON,
            "candidate_unknown",
        ),
        ("kim", other_evidence, NOON, "evidence_changed"),
        ("kim", lambda house, said: {**said, "candidate_fingerprint": said["candidate_fingerprint"][:-1] + "x"}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "frame_ids": ["f0", "f1"]}, NOON, "fingerprint_mismatch"),
        # so that nobody who bound a frame goes unnoticed
        ("ann", lambda house, said: {name: value for name, value in said.items() if name != "frame_ids"}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "trace_ids": ["f0"]}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "kind": "skill"}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "frame_ids": ["f0", "f1", "f1", "f2"]}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "frame_ids": ["f0", "f1", "nowhere"]}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: said, NOON + datetime.timedelta(days=8), "approval_expired"),
        ("kim", lambda house, said: said, NOON - HOUR, "approval_expired"),
        ("bob", lambda house, said: said, NOON, "role_not_allowed"),
        ("ann", lambda house, said: said, NOON, "proposer_approves"),
        ("kim", lambda house, said: {**said, "policy_version": "2025-01"}, NOON, "policy_not_in_force"),
        ("kim", lambda house, said: {**said, "reason": "  "}, NOON, "reason_missing"),
        ("kim", lambda house, said: {**said, "weather": "wet"}, NOON, "field_unknown"),
        ("bob", lambda house, said: {**said, "role": "knowledge_steward"}, NOON, "field_unknown"),
        ("kim", lambda house, said: {**said, "is_signed": True}, NOON, "field_unknown"),
        ("kim", lambda house, said: {**said, "frame_ids": "f0"}, NOON, "field_malformed"),
        ("kim", lambda house, said: {**said, "valid_from": "soon"}, NOON, "field_malformed"),
        ("kim", lambda house, said: {**said, "party": "legal"}, NOON, "signature_invalid"),
        ("kim", lambda house, said: {**said, "verdict": "reject"}, NOON, "signature_invalid"),
        ("kim", lambda house, said: {**said, "cell_id": "0-1"}, NOON, "signature_invalid"),
    ],
)
def test_what_is_refused_changes_nothing_but_the_log_of_refusals(learned: House, by: str, change: Change, now: datetime.datetime, code: str) -> None:
    sight = learned.sight(by)
    said = learned.store.statement("approve", learned.candidates()[0]["candidate_fingerprint"], sight, reason="seen three times")
    statement = signed(change(learned, said), sight.caller, learned.key(by))
    before = learned.rows()
    [outcome] = learned.store.decide("approve", [statement], learned.sight(by, now), learned.host.approvers)
    assert (outcome.outcome, outcome.code) == ("refused", code)
    assert learned.rows() - before == Counter(refusals=1)
    assert learned.store.records() == []


@pytest.mark.parametrize(
    "forge",
    [
        lambda house, said: {**said, "signature": signed(said, house.host.caller("kim"), house.key("lee"))["signature"]},
        lambda house, said: {name: value for name, value in said.items() if name != "signature"},
        lambda house, said: {**said, "signature": "no hexadecimal"},
        lambda house, said: {**said, "signature": 5},
        lambda house, said: {**said, "reason": "another reason"},
        lambda house, said: {**said, "valid_from": "2020-01-01"},
        lambda house, said: {**said, "approved_at": "2026-10-01T11:00:00Z"},
    ],
)
def test_a_statement_that_the_principal_has_not_signed_so_is_refused(learned: House, forge: Change) -> None:
    sight = learned.sight()
    said = learned.store.statement("approve", learned.candidates()[0]["candidate_fingerprint"], sight, reason="seen three times")
    [outcome] = learned.store.decide("approve", [forge(learned, signed(said, sight.caller, learned.key("kim")))], sight, learned.host.approvers)
    assert (outcome.code, outcome.guard) == ("signature_invalid", "integrity")
    # Without a public key in the host file nobody has signed anything.
    [outcome] = learned.store.decide("approve", [signed(said, sight.caller, learned.key("kim"))], sight, None)
    assert outcome.code == "signature_invalid"


def test_a_semantic_cell_is_never_written_without_an_approval(house: House) -> None:
    told = {"system": "semantic", "content": "x", "source": "y"}
    for more in ({}, {"approval_id": "approve_x"}):
        [outcome] = house.store.write([{**told, **more}], principal="kim", now=NOON)
        assert outcome.outcome == "refused"


def test_a_candidate_that_was_rejected_is_not_approved_and_other_evidence_makes_another(learned: House) -> None:
    fingerprint = learned.candidates()[0]["candidate_fingerprint"]
    assert learned.decide("reject", fingerprint, "lee", reason="one printer").outcome == "written"
    assert learned.candidates()[0]["state"] == "rejected"
    assert learned.decide("approve", fingerprint).code == "candidate_rejected"
    assert learned.decide("reject", fingerprint).outcome == "held"
    learned.frame(3)
    [renewed] = learned.candidates()
    assert renewed["state"] == "open"
    assert learned.decide("approve", renewed["candidate_fingerprint"]).outcome == "written"
    assert learned.decide("reject", renewed["candidate_fingerprint"]).code == "candidate_approved"


def test_a_schema_of_more_evidence_supersedes_the_one_of_less(learned: House) -> None:
    first = learned.decide("approve", learned.candidates()[0]["candidate_fingerprint"])
    learned.frame(3)
    second = learned.decide("approve", learned.candidates()[0]["candidate_fingerprint"], "lee", now=NOON + HOUR)
    assert [record["supersedes"] for record in learned.store.records()] == [[], [first.target_id]]
    assert learned.store.records()[1]["record_id"] == second.target_id
    assert learned.table("select party_id, recorded_at from main.memory_ownerships") == [("support", NOON.replace(tzinfo=None))]


# What comes of it ------------------------------------------------------------------------------------------------------------------------


def test_opposite_outcomes_are_joined_by_a_conflict_and_both_stay(learned: House) -> None:
    for number in range(3, 6):
        learned.frame(number, outcome="it jams again")
    one, two = (learned.decide("approve", candidate["candidate_fingerprint"]) for candidate in learned.candidates())
    conflict = learned.table("select from_cell_id, to_cell_id, transition from main.links where link_type = 'conflict'")
    assert conflict == [(*sorted([str(one.target_id), str(two.target_id)]), "consolidate")]
    assert {record["value"] for record in learned.store.records()} == {"it prints", "it jams again"}
    assert len({record["concept"] for record in learned.store.records()}) == 1
    [decision] = rows_since(learned.place / "log", None, {}, ["decisions"])
    told = json.loads(decision.event)
    assert (told["outcome"], told["policy_version"], told["subject_ids"]) == ("both_stay", "2026-01", list(conflict[0][:2]))
    # A record is read as one and not recalled beside it; the evidence is.
    assert {cell["system"] for cell in learned.store.recall("0 prints", learned.sight("ann"))} == {"episodic"}


def test_two_opposites_in_one_batch_conflict_too(learned: House) -> None:
    for number in range(3, 6):
        learned.frame(number, outcome="it jams again")
    sight = learned.sight()
    said = [learned.store.statement("approve", one["candidate_fingerprint"], sight, reason="seen") for one in learned.candidates()]
    before = learned.rows()
    outcomes = learned.store.decide("approve", [signed(one, sight.caller, learned.key("kim")) for one in said], sight, learned.host.approvers)
    assert [outcome.outcome for outcome in outcomes] == ["written", "written"]
    assert learned.rows() - before == Counter(approvals=2, cells=2, links=1, decisions=1)


def test_revoking_withdraws_the_record_and_puts_in_doubt_what_came_of_it(learned: House) -> None:
    schema = str(learned.decide("approve", learned.candidates()[0]["candidate_fingerprint"]).target_id)
    who: dict[str, Any] = {"principal": "ann", "session_id": "desk", "now": NOON}
    [child] = learned.store.write([{"system": "episodic", "content": "as the schema says", "source_ids": [schema]}], **who)
    [grandchild] = learned.store.write([{"system": "episodic", "content": "so it was done", "source_ids": [child.target_id]}], **who)
    before = learned.rows()
    later = NOON + HOUR
    assert learned.decide("revoke", schema, "lee", now=later, reason="it was the paper").outcome == "written"
    assert learned.rows() - before == Counter(approvals=1)
    assert learned.decide("revoke", schema, "kim", now=later).outcome == "held"
    assert learned.decide("approve", learned.candidates()[0]["candidate_fingerprint"], now=later).code == "candidate_revoked"
    withdrawal = learned.store.records()[-1]
    assert (withdrawal["supersedes"], withdrawal["withdrawal"]) == ([schema], "it was the paper")
    # reads as of an instant: shown by each cell's state
    state = {name: learned.store.show(name, learned.sight("ann", later)) for name in (schema, str(child.target_id), str(grandchild.target_id), "0-1")}
    assert [cell["state"] for cell in state.values() if cell] == ["in_doubt", "in_doubt", "in_doubt", "consolidated"]
    learned.store.annotate([{"target_id": child.target_id, "kind": "trust", "reason": "seen anew"}], **{**who, "now": later + HOUR})
    cleared = learned.store.show(str(child.target_id), learned.sight("ann", later + HOUR))
    assert cleared and cleared["state"] != "in_doubt"


def test_only_the_party_that_owns_the_concept_revokes_its_schemas(learned: House) -> None:
    schema = str(learned.decide("approve", learned.candidates()[0]["candidate_fingerprint"]).target_id)
    assert learned.decide("revoke", schema, "max", reason="x").code == "owner_elsewhere"
    assert learned.decide("revoke", schema, "lee", reason="x").outcome == "written"


@pytest.mark.parametrize("verdict", ["reject", "revoke"])
@pytest.mark.parametrize(
    ("by", "change", "now", "code"),
    [
        ("bob", {}, NOON, "role_not_allowed"),
        ("kim", {"policy_version": "2025-01"}, NOON, "policy_not_in_force"),
        ("kim", {}, NOON + datetime.timedelta(days=8), "approval_expired"),
        ("kim", {"reason": " "}, NOON, "reason_missing"),
        ("kim", {"weather": "wet"}, NOON, "field_unknown"),
        ("kim", {"role": "knowledge_steward"}, NOON, "field_unknown"),
        ("kim", {"kind": 5}, NOON, "field_malformed"),
        ("kim", {"signature": "00"}, NOON, "signature_invalid"),
        ("kim", {"reason": "x" * 33_554_432}, NOON, "event_too_long"),
    ],
)
def test_a_rejection_and_a_revocation_are_asked_what_an_approval_is(
    learned: House, verdict: str, by: str, change: dict[str, Any], now: datetime.datetime, code: str
) -> None:
    target = learned.candidates()[0]["candidate_fingerprint"]
    if verdict == "revoke":
        target = learned.decide("approve", target).target_id
    sight = learned.sight(by)
    said = learned.store.statement(verdict, target, sight, reason="x") | {name: value for name, value in change.items() if name != "signature"}
    statement = signed(said, sight.caller, learned.key(by)) | {name: value for name, value in change.items() if name == "signature"}
    before = learned.rows()
    [outcome] = learned.store.decide(verdict, [statement], learned.sight(by, now), learned.host.approvers)
    assert (outcome.outcome, outcome.code) == ("refused", code)
    assert learned.rows() - before == Counter(refusals=1)


@pytest.mark.parametrize(("target", "code"), [("nowhere", "cell_unknown"), ("0-1", "not_learned")])
def test_what_was_not_learned_cannot_be_revoked(learned: House, target: str, code: str) -> None:
    before = learned.rows()
    assert learned.decide("revoke", target, reason="x").code == code
    assert learned.rows() - before == Counter(refusals=1)


@pytest.mark.parametrize(
    ("evidence", "derived"),
    [
        ([{"confidence": 0.9}, {"confidence": 0.4}, {"confidence": 0.7}], (0.4, None, [])),
        ([{"confidence": 0.9}, {}, {"confidence": 0.7}], (None, None, [])),
        ([{"release_to": ["support", "legal"]}, {"release_to": ["support"]}, {"release_to": ["board", "support"]}], (None, None, ["support"])),
        ([{"release_to": ["support"]}, {}, {}], (None, None, ["support"])),
        ([{"release_to": ["support"]}, {"release_to": ["legal"]}, {}], (None, "restricted", [])),
        (
            [{"classification": "internal", "release_to": ["support"]}, {"classification": "secret", "release_to": ["support"]}, {}],
            (None, "secret", ["support"]),
        ),
        ([{"classification": "secret"}, {"classification": "for my eyes only"}, {"classification": "internal"}], (None, "for my eyes only", [])),
    ],
)
def test_what_is_learned_is_no_surer_and_no_wider_than_its_evidence(house: House, evidence: list[dict[str, Any]], derived: tuple[Any, ...]) -> None:
    for number, cell in enumerate(evidence):
        house.frame(number, cell=cell)
    everybody = Sight(Caller("ann", ("support", "legal", "board"), "inside", True), None, NOON, True)
    [candidate] = house.store.candidates(everybody)
    assert (candidate["confidence"], candidate["classification"], candidate["release_to"]) == derived


# Command line ----------------------------------------------------------------------------------------------------------------------------


def test_the_commands_list_approve_reject_and_revoke(learned: House, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--memory", str(learned.place), "--host", str(learned.folder / "host.yml"), "--now", "2026-10-01T12:00:00", "--principal"]
    assert main(["candidates", *common, "kim"]) == 1
    assert "no candidate" in capsys.readouterr().out
    assert main(["candidates", "--global", "--json", *common, "kim"]) == 0
    fingerprint = json.loads(capsys.readouterr().out)["candidate_fingerprint"]
    mine = ["--reason", "seen three times", "--key", str(learned.folder / "kim.pem"), *common, "kim"]
    assert main(["approve", fingerprint, "--key", str(learned.folder / "ann.pem"), "--reason", "mine", *common, "ann"]) == 1
    assert "refused: proposer_approves (policy)" in capsys.readouterr().err
    assert main(["approve", fingerprint, *mine, "--from", "2026-09-01"]) == 0
    assert capsys.readouterr().out == f"approved  schema_{fingerprint}\n"
    assert main(["approve", fingerprint, *mine]) == 0
    assert capsys.readouterr().out == f"held  schema_{fingerprint}\n"
    assert main(["reject", fingerprint, *mine, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["code"] == "candidate_approved"
    assert main(["memory", "records", "--memory", str(learned.place)]) == 0
    assert json.loads(capsys.readouterr().out)["valid_from"] == "2026-09-01"
    assert main(["revoke", f"schema_{fingerprint}", *mine]) == 0
    assert main(["candidates", "--global", *common, "kim"]) == 1
    capsys.readouterr()
    assert main(["candidates", "--global", "--all", *common, "kim"]) == 0
    assert capsys.readouterr().out.startswith(f"{fingerprint}  revoked\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--key", "nowhere.pem"], "'kim': '"),
        (["--key", "host.yml"], "is no unencrypted private key in PEM form"),
        (["--key", "kim.pem", "--from", "soon"], "--from: 'soon' is no date"),
        (["--key", "kim.pem", "--party", "legal"], "does not speak for 'legal'"),
    ],
)
def test_a_bad_argument_is_one_line(
    learned: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(learned.folder)
    assert main(["approve", "0" * 64, "--reason", "x", "--host", "host.yml", "--principal", "kim", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert learned.rows("approvals", "refusals") == Counter()


@pytest.mark.parametrize("word", ["role", "public_file"])
def test_the_host_file_names_roles_and_keys_as_texts(tmp_path: Path, word: str) -> None:
    (tmp_path / "host.yml").write_text(json.dumps({"callers": {"kim": {word: ["x"]}}}))
    with pytest.raises(InputError, match=f"{word} is a text"):
        read_host(str(tmp_path / "host.yml"))


def dbt(verb: str, place: Path, folder: Path, *selected: str) -> subprocess.CompletedProcess[str]:
    variables = json.dumps({"memory": {"log": str(place / "log")}})
    kinds = [] if verb == "run" else ["--exclude-resource-type", "unit_test", "--indirect-selection", "cautious"]
    return dbt_harness.dbt(folder, verb, "--select", *selected, *kinds, "--vars", variables)


def test_a_build_derives_the_same_tables_and_fails_on_what_nobody_approved(learned: House, tmp_path: Path) -> None:
    for number in range(3, 6):
        learned.frame(number, outcome="it jams again", cell={"release_to": ["support"], "confidence": 0.5})
    learned.runs(5, 2, source_ids=["3-1"], release_to=["support"], confidence=0.4)
    learned.trace("said", steps=None, model_output="done")
    one, _, _ = (learned.decide("approve", candidate["candidate_fingerprint"]) for candidate in learned.candidates())
    learned.frame(6)
    learned.decide("revoke", str(one.target_id), now=NOON + HOUR, reason="no")
    change = {"kind": "record", "store_id": "s", "concept": "c", "value": "v", "valid_from": "2026-11-01", "supersedes": ["r"], "reason": "x"}
    learned.store.propose([change], Sight(learned.host.caller("lee"), "s", NOON))
    traced = learned.store.trace(f"revoke_{one.target_id}", learned.sight())
    assert traced
    tables = ("memory_records", "approvals", "learned_schemas", "schema_evidence", "traces", "skill_evidence", "learned_skills", "skill_lineage")
    expected = [learned.table(f"select * from main.{table} order by all") for table in tables]
    folder = tmp_path / "dbt"
    folder.mkdir()
    built = dbt("build", learned.place, folder, "+path:models/memory", "path:seeds/memory", "path:tests/memory")
    assert built.returncode == 0, built.stdout + built.stderr
    with duckdb.connect(str(folder / dbt_harness.DATABASE), read_only=True) as connection:
        assert [connection.execute(f"select * from main.{table} order by all").fetchall() for table in tables] == expected
        assert connection.execute("select proposal_id, valid_from, supersedes from proposals").fetchall() == learned.table(
            "select proposal_id, valid_from, supersedes from main.proposals"
        )
        # A build and a reader have one lineage.
        edges = set(connection.execute("select from_kind, from_id, relation, role, to_kind, to_id, recorded_at from lineage_edges").fetchall())
        walked = {(thing.kind, thing.id, edge.relation, edge.role, edge.kind, edge.id, edge.at) for thing in traced.things for edge in thing.edges}
        assert walked and walked <= edges
        assert connection.execute("select state, count(*) from schema_candidates group by state order by state").fetchall() == [("open", 1), ("revoked", 1)]
        found = connection.execute("select state, rate_low, confidence, release_to, source_ids from skill_candidates").fetchall()
        assert found == [("approved", 0.358929, 0.4, ["support"], ["3-1"])]
    # What no guard let in: an approval that nobody signed, of the one who bound the frames, and a cell without one that is surer than its source.
    told = {"recorded_at": "2026-10-01T13:00:00.000000Z", "principal": "ann", "transition": "consolidate", "fingerprint": "f"}
    forged = {
        **told, "approval_id": "approve_x", "verdict": "approve", "kind": "schema", "cell_id": "x", "candidate_fingerprint": "x", "frame_ids": ["f0"],
        "approved_at": "2026-10-01T13:00:00.000000Z", "reason": "x", "role": "clerk", "party": "support", "policy_version": "2026-01", "signature": "x",
        "is_signed": False,
    }  # fmt: skip
    # Nor a skill that leaves out what failed, and whose evidence is what a model said.
    claimed = {**forged, "approval_id": "approve_z", "kind": "skill", "cell_id": "z", "candidate_fingerprint": "z", "frame_ids": [], "trace_ids": ["tsaid"]}
    learned_so = {
        "cell_id": "z",
        "system": "procedural",
        "content": "z",
        "source_ids": ["0-1"],
        "approval_id": "approve_z",
        "metadata": {"success_count": 1, "failure_count": 0},
    }
    untraced = {**told, **learned_so, "created_at": told["recorded_at"]}
    cell = {**told, "cell_id": "y", "system": "semantic", "content": "y", "source_ids": ["0-1", "3-1"], "confidence": 0.9, "created_at": told["recorded_at"]}
    with LogWriter(learned.place / "log") as writer:
        writer.append(
            {"approvals": [canonical_event(forged), canonical_event(claimed)], "cells": [canonical_event(cell), canonical_event(untraced)]},
            "2026-10-01T13:00:00Z",
        )
    assert dbt("run", learned.place, folder, "+path:models/memory/learning", "+path:models/memory/skills", "live_cells").returncode == 0
    tested = dbt("test", learned.place, folder, "path:models/memory/learning", "path:tests/memory")
    assert tested.returncode == 1
    for test in (
        "is_empty_approval_refusals_",
        "what_was_learned_leads_back_to_one_approval",
        "nothing_learned_is_surer_or_wider_than_its_evidence",
        "a_skill_comes_of_traces_and_keeps_those_that_failed",
    ):
        assert f"Failure in test {test}" in tested.stdout


def test_an_attached_memory_answers_by_the_rules_of_records(learned: House, tmp_path: Path) -> None:
    for number in range(3, 6):
        learned.frame(number, outcome="it jams again")
    ones = [str(learned.decide("approve", candidate["candidate_fingerprint"]).target_id) for candidate in learned.candidates()]
    later = NOON + datetime.timedelta(days=9)
    assert learned.decide("revoke", ones[0], now=later, reason="it was the paper", valid_from=later.date()).outcome == "written"
    text = (dbt_harness.ROOT / "docs/learning.md").read_text(encoding="utf-8")
    variables = next(yaml.safe_load(block)["vars"] for block in re.findall(r"```yaml\n(.*?)```", text, flags=re.S) if block.startswith("vars:"))
    variables["memory"]["log"] = str(learned.place / "log")
    folder = tmp_path / "dbt"
    folder.mkdir()
    built = dbt_harness.dbt(folder, "build", "--select", "+governed_answers", "--exclude-resource-type", "test", "unit_test", "--vars", json.dumps(variables))
    assert built.returncode == 0, built.stdout + built.stderr
    with duckdb.connect(str(folder / dbt_harness.DATABASE), read_only=True) as connection:
        ask = "select outcome, record_id, value, reasons from governed_answers($day::date, ['support'], 'inside')"
        assert connection.execute(ask, {"day": "2026-10-09"}).fetchall() == [("abstained", None, None, ["conflict_unresolved"])]
        assert connection.execute(ask, {"day": "2026-10-10"}).fetchall() == [("answered", ones[1], "it prints", ["superseded"])]


def test_the_example_of_the_docs_says_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = (dbt_harness.ROOT / "docs/learning.md").read_text(encoding="utf-8")
    parts = re.findall(r"```python\n(.*?)```.*?```console\n(.*?)```", text, flags=re.S)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GMEM_MEMORY", raising=False)
    known: dict[str, Any] = {}
    commands = 0
    for program, session in parts:
        exec(program, known)
        commands += run_as_printed(session, capsys)
    assert (len(parts), commands) == (2, 14)


def run_as_printed(session: str, capsys: pytest.CaptureFixture[str]) -> int:
    """Run the commands of a session of the docs, each of which is to print what stands under it; how many there were."""
    asked = re.findall(r"^\$ gmem (.*)\n((?:(?!\$ ).*\n)*)", session, flags=re.M)
    for command, printed in asked:
        arguments, _, file = command.partition(" > ")
        main(shlex.split(arguments))
        out = capsys.readouterr().out
        if file:
            Path(file).write_text(out)
        else:
            assert out == printed
    return len(asked)
