"""Attach one store file: the staging relations that the compiled models read, over the file as it is.

The counterpart, for a file, of what models/staging does for the stores of a dbt project.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import duckdb

from governed_memory.errors import InputError, did_you_mean
from governed_memory.warehouse.connection import attach_built, literal, open_memory
from governed_memory.warehouse.diagnose import expect_whole, explain_unreadable
from governed_memory.warehouse.models import build, compiled
from governed_memory.warehouse.raw_records import KEPT
from governed_memory.warehouse.readers import (
    column_as_json,
    column_reader,
    csv_delimiter,
    csv_header,
    json_objects,
    json_options,
    json_path,
    name_text,
    path_text,
    within_a_record_limit,
)
from governed_memory.warehouse.store_file import CSV, HELD_AS, JSON_ARRAY, JSON_LINES, LIST_ROLES, ROLES, StoreFile

UTC = "UTC"
# The keys of a line in which the host says who wrote the record that it holds (T8).
ENVELOPES = ({"record"}, {"record", "written_by"})


@dataclass(frozen=True, slots=True)
class Attached:
    """What attaching found out.

    Attributes:
        notices: for the user, one line each.
        constants: {column of record_rows: SQL} for columns that are the same in every row of this store.
        is_enveloped: whether each line holds a record and who wrote it.
        is_from_columns: whether the file is a table of columns, in which a missing key and a null look the same.
    """

    notices: list[str]
    constants: dict[str, str]
    is_enveloped: bool = False
    is_from_columns: bool = False


def attach(connection: duckdb.DuckDBPyConnection, store: StoreFile, *, on_date: datetime.date | None = None, keeps_rows: bool = False) -> Attached:
    """Make stg_stores, stg_build and stg_store_rows for one store file.

    Args:
        connection: an in-memory database.
        store: the file and how it reads.
        on_date: the date that checks use; today if not given.
        keeps_rows: hold the rows as the file has them in a table KEPT, from which all else is then read: see `kept_records`.

    Returns:
        Notices, and what is known of every row without reading it again.

    Raises:
        InputError: the file cannot be read as records, or a mapped column is not in it.
    """
    if store.built:
        _copy_registers(connection, store)
    else:
        connection.execute(f"create table stg_stores as select {_store_entry(store)}")
    day = on_date or datetime.datetime.now(tz=datetime.UTC).date()
    connection.execute("create table stg_build as select $day::date as on_date, $day::timestamp as built_at", {"day": day.isoformat()})
    kind = store.format()
    expect_whole(store, kind)
    _expect_zone(connection, store.zone)
    try:
        if kind in (JSON_LINES, JSON_ARRAY):
            return _attach_json(connection, store, kind, keeps_rows)
        return _attach_columns(connection, store, kind, keeps_rows)
    except duckdb.Error as error:
        raise explain_unreadable(store, kind, error) from error


def open_store_file(
    store: StoreFile, targets: Collection[str], *, empty: Collection[str] = (), keeps_rows: bool = False, **options: Any
) -> tuple[duckdb.DuckDBPyConnection, Attached]:
    """A store file in a database of its own, with the models that will be queried. The file is read here, once.

    Args:
        store: the file and how it reads.
        targets: models that will be queried.
        empty: models to create without a row; record_ledger always is, since no build has seen a file.
        keeps_rows: as `attach` has it.
        options: further options of `build`; constants are found out here.

    Raises:
        InputError: the file cannot be read as records, or a mapped column is not in it.
    """
    connection = open_memory()
    attached = attach(connection, store, keeps_rows=keeps_rows)
    try:
        build(connection, targets, empty={"record_ledger", *empty}, constants=attached.constants, **options)
    except duckdb.Error as error:
        raise explain_unreadable(store, store.format(), error) from error
    return connection, attached


def _expect_zone(connection: duckdb.DuckDBPyConnection, zone: str) -> None:
    if zone == UTC:
        return
    known = [name for (name,) in connection.execute("select name from pg_timezone_names()").fetchall()]
    if zone not in known:
        raise InputError(f"zone: {zone!r} is no time zone; {did_you_mean(zone, known) or 'expected a name such as Europe/Berlin'}")


def _store_entry(store: StoreFile) -> str:
    given = {
        "store_id": literal(store.store_id),
        "form": "'relational'",
        "target_level": str(store.target_level),
        "policy_id": literal(store.policy_id) if store.policy_id else "null::varchar",
        "attests_writers": str(store.attests_writers).lower(),
        "steward_party": "null::varchar",
        "steward_role": "null::varchar",
        "location": literal(store.path),
        "column_mapping": literal(json.dumps(store.mapping, sort_keys=True)),
    }
    return ", ".join(f"{value} as {name}" for name, value in given.items()) + f", {_reading(store)}"


def _reading(store: StoreFile) -> str:
    return (
        f"{str(store.is_valid_to_exclusive).lower()} as is_valid_to_exclusive, {str(store.is_null_end_open).lower()} as is_null_end_open, "
        f"{literal(store.zone)} as zone, {_markers(store)} as open_markers"
    )


def _markers(store: StoreFile) -> str:
    return "[" + ", ".join(map(literal, store.open_markers)) + "]::varchar[]"


def _copy_registers(connection: duckdb.DuckDBPyConnection, store: StoreFile) -> None:
    """The entry of an attached store and the project's registers, as the last build left them."""
    built = attach_built(connection, store.built)
    for name in ("stg_stores", *compiled()["registers"]):
        connection.execute(f'create table "{name}" as select * from {built}."{name}"')
    connection.execute("delete from stg_stores where store_id <> $store", {"store": store.store_id})
    connection.execute("detach built")


def _attach_json(connection: duckdb.DuckDBPyConnection, store: StoreFile, kind: str, keeps_rows: bool) -> Attached:
    if keeps_rows:
        within_a_record_limit(lambda limit: connection.execute(f"create table {KEPT} as select json from {json_objects(store, kind, limit)}"))
    limit, shapes = within_a_record_limit(lambda limit: (limit, _key_shapes(connection, KEPT if keeps_rows else json_objects(store, kind, limit))))
    objects = KEPT if keeps_rows else json_objects(store, kind, limit)
    is_enveloped = bool(shapes) and all(set(shape) in ENVELOPES for shape in shapes)
    if is_enveloped:
        objects = f"(select json -> 'record' as json, json -> 'written_by' as writer from {objects})"
        shapes = _key_shapes(connection, objects)
        connection.execute("update stg_stores set attests_writers = true")
    seen = {key for shape in shapes for key in shape}
    keys = sorted(seen.intersection(store.columns.values()))
    valid_to = store.columns["valid_to"]
    uniform = all(valid_to in shape and len(shape) == len(set(shape)) for shape in shapes)
    folded = [key.casefold() for key in keys]
    if keys and all(keys) and uniform and len(set(folded)) == len(folded) and not is_enveloped and not keeps_rows:
        types = ", ".join(f"{literal(key)}: 'JSON'" for key in keys)
        reader = f"read_json({path_text(store)}, {json_options(kind, limit)}, columns = {{{types}}})"
        picked = {key: name_text(key) for key in keys}
        flags = "true as is_valid_to_stated, false as has_repeated_key"
    else:
        paths = ", ".join(literal(json_path(key)) for key in keys)
        reader = f"(select *, json_extract(json, [{paths}]) as fields from {objects})"
        picked = {key: f"fields[{place}]" for place, key in enumerate(keys, start=1)}
        repeats = "len(json_keys(json)) <> len(list_distinct(json_keys(json)))"
        flags = f"json_exists(json, {literal(json_path(valid_to))}) as is_valid_to_stated, {repeats} as has_repeated_key"
    held = {role: picked[key] for role, key in store.columns.items() if key in picked} | ({"written_by": "writer"} if is_enveloped else {})
    roles = ", ".join(f"{held.get(role, 'null::json')} as {role}" for role in ROLES)
    _stage(connection, store, f"{flags}, false as is_from_columns", roles, reader)
    notices = [_unmapped(store, role, key, seen) for role, key in store.mapping.items() if key not in seen and seen]
    absent = [role for role, key in store.columns.items() if key not in seen and role not in held]
    return Attached(notices, _constants(store, absent) | ({"has_repeated_key": "false"} if uniform else {}), is_enveloped)


def _stage(connection: duckdb.DuckDBPyConnection, store: StoreFile, flags: str, roles: str, reader: str) -> None:
    # A view: the file is read once, by record_rows, which also numbers the rows (warehouse.models.NUMBERED).
    connection.execute(
        f"create view stg_store_rows as select {literal(store.store_id)} as store_id, null::bigint as record_index, "
        f"{flags}, {_reading(store)}, {roles} from {reader}"
    )


def _key_shapes(connection: duckdb.DuckDBPyConnection, objects: str) -> list[list[str]]:
    """The sets of keys that occur: few, and enough to know whether every record states its end and none repeats a key."""
    shapes = connection.execute(f"select any_value(keys) from (select json_keys(json) as keys from {objects}) group by hash(keys)").fetchall()
    keyless = any(not shape for (shape,) in shapes)
    if keyless and connection.execute(f"select 1 from {objects} where json_type(json) <> 'OBJECT' limit 1").fetchone():
        raise duckdb.InvalidInputException("not every record is a JSON object")
    return [shape or [] for (shape,) in shapes]


def _attach_columns(connection: duckdb.DuckDBPyConnection, store: StoreFile, kind: str, keeps_rows: bool) -> Attached:
    reader = column_reader(connection, store, kind)
    if keeps_rows:
        connection.execute(f"create table {KEPT} as select * from {reader}")
        reader = KEPT
    found = {name: type_ for name, type_, *_ in connection.execute(f"describe select * from {reader}").fetchall()}
    for role, column in store.mapping.items():
        if column not in found:
            hint = did_you_mean(column, found) or f"its columns are {', '.join(found)}"
            raise InputError(f"{store.path}: has no column {column!r}, which --map gives for {role}; {hint}")
    if kind == CSV:
        _refuse_shared_names(connection, store)
    held = {role: column for role, column in store.columns.items() if column in found}
    values = {role: column_as_json(role, column, found[column]) for role, column in held.items()}
    roles = ", ".join(f"{values.get(role, 'null::json')} as {role}" for role in ROLES)
    stated = str("valid_to" in held).lower()
    _stage(connection, store, f"{stated} as is_valid_to_stated, false as has_repeated_key, true as is_from_columns", roles, reader)
    absent = [role for role in store.columns if role not in held]
    return Attached([], _constants(store, absent) | {"has_repeated_key": "false"}, is_from_columns=True)


def _refuse_shared_names(connection: duckdb.DuckDBPyConnection, store: StoreFile) -> None:
    """Two columns of one name, in any case: DuckDB would rename the second, and read the first."""
    header, _ = csv_header(store, csv_delimiter(connection, store))
    names = [name.casefold() for name in header]
    for role, column in store.columns.items():
        if names.count(column.casefold()) > 1:
            raise InputError(f"{store.path}: has {names.count(column.casefold())} columns named {column!r}, and {role} is read from one; rename the others")


def _constants(store: StoreFile, absent: Iterable[str]) -> dict[str, str]:
    """The columns of record_rows that need no reading: the store's name, and the roles it does not hold."""
    kinds = {role: "varchar[]" for role in LIST_ROLES} | {"recorded_at": "timestamp"}
    # Presence and dates are worked out from these three in columns of their own.
    plain = [role for role in absent if role not in ("record_id", "valid_from", "valid_to")]
    nulls = {HELD_AS.get(role, role): f"null::{kinds.get(role, 'varchar')}" for role in plain}
    return {"store_id": literal(store.store_id), "open_markers": _markers(store), **nulls}


def _unmapped(store: StoreFile, role: str, key: str, seen: set[str]) -> str:
    text = f"{store.path}: no record has the key {key!r}, which --map gives for {role}; every record counts as missing it"
    return "; ".join(filter(None, [text, did_you_mean(key, seen)]))
