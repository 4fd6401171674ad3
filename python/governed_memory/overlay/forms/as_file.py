"""A store of any form where a command takes a store file: read by its form, and held as JSON Lines while the command runs."""

from __future__ import annotations

import argparse
import atexit
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from governed_memory.errors import InputError, message
from governed_memory.overlay.forms.json_file import lines, write_text
from governed_memory.overlay.forms.registry import FORMS, form
from governed_memory.warehouse import StoreFile

# Notices that are printed.
SHOWN = 20


def add_form(parser: argparse.ArgumentParser) -> None:
    """Add --form."""
    parser.add_argument("--form", metavar="FORM", help=f"for a file or folder: the form it has, of {', '.join(FORMS)} (default: one record a row)")


def of_form(store: StoreFile, arguments: argparse.Namespace) -> StoreFile:
    """The store file to read for the one that is named, which may have another form.

    Args:
        store: the file or folder that is named.
        arguments: `form` is its form, if one is named; `command` stands before notices, which go to standard error.

    Raises:
        InputError: there is no such form, or the file cannot be read as one.
    """
    if arguments.form is None:
        return store
    read = form(arguments.form).read(Path(store.path))
    print_notices(arguments.command, read.notices)
    # Nobody else may look into the folder, and it goes when the command ends.
    folder = Path(tempfile.mkdtemp(prefix="gmem-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "store.jsonl"
    write_text(file, lines(read.records))
    return replace(store, path=str(file), name=store.store_id, policy_id=store.policy_id or read.conflict_policy)


def refuse_form(arguments: argparse.Namespace) -> None:
    """InputError where --form is given for an attached store."""
    if arguments.form is not None:
        raise InputError("--form is for a file or folder; which form an attached store has is said in the project's `vars: stores:`")


def print_notices(command: str, notices: list[str]) -> None:
    """The first notices, one line each, and how many more there are."""
    more = len(notices) - SHOWN
    for notice in [*notices[:SHOWN], *([f"and {more} more"] if more > 0 else [])]:
        print(f"gmem {command}: notice: {message(notice)}", file=sys.stderr)
