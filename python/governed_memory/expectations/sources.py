"""Where the findings are, as a GX data source: the DuckDB file that `dbt build` wrote, or a PostgreSQL database."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

import sqlalchemy
from duckdb_engine import ConnectionWrapper
from great_expectations.datasource.fluent import SQLDatasource
from great_expectations.datasource.fluent.interfaces import Batch
from great_expectations.execution_engine import SqlAlchemyExecutionEngine

from governed_memory import warehouse


class KeptConnection(SqlAlchemyExecutionEngine):
    """Runs all queries on one connection: GX closes a connection before it reads the result, and a DuckDB result dies with its connection."""

    @contextmanager
    def get_connection(self) -> Generator[sqlalchemy.Connection, None, None]:
        """The one connection."""
        if self._connection is None:
            self._connection = self.engine.connect()
        yield self._connection


class BuiltDatabase(SQLDatasource):
    """The built DuckDB file, opened as every other command opens it: to read, with no extension fetched, in the project's schema."""

    type: Literal["governed_memory"] = "governed_memory"

    def _create_engine(self) -> sqlalchemy.Engine:
        return sqlalchemy.create_engine("duckdb://", creator=lambda: ConnectionWrapper(warehouse.open_built(self.connection_string)))

    def get_execution_engine(self) -> KeptConnection:
        if self._execution_engine is None:
            self._execution_engine = KeptConnection(engine=self.get_engine())
        return self._execution_engine
