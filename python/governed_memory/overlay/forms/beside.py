"""What a form has no place for: it stays beside what it has, under its own name, and nothing of it is lost.

A form with a bag of free keys (metadata, attributes) holds a key without a place there as it is. One reserved key, BESIDE, says the rest:
`not_stated` lists roles whose place had to be filled although the record says nothing there, `shapes` which lists of names were one text,
or which text was a list of one, and `own` holds what a record itself keeps under a reserved key.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from governed_memory.errors import InputError, shown

BESIDE = "governed_memory"
TEXT, LIST = "text", "list"
PARTS = {"not_stated": list, "shapes": dict, "own": dict}


@dataclass(slots=True)
class Beside:
    """Notes on one record, to write or as read."""

    not_stated: list[str] = field(default_factory=list)
    shapes: dict[str, str] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)

    def bag(self, rest: dict[str, Any], reserved: Collection[str] = ()) -> dict[str, Any]:
        """The free keys of a record and these notes, as one object; nothing where there is neither."""
        taken = {BESIDE, *reserved}
        self.own |= {key: value for key, value in rest.items() if key in taken}
        notes = {name: value for name in PARTS if (value := getattr(self, name))}
        return {**{key: value for key, value in rest.items() if key not in taken}, **({BESIDE: notes} if notes else {})}


def opened(bag: dict[str, Any], place: str) -> tuple[dict[str, Any], Beside]:
    """The free keys in a bag, and the notes.

    Raises:
        InputError: what stands under BESIDE is none of ours; the message names the place.
    """
    notes = bag.get(BESIDE, {})
    is_ours = isinstance(notes, dict) and all(isinstance(value, PARTS.get(name, ())) for name, value in notes.items())
    if not is_ours or not all(isinstance(role, str) for role in notes.get("not_stated", ())):
        raise InputError(f"{place}: {BESIDE!r} holds something else than {', '.join(PARTS)}; leave it as `gmem convert` wrote it, or take it out")
    return {key: value for key, value in bag.items() if key != BESIDE}, Beside(**notes)


def joined(record: dict[str, Any], rest: dict[str, Any], notes: Beside, place: str, notices: list[str]) -> dict[str, Any]:
    """A record from what its places hold and what stands beside them. What a place holds goes before a free key of that name, with a notice."""
    for role in notes.not_stated:
        record.pop(role, None)
    for key, value in {**rest, **notes.own}.items():
        if record.get(key) is None:
            record[key] = value
        elif record[key] != value:
            notices.append(f"{place}: {shown(key)} is stated twice and differs; the one in its own place is read")
    return record


def is_names(value: Any) -> TypeGuard[list[str]]:
    """Whether a value is a list of texts that holds at least one."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
