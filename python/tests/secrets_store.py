"""A store in which whatever a caller may not see carries a mark, and the host that says who the callers are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from harness import build_time, table

from governed_memory import warehouse
from governed_memory.reads.publish import RELATIONS

# In every text of a withheld record but the concept's name, and as the day on which it begins.
MARK = "ZQX"
MARKED_DAY = "2031-03-07"
AS_OF = "2031-06-01"
HOST = """
policy: latest
policies: {latest: [latest_valid_from], undecided: [abstain]}
callers:
    analyst: {parties: [sales], boundary: inside}
    outsider: {parties: [partner], boundary: outside}
concepts: {many: several}
"""


def record(record_id: str, concept: str, value: str, valid_from: str, **more: Any) -> dict[str, Any]:
    return {"record_id": record_id, "concept": concept, "value": value, "valid_from": valid_from, "valid_to": None, "source": "manual", **more}


def secret(number: int, concept: str, valid_from: str = MARKED_DAY, **more: Any) -> dict[str, Any]:
    marks = {"release_to": [f"{MARK}-board"], "classification": f"{MARK}-c", "source": f"{MARK}-s{number}", "concept_owner": f"{MARK}-o"}
    return record(f"{MARK}-{number}", concept, f"{MARK} value {number} 77{number}", valid_from, **marks, **more)


def records() -> list[dict[str, Any]]:
    """Secrets that win, lose, supersede, stand beside, are of unknown validity or doubled; and records that a caller may see."""
    return [
        record("open-1", "plain", "seen by all inside", "2030-01-01"),
        record("open-2", "wins", "older and open", "2030-01-01"),
        secret(1, "wins"),
        record("open-3", "loses", "newer and open", "2031-04-01"),
        secret(2, "loses"),
        record("open-4", "ended", "ended by a secret", "2030-01-01"),
        secret(3, "ended", supersedes="open-4"),
        record("open-5", "many", "one of several", "2030-01-01"),
        secret(4, "many"),
        secret(5, "unknown", valid_from=f"{MARK} some day"),
        secret(6, "doubled"),
        secret(6, "doubled", withdrawal=f"{MARK} twice"),
        secret(7, "scoped", applies_to=[f"{MARK}-class"]),
        record("open-6", "scoped", "outside of the class", "2030-01-01"),
        secret(8, "alone"),
        record("open-7", "released", "to the partner", "2030-01-01", release_to=["partner"]),
        record("7.5", "number", "12", "2030-01-01"),
    ]


def write(folder: Path) -> tuple[Path, Path]:
    """The store and the host file."""
    store, host = folder / "secrets.jsonl", folder / "host.yml"
    store.write_text("".join(json.dumps(entry) + "\n" for entry in records()))
    host.write_text(HOST)
    return store, host


PARTIES = [{"party_id": "sales", "boundary": "inside"}, {"party_id": "partner", "boundary": "outside"}]
TARGETS = RELATIONS | {"records_as_of", "changes_between", "record_intervals_at", "governed_answers"}


def built_database(database: Path, stores: Sequence[dict[str, Any]] | None = None) -> Path:
    """A database as `dbt build` leaves it: with the store above, unless others are given, and a register of parties."""
    database.unlink(missing_ok=True)
    stores = stores or [{"store_id": "secrets", "records": records(), "criteria": ["latest_valid_from"], "cardinalities": {"many": "several"}}]
    with duckdb.connect(str(database)) as connection:
        table(connection, "stg_parties", warehouse.columns("stg_parties"), PARTIES)
        build_time(stores, database.with_suffix(".jsonl"), TARGETS, connection)
    return database
