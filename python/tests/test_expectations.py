"""`gmem expectations`: Great Expectations says of every rule and store what dbt says, and shows nothing that a record holds (L3, L4, C23)."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import pytest
import yaml
from harness import LEDGER_COLUMNS, READS, STORE_COLUMNS, STORE_DEFAULTS, table

from governed_memory import warehouse
from governed_memory.warehouse import StoreFile

pytest.importorskip("great_expectations")

from governed_memory.expectations.run import Outcome, run
from governed_memory.expectations.suites import LEVELS, suite

ROOT = dbt_harness.ROOT
RULES = {row["rule_id"]: row for row in warehouse.seed("rules")}


def unit_tests() -> Iterator[dict[str, Any]]:
    """The fixtures by which dbt sees each rule fail."""
    for file in sorted((ROOT / "models/rules").glob("*/_*__unit_tests.yml")):
        yield from yaml.safe_load(file.read_text(encoding="utf-8"))["unit_tests"]


WAIVED = "interval_inverted_lists_an_end_before_the_start.s"
# Relations that are attached, not built: what they have beside what a fixture states.
ATTACHED = {"stores": STORE_COLUMNS, "record_ledger": LEDGER_COLUMNS, "stg_build": {"on_date": "date", "built_at": "timestamp"}}


def fill(connection: duckdb.DuckDBPyConnection, name: str, relation: str, given: dict[str, Any]) -> None:
    """The rows that the unit test of this name gives of a relation, their stores named after it."""
    columns = ATTACHED.get(relation) or warehouse.columns(relation)
    connection.execute(f'create table if not exists "{relation}" ({", ".join(f"{column} {type_}" for column, type_ in columns.items())})')
    named = "" if relation in ("parties", "question_classes") else f"replace (coalesce('{name}.' || store_id, null) as store_id)"
    if given.get("format") == "sql":
        connection.execute(f'insert into "{relation}" by name select * {named} from ({given["rows"]})')
    for row in given["rows"] if isinstance(given["rows"], list) else []:
        values = {column: row.get(column) for column in columns}
        if values.get("store_id") is not None:
            values["store_id"] = f"{name}.{values['store_id']}"
        connection.execute(f'insert into "{relation}" values ({", ".join("?" for _ in values)})', list(values.values()))


def broken_stores(database: Path) -> Path:
    """Every fixture of every rule in one database as `dbt build` leaves it, its stores under names of their own and with levels of all kinds declared."""
    with duckdb.connect(str(database)) as connection:
        connection.execute("set threads = 1")
        (nothing := database.with_suffix(".jsonl")).touch()
        warehouse.attach(connection, StoreFile(str(nothing)))
        for test in unit_tests():
            for given in test["given"]:
                [relation] = re.findall(r"'(\w+)'\)$", given["input"])
                if relation != "stg_build":
                    fill(connection, test["name"], relation, given)
        named = " union ".join(f'select store_id from "{relation}"' for relation in ("record_rows", "records", "stores", "record_ledger"))
        stores = [store for (store,) in connection.execute(f"select store_id from ({named}) where store_id not like '%.detached' order by 1").fetchall()]
        declared = {store: {**STORE_DEFAULTS, "store_id": store, "target_level": place % 4} for place, store in enumerate(stores)}
        for store, policy in connection.execute("select store_id, policy_id from stores").fetchall():
            declared[store]["policy_id"] = policy
        connection.execute("drop table stores")
        table(connection, "stg_stores", STORE_COLUMNS, list(declared.values()))
        table(connection, "stg_build", ATTACHED["stg_build"], [{"on_date": "2026-07-03", "built_at": "2026-07-03 08:00:00"}])
        waived = {"store_id": WAIVED, "rule_id": "interval_inverted", "reason": "seen", "ends_on": "2027-01-01"}
        table(connection, "stg_waivers", warehouse.columns("stg_waivers"), [waived])
        warehouse.build(connection, READS)
    return database


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return broken_stores(tmp_path_factory.mktemp("broken") / "built.duckdb")


@pytest.fixture(scope="module")
def outcomes(broken: Path) -> dict[tuple[str, str], Outcome]:
    """What GX says of each fixture's stores, at the level of the rule that the fixture is for."""
    with duckdb.connect(str(broken), read_only=True) as connection:
        stores = [store for (store,) in connection.execute("select store_id from stores").fetchall()]
    found: dict[tuple[str, str], Outcome] = {}
    for level in LEVELS:
        names = {f"{test['name']}." for test in unit_tests() if RULES[test["model"]]["level"] == str(level)}
        of_level = [store for store in stores if store[: store.index(".") + 1] in names]
        found |= {(outcome.store_id, outcome.rule_id): outcome for outcome in run(str(broken), None, stores=of_level, levels=[level])}
    return found


def test_l4_great_expectations_and_dbt_give_one_verdict_of_every_rule_on_every_broken_fixture(
    outcomes: dict[tuple[str, str], Outcome], broken: Path, built: Path
) -> None:
    """dbt's own tests run on the database that GX read; their failing rows are kept, so that they tell of which store."""
    aside = built.rename(built.with_suffix(".aside"))
    shutil.copy(broken, built)
    try:
        names = ("test_name:no_required_finding", "test_name:no_other_finding")
        dbt_harness.dbt(built.parent, "test", "--store-failures", "--select", *names)
        said = dbt_verdicts(built)
    finally:
        aside.replace(built)
    judged = {pair: "error" if outcome.fails_build else "warning" if outcome.verdict == "fail" else None for pair, outcome in outcomes.items()}
    assert judged == {pair: said.get(pair) for pair in outcomes}
    assert {rule_id for (_, rule_id), severity in judged.items() if severity} == RULES.keys()
    assert {(RULES[rule_id]["requirement"], severity) for (_, rule_id), severity in judged.items() if severity} == {
        ("MUST", "error"), ("MUST", "warning"), ("SHOULD", "warning")
    }  # fmt: skip


def dbt_verdicts(database: Path) -> dict[tuple[str, str], str]:
    """{(store, rule): severity} of the failing rows that dbt kept of its tests of findings."""
    nodes = json.loads((database.parent / "target/manifest.json").read_text(encoding="utf-8"))["nodes"]
    results = json.loads((database.parent / "target/run_results.json").read_text(encoding="utf-8"))["results"]
    assert {result["status"] for result in results} == {"pass", "warn", "fail"}
    assert len(results) == 2 * len(RULES)
    said = {}
    with duckdb.connect(str(database), read_only=True) as connection:
        for result in results:
            severity = "error" if "no_required_finding" in result["unique_id"] else "warning"
            stores = connection.execute(f"select distinct store_id, rule_id from {nodes[result['unique_id']]['relation_name']}").fetchall()
            assert bool(stores) == (result["status"] != "pass")
            said |= {pair: severity for pair in stores}
    return said


def test_l3_what_is_waived_passes_and_what_is_not_asked_is_told_as_such(outcomes: dict[tuple[str, str], Outcome], broken: Path) -> None:
    with duckdb.connect(str(broken), read_only=True) as connection:
        assert connection.execute("select count(*) from findings where severity = 'waived'").fetchone() == (1,)
        reasons = dict(connection.execute("select store_id || rule_id, reason from rule_statuses where status = 'n/a'").fetchall())
    assert outcomes[WAIVED, "interval_inverted"].verdict == "pass"
    told = {outcome.store_id + outcome.rule_id: outcome.reason for outcome in outcomes.values() if outcome.verdict == "n/a"}
    assert told == {key: reason for key, reason in reasons.items() if key in {"".join(pair) for pair in outcomes}}
    assert len(set(told.values())) > 5


def test_l4_the_suites_hold_every_rule_once_at_its_level_and_severity() -> None:
    held = {level: [(each.meta["rule_id"], each.severity.value) for each in suite(level).expectations] for level in LEVELS}
    severities = {"MUST": "critical", "SHOULD": "warning"}
    assert held == {
        level: [(rule_id, severities[rule["requirement"]]) for rule_id, rule in RULES.items() if rule["level"] == str(level)] for level in LEVELS
    }
