"""Writing files so that a crash leaves all of a write or nothing of it."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in place in one step: a reader sees the old one, or none, or the new one. It is on disk when this returns."""
    path = path.resolve()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _write_durably(part, data)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def put_in_place(part: Path, path: Path) -> None:
    """Put a file that is written, in the same folder, in the place of another in one step, as `write_whole` does."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(path)
    _sync_folder(path.parent)


def append_bytes(path: Path, data: bytes, line_end: bytes = b"\n") -> None:
    """Append to a file, on a line of its own. It is on disk when this returns; one that is cut off is taken back by `recover`."""
    # Unbuffered: nothing is left in a buffer that closing would write after all.
    path = path.resolve()
    with path.open("r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        data = on_a_line_of_its_own(path, data, line_end)
        _write_durably(journal_of(path), str(size).encode() + b"\n" + data)
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(file.fileno(), data[written:], size + written)
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), size)
            journal_of(path).unlink()
            raise
    journal_of(path).unlink()


def on_a_line_of_its_own(path: Path, data: bytes, line_end: bytes) -> bytes:
    """What an append to a file writes: the data, after a line end where the last line has none."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if not size:
            return data
        file.seek(size - 1)
        return data if file.read(1) == b"\n" else line_end + data


def journal_of(path: Path) -> Path:
    """Where an append to a file says what it is about to do, so that one cut off can be taken back; beside the file itself, not a link to it."""
    path = path.resolve()
    return path.with_name(f".{path.name}.appending")


def recover(path: Path) -> None:
    """Take back what an interrupted append left behind: the file ends again where it ended before, unless the append was complete."""
    begun = _cut_off_at(path)
    if begun is not None:
        with path.open("r+b") as file:
            file.truncate(begun)
            os.fsync(file.fileno())
    journal_of(path).unlink(missing_ok=True)


def settled(path: Path) -> bytes:
    """What a file holds without what an append left there that was cut off or is still under way; `recover` takes that back."""
    begun = _cut_off_at(path.resolve())
    return path.read_bytes()[:begun]


def _cut_off_at(path: Path) -> int | None:
    """Where an append that is not complete began; None where there is none."""
    try:
        size, _, data = journal_of(path).read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    if not size.isdigit():
        return None
    with path.open("rb") as file:
        file.seek(int(size))
        tail = file.read()
    return int(size) if tail != data and data.startswith(tail) else None


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
