"""The records of a store as they stand there, key for key, for forms that must lose nothing; of an attached store, as its tables hold them."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Collection
from typing import Any

import duckdb

from governed_memory.warehouse.connection import rows
from governed_memory.warehouse.diagnose import expect_whole, explain_unreadable
from governed_memory.warehouse.json_text import parse
from governed_memory.warehouse.readers import column_reader, json_objects, within_a_record_limit
from governed_memory.warehouse.store_file import HELD_AS, JSON_ARRAY, JSON_LINES, ROLES, StoreFile

# Where `attach` keeps the rows of a file as they are, when it is told to.
KEPT = "kept_rows"


def raw_records(connection: duckdb.DuckDBPyConnection, store: StoreFile) -> list[dict[str, Any]]:
    """Each record of a file with the keys it has, in the order of the file. Dates and numbers of a column read as text in ISO form.

    Raises:
        InputError: the file cannot be read as records.
    """
    kind = store.format()
    expect_whole(store, kind)
    try:
        if kind in (JSON_LINES, JSON_ARRAY):
            return within_a_record_limit(lambda limit: _objects(connection.execute(f"select json from {json_objects(store, kind, limit)}")))
        end = store.columns["valid_to"]
        found = rows(connection, f"select * from {column_reader(connection, store, kind)}")
        return [{name: _plain(value) for name, value in row.items() if value is not None or name == end} for row in found]
    except (duckdb.Error, ValueError) as error:
        raise explain_unreadable(store, kind, error) from error


def kept_records(connection: duckdb.DuckDBPyConnection, store: StoreFile) -> list[str]:
    """Each row of a file attached with `keeps_rows`, as JSON and in the order of record_index.

    A line is as the file has it, envelope and all; a row of columns is an object with a key for each. It is the same reading of the file that
    record_rows comes from, so what is judged is what is answered.
    """
    row = "json" if store.format() in (JSON_LINES, JSON_ARRAY) else f"to_json({KEPT})"
    return [text for (text,) in connection.execute(f"select ({row})::varchar from {KEPT} order by rowid").fetchall()]


def attached_records(connection: duckdb.DuckDBPyConnection, store_id: str, only: Collection[int] | None = None) -> list[dict[str, Any]]:
    """Each record of an attached store as the built tables hold it, in the order of arrival, with a key for each role that it states.

    What the tables hold must not read back as something else: an end that is no date has no key, since null would open it, and a list in
    which nothing can be read stays one, since [] says nothing (C11).

    Args:
        connection: the built database, or one over a store file.
        store_id: a store in it.
        only: the records of these places (record_index); all if None.
    """
    columns = ", ".join(f"{HELD_AS.get(role, role)} as {role}" for role in ROLES)
    found = rows(
        connection,
        f"""select {columns}, is_valid_to_stated and valid_to_problem is distinct from 'not_a_date' as is_end_known
        from record_rows where store_id = $store and ($only::bigint[] is null or list_contains($only, record_index)) order by record_index""",
        {"store": store_id, "only": None if only is None else list(only)},
    )
    return [{role: _held(role, row[role]) for role in ROLES if (row["is_end_known"] if role == "valid_to" else row[role] is not None)} for row in found]


def _objects(result: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    records = []
    while batch := result.fetchmany(10_000):
        records += [parse(text) for (text,) in batch]
    if not all(isinstance(record, dict) for record in records):
        raise duckdb.InvalidInputException("not every record is a JSON object")
    return records


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return value.isoformat()
    return str(value) if isinstance(value, (decimal.Decimal, datetime.timedelta)) else value


def _held(role: str, value: Any) -> Any:
    if isinstance(value, list):
        # A record that replaces one other names it, as stores mostly do.
        return value[0] if role == "supersedes" and len(value) == 1 else value or [""]
    return _plain(value)
