"""The only place that opens a database: SQL in, Arrow or rows out. It carries the compiled models (rule L4)."""

from governed_memory.warehouse.attach import attach, open_store_file
from governed_memory.warehouse.connection import frame, literal, open_built, open_memory, rows
from governed_memory.warehouse.models import build, columns, seed
from governed_memory.warehouse.raw_records import raw_records
from governed_memory.warehouse.store_file import ROLES, StoreFile

__all__ = [
    "ROLES", "StoreFile", "attach", "build", "columns", "frame", "literal", "open_built", "open_memory", "open_store_file", "raw_records", "rows", "seed",
]  # fmt: skip
