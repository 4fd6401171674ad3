"""What `dbt docs generate` writes says something about every model, column and public macro, and about nothing that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import pytest

ROOT = dbt_harness.ROOT
# The grain, in the first words; a source is no model of ours and may hold objects.
GRAIN = re.compile(r"One (row|object) ?(per |, )")

# What a table function is called with here; what is not named is a date.
GIVEN = {"words": "['word']", "caller": "'somebody'", "session": "'a session'", "clock": "timestamp '2026-01-01 12:00:00'"}


@pytest.fixture(scope="module")
def manifest(built: Path) -> dict[str, Any]:
    """The documentation of the built project, which the catalogue of its columns stands beside."""
    run = dbt_harness.dbt(built.parent, "docs", "generate")
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads((built.parent / "target/manifest.json").read_text(encoding="utf-8"))


def documented(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """{unique id: node} of every model, seed and source of the project."""
    nodes = {**manifest["nodes"], **manifest["sources"]}
    return {name: node for name, node in nodes.items() if node["resource_type"] in ("model", "seed", "source")}


def actual_columns(built: Path, nodes: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """{unique id: columns there are}: from the catalogue, or for what it leaves out from the file or function itself."""
    catalogue = json.loads((built.parent / "target/catalog.json").read_text(encoding="utf-8"))
    assert not catalogue["errors"]
    columns = {name: list(entry["columns"]) for name, entry in catalogue["nodes"].items()}
    with duckdb.connect(str(built), read_only=True) as connection:
        for name, node in nodes.items():
            if node["resource_type"] == "source":
                keys = f"select distinct unnest(json_keys(json)) from read_json_objects('{ROOT / node['meta']['external_location']}')"
                columns[name] = [key for (key,) in connection.execute(keys).fetchall()]
            elif node["config"]["materialized"] in ("table_function", "table_functions"):
                [way, *_] = node["config"].get("overloads") or [", ".join(node["config"]["parameters"])]
                given = ", ".join(GIVEN.get(parameter.strip(), "date '2026-01-01'") for parameter in way.split(",") if ":=" not in parameter)
                columns[name] = [column for column, *_ in connection.execute(f"describe select * from {node['name']}({given})").fetchall()]
    return columns


def test_every_column_is_documented_and_no_other(manifest: dict[str, Any], built: Path) -> None:
    nodes = documented(manifest)
    actual = actual_columns(built, nodes)
    wrong = {
        name: {"not documented": sorted(set(actual[name]) - told), "not there": sorted(told - set(actual[name]))}
        for name, node in nodes.items()
        if (told := {column for column, entry in node["columns"].items() if entry["description"].strip()}) != set(actual[name])
    }
    assert wrong == {}
    assert len(nodes) > 100


def test_every_description_begins_with_the_grain(manifest: dict[str, Any]) -> None:
    assert [name for name, node in documented(manifest).items() if not GRAIN.match(node["description"])] == []


def test_every_public_macro_and_each_of_its_arguments_is_documented(manifest: dict[str, Any]) -> None:
    """Public are the generic tests and what macros/_macros.yml lists."""
    macros = {macro["name"]: macro for name, macro in manifest["macros"].items() if name.startswith("macro.governed_memory.")}
    public = {name: macro for name, macro in macros.items() if name.startswith("test_") or macro["patch_path"]}
    assert {"relation", "rows_where", "test_references"} <= public.keys()
    for name, macro in public.items():
        assert macro["description"].strip(), name
        [parameters] = re.findall(r"\{%-? *(?:macro|test) +\w+\((.*?)\) *-?%\}", macro["macro_sql"])
        told = {argument["name"] for argument in macro["arguments"] if argument["description"].strip()}
        assert told == set(re.findall(r"(\w+)(?:=[^,]*)?(?:, |$)", parameters)), name
