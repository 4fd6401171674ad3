"""Sealed folders of tests: keys to sign with, a place with two generations, and what may be done to it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from governed_memory.host.keys import Keys, read_keys
from governed_memory.sealed import MANIFEST, Part, seal

KIND = "test"
SECTION = {"active": "k1", "k1": {"algorithm": "ed25519", "file": "k1.pem", "public_file": "k1.pub.pem"}}


def make_key(folder: Path, name: str = "k1") -> None:
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pem").write_bytes(private)
    (folder / f"{name}.pub.pem").write_bytes(public)


def host_keys(folder: Path) -> Keys:
    if not (folder / "k1.pem").exists():
        make_key(folder)
    return read_keys(str(folder / "host.yml"), SECTION)


def writes(files: dict[str, bytes], facts: dict[str, Any] | None = None) -> Callable[[Part], dict[str, Any]]:
    def write(part: Part) -> dict[str, Any]:
        for name, content in files.items():
            part.put(name, content)
        return facts or {}

    return write


def two_generations(folder: Path) -> tuple[Path, Keys]:
    """A place with an older and a newer generation; of the newer one, a file is as it was."""
    keys, root = host_keys(folder), folder / "sealed"
    seal(root, KIND, writes({"a.txt": b"first\n", "b.txt": b"kept as it is\n", "empty": b""}), keys)
    seal(root, KIND, writes({"a.txt": b"second\n", "b.txt": b"kept as it is\n", "empty": b""}, {"cells": 3, "of": ["ä", None, True]}), keys)
    return root, keys


def differ(one: Path, other: Path) -> bool:
    return one.read_bytes() != other.read_bytes()


def structural_edit(draw: random.Random, newest: Path, older: Path) -> str:
    """Do something at random to a sealed folder that is not an edit of bytes in place; what it was."""
    files = sorted(path for path in newest.iterdir())
    file = draw.choice(files)
    other = draw.choice([path for path in files if path.read_bytes() != file.read_bytes()])
    changed = draw.choice([name for path in files if (name := path.name) != MANIFEST and (older / name).exists() and differ(path, older / name)])
    kind = draw.choice(EDITS)
    if kind == "missing":
        file.unlink()
    elif kind == "extra":
        (newest / draw.choice(["more.txt", ".hidden", f"{file.name}.bak", "ä", "new\nline"])).write_bytes(draw.randbytes(draw.randrange(5)))
    elif kind == "renamed":
        file.rename(newest / f"{file.name}{draw.choice('0x~')}")
    elif kind == "truncated":
        long = draw.choice([path for path in files if path.stat().st_size])
        with long.open("r+b") as handle:
            handle.truncate(draw.randrange(long.stat().st_size))
    elif kind == "longer":
        with file.open("ab") as handle:
            handle.write(draw.randbytes(draw.randrange(1, 9)))
    elif kind == "swapped":
        between = newest / "between"
        file.rename(between), other.rename(file), between.rename(other)
    elif kind == "from older":
        shutil.copy(older / MANIFEST, newest / MANIFEST)
        if draw.random() < 0.5:
            shutil.copy(older / changed, newest / changed)
    elif kind == "file from older":
        shutil.copy(older / changed, newest / changed)
    elif kind == "whole older":
        shutil.rmtree(newest)
        shutil.copytree(older, newest)
    elif kind == "symlink":
        elsewhere = newest.parent / f"elsewhere-{file.name}"
        file.rename(elsewhere)
        file.symlink_to(elsewhere)
    elif kind == "folder":
        file.unlink()
        file.mkdir()
    return kind


EDITS = ["missing", "extra", "renamed", "truncated", "longer", "swapped", "from older", "file from older", "whole older", "symlink", "folder"]
