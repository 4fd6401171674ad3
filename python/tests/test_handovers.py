"""Giver and taker note the root hash of what passes between them; a pair that does not match stops the chain and says where (rule M11)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import dbt_harness
import duckdb
import pytest
from memory_stores import NOON
from sealed_folders import SECTION, host_keys

from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.reads.publish import publish
from governed_memory.sealed import Handovers, read_handovers
from governed_memory.service.served import Served
from governed_memory.snapshots import restore

ONE, OTHER = "1" * 64, "2" * 64


def test_m11_what_was_given_is_what_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "handovers.jsonl"
    handovers = Handovers(path)
    for _ in range(2):
        handovers.give("publish", "g1", ONE, NOON)
        handovers.take("publish", "g1", ONE, NOON)
    assert [(row.side, row.generation, row.root) for row in read_handovers(path)] == [("giver", "g1", ONE), ("taker", "g1", ONE), ("taker", "g1", ONE)]
    with pytest.raises(InputError, match=f"publish g1 was given with root {ONE} and taken with root {OTHER}; the chain stops here"):
        handovers.take("publish", "g1", OTHER, NOON)
    with pytest.raises(InputError, match="publish g2 was taken and nobody has given it; the chain stops here"):
        handovers.take("publish", "g2", ONE, NOON)
    with pytest.raises(InputError, match="nobody has given it"):
        handovers.take("snapshot", "g1", ONE, NOON)
    with pytest.raises(InputError, match=f"g1 was given with root {ONE} and now has root {OTHER}"):
        handovers.give("publish", "g1", OTHER, NOON)
    # Takers note what they found before they refuse it.
    assert [row.root for row in read_handovers(path) if (row.step, row.generation, row.side) == ("publish", "g1", "taker")] == [ONE, ONE, OTHER]


def test_what_is_no_file_of_handovers_is_one_line_and_without_one_nothing_is_noted(tmp_path: Path) -> None:
    Handovers(None).take("publish", "g1", ONE, NOON)
    (tmp_path / "notes.txt").write_text("a note\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"notes\.txt, line 1: is no handover"):
        Handovers(tmp_path / "notes.txt").give("publish", "g1", ONE, NOON)
    with pytest.raises(InputError, match="handovers cannot be noted: No such file"):
        Handovers(tmp_path / "none/handovers.jsonl").give("publish", "g1", ONE, NOON)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]


def build(folder: Path, *select: str) -> subprocess.CompletedProcess[str]:
    variables = json.dumps({"memory": {"log": str(folder / "memory/log")}})
    return dbt_harness.dbt(folder, "build", *select, "--vars", variables)


def ingest(folder: Path, text: str) -> None:
    (folder / "inbox").mkdir(exist_ok=True)
    (folder / "inbox/1.cells.jsonl").write_text(json.dumps({"system": "episodic", "content": text, "source": "a"}) + "\n", encoding="utf-8")
    arguments = ["memory", "ingest", str(folder / "inbox"), "--memory", str(folder / "memory"), "--host", str(folder / "host.yml")]
    assert main([*arguments, "--principal", "ann", "--session", "s"]) == 0


def problems(database: Path) -> list[tuple[str, str, str]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute("select step, generation, problem from handovers where problem is not null order by all").fetchall()


def test_m11_from_an_inbox_to_whoever_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "handovers.jsonl"
    monkeypatch.setenv("GMEM_HANDOVERS", str(path))
    (tmp_path / "host.yml").write_text(json.dumps({"keys": SECTION}), encoding="utf-8")
    keys, database, published = host_keys(tmp_path), tmp_path / dbt_harness.DATABASE, tmp_path / "published.duckdb"
    # The snapshot is of this database, whatever stands in the folder that the tests run in.
    monkeypatch.setenv("GMEM_DATABASE", str(database))

    ingest(tmp_path, "one")
    run = build(tmp_path, "--exclude-resource-type", "test", "unit_test")
    assert run.returncode == 0, run.stdout + run.stderr
    publish(published, database=str(database))
    served = Served(None, str(published), None)
    for _ in range(2):
        with served.opened() as opened:
            assert "reference" in opened.stores
    assert main(["snapshot", "take", "--out", str(tmp_path / "s"), "--memory", str(tmp_path / "memory"), "--host", str(tmp_path / "host.yml")]) == 0
    restore(tmp_path / "s", tmp_path / "restored", keys, NOON)
    told = [(row.step, row.side) for row in read_handovers(path)]
    assert told == [
        ("ingest", "giver"), ("build", "giver"), ("build", "taker"), ("publish", "giver"), ("publish", "taker"), ("snapshot", "giver"), ("snapshot", "taker"),
    ]  # fmt: skip

    # What has been built is changed: it is not published, and what was published is not changed.
    before = published.read_bytes()
    with duckdb.connect(str(database)) as connection:
        connection.execute("update record_rows set value = 'other' where record_id = 'M-602'")
    with pytest.raises(InputError, match=r"build 2.* was given with root .* and taken with root"):
        publish(published, database=str(database))
    assert published.read_bytes() == before
    # Something else, which was made of what was published, stands in its place: it is not served. In its place it cannot be written while it is served.
    changed = tmp_path / "changed.duckdb"
    changed.write_bytes(before)
    with duckdb.connect(str(changed)) as connection:
        connection.execute("update record_rows set value = 'other' where record_id = 'M-602'")
    changed.replace(published)
    with pytest.raises(InputError, match=r"publish .* was given with root .* and taken with root"), served.opened():
        pass

    # The next build says so. What it reads of the log is what was ingested; what was rewritten, or is gone, is not.
    ingest(tmp_path, "two")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    lost = {**rows[0], "generation": "w001/cells/9"}
    rewritten = [{**row, "root": OTHER} if row["generation"] == "w001/cells/2" else row for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rewritten, lost]), encoding="utf-8")
    run = build(tmp_path, "--select", "+handovers")
    assert run.returncode == 1
    failed = json.loads((tmp_path / "target/run_results.json").read_text(encoding="utf-8"))["results"]
    assert [result["unique_id"].split(".")[2] for result in failed if result["status"] == "fail"] == ["is_empty_handovers_"]
    [build_generation] = [row.generation for row in read_handovers(path) if (row.step, row.side) == ("build", "giver")]
    [publish_generation] = [row.generation for row in read_handovers(path) if (row.step, row.side) == ("publish", "giver")]
    assert problems(database) == [
        ("build", build_generation, "root_differs"), ("ingest", "w001/cells/2", "root_differs"), ("ingest", "w001/cells/9", "lost"),
        ("publish", publish_generation, "root_differs"),
    ]  # fmt: skip
