"""The commands of memory: `gmem memory write | link | annotate | expire | recall | show | verify | ingest`, `gmem frame`,
`gmem trace`, `gmem proposals` and those of learning. Tools for
operators: who calls is what they say with --principal, and no boundary (rule G8)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from governed_memory.errors import InputError, one_line
from governed_memory.host.configuration import read_host
from governed_memory.memory.frame_commands import register_frames
from governed_memory.memory.json_lines import json_lines
from governed_memory.memory.learning_commands import register_learning, register_records
from governed_memory.memory.options import add_place, caller_of, instant_of, opened, sight_of, tell_outcomes
from governed_memory.memory.proposal_commands import register_proposals
from governed_memory.memory.proposals import Outcome
from governed_memory.memory.trace_commands import register_trace
from governed_memory.memory.upkeep_commands import register_upkeep


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to the root parser."""
    register_frames(commands)
    register_learning(commands)
    register_proposals(commands)
    register_trace(commands)
    parser = commands.add_parser("memory", help="cells, links and what was said of them: written through guards into a log, and recalled")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, stream, what in (
        ("write", "cells", "write cells, one JSON object a line"),
        ("link", "links", "link cells, {from_cell_id, to_cell_id, link_type} a line"),
        ("annotate", "annotations", "say something of cells, {target_id, kind, reason} a line"),
    ):
        of_lines = verbs.add_parser(verb, help=what)
        of_lines.add_argument("file", metavar="FILE", help="JSON Lines; - for standard input")
        add_place(of_lines)
        of_lines.set_defaults(run=run_lines, stream=stream)
    expire = verbs.add_parser("expire", help="end working cells before their time; without any, note those whose time is over")
    expire.add_argument("cells", nargs="*", metavar="CELL_ID")
    add_place(expire)
    expire.set_defaults(run=run_expire)
    recall = verbs.add_parser("recall", help="the cells that match words, the best first")
    recall.add_argument("query", metavar="WORDS")
    recall.add_argument("--system", choices=("working", "episodic", "semantic", "procedural"), help="a cell of this system counts half a word more")
    recall.add_argument("--most", type=int, default=10, metavar="N", help="how many at most (default 10)")
    recall.add_argument("--take-expired", action="store_true", help="expired working cells too")
    _add_reading(recall)
    recall.set_defaults(run=run_recall)
    show = verbs.add_parser("show", help="one cell with its state, links and annotations")
    show.add_argument("cell", metavar="CELL_ID")
    _add_reading(show)
    show.set_defaults(run=run_show)
    register_records(verbs)
    register_upkeep(verbs)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--global", dest="is_global", action="store_true", help="across sessions; the caller needs reads_all_sessions in the host file")
    parser.add_argument("--on-date", metavar="DATE", help="what was there by the end of that day")


def run_lines(arguments: argparse.Namespace) -> int:
    """Write what a file's lines tell; 1 where a guard refused some of it."""
    told = [fields for _, fields in json_lines(arguments.file)]
    put: dict[str, Callable[..., list[Outcome]]]
    host = read_host(arguments.host)
    with opened(arguments, host, begins=True) as memory:
        put = {"cells": memory.write, "links": memory.link, "annotations": memory.annotate}
        outcomes = put[arguments.stream](told, principal=caller_of(arguments, host).name, session_id=arguments.session, now=instant_of(arguments.now))
    return tell_outcomes(outcomes, as_json=arguments.json)


def run_expire(arguments: argparse.Namespace) -> int:
    """End cells, or note those whose time is over."""
    host, now = read_host(arguments.host), instant_of(arguments.now)
    with opened(arguments, host) as memory:
        name = caller_of(arguments, host).name
        outcomes = memory.expire(arguments.cells, principal=name, session_id=arguments.session, now=now) if arguments.cells else memory.expire_due(now)
    return tell_outcomes(outcomes, as_json=arguments.json)


def run_recall(arguments: argparse.Namespace) -> int:
    """Print the cells that match; 1 where none does."""
    if arguments.most < 1:
        raise InputError(f"--most: {arguments.most} is no number of cells; give 1 or more")
    host = read_host(arguments.host)
    with opened(arguments, host) as memory:
        found = memory.recall(arguments.query, sight_of(arguments, host), system=arguments.system, takes_expired=arguments.take_expired, most=arguments.most)
    for cell in found:
        if arguments.json:
            print(json.dumps(cell, ensure_ascii=False, default=str))
        else:
            print(one_line(f"{cell['score']:.3f}  {cell['cell_id']}  {cell['system']}  {(cell['summary'] or cell['content'])[:120]}"))
    if not found and not arguments.json:
        print("nothing that you may read matches")
    return 0 if found else 1


def run_show(arguments: argparse.Namespace) -> int:
    """Print one cell; 1 where there is none that the caller may read."""
    host = read_host(arguments.host)
    with opened(arguments, host) as memory:
        cell = memory.show(arguments.cell, sight_of(arguments, host))
    if cell is None:
        print(f"{one_line(arguments.cell)}: no such cell, or none that you may read", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps(cell, ensure_ascii=False, default=str))
        return 0
    for name, value in cell.items():
        if value not in (None, []):
            print(f"{name:18}{one_line(json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list) else str(value))}")
    return 0
