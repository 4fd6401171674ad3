"""The store that the options of a read name."""

from __future__ import annotations

import argparse
from dataclasses import replace

from governed_memory.errors import InputError
from governed_memory.file_options import add_reading, reading
from governed_memory.host.configuration import Host, expect_policy
from governed_memory.overlay.forms.as_file import add_form, held_as_rows, of_form, refuse_form
from governed_memory.warehouse import StoreFile, named_store


def store_named(arguments: argparse.Namespace) -> StoreFile | str | None:
    """A file, of whatever form --form says; the name of an attached store; or None where all of them are read.

    Raises:
        InputError: an option is given that does not go with it, or the file cannot be read as its form.
    """
    store = None if arguments.store is None else named_store(arguments.store, arguments.map, reading(arguments))
    if isinstance(store, StoreFile):
        return of_form(store, arguments)
    refuse_form(arguments)
    return store


def add_asked(parser: argparse.ArgumentParser) -> None:
    """Add the options of a governed read that name a store and say how a file of it reads, besides --host."""
    parser.add_argument("--store", metavar="NAME_OR_FILE", help="an attached store or a file; every attached store if left out")
    parser.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="for a file: your columns where they differ from the roles")
    add_reading(parser)
    add_form(parser)
    parser.add_argument("--policy", metavar="NAME", help="for a file: its conflict policy, of the host file or a criterion (default: the host file's)")
    parser.add_argument("--name", metavar="NAME", help="for a file: what the store is called where it was signed (default: the file's name without its ending)")
    parser.add_argument("--attestations", metavar="FILE", help="for a file: what its host signed of it (default: the .attestations beside it, if there)")
    parser.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")


def store_asked(arguments: argparse.Namespace, host: Host | None) -> StoreFile | str | None:
    """What the options of `add_asked` name, a file as it lies there: `rows_asked` reads it by its form.

    Raises:
        InputError: an option is given that does not go with it.
    """
    store = None if arguments.store is None else named_store(arguments.store, arguments.map, reading(arguments))
    if isinstance(store, StoreFile):
        return replace(store, policy_id=_policy(arguments.policy, host), name=arguments.name)
    refuse_form(arguments)
    if arguments.name:
        raise InputError(f"--name: {arguments.store or 'every attached store'!r} has its name already; --name is for a store file")
    if arguments.policy:
        raise InputError("--policy is for a store file; an attached store has the policy that its project states")
    if arguments.attestations:
        raise InputError("--attestations is for a store file; what an attached store's are worth was found out before the build (docs/attestations.md)")
    return store


def rows_asked(arguments: argparse.Namespace, host: Host | None) -> StoreFile | str | None:
    """The store to ask: as `store_asked` has it, and a file of another form as a file of rows until the process ends.

    Raises:
        InputError: an option is given that does not go with it, or the file cannot be read as its form.
    """
    store = store_asked(arguments, host)
    return held_as_rows(store, arguments.form, arguments.command)[0] if isinstance(store, StoreFile) and arguments.form else store


def _policy(policy: str | None, host: Host | None) -> str | None:
    if policy is None:
        return host.policy if host else None
    named = {row["policy_id"] for row in host.registers.get("stg_policy_criteria", [])} if host else set()
    expect_policy("--policy", policy, dict.fromkeys(named))
    return policy
