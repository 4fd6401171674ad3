"""Signing the heads of a log that began without keys."""

from __future__ import annotations

import os
from pathlib import Path

from governed_memory.errors import BusyError, InputError
from governed_memory.host.keys import Keys
from governed_memory.log.folders import lock_folder
from governed_memory.log.heads import put_head, read_head, read_heads, signed
from governed_memory.log.layout import DAMAGED, heads_folder, os_errors
from governed_memory.log.verification import verify


def sign_heads(log: Path, keys: Keys, heads: Path | None = None) -> list[str]:
    """Sign the heads that nobody signed, once the log agrees with them; which writers' they were. A head with another signature is left as it is.

    A writer with keys refuses an unsigned head, since somebody may have put it there: signing it is the host's decision.

    Raises:
        InputError: the log does not verify; nothing is signed then.
        BusyError: a writer whose head is unsigned is at work; those before it are signed.
    """
    found = verify(log, heads)
    if found.problems:
        raise InputError(f"{found.problems[0]}; no head was signed, {DAMAGED}")
    done = []
    for writer in read_heads(log, heads):
        with os_errors(log / writer, "the head was not signed"):
            locked = lock_folder(log / writer)
        if locked is None:
            raise BusyError(f"{log}: another process writes as {writer!r}; sign its head when that has ended")
        try:
            head = read_head(heads_folder(log, heads), writer)
            if head and head.key_id is None:
                if head.head != found.heads.get(writer):
                    raise BusyError(f"{log}: {writer!r} was written to while its rows were checked; sign its head again")
                with os_errors(log / writer, "the head was not signed"):
                    put_head(heads_folder(log, heads), signed(head.head, keys))
                done.append(writer)
        finally:
            os.close(locked)
    return done
