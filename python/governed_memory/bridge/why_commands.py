"""`gmem why`: what a packet rests on and what it did to a model. A tool for operators: who reads is what they say (rule G8)."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path

from governed_memory.bridge.recorded import all_recorded
from governed_memory.bridge.why import Sources, as_data, why
from governed_memory.bridge.why_told import page
from governed_memory.errors import InputError, one_line
from governed_memory.host.configuration import read_host
from governed_memory.log import Witness
from governed_memory.memory import MemoryStore, Sight
from governed_memory.memory.options import instant_of
from governed_memory.packets.kept import kept_packet
from governed_memory.packets.search import READS
from governed_memory.reads.ask import open_to_ask
from governed_memory.reads.ask_commands import named_caller
from governed_memory.reads.named import add_asked, rows_asked
from governed_memory.reads.noted import memory_place


def register_why(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the root parser."""
    parser = commands.add_parser("why", help="why a packet holds what it holds, what that comes from, who approved it, and what it did to a model")
    parser.add_argument("target", metavar="PACKET_OR_RUN", help="the identifier of a packet, or its beginning; or that of a run of the bridge")
    parser.add_argument("--packets", required=True, metavar="PLACE", help="where packets are: a file, a folder of *.json, or a folder of exports")
    parser.add_argument("--caller", required=True, metavar="NAME", help="who reads, as the host file or the register of parties names them")
    parser.add_argument("--runs", default="bridge", metavar="DIR", help="where runs of the bridge are kept (default bridge)")
    parser.add_argument("--host", metavar="FILE", help="the host file: callers, owners, policies, keys (default: GMEM_HOST)")
    parser.add_argument("--memory", metavar="DIR", help="the memory: cells, lineage and approvals; the read is noted in its log (default: GMEM_MEMORY)")
    parser.add_argument("--session", metavar="NAME", help="the reader's session, for cells")
    parser.add_argument("--global", dest="is_global", action="store_true", help="cells across sessions; the reader needs reads_all_sessions in the host file")
    parser.add_argument("--now", metavar="INSTANT", help="when cells are judged to have expired (default: the clock)")
    add_asked(parser)
    parser.add_argument("--json", action="store_true", help="all of it as one JSON object")
    parser.set_defaults(run=run_why)


def run_why(arguments: argparse.Namespace) -> int:
    """Print why; 1 where nothing that the reader may see is called so."""
    host, runs = read_host(arguments.host), all_recorded(Path(arguments.runs))
    asked = [run for run in runs if run.get("run_id") == arguments.target]
    found = kept_packet(Path(arguments.packets), str(asked[0]["packet_id"]) if asked else arguments.target, host.keys if host else None)
    with ExitStack() as held:
        opened = open_to_ask(rows_asked(arguments, host), arguments.database, host, arguments.attestations, reads=READS)
        held.enter_context(opened.connection)
        for notice in (*found.notices, *opened.notices):
            print(f"gmem why: notice: {one_line(notice)}", file=sys.stderr)
        place = _memory_place(arguments)
        memory = held.enter_context(MemoryStore(place, keys=host.keys if host else None)) if place else None
        reader = named_caller(opened, host, arguments.caller, "why")
        sight = Sight(reader, arguments.session, instant_of(arguments.now), arguments.is_global)
        told = why(found.packet, sight, Sources(opened, memory, asked or runs, memory.witness if memory else Witness(None)))
    if told is None:
        print(f"{one_line(arguments.target)}: nothing is called so, or nothing that you may read", file=sys.stderr)
        return 1
    print(json.dumps(as_data(told), ensure_ascii=False) if arguments.json else "\n".join(map(one_line, page(told))))
    return 0


def _memory_place(arguments: argparse.Namespace) -> str | None:
    place = memory_place(arguments.memory)
    if place is None and (arguments.session or arguments.is_global or arguments.now):
        raise InputError("--session, --global and --now are of cells; say with --memory where they are")
    if place is not None and not Path(place, "log").is_dir():
        raise InputError(f"--memory: {place!r} holds no memory (no folder `log`); name its folder")
    return place
