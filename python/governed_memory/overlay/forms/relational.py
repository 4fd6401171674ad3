"""Relational: one file of rows, or a folder of tables with the join and register tables that the mapping names (rule F1).

A file (JSON Lines, JSON array, CSV, Parquet, or a table in a DuckDB file) holds records alone; the folder also has the policy and the
expected concepts, see `tables`.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms import tables
from governed_memory.overlay.forms.json_file import LINES, as_json, lines, write_text
from governed_memory.overlay.forms.same import expect_same
from governed_memory.overlay.forms.store import FormStore, record_named
from governed_memory.warehouse import StoreFile, open_memory, raw_records

WITHOUT_NULLS = "null is left out of columns, which cannot tell it from a missing key; an end keeps it"


def read(path: Path) -> FormStore:
    """The store in a file of rows, or in a folder of tables.

    Raises:
        InputError: it cannot be read, or its lines vouch for who wrote each record.
    """
    if tables.is_folder_of_tables(path):
        return tables.read(path)
    with open_memory() as connection:
        records = raw_records(connection, StoreFile(str(path)))
    if records and all(record.keys() == {"record", "written_by"} for record in records):
        raise InputError(f"{path}: each line vouches for who wrote its record, which is lost in another form; take the lines' 'record' out first")
    return FormStore(records)


def write(store: FormStore, path: Path) -> None:
    """Write a folder of tables where the name has no ending, else one file of the format that the ending names.

    Raises:
        InputError: the ending is none of ours, or the file has no place for all that the store holds.
    """
    ending = path.suffix.lower()
    if not ending:
        return tables.write(store, path)
    if store.conflict_policy is not None or store.expected_concepts:
        what = "conflict policy" if store.conflict_policy is not None else "expected concepts"
        raise InputError(f"{path}: a file of rows has no place for the store's {what}; name a folder, a path without an ending, for tables that have")
    if ending in LINES:
        return write_text(path, lines(store.records))
    if ending == ".json":
        return write_text(path, "[\n" + ",\n".join(map(as_json, store.records)) + "\n]\n")
    if ending not in (".csv", ".parquet"):
        raise InputError(f"{path}: its name ends in {ending!r}; expected .jsonl, .json, .csv or .parquet, or no ending for a folder of tables")
    return _write_columns(store, path)


def _write_columns(store: FormStore, path: Path) -> None:
    """CSV or Parquet, if a column can hold each value as it is: found out by reading it back."""
    records = [{key: value for key, value in record.items() if value is not None or key == "valid_to"} for record in store.records]
    if records != store.records:
        store.notices.append(f"{path}: {WITHOUT_NULLS}")
    columns = list(dict.fromkeys(key for record in records for key in record)) or ["record_id", "valid_from", "valid_to"]
    _expect_columns(records, path)
    if path.suffix.lower() == ".csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        # One column that is empty would be a blank line, which is no row.
        writer.writerows([record.get(key) for key in columns] for record in records)
        write_text(path, text.getvalue())
    else:
        _write_parquet(records, columns, path)
    expect_same(FormStore(records), read(path), path)


def _write_parquet(records: list[dict[str, Any]], columns: list[str], path: Path) -> None:
    import polars

    def kind(column: str) -> Any:
        lists = any(isinstance(record.get(column), list) for record in records)
        return polars.List(polars.String) if lists else polars.String

    frame = {column: polars.Series(column, [record.get(column) for record in records], dtype=kind(column)) for column in columns}
    polars.DataFrame(frame).write_parquet(path)


def _expect_columns(records: list[dict[str, Any]], path: Path) -> None:
    """InputError for a value that a column of texts, or in Parquet of lists of texts, cannot hold."""
    is_csv = path.suffix.lower() == ".csv"
    held: dict[str, type] = {}
    for number, record in enumerate(records, start=1):
        for key, value in record.items():
            is_names = not is_csv and isinstance(value, list) and all(isinstance(item, str) for item in value)
            fits = value is None or isinstance(value, str) or is_names
            if not fits or (value is not None and held.setdefault(key, type(value)) is not type(value)):
                raise InputError(f"{path}: a column cannot hold {shown(key)} of {record_named(number, record)}, as it is; write .jsonl, or a folder of tables")
