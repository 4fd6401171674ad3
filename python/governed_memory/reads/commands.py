"""The commands of this room: as-of and status."""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from governed_memory.overlay.compact import compact
from governed_memory.reads.as_of import COLUMNS, day, left_out, open_store, records_as_of
from governed_memory.reads.status import status_lines
from governed_memory.warehouse.store_file import StoreFile, looks_like_a_file, parse_mapping

WIDTH = 60


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this room's commands to the root parser."""
    as_of = commands.add_parser("as-of", help="the records in force on a date")
    as_of.add_argument("date", metavar="DATE", help="yyyy-mm-dd")
    as_of.add_argument("--store", metavar="NAME_OR_FILE", help="an attached store or a file; all attached stores if left out")
    as_of.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="for a file: your columns where they differ from the roles")
    as_of.add_argument("--concept", metavar="C", help="only this concept")
    as_of.add_argument("--known-on", metavar="D", help="as known at the end of that day, or at that UTC timestamp")
    as_of.add_argument("--scope", action="append", default=[], metavar="X", help="for questions of this class; may be repeated")
    as_of.add_argument("--format", choices=("table", "json", "csv", "compact"), default="table")
    as_of.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    as_of.set_defaults(run=run_as_of)
    status = commands.add_parser("status", help="the attached stores: level reached and declared, findings by who must act")
    status.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    status.set_defaults(run=run_status)


def run_as_of(arguments: argparse.Namespace) -> int:
    """Print the records in force; exit 0, also where there are none."""
    day("DATE", arguments.date)
    store = named_store(arguments.store, arguments.map)
    connection, notices = open_store(store, arguments.database)
    store_id = store if isinstance(store, str) else None
    records = records_as_of(connection, arguments.date, store_id=store_id, concept=arguments.concept, known_on=arguments.known_on, scope=arguments.scope)
    notices += left_out(connection, store_id=store_id, concept=arguments.concept, known_on=arguments.known_on)
    for notice in notices:
        print(f"gmem as-of: notice: {notice}", file=sys.stderr)
    fields = [name for name in COLUMNS if name != "store_id" or not isinstance(store, StoreFile)]
    FORMATS[arguments.format]([{name: record[name] for name in fields} for record in records], fields)
    return 0


def run_status(arguments: argparse.Namespace) -> int:
    """Exit 0 where every store reaches the level it declares, else 1."""
    lines, is_met = status_lines(arguments.database)
    print("\n".join(lines))
    return 0 if is_met else 1


def named_store(text: str | None, mapping: str) -> StoreFile | str | None:
    """What --store names: a file where it looks like one, else an attached store."""
    if text is None or not looks_like_a_file(text):
        return text
    return StoreFile(text, parse_mapping(mapping))


def print_json(records: Sequence[dict[str, Any]], fields: Sequence[str]) -> None:
    """A JSON array, one object per record."""
    print(json.dumps([_plain(record) for record in records], ensure_ascii=False, indent=1))


def print_csv(records: Sequence[dict[str, Any]], fields: Sequence[str]) -> None:
    """CSV with a header; lists as JSON."""
    writer = csv.DictWriter(sys.stdout, fieldnames=fields, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({key: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value for key, value in _plain(record).items()})


def print_compact(records: Sequence[dict[str, Any]], fields: Sequence[str]) -> None:
    """Compact lines (F2), each record with the fields it has."""
    lines = compact({key: _one(key, value) for key, value in _plain(record).items()} for record in records)
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


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value.isoformat() if isinstance(value, datetime.date) else value for key, value in record.items()}


def _one(key: str, value: Any) -> Any:
    """A record that replaces one other names it, as stores mostly do."""
    return value[0] if key == "supersedes" and value and len(value) == 1 else value


def _cell(value: Any) -> str:
    text = "" if value is None else str(value).replace("\r", " ").replace("\n", " ")
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
