"""Lawful erasure: the one operation that rewrites what a store holds (rule L8).

What was erased is noted before it is erased, and signed anew after it, so an erasure that is cut off leaves either the record as it was with a note
that it shall go, or the record without what is gone; run again, the command does what is left.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import normalize

from governed_memory.errors import InputError, shown
from governed_memory.host.canonical import digest
from governed_memory.host.configuration import Host
from governed_memory.reads.attest import OK, sign, verify
from governed_memory.reads.attestations import place_beside, read_attestations
from governed_memory.warehouse import StoreFile
from governed_memory.warehouse import append as appending
from governed_memory.warehouse import register_file as registers
from governed_memory.warehouse.attach import ENVELOPES
from governed_memory.warehouse.durable import put_in_place
from governed_memory.warehouse.json_text import dumps, parse
from governed_memory.warehouse.store_file import HELD_AS, JSON_LINES

# Roles whose texts may be erased. Dates, owners, releases and supersessions are what makes a record one, and say who answers for the erasure.
ERASABLE = ("value", "source", "owner_role", "policy", "rule", "withdrawal")


@dataclass(frozen=True, slots=True)
class Request:
    """What shall be erased.

    Attributes:
        record_id: the record, as the store spells it or in another Unicode form.
        roles: whose texts go, of ERASABLE.
        kept: keys without a role that stay; all others go, since nothing says what they hold.
        asked_by: who asked for it.
        because: why.
        by: who carries it out.
    """

    record_id: str
    asked_by: str
    because: str
    by: str
    roles: tuple[str, ...] = ("value",)
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was erased, or would be.

    Attributes:
        store: the file.
        rows: how many rows of the store have the identifier and held something to erase.
        fields: the roles that went.
        keys: the keys without a role that went.
        noted_in: the file of redactions.
        is_noted_now: whether the redaction is noted by this run, or would be; an earlier one may have noted it all.
        head: the hash of the head signed anew; None where the store is not attested.
        attestations: the file of attestations, if there is one.
    """

    store: Path
    rows: int
    fields: tuple[str, ...]
    keys: tuple[str, ...]
    noted_in: Path
    is_noted_now: bool
    head: str | None
    attestations: Path | None


def redactions_beside(store: StoreFile) -> Path:
    """Where erasures of a store file are noted unless a command or the project says otherwise."""
    return store.named_file.parent / f"{store.named_file.stem}.redactions.jsonl"


def replacement(record_id: str) -> str:
    """What stands in the place of what was erased. It names the record, so that two erased values are not taken for one and the same answer."""
    return f"[erased: {record_id}]"


def erase(store: StoreFile, request: Request, noted_in: Path, host: Host | None = None, *, dry_run: bool = False) -> Erasure:
    """Erase what a record says from a store file, note that, and sign the store anew where it is attested.

    Args:
        store: a JSON Lines file; other lines stay byte for byte.
        request: what, for whom and why.
        noted_in: the file of redactions.
        host: the host with its keys, where the store is attested.
        dry_run: say what would go, and change nothing.

    Raises:
        InputError: the store is in another format, has no such record, does not verify, or cannot be written. Nothing was changed.
    """
    if store.format() != JSON_LINES:
        raise InputError(
            f"{store.path}: is {store.format()}, and only JSON Lines can be rewritten line by line; erase it where the rows are kept, and note it in "
            f"{noted_in} (docs/stewards.md)"
        )
    _expect_erasable(request)
    attestations = place_beside(store)
    with appending.locked(store):
        found = _Found(store, request)
        found.expect_mapped(store)
        _expect_verified(store, request, host, attestations)
        entries = _to_note(store, request, found, noted_in)
        head = None
        if not dry_run:
            _note(noted_in, entries)
            found.rewrite()
            head = _sign(store, request, host, attestations)
    signed_in = attestations if attestations.exists() else None
    return Erasure(store.file, found.rows, found.fields, found.keys, noted_in, bool(entries), head, signed_in)


def _expect_erasable(request: Request) -> None:
    for name, text in (("--asked-by", request.asked_by), ("--because", request.because), ("--by", request.by)):
        if not text.strip():
            raise InputError(f"{name}: is blank; an erasure says who asked, why, and who carried it out")
    for role in request.roles:
        if role not in ERASABLE:
            raise InputError(f"--field: {role!r} cannot be erased; expected one of {', '.join(ERASABLE)}")


class _Found:
    """The rows of a record in a store, and the file without what they say."""

    def __init__(self, store: StoreFile, request: Request) -> None:
        self.path, self.request = store.file.resolve(), request
        self.columns = store.columns
        self.names = set(self.columns.values())
        self.lines: dict[int, bytes] = {}
        fields: dict[str, None] = {}
        keys: dict[str, None] = {}
        self.record_id = request.record_id
        self.has_said = False
        is_held = False
        for place, line in enumerate(self._lines()):
            if not self._is_meant(line):
                continue
            is_held = True
            redacted = self._redacted(line, place, fields, keys)
            if redacted is not None:
                self.lines[place] = redacted
        if not is_held:
            near = appending.nearest_id(store, request.record_id)
            raise InputError(f"record_id {request.record_id!r} is not in {store.path}; {f'did you mean {near!r}?' if near else 'nothing was changed'}")
        self.rows, self.fields, self.keys = len(self.lines), tuple(fields), tuple(keys)

    def _lines(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            yield from file

    def _is_meant(self, line: bytes) -> bool:
        try:
            row = json.loads(line.decode("utf-8-sig"), parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            return False
        record = row["record"] if isinstance(row, dict) and set(row) in ENVELOPES else row
        held = record.get(self.columns["record_id"]) if isinstance(record, dict) else None
        return isinstance(held, str) and normalize("NFC", held) == normalize("NFC", self.request.record_id)

    def _redacted(self, line: bytes, place: int, fields: dict[str, None], keys: dict[str, None]) -> bytes | None:
        """The line without what is to go; None where nothing of it is left."""
        try:
            row = parse(line.decode("utf-8-sig"), unique_keys=True)
        except ValueError as error:
            raise InputError(f"{self.path}, line {place + 1}: {error}; what it holds cannot be told, so nothing was changed") from error
        is_enveloped = set(row) in ENVELOPES
        record = row["record"] if is_enveloped else row
        self.record_id = str(record[self.columns["record_id"]])
        erased = {self.columns[role]: role for role in self.request.roles}
        self.has_said = self.has_said or any(self.columns[role] in record for role in ("value", "withdrawal"))
        told: dict[str, Any] = {}
        for key, value in record.items():
            if key in erased and value not in (None, replacement(self.record_id)):
                fields[erased[key]] = None
                told[key] = replacement(self.record_id)
            elif key not in self.names and key not in self.request.kept:
                keys[key] = None
            else:
                told[key] = value
        if told == record:
            return None
        end = line[len(line.rstrip(b"\r\n")) :]
        return dumps({**row, "record": told} if is_enveloped else told).encode() + end

    def expect_mapped(self, store: StoreFile) -> None:
        """InputError where no row has a value or a withdrawal: then other keys are not what they seem either, and dates would go."""
        if self.keys and not self.has_said:
            raise InputError(
                f"{store.path}: record {self.request.record_id!r} has no key {self.columns['value']!r}, so the store's keys are not those of the roles; "
                f"without a role, {', '.join(map(repr, self.keys))} would all go. Name them with --map ROLE=KEY, value first of all, or --keep them; "
                "nothing was changed"
            )

    def rewrite(self) -> None:
        """Put the file in place without what is to go, in one step; every other line stays byte for byte."""
        if not self.lines:
            return
        part = self.path.with_name(f".{self.path.name}.erasing")
        try:
            with part.open("wb") as file:
                for place, line in enumerate(self._lines()):
                    file.write(self.lines.get(place, line))
            shutil.copymode(self.path, part)
            put_in_place(part, self.path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise InputError(f"{self.path}: not written: {error.strerror}; the store is as it was, and the redaction is noted: run this again") from error


def _to_note(store: StoreFile, request: Request, found: _Found, noted_in: Path) -> list[Mapping[str, Any]]:
    """The redaction; none where an earlier erasure, or one that was cut off, has noted it already."""
    fields = [HELD_AS.get(role, role) for role in found.fields]
    ours = (store.store_id, found.record_id)
    noted = [entry.said for entry in registers.read_entries(noted_in) if (entry.said.get("store_id"), entry.said.get("record_id")) == ours]
    if not found.lines and not noted:
        what = f"{', '.join(request.roles)}, and no key without a role"
        raise InputError(f"{store.path}: record {request.record_id!r} holds none of {what}: there is nothing to erase")
    told = {field for said in noted for field in said.get("fields") or []} | {key for said in noted for key in said.get("keys") or []}
    if set(fields) | set(found.keys) <= told:
        return []
    entry: Mapping[str, Any] = {
        "store_id": store.store_id, "record_id": found.record_id, "fields": fields, "keys": list(found.keys), "replacement": replacement(found.record_id),
        "asked_by": request.asked_by, "because": request.because, "recorded_by": request.by, "recorded_at": registers.now(),
    }  # fmt: skip
    return [entry]


def _note(noted_in: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    if entries:
        registers.append_entry(noted_in, entries)


def _expect_verified(store: StoreFile, request: Request, host: Host | None, attestations: Path) -> None:
    """InputError where another record is not what was signed, or not signed yet: signing anew would vouch for that too."""
    if not attestations.exists():
        return
    verdicts, _ = verify(store, host, attestations)
    for found in verdicts:
        is_meant = found.record_id is not None and normalize("NFC", found.record_id) == normalize("NFC", request.record_id)
        if found.verdict != OK and not is_meant:
            what = "the store" if found.record_id is None else f"record {shown(found.record_id)}"
            raise InputError(f"{attestations}: {what} is not what was signed ({found.verdict}); see `gmem attest verify`. Nothing was erased")


def _sign(store: StoreFile, request: Request, host: Host | None, attestations: Path) -> str | None:
    """Sign the record as it stands now, and a new head over that."""
    if not attestations.exists():
        return None
    verdicts, _ = verify(store, host, attestations)
    changed = [found.record_id for found in verdicts if found.record_id is not None and found.verdict != OK]
    sign(store, host, attestations, accepted=changed)
    return digest(read_attestations(attestations).heads[-1])


def others(store: StoreFile, record_id: str, own: Sequence[Path]) -> list[Path]:
    """Files beside the store, other than its own, in which the record's identifier stands: older copies, perhaps."""
    whole = dumps(record_id).encode()
    apart = re.compile(rb"(?<![\w.-])" + re.escape(whole[1:-1]) + rb"(?![\w.-])")
    text = re.compile(re.escape(whole))
    folder = store.file.resolve().parent
    kept = {path.resolve() for path in [store.file, *own]}
    found = []
    for path in sorted(folder.iterdir()):
        if path.resolve() in kept or not path.is_file() or path.suffix == ".duckdb":
            continue
        if _holds(path, text if path.suffix in (".jsonl", ".json", ".ndjson") else apart, len(whole)):
            found.append(path)
    return found


def _holds(path: Path, needle: re.Pattern[bytes], length: int) -> bool:
    last = b""
    try:
        with path.open("rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                if needle.search(last + block):
                    return True
                last = block[-length:]
    except OSError:
        return False
    return False
