"""`gmem transpile`: an as-of read as a select of another SQL dialect."""

from __future__ import annotations

import argparse
import sys

from governed_memory.dates import day
from governed_memory.errors import InputError, one_line
from governed_memory.reads.transpile_terms import ASSUMPTIONS, READS


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `transpile` to the root parser."""
    parser = commands.add_parser("transpile", help="an as-of read over a table of your own, as one select in another SQL dialect")
    parser.add_argument("read", choices=READS, help="as-of and intervals read a table of the twelve columns, as-of-built a copy of record_intervals_built")
    parser.add_argument("--to", metavar="DIALECT", required=True, help="postgres, duckdb, or another that sqlglot knows")
    parser.add_argument("--date", metavar="D", default="", help="yyyy-mm-dd: the day of an as-of read")
    parser.add_argument("--table", metavar="NAME", default="records", help="your table, perhaps with its schema (default: records)")
    parser.add_argument("--assume", action="append", default=[], choices=sorted(ASSUMPTIONS), help="what holds for your table; may be repeated")
    parser.set_defaults(run=run_transpile)


def run_transpile(arguments: argparse.Namespace) -> int:
    """Print the select and exit 0; or say what the dialect has no form for, print nothing else and exit 1."""
    from governed_memory.reads.transpile import RUN, heading, transpile

    if arguments.read != "intervals":
        if not arguments.date:
            raise InputError(f"{arguments.read} needs --date yyyy-mm-dd: the day that it is asked for")
        day("--date", arguments.date)
    elif arguments.date:
        raise InputError("intervals holds every day; leave out --date, or ask as-of")
    done = transpile(arguments.read, arguments.to, table=arguments.table, on_date=arguments.date, assume=arguments.assume)
    for part in done.unsupported:
        print(f"gmem transpile: {arguments.to} has no form, or none that has been tried, for: {one_line(part)}", file=sys.stderr)
    if done.unsupported:
        return 1
    if arguments.to not in (*RUN, "duckdb"):
        print(f"gmem transpile: notice: written for {arguments.to} by sqlglot and not run there; try it before you rely on it", file=sys.stderr)
    print("\n".join([*(one_line(line) for line in heading(arguments.read, arguments.to, arguments.table, arguments.assume)), f"{done.sql};"]))
    return 0
