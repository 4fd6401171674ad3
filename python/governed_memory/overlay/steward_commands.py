"""`gmem steward`: changes of the registers, each one entry appended to a file that dbt reads (rule L7). Nothing is edited.

An entry says everything of its key, since the latest one that has begun counts as a whole; only the owners of a concept keep all their entries.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from governed_memory import warehouse
from governed_memory.dates import day
from governed_memory.errors import InputError, message, one_line
from governed_memory.warehouse import register_file
from governed_memory.warehouse.connection import built_path, is_file
from governed_memory.warehouse.register_file import CRITERIA, expect_known, said_by

# What each register calls a line by, for its history.
KEYS = {
    "concept_ownerships": "concept_id",
    "policies": "policy_id",
    "question_classes": "question_class_id",
    "expected_concepts": "concept_id",
    "parties": "party_id",
}
# Registers that know every name or none: what a name that is missing from one with entries breaks, and what it names.
COMPLETE = {"parties": ("party_unknown", "party"), "question_classes": ("question_class_unknown", "question class")}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `steward` to the root parser."""
    parser = commands.add_parser("steward", help="change a register by appending to it: transfer, policy, question-class, expect, party, history")
    ways = parser.add_subparsers(dest="way", required=True, metavar="WHAT")
    transfer = _add(ways, "transfer", "concept_ownerships", "a concept has another owner from a day on", _transfer)
    transfer.add_argument("--concept", required=True, metavar="CONCEPT", help="the concept")
    whom = transfer.add_mutually_exclusive_group(required=True)
    whom.add_argument("--to", metavar="PARTY", help="its owner from then on")
    whom.add_argument("--to-nobody", action="store_true", help="from then on nobody owns it")
    transfer.add_argument("--store", metavar="NAME", help="in this store only; in all if left out")
    policy = _add(ways, "policy", "policies", "how rivals are decided from a day on", _policy)
    policy.add_argument("--policy", required=True, metavar="NAME", help="the policy, as stores name it")
    policy.add_argument("--criterion", action="append", default=[], choices=CRITERIA, help="what is compared; again for what counts where that ties")
    policy.add_argument("--text", metavar="TEXT", help="the policy in words")
    question_class = _add(ways, "question-class", "question_classes", "a class of questions", _question_class)
    question_class.add_argument("--class", dest="name", required=True, metavar="CLASS", help="its name, as records write it")
    question_class.add_argument("--description", metavar="TEXT", help="what its questions are about")
    expect = _add(ways, "expect", "expected_concepts", "a concept that a store is meant to hold", _expect)
    expect.add_argument("--concept", required=True, metavar="CONCEPT", help="the concept")
    expect.add_argument("--store", metavar="NAME", help="of this store; of all if left out, which is an entry of its own")
    party = _add(ways, "party", "parties", "a party that owns concepts or reads records", _party)
    party.add_argument("--party", required=True, metavar="PARTY", help="the name that records write")
    party.add_argument("--name", metavar="TEXT", help="the name to show")
    party.add_argument("--role", metavar="TEXT", help="the role there that answers for its concepts")
    party.add_argument("--boundary", choices=("inside", "outside"), help="inside or outside the organisation")
    for way in (policy, question_class, expect, party):
        way.add_argument("--no-longer", action="store_true", help="from that day on it is in the register no more")
    told = ways.add_parser("history", help="every entry that was appended, with who made it and why")
    told.add_argument("--register", choices=tuple(KEYS), help="only of this register")
    told.add_argument("--of", metavar="NAME", help="only about this concept, policy, class or party")
    told.add_argument("--file", metavar="FILE", help="the entries of this file, with --register")
    told.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    told.add_argument("--json", action="store_true", help="one object per entry")
    told.set_defaults(run=run_history)


def _add(ways: Any, name: str, register_id: str, text: str, said: Callable[[argparse.Namespace], dict[str, Any]]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = ways.add_parser(name, help=text)
    parser.add_argument("--from", dest="start", metavar="DATE", help="the first day on which it holds (default: today, in UTC)")
    parser.add_argument("--by", required=True, metavar="WHO", help="who says so")
    parser.add_argument("--because", required=True, metavar="WHY", help="why")
    parser.add_argument("--file", metavar="FILE", help=f"the .jsonl file to append to (default: the one attached as register {register_id})")
    parser.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    parser.set_defaults(run=run_change, register_id=register_id, said=said)
    return parser


def run_change(arguments: argparse.Namespace) -> int:
    """Append one entry and say which."""
    start = day("--from", arguments.start) if arguments.start is not None else datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    who = said_by(arguments.by, arguments.because, needs_reason=True)
    said = arguments.said(arguments)
    for name, value in said.items():
        if isinstance(value, str) and not value.strip():
            raise InputError(f"{name}: is blank; write what it is, or leave it out")
    path = register_file.register_file(arguments.register_id, arguments.file, arguments.database)
    for warning in _unknown(arguments.register_id, said, arguments.database):
        print(f"gmem steward: warning: {message(warning)}", file=sys.stderr)
    ended = {"has_ended": True} if getattr(arguments, "no_longer", False) else {}
    entry = {**said, **ended, "valid_from": start, "recorded_at": register_file.now(), "recorded_by": who["by"], "because": who["because"]}
    # A register may begin later than its first entry is written: what is there must read as entries.
    entries = register_file.read_entries(path)
    _expect_of(arguments.register_id, path, entries)
    if ended and not _holds(arguments.register_id, said, entries, arguments.database):
        print(f"gmem steward: warning: {message(_nothing_to_end(arguments.register_id, said, entries, arguments.database))}", file=sys.stderr)
    register_file.append_entry(path, [entry])
    print(one_line(f"{path}: {_line(arguments.register_id, entry)}"))
    if not entries and arguments.register_id in COMPLETE and not _is_filled(arguments.register_id, arguments.database):
        rule, what = COMPLETE[arguments.register_id]
        print(
            f"gmem steward: notice: this is the first entry of the register {arguments.register_id}: once it holds any, every {what} that a record names "
            f"and the register does not is a finding ({rule}); enter the others too before the next build, or attach them as its `base`",
            file=sys.stderr,
        )
    print("gmem steward: notice: what is built shows it from the next `dbt build` on", file=sys.stderr)
    return 0


def _subject(register_id: str, said: Mapping[str, Any]) -> tuple[Any, ...]:
    """What an entry is about: an expectation of all stores and one of a single store are two."""
    return (said.get(KEYS[register_id]), said.get("store_id") if register_id == "expected_concepts" else None)


def _holds(register_id: str, said: Mapping[str, Any], entries: list[register_file.Entry], database: str | None) -> bool:
    """Whether the register holds what the entry is about: in its file, or as the last build read it."""
    held = {_subject(register_id, entry.said) for entry in entries}
    if is_file(built_path(database)):
        with warehouse.open_built(database) as connection:
            held |= {_subject(register_id, row) for row in warehouse.rows(connection, f"select * from {register_id}")}
    return _subject(register_id, said) in held


def _nothing_to_end(register_id: str, said: Mapping[str, Any], entries: list[register_file.Entry], database: str | None) -> str:
    """That the entry ends nothing, and for an expected concept which of the two expectations there is."""
    told = f"the register {register_id} holds no {said[KEYS[register_id]]!r}" + (f" of store {said['store_id']!r}" if said.get("store_id") else "")
    is_of_all = said.get("store_id") is not None and _holds(register_id, {**said, "store_id": None}, entries, database)
    hint = "; it is expected of every store: leave out --store to take it off the list of all of them" if is_of_all else ""
    return f"{told}, so nothing ends{hint}"


def _is_filled(register_id: str, database: str | None) -> bool:
    """Whether the register held anything when the project was built, for example its base."""
    if not is_file(built_path(database)):
        return False
    with warehouse.open_built(database) as connection:
        return bool(warehouse.rows(connection, f"select 1 from {register_id} limit 1"))


def _expect_of(register_id: str, path: Path, entries: list[register_file.Entry]) -> None:
    """InputError where an entry lacks the key of its register, or has that of another one: the file is another register's."""
    key = KEYS[register_id]
    foreign = {*KEYS.values(), "item_id", "record_id"} - {*warehouse.columns(f"stg_{register_id}"), key}
    for entry in entries:
        others = sorted(foreign & entry.said.keys())
        if others or key not in entry.said:
            what = f"has the key {others[0]!r}" if others else f"has no key {key!r}"
            raise InputError(f"{path}, entry {entry.number}: {what}, so it is no entry of {register_id}; name the file of that register")


def _transfer(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.start is None:
        raise InputError("--from: who owned a concept when decides who may change it; say the first day of the new owner")
    return {"store_id": arguments.store, "concept_id": arguments.concept, "party_id": arguments.to}


def _policy(arguments: argparse.Namespace) -> dict[str, Any]:
    _expect_whole(arguments, {"--criterion": arguments.criterion})
    for place, criterion in enumerate(arguments.criterion):
        if criterion in arguments.criterion[:place]:
            raise InputError(f"--criterion: {criterion} is given twice; where it ties once it ties again, so give each once")
        if "abstain" in arguments.criterion[:place]:
            raise InputError(f"--criterion: {criterion} comes after abstain, which ends the comparison; give it before, or leave it out")
    return {"policy_id": arguments.policy, "policy_text": arguments.text, "criteria": arguments.criterion}


def _question_class(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"question_class_id": arguments.name, "description": arguments.description}


def _expect(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"store_id": arguments.store, "concept_id": arguments.concept}


def _party(arguments: argparse.Namespace) -> dict[str, Any]:
    _expect_whole(arguments, {"--boundary": arguments.boundary})
    return {"party_id": arguments.party, "name": arguments.name, "owner_role": arguments.role, "boundary": arguments.boundary}


def _expect_whole(arguments: argparse.Namespace, needed: dict[str, Any]) -> None:
    """InputError where an entry would leave out what the register cannot do without: the entry before it says nothing for it."""
    lacking = [name for name, value in needed.items() if not value]
    if lacking and not arguments.no_longer:
        raise InputError(f"{lacking[0]}: an entry says everything of what it is about, since the latest one counts as a whole; give it, or say --no-longer")


def _unknown(register_id: str, said: dict[str, Any], database: str | None) -> list[str]:
    """What the registers of the last build do not know; a warning, since an entry may have been appended since."""
    if not is_file(built_path(database)):
        return []
    known = {"store_id": "stores"} | ({"party_id": "parties", "concept_id": "concepts"} if register_id == "concept_ownerships" else {})
    with warehouse.open_built(database) as connection:
        names = {key: [row[key] for row in warehouse.rows(connection, f"select {key} from {table} order by 1")] for key, table in known.items()}
    return [warning for key in known if said.get(key) and (warning := expect_known(said[key], names[key], key.removesuffix("_id")))]


def run_history(arguments: argparse.Namespace) -> int:
    """Print every entry, in the order in which they were recorded."""
    if arguments.file and not arguments.register:
        raise InputError("--file: say which register the file holds with --register")
    found = [
        (name, entry.said)
        for name, path in _files(arguments).items()
        for entry in _entries(name, path)
        if arguments.of is None or entry.said.get(KEYS[name]) == arguments.of
    ]
    found.sort(key=lambda pair: str(pair[1].get("recorded_at") or ""))
    if arguments.json:
        print(json.dumps([{"register": name, **entry} for name, entry in found], ensure_ascii=False, indent=1, default=str))
        return 0
    for name, entry in found:
        print(one_line(_line(name, entry)))
    print(f"{len(found)} {'entry' if len(found) == 1 else 'entries'}")
    return 0


def _files(arguments: argparse.Namespace) -> dict[str, Path]:
    """{register: its file}, of those asked for; each is there.

    Raises:
        InputError: none is attached, or one is not found.
    """
    if arguments.file:
        return {arguments.register: register_file.existing_file(arguments.file)}
    if arguments.register:
        return {arguments.register: register_file.register_file(arguments.register, None, arguments.database)}
    files = {name: path for name, path in register_file.register_files(arguments.database).items() if name in KEYS}
    if not files:
        raise InputError(
            f"the project built in {built_path(arguments.database)} attaches no register that entries are appended to; attach one as "
            "`registers: NAME: {appended: [SOURCE, TABLE]}` (docs/stewards.md), or name a file with --register and --file"
        )
    return {name: register_file.attached_file(name, path) for name, path in files.items()}


def _entries(register_id: str, path: Path) -> list[register_file.Entry]:
    entries = register_file.read_entries(path)
    _expect_of(register_id, path, entries)
    return entries


def _line(register_id: str, entry: dict[str, Any]) -> str:
    told = {name: value for name, value in entry.items() if name not in ("valid_from", "recorded_at", "recorded_by", "because", "has_ended", KEYS[register_id])}
    what = ", ".join(f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in told.items() if value not in (None, []))
    if register_id == "concept_ownerships" and not entry.get("party_id"):
        what = f"{what}, owned by nobody".lstrip(", ")
    ended = "no longer; " if entry.get("has_ended") else ""
    said = f"from {entry.get('valid_from') or 'always'}: {ended}{what or '-'}"
    return f"{register_id} {entry.get(KEYS[register_id])} {said} (recorded {entry.get('recorded_at')} by {entry.get('recorded_by')}: {entry.get('because')})"
