"""Many small stores in one database, through the package's own staging and models."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.warehouse import StoreFile

# The key by which a line of the joint file says which store it belongs to. `priority` takes no part in any rule tested here.
OWNER = "#store#"

STORE_COLUMNS = {
    "store_id": "varchar", "form": "varchar", "target_level": "integer", "policy_id": "varchar", "is_valid_to_exclusive": "boolean",
    "is_null_end_open": "boolean", "zone": "varchar", "attests_writers": "boolean", "steward_party": "varchar", "steward_role": "varchar",
    "open_markers": "varchar[]", "location": "varchar", "column_mapping": "varchar",
}  # fmt: skip
STORE_DEFAULTS = {
    "form": "relational", "target_level": 3, "policy_id": None, "is_valid_to_exclusive": False, "is_null_end_open": True, "zone": "UTC",
    "attests_writers": False, "steward_party": None, "steward_role": None, "open_markers": [], "location": None, "column_mapping": None,
}  # fmt: skip
# What a built database is read for.
READS = {"records_as_of", "changes_between", "concept_histories", "findings", "rule_statuses", "store_levels"}
OWNERSHIP_COLUMNS = {"store_id": "varchar", "concept_id": "varchar", "party_id": "varchar", "valid_from": "date", "recorded_at": "timestamp"}
LEDGER_COLUMNS = {
    "store_id": "varchar", "record_id": "varchar", "fingerprint": "varchar", "first_built_at": "timestamp", "last_built_at": "timestamp",
    "field_fingerprints": "varchar[]", "reading_fingerprint": "varchar",
}  # fmt: skip


class Difference(AssertionError):
    """What the models and the oracle say of one store is not the same."""

    def __init__(self, store: dict[str, Any], what: str) -> None:
        super().__init__(what)
        self.store = store


def reduced(store: dict[str, Any], differs: Callable[[dict[str, Any]], None]) -> str:
    """What differs in the least store to be had by leaving out records, keys and register entries while something still differs."""

    def trial(candidate: dict[str, Any]) -> Difference | None:
        try:
            differs(candidate)
        except Difference as difference:
            return difference
        return None

    difference = trial(store)
    assert difference, "differs in a batch, but not alone"
    smaller: Difference | None = difference
    while smaller:
        difference = smaller
        smaller = next(filter(None, map(trial, _without_one(difference.store))), None)
    return f"{difference}\nin {json.dumps(difference.store, indent=1, default=str, ensure_ascii=False)}"


def _without_one(store: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key in ("records", "lines", "ownerships"):
        items = store.get(key, [])
        for place in range(len(items)):
            yield {**store, key: items[:place] + items[place + 1 :]}
    for place, record in enumerate(store.get("records", [])):
        for key in record:
            kept = {other: value for other, value in record.items() if other != key}
            yield {**store, "records": [*store["records"][:place], kept, *store["records"][place + 1 :]]}
    if store.get("first_built"):
        yield {**store, "first_built": {}}
    if store.get("attests_writers"):
        yield {**store, "attests_writers": False}


def table(connection: duckdb.DuckDBPyConnection, name: str, columns: dict[str, str], rows: Sequence[dict[str, Any]]) -> None:
    """A table of these columns and rows in place of whatever has the name."""
    relations = "select table_name as name, 'table' as type from duckdb_tables() union all select view_name, 'view' from duckdb_views()"
    kind = connection.execute(f"select type from ({relations}) where name = ?", [name]).fetchone()
    if kind:
        connection.execute(f'drop {kind[0]} "{name}"')
    connection.execute(f'create table "{name}" ({", ".join(f"{column} {type_}" for column, type_ in columns.items())})')
    if rows:
        marks = ", ".join("?" for _ in columns)
        connection.executemany(f'insert into "{name}" values ({marks})', [[row.get(column) for column in columns] for row in rows])


def attach_lines(
    connection: duckdb.DuckDBPyConnection,
    file: Path,
    lines: Sequence[tuple[str, str]],
    stores: Sequence[dict[str, Any]],
    mapping: dict[str, str] | None = None,
    open_markers: Sequence[str] = (),
    **options: Any,
) -> None:
    """Stage (store id, JSON object) lines as stores of their own: one file is attached, and then told apart by the key OWNER.

    A row's place is the one it has in the joint file.
    """
    owner = json.dumps(OWNER)
    with file.open("w", encoding="utf-8") as out:
        for store_id, line in lines:
            inner = line.strip()[1:]
            out.write(f"{{{owner}:{json.dumps(store_id)}{'' if inner.strip() == '}' else ','}{inner}\n")
    warehouse.attach(connection, StoreFile(str(file), {**(mapping or {}), "priority": OWNER}, open_markers=tuple(open_markers)), **options)
    connection.execute("alter view stg_store_rows rename to joint_rows")
    connection.execute("create view stg_store_rows as select * replace (priority ->> '$' as store_id, null::json as priority) from joint_rows")
    table(connection, "stg_stores", STORE_COLUMNS, [{**STORE_DEFAULTS, **store} for store in stores])


def build_time(
    stores: Sequence[dict[str, Any]], file: Path, targets: Collection[str], connection: duckdb.DuckDBPyConnection | None = None
) -> duckdb.DuckDBPyConnection:
    """Build the targets over stores as the oracle takes them, each with a `store_id`; in memory, or where the connection leads."""
    connection = connection or warehouse.open_memory()
    connection.execute("set threads = 1")
    lines = [(store["store_id"], json.dumps(record)) for store in stores for record in store["records"]]
    described = [
        {
            "store_id": store["store_id"],
            "attests_writers": store.get("attests_writers", False),
            "open_markers": store.get("open_markers", []),
            "policy_id": store["store_id"] if "criteria" in store else None,
        }
        for store in stores
    ]
    attach_lines(connection, file, lines, described, {"written_by": "written_by"}, stores[0].get("open_markers", ()))
    ownerships = [{"store_id": entry.get("store_id", store["store_id"]), **entry} for store in stores for entry in store.get("ownerships", [])]
    table(connection, "stg_concept_ownerships", OWNERSHIP_COLUMNS, ownerships)
    criteria = [
        {"policy_id": store["store_id"], "position": place, "criterion": criterion}
        for store in stores
        for place, criterion in enumerate(store.get("criteria", []), start=1)
    ]
    table(connection, "stg_policy_criteria", warehouse.columns("stg_policy_criteria"), criteria)
    cardinalities = {concept: cardinality for store in stores for concept, cardinality in store.get("cardinalities", {}).items()}
    concepts = [{"concept_id": concept, "cardinality": cardinality} for concept, cardinality in cardinalities.items()]
    table(connection, "stg_concepts", warehouse.columns("stg_concepts"), concepts)
    ranks = [
        {"store_id": store["store_id"], "source_id": source, "source_rank": rank} for store in stores for source, rank in store.get("source_ranks", {}).items()
    ]
    table(connection, "stg_sources", warehouse.columns("stg_sources"), ranks)
    ledger = [
        {"store_id": store["store_id"], "record_id": record_id, "fingerprint": "f", "first_built_at": at, "last_built_at": at}
        for store in stores
        for record_id, at in store.get("first_built", {}).items()
    ]
    table(connection, "record_ledger", LEDGER_COLUMNS, ledger)
    warehouse.build(connection, targets)
    return connection


def built_database(stores: Sequence[dict[str, Any]], folder: Path) -> Path:
    """A database as `dbt build` leaves it, with these stores attached."""
    database = folder / "built.duckdb"
    with duckdb.connect(str(database)) as connection:
        build_time(stores, folder / "stores.jsonl", READS, connection)
    return database
