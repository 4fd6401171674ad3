"""Finding a packet that was made before by its identifier: in a file, a folder of such files, or the exports of a pipeline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.host.keys import Keys
from governed_memory.packets.export import KIND
from governed_memory.packets.packet import Packet, read_packet
from governed_memory.sealed import SealError, opened, taken_generations


@dataclass(frozen=True, slots=True)
class Found:
    """A packet and what was found out on the way.

    Attributes:
        packet: as it was made.
        notices: what was not read, and why.
    """

    packet: Packet
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Text:
    """A packet that was not read yet: what it calls itself, and as what it was written."""

    packet_id: str
    place: str
    content: str


def kept_packet(place: Path, name: str, keys: Keys | None) -> Found:
    """The packet of that identifier, or of the only one that begins so.

    Args:
        place: a file that `gmem packet build --json` wrote, a folder of such files (*.json), or one that `gmem packet export` wrote.
        name: the identifier or its beginning.
        keys: the host's, which exports are signed with.

    Raises:
        InputError: there is none, there are several, it is not as it was made, or the place cannot be read.
    """
    if not place.exists():
        raise InputError(f"--packets: {str(place)!r} is not there; name the file or folder in which packets are kept")
    notices: list[str] = []
    found = [text for text in _texts(place, name, keys, notices) if name and text.packet_id.startswith(name)]
    names = {text.packet_id for text in found}
    if not names:
        what = f"; {notices[0]}" if notices else ""
        raise InputError(f"{shown(name)} is no packet in {str(place)!r}, and begins the identifier of none; name with --packets where it is{what}")
    if len(names) > 1:
        raise InputError(f"{shown(name)} begins the identifiers of {len(names)} packets in {str(place)!r}; give more of it")
    return Found(read_packet(found[0].place, found[0].content), tuple(notices))


def _texts(place: Path, name: str, keys: Keys | None, notices: list[str]) -> Iterator[_Text]:
    try:
        if place.is_file():
            yield from _of_file(place)
        elif taken_generations(place):
            yield from _of_exports(place, name, keys, notices)
        else:
            for file in sorted(place.glob("*.json")):
                yield from _of_file(file)
    except OSError as error:
        raise InputError(f"{error.filename or place}: cannot be read: {error.strerror}") from error


def _of_file(file: Path) -> Iterator[_Text]:
    """The packet of a file; none where it is something else, as another file in the folder may be."""
    try:
        content = file.read_text(encoding="utf-8-sig")
        name: Any = json.loads(content)["packet_id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    if isinstance(name, str):
        yield _Text(name, str(file), content)


def _of_exports(root: Path, name: str, keys: Keys | None, notices: list[str]) -> Iterator[_Text]:
    """Those of every export that is whole, the newest first: a run may be of a packet of an earlier one."""
    if keys is None:
        raise InputError(f"{str(root)!r} holds exports, which are signed; name with --host the file that says under `keys` who signs (docs/packets.md)")
    for folder in taken_generations(root).values():
        try:
            with opened(folder, KIND, keys) as held:
                for caller in held.manifest.facts["callers"]:
                    entries = [json.loads(line) for line in held.read(f"{caller}.index.jsonl").splitlines()]
                    wanted = [entry for entry in entries if entry["packet_id"].startswith(name)]
                    content = held.read(f"{caller}.packets.jsonl") if wanted else b""
                    for entry in wanted:
                        yield _Text(entry["packet_id"], str(folder), content[entry["offset"] :][: entry["length"]].decode())
        except SealError as error:
            notices.append(f"not read: {error}")
