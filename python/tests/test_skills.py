"""Skills: execution traces make candidates, a signature makes a procedural cell, and what failed stays beside what worked (M2, M3, M7, M8, M14)."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learning_houses import HOUR, NOON, RUN, House, call

from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.log import LogWriter, rows_since
from governed_memory.memory import MemoryStore, Outcome, Sight
from governed_memory.memory.approvals import signed

TWO_CALLS = [call("look", "x"), call("restart", "x")]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def able(house: House) -> House:
    """A house with a skill that worked in five runs of seven."""
    house.runs(5, 2)
    return house


def fingerprint(house: House) -> str:
    [candidate] = house.candidates()
    return str(candidate["candidate_fingerprint"])


def reasons(house: House) -> dict[str, str]:
    return dict(house.table("select trace_id, reason from main.skill_evidence where not is_counted"))


# Candidates ------------------------------------------------------------------------------------------------------------------------------


def test_successes_give_conditions_and_failures_give_limits_and_counter_examples(house: House) -> None:
    for number in range(4):
        house.trace(number, conditions=["printer is on", "night" if number else "day"])
    assert house.candidates() == []
    house.trace(4, conditions=["night", "printer is on"])
    house.trace(5, succeeded=False, conditions=["printer is on", "tray is empty"], failure_reason="no paper")
    house.trace(6, succeeded=False, conditions=["night"], failure_reason="no power", by="bob")
    [candidate] = house.candidates()
    assert (candidate["kind"], candidate["skill"], candidate["tools"], candidate["state"]) == ("skill", "free the printer", ["look", "restart"], "open")
    assert (candidate["evidence_count"], candidate["success_count"], candidate["failure_count"]) == (7, 5, 2)
    assert candidate["success_conditions"] == ["printer is on"]
    assert candidate["failure_conditions"] == ["tray is empty"]
    assert candidate["limits"] == ["no paper", "no power"]
    assert candidate["counter_example_ids"] == ["t5", "t6"]
    assert candidate["trace_ids"] == [f"t{number}" for number in range(7)]
    assert candidate["proposers"] == ["ann", "bob"]


@pytest.mark.parametrize(
    ("successes", "failures", "bounds"),
    # by the formula of Wilson's interval, worked out elsewhere
    [(5, 0, (0.565509, 1.0)), (5, 2, (0.358929, 0.917783)), (5, 3, None), (6, 3, (0.354197, 0.879418)), (4, 0, None), (0, 5, None)],
)
def test_the_policy_asks_for_successes_and_for_a_rate_that_is_sure_enough(
    house: House, successes: int, failures: int, bounds: tuple[float, float] | None
) -> None:
    house.runs(successes, failures)
    assert [(one["rate_low"], one["rate_high"]) for one in house.candidates()] == ([bounds] if bounds else [])


def test_what_a_model_says_that_it_did_makes_no_candidate(house: House) -> None:
    for number in range(9):
        house.trace(number, steps=None, model_output="I have restarted it and it works.")
    assert house.candidates() == []
    assert set(reasons(house).values()) == {"model_output_only"}


def test_a_run_told_twice_counts_once_whoever_tells_it_and_another_run_counts(house: House) -> None:
    house.runs(5)
    first = fingerprint(house)
    run = {"steps": [call("look", "4"), call("restart", "4")]}
    house.trace("again", **run, by="bob", session="floor")
    assert reasons(house) == {"tagain": "repeats_evidence"}
    assert fingerprint(house) == first
    for name, change in {"other runner": {"executor": "runner 2"}, "later": {"ended_at": NOON}, "failed": {"succeeded": False, "failure_reason": "x"}}.items():
        house.trace(name, **{**run, **change})
    assert reasons(house) == {"tagain": "repeats_evidence"}
    assert house.candidates()[0]["evidence_count"] == 8


def test_a_success_that_ends_with_a_step_that_failed_is_none(house: House) -> None:
    house.runs(4)
    house.trace(4, steps=[call("look", "4"), call("restart", "4", succeeded=False)])
    assert house.candidates() == []
    assert reasons(house) == {"t4": "success_unsupported"}
    # one that recovers is
    house.trace(5, steps=[call("look", "5", succeeded=False), call("restart", "5")])
    assert house.candidates()[0]["success_count"] == 5


def test_other_tools_another_order_and_another_goal_are_other_skills(house: House) -> None:
    house.runs(4)
    house.trace("reordered", steps=[call("restart", "4"), call("look", "4")])
    house.trace("longer", steps=[*TWO_CALLS, call("look", "4")])
    house.trace("another goal", skill="warm the printer up")
    assert house.candidates() == []


def test_a_run_that_broke_off_counts_against_the_way_that_it_had_planned(house: House) -> None:
    house.runs(5)
    broken_off = {"succeeded": False, "failure_reason": "no printer", "steps": [call("look", "9", succeeded=False)]}
    house.trace("unplanned", **broken_off)
    assert house.candidates()[0]["failure_count"] == 0
    house.trace("planned", **broken_off, planned_tools=["look", "restart"])
    assert (house.candidates()[0]["counter_example_ids"], house.candidates()[0]["limits"]) == (["tplanned"], ["no printer"])


def test_who_may_not_read_all_the_evidence_sees_no_candidate_and_cannot_approve_it(house: House) -> None:
    house.runs(4)
    house.trace(4, release_to=["legal"])
    assert house.candidates() == []
    everybody = Sight(Caller("ann", ("support", "legal"), "inside", True), None, NOON, True)
    [unseen] = house.store.candidates(everybody)
    assert unseen["release_to"] == ["legal"]
    assert house.decide("approve", unseen["candidate_fingerprint"]).code == "candidate_unknown"
    local = Sight(Caller("kim", ("support", "legal"), "inside", False), None, NOON)
    assert house.store.candidates(local) == []
    # a cell that a trace names counts like the trace
    who: dict[str, Any] = {"principal": "ann", "session_id": "desk", "now": NOON}
    house.store.write([{"cell_id": "c", "system": "episodic", "content": "x", "source": "log", "release_to": ["board"]}], **who)
    for number in range(5):
        house.trace(f"other {number}", skill="another", source_ids=["c"])
    assert house.candidates() == []


@pytest.mark.parametrize(
    ("cell", "traces", "derived"),
    [
        ({"confidence": 0.8}, [{"confidence": 0.9}] * 5, (0.8, None, [])),
        ({"confidence": 0.8}, [{"confidence": 0.9}] * 4 + [{"confidence": 0.3}], (0.3, None, [])),
        ({"confidence": 0.8}, [{"confidence": 0.9}] * 4 + [{}], (None, None, [])),
        ({"release_to": ["support", "legal"]}, [{"release_to": ["support"]}] + [{}] * 4, (None, None, ["support"])),
        ({"release_to": ["legal"]}, [{"release_to": ["support"]}] + [{}] * 4, (None, "restricted", [])),
        ({"classification": "internal"}, [{"classification": "secret"}] + [{}] * 4, (None, "secret", [])),
    ],
)
def test_a_skill_is_no_surer_and_no_wider_than_its_traces_and_their_cells(
    house: House, cell: dict[str, Any], traces: list[dict[str, Any]], derived: tuple[Any, ...]
) -> None:
    who: dict[str, Any] = {"principal": "ann", "session_id": "desk", "now": NOON}
    # of the name of a trace, which is another thing
    house.store.write([{"cell_id": "t0", "system": "episodic", "content": "x", "source": "log", **cell}], **who)
    for number, trace in enumerate(traces):
        house.trace(number, **trace, source_ids=["t0"])
    everybody = Sight(Caller("ann", ("support", "legal"), "inside", True), None, NOON, True)
    [candidate] = house.store.candidates(everybody)
    assert (candidate["confidence"], candidate["classification"], candidate["release_to"]) == derived
    assert candidate["source_ids"] == ["t0"]


runs = st.lists(
    st.tuples(st.sampled_from([True, True, True, True, False]), st.sampled_from(["look", "look", "look", None]), st.sampled_from([None, 0.5])),
    min_size=8, max_size=10,
)  # fmt: skip


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), runs)
def test_order_of_arrival_batching_and_runs_again_change_nothing(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, told: list[Any]) -> None:
    found = []
    for _ in range(2):
        house = House(tmp_path_factory.mktemp("house"))
        other = MemoryStore(house.place)
        order = data.draw(st.permutations(range(len(told))))
        cut = data.draw(st.integers(0, len(told)))
        waiting = [*order[:cut], *order]  # some of them twice, and by two writers
        while waiting:
            size = data.draw(st.integers(1, len(waiting)))
            batch = []
            for place in waiting[:size]:
                succeeded, tool, confidence = told[place]
                steps = [call(tool, str(place), succeeded=succeeded)] if tool else None
                batch.append({**RUN, "ended_at": NOON, "succeeded": succeeded, "steps": steps, "confidence": confidence, "model_output": f"{place}: done"})
            outcomes = data.draw(st.sampled_from([house.store, other])).record_traces(batch, principal="ann", session_id="desk", now=NOON)
            assert {outcome.outcome for outcome in outcomes} <= {"written", "held"}
            waiting = waiting[size:]
        seen = [{name: value for name, value in one.items() if name != "state"} for one in house.candidates()]
        for one in data.draw(st.permutations(seen)):
            assert house.decide("approve", one["candidate_fingerprint"], store=data.draw(st.sampled_from([house.store, other]))).code is None
        tables = [house.table(f"select * from main.{table} order by all") for table in ("skill_lineage", "learned_skills")]
        cells = house.table("select cell_id, content, source_ids, confidence, metadata from main.cells order by cell_id")
        found.append((seen, reasons(house), tables, cells))
        other.close()
        house.store.close()
    assert found[0] == found[1]


def test_what_went_into_a_call_is_kept_as_a_hash(house: House) -> None:
    step = {"tool": "look", "inputs": {"door": 4, "code": "swordfish"}, "result": ["open"], "succeeded": True}
    house.trace("raw", steps=[step])
    [row] = rows_since(house.place / "log", None, {}, ["traces"])
    assert b"swordfish" not in row.event
    [hashed] = json.loads(row.event)["steps"]
    # told as hashes, it is the same trace
    [outcome] = house.store.record_traces(
        [{**RUN, "trace_id": "traw", "ended_at": NOON - HOUR, "succeeded": True, "steps": [hashed]}], principal="ann", session_id="desk", now=NOON
    )
    assert outcome.outcome == "held"
    [refused] = house.store.record_traces([{**RUN, "ended_at": NOON, "succeeded": True, "steps": [step | hashed]}], principal="ann", session_id="desk")
    assert refused.code == "field_unknown"
    with pytest.raises(InputError, match=r"^item 1: an event is a JSON object"):
        house.store.record_traces([{"steps": [{"tool": "x", "inputs": float("nan")}]}], principal="ann", session_id="desk")


# Approval --------------------------------------------------------------------------------------------------------------------------------


def test_an_approval_makes_a_procedural_cell_in_one_append_with_what_failed_in_its_lineage(able: House, monkeypatch: pytest.MonkeyPatch) -> None:
    name = fingerprint(able)
    before = able.rows()
    appends: list[set[str]] = []
    append = LogWriter.append
    monkeypatch.setattr(LogWriter, "append", lambda writer, rows, at: (appends.append({name for name in rows if rows[name]}), append(writer, rows, at))[1])
    outcome = able.decide("approve", name)
    assert outcome == Outcome(1, f"skill_{name}", "written")
    assert [streams for streams in appends if streams] == [{"approvals", "cells"}]
    assert able.rows() - before == Counter(approvals=1, cells=1)
    assert able.table("select system, approval_id, source from main.cells") == [("procedural", f"approve_{name}", "7 execution traces")]
    [(text, metadata)] = able.table("select content, metadata from main.cells")
    assert text == (
        "free the printer: look > restart. Where it worked: printer is on. It worked in 5 of 7 runs (between 36% and 92%). It failed because: no power"
    )
    assert (json.loads(metadata)["success_count"], json.loads(metadata)["counter_example_ids"]) == (5, ["t5", "t6"])
    lineage = able.table("select trace_id, succeeded from main.skill_lineage order by trace_id")
    assert lineage == [(f"t{number}", number < 5) for number in range(7)]
    [approval] = rows_since(able.place / "log", None, {}, ["approvals"])
    told = json.loads(approval.event)
    assert (told["kind"], told["trace_ids"], told["is_signed"]) == ("skill", [f"t{number}" for number in range(7)], True)
    assert "frame_ids" not in told
    assert able.candidates()[0]["state"] == "approved"
    # A skill is no record; it is recalled, from any session.
    assert able.store.records() == []
    assert [cell["cell_id"] for cell in able.store.recall("free printer", Sight(able.host.caller("max"), "elsewhere", NOON))] == [f"skill_{name}"]


def test_a_skill_is_recalled_by_those_alone_to_whom_its_evidence_was_released(house: House) -> None:
    house.runs(5, release_to=["support"])
    house.decide("approve", fingerprint(house))
    found = {name: house.store.recall("free printer", Sight(house.host.caller(name), "elsewhere", NOON)) for name in ("lee", "max")}
    assert {name: len(cells) for name, cells in found.items()} == {"lee": 1, "max": 0}


def test_the_same_fingerprint_twice_is_the_first_object(able: House) -> None:
    name = fingerprint(able)
    first = able.decide("approve", name)
    before = able.rows()
    for who in ("kim", "lee"):
        again = able.decide("approve", name, who, now=NOON + HOUR)
        assert (again.outcome, again.target_id) == ("held", first.target_id)
    assert able.rows() == before
    # Also after more evidence has come: that is another candidate.
    able.trace(7)
    assert able.decide("approve", name, "lee").outcome == "held"
    assert fingerprint(able) != name


def test_two_who_approve_at_once_make_one_object(able: House, monkeypatch: pytest.MonkeyPatch) -> None:
    name = fingerprint(able)
    with MemoryStore(able.place) as other:
        with monkeypatch.context() as patched:
            # As if each had read before the other wrote.
            patched.setattr(other._projection, "read_others", lambda: None)
            assert able.decide("approve", name).outcome == "written"
            assert able.decide("approve", name, "lee", store=other, now=NOON + HOUR).outcome == "written"
        assert able.rows("approvals", "cells") == Counter(approvals=2, cells=2)
    assert able.table("select cell_id, approved_by from main.learned_skills") == [(f"skill_{name}", "kim")]


Change = Callable[[House, dict[str, Any]], dict[str, Any]]


def without(name: str) -> Change:
    return lambda house, said: {field: value for field, value in said.items() if field != name}


def other_evidence(house: House, said: dict[str, Any]) -> dict[str, Any]:
    house.trace("later")
    return said


@pytest.mark.parametrize(
    ("by", "change", "now", "code"),
    [
        ("kim", lambda house, said: {**said, "candidate_fingerprint": "0" * 64, "trace_ids": []}, NOON, "candidate_unknown"),
        ("kim", other_evidence, NOON, "evidence_changed"),
        ("kim", lambda house, said: {**said, "candidate_fingerprint": said["candidate_fingerprint"][:-1] + "x"}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "trace_ids": said["trace_ids"][1:]}, NOON, "fingerprint_mismatch"),
        # without what failed
        ("kim", lambda house, said: {**said, "trace_ids": said["trace_ids"][:5]}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "trace_ids": [*said["trace_ids"], "t0"]}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "trace_ids": [*said["trace_ids"], "nowhere"]}, NOON, "fingerprint_mismatch"),
        ("ann", without("trace_ids"), NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "frame_ids": ["f0"]}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "kind": "schema"}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: {**said, "kind": "habit"}, NOON, "fingerprint_mismatch"),
        ("kim", lambda house, said: said, NOON + datetime.timedelta(days=8), "approval_expired"),
        ("kim", lambda house, said: said, NOON - HOUR, "approval_expired"),
        ("bob", lambda house, said: said, NOON, "role_not_allowed"),
        ("ann", lambda house, said: said, NOON, "proposer_approves"),
        ("kim", lambda house, said: {**said, "policy_version": "2025-01"}, NOON, "policy_not_in_force"),
        ("kim", lambda house, said: {**said, "reason": "  "}, NOON, "reason_missing"),
        ("kim", lambda house, said: {**said, "weather": "wet"}, NOON, "field_unknown"),
        ("kim", lambda house, said: {**said, "trace_ids": "t0"}, NOON, "field_malformed"),
        ("kim", lambda house, said: {**said, "party": "legal"}, NOON, "signature_invalid"),
        ("kim", lambda house, said: {**said, "verdict": "reject"}, NOON, "signature_invalid"),
        ("kim", lambda house, said: {**said, "cell_id": "t0"}, NOON, "signature_invalid"),
    ],
)
def test_what_is_refused_changes_nothing_but_the_log_of_refusals(able: House, by: str, change: Change, now: datetime.datetime, code: str) -> None:
    sight = able.sight(by)
    said = able.store.statement("approve", fingerprint(able), sight, reason="seen five times")
    statement = signed(change(able, said), sight.caller, able.key(by))
    before = able.rows()
    [outcome] = able.store.decide("approve", [statement], able.sight(by, now), able.host.approvers)
    assert (outcome.outcome, outcome.code) == ("refused", code)
    assert able.rows() - before == Counter(refusals=1)
    assert able.table("select * from main.learned_skills") == []


@pytest.mark.parametrize(
    "forge",
    [
        lambda house, said: {**said, "signature": signed(said, house.host.caller("kim"), house.key("lee"))["signature"]},
        without("signature"),
        lambda house, said: {**said, "reason": "another reason"},
        lambda house, said: {**said, "trace_ids": said["trace_ids"][1:]},
    ],
)
def test_a_statement_that_the_principal_has_not_signed_so_is_refused(able: House, forge: Change) -> None:
    sight = able.sight()
    said = able.store.statement("approve", fingerprint(able), sight, reason="seen five times")
    [outcome] = able.store.decide("approve", [forge(able, signed(said, sight.caller, able.key("kim")))], sight, able.host.approvers)
    assert outcome.guard == "integrity" and outcome.code in ("signature_invalid", "fingerprint_mismatch")


def test_a_skill_that_was_rejected_is_not_approved_and_other_evidence_makes_another(able: House) -> None:
    name = fingerprint(able)
    assert able.decide("reject", name, "lee", reason="one printer").outcome == "written"
    assert able.decide("approve", name).code == "candidate_rejected"
    able.trace(7)
    assert able.decide("approve", fingerprint(able)).outcome == "written"
    assert able.decide("reject", fingerprint(able)).code == "candidate_approved"


# What comes of it ------------------------------------------------------------------------------------------------------------------------


def test_a_skill_that_is_revoked_is_recalled_no_more_and_what_came_of_it_is_in_doubt(able: House) -> None:
    skill = str(able.decide("approve", fingerprint(able)).target_id)
    who: dict[str, Any] = {"principal": "ann", "session_id": "desk", "now": NOON}
    [child] = able.store.write([{"system": "episodic", "content": "done as the skill says", "source_ids": [skill]}], **who)
    sight = able.sight("max", NOON + HOUR)
    assert [cell["cell_id"] for cell in able.store.recall("free printer", sight)] == [skill]
    assert able.decide("revoke", skill, "max", reason="x").code == "owner_elsewhere"
    assert able.decide("revoke", skill, "lee", now=NOON + HOUR, reason="it was the plug").outcome == "written"
    assert able.store.recall("free printer", sight) == []
    states = {name: found["state"] for name in (skill, str(child.target_id)) if (found := able.store.show(name, able.sight("ann", NOON + HOUR)))}
    assert states == {skill: "in_doubt", str(child.target_id): "in_doubt"}
    assert able.decide("approve", fingerprint(able), now=NOON + HOUR).code == "candidate_revoked"
    assert able.candidates()[0]["state"] == "revoked"


def test_of_skills_of_one_signature_the_last_that_was_approved_is_recalled(able: House) -> None:
    first = str(able.decide("approve", fingerprint(able)).target_id)
    able.trace(7, succeeded=False)
    able.trace(8)
    second = str(able.decide("approve", fingerprint(able), now=NOON + HOUR).target_id)
    sight = able.sight("max", NOON + HOUR)
    assert [cell["cell_id"] for cell in able.store.recall("free printer", sight)] == [second]
    assert able.decide("revoke", second, now=NOON + HOUR, reason="no").outcome == "written"
    assert able.store.recall("free printer", sight) == []
    assert able.table("select cell_id, is_current from main.learned_skills order by approved_at") == [(first, False), (second, False)]


STEP = {"tool": "look", "inputs_hash": "i", "result_hash": "r", "succeeded": True}


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ("look", "field_malformed"),
        (["look"], "field_malformed"),
        ([None], "field_malformed"),
        ([{**STEP, "tool": 5}], "field_malformed"),
        ([{**STEP, "result_hash": ["r"]}], "field_malformed"),
        ([{**STEP, "succeeded": 1}], "field_malformed"),
        ([STEP, {**STEP, "tool": " "}], "step_incomplete"),
        ([{**STEP, "inputs_hash": None}], "step_incomplete"),
        ([{**STEP, "succeeded": None}], "step_incomplete"),
        ([{}], "step_incomplete"),
        ([{**STEP, "cost": 3}], "field_unknown"),
        ([], "trace_empty"),
    ],
)
def test_a_trace_whose_steps_are_none_is_refused(house: House, steps: Any, code: str) -> None:
    [outcome] = house.store.record_traces([{**RUN, "ended_at": NOON, "succeeded": True, "steps": steps}], principal="ann", session_id="desk", now=NOON)
    assert outcome.code == code
    assert house.rows() == Counter(refusals=1)


def test_what_was_learned_is_revoked_as_the_kind_that_it_is(able: House) -> None:
    """Roles are given by kind, so another kind in the statement must not open the door."""
    skill = str(able.decide("approve", fingerprint(able)).target_id)
    sight = able.sight()
    said = able.store.statement("revoke", skill, sight, reason="x") | {"kind": "schema"}
    [outcome] = able.store.decide("revoke", [signed(said, sight.caller, able.key("kim"))], sight, able.host.approvers)
    assert outcome.code == "not_learned"


def test_one_batch_may_hold_schemas_and_skills(able: House) -> None:
    for number in range(3):
        able.frame(number)
    sight = able.sight()
    said = [able.store.statement("approve", one["candidate_fingerprint"], sight, reason="seen") for one in able.candidates()]
    outcomes = able.store.decide("approve", [signed(one, sight.caller, able.key("kim")) for one in said], sight, able.host.approvers)
    assert [(outcome.outcome, str(outcome.target_id).partition("_")[0]) for outcome in outcomes] == [("written", "schema"), ("written", "skill")]


# Command line ----------------------------------------------------------------------------------------------------------------------------


def test_the_commands_record_list_and_approve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = House(tmp_path)
    house.store.close()
    lines = [
        {
            **RUN,
            "trace_id": f"t{number}",
            "ended_at": "2026-10-01T11:00:00Z",
            "succeeded": number < 5,
            "steps": [call("look", str(number), succeeded=number < 5)],
        }
        for number in range(6)
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, [*lines, {**lines[0], "trace_id": "t6", "executor": " "}])))
    common = ["--memory", str(house.place), "--host", str(tmp_path / "host.yml"), "--now", "2026-10-01T12:00:00", "--principal"]
    assert main(["skill", "record", str(tmp_path / "runs.jsonl"), *common, "ann", "--session", "desk"]) == 1
    said = capsys.readouterr()
    assert said.out.endswith("6: written t5\n6 written, 0 held, 1 refused\n")
    assert said.err == "7: refused: executor_missing: expected that a trace names what ran it\n"
    (tmp_path / "empty.jsonl").write_text("\n")
    assert main(["skill", "record", str(tmp_path / "empty.jsonl"), *common, "ann"]) == 2
    assert "holds no trace" in capsys.readouterr().err
    assert main(["candidates", "--global", *common, "kim"]) == 0
    name, *told = capsys.readouterr().out.splitlines()
    assert told == [
        "  skill free the printer: look",
        "  5 of 6 runs succeeded: t0, t1, t2, t3, t4",
        "  rate of success 0.83, surely 0.44 to 0.97",
        "  where it worked: printer is on",
        "  against it 1: t5",
        "  recorded by ann",
    ]
    approve = ["approve", name.split()[0], "--reason", "seen", "--key", str(tmp_path / "kim.pem"), *common, "kim"]
    assert main(approve) == 0
    assert capsys.readouterr().out == f"approved  skill_{name.split()[0]}\n"
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "a.traces.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["memory", "ingest", str(inbox), *common, "ann", "--session", "desk"]) == 0
    assert capsys.readouterr().out == "traces: 6 held\n"
