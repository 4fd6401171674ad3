"""Where each field stands in OpenMetadata's JSON, found without the form's own reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORD_ID = "D-102"


def _export(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _term(path: Path) -> dict[str, Any]:
    return next(term for term in _export(path)["data"] if term["name"] == RECORD_ID)


def _labels(path: Path, group: str) -> list[str]:
    return [tag["tagFQN"].removeprefix(f"{group}.") for tag in _term(path)["tags"] if tag["tagFQN"].startswith(f"{group}.")]


def _required(path: Path) -> list[str]:
    export = _export(path)
    held = {term.get("displayName") for term in export["data"]}
    return [name for name in export["glossary"]["extension"]["required_terms"] if name not in held]


PLACES: dict[str, Callable[[Path], Any]] = {
    "record_id": lambda path: _term(path)["name"],
    "valid_from": lambda path: _term(path)["extension"]["valid_from"],
    "valid_to": lambda path: _term(path)["extension"]["valid_to"],
    "source": lambda path: _term(path)["references"][0]["name"],
    "concept_owner": lambda path: _term(path)["owners"][0]["name"],
    "owner_role": lambda path: _term(path)["reviewers"][0]["name"],
    "conflict_policy": lambda path: _export(path)["glossary"]["extension"]["conflict_policy"]["description"],
    "applies_to": lambda path: _labels(path, "AppliesTo"),
    "does_not_apply_to": lambda path: _term(path)["extension"]["does_not_apply_to"],
    "release_to": lambda path: _labels(path, "ReleaseTo"),
    "supersedes": lambda path: _term(path)["changeDescription"]["fieldsUpdated"][0]["oldValue"],
    "expected_concepts": _required,
}
