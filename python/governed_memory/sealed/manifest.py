"""The manifest of a sealed folder: which files it holds, with size and SHA-256 each, a root hash over them, and a signature over all of it.

    {"key_id": …, "sealed": {"facts": {…}, "files": [{"name": …, "sha256": …, "size": …}, …], "format": 1, "generation": 3, "kind": …,
     "previous": …, "root": …}, "signature": …}

in canonical JSON and a line feed: one sequence of bytes for one manifest, so that nothing of it can be written in another way. The root hash is
over the files alone: the same files have the same root, whenever and as whichever generation they were sealed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.host.canonical import Number, canonical, parse
from governed_memory.host.keys import ED25519, Keys

MANIFEST = "manifest.json"
FORMAT = 1
# What is signed or hashed begins with this, so that neither serves for another kind of thing.
SIGNED_AS = b"governed-memory sealed folder 1\n"
ROOT_OF = b"governed-memory sealed files 1\n"
# Names that mean the same on every file system and to every tool: no folder, no blank, nothing hidden.
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
KIND = re.compile(r"[a-z][a-z0-9-]{0,63}")
HASH = re.compile("[0-9a-f]{64}")
SIGNATURE = re.compile("[0-9a-f]{128}")
COUNT = re.compile("0|[1-9][0-9]{0,17}")


class SealError(InputError):
    """A sealed folder is not what was sealed, so nothing of it may be used."""

    def __init__(self, where: object, check: str, what: str) -> None:
        """A refusal: which folder, which check failed ('envelope', 'signature', 'generation', 'file list', 'size' or 'hash'), and how."""
        super().__init__(f"{where}: {check} check failed: {what}")
        self.check, self.what = check, what


@dataclass(frozen=True, slots=True, order=True)
class SealedFile:
    """One file of a sealed folder, as its manifest names it."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was sealed.

    Attributes:
        kind: what the folder is, such as 'snapshot'.
        generation: its number in its place; each is sealed once.
        previous: the root hash of the generation before; None for the first.
        files: by name.
        facts: what it was made of, as whoever sealed it says.
    """

    kind: str
    generation: int
    previous: str | None
    files: tuple[SealedFile, ...]
    facts: Mapping[str, Any]

    @property
    def root(self) -> str:
        """SHA-256 over the names, sizes and hashes of all files."""
        return sha256(ROOT_OF + canonical(_listed(self.files))).hexdigest()

    @property
    def byte_count(self) -> int:
        """How many bytes all files have."""
        return sum(file.size for file in self.files)


def expect_name(name: str) -> str:
    """A name that a file of a sealed folder may have.

    Raises:
        InputError: it may not.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name) or name == MANIFEST:
        raise InputError(f"{shown(name)} is no name for a sealed file; use letters, digits, '_', '-' and inner '.', at most 200, and not {MANIFEST!r}")
    return name


def encoded(manifest: Manifest, keys: Keys) -> bytes:
    """The bytes of a manifest's file, signed with the host's active key.

    Raises:
        InputError: the active key is none of Ed25519, or cannot be read; a kind, name or fact cannot be written.
    """
    if not KIND.fullmatch(manifest.kind):
        raise InputError(f"{shown(manifest.kind)} is no kind of sealed folder; use lower case letters, digits and '-'")
    if keys.active is not None and keys.keys[keys.active].algorithm != ED25519:
        raise InputError(f"{keys.keys[keys.active]}: whoever can verify with it could seal too; make a key of {ED25519} active")
    told = {
        "facts": dict(manifest.facts), "files": _listed(manifest.files), "format": FORMAT, "generation": manifest.generation, "kind": manifest.kind,
        "previous": manifest.previous, "root": manifest.root,
    }  # fmt: skip
    key_id, signature = keys.sign(SIGNED_AS + canonical(told))
    return canonical({"key_id": key_id, "sealed": told, "signature": signature}) + b"\n"


def parsed(where: object, content: bytes, kind: str, keys: Keys) -> Manifest:
    """A manifest from the bytes of its file, if a key of this host signed exactly them as this kind of folder.

    Raises:
        SealError: they are anything else.
        InputError: a key cannot be read.
    """
    try:
        given = parse(content.decode())
        told, key_id, signature = given["sealed"], given["key_id"], given["signature"]
        is_exact = set(given) == {"key_id", "sealed", "signature"} and canonical(given) + b"\n" == content
        manifest = _manifest(told) if is_exact else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InputError):
        manifest = None
    if manifest is None:
        raise SealError(where, "envelope", f"{MANIFEST} is no manifest of a sealed folder")
    # Before what it says is looked at, who says it.
    if not _is_signed(key_id, signature, canonical(told), keys):
        raise SealError(where, "signature", f"no {ED25519} key of {keys.host} signed {MANIFEST}")
    if manifest.root != told["root"]:
        raise SealError(where, "envelope", "the root hash is not that of the files named")
    if manifest.kind != kind:
        raise SealError(where, "envelope", f"it is sealed as {manifest.kind!r}, not as {kind!r}")
    return manifest


def _is_signed(key_id: Any, signature: Any, message: bytes, keys: Keys) -> bool:
    key = keys.keys.get(key_id) if isinstance(key_id, str) else None
    if key is None or key.algorithm != ED25519 or not isinstance(signature, str) or not SIGNATURE.fullmatch(signature):
        return False
    return keys.verify(key.key_id, signature, SIGNED_AS + message)


def _listed(files: Iterable[SealedFile]) -> list[dict[str, Any]]:
    return [{"name": file.name, "sha256": file.sha256, "size": file.size} for file in sorted(files)]


def _manifest(told: Any) -> Manifest:
    if set(told) != {"facts", "files", "format", "generation", "kind", "previous", "root"} or _count(told["format"]) != FORMAT:
        raise ValueError("another format")
    files = tuple(_file(**entry) for entry in told["files"])
    names = [file.name for file in files]
    if names != sorted(set(names)):
        raise ValueError("files are named once, in order")
    if not isinstance(told["facts"], dict):
        raise TypeError("facts are an object")
    previous = None if told["previous"] is None else _matching(HASH, told["previous"])
    _matching(HASH, told["root"])
    return Manifest(_matching(KIND, told["kind"]), _count(told["generation"]), previous, files, json.loads(canonical(told["facts"])))


def _file(name: Any, size: Any, sha256: Any) -> SealedFile:
    return SealedFile(expect_name(name), _count(size), _matching(HASH, sha256))


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    if isinstance(value, Number) or not pattern.fullmatch(value):
        raise ValueError("not in its form")
    return str(value)


def _count(value: Any) -> int:
    if not isinstance(value, Number) or not COUNT.fullmatch(value):
        raise ValueError("not a count")
    return int(value)
