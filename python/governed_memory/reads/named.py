"""The store that the options of a read name."""

from __future__ import annotations

import argparse

from governed_memory.file_options import reading
from governed_memory.overlay.forms.as_file import of_form, refuse_form
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
