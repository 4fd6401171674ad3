"""The file of attestations beside a store (rule G9): a line for each record signed, and after each signing a head over all lines before it.

Lines are canonical JSON and are only ever appended. What is signed is PREFIX and the line without its signature.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.host.canonical import Number, canonical, digest, parse
from governed_memory.host.keys import Keys
from governed_memory.warehouse import StoreFile
from governed_memory.warehouse.append import locked_path
from governed_memory.warehouse.durable import append_bytes, write_whole

PREFIX = b"governed-memory attestation 1\n"
RECORD, HEAD = "record", "head"
# The keys of a line, and what each may hold.
TEXT, MAYBE, COUNT = (str,), (str, type(None)), (Number,)
FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    RECORD: {
        "kind": TEXT, "store": TEXT, "record_id": TEXT, "concept": MAYBE, "written_by": MAYBE, "supersedes": (list,), "fingerprint": MAYBE,
        "key": TEXT, "signature": TEXT,
    },
    HEAD: {"kind": TEXT, "store": TEXT, "count": COUNT, "root": TEXT, "previous": MAYBE, "key": TEXT, "signature": TEXT},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attestations:
    """What a file of attestations holds up to its last head.

    Attributes:
        path: the file.
        records: the lines about records, in their order; a later one about an id replaces an earlier one.
        heads: the heads, in their order.
        problem: why the lines are not what the heads say; None where they are.
        size: bytes up to the end of the last head.
        notices: for the user, one line each.
    """

    path: Path
    records: tuple[dict[str, Any], ...] = ()
    heads: tuple[dict[str, Any], ...] = ()
    problem: str | None = None
    size: int = 0
    notices: tuple[str, ...] = ()

    def latest(self, store_id: str) -> dict[str, dict[str, Any]]:
        """{record id: its last line}, of the lines that name this store."""
        return {line["record_id"]: line for line in self.records if line["store"] == store_id}


def place_beside(store: StoreFile) -> Path:
    """Where the attestations of a store are unless a command says otherwise. The ending keeps the file out of patterns over the store's own files."""
    table = f".{store.table}" if store.table else ""
    return store.named_file.parent / f"{store.named_file.name}{table}.attestations"


def signed(keys: Keys, line: dict[str, Any]) -> dict[str, Any]:
    """The line with the active key's id and signature."""
    named = {**line, "key": keys.active}
    return {**named, "signature": keys.sign(PREFIX + canonical(named))[1]}


def is_signed(keys: Keys, line: dict[str, Any]) -> bool:
    """Whether the key that a line names signed it as it stands."""
    message = PREFIX + canonical({name: value for name, value in line.items() if name != "signature"})
    return keys.verify(line["key"], line["signature"], message)


def head_over(store_id: str, held: Attestations, added: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The head, not signed yet, that follows when these lines are added."""
    lines = [*held.records, *added]
    root = hashlib.sha256()
    for line in lines:
        root.update(bytes.fromhex(digest(line)))
    previous = digest(held.heads[-1]) if held.heads else None
    return {"kind": HEAD, "store": store_id, "count": Number(len(lines)), "root": root.hexdigest(), "previous": previous}


def read_attestations(path: Path) -> Attestations:
    """The attestations in a file. What stands behind the last head was cut off while it was written, and is left out.

    Raises:
        InputError: there is no such file, or it cannot be read.
    """
    try:
        *whole, torn = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; `gmem attest sign` writes it") from error
    lines = [_line(text) for text in whole]
    broken = next((place for place, line in enumerate(lines, start=1) if line is None), None)
    if broken is not None:
        return Attestations(path, problem=f"line {broken} is no attestation")
    read = [line for line in lines if line is not None]
    end = next((place for place in range(len(read), 0, -1) if read[place - 1]["kind"] == HEAD), 0)
    size = sum(len(text) + 1 for text in whole[:end])
    rest = len(read) - end + bool(torn)
    notices = (f"{path}: a signing was cut off; what stands behind the last head is left out",) if rest else ()
    records = tuple(line for line in read[:end] if line["kind"] == RECORD)
    heads = tuple(line for line in read[:end] if line["kind"] == HEAD)
    return Attestations(path, records, heads, _misfit(read[:end]), size, notices)


def append_lines(held: Attestations, lines: Sequence[dict[str, Any]]) -> None:
    """Append lines that end with a head; they are on disk when this returns. To be called while the file is `held_alone`.

    Raises:
        InputError: the disk refused it; the file is as it was.
    """
    data = b"".join(canonical(line) + b"\n" for line in lines)
    try:
        if not held.heads:
            write_whole(held.path, data)
            return
        if held.path.stat().st_size > held.size:
            os.truncate(held.path, held.size)
        append_bytes(held.path, data)
    except OSError as error:
        raise InputError(f"{held.path}: not written: {error.strerror}") from error


def held_alone(path: Path) -> AbstractContextManager[None]:
    """Hold the file against other signers; a context manager. What a signer that was cut off left behind is taken back first.

    Raises:
        InputError: another signer holds it for a minute, or its folder may not be written.
    """
    return locked_path(path.parent, path)


def _line(text: bytes) -> dict[str, Any] | None:
    """A line if it is an attestation or a head, with the keys that it must have and no other."""
    try:
        line = parse(text.decode("utf-8"))
    except ValueError:
        return None
    kind = line.get("kind") if isinstance(line, dict) else None
    fields = FIELDS.get(kind, {}) if isinstance(kind, str) else {}
    if not fields or line.keys() != fields.keys() or not all(type(line[name]) in kinds for name, kinds in fields.items()):
        return None
    found: dict[str, Any] = line
    return found if all(type(name) is str for name in line.get("supersedes", [])) else None


def _misfit(lines: Sequence[dict[str, Any]]) -> str | None:
    """Why the heads do not fit the lines before them, and each other."""
    root, count, previous = hashlib.sha256(), 0, None
    for place, line in enumerate(lines, start=1):
        if line["kind"] == RECORD:
            root.update(bytes.fromhex(digest(line)))
            count += 1
        elif (line["count"], line["root"], line["previous"]) != (str(count), root.hexdigest(), previous):
            return f"the head in line {place} does not fit the lines before it"
        else:
            previous = digest(line)
    return None if lines else "there is no head"
