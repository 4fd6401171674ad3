"""`gmem snapshot take | verify | restore | list`: what this project alone holds, sealed and brought back (rule M11). Tools for operators."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from pathlib import Path

from governed_memory.errors import InputError, one_line
from governed_memory.host.configuration import read_host
from governed_memory.host.keys import Keys
from governed_memory.sealed import Manifest, SealError, kept_handovers, taken_generations
from governed_memory.snapshots.opening import verified_snapshot
from governed_memory.snapshots.restoring import restore
from governed_memory.snapshots.taking import Sources, take
from governed_memory.warehouse import built_path


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `snapshot` to the root parser."""
    parser = commands.add_parser("snapshot", help="seal what this project alone holds, verify it, and restore it whole or not at all")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    new = verbs.add_parser("take", help="seal the memory, the kept tables and a hash of each attached store as the next generation")
    new.add_argument("--out", metavar="DIR", required=True, help="the place of the snapshots")
    new.add_argument("--memory", metavar="DIR", help="the folder of the memory (default: GMEM_MEMORY, else none)")
    new.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb where it is there)")
    new.add_argument("--ledger", metavar="FILE", help="the file of the kept tables, where it is another (default: GMEM_LEDGER)")
    new.add_argument("--file", metavar="PATH", action="append", default=[], help="hold this file too, such as a register; may be given again")
    _add_host(new, "whose active key signs")
    new.set_defaults(run=run_take)
    check = verbs.add_parser("verify", help="whether a snapshot is what was sealed, and names nothing that it does not hold; 1 where not")
    check.add_argument("place", metavar="DIR")
    check.add_argument("--generation", type=int, metavar="N", help="only this one (default: all)")
    _add_host(check, "whose keys verify")
    check.set_defaults(run=run_verify)
    back = verbs.add_parser("restore", help="restore a snapshot into a new folder, after every check")
    back.add_argument("place", metavar="DIR")
    back.add_argument("--to", metavar="DIR", required=True, help="the new folder")
    back.add_argument("--generation", type=int, metavar="N", help="which (default: the last that was taken, and never another in its place)")
    back.add_argument("--database", metavar="FILE", help="a database built of the stores as they are now, to say which have changed since")
    _add_host(back, "whose keys verify")
    back.set_defaults(run=run_restore)
    known = verbs.add_parser("list", help="the snapshots of a place, the newest first, with their checks")
    known.add_argument("place", metavar="DIR")
    known.add_argument("--json", action="store_true", help="one JSON object a line")
    _add_host(known, "whose keys verify")
    known.set_defaults(run=run_list)


def _add_host(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--host", metavar="FILE", help=f"the host file, {what} (default: GMEM_HOST)")


def run_take(arguments: argparse.Namespace) -> int:
    """Take a snapshot, and say what is in it."""
    memory = arguments.memory or os.environ.get("GMEM_MEMORY")
    database = built_path(arguments.database)
    is_named = bool(arguments.database or os.environ.get("GMEM_DATABASE"))
    ledger = arguments.ledger or os.environ.get("GMEM_LEDGER")
    sources = Sources(
        Path(memory) if memory else None,
        database if is_named or database.is_file() else None,
        Path(ledger) if ledger else None,
        [Path(file) for file in arguments.file],
    )
    folder, manifest = take(Path(arguments.out), sources, _keys(arguments), _now())
    kept_handovers().give("snapshot", str(manifest.generation), manifest.root, _now())
    for what, is_there, how in (("memory", sources.memory, "--memory"), ("built database", sources.database, "--database")):
        if not is_there:
            print(f"gmem snapshot: notice: without a {what}; name it with {how} if there is one", file=sys.stderr)
    print(f"{folder}: {_told(manifest)}")
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Check generations; 1 where one fails."""
    there = taken_generations(Path(arguments.place))
    if arguments.generation is not None:
        there = {number: folder for number, folder in there.items() if number == arguments.generation}
    if not there:
        raise InputError(f"{arguments.place!r} holds no {'snapshot' if arguments.generation is None else f'generation {arguments.generation}'}")
    problems = 0
    for folder in there.values():
        verdict, problem = _judged(folder, _keys(arguments))
        print(one_line(problem or f"{folder}: whole; {_told(verdict)}" if verdict else str(problem)))
        problems += problem is not None
    return 1 if problems else 0


def run_restore(arguments: argparse.Namespace) -> int:
    """Restore one snapshot, and say what to do with it."""
    database = Path(arguments.database) if arguments.database else None
    done = restore(Path(arguments.place), Path(arguments.to), _keys(arguments), _now(), generation=arguments.generation, database=database)
    print(f"{done.folder}: generation {done.manifest.generation}, root {done.manifest.root}")
    for name, how in (("memory", "GMEM_MEMORY"), ("ledger.duckdb", "GMEM_LEDGER"), ("files", "")):
        if (done.folder / name).exists():
            print(f"  {name}{f': set {how}={done.folder / name}' if how else ''}")
    for store in done.changed_stores or ():
        print(one_line(f"  store {store!r} reads other than when the snapshot was taken"))
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    """List generations; 1 where none is whole."""
    keys, count = _keys(arguments), 0
    for number, folder in taken_generations(Path(arguments.place)).items():
        manifest, problem = _judged(folder, keys)
        count += manifest is not None
        if arguments.json:
            of_it = {"root": manifest.root, "bytes": manifest.byte_count, "facts": dict(manifest.facts)} if manifest else {}
            print(json.dumps({"generation": number, "is_whole": manifest is not None, "problem": problem, **of_it}, ensure_ascii=False))
        else:
            print(one_line(f"{number:>6}  {_told(manifest) if manifest else problem}"))
    return 0 if count else 1


def _judged(folder: Path, keys: Keys) -> tuple[Manifest | None, str | None]:
    try:
        return verified_snapshot(folder, keys), None
    except SealError as error:
        return None, str(error)


def _told(manifest: Manifest) -> str:
    facts = manifest.facts
    held = ["memory"] * (facts["memory"] is not None) + sorted(facts["tables"]) + facts["files"]
    return f"{facts['taken_at']}, {len(manifest.files)} files, {manifest.byte_count} bytes ({', '.join(held)}), root {manifest.root}"


def _keys(arguments: argparse.Namespace) -> Keys:
    host = read_host(arguments.host)
    if host is None or host.keys is None:
        raise InputError("say with --host which file names the keys of this host (docs/snapshots.md)")
    return host.keys


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
