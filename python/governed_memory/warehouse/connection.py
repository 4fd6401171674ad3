"""Opening DuckDB: an empty database in memory, or the file that `dbt build` wrote, to read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from governed_memory.errors import BusyError, InputError, did_you_mean

if TYPE_CHECKING:
    import polars

DEFAULT_DATABASE = "governed_memory.duckdb"
# What a file that is read is called within its connection.
READ = "file_that_is_read"


def connect(path: Path | str, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """A connection that never reaches for the network, has its days in UTC and prints nothing; `duckdb.Error` where the file cannot be opened.

    To read, the file is attached to an empty database. As a database of its own it would be shared by all connections of this process, and who opens
    it after it was replaced would go on reading the former one for as long as anybody else does.
    """
    connection = duckdb.connect(":memory:" if read_only else str(path), config={"autoinstall_known_extensions": "false"})
    _settle(connection)
    if read_only:
        try:
            connection.execute(f"attach {literal(str(path))} as {READ} (read_only)")
        except duckdb.Error:
            connection.close()
            raise
        connection.execute(f"use {READ}")
    return connection


def session_of(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A session of its own in the database of a connection: a cursor, which has none of that one's settings and names tables where that one does."""
    [(schema,)] = connection.execute("select current_database() || '.\"' || current_schema() || '\"'").fetchall()
    session = connection.cursor()
    _settle(session)
    session.execute(f"use {schema}")
    return session


def _settle(connection: duckdb.DuckDBPyConnection) -> None:
    # A statement of more than two seconds would draw it on standard output, into what a command prints for programs to read; first of all,
    # since on a busy machine any statement may take that long.
    connection.execute("set enable_progress_bar = false")
    connection.execute("set TimeZone = 'UTC'")


def open_memory() -> duckdb.DuckDBPyConnection:
    """An empty in-memory database."""
    return connect(":memory:")


def is_file(path: Path) -> bool:
    """Whether it is a file; a path that no file can have is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def built_path(database: str | None = None) -> Path:
    """Where the built database is: as given, else as GMEM_DATABASE says, else here."""
    return Path(database or os.environ.get("GMEM_DATABASE") or DEFAULT_DATABASE)


def open_built(database: str | None = None, *, store_id: str | None = None, known_by: str = "record_intervals_built") -> duckdb.DuckDBPyConnection:
    """The database that `dbt build` wrote, read-only.

    Args:
        database: its path; without one the environment variable GMEM_DATABASE, else governed_memory.duckdb here.
        store_id: a store that must be attached in it.
        known_by: the table that says in which schema it was built; another one where only a part of the project is needed.

    Raises:
        InputError: there is no such file, it is no DuckDB database, another process holds it, the project was not built in it, or it has
            no such store.
    """
    path = built_path(database)
    if not is_file(path):
        raise InputError(f"{path}: no such database; run `dbt build` first, or name one with --database or GMEM_DATABASE")
    try:
        connection = connect(path, read_only=True)
    except duckdb.Error as error:
        raise _refusal(path, error) from error
    schemas = connection.execute(
        "select schema_name from duckdb_tables() where table_name = $table and database_name = current_database()", {"table": known_by}
    ).fetchall()
    if len(schemas) != 1:
        is_audience = connection.execute("select 1 from duckdb_tables() where table_name = 'audience_answers'").fetchone()
        connection.close()
        if is_audience:
            raise InputError(f"{path}: is a file published for one audience; read it with `select * from answers_as_of(date '...')` (docs/publishing.md)")
        found = "is built in several schemas" if schemas else "has not been built in this database; run `dbt build`"
        raise InputError(f"{path}: the project {found}")
    connection.execute(f'use "{schemas[0][0]}"')
    if store_id is not None:
        expect_attached(connection, store_id)
    return connection


def attach_built(
    connection: duckdb.DuckDBPyConnection, database: str | None = None, *, store_id: str | None = None, known_by: str = "record_intervals_built"
) -> str:
    """Attach the built database to a connection, as `built` and read-only.

    Returns:
        The schema that holds the models, as SQL writes it.

    Raises:
        InputError: as `open_built`.
    """
    with open_built(database, store_id=store_id, known_by=known_by) as built:
        [(schema,)] = built.execute("select current_schema()").fetchall()
    try:
        connection.execute(f"attach {literal(built_path(database))} as built (read_only)")
    except duckdb.IOException as error:
        raise _refusal(built_path(database), error) from error
    return f'built."{schema}"'


def _refusal(path: Path, error: duckdb.Error) -> InputError:
    if "lock" in str(error):
        return BusyError(f"{path}: cannot be read: another process is writing it; wait for the build to end")
    return InputError(f"{path}: cannot be read: it is no DuckDB database")


def expect_attached(connection: duckdb.DuckDBPyConnection, store_id: str) -> None:
    """InputError where the built database knows no store of that name."""
    names = [row["store_id"] for row in rows(connection, "select store_id from stores order by 1")]
    if store_id not in names:
        hint = did_you_mean(store_id, names) or f"attached are {', '.join(names) or 'none'}"
        raise InputError(f"{store_id!r} is neither a file nor an attached store; {hint}")


def rows(connection: duckdb.DuckDBPyConnection, sql: str | duckdb.Statement, values: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The result of a query as dictionaries, in the order of the result.

    Raises:
        InputError: the database was built by an earlier version and lacks a read.
    """
    try:
        result = connection.execute(sql, values or {})
    except duckdb.CatalogException as error:
        raise InputError(f"{_first_line(error)}; a database built by an earlier version has to be built again with `dbt build`") from error
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def expect_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """InputError where a text is anything but one select: a read writes nothing, and attaches nothing."""
    try:
        statements = connection.extract_statements(sql)
    except (duckdb.Error, UnicodeError, TypeError) as error:
        raise InputError(f"query: {_first_line(error)}") from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise InputError(f"query: holds {', '.join(statement.type.name for statement in statements) or 'no statement'}; expected one select")


def frame(connection: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any] | None = None) -> polars.DataFrame:
    """The result of a query as a polars frame, handed over through Arrow's C interface, which needs no pyarrow.

    Raises:
        InputError: the statement is none that the database can answer.
    """
    try:
        return plain_frame(connection, sql, values)
    except (duckdb.Error, UnicodeError) as error:
        raise InputError(_first_line(error)) from error


def plain_frame(connection: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any] | None = None) -> polars.DataFrame:
    """As `frame`, with DuckDB's own errors, whose text may hold values of records."""
    import polars

    relation = connection.sql(sql, params=values or {})
    if relation is None:
        raise InputError("the statement has no result; a read is a select")
    return polars.DataFrame(relation)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def literal(value: object) -> str:
    """A value's text as an SQL literal."""
    return "'" + str(value).replace("'", "''") + "'"
