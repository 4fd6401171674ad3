"""Rule M10: the graph of memory is a view at three scales, walked within a budget by whoever may read what it comes to."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pytest
from learning_houses import House
from memory_stores import ANN, NOON, cell, events, frame, sight, written

from governed_memory import cli
from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.memory import MemoryStore, Sight
from governed_memory.memory.projection import ROWS
from governed_memory.packets.graph import walk
from governed_memory.packets.graph_drawing import html, svg

DECISION = {
    "decision_id": "d", "kind": "opposite_outcomes", "policy_version": "1", "outcome": "keep_both", "subject_ids": ["sem", "against"], "link_id": "l",
    "principal": "ann", "recorded_at": "2026-10-01T12:00:00.000000Z",
}  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryStore]:
    """The fixture of the text: two nodes that support, one that was learned, one episode against it, one decision."""
    with MemoryStore(tmp_path / "m", clock=lambda: NOON) as store:
        written(store, cell("s1"), cell("s2"), cell("against"))
        store._projection.catch_up()
        connection = store._projection.connection
        learned = "'sem' as cell_id, 'semantic' as system, ['s1', 's2'] as source_ids, 'approve_x' as approval_id"
        connection.execute(f"insert into main.cells select * replace ({learned}) from main.cells where cell_id = 's1'")
        store.link([{"from_cell_id": "s1", "to_cell_id": "s2", "link_type": "temporal"}], **ANN)
        store._projection.catch_up()
        against = "'l' as link_id, 'against' as from_cell_id, 'sem' as to_cell_id, 'conflict' as link_type"
        connection.execute(f"insert into main.links select * replace ({against}) from main.links")
        told = polars.DataFrame([("w", 1, json.dumps(DECISION))], ROWS, orient="row")
        store._projection.take_in_decisions = lambda: store._projection.fill("main.stg_log_decisions", told)  # type: ignore[method-assign]
        yield store


def came_to(memory: MemoryStore, start: str = "sem", seen: Sight | None = None, **how: Any) -> list[str]:
    return [node.node_id for node in walk(memory, start, seen or sight(), **how).nodes]


def test_a_full_walk_comes_to_five_and_each_filter_to_its_neighbourhood_M10(memory: MemoryStore) -> None:
    assert came_to(memory) == ["sem", "against", "d", "s1", "s2"]
    assert came_to(memory, types=["semantic-support"]) == ["sem", "s1", "s2"]
    assert came_to(memory, types=["semantic-conflict"]) == ["sem", "against"]
    assert came_to(memory, scales=["episode"]) == ["sem", "against", "s1", "s2"]
    assert came_to(memory, scales=["control"]) == ["sem", "d"]
    assert came_to(memory, "d", types=["decision"]) == ["d", "against", "sem"]


def test_each_node_has_its_scale_and_its_edges(memory: MemoryStore) -> None:
    nodes = {node.node_id: node for node in walk(memory, "sem", sight()).nodes}
    assert {name: (node.scale, node.kind, node.steps) for name, node in nodes.items()} == {
        "sem": ("schema", "semantic", 0), "against": ("episode", "episodic", 1), "d": ("control", "decision", 1), "s1": ("episode", "episodic", 1),
        "s2": ("episode", "episodic", 1),
    }  # fmt: skip
    assert nodes["s1"].edges == [{"to": "s2", "adjacency": "temporal"}, {"to": "sem", "adjacency": "semantic-support"}]


def test_what_a_walk_leaves_out_is_counted_by_why(memory: MemoryStore) -> None:
    cut = {name: count for name, count in walk(memory, "sem", sight(), most=2).cut.items() if count}
    assert cut == {"cut_by_budget": 3}
    assert {name: count for name, count in walk(memory, "sem", sight(), types=["semantic-support"]).cut.items() if count} == {"cut_by_type": 2}
    assert {name: count for name, count in walk(memory, "sem", sight(), scales=["episode"]).cut.items() if count} == {"cut_by_scale": 1}
    assert walk(memory, "s1", sight(), types=["temporal", "semantic-support"], steps=1).cut["cut_by_steps"] == 0
    assert walk(memory, "d", sight(), steps=1).cut["cut_by_steps"] == 2


def test_a_walk_shows_only_what_may_be_read_and_counts_the_rest_G7(memory: MemoryStore) -> None:
    memory._projection.connection.execute("update main.cells set is_restricted = true, release_to = ['board'], principal = 'zed' where cell_id = 'against'")
    told = walk(memory, "sem", sight())
    assert [node.node_id for node in told.nodes] == ["sem", "s1", "s2"]
    # the cell, and the decision that is about it too
    assert told.cut["withheld"] == 2
    assert "against" not in json.dumps(told.as_data())
    assert came_to(memory, "against") == [] == came_to(memory, "nothing")


def test_a_walk_leaves_an_event_and_changes_nothing_else_M10(memory: MemoryStore, tmp_path: Path) -> None:
    before = {stream: events(tmp_path / "m", stream) for stream in ("cells", "links", "annotations", "decisions")}
    came_to(memory)
    came_to(memory, "nothing")
    assert [(read["read_kind"], read.get("query"), read["found_ids"]) for read in events(tmp_path / "m", "reads")] == [
        ("walk", "sem", ["sem", "against", "d", "s1", "s2"]),
        ("walk", None, []),
    ]
    assert before == {stream: events(tmp_path / "m", stream) for stream in before}


def test_frames_are_nodes_for_who_may_read_all_their_steps(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "f", clock=lambda: NOON) as store:
        written(store, cell("c1", event_index=1), cell("c2", event_index=2))
        [bound] = store.bind([frame("c1", "c2", frame_id="f")], **ANN)
        store.replay(["f"], **ANN)
        assert bound.outcome == "written"
        assert came_to(store, "f") == ["f", "c1", "c2"]
        assert came_to(store, "c1", types=["binding"]) == ["c1", "f", "c2"]
        bob = Sight(Caller("bob", ("bob",), "inside"), "s", NOON)
        assert came_to(store, "f", bob) == []


def test_a_skill_is_joined_to_the_runs_that_carry_it_and_to_those_that_speak_against_it_M8(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.store.write([{"cell_id": "ticket", "system": "episodic", "content": "x", "source": "log"}], principal="ann", session_id="desk", now=NOON)
    house.runs(5, 2)
    house.trace(7, source_ids=["ticket"], release_to=["support"])
    skill = str(house.decide("approve", house.candidates()[0]["candidate_fingerprint"]).target_id)
    seen, successes = house.sight(), ["t0", "t1", "t2", "t3", "t4", "t7"]
    # Its cell carries it too.
    assert came_to(house.store, skill, seen, types=["semantic-support"]) == [skill, *successes[:5], "t7", "ticket"]
    assert came_to(house.store, skill, seen, types=["semantic-conflict"]) == [skill, "t5", "t6"]
    assert came_to(house.store, "t7", seen, types=["support"]) == ["t7", "ticket"]
    nodes = {node.node_id: (node.scale, node.kind) for node in walk(house.store, skill, seen).nodes}
    assert (nodes["t0"], nodes[skill]) == (("episode", "trace"), ("schema", "procedural"))
    # A run is read as a cell is (G7).
    told = walk(house.store, "t0", house.sight("max"), types=["semantic-support"])
    assert [node.node_id for node in told.nodes] == ["t0"] and told.cut["withheld"] == 1
    house.store.close()


def test_a_circle_ends_and_a_long_chain_is_cut_by_its_steps(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "c", clock=lambda: NOON) as store:
        written(store, *(cell(f"c{number:02}") for number in range(30)))
        links = [{"from_cell_id": f"c{n:02}", "to_cell_id": f"c{(n + 1) % 30:02}", "link_type": "temporal"} for n in range(30)]
        assert {one.outcome for one in store.link(links, **ANN)} == {"written"}
        assert len(came_to(store, "c00", steps=40)) == 30
        told = walk(store, "c00", sight(), steps=3)
        assert (len(told.nodes), told.cut["cut_by_steps"]) == (7, 2)


@pytest.mark.parametrize(
    ("how", "expected"),
    [({"types": ["suport"]}, "did you mean"), ({"scales": ["all"]}, "episode, schema, control"), ({"most": 0}, "budget: 0"), ({"steps": 0}, "steps: 0")],
)
def test_what_is_no_walk_says_why(memory: MemoryStore, how: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        walk(memory, "sem", sight(), **how)


def test_a_drawing_is_well_formed_whatever_things_are_called(tmp_path: Path) -> None:
    names = ['<script>alert("x")</script>', "a]]>b", "&amp;", "\x00\x1b\u202e", "𝒳" * 40, "'\"", "合同"]
    with MemoryStore(tmp_path / "d", clock=lambda: NOON) as store:
        for outcome in store.write([cell(name) for name in names], **ANN):
            assert outcome.outcome in ("written", "refused")
        store.link([{"from_cell_id": names[0], "to_cell_id": name, "link_type": "conflict", "reason": "r"} for name in names[1:]], **ANN)
        walked = walk(store, names[0], sight())
    drawing = ET.fromstring(svg(walked))
    assert len(drawing.findall("{http://www.w3.org/2000/svg}polygon")) == len(walked.nodes) > 4
    assert "<script" not in html(walked, names[0])


def test_the_commands_walk_and_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with MemoryStore(tmp_path / "m", clock=lambda: NOON) as store:
        written(store, cell("c1"), cell("c2"))
        store.link([{"from_cell_id": "c1", "to_cell_id": "c2", "link_type": "conflict", "reason": "r"}], **ANN)
    common = ["--memory", str(tmp_path / "m"), "--principal", "ann", "--session", "s"]
    assert cli.main(["graph", "walk", "c1", *common]) == 0
    assert capsys.readouterr().out == "0  c1  episode episodic: conflict c2\n1  c2  episode episodic: conflict c1\n"
    assert cli.main(["graph", "walk", "c1", "--types", "temporal", *common]) == 0
    assert capsys.readouterr().out == "0  c1  episode episodic\ncut: 1 nodes next to these, along edges of other types\n"
    assert cli.main(["graph", "walk", "c9", *common]) == 1
    capsys.readouterr()
    for name in ("g.svg", "g.html"):
        assert cli.main(["graph", "draw", "c1", "--out", str(tmp_path / name), *common]) == 0
        assert "<svg" in (tmp_path / name).read_text()
    assert cli.main(["graph", "draw", "c1", "--out", str(tmp_path / "g.png"), *common]) == 2
