"""Sealed folders are opened whole or not at all (rule M11, case C29)."""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from sealed_folders import EDITS, KIND, SECTION, host_keys, make_key, structural_edit, two_generations, writes

from governed_memory.errors import BusyError, InputError
from governed_memory.host.canonical import canonical
from governed_memory.host.keys import Keys, read_keys
from governed_memory.sealed import MANIFEST, SealError, generations, newest_valid, opened, seal, taken, verified
from governed_memory.sealed.manifest import SIGNED_AS

PACKAGE = Path(__file__).parents[1] / "governed_memory"
# Rooms that the room may know, and none above it.
KNOWN = {"errors", "host", "log", "sealed", "warehouse"}


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Keys]:
    return two_generations(tmp_path)


def newest(place: tuple[Path, Keys]) -> Path:
    return next(iter(generations(place[0]).values()))


def signed_again(folder: Path, keys: Keys, **changes: Any) -> None:
    """Write a manifest that a key of the host did sign, with something in it changed."""
    told = {**json.loads((folder / MANIFEST).read_bytes())["sealed"], **changes}
    key_id, signature = keys.sign(SIGNED_AS + canonical(told))
    (folder / MANIFEST).write_bytes(canonical({"key_id": key_id, "sealed": told, "signature": signature}) + b"\n")


def test_m11_what_was_sealed_is_opened_byte_by_byte(place: tuple[Path, Keys]) -> None:
    root, keys = place
    found = newest_valid(root, KIND, keys)
    assert (found.folder, found.refused) == (root / "generation-000002", ())
    assert found.folder
    with opened(found.folder, KIND, keys) as sealed:
        assert {file.name: sealed.read(file.name) for file in sealed.manifest.files} == {"a.txt": b"second\n", "b.txt": b"kept as it is\n", "empty": b""}
        assert (sealed.manifest.generation, sealed.manifest.facts) == (2, {"cells": 3, "of": ["ä", None, True]})
        assert sealed.manifest.previous == verified(root / "generation-000001", KIND, keys).root
        held = sealed.place
    assert not held.exists()
    assert (root / "latest").read_text() == "generation-000002\n"


def test_m11_the_root_hash_is_of_the_files_alone(tmp_path: Path) -> None:
    keys = host_keys(tmp_path)
    roots = [
        seal(tmp_path / "one", KIND, writes({"a": b"1", "b": b"2"}, {"said": 1}), keys)[1].root,
        seal(tmp_path / "two", "other", writes({"b": b"2", "a": b"1"}), keys)[1].root,
        seal(tmp_path / "two", "other", writes({"b": b"2", "a": b"1"}), keys)[1].root,
        seal(tmp_path / "two", "other", writes({"b": b"1", "a": b"2"}), keys)[1].root,
    ]
    assert roots[0] == roots[1] == roots[2] != roots[3]


def test_m11_every_flipped_bit_is_refused(place: tuple[Path, Keys]) -> None:
    """Every single bit of a generation, once; some thousands are in the manifest."""
    root, keys = place
    folder, flipped = newest(place), 0
    for file in sorted(folder.iterdir()):
        content = file.read_bytes()
        for bit in range(8 * len(content)):
            changed = bytearray(content)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            with pytest.raises(SealError):
                verified(folder, KIND, keys)
            flipped += 1
        file.write_bytes(content)
    assert flipped > 5000
    assert newest_valid(root, KIND, keys).refused == ()


def test_m11_a_thousand_structural_edits_are_refused_and_the_older_generation_counts(tmp_path: Path) -> None:
    root, keys = two_generations(tmp_path)
    draw, done = random.Random(11), []
    for number in range(1000):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(root, copy)
        done.append(structural_edit(draw, copy / "generation-000002", copy / "generation-000001"))
        found = newest_valid(copy, KIND, keys)
        assert found.folder == copy / "generation-000001", done[-1]
        assert [refused.folder.name for refused in found.refused] == ["generation-000002"]
        shutil.rmtree(copy)
    assert set(done) == set(EDITS)


def test_m11_a_key_replaced_or_unknown_or_one_that_verifiers_share_signs_nothing(place: tuple[Path, Keys], tmp_path: Path) -> None:
    root, keys = place
    (other := tmp_path / "other").mkdir()
    make_key(other)
    signed_again(newest(place), read_keys(str(other / "host.yml"), SECTION))
    found = newest_valid(root, KIND, keys)
    assert found.folder == root / "generation-000001"
    assert [refused.check for refused in found.refused] == ["signature"]
    (tmp_path / "shared.key").write_text("correct horse battery staple, 32 bytes")
    shared = read_keys(str(tmp_path / "host.yml"), {"active": "k1", "k1": {"algorithm": "hmac-sha-256", "file": "shared.key"}})
    with pytest.raises(InputError, match="could seal too"):
        seal(root, KIND, writes({}), shared)
    signed_again(newest(place), shared)
    assert [refused.check for refused in newest_valid(root, KIND, shared).refused] == ["signature", "signature"]


def test_m11_names_the_check_that_failed(place: tuple[Path, Keys]) -> None:
    _, keys = place
    folder = newest(place)
    content, manifest = (folder / "a.txt").read_bytes(), (folder / MANIFEST).read_bytes()

    def check() -> tuple[str, str]:
        with pytest.raises(SealError) as refused:
            verified(folder, KIND, keys)
        return refused.value.check, str(refused.value)

    (folder / "a.txt").write_bytes(b"sec0nd\n")
    assert check() == ("hash", f"{folder}: hash check failed: a.txt has other bytes than were sealed")
    (folder / "a.txt").write_bytes(b"sec")
    assert check()[0] == "size"
    (folder / "a.txt").unlink()
    assert check() == ("file list", f"{folder}: file list check failed: a.txt is missing")
    os.mkfifo(folder / "a.txt")
    assert check() == ("file list", f"{folder}: file list check failed: a.txt is no plain file")
    (folder / "a.txt").unlink()
    (folder / "a.txt").write_bytes(content)
    (folder / "more").touch()
    assert check()[0] == "file list"
    (folder / "more").unlink()
    (folder / MANIFEST).write_bytes(manifest.replace(b'"generation":2', b'"generation":3'))
    assert check()[0] == "signature"
    (folder / MANIFEST).write_bytes(manifest.replace(b'"generation":2', b'"generation": 2'))
    assert check()[0] == "envelope"
    (folder / MANIFEST).write_bytes(b"[" * 100_000)
    assert check()[0] == "envelope"
    (folder / MANIFEST).write_bytes(manifest)
    signed_again(folder, keys, root="0" * 64)
    assert check() == ("envelope", f"{folder}: envelope check failed: the root hash is not that of the files named")
    (folder / MANIFEST).unlink()
    assert check() == ("file list", f"{folder}: file list check failed: {MANIFEST} is missing")
    (folder / MANIFEST).write_bytes(manifest)
    with pytest.raises(SealError, match="it is sealed as 'test', not as 'snapshot'"):
        verified(folder, "snapshot", keys)
    assert verified(folder, KIND, keys).generation == 2


@pytest.mark.parametrize("name", ["../a.txt", "a/b", ".hidden", "", "a b", "manifest.json", "ä", "x" * 201])
def test_m11_names_that_lead_elsewhere_are_neither_sealed_nor_opened(name: str, place: tuple[Path, Keys]) -> None:
    root, keys = place
    with pytest.raises(InputError, match="no name for a sealed file"):
        seal(root, KIND, writes({name: b""}), keys)
    files = json.loads((newest(place) / MANIFEST).read_bytes())["sealed"]["files"]
    signed_again(newest(place), keys, files=sorted([*files[:-1], {**files[-1], "name": name}], key=lambda file: str(file["name"])))
    with pytest.raises(SealError, match="envelope"):
        verified(newest(place), KIND, keys)


def test_m11_a_swap_after_the_check_changes_nothing(place: tuple[Path, Keys]) -> None:
    _, keys = place
    folder = newest(place)
    with opened(folder, KIND, keys) as sealed:
        (folder / "a.txt").write_bytes(b"sec0nd\n")
        assert sealed.read("a.txt") == b"second\n"
        shutil.rmtree(folder)
        assert sealed.path("b.txt").read_bytes() == b"kept as it is\n"


def test_m11_the_copies_are_those_of_the_generation_that_counts(place: tuple[Path, Keys], tmp_path: Path) -> None:
    root, keys = place
    (newest(place) / "b.txt").write_bytes(b"other\n")
    found = newest_valid(root, KIND, keys, tmp_path / "copies")
    assert found.folder == root / "generation-000001"
    assert {file.name: file.read_bytes() for file in (tmp_path / "copies").iterdir()} == {"a.txt": b"first\n", "b.txt": b"kept as it is\n", "empty": b""}
    shutil.rmtree(found.folder)
    assert newest_valid(root, KIND, keys, tmp_path / "none").folder is None
    assert not (tmp_path / "none").exists()
    with pytest.raises(SealError):
        taken(newest(place), KIND, keys, tmp_path)


def test_m11_a_removed_or_renamed_generation_is_told(place: tuple[Path, Keys]) -> None:
    root, keys = place
    (root / "generation-000002").rename(root / "generation-000005")
    found = newest_valid(root, KIND, keys)
    assert [(refused.folder.name, refused.check) for refused in found.refused] == [("generation-000005", "generation")]
    shutil.rmtree(root / "generation-000005")
    found = newest_valid(root, KIND, keys)
    assert [(refused.folder.name, refused.check) for refused in found.refused] == [("generation-000002", "file list")]
    assert found.folder == root / "generation-000001"
    # Its number is not given again.
    assert seal(root, KIND, writes({"a.txt": b"third\n"}), keys)[1].generation == 3


def test_m11_a_sealing_that_fails_changes_nothing(place: tuple[Path, Keys]) -> None:
    root, keys = place
    before = sorted(path.relative_to(root) for path in root.rglob("*"))

    def fails(part: Any) -> dict[str, Any]:
        part.put("a.txt", b"third\n")
        raise InputError("the source is gone")

    def leaves_out(part: Any) -> dict[str, Any]:
        part.path("promised")
        return {}

    with pytest.raises(InputError, match="the source is gone"):
        seal(root, KIND, fails, keys)
    with pytest.raises(InputError, match="'promised': is not one of the files"):
        seal(root, KIND, leaves_out, keys)
    with pytest.raises(InputError, match="facts of a sealed folder are JSON"):
        seal(root, KIND, writes({}, {"at": ("a", "tuple")}), keys)
    with pytest.raises(InputError, match="differ only in case"):
        seal(root, KIND, writes({"a.txt": b"", "A.txt": b""}), keys)
    with pytest.raises(InputError, match="no kind of sealed folder"):
        seal(root, "Test Kind", writes({}), keys)
    assert sorted(path.relative_to(root) for path in root.rglob("*")) == before


def test_m11_one_process_seals_at_a_time(place: tuple[Path, Keys]) -> None:
    root, keys = place

    def seals_again(_: Any) -> dict[str, Any]:
        seal(root, KIND, writes({}), keys)
        return {}

    with pytest.raises(BusyError, match="another process is sealing there"):
        seal(root, KIND, seals_again, keys)


def test_m11_a_sealing_killed_at_any_moment_leaves_the_former_generation(place: tuple[Path, Keys]) -> None:
    root, keys = place
    draw = random.Random(3)
    for _ in range(100):
        before = newest_valid(root, KIND, keys)
        child = os.fork()
        if not child:
            try:
                while True:
                    seal(root, KIND, writes({f"file-{number}": draw.randbytes(2000) for number in range(20)}), keys)
            finally:
                os._exit(1)
        time.sleep(draw.random() * 0.06)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = newest_valid(root, KIND, keys)
        assert found.refused == ()
        assert before.manifest and found.manifest and found.manifest.generation >= before.manifest.generation
    _, manifest = seal(root, KIND, writes({"a.txt": b"after all\n"}), keys)
    assert manifest.generation > 2
    assert {path.name for path in root.iterdir() if path.name.startswith(".")} == {".lock"}


def test_l7_the_room_knows_only_what_lies_below_it() -> None:
    imported = {
        (node.module or "").split(".")[1]
        for path in (PACKAGE / "sealed").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("governed_memory.")
    }
    assert imported <= KNOWN
    for room in ("host", "log", "warehouse"):
        assert not [path for path in (PACKAGE / room).glob("*.py") if "governed_memory.sealed" in path.read_text(encoding="utf-8")]
