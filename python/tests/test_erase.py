"""Lawful erasure: what a record said is gone, that it was there and who asked is not, and hashes say so (L8)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pytest

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.host.configuration import read_host
from governed_memory.reads.attest import sign, verify
from governed_memory.warehouse import StoreFile, attach
from governed_memory.warehouse.append import locked

SECRET = "what must go"
HOST = "keys: {active: k1, k1: {algorithm: hmac-sha-256, env: GMEM_TEST_KEY}}\nheads: heads.json\n"
LINES = [
    '{"record_id": "A",  "concept": "c", "value": "what stays", "valid_from": "2026-01-01", "valid_to": null, "figure": 1.50}',
    '{"record_id": "B", "concept": "c", "value": "what must go", "valid_from": "2026-02-01", "valid_to": null, "supersedes": "A", "note": "what must go", "n": 1.50}',
    '{"record_id": "C", "concept": "d", "value": "what stays too", "valid_from": "2026-01-01", "valid_to": null}',
]
WHY = ["--asked-by", "subject 7", "--because", "their request", "--by", "ada"]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(LINES) + "\n")
    path.chmod(0o640)
    return path


def redactions(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (store.parent / "s.redactions.jsonl").read_text().splitlines()]


def test_l8_a_value_goes_and_everything_else_stays_byte_for_byte(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["erase", "--store", "s.jsonl", "--record", "B", *WHY, "--keep", "n"]) == 0
    lines = store.read_text().splitlines()
    assert (lines[0], lines[2]) == (LINES[0], LINES[2])
    assert lines[1] == '{"record_id": "B", "concept": "c", "value": "[erased: B]", "valid_from": "2026-02-01", "valid_to": null, "supersedes": "A", "n": 1.50}'
    assert store.stat().st_mode & 0o777 == 0o640
    [noted] = redactions(store)
    noted.pop("recorded_at")
    assert noted == {
        "store_id": "s", "record_id": "B", "fields": ["value"], "keys": ["note"], "replacement": "[erased: B]", "asked_by": "subject 7",
        "because": "their request", "recorded_by": "ada",
    }  # fmt: skip
    told = capsys.readouterr()
    assert SECRET not in told.out + told.err
    assert not [path for path in store.parent.iterdir() if SECRET in path.read_text()]
    assert main(["as-of", "2026-03-01", "--store", "s.jsonl"]) == 0
    assert "[erased: B]" in capsys.readouterr().out


def test_l8_a_dry_run_changes_nothing_and_names_older_copies(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (store.parent / "backup.csv").write_text("record_id,value\nB,what must go\n")
    before = {path.name: path.read_bytes() for path in store.parent.iterdir()}
    assert main(["erase", "--store", "s.jsonl", "--record", "B", *WHY, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "would erase value, key 'note', key 'n' of 'B'" in told and "backup.csv may name the record" in told
    assert {path.name: path.read_bytes() for path in store.parent.iterdir()} == before


def test_l8_a_short_identifier_is_not_found_in_every_number(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.write_text('{"record_id": "7", "value": "x", "valid_from": "2026-01-01"}\n')
    (store.parent / "other.jsonl").write_text('{"record_id": "17", "n": 7}\n')
    (store.parent / "notes.md").write_text("On 2026-07-07 we sold 1.7 of 77.\n")
    (store.parent / "copy.json").write_text('[{"record_id": "7"}]\n')
    (store.parent / "copy.csv").write_text("record_id\n7\n")
    assert main(["erase", "--store", "s.jsonl", "--record", "7", *WHY, "--dry-run"]) == 0
    hints = [line for line in capsys.readouterr().out.splitlines() if line.startswith("look at")]
    assert [line.split("/")[-1] for line in hints] == ["copy.csv may name the record", "copy.json may name the record"]


def test_l8_a_second_erasure_says_that_nothing_was_noted(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["erase", "--store", "s.jsonl", "--record", "B", *WHY]) == 0
    told = capsys.readouterr().out
    assert told.count("noted in s.redactions.jsonl") == 1 and len(redactions(store)) == 1
    assert "nothing more to erase of 'B' in s.jsonl\nnoted already in s.redactions.jsonl" in told


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_l8_a_store_that_is_not_mapped_loses_no_dates(more: list[str], store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.write_text('{"uuid": "B", "fact": "what must go", "valid_at": "2026-01-01"}\n')
    before = store.read_bytes()
    assert main(["erase", "--store", "s.jsonl", "--record", "B", *WHY, "--map", "record_id=uuid", *more]) == 2
    told = capsys.readouterr().err
    assert "has no key 'value'" in told and "'fact', 'valid_at' would all go" in told
    assert store.read_bytes() == before
    assert main(["erase", "--store", "s.jsonl", "--record", "B", *WHY, "--map", "record_id=uuid,value=fact,valid_from=valid_at", *more]) == 0


REFUSED = {
    "another record": (["--record", "b", *WHY], "record_id 'b' is not in s.jsonl"),
    "no reason": (["--record", "B", "--asked-by", "x", "--because", " ", "--by", "ada"], "--because: is blank"),
    "a field that stays": (["--record", "B", *WHY, "--field", "valid_from"], "--field: 'valid_from' cannot be erased; expected one of value, source"),
    "nothing to erase": (["--record", "A", *WHY, "--keep", "figure", "--map", "value=text"], "there is nothing to erase"),
    "another file for the note": (["--record", "B", *WHY, "--file", "x.txt"], "--file: 'x.txt' ends in another way than .jsonl"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_erased_is_one_line_and_changes_nothing(case: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, said = REFUSED[case]
    if case == "nothing to erase":
        store.write_text('{"record_id": "A", "figure": 1.50}\n')
    before = store.read_bytes()
    assert main(["erase", "--store", "s.jsonl", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert store.read_bytes() == before and [path.name for path in store.parent.iterdir()] == ["s.jsonl"]


def test_another_format_is_refused(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.csv").write_text("record_id,value\nB,x\n")
    assert main(["erase", "--store", "s.csv", "--record", "B", *WHY]) == 2
    assert "s.csv: is CSV, and only JSON Lines can be rewritten line by line" in capsys.readouterr().err


# Hashes


def ledger(store: Path, built_at: str) -> list[dict[str, Any]]:
    """What a build at this time notes of the store."""
    connection = warehouse.open_memory()
    attach(connection, StoreFile(str(store), name="s"))
    warehouse.build(connection, {"record_ledger"})
    found = warehouse.rows(connection, "select * from record_ledger")
    return [{**row, "first_built_at": built_at, "last_built_at": built_at} for row in found]


def rewritten(store: Path, noted: list[dict[str, Any]], ledgers: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What history_rewritten finds in the store, given its ledger and redactions."""
    connection = warehouse.open_memory()
    attach(connection, StoreFile(str(store), name="s"))
    connection.execute("create or replace table stg_build as select date '2026-07-03' as on_date, timestamp '2026-07-03' as built_at")
    expanded = [{**{name: entry[name] for name in entry if name not in ("fields", "keys")}, "field": field} for entry in noted for field in entry["fields"]]
    types = {**warehouse.columns("record_ledger")}
    connection.execute(f"create table record_ledger ({', '.join(f'{name} {kind}' for name, kind in types.items())})")
    connection.executemany(f"insert into record_ledger values ({', '.join('?' for _ in types)})", [[row[name] for name in types] for row in ledgers])
    warehouse.build(connection, {"history_rewritten"}, given={"stg_redactions": warehouse.rows_as_sql("stg_redactions", expanded)})
    return [(row["record_id"], row["detail"]) for row in warehouse.rows(connection, "select * from history_rewritten order by record_id")]


def test_t10_an_erasure_is_explained_by_its_redaction_and_a_later_edit_is_not(store: Path) -> None:
    """L8, T10: without the redaction the same bytes are a rewritten history."""
    first = ledger(store, "2026-07-01 00:00:00")
    assert main(["erase", "--store", "s.jsonl", "--record", "B", *WHY]) == 0
    both = first + ledger(store, "2026-07-03 00:00:00")
    unchanged = [row for row in first if row["record_id"] != "B"]
    for row in unchanged:
        row["last_built_at"] = "2026-07-03 00:00:00"
    both = [row for row in both if row["record_id"] == "B"] + unchanged
    assert rewritten(store, redactions(store), both) == []
    assert rewritten(store, [], both) == [("B", "changed: value")]
    store.write_text(store.read_text().replace("[erased: B]", "back again"))
    edited = [row for row in first if row["record_id"] == "B"] + [row for row in ledger(store, "2026-07-03 00:00:00") if row["record_id"] == "B"] + unchanged
    assert rewritten(store, redactions(store), edited) == [("B", "changed: value")]


@pytest.fixture
def attested(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GMEM_TEST_KEY", "correct horse battery staple, 32 bytes")
    monkeypatch.setenv("GMEM_HOST", "host.yml")
    Path("host.yml").write_text(HOST)
    store.write_text("".join(f'{{"written_by": "finance", "record": {line}}}\n' for line in LINES))
    sign(StoreFile("s.jsonl"), read_host("host.yml"))
    return store


def test_g9_an_attested_store_is_signed_anew_and_verifies(attested: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("s.jsonl.attestations").read_bytes()
    assert main(["erase", "--store", "s.jsonl", "--record", "B", *WHY]) == 0
    assert "signed anew in s.jsonl.attestations; head " in capsys.readouterr().out
    assert Path("s.jsonl.attestations").read_bytes().startswith(before)
    verdicts, notices = verify(StoreFile("s.jsonl"), read_host("host.yml"))
    assert ({found.verdict for found in verdicts}, notices) == ({"ok"}, [])
    assert json.loads(attested.read_text().splitlines()[1])["record"]["value"] == "[erased: B]"


@pytest.mark.parametrize("change_", ["another record was changed", "another record is not signed", "no host"])
def test_g9_nothing_is_erased_where_signing_anew_would_vouch_for_more(
    change_: str, attested: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if change_ == "another record was changed":
        attested.write_text(attested.read_text().replace("what stays too", "what was put there"))
    elif change_ == "another record is not signed":
        with attested.open("a") as file:
            file.write('{"written_by": "sales", "record": {"record_id": "D"}}\n')
    else:
        monkeypatch.delenv("GMEM_HOST")
    before = attested.read_bytes()
    for more in ([], ["--dry-run"]):
        assert main(["erase", "--store", "s.jsonl", "--record", "B", *WHY, *more]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert attested.read_bytes() == before and not Path("s.redactions.jsonl").exists()


# Cut off

KILLED = """
import os, signal, sys
from governed_memory.reads import erase
from governed_memory.cli import main

def dies(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)

def dies_in_the_middle(self):
    part = self.path.with_name(f".{self.path.name}.erasing")
    part.write_bytes(self.path.read_bytes()[:50])
    dies()

step = sys.argv.pop(1)
if step == "before the note": erase._note = dies
if step == "before the file": erase._Found.rewrite = dies
if step == "in the file": erase._Found.rewrite = dies_in_the_middle
if step == "before it is in place": erase.put_in_place = dies
if step == "before signing": erase._sign = dies
main(sys.argv[1:])
"""


@pytest.mark.parametrize("step", ["before the note", "before the file", "in the file", "before it is in place", "before signing"])
def test_l8_an_erasure_that_is_killed_leaves_one_state_or_the_other_and_is_finished_by_the_next(step: str, attested: Path) -> None:
    whole = attested.read_bytes()
    command = ["erase", "--store", "s.jsonl", "--record", "B", *WHY]
    run = subprocess.run([sys.executable, "-c", KILLED, step, *command], capture_output=True, check=False, env=os.environ)
    assert run.returncode == -signal.SIGKILL, run.stderr
    is_gone = step == "before signing"
    assert (attested.read_bytes() == whole) is not is_gone
    assert (SECRET in attested.read_text()) is not is_gone
    # whoever asks meanwhile is refused rather than told: what is signed is not what stands there
    assert {found.verdict for found in verify(StoreFile("s.jsonl"), read_host("host.yml"))[0]} == ({"ok", "record_changed"} if is_gone else {"ok"})
    assert main(command) == 0
    assert SECRET not in "".join(path.read_text() for path in attested.parent.iterdir())
    assert len(redactions(attested)) == 1
    assert {found.verdict for found in verify(StoreFile("s.jsonl"), read_host("host.yml"))[0]} == {"ok"}
    assert {path.name for path in attested.parent.iterdir()} == {"s.jsonl", "s.jsonl.attestations", "s.redactions.jsonl", "host.yml", "heads.json"}


def test_t7_a_writer_that_waited_while_the_file_was_replaced_holds_the_file_that_stands_there_now(store: Path) -> None:
    """A lock on the file that was replaced meanwhile would keep nobody out."""
    order: list[str] = []

    def write() -> None:
        with locked(StoreFile("s.jsonl")):
            order.append("the one that waited")

    with ExitStack() as now:
        with locked(StoreFile("s.jsonl")):
            writer = threading.Thread(target=write)
            writer.start()
            time.sleep(0.5)
            new = store.with_name("new")
            new.write_bytes(store.read_bytes())
            new.replace(store)
            now.enter_context(locked(StoreFile("s.jsonl")))
        time.sleep(0.5)
        order.append("the holder of the new file")
    writer.join()
    assert order == ["the holder of the new file", "the one that waited"]


def test_l8_what_was_built_and_published_before_is_named(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect("governed_memory.duckdb") as connection:
        connection.execute("create table record_intervals_built as select 1 as x; create table record_rows as select 's' as store_id, 'B' as record_id")
        connection.execute("create table record_ledger as select 's' as store_id, 'B' as record_id; create table baseline_entries as from record_ledger")
    with duckdb.connect("s.published.duckdb") as connection:
        connection.execute("create table published_manifest as select timestamp '2026-07-01' as published_at, ['s'] as stores")
    assert main(["erase", "--store", "s.jsonl", "--record", "B", *WHY]) == 0
    told = capsys.readouterr().out
    assert "governed_memory.duckdb holds the record as the last build read it" in told
    assert "the ledger in governed_memory.duckdb keeps a 16-digit hash" in told
    assert "no value: the baseline names the record" in told
    assert "s.published.duckdb was published on 2026-07-01 00:00:00" in told
