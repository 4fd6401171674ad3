"""Generations of sealed folders in one place, of which the newest that is whole counts.

    <root>/generation-000001/     a sealed folder: its files and manifest.json
    <root>/latest                 the name of the last one that was put in place
    <root>/.lock                  held by the process that seals

A generation is written in a hidden folder beside the others and renamed when it is on disk. So whoever is killed while sealing leaves the former
generations as they are, and the next sealing removes what was left. `latest` is for people and for finding out that a generation was
removed; which one counts is decided by what the manifests say, never by it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from governed_memory.errors import BusyError, InputError, shown
from governed_memory.host.keys import Keys
from governed_memory.log.folders import lock_folder, make_folder, sync_folder
from governed_memory.sealed.manifest import MANIFEST, Manifest, SealError, encoded, parsed
from governed_memory.sealed.opening import Opened, envelope, taken, verified
from governed_memory.sealed.writing import Part
from governed_memory.warehouse.durable import put_in_place

LATEST = "latest"
NEXT_LATEST = ".latest.part"
# Only as `folder_of` names them: no number has two names.
GENERATION = re.compile(r"generation-([0-9]{6}|[1-9][0-9]{6,11})")
PART = ".generation.part"
BYTES_OF_LATEST = 64


@dataclass(frozen=True, slots=True)
class Refused:
    """A generation that is not what was sealed.

    Attributes:
        folder: where it is, or was.
        check: the check that failed.
        why: in one line.
    """

    folder: Path
    check: str
    why: str


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest generation that is whole.

    Attributes:
        folder: the sealed folder; None where no generation is whole.
        manifest: what it holds.
        refused: the newer ones, the newest first.
    """

    folder: Path | None
    manifest: Manifest | None
    refused: tuple[Refused, ...]


def folder_of(root: Path, generation: int) -> Path:
    """Where a generation is."""
    return root / f"generation-{generation:06}"


def generations(root: Path) -> dict[int, Path]:
    """{generation: its folder} of all that are in a place, the newest first, whether whole or not.

    Raises:
        InputError: the place cannot be read.
    """
    try:
        found = {int(match[1]) for path in root.iterdir() if (match := GENERATION.fullmatch(path.name))}
    except OSError as error:
        raise InputError(f"{str(root)!r} holds no sealed generations: {error.strerror}") from error
    return {number: folder_of(root, number) for number in sorted(found, reverse=True)}


def taken_generations(root: Path) -> dict[int, Path]:
    """As `generations`, with the one that `latest` names where that is not there any more: it was taken, and its folder was removed."""
    there, named = generations(root), _named_latest(root)
    return {named: folder_of(root, named), **there} if named is not None and named > max(there, default=0) else there


def seal(root: Path, kind: str, write: Callable[[Part], Mapping[str, Any]], keys: Keys) -> tuple[Path, Manifest]:
    """Write a sealed folder as the next generation of a place. It is on disk when this returns; else nothing has changed.

    Args:
        root: the place; made where there is none.
        kind: what the folder is.
        write: puts its files; what it returns are the manifest's facts: JSON without fractions, and nothing that names a host or a path.
        keys: the host's; the active one, of Ed25519, signs.

    Returns:
        Its folder, and its manifest.

    Raises:
        BusyError: another process is sealing there.
        InputError: it cannot be written, or not signed.
    """
    with _sealing(root):
        part, number = root / PART, _next_number(root)
        shutil.rmtree(part, ignore_errors=True)
        try:
            part.mkdir()
            files = Part(part)
            facts = write(files)
            manifest = Manifest(kind, number, _root_before(root, kind, keys), files.synced(), facts)
            content = encoded(manifest, keys)
            _expect_readable(content, manifest, keys)
            files.finish(content)
            part.rename(folder_of(root, number))
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        sync_folder(root)
        (root / NEXT_LATEST).write_text(f"{folder_of(root, number).name}\n", encoding="ascii")
        put_in_place(root / NEXT_LATEST, root / LATEST)
    return folder_of(root, number), manifest


def newest_valid(root: Path, kind: str, keys: Keys, into: Path | None = None, also: Callable[[Opened], None] | None = None) -> Newest:
    """The newest generation that passes every check, and why those that are newer do not.

    Args:
        root: the place of the generations.
        kind: what they must have been sealed as.
        keys: the host's.
        into: a new folder, which then holds the bytes of that generation that were checked.
        also: with `into`, one more check, of those bytes; it raises SealError where they do not pass.

    Raises:
        InputError: the place or a key cannot be read, or the copies cannot be written.
    """
    there = generations(root)
    refused = list(_removed(root, there))
    for folder in there.values():
        try:
            return Newest(folder, whole(folder, kind, keys, into, also), tuple(refused))
        except SealError as error:
            refused.append(Refused(folder, error.check, str(error)))
    return Newest(None, None, tuple(refused))


def expect_number(folder: Path, manifest: Manifest) -> None:
    """Refuse a generation that stands in the place of another.

    Raises:
        SealError: its folder does not bear its number.
    """
    if folder.name != folder_of(folder, manifest.generation).name:
        raise SealError(folder, "generation", f"it was sealed as generation {manifest.generation}")


def whole(folder: Path, kind: str, keys: Keys, into: Path | None = None, also: Callable[[Opened], None] | None = None) -> Manifest:
    """What one generation holds, after every check, as `newest_valid` makes them.

    Raises:
        SealError: a check fails; the new folder is not there then.
        InputError: it or a key cannot be read, or the copies cannot be written.
    """
    with _nothing_left_on_failure(into):
        if into is None:
            manifest = verified(folder, kind, keys)
            expect_number(folder, manifest)
        else:
            held = taken(folder, kind, keys, into)
            manifest = held.manifest
            expect_number(folder, manifest)
            if also is not None:
                try:
                    also(held)
                except SealError as error:
                    # The copies it speaks of are gone in a moment.
                    raise SealError(folder, error.check, error.what) from None
    return manifest


def _expect_readable(content: bytes, manifest: Manifest, keys: Keys) -> None:
    """Refuse to seal what could not be opened again, such as facts that are no JSON."""
    try:
        is_readable = parsed(MANIFEST, content, manifest.kind, keys).files == manifest.files
    except SealError:
        is_readable = False
    if not is_readable:
        raise InputError(f"{shown(manifest.facts)}: facts of a sealed folder are JSON of objects, lists, texts, whole numbers, booleans and null")


@contextmanager
def _nothing_left_on_failure(into: Path | None) -> Iterator[None]:
    if into is not None:
        into.mkdir(mode=0o700)
    try:
        yield
    except BaseException:
        if into is not None:
            shutil.rmtree(into)
        raise


@contextmanager
def _sealing(root: Path) -> Iterator[None]:
    try:
        make_folder(root)
        locked = lock_folder(root)
    except OSError as error:
        raise InputError(f"{str(root)!r} cannot be written: {error.strerror}; nothing was sealed") from error
    if locked is None:
        raise BusyError(f"{str(root)!r}: another process is sealing there; try again when it has ended")
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename or root}: cannot be written: {error.strerror}; nothing was sealed") from error
    finally:
        os.close(locked)


def _next_number(root: Path) -> int:
    named = _named_latest(root)
    return max([*generations(root), named or 0], default=0) + 1


def _root_before(root: Path, kind: str, keys: Keys) -> str | None:
    """The root hash of the generation before, if its manifest is what a key of this host signed."""
    for folder in generations(root).values():
        try:
            return envelope(folder, kind, keys).root
        except SealError:
            continue
    return None


def _named_latest(root: Path) -> int | None:
    try:
        with (root / LATEST).open("rb") as file:
            found = GENERATION.fullmatch(file.read(BYTES_OF_LATEST).decode(errors="replace").strip())
    except OSError:
        return None
    return int(found[1]) if found else None


def _removed(root: Path, there: Mapping[int, Path]) -> Iterator[Refused]:
    """What `latest` names and is not there any more."""
    named = _named_latest(root)
    if named is not None and named > max(there, default=0):
        folder = folder_of(root, named)
        yield Refused(folder, "file list", f"{folder}: file list check failed: it is missing, though {LATEST!r} names it")
