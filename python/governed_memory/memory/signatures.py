"""Whether the approvals that a log holds are still what their principals signed (rule M7). A build takes it from `is_signed`, which is the word of
whoever wrote the row; with the host's public keys anybody may find out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.host.keys import Keys
from governed_memory.log import Row, rows_since
from governed_memory.memory.approvals import stored_message


def count_approvals(log: Path) -> int:
    """How many approvals, rejections and revocations a log holds.

    Raises:
        InputError: it cannot be read.
    """
    return sum(1 for _ in rows_since(log, None, {}, ["approvals"]))


def unsigned_approvals(log: Path, approvers: Keys | None) -> Iterator[str]:
    """The approvals, rejections and revocations of a log that are not what their principals have signed, one line each; what they say is not told.

    Args:
        log: the folder of the log.
        approvers: the public keys of the host's callers; None where it names none, and then nobody has signed anything.

    Raises:
        InputError: the log or a key cannot be read.
    """
    for row in rows_since(log, None, {}, ["approvals"]):
        told = json.loads(row.event)
        why = _problem(told, approvers) if isinstance(told, dict) else "is no statement"
        if why:
            yield f"{log}: {row.writer}/approvals row {row.seq}: {_named(told, row)} {why}"


def _problem(told: dict[str, Any], approvers: Keys | None) -> str | None:
    principal, signature = told.get("principal"), told.get("signature")
    if not isinstance(principal, str) or approvers is None or principal not in approvers.keys:
        return f"is by {principal!r}, of whom the host file names no public key, so nothing shows that they signed it"
    if not isinstance(signature, str):
        return "has no signature"
    try:
        message = stored_message(told)
    except InputError:
        return "is no statement that could be signed"
    return None if approvers.verify(principal, signature, message) else f"is not what {principal!r} signed"


def _named(told: object, row: Row) -> str:
    name = told.get("approval_id") if isinstance(told, dict) else None
    return repr(name) if isinstance(name, str) else f"number {row.seq}"
