"""Memory by the conditions of its paper: what expires, what conflicts, what is read and what is refused leave what they should (M1 to M5)."""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pytest
from memory_stores import ANN, NOON, cell, events, frame, later, recalled, sight, tables, trace, written

from governed_memory.cli import main
from governed_memory.errors import InputError, NotAllowedError
from governed_memory.host.configuration import Caller
from governed_memory.log import LogWriter, canonical_event, timestamp
from governed_memory.memory import MemoryStore, Outcome, Sight
from governed_memory.memory.frames import bound
from governed_memory.memory.proposals import Scene

POLICIES = Path(__file__).parents[2] / "seeds/memory/transition_policies.csv"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def store(place: Path) -> Iterator[MemoryStore]:
    with MemoryStore(place) as opened:
        yield opened


# --- the conditions by name ---


def test_a_time_to_live_that_is_over_leaves_the_live_set_and_an_expire_event(store: MemoryStore, place: Path) -> None:
    [kept, gone] = written(store, cell("kept", "printer kept"), cell("gone", "printer gone", system="working", ttl_seconds=60))
    assert recalled(store, "printer", later(59)) == [gone, kept]
    assert events(place, "annotations") == []
    assert recalled(store, "printer", later(60)) == [kept]
    [expired] = events(place, "annotations")
    assert {name: expired[name] for name in ("target_id", "kind", "effective_at", "transition", "principal")} == {
        "target_id": gone, "kind": "expire", "effective_at": timestamp(later(60)), "transition": "expire", "principal": "clock",
    }  # fmt: skip
    assert recalled(store, "printer", later(61)) == [kept] and len(events(place, "annotations")) == 1


def test_an_expired_cell_is_recalled_only_where_it_is_asked_for(store: MemoryStore) -> None:
    [gone] = written(store, cell("gone", "printer", system="working", ttl_seconds=60))
    [ended] = written(store, cell("ended", "printer", system="working", ttl_seconds=3600))
    store.expire([ended], **ANN)
    assert recalled(store, "printer", later(60)) == []
    assert recalled(store, "printer", later(60), takes_expired=True) == [ended, gone]
    shown = store.show(gone, sight(now=later(60)))
    assert shown and shown["state"] == "expired" and shown["content"] == "printer"


def test_a_conflict_keeps_both_sides(store: MemoryStore) -> None:
    one, other = written(store, cell("one", "printer works"), cell("other", "printer is broken"))
    before = tables(store)["cells"]
    [linked] = store.link([{"from_cell_id": one, "to_cell_id": other, "link_type": "conflict", "reason": "seen the same day"}], **ANN)
    assert linked.outcome == "written"
    assert tables(store)["cells"] == before and recalled(store, "printer") == [one, other]
    for cell_id in (one, other):
        shown = store.show(cell_id, sight())
        assert shown and [(link["link_type"], link["from_cell_id"], link["to_cell_id"]) for link in shown["links"]] == [("conflict", one, other)]


def test_each_read_leaves_an_event(store: MemoryStore, place: Path) -> None:
    [cell_id] = written(store, cell("0012", "printer"))
    recalled(store, "printer")
    store.recall("nothing such", sight("bob", "his"))
    store.show(cell_id, sight())
    [first, second, third] = events(place, "reads")
    assert (first["read_kind"], first["outcome"], first["found_ids"], first["principal"], first["query"]) == ("recall", "found", ["0012"], "ann", "printer")
    assert (second["outcome"], second["found_ids"], second["principal"], second["session_id"]) == ("nothing", [], "bob", "his")
    assert (third["read_kind"], third["found_ids"]) == ("show", ["0012"])


def test_a_read_of_what_is_withheld_names_nothing_that_is_held(store: MemoryStore, place: Path) -> None:
    written(store, cell("secret", "printer", release_to=["ann"]))
    caller = Caller("bob", ("bob",), "inside", reads_all_sessions=True)
    assert store.recall("printer", Sight(caller, "his", NOON, is_global=True)) == []
    assert "secret" not in json.dumps(events(place, "reads"))


@pytest.mark.parametrize("system", ["semantic", "procedural"])
def test_a_direct_write_of_what_must_be_learned_is_refused_and_noted(store: MemoryStore, place: Path, system: str) -> None:
    [source] = written(store, cell("source"))
    before = tables(store)
    [refused] = store.write([cell("learned", system=system, source_ids=[source])], **ANN)
    assert (refused.outcome, refused.guard, refused.code) == ("refused", "policy", "approval_required")
    assert tables(store) == before
    [noted] = events(place, "refusals")
    assert {name: noted[name] for name in ("transition", "guard", "code", "target_id", "stream", "principal", "session_id", "place")} == {
        "transition": "write", "guard": "policy", "code": "approval_required", "target_id": "learned", "stream": "cells", "principal": "ann", "session_id": "s",
        "place": 1,
    }  # fmt: skip


def test_an_approval_that_the_writer_states_counts_as_none(store: MemoryStore) -> None:
    [outcome] = store.write([cell("learned", system="semantic", approval_id="a1")], **ANN)
    assert (outcome.outcome, outcome.code) == ("refused", "field_unknown")


# --- clocks and names that are not for everybody ---


def test_a_read_as_of_another_instant_is_noted_with_the_time_of_the_clock(place: Path) -> None:
    with MemoryStore(place, clock=lambda: later(10)) as store:
        written(store, cell("w", "printer", system="working", ttl_seconds=60))
        assert recalled(store, "printer", later(-3600)) == ["w"] and recalled(store, "printer", later(3600)) == []
        assert [(event["recorded_at"], event["asked_at"]) for event in events(place, "reads")] == [
            (timestamp(later(10)), timestamp(later(seconds))) for seconds in (-3600, 3600)
        ]
        # What will be over is not over yet.
        assert events(place, "annotations") == []
        with pytest.raises(NotAllowedError):
            store.recall("printer", sight(now=later(3600), is_global=True))
        assert [event["recorded_at"] for event in events(place, "refusals")] == [timestamp(later(10))]


def test_a_read_as_of_today_has_what_lives_now_and_one_as_of_yesterday_what_lived_at_its_end(store: MemoryStore) -> None:
    written(store, cell("w", "printer", system="working", ttl_seconds=3600), cell("long", "printer", system="working", ttl_seconds=86400))
    today, tomorrow = NOON.date(), (NOON + datetime.timedelta(days=1)).date()
    assert [one["cell_id"] for one in store.recall("printer", sight(now=later(60), on_date=today))] == ["long", "w"]
    assert [one["cell_id"] for one in store.recall("printer", sight(now=later(60), on_date=tomorrow))] == ["long", "w"]
    assert [one["cell_id"] for one in store.recall("printer", sight(now=later(86000), on_date=today))] == ["long"]


def test_what_has_ended_is_held_whoever_ends_it_again(store: MemoryStore, place: Path) -> None:
    written(store, cell("a", system="working", ttl_seconds=60), cell("b", system="working", ttl_seconds=60), cell("c"))
    [first] = store.expire(["a"], **ANN)
    again = store.expire(["c", "a", "b", "a"], principal="bob", now=later(1))
    assert [(one.place, one.outcome, one.code) for one in again] == [(1, "refused", "not_working"), (2, "held", None), (3, "written", None), (4, "held", None)]
    assert first.target_id == again[1].target_id == again[3].target_id
    assert [event["target_id"] for event in events(place, "annotations")] == ["a", "b"]


@pytest.mark.parametrize("name", ["clock", "consolidation"])
def test_nobody_calls_themselves_as_memory_does(store: MemoryStore, place: Path, name: str) -> None:
    for ask in (
        lambda: store.write([cell("c")], principal=name, session_id="s"),
        lambda: store.expire(["c"], principal=name),
        lambda: store.recall("printer", sight(name)),
    ):
        with pytest.raises(InputError, match=f"^principal: '{name}' is a name under which memory writes itself"):
            ask()
    assert events(place) == []


def test_lines_may_begin_with_a_byte_order_mark(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "cells.jsonl"
    file.write_text(json.dumps(cell("c", "printer")), encoding="utf-8-sig")
    assert main(["memory", "write", str(file), "--memory", str(place), "--principal", "ann", "--session", "s"]) == 0


@pytest.mark.parametrize("asked", [["verify", "--noted"], ["prune", "--archive"]])
def test_a_folder_that_is_not_there_is_one_clear_line(
    store: MemoryStore, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    assert main(["memory", *asked, str(tmp_path / "nowhere"), "--memory", str(place)]) == 2
    told = capsys.readouterr()
    assert told.out == "" and "nowhere: is no folder" in told.err and len(told.err.splitlines()) == 1
    assert not (tmp_path / "nowhere").exists()


# --- each condition of the guards ---

Told = dict[str, Any]
# {(transition, code): (stream, what is told)}; what is held before stands in `prepared`.
WORKING = {"system": "working", "content": "x", "source": "q"}
LINK = {"from_cell_id": "c1", "to_cell_id": "c2", "link_type": "task"}
NOTE = {"target_id": "c1", "kind": "note", "reason": "r"}
ENDED = {"target_id": "w1", "kind": "expire"}
CHANGE = {
    "kind": "record", "store_id": "policies", "concept": "margin", "value": "20 %", "valid_from": "2026-11-01", "supersedes": ["M-1"], "reason": "as agreed",
}  # fmt: skip
BROKEN: dict[tuple[str, str], tuple[str, Told]] = {
    ("write", "field_unknown"): ("cells", cell(sorce="q")),
    ("write", "field_malformed"): ("cells", cell(event_index=1.5)),
    ("write", "event_too_long"): ("cells", cell(metadata={"a": "x" * 33554432})),
    ("write", "id_blank"): ("cells", cell(" ")),
    ("write", "id_too_long"): ("cells", cell("x" * 201)),
    ("write", "system_unknown"): ("cells", cell(system="sensory")),
    ("write", "content_missing"): ("cells", {**cell(), "content": "\u3000"}),
    ("write", "content_too_long"): ("cells", cell(content="x" * 16777217)),
    ("write", "share_out_of_range"): ("cells", cell(confidence=1.01)),
    ("write", "ttl_missing"): ("cells", WORKING),
    ("write", "ttl_misplaced"): ("cells", {**WORKING, "ttl_seconds": 0}),
    ("write", "source_missing"): ("cells", {"system": "episodic", "content": "x", "source_ids": []}),
    ("write", "source_cell_unknown"): ("cells", cell(source_ids=["c1", "nowhere"])),
    ("write", "approval_required"): ("cells", cell(system="procedural")),
    ("write", "id_reserved"): ("cells", {**cell("squats"), "cell_id": "schema_0"}),
    ("write", "session_missing"): ("cells", cell("without session")),
    ("write", "identity_conflict"): ("cells", cell("c1", "something else")),
    ("link", "field_unknown"): ("links", {**LINK, "wight": 1}),
    ("link", "field_malformed"): ("links", {**LINK, "weight": "heavy"}),
    ("link", "event_too_long"): ("links", {**LINK, "reason": "x" * 33554432}),
    ("link", "id_blank"): ("links", {**LINK, "link_id": ""}),
    ("link", "id_too_long"): ("links", {**LINK, "link_id": "x" * 201}),
    ("link", "link_type_unknown"): ("links", {**LINK, "link_type": "likes"}),
    ("link", "weight_out_of_range"): ("links", {**LINK, "weight": -0.1}),
    ("link", "self_link"): ("links", {**LINK, "to_cell_id": "c1"}),
    ("link", "reason_missing"): ("links", {**LINK, "link_type": "conflict"}),
    ("link", "cell_unknown"): ("links", {**LINK, "to_cell_id": "nowhere"}),
    ("link", "link_type_reserved"): ("links", {**LINK, "link_type": "replay"}),
    ("link", "identity_conflict"): ("links", {**LINK, "link_id": "l1", "link_type": "causal"}),
    ("annotate", "field_unknown"): ("annotations", {**NOTE, "why": "x"}),
    ("annotate", "field_malformed"): ("annotations", {**NOTE, "effective_at": "epoch"}),
    ("annotate", "event_too_long"): ("annotations", {**NOTE, "reason": "x" * 33554432}),
    ("annotate", "id_blank"): ("annotations", {**NOTE, "annotation_id": "\t"}),
    ("annotate", "id_too_long"): ("annotations", {**NOTE, "annotation_id": "x" * 201}),
    ("annotate", "kind_unknown"): ("annotations", {**NOTE, "kind": "expire"}),
    ("annotate", "half_life_missing"): ("annotations", {**NOTE, "kind": "decay"}),
    ("annotate", "reason_missing"): ("annotations", {**NOTE, "reason": ""}),
    ("annotate", "cell_unknown"): ("annotations", {**NOTE, "target_id": "nowhere"}),
    ("annotate", "identity_conflict"): ("annotations", {**NOTE, "annotation_id": "a1", "reason": "another"}),
    ("expire", "field_malformed"): ("annotations", {**ENDED, "target_id": 5}),
    ("expire", "cell_unknown"): ("annotations", {**ENDED, "target_id": "nowhere"}),
    ("expire", "not_working"): ("annotations", {**ENDED, "target_id": "c1"}),
    ("expire", "identity_conflict"): ("annotations", {**ENDED, "annotation_id": "a1"}),
    ("bind", "field_unknown"): ("frames", frame("c1", mood="good")),
    ("bind", "field_malformed"): ("frames", frame("c1", entities="printer")),
    ("bind", "event_too_long"): ("frames", frame("c1", scene="x" * 33554432)),
    ("bind", "id_blank"): ("frames", frame("c1", frame_id="")),
    ("bind", "id_too_long"): ("frames", frame("c1", frame_id="x" * 201)),
    ("bind", "scene_missing"): ("frames", frame("c1", scene="\n")),
    ("bind", "goal_missing"): ("frames", frame("c1", goal=None)),
    ("bind", "action_missing"): ("frames", frame("c1", action="")),
    ("bind", "outcome_missing"): ("frames", frame("c1", outcome=None)),
    ("bind", "span_inverted"): ("frames", frame("c1", starts_at="2026-10-02", ends_at="2026-10-01")),
    ("bind", "position_missing"): ("frames", {**frame(), "steps": [{"cell_id": "c1", "position": 1}, "c2"]}),
    ("bind", "position_repeated"): ("frames", {**frame(), "steps": [{"cell_id": "c1", "position": 1}, {"cell_id": "c2", "position": 1}]}),
    ("bind", "step_repeated"): ("frames", frame("c1", "c1")),
    ("bind", "steps_missing"): ("frames", frame()),
    ("bind", "cell_unknown"): ("frames", frame("c1", "nowhere")),
    ("bind", "not_observed"): ("frames", frame("c1", "learned")),
    ("bind", "session_missing"): ("frames", frame("c1")),
    ("bind", "cell_elsewhere"): ("frames", frame("c1", "bobs")),
    ("bind", "identity_conflict"): ("frames", frame("c1", "c2", frame_id="f1", goal="another")),
    ("replay", "field_unknown"): ("replays", {"frame_id": "f1", "mood": "good"}),
    ("replay", "field_malformed"): ("replays", {"frame_id": "f1", "is_complete": "yes"}),
    ("replay", "link_type_unknown"): ("links", {**LINK, "from_cell_id": "f1", "link_type": "likes"}),
    ("replay", "self_link"): ("links", {**LINK, "to_cell_id": "c1", "link_type": "replay"}),
    ("replay", "frame_unknown"): ("replays", {"frame_id": "nothing"}),
    ("replay", "cell_unknown"): ("links", {"from_cell_id": "f1", "to_cell_id": "nowhere", "link_type": "replay"}),
    ("replay", "link_type_reserved"): ("links", {**LINK, "from_cell_id": "f1"}),
    ("replay", "identity_conflict"): ("replays", {"replay_id": "r1", "frame_id": "f1", "is_complete": True}),
    ("propose", "field_unknown"): ("proposals", {**CHANGE, "mood": "good"}),
    ("propose", "field_malformed"): ("proposals", {**CHANGE, "release_to": "legal"}),
    ("propose", "event_too_long"): ("proposals", {**CHANGE, "value": "x" * 33554432}),
    ("propose", "id_blank"): ("proposals", {**CHANGE, "proposal_id": " "}),
    ("propose", "id_too_long"): ("proposals", {**CHANGE, "proposal_id": "x" * 201}),
    ("propose", "kind_unknown"): ("proposals", {**CHANGE, "kind": "wish"}),
    ("propose", "change_incomplete"): ("proposals", {**CHANGE, "supersedes": []}),
    ("propose", "candidate_missing"): ("proposals", {"kind": "consolidation", "reason": "seen often", "concept": "margin"}),
    ("propose", "reason_missing"): ("proposals", {**CHANGE, "reason": " "}),
    ("propose", "candidate_unknown"): ("proposals", {"kind": "consolidation", "reason": "seen often", "candidate_fingerprint": "nowhere"}),
    ("propose", "session_missing"): ("proposals", CHANGE),
    ("propose", "identity_conflict"): ("proposals", {**CHANGE, "proposal_id": "o1", "value": "30 %"}),
    ("trace", "field_unknown"): ("traces", trace(steps=[{**trace()["steps"][0], "why": "x"}])),
    ("trace", "field_malformed"): ("traces", trace(steps=[{**trace()["steps"][0], "succeeded": "yes"}])),
    ("trace", "event_too_long"): ("traces", trace(model_output="x" * 33554432)),
    ("trace", "id_blank"): ("traces", trace(trace_id=" ")),
    ("trace", "id_too_long"): ("traces", trace(trace_id="x" * 201)),
    ("trace", "skill_missing"): ("traces", trace(skill="\u3000")),
    ("trace", "outcome_missing"): ("traces", trace(succeeded=None)),
    ("trace", "step_incomplete"): ("traces", trace(steps=[{"tool": "restart", "inputs_hash": "i", "succeeded": True}])),
    ("trace", "reason_misplaced"): ("traces", trace(failure_reason="no power")),
    ("trace", "share_out_of_range"): ("traces", trace(confidence=1.01)),
    ("trace", "executor_missing"): ("traces", trace(executor="")),
    ("trace", "trace_empty"): ("traces", trace(steps=[], model_output=" ")),
    ("trace", "source_cell_unknown"): ("traces", trace(source_ids=["c1", "nowhere"])),
    ("trace", "plan_not_followed"): ("traces", trace(planned_tools=["look", "restart"])),
    ("trace", "session_missing"): ("traces", trace()),
    ("trace", "identity_conflict"): ("traces", trace(trace_id="t1", succeeded=False)),
}
ASKED = [(row["transition"], row["guard"], row["code"]) for row in csv.DictReader(POLICIES.read_text(encoding="utf-8").splitlines())]
# What is asked of an approval is in test_learning.py.
GUARDED = [one for one in ASKED if one[0] not in ("read", "consolidate", "reject", "revoke")]
NAMED = ["-".join(one) for one in GUARDED]
# Told of outside a session.
HOMELESS = {"session_missing"}


def prepared(place: Path) -> MemoryStore:
    """A memory in which something of each kind is held; the cell that was learned is put there by hand."""
    learned = {
        **cell("learned", system="semantic", source_ids=["c1"]), "approval_id": "p1", "transition": "consolidate", "principal": "ann", "session_id": "s",
        "recorded_at": timestamp(NOON), "created_at": timestamp(NOON), "fingerprint": "0" * 64, "terms": ["note"],
    }  # fmt: skip
    with LogWriter(place / "log") as writer:
        writer.append({"cells": [canonical_event(learned)]}, timestamp(NOON))
    store = MemoryStore(place)
    written(store, cell("c1"), cell("c2"), {**WORKING, "cell_id": "w1", "ttl_seconds": 9})
    written(store, cell("bobs"), principal="bob")
    outcomes = store.link([{**LINK, "link_id": "l1"}], **ANN) + store.annotate([{**NOTE, "annotation_id": "a1"}], **ANN)
    outcomes += store.bind([frame("c1", "c2", frame_id="f1")], **ANN) + put(store, "replay", "replays", {"replay_id": "r1", "frame_id": "f1"})
    outcomes += put(store, "propose", "proposals", {**CHANGE, "proposal_id": "o1"})
    outcomes += store.record_traces([trace(trace_id="t1")], **ANN)
    assert {outcome.outcome for outcome in outcomes} == {"written"}, outcomes
    return store


def put(store: MemoryStore, transition: str, stream: str, told: Told, session_id: str | None = "s") -> list[Outcome]:
    return store._transitions.put(stream, [told], Scene(transition, "ann", session_id, NOON))


def asked(store: MemoryStore, transition: str, code: str) -> Outcome:
    stream, told = BROKEN[transition, code]
    if transition == "bind":
        [outcome] = store.bind([told], principal="ann", session_id=None if code in HOMELESS else "s", now=NOON)
    else:
        [outcome] = put(store, transition, stream, told, None if code in HOMELESS else "s")
    return outcome


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemoryStore, Path]]:
    place = tmp_path_factory.mktemp("full") / "memory"
    with prepared(place) as store:
        yield store, place


def test_each_condition_of_the_seed_has_a_case() -> None:
    assert {(transition, code) for transition, _, code in [*GUARDED, ("read", "policy", "global_not_allowed")]} == BROKEN.keys() | {
        ("read", "global_not_allowed")
    }


@pytest.mark.parametrize(("transition", "guard", "code"), GUARDED, ids=NAMED)
def test_each_condition_refuses_what_breaks_it_and_changes_nothing_but_the_refusals(
    full: tuple[MemoryStore, Path], transition: str, guard: str, code: str
) -> None:
    store, place = full
    before, refusals = tables(store), len(events(place, "refusals"))
    outcome = asked(store, transition, code)
    assert (outcome.outcome, outcome.guard, outcome.code) == ("refused", guard, code)
    assert outcome.requirement and "\n" not in outcome.requirement
    assert tables(store) == before
    noted = events(place, "refusals")
    assert len(noted) == refusals + 1 and (noted[-1]["transition"], noted[-1]["guard"], noted[-1]["code"]) == (transition, guard, code)


@pytest.mark.parametrize(("transition", "guard", "code"), GUARDED, ids=NAMED)
def test_a_condition_that_the_seed_has_off_is_not_asked(full: tuple[MemoryStore, Path], transition: str, guard: str, code: str) -> None:
    store, _ = full
    connection = store._projection.connection
    stream, told = BROKEN[transition, code]
    given = bound(store._projection, [told]) if transition == "bind" else [told]
    connection.execute("begin")
    try:
        connection.execute(
            "update main.transition_policies set is_on = false where transition = $transition and code = $code", {"transition": transition, "code": code}
        )
        # Only judged: what the guards let through so is not to be held.
        [outcome] = store._transitions.propose(stream, given, Scene(transition, "ann", None if code in HOMELESS else "s", NOON)).outcomes
    finally:
        connection.execute("rollback")
    assert outcome.code != code
    [outcome] = store._transitions.propose(stream, given, Scene(transition, "ann", None if code in HOMELESS else "s", NOON)).outcomes
    assert outcome.code == code


def test_a_read_across_sessions_needs_a_caller_who_may(store: MemoryStore, place: Path) -> None:
    written(store, cell("c1", "printer"), session_id="another")
    with pytest.raises(InputError, match="may not read across sessions"):
        store.recall("printer", sight(is_global=True))
    assert [(event["transition"], event["guard"], event["code"]) for event in events(place, "refusals")] == [("read", "policy", "global_not_allowed")]
    assert events(place, "reads") == []
    may = Sight(Caller("ann", (), "inside", reads_all_sessions=True), "s", NOON, is_global=True)
    assert [found["cell_id"] for found in store.recall("printer", may)] == ["c1"]
    store._projection.connection.execute("update main.transition_policies set is_on = false where transition = 'read'")
    assert [found["cell_id"] for found in store.recall("printer", sight(is_global=True))] == ["c1"]


def test_frames_and_arrow_tables_go_in_and_a_table_comes_out(place: Path) -> None:
    told = polars.DataFrame({"system": ["episodic"] * 3, "content": ["one", "two", "three"], "source": ["log"] * 3, "confidence": [0.5, None, 1.0]})
    with MemoryStore(place) as memory:
        outcomes = memory.write(told, principal="ann", session_id="s")
        again = memory.write(told.to_dicts(), principal="ann", session_id="s")
        held = memory.table("cells").sort("cell_number")
        with pytest.raises(InputError, match="'cell' is no table of memory"):
            memory.table("cell")
    assert [outcome.outcome for outcome in outcomes] == ["written"] * 3
    assert [outcome.outcome for outcome in again] == ["held"] * 3
    assert held["content"].to_list() == ["one", "two", "three"]
    assert held["confidence"].to_list() == [0.5, None, 1.0]


def test_heads_are_signed_afterwards_and_an_archive_lies_beside_the_memory(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = tmp_path / "host.yml"
    host.write_text("keys: {active: k, k: {algorithm: hmac-sha-256, file: key}}", encoding="utf-8")
    (tmp_path / "key").write_text("k" * 40, encoding="utf-8")
    with MemoryStore(place) as memory:
        written(memory, cell("c1"))
    reading = ["memory", "recall", "note", "--memory", str(place), "--principal", "ann", "--session", "s"]
    assert main([*reading, "--host", str(host)]) == 2
    assert "`gmem memory sign` signs it" in capsys.readouterr().err
    assert main(["memory", "sign", "--memory", str(place), "--host", str(host)]) == 0
    assert capsys.readouterr().out == "1 head(s) signed: w001\n"
    assert main(reading) == 2
    assert "is signed; name the host file" in capsys.readouterr().err
    for folder in ("log", "heads", "log/w001"):
        assert main(["memory", "archive", "--memory", str(place), "--host", str(host), "--to", str(place / folder)]) == 2
        assert "is part of the memory itself" in capsys.readouterr().err
    assert main(["memory", "archive", "--memory", str(place), "--host", str(host), "--to", str(tmp_path / "archive")]) == 0
    assert main(["memory", "verify", "--memory", str(place), "--host", str(host)]) == 0
