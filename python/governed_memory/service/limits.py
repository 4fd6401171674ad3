"""What a server takes on: how large a request may be, how long it may take, and how many there may be at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from governed_memory.errors import InputError


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes on.

    Attributes:
        request_bytes: how large a request may be.
        request_seconds: how long a request may take to arrive.
        call_seconds: how long a call may take, with the time it waits for its turn.
        calls: how many calls run at once.
        requests: how many requests may run or wait; more are turned away at once.
        drain_seconds: how long what is under way may take when the server is told to end.
    """

    request_bytes: int = 1 << 20
    request_seconds: float = 10.0
    call_seconds: float = 30.0
    calls: int = 8
    requests: int = 256
    drain_seconds: float = 10.0

    def __post_init__(self) -> None:
        """Refuse what limits nothing, or all.

        Raises:
            InputError: a number is not above 0.
        """
        for name in ("request_bytes", "request_seconds", "call_seconds", "calls", "requests"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise InputError(f"--{name.replace('_', '-')}: {value} is no number above 0")
        if not (self.drain_seconds >= 0 and math.isfinite(self.drain_seconds)):
            raise InputError(f"--drain-seconds: {self.drain_seconds} is no number of 0 or more")
