"""The project holds together: the compiled list is current, claimed rules are tested, rules and their pages are one list, files can move."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.warehouse import ROLES
from governed_memory.warehouse.models import compiled

ROOT = Path(__file__).parents[2]


def test_l4_the_compiled_list_is_current() -> None:
    run = subprocess.run([sys.executable, str(ROOT / "python/tools/compile_models.py"), "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_l4_no_compiled_model_names_a_database() -> None:
    for model in compiled()["models"]:
        assert not re.search(r'"\w+"\."main"\.', model["sql"]), model["name"]


def test_l4_a_built_file_that_is_renamed_copied_or_attached_answers_as_before(built: Path, tmp_path: Path) -> None:
    moved = tmp_path / "another name.duckdb"
    shutil.copy(built, moved)
    query = "select record_id from {}records_as_of(date '2026-10-01') where store_id = 'reference' and concept_id = 'data_retention'"
    with duckdb.connect(str(moved), read_only=True) as connection:
        assert connection.execute(query.format("")).fetchall() == [("M-603",)]
    with duckdb.connect() as connection:
        connection.execute(f"attach '{moved}' as elsewhere (read_only)")
        assert connection.execute("select count(*) from elsewhere.record_intervals where store_id = 'reference'").fetchone() == (24,)
        connection.execute("use elsewhere")
        assert connection.execute(query.format("")).fetchall() == [("M-603",)]


def test_t7_the_worked_example_hands_over_on_the_day(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day, record in (("2026-09-30", "M-602"), ("2026-10-01", "M-603")):
        assert main(["as-of", day, "--store", "reference", "--concept", "data_retention", "--format", "compact", "--database", str(built)]) == 0
        assert capsys.readouterr().out.splitlines()[1].startswith(f"{record}|")


def test_l3_the_example_stores_meet_what_they_declare(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--database", str(built)]) == 0
    assert "declared 3: met" in capsys.readouterr().out


def test_l1_the_example_edges_miss_exactly_owner_and_policy(capsys: pytest.CaptureFixture[str]) -> None:
    edges = str(ROOT / "stores/reference_edges.jsonl")
    assert main(["check", edges, "--map", "record_id=uuid,valid_from=valid_at,valid_to=invalid_at,source=episode"]) == 0
    text = capsys.readouterr().out
    assert re.findall(r"^  (\w+) +level \d MUST ", text, flags=re.M) == ["concept_owner", "conflict_policy"]


def test_rules_that_the_page_claims_are_cited_by_a_test() -> None:
    claimed = set(re.findall(r"^### ([TLGFM]\d+)", (ROOT / "docs/rules.md").read_text(encoding="utf-8"), flags=re.M))
    tests = [*(ROOT / "python/tests").rglob("*.py"), *(ROOT / "tests").rglob("*.sql"), *(ROOT / "tests").rglob("*.yml"), *(ROOT / "models").rglob("*.yml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in tests)
    cited = {name.upper() for name in re.findall(r"(?<![A-Za-z0-9])([TLGFMtlgfm]\d+)(?![0-9])", text)}
    assert claimed - cited == set()


def test_every_rule_has_a_page_section_a_model_and_a_seed_row() -> None:
    rules = {row["rule_id"] for row in warehouse.seed("rules")}
    sections = set(re.findall(r"^### (\w+)", (ROOT / "docs/checks.md").read_text(encoding="utf-8"), flags=re.M))
    models = {path.stem for folder in ("presence", "values") for path in (ROOT / "models/rules" / folder).glob("*.sql")}
    assert rules == sections == models


def test_roles_of_files_and_of_attached_stores_are_one_list() -> None:
    text = (ROOT / "macros/staging/roles.sql").read_text(encoding="utf-8")
    assert tuple(re.findall(r"'(\w+)'", text.split("endmacro")[0])) == ROLES


def test_the_core_imports_without_torch_transformers_expectations_or_dbt() -> None:
    code = "import sys, governed_memory.cli, governed_memory.overlay.commands, governed_memory.reads.commands, governed_memory.expectations.commands, governed_memory.bridge.commands; print([m for m in ('torch', 'transformers', 'great_expectations', 'dbt') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_t10_the_ledger_keeps_a_fingerprint_of_every_record(built: Path) -> None:
    with duckdb.connect(str(built), read_only=True) as connection:
        assert connection.execute("select count(*), count(distinct fingerprint), count(first_built_at) from record_ledger").fetchone() == (48, 48, 48)
