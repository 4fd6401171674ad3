"""Why a packet says what it says, and what it did to a model: what other reads tell of each of its facts, put together for one reader.

What may be seen, what stood the rules and why, what derives from what and what contradicts it is SQL; nothing is decided here. A group of the packet is
told where its reader may see every member of it today, whoever the packet was made for; any other group is counted (rules G5, G7, M9).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from governed_memory.bridge.recorded import is_sound
from governed_memory.errors import InputError
from governed_memory.log import Read, Witness
from governed_memory.memory import MemoryStore, Sight
from governed_memory.memory.accounts import Account
from governed_memory.memory.trace import Thing, Trace
from governed_memory.packets import Packet
from governed_memory.packets.groups import WITHHELD
from governed_memory.packets.search import generation
from governed_memory.reads.ask import Opened, Question, explain
from governed_memory.warehouse import fragment, rows

# What a manifest says of a group and of a request that is told as it is.
OF_GROUP = ("group_id", "standing", "size", "score", "parts", "reasons", "withheld_beside", "stable_until")
ASKED = ("query", "concepts", "ids", "pins")

# The store and identifier of a member; no store where it is a cell.
Key = tuple[str | None, str]


@dataclass(frozen=True, slots=True)
class Sources:
    """From where it is told.

    Attributes:
        opened: the stores.
        memory: the memory; None where none was named.
        runs: those of the bridge that there are, whichever packets they are of.
        witness: notes the read.
    """

    opened: Opened
    memory: MemoryStore | None
    runs: Sequence[Mapping[str, Any]]
    witness: Witness


def why(packet: Packet, sight: Sight, sources: Sources) -> dict[str, Any] | None:
    """What can be told of a packet. The read leaves an event.

    Args:
        packet: as it was made.
        sight: who reads, from which session and when.
        sources: from where.

    Returns:
        {packet_id, caller, as_of, asked, same_generation, unit, has_memory, groups, exclusions, withheld, runs}; each group with its members, and each
        of these with policy, origin, lineage, conflicts, approvals and effects. None where the packet was made for another and holds nothing that the
        reader may see.

    Raises:
        InputError: the stores or the memory are not those that the packet was made of, or cannot be read.
    """
    manifest = packet.manifest
    _expect_made_of(manifest, sources)
    is_own = sight.caller.name == manifest["caller"]["name"]
    seen = _seen(packet, replace(sight, on_date=datetime.date.fromisoformat(manifest["inputs"]["as_of"])), sources)
    groups = [group for group in manifest["groups"] if _is_seen(group, seen)]
    is_told = bool(groups) or is_own
    told_ids = [member["id"] for group in groups for member in group["members"]]
    read = Read(
        "why",
        "found" if is_told else "nothing",
        told_ids,
        packet.packet_id if is_told else None,
        manifest["inputs"]["as_of"],
        sight.is_global,
        sight.session_id,
    )
    sources.witness.note(sight.caller.name, [read])
    if not is_told:
        return None
    runs = [run for run in sources.runs if run.get("packet_id") == packet.packet_id]
    exclusions, withheld = _left_out(manifest["exclusions"], seen, is_own=is_own)
    return {
        "packet_id": packet.packet_id,
        "caller": {"name": manifest["caller"]["name"], "boundary": manifest["caller"]["boundary"]},
        "as_of": manifest["inputs"]["as_of"],
        "asked": {name: manifest["inputs"][name] for name in ASKED if name in manifest["inputs"]} if is_own else None,
        "same_generation": _of_stores(manifest["generation"]) == generation(sources.opened),
        "unit": manifest["inputs"]["unit"],
        "has_memory": sources.memory is not None,
        "groups": [_group(group, seen, runs) for group in groups],
        "exclusions": exclusions,
        "withheld": withheld + len(manifest["groups"]) - len(groups),
        "runs": [_run(run) for run in runs],
    }


def _expect_made_of(manifest: Mapping[str, Any], sources: Sources) -> None:
    there = sources.opened.stores
    missing = sorted(set(manifest["coverage"]["searched"]) - set(there))
    if missing:
        raise InputError(f"the packet was made of the store {missing[0]!r}, and here are {', '.join(there) or 'none'}; name it with --store or --database")
    if sources.memory is None and any(member["store"] is None for member in _members(manifest)):
        raise InputError("the packet holds cells; name with --memory the memory that they are of")


def _members(manifest: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (member for one in (*manifest["groups"], *manifest["exclusions"]) for member in one.get("members", ()))


def _key(member: Mapping[str, Any]) -> Key:
    return member["store"], member["id"]


def _seen(packet: Packet, sight: Sight, sources: Sources) -> dict[Key, dict[str, Any]]:
    """Those of the members that the reader may see, with what is told of each: policy, origin, lineage, conflicts and approvals."""
    members = list(_members(packet.manifest))
    known = sources.memory.accounts({member["id"] for member in members}, sight) if sources.memory is not None else {}
    records = _records(packet, [member for member in members if member["store"] is not None], sight, sources.opened)
    cells = {(None, name): _of_cell(account.cell) for name, account in known.items() if account.cell is not None}
    return {key: told | _of_lineage(key, known.get(key[1])) for key, told in (records | cells).items() if key in map(_key, members)}


def _records(packet: Packet, members: Sequence[Mapping[str, Any]], sight: Sight, opened: Opened) -> dict[Key, dict[str, Any]]:
    """Of records: the steps of the governed read that speak of it, and what is noted of where it comes from."""
    if not members:
        return {}
    inputs = packet.manifest["inputs"]
    like = Question("", inputs["as_of"], sight.caller, tuple(inputs.get("scope", ())), inputs.get("known_on"), inputs.get("store"))
    steps = {concept: explain(opened, replace(like, concept=concept)) for concept in dict.fromkeys(member["concept"] for member in members)}
    asked = {"record_ids": [member["id"] for member in members], "parties": list(sight.caller.parties), "boundary": sight.caller.boundary}
    origins = {(row.pop("store_id"), row.pop("record_id")): _plain(row) for row in rows(opened.connection, fragment("records_told"), asked)}
    found = {}
    for member in members:
        of_store = [step for step in steps[member["concept"]] if step["store"] == member["store"]]
        own = [step for step in of_store if step["record_id"] == member["id"]]
        # The read speaks of every record of the concept that the reader may see, and of no other.
        if own and _key(member) in origins:
            policy = [*own, *(step for step in of_store if step["record_id"] is None)]
            found[_key(member)] = {
                "policy": [{name: step[name] for name in ("code", "explanation")} for step in policy],
                "origin": origins[_key(member)],
            }
    return found


def _of_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    policy = [{"code": f"{cell['release_code']},{cell['session_code']}", "explanation": cell["explanation"]}]
    return {"policy": policy, "origin": _plain({name: cell[name] for name in ("system", "source", "written_by", "recorded_at", "state")})}


def _of_lineage(key: Key, account: Account | None) -> dict[str, Any]:
    kind = "cell" if key[0] is None else "record"
    trace = account.trace if account is not None else None
    # A record of another store may be called like something of memory, and is not that.
    if trace is None or not any(thing.steps == 0 and thing.kind == kind for thing in trace.things):
        return {"lineage": None, "conflicts": [], "approvals": []}
    named = [thing for thing in trace.things if thing.id == key[1] and thing.steps == 0]
    return {
        "lineage": trace,
        "conflicts": sorted({edge.id for thing in named for edge in thing.edges if edge.role == "conflict"}),
        "approvals": list(_verdicts(named, trace)),
    }


def _verdicts(named: Sequence[Thing], trace: Trace) -> Iterator[dict[str, Any]]:
    """What was signed of a thing: its approval, and its revocation if there was one."""
    told = {edge.id: edge.at for thing in named for edge in thing.edges if edge.kind == "approval"}
    for thing in trace.things:
        if thing.kind == "approval" and thing.id in told:
            by = sorted(edge.id for edge in thing.edges if edge.role == "approver")
            yield _plain({"approval_id": thing.id, "verdict": thing.what, "by": by, "at": told[thing.id]})


def _is_seen(group: Mapping[str, Any], seen: Mapping[Key, Any]) -> bool:
    return all(_key(member) in seen for member in group["members"])


def _group(group: Mapping[str, Any], seen: Mapping[Key, Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    members = [{**member, **seen[_key(member)], "effects": _effects(member, runs)} for member in group["members"]]
    return {name: group[name] for name in OF_GROUP} | {"members": members}


def _effects(member: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"run_id": run["run_id"], "own_effect": fact["own_effect"]}
        for run in runs
        for fact in run["facts"]
        if (fact["store_id"], fact["member_id"]) == _key(member)
    ]  # fmt: skip


def _left_out(exclusions: Sequence[Mapping[str, Any]], seen: Mapping[Key, Any], *, is_own: bool) -> tuple[list[dict[str, Any]], int]:
    """What of the packet's exclusions is told, and how many groups are withheld. What was asked for and not found is for whoever asked."""
    told, withheld = [], 0
    for one in exclusions:
        if "members" in one and not _is_seen(one, seen):
            withheld += 1
        elif one["reason"] == WITHHELD:
            withheld += one["count"] if is_own else 0
        elif "members" in one or is_own:
            told.append(dict(one))
    return told, withheld


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: run[name] for name in ("run_id", "ran_at", "path_change", "control_equals_base", "weights", "is_diagnostic")}
    controls = [{name: control[name] for name in ("control", "rival", "is_held")} for control in run["controls"]]
    return told | {"is_sound": is_sound(run), "has_effects": bool(run["facts"]), "controls": controls}


def _of_stores(told: Mapping[str, Any]) -> dict[str, Any]:
    """The generation of the stores, without how far the memory was read: that is only ever added to."""
    return {name: value for name, value in told.items() if name != "memory"}


def _plain(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime.date) else value for name, value in told.items()}


def as_data(told: Mapping[str, Any]) -> dict[str, Any]:
    """What was told as JSON has it."""

    def of_member(member: Mapping[str, Any]) -> dict[str, Any]:
        trace = member["lineage"]
        return dict(member) | {"lineage": trace and _lineage(trace)}

    groups = [dict(group) | {"members": [of_member(member) for member in group["members"]]} for group in told["groups"]]
    return dict(told) | {"groups": groups}


def _lineage(trace: Trace) -> dict[str, Any]:
    things = [asdict(thing) | {"edges": [_plain(asdict(edge)) for edge in thing.edges]} for thing in trace.things]
    return {"things": things, "withheld": trace.withheld, "further": trace.further}
