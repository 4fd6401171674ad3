"""What every form is read into and written from (rule F1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from governed_memory.errors import shown


class Unread(str):
    """A notice of something that the store states and that is left out because it cannot be read, so that less is known than stands there."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FormStore:
    """The records of a store and what it states beside them, whatever form they came in.

    Attributes:
        records: one object a record, by role (`warehouse.ROLES`), values as JSON has them; a key that is not stated is left out, so that an end
            not stated and an open end (null) stay apart (T1). Keys that are no role are kept as they are.
        conflict_policy: the policy's text where it is stated once, beside the records.
        expected_concepts: concepts that the store is meant to hold, in their order.
        notices: what could not be read or was read with a doubt, one line each, with the place. Those of something stated
            that is left out are `Unread`.
    """

    records: list[dict[str, Any]]
    conflict_policy: str | None = None
    expected_concepts: tuple[str, ...] = ()
    notices: list[str] = field(default_factory=list)

    @property
    def unread(self) -> list[Unread]:
        """The notices of what is stated and left out."""
        return [notice for notice in self.notices if isinstance(notice, Unread)]


def record_named(number: int, record: dict[str, Any]) -> str:
    """A record as an error names it: by its number, counted from 1, and its identifier where it has one."""
    return f"record {number}" + (f", {shown(record['record_id'])}" if isinstance(record.get("record_id"), str) else "")
