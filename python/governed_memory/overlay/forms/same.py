"""What is written must read back as what was meant; else it is not kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.store import FormStore, record_named


def expect_same(meant: FormStore, written: FormStore, path: Path) -> None:
    """InputError naming the first record and key that would be lost; never a value."""
    if len(meant.records) != len(written.records):
        raise InputError(f"{path}: cannot hold this store: {len(meant.records)} records would read back as {len(written.records)}")
    for number, (before, after) in enumerate(zip(meant.records, written.records, strict=True), start=1):
        if before != after:
            key = next(key for key in (*before, *after) if before.get(key, _NONE) != after.get(key, _NONE))
            name = record_named(number, before)
            raise InputError(f"{path}: cannot hold this store: {name}: {shown(key)} would read back as something else; choose another form or ending")
    for what in ("conflict_policy", "expected_concepts"):
        if getattr(meant, what) != getattr(written, what):
            raise InputError(f"{path}: cannot hold this store: {what} would read back as something else; choose another form or ending")


_NONE: Any = object()
