"""What the dialects of the catalogue form have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from governed_memory.errors import shown
from governed_memory.overlay.forms.beside import LIST, TEXT, Beside, is_names
from governed_memory.warehouse import ROLES

# Lists of names that a catalogue says by labels: {role: what the labels belong to}.
LABELS = {"release_to": "ReleaseTo", "applies_to": "AppliesTo"}
POLICY_NAME = "Conflict policy"
REQUIRED_TERMS = "required_terms"


def taken(rest: dict[str, Any], role: str) -> str | None:
    """Take a role's text out of what is left of a record, to be put in its place; None where it is no text that the place can hold."""
    return str(rest.pop(role)) if isinstance(rest.get(role), str) and rest[role] else None


def taken_names(rest: dict[str, Any], role: str) -> list[str]:
    """Take a role's list of names; none where it holds anything else, or nothing."""
    return list(rest.pop(role)) if is_names(rest.get(role)) and all(rest[role]) else []


def taken_predecessors(rest: dict[str, Any], notes: Beside) -> list[str]:
    """Take what a record supersedes, noting whether one name was a list of one."""
    text = taken(rest, "supersedes")
    names = [text] if text else taken_names(rest, "supersedes")
    if len(names) == 1 and text is None:
        notes.shapes["supersedes"] = LIST
    return names


def predecessors(names: list[str], notes: Beside) -> str | list[str]:
    """What `taken_predecessors` took, as it was."""
    return names[0] if len(names) == 1 and notes.shapes.get("supersedes", TEXT) == TEXT else names


def owner(names: Iterable[str]) -> str | list[str] | None:
    """The owner of a concept: a name; a list where the catalogue has several, which the rule concept_owner_ambiguous then reports."""
    found = list(dict.fromkeys(names))
    return found[0] if len(found) == 1 else found or None


def stated(record: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a record that say something, for what a catalogue itself leaves empty."""
    return {key: value for key, value in record.items() if value not in (None, "", [], {})}


def is_others(label: str) -> bool:
    """Whether a label is none of ours, so that it speaks of the data that a term labels."""
    return not label.startswith(tuple(f"{group}." for group in LABELS.values()))


def report_labels(labels: Iterable[str], keys: str, place: str, notices: list[str]) -> None:
    """Tell of labels of others, once for a file: somebody may have meant them to restrict."""
    if label := next(iter(labels), None):
        notices.append(f"{place}: labels such as {shown(label)} are kept under {keys}; only those of ReleaseTo restrict a statement here")


def kept(term: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What a term says under keys that are no role, as it is."""
    return stated({name: term[name] for name in names if name in term and name not in ROLES})
