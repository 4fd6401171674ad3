"""Event frames: bound in the order of their source whatever arrives first, and linked only as far as each step is still what was bound (M2, M3, M6)."""

from __future__ import annotations

import datetime
import json
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.log import LogWriter, canonical_event, positions, read_heads, rows_at, rows_since
from governed_memory.memory import MemoryStore
from governed_memory.memory.frames import Replayed
from governed_memory.memory.proposals import remade_fingerprint
from governed_memory.memory.recall import Sight

NOON = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.UTC)
ANN: dict[str, Any] = {"principal": "ann", "session_id": "s1", "now": NOON}
FRAME = {"scene": "printer jam", "goal": "print", "action": "restart it", "outcome": "it prints", "entities": ["printer"]}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def store(place: Path) -> Iterator[MemoryStore]:
    with MemoryStore(place) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path_factory.mktemp("shared")) as opened:
        yield opened


def cells(store: MemoryStore, *contents: str, **more: Any) -> list[str]:
    """Cells numbered in this order by their source."""
    told = [{"system": "episodic", "content": content, "source": "log", "event_index": number, **more} for number, content in enumerate(contents, start=1)]
    outcomes = store.write(told, **ANN)
    assert [outcome.outcome for outcome in outcomes] == ["written"] * len(told)
    return [str(outcome.target_id) for outcome in outcomes]


def bind(store: MemoryStore, steps: list[Any], **more: Any) -> str:
    [outcome] = store.bind([{**FRAME, "steps": steps, **more}], **ANN)
    assert outcome.outcome in ("written", "held"), outcome
    return str(outcome.target_id)


def sight(name: str, session_id: str | None = "s1", *parties: str, is_global: bool = False, may_read_all: bool = False) -> Sight:
    return Sight(Caller(name, parties, "inside", may_read_all), session_id, NOON, is_global)


def read(store: MemoryStore, frame_id: str) -> dict[str, Any]:
    found = store.frame(frame_id, sight("ann"))
    assert found is not None
    return found


def order(store: MemoryStore, frame_id: str) -> list[str]:
    return [step["cell_id"] for step in read(store, frame_id)["steps"]]


def replay(store: MemoryStore, *frame_ids: str) -> list[Replayed]:
    return store.replay(frame_ids, **ANN)


def rows(place: Path, *streams: str) -> Counter[str]:
    reached = positions(place / "log")
    return Counter({stream: seq for (_, stream), seq in reached.items() if not streams or stream in streams})


def linked(store: MemoryStore, frame_id: str) -> list[str]:
    return [step["cell_id"] for step in read(store, frame_id)["steps"] if step["has_replay_link"]]


def tamper(place: Path, old: str, new: str, stream: str = "cells") -> None:
    """Write other bytes of the same length into the one segment of a stream."""
    assert len(old.encode()) == len(new.encode())
    [segment] = (place / "log").glob(f"*/{stream}.*.jsonl")
    held = segment.read_bytes()
    assert held.count(old.encode()) >= 1
    segment.write_bytes(held.replace(old.encode(), new.encode()))


def chained_again(place: Path) -> None:
    """What somebody leaves who may write the log and its heads: edited rows whose chain is as it should be."""
    reached = positions(place / "log")
    told = {stream: [row.event for row in rows_at(place / "log", None, {(writer, stream): range(1, seq + 1)})] for (writer, stream), seq in reached.items()}
    shutil.rmtree(place)
    with LogWriter(place / "log") as writer:
        writer.append(told, "2026-10-01T13:00:00Z")


# Binding ---------------------------------------------------------------------------------------------------------------------------------

source_cells = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.integers(0, 3), st.sampled_from("abcdefgh")), min_size=1, max_size=6, unique_by=lambda cell: cell[2]
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), source_cells)
def test_the_order_is_that_of_the_source_whatever_arrives_first(shared: MemoryStore, data: st.DataObject, told: list[tuple[int | None, int, str]]) -> None:
    given_cells = [
        {"system": "episodic", "content": f"{index} {minute} {name}", "source": "log", "event_index": index, "created_at": f"2026-09-01T10:0{minute}:00Z"}
        for index, minute, name in told
    ]
    ids = {}
    for place in data.draw(st.permutations(range(len(told)))):
        [outcome] = shared.write([given_cells[place]], **ANN)
        ids[place] = str(outcome.target_id)
    expected = sorted(range(len(told)), key=lambda place: (told[place][0] is None, told[place][0] or 0, told[place][1], ids[place]))
    arrivals = [data.draw(st.permutations(list(ids.values()))) for _ in range(2)]
    first, second = (bind(shared, list(arrival)) for arrival in arrivals)
    assert first == second
    assert order(shared, first) == [ids[place] for place in expected]


def test_a_frame_may_state_another_order_and_is_another_frame_then(store: MemoryStore) -> None:
    one, two, three = cells(store, "jam", "restart", "prints")
    stated = bind(store, [{"cell_id": one, "position": 30}, {"cell_id": two, "position": -5}, {"cell_id": three, "position": 7}])
    assert order(store, stated) == [two, three, one]
    assert read(store, stated)["order_from"] == "stated"
    assert [step["position"] for step in read(store, stated)["steps"]] == [1, 2, 3]
    as_the_source = bind(store, [{"cell_id": one, "position": 1}, {"cell_id": two, "position": 2}, {"cell_id": three, "position": 3}])
    assert len({stated, as_the_source, bind(store, [one, two, three])}) == 3
    # Against the source, and still replayed: its order is what the frame says.
    assert [outcome.is_complete for outcome in replay(store, stated, as_the_source)] == [True, True]


def test_entities_and_cues_are_sets_and_the_frame_is_held_the_second_time(store: MemoryStore) -> None:
    [one] = cells(store, "jam")
    first = bind(store, [one], entities=["printer", "tray"], cues=["noise"])
    assert bind(store, [one], entities=["tray", "printer", "tray"], cues=["noise"]) == first
    [again] = store.bind([{**FRAME, "steps": [one], "entities": ["printer", "tray"], "cues": ["noise"]}], **{**ANN, "now": NOON + datetime.timedelta(days=1)})
    assert (again.outcome, again.target_id) == ("held", first)
    assert read(store, first)["entities"] == ["printer", "tray"]


def test_binding_leaves_the_cells_as_they_are(store: MemoryStore, place: Path) -> None:
    ids = cells(store, "jam", "restart")
    before = list(rows_since(place / "log", None, {}, ["cells"]))
    bind(store, ids)
    assert list(rows_since(place / "log", None, {}, ["cells"])) == before


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"weather": "wet"}, "field_unknown"),
        ({"fingerprint": "f"}, "field_unknown"),
        ({"order_from": "stated"}, "field_unknown"),
        ({"steps": [{"cell_id": "{one}", "note": "x"}]}, "field_unknown"),
        ({"steps": [{"cell_id": "{one}", "cell_fingerprint": "x"}]}, "field_unknown"),
        ({"scene": 5}, "field_malformed"),
        ({"entities": "printer"}, "field_malformed"),
        ({"cues": [1]}, "field_malformed"),
        ({"starts_at": "yesterday"}, "field_malformed"),
        ({"steps": "{one}"}, "field_malformed"),
        ({"steps": [7]}, "field_malformed"),
        ({"steps": [["{one}"]]}, "field_malformed"),
        ({"steps": [None]}, "field_malformed"),
        ({"steps": [{"position": 1}]}, "field_malformed"),
        ({"steps": [{"cell_id": "{one}", "position": "1"}]}, "field_malformed"),
        ({"steps": [{"cell_id": "{one}", "position": 1.5}]}, "field_malformed"),
        ({"steps": [{"cell_id": "{one}", "position": 2**63}]}, "field_malformed"),
        ({"steps": [{"cell_id": "{one}", "position": 10**30}]}, "field_malformed"),
        ({"scene": None}, "scene_missing"),
        ({"scene": " "}, "scene_missing"),
        ({"goal": ""}, "goal_missing"),
        ({"action": None}, "action_missing"),
        ({"outcome": "  "}, "outcome_missing"),
        ({"starts_at": "2026-10-02", "ends_at": "2026-10-01"}, "span_inverted"),
        ({"steps": [{"cell_id": "{one}", "position": 1}, "{two}"]}, "position_missing"),
        ({"steps": [{"cell_id": "{one}", "position": 1}, {"cell_id": "{two}", "position": 1}]}, "position_repeated"),
        ({"steps": ["{one}", "{two}", "{one}"]}, "step_repeated"),
        ({"steps": []}, "steps_missing"),
        ({"steps": None}, "steps_missing"),
        ({"steps": ["{one}", "c_nowhere"]}, "cell_unknown"),
        ({"steps": ["{one}", "{of another session}"]}, "cell_elsewhere"),
        ({"steps": ["{of another principal}"]}, "cell_elsewhere"),
        ({"frame_id": "f_taken"}, "identity_conflict"),
    ],
)
def test_what_the_guards_refuse_changes_nothing_but_the_log_of_refusals(store: MemoryStore, place: Path, told: dict[str, Any], code: str) -> None:
    one, two = cells(store, "jam", "restart")
    other = {"system": "episodic", "content": "elsewhere", "source": "log"}
    [far] = store.write([other], **{**ANN, "session_id": "s2"})
    [foreign] = store.write([other], **{**ANN, "principal": "bob"})
    bind(store, [two], frame_id="f_taken")
    names = {"{one}": one, "{two}": two, "{of another session}": far.target_id, "{of another principal}": foreign.target_id}
    text = json.dumps({**FRAME, "steps": [one], **told})
    for name, cell_id in names.items():
        text = text.replace(name, str(cell_id))
    before = rows(place)
    [outcome] = store.bind([json.loads(text)], **ANN)
    assert (outcome.outcome, outcome.code) == ("refused", code)
    assert rows(place) - before == Counter(refusals=1)


def test_a_frame_needs_a_session_and_steps_that_were_observed(store: MemoryStore) -> None:
    [one] = cells(store, "jam")
    [outcome] = store.bind([{**FRAME, "steps": [one]}], principal="ann", now=NOON)
    assert (outcome.code, outcome.guard) == ("session_missing", "policy")
    store._projection.connection.execute("update main.cells set system = 'semantic'")
    [outcome] = store.bind([{**FRAME, "steps": [one]}], **ANN)
    assert (outcome.code, outcome.guard) == ("not_observed", "integrity")


def test_what_is_no_frame_at_all_is_one_line(store: MemoryStore) -> None:
    with pytest.raises(InputError, match="item 1: expected an object with fields, got str"):
        store.bind(["f"], **ANN)  # type: ignore[list-item]
    with pytest.raises(InputError, match="item 2: frame_id: expected a text, got int"):
        store.replay(["f", 5], **ANN)  # type: ignore[list-item]
    assert store.bind([], **ANN) == []
    assert replay(store) == []


# Replay ----------------------------------------------------------------------------------------------------------------------------------


def test_a_replay_verifies_each_step_and_then_links_it(store: MemoryStore, place: Path) -> None:
    ids = cells(store, "jam", "restart", "prints")
    frame = bind(store, [ids[1], ids[2], ids[0]])
    assert read(store, frame)["state"] == "not_replayed"
    assert linked(store, frame) == []
    [outcome] = replay(store, frame)
    assert outcome == Replayed(1, frame, "written", True, 3, links_written=3)
    assert read(store, frame)["state"] == "complete"
    assert linked(store, frame) == ids
    # With the same or another principal, or named twice: nothing to add.
    before = rows(place, "links", "replays")
    assert [one.outcome for one in replay(store, frame, frame)] == ["held", "held"]
    assert [one.outcome for one in store.replay([frame], principal="bob", now=NOON)] == ["held"]
    assert rows(place, "links", "replays") == before == Counter(links=3, replays=1)


def test_frames_named_twice_or_not_held_are_told_apart(store: MemoryStore) -> None:
    frame = bind(store, cells(store, "jam"))
    found = replay(store, "f_none", frame, frame, "f_none")
    assert [(one.place, one.outcome, one.code, one.links_written) for one in found] == [
        (1, "refused", "frame_unknown", 0),
        (2, "written", None, 1),
        (3, "held", None, 0),
        (4, "refused", "frame_unknown", 0),
    ]


def doctored(table: str) -> Any:
    return lambda store, place, ids: store._projection.connection.execute(table.format(ids[1]))


def edited(old: str, new: str, stream: str = "cells") -> Any:
    return lambda store, place, ids: tamper(place, old, new, stream)


@pytest.mark.parametrize(
    ("damage", "position", "reason"),
    [
        (edited("restart it now", "restart it NOW"), 2, "event_changed"),
        (edited('"event_index":2', '"event_index":7'), 2, "event_changed"),
        (edited('"source":"log"', '"source":"lie"'), 1, "event_changed"),
        (edited('"content":"restart it now"', '"content":"restart it now,'), 2, "event_changed"),
        (edited("it prints", "it jammed", "frames"), 1, "frame_changed"),
        (doctored("update main.cells set content = 'x' where cell_id = '{}'"), 2, "table_differs"),
        (doctored("update main.cells set event_index = 9 where cell_id = '{}'"), 2, "table_differs"),
        (doctored("update main.cells set fingerprint = 'x' where cell_id = '{}'"), 2, "fingerprint_changed"),
        (doctored("update main.cells set seq = 99 where cell_id = '{}'"), 2, "event_missing"),
        (doctored("update main.cells set seq = 1 where cell_id = '{}'"), 2, "event_changed"),
        (doctored("delete from main.cells where cell_id = '{}'"), 2, "cell_missing"),
    ],
)
def test_a_step_that_is_not_what_was_bound_is_named_and_the_frame_stays(store: MemoryStore, place: Path, damage: Any, position: int, reason: str) -> None:
    ids = cells(store, "jam on floor 2", "restart it now", "it is well again")
    frame = bind(store, ids)
    damage(store, place, ids)
    [outcome] = replay(store, frame)
    expected = Replayed(1, frame, "written", False, position - 1, position, ids[position - 1], reason, position - 1)
    assert outcome == expected
    found = read(store, frame)
    assert (found["state"], found["failed_position"], found["failed_cell_id"], found["reason"]) == ("incomplete", position, ids[position - 1], reason)
    assert linked(store, frame) == ids[: position - 1]
    assert rows(place, "frames", "replays") == Counter(frames=1, replays=1)
    [again] = replay(store, frame)
    assert (again.outcome, again.is_complete, again.reason) == ("held", False, reason)


def test_a_log_edited_before_it_is_opened_is_found_whatever_fingerprint_it_states(place: Path) -> None:
    with MemoryStore(place) as store:
        ids = cells(store, "jam on floor 2", "restart it now", "it prints again")
        frame = bind(store, ids)
    tamper(place, "restart it now", "restart it NOW")
    with pytest.raises(InputError, match="row 2 was changed"):
        MemoryStore(place)
    chained_again(place)
    with MemoryStore(place) as store:
        [outcome] = replay(store, frame)
        assert (outcome.failed_position, outcome.reason) == (2, "event_changed")
    [row] = rows_at(place / "log", None, {("w001", "cells"): [2]})
    event = json.loads(row.event)
    tamper(place, event["fingerprint"], remade_fingerprint("cells", event))
    chained_again(place)
    with MemoryStore(place) as store:
        [outcome] = replay(store, frame)
        assert (outcome.outcome, outcome.failed_position, outcome.reason) == ("written", 2, "fingerprint_changed")


def test_the_order_of_the_source_is_kept_or_the_step_out_of_it_is_named(place: Path) -> None:
    """A time that nobody told is no part of the fingerprint; moved in the log, it still cannot move a step."""
    with MemoryStore(place) as store:
        ids = [
            str(store.write([{"system": "episodic", "content": content, "source": "log"}], **{**ANN, "now": NOON.replace(hour=hour)})[0].target_id)
            for hour, content in ((10, "jam"), (11, "restart"), (12, "prints"))
        ]
        frame = bind(store, ids[::-1])
        assert order(store, frame) == ids
    tamper(place, "2026-10-01T10:00", "2026-10-01T11:30")
    chained_again(place)
    with MemoryStore(place) as store:
        [outcome] = replay(store, frame)
        assert (outcome.verified_steps, outcome.failed_position, outcome.failed_cell_id, outcome.reason) == (1, 2, ids[1], "out_of_order")


def test_what_is_mended_is_replayed_to_the_end_and_what_breaks_again_is_marked_again(store: MemoryStore, place: Path) -> None:
    ids = cells(store, "jam on floor 2", "restart it now", "it prints again")
    frame = bind(store, ids)
    states, written = [], []
    for old, new in (("jam", "JAM"), ("JAM", "jam"), ("jam", "JAM"), ("JAM", "jam")):
        tamper(place, old, new)
        [outcome] = replay(store, frame)
        states.append((outcome.outcome, read(store, frame)["state"]))
        written.append(outcome.links_written)
    assert states == [("written", "incomplete"), ("written", "complete")] * 2
    assert written == [0, 3, 0, 0]
    # All at one instant: each follows the one before it.
    assert rows(place, "frames", "links", "replays") == Counter(frames=1, links=3, replays=4)


def test_a_replay_and_its_links_are_written_together_or_not_at_all(store: MemoryStore, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = bind(store, cells(store, "jam", "restart", "prints"))
    before = read_heads(place / "log")["w001"].commit
    counted = rows(place)

    def dies(*_: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(LogWriter, "_commit", dies)
        with pytest.raises(InputError, match="nothing was written"):
            replay(store, frame)
    assert rows(place) == counted
    with MemoryStore(place) as other:
        assert read(other, frame)["state"] == "not_replayed"
        assert linked(other, frame) == []
    counted = rows(place)
    [outcome] = replay(store, frame)
    assert (outcome.outcome, outcome.is_complete) == ("written", True)
    assert rows(place) - counted == Counter(links=3, replays=1)
    assert read_heads(place / "log")["w001"].commit == before + 1


def test_nobody_but_a_replay_writes_a_replay_link(store: MemoryStore) -> None:
    one, two = cells(store, "jam", "restart")
    frame = bind(store, [one])
    found = store.link([{"from_cell_id": start, "to_cell_id": two, "link_type": "replay"} for start in (one, frame)], **ANN)
    assert [outcome.code for outcome in found] == ["link_type_reserved"] * 2


def test_another_process_sees_the_frame_and_what_came_of_it(store: MemoryStore, place: Path) -> None:
    frame = bind(store, cells(store, "jam"))
    with MemoryStore(place) as other:
        assert [one.outcome for one in replay(other, frame)] == ["written"]
    assert [one.outcome for one in replay(store, frame)] == ["held"]


# Reading ---------------------------------------------------------------------------------------------------------------------------------


def test_a_frame_is_read_in_its_session_or_across_them_by_who_may_read_every_step(store: MemoryStore) -> None:
    [open_cell] = cells(store, "jam")
    [for_bob] = cells(store, "restart", release_to=["support"])
    mixed, plain = bind(store, [open_cell, for_bob]), bind(store, [open_cell])

    def may_read(frame: str, name: str, session_id: str | None, *parties: str, **how: bool) -> bool:
        return store.frame(frame, sight(name, session_id, *parties, **how)) is not None

    everywhere = {"is_global": True, "may_read_all": True}
    assert may_read(mixed, "ann", "s1")
    assert not may_read(mixed, "ann", "s2")
    assert may_read(mixed, "ann", "s2", **everywhere)
    assert not may_read(plain, "bob", "s1")
    assert may_read(plain, "bob", None, **everywhere)
    assert not may_read(mixed, "bob", None, **everywhere)
    assert may_read(mixed, "bob", None, "support", **everywhere)
    with pytest.raises(InputError, match="may not read across sessions"):
        may_read(plain, "bob", None, is_global=True)


def test_a_frame_is_not_shown_as_of_a_day_before_it_was_bound(store: MemoryStore) -> None:
    frame = bind(store, cells(store, "jam"))
    for day, is_there in ((NOON.date(), True), (NOON.date() - datetime.timedelta(days=1), False)):
        assert (store.frame(frame, replace(sight("ann"), on_date=day)) is not None) == is_there


def test_every_read_of_a_frame_leaves_an_event_that_names_no_withheld_frame(store: MemoryStore, place: Path) -> None:
    frame = bind(store, cells(store, "jam"))
    read(store, frame)
    store.frame(frame, sight("bob"))
    events = [json.loads(row.event) for row in rows_since(place / "log", None, {}, ["reads"])]
    assert [(event["principal"], event["outcome"], event["found_ids"]) for event in events] == [("ann", "found", [frame]), ("bob", "nothing", [])]


def test_a_frame_leads_back_to_what_its_cells_come_from(store: MemoryStore) -> None:
    [seen] = cells(store, "seen")
    [noted] = cells(store, "noted", source_ids=[seen])
    [told] = cells(store, "told", source_ids=[noted, seen])
    lineage = read(store, bind(store, [told]))["lineage"]
    assert {(cell["named_by"], cell["cell_id"], cell["is_origin"]) for cell in lineage} == {
        (None, told, False),
        (told, noted, False),
        (told, seen, True),
        (noted, seen, True),
    }


def test_cells_that_name_each_other_end_the_walk(store: MemoryStore) -> None:
    one, two = cells(store, "one", "two")
    frame = bind(store, [one])
    connection = store._projection.connection
    connection.execute(f"update main.cells set source_ids = ['{two}'] where cell_id = '{one}'")
    connection.execute(f"update main.cells set source_ids = ['{one}'] where cell_id = '{two}'")
    assert len(read(store, frame)["lineage"]) == 3


# The command, and dbt --------------------------------------------------------------------------------------------------------------------


def test_the_command_binds_replays_and_shows(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with MemoryStore(place) as store:
        ids = cells(store, "jam", "restart")
    file = tmp_path / "frames.jsonl"
    file.write_text(json.dumps({**FRAME, "steps": ids[::-1]}) + "\n\n" + json.dumps({**FRAME, "steps": []}) + "\n", encoding="utf-8")
    common = ["--memory", str(place), "--principal", "ann", "--session", "s1", "--now", "2026-10-01T12:00:00Z"]
    assert main(["frame", "bind", str(file), "--json", *common]) == 1
    bound, refused = map(json.loads, capsys.readouterr().out.splitlines())
    assert (bound["outcome"], refused["code"]) == ("written", "steps_missing")
    assert main(["frame", "replay", bound["target_id"], *common]) == 0
    assert capsys.readouterr().out == f"written  {bound['target_id']}  complete, 2 verified, 2 linked\n"
    assert main(["frame", "show", bound["target_id"], *common]) == 0
    shown = capsys.readouterr().out
    assert shown.index(ids[0]) < shown.index(ids[1])
    assert "complete" in shown
    tamper(place, "restart", "RESTART")
    assert main(["frame", "replay", bound["target_id"], *common]) == 2
    assert "cells.000001.jsonl: row 2 was changed" in capsys.readouterr().err
    chained_again(place)
    assert main(["frame", "replay", bound["target_id"], *common]) == 1
    assert f"incomplete, 1 verified, 0 linked; step 2, {ids[1]}: event_changed" in capsys.readouterr().out
    assert main(["frame", "show", bound["target_id"], "--memory", str(place), "--principal", "bob", "--session", "s1"]) == 1
    assert "no such frame" in capsys.readouterr().err


def test_the_example_of_the_docs_says_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = (dbt_harness.ROOT / "docs/frames.md").read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    [session] = re.findall(r"```console\n(.*?)```", text, flags=re.S)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GMEM_MEMORY", raising=False)
    exec(program, {})
    asked = re.findall(r"^\$ (\w+) (.*)\n((?:(?!\$ ).*\n)*)", session, flags=re.M)
    assert [command for command, *_ in asked] == ["gmem", "gmem", "gmem", "sed", "gmem"]
    for command, arguments, printed in asked:
        if command == "gmem":
            main(shlex.split(arguments))
            told = capsys.readouterr()
            assert told.out + told.err == printed
        else:
            subprocess.run([command, *shlex.split(arguments)], check=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no frame"),
        ('\n{"scene": "x"', "line 2: is no JSON"),
        ("[1]", "line 1: expected an object"),
        ('{"goal": NaN}', "line 1: is no JSON"),
        ('{"scene": "\\ud800"}', "unpaired surrogate"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_file_is_one_line(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    MemoryStore(place).close()
    file = tmp_path / "frames.jsonl"
    file.write_text(text, encoding="utf-8")
    assert main(["frame", "bind", str(file), "--memory", str(place), "--principal", "ann"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "f", "--memory", "nowhere"], "'nowhere' holds no memory"),
        (["replay", "f", "--now", "today"], "--now: 'today' is no instant"),
        (["bind", "nowhere.jsonl"], "nowhere.jsonl: cannot be read: No such file"),
    ],
)
def test_a_bad_argument_is_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    MemoryStore(place).close()
    monkeypatch.setenv("GMEM_MEMORY", str(place))
    assert main(["frame", *arguments, "--principal", "ann"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def build(place: Path, folder: Path, *selected: str) -> subprocess.CompletedProcess[str]:
    variables = json.dumps({"memory": {"log": str(place / "log")}})
    return dbt_harness.dbt(
        folder, "build", "--select", *selected, "--exclude-resource-type", "unit_test", "--indirect-selection", "cautious", "--vars", variables
    )


def test_a_build_derives_the_same_states_and_its_tests_hold_until_a_link_is_forged(place: Path, tmp_path: Path) -> None:
    with MemoryStore(place) as store:
        ids = cells(store, "jam", "restart", "prints")
        complete, broken, waiting = (bind(store, steps) for steps in (ids[:2], ids, ids[2:]))
        tamper(place, "prints", "PRINTS")
        replay(store, complete, broken)
        columns = "frame_id, steps, state, verified_steps, failed_position, failed_cell_id, reason, replay_id"
        store._projection.catch_up()
        expected = store._projection.connection.execute(f"select {columns} from main.frame_states order by frame_id").fetchall()
    assert {(row[0], row[2]) for row in expected} == {(complete, "complete"), (broken, "incomplete"), (waiting, "not_replayed")}
    chained_again(place)
    folder = tmp_path / "dbt"
    folder.mkdir()
    built = build(place, folder, "+path:models/memory", "path:seeds/memory", "path:tests/memory")
    assert built.returncode == 0, built.stdout + built.stderr
    with duckdb.connect(str(folder / dbt_harness.DATABASE), read_only=True) as connection:
        assert connection.execute(f"select {columns} from main.frame_states order by frame_id").fetchall() == expected
    # What no guard let in: a link to a step that failed, and a replay that says complete and left no link.
    told = {"recorded_at": "2026-10-01T13:00:00Z", "principal": "eve", "session_id": "s1", "transition": "replay", "fingerprint": "f"}
    link = {**told, "link_id": "l_forged", "from_cell_id": broken, "to_cell_id": ids[2], "link_type": "replay"}
    claim = {**told, "replay_id": "r_forged", "frame_id": waiting, "is_complete": True, "verified_steps": 0}
    with LogWriter(place / "log") as writer:
        writer.append({"links": [canonical_event(link)], "replays": [canonical_event(claim)]}, "2026-10-01T13:00:00Z")
    built = build(place, folder, "stg_log_heads", "links", "replays", "path:models/memory/frames", "path:tests/memory")
    assert built.returncode == 1
    for test in ("a_replay_link_exists_only_for_a_verified_step", "every_step_of_a_complete_frame_has_a_replay_link"):
        assert "Got 1 result, configured to fail if != 0" in built.stdout and f"Failure in test {test}" in built.stdout
