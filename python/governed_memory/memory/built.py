"""Whether the tables that a build made of the log still say what the log says (a projection may be edited; the log finds it out)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb

from governed_memory.errors import InputError
from governed_memory.log import Positions, positions
from governed_memory.memory.projection import KEYS, Projection
from governed_memory.warehouse import attach_built, build, columns, open_memory
from governed_memory.warehouse.models import reading

# How far a build had read the log.
REACHED = "stg_log_heads"
# What staging gives memory to read; the models over it are the same in every project.
STAGED = {
    REACHED: "writer varchar, stream varchar, last_seq bigint, last_chain varchar, pruned_seq bigint, pruned_chain varchar",
    "stg_build": "on_date date, built_at timestamp",
}
LOG_ROWS = "writer varchar, seq bigint, chain varchar, event varchar"
# DuckDB writes these lists in no order.
LEFT_OUT = re.compile(r"EXCLUDE \(([^()]*)\)")
# The indexes that a build makes of its cells, by the key of what they are of: numbers are given anew by each build.
INDEXES = {
    "cell_terms": ("cell_id", "select cell_id, term from {schema}.cell_terms left join {schema}.cells using (cell_number)"),
    "cell_link_weights": ("cell_id", "select cell_id, link_weight from {schema}.cell_link_weights"),
}


def edited_rows(log: Path, database: Path) -> Iterator[str]:
    """What of a built database is not as the log has it, one line for each table, with the first row.

    What was committed after the build began is no difference: the build has written down how far the log reached then. Values are not told: a
    table may hold what not everybody may read.

    Args:
        log: the folder of the log.
        database: what `dbt build` wrote.

    Raises:
        InputError: one of the two cannot be read, or the database holds no memory.
    """
    reached, committed = _reached(database), positions(log)
    for (writer, stream), seq in sorted(reached.items()):
        if seq > committed.get((writer, stream), 0):
            yield f"{database}: table {REACHED}: says that {writer}/{stream} reached row {seq}, which the log has not; build it again"
    connection = Projection(log, None, until=reached).connection
    with closing(connection):
        schema = attach_built(connection, str(database), known_by=REACHED)
        for table, (key, rows) in (_tables() | INDEXES).items():
            built, told = rows.format(schema=schema), rows.format(schema="main")
            for one, other, what in ((built, told, "is not in the log so"), (told, built, "of the log is missing or changed")):
                found = connection.execute(f"select {key}, count(*) over () from ({one} except all {other}) order by {key} limit 1").fetchone()
                if found:
                    yield f"{database}: table {table}: {found[0]!r} {what}, {found[1]} row(s) in all; build it again"
                    break


def replaced_reads(database: Path) -> Iterator[str]:
    """Which views and functions of memory in a built database are not what the models say, one line for each.

    Raises:
        InputError: it cannot be read, or holds no memory.
    """
    with closing(open_memory()) as connection:
        schema = attach_built(connection, str(database), known_by=REACHED)
        found = _reads(connection, "built", schema.removeprefix("built.").strip('"'))
    with closing(open_memory()) as connection:
        models = reading(("stg_log_",))
        for name in sorted({read for reads in models.values() for read in reads if read.startswith("stg_log_")} | {"stg_build"}):
            connection.execute(f"create table main.{name} ({STAGED.get(name, LOG_ROWS)})")
        build(connection, list(models))
        expected = _reads(connection, "memory", "main")
    for name in sorted(models.keys() & expected.keys() & found.keys()):
        if found[name] != expected[name]:
            yield f"{database}: {name}: is not what the model of that name says; build it again"


def _reads(connection: duckdb.DuckDBPyConnection, database: str, schema: str) -> dict[str, str]:
    """{view or function: its SQL} of a schema, as if that were named main."""
    found = connection.execute(
        "select view_name, sql from duckdb_views() where database_name = $database and schema_name = $schema union all "
        "select function_name, string_agg(macro_definition, chr(10) order by len(parameters), macro_definition) from duckdb_functions() "
        "where function_type = 'table_macro' and database_name = $database and schema_name = $schema group by function_name",
        {"database": database, "schema": schema},
    ).fetchall()
    told = {name: re.sub(rf'\b{re.escape(schema)}(?="?\.)', "main", sql) for name, sql in found}
    return {name: LEFT_OUT.sub(lambda match: f"EXCLUDE ({', '.join(sorted(match[1].split(', ')))})", sql) for name, sql in told.items()}


def _tables() -> dict[str, tuple[str, str]]:
    """The tables of the streams: {table: (key, its rows as SQL)}."""
    fields = {table: ", ".join(name for name in columns(table) if name != "cell_number") for table in KEYS}
    return {table: (key, f"select {fields[table]} from {{schema}}.{table}") for table, key in KEYS.items()}


def _reached(database: Path) -> Positions:
    """Up to which row of each stream the build has read the log."""
    with closing(open_memory()) as connection:
        schema = attach_built(connection, str(database), known_by=REACHED)
        there = connection.execute("select table_name from duckdb_tables() where database_name = 'built'").fetchall()
        missing = sorted({REACHED, *KEYS, *INDEXES} - {name for (name,) in there})
        if missing:
            raise InputError(f"{database}: has no table {missing[0]!r}; build the project with `vars: memory:`")
        try:
            heads = connection.execute(f"select writer, stream, last_seq from {schema}.{REACHED}").fetchall()
        except duckdb.Error:
            raise InputError(f"{database}: the table {REACHED!r} is not as a build writes it; build it again") from None
    return {(writer, stream): seq for writer, stream, seq in heads}
