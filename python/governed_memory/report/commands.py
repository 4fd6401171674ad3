"""The command of this room: report. With an audience the page is the boundary, whoever holds it; the command is an operator's (G8)."""

from __future__ import annotations

import argparse
from pathlib import Path

from governed_memory import warehouse
from governed_memory.host.configuration import read_host
from governed_memory.reads.publish import default_path, named_audience
from governed_memory.report.page import write_report

# What a page without an audience is called after.
STEWARDS = "stewards"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `report` to the root parser."""
    parser = commands.add_parser("report", help="one HTML page about all stores: levels, findings by owner, timelines, coverage, policies; works offline")
    parser.add_argument("--audience", "--caller", metavar="NAME", help="show only what this caller of the host file, or party of the register, may see")
    parser.add_argument("--host", metavar="FILE", help="the host file that names the audience (default: GMEM_HOST)")
    parser.add_argument("--out", metavar="PATH", help="where it goes (default: beside the database, as NAME.stewards.html or NAME.AUDIENCE.html)")
    parser.add_argument("--target", metavar="FOLDER", default="target", help="where dbt wrote its documentation, to link to (default: %(default)s)")
    parser.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    parser.set_defaults(run=run_report)


def run_report(arguments: argparse.Namespace) -> int:
    """Write the page, and say what it shows."""
    audience = None if arguments.audience is None else named_audience(arguments.audience, read_host(arguments.host), arguments.database)
    path = Path(arguments.out) if arguments.out else default_path(warehouse.built_path(arguments.database), arguments.audience or STEWARDS).with_suffix(".html")
    counts = write_report(path, audience=audience, database=arguments.database, target=Path(arguments.target))
    for_whom = f"what {arguments.audience!r} may see" if audience else "for stewards, without what restricted records say"
    print(f"{path}: {for_whom}; {counts['records']} records of concepts, {counts['findings']} findings")
    return 0
