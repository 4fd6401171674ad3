"""A store that a dbt project has attached, found by its name in the database that `dbt build` wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.warehouse.connection import built_path, open_built, rows
from governed_memory.warehouse.store_file import StoreFile


def attached_store(name: str, database: str | None = None) -> StoreFile:
    """Where the rows of an attached store are and how they read, as the last build knew.

    Args:
        name: the store's name in the project's vars.
        database: the built database; by default the one GMEM_DATABASE names.

    Raises:
        InputError: the database cannot be read, it knows no such store, or the rows are not in a file or table that can be named.
    """
    path = str(built_path(database))
    with open_built(path, store_id=name) as connection:
        [entry] = rows(connection, "select * from stores where store_id = $store", {"store": name})
    return StoreFile(
        _place(name, entry["location"], path),
        json.loads(entry["column_mapping"]),
        entry["policy_id"],
        entry["zone"],
        name,
        entry["target_level"],
        entry["is_valid_to_exclusive"],
        entry["is_null_end_open"],
        tuple(entry["open_markers"]),
        path,
        attests_writers=entry["attests_writers"],
    )


def _place(name: str, location: str, database: str) -> str:
    if file := re.fullmatch(r"'([^']+)'", location):
        path = Path(file[1])
        # A pattern over part files names their folder.
        return str(path.parent if path.name == "*.parquet" else path)
    if table := re.fullmatch(r'"([^"]+)"\."([^"]+)"', location):
        return f"{database}::{table[1]}.{table[2]}"
    if plugin := re.fullmatch(r"(\w+)\((\w+), (.+)\)", location):
        raise InputError(
            f"store {name!r}: the plugin {plugin[1]!r} reads it as {plugin[2]} from {plugin[3]}; change it there with the tools of that form, "
            f"or convert it with `gmem convert {plugin[3]} --from {plugin[2]} --to relational --out FILE.jsonl` and attach the file"
        )
    raise InputError(f"store {name!r}: its rows come from {location}; name the file or FILE.duckdb::TABLE itself with --store")
