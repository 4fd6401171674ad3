"""Timestamps and exclusive ends of a store, as the first and last day that they stand for (rules T1, T2)."""

from __future__ import annotations

import json
from typing import Any

from governed_memory.errors import InputError, did_you_mean
from governed_memory.overlay.forms.store import FormStore
from governed_memory.warehouse import fragment, open_memory, rows

GIVEN = """
    create table given_texts as
    select place, valid_from, valid_to, $zone as zone, $exclusive as is_valid_to_exclusive
    from (select unnest(from_json($texts, '[{"place": "BIGINT", "valid_from": "VARCHAR", "valid_to": "VARCHAR"}]'), recursive := true))"""


def as_days(store: FormStore, *, zone: str = "UTC", is_valid_to_exclusive: bool = False) -> FormStore:
    """The store with every readable start and end as a day; a sentinel, and what is no date, stays as it is for the checks to judge.

    Args:
        store: as a form's `read` gives it.
        zone: in which timestamps become dates.
        is_valid_to_exclusive: an end is the first moment that no longer holds.

    Raises:
        InputError: there is no such time zone.
    """
    texts = [
        {"place": place, **{role: value for role in ("valid_from", "valid_to") if isinstance(value := record.get(role), str)}}
        for place, record in enumerate(store.records)
    ]
    with open_memory() as connection:
        zones = [name for (name,) in connection.execute("select name from pg_timezone_names()").fetchall()]
        if zone not in zones:
            raise InputError(f"--zone: {zone!r} is no time zone; {did_you_mean(zone, zones) or 'expected a name such as Europe/Berlin'}")
        connection.execute(GIVEN, {"zone": zone, "exclusive": is_valid_to_exclusive, "texts": json.dumps(texts)})
        found = {row["place"]: row for row in rows(connection, fragment("days_of_texts"))}
    records = [{**record, **_days(record, found[place])} for place, record in enumerate(store.records)]
    changed = sum(before != after for before, after in zip(store.records, records, strict=True))
    ends = ", ends as the last day" if is_valid_to_exclusive else ""
    notices = [*store.notices, *([f"{changed} records: timestamps are read as days in {zone}{ends}"] if changed else [])]
    return FormStore(records, store.conflict_policy, store.expected_concepts, notices)


def _days(record: dict[str, Any], found: dict[str, Any]) -> dict[str, str]:
    days = {"valid_from": found["starts_on"], "valid_to": found["ends_on"]}
    return {role: day.isoformat() for role, day in days.items() if day is not None and record.get(role) is not None}
