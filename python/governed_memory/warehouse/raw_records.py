"""The records of a store as they stand there, key for key, for forms that must lose nothing."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Iterator
from typing import Any

import duckdb

from governed_memory.warehouse.attach import file_reader
from governed_memory.warehouse.diagnose import explain_unreadable
from governed_memory.warehouse.store_file import JSON_ARRAY, JSON_LINES, StoreFile


def raw_records(connection: duckdb.DuckDBPyConnection, store: StoreFile) -> Iterator[dict[str, Any]]:
    """Each record of a file with the keys it has, in the order of the file. Dates and numbers of a column read as text in ISO form.

    Raises:
        InputError: the file cannot be read as records.
    """
    kind = store.format()
    try:
        reader = file_reader(connection, store, kind)
        result = connection.execute(f"select * from {reader}")
        names = [column[0] for column in result.description]
        while rows := result.fetchmany(10_000):
            for row in rows:
                yield (
                    json.loads(row[0])
                    if kind in (JSON_LINES, JSON_ARRAY)
                    else {name: _plain(value) for name, value in zip(names, row, strict=True) if value is not None or name == store.columns["valid_to"]}
                )
    except duckdb.Error as error:
        raise explain_unreadable(store, kind, error) from error


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return value.isoformat()
    return str(value) if isinstance(value, (decimal.Decimal, datetime.timedelta)) else value
