"""Attach one store file: the staging relations that the compiled models read, over the file as it is.

The counterpart, for a file, of what models/staging does for the stores of a dbt project.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import duckdb

from governed_memory.errors import InputError, did_you_mean
from governed_memory.warehouse.connection import literal, open_memory
from governed_memory.warehouse.diagnose import explain_unreadable
from governed_memory.warehouse.models import build
from governed_memory.warehouse.store_file import CSV, DUCKDB, JSON_ARRAY, JSON_LINES, LIST_ROLES, PARQUET, ROLES, StoreFile

# Bytes that one record may have. DuckDB reads twice this at a time, so the usual limit lets it read a file in parallel; the second
# is tried only where a record needs it.
RECORD_LIMITS = (16 * 1024 * 1024, 512 * 1024 * 1024)

TABLES = """
    select table_name from duckdb_tables() where database_name = 'attached'
    union all
    select view_name from duckdb_views() where database_name = 'attached' and not internal
    order by 1"""


@dataclass(frozen=True, slots=True)
class Attached:
    """What attaching found out.

    Attributes:
        notices: for the user, one line each.
        constants: {column of record_rows: SQL} for columns that are the same in every row of this store.
    """

    notices: list[str]
    constants: dict[str, str]


def attach(connection: duckdb.DuckDBPyConnection, store: StoreFile, *, on_date: datetime.date | None = None) -> Attached:
    """Make stg_stores, stg_build and stg_store_rows for one store file.

    Args:
        connection: an in-memory database.
        store: the file and how it reads.
        on_date: the date that checks use; today if not given.

    Returns:
        Notices, and what is known of every row without reading it again.

    Raises:
        InputError: the file cannot be read as records, or a mapped column is not in it.
    """
    connection.execute(
        """create table stg_stores as select $store as store_id, 'relational' as form, $level as target_level, $policy::varchar as policy_id,
        false as is_valid_to_exclusive, true as is_null_end_open, $zone as zone, false as attests_writers,
        null::varchar as steward_party, null::varchar as steward_role, []::varchar[] as open_markers""",
        {"store": store.store_id, "level": store.target_level, "policy": store.policy_id, "zone": store.zone},
    )
    day = on_date or datetime.datetime.now(tz=datetime.UTC).date()
    connection.execute("create table stg_build as select $day::date as on_date, $day::timestamp as built_at", {"day": day.isoformat()})
    kind = store.format()
    try:
        if kind in (JSON_LINES, JSON_ARRAY):
            return _attach_json(connection, store, kind)
        return _attach_columns(connection, store, kind)
    except duckdb.Error as error:
        raise explain_unreadable(store, kind, error) from error


def open_store_file(store: StoreFile, targets: Collection[str], **options: Any) -> tuple[duckdb.DuckDBPyConnection, Attached]:
    """A store file in a database of its own, with the models that will be queried. The file is read here, once.

    Args:
        store: the file and how it reads.
        targets: models that will be queried.
        options: options of `build` other than constants, which are found out here.

    Raises:
        InputError: the file cannot be read as records, or a mapped column is not in it.
    """
    connection = open_memory()
    attached = attach(connection, store)
    try:
        build(connection, targets, constants=attached.constants, **options)
    except duckdb.Error as error:
        raise explain_unreadable(store, store.format(), error) from error
    return connection, attached


def file_reader(connection: duckdb.DuckDBPyConnection, store: StoreFile, kind: str) -> str:
    """The SQL that reads a file's rows: one `json` column for JSON, its own columns otherwise."""
    if kind in (JSON_LINES, JSON_ARRAY):
        return f"read_json_objects({_path_text(store)}, {_json_options(connection, store, kind)[0]})"
    return _column_reader(connection, store, kind)


def _json_options(connection: duckdb.DuckDBPyConnection, store: StoreFile, kind: str) -> tuple[str, list[list[str]]]:
    """The reader's options, with the record limit the file needs, and the sets of keys that occur."""
    shape = "array" if kind == JSON_ARRAY else "newline_delimited"
    for limit in RECORD_LIMITS:
        options = f"format = '{shape}', maximum_object_size = {limit}"
        try:
            return options, _key_shapes(connection, store, options)
        except duckdb.InvalidInputException as error:
            if "maximum_object_size" not in str(error) or limit == RECORD_LIMITS[-1]:
                raise
    raise AssertionError("unreachable: the last limit returns or raises")


def _attach_json(connection: duckdb.DuckDBPyConnection, store: StoreFile, kind: str) -> Attached:
    options, shapes = _json_options(connection, store, kind)
    objects = f"read_json_objects({_path_text(store)}, {options})"
    seen = {key for shape in shapes for key in shape}
    keys = sorted(seen.intersection(store.columns.values()))
    valid_to = store.columns["valid_to"]
    uniform = all(valid_to in shape and len(shape) == len(set(shape)) for shape in shapes)
    folded = [key.casefold() for key in keys]
    if keys and all(keys) and uniform and len(set(folded)) == len(folded):
        types = ", ".join(f"{literal(key)}: 'JSON'" for key in keys)
        reader = f"read_json({_path_text(store)}, {options}, columns = {{{types}}})"
        picked = {key: _name(key) for key in keys}
        flags = "true as is_valid_to_stated, false as has_repeated_key"
    else:
        paths = ", ".join(literal(_path(key)) for key in keys)
        reader = f"(select json, json_extract(json, [{paths}]) as fields from {objects})"
        picked = {key: f"fields[{place}]" for place, key in enumerate(keys, start=1)}
        repeats = "len(json_keys(json)) <> len(list_distinct(json_keys(json)))"
        flags = f"json_exists(json, {literal(_path(valid_to))}) as is_valid_to_stated, {repeats} as has_repeated_key"
    roles = ", ".join(f"{picked.get(store.columns.get(role, ''), 'null::json')} as {role}" for role in ROLES)
    _stage(connection, store, f"{flags}, false as is_from_columns", roles, reader)
    notices = [_unmapped(store, role, key, seen) for role, key in store.mapping.items() if key not in seen and seen]
    return Attached(
        notices, _constants(store, (role for role, key in store.columns.items() if key not in seen)) | ({"has_repeated_key": "false"} if uniform else {})
    )


def _stage(connection: duckdb.DuckDBPyConnection, store: StoreFile, flags: str, roles: str, reader: str) -> None:
    # A view: the file is read once, by record_rows, which also numbers the rows (warehouse.models.NUMBERED).
    reading = f"false as is_valid_to_exclusive, true as is_null_end_open, {literal(store.zone)} as zone, []::varchar[] as open_markers"
    connection.execute(
        f"create view stg_store_rows as select {literal(store.store_id)} as store_id, null::bigint as record_index, {flags}, {reading}, {roles} from {reader}"
    )


def _key_shapes(connection: duckdb.DuckDBPyConnection, store: StoreFile, options: str) -> list[list[str]]:
    """The sets of keys that occur: few, and enough to know whether every record states its end and none repeats a key."""
    objects = f"read_json_objects({_path_text(store)}, {options})"
    shapes = connection.execute(f"select any_value(keys) from (select json_keys(json) as keys from {objects}) group by hash(keys)").fetchall()
    keyless = any(not shape for (shape,) in shapes)
    if keyless and connection.execute(f"select 1 from {objects} where json_type(json) <> 'OBJECT' limit 1").fetchone():
        raise duckdb.InvalidInputException("not every record is a JSON object")
    return [shape or [] for (shape,) in shapes]


def _attach_columns(connection: duckdb.DuckDBPyConnection, store: StoreFile, kind: str) -> Attached:
    reader = _column_reader(connection, store, kind)
    found = {name: type_ for name, type_, *_ in connection.execute(f"describe select * from {reader}").fetchall()}
    for role, column in store.mapping.items():
        if column not in found:
            hint = did_you_mean(column, found) or f"its columns are {', '.join(found)}"
            raise InputError(f"{store.path}: has no column {column!r}, which --map gives for {role}; {hint}")
    roles = ", ".join(
        f"{_column_as_json(role, store.columns[role], found[store.columns[role]])} as {role}" if store.columns.get(role) in found else f"null::json as {role}"
        for role in ROLES
    )
    stated = str(store.columns["valid_to"] in found).lower()
    _stage(connection, store, f"{stated} as is_valid_to_stated, false as has_repeated_key, true as is_from_columns", roles, reader)
    return Attached([], _constants(store, (role for role, column in store.columns.items() if column not in found)) | {"has_repeated_key": "false"})


def _constants(store: StoreFile, absent: Iterable[str]) -> dict[str, str]:
    """The columns of record_rows that need no reading: the store's name, and the roles it does not hold."""
    held_elsewhere = {"concept": "concept_id", "source": "source_id"}
    kinds = {role: "varchar[]" for role in LIST_ROLES} | {"recorded_at": "timestamp"}
    # Presence and dates are worked out from these three in columns of their own.
    plain = [role for role in absent if role not in ("record_id", "valid_from", "valid_to")]
    nulls = {held_elsewhere.get(role, role): f"null::{kinds.get(role, 'varchar')}" for role in plain}
    return {"store_id": literal(store.store_id), "open_markers": "[]::varchar[]", **nulls}


def _column_reader(connection: duckdb.DuckDBPyConnection, store: StoreFile, kind: str) -> str:
    if kind == CSV:
        # Everything stated: a reader that guesses drops rows of another length, and types that turn 0012 into 12.
        dialect = f"delim = {literal(store.delimiter())}, quote = '\"', escape = '\"', header = true, all_varchar = true, strict_mode = true, skip = 0"
        return f"read_csv({_path_text(store)}, {dialect}, max_line_size = {RECORD_LIMITS[0]}, hive_partitioning = false)"
    if kind == PARQUET:
        return f"read_parquet({_path_text(store)}, hive_partitioning = false)"
    assert kind == DUCKDB
    connection.execute(f"attach {literal(store.file)} as attached (read_only)")
    tables = [row[0] for row in connection.execute(TABLES).fetchall()]
    if store.table is None and len(tables) != 1:
        raise InputError(f"{store.file}: holds {len(tables)} tables; name one as {store.file}::TABLE ({', '.join(tables[:8]) or 'it has none'})")
    table = store.table or tables[0]
    if table.rpartition(".")[2] not in tables:
        raise InputError(f"{store.file}: has no table {table!r}; it has {', '.join(tables) or 'none'}")
    return "attached." + ".".join(_name(part) for part in table.split("."))


def _column_as_json(role: str, column: str, type_: str) -> str:
    """As the macro column_as_json: text that says null is missing, except as an end, where a rule reports it (C09)."""
    name = _name(column)
    if type_ != "VARCHAR" or role == "valid_to":
        return f"to_json({name})"
    text = f"to_json(nullif(nullif({name}, 'null'), 'NULL'))"
    return f"coalesce(to_json(try_cast({name} as varchar[])), {text})" if role in LIST_ROLES else text


def _unmapped(store: StoreFile, role: str, key: str, seen: set[str]) -> str:
    text = f"{store.path}: no record has the key {key!r}, which --map gives for {role}; every record counts as missing it"
    return "; ".join(filter(None, [text, did_you_mean(key, seen)]))


def _path_text(store: StoreFile) -> str:
    """The path as a reader takes it: with no character that would make it a pattern."""
    return literal(re.sub(r"([*?\[])", r"[\1]", str(store.file)))


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _path(key: str) -> str:
    return '$."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
