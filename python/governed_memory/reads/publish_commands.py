"""`gmem publish`: a file for readers. With an audience the file is the boundary, whoever holds it; the command is an operator's (G8)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from governed_memory import warehouse
from governed_memory.host.configuration import read_host
from governed_memory.reads.publish import SECONDS_TO_WAIT, default_path, named_audience, publish


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `publish` to the root parser."""
    parser = commands.add_parser("publish", help="a database file for readers, put in place in one step: builds and readers do not wait for each other")
    parser.add_argument("--audience", metavar="NAME", help="hold only what this caller of the host file, or party of the register, may see")
    parser.add_argument("--host", metavar="FILE", help="the host file that names the audience (default: GMEM_HOST)")
    parser.add_argument("--out", metavar="PATH", help="where it goes (default: beside the database, as NAME.published.duckdb or NAME.AUDIENCE.duckdb)")
    parser.add_argument("--wait", type=float, default=SECONDS_TO_WAIT, metavar="S", help="seconds to wait for a build that is running (default: %(default)g)")
    parser.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    parser.set_defaults(run=run_publish)


def run_publish(arguments: argparse.Namespace) -> int:
    """Publish, and say what is there now."""
    audience = None if arguments.audience is None else named_audience(arguments.audience, read_host(arguments.host), arguments.database)
    path = Path(arguments.out) if arguments.out else default_path(warehouse.built_path(arguments.database), arguments.audience)

    def waits() -> None:
        print(f"gmem publish: another process is writing; waiting up to {arguments.wait:g} s for it to end", file=sys.stderr)

    published = publish(path, audience=audience, database=arguments.database, waits=waits, seconds=arguments.wait)
    for_whom = f"what {arguments.audience!r} may see" if audience else "everything that reads need, for operators"
    print(f"{published.path}: {for_whom}; stores {', '.join(published.stores) or 'none'}; generation {published.generation_id}")
    return 0
