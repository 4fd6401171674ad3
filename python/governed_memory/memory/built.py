"""Whether the tables that a build made of the log still say what the log says (a projection may be edited; the log finds it out)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.memory.projection import KEYS, Projection
from governed_memory.warehouse import attach_built, columns

# Numbers that each build gives anew.
NUMBERED = {"cell_number"}


def edited_rows(projection: Projection, database: Path) -> Iterator[str]:
    """What of a built database is not as the log has it, one line for each table, with the first row.

    What was committed after the build is no difference. Values are not told: a table may hold what not everybody may read.

    Args:
        projection: caught up with the log.
        database: what `dbt build` wrote.

    Raises:
        InputError: it cannot be read, or holds no memory.
    """
    connection = projection.connection
    schema = attach_built(connection, str(database))
    try:
        for table, key in KEYS.items():
            held = [name for name in columns(table) if name not in NUMBERED]
            if not connection.execute("select 1 from duckdb_tables() where database_name = 'built' and table_name = $table", {"table": table}).fetchone():
                raise InputError(f"{database}: has no table {table!r}; build the project with `vars: memory:`")
            fields = ", ".join(held)
            built = f"(select {fields} from {schema}.{table})"
            # Up to the last row of each writer that the build has read.
            reached = f"(select writer, max(seq) as last_seq from {schema}.{table} group by writer)"
            told = ", ".join(f"told.{name}" for name in held)
            derived = f"(select {told} from main.{table} as told inner join {reached} as reached using (writer) where told.seq <= reached.last_seq)"
            for one, other, what in ((built, derived, "is not in the log so"), (derived, built, "of the log is missing or changed")):
                found = connection.execute(f"select {key}, count(*) over () from (from {one} except all from {other}) order by {key} limit 1").fetchone()
                if found:
                    yield f"{database}: table {table}: {found[0]!r} {what}, {found[1]} row(s) in all; build it again"
                    break
    finally:
        connection.execute("detach built")
