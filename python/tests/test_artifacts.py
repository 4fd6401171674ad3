"""Nothing that is written for others names the machine, a place on it, a key or a setting of training: every byte of it is looked at (rules M11 to M13)."""

from __future__ import annotations

import base64
import gzip
import json
import os
import platform
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import dbt_harness
import duckdb
import pytest
from cryptography.hazmat.primitives import serialization
from memory_stores import frame as frame_of
from whole_way import BOT, DAY, KIM, NOW, QUERY, STORE, lines, record, told, within

HOST, REAL = "zqhost-7731", os.uname().nodename
PLACE = "zqplace"
SETTINGS = re.compile(rb"(?i)learning.?rate|\"lr\"|weight.?decay|optimi[sz]er|momentum|\bepochs?\b|\bbetas\b|warm.?up")
# What is put in, and not written for others.
GIVEN = {"host.yml", "model", "cells.jsonl", "links.jsonl", "frames.jsonl", "inbox"}


@pytest.fixture
def written(way: Path, tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which one of each was made, of inputs that are named by where they lie on this machine."""
    for module, name in ((socket, "gethostname"), (socket, "getfqdn"), (platform, "node")):
        monkeypatch.setattr(module, name, lambda *_: HOST)
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", HOST, "1", "1", "x86_64")))
    monkeypatch.setenv("HOSTNAME", HOST)
    monkeypatch.setenv("HOME", str(tmp_path / "zqhome"))
    monkeypatch.setenv("GMEM_HANDOVERS", str(tmp_path / PLACE / "handovers.jsonl"))
    folder = shutil.copytree(way / "graph", tmp_path / PLACE)
    host, memory = str(folder / "host.yml"), str(folder / "memory")
    with within(folder):
        make(folder, host, memory)
        monkeypatch.delenv("GMEM_HANDOVERS")
        told("publish", "--out", str(folder / "published.duckdb"), "--database", str(built), "--host", host)
        told("publish", "--out", str(folder / "audience.duckdb"), "--database", str(built), "--host", host, "--audience", "bot")
        told("snapshot", "take", "--out", str(folder / "built"), "--database", str(built), "--host", host)
    return folder


def make(folder: Path, host: str, memory: str) -> None:
    from governed_memory.bridge.adapter import SEEDED, AdapterConfig, MemoryAdapters

    Path("inbox").mkdir()
    lines("inbox/1.cells.jsonl", {"cell_id": "in-1", "system": "working", "content": "one", "source": "log", "ttl_seconds": 60})
    lines("inbox/1.frames.jsonl", frame_of("in-1"))
    told("memory", "ingest", str(folder / "inbox"), "--memory", memory, "--host", host, "--principal", "ann", "--session", "desk", "--now", NOW)
    shared = [*(word if word not in ("host.yml", "memory") else str(folder / word) for word in BOT)]
    store = [word if word != "learned.jsonl" else str(folder / word) for word in STORE]
    told("packet", "export", "--out", str(folder / "out"), "--as-of", DAY, "--host", host, *store, "--caller", "bot", "--caller", "kim")
    packet = told("packet", "build", "--query", QUERY, "--as-of", DAY, *shared, *store, "--json")
    (folder / "packet.json").write_text(packet, encoding="utf-8")
    MemoryAdapters(AdapterConfig(32, (0, 2), gate=SEEDED)).save(folder / "adapters.safetensors")
    run = ("bridge", "run", "--packet", str(folder / "packet.json"), "--model", str(folder / "model"), "--device", "cpu", "--runs", str(folder / "bridge"))
    told(*run, "--each-fact", "--control"), told(*run, "--adapters", str(folder / "adapters.safetensors"))
    why = told("why", json.loads(packet)["packet_id"], "--packets", str(folder / "packet.json"), *shared, *store, "--runs", str(folder / "bridge"), "--json")
    (folder / "why.json").write_text(why, encoding="utf-8")
    told("graph", "draw", record(), "--out", str(folder / "graph.html"), "--global", "--memory", memory, *KIM[:-1], host)
    lines("attested.jsonl", {"written_by": "support", "record": json.loads((folder / "learned.jsonl").read_text(encoding="utf-8"))})
    told("attest", "sign", "--store", str(folder / "attested.jsonl"), "--host", host)
    told("snapshot", "take", "--out", str(folder / "snapshots"), "--memory", memory, "--host", host)
    told("memory", "archive", "--to", str(folder / "archive"), "--memory", memory, "--host", host, "--now", "2036-01-01T00:00:00")


def contents(folder: Path) -> dict[str, bytes]:
    """{name: all that it holds} of every file that was written; of what is packed, what is in it too."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if name.parts[0] not in GIVEN and path.suffix != ".pem":
            found[str(name)] = path.read_bytes() + UNPACKED.get(path.suffix, lambda _: b"")(path)
    return found


def of_database(path: Path) -> bytes:
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute("select schema_name, table_name from duckdb_tables() where not internal").fetchall()
        rows = [connection.execute(f'select table_data::varchar from "{schema}"."{table}" as table_data').fetchall() for schema, table in tables]
        views = connection.execute(
            "select sql from duckdb_views() where not internal union all select macro_definition from duckdb_functions() where not internal"
        )
        return "\n".join(str(row) for part in (*rows, views.fetchall()) for (row,) in part).encode()


UNPACKED: dict[str, Callable[[Path], bytes]] = {".duckdb": of_database, ".gz": lambda path: gzip.decompress(path.read_bytes())}


def private_keys(folder: Path) -> dict[str, bytes]:
    """Each private key in the forms in which it could be written down."""
    found = {}
    for file in sorted(folder.glob("*.pem")):
        if not file.name.endswith(".pub.pem"):
            key = serialization.load_pem_private_key(file.read_bytes(), None)
            raw = key.private_bytes(serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())
            forms = {"raw": raw, "hex": raw.hex().encode(), "base64": base64.b64encode(raw).rstrip(b"="), "PEM": file.read_bytes().splitlines()[1]}
            found |= {f"{file.name} as {form}": content for form, content in forms.items()}
    return found


def leaks(folder: Path, held: dict[str, bytes]) -> set[tuple[str, str]]:
    """(file, what it holds and must not)."""
    words = {"a host name": HOST, "a path": PLACE, "a home": "zqhome", "the place of the tests": str(folder.parent), "this project": str(dbt_harness.ROOT)}
    if len(REAL) > len("localhost"):
        words["the host name"] = REAL
    told_words = {what: word.encode() for what, word in words.items()} | private_keys(folder)
    found = {(name, what) for name, content in held.items() for what, word in told_words.items() if word in content}
    return found | {(name, "a setting of training") for name, content in held.items() if SETTINGS.search(content)}


def test_no_byte_that_is_written_names_the_machine_a_place_a_key_or_a_setting_of_training(written: Path, built: Path) -> None:
    held = contents(written)
    made = {Path(name).parts[0] for name in held}
    assert {"memory", "out", "bridge", "snapshots", "archive", "handovers.jsonl", "packets", "published.duckdb", "built", "graph.html", "why.json"} <= made
    assert {json.loads(line)["step"] for line in held["handovers.jsonl"].splitlines()} == {"ingest", "snapshot"}
    # Nothing else of it is packed so that its words could not be found.
    assert {Path(name).suffix for name in held} <= {".jsonl", ".json", ".html", ".safetensors", ".attestations", ".lock", "", *UNPACKED}
    assert leaks(written, held) == set()
    assert not [name for name, content in held.items() if str(built.parent).encode() in content]


@pytest.mark.parametrize(
    ("plant", "what"),
    [
        (lambda folder: HOST, "a host name"),
        (lambda folder: str(folder / "model"), "a path"),
        (lambda folder: os.path.expanduser("~/.cache"), "a home"),
        (lambda folder: (folder / "k1.pem").read_text(), "k1.pem as PEM"),
        (lambda folder: private_keys(folder)["kim.pem as hex"].decode(), "kim.pem as hex"),
        (lambda folder: '{"learning_rate": 0.001}', "a setting of training"),
    ],
)
def test_what_would_be_found_is_found(way: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Path], str], what: str) -> None:
    monkeypatch.setenv("HOME", "/zqhome")
    folder = shutil.copytree(way / "nothing", tmp_path / PLACE)
    (folder / "run.jsonl").write_text(plant(folder), encoding="utf-8")
    assert what in {found for _, found in leaks(folder, contents(folder))}
