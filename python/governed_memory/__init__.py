"""Governed memory: records with validity, owners and releases, inside the warehouse that already holds them."""

from governed_memory.errors import GovernedMemoryError, InputError

__all__ = ["GovernedMemoryError", "InputError", "__version__"]
__version__ = "0.1.0"
