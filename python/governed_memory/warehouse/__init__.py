"""The only place that opens a database: SQL in, Arrow or rows out. It carries the compiled models (rule L4)."""

from governed_memory.warehouse.attach import attach, open_store_file
from governed_memory.warehouse.attached_store import attached_store
from governed_memory.warehouse.connection import (
    attach_built,
    built_path,
    expect_attached,
    expect_select,
    frame,
    literal,
    open_built,
    open_memory,
    plain_frame,
    rows,
)
from governed_memory.warehouse.models import build, columns, derivation, fragment, parsed_fragment, rows_as_sql, seed
from governed_memory.warehouse.published import MANIFEST, manifest, writing
from governed_memory.warehouse.raw_records import attached_records, kept_records, raw_records
from governed_memory.warehouse.store_file import ROLES, StoreFile, named_store

__all__ = [
    "MANIFEST", "ROLES", "StoreFile", "attach", "attach_built", "attached_records", "attached_store", "build", "built_path", "columns", "derivation",
    "expect_attached", "expect_select", "fragment", "frame", "kept_records", "literal", "manifest", "named_store", "open_built", "open_memory",
    "open_store_file", "parsed_fragment", "plain_frame", "raw_records", "rows", "rows_as_sql", "seed", "writing",
]  # fmt: skip
