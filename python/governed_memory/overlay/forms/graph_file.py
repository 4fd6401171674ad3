"""The file of a graph: which of its objects are nodes, facts, and edges that say something about facts."""

from __future__ import annotations

import datetime
import re
import uuid as uuids
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.json_file import LINES, Placed, as_json, elements, expect, expect_ending, lines, objects_in, write_text

ENTITY, PARTY, CLASS, POLICY = "Entity", "Party", "QuestionClass", "Policy"
EXPECTED = "expected"
# The edges that the mapping adds, and what they lead to; SUPERSEDES leads to a fact.
RELATIONS = {"OWNED_BY": PARTY, "SCOPES": CLASS, "EXCLUDES": CLASS, "VISIBLE_TO": PARTY, "SUPERSEDES": None}
# One of these makes an object without labels an edge.
EDGE_KEYS = {"source_node_uuid", "target_node_uuid", "fact", "valid_at", "invalid_at"}
INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?)?")
NAMES = uuids.UUID("5b7e1c0a-4f0d-4f2b-9c39-7d1f6a0e2b11")
_LEADS = {
    "OWNED_BY": f"it does not lead to a node labelled {PARTY} in this file",
    **dict.fromkeys(("SCOPES", "EXCLUDES", "VISIBLE_TO", "SUPERSEDES"), "it does not start at a fact in this file"),
}
UNRECORDED = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph as read: nodes by uuid, facts by uuid and with their places, edges that say something about facts, and notices."""

    path: Path
    nodes: dict[str, dict[str, Any]]
    facts: dict[str, tuple[str, dict[str, Any]]]
    relations: Placed
    notices: list[str]

    def name_of(self, uuid: str) -> str:
        """The name of a node, or its uuid where it is not in the file."""
        return str(self.nodes[uuid]["name"]) if uuid in self.nodes else uuid

    def concept_of(self, uuid: str) -> Any:
        """What a fact is about: the concept it names itself, else the entity at its source."""
        fact = self.facts[uuid][1] if uuid in self.facts else {}
        entity = fact.get("source_node_uuid")
        return fact["concept"] if "concept" in fact else None if entity is None else self.name_of(entity)


def read_graph(path: Path) -> Graph:
    """The graph in a file.

    Raises:
        InputError: an object is neither an edge nor a node, a uuid comes twice, or an edge says something about a fact and leads nowhere.
    """
    objects, around = objects_in(path, "edges")
    where = f"{path}: 'nodes'"
    more = [(place, expect(node, dict, place)) for place, node in elements(expect(around.pop("nodes", []), list, where), where)]
    notices = [f"{path}: {shown(key)} holds no edges and is left out" for key, value in around.items() if value]
    nodes: dict[str, dict[str, Any]] = {}
    edges: dict[str, tuple[str, dict[str, Any]]] = {}
    for place, entry in [*more, *objects]:
        uuid = entry.get("uuid")
        if not isinstance(uuid, str):
            raise InputError(f"{place}: 'uuid' is missing or no text; expected an edge or a node of a graph")
        if "labels" in entry:
            _expect_new(uuid, nodes, place, "node")
            nodes[uuid] = _node(entry, place)
        elif EDGE_KEYS & entry.keys():
            _expect_new(uuid, edges, place, "edge")
            edges[uuid] = (place, _edge(entry, place))
        else:
            raise InputError(f"{place}: is neither an edge nor a node: it has none of labels, {', '.join(sorted(EDGE_KEYS))}")
    about = {uuid for uuid, (_, edge) in edges.items() if _is_relation(edge, nodes, edges)}
    plain = edges.keys() - about
    for place, edge in (edge for uuid, edge in edges.items() if uuid in about):
        _expect_ends(place, edge, nodes, plain)
    named = [
        (place, edge["name"])
        for place, edge in (edges[uuid] for uuid in edges if uuid in plain)
        if isinstance(edge.get("name"), str) and edge["name"] in RELATIONS
    ]
    for name in dict.fromkeys(name for _, name in named):
        places = [place for place, other in named if other == name]
        notices.append(
            f"{places[0]}: an edge named {name} is read as a fact, since {_LEADS[name]}" + (f"; so are {len(places) - 1} more" if places[1:] else "")
        )
    facts = {uuid: edge for uuid, edge in edges.items() if uuid not in about}
    used = {end for _, edge in edges.values() for end in (edge.get("source_node_uuid"), edge.get("target_node_uuid"))}
    idle = [node for uuid, node in nodes.items() if uuid not in used and POLICY not in node["labels"] and not (node.get("attributes") or {}).get(EXPECTED)]
    if idle:
        notices.append(f"{path}: {len(idle)} nodes have no edge, such as {shown(idle[0]['uuid'])}, and are left out")
    return Graph(path, nodes, facts, [edges[uuid] for uuid in edges if uuid in about], notices)


def write_graph(path: Path, nodes: Iterable[dict[str, Any]], edges: Iterable[dict[str, Any]]) -> None:
    """Write a graph: JSON Lines where the name ends so, else one object that lists nodes and edges.

    Raises:
        InputError: the name has another ending, or a record cannot be written as JSON.
    """
    expect_ending(path, (".json", *LINES))
    if path.suffix.lower() in LINES:
        return write_text(path, lines([*nodes, *edges]))
    listed = [",\n".join(map(as_json, entries)) for entries in (nodes, edges)]
    return write_text(path, f'{{"nodes": [\n{listed[0]}\n],\n"edges": [\n{listed[1]}\n]}}\n')


def node(uuid: str, name: str, label: str, **more: Any) -> dict[str, Any]:
    """A node as Graphiti writes an entity's."""
    labels = [ENTITY] if label == ENTITY else [ENTITY, label]
    return {"uuid": uuid, "name": name, "group_id": "", "labels": labels, "created_at": UNRECORDED, "summary": "", "attributes": {}, **more}


def relation(name: str, source: str, target: str, place: int = 0, **more: Any) -> dict[str, Any]:
    """An edge that says something about a fact; its uuid follows from what it says, so that it is the same in every run."""
    uuid = str(uuids.uuid5(NAMES, as_json([name, source, target, place, more])))
    ends = {"source_node_uuid": source, "target_node_uuid": target}
    return {"uuid": uuid, "group_id": "", **ends, "created_at": UNRECORDED, "name": name, "fact": "", "episodes": [], **more}


def is_instant(value: Any) -> bool:
    """Whether a value is a date or timestamp that a graph's own time fields take."""
    if not isinstance(value, str) or not INSTANT.fullmatch(value):
        return False
    try:
        datetime.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _expect_new(uuid: str, seen: dict[str, Any], place: str, kind: str) -> None:
    if uuid in seen:
        raise InputError(f"{place}: the uuid {shown(uuid)} is taken by another {kind}; each {kind} is listed once")


def _node(entry: dict[str, Any], place: str) -> dict[str, Any]:
    for label in expect(entry["labels"], list, f"{place}: 'labels'"):
        expect(label, str, f"{place}: 'labels'")
    expect(entry.get("name"), str, f"{place}: 'name'")
    expect(entry.get("attributes") or {}, dict, f"{place}: 'attributes'")
    return entry


def _edge(entry: dict[str, Any], place: str) -> dict[str, Any]:
    for key in ("source_node_uuid", "target_node_uuid"):
        if entry.get(key) is not None:
            expect(entry[key], str, f"{place}: {key!r}")
    return entry


def _is_relation(edge: dict[str, Any], nodes: dict[str, dict[str, Any]], edges: Container[str]) -> bool:
    """Whether an edge says something about facts: it leads to what its name asks for, or starts at an edge, as none between entities does."""
    name, source, target = edge.get("name"), edge.get("source_node_uuid"), edge.get("target_node_uuid")
    if not isinstance(name, str) or name not in RELATIONS or source is None:
        return False
    is_led = _has_label(target, RELATIONS[name], nodes)
    if name == "OWNED_BY":
        return is_led
    if source in nodes:
        return source in edges and is_led
    # From a uuid that is not in the file to a party or class: the fact that it spoke of is gone.
    return source in edges or (is_led and RELATIONS[name] is not None)


def _expect_ends(place: str, edge: dict[str, Any], nodes: dict[str, dict[str, Any]], facts: Container[str]) -> None:
    """InputError where the fact would be read as if nothing were said about it: open to all, or for every question."""
    name, label = edge["name"], RELATIONS[edge["name"]]
    if name != "OWNED_BY" and edge["source_node_uuid"] not in facts:
        raise InputError(f"{place}: {name} starts at {shown(edge['source_node_uuid'])}, which is no fact in this file; add the fact, or take the edge out")
    target = edge.get("target_node_uuid")
    if not _has_label(target, label, nodes):
        expected = "fact" if label is None else f"node labelled {label} in this file"
        raise InputError(
            f"{place}: {name} leads to {'nothing' if target is None else shown(target)}, which is no {expected}; put that right, or take the edge out"
        )


def _has_label(uuid: str | None, label: str | None, nodes: dict[str, dict[str, Any]]) -> bool:
    return uuid is not None and (label is None or (uuid in nodes and label in nodes[uuid]["labels"]))
