"""Snapshots hold what only this project holds, and are restored whole or not at all (rules M2 and M11, case C29)."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import pytest
from memory_stores import ANN, NOON, cell, frame, sight, tables, written
from sealed_folders import EDITS, SECTION, host_keys, make_key, structural_edit

from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.log import LogWriter, canonical_event, verify
from governed_memory.memory import MemoryStore
from governed_memory.sealed import Manifest, Part, SealError, generations, newest_valid, seal, verified
from governed_memory.snapshots import KIND, Sources, opened_newest, restore, restoring, take, verified_snapshot
from governed_memory.snapshots.memory_log import put_log
from governed_memory.snapshots.topology import unresolved

AT = "2026-10-01T12:00:00.000000Z"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host with keys, a memory with cells, a link and a replayed frame told by two writers, and two snapshots of it."""
    folder = tmp_path_factory.mktemp("world")
    keys = host_keys(folder)
    (folder / "host.yml").write_text(json.dumps({"keys": SECTION}), encoding="utf-8")
    with MemoryStore(folder / "memory", keys=keys) as one, MemoryStore(folder / "memory", keys=keys) as other:
        written(one, *(cell(name, f"printer {name}") for name in "abc"))
        other.link([{"from_cell_id": "a", "to_cell_id": "b", "link_type": "causal"}], principal="ann", session_id="s", now=NOON)
        [bound] = one.bind([frame("a", "b", "c")], **ANN)
        one.replay([str(bound.target_id)], **ANN)
    (folder / "owners.jsonl").write_text('{"concept": "margin", "party": "finance"}\n', encoding="utf-8")
    sources = Sources(memory=folder / "memory", files=[folder / "owners.jsonl"])
    take(folder / "snapshots", sources, keys, NOON)
    with MemoryStore(folder / "memory", keys=keys) as one:
        written(one, cell("d", "printer d"))
    take(folder / "snapshots", sources, keys, NOON)
    return folder


@pytest.fixture
def place(world: Path, tmp_path: Path) -> Path:
    shutil.copytree(world, tmp_path / "world")
    return tmp_path / "world"


def newest(place: Path) -> Path:
    return next(iter(generations(place / "snapshots").values()))


def sealed_anyway(place: Path, change: Callable[[Part], None] = lambda _: None, **facts: Any) -> Path:
    """A snapshot of the memory as it is, sealed by the host's key without any of the checks of taking one."""

    def write(part: Part) -> dict[str, Any]:
        put_log(part, place / "memory/log", None)
        change(part)
        return {"taken_at": AT, "memory": {}, "tables": {}, "files": [], "versions": {}, **facts}

    return seal(place / "snapshots", KIND, write, host_keys(place))[0]


def test_m11_what_was_restored_is_what_was_there(place: Path, tmp_path: Path) -> None:
    done = restore(place / "snapshots", tmp_path / "restored", host_keys(place), NOON)
    with MemoryStore(place / "memory", keys=host_keys(place)) as before, MemoryStore(done.folder / "memory", keys=host_keys(place)) as after:
        assert tables(after) == tables(before)
        assert {found["cell_id"] for found in after.recall("printer", sight())} == set("abcd")
        written(after, cell("e", "goes on"))
    assert verify(done.folder / "memory/log", keys=host_keys(place)).is_whole
    assert (done.folder / "files/owners.jsonl").read_bytes() == (place / "owners.jsonl").read_bytes()
    report = json.loads((done.folder / "recovery_report.json").read_text(encoding="utf-8"))
    assert (report["outcome"], report["generation"], report["root"]) == ("restored", 2, done.manifest.root)
    assert report["checks"] == ["envelope", "signature", "generation", "file list", "size", "hash", "topology"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["restored", "world"]


def test_m11_writers_go_on_while_a_snapshot_is_taken(place: Path) -> None:
    keys, root = host_keys(place), place / "snapshots"
    with MemoryStore(place / "memory", keys=keys) as store:
        written(store, cell("e", "before"))
        _, one = take(root, Sources(memory=place / "memory"), keys, NOON)
        written(store, cell("f", "after"))
    # What a writer has begun and not committed is no part of the memory.
    with (place / "memory/log/w001/cells.000001.jsonl").open("ab") as segment:
        segment.write(b'{"chain":"0')
    _, two = take(root, Sources(memory=place / "memory"), keys, NOON)
    assert [manifest.facts["memory"]["w001"]["cells"] for manifest in (one, two)] == [5, 6]


def test_m11_a_damaged_memory_is_not_sealed(place: Path) -> None:
    segment = place / "memory/log/w001/cells.000001.jsonl"
    segment.write_bytes(segment.read_bytes().replace(b"printer b", b"printer x"))
    with pytest.raises(InputError, match=r"log/w001/cells\.000001\.jsonl:2: row 2: .*nothing was sealed"):
        take(place / "snapshots", Sources(memory=place / "memory"), host_keys(place), NOON)
    assert list(generations(place / "snapshots")) == [2, 1]


@pytest.mark.parametrize(
    ("stream", "event", "told"),
    [
        ("links", {"link_id": "l", "from_cell_id": "a", "to_cell_id": "gone", "link_type": "causal"}, "to_cell_id of 'l' in links names 'gone', which is not in cells"),
        ("links", {"link_id": "l", "from_cell_id": "a", "to_cell_id": "b", "link_type": "replay"}, "from_cell_id of 'l' in links names 'a', which is not in frames"),
        ("cells", {"cell_id": "x", "system": "episodic", "content": "x", "source_ids": ["a", "gone"]}, "source_ids of 'x' in cells names 'gone', which is not in cells"),
        ("cells", {"cell_id": "x", "system": "semantic", "content": "x", "approval_id": "gone", "transition": "consolidate"}, "approval_id of 'x' in cells names 'gone', which is not in approvals"),
        ("annotations", {"annotation_id": "n", "target_id": "gone", "kind": "doubt"}, "target_id of 'n' in annotations names 'gone', which is not in cells"),
        ("frames", {"frame_id": "f", "scene": "s", "goal": "g", "action": "a", "outcome": "o", "steps": [{"position": 1, "cell_id": "gone"}]}, "steps of 'f' in frames names 'gone', which is not in cells"),
        ("replays", {"replay_id": "r", "frame_id": "gone"}, "frame_id of 'r' in replays names 'gone', which is not in frames"),
        ("approvals", {"approval_id": "p", "verdict": "approve", "cell_id": "gone"}, "cell_id of 'p' in approvals names 'gone', which is not in cells"),
        ("approvals", {"approval_id": "p", "verdict": "reject", "cell_id": "gone", "frame_ids": ["gone"]}, "frame_ids of 'p' in approvals names 'gone', which is not in frames"),
        ("decisions", {"decision_id": "d", "link_id": "gone"}, "link_id of 'd' in decisions names 'gone', which is not in links"),
    ],
)  # fmt: skip
def test_m2_m11_what_names_a_cell_link_frame_or_approval_that_is_not_there_is_refused(
    place: Path, tmp_path: Path, stream: str, event: dict[str, Any], told: str
) -> None:
    """Neither sealed, nor opened where it was sealed all the same: the generation before counts."""
    keys = host_keys(place)
    assert unresolved(place / "memory/log", None) is None
    with LogWriter(place / "memory/log", keys=keys) as writer:
        writer.append({stream: [canonical_event({"recorded_at": AT, "transition": "write", "principal": "ann", "fingerprint": "f", **event})]}, AT)
    with pytest.raises(InputError, match=told):
        take(place / "snapshots", Sources(memory=place / "memory"), keys, NOON)
    folder = sealed_anyway(place)
    with pytest.raises(SealError, match=f"topology check failed: {told}"):
        verified_snapshot(folder, keys)
    with opened_newest(place / "snapshots", keys) as (found, private):
        assert found.folder == place / "snapshots/generation-000002"
        assert [refused.check for refused in found.refused] == ["topology"]
        assert (private / "memory/log/w001/cells.000001.jsonl").read_bytes() == (place / "snapshots/generation-000002/log.w001.cells.000001.jsonl").read_bytes()
    with pytest.raises(SealError, match=r"topology check failed: .*; nothing was restored; generation 2 is the newest that is whole: --generation 2"):
        restore(place / "snapshots", tmp_path / "restored", keys, NOON)
    assert not (tmp_path / "restored").exists()
    report = json.loads((tmp_path / "restored.recovery_report.json").read_text(encoding="utf-8"))
    assert (report["outcome"], report["failed_check"], report["generation"], report["newest_valid_generation"]) == ("refused", "topology", 3, 2)
    assert restore(place / "snapshots", tmp_path / "restored", keys, NOON, generation=2).manifest.generation == 2


def test_m11_segments_are_those_that_the_heads_count(place: Path) -> None:
    folder = sealed_anyway(place, lambda part: part.put("log.w001.cells.000009.jsonl", b""))
    with pytest.raises(SealError, match=r"topology check failed: segment log/w001/cells\.000009\.jsonl is counted by no head"):
        verified_snapshot(folder, host_keys(place))

    def left_out(part: Part) -> None:
        (part.place / "log.w001.cells.000001.jsonl").unlink()
        del part._files["log.w001.cells.000001.jsonl"]

    folder = sealed_anyway(place, left_out)
    with pytest.raises(SealError, match=r"topology check failed: segment log/w001/cells\.000001\.jsonl is missing"):
        verified_snapshot(folder, host_keys(place))


def test_m11_ten_thousand_flipped_bits_are_refused_and_none_is_loaded(place: Path, tmp_path: Path) -> None:
    keys, draw, folder = host_keys(place), random.Random(1), newest(place)
    files = sorted(folder.iterdir())
    for number in range(10_000):
        file = draw.choice(files)
        content = file.read_bytes()
        changed = bytearray(content)
        bit = draw.randrange(8 * len(content))
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        with pytest.raises(SealError):
            verified(folder, KIND, keys)
        if number % 1000 == 0:
            with pytest.raises(SealError, match="nothing was restored; generation 1 is the newest that is whole"):
                restore(place / "snapshots", tmp_path / "restored", keys, NOON)
            assert not (tmp_path / "restored").exists()
        file.write_bytes(content)
    assert verified_snapshot(folder, keys).generation == 2


def test_m11_a_thousand_structural_edits_of_a_snapshot_are_refused(place: Path, tmp_path: Path) -> None:
    keys, draw, done = host_keys(place), random.Random(2), set()
    for number in range(1000):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(place / "snapshots", copy)
        done.add(edit := structural_edit(draw, copy / "generation-000002", copy / "generation-000001"))
        found = newest_valid(copy, KIND, keys)
        assert (found.folder, len(found.refused)) == (copy / "generation-000001", 1), edit
        shutil.rmtree(copy)
    assert done == set(EDITS)


def test_m11_killed_at_a_hundred_moments_the_former_snapshot_still_counts(place: Path) -> None:
    script = Path(__file__).with_name("snapshot_processes.py")
    run = subprocess.run([sys.executable, str(script), str(place), "100"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    newest_one, count = map(int, run.stdout.split())
    assert newest_one == count > 5
    with opened_newest(place / "snapshots", host_keys(place)) as (found, _):
        assert found.manifest and found.manifest.generation == newest_one
    take(place / "snapshots", Sources(memory=place / "memory"), host_keys(place), NOON)
    assert {path.name for path in (place / "snapshots").iterdir() if path.name.startswith(".")} == {".lock"}


def test_c29_a_swap_after_the_check_is_not_what_is_restored(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = "log.w001.cells.000001.jsonl"
    checked = (newest(place) / segment).read_bytes()

    def swap(held: Any) -> None:
        check(held)
        (newest(place) / segment).write_bytes(checked.replace(b"printer a", b"printer x"))

    check = restoring.check_topology
    monkeypatch.setattr(restoring, "check_topology", swap)
    done = restore(place / "snapshots", tmp_path / "restored", host_keys(place), NOON)
    assert (done.folder / "memory/log/w001/cells.000001.jsonl").read_bytes() == checked


def test_m11_no_older_snapshot_stands_in_for_one_that_was_removed(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(newest(place))
    told = r"generation-000002: envelope check failed: is no folder that can be opened: No such file or directory; nothing was restored; generation 1 is"
    with pytest.raises(SealError, match=told):
        restore(place / "snapshots", tmp_path / "restored", host_keys(place), NOON)
    assert gmem(place, "verify", str(place / "snapshots")) == 1
    assert "generation-000002: envelope check failed" in capsys.readouterr().out


def gmem(place: Path, *arguments: str) -> int:
    return main(["snapshot", *arguments, "--host", str(place / "host.yml")])


def test_m11_the_commands_say_what_is_there_and_what_is_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    snapshots = str(place / "snapshots")
    assert gmem(place, "take", "--out", snapshots, "--memory", str(place / "memory")) == 0
    told = capsys.readouterr()
    assert "generation-000003: " in told.out and "(memory), root " in told.out
    assert told.err == "gmem snapshot: notice: without a built database; name it with --database if there is one\n"
    assert gmem(place, "verify", snapshots) == 0
    assert [line.split(": ")[1].split(";")[0] for line in capsys.readouterr().out.splitlines()] == ["whole"] * 3
    file = place / "snapshots/generation-000003/head.w001.json"
    file.write_bytes(file.read_bytes().replace(b"w001", b"w002"))
    assert gmem(place, "verify", snapshots) == 1
    assert "generation-000003: hash check failed: head.w001.json has other bytes than were sealed" in capsys.readouterr().out
    assert gmem(place, "verify", snapshots, "--generation", "2") == 0
    capsys.readouterr()
    assert gmem(place, "list", snapshots, "--json") == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["generation"], one["is_whole"]) for one in listed] == [(3, False), (2, True), (1, True)]
    assert listed[1]["facts"]["memory"]["w001"]["cells"] == 4
    restored = str(tmp_path / "restored")
    assert gmem(place, "restore", snapshots, "--to", restored) == 2
    assert capsys.readouterr().err.strip().endswith("generation 2 is the newest that is whole: --generation 2")
    assert gmem(place, "restore", snapshots, "--to", restored, "--generation", "2") == 0
    assert f"GMEM_MEMORY={restored}/memory" in capsys.readouterr().out
    assert gmem(place, "restore", snapshots, "--to", restored, "--generation", "2") == 2
    assert "is there already; a restore never writes over anything" in capsys.readouterr().err
    for number in (1, 2):
        (place / f"snapshots/generation-00000{number}/head.w001.json").unlink()
    assert gmem(place, "list", snapshots) == 1
    assert gmem(place, "restore", snapshots, "--to", str(tmp_path / "other")) == 2
    assert "no generation is whole" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("take", "--out", "out"), "there is nothing to take a snapshot of"),
        (("take", "--out", "out", "--memory", "none"), "'none' holds no memory"),
        (("take", "--out", "out", "--database", "none.duckdb"), "none.duckdb: no such database"),
        (("take", "--out", "out", "--file", "none.csv"), "'none.csv' cannot be read: No such file or directory; nothing was sealed"),
        (("take", "--out", "host.yml", "--file", "host.yml"), "'host.yml' cannot be written"),
        (("verify", "none"), "'none' holds no sealed generations"),
        (("verify", "snapshots", "--generation", "9"), "'snapshots' holds no generation 9"),
        (("restore", "snapshots", "--to", "r", "--generation", "9"), "'snapshots' holds no generation 9; it has 1, 2"),
        (("list", "snapshots", "--host", "none.yml"), "none.yml"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    place: Path, arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    assert main(["snapshot", arguments[0], "--host", "host.yml", *arguments[1:]]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert told in line
    assert not (place / "out/latest").exists()


def test_keys_are_needed_and_others_refuse_everything(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    (place / "keyless.yml").write_text("callers: {}\n", encoding="utf-8")
    assert main(["snapshot", "list", "snapshots", "--host", "keyless.yml"]) == 2
    assert "which file names the keys of this host" in capsys.readouterr().err
    make_key(place)
    assert main(["snapshot", "list", "snapshots", "--host", "host.yml"]) == 1
    assert capsys.readouterr().out.count("signature check failed: no ed25519 key of") == 2


def build(folder: Path, *, ledger: str | None = None, monkeypatch: pytest.MonkeyPatch) -> Path:
    if ledger:
        monkeypatch.setenv("GMEM_LEDGER", ledger)
    run = dbt_harness.dbt(folder, "build", "--exclude-resource-type", "test", "unit_test")
    assert run.returncode == 0, run.stdout + run.stderr
    return folder / dbt_harness.DATABASE


def taken(place: Path, database: Path) -> Manifest:
    return take(place / "snapshots", Sources(database=database), host_keys(place), NOON)[1]


def test_m11_views_cut_and_rows_in_another_order_do_not_change_the_root(built: Path, place: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    shutil.copy(built, copy)
    root = taken(place, copy).root
    with duckdb.connect(str(copy)) as connection:
        views = [
            name for (name,) in connection.execute("select view_name from duckdb_views() where not internal and view_name <> 'attached_hashes'").fetchall()
        ]
        assert len(views) > 20
        for name in views:
            connection.execute(f'drop view "{name}"')
        for name in ("concept_segments", "int_segments"):
            connection.execute(f"drop table if exists {name}")
        for name in ("record_ledger", "level_history", "record_rows"):
            connection.execute(f"create or replace table {name} as select * from {name} order by hash(store_id, rowid * 7 % 11)")
    assert taken(place, copy).root == root
    with duckdb.connect(str(copy)) as connection:
        connection.execute("update record_ledger set first_built_at = first_built_at - interval 1 day where record_id = 'M-602'")
    assert taken(place, copy).root != root


def test_m11_the_ledger_is_restored_as_the_next_build_finds_it(built: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = taken(place, built)
    assert manifest.facts["tables"] == {"level_history": 2, "record_ledger": 48}
    done = restore(place / "snapshots", tmp_path / "restored", host_keys(place), NOON, database=built)
    assert done.changed_stores == ()
    read = "select * from {}record_ledger order by all"
    with duckdb.connect(str(built), read_only=True) as connection:
        before = connection.execute(read.format("")).fetchall()
        connection.execute(f"attach '{done.folder / 'ledger.duckdb'}' as ledger (read_only)")
        assert connection.execute(read.format("ledger.")).fetchall() == before
        assert connection.execute("from ledger.level_history order by all").fetchall() == connection.execute("from level_history order by all").fetchall()
    (tmp_path / "again").mkdir()
    again = build(tmp_path / "again", ledger=str(done.folder / "ledger.duckdb"), monkeypatch=monkeypatch)
    with duckdb.connect(str(done.folder / "ledger.duckdb"), read_only=True) as connection:
        kept = connection.execute("select store_id, record_id, fingerprint, first_built_at from record_ledger order by all").fetchall()
        assert kept == sorted(row[:4] for row in before)
    monkeypatch.delenv("GMEM_LEDGER")
    with duckdb.connect(str(again)) as connection:
        connection.execute("update record_rows set value = 'other' where store_id = 'reference' and record_id = 'M-602'")
    manifest = take(place / "snapshots", Sources(database=again, ledger=done.folder / "ledger.duckdb"), host_keys(place), NOON)[1]
    assert manifest.facts["tables"]["record_ledger"] == 48
    assert restore(place / "snapshots", tmp_path / "later", host_keys(place), NOON, database=built).changed_stores == ("reference",)
