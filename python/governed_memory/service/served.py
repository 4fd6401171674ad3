"""The stores a server answers from, opened to read, for calls that come at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from governed_memory.host.configuration import Host
from governed_memory.log import utc_now
from governed_memory.overlay.forms.as_file import held_as_rows
from governed_memory.packets.search import READS as SEARCHED
from governed_memory.reads.ask import Opened, open_to_ask
from governed_memory.reads.publish import STEP, file_root
from governed_memory.reads.released import READS
from governed_memory.sealed import kept_handovers
from governed_memory.service.shared_memory import SharedMemory
from governed_memory.warehouse import StoreFile, built_path, manifest
from governed_memory.warehouse.connection import is_file, session_of

if TYPE_CHECKING:
    from governed_memory.service.job_tools import Jobs


@dataclass
class Served:
    """What is served, and how to open it.

    Attributes:
        store: a file, the name of an attached store, or None for every attached store.
        database: the built database; by default the one GMEM_DATABASE names.
        host: the host's configuration.
        memory: what its callers remember; None where it serves records only.
        jobs: the work that its callers may ask for; None where there is none.
        form: the form of the file, where it is not one record a row.
        attestations: for a file: what its host signed of it, where that is not beside it.
    """

    store: StoreFile | str | None
    database: str | None
    host: Host
    memory: SharedMemory | None = None
    form: str | None = None
    attestations: str | None = None
    jobs: Jobs | None = None
    _file: Opened | None = None
    _signature: tuple[tuple[str, int, int], ...] = ()
    _taken: tuple[int, int, int] | None = None
    _published: Opened | None = None
    _generation: tuple[int, int, int] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """The stores for one call, in a connection that no other call uses.

        The built database is held only for the call, so that a build need not wait for the server to end. A file is read once, and again
        where it has changed since: an answer never comes from what is no longer there.

        Raises:
            InputError: it cannot be read, a build is writing it, or it is not the published file that was handed over.
        """
        if isinstance(self.store, StoreFile):
            whole = self._file_for_one_call(self.store)
            with whole.connection:
                # It is a session of its own and starts with the settings of the machine.
                whole.connection.execute("set TimeZone = 'UTC'")
                yield whole
        else:
            self._take_over()
            found = self._published_for_one_call() or open_to_ask(self.store, self.database, self.host)
            # One attached store is asked as if there were no other.
            names = found.stores if self.store is None else (self.store,)
            with found.connection:
                yield replace(found, stores=names)

    def _take_over(self) -> None:
        """Take a published file over from whoever published it, once for each (rule M11)."""
        handovers, path = kept_handovers(), built_path(self.database)
        if not handovers.are_kept or not is_file(path):
            return
        with self._lock:
            taken = _generation(path)
            if taken == self._taken:
                return
            held = manifest(path)
            if held is not None:
                handovers.take(STEP, held["generation_id"], file_root(path), utc_now())
            self._taken = taken

    def _published_for_one_call(self) -> Opened | None:
        """A published file, which is never written to and so stays open until another takes its place; None where the database is another's to write."""
        path = built_path(self.database)
        if not is_file(path):
            return None
        with self._lock:
            if self._generation != (state := _generation(path)):
                self._published, self._generation = None, state
                if manifest(path) is not None:
                    self._published = open_to_ask(self.store, self.database, self.host)
                if _generation(path) != state:
                    # It was replaced meanwhile: what was opened may be either.
                    self._published, self._generation = None, None
            if self._published is None:
                return None
            return replace(self._published, connection=session_of(self._published.connection))

    def _file_for_one_call(self, store: StoreFile) -> Opened:
        with self._lock:
            signature = _signature(store)
            if self._file is None or signature != self._signature:
                self._file = None
                with ExitStack() as held:
                    rows = held_as_rows(store, self.form, "serve", held.callback)[0] if self.form else store
                    self._file = open_to_ask(rows, None, self.host, self.attestations, reads=(*READS, *SEARCHED))
                self._signature = signature
            return replace(self._file, connection=session_of(self._file.connection))


def _generation(path: Path) -> tuple[int, int, int]:
    """What changes when a file takes the place of another."""
    state = path.stat()
    return state.st_ino, state.st_mtime_ns, state.st_size


def _signature(store: StoreFile) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file is written: a change between this and the reading shows on the next call."""
    files = sorted(store.file.rglob("*")) if store.file.is_dir() else [store.file]
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.is_file())
