"""`gmem attest`: sign who wrote what in a store, and verify it before it is built from (rule G9)."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from governed_memory import warehouse
from governed_memory.errors import InputError
from governed_memory.host.canonical import digest
from governed_memory.host.configuration import read_host
from governed_memory.reads.attest import FAILURES, OK, Verdict, sign, verify
from governed_memory.reads.attestations import place_beside
from governed_memory.warehouse import StoreFile, attached_store, named_store
from governed_memory.warehouse.durable import write_whole


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `attest` to the root parser."""
    parser = commands.add_parser("attest", help="sign who wrote the records of a store; find those that are no longer what was signed")
    ways = parser.add_subparsers(dest="way", required=True, metavar="sign|verify")
    signing = ways.add_parser("sign", help="sign each record that is not signed yet, and how many there are")
    signing.add_argument("--out", metavar="FILE", help="the attestations (default: beside the store, its name and .attestations)")
    signing.add_argument("--accept", action="append", default=[], metavar="RECORD_ID", help="sign anew a record that was changed or removed with consent")
    signing.add_argument("--renew", action="store_true", help="sign anew what another key than the active one signed")
    signing.set_defaults(run=run_sign)
    verifying = ways.add_parser("verify", help="say of each record whether it is what was signed; exit 1 where one is not")
    verifying.add_argument("--attestations", metavar="FILE", help="the attestations (default: beside the store)")
    verifying.add_argument("--out", metavar="FILE", help="write the failures, as the register integrity_failures: a .parquet or .jsonl file")
    verifying.add_argument("--json", action="store_true", help="every record and what it is found to be, as a JSON array")
    verifying.set_defaults(run=run_verify)
    for way in (signing, verifying):
        way.add_argument("--store", action="append", required=True, metavar="NAME_OR_FILE", help="an attached store or a file; verify takes several")
        way.add_argument("--host", metavar="FILE", help="the host file, with the keys (default: GMEM_HOST)")
        way.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="for a file: your columns where they differ from the roles")
        way.add_argument("--name", metavar="NAME", help="for a file: what the store is called (default: the file's name without its ending)")
        way.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")


def run_sign(arguments: argparse.Namespace) -> int:
    """Exit 0 where everything is signed now."""
    [store] = _stores(arguments, arguments.out, "sign")
    path = Path(arguments.out) if arguments.out else place_beside(store)
    lines, notices = sign(store, read_host(arguments.host), path, accepted=arguments.accept, renews=arguments.renew)
    _notify(notices)
    if lines:
        [*records, head] = lines
        print(f"{store.store_id}: signed {len(records)} {_records(len(records))} with key {head['key']!r} in {path}; head {digest(head)}")
    else:
        print(f"{store.store_id}: nothing new to sign")
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Exit 0 where all stores are what was signed, else 1."""
    host = read_host(arguments.host)
    path = Path(arguments.attestations) if arguments.attestations else None
    verdicts: list[Verdict] = []
    for store in _stores(arguments, arguments.attestations, "verify"):
        found, notices = verify(store, host, path)
        _notify(notices)
        verdicts += found
    failures = [failure for verdict in verdicts for failure in verdict.failures()]
    if arguments.out:
        write_register(Path(arguments.out), failures)
    if arguments.json:
        entries = [{"store": found.store_id, "record_id": found.record_id, "verdict": found.verdict, "concepts": found.concepts} for found in verdicts]
        print(json.dumps(entries, ensure_ascii=False, indent=1))
    else:
        print("\n".join(verdict_lines(verdicts)) or "no records, and none signed")
    return 1 if failures else 0


def write_register(path: Path, failures: Sequence[Mapping[str, Any]]) -> None:
    """Write the register integrity_failures, whole or not at all. A Parquet file has its columns also where nothing fails, which a source needs.

    Raises:
        InputError: it cannot be written, or its name says of no known format.
    """
    kinds = {".parquet": "parquet", ".jsonl": "json"}
    if path.suffix not in kinds:
        raise InputError(f"--out: {str(path)!r} ends in none of {', '.join(kinds)}")
    try:
        with TemporaryDirectory() as folder, warehouse.open_memory() as connection:
            part = Path(folder) / "register"
            connection.execute(f"copy ({warehouse.rows_as_sql(FAILURES, failures)}) to {warehouse.literal(part)} (format {kinds[path.suffix]})")
            write_whole(path, part.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: not written: {error.strerror}") from error


def verdict_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What fails, a line each, then how many of each verdict."""
    for found in verdicts:
        if found.verdict != OK:
            of = "its head" if found.record_id is None and found.concepts == (None,) and found.detail else f"record {found.record_id!r}"
            concerns = ", ".join("every concept" if concept is None else repr(concept) for concept in found.concepts)
            yield f"{found.store_id}: {of}: {found.verdict}; concerns {concerns}{f' ({found.detail})' if found.detail else ''}"
    for store_id in dict.fromkeys(found.store_id for found in verdicts):
        counts = Counter(found.verdict for found in verdicts if found.store_id == store_id)
        yield f"{store_id}: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items(), key=lambda item: (item[0] != OK, item[0])))


def _stores(arguments: argparse.Namespace, attestations: str | None, way: str) -> list[StoreFile]:
    if len(arguments.store) > 1 and (way == "sign" or attestations or arguments.map or arguments.name):
        raise InputError("give one --store" if way == "sign" else "--attestations, --map and --name go with one --store")
    return [_store(text, arguments) for text in arguments.store]


def _store(text: str, arguments: argparse.Namespace) -> StoreFile:
    store = named_store(text, arguments.map)
    if isinstance(store, StoreFile):
        return replace(store, name=arguments.name)
    if arguments.name:
        raise InputError(f"--name: {store!r} is an attached store, which has its name already")
    return attached_store(store, arguments.database)


def _records(count: int) -> str:
    return "record" if count == 1 else "records"


def _notify(notices: Sequence[str]) -> None:
    for notice in notices:
        print(f"gmem attest: notice: {notice}", file=sys.stderr)
