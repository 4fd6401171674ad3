"""Registers that are only ever added to: JSON Lines files, one entry a line, which dbt reads as `registers: NAME: {appended: ...}`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, did_you_mean
from governed_memory.warehouse.append import locked_path
from governed_memory.warehouse.connection import built_path, is_file, open_built, rows
from governed_memory.warehouse.durable import append_bytes, settled
from governed_memory.warehouse.json_text import dumps, parse

# What a policy may compare, as the column `criterion` of policy_criteria has it.
CRITERIA = ("source_rank", "latest_valid_from", "latest_recorded", "abstain")
# Keys of which each, in an entry of any register, holds a list of texts or null.
LISTS = ("criteria", "fields", "keys")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a register file: its place among the lines that are not blank, counted from 1, and what it says."""

    number: int
    said: dict[str, Any]


def register_file(register_id: str, given: str | None, database: str | None = None) -> Path:
    """The file to which entries of a register go: the one given, else the one that the project attaches.

    Raises:
        InputError: it is no .jsonl file, or none is given and the built database knows none.
    """
    if given is None:
        place = register_files(database).get(register_id)
        if place is None:
            raise InputError(
                f"{register_id}: the project built in {built_path(database)} attaches no file that entries can be appended to; name one with --file, "
                f"and attach it as `registers: {register_id}: {{appended: [SOURCE, TABLE]}}` (docs/stewards.md)"
            )
        return attached_file(register_id, place)
    path = Path(given)
    if path.suffix.lower() != ".jsonl":
        raise InputError(f"{path}: a register that is added to is a JSON Lines file; give it a name that ends in .jsonl")
    if path.exists() and not is_file(path):
        raise InputError(f"{path}: is no file; name a JSON Lines file")
    return path


def register_files(database: str | None = None) -> dict[str, Path]:
    """{register: its file}, of those that the project attaches to be added to, as the last build knew.

    Raises:
        InputError: there is no built database.
    """
    with open_built(database) as connection:
        attached = rows(connection, "select register_id, location from stg_registers where is_appended order by register_id")
    found = {row["register_id"]: re.fullmatch(r"'(.+)'", row["location"]) for row in attached}
    return {name: Path(match[1].replace("''", "'")) for name, match in found.items() if match}


def attached_file(register_id: str, place: Path) -> Path:
    """The file of a register that a project attaches, which must be there: the last build read it.

    Raises:
        InputError: it is not found from here.
    """
    if not is_file(place):
        raise InputError(
            f"{place}: is not here, and the built project attaches it as the register {register_id}; "
            "run this in the folder in which the project was built, or name the file with --file"
        )
    return place


def existing_file(given: str) -> Path:
    """A register's file that is to be read, by the name that was given.

    Raises:
        InputError: there is no such file.
    """
    if not is_file(Path(given)):
        raise InputError(f"{given}: no such file; name the file that holds the entries")
    return Path(given)


def append_entry(path: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    """Append entries, all or none; they are on disk when this returns.

    Raises:
        InputError: the file cannot be written, or another writer holds it for a minute; nothing was appended.
    """
    try:
        path.open("ab").close()
        with locked_path(path.resolve(), path.resolve()):
            append_bytes(path, "".join(dumps(dict(entry)) + "\n" for entry in entries).encode())
    except OSError as error:
        raise InputError(f"{path}: not written: {error.strerror}; nothing was appended") from error


def read_entries(path: Path, columns: Mapping[str, str] | None = None) -> list[Entry]:
    """The entries of a file, in their order; none where there is no file yet.

    Args:
        path: the file.
        columns: keys of which each must hold a text or null.

    Raises:
        InputError: the file cannot be read, or a line is no entry; the message names it.
    """
    if not path.exists():
        return []
    try:
        lines = settled(path).decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = f"byte {error.start + 1} is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise InputError(f"{path}: cannot be read: {why}") from error
    found: list[Entry] = []
    for place, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            said = parse(line, unique_keys=True)
        except ValueError as error:
            raise InputError(f"{path}, line {place}: not JSON ({error}); {_mend(place, len(lines))}") from error
        if not isinstance(said, dict):
            raise InputError(f"{path}, line {place}: no entry; every line must be one JSON object: complete or remove line {place}")
        for key in columns or {}:
            if said.get(key) is not None and not isinstance(said[key], str):
                raise InputError(f"{path}, line {place}: {key} is no text; write it as one")
        for key in LISTS:
            value = said.get(key)
            if value is not None and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
                raise InputError(f"{path}, line {place}: {key} is no list of texts; write it as one")
        found.append(Entry(len(found) + 1, said))
    return found


def _mend(place: int, count: int) -> str:
    """What to do about a line that does not read; the last one, without an end, was cut off."""
    what = "it was cut off, so complete it or remove it" if place == count else "every line must be one entry, so complete it or remove it"
    return f"{what} and run this again"


def now() -> str:
    """This moment, as entries tell it: in UTC, without an offset."""
    return datetime.datetime.now(tz=datetime.UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")


def said_by(by: str | None, because: str | None = None, *, needs_reason: bool = False) -> dict[str, str | None]:
    """Who and why, as every entry says it.

    Raises:
        InputError: nobody, or no reason where one is needed.
    """
    if not (by or "").strip():
        raise InputError("--by: an entry says who made it; give a name")
    if needs_reason and not (because or "").strip():
        raise InputError("--because: an entry says why it was made; give the reason")
    return {"by": by, "because": because}


def expect_known(name: str, known: Sequence[str], what: str) -> str | None:
    """A warning where a register is there and does not know the name."""
    if not known or name in known:
        return None
    return "; ".join(filter(None, [f"{what} {name!r} is not in the register as the last build read it", did_you_mean(name, known)]))
