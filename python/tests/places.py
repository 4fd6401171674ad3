"""Where each field stands in a form, found without the form's own reader: {form: {field: value found in the written file or folder}}."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

Finder = Callable[[Path], Any]
# The record that the test looks for; another one, D-101, comes before it.
RECORD_ID = "D-102"


def _graph(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _node(path: Path, uuid: str) -> dict[str, Any]:
    return next(entry for entry in _graph(path) if entry["uuid"] == uuid and "labels" in entry)


def _fact(path: Path) -> dict[str, Any]:
    return next(entry for entry in _graph(path) if entry["uuid"] == RECORD_ID)


def _linked(name: str) -> Finder:
    """The names of the nodes that the fact's edges of this name lead to."""
    return lambda path: [
        _node(path, entry["target_node_uuid"])["name"] for entry in _graph(path) if entry["name"] == name and entry.get("source_node_uuid") == RECORD_ID
    ]


def _owned_by(path: Path) -> dict[str, Any]:
    entity = _fact(path)["source_node_uuid"]
    return next(
        entry for entry in _graph(path) if entry["name"] == "OWNED_BY" and entry["source_node_uuid"] == entity and RECORD_ID in entry["attributes"]["facts"]
    )


GRAPH: dict[str, Finder] = {
    "record_id": lambda path: _fact(path)["uuid"],
    "valid_from": lambda path: _fact(path)["valid_at"],
    "valid_to": lambda path: _fact(path)["invalid_at"],
    "source": lambda path: _fact(path)["episodes"][0],
    "concept_owner": lambda path: _node(path, _owned_by(path)["target_node_uuid"])["name"],
    "owner_role": lambda path: _owned_by(path)["attributes"]["role"],
    "conflict_policy": lambda path: next(entry["summary"] for entry in _graph(path) if "Policy" in entry.get("labels", [])),
    "applies_to": _linked("SCOPES"),
    "does_not_apply_to": _linked("EXCLUDES"),
    "release_to": _linked("VISIBLE_TO"),
    "supersedes": lambda path: next(entry["target_node_uuid"] for entry in _graph(path) if entry.get("name") == "SUPERSEDES"),
    "expected_concepts": lambda path: [
        entry["name"] for entry in _graph(path) if "labels" in entry and "expected" in entry["attributes"] and not entry["attributes"]["populated"]
    ],
}


def _memories(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["results"]
    return found


def _memory(path: Path) -> dict[str, Any]:
    return next(memory for memory in _memories(path) if memory["id"] == RECORD_ID)


def _metadata(field: str) -> Finder:
    return lambda path: _memory(path)["metadata"][field]


MEMORY: dict[str, Finder] = {
    "record_id": lambda path: _memory(path)["id"],
    **{
        field: _metadata(field)
        for field in ("valid_from", "valid_to", "source", "concept_owner", "owner_role", "applies_to", "does_not_apply_to", "release_to", "supersedes")
    },
    "conflict_policy": lambda path: next(memory["memory"] for memory in _memories(path) if memory["metadata"].get("pinned")),
    "expected_concepts": lambda path: [
        name
        for name in json.loads(path.read_text(encoding="utf-8"))["expected_concepts"]
        if name not in {memory["metadata"].get("concept") for memory in _memories(path)}
    ],
}


def _rows(path: Path, table: str) -> list[dict[str, str]]:
    with (path / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _row(path: Path) -> dict[str, str]:
    return next(row for row in _rows(path, "records") if row["record_id"] == RECORD_ID)


def _column(field: str) -> Finder:
    return lambda path: _row(path)[field]


def _referenced(field: str, table: str, key: str) -> Finder:
    """A foreign key whose row is there."""
    return lambda path: next(row[key] for row in _rows(path, table) if row[key] == _row(path)[field])


def _joined(table: str, column: str, **where: str) -> Finder:
    return lambda path: [row[column] for row in _rows(path, table) if {"record_id": RECORD_ID, **where}.items() <= row.items()]


TABLES: dict[str, Finder] = {
    "record_id": _column("record_id"),
    "valid_from": _column("valid_from"),
    "valid_to": _column("valid_to"),
    "source": _referenced("source", "sources", "source_id"),
    "concept_owner": _referenced("concept_owner", "parties", "party_id"),
    "owner_role": lambda path: next(row["owner_role"] for row in _rows(path, "parties") if row["party_id"] == _row(path)["concept_owner"]),
    "conflict_policy": lambda path: next(row["policy_text"] for row in _rows(path, "policies") if row["policy_id"] == _rows(path, "stores")[0]["policy_id"]),
    "applies_to": _joined("rule_scopes", "question_class_id", is_excluded="false"),
    "does_not_apply_to": _joined("rule_scopes", "question_class_id", is_excluded="true"),
    "release_to": _joined("record_releases", "party_id"),
    "supersedes": lambda path: next(row["record_id"] for row in _rows(path, "records") if row["record_id"] == _row(path)["supersedes"]),
    "expected_concepts": lambda path: [
        row["concept_id"] for row in _rows(path, "expected_concepts") if row["concept_id"] not in {record["concept"] for record in _rows(path, "records")}
    ],
}


def _dimension(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def _entry(path: Path) -> dict[str, Any]:
    return next(entry for entry in _dimension(path)["records"] if entry["id"] == RECORD_ID)


def _field(field: str) -> Finder:
    return lambda path: _entry(path)[field]


DIMENSION: dict[str, Finder] = {
    "record_id": _field("id"),
    **{
        field: _field(field)
        for field in ("valid_from", "valid_to", "source", "concept_owner", "owner_role", "applies_to", "does_not_apply_to", "release_to", "supersedes")
    },
    "conflict_policy": lambda path: _dimension(path)["conflict_policy"],
    "expected_concepts": lambda path: [
        name for name in _dimension(path)["extensions"]["expected_concepts"] if name not in {entry["concept"] for entry in _dimension(path)["records"]}
    ],
}


def places(name: str) -> dict[str, Finder]:
    """{field: how to find it} in a form. Those of catalogue and documents stand in modules of their own."""
    own = {"bitemporal_graph": GRAPH, "vector_memory": MEMORY, "relational": TABLES, "dimension": DIMENSION}
    found: dict[str, Finder] = own[name] if name in own else import_module(f"places_{name}").PLACES
    return found
