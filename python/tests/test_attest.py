"""Attestations: whatever is done to a store or its attestations, exactly the concepts concerned are refused (G9, C29)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.host.canonical import Number, canonical, parse
from governed_memory.host.configuration import read_host
from governed_memory.reads.ask import READS, Opened, Question, ask, open_to_ask
from governed_memory.reads.attest import FAILURES, sign, verify
from governed_memory.reads.attestations import read_attestations
from governed_memory.warehouse import StoreFile

SECRET = "correct horse battery staple, 32 bytes"
WITHHELD = "nine million"
BASE = {
    "value": "v",
    "valid_from": "2026-01-01",
    "valid_to": None,
    "source": "P-1",
    "concept_owner": "finance",
    "release_to": None,
    "figure": 1.50,
    "live": True,
}
RECORDS: list[dict[str, Any]] = [
    {**BASE, "record_id": "R1", "concept": "a", "value": "old"},
    {**BASE, "record_id": "R2", "concept": "a", "value": "new", "valid_from": "2026-02-01", "supersedes": ["R1"]},
    {**BASE, "record_id": "R3", "concept": "b", "value": "three"},
    {**BASE, "record_id": "R4", "concept": "c", "value": WITHHELD, "release_to": ["board"]},
    {**BASE, "record_id": "R5", "concept": "d", "value": "five"},
    {**BASE, "record_id": "R6", "concept": "d", "value": "six", "valid_from": "2026-02-01", "supersedes": ["R5"]},
    {"record_id": "W7", "supersedes": ["R6"], "withdrawal": "R6 was wrong", "valid_from": "2026-02-01", "valid_to": None},
]
CONCEPTS = ("a", "b", "c", "d")
Lines = list[dict[str, Any]]


def write(path: Path, lines: Lines) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def lines_of(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_keys(folder: Path, *names: str) -> None:
    for name in names:
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (folder / f"{name}.pem").write_bytes(private)
        public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        (folder / f"{name}.pub.pem").write_bytes(public)


KEYS = {
    "hmac": "{active: k1, k1: {algorithm: hmac-sha-256, env: GMEM_TEST_KEY}}",
    "ed25519": "{active: k2, k2: {algorithm: ed25519, file: k2.pem, public_file: k2.pub.pem}}",
}


class World:
    """A folder with a store, its attestations and a host; a store is enveloped, written by its concepts' owners."""

    def __init__(self, folder: Path, keys: str = KEYS["ed25519"], more: str = "") -> None:
        self.folder = folder
        self.store = StoreFile(str(folder / "s.jsonl"))
        self.path = folder / "s.jsonl.attestations"
        self.say(keys, more)
        write(self.store.file, [{"written_by": "finance", "record": record} for record in RECORDS])

    def say(self, keys: str, more: str = "") -> None:
        callers = "{board: {parties: [board], boundary: inside}, staff: {parties: [staff], boundary: inside}}"
        (self.folder / "host.yml").write_text(f"callers: {callers}\nowners: {{a: finance, b: finance, c: finance, d: finance}}\nkeys: {keys}\n{more}\n")

    @property
    def host(self) -> Any:
        return read_host(str(self.folder / "host.yml"))

    def sign(self, **options: Any) -> Lines:
        return sign(self.store, self.host, **options)[0]

    def failures(self) -> dict[Any, str]:
        """{record, or None for the head: what fails}."""
        return {found.record_id: found.verdict for found in verify(self.store, self.host)[0] if found.verdict != "ok"}

    def refused(self, *more: str) -> set[str]:
        """The concepts refused with integrity_failed alone; all others must be answered as before."""
        opened = open_to_ask(self.store, None, self.host)
        found = set()
        for answer in ask(opened, [Question(concept, "2026-03-01", self.host.caller("board")) for concept in (*CONCEPTS, *more)]):
            if answer["reasons"] == ["integrity_failed"]:
                assert (answer["outcome"], answer["answer"], answer["sides"], answer["withheld_records"], answer["stable_until"]) == (
                    "refused",
                    None,
                    None,
                    0,
                    None,
                )
                found.add(answer["concept"])
            elif answer["concept"] in CONCEPTS:
                assert answer["answer"]["value"] == {"a": "new", "b": "three", "c": WITHHELD, "d": "five"}[answer["concept"]]
        return found


@pytest.fixture(scope="module")
def signed_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A store signed once with each kind of key; the host with the Ed25519 key notes heads."""
    folders = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GMEM_TEST_KEY", SECRET)
        for kind, keys in KEYS.items():
            folders[kind] = tmp_path_factory.mktemp(kind)
            write_keys(folders[kind], "k2", "k3")
            World(folders[kind], keys, "heads: heads.json" if kind == "ed25519" else "").sign()
    return folders


def copy_of(folder: Path, tmp_path: Path, kind: str) -> World:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    world = World(tmp_path, KEYS[kind])
    shutil.copy(folder / "host.yml", tmp_path)
    return world


@pytest.fixture(params=list(KEYS))
def world(request: pytest.FixtureRequest, signed_folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A signed store, once with each kind of key, of a host that notes no heads."""
    monkeypatch.setenv("GMEM_TEST_KEY", SECRET)
    world = copy_of(signed_folders[request.param], tmp_path, request.param)
    world.say(KEYS[request.param])
    return world


@pytest.fixture
def plain(signed_folders: dict[str, Path], tmp_path: Path) -> World:
    """A store signed with Ed25519, of a host that notes heads."""
    return copy_of(signed_folders["ed25519"], tmp_path, "ed25519")


def edit(world: World, change: Callable[[Lines], Any]) -> None:
    lines = lines_of(world.store.file)
    change(lines)
    write(world.store.file, lines)


def edit_attestations(world: World, change: Callable[[Lines], Any]) -> None:
    lines = lines_of(world.path)
    change(lines)
    write(world.path, lines)


def record(lines: Lines, record_id: str) -> dict[str, Any]:
    return next(line["record"] for line in lines if line["record"]["record_id"] == record_id)


# What is done to the records


def test_g9_what_was_signed_is_answered(world: World) -> None:
    assert world.failures() == {} and world.refused() == set()
    assert len(read_attestations(world.path).records) == len(RECORDS)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("value", "Three"), ("valid_from", "2026-01-02"), ("valid_to", ""), ("source", "P-2"), ("concept_owner", "sales"), ("release_to", []),
        ("release_to", ["board"]), ("figure", 1.51), ("figure", "1.5"), ("live", 1), ("live", "true"), ("note", None), ("supersedes", []),
    ],
)  # fmt: skip
def test_g9_each_field_that_is_tampered_with_is_found(plain: World, field: str, value: Any) -> None:
    edit(plain, lambda lines: record(lines, "R3").update({field: value}))
    [found] = [found for found in verify(plain.store, plain.host)[0] if found.verdict != "ok"]
    assert (found.record_id, found.verdict, found.concepts) == ("R3", "record_changed", ("b",))


@pytest.mark.parametrize("field", [name for name in BASE if name != "value"])
def test_g9_a_field_that_is_taken_away_is_found(plain: World, field: str) -> None:
    edit(plain, lambda lines: record(lines, "R3").pop(field))
    assert plain.failures() == {"R3": "record_changed"}


def test_g9_order_of_keys_white_space_and_escapes_change_nothing(plain: World) -> None:
    lines = [{"record": dict(reversed(line["record"].items())), "written_by": line["written_by"]} for line in lines_of(plain.store.file)]
    text = "".join(json.dumps(line, separators=(" ,  ", " : ")).replace("three", "thr\\u0065e") + "\n" for line in lines)
    plain.store.file.write_text(text)
    assert plain.failures() == {}


def test_g9_a_record_moved_to_another_concept_refuses_both(plain: World) -> None:
    edit(plain, lambda lines: record(lines, "R3").update(concept="c"))
    assert plain.failures() == {"R3": "moved"}
    assert plain.refused() == {"b", "c"}


def test_g9_a_record_under_another_id_is_one_removed_and_one_not_attested(plain: World) -> None:
    edit(plain, lambda lines: record(lines, "R3").update(record_id="R9"))
    assert plain.failures() == {"R3": "removed", "R9": "not_attested"}
    assert plain.refused() == {"b"}


def test_g9_a_swapped_writer_is_found(world: World) -> None:
    edit(world, lambda lines: lines[2].update(written_by="sales"))
    assert world.failures() == {"R3": "writer_changed"}
    assert world.refused() == {"b"}


def test_g9_the_last_record_of_a_concept_removed_is_refused_not_said_to_be_not_held(plain: World) -> None:
    edit(plain, lambda lines: lines.pop(2))
    assert plain.failures() == {"R3": "removed"}
    assert plain.refused("never held") == {"b"}


def test_g9_every_record_removed(plain: World) -> None:
    edit(plain, lambda lines: lines.clear())
    assert set(plain.failures().values()) == {"removed"}
    assert plain.refused() == set(CONCEPTS)


def test_g9_a_withdrawal_without_a_concept_concerns_what_it_takes_back_and_what_that_had_ended(plain: World) -> None:
    edit(plain, lambda lines: record(lines, "W7").update(withdrawal=None))
    assert plain.failures() == {"W7": "record_changed"}
    assert plain.refused() == {"d"}
    edit(plain, lambda lines: lines.pop())
    assert plain.failures() == {"W7": "removed"}
    assert plain.refused() == {"d"}


def test_g9_an_injected_successor_concerns_the_concept_it_would_end(plain: World) -> None:
    edit(plain, lambda lines: lines.append({"written_by": "finance", "record": {**BASE, "record_id": "R8", "concept": "z", "supersedes": ["R3"]}}))
    assert plain.failures() == {"R8": "not_attested"}
    assert plain.refused("z") == {"b", "z"}


def test_g9_a_record_that_is_there_twice_is_replayed_also_where_the_id_alone_would_refuse_it(plain: World) -> None:
    edit(plain, lambda lines: lines.append(lines[2]))
    assert plain.failures() == {"R3": "replayed"}
    assert plain.refused() == {"b"}
    edit(plain, lambda lines: record(lines, "R3").update(value="other"))
    assert plain.refused() == {"b"}


def test_g9_a_record_and_its_attestation_moved_to_another_store(plain: World) -> None:
    (plain.folder / "other").mkdir()
    for name in ("k2.pem", "k2.pub.pem"):
        shutil.copy(plain.folder / name, plain.folder / "other")
    other = World(plain.folder / "other")
    other.store = StoreFile(str(other.folder / "t.jsonl"))
    other.path = other.folder / "t.jsonl.attestations"
    write(other.store.file, lines_of(plain.store.file)[:2])
    other.sign()
    assert other.failures() == {}
    write(other.store.file, lines_of(plain.store.file)[:3])
    assert other.failures() == {"R3": "not_attested"}
    stolen = next(line for line in lines_of(plain.path) if line["record_id"] == "R3")
    edit_attestations(other, lambda lines: lines.insert(2, stolen))
    found = [(each.record_id, each.verdict) for each in verify(other.store, other.host)[0] if each.verdict != "ok"]
    assert found == [(None, "head_invalid"), ("R3", "not_attested"), ("R3", "moved")]
    assert other.refused() == set(CONCEPTS)


def test_g9_a_whole_store_in_place_of_another(plain: World) -> None:
    (plain.folder / "t.jsonl").write_bytes(plain.store.file.read_bytes())
    (plain.folder / "t.jsonl.attestations").write_bytes(plain.path.read_bytes())
    plain.store = StoreFile(str(plain.folder / "t.jsonl"))
    assert plain.failures()[None] == "head_invalid"
    assert plain.refused() == set(CONCEPTS)


def test_g9_a_key_that_is_there_twice_has_no_one_reading(plain: World) -> None:
    text = plain.store.file.read_text()
    plain.store.file.write_text(text.replace('"value": "three"', '"value": "fake", "value": "three"'))
    assert plain.failures() == {"R3": "record_changed"}
    assert plain.refused() == {"b"}


# What is done to the attestations


@pytest.mark.parametrize("field", ["concept", "written_by", "fingerprint", "key", "signature"])
def test_g9_an_edited_attestation_fails_itself_and_the_head(plain: World, field: str) -> None:
    edit_attestations(plain, lambda lines: lines[2].update({field: lines[1][field] if field in ("fingerprint", "signature") else "other"}))
    assert plain.failures() == {None: "head_invalid", "R3": "signature_invalid"}
    assert plain.refused("never held") == {*CONCEPTS, "never held"}


@pytest.mark.parametrize(
    ("field", "value"), [("count", 6), ("count", "7"), ("root", "0" * 64), ("previous", "0" * 64), ("signature", "00"), ("store", "t"), ("key", "k9")]
)
def test_g9_an_edited_head_refuses_the_store(world: World, field: str, value: Any) -> None:
    edit_attestations(world, lambda lines: lines[-1].update({field: value}))
    assert world.failures()[None] == "head_invalid"
    assert world.refused() == set(CONCEPTS)


@pytest.mark.parametrize(
    "change", [lambda lines: lines.pop(2), lambda lines: lines.insert(2, lines[1]), lambda lines: lines.reverse(), lambda lines: lines.clear()]
)
def test_g9_attestations_taken_out_repeated_or_reordered(plain: World, change: Callable[[Lines], Any]) -> None:
    edit_attestations(plain, change)
    assert plain.failures()[None] == "head_invalid"
    assert plain.refused() == set(CONCEPTS)


def test_g9_a_rolled_back_file_is_found_by_the_head_that_the_host_noted(plain: World) -> None:
    before = plain.path.read_bytes()
    edit(plain, lambda lines: lines.append({"written_by": "finance", "record": {**BASE, "record_id": "R8", "concept": "e"}}))
    assert [line["kind"] for line in plain.sign()] == ["record", "head"]
    assert plain.failures() == {}
    plain.path.write_bytes(before)
    assert plain.failures() == {None: "head_rolled_back", "R8": "not_attested"}
    edit(plain, lambda lines: lines.pop())
    assert plain.failures() == {None: "head_rolled_back"}
    assert plain.refused() == set(CONCEPTS)
    with pytest.raises(InputError, match="head_rolled_back"):
        plain.sign()


def test_g9_without_noted_heads_a_rolled_back_file_leaves_later_records_not_attested(world: World) -> None:
    before = world.path.read_bytes()
    edit(world, lambda lines: lines.append({"written_by": "finance", "record": {**BASE, "record_id": "R8", "concept": "e"}}))
    world.sign()
    world.path.write_bytes(before)
    assert world.failures() == {"R8": "not_attested"}
    assert world.refused("e") == {"e"}


def test_g9_attestations_that_are_gone_are_missed_where_the_host_noted_a_head(plain: World) -> None:
    plain.path.unlink()
    assert plain.failures() == {None: "head_invalid"}
    assert plain.refused() == set(CONCEPTS)
    with pytest.raises(InputError, match="no such file, though the host has noted a head"):
        plain.sign()


# Signing


def test_g9_signing_again_appends_only_what_is_new(plain: World) -> None:
    before = plain.path.read_bytes()
    assert plain.sign() == [] and plain.path.read_bytes() == before
    edit(plain, lambda lines: lines.append({"written_by": "finance", "record": {**BASE, "record_id": "R8", "concept": "e"}}))
    assert plain.refused("e") == {"e"}
    [line, head] = plain.sign()
    assert (line["record_id"], head["count"]) == ("R8", "8")
    assert plain.path.read_bytes().startswith(before)
    assert plain.failures() == {}


def test_g9_what_was_signed_and_changed_is_signed_only_when_told(plain: World) -> None:
    edit(plain, lambda lines: (record(lines, "R3").update(value="three!"), lines.pop()))
    before = plain.path.read_bytes()
    with pytest.raises(InputError, match="record 'R3' is not what was signed: record_changed; put it back, or accept it with --accept R3"):
        plain.sign()
    with pytest.raises(InputError, match="'W7' is not what was signed: removed"):
        plain.sign(accepted=["R3"])
    with pytest.raises(InputError, match="'R1' is no record that was signed and then changed or removed"):
        plain.sign(accepted=["R1"])
    assert plain.path.read_bytes() == before
    assert [line.get("record_id") for line in plain.sign(accepted=["R3", "W7"])] == ["R3", "W7", None]
    assert plain.failures() == {}
    edit(plain, lambda lines: record(lines, "R3").update(value="three"))
    assert plain.failures() == {"R3": "record_changed"}  # what was signed before counts no longer


ENVELOPE: dict[str, Any] = {"written_by": "finance", "record": {"record_id": "R1", "concept": "a"}}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"record_id": "R1", "concept": "a", "written_by": "me"}], "nobody attests who wrote its records"),
        ([{"record": ENVELOPE["record"]}], "record 'R1': nobody says who wrote it"),
        ([ENVELOPE, ENVELOPE], "record 'R1' is there 2 times"),
        ([{"written_by": "finance", "record": {"concept": "a"}}], "record 1 has no record_id"),
    ],
)
def test_g9_what_cannot_be_attested_is_not_signed(tmp_path: Path, lines: Lines, message: str) -> None:
    write_keys(tmp_path, "k2")
    world = World(tmp_path)
    write(world.store.file, lines)
    with pytest.raises(InputError, match=re.escape(message)):
        world.sign()
    assert not world.path.exists()


def test_g9_a_table_of_columns_whose_writers_are_attested(plain: World) -> None:
    database = plain.folder / "t.duckdb"

    def run(sql: str) -> None:
        with duckdb.connect(str(database)) as connection:
            connection.execute(sql)

    run("create table facts (record_id varchar, concept varchar, value decimal(30,9), valid_from date, valid_to date, note varchar, who varchar)")
    run(
        "insert into facts values ('R1', 'a', 12345678901234567890.123456789, '2026-01-01', null, null, 'finance'), ('R2', 'b', 2, '2026-01-01', null, '', 'finance')"
    )
    store = StoreFile(f"{database}::facts", {"written_by": "who"}, attests_writers=True)
    sign(store, plain.host)

    def failures() -> dict[Any, str]:
        return {found.record_id: found.verdict for found in verify(store, plain.host)[0] if found.verdict != "ok"}

    assert (plain.folder / "t.duckdb.facts.attestations").exists() and failures() == {}
    run("alter table facts add column later varchar")
    assert failures() == {}
    run("update facts set value = 12345678901234567890.123456788 where record_id = 'R1'")
    run("update facts set note = null where record_id = 'R2'")
    assert failures() == {"R1": "record_changed", "R2": "record_changed"}


# Keys


def test_g9_another_key_of_the_same_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GMEM_TEST_KEY", SECRET[::-1])
    write_keys(world.folder, "k2")
    assert set(world.failures().values()) == {"head_invalid", "signature_invalid"}
    assert world.refused() == set(CONCEPTS)


def test_g9_a_rotated_key_signs_what_is_new_and_the_old_one_still_verifies(plain: World) -> None:
    old = "k2: {algorithm: ed25519, public_file: k2.pub.pem}"
    new = "k3: {algorithm: ed25519, file: k3.pem}"
    (plain.folder / "k2.pem").unlink()
    plain.say(f"{{active: k3, {old}, {new}}}", "heads: heads.json")
    assert plain.failures() == {}
    edit(plain, lambda lines: lines.append({"written_by": "finance", "record": {**BASE, "record_id": "R8", "concept": "e"}}))
    assert [line["key"] for line in plain.sign()] == ["k3", "k3"]
    assert plain.failures() == {}
    plain.say(f"{{active: k3, {new}}}")
    assert plain.failures() == {name: "signature_invalid" for name in ("R1", "R2", "R3", "R4", "R5", "R6", "W7")}
    plain.say(f"{{active: k3, {old}, {new}}}")
    assert len(plain.sign(renews=True)) == len(RECORDS) + 1
    plain.say(f"{{active: k3, {new}}}")
    assert plain.failures() == {}


def test_g9_an_unknown_key_id_has_signed_nothing(plain: World) -> None:
    plain.say("{active: k3, k3: {algorithm: ed25519, file: k3.pem}}")
    assert set(plain.failures().values()) == {"head_invalid", "signature_invalid"}


def test_g9_whoever_holds_only_the_public_key_verifies_and_cannot_sign(plain: World) -> None:
    (plain.folder / "k2.pem").unlink()
    plain.say("{k2: {algorithm: ed25519, public_file: k2.pub.pem}}")
    assert plain.failures() == {}
    edit(plain, lambda lines: lines.append({"written_by": "finance", "record": {**BASE, "record_id": "R8", "concept": "e"}}))
    with pytest.raises(InputError, match="keys names no active key to sign with"):
        plain.sign()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("{active: k9, k1: {algorithm: hmac-sha-256, env: A}}", "active names no key of this file: 'k9'"),
        ("{active: k1, k1: {algorithm: ed25519, public_file: k2.pub.pem}}", "only its public_file is given"),
        ("{k1: {algorithm: md5, env: A}}", "algorithm is hmac-sha-256 or ed25519, got 'md5'"),
        ("{k1: {algorithm: hmac-sha-256, public_file: A}}", "'public_file' is not understood"),
        ("{k1: {algorithm: hmac-sha-256}}", "say where it is with one of env and file"),
        ("{k1: {algorithm: hmac-sha-256, env: [1]}}", "env is the name of an environment variable"),
        (f"{{k1: '{SECRET}'}}", "never in this file itself"),
        ("[k1]", "keys is a mapping"),
    ],
)
def test_g9_a_host_file_that_misstates_its_keys(plain: World, keys: str, message: str) -> None:
    plain.say(keys)
    with pytest.raises(InputError, match=re.escape(message)) as error:
        read_host(str(plain.folder / "host.yml"))
    assert SECRET not in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "keys", "message"),
    [
        (None, KEYS["hmac"], "the environment variable 'GMEM_TEST_KEY' is not set"),
        (b"short", "{active: k1, k1: {algorithm: hmac-sha-256, file: key}}", "has 5 bytes; an HMAC key has at least 32"),
        (SECRET.encode(), "{active: k1, k1: {algorithm: ed25519, file: key}}", "is no unencrypted private key in PEM form"),
        (SECRET.encode(), "{k2: {algorithm: ed25519, public_file: key}}", "is no public key in PEM form"),
        (None, "{active: k1, k1: {algorithm: ed25519, file: key}}", "'key' cannot be read: No such file"),
    ],
)
def test_g9_a_key_that_cannot_be_read(plain: World, content: bytes | None, keys: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    if content is not None:
        (plain.folder / "key").write_bytes(content)
    plain.path.unlink() if "active" in keys else None
    plain.say(keys)
    arguments = ["sign" if "active" in keys else "verify", "--store", plain.store.path, "--host", str(plain.folder / "host.yml")]
    assert main(["attest", *arguments]) == 2
    told = capsys.readouterr()
    assert message in told.err and told.err.count("\n") == 1 and SECRET not in told.err + told.out


def test_g9_without_cryptography_one_line_says_what_to_install(plain: World) -> None:
    code = "import sys; sys.modules['cryptography.hazmat.primitives'] = None; from governed_memory.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["attest", "verify", "--store", plain.store.path, "--host", str(plain.folder / "host.yml")]
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and "pip install 'governed-memory[attest]'" in run.stderr and run.stderr.count("\n") == 1


# The command, and what it says


def test_g9_stores_without_attestations_are_untouched(plain: World) -> None:
    store = StoreFile(str(plain.folder / "free.jsonl"))
    write(store.file, RECORDS)
    for host in (plain.host, None):
        caller = plain.host.caller("board")
        [answer] = ask(open_to_ask(store, None, host), [Question("b", "2026-03-01", caller)])
        assert answer["answer"]["value"] == "three"


def test_g9_attestations_without_keys_are_not_passed_over(plain: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GMEM_HOST", raising=False)
    with pytest.raises(InputError, match="no host file says where the keys are"):
        open_to_ask(plain.store, None, None)
    plain.say(KEYS["ed25519"])
    with pytest.raises(InputError, match="elsewhere: cannot be read: No such file"):
        open_to_ask(plain.store, None, plain.host, str(plain.folder / "elsewhere"))


def test_g9_verify_writes_the_register_that_the_build_reads(plain: World, capsys: pytest.CaptureFixture[str]) -> None:
    register = plain.folder / "failures.jsonl"
    arguments = ["attest", "verify", "--store", plain.store.path, "--host", str(plain.folder / "host.yml"), "--out", str(register)]
    assert main(arguments) == 0 and register.read_text() == ""
    edit(plain, lambda lines: (record(lines, "R3").update(concept="c"), lines.append({"written_by": "x", "record": {"record_id": "R9"}})))
    assert main(arguments) == 1
    found = [tuple(row.get(name) for name in warehouse.columns(FAILURES)) for row in lines_of(register)]
    assert found == [("s", "b", "R3", "moved"), ("s", "c", "R3", "moved"), ("s", None, "R9", "not_attested")]
    assert main([*arguments, "--json"]) == 1
    table = register.with_suffix(".parquet")
    assert main([*arguments[:-1], str(table)]) == 1
    with duckdb.connect() as connection:
        assert connection.execute(f"select * from '{table}'").fetchall() == found
    assert main([*arguments[:-1], str(register.with_suffix(".txt"))]) == 2
    told = capsys.readouterr().out
    assert "s: record 'R3': moved; concerns 'b', 'c'" in told and "s: 6 ok, 1 moved, 1 not_attested" in told


def test_g9_no_secret_and_no_withheld_value_is_told(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    host, register = str(world.folder / "host.yml"), world.folder / "failures.jsonl"
    edit(world, lambda lines: record(lines, "R4").update(value=f"{WITHHELD} and one"))
    main(["attest", "verify", "--store", world.store.path, "--host", host, "--out", str(register)])
    main(["attest", "verify", "--store", world.store.path, "--host", host, "--json"])
    main(["attest", "sign", "--store", world.store.path, "--host", host])
    main(["attest", "sign", "--store", world.store.path, "--host", host, "--accept", "R4"])
    main(["ask", "c", "--as-of", "2026-03-01", "--caller", "staff", "--store", world.store.path, "--host", host])
    told = "".join(capsys.readouterr()) + world.path.read_text() + register.read_text()
    private = (world.folder / "k2.pem").read_text().splitlines()[1]
    assert not [secret for secret in (SECRET, WITHHELD, private) if secret in told]
    assert "not_released" in told


def test_g9_answers_looked_up_in_a_build_are_those_worked_out_from_a_file(plain: World) -> None:
    """A build reads the register; a concept whose records were all removed, and one of which a duplicate is there too, are refused alike."""
    edit(plain, lambda lines: (lines.pop(2), lines.append(lines[3])))
    failures = [failure for found in verify(plain.store, plain.host)[0] for failure in found.failures()]
    given = {**plain.host.given(), FAILURES: warehouse.rows_as_sql(FAILURES, failures)}
    connection, _ = warehouse.open_store_file(plain.store, [*READS, "concept_segments", "governed_answers"], given=given)
    questions = [
        Question(concept, "2026-03-01", plain.host.caller("board"), scope, known)
        for concept in (*CONCEPTS, "z")
        for scope, known in (((), None), (("x",), None), (("x", "y"), None), ((), "2026-06-01"))
    ]
    built, file = Opened(connection, ("s",), True), open_to_ask(plain.store, None, plain.host)
    reasons = {answer["answers"][0]["store"] + " " + answer["concept"]: answer["answers"][0]["reasons"] for answer in ask(built, questions[::4])}
    assert reasons == {"s a": ["superseded"], "s b": ["integrity_failed"], "s c": [], "s d": ["integrity_failed"], "s z": ["not_held"]}
    for question in questions:
        [one], [other] = ask(built, [question]), ask(file, [question])
        assert one["answers"][0]["outcome"] == other["outcome"] and one["answers"][0]["reasons"] == other["reasons"], question
    listed = connection.execute("select concept_id, outcome from governed_answers(date '2026-03-01', ['board'], 'inside') order by 1").fetchall()
    assert listed == [("a", "answered"), ("b", "refused"), ("c", "answered"), ("d", "refused")]


# Crashes


def test_g9_a_signing_that_is_killed_leaves_a_file_that_verifies(world: World) -> None:
    edit(world, lambda lines: lines.append({"written_by": "finance", "record": {**BASE, "record_id": "R8", "concept": "e"}}))
    code = """
import os, signal, sys
from governed_memory.cli import main
write = os.pwrite
def torn(handle, data, at):
    write(handle, data[: len(data) // 2], at)
    os.kill(os.getpid(), signal.SIGKILL)
os.pwrite = torn
main(sys.argv[1:])"""
    arguments = ["attest", "sign", "--store", world.store.path, "--host", str(world.folder / "host.yml")]
    before = world.path.read_bytes()
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=False, env=dict(os.environ))
    assert run.returncode == -9 and len(world.path.read_bytes()) > len(before)
    verdicts, notices = verify(world.store, world.host)
    assert {found.record_id for found in verdicts if found.verdict != "ok"} == {"R8"}
    assert notices == [f"{world.path}: a signing was cut off; what stands behind the last head is left out"]
    assert world.refused("e") == {"e"}
    assert len(world.sign()) == 2 and world.failures() == {} and world.path.read_bytes().startswith(before)


def test_g9_a_file_cut_at_any_byte_is_that_of_its_last_head(plain: World) -> None:
    first = plain.path.read_bytes()
    edit(plain, lambda lines: lines.append({"written_by": "finance", "record": {**BASE, "record_id": "R8", "concept": "e"}}))
    plain.sign()
    whole = plain.path.read_bytes()
    for size in range(len(first), len(whole)):
        plain.path.write_bytes(whole[:size])
        held = read_attestations(plain.path)
        assert (held.problem, len(held.records), held.size, len(held.notices)) == (None, 7, len(first), int(size > len(first)))
    (plain.folder / "heads.json").unlink()
    assert len(plain.sign()) == 2 and plain.path.read_bytes() == whole


# Canonical bytes

TEXTS = st.text(max_size=4) | st.sampled_from(["é", "e\u0301", "", "null", "1", '"', "\\", "\x00", "\u2028", "a,b"])
NUMBERS = st.sampled_from(["0", "-0", "1", "1.0", "1e0", "10", "1E2", "100", "0.1", "123456789012345678901234567890", "1e400"]).map(Number)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)


def spelled(value: Any, draw: Callable[[int], int]) -> str:
    """The value as some JSON text, with other white space, escapes and order of keys each time."""
    gap = " " * draw(3)
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        pairs = [f"{gap}{spelled(key, draw)}{gap}:{gap}{spelled(held, draw)}" for key, held in value.items()]
        return "{" + f"{gap},".join(pairs[::-1] if draw(2) else pairs) + gap + "}"
    if isinstance(value, list):
        return "[" + f"{gap},".join(spelled(held, draw) for held in value) + gap + "]"
    return json.dumps(value, ensure_ascii=bool(draw(2)))


def is_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON: of one kind, numbers digit by digit, lists in order, objects in any order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_equal(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return bool(one == other)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(VALUES, VALUES, st.data())
def test_g9_canonical_bytes_are_equal_exactly_where_records_are(one: Any, other: Any, data: st.DataObject) -> None:
    draw = lambda below: data.draw(st.integers(0, below - 1))  # noqa: E731
    assert canonical(parse(spelled(one, draw))) == canonical(parse(spelled(one, draw))) == canonical(one)
    assert (canonical(one) == canonical(other)) == is_equal(one, other)
    assert is_equal(parse(canonical(one).decode("utf-8", "surrogatepass")), one)


def test_g9_null_is_not_empty_and_a_missing_key_is_not_null() -> None:
    assert len({canonical(value) for value in ({"a": None}, {"a": ""}, {}, {"a": []}, {"a": {}}, {"a": "null"}, {"a": False}, {"a": 0})}) == 8
    assert canonical(parse('{"b": 1.50, "a": "\\u00e9\\n"}')) == '{"a":"é\\n","b":1.50}'.encode()


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"a": NaN}', '{"a": [{"b": 1, "b": 2}]}', "[" * 100_000])
def test_g9_what_has_no_one_reading_has_no_bytes(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_g9_a_file_is_asked_under_the_name_it_was_signed_under(plain: World, capsys: pytest.CaptureFixture[str]) -> None:
    moved = plain.folder / "moved.jsonl"
    shutil.copy(plain.store.path, moved)
    arguments = ["ask", "a", "--as-of", "2026-03-01", "--caller", "board", "--host", str(plain.folder / "host.yml"), "--store", str(moved)]
    signed = ["--attestations", str(plain.path)]
    assert main([*arguments, *signed]) == 0
    assert "integrity_failed" in capsys.readouterr().out
    assert main([*arguments, *signed, "--name", plain.store.store_id]) == 0
    assert "answered" in capsys.readouterr().out
