"""Where the findings are, as a GX data source: the DuckDB file that `dbt build` wrote, or a PostgreSQL database with a copy of them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

import sqlalchemy
from duckdb_engine import ConnectionWrapper
from great_expectations.datasource.fluent.sql_datasource import SQLDatasource
from great_expectations.execution_engine.sqlalchemy_execution_engine import SqlAlchemyExecutionEngine
from sqlalchemy.pool import NullPool

from governed_memory import warehouse
from governed_memory.errors import InputError

# Per store and rule: whether the rule is asked of the store, whether it fails, and whether that fails the build. All of it is decided below (L3, L4).
STATUSES = """
    select
        store_id,
        rule_id,
        status,
        reason,
        exists(
            select 1 from findings
            where findings.store_id = rule_statuses.store_id and findings.rule_id = rule_statuses.rule_id and findings.severity = 'error'
        ) as fails_build
    from rule_statuses
    order by store_id, position"""


def is_postgres(place: str) -> bool:
    """Whether a place is the URL of a PostgreSQL database rather than a DuckDB file."""
    return place.startswith("postgresql://")


class KeptConnection(SqlAlchemyExecutionEngine):
    """Runs every query on one connection: GX closes a connection before it reads the result, and a DuckDB result dies with its connection."""

    @contextmanager
    def get_connection(self) -> Generator[sqlalchemy.Connection, None, None]:
        """The one connection, opened when it is first needed."""
        if self._connection is None:
            self._connection = self.engine.connect()
        yield self._connection

    def close(self) -> None:
        """Give the place back: whoever builds next is not kept waiting."""
        if self._connection is not None:
            self._connection.close()
        super().close()


class FindingsSource(SQLDatasource):
    """A place of findings. Plain text, so that GX looks for no variable of its own in a path or a password."""

    type: Literal["findings"] = "findings"  # type: ignore[assignment]
    connection_string: str

    def _create_engine(self) -> sqlalchemy.Engine:
        return engine(self.connection_string)

    def get_execution_engine(self) -> KeptConnection:
        """The one engine of this source."""
        if not isinstance(self._execution_engine, KeptConnection):
            self._execution_engine = KeptConnection(engine=self.get_engine(), create_temp_table=False)
        return self._execution_engine


def engine(place: str) -> sqlalchemy.Engine:
    """A built file is opened as every command opens it: to read, with no extension fetched, in the schema of the project."""
    if is_postgres(place):
        return sqlalchemy.create_engine(_postgres_url(place), poolclass=NullPool)
    return sqlalchemy.create_engine("duckdb://", creator=lambda: ConnectionWrapper(warehouse.open_built(place)), poolclass=NullPool)


def _postgres_url(text: str) -> sqlalchemy.URL:
    try:
        url = sqlalchemy.make_url(text)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        url = None
    # An @ in a password would make the rest of it a host, which an error then names.
    if url is None or text.partition("?")[0].count("@") > 1:
        raise InputError("--url: is no address of a database; write postgresql://USER@HOST/DATABASE, and in a password %40 for @ and %2F for /")
    return url.set(drivername="postgresql+psycopg2")


def read(place: str, sql: str) -> list[dict[str, Any]]:
    """The rows of a query.

    Raises:
        InputError: the place cannot be read, or does not hold what `dbt build` makes.
    """
    with told(place), engine(place).connect() as connection:
        return [dict(row) for row in connection.execute(sqlalchemy.text(sql)).mappings()]


@contextmanager
def told(place: str) -> Generator[None]:
    """InputError for what a database refuses."""
    try:
        yield
    except sqlalchemy.exc.DBAPIError as error:
        # of the driver's own words the first line: it names a host, a role or a table, and neither the statement nor the password
        words = str(error.orig).strip().partition("\n")[0]
        raise InputError(f"{'--url' if is_postgres(place) else place}: {words}; expected are the tables findings, rule_statuses and stg_build") from error
