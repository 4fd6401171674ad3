"""The tables that a build keeps and cannot build again, as canonical JSON Lines: whatever the order of rows and the version of DuckDB, the same rows
are the same bytes."""

from __future__ import annotations

import datetime
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from governed_memory.errors import InputError
from governed_memory.host.canonical import canonical
from governed_memory.warehouse import columns, open_built
from governed_memory.warehouse.connection import connect

LEDGER = "record_ledger"
# Those in models/*/kept.
KEPT = (LEDGER, "level_history")
ATTACHED = "attached_hashes"
AT_ONCE = 50_000


def kept_tables(database: Path) -> dict[str, list[bytes]]:
    """{table: its rows, each as a line} of those kept tables that a database holds.

    Args:
        database: what `dbt build` wrote, or the file that GMEM_LEDGER names.

    Raises:
        InputError: it holds none, or cannot be read.
    """
    with closing(open_built(str(database), known_by=LEDGER)) as connection:
        there = {name for (name,) in connection.execute("select table_name from duckdb_tables() where schema_name = current_schema()").fetchall()}
        return {table: _lines(connection, table) for table in KEPT if table in there}


def attached_hashes(database: Path) -> list[bytes]:
    """A line for each attached store that the build has read rows of: how many, and a hash of them.

    Raises:
        InputError: it cannot be read, or was built by an earlier version.
    """
    with closing(open_built(str(database), known_by="record_rows")) as connection:
        return _lines(connection, ATTACHED)


def restore_tables(lines: dict[str, bytes], path: Path) -> None:
    """Write a database with the kept tables, as a build finds them where GMEM_LEDGER names it.

    Raises:
        InputError: a table has other columns than this version keeps; restore it with the version that took the snapshot.
    """
    with closing(connect(path)) as connection:
        for table, content in lines.items():
            types = columns(table)
            connection.execute(f"create table {table} ({', '.join(f'{name} {kind}' for name, kind in types.items())})")
            for start in range(0, len(told := content.splitlines()), AT_ONCE):
                rows = [json.loads(line) for line in told[start : start + AT_ONCE]]
                if odd := next((row for row in rows if set(row) != set(types)), None):
                    names = ", ".join(sorted(set(odd) ^ set(types)))
                    raise InputError(f"table {table} of the snapshot differs in columns {names}; restore it with the version of gmem that took it")
                shape = json.dumps([types])
                # By the names of columns, so that their order in another version is none of our concern.
                connection.execute(
                    f"insert into {table} by name select unnest(from_json($rows::json, $shape), max_depth := 2)", {"rows": json.dumps(rows), "shape": shape}
                )


def _lines(connection: duckdb.DuckDBPyConnection, table: str) -> list[bytes]:
    try:
        result = connection.execute(f"select * from {table}")
    except duckdb.CatalogException:
        raise InputError(f"the database has no {table!r}; a database built by an earlier version has to be built again with `dbt build`") from None
    names = [name for name, *_ in result.description]
    lines = []
    while chunk := result.fetchmany(AT_ONCE):
        lines += [canonical(dict(zip(names, map(_told, row), strict=True))) + b"\n" for row in chunk]
    # By their bytes: a total order that no engine has a say in.
    return sorted(lines)


def _told(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date) else value
