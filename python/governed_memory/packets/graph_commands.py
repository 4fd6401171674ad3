"""`gmem graph`: walks over what memory holds, printed or drawn. Tools for operators: who reads is what they say (rule G8)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from governed_memory.errors import InputError, one_line
from governed_memory.host.configuration import read_host
from governed_memory.memory.options import add_place, opened, sight_of
from governed_memory.packets.graph import CUTS, MOST, SCALES, STEPS, Walk, walk
from governed_memory.packets.graph_drawing import html, svg


def register_graph(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `graph` to the root parser."""
    parser = commands.add_parser("graph", help="walk over what memory holds: along edges of some types, over nodes of some scales, within a budget")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, what in (("walk", "the nodes that a walk comes to, the nearest first, and what was cut"), ("draw", "the same as a honeycomb, SVG or HTML")):
        of_verb = verbs.add_parser(verb, help=what)
        of_verb.add_argument("start", metavar="START", help="a cell, frame, decision or approval")
        of_verb.add_argument("--types", metavar="A,B", help="adjacencies, such as semantic-support or conflict (default: all)")
        of_verb.add_argument("--scales", metavar="A,B", help=f"of {', '.join(SCALES)} (default: all)")
        of_verb.add_argument("--budget", type=int, default=MOST, metavar="N", help=f"nodes at most (default {MOST})")
        of_verb.add_argument("--steps", type=int, default=STEPS, metavar="N", help=f"how far at most (default {STEPS})")
        of_verb.add_argument("--global", dest="is_global", action="store_true", help="across sessions; the caller needs reads_all_sessions in the host file")
        of_verb.add_argument("--on-date", metavar="DATE", help="what was there by the end of that day")
        add_place(of_verb)
        of_verb.set_defaults(run=run_walk)
    verbs.choices["draw"].add_argument("--out", required=True, metavar="FILE", help="a .svg or .html file")
    verbs.choices["draw"].set_defaults(run=run_draw)


def run_walk(arguments: argparse.Namespace) -> int:
    """Print a walk; 1 where it cannot begin."""
    walked = _walked(arguments)
    if arguments.json:
        print(json.dumps(walked.as_data(), ensure_ascii=False))
        return int(not walked.nodes)
    for node in walked.nodes:
        edges = ", ".join(f"{edge['adjacency']} {edge['to']}" for edge in node.edges)
        print(one_line(f"{node.steps}  {node.node_id}  {node.scale} {node.kind}" + (f": {edges}" if edges else "")))
    for why, count in walked.cut.items():
        if count:
            print(f"cut: {count} {CUTS[why]}")
    if not walked.nodes:
        print("nothing of that name that you may read")
    return int(not walked.nodes)


def run_draw(arguments: argparse.Namespace) -> int:
    """Write a drawing of a walk."""
    out = Path(arguments.out)
    if out.suffix not in (".svg", ".html"):
        raise InputError(f"--out: {arguments.out!r} is neither a .svg nor a .html file")
    walked = _walked(arguments)
    if not walked.nodes:
        print("nothing of that name that you may read; nothing was drawn")
        return 1
    try:
        out.write_text(svg(walked) if out.suffix == ".svg" else html(walked, f"Around {arguments.start}"), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from error
    print(f"{out}: {len(walked.nodes)} nodes")
    return 0


def _walked(arguments: argparse.Namespace) -> Walk:
    host = read_host(arguments.host)
    types, scales = (None if given is None else given.split(",") for given in (arguments.types, arguments.scales))
    with opened(arguments, host) as memory:
        return walk(memory, arguments.start, sight_of(arguments, host), types=types, scales=scales, most=arguments.budget, steps=arguments.steps)
