"""Governed memory: records with validity, owners and releases, inside the warehouse that already holds them."""

from typing import TYPE_CHECKING

from governed_memory.errors import GovernedMemoryError, InputError

if TYPE_CHECKING:
    from governed_memory.notebook import Stores, open

__all__ = ["GovernedMemoryError", "InputError", "Stores", "__version__", "open"]
__version__ = "0.1.0"

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """`open` and `Stores` load DuckDB, so they are loaded when first named."""
        if name in ("open", "Stores"):
            from governed_memory import notebook

            return getattr(notebook, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
