"""The memory of a server: one store in its process, for calls that come at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from governed_memory.log import Witness
from governed_memory.memory import MemoryStore


class SharedMemory:
    """One memory that all calls share, each in its turn: they read the same tables, and a write is done when the next one begins.

    Other processes wait for none of them: this one writes in a slot of its own, and a build or another server only reads what is committed.

    Attributes:
        own_session: the session of whoever names none; None where a connection is no session, as over HTTP.
        is_read_only: whether it is a copy that is not kept, into which nobody may write.
    """

    def __init__(self, store: MemoryStore, own_session: str | None = None, *, is_read_only: bool = False) -> None:
        """Share a store. It stays the caller's to close."""
        self._store, self._one_at_a_time = store, threading.Lock()
        self.own_session, self.is_read_only = own_session, is_read_only

    @property
    def witness(self) -> Witness:
        """Leaves the events of governed reads; its writer takes threads in turn by itself."""
        return self._store.witness

    @contextmanager
    def held(self) -> Iterator[MemoryStore]:
        """The store, for one call alone."""
        with self._one_at_a_time:
            yield self._store
