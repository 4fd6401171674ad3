"""The project as a package in somebody else's: integration_tests/ is copied with it, installed and built as its users would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from governed_memory.cli import main

ROOT = Path(__file__).parents[2]
PACKAGE = ["dbt_project.yml", "analyses", "macros", "models", "seeds", "tests"]
RULE = "models/rules/values/concept_missing.sql"
NO_TESTS = ["--exclude-resource-type", "test", "unit_test"]


class Guest:
    """A copy of one integration project, with the package in the place where its packages.yml expects it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / "integration_tests" / name
        self.package = folder
        for part in PACKAGE:
            source = ROOT / part
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / part)
        left_out = shutil.ignore_patterns("target", "logs", "dbt_packages", "*.duckdb", "package-lock.yml")
        shutil.copytree(ROOT / "integration_tests" / name, self.folder, ignore=left_out)
        self.dbt("deps")

    def dbt(self, *arguments: str, fails: bool = False, **environment: str) -> str:
        """What dbt prints. A proxy that does not answer stands for a machine without a network."""
        run = subprocess.run(
            [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--quiet", "--no-use-colors", *arguments],
            cwd=self.folder, env={**os.environ, "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", **environment},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (run.returncode != 0) == fails, run.stdout + run.stderr
        return run.stdout + run.stderr

    def rewrite(self, file: Path | str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{path} does not hold {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def listed(self, *arguments: str) -> set[str]:
        """The names of models, seeds and sources that dbt lists. A target path of its own leaves the parsed project of the build as it is."""
        return set(self.dbt("ls", *NO_TESTS, "--output", "name", *arguments).split())


@pytest.fixture(scope="module")
def orchard(tmp_path_factory: pytest.TempPathFactory) -> Guest:
    """The project with stores, registers, schemas and names of its own, wholly built."""
    guest = Guest(tmp_path_factory.mktemp("own"), "own_project")
    guest.dbt("build", "--exclude-resource-type", "unit_test")
    shutil.copytree(guest.folder / "target", guest.folder / "state")
    return guest


@pytest.fixture
def restored(orchard: Guest) -> Iterator[Guest]:
    """The same, its settings and data put back afterwards."""
    places = ["*.yml", "data/*", "models/*", f"../../{RULE}"]
    kept = {path: path.read_bytes() for place in places for path in orchard.folder.glob(place)}
    yield orchard
    for path, content in kept.items():
        path.write_bytes(content)


def query(database: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_a_guest_gets_its_own_stores_in_its_own_schemas(orchard: Guest) -> None:
    built = orchard.folder / "orchard.duckdb"
    assert dict(query(built, "select store_id, count(*) from governance.records group by all")) == {"prices": 3, "spray_limits": 2, "labels": 2}
    assert query(built, "select record_id from governance.records where store_id = 'spray_limits' order by 1") == [("0012",), ("0013",)]
    assert query(built, "select valid_to from governance.records where record_id = '0012'")[0][0].isoformat() == "2026-08-31"
    relations = "select schema_name, table_name from duckdb_tables() union all select schema_name, view_name from duckdb_views() where not internal"
    found = query(built, relations)
    assert {schema for schema, _ in found} == {"governance", "memory", "raw", "shop"}
    assert not [name for _, name in found if str(name).startswith("example_")]


def test_a_guests_models_read_what_holds(orchard: Guest) -> None:
    built = orchard.folder / "orchard.duckdb"
    assert query(built, "from shop.price_tags") == [("apple_price", "2.30 a kilo")]
    in_july = "select record_id from shop.summer_rules order by record_id"
    assert [row[0] for row in query(built, in_july)] == ["0012", "L-1", "L-2", "P-1", "P-3"]


def test_a_guests_registers_are_mapped_whatever_they_are_called(orchard: Guest) -> None:
    built = orchard.folder / "orchard.duckdb"
    owners = "select distinct party_id, party_role from governance.findings where concept_id = 'apple_spraying'"
    assert query(built, owners) == [("growing", "Head Grower")]


def test_l4_nothing_compiled_names_the_guests_database(orchard: Guest) -> None:
    files = sorted((orchard.folder / "target/compiled/governed_memory/models").rglob("*.sql"))
    models = [file for file in files if ".yml" not in str(file.parent)]
    assert len(models) > 80
    assert [file.name for file in models if '"orchard"' in file.read_text(encoding="utf-8")] == []


def test_gmem_reads_a_guests_database(orchard: Guest, capsys: pytest.CaptureFixture[str]) -> None:
    built = str(orchard.folder / "orchard.duckdb")
    assert main(["as-of", "2026-07-31", "--store", "prices", "--concept", "apple_price", "--format", "compact", "--database", built]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("P-1|")


def test_state_sees_a_changed_model_and_a_changed_store_and_nothing_else(restored: Guest) -> None:
    modified = ["--select", "state:modified", "--state", "state"]
    assert restored.listed(*modified) == set()
    restored.rewrite("dbt_project.yml", "policy: latest", "policy: newest")
    restored.rewrite(restored.package / RULE, "-#}", "-#}\n")
    assert restored.listed(*modified, "--target-path", "changed") == {"concept_missing", "stg_stores", "stg_store_rows"}


def test_l3_the_package_builds_on_its_own_and_fails_where_a_store_misses_its_level(restored: Guest) -> None:
    restored.rewrite("data/prices.jsonl", '"source": "price list 2", ', "")
    restored.dbt("build", "--select", "package:governed_memory", *NO_TESTS)
    said = restored.dbt("build", "--select", "test_name:no_required_finding,source_missing+", fails=True)
    assert "Failure in test no_required_finding_source_missing_" in said
    assert "2.30 a kilo" not in said


def test_all_above_the_overlay_can_be_switched_off(restored: Guest) -> None:
    restored.rewrite("dbt_project.yml", "models:\n", "unit_tests: {governed_memory: {+enabled: false}}\n\nmodels:\n")
    for layer in ("segments", "reads", "stewards", "packets"):
        restored.rewrite("dbt_project.yml", "        rules:\n", f"        {layer}: {{+enabled: false}}\n        rules:\n")
    restored.rewrite("dbt_project.yml", "        rules:\n", "        rules:\n            +enabled: false\n")
    for name in ("price_tags", "summer_rules", "_models"):
        next((restored.folder / "models").glob(f"{name}.*")).unlink()
    restored.dbt("build", "--target-path", "overlay", ORCHARD_DATABASE="overlay.duckdb")
    assert query(restored.folder / "overlay.duckdb", "select count(*) from governance.record_supersessions") == [(1,)]


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Guest:
    """The project whose store lies in another database."""
    guest = Guest(tmp_path_factory.mktemp("attached"), "attached_database")
    subprocess.run([sys.executable, "make_archive.py"], cwd=guest.folder, check=True)
    return guest


def test_t10_a_store_in_another_database_and_a_ledger_that_outlives_the_warehouse(museum: Guest) -> None:
    archive = (museum.folder / "archive.duckdb").read_bytes()

    def first_built(models: str = "*") -> list[tuple[object, ...]]:
        museum.dbt("build", "--select", models, *NO_TESTS, GMEM_LEDGER="ledger.duckdb")
        return query(museum.folder / "museum.duckdb", "select record_id, known_at from records order by record_id")

    seen = first_built()
    assert [row[0] for row in seen] == ["A-1", "A-2", "A-3"]
    built = query(museum.folder / "museum.duckdb", "select table_name from duckdb_tables() union all select view_name from duckdb_views()")
    assert ("record_intervals_built",) in built
    assert ("findings",) not in built, "the project switches the rules off"
    shown = "select attribution from main_catalogue.labels where work = 'Still life with quince'"
    assert query(museum.folder / "museum.duckdb", shown) == [("the elder himself",)]
    (museum.folder / "museum.duckdb").unlink()
    assert first_built("+records") == seen
    (museum.folder / "museum.duckdb").unlink()
    (museum.folder / "ledger.duckdb").unlink()
    assert {row[1] for row in first_built("+records")}.isdisjoint({row[1] for row in seen})
    assert (museum.folder / "archive.duckdb").read_bytes() == archive


def test_unit_tests_say_whose_model_they_feed() -> None:
    """A guest may have a node of the same name, and dbt then asks which one is meant."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "models").rglob("*unit_tests.yml"))
    assert re.findall(r"input: ref\('(?!governed_memory',).*", text) == []
