"""What the commands of memory have in common: which memory, who calls and when, and how outcomes are told."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from pathlib import Path

from governed_memory.errors import InputError, one_line, shown
from governed_memory.host.configuration import Caller, Host
from governed_memory.memory.proposals import Outcome
from governed_memory.memory.recall import Sight
from governed_memory.memory.store import MemoryStore

DEFAULT_PLACE = "memory"


def add_place(parser: argparse.ArgumentParser, *, with_json: bool = True) -> None:
    """The options that say which memory, who and when; `with_json`, and that the outcome is wanted as data."""
    add_folder(parser)
    parser.add_argument("--principal", required=True, metavar="NAME", help="who calls; one of the callers of the host file, where there is one")
    parser.add_argument("--session", metavar="NAME", help="their session")
    parser.add_argument("--now", metavar="TIME", help="the instant, as yyyy-mm-ddThh:mm:ss in UTC (default: the clock)")
    if with_json:
        parser.add_argument("--json", action="store_true", help="the outcome as JSON Lines")


def add_folder(parser: argparse.ArgumentParser) -> None:
    """The options that say which memory, and how its heads are signed."""
    parser.add_argument("--memory", metavar="DIR", help="the folder of the memory (default: GMEM_MEMORY, else memory)")
    parser.add_argument("--host", metavar="FILE", help="the host file: callers, and keys to sign heads with (default: GMEM_HOST)")


def folder_of(arguments: argparse.Namespace) -> Path:
    """The folder of the memory that the arguments name."""
    return Path(arguments.memory or os.environ.get("GMEM_MEMORY") or DEFAULT_PLACE)


def opened(arguments: argparse.Namespace, host: Host | None, *, begins: bool = False) -> MemoryStore:
    """The memory that the arguments name; `begins` one where there is none.

    Raises:
        InputError: it cannot be opened, or there is none.
    """
    place = folder_of(arguments)
    if not begins and not (place / "log").is_dir():
        raise InputError(f"{str(place)!r} holds no memory; name its folder with --memory, or begin one with `gmem memory write`")
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


def caller_of(arguments: argparse.Namespace, host: Host | None) -> Caller:
    """Who calls, as the host file says; without one, a caller inside the boundary who is a party of that name.

    Raises:
        InputError: the host file names no such caller.
    """
    return host.caller(arguments.principal) if host and host.callers else Caller(arguments.principal, (arguments.principal,), "inside")


def tell_outcomes(outcomes: list[Outcome], *, as_json: bool) -> int:
    """Print what came of each thing; 1 where something was refused."""
    for outcome in outcomes:
        if as_json:
            print(json.dumps({name: getattr(outcome, name) for name in outcome.__slots__}, ensure_ascii=False))
        elif outcome.outcome == "refused":
            print(f"{outcome.place}: refused: {outcome.code}: expected that {outcome.requirement}", file=sys.stderr)
        else:
            print(one_line(f"{outcome.place}: {outcome.outcome} {outcome.target_id}"))
    counts = {what: sum(outcome.outcome == what for outcome in outcomes) for what in ("written", "held", "refused")}
    if not as_json:
        print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["refused"] else 0


def sight_of(arguments: argparse.Namespace, host: Host | None) -> Sight:
    """From where a command reads.

    Raises:
        InputError: a date or instant is none, or the host file names no such caller.
    """
    on_date = None
    if arguments.on_date is not None:
        try:
            on_date = datetime.date.fromisoformat(arguments.on_date)
        except ValueError:
            raise InputError(f"--on-date: {shown(arguments.on_date)} is no date; write it as yyyy-mm-dd") from None
    return Sight(caller_of(arguments, host), arguments.session, instant_of(arguments.now), arguments.is_global, on_date)
