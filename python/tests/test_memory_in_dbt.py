"""Memory as dbt builds it: the same tables as an open memory has, tests that fail on a log that no guard let in, and edits that are found."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import memory_processes
import pytest
from generated import examples
from memory_stores import ANN, NOON, cell, derived, frame, later, race, sight, trace, written

from governed_memory.cli import main
from governed_memory.log import LogWriter, canonical_event, positions, timestamp
from governed_memory.memory import MemoryStore
from governed_memory.memory.built import INDEXES, REACHED, edited_rows, replaced_reads
from governed_memory.memory.projection import KEYS, Projection

MODELS = ("path:models/memory", "path:models/staging/memory", "path:seeds/memory", "stg_build")
NAMES = ("0012", "29051_00040", "1e5", "true", "null", "打印机", "a\0b", "a'b")


def dbt(place: Path, folder: Path, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    variables = json.dumps({"memory": {"log": str(place / "log")}, "stores": {}, "registers": {}})
    return dbt_harness.dbt(folder, command, *arguments, "--indirect-selection", "cautious", "--vars", variables)


def tear(place: Path, stream: str) -> None:
    """What a crash leaves in a segment: a whole line that no head speaks of, and half of the next."""
    segment = sorted(place.glob(f"log/w001/{stream}.*.jsonl"))[-1]
    seq = positions(place / "log")["w001", stream]
    line = '{"chain":"%s","seq":%d,"event":{"%s":"torn","recorded_at":"2026-10-01T12:00:00.000000Z"}}\n'
    beyond = "".join(line % ("0" * 64, seq + number, KEYS[stream]) for number in (1, 2))
    with segment.open("a", encoding="utf-8") as file:
        file.write(beyond[:-20])


def statuses(folder: Path) -> dict[str, str]:
    """How each test of the last run ended, by its name."""
    found = json.loads((folder / "target/run_results.json").read_text(encoding="utf-8"))["results"]
    return {result["unique_id"].split(".")[2]: result["status"] for result in found if result["unique_id"].startswith("test.")}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with something of everything, told by two writers, with a torn end."""
    place = tmp_path_factory.mktemp("place") / "memory"
    with MemoryStore(place) as one, MemoryStore(place) as other:
        written(one, *(cell(name, f"printer {name}", confidence=0.1, event_index=2**63 - 1, metadata={"k\0": [1e-07, 10**30]}) for name in NAMES))
        written(other, cell("w1", "straße", system="working", ttl_seconds=60, created_at="0900-01-01"), cell("late", "note"), now=later(-60))
        links = [{"from_cell_id": "0012", "to_cell_id": name, "link_type": "conflict", "reason": "r", "weight": 0.1} for name in NAMES[1:]]
        outcomes = other.link([*links, {"from_cell_id": "late", "to_cell_id": "0012", "link_type": "task"}], **ANN)
        outcomes += one.annotate([{"target_id": "1e5", "kind": "decay", "reason": "old", "half_life_seconds": 0.5}], **ANN)
        outcomes += other.record_traces([trace(conditions=["night"], source_ids=["0012"], confidence=0.1), trace(steps=None, model_output="done")], **ANN)
        outcomes += other.bind([frame(*NAMES, frame_id="f1", cues=["noise"], starts_at="2026-10-01", ends_at="2026-10-02")], **ANN)
        assert {outcome.outcome for outcome in outcomes} == {"written"}
        assert one.replay(["f1"], **ANN)[0].is_complete
        told = race(one, other, lambda store, which: store.write([cell("twice", f"said by {which}")], principal="ann", session_id="s", now=later(which)))
        assert [outcomes[0].code for outcomes in told] == [None, "identity_conflict"]
        one.write([cell("learned", system="semantic")], **ANN)
        one.recall("printer", sight(now=later(1)))
    for stream in ("cells", "links", "replays", "traces"):
        if ("w001", stream) in positions(place / "log"):
            tear(place, stream)
    return place


@pytest.fixture(scope="module")
def built(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    run = dbt(place, folder, "build", "--select", *MODELS, "path:tests/memory", "--exclude-resource-type", "unit_test")
    assert run.returncode == 0, run.stdout + run.stderr
    return folder / dbt_harness.DATABASE


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(built, tmp_path / "copy.duckdb"))


def test_a_build_has_the_tables_that_an_open_memory_has_to_the_last_committed_row(place: Path, built: Path) -> None:
    projection = Projection(place / "log", None)
    with closing(projection.connection) as open_one, duckdb.connect(str(built), read_only=True) as built_one:
        expected = derived(open_one)
        assert derived(built_one) == expected
        assert {row[0] for row in expected["cells"]} == {*NAMES, "w1", "late", "twice"}
        assert all(len(rows) for table, rows in expected.items() if table not in EMPTY)
        [(names,)] = built_one.execute("select found_ids from main.read_events").fetchall()
        assert sorted(names) == sorted(NAMES)
        refused = built_one.execute("select target_id, code from main.refusals order by all").fetchall()
        assert refused == [("learned", "approval_required"), ("twice", "identity_conflict")]
        # Numbers of an event keep the form in which they were hashed.
        assert built_one.execute("select distinct event ->> '$.metadata' from main.stg_log_cells where event like '%10000%'").fetchall() != []


# --- edits of what was built ---

# Nothing was approved or proposed here.
EMPTY = ("approvals", "proposals")

VALUES = {
    "VARCHAR": "coalesce({}, '') || 'x'", "DOUBLE": "coalesce({}, 0) + 0.25", "BIGINT": "coalesce({}, 0) - 1", "BOOLEAN": "not coalesce({}, false)",
    "TIMESTAMP": "coalesce({}, timestamp '2026-01-01') + interval 1 second", "VARCHAR[]": "list_append(coalesce({}, []), 'x')", "JSON": "'{{\"a\": 1}}'",
}  # fmt: skip


def an_edit(draw: random.Random, connection: duckdb.DuckDBPyConnection) -> str:
    """One change of one table, as SQL."""
    table = draw.choice([table for table in (*KEYS, *INDEXES) if table not in EMPTY])
    rows = [row for (row,) in connection.execute(f"select rowid from main.{table} order by rowid").fetchall()]
    one, other = draw.choice(rows), draw.choice(rows)
    kinds = {name: kind for name, kind, *_ in connection.execute(f"describe main.{table}").fetchall()}
    name = draw.choice(sorted(kinds))
    changed = VALUES.get(kinds[name], "{} + 1" if kinds[name].startswith("DECIMAL") else "[]").format(name)
    return draw.choice(
        [
            f"delete from main.{table} where rowid = {one}",
            f"delete from main.{table} where rowid >= {one}",
            f"insert into main.{table} from main.{table} where rowid = {one}",
            f"insert into main.{table} select * replace ({changed} as {name}) from main.{table} where rowid = {other}",
            f"update main.{table} set {name} = {changed} where rowid = {one}",
            f"update main.{table} set {name} = {changed} where rowid = {other}",
            f"update main.{table} set {name} = {changed}",
        ]
    )


def test_every_edit_of_a_built_table_is_found(place: Path, built: Path, tmp_path: Path) -> None:
    assert list(edited_rows(place / "log", built)) == []

    def draw(source: random.Random) -> str:
        with duckdb.connect(str(built), read_only=True) as connection:
            return an_edit(source, connection)

    for number, edit in enumerate(examples(50, draw)):
        path = Path(shutil.copy(built, tmp_path / f"{number}.duckdb"))
        with duckdb.connect(str(path)) as connection:
            connection.execute(edit)
        assert list(edited_rows(place / "log", path)), edit
        path.unlink()


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("live_cells", "create or replace view main.live_cells as select cells.*, 'active' as state, 1.0 as strength from main.cells"),
        ("learned_schemas", "create or replace view main.learned_schemas as select cell_id from main.cells"),
        ("readable_cells", "create or replace macro main.readable_cells(caller, session) as table (select * from main.cells)"),
    ],
)
def test_a_read_that_was_replaced_in_a_built_database_is_found(built: Path, copy: Path, name: str, edit: str) -> None:
    assert list(replaced_reads(built)) == []
    with duckdb.connect(str(copy)) as connection:
        connection.execute(edit)
    assert list(replaced_reads(copy)) == [f"{copy}: {name}: is not what the model of that name says; build it again"]


@pytest.mark.parametrize(
    "edit", ["update main.stg_log_heads set last_seq = last_seq - 1", "update main.stg_log_heads set last_seq = last_seq + 1 where writer = 'w001'",
             "delete from main.stg_log_heads where stream = 'links'", "update main.stg_log_heads set writer = 'w009' where stream = 'cells'"],
)  # fmt: skip
def test_an_edit_of_how_far_a_build_has_read_is_found(place: Path, copy: Path, edit: str) -> None:
    with duckdb.connect(str(copy)) as connection:
        connection.execute(edit)
    assert list(edited_rows(place / "log", copy))


def test_the_command_names_the_table_and_its_first_edited_row_and_no_value(place: Path, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = Path(shutil.copytree(place, copy.parent / "memory"))
    LogWriter(whole / "log", writer="w001").close()  # takes back what was torn
    asked = ["memory", "verify", "--memory", str(whole), "--built", str(copy)]
    assert main(asked) == 0
    with duckdb.connect(str(copy)) as connection:
        connection.execute("update main.cells set content = 'forged' where cell_id = '0012'")
    capsys.readouterr()
    assert main(asked) == 1
    told = capsys.readouterr().out
    assert "table cells: '0012'" in told and "forged" not in told and "printer" not in told
    with duckdb.connect(str(copy)) as connection:
        connection.execute(f"drop table main.{REACHED}")
    assert main(asked) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


# --- a log that no guard let in ---

BY_HAND: dict[str, list[dict[str, Any]]] = {
    "cells": [
        cell("c1"), cell("c2"), cell("removed"), cell("sure", confidence=2), cell("unapproved", system="semantic", confidence=0.9, source_ids=["c1"], transition="consolidate"),
        cell("decided", system="refusals", transition="read"), cell("untraced", system="procedural", source_ids=["c1"], transition="consolidate"),
        cell("undead", system="working", ttl_seconds=1, created_at="2020-01-01T00:00:00.000000Z", expires_at="2999-01-01T00:00:00.000000Z"),
    ],
    "links": [
        {"link_id": "dangling", "from_cell_id": "c1", "to_cell_id": "nowhere", "link_type": "conflict", "reason": "r"},
        {"link_id": "forged", "from_cell_id": "f1", "to_cell_id": "c1", "link_type": "replay", "transition": "replay"},
        {"link_id": "undecided", "from_cell_id": "c1", "to_cell_id": "c2", "link_type": "conflict", "reason": "r", "transition": "consolidate"},
        {"link_id": "bound", "from_cell_id": "c1", "to_cell_id": "c2", "link_type": "task", "transition": "bind"},
    ],
    "annotations": [
        {"annotation_id": "a1", "target_id": "nowhere", "kind": "note", "reason": "r"},
        {"annotation_id": "a2", "target_id": "c1", "kind": "note", "reason": "r", "transition": "read"},
    ],
    "frames": [
        {**frame(frame_id=name, scene=scene), "steps": [{"position": 1, "cell_id": "c1", "cell_fingerprint": "f"}], "order_from": "source"}
        for name, scene in (("f1", "s"), ("f2", " "))
    ]
    + [{**frame(frame_id="f3"), "steps": [], "order_from": "source", "transition": "replay"}],
    "replays": [
        {"replay_id": "r1", "frame_id": "f2", "is_complete": True, "verified_steps": 1},
        {"replay_id": "r2", "frame_id": "nothing", "is_complete": True, "verified_steps": 0},
        {"replay_id": "r3", "frame_id": "f1", "is_complete": False, "verified_steps": 0, "transition": "bind"},
    ],
    "proposals": [
        {"proposal_id": "o1", "kind": "wish", "reason": "r"},
        {"proposal_id": "o2", "kind": "record", "reason": "r", "transition": "read"},
    ],
    "traces": [trace(trace_id="t1", skill=" ", steps=[{"tool": "x", "inputs_hash": "i", "result_hash": "r", "succeeded": False}]), trace(trace_id="t2", transition="bind")],
}  # fmt: skip
TRANSITIONS = {
    "cells": "write", "links": "link", "annotations": "annotate", "frames": "bind", "replays": "replay", "traces": "trace", "proposals": "propose",
}  # fmt: skip


def by_hand(place: Path) -> None:
    """Rows that no guard has seen, in a log whose chains are as they should be; and one line of it is cut out."""
    told = {"principal": "eve", "session_id": "s", "recorded_at": timestamp(NOON), "fingerprint": "f"}
    rows = {
        stream: [
            canonical_event({**told, "transition": TRANSITIONS[stream], **({"created_at": timestamp(NOON)} if stream == "cells" else {}), **row}) for row in of
        ]
        for stream, of in BY_HAND.items()
    }
    with LogWriter(place / "log") as writer:
        writer.append(rows, timestamp(NOON))
    segment = place / "log/w001/cells.000001.jsonl"
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:2] + lines[3:]))


def test_each_test_of_memory_fails_on_a_log_that_breaks_it(tmp_path: Path) -> None:
    by_hand(tmp_path / "memory")
    folder = tmp_path / "dbt"
    run = dbt(tmp_path / "memory", folder, "build", "--select", *MODELS, "--exclude-resource-type", "unit_test", "test")
    assert run.returncode == 0, run.stdout + run.stderr
    with duckdb.connect(str(folder / dbt_harness.DATABASE)) as connection:
        connection.execute("delete from main.memory_objects where object = 'cells' and object_kind = 'relation'")
    run = dbt(tmp_path / "memory", folder, "test", "--select", *MODELS, "path:tests/memory")
    assert run.returncode == 1
    ended = statuses(folder)
    refusals = {f"is_empty_{name}_refusals_" for name in ("cell", "link", "annotation", "frame", "replay", "trace", "proposal")}
    invariants = {path.stem for path in (dbt_harness.ROOT / "tests/memory").glob("*.sql")}
    transitions = {name for name in ended if name.startswith("accepted_values_") and "_transition__" in name}
    assert len(transitions) == len(BY_HAND)
    # Nothing is built of a stream whose chain is not what its head says.
    assert {f"follows_its_chain_stg_log_{stream}_{stream}" for stream in (*BY_HAND, "approvals", "decisions", "reads", "refusals")} <= ended.keys()
    to_fail = refusals | invariants | transitions | {"is_empty_log_gaps_", "follows_its_chain_stg_log_cells_cells"}
    assert {name: ended.get(name) for name in sorted(to_fail)} == dict.fromkeys(sorted(to_fail), "fail")


EDITS: dict[str, Callable[[bytes], bytes]] = {
    "an event": lambda lines: lines.replace(b"note c2", b"fact c2"),
    "a number, as another reader would write it": lambda lines: lines.replace(b"1e-07", b"1e-7"),
    "a chain": lambda lines: lines.replace(lines[10:20], b"0" * 10),
    "a row twice": lambda lines: lines.splitlines(keepends=True)[0] + lines,
    "the first row removed": lambda lines: b"".join(lines.splitlines(keepends=True)[1:]),
    "the last row removed": lambda lines: b"".join(lines.splitlines(keepends=True)[:-1]),
    "all rows removed": lambda lines: b"",
}


def test_a_build_stops_at_a_log_that_is_not_what_was_written(tmp_path: Path) -> None:
    place, folder = tmp_path / "memory", tmp_path / "dbt"
    with MemoryStore(place) as store:
        written(store, cell("c1", metadata={"a": 1e-07}))
        store._writer.seal(["cells"], timestamp(NOON))
        written(store, cell("c2"), cell("c3", metadata={"é": [1e-07, "\u2028"]}))
    asked = ("build", "--select", "+int_cell_events", "--exclude-resource-type", "unit_test")
    assert dbt(place, folder, *asked).returncode == 0
    test = next((folder / "target/compiled").rglob("follows_its_chain_stg_log_cells_cells.sql")).read_text(encoding="utf-8")
    segment = place / "log/w001/cells.000002.jsonl"
    whole = segment.read_bytes()
    with duckdb.connect(str(folder / dbt_harness.DATABASE), read_only=True) as connection:
        assert connection.execute(test).fetchall() == []
        for name, edit in EDITS.items():
            segment.write_bytes(edit(whole))
            assert segment.read_bytes() != whole and connection.execute(test).fetchall(), name
    segment.write_bytes(EDITS["an event"](whole))
    assert dbt(place, folder, *asked).returncode == 1
    found = json.loads((folder / "target/run_results.json").read_text(encoding="utf-8"))["results"]
    ended = {result["unique_id"].split(".")[2]: result["status"] for result in found}
    assert (ended["follows_its_chain_stg_log_cells_cells"], ended["int_cell_events"]) == ("fail", "skipped")


def test_a_build_of_a_memory_that_is_not_there_names_its_folder(tmp_path: Path) -> None:
    (tmp_path / "empty/log").mkdir(parents=True)
    for number, place in enumerate((tmp_path / "nowhere", tmp_path / "empty")):
        run = dbt(place, tmp_path / f"dbt{number}", "build", "--select", "stg_log_heads")
        assert run.returncode == 1
        assert f"there is no log in {place}/log" in run.stdout


# --- a build beside a writer ---


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[Path]:
    """A memory with a cell of ten megabytes, to which another process goes on writing."""
    place = tmp_path / "memory"
    with MemoryStore(place) as store:
        written(store, cell("big", "打印机 " * 1_000_000))
    with subprocess.Popen([sys.executable, memory_processes.__file__, "writes", str(place), "1"], stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline()
        drained = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        try:
            yield place
        finally:
            process.kill()
            drained.wait()


def test_a_build_beside_a_writer_sees_one_moment_of_the_log(writing: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dbt"
    run = dbt(writing, folder, "build", "--select", *MODELS, "path:tests/memory", "--exclude-resource-type", "unit_test")
    assert run.returncode == 0, run.stdout + run.stderr
    assert list(edited_rows(writing / "log", folder / dbt_harness.DATABASE)) == []
    with duckdb.connect(str(folder / dbt_harness.DATABASE), read_only=True) as connection:
        [(rows, length)] = connection.execute("select count(*), max(strlen(content)) from main.cells").fetchall()
        heads = {(writer, stream): seq for writer, stream, seq in connection.execute(f"select writer, stream, last_seq from main.{REACHED}").fetchall()}
    assert length == 10_000_000 and rows > 1
    assert (
        rows
        == sum(seq for (_, stream), seq in heads.items() if stream == "cells")
        < sum(seq for (_, stream), seq in positions(writing / "log").items() if stream == "cells")
    )
