"""The commands of this room."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from governed_memory import warehouse
from governed_memory.dates import dates_as_text, day
from governed_memory.errors import message, one_line
from governed_memory.file_options import add_reading
from governed_memory.overlay.compact import compact
from governed_memory.overlay.forms.as_file import add_form
from governed_memory.reads import (
    ask_commands,
    attest_commands,
    conformance_commands,
    erase_commands,
    publish_commands,
    sql_commands,
    transpile_commands,
)
from governed_memory.reads.as_of import COLUMNS, as_of_query, left_out, open_store
from governed_memory.reads.diff import change_lines, diff_query
from governed_memory.reads.history import history, timeline
from governed_memory.reads.named import store_named
from governed_memory.reads.status import status_lines
from governed_memory.warehouse import StoreFile

WIDTH = 60


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this room's commands to the root parser."""
    as_of = commands.add_parser("as-of", help="the records in force on a date")
    as_of.add_argument("date", metavar="DATE", help="yyyy-mm-dd")
    as_of.add_argument("--concept", metavar="C", help="only this concept")
    as_of.add_argument("--known-on", metavar="D", help="as known at the end of that day, or at that UTC timestamp")
    as_of.add_argument("--scope", action="append", default=[], metavar="X", help="for questions of this class; may be repeated")
    as_of.add_argument("--format", choices=("table", "json", "csv", "compact"), default="table")
    as_of.set_defaults(run=run_as_of)
    history_ = commands.add_parser("history", help="every record that had a part in a concept: when it was in force, and why it ended")
    history_.add_argument("concept", metavar="CONCEPT")
    history_.add_argument("--json", action="store_true", help="one object per record")
    history_.set_defaults(run=run_history)
    diff = commands.add_parser("diff", help="what came into force, ended or changed owner between two dates or two states of knowledge")
    diff.add_argument("first", metavar="DATE1", help="yyyy-mm-dd")
    diff.add_argument("second", metavar="DATE2", help="yyyy-mm-dd, not before DATE1")
    diff.add_argument("--concept", metavar="C", help="only this concept")
    diff.add_argument(
        "--known-on",
        action="append",
        default=[],
        metavar="K",
        help="once: both dates as known at the end of that day or at that UTC timestamp; twice: each date as known then, the second perhaps `now`",
    )
    diff.add_argument("--json", action="store_true", help="one object per change")
    diff.set_defaults(run=run_diff)
    status = commands.add_parser("status", help="the attached stores: level reached and declared, findings by who must act")
    status.set_defaults(run=run_status)
    for read in (as_of, history_, diff):
        read.add_argument("--store", metavar="NAME_OR_FILE", help="an attached store or a file; all attached stores if left out")
        read.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="for a file: your columns where they differ from the roles")
        add_reading(read)
        add_form(read)
    for command in (as_of, history_, diff, status):
        command.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    ask_commands.register(commands)
    attest_commands.register(commands)
    erase_commands.register(commands)
    conformance_commands.register(commands)
    sql_commands.register(commands)
    publish_commands.register(commands)
    transpile_commands.register(commands)


def run_as_of(arguments: argparse.Namespace) -> int:
    """Print the records in force; exit 0, also where there are none."""
    day("DATE", arguments.date)
    store = store_named(arguments)
    connection, notices = open_store(store, arguments.database)
    store_id = store if isinstance(store, str) else None
    asked = {"store_id": store_id, "concept": arguments.concept, "known_on": arguments.known_on}
    records = warehouse.rows(connection, *as_of_query(arguments.date, **asked, scope=arguments.scope or None))
    _notify("as-of", notices + left_out(connection, **asked))
    fields = [name for name in COLUMNS if name != "store_id" or not isinstance(store, StoreFile)]
    FORMATS[arguments.format]([{name: record[name] for name in fields} for record in records], fields)
    return 0


def run_history(arguments: argparse.Namespace) -> int:
    """Print the history of a concept."""
    store = store_named(arguments)
    connection, notices = open_store(store, arguments.database, reads=["concept_histories"])
    records = history(connection, arguments.concept, store_id=store if isinstance(store, str) else None)
    _notify("history", notices)
    _print_rows(
        records, timeline(arguments.concept, records, is_file=isinstance(store, StoreFile)), is_file=isinstance(store, StoreFile), as_json=arguments.json
    )
    return 0


def run_diff(arguments: argparse.Namespace) -> int:
    """Print what changed; exit 0, also where nothing did."""
    store = store_named(arguments)
    store_id = store if isinstance(store, str) else None
    known_on = [None if text == "now" else text for text in arguments.known_on]
    sql, values = diff_query(arguments.first, arguments.second, known_on=known_on, store_id=store_id, concept=arguments.concept)
    connection, notices = open_store(store, arguments.database, reads=["changes_between"])
    changes = warehouse.rows(connection, sql, values)
    _notify("diff", notices + left_out(connection, store_id=store_id, concept=arguments.concept, known_on=next(iter(known_on), None)))
    is_file = isinstance(store, StoreFile)
    _print_rows(changes, change_lines(changes, is_file=is_file), is_file=is_file, as_json=arguments.json)
    return 0


def run_status(arguments: argparse.Namespace) -> int:
    """Exit 0 where every store reaches the level it declares, else 1."""
    lines, is_met = status_lines(arguments.database)
    print("\n".join(map(one_line, lines)))
    return 0 if is_met else 1


def _notify(command: str, notices: Sequence[str]) -> None:
    for notice in notices:
        print(f"gmem {command}: notice: {message(notice)}", file=sys.stderr)


def _print_rows(rows: Sequence[dict[str, Any]], lines: Iterable[str], *, is_file: bool, as_json: bool) -> None:
    """Rows as JSON, or the lines that say the same; a file has no name among stores."""
    if as_json:
        print_json([{name: value for name, value in row.items() if name != "store_id" or not is_file} for row in rows], ())
    else:
        print("\n".join(map(one_line, lines)))


def print_json(records: Sequence[dict[str, Any]], fields: Sequence[str]) -> None:
    """A JSON array, one object per record."""
    print(json.dumps([dates_as_text(record) for record in records], ensure_ascii=False, indent=1))


def print_csv(records: Sequence[dict[str, Any]], fields: Sequence[str]) -> None:
    """CSV with a header; lists as JSON."""
    writer = csv.DictWriter(sys.stdout, fieldnames=fields, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({key: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value for key, value in dates_as_text(record).items()})


def print_compact(records: Sequence[dict[str, Any]], fields: Sequence[str]) -> None:
    """Compact lines (F2), each record with the fields it has."""
    lines = compact({key: _one(key, value) for key, value in dates_as_text(record).items()} for record in records)
    print("\n".join(lines))


def print_table(records: Sequence[dict[str, Any]], fields: Sequence[str]) -> None:
    """Columns for a person, long values cut."""
    columns = [name for name in ("store_id", "record_id", "concept", "in_force_from", "in_force_to", "concept_owner", "source", "value") if name in fields]
    cells = [columns, *([_cell(record[name]) for name in columns] for record in records)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    for row in cells if records else []:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"{len(records)} {'record' if len(records) == 1 else 'records'} in force")


FORMATS: dict[str, Callable[[Sequence[dict[str, Any]], Sequence[str]], None]] = {
    "table": print_table,
    "json": print_json,
    "csv": print_csv,
    "compact": print_compact,
}


def _one(key: str, value: Any) -> Any:
    """A record that replaces one other names it, as stores mostly do."""
    return value[0] if key == "supersedes" and value and len(value) == 1 else value


def _cell(value: Any) -> str:
    text = "" if value is None else one_line(str(value).replace("\r", " ").replace("\n", " "))
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
