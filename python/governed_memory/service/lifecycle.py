"""The life of a server: starting, ready, draining, stopped (rule M13). It only goes forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

State = Literal["starting", "ready", "draining", "stopped"]
STATES: tuple[State, ...] = ("starting", "ready", "draining", "stopped")


class Lifecycle:
    """Where a server stands, and how many requests it is at work on. Used by one thread, that of the event loop."""

    def __init__(self, changed: Callable[[State], None] = lambda _: None) -> None:
        """Begin at starting; `changed` is told of every state, this one too."""
        self._changed = changed
        self.in_flight = 0
        self.state: State = "starting"
        changed("starting")

    def enter(self, state: State) -> bool:
        """Go on to a state; False where the server is there or beyond it."""
        if STATES.index(state) <= STATES.index(self.state):
            return False
        self.state = state
        self._changed(state)
        return True

    @property
    def takes_work(self) -> bool:
        """Whether a new request is begun."""
        return self.state == "ready"
