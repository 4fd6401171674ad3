"""`gmem packet`: what an agent gets of records and cells, whole or not at all. Tools for operators: who asks is what they say (rule G8)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, one_line
from governed_memory.host.configuration import Host, read_host
from governed_memory.host.keys import Keys
from governed_memory.memory import MemoryStore
from governed_memory.memory.options import instant_of
from governed_memory.packets.assembly import build_packet
from governed_memory.packets.export import every_concept_of, export_packets, exported_packet
from governed_memory.packets.formats import FORMATS
from governed_memory.packets.graph_commands import register_graph
from governed_memory.packets.packet import Packet, read_packet
from governed_memory.packets.request import MOST, PacketRequest
from governed_memory.packets.search import READS
from governed_memory.packets.units import CHARACTERS, Unit, tokens_of
from governed_memory.reads.ask import Opened, open_to_ask
from governed_memory.reads.ask_commands import named_caller
from governed_memory.reads.named import add_asked, rows_asked
from governed_memory.reads.noted import memory_place


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `packet` and `graph` to the root parser."""
    register_graph(commands)
    parser = commands.add_parser("packet", help="what an agent is given: the governed answers that fit a budget, in groups that are whole or left out")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    build = verbs.add_parser("build", help="make one packet and print its text")
    build.add_argument("--query", metavar="TEXT", help="words to look for among what the caller may see")
    build.add_argument("--concept", action="append", default=[], metavar="C", help="a concept by name; may be repeated")
    build.add_argument("--id", action="append", default=[], metavar="ID", help="this record or cell, with what it stands together with; may be repeated")
    build.add_argument("--pin", action="append", default=[], metavar="ID", help="a record, cell or concept that has to be in it; may be repeated")
    build.add_argument("--caller", required=True, metavar="NAME", help="who asks, as the host file or the register of parties names them")
    _add_asked(build)
    build.add_argument("--memory", metavar="DIR", help="cells of this memory take part, and the read is noted in its log (default: GMEM_MEMORY, else none)")
    build.add_argument("--session", metavar="NAME", help="the caller's session, for cells")
    build.add_argument("--global", dest="is_global", action="store_true", help="cells across sessions; the caller needs reads_all_sessions in the host file")
    build.add_argument("--now", metavar="INSTANT", help="when cells are judged to have expired (default: the clock)")
    build.add_argument("--most", type=int, default=MOST, metavar="N", help=f"how many concepts, and how many cells, a query looks for (default {MOST})")
    build.add_argument("--json", action="store_true", help="packet id, manifest and text as one JSON object")
    build.set_defaults(run=run_build)
    export = verbs.add_parser("export", help="one packet of each concept for each caller, signed and put in place in one step")
    export.add_argument("--out", required=True, metavar="DIR", help="where generations of exports are kept; `latest` names the last")
    export.add_argument("--caller", action="append", default=[], metavar="NAME", help="for whom; may be repeated (default: every caller of the host file)")
    export.add_argument("--concept", action="append", default=[], metavar="C", help="a concept by name; may be repeated (default: every one that is held)")
    export.add_argument("--concepts", metavar="FILE", help="concepts by name, one a line")
    _add_asked(export)
    export.set_defaults(run=run_export)
    get = verbs.add_parser("get", help="a caller's packet of a concept from the newest export that is whole")
    get.add_argument("concept", metavar="CONCEPT")
    get.add_argument("--from", dest="place", required=True, metavar="DIR", help="where the exports are")
    get.add_argument("--caller", required=True, metavar="NAME", help="whose")
    get.add_argument("--host", metavar="FILE", help="the host file, whose key signed the export (default: GMEM_HOST)")
    get.add_argument("--json", action="store_true", help="packet id, manifest and text as one JSON object")
    get.set_defaults(run=run_get)
    explain = verbs.add_parser("explain", help="why each group of a packet is in it, and what was left out")
    explain.add_argument("file", metavar="FILE", help="what `gmem packet build --json` printed; - for standard input")
    explain.set_defaults(run=run_explain)


def _add_asked(parser: argparse.ArgumentParser) -> None:
    """What building one packet and many have in common."""
    parser.add_argument("--as-of", required=True, metavar="D", help="yyyy-mm-dd")
    parser.add_argument("--host", metavar="FILE", help="the host file: callers, owners, policies, keys (default: GMEM_HOST)")
    parser.add_argument("--scope", action="append", default=[], metavar="X", help="a class of question; may be repeated")
    parser.add_argument("--known-on", metavar="D", help="as known at the end of that day, or at that UTC timestamp")
    add_asked(parser)
    parser.add_argument("--budget", type=int, metavar="N", help="how long the text may be (default: no limit)")
    parser.add_argument("--unit", choices=("chars", "tokens"), default="chars", help="what the budget counts (default: chars)")
    parser.add_argument("--tokenizer", metavar="FILE", help="for tokens: a tokenizer.json, or a model's folder that has one")
    parser.add_argument("--as", dest="text_form", choices=tuple(FORMATS), default="compact", help="how the text is written (default: compact)")


def run_build(arguments: argparse.Namespace) -> int:
    """Print a packet; 1 where nothing is in it."""
    unit = _unit(arguments)
    host = read_host(arguments.host)
    store = rows_asked(arguments, host)
    with ExitStack() as held:
        opened = open_to_ask(store, arguments.database, host, arguments.attestations, reads=READS)
        held.enter_context(opened.connection)
        for notice in opened.notices:
            print(f"gmem packet: notice: {notice}", file=sys.stderr)
        memory = _memory(arguments, host)
        if memory is not None:
            held.enter_context(memory)
        packet = build_packet(_request(arguments, host, opened, store if isinstance(store, str) else None), opened, memory=memory, unit=unit)
    return _tell(packet, as_json=arguments.json)


def _tell(packet: Packet, *, as_json: bool) -> int:
    print(json.dumps(packet.as_data(), ensure_ascii=False) if as_json else packet.text, end="\n" if as_json else "")
    left_out = [] if as_json else list(_left_out(packet))
    is_empty = not packet.manifest["groups"]
    if is_empty and not left_out:
        left_out = ["nothing that this caller is told matches; a name has to be written as the store writes it"]
    for line in left_out:
        print(f"gmem packet: notice: {one_line(line)}", file=sys.stderr)
    return int(is_empty)


def run_export(arguments: argparse.Namespace) -> int:
    """Export packets, and say where they are."""
    unit = _unit(arguments)
    host, keys = _with_keys(arguments)
    store = rows_asked(arguments, host)
    opened = open_to_ask(store, arguments.database, host, arguments.attestations, reads=READS)
    with opened.connection:
        for notice in opened.notices:
            print(f"gmem packet: notice: {notice}", file=sys.stderr)
        callers = [host.caller(name) for name in dict.fromkeys(arguments.caller or host.callers)]
        name = store if isinstance(store, str) else None
        named = tuple(dict.fromkeys((*arguments.concept, *_lines_of(arguments.concepts))))
        if not callers:
            raise InputError(f"{host.place}: names no callers to export for")
        like = PacketRequest(
            callers[0],
            arguments.as_of,
            concepts=named or every_concept_of(opened, name),
            scope=tuple(arguments.scope),
            known_on=arguments.known_on,
            store=name,
            budget=arguments.budget,
            form=arguments.text_form,
        )
        exported = export_packets(Path(arguments.out), opened, callers, like, keys, every_concept=not named, unit=unit, progress=_progress())
    print(f"{exported.folder}: {exported.count} packets for {len(callers)} callers")
    return 0


def run_get(arguments: argparse.Namespace) -> int:
    """Print a packet of an export; 1 where there is none."""
    packet, refused = exported_packet(Path(arguments.place), arguments.caller, arguments.concept, _with_keys(arguments)[1])
    for line in refused:
        print(f"gmem packet: notice: not read: {one_line(line)}", file=sys.stderr)
    if packet is None:
        print("nothing that may be told was exported of that concept", file=sys.stderr)
        return 1
    return _tell(packet, as_json=arguments.json)


def _with_keys(arguments: argparse.Namespace) -> tuple[Host, Keys]:
    host = read_host(arguments.host)
    if host is None:
        raise InputError("say with --host which file names the callers and, under `keys`, who signs: an export is signed (docs/packets.md)")
    if host.keys is None:
        raise InputError(f"{host.place}: names no `keys`, and an export is signed; see docs/packets.md for how to make one")
    return host, host.keys


def _progress() -> Callable[[int, int], None]:
    """A bar for somebody who watches; nothing where the output goes to a file."""

    def show(done: int, whole: int) -> None:
        filled = 40 * done // whole
        print(f"\r[{'#' * filled}{'.' * (40 - filled)}] {done}/{whole}", end="\n" if done == whole else "", file=sys.stderr, flush=True)

    return show if sys.stderr.isatty() else lambda _, __: None


def _lines_of(place: str | None) -> list[str]:
    return [] if place is None else [line for line in _text_of(place).splitlines() if line.strip()]


def run_explain(arguments: argparse.Namespace) -> int:
    """Print why a packet is as it is."""
    print("\n".join(map(one_line, _explained(read_packet(arguments.file, _text_of(arguments.file))))))
    return 0


def _request(arguments: argparse.Namespace, host: Host | None, opened: Opened, store: str | None) -> PacketRequest:
    return PacketRequest(
        named_caller(opened, host, arguments.caller, "packet"),
        arguments.as_of,
        query=arguments.query,
        concepts=tuple(arguments.concept),
        ids=tuple(arguments.id),
        pins=tuple(arguments.pin),
        scope=tuple(arguments.scope),
        known_on=arguments.known_on,
        store=store,
        session_id=arguments.session,
        is_global=arguments.is_global,
        budget=arguments.budget,
        form=arguments.text_form,
        most=arguments.most,
        now=instant_of(arguments.now),
    )


def _unit(arguments: argparse.Namespace) -> Unit:
    if (arguments.unit == "tokens") != (arguments.tokenizer is not None):
        raise InputError("--unit tokens goes with --tokenizer FILE, which says how text is cut; --unit chars needs none")
    return tokens_of(arguments.tokenizer) if arguments.tokenizer else CHARACTERS


def _memory(arguments: argparse.Namespace, host: Host | None) -> MemoryStore | None:
    place = memory_place(arguments.memory)
    if place is None:
        if arguments.session or arguments.is_global or arguments.now:
            raise InputError("--session, --global and --now are of cells; say with --memory where they are")
        return None
    if not Path(place, "log").is_dir():
        raise InputError(f"--memory: {place!r} holds no memory (no folder `log`); write cells there first with `gmem memory write`")
    return MemoryStore(place, keys=host.keys if host else None)


def _left_out(packet: Packet) -> Iterator[str]:
    for one in packet.manifest["exclusions"]:
        yield f"left out: {_what(one)}: {one['reason']}"


def _explained(packet: Packet) -> Iterator[str]:
    manifest = packet.manifest
    inputs, used = manifest["inputs"], manifest["used"]
    yield f"packet {packet.packet_id}"
    yield f"  for {manifest['caller']['name']} ({manifest['caller']['boundary']}), as of {inputs['as_of']}"
    yield f"  {used} {inputs['unit']}" + (f" of {inputs['budget']}" if "budget" in inputs else "")
    yield f"  searched: {', '.join(manifest['coverage']['searched'])}" + ("; memory" if manifest["coverage"]["memory"] else "")
    yield f"  nothing in it is known to change before {manifest['stable_until']}" if manifest["stable_until"] else "  nothing says until when it holds"
    for group in manifest["groups"]:
        parts = " + ".join(f"{name} {float(part):.3f}" for name, part in group["parts"].items() if float(part))
        yield f"in: {_what(group)}: {group['standing']}, {group['size']} {inputs['unit']}, score {float(group['score']):.3f}" + (f" ({parts})" if parts else "")
        if group["reasons"]:
            yield f"    reasons: {', '.join(group['reasons'])}"
    yield from _left_out(packet)


def _what(told: Mapping[str, Any]) -> str:
    if "count" in told:
        return f"{told['count']} group(s)"
    if "members" not in told:
        return str(told["concept"])
    names = ", ".join(member["id"] for member in told["members"])
    concepts = ", ".join(dict.fromkeys(member["concept"] for member in told["members"] if member["concept"] is not None))
    return f"{concepts} [{names}]" if concepts else f"[{names}]"


def _text_of(place: str) -> str:
    try:
        return sys.stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
