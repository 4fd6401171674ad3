"""`gmem sql`: governed SQL on the command line. Whoever can run it can name any caller: the statement is bounded, the command is no boundary (G8)."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from typing import TYPE_CHECKING

from governed_memory.host.configuration import read_host
from governed_memory.reads.ask import Question, open_to_ask
from governed_memory.reads.ask_commands import named_caller
from governed_memory.reads.named import add_asked, rows_asked
from governed_memory.reads.noted import add_memory, of_statement, witness_for
from governed_memory.reads.sandbox import Limits, governed_result, plain_rows

if TYPE_CHECKING:
    import polars

WIDTH = 60


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `sql` to the root parser."""
    parser = commands.add_parser("sql", help="your own select over what a caller may see on a date: tables records, answers, concepts, asked")
    parser.add_argument("sql", metavar="SELECT", help="one select; - reads it from standard input")
    parser.add_argument("--as-of", metavar="D", required=True, help="yyyy-mm-dd")
    parser.add_argument("--caller", metavar="NAME", required=True, help="who asks, as the host file or the register of parties names them")
    parser.add_argument("--host", metavar="FILE", help="the host file: callers, owners, policies (default: GMEM_HOST)")
    parser.add_argument("--scope", action="append", default=[], metavar="X", help="a class of question; may be repeated")
    parser.add_argument("--known-on", metavar="D", help="as known at the end of that day, or at that UTC timestamp")
    add_asked(parser)
    parser.add_argument("--format", choices=("table", "json", "csv", "arrow"), default="table", help="arrow: an Arrow IPC file")
    add_memory(parser)
    parser.set_defaults(run=run_sql)


def run_sql(arguments: argparse.Namespace) -> int:
    """Print the result; exit 0, also where it has no row."""
    host = read_host(arguments.host)
    store = rows_asked(arguments, host)
    with witness_for(arguments, host) as witness:
        opened = open_to_ask(store, arguments.database, host, arguments.attestations)
        for notice in opened.notices:
            print(f"gmem sql: notice: {notice}", file=sys.stderr)
        sql = sys.stdin.read() if arguments.sql == "-" else arguments.sql
        caller = named_caller(opened, host, arguments.caller, "sql")
        question = Question("", arguments.as_of, caller, tuple(arguments.scope), arguments.known_on, store if isinstance(store, str) else None)
        result = governed_result(opened, sql, question, Limits())
        witness.note(caller.name, [of_statement(sql, result.frame, result.visible, arguments.as_of)])
    print_frame(result.frame, arguments.format)
    return 0


def print_frame(result: polars.DataFrame, form: str) -> None:
    """A result in one of the formats."""
    if form == "arrow":
        result.write_ipc(sys.stdout.buffer)
        return
    rows = plain_rows(result)
    if form == "json":
        print(json.dumps(rows, ensure_ascii=False, indent=1))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(result.columns)
        writer.writerows([_text(value) for value in row.values()] for row in rows)
    else:
        cells = [result.columns, *([_cut(_text(value)) for value in row.values()] for row in rows)]
        widths = [max(len(row[place]) for row in cells) for place in range(len(result.columns))]
        for row in cells:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        print(f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}")


def _text(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict, bool)) else str(value)


def _cut(text: str) -> str:
    line = text.replace("\r", " ").replace("\n", " ")
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
