"""Which module reads and writes which form (rule F1). A form is loaded when it is asked for, since some need libraries that others do not."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from governed_memory.errors import InputError, did_you_mean
from governed_memory.overlay.forms.store import FormStore

_HERE = "governed_memory.overlay.forms."
FORMS = {name: _HERE + name for name in ("bitemporal_graph", "vector_memory", "catalogue", "documents", "relational", "dimension")}


class Form(Protocol):
    """What the module of a form offers."""

    def read(self, path: Path) -> FormStore:
        """The store that a file, or for some forms a folder, holds."""

    def write(self, store: FormStore, path: Path) -> None:
        """Write the store, so that `read` gives the same records."""


def form(name: str) -> Form:
    """The form of that name.

    Raises:
        InputError: there is no such form, or a library that it needs is not installed.
    """
    if name not in FORMS:
        raise InputError(f"{name!r} is no form; {did_you_mean(name, FORMS) or 'expected one of ' + ', '.join(FORMS)}")
    try:
        return cast(Form, import_module(FORMS[name]))
    except ModuleNotFoundError as error:
        raise InputError(f"the form {name!r} needs {error.name!r}, which is not installed") from error
