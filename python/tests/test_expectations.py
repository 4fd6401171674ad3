"""`gmem expectations`: Great Expectations says of every rule and store what dbt says, and shows nothing that a record holds (L3, L4, C23)."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from glob import glob
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import pytest
import yaml
from harness import LEDGER_COLUMNS, READS, STORE_COLUMNS, STORE_DEFAULTS, built_database, table

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.warehouse import StoreFile

pytest.importorskip("great_expectations")

from governed_memory.errors import InputError
from governed_memory.expectations import data_docs
from governed_memory.expectations.run import Outcome, run
from governed_memory.expectations.suites import LEVELS, suite

ROOT = dbt_harness.ROOT
RULES = {row["rule_id"]: row for row in warehouse.seed("rules")}


def unit_tests() -> Iterator[dict[str, Any]]:
    """The fixtures by which dbt sees each rule fail; what the ledger holds in place of what is read from it."""
    shared = yaml.safe_load((ROOT / "models/rules/_rules__unit_tests.yml").read_text(encoding="utf-8"))["unit_tests"]
    [ledger] = [test["given"] for test in shared if test["model"] == "int_ledger_changes"]
    for file in sorted((ROOT / "models/rules").glob("*/_*__unit_tests.yml")):
        for test in yaml.safe_load(file.read_text(encoding="utf-8"))["unit_tests"]:
            kept = [given for given in test["given"] if "'int_ledger_changes'" not in given["input"]]
            yield {**test, "given": kept if len(kept) == len(test["given"]) else kept + ledger}


WAIVED = {"store_id": "field_malformed_names_the_field.s", "rule_id": "record_id_missing"}
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
        declared = {store: {**STORE_DEFAULTS, "store_id": store, "target_level": 3 if place % 2 else place % 3} for place, store in enumerate(stores)}
        for store, policy in connection.execute("select store_id, policy_id from stores").fetchall():
            declared[store]["policy_id"] = policy
        connection.execute("drop table stores")
        table(connection, "stg_stores", STORE_COLUMNS, list(declared.values()))
        table(connection, "stg_build", ATTACHED["stg_build"], [{"on_date": "2026-07-03", "built_at": "2026-07-03 08:00:00"}])
        table(connection, "stg_waivers", warehouse.columns("stg_waivers"), [{**WAIVED, "reason": "seen", "ends_on": "2027-01-01"}])
        # what dbt's tests of required findings read
        warehouse.build(connection, READS | {"int_required_findings"})
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
        assert WAIVED in warehouse.rows(connection, "select store_id, rule_id from findings where severity = 'waived'")
        reasons = dict(connection.execute("select store_id || rule_id, reason from rule_statuses where status = 'n/a'").fetchall())
    assert outcomes[WAIVED["store_id"], WAIVED["rule_id"]].verdict == "pass"
    told = {outcome.store_id + outcome.rule_id: outcome.reason for outcome in outcomes.values() if outcome.verdict == "n/a"}
    assert told == {key: reason for key, reason in reasons.items() if key in {"".join(pair) for pair in outcomes}}
    assert len(set(told.values())) > 5


def test_l4_the_suites_hold_every_rule_once_at_its_level_and_severity() -> None:
    held = {level: [(each.meta["rule_id"], each.severity.value) for each in suite(level).expectations] for level in LEVELS}
    severities = {"MUST": "critical", "SHOULD": "warning"}
    assert held == {level: [(rule_id, severities[rule["requirement"]]) for rule_id, rule in RULES.items() if rule["level"] == str(level)] for level in LEVELS}


def asked(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """The exit code of `gmem expectations` and what it says."""
    code = main(["expectations", *map(str, arguments)])
    told = capsys.readouterr()
    return code, told.out, told.err


# PostgreSQL


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The URL of a server that is thrown away, which no network reaches."""
    places = [*os.environ["PATH"].split(os.pathsep), *sorted(glob("/usr/lib/postgresql/*/bin"))]
    found = {name: shutil.which(name, path=os.pathsep.join(places)) for name in ("initdb", "postgres", "pg_ctl")}
    # a server refuses to run as root
    user = None if os.geteuid() else next((name for name in ("postgres", "nobody") if name in {entry.pw_name for entry in pwd.getpwall()}), None)
    if None in found.values() or (user is None and not os.geteuid()):
        pytest.skip("there is no PostgreSQL server here, or nobody to run it as")
    folder = Path(tempfile.mkdtemp(prefix="gmem-postgres-"))

    def server(*command: str) -> None:
        subprocess.run(command, cwd=folder, user=user, check=True, capture_output=True, env={"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C"})

    try:
        if user:
            shutil.chown(folder, user)
        server(str(found["initdb"]), "--no-sync", "--auth=trust", "--username=steward", "--encoding=UTF8", "--locale=C", str(folder / "data"))
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        server(str(found["pg_ctl"]), "start", "-w", "-D", str(folder / "data"), "-l", str(folder / "log"), "-o", options)
        yield f"postgresql://steward@/postgres?host={folder}"
    finally:
        if (folder / "data/postmaster.pid").exists():
            server(str(found["pg_ctl"]), "stop", "-m", "immediate", "-D", str(folder / "data"))
        shutil.rmtree(folder)


def copied(database: Path, url: str) -> None:
    """The tables that are read, copied from a built file into PostgreSQL."""
    import psycopg2

    with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor, duckdb.connect(str(database), read_only=True) as built:
        for name in ("findings", "rule_statuses", "stg_build"):
            columns = built.execute(f"describe {name}").fetchall()
            rows = built.execute(f"select * from {name}").fetchall()
            cursor.execute(f"drop table if exists {name}; create table {name} ({', '.join(f'{column} {type_}' for column, type_, *_ in columns)})")
            cursor.executemany(f"insert into {name} values ({', '.join('%s' for _ in columns)})", rows)


def test_l4_postgres_gives_the_outcomes_that_duckdb_gives(
    postgres: str, outcomes: dict[tuple[str, str], Outcome], broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(broken, postgres)
    level_3 = {pair: outcome for pair, outcome in outcomes.items() if outcome.level == 3}
    stores = dict.fromkeys(store for store, _ in level_3)
    options = [option for store in stores for option in ("--store", store)]
    code, out, err = asked(capsys, "--url", postgres, "--level", 3, "--json", "--docs", tmp_path / "docs", *options)
    assert (code, err) == (int(any(outcome.fails_build for outcome in level_3.values())), "")
    assert json.loads(out) == [asdict(outcome) for outcome in level_3.values()]
    assert {outcome.verdict for outcome in level_3.values()} == {"pass", "fail", "n/a"}


def test_what_postgres_does_not_hold_is_told_without_the_password(postgres: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = postgres.replace("steward@/postgres?", "steward:ZQXpass@/template1?")
    for url, told in (
        (empty, 'relation "rule_statuses" does not exist'),
        (empty.replace("steward", "nobody-such"), 'role "nobody-such" does not exist'),
        (postgres.replace("host=", "host=/no-such"), "No such file or directory"),
        ("postgresql://steward:ZQXpass@host:port/x", "no address of a database"),
        ("postgresql://steward:p@ZQXpass@host/x", "no address of a database"),
        ("postgresql+other://steward:ZQXpass@/x", "only PostgreSQL"),
        ("mysql://steward:ZQXpass@/x", "only PostgreSQL"),
    ):
        code, out, err = asked(capsys, "--url", url, "--docs", tmp_path / "docs")
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert told in err
        assert "ZQXpass" not in err
    assert list(tmp_path.iterdir()) == []


# The command


def test_the_example_stores_meet_what_they_declare(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = asked(capsys, "--database", built, "--docs", tmp_path / "docs", "--level", 1)
    assert (code, err) == (0, "")
    assert f"Data Docs: {tmp_path}/docs/index.html" in out
    assert re.findall(r"^\S.*$", out, flags=re.M) == ["reference", "reference_edges", f"Data Docs: {tmp_path}/docs/index.html"]
    assert "  level 1: 13 pass, 0 fail, 1 n/a\n" in out


MARK = "ZQX"


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A restricted record with a mark in whatever may be withheld, that fails rules of every level; names that a page or a path may trip over."""
    marks = {field: f"{MARK} {field}" for field in ("value", "source", "concept_owner", "owner_role", "classification", "written_by", "supersedes")}
    broken = {"record_id": "<b>one</b>", "concept": "c", "valid_from": f"{MARK} someday", "valid_to": f"{MARK} never", **marks}
    broken |= {"release_to": [], "applies_to": [f"{MARK} class"], "does_not_apply_to": [f"{MARK} class"]}
    stores = [{"store_id": "a/../b :c {batch} %s $x <i>", "records": [broken, {"record_id": None, "value": MARK}]}, {"store_id": "empty", "records": []}]
    return built_database(stores, tmp_path_factory.mktemp("marked"))


def test_c23_nothing_that_a_record_holds_is_in_what_is_written_or_said(marked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = asked(capsys, "--database", marked, "--docs", tmp_path / "docs", "--json")
    said = json.loads(out)
    assert (code, err) == (1, "")
    assert {outcome["level"] for outcome in said if outcome["fails_build"]} == {1, 2, 3}
    assert {tuple(row) for outcome in said for row in outcome["rows"]} == {("store_id", "record_id", "field", "rule_id")}
    assert MARK not in out + asked(capsys, "--database", marked, "--docs", tmp_path / "docs")[1]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [str(file) for file in files if MARK.encode() in file.read_bytes() or MARK in str(file)] == []
    pages = [file for file in files if "validations" in file.parts]
    assert len(pages) == 6
    assert all(str(file.relative_to(tmp_path)).startswith("docs/") for file in files)


def test_data_docs_tell_verdicts_and_records_and_escape_what_they_show(marked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked(capsys, "--database", marked, "--docs", tmp_path / "docs")
    [page] = [file.read_text() for file in (tmp_path / "docs/validations/level_1").rglob("*.html") if "empty" not in file.name]
    assert "fail, required: &lt;b&gt;one&lt;/b&gt;" in page
    assert "n/a: no record says when it was recorded" in page
    assert "<b>one" not in page
    assert "great-expectations-web-assets" not in page


def test_data_docs_are_the_same_each_time(marked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def made() -> dict[str, bytes]:
        asked(capsys, "--database", marked, "--docs", tmp_path / "docs")
        assert [path.name for path in tmp_path.iterdir()] == ["docs"]
        return {str(file): file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    assert made() == made()


def test_no_socket_is_opened_and_nothing_is_written_elsewhere(marked: Path, tmp_path: Path) -> None:
    """From the import on, in a process of its own, with a home that can be looked at."""
    code = """
import socket, sys
def refuse(*_, **__): raise AssertionError('a socket')
socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = socket.getaddrinfo = socket.create_connection = refuse
from governed_memory.cli import main
sys.exit(main(sys.argv[1:]))
"""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path), "GX_ANALYTICS_ENABLED": "true"}
    command = [sys.executable, "-B", "-c", code, "expectations", "--database", str(marked), "--level", "1"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*")) if path.parent in (tmp_path, tmp_path / "target")] == [
        "target",
        "target/gx_docs",
    ]


@pytest.mark.parametrize("mine", ["README.txt", "validations/mine/notes.txt", "empty/"])
def test_a_folder_that_holds_anything_else_is_left_as_it_is(mine: str, tmp_path: Path) -> None:
    """Data Docs of an earlier run are replaced whole: what somebody put among them would be gone."""
    docs = tmp_path / "docs"
    for _ in range(2):
        with data_docs.replaced(docs) as new:
            for name in ("index.html", "expectations/e.html", "static/s.css", "validations/v.html"):
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).touch()
    if mine.endswith("/"):
        (docs / mine).mkdir()
    else:
        (docs / mine).parent.mkdir(exist_ok=True, parents=True)
        (docs / mine).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="holds something else than Data Docs of an earlier run: "), data_docs.replaced(docs):
        pass
    assert sorted(tmp_path.rglob("*")) == before
    shutil.rmtree(docs)
    docs.mkdir()
    with pytest.raises(InputError, match="of an earlier run: 'late\\.txt'"), data_docs.replaced(docs) as new:
        new.mkdir()
        (docs / "late.txt").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["docs", "late.txt"]


def test_what_cannot_be_used_is_told_in_one_line(marked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").touch()
    (tmp_path / "text").touch()
    for arguments, told in (
        (["--database", "nowhere.duckdb"], "no such database"),
        (["--database", tmp_path / "text"], "no DuckDB database"),
        (["--database", marked, "--store", "emtpy"], "did you mean 'empty'?"),
        (["--database", marked, "--docs", "full"], "holds something else than Data Docs"),
        (["--database", marked, "--docs", "text"], "is no folder"),
    ):
        code, out, err = asked(capsys, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert told in err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["full", "mine.txt", "text"]
    monkeypatch.setattr("governed_memory.expectations.commands.find_spec", lambda name: None)
    assert "pip install 'governed-memory[gx]'" in asked(capsys, "--database", marked)[2]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("delete from findings where rule_id = 'valid_from_invalid'", "valid_from_invalid: findings say pass, rule_statuses fail"),
        (
            "create or replace table rule_statuses as from rule_statuses where rule_id <> 'valid_to_invalid'",
            "differ in valid_to_invalid; build again",
        ),
        ("alter table findings drop column is_waived", "Great Expectations could not ask record_id_missing"),
    ],
)
def test_l3_tables_that_do_not_go_together_are_refused(change: str, told: str, marked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = Path(shutil.copy(marked, tmp_path))
    with duckdb.connect(str(database)) as connection:
        connection.execute("create table kept as from rule_statuses")
        connection.execute("drop view rule_statuses")
        connection.execute("alter table kept rename to rule_statuses")
        connection.execute(change)
    code, out, err = asked(capsys, "--database", database, "--docs", tmp_path / "docs")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert told in err
    assert not (tmp_path / "docs").exists()
