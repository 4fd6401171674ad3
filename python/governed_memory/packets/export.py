"""Packets for a pipeline: one of each concept for each caller, in a sealed folder that takes the place of the former one in one step.

    caller-0001.packets.jsonl    one packet a line, for the first caller
    caller-0001.index.jsonl      {concept, packet_id, offset, length, groups, stable_until} a line: where each is in there
    packets.jsonl, packet_groups.jsonl, packet_members.jsonl, packet_exclusions.jsonl    what dbt reads; no values, and not for callers
    manifest.json                the hashes of all of them, signed

A caller's files hold nothing that was made for another. A concept of which nothing may be told to a caller is in neither of them, unless it was
asked for by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.host.configuration import Caller
from governed_memory.host.keys import Keys
from governed_memory.packets.assembly import Setting, assembled, setting
from governed_memory.packets.packet import Packet, read_packet
from governed_memory.packets.request import PacketRequest
from governed_memory.packets.search import found_by_name
from governed_memory.packets.units import Unit
from governed_memory.reads.ask import Opened
from governed_memory.sealed import Manifest, Part, SealError, newest_valid, seal
from governed_memory.sealed import opened as opened_folder
from governed_memory.warehouse import rows

KIND = "packets"
# Concepts answered by one statement.
AT_ONCE = 1000
# Progress is told after so many.
TOLD_EVERY = 100
TABLES = ("packets", "packet_groups", "packet_members", "packet_exclusions")


@dataclass(frozen=True, slots=True)
class Exported:
    """What was put in place.

    Attributes:
        folder: the sealed folder.
        manifest: its manifest.
        count: how many packets are in it.
    """

    folder: Path
    manifest: Manifest
    count: int


def export_packets(
    out: Path,
    opened: Opened,
    callers: Sequence[Caller],
    like: PacketRequest,
    keys: Keys,
    *,
    every_concept: bool,
    unit: Unit,
    progress: Callable[[int, int], None] = lambda _, __: None,
) -> Exported:
    """Make the packets of concepts for callers, and put them in place. They are on disk when this returns; else what was there is as it was.

    Args:
        out: the place of the generations.
        opened: the stores.
        callers: for whom.
        like: what each is asked like; its concepts are those asked about.
        keys: the host's, whose active one signs.
        every_concept: the concepts were not named by whoever will read the packets, so those of which nothing may be told are left out.
        unit: what budgets count.
        progress: told how many of how many questions are done.

    Raises:
        DoesNotFitError: a header does not fit the budget.
        InputError: the place cannot be written, or there is no key to sign with.
    """
    counts: list[int] = []

    def write(part: Part) -> Mapping[str, Any]:
        counts.append(_write(part, opened, callers, like, of=setting(opened, unit), every_concept=every_concept, progress=progress))
        named = {f"caller-{number:04}": caller.name for number, caller in enumerate(callers, start=1)}
        return {"callers": named, "as_of": like.as_of, "packets": counts[0], "stores": list(opened.stores)}

    folder, manifest = seal(out, KIND, write, keys)
    return Exported(folder, manifest, counts[0])


def every_concept_of(opened: Opened, store: str | None) -> tuple[str, ...]:
    """The concepts that the stores hold records of, whoever may see them."""
    sql = "select distinct concept_id from int_concept_holdings where $store::varchar is null or store_id = $store order by concept_id"
    return tuple(row["concept_id"] for row in rows(opened.connection, sql, {"store": store if opened.is_built else None}))


def exported_packet(root: Path, caller: str, concept: str, keys: Keys) -> tuple[Packet | None, tuple[str, ...]]:
    """A caller's packet of a concept from the newest export that is whole, or None where it has none; and why newer ones do not count.

    Raises:
        InputError: no export is whole, or the newest has nothing for that caller.
    """
    newest = newest_valid(root, KIND, keys)
    refused = tuple(one.why for one in newest.refused)
    if newest.folder is None or newest.manifest is None:
        raise InputError(f"{str(root)!r} holds no export of packets that is whole{': ' + refused[0] if refused else ''}")
    try:
        with opened_folder(newest.folder, KIND, keys) as held:
            named = {name: key for key, name in held.manifest.facts["callers"].items()}
            if caller not in named:
                raise InputError(f"{shown(caller)}: nothing was exported for that caller; there is something for {', '.join(sorted(named))}")
            for line in held.read(f"{named[caller]}.index.jsonl").splitlines():
                entry = json.loads(line)
                if entry["concept"] == concept:
                    content = held.read(f"{named[caller]}.packets.jsonl")[entry["offset"] : entry["offset"] + entry["length"]]
                    return read_packet(str(newest.folder), content.decode()), refused
    except SealError as error:
        raise InputError(f"{error}; try again") from error
    return None, refused


def _write(
    part: Part, opened: Opened, callers: Sequence[Caller], like: PacketRequest, *, of: Setting, every_concept: bool, progress: Callable[[int, int], None]
) -> int:
    count, done, whole = 0, 0, len(callers) * len(like.concepts)
    tables = {name: part.path(f"{name}.jsonl").open("x", encoding="utf-8") for name in TABLES}
    try:
        for number, caller in enumerate(callers, start=1):
            request = replace(like, caller=caller)
            with (
                part.path(f"caller-{number:04}.packets.jsonl").open("xb") as packets,
                part.path(f"caller-{number:04}.index.jsonl").open("x", encoding="utf-8") as index,
            ):
                for concept, packet in _packets(request, opened, of):
                    done += 1
                    if done % TOLD_EVERY == 0 or done == whole:
                        progress(done, whole)
                    if every_concept and not _says_something(packet):
                        continue
                    count += 1
                    line = json.dumps(packet.as_data(), ensure_ascii=False).encode() + b"\n"
                    index.write(_line(_entry(concept, packet, packets.tell(), len(line))))
                    packets.write(line)
                    for name, told in _rows(packet).items():
                        tables[name].writelines(map(_line, told))
    finally:
        for table in tables.values():
            table.close()
    return count


def _says_something(packet: Packet) -> bool:
    """Whether the caller may be told that the packet's concept is held: something of it is in the packet, or would be if it fitted."""
    return bool(packet.manifest["groups"]) or any(one["reason"] == "budget" for one in packet.manifest["exclusions"])


def _packets(request: PacketRequest, opened: Opened, of: Setting) -> Iterator[tuple[str, Packet]]:
    waiting = iter(request.concepts)
    while concepts := tuple(islice(waiting, AT_ONCE)):
        for concept, found in found_by_name(replace(request, concepts=concepts), opened):
            yield concept, assembled(replace(request, concepts=(concept,)), of, found)[0]


def _entry(concept: str, packet: Packet, offset: int, length: int) -> dict[str, Any]:
    manifest = packet.manifest
    return {
        "concept": concept, "packet_id": packet.packet_id, "offset": offset, "length": length, "groups": len(manifest["groups"]),
        "stable_until": manifest["stable_until"],
    }  # fmt: skip


def _rows(packet: Packet) -> dict[str, list[dict[str, Any]]]:
    """A packet as rows, by table: what was told to whom and why, and no value."""
    name, manifest = packet.packet_id, packet.manifest
    inputs, caller = manifest["inputs"], manifest["caller"]
    of_packet = {
        "packet_id": name, "caller": caller["name"], "caller_parties": caller["parties"], "caller_boundary": caller["boundary"], "as_of": inputs["as_of"],
        "scope": inputs.get("scope", []), "known_on": inputs.get("known_on"), "unit": inputs["unit"], "budget": inputs.get("budget"),
        "used": manifest["used"], "stable_until": manifest["stable_until"], "built_at": manifest["generation"].get("built_at"),
        "text_sha256": manifest["text_sha256"],
    }  # fmt: skip
    groups = [{"packet_id": name, **{key: group[key] for key in ("group_id", "standing", "size", "score", "reasons")}} for group in manifest["groups"]]
    members = [
        {"packet_id": name, "group_id": group["group_id"], "store_id": member["store"], "concept_id": member["concept"], "member_id": member["id"]}
        for group in manifest["groups"]
        for member in group["members"]
    ]
    exclusions = [
        {"packet_id": name, "reason": one["reason"], "group_id": one.get("group_id"), "concept_id": one.get("concept"), "group_count": one.get("count", 1)}
        for one in manifest["exclusions"]
    ]
    return {"packets": [of_packet], "packet_groups": groups, "packet_members": members, "packet_exclusions": exclusions}


def _line(told: Mapping[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False) + "\n"
