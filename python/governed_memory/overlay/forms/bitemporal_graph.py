"""Bitemporal graph: entity edges as Graphiti dumps them, with the nodes around them (rule F1).

A fact is an edge; what the mapping adds are further edges and nodes: OWNED_BY from an entity to a party, with the role and the facts for
which it is claimed; SCOPES and EXCLUDES from a fact to a question class; VISIBLE_TO from a fact to a party; SUPERSEDES from a fact to the
one it replaces; one policy node; entity nodes marked as expected. `expired_at` is when the graph itself learned of an end: system time, kept
as it is and never the end of validity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.beside import LIST, TEXT, Beside, joined, opened
from governed_memory.overlay.forms.graph_file import (
    CLASS,
    ENTITY,
    EXPECTED,
    PARTY,
    POLICY,
    UNRECORDED,
    Graph,
    is_instant,
    read_graph,
    relation,
    write_graph,
)
from governed_memory.overlay.forms.graph_file import node as graph_node
from governed_memory.overlay.forms.json_file import as_json, expect
from governed_memory.overlay.forms.store import FormStore

LISTS = {"applies_to": ("SCOPES", CLASS), "does_not_apply_to": ("EXCLUDES", CLASS), "release_to": ("VISIBLE_TO", PARTY)}
# What an edge has to say; a fact that says nothing there gets this, and reading leaves it out again.
DEFAULTS = {"name": "STATES", "group_id": ""}
UNNAMED = "entity"
PLACES = {"record_id": "uuid", "value": "fact", "valid_from": "valid_at", "valid_to": "invalid_at"}
FACT_KEYS = (*PLACES.values(), "created_at", "episode", "episodes", "source_node_uuid", "attributes", "concept")


def read(path: Path) -> FormStore:
    """The store in a graph: JSON Lines or an array of edges and nodes, or `{"nodes": [...], "edges": [...]}`.

    Timestamps stay as they stand; `days.as_days` reads them as days in the store's zone.

    Raises:
        InputError: the file holds something else, a uuid comes twice, or there are several policy nodes.
    """
    graph = read_graph(path)
    notices = list(graph.notices)
    policies = [node for node in graph.nodes.values() if POLICY in node["labels"]]
    if len(policies) > 1:
        raise InputError(f"{path}: holds {len(policies)} nodes labelled {POLICY}; a store has one conflict policy, keep the one that applies")
    around = _Around(graph, notices)
    records = [_record(edge, place, graph, around, notices) for place, edge in graph.facts.values()]
    policy = expect(policies[0].get("summary"), str, f"{path}: the 'summary' of the node labelled {POLICY}") if policies else None
    return FormStore(records, policy, _expected(graph), notices)


def write(store: FormStore, path: Path) -> None:
    """Write a graph: JSON Lines where the name ends so, else `{"nodes": [...], "edges": [...]}`.

    Raises:
        InputError: the name has another ending, or a record cannot be written as JSON.
    """
    writer = _Writer()
    for number, record in enumerate(store.records, start=1):
        writer.add(record, f"record:{number}")
    writer.expect_concepts(store.expected_concepts)
    if store.conflict_policy is not None:
        writer.nodes["policy"] = graph_node("policy", "conflict_policy", POLICY, summary=store.conflict_policy)
    write_graph(path, writer.nodes.values(), [*writer.facts, *writer.relations()])


class _Around:
    """What stands in a graph about its facts: {uuid of the fact: ...}."""

    def __init__(self, graph: Graph, notices: list[str]) -> None:
        self.lists: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        self.owners: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
        by_name = {name: role for role, (name, _) in LISTS.items()}
        of_entity: dict[str, list[str]] = defaultdict(list)
        for uuid, (_, fact) in graph.facts.items():
            of_entity[str(fact.get("source_node_uuid"))].append(uuid)
        for place, edge in graph.relations:
            target = graph.name_of(edge["target_node_uuid"])
            if edge["name"] == "OWNED_BY":
                attributes = expect(edge.get("attributes") or {}, dict, f"{place}: 'attributes'")
                role = {"owner_role": attributes["role"]} if "role" in attributes else {}
                owned = attributes["facts"] if isinstance(attributes.get("facts"), list) else of_entity[edge["source_node_uuid"]]
                if not any(str(uuid) in graph.facts for uuid in owned):
                    notices.append(f"{place}: OWNED_BY names no fact of this file and is left out")
                for uuid in owned:
                    self.owners[str(uuid)].append((target, role))
            elif edge["name"] == "SUPERSEDES":
                self.lists[edge["source_node_uuid"]]["supersedes"].append(edge["target_node_uuid"])
            else:
                self.lists[edge["source_node_uuid"]][by_name[edge["name"]]].append(target)
        several = {uuid for uuid, found in self.owners.items() if len({owner for owner, _ in found}) > 1}
        concepts = sorted({str(graph.concept_of(uuid)) for uuid in several})
        notices.extend(f"{graph.path}: the concept {shown(concept)} is owned by several parties; a concept has one owner" for concept in concepts)

    def owner(self, uuid: str) -> dict[str, Any]:
        """The owner of a fact's concept and its role; of several, a list, which no rule takes for one owner."""
        found = self.owners.get(uuid, [])
        owners = list(dict.fromkeys(owner for owner, _ in found))
        if len(owners) > 1:
            return {"concept_owner": owners}
        return {"concept_owner": owners[0], **found[0][1]} if found else {}


def _record(edge: dict[str, Any], place: str, graph: Graph, around: _Around, notices: list[str]) -> dict[str, Any]:
    uuid = edge["uuid"]
    rest, notes = opened(expect(edge.get("attributes") or {}, dict, f"{place}: 'attributes'"), f"{place}: 'attributes'")
    record = {role: edge[key] for role, key in PLACES.items() if key in edge}
    if (concept := graph.concept_of(uuid)) is not None:
        record["concept"] = concept
    if edge.get("created_at") is not None:
        record["recorded_at"] = edge["created_at"]
    record |= _sources(edge, place) | around.owner(uuid)
    for role, names in around.lists.get(uuid, {}).items():
        shape = notes.shapes.get(role, TEXT if role == "supersedes" else LIST)
        record[role] = names[0] if len(names) == 1 and shape == TEXT else names
    own = {key: value for key, value in edge.items() if key not in FACT_KEYS and value is not None and value != DEFAULTS.get(key)}
    if own.get("target_node_uuid") == edge.get("source_node_uuid"):
        own.pop("target_node_uuid", None)
    return joined({**own, **record}, rest, notes, place, notices)


def _sources(edge: dict[str, Any], place: str) -> dict[str, Any]:
    if "episode" in edge and "episodes" in edge:
        raise InputError(f"{place}: says both 'episode' and 'episodes': two versions of the export in one file; keep the one that applies")
    if "episodes" not in edge:
        return {"source": edge["episode"]} if "episode" in edge else {}
    episodes = expect(edge["episodes"] or [], list, f"{place}: 'episodes'")
    return ({"source": episodes[0]} if episodes else {}) | ({"episodes": episodes} if len(episodes) > 1 else {})


def _expected(graph: Graph) -> tuple[str, ...]:
    marked = [(place, node) for place, node in enumerate(graph.nodes.values()) if node.get("attributes") and node["attributes"].get(EXPECTED)]

    def order(entry: tuple[int, dict[str, Any]]) -> tuple[int, int]:
        mark = str(entry[1]["attributes"][EXPECTED])
        return (int(mark) if mark.isdigit() else 0, entry[0])

    return tuple(node["name"] for _, node in sorted(marked, key=order))


class _Writer:
    """Collects nodes and edges, each once."""

    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.facts: list[dict[str, Any]] = []
        self.uuids: set[str] = set()
        self.owned: dict[tuple[str, str, str | None], list[str]] = defaultdict(list)
        self.links: list[dict[str, Any]] = []

    def add(self, record: dict[str, Any], name: str) -> None:
        """A record as a fact edge, with the nodes and edges around it."""
        rest, notes = dict(record), Beside()
        uuid = self._uuid(rest, notes, name)
        entity = self._entity(rest, notes)
        ends = {"source_node_uuid": entity, "target_node_uuid": entity}
        fact: dict[str, Any] = {"uuid": uuid, "group_id": "", **ends, "created_at": UNRECORDED, "name": "STATES"}
        if isinstance(rest.get("value"), str):
            fact["fact"] = rest.pop("value")
        else:
            fact["fact"] = as_json(rest["value"]) if rest.get("value") is not None else ""
            notes.not_stated.append("value")
        fact["episodes"] = self._episodes(rest)
        for role, key in (("valid_from", "valid_at"), ("valid_to", "invalid_at")):
            fact[key] = rest.pop(role) if is_instant(rest.get(role)) else None
            if fact[key] is None:
                self._said_nothing(role, rest, notes)
        if is_instant(rest.get("recorded_at")):
            fact["created_at"] = rest.pop("recorded_at")
        else:
            notes.not_stated.append("recorded_at")
        self._own(fact, rest)
        self._owner(entity, uuid, rest)
        self._lists(uuid, rest, notes)
        fact["attributes"] = notes.bag(rest)
        self.facts.append(fact)

    def relations(self) -> Iterable[dict[str, Any]]:
        """The edges that the mapping adds."""
        for (entity, owner, role), facts in self.owned.items():
            attributes = {**({} if role is None else {"role": role}), "facts": facts}
            yield relation("OWNED_BY", entity, self._node("party", owner, PARTY), attributes=attributes)
        yield from self.links

    def expect_concepts(self, concepts: Iterable[str]) -> None:
        """Mark the entity of each concept as expected, in their order."""
        populated = set(self.nodes)
        for position, concept in enumerate(concepts, start=1):
            uuid = self._node("entity", concept, ENTITY)
            self.nodes[uuid]["attributes"] = {EXPECTED: position, "populated": uuid in populated}

    def _uuid(self, rest: dict[str, Any], notes: Beside, name: str) -> str:
        record_id = rest.get("record_id")
        if isinstance(record_id, str) and record_id not in self.uuids:
            uuid = str(rest.pop("record_id"))
        else:
            # The next free name: no id, one that is no text, or one that another fact has.
            uuid = next(free for number in range(len(self.uuids) + 1) if (free := name + "'" * number) not in self.uuids)
            notes.not_stated.append("record_id")
        self.uuids.add(uuid)
        return uuid

    def _entity(self, rest: dict[str, Any], notes: Beside) -> str:
        if isinstance(rest.get("concept"), str):
            return self._node("entity", rest.pop("concept"), ENTITY)
        notes.not_stated.append("concept")
        self.nodes.setdefault(UNNAMED, graph_node(UNNAMED, "", ENTITY))
        return UNNAMED

    @staticmethod
    def _said_nothing(role: str, rest: dict[str, Any], notes: Beside) -> None:
        """A place that holds null: right where the record says null, else the note says what is meant."""
        if role not in rest:
            notes.not_stated.append(role)
        elif rest[role] is None:
            del rest[role]

    @staticmethod
    def _episodes(rest: dict[str, Any]) -> list[str]:
        episodes, source = rest.get("episodes"), rest.get("source")
        if isinstance(episodes, list) and len(episodes) > 1 and all(isinstance(item, str) for item in episodes) and episodes[0] == source:
            del rest["source"]
            return list(rest.pop("episodes"))
        return [rest.pop("source")] if isinstance(source, str) else []

    @staticmethod
    def _own(fact: dict[str, Any], rest: dict[str, Any]) -> None:
        for key in ("name", "group_id", "target_node_uuid"):
            if isinstance(rest.get(key), str) and rest[key] not in (DEFAULTS.get(key), fact["source_node_uuid"]):
                fact[key] = rest.pop(key)
        for key in ("expired_at", "reference_time"):
            if is_instant(rest.get(key)):
                fact[key] = rest.pop(key)

    def _owner(self, entity: str, uuid: str, rest: dict[str, Any]) -> None:
        if isinstance(rest.get("concept_owner"), str):
            role = rest.pop("owner_role") if isinstance(rest.get("owner_role"), str) else None
            self.owned[entity, rest.pop("concept_owner"), role].append(uuid)

    def _lists(self, uuid: str, rest: dict[str, Any], notes: Beside) -> None:
        for role in (*LISTS, "supersedes"):
            value = rest.get(role)
            names = [value] if isinstance(value, str) else value
            if not isinstance(names, list) or not names or not all(isinstance(item, str) for item in names):
                continue
            del rest[role]
            if len(names) == 1 and isinstance(value, str) != (role == "supersedes"):
                notes.shapes[role] = TEXT if isinstance(value, str) else LIST
            for place, name in enumerate(names):
                if role == "supersedes":
                    self.links.append(relation("SUPERSEDES", uuid, name, place))
                else:
                    link, label = LISTS[role]
                    self.links.append(relation(link, uuid, self._node(label.lower(), name, label), place))

    def _node(self, kind: str, name: str, label: str) -> str:
        uuid = f"{kind}:{name}"
        self.nodes.setdefault(uuid, graph_node(uuid, name, label))
        return uuid
