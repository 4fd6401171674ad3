"""A store of any form where a command takes a store file: read by its form, and held as JSON Lines while the command runs."""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
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


def of_form(store: StoreFile, arguments: argparse.Namespace, at_end: Callable[..., object] = atexit.register) -> StoreFile:
    """The store file to read for the one that is named, which may have another form.

    Args:
        store: the file or folder that is named.
        arguments: `form` is its form, if one is named; `command` stands before notices, which go to standard error.
        at_end: takes what to call, with its arguments, when the store is no longer read; the end of the process unless said otherwise.

    Raises:
        InputError: there is no such form, or the file cannot be read as one.
    """
    if arguments.form is None:
        return store
    held, policy = held_as_rows(store, arguments.form, arguments.command, at_end)
    return replace(held, policy_id=store.policy_id or policy)


def held_as_rows(store: StoreFile, form_name: str, command: str, at_end: Callable[..., object] = atexit.register) -> tuple[StoreFile, str | None]:
    """The store of that form as a file of rows, under the name that it has; and the policy that it states itself.

    Args:
        store: the file or folder that is named.
        form_name: its form.
        command: stands before notices, which go to standard error.
        at_end: as `of_form` has it.

    Raises:
        InputError: there is no such form, or the file cannot be read as one.
    """
    read = form(form_name).read(Path(store.path))
    print_notices(command, read.notices)
    file = _hold(lines(read.records), at_end)
    return replace(store, path=str(file), name=store.store_id), read.conflict_policy


def _hold(text: str, at_end: Callable[..., object]) -> Path:
    """A path at which this process, and nobody else, reads the text."""
    folder = Path(tempfile.mkdtemp(prefix="gmem-"))
    at_end(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "store.jsonl"
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    at_end(os.close, handle)
    opened = Path(f"/proc/self/fd/{handle}")
    if opened.exists():
        # What not everybody may see is in a file without a name, which is gone with this process however that ends. The link says the format.
        file.unlink()
        file.symlink_to(opened)
    write_text(file, text)
    return file


def refuse_form(arguments: argparse.Namespace) -> None:
    """InputError where --form is given for an attached store."""
    if arguments.form is not None:
        raise InputError("--form is for a file or folder; which form an attached store has is said in the project's `vars: stores:`")


def print_notices(command: str, notices: list[str]) -> None:
    """The first notices, one line each, and how many more there are."""
    more = len(notices) - SHOWN
    for notice in [*notices[:SHOWN], *([f"and {more} more"] if more > 0 else [])]:
        print(f"gmem {command}: notice: {message(notice)}", file=sys.stderr)
