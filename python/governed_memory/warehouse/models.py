"""The compiled models: one list of name, kind, parameters, what each reads, and SQL, in an order that can be run (rule L4)."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import lru_cache
from importlib import resources
from typing import Any

import duckdb


@lru_cache(maxsize=1)
def compiled() -> dict[str, Any]:
    """The packaged list: {"seeds": {name: {columns, rows}}, "models": [{name, kind, parameters, reads, sql}]}."""
    return json.loads(resources.files(__package__).joinpath("compiled_models.json").read_text(encoding="utf-8"))


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
    unread: Collection[str] = (),
) -> None:
    """Create the named models and all they read, over the staging relations that `attach` has made.

    Args:
        connection: holds stg_store_rows, stg_stores and stg_build.
        targets: models that will be queried.
        empty: models to create without a row, and without what they alone read.
        kinds: {model: 'view' or 'table'} where it should differ from the kind dbt gives it.
        unread: columns of record_rows that no target reads; they are null, and cost nothing.
    """
    kinds = kinds or {}
    by_name = {model["name"]: model for model in compiled()["models"]}
    wanted = _ancestors(by_name, targets, empty)
    for name in sorted(wanted & compiled()["seeds"].keys()):
        _create_seed(connection, name)
    for model in compiled()["models"]:
        name = model["name"]
        if name not in wanted:
            continue
        if name in empty:
            connection.execute(f'create table main."{name}" ({EMPTY_SHAPES[name]})')
        elif model["kind"] == "table_function":
            connection.execute(f'create macro main."{name}"({", ".join(model["parameters"])}) as table {model["sql"]}')
        else:
            kind = kinds.get(name, "view" if model["kind"] == "view" else "table")
            _create_model(connection, name, kind, model["sql"], unread)


def _create_model(connection: duckdb.DuckDBPyConnection, name: str, kind: str, sql: str, unread: Collection[str]) -> None:
    if name != NUMBERED:
        connection.execute(f'create {kind} main."{name}" as {sql}')
        return
    blanks = ", ".join(f"null as {column}" for column in unread)
    connection.execute(f'create table main."{name}__read" as select *{f" replace ({blanks})" if blanks else ""} from ({sql})')
    connection.execute(f'create view main."{name}" as select * replace (rowid + 1 as record_index) from main."{name}__read"')


# Where the rows of a store get their place in it. Counting rows while a file is read would read it in one thread; the table counts anyway.
NUMBERED = "record_rows"

# Models that can be left out of a run, in the columns of their contract.
EMPTY_SHAPES = {
    "record_ledger": "store_id varchar, record_id varchar, fingerprint varchar, first_built_at timestamp, last_built_at timestamp",
    "int_value_offenders": "store_id varchar, record_index bigint, record_id varchar, concept_id varchar, field varchar, rule_id varchar, detail varchar",
}


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
    marks = ", ".join("?" for _ in table["columns"])
    connection.executemany(f'insert into main."{name}" values ({marks})', [[cell or None for cell in row] for row in table["rows"]])
