"""What dbt itself knows of this project: groups, access, contracts, exposures and texts, and that nothing restricted gets past a governed read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from governed_memory.cli import main

FUNCTIONS = {"table_function", "table_functions"}


@pytest.fixture(scope="module")
def manifest(built: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((built.parent / "manifest.json").read_text(encoding="utf-8"))
    return told


@pytest.fixture(scope="module")
def models(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["name"]: node for node in manifest["nodes"].values() if node["resource_type"] == "model"}


def test_every_public_model_has_a_group_a_grain_and_documented_columns(models: dict[str, dict[str, Any]]) -> None:
    public = [node for node in models.values() if node["access"] == "public"]
    assert len(public) > 25
    for node in public:
        assert node["group"], node["name"]
        assert node["description"].startswith("One row "), node["name"]
        assert node["columns"], node["name"]
        assert [name for name, column in node["columns"].items() if not column["description"]] == [], node["name"]


def test_every_public_model_keeps_a_contract_of_all_its_columns(models: dict[str, dict[str, Any]], built: Path) -> None:
    """A table function is no relation, so dbt cannot hold it to one; tests/reads and pytest hold it to the views it binds."""
    with duckdb.connect(str(built), read_only=True) as connection:
        for node in (node for node in models.values() if node["access"] == "public"):
            is_function = node["config"]["materialized"] in FUNCTIONS
            assert node["contract"]["enforced"] != is_function, node["name"]
            if not is_function:
                types = {name: type_ for name, type_, *_ in connection.execute(f'describe "{node["name"]}"').fetchall()}
                said = {name: column["data_type"] for name, column in node["columns"].items()}
                assert said.keys() == types.keys(), node["name"]
                assert [name for name in said if said[name].lower().replace('"', "") != types[name].lower().replace('"', "")] == [], node["name"]


def test_what_is_private_or_public_says_so_by_its_name(models: dict[str, dict[str, Any]]) -> None:
    assert [name for name, node in models.items() if node["access"] == "public" and name.startswith(("int_", "stg_"))] == []
    assert [name for name, node in models.items() if node["access"] == "private" and not name.startswith(("int_", "stg_"))] == []
    assert [name for name, node in models.items() if not node["group"]] == []


def test_every_audience_is_an_exposure_with_an_owner(manifest: dict[str, Any]) -> None:
    exposures = {node["name"]: node for node in manifest["exposures"].values()}
    assert exposures.keys() == {"analysts", "stewards", "agents", "pipeline"}
    for node in exposures.values():
        assert node["owner"]["name"] and node["owner"]["email"] and node["description"] and node["depends_on"]["nodes"], node["name"]
    assert all(group["owner"]["name"] for group in manifest["groups"].values())


def test_the_database_holds_the_texts_of_public_models(built: Path) -> None:
    with duckdb.connect(str(built), read_only=True) as connection:
        found = connection.execute("select comment from duckdb_columns() where table_name = 'records' and column_name = 'record_id'").fetchall()
        of_views = connection.execute("select comment from duckdb_views() where view_name = 'record_intervals'").fetchall()
    assert found == [("The record's own identifier, exactly as the store spells it; null where it has none.",)]
    assert of_views[0][0].startswith("One row per record")


def test_g7_nothing_restricted_of_this_project_gets_past_a_governed_read(
    manifest: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], built: Path
) -> None:
    file = tmp_path / "manifest.json"
    shutil.copy(built.parent / "manifest.json", file)
    assert main(["lint-disclosure", "--manifest", str(file)]) == 0
    assert ": 0 found, " in capsys.readouterr().out
    histories = json.loads(json.dumps(manifest))
    histories["nodes"]["model.governed_memory.concept_histories"]["columns"]["open_value"]["config"]["meta"] = {}
    histories["nodes"]["model.governed_memory.concept_histories"]["columns"]["open_value"]["meta"] = {}
    file.write_text(json.dumps(histories), encoding="utf-8")
    assert main(["lint-disclosure", "--manifest", str(file)]) == 1
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("value")]
    assert found == [
        f"value       {target}: concept_histories.open_value <- record_intervals_built.value <- record_intervals.value"
        for target in ("exposure.governed_memory.stewards", "model.governed_memory.concept_histories")
    ]
