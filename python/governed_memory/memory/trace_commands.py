"""`gmem trace`: what something derives from, back to what was observed (rules M2 and G7)."""

from __future__ import annotations

import argparse
import sys

from governed_memory.errors import one_line
from governed_memory.host.configuration import read_host
from governed_memory.memory.options import add_place, caller_of, instant_of, opened
from governed_memory.memory.recall import Sight
from governed_memory.memory.trace import MOST_STEPS, MOST_THINGS
from governed_memory.memory.trace_forms import as_mermaid, as_prov, as_tree

FORMS = {"tree": as_tree, "prov": as_prov, "mermaid": as_mermaid}


def register_trace(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the root parser."""
    parser = commands.add_parser("trace", help="what a cell, frame, run, candidate, approval or learned record derives from, back to what was observed")
    parser.add_argument("target", metavar="ID", help="its identifier")
    parser.add_argument("--as", dest="form", choices=FORMS, default="tree", help="a tree, W3C PROV-JSON, or a Mermaid flowchart (default: tree)")
    parser.add_argument("--steps", type=int, default=MOST_STEPS, metavar="N", help="how far back at most (default %(default)s)")
    parser.add_argument("--most", type=int, default=MOST_THINGS, metavar="N", help="how many things at most, the nearest first (default %(default)s)")
    parser.add_argument("--global", dest="is_global", action="store_true", help="across sessions; the caller needs reads_all_sessions in the host file")
    add_place(parser, with_json=False)
    parser.set_defaults(run=run_trace)


def run_trace(arguments: argparse.Namespace) -> int:
    """Print a lineage; 1 where nothing that the caller may read is called so."""
    host = read_host(arguments.host)
    with opened(arguments, host) as memory:
        sight = Sight(caller_of(arguments, host), arguments.session, instant_of(arguments.now), arguments.is_global)
        found = memory.trace(arguments.target, sight, most_steps=arguments.steps, most_things=arguments.most)
    if found is None:
        print(f"{one_line(arguments.target)}: nothing is called so, or nothing that you may read", file=sys.stderr)
        return 1
    print(FORMS[arguments.form](found))
    return 0
