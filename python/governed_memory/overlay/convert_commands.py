"""`gmem convert`: a store in one form, written in another (rule F1)."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from governed_memory.errors import InputError, one_line, shown
from governed_memory.overlay.forms.as_file import print_notices
from governed_memory.overlay.forms.days import as_days
from governed_memory.overlay.forms.registry import FORMS, form
from governed_memory.overlay.forms.same import expect_same
from governed_memory.overlay.forms.store import FormStore, record_named
from governed_memory.warehouse.store_file import StoreFile, parse_mapping

# A graph has moments where a record has days.
TIMED = ("bitemporal_graph",)


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the root parser."""
    parser = commands.add_parser("convert", help="a store in one form, written in another, with nothing that could be read lost")
    parser.add_argument("store", metavar="IN", help="a file, or a folder for the forms that are one")
    parser.add_argument("--from", dest="source", required=True, metavar="FORM", help="the form it has: " + ", ".join(FORMS))
    parser.add_argument("--to", dest="target", required=True, metavar="FORM", help="the form to write")
    parser.add_argument("--out", required=True, metavar="PATH", help="where to write; its ending says which of the form's formats")
    parser.add_argument("--force", action="store_true", help="replace a file that is there; a folder, a link or a device is never replaced")
    parser.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="keys of the records where they differ from the roles")
    parser.add_argument("--ends", choices=("inclusive", "exclusive"), help="an end is the last day that holds (default), or the first moment after")
    parser.add_argument("--zone", metavar="ZONE", help="the time zone in which timestamps become dates (default UTC)")
    parser.add_argument("--allow-unread", action="store_true", help="write what can be read although statements of the store cannot, and end with 1")
    parser.add_argument("--json", action="store_true", help="the summary as JSON")
    parser.set_defaults(run=run_convert)


def run_convert(arguments: argparse.Namespace) -> int:
    """Exit 0 when it is written, whole; 1 without what cannot be read, if asked; 2 when it cannot be read or written, and then nothing is."""
    path, out = Path(arguments.store), Path(arguments.out)
    source, target = form(arguments.source), form(arguments.target)
    _expect_free(out, path, force=arguments.force)
    store = _mapped(source.read(path), parse_mapping(arguments.map))
    if store.unread and not arguments.allow_unread:
        print_notices("convert", store.notices)
        raise InputError(f"{path}: cannot be read in {_places(store)}; mend what the notices name, or write the rest with --allow-unread. Nothing is written")
    if arguments.source in TIMED or arguments.zone or arguments.ends == "exclusive":
        store = as_days(store, zone=arguments.zone or "UTC", is_valid_to_exclusive=arguments.ends == "exclusive")
    with _in_place(out, force=arguments.force) as part:
        target.write(store, part)
        _expect_kept(store, target.read(part), part)
    notices = [notice.replace(str(part), str(out)) for notice in store.notices]
    print_notices("convert", notices)
    summary = {
        "records": len(store.records),
        "unread": len(store.unread),
        "conflict_policy": store.conflict_policy is not None,
        "expected_concepts": len(store.expected_concepts),
    }
    if arguments.json:
        print(json.dumps({"from": arguments.source, "to": arguments.target, "out": str(out), **summary, "notices": notices}, ensure_ascii=False))
    else:
        policy = ", the conflict policy" if store.conflict_policy is not None else ""
        expected = f", {len(store.expected_concepts)} expected concepts" if store.expected_concepts else ""
        unread = f"; {_places(store)} could not be read and {'is' if len(store.unread) == 1 else 'are'} left out" if store.unread else ""
        print(one_line(f"{out}: {len(store.records)} record{'' if len(store.records) == 1 else 's'}{policy}{expected}{unread}"))
    return 1 if store.unread else 0


def _places(store: FormStore) -> str:
    return "1 place" if len(store.unread) == 1 else f"{len(store.unread)} places"


def _mapped(store: FormStore, mapping: dict[str, str]) -> FormStore:
    if not mapping:
        return store
    roles: dict[str, str] = {}
    for role, column in mapping.items():
        if column in roles:
            raise InputError(f"--map: {column!r} is given for {roles[column]} and for {role}; a key can have one role")
        roles[column] = role
    for column, role in roles.items():
        if not any(column in record for record in store.records):
            raise InputError(f"--map: no record has the key {column!r}, given for {role}")
        if column != role and (clash := next((each for each in enumerate(store.records, 1) if column in each[1] and role in each[1]), None)):
            raise InputError(f"--map: {record_named(*clash)}, has both {column!r} and {role!r}; a role is read from one key")
    records = [{roles.get(key, key): value for key, value in record.items()} for record in store.records]
    return FormStore(records, store.conflict_policy, store.expected_concepts, store.notices)


def _expect_kept(store: FormStore, written: FormStore, part: Path) -> None:
    """What was written reads back as what was read; in columns, but for nulls that mean nothing there."""
    if part.suffix.lower() in (".csv", ".parquet"):
        return
    expect_same(store, written, part)


def _expect_free(out: Path, path: Path, *, force: bool) -> None:
    """InputError where writing would replace what nobody named, or change what is read."""
    try:
        _expect_replaceable(out, force=force)
    except NotADirectoryError:
        pass  # said below, of the folder
    except OSError as error:
        raise InputError(f"--out: {shown(out.name)} cannot be written: {error.strerror}") from error
    # Of FILE.duckdb::TABLE the file.
    source = StoreFile(str(path)).file
    if os.path.exists(source):
        if out.exists() and out.samefile(source):
            raise InputError(f"{out}: is what is read; write to another place")
        if source.resolve() in out.absolute().parent.resolve().joinpath(out.name).parents:
            raise InputError(f"{out}: is inside {shown(str(path))}, which is read; write to a place outside of it")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: there is no folder {shown(str(out.parent))}; make it first")


def _expect_replaceable(out: Path, *, force: bool) -> None:
    """InputError where something stands that is not to be replaced: a link, a device, a pipe, a folder that holds something, a file unasked."""
    try:
        mode = out.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise InputError(f"{out}: is a link to {shown(str(out.readlink()))}, and a link is never replaced; name the file that is meant")
    if stat.S_ISDIR(mode):
        if any(out.iterdir()):
            raise InputError(f"{out}: is a folder that holds something; name a new one, a folder is never replaced")
    elif not stat.S_ISREG(mode):
        raise InputError(f"{out}: is no regular file but a device, a pipe or a socket, which is never replaced; name a file")
    elif not force:
        raise InputError(f"{out}: exists; --force replaces it")


@contextmanager
def _in_place(out: Path, *, force: bool) -> Iterator[Path]:
    """Where to write: beside the place, under the same name, and moved there in one step when all is written."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".gmem-", dir=out.absolute().parent))
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from error
    try:
        part = folder / out.name
        try:
            yield part
        except InputError as error:
            raise InputError(str(error).replace(str(part), str(out))) from error
        if not part.is_dir():
            with part.open("rb") as file:
                os.fsync(file.fileno())
        # Again, since something may have come there meanwhile.
        _expect_replaceable(out, force=force)
        part.replace(out)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
