"""A lineage written down: as a tree for people, as W3C PROV-JSON for other programs, as a Mermaid flowchart for a page. An identifier may be any
text, and in none of them can it pass for another thing or for markup."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

from governed_memory.errors import InputError
from governed_memory.memory.trace import AGENTS, Edge, Thing, Trace

Key = tuple[str, str]
# An identifier that needs no quotes in a tree.
PLAIN = re.compile(r"[\w.:/@%+,-]+", re.ASCII)
# What is told first: records before what they are made of, and of one thing, how it was learned before the cells it rests on.
KINDS = ("record", "proposal", "approval", "cell")
ROLES = (
    "schema", "approval", "revocation", "revoked", "candidate", "evidence", "success", "failure", "frame", "step", "source", "subject", "proposal",
    "supersedes", "conflict",
)  # fmt: skip
# What PROV takes for something that happens, and not for something that is.
ACTIVITIES = ("approval",)
NAMESPACE = "urn:governed-memory:"


def as_tree(trace: Trace) -> str:
    """One line for each thing, below what derives from it; what was told before is named again and not told again."""
    things, told = _by_key(trace), set[Key]()
    lines: list[str] = []
    # A stack and no recursion: a lineage may be longer than Python's stack.
    waiting: list[tuple[int, str, Key]] = [(0, "", _key(root)) for root in reversed(_roots(trace))]
    while waiting:
        depth, role, key = waiting.pop()
        start = "  " * depth + ("" if role in ("", key[0]) else f"{role}: ")
        if key in told:
            names = [key[1]]
            while waiting and waiting[-1][:2] == (depth, role) and waiting[-1][2][0] == key[0] and waiting[-1][2] in told:
                names.append(waiting.pop()[2][1])
            if role:
                lines.append(f"{start}{key[0]} {', '.join(map(_named, names))} (above)")
            continue
        told.add(key)
        lines.append(f"{start}{key[0]} {_named(key[1])}{_about(things[key])}")
        waiting += [(depth + 1, edge.role, (edge.kind, edge.id)) for edge in reversed(_sorted(things[key])) if edge.kind not in AGENTS]
    return "\n".join([*lines, *left_out(trace)])


def as_mermaid(trace: Trace) -> str:
    """A flowchart: from what was observed up to what was asked for. Nodes are numbered, so that no identifier is part of the markup."""
    numbers = {_key(thing): f"n{place}" for place, thing in enumerate(trace.things, start=1)}
    lines = ["flowchart BT"]
    for thing in trace.things:
        what = f" ({thing.what})" if thing.what else ""
        lines.append(f'    {numbers[_key(thing)]}["{_escaped(thing.kind + what)}: {_escaped(thing.id)}"]')
    for thing in trace.things:
        for edge in _edges_once(thing):
            arrow = "<-->" if edge.role == "conflict" else "-->"
            lines.append(f"    {numbers[edge.kind, edge.id]} {arrow}|{_escaped(edge.role)}| {numbers[_key(thing)]}")
    return "\n".join([*lines, *(f"    %% {line}" for line in left_out(trace))])


def as_prov(trace: Trace) -> str:
    """A document of W3C PROV-JSON.

    Raises:
        InputError: the package that writes it is not installed.
    """
    if find_spec("prov") is None:
        raise InputError("PROV-JSON needs the package prov; install it with: pip install 'governed-memory[trace]'")
    from prov.constants import PROV
    from prov.model import ProvDocument

    document = ProvDocument()
    kinds = sorted({thing.kind for thing in trace.things})
    spaces = {kind: document.add_namespace(kind, f"{NAMESPACE}{kind}:") for kind in kinds}
    own = document.add_namespace("gmem", NAMESPACE)
    names = {_key(thing): spaces[thing.kind][quote(thing.id, safe="")] for thing in trace.things}
    for thing in sorted(trace.things, key=_key):
        told: dict[Any, Any] = {"prov:label": thing.id, "prov:type": own[thing.kind]} | ({own["what"]: thing.what} if thing.what else {})
        make = document.agent if thing.kind in AGENTS else document.activity if thing.kind in ACTIVITIES else document.entity
        made = make(names[_key(thing)], other_attributes=told)
        for edge in _edges_once(thing):
            said: dict[Any, Any] = {own["role"]: edge.role} | ({own["recordedAt"]: _in_utc(edge)} if edge.at else {})
            if edge.role == "supersedes":
                said["prov:type"] = PROV["Revision"]
            _relate(document, made, edge, names[edge.kind, edge.id], said)
    for name, count in (("withheld", trace.withheld), ("further", trace.further)):
        if count:
            document.entity(own[name], other_attributes={own["count"]: count})
    found: dict[str, Any] = json.loads(document.serialize(format="json") or "{}")
    return json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True)


def left_out(trace: Trace) -> Iterator[str]:
    """What of a lineage is not told: how many, and never which."""
    if trace.withheld:
        yield f"{trace.withheld} not shown: withheld from you, or not held"
    if trace.further:
        yield f"{trace.further} not shown: further away than was asked for"


def _relate(document: Any, thing: Any, edge: Edge, name: Any, said: dict[Any, Any]) -> None:
    """One relation as PROV has it. Each goes from the thing to what it derives from."""
    if edge.relation == "alternateOf":
        document.alternate(thing, name)  # has no attributes in PROV
    elif edge.relation in ("wasGeneratedBy", "wasInvalidatedBy", "used"):
        relate = {"wasGeneratedBy": document.generation, "wasInvalidatedBy": document.invalidation, "used": document.usage}[edge.relation]
        relate(thing, name, _in_utc(edge), other_attributes=said)
    else:
        relate = {
            "wasDerivedFrom": document.derivation, "wasAttributedTo": document.attribution, "wasAssociatedWith": document.association,
        }[edge.relation]  # fmt: skip
        relate(thing, name, other_attributes=said)


def _in_utc(edge: Edge) -> datetime.datetime | None:
    return edge.at and edge.at.replace(tzinfo=datetime.UTC)


def _by_key(trace: Trace) -> dict[Key, Thing]:
    return {_key(thing): thing for thing in trace.things}


def _key(thing: Thing) -> Key:
    return thing.kind, thing.id


def _roots(trace: Trace) -> list[Thing]:
    return sorted((thing for thing in trace.things if thing.steps == 0), key=lambda thing: (_rank(KINDS, thing.kind), thing.kind))


def _sorted(thing: Thing) -> list[Edge]:
    return sorted(_edges_once(thing), key=lambda edge: (_rank(ROLES, edge.role), edge.role, edge.kind, edge.id))


def _edges_once(thing: Thing) -> list[Edge]:
    """Its edges, each once: two who link the same at other times have said one thing."""
    return list({(edge.role, edge.kind, edge.id): edge for edge in reversed(thing.edges)}.values())[::-1]


def _rank(order: tuple[str, ...], word: str) -> int:
    return order.index(word) if word in order else len(order)


def _about(thing: Thing) -> str:
    agents = [f"{'of' if edge.role == 'owner' else 'by'} {_named(edge.id)}" for edge in _sorted(thing) if edge.kind in AGENTS]
    times = [f"{edge.at:%Y-%m-%d %H:%M:%S}" for edge in thing.edges if edge.at and edge.role not in ("revocation", "conflict")][:1]
    said = [*([thing.what] if thing.what else []), *agents, *times]
    return f"  {', '.join(said)}" if said else ""


def _named(name: str) -> str:
    return name if PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=True)


def _escaped(text: str) -> str:
    """A text as Mermaid shows it and never reads it: every character that could be markup as its number."""
    return re.sub(r"[^A-Za-z0-9_.:/ -]", lambda found: f"#{ord(found[0])};", text)
