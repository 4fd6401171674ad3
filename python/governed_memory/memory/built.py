"""Whether the tables that a build made of the log still say what the log says (a projection may be edited; the log finds it out)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb

from governed_memory.errors import InputError
from governed_memory.log import Positions, positions
from governed_memory.memory.projection import KEYS, Projection
from governed_memory.warehouse import attach_built, columns, open_memory

# How far a build had read the log.
REACHED = "stg_log_heads"
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
