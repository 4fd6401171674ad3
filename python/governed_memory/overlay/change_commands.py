"""The commands that change what is in force: supersede and withdraw."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, message, one_line
from governed_memory.file_options import add_reading, reading
from governed_memory.overlay.change import Change, Outcome, change
from governed_memory.warehouse import StoreFile, attached_store, named_store
from governed_memory.warehouse.json_text import dumps, parse
from governed_memory.warehouse.store_file import LIST_ROLES, expect_role


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to the root parser."""
    parser = commands.add_parser("supersede", help="append a record that replaces others from a date on")
    _add_common(parser)
    parser.add_argument("--value", help="what the new record says")
    parser.add_argument("--to", metavar="DATE", help="its last day, if it is known; otherwise its end is open")
    parser.add_argument("--from-file", metavar="FILE", help="many changes at once: JSON Lines, one record a line in role names, with supersedes")
    parser.set_defaults(run=run_supersede)
    parser = commands.add_parser("withdraw", help="append a record that takes others back: they ended, or were wrong from the start")
    _add_common(parser)
    parser.add_argument("--reason", help="why")
    parser.add_argument("--was-wrong", action="store_true", help="from the first day of what is withdrawn, in place of --from")
    parser.set_defaults(run=run_withdraw, from_file=None)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", required=True, help="the name of an attached store, or a JSON Lines or CSV file, a folder of Parquet files, FILE.duckdb::TABLE"
    )
    parser.add_argument("--of", action="append", default=[], metavar="RECORD_ID", help="the record it replaces; may be given again")
    parser.add_argument("--id", metavar="RECORD_ID", help="the identifier of the new record")
    parser.add_argument("--from", dest="start", metavar="DATE", help="its first day; what it replaces ends the day before")
    parser.add_argument("--source", help="where it comes from")
    parser.add_argument("--set", action="append", default=[], metavar="ROLE=VALUE", help="any other field, where it differs from the record it replaces")
    parser.add_argument("--level", type=int, choices=(1, 2, 3), help="the level the store means to meet (a file: 3; an attached store: as declared)")
    parser.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="your columns or keys where they differ from the roles (a file)")
    add_reading(parser)
    parser.add_argument("--database", help="the built database that knows the store's name (default: GMEM_DATABASE, else governed_memory.duckdb)")
    parser.add_argument("--dry-run", action="store_true", help="show the intervals before and after, and append nothing")
    parser.add_argument("--json", action="store_true", help="the outcome as JSON")


def run_supersede(arguments: argparse.Namespace) -> int:
    """Append one record, or those of a file (T7)."""
    if arguments.from_file:
        _expect_alone(arguments)
        return _run(arguments, _from_file(arguments.from_file))
    given = {"value": arguments.value, "source": arguments.source, "valid_from": arguments.start, "valid_to": arguments.to}
    return _run(arguments, [_one(arguments, given)])


def _expect_alone(arguments: argparse.Namespace) -> None:
    given = {"--of": arguments.of, "--id": arguments.id, "--from": arguments.start, "--to": arguments.to, "--value": arguments.value,
             "--source": arguments.source, "--set": arguments.set}  # fmt: skip
    beside = [name for name, value in given.items() if value not in (None, [])]
    if beside:
        raise InputError(f"--from-file: the file says everything of its records, so {', '.join(beside)} would count for nothing; leave it out or say it there")


def run_withdraw(arguments: argparse.Namespace) -> int:
    """Append one withdrawal (T9)."""
    if not (arguments.reason or "").strip():
        raise InputError("a withdrawal says why: give --reason")
    if arguments.was_wrong and arguments.start:
        raise InputError("--was-wrong begins on the first day of what it withdraws; leave --from out")
    given = {"withdrawal": arguments.reason, "source": arguments.source, "valid_from": arguments.start}
    return _run(arguments, [_one(arguments, given, from_first_day=arguments.was_wrong)])


def _one(arguments: argparse.Namespace, given: dict[str, str | None], *, from_first_day: bool = False) -> Change:
    if not arguments.id:
        raise InputError("the new record needs an identifier of its own: give --id")
    if not arguments.of:
        raise InputError("give the record it replaces with --of; a record that replaces nothing is written by whatever writes the store")
    stated = {role: value for role, value in given.items() if value is not None}
    return Change(arguments.id, tuple(arguments.of), stated | _set(arguments.set), from_first_day)


def _set(pairs: list[str]) -> dict[str, Any]:
    stated: dict[str, Any] = {}
    for pair in pairs:
        role, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--set: {pair!r} is not ROLE=VALUE")
        _known_role(role, "--set")
        stated[role] = [*stated.get(role, []), value] if role in LIST_ROLES else value
    return stated


def _known_role(role: str, where: str) -> None:
    if role in ("record_id", "supersedes", "written_by"):
        raise InputError(f"{where}: {role!r} is not given here; {'the host attests it' if role == 'written_by' else 'give it with --id and --of'}")
    expect_role(where, role)


def _from_file(name: str) -> list[Change]:
    changes = []
    try:
        lines = Path(name).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read: {_why(error)}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            record = parse(line, unique_keys=True)
        except ValueError as error:
            raise InputError(f"{where}: not JSON ({error}); every line must be one record") from error
        if not isinstance(record, dict):
            raise InputError(f"{where}: not a record; every line must be one JSON object")
        if "supersedes" not in record:
            raise InputError(f"{where}: has no supersedes; name the record that it replaces, or the list of them")
        if _is_half_a_pair(record):
            raise InputError(f"{where}: a text holds half of a surrogate pair, which is no character; write the whole pair")
        names = record.pop("supersedes")
        identifier = record.pop("record_id", None)
        for role in record:
            _known_role(role, where)
        replaced = names if isinstance(names, list) else [names]
        if not isinstance(identifier, str) or not all(isinstance(item, str) for item in replaced):
            raise InputError(f"{where}: record_id must be a text, and supersedes a text or a list of texts")
        changes.append(Change(identifier, tuple(replaced), record, place=where))
    if not changes:
        raise InputError(f"{name}: holds no change")
    return changes


def _is_half_a_pair(record: dict[str, Any]) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in dumps(record))


def _why(error: OSError | UnicodeDecodeError) -> str:
    return f"byte {error.start + 1} is not UTF-8; save the file as UTF-8" if isinstance(error, UnicodeDecodeError) else str(error.strerror)


def _run(arguments: argparse.Namespace, changes: list[Change]) -> int:
    store = _store(arguments)
    outcome = change(store, changes, dry_run=arguments.dry_run)
    for warning in outcome.warnings:
        print(f"gmem {arguments.command}: warning: {message(warning)}", file=sys.stderr)
    if store.built and not arguments.dry_run:
        print(f"gmem {arguments.command}: notice: what was built of {store.store_id!r} shows the change from the next `dbt build` on", file=sys.stderr)
    if arguments.json:
        appended = [] if arguments.dry_run else [item.record_id for item in changes]
        report = {"store": store.path, "appended": appended, "before": outcome.before, "after": outcome.after, "warnings": outcome.warnings}
        print(json.dumps(report, ensure_ascii=False, indent=1, default=str))
    else:
        verb = "would append to" if arguments.dry_run else "appended to"
        print(f"{verb} {store.path}: {', '.join(item.record_id for item in changes)}")
        print("\n".join(map(one_line, _lines(outcome))))
    return 0


def _store(arguments: argparse.Namespace) -> StoreFile:
    named = named_store(arguments.store, arguments.map, reading(arguments))
    store = named if isinstance(named, StoreFile) else attached_store(named, arguments.database)
    return replace(store, target_level=arguments.level) if arguments.level else store


def _lines(outcome: Outcome) -> list[str]:
    before = {row["record_id"]: row for row in outcome.before}
    width = max(len(row["record_id"]) for row in outcome.after)
    lines = []
    for row in outcome.after:
        was = f"{_period(before[row['record_id']]):<28} -> " if row["record_id"] in before else ""
        ended = f"  {row['end_reason']}, by {row['ended_by']}" if row["ended_by"] else ""
        lines.append(f"  {row['record_id']:<{width}}  {was}{_period(row)}{ended}")
    return lines


def _period(row: dict[str, Any]) -> str:
    if row["interval_status"] != "in_force":
        return str(row["interval_status"]).replace("_", " ")
    return f"{row['in_force_from']} .. {row['in_force_to'] or '~'}"
