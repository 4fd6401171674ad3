"""A store of any size to measure with: the same records for the same number, whoever runs it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORDS_PER_CONCEPT = 5
OWNERS = (("finance", "Head of Finance"), ("sales", "Head of Sales"), ("people", "Head of People"), ("legal", "General Counsel"))


def records(count: int) -> Iterator[dict[str, Any]]:
    """`count` records: concepts of five records that replace each other year by year; every tenth concept states a rule, every fiftieth is restricted."""
    for number in range(count):
        concept, place = divmod(number, RECORDS_PER_CONCEPT)
        owner, role = OWNERS[concept % len(OWNERS)]
        record: dict[str, Any] = {
            "record_id": f"D-{number:07}",
            "concept": f"concept_{concept:06}",
            "value": f"{(number * 7919) % 100_000} units",
            "valid_from": f"{2020 + place}-{1 + concept % 12:02}-01",
            "valid_to": None,
            "source": f"POL-{number % 1000:04}",
            "concept_owner": owner,
            "owner_role": role,
            "supersedes": f"D-{number - 1:07}" if place else None,
        }
        if concept % 10 == 0:
            record |= {"rule": True, "conflict_policy": "the latest source wins", "applies_to": ["retail"], "does_not_apply_to": ["wholesale"]}
        if concept % 50 == 0:
            record |= {"restricted": True, "release_to": [owner, "audit"]}
        yield record


def write_store(path: Path, count: int) -> Path:
    """Write `count` records as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records(count))
    return path


if __name__ == "__main__":
    print(write_store(Path(sys.argv[1]), int(sys.argv[2])))
