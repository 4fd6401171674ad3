"""`gmem worklist`: what waits for stewards, and what was done about it."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.dates import day
from governed_memory.errors import InputError, did_you_mean, one_line
from governed_memory.overlay import worklist
from governed_memory.warehouse.register_file import existing_file, said_by

LISTED = 20
KINDS = ("finding", "conflict", "gap", "ineffective_supersession", "in_doubt", "proposal")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `worklist` to the root parser."""
    parser = commands.add_parser("worklist", help="what waits for stewards: list, acknowledge, assign, snooze, history")
    ways = parser.add_subparsers(dest="way", required=True, metavar="WHAT")
    listed = _add(ways, "list", "what is open, with who must act and what to run", run_list)
    listed.add_argument("--all", action="store_true", help="also what is snoozed")
    listed.add_argument("--kind", choices=KINDS, help="only these")
    listed.add_argument("--store", metavar="NAME", help="only of this store")
    listed.add_argument("--party", metavar="PARTY", help="only what this party must do, or what was assigned to it")
    listed.add_argument("--limit", type=int, default=LISTED, metavar="N", help="name so many at most, 0 for all (default %(default)s)")
    listed.add_argument("--json", action="store_true", help="one object per item, all of them")
    for name, text in (("acknowledge", "say that it is known"), ("assign", "say who does it"), ("snooze", "hide it until a day")):
        noted = _add(ways, name, text, run_note)
        noted.add_argument("item", nargs="+", metavar="ITEM", help="the item's name as `list` shows it, or the beginning of it")
        noted.add_argument("--by", required=True, metavar="WHO", help="who says so")
        noted.add_argument("--because", metavar="WHY", help="why")
        if name == "assign":
            whom = noted.add_mutually_exclusive_group(required=True)
            whom.add_argument("--to", metavar="PARTY", help="the party or person that does it")
            whom.add_argument("--to-nobody", action="store_true", help="take the assignment back")
        if name == "snooze":
            noted.add_argument("--until", required=True, metavar="DATE", help="the day on which it comes back")
    told = _add(ways, "history", "what was done, also about items that are mended", run_history)
    told.add_argument("item", nargs="?", default="", metavar="ITEM", help="only this item")
    told.add_argument("--json", action="store_true", help="one object per entry")


def _add(ways: Any, name: str, text: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = ways.add_parser(name, help=text)
    parser.add_argument("--file", metavar="FILE", help="the trace, a .jsonl file (default: the one that the project attaches as register steward_actions)")
    parser.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    parser.set_defaults(run=run)
    return parser


def run_list(arguments: argparse.Namespace) -> int:
    """Print what is open; exit 0, also where nothing is."""
    trace = existing_file(arguments.file) if arguments.file else worklist.attached_trace(arguments.database)
    connection = worklist.open_worklist(arguments.database, trace)
    _expect_known(connection, arguments)
    for notice in worklist.of_an_earlier_build(connection):
        print(f"gmem worklist: notice: {notice}", file=sys.stderr)
    found = worklist.items(connection, with_snoozed=arguments.all, kind=arguments.kind, store=arguments.store, party=arguments.party)
    if arguments.json:
        print(json.dumps([_plain(item) for item in found], ensure_ascii=False, indent=1))
        return 0
    [counts] = warehouse.rows(connection, "select on_date, (select count(*) from steward_items where is_snoozed) as snoozed from int_worklist_build")
    shown = found if arguments.limit <= 0 else found[: arguments.limit]
    for item in shown:
        print("\n".join(map(one_line, _lines(item))))
    if len(found) > len(shown):
        print(f"and {len(found) - len(shown)} more; --limit 0 names all")
    hidden = "" if arguments.all or not counts["snoozed"] else f", {counts['snoozed']} snoozed (--all shows them)"
    print(f"{len(found)} {'item' if len(found) == 1 else 'items'} on {counts['on_date']}{hidden}")
    return 0


def _expect_known(connection: duckdb.DuckDBPyConnection, arguments: argparse.Namespace) -> None:
    """InputError where the last build knows no such store or party: that nothing is listed would look as if nothing were open."""
    stores, parties = worklist.known_names(connection, arguments.database)
    for option, name, known in (("--store", arguments.store, stores), ("--party", arguments.party, parties)):
        if name is not None and name not in known:
            hint = did_you_mean(name, known) or f"known are {', '.join(known) or 'none'}"
            raise InputError(f"{option}: the last build knows no {name!r}; {hint}")


def run_note(arguments: argparse.Namespace) -> int:
    """Append to the trace what is done about the items."""
    said = said_by(arguments.by, arguments.because, needs_reason=arguments.way == "snooze")
    trace = worklist.trace_file(arguments.file, arguments.database)
    connection = worklist.open_worklist(arguments.database, trace)
    told: dict[str, str | None] = {}
    if arguments.way == "assign":
        if arguments.to is not None and not arguments.to.strip():
            raise InputError("--to: an empty name assigns to nobody; say that with --to-nobody")
        told["party_id"] = arguments.to
    if arguments.way == "snooze":
        told["snoozed_until"] = day("--until", arguments.until)
        [build] = warehouse.rows(connection, "select on_date from int_worklist_build")
        if told["snoozed_until"] <= build["on_date"].isoformat():
            raise InputError(f"--until: {arguments.until} is not after {build['on_date']}, the day of the last build, so nothing would be hidden")
    names = worklist.named(connection, arguments.item)
    worklist.note(trace, names, arguments.way, by=str(said["by"]), because=said["because"], **told)
    more = {"assign": f" to {told.get('party_id') or 'nobody'}", "snooze": f" until {told.get('snoozed_until')}"}.get(arguments.way, "")
    print(one_line(f"{trace}: {arguments.way} {', '.join(name[: worklist.SHOWN] for name in names)}{more}"))
    return 0


def run_history(arguments: argparse.Namespace) -> int:
    """Print the trace."""
    trace = existing_file(arguments.file) if arguments.file else worklist.trace_file(None, arguments.database)
    entries = worklist.history(trace, arguments.item)
    if arguments.item and not entries:
        _expect_item(trace, arguments)
    if arguments.json:
        print(json.dumps(entries, ensure_ascii=False, indent=1, default=str))
        return 0
    for entry in entries:
        print(one_line(_entry(entry)))
    print(f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}")
    return 0


def _expect_item(trace: Path, arguments: argparse.Namespace) -> None:
    """InputError where the name is of no item: an open one, of which nothing was noted yet, has a history without entries."""
    try:
        worklist.named(worklist.open_worklist(arguments.database, trace), [arguments.item])
    except InputError as error:
        raise InputError(f"{trace}: no entry about {arguments.item!r}; {error}") from error


def _entry(entry: dict[str, Any]) -> str:
    what = {"assign": f" to {entry['party_id'] or 'nobody'}", "snooze": f" until {entry['snoozed_until']}"}.get(entry["action"], "")
    why = f": {entry['reason']}" if entry["reason"] else ""
    return f"{entry['acted_at']}  {str(entry['item_id'])[: worklist.SHOWN]}  {entry['action']}{what}, by {entry['acted_by']}{why}"


def _lines(item: dict[str, Any]) -> Iterator[str]:
    what = item["rule_id"] or item["kind"]
    where = "/".join(filter(None, [item["store_id"], item["concept_id"], item["record_id"]]))
    asked = f"level {item['level']} {item['requirement']}, " if item["requirement"] else ""
    since = f", since {item['since_on']}" if item["since_on"] else ""
    answers = item["affected_answers"]
    role = f" ({item['party_role']})" if item["party_role"] else ""
    yield f"{item['item_id'][: worklist.SHOWN]}  {what}  {where}"
    yield f"    {asked}{answers} {'answer' if answers == 1 else 'answers'}{since}; for {item['party_id'] or 'nobody named'}{role}"
    if item["detail"]:
        yield f"    {item['detail']}"
    yield f"    {item['fix']}"
    done = [
        f"acknowledged by {item['acknowledged_by']}" if item["acknowledged_by"] else "",
        f"assigned to {item['assigned_to']}" if item["assigned_to"] else "",
        f"snoozed until {item['snoozed_until']}: {item['snooze_reason']}" if item["is_snoozed"] else "",
    ]
    if any(done):
        yield f"    {'; '.join(filter(None, done))}"


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, (datetime.date, datetime.datetime)) else value for name, value in item.items()}
