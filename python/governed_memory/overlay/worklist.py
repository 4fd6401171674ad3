"""What waits for stewards, and what was done about it (rules L5, L6). What is open, hidden or done is the models' to say; here entries are added."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.dates import day, instant
from governed_memory.errors import InputError
from governed_memory.warehouse import register_file
from governed_memory.warehouse.connection import built_path

REGISTER = "steward_actions"
TRACE = f"stg_{REGISTER}"
# Characters of an item's name that people see and write.
SHOWN = 10
LEAST = 4


def trace_file(given: str | None, database: str | None) -> Path:
    """The file that keeps what was done about items.

    Raises:
        InputError: none is given, and the project attaches none.
    """
    return register_file.register_file(REGISTER, given, database)


def attached_trace(database: str | None) -> Path | None:
    """The file that the project attaches for it; None where it attaches none.

    Raises:
        InputError: there is no built database, or the file is not found from here.
    """
    place = register_file.register_files(database).get(REGISTER)
    return None if place is None else register_file.attached_file(REGISTER, place)


def open_worklist(database: str | None, trace: Path | None) -> duckdb.DuckDBPyConnection:
    """The items of the last build that found any or none, with what the trace says by now, as the models steward_items and steward_worklist.

    `last_build` is there too: of a build that stopped early the items are those of an earlier one.

    Args:
        database: the built database.
        trace: the file; without one the trace is as the last build read it.

    Raises:
        InputError: there is no built database, it was built by an earlier version, or the trace cannot be read.
    """
    connection = warehouse.open_memory()
    built = warehouse.attach_built(connection, database)
    actions = f"select * from {built}.{TRACE}" if trace is None else warehouse.rows_as_sql(TRACE, _actions(trace))
    kept = {name: f"select * from {built}.{name}" for name in ("int_steward_items", "int_worklist_build")}
    try:
        connection.execute(f"create table last_build as select * from {built}.stg_build")
        warehouse.build(connection, {"steward_worklist"}, given={TRACE: actions, **kept})
    except duckdb.CatalogException as error:
        raise InputError(f"{built_path(database)}: holds no worklist; build it again with `dbt build`") from error
    return connection


def of_an_earlier_build(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """A notice where the last build did not come to the items, so that those of an earlier one are shown.

    Args:
        connection: as `open_worklist` gives it.
    """
    sql = "select last.built_at as last_at, items.built_at from last_build as last cross join int_worklist_build as items where items.built_at < last.built_at"
    return [
        f"the build of {found['last_at']} (UTC) stopped before it made this list, or left it out; it is that of {found['built_at']}. "
        "Mend what `dbt build` names and build again"
        for found in warehouse.rows(connection, sql)
    ]


def _actions(trace: Path) -> list[dict[str, Any]]:
    columns = warehouse.columns(TRACE)
    entries = register_file.read_entries(trace, columns)
    for entry in entries:
        # A database also knows days without an end, until which nothing would ever come back.
        for name, expected in (("snoozed_until", day), ("acted_at", instant)):
            if entry.said.get(name) is not None:
                expected(f"{trace}, entry {entry.number}: {name}", entry.said[name])
    return [{**{name: entry.said.get(name) for name in columns}, "entry_number": entry.number} for entry in entries]


def items(
    connection: duckdb.DuckDBPyConnection, *, with_snoozed: bool = False, kind: str | None = None, store: str | None = None, party: str | None = None
) -> list[dict[str, Any]]:
    """The items that wait, what must be mended first and what most answers rest on before the rest.

    Args:
        connection: as `open_worklist` gives it.
        with_snoozed: also those that are hidden.
        kind: only these.
        store: only of this store.
        party: only what this party must do, or what was assigned to it.
    """
    return warehouse.rows(
        connection,
        """select * from steward_items
        where (not is_snoozed or $with_snoozed) and coalesce(kind = $kind, true) and coalesce(store_id = $store, $store is null)
        and coalesce(coalesce(assigned_to, party_id) = $party, $party is null)
        order by
            coalesce(requirement <> 'MUST', kind <> 'conflict'), affected_answers desc, level,
            store_id, kind, rule_id, concept_id, record_id, detail, item_id""",
        {"with_snoozed": with_snoozed, "kind": kind, "store": store, "party": party},
    )


def known_names(connection: duckdb.DuckDBPyConnection, database: str | None) -> tuple[list[str], list[str]]:
    """The stores of the last build, and the parties: of its registers, its stores, its items and the trace.

    Raises:
        InputError: there is no built database.
    """
    with warehouse.open_built(database) as built:
        stores = warehouse.rows(built, "select store_id as name from stores order by 1")
        parties = warehouse.rows(
            built, "select party_id as name from parties union select party_id from concept_ownerships union select steward_party from stores"
        )
    parties += warehouse.rows(connection, "select party_id as name from steward_items union select assigned_to from steward_items")
    return [row["name"] for row in stores], sorted({row["name"] for row in parties if row["name"] is not None})


def named(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> list[str]:
    """The items that these beginnings of their names mean.

    Raises:
        InputError: one means no open item, or several.
    """
    found = []
    for name in names:
        if len(name) < LEAST:
            raise InputError(f"item {name!r}: write at least {LEAST} characters of its name, as `gmem worklist list` shows it")
        meant = warehouse.rows(connection, "select item_id from steward_items where starts_with(item_id, $name) order by 1 limit 2", {"name": name.lower()})
        if len(meant) != 1:
            what = "several open items begin so; write more of it" if meant else "no open item begins so; `gmem worklist list --all` shows them"
            raise InputError(f"item {name!r}: {what}")
        found.append(str(meant[0]["item_id"]))
    return list(dict.fromkeys(found))


def note(trace: Path, item_ids: Sequence[str], action: str, *, by: str, because: str | None = None, **told: str | None) -> None:
    """Append one entry for each item, all or none.

    Raises:
        InputError: the trace cannot be written.
    """
    at = register_file.now()
    entries = [{"item_id": item, "action": action, **told, "reason": because, "acted_by": by, "acted_at": at} for item in item_ids]
    register_file.append_entry(trace, entries)


def history(trace: Path, beginning: str = "") -> list[dict[str, Any]]:
    """What was done, in the order of the trace, also about items that are no longer open.

    Raises:
        InputError: the trace cannot be read.
    """
    return [action for action in _actions(trace) if str(action["item_id"]).startswith(beginning.lower())]
