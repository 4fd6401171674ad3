"""How a file reads, in SQL. What dbt's staging states too comes from its macros, as compiled (macros/staging/readers.sql)."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from typing import TextIO, TypeVar

import duckdb

from governed_memory.errors import InputError, did_you_mean
from governed_memory.warehouse.connection import literal
from governed_memory.warehouse.models import fragment
from governed_memory.warehouse.store_file import CSV, DUCKDB, JSON_ARRAY, PARQUET, StoreFile

Result = TypeVar("Result")

# Bytes that one record may have. DuckDB reads twice this at a time, so the usual limit lets it read a file in parallel; the second
# is tried only where a record needs it.
RECORD_LIMITS = (16 * 1024 * 1024, 512 * 1024 * 1024)

# Tables that a message names.
LISTED = 8

TABLES = """
    select table_name from duckdb_tables() where database_name = $database
    union all
    select view_name from duckdb_views() where database_name = $database and not internal
    order by 1"""


def within_a_record_limit(read: Callable[[int], Result]) -> Result:
    """What `read` gives with the first limit on a record's bytes that the records of its file keep."""
    for limit in RECORD_LIMITS:
        try:
            return read(limit)
        except duckdb.InvalidInputException as error:
            if "maximum_object_size" not in str(error) or limit == RECORD_LIMITS[-1]:
                raise
    raise AssertionError("unreachable: the last limit returns or raises")


def json_objects(store: StoreFile, kind: str, limit: int) -> str:
    """The SQL that reads a JSON file's records, each as it stands there, in one column `json`."""
    return f"read_json_objects({path_text(store)}, {json_options(kind, limit)})"


def json_options(kind: str, limit: int) -> str:
    """The options of a JSON reader, for records of so many bytes."""
    return f"format = '{'array' if kind == JSON_ARRAY else 'newline_delimited'}', maximum_object_size = {limit}"


def column_reader(connection: duckdb.DuckDBPyConnection, store: StoreFile, kind: str) -> str:
    """The SQL that reads the rows of a file that is no JSON, each in the file's own columns."""
    if kind == CSV:
        return fragment("csv_reader", path=path_text(store), delimiter=literal(csv_delimiter(connection, store)))
    if kind == PARQUET:
        return fragment("parquet_reader", path=path_text(store))
    assert kind == DUCKDB
    connection.execute(f"attach {literal(store.file)} as attached (read_only)")
    whole = "attached." + table_of(connection, store, "attached")
    return f"(select * from {whole} union all by name select * from read_parquet({literal(store.more)}))" if store.more else whole


def table_of(connection: duckdb.DuckDBPyConnection, store: StoreFile, database: str) -> str:
    """The table that holds a store's rows in a database file, quoted.

    Raises:
        InputError: the file has no such table, or several where none is named.
    """
    tables = [row[0] for row in connection.execute(TABLES, {"database": database}).fetchall()]
    if store.table is None and len(tables) != 1:
        raise InputError(f"{store.file}: holds {len(tables)} tables; name one as {store.file}::TABLE ({', '.join(tables[:LISTED]) or 'it has none'})")
    table = store.table or tables[0]
    if table.rpartition(".")[2] not in tables:
        listed = ", ".join(tables[:LISTED]) + (f" and {len(tables) - LISTED} more" if len(tables) > LISTED else "")
        raise InputError(f"{store.file}: has no table {table!r}; {did_you_mean(table, tables) or 'it has ' + (listed or 'none')}")
    return ".".join(name_text(part) for part in table.split("."))


def csv_delimiter(connection: duckdb.DuckDBPyConnection, store: StoreFile) -> str:
    """The character that separates the columns of a CSV file."""
    found = connection.execute(fragment("csv_delimiter", path=path_text(store))).fetchone()
    return found[0] if found else ","


def csv_header(store: StoreFile, delimiter: str) -> tuple[list[str], str]:
    """The names of the columns of a CSV file, and what ends its first line; a name in quotes may hold a break.

    Raises:
        InputError: it is not UTF-8.
    """
    lines: list[str] = []

    def remembered(file: TextIO) -> Iterator[str]:
        for line in file:
            lines.append(line)
            yield line

    try:
        with store.file.open(encoding="utf-8-sig", newline="") as file:
            columns = next(csv.reader(remembered(file), delimiter=delimiter), [])
    except UnicodeDecodeError as error:
        raise InputError(f"{store.file}: its first line is not UTF-8; save the file as UTF-8") from error
    except csv.Error as error:
        raise InputError(f"{store.file}, line 1: {error}") from error
    last = lines[-1] if lines else ""
    return columns, next((end for end in ("\r\n", "\n", "\r") if last.endswith(end)), "\n")


def column_as_json(role: str, column: str, type_: str) -> str:
    """A column's value as the JSON that record_rows reads."""
    return fragment(f"text_column {role}" if type_ == "VARCHAR" else "typed_column", column=name_text(column))


def path_text(store: StoreFile) -> str:
    """The files as a reader takes them: with no character that would make a name a pattern."""
    files = [*(store.parts() or [store.file]), *filter(None, [store.more])]
    return "[" + ", ".join(literal(re.sub(r"([*?\[])", r"[\1]", str(file))) for file in files) + "]"


def name_text(value: str) -> str:
    """A name as SQL quotes it."""
    return '"' + value.replace('"', '""') + '"'


def json_path(key: str) -> str:
    """The path of a record's own key, whatever characters it has."""
    return '$."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
