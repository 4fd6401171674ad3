"""Making a packet: what the rules answer for the caller, in groups, the best that fit (rules M9, F3, G5 to G7). The same inputs give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from governed_memory.errors import shown
from governed_memory.log import Read, Witness
from governed_memory.memory import MemoryStore
from governed_memory.packets.choice import Item, chosen
from governed_memory.packets.formats import FORMATS
from governed_memory.packets.groups import Exclusion, Found, Group
from governed_memory.packets.packet import Packet, packet_of
from governed_memory.packets.request import DoesNotFitError, PacketRequest
from governed_memory.packets.search import CellsFound, cells_found, found, generation, policies
from governed_memory.packets.units import CHARACTERS, Unit
from governed_memory.reads.ask import Opened

NO_CELLS = CellsFound((), (), None, None)


def build_packet(
    request: PacketRequest, opened: Opened, *, memory: MemoryStore | None = None, unit: Unit = CHARACTERS, witness: Witness | None = None
) -> Packet:
    """A packet of what a caller may be told.

    Args:
        request: what is asked for.
        opened: the stores.
        memory: cells take part where there is one, and the read is noted in its log.
        unit: what the budget counts.
        witness: where the read is noted, where there is no memory.

    Raises:
        DoesNotFitError: what is pinned is not there for the caller or does not fit.
        InputError: the caller may not read so, or the read cannot be noted; nothing is told then.
    """
    records, cells = _searched(request, opened, memory)
    packet, entered = assembled(request, setting(opened, unit), records, cells)
    note = memory.witness if memory is not None else witness
    if note is not None:
        note.note(request.caller.name, [read_of(request, entered)])
    return packet


def _searched(request: PacketRequest, opened: Opened, memory: MemoryStore | None) -> tuple[Found, CellsFound]:
    """Records and cells, looked for side by side: they are in databases of their own, and most of either is spent there."""
    if memory is None:
        return found(request, opened), NO_CELLS
    with ThreadPoolExecutor(max_workers=1) as beside:
        cells = beside.submit(cells_found, request, memory)
        records = found(request, opened)
        return records, cells.result()


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all packets of one state of the stores.

    Attributes:
        unit: what budgets count.
        policies: the conflict policy of each store.
        generation: which state it is.
        has_stores: whether there are several, so that the text names them.
    """

    unit: Unit
    policies: Mapping[str, str | None]
    generation: Mapping[str, Any]
    has_stores: bool


def setting(opened: Opened, unit: Unit) -> Setting:
    """The setting of packets of these stores."""
    return Setting(unit, policies(opened), generation(opened), len(opened.stores) > 1)


def assembled(request: PacketRequest, of: Setting, records: Found, cells: CellsFound = NO_CELLS) -> tuple[Packet, list[Group]]:
    """A packet of what was found, and the groups in it.

    Raises:
        DoesNotFitError: what is pinned was not found or does not fit.
    """
    everything = sorted((*records.groups, *cells.groups), key=lambda group: group.order)
    has_stores = request.store is None and of.has_stores
    entered, left_out, text = _fitted(request, everything, of.unit, has_stores)
    exclusions = [*records.exclusions, *cells.exclusions, *(Exclusion("budget", group=group) for group in left_out)]
    days = [day for day in (records.stable_until, cells.stable_until) if day is not None]
    manifest = {
        "inputs": request.as_inputs() | {"unit": of.unit.name},
        "caller": {"name": request.caller.name, "parties": list(request.caller.parties), "boundary": request.caller.boundary},
        "policies": of.policies,
        "generation": dict(of.generation) | ({"memory": cells.generation} if cells.generation is not None else {}),
        "coverage": dict(records.coverage) | {"memory": cells.generation is not None},
        "stable_until": min(days, default=None),
        "used": of.unit.count(text),
        "groups": [_entry(group, of.unit, request, has_stores) for group in entered],
        "exclusions": _told(exclusions),
    }
    return packet_of(text, manifest), entered


def _fitted(request: PacketRequest, groups: Sequence[Group], unit: Unit, has_stores: bool) -> tuple[list[Group], list[Group], str]:
    """What enters, what is left out, and the text; tokens of a whole may be more than those of its parts, then one group less enters."""
    form, budget = FORMATS[request.form], request.budget
    header = form.header(request.as_of, request.caller.name, has_stores)
    pinned = _pinned(request, groups)
    free = [group for group in groups if group not in pinned]
    sizes = {group.group_id: unit.count(form.group(group, has_stores)) for group in groups}
    fixed = unit.count(header) + sum(sizes[group.group_id] for group in pinned)
    if budget is not None and budget < fixed:
        what = f"{len(pinned)} pinned group(s) and the header" if pinned else "the header alone"
        raise DoesNotFitError(f"budget: {budget} {unit.name} are {fixed - budget} too few for {what}; give {fixed}{', or pin less' if pinned else ''}")
    while True:
        items = [Item(group.score, sizes[group.group_id]) for group in free]
        taken = [free[place] for place in chosen(items, None if budget is None else budget - fixed)]
        entered = sorted([*pinned, *taken], key=lambda group: group.order)
        text = header + "".join(form.group(group, has_stores) for group in entered)
        used = unit.count(text)
        if budget is None or used <= budget:
            return entered, [group for group in groups if group not in entered], text
        if not taken:
            raise DoesNotFitError(f"budget: {budget} {unit.name} are {used - budget} too few for what is pinned; give {used}, or pin less")
        free.remove(taken[-1])


def _pinned(request: PacketRequest, groups: Sequence[Group]) -> list[Group]:
    missing = [name for name in request.pins if not any(name in group.member_ids | group.concepts for group in groups)]
    if missing:
        raise DoesNotFitError(f"pin: {shown(missing[0])} is nothing that {shown(request.caller.name)} is told as of {request.as_of}")
    return [group for group in groups if (group.member_ids | group.concepts).intersection(request.pins)]


def _entry(group: Group, unit: Unit, request: PacketRequest, has_stores: bool) -> dict[str, Any]:
    return _named(group) | {
        "score": group.score, "parts": dict(group.parts), "size": unit.count(FORMATS[request.form].group(group, has_stores)),
        "reasons": list(group.reasons), "withheld_beside": group.withheld_beside, "stable_until": group.stable_until,
    }  # fmt: skip


def _named(group: Group) -> dict[str, Any]:
    members = [{"id": member.member_id, "store": member.store, "concept": member.concept} for member in group.members]
    return {"group_id": group.group_id, "standing": group.standing, "members": members}


def _told(exclusions: Sequence[Exclusion]) -> list[Mapping[str, Any]]:
    """Each that may be named, and of the others how many there are, by their reason."""
    named: list[Mapping[str, Any]] = [
        {"reason": one.reason, **(_named(one.group) if one.group else {"concept": one.concept})} for one in exclusions if one.group or one.concept is not None
    ]
    counts: dict[str, int] = {}
    for one in exclusions:
        if one.group is None and one.concept is None:
            counts[one.reason] = counts.get(one.reason, 0) + one.count
    return [*named, *({"reason": reason, "count": count} for reason, count in sorted(counts.items()) if count)]


def read_of(request: PacketRequest, entered: Sequence[Group]) -> Read:
    """What is noted of a packet: what was asked, and what was told."""
    shown_ids = [member.member_id for group in entered for member in group.members]
    return Read("packet", "found" if entered else "nothing", shown_ids, request.query, request.as_of, request.is_global, request.session_id)
