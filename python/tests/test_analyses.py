"""Every analysis compiles, has a line in docs/analyses.md, and answers on the example stores; what those lack is asked of a store made for it."""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from harness import OWNERSHIP_COLUMNS, table

from governed_memory import warehouse
from governed_memory.warehouse import StoreFile

ROOT = Path(__file__).parents[2]
ON_DATE = datetime.date(2026, 10, 1)
Ask = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example stores built on a fixed date, and the analyses compiled over them."""
    folder = tmp_path_factory.mktemp("analyses")
    for command in (["build", "--exclude-resource-type", "test", "unit_test"], ["compile", "--select", "path:analyses"]):
        run = subprocess.run(
            [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--quiet", *command, "--vars", f"{{on_date: {ON_DATE}}}",
             "--profiles-dir", str(ROOT), "--target-path", str(folder / "target"), "--log-path", str(folder / "logs")],
            cwd=ROOT, env={**os.environ, "GMEM_DATABASE": str(folder / "built.duckdb")}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout + run.stderr
    return folder


def asking(connection: duckdb.DuckDBPyConnection, folder: Path) -> Ask:
    def ask(analysis: str, *columns: str, where: str = "true") -> list[tuple[Any, ...]]:
        sql = (folder / "target/compiled/governed_memory/analyses" / f"{analysis}.sql").read_text(encoding="utf-8")
        return connection.execute(f"select {', '.join(columns)} from (\n{sql}\n) where {where}").fetchall()

    return ask


@pytest.fixture
def example(folder: Path) -> Iterator[Ask]:
    with duckdb.connect(str(folder / "built.duckdb"), read_only=True) as connection:
        yield asking(connection, folder)


MESSY: list[dict[str, Any]] = [
    {"record_id": "A", "valid_from": "2026-01-01", "valid_to": None, "source": "S1", "recorded_at": "2026-01-02"},
    {"record_id": "B", "valid_from": "2026-01-01", "valid_to": None, "source": "S2", "recorded_at": "2026-02-20", "supersedes": "A"},
    {"record_id": "C", "valid_from": "2025-06-01", "valid_to": "2025-05-01", "source": "S1", "recorded_at": "2026-03-02"},
    {"record_id": "D", "valid_from": "2025-12-01", "valid_to": None, "source": "S1", "recorded_at": "2026-03-02", "restricted": True},
    {"record_id": "E", "valid_from": "2025-12-01", "valid_to": None, "recorded_at": "2026-01-02"},
    {"record_id": "W", "valid_from": "2025-12-01", "valid_to": None, "source": "S1", "recorded_at": "2026-04-01", "supersedes": "E", "withdrawal": "was never so"},
    {"record_id": "F", "valid_from": "2026-02-30", "valid_to": None, "source": "S9", "recorded_at": "2026-01-02"},
    {"record_id": "G", "valid_from": "2025-01-01", "source": "S1", "recorded_at": "2026-01-02"},
    {"record_id": "H", "valid_from": "2025-01-01", "valid_to": None, "source": "S1", "value": "one", "recorded_at": "2026-01-02"},
    {"record_id": "H", "valid_from": "2025-01-01", "valid_to": None, "source": "S1", "value": "two", "recorded_at": "2026-01-02"},
]  # fmt: skip
OWNERSHIPS = [
    {"concept_id": "c", "party_id": "sales"},
    {"concept_id": "c", "party_id": "sales", "valid_from": "2026-02-01"},
    {"concept_id": "c", "party_id": "legal", "valid_from": "2026-03-01", "recorded_at": "2026-01-01"},
    {"concept_id": "c", "party_id": "finance", "valid_from": "2026-03-01", "recorded_at": "2026-01-02"},
    {"concept_id": "c", "party_id": None, "valid_from": "2026-05-01"},
    {"concept_id": "d", "party_id": "sales"},
]
SOURCE_COLUMNS = {"store_id": "varchar", "source_id": "varchar", "title": "varchar", "locator": "varchar", "source_rank": "integer"}
SOURCES = [{"source_id": "S1", "locator": "https://handbook.example/s1"}, {"source_id": "S2", "locator": "  "}]


@pytest.fixture
def messy(folder: Path, tmp_path: Path) -> Iterator[Ask]:
    file = tmp_path / "messy.jsonl"
    lines = [{"concept": "c", "value": record["record_id"], "concept_owner": "sales", "owner_role": "VP Sales", **record} for record in MESSY]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with warehouse.open_memory() as connection:
        attached = warehouse.attach(connection, StoreFile(str(file)), on_date=ON_DATE)
        table(connection, "stg_concept_ownerships", OWNERSHIP_COLUMNS, OWNERSHIPS)
        table(connection, "stg_sources", SOURCE_COLUMNS, SOURCES)
        warehouse.build(connection, {"findings", "records_as_of"}, empty={"record_ledger"}, constants=attached.constants)
        yield asking(connection, folder)


def test_there_are_ten_each_explained_and_listed(folder: Path) -> None:
    names = sorted(path.stem for path in (ROOT / "analyses").glob("*.sql"))
    assert names == sorted(path.stem for path in (folder / "target/compiled/governed_memory/analyses").glob("*.sql"))
    assert len(names) == 10
    assert names == sorted(re.findall(r"^\| \[(\w+)\]", (ROOT / "docs/analyses.md").read_text(encoding="utf-8"), flags=re.M))
    for name in names:
        text = (ROOT / "analyses" / f"{name}.sql").read_text(encoding="utf-8")
        assert re.match(r"-- .+\n(-- .+\n)*-- How to read it: ", text), name
        assert not re.search(r"current_date|now\(\)|today\(\)", text), f"{name} reads the clock"


def test_what_changed_last_quarter_T4(example: Ask, messy: Ask) -> None:
    """T4: the quarter before the build's date, both of its ends included, and nothing of the next one."""
    rows = example("what_changed_last_quarter", "changed_on", "record_id", "change", "changed_by", where="store_id = 'reference'")
    july = datetime.date(2026, 7, 1)
    assert rows == [(july, "M-502", "expired", None), (july, "M-503", "came into force", "engineering")]
    assert messy("what_changed_last_quarter", "*") == []


def test_concepts_with_two_answers_G2(example: Ask) -> None:
    """G2: two records for different classes are no contradiction; without supersessions the edges contradict each other."""
    rows = example("concepts_with_two_answers", "store_id", "concept_id", "record_count", "record_ids", "is_settled_by_scope")
    assert ("reference", "discount_cap", 2, ["M-203", "M-204"], True) in rows
    assert [row for row in rows if row[0] == "reference" and not row[-1]] == []
    assert ("reference_edges", "data_retention", 3, ["M-601", "M-602", "M-603"], False) in rows


def test_what_we_believed_in_march_about_january_T6(example: Ask, messy: Ask) -> None:
    """T6: E was withdrawn in April and D written down in March; the replacement of A was known, and H never read."""
    rows = messy("what_we_believed_in_march_about_january", "record_id", "change")
    assert rows == [("B", "said then and now"), ("D", "said now, not then"), ("E", "said then, not now")]
    in_force = example("what_we_believed_in_march_about_january", "record_id", where="store_id = 'reference' and change <> 'said then, not now'")
    assert len(in_force) == 14
    assert ("M-102",) in in_force


def test_rules_that_expire_in_30_days_T3(example: Ask) -> None:
    """T3: the thirtieth day after the build's date counts, and M-605, which ends in December, does not."""
    rows = example("rules_that_expire_in_30_days", "record_id", "last_day", "end_reason", "ended_by", "concept_owner")
    assert rows == [("M-302", datetime.date(2026, 10, 31), "replaced", "M-303", "support")]


def test_who_owns_most_findings_L5(example: Ask, messy: Ask) -> None:
    """L5: errors before warnings, with the rules that fail."""
    rows = example("who_owns_most_findings", "party_id", "errors", "rules")
    assert rows[0] == ("data-office", 0, ["concept_owner_missing", "conflict_policy_missing", "supersedes_missing"])
    assert {row[1] for row in rows} == {0}
    [(errors, warnings)] = messy("who_owns_most_findings", "sum(errors)", "sum(warnings)")
    assert errors + warnings >= 8


def test_the_rate_that_applied_to_each_invoice_T3_G2_G7(example: Ask) -> None:
    """T3, G2, G7: every invoice once, by its day and kind of contract; nothing of a restricted record."""
    rows = example("rate_that_applied_to_each_invoice", "invoice_id", "rate_status", "rate_record_id")
    assert rows == [
        (1, "no_record", None),
        (2, "in_force", "M-204"),
        (3, "in_force", "M-203"),
        (4, "no_record", None),
        (5, "in_force", "M-201"),
        (6, "in_force", "M-202"),
        (7, "withheld", None),
        (8, "no_date", None),
        (9, "no_concept", None),
    ]
    assert example("rate_that_applied_to_each_invoice", "rate_value", "rate_source_id", where="rate_status = 'withheld'") == [(None, None)]


def test_records_never_in_force_T1_T4_T9(example: Ask, messy: Ask) -> None:
    """T1, T4, T9: each with its reason; the withdrawal itself is not among them."""
    assert messy("records_never_in_force", "record_id", "why") == [
        ("H", "another record has its identifier"),
        ("H", "another record has its identifier"),
        ("C", "ends before it begins"),
        ("G", "no end that can be read, and not said to be open"),
        ("F", "no first day that can be read"),
        ("A", "replaced from its first day or earlier"),
        ("E", "withdrawn from its first day"),
    ]
    assert example("records_never_in_force", "*") == []


def test_concepts_whose_owner_changed_T8(example: Ask, messy: Ask) -> None:
    """T8: an entry that repeats the owner is no hand-over, of two from one day the later recorded holds, and nobody is an owner too."""
    may, march = datetime.date(2026, 5, 1), datetime.date(2026, 3, 1)
    rows = messy("concepts_whose_owner_changed", "changed_on", "concept_id", "from_party", "to_party")
    assert rows == [(may, "c", "finance", None), (march, "c", "sales", "finance")]
    assert example("concepts_whose_owner_changed", "*") == []


def test_records_that_cannot_be_followed_or_released_L2(example: Ask, messy: Ask) -> None:
    """L2: no source, one the register lacks, one without an address; restricted and released to nobody."""
    assert messy("records_that_cannot_be_followed_or_released", "rule_id", "record_id") == [
        ("release_to_missing", "D"),
        ("source_missing", "E"),
        ("source_not_followable", "B"),
        ("source_unknown", "F"),
    ]
    assert example("records_that_cannot_be_followed_or_released", "*") == []


def test_how_long_definitions_last_T4(example: Ask) -> None:
    """T4: the derived days, both ends included, of what has ended; M-603 began on the build's date."""
    columns = ("concept_id", "ended_records", "median_days", "records_in_force", "oldest_days")
    rows = example("how_long_definitions_last", *columns, where="store_id = 'reference' and concept_owner = 'legal'")
    ended = [(datetime.date(2026, 6, 1) - datetime.date(2022, 1, 1)).days, (ON_DATE - datetime.date(2026, 6, 1)).days]
    assert rows[0] == (None, 2, sum(ended) / 2, 4, (ON_DATE - datetime.date(2022, 1, 1)).days + 1)
    assert ("data_retention", 2, sum(ended) / 2, 1, 1) in rows
