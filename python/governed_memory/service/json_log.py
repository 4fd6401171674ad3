"""What a server does, as JSON Lines. An event has a name of ours and fields of ours, so that nothing a record or a caller says can come into it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

from governed_memory.errors import InputError, message
from governed_memory.log import timestamp, utc_now

# What an event may say besides its name and time.
FIELDS = (
    "tool", "caller", "outcome", "seconds", "reason", "status", "state", "in_flight", "where",
    "job_id", "kind", "attempt", "ended", "code", "why",
)  # fmt: skip
Log = Callable[..., None]


def log_to(place: str | None) -> Log:
    """What takes events: a file that is appended to, standard error for `-`, nothing for None.

    Raises:
        InputError: the file cannot be written.
    """
    if place is None:
        return no_log
    if place == "-":
        return _Lines(sys.stderr)
    try:
        return _Lines(open(place, "a", encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--log: {place!r} cannot be written: {error.strerror}") from error


def no_log(event: str, **fields: Any) -> None:
    """Takes events and does nothing."""


class _Lines:
    def __init__(self, file: TextIO) -> None:
        self._file, self._one_at_a_time = file, threading.Lock()

    def __call__(self, event: str, **fields: Any) -> None:
        told = {"at": timestamp(utc_now()), "event": event, **{name: fields[name] for name in FIELDS if name in fields}}
        if "why" in told:
            told["why"] = message(str(told["why"]))
        line = json.dumps(told, ensure_ascii=False) + "\n"
        try:
            with self._one_at_a_time:
                self._file.write(line)
                self._file.flush()
        except (OSError, ValueError):
            # A full disk or a reader that has gone is no reason to stop serving.
            pass
