"""The compiled models: one list of name, kind, parameters, what each reads, and SQL, in an order that can be run (rule L4)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

import duckdb

from governed_memory.warehouse.connection import literal


@lru_cache(maxsize=1)
def compiled() -> dict[str, Any]:
    """The packaged list: {"seeds": {name: {columns, rows}}, "fragments": {name: sql}, "models": [{name, kind, parameters, reads, sql, columns}]}."""
    models: dict[str, Any] = json.loads(resources.files(__package__).joinpath("compiled_models.json").read_text(encoding="utf-8"))
    return models


def columns(model: str) -> dict[str, str]:
    """The columns of a model, {name: type}, in their order."""
    return next(entry["columns"] for entry in compiled()["models"] if entry["name"] == model)


def reading(prefixes: tuple[str, ...]) -> dict[str, list[str]]:
    """{model: what it reads} of the models that read something whose name begins so, or other such models."""
    found: dict[str, list[str]] = {}
    for model in compiled()["models"]:
        if any(name.startswith(prefixes) or name in found for name in model["reads"]):
            found[model["name"]] = model["reads"]
    return found


def derivation(model: str, moved: Collection[str], schema: str) -> str:
    """The SQL of a model, reading what is moved from another schema: how what is new goes through the same model as all there is."""
    sql: str = next(entry["sql"] for entry in compiled()["models"] if entry["name"] == model)
    return re.sub(r'"main"\."(\w+)"', lambda match: f'"{schema}"."{match[1]}"' if match[1] in moved else match[0], sql)


def fragment(name: str, **values: str) -> str:
    """A piece of SQL that staging reads a file by, with SQL in place of each __name__ in it."""
    return re.sub("__([a-z]+)__", lambda match: values[match[1]], compiled()["fragments"][name])


@lru_cache(maxsize=16)
def parsed_fragment(name: str) -> duckdb.Statement:
    """A fragment without blanks to fill, parsed once: for a short answer, parsing is a good part of the time."""
    with duckdb.connect(":memory:") as connection:
        [statement] = connection.extract_statements(fragment(name))
    return statement


def rows_as_sql(model: str, rows: Sequence[Mapping[str, object]]) -> str:
    """A select of these rows in the columns of a model; what a row does not hold is null."""
    types = columns(model)
    held = [", ".join("null" if row.get(name) is None else literal(row[name]) for name in types) for row in rows]
    values = ", ".join(f"({row})" for row in held) or "(" + ", ".join("null" for _ in types) + ")"
    cast = ", ".join(f"{name}::{type_} as {name}" for name, type_ in types.items())
    return f"select {cast} from (values {values}) as given({', '.join(types)}){'' if rows else ' where false'}"


def seed(name: str) -> list[dict[str, str]]:
    """The rows of a profile seed, as text ('' where the seed is blank)."""
    table = compiled()["seeds"][name]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def build(
    connection: duckdb.DuckDBPyConnection,
    targets: Collection[str],
    *,
    empty: Collection[str] = (),
    kinds: dict[str, str] | None = None,
    constants: dict[str, str] | None = None,
    unread: Collection[str] = (),
    given: dict[str, str] | None = None,
) -> None:
    """Create the named models and all they read, over the staging relations that `attach` has made.

    Args:
        connection: holds stg_store_rows, stg_stores and stg_build.
        targets: models that will be queried.
        empty: models to create without a row, and without what they alone read.
        kinds: {model: 'view' or 'table'} where it should differ from the kind dbt gives it.
        constants: {column of record_rows: SQL} for columns that are alike in every row.
        unread: columns of record_rows that the targets do not read; they are null.
        given: {model: SQL} for models whose rows come from elsewhere; what they alone read is not built.
    """
    kinds = kinds or {}
    by_name = {model["name"]: model for model in compiled()["models"]}
    for name, sql in (given or {}).items():
        connection.execute(f'create table main."{name}" as {sql}')
    # A table that is there already, from `attach`, a caller or just now, stands for the model of its name and for what that alone reads.
    supplied = {name for (name,) in connection.execute("select table_name from duckdb_tables() where database_name = current_database()").fetchall()}
    wanted = _ancestors(by_name, targets, {*empty, *supplied}) - supplied
    for name in sorted(wanted & compiled()["seeds"].keys()):
        _create_seed(connection, name)
    for model in compiled()["models"]:
        name = model["name"]
        if name not in wanted:
            continue
        if name == NUMBERED:
            nulls = {column: f"null::{columns(NUMBERED)[column]}" for column in sorted(unread)}
            _create_record_rows(connection, model["sql"], nulls | (constants or {}))
        elif name in empty:
            # a view, not a table: the planner sees that there is nothing and drops every join with it
            connection.execute(f'create view main."{name}" as select {_nulls(model["columns"])} where false')
        elif model["kind"] in FUNCTIONS:
            ways = zip(model["parameters"], model["sql"].split("\n;\n"), strict=True)
            connection.execute(f'create macro main."{name}" ' + ", ".join(f"({parameters}) as table ({sql})" for parameters, sql in ways))
        else:
            kind = kinds.get(name, "view" if model["kind"] == "view" else "table")
            connection.execute(f'create {kind} main."{name}" as {model["sql"]}')


def _create_record_rows(connection: duckdb.DuckDBPyConnection, sql: str, constants: dict[str, str]) -> None:
    left_out = ", ".join({"record_index": "", **constants})
    supplied = "".join(f", {value} as {column}" for column, value in constants.items())
    connection.execute(f'create table main."{NUMBERED}__read" as select * exclude ({left_out}) from ({sql})')
    connection.execute(f'create view main."{NUMBERED}" as select rowid + 1 as record_index, *{supplied} from main."{NUMBERED}__read"')


FUNCTIONS = ("table_function", "table_functions")
# Where the rows of a store get their place in it. Counting rows while a file is read would read it in one thread; the table counts anyway.
NUMBERED = "record_rows"


def _nulls(columns: dict[str, str]) -> str:
    return ", ".join(f"null::{type_} as {name}" for name, type_ in columns.items())


def _ancestors(by_name: dict[str, dict[str, Any]], targets: Collection[str], empty: Collection[str]) -> set[str]:
    wanted: set[str] = set()
    waiting = list(targets)
    while waiting:
        name = waiting.pop()
        if name in wanted:
            continue
        wanted.add(name)
        if name not in empty and name in by_name:
            waiting += by_name[name]["reads"]
    return wanted


def _create_seed(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    table = compiled()["seeds"][name]
    columns = ", ".join(f'"{column}" {type_}' for column, type_ in table["columns"].items())
    connection.execute(f'create table main."{name}" ({columns})')
    cells = ", ".join("(" + ", ".join(literal(cell) if cell else "null" for cell in row) + ")" for row in table["rows"])
    connection.execute(f'insert into main."{name}" values {cells}')
