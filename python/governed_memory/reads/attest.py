"""Sign who wrote what in a store, and find what is no longer what was signed (rule G9)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.errors import InputError
from governed_memory.host.canonical import digest, parse
from governed_memory.host.configuration import Host
from governed_memory.host.keys import Keys
from governed_memory.reads.attestations import RECORD, Attestations, append_lines, head_over, held_alone, is_signed, place_beside, read_attestations, signed
from governed_memory.warehouse import StoreFile, kept_records
from governed_memory.warehouse.attach import Attached
from governed_memory.warehouse.durable import write_whole

FAILURES = "stg_integrity_failures"
OK, NOT_ATTESTED, REMOVED = "ok", "not_attested", "removed"


@dataclass(frozen=True, slots=True)
class Row:
    """A record as it stands in the store: as the models read it, and a fingerprint of all it holds.

    Attributes:
        record_id: its identifier, or None.
        concept: what it is about, or None.
        written_by: who wrote it, as the store's envelopes or mapped column say.
        supersedes: the identifiers that it replaces.
        fingerprint: of its canonical bytes; None where it has no one reading, as with one key twice.
    """

    record_id: str | None
    concept: str | None
    written_by: str | None
    supersedes: tuple[str, ...]
    fingerprint: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verification says of one record, or of a whole store.

    Attributes:
        store_id: the store.
        record_id: the record; None for a record without an identifier, and for the whole store.
        verdict: 'ok' or the failure.
        concepts: the concepts that a failure concerns; [None] for every concept of the store.
        detail: what else there is to say to whoever verifies; never anything of a record's value.
    """

    store_id: str
    record_id: str | None
    verdict: str
    concepts: tuple[str | None, ...] = ()
    detail: str = ""

    def failures(self) -> list[dict[str, Any]]:
        """Rows of the register integrity_failures."""
        concepts = () if self.verdict == OK else self.concepts
        return [{"store_id": self.store_id, "concept_id": concept, "record_id": self.record_id, "failure": self.verdict} for concept in concepts]


def verify(store: StoreFile, host: Host | None, path: Path | None = None) -> tuple[list[Verdict], list[str]]:
    """Hold a store file against its attestations.

    Args:
        store: the file and how it reads.
        host: the host with its keys.
        path: the attestations; beside the store if not given.

    Returns:
        A verdict on each record of the store and each one signed, and on the whole store where its head fails; and notices.

    Raises:
        InputError: there are no attestations, no keys, or something cannot be read.
    """
    connection, attached = warehouse.open_store_file(store, ["record_rows"], keeps_rows=True)
    verdicts, notices = verify_opened(connection, store, attached, host, path or place_beside(store))
    return verdicts, attached.notices + notices


def verify_opened(
    connection: duckdb.DuckDBPyConnection, store: StoreFile, attached: Attached, host: Host | None, path: Path
) -> tuple[list[Verdict], list[str]]:
    """As `verify`, of a store that was opened with `keeps_rows` and with record_rows."""
    keys, known = keys_of(host, path), known_head(host, store.store_id)
    if known and not path.exists():
        return [Verdict(store.store_id, None, "head_invalid", (None,), f"{path}: no such file")], []
    held = read_attestations(path)
    return _verdicts(store.store_id, rows_of(connection, store, attached), held, keys, known), list(held.notices)


def sign(
    store: StoreFile, host: Host | None, path: Path | None = None, *, accepted: Collection[str] = (), renews: bool = False
) -> tuple[list[dict[str, Any]], list[str]]:
    """Sign each record that has no attestation yet, and a new head.

    Args:
        store: the file and how it reads.
        host: the host with its keys.
        path: the attestations; beside the store if not given.
        accepted: identifiers of records that were changed or removed with the host's consent.
        renews: sign anew, with the active key, what another key signed.

    Returns:
        The lines appended, the last one the head, or none where there was nothing to sign; and notices.

    Raises:
        InputError: nobody attests who wrote a record, a signed one was changed or removed and is not accepted, or something cannot be read or
            written. Nothing was signed.
    """
    path = path or place_beside(store)
    keys = keys_of(host, path)
    with held_alone(path):
        connection, attached = warehouse.open_store_file(store, ["record_rows"], keeps_rows=True)
        rows = rows_of(connection, store, attached)
        _expect_signable(connection, store, rows)
        known = known_head(host, store.store_id)
        if known and not path.exists():
            raise InputError(f"{path}: no such file, though the host has noted a head of {store.store_id!r}; put it back. Nothing was signed")
        held = read_attestations(path) if path.exists() else Attestations(path)
        verdicts = _verdicts(store.store_id, rows, held, keys, known) if held.heads or held.problem else []
        _expect_unchanged(store, verdicts, held, accepted)
        lines = _lines(store.store_id, rows, held, keys, accepted=accepted, renews=renews)
        if lines or not held.heads:
            lines.append(signed(keys, head_over(store.store_id, held, lines)))
            append_lines(held, lines)
    _note_head(host, store.store_id, (lines or held.heads)[-1])
    return lines, attached.notices + list(held.notices)


def refuse_what_fails(connection: duckdb.DuckDBPyConnection, store: StoreFile, attached: Attached, host: Host | None, path: Path) -> list[str]:
    """Put what does not verify into the register of failures of a store that is open to be asked, and return notices.

    Which record fails is for whoever verifies: who asks may not be allowed to know that there is one.
    """
    verdicts, notices = verify_opened(connection, store, attached, host, path)
    failures = [failure for verdict in verdicts for failure in verdict.failures()]
    connection.execute(f"insert into {FAILURES} {warehouse.rows_as_sql(FAILURES, failures)}")
    hint = [f"{store.path}: not all of it is what was signed; see `gmem attest verify`"] if failures else []
    return notices + hint


def keys_of(host: Host | None, path: Path) -> Keys:
    """The keys of a host.

    Raises:
        InputError: there is no host file, or it names no keys; attestations that cannot be verified are not passed over.
    """
    if host is None or host.keys is None:
        place = f"{host.place} has no keys" if host else "no host file says where the keys are"
        raise InputError(f"{path}: {place}; name one that does with --host or GMEM_HOST")
    return host.keys


def known_head(host: Host | None, store_id: str) -> str | None:
    """The newest head of a store that the host has noted, if it notes heads.

    Raises:
        InputError: the file of heads cannot be read.
    """
    return _known_heads(host.heads).get(store_id) if host and host.heads else None


def rows_of(connection: duckdb.DuckDBPyConnection, store: StoreFile, attached: Attached) -> list[Row]:
    """The records of a store that was opened with `keeps_rows` and with record_rows."""
    read = warehouse.rows(connection, "select record_id, concept_id, written_by, supersedes from record_rows order by record_index")
    return [
        Row(row["record_id"], row["concept_id"], row["written_by"], tuple(row["supersedes"] or ()), _fingerprint(text, store, attached))
        for row, text in zip(read, kept_records(connection, store), strict=True)
    ]


def _fingerprint(text: str, store: StoreFile, attached: Attached) -> str | None:
    """A column cannot tell a missing key from a null one, and a column that is added later changes no record: so nulls of columns are left out."""
    try:
        row = parse(text)
    except ValueError:
        return None
    if attached.is_enveloped:
        return digest(row["record"])
    if attached.is_from_columns:
        row = {name: value for name, value in row.items() if value is not None}
    return digest(row)


def _verdicts(store_id: str, rows: Sequence[Row], held: Attestations, keys: Keys, known: str | None) -> list[Verdict]:
    latest = held.latest(store_id)
    counts = Counter(row.record_id for row in rows)
    concerned = _Concerned(rows, [*latest.values()])
    found = [Verdict(store_id, None, failure, (None,), detail) for failure, detail in _head_failures(store_id, held, keys, known)]
    for row in rows:
        line = latest.get(row.record_id) if row.record_id is not None else None
        verdict = NOT_ATTESTED if line is None or line["fingerprint"] is None else "replayed" if counts[row.record_id] > 1 else _verdict(row, line, keys)
        found.append(Verdict(store_id, row.record_id, verdict, () if verdict == OK else concerned.by([row, *([line] if line else [])])))
    for line in held.records:
        name = line["record_id"]
        if line["store"] != store_id:
            found.append(Verdict(store_id, name, "moved", concerned.by([line]), f"signed for store {line['store']!r}"))
        elif line is latest[name] and name not in counts:
            verdict = "signature_invalid" if not is_signed(keys, line) else OK if line["fingerprint"] is None else REMOVED
            found.append(Verdict(store_id, name, verdict, concerned.by([line])))
    return found


def _verdict(row: Row, line: Mapping[str, Any], keys: Keys) -> str:
    """What the one row of an identifier is, held against its attestation."""
    if not is_signed(keys, dict(line)):
        return "signature_invalid"
    if row.concept != line["concept"]:
        return "moved"
    if (row.fingerprint, list(row.supersedes)) != (line["fingerprint"], line["supersedes"]):
        return "record_changed"
    return OK if row.written_by == line["written_by"] else "writer_changed"


def _head_failures(store_id: str, held: Attestations, keys: Keys, known: str | None) -> Iterator[tuple[str, str]]:
    if held.problem is not None:
        yield "head_invalid", held.problem
    elif held.heads[-1]["store"] != store_id:
        yield "head_invalid", f"the head is of store {held.heads[-1]['store']!r}"
    elif not is_signed(keys, held.heads[-1]):
        yield "head_invalid", f"the head is not signed by key {held.heads[-1]['key']!r} of the host"
    elif known is not None and known not in map(digest, held.heads):
        yield "head_rolled_back", "the newest head that the host has noted is missing"


class _Concerned:
    """Which concepts a record concerns: its own, and those of all that it supersedes, directly or by way of others, as signed and as it stands."""

    def __init__(self, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> None:
        self.named: dict[str, list[tuple[str | None, Sequence[str]]]] = {}
        for record_id, concept, supersedes in [*map(_held, rows), *map(_held, lines)]:
            if record_id is not None:
                self.named.setdefault(record_id, []).append((concept, supersedes))

    def by(self, records: Sequence[Row | Mapping[str, Any]]) -> tuple[str | None, ...]:
        """The concepts; [None], which stands for every one, where nothing says which."""
        waiting = [(concept, supersedes) for _, concept, supersedes in map(_held, records)]
        concepts: set[str | None] = set()
        seen: set[str] = set()
        while waiting:
            concept, supersedes = waiting.pop()
            concepts.add(concept)
            for name in set(supersedes) - seen:
                seen.add(name)
                waiting += self.named.get(name, [])
        return tuple(sorted(concept for concept in concepts if concept is not None)) or (None,)


def _held(record: Row | Mapping[str, Any]) -> tuple[str | None, str | None, Sequence[str]]:
    if isinstance(record, Row):
        return record.record_id, record.concept, record.supersedes
    return record["record_id"], record["concept"], record["supersedes"]


def _expect_signable(connection: duckdb.DuckDBPyConnection, store: StoreFile, rows: Sequence[Row]) -> None:
    """InputError where nobody attests the writers, or a record cannot have an attestation of its own."""
    [(attests,)] = connection.execute("select attests_writers from stg_stores").fetchall()
    if not attests:
        raise InputError(
            f'{store.path}: nobody attests who wrote its records, so there is nothing to sign; give each line as {{"written_by": ..., "record": ...}}, '
            "or attach the store with attests_writers: true and a column for written_by"
        )
    counts = Counter(row.record_id for row in rows)
    for place, row in enumerate(rows, start=1):
        which = f"{store.path}: record {place}" if row.record_id is None else f"{store.path}: record {row.record_id!r}"
        if row.record_id is None:
            raise InputError(f"{which} has no record_id, which an attestation names; nothing was signed")
        if counts[row.record_id] > 1:
            raise InputError(f"{which} is there {counts[row.record_id]} times, and an attestation is of one record; nothing was signed")
        if row.fingerprint is None:
            raise InputError(f"{which} has one key twice, so it has no one reading; nothing was signed")
        if row.written_by is None:
            raise InputError(f"{which}: nobody says who wrote it; nothing was signed")


def _expect_unchanged(store: StoreFile, verdicts: Sequence[Verdict], held: Attestations, accepted: Collection[str]) -> None:
    """InputError where what was signed does not verify and the host has not accepted it."""
    signed_ids = held.latest(store.store_id)
    failed = {}
    for found in verdicts:
        if found.record_id is None and found.verdict != OK:
            raise InputError(f"{held.path}: {found.verdict}: {found.detail}; nothing was signed")
        if found.verdict != OK and not (found.verdict == NOT_ATTESTED and found.record_id not in signed_ids):
            failed[found.record_id] = found.verdict
    for name in accepted:
        if name not in failed:
            raise InputError(f"--accept: {name!r} is no record that was signed and then changed or removed; nothing was signed")
    for record_id, verdict in failed.items():
        if record_id not in accepted:
            raise InputError(f"{store.path}: record {record_id!r} is not what was signed: {verdict}; put it back, or accept it with --accept {record_id}")


def _lines(store_id: str, rows: Sequence[Row], held: Attestations, keys: Keys, *, accepted: Collection[str], renews: bool) -> list[dict[str, Any]]:
    """Attestations of what is new, accepted or renewed; one without a fingerprint accepts that its record was removed."""
    latest = held.latest(store_id)
    here = {row.record_id for row in rows}
    lines = [
        signed(keys, _attestation(store_id, row))
        for row in rows
        if row.record_id not in latest or row.record_id in accepted or (renews and latest[row.record_id]["key"] != keys.active)
    ]
    gone = [line for name, line in latest.items() if name not in here and (name in accepted or (renews and line["key"] != keys.active))]
    return lines + [signed(keys, {name: value for name, value in line.items() if name != "signature"} | {"fingerprint": None}) for line in gone]


def _attestation(store_id: str, row: Row) -> dict[str, Any]:
    return {
        "kind": RECORD, "store": store_id, "record_id": row.record_id, "concept": row.concept, "written_by": row.written_by,
        "supersedes": list(row.supersedes), "fingerprint": row.fingerprint,
    }  # fmt: skip


def _known_heads(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        heads = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: is no JSON file of heads") from error
    if not isinstance(heads, dict) or not all(isinstance(head, str) for head in heads.values()):
        raise InputError(f"{path}: is no JSON file of heads")
    return heads


def _note_head(host: Host | None, store_id: str, head: Mapping[str, Any]) -> None:
    if host is None or host.heads is None:
        return
    with held_alone(host.heads):
        heads = _known_heads(host.heads) | {store_id: digest(head)}
        try:
            write_whole(host.heads, json.dumps(heads, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n")
        except OSError as error:
            raise InputError(f"{host.heads}: not written: {error.strerror}; the store is signed, but its head is not noted") from error
