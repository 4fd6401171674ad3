"""`gmem erase`: lawful erasure of what a record says (rule L8)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from governed_memory import warehouse
from governed_memory.errors import InputError, message, one_line
from governed_memory.host.configuration import read_host
from governed_memory.reads.erase import ERASABLE, Erasure, Request, erase, others, redactions_beside, replacement
from governed_memory.warehouse import StoreFile, attached_store, named_store
from governed_memory.warehouse.connection import built_path, is_file
from governed_memory.warehouse.register_file import attached_file, register_files

HELD = """
    select 'record_rows' as held, count(*) as rows from record_rows where store_id = $store and nfc_normalize(record_id) = nfc_normalize($record)
    union all
    select 'record_ledger', count(*) from record_ledger where store_id = $store and nfc_normalize(record_id) = nfc_normalize($record)
    union all
    select 'baseline_entries', count(*) from baseline_entries where store_id = $store and nfc_normalize(record_id) = nfc_normalize($record)"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `erase` to the root parser."""
    parser = commands.add_parser("erase", help="lawful erasure: remove what a record says, and keep that it was there, who asked and why")
    parser.add_argument("--store", required=True, metavar="NAME_OR_FILE", help="the name of an attached store, or a JSON Lines file")
    parser.add_argument("--record", required=True, metavar="RECORD_ID", help="the record; its identifier stays")
    parser.add_argument("--asked-by", required=True, metavar="WHO", help="who asked for it")
    parser.add_argument("--because", required=True, metavar="WHY", help="why, for example the law or the request")
    parser.add_argument("--by", required=True, metavar="WHO", help="who carries it out")
    parser.add_argument(
        "--field", action="append", default=[], metavar="ROLE", help=f"erase this too, besides value: {', '.join(ERASABLE[1:])}; may be repeated"
    )
    parser.add_argument("--keep", action="append", default=[], metavar="KEY", help="leave this key, which has no role; all others of the record go")
    parser.add_argument("--file", metavar="FILE", help="where it is noted (default: the register redactions of the project, else beside the store)")
    parser.add_argument("--host", metavar="FILE", help="the host file with the keys, where the store is attested (default: GMEM_HOST)")
    parser.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="for a file: your keys where they differ from the roles")
    parser.add_argument("--name", metavar="NAME", help="for a file: what the store is called (default: the file's name without its ending)")
    parser.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    parser.add_argument("--dry-run", action="store_true", help="say what would go, and change nothing")
    parser.set_defaults(run=run_erase)


def run_erase(arguments: argparse.Namespace) -> int:
    """Erase, and say what was done and where else it may stand."""
    store = _store(arguments)
    noted_in = _noted_in(store, arguments)
    request = Request(
        arguments.record, arguments.asked_by, arguments.because, arguments.by, tuple(dict.fromkeys(["value", *arguments.field])), frozenset(arguments.keep)
    )
    done = erase(store, request, noted_in, read_host(arguments.host), dry_run=arguments.dry_run)
    print("\n".join(map(one_line, _lines(done, request, dry_run=arguments.dry_run))))
    for line in _copies(store, done, arguments):
        print(one_line(line))
    print("Backups, versions kept elsewhere and what was read from the store before are not reached.", file=sys.stderr)
    return 0


def _store(arguments: argparse.Namespace) -> StoreFile:
    named = named_store(arguments.store, arguments.map)
    if isinstance(named, StoreFile):
        return replace(named, name=arguments.name)
    if arguments.name:
        raise InputError(f"--name: {named!r} is an attached store, which has its name already")
    return attached_store(named, arguments.database)


def _noted_in(store: StoreFile, arguments: argparse.Namespace) -> Path:
    if arguments.file:
        if Path(arguments.file).suffix != ".jsonl":
            raise InputError(f"--file: {arguments.file!r} ends in another way than .jsonl, as a register that is added to must")
        return Path(arguments.file)
    if store.built:
        attached = register_files(store.built).get("redactions")
        return attached_file("redactions", attached) if attached else redactions_beside(store)
    return redactions_beside(store)


def _lines(done: Erasure, request: Request, *, dry_run: bool) -> Iterator[str]:
    what = [*done.fields, *(f"key {key!r}" for key in done.keys)]
    rows = f"{done.rows} {'row' if done.rows == 1 else 'rows'}"
    if dry_run:
        yield f"would erase {', '.join(what) or 'nothing more'} of {request.record_id!r} in {done.store} ({rows}); nothing was changed"
        if done.is_noted_now:
            yield f"would note in {done.noted_in}: asked for by {request.asked_by}, because {request.because}"
        if done.attestations:
            yield f"would sign the record anew in {done.attestations}, and a new head"
        return
    if what:
        yield f"erased {', '.join(what)} of {request.record_id!r} in {done.store} ({rows}); what is gone reads {replacement(request.record_id)!r}"
    else:
        yield f"nothing more to erase of {request.record_id!r} in {done.store}"
    if done.is_noted_now:
        yield f"noted in {done.noted_in}: asked for by {request.asked_by}, because {request.because}"
    else:
        yield f"noted already in {done.noted_in}, by an earlier run; nothing was added there"
    if done.head:
        yield f"signed anew in {done.attestations}; head {done.head}"


def _copies(store: StoreFile, done: Erasure, arguments: argparse.Namespace) -> Iterator[str]:
    """What else may hold it, as far as can be seen from here."""
    if done.attestations:
        yield f"still there: {done.attestations} keeps a hash of the record as it was, which cannot be undone but can be guessed of a record with little in it"
    database = built_path(arguments.database)
    if is_file(database):
        yield from _in_database(store, database, arguments.record)
        for path in sorted(database.resolve().parent.glob("*.duckdb")):
            yield from _published(path, store)
    own = [done.noted_in, *([done.attestations] if done.attestations else [])]
    for path in others(store, arguments.record, own):
        yield f"look at: {path} may name the record"


def _in_database(store: StoreFile, database: Path, record_id: str) -> Iterator[str]:
    try:
        with warehouse.open_built(str(database)) as connection:
            counts = {row["held"]: row["rows"] for row in warehouse.rows(connection, HELD, {"store": store.store_id, "record": record_id})}
    except InputError as error:
        yield f"look at: {message(str(error))}"
        return
    if counts["record_rows"]:
        yield f"still there: {database} holds the record as the last build read it; build it anew in an empty file, since a database keeps freed pages"
    if counts["record_ledger"]:
        yield f"still there: the ledger in {database} keeps a 16-digit hash of each field as it was"
    if counts["baseline_entries"]:
        yield "no value: the baseline names the record"


def _published(path: Path, store: StoreFile) -> Iterator[str]:
    try:
        held = warehouse.manifest(path)
    except InputError:
        return
    if held is not None and store.store_id in (held["stores"] or []):
        yield f"still there: {path} was published on {held['published_at']}; publish it anew after the build"
