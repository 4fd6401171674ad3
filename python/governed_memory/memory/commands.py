"""The commands of memory: `gmem memory write | link | annotate | expire | recall | show | verify | ingest`. Tools for operators: who calls is
what they say with --principal, and no boundary (rule G8)."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, one_line, shown
from governed_memory.host.configuration import Caller, Host, read_host
from governed_memory.memory.proposals import Outcome
from governed_memory.memory.recall import Sight
from governed_memory.memory.store import MemoryStore

DEFAULT_PLACE = "memory"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to the root parser."""
    parser = commands.add_parser("memory", help="cells, links and what was said of them: written through guards into a log, and recalled")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, stream, what in (
        ("write", "cells", "write cells, one JSON object a line"),
        ("link", "links", "link cells, {from_cell_id, to_cell_id, link_type} a line"),
        ("annotate", "annotations", "say something of cells, {target_id, kind, reason} a line"),
    ):
        of_lines = verbs.add_parser(verb, help=what)
        of_lines.add_argument("file", metavar="FILE", help="JSON Lines; - for standard input")
        _add_writing(of_lines)
        of_lines.set_defaults(run=run_lines, stream=stream)
    expire = verbs.add_parser("expire", help="end working cells before their time; without any, note those whose time is over")
    expire.add_argument("cells", nargs="*", metavar="CELL_ID")
    _add_writing(expire)
    expire.set_defaults(run=run_expire)
    recall = verbs.add_parser("recall", help="the cells that match words, the best first")
    recall.add_argument("query", metavar="WORDS")
    recall.add_argument("--system", choices=("working", "episodic", "semantic", "procedural"), help="cells of this system first, word for word")
    recall.add_argument("--most", type=int, default=10, metavar="N", help="how many at most (default 10)")
    recall.add_argument("--take-expired", action="store_true", help="expired working cells too")
    _add_reading(recall)
    recall.set_defaults(run=run_recall)
    show = verbs.add_parser("show", help="one cell with its state, links and annotations")
    show.add_argument("cell", metavar="CELL_ID")
    _add_reading(show)
    show.set_defaults(run=run_show)


def add_place(parser: argparse.ArgumentParser) -> None:
    """The options that say which memory, who and when; commands of frames take them too."""
    parser.add_argument("--memory", metavar="DIR", help="the folder of the memory (default: GMEM_MEMORY, else memory)")
    parser.add_argument("--host", metavar="FILE", help="the host file: callers, and keys to sign heads with (default: GMEM_HOST)")
    parser.add_argument("--principal", required=True, metavar="NAME", help="who calls; one of the callers of the host file, where there is one")
    parser.add_argument("--session", metavar="NAME", help="their session")
    parser.add_argument("--now", metavar="TIME", help="the instant, as yyyy-mm-ddThh:mm:ss in UTC (default: the clock)")
    parser.add_argument("--json", action="store_true", help="the outcome as JSON Lines")


def _add_writing(parser: argparse.ArgumentParser) -> None:
    add_place(parser)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--global", dest="is_global", action="store_true", help="across sessions; the caller needs reads_all_sessions in the host file")
    parser.add_argument("--on-date", metavar="DATE", help="what was there by the end of that day")


def opened(arguments: argparse.Namespace, host: Host | None) -> MemoryStore:
    """The memory that the arguments name.

    Raises:
        InputError: it cannot be opened.
    """
    place = Path(arguments.memory or os.environ.get("GMEM_MEMORY") or DEFAULT_PLACE)
    return MemoryStore(place, keys=host.keys if host else None)


def instant_of(text: str | None) -> datetime.datetime:
    """The instant that an argument names, in UTC; the clock's without one.

    Raises:
        InputError: it is none.
    """
    if text is None:
        return datetime.datetime.now(datetime.UTC)
    try:
        found = datetime.datetime.fromisoformat(text)
        return found.astimezone(datetime.UTC) if found.tzinfo else found.replace(tzinfo=datetime.UTC)
    except (ValueError, OverflowError):
        raise InputError(f"--now: {shown(text)} is no instant; write it as yyyy-mm-ddThh:mm:ss (UTC)") from None


def run_lines(arguments: argparse.Namespace) -> int:
    """Write what a file's lines tell; 1 where a guard refused some of it."""
    told = list(json_lines(arguments.file))
    put: dict[str, Callable[..., list[Outcome]]]
    host = read_host(arguments.host)
    with opened(arguments, host) as memory:
        put = {"cells": memory.write, "links": memory.link, "annotations": memory.annotate}
        outcomes = put[arguments.stream](told, principal=_caller(arguments, host).name, session_id=arguments.session, now=instant_of(arguments.now))
    return tell_outcomes(outcomes, as_json=arguments.json)


def run_expire(arguments: argparse.Namespace) -> int:
    """End cells, or note those whose time is over."""
    host, now = read_host(arguments.host), instant_of(arguments.now)
    with opened(arguments, host) as memory:
        name = _caller(arguments, host).name
        outcomes = memory.expire(arguments.cells, principal=name, session_id=arguments.session, now=now) if arguments.cells else memory.expire_due(now)
    return tell_outcomes(outcomes, as_json=arguments.json)


def run_recall(arguments: argparse.Namespace) -> int:
    """Print the cells that match; 1 where none does."""
    if arguments.most < 1:
        raise InputError(f"--most: {arguments.most} is no number of cells; give 1 or more")
    host = read_host(arguments.host)
    with opened(arguments, host) as memory:
        found = memory.recall(arguments.query, _sight(arguments, host), system=arguments.system, takes_expired=arguments.take_expired, most=arguments.most)
    for cell in found:
        if arguments.json:
            print(json.dumps(cell, ensure_ascii=False, default=str))
        else:
            print(f"{cell['score']:.3f}  {cell['cell_id']}  {cell['system']}  {one_line(cell['summary'] or cell['content'])[:120]}")
    if not found and not arguments.json:
        print("nothing that you may read matches")
    return 0 if found else 1


def run_show(arguments: argparse.Namespace) -> int:
    """Print one cell; 1 where there is none that the caller may read."""
    host = read_host(arguments.host)
    with opened(arguments, host) as memory:
        cell = memory.show(arguments.cell, _sight(arguments, host))
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


def json_lines(file: str) -> Iterable[dict[str, Any]]:
    """The objects of a file of JSON Lines, or of standard input.

    Raises:
        InputError: it cannot be read, or a line is no JSON object; the message says which.
    """
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        lines = text.decode("utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _object(file, number, line)


def _object(file: str, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} line {number}: is no JSON: {getattr(error, 'msg', 'nested too deeply')}") from None
    if not isinstance(found, dict):
        raise InputError(f"{file} line {number}: expected an object with fields, got {type(found).__name__}")
    return found


def tell_outcomes(outcomes: list[Outcome], *, as_json: bool) -> int:
    """Print what came of each thing; 1 where something was refused."""
    for outcome in outcomes:
        if as_json:
            print(json.dumps({name: getattr(outcome, name) for name in outcome.__slots__}, ensure_ascii=False))
        elif outcome.outcome == "refused":
            print(f"{outcome.place}: refused: {outcome.code}: expected that {outcome.requirement}", file=sys.stderr)
        else:
            print(f"{outcome.place}: {outcome.outcome} {outcome.target_id}")
    counts = {what: sum(outcome.outcome == what for outcome in outcomes) for what in ("written", "held", "refused")}
    if not as_json:
        print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["refused"] else 0


def _caller(arguments: argparse.Namespace, host: Host | None) -> Caller:
    return host.caller(arguments.principal) if host and host.callers else Caller(arguments.principal, (arguments.principal,), "inside")


def _sight(arguments: argparse.Namespace, host: Host | None) -> Sight:
    on_date = None
    if arguments.on_date is not None:
        try:
            on_date = datetime.date.fromisoformat(arguments.on_date)
        except ValueError:
            raise InputError(f"--on-date: {shown(arguments.on_date)} is no date; write it as yyyy-mm-dd") from None
    return Sight(_caller(arguments, host), arguments.session, instant_of(arguments.now), arguments.is_global, on_date)
