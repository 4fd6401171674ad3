"""`gmem transpile`: what it writes gives what the models give, in DuckDB and in a PostgreSQL that is started for it (rules T3, T4, T5)."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from generated import examples

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.reads.as_of import as_of_query, open_store
from governed_memory.reads.transpile import TWELVE, transpile
from governed_memory.warehouse import StoreFile

ON = "2026-03-01"
COLUMNS = ", ".join(f"{name} {type_}" for name, (_, type_) in TWELVE.items())


def records_of(source: Random) -> list[dict[str, Any]]:
    """Records of which a later one may supersede earlier ones, or one that is not there; some share an id, some are copies."""
    records: list[dict[str, Any]] = []
    family = f"{source.randrange(10**9)}"  # ids of one example never meet those of another, so all stand in one store
    for place in range(source.randint(1, 7)):
        if records and source.random() < 0.1:
            records.append(dict(source.choice(records)))
            continue
        earlier = [record["record_id"] for record in records] + ["gone"]
        record = dict.fromkeys(TWELVE) | {
            "record_id": f"{family}-{place if source.random() > 0.1 else 0}",
            "concept": family + source.choice("cd"),
            "value": f"value {place}",
            "valid_from": source.choice([f"2026-0{source.randint(1, 5)}-01"] * 5 + [None]),
            "valid_to": source.choice([None, None, f"2026-0{source.randint(2, 9)}-15"]),
            "supersedes": source.choice([None, source.sample(earlier, min(len(earlier), source.randint(1, 2)))]),
            "applies_to": source.choice([None, None, ["x"], ["x", "y"]]),
            "does_not_apply_to": source.choice([None, None, ["y"]]),
        }
        records.append(record)
    return records


STORE = [record for records in examples(60, records_of) for record in records]


def literal(value: object, dialect: str) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        items = ", ".join(f"'{item}'" for item in value)
        return f"array[{items}]::text[]" if dialect == "postgres" else f"[{items}]"
    return f"'{value}'"


def inserted(records: list[dict[str, Any]], table: str, dialect: str) -> str:
    rows = ", ".join("(" + ", ".join(literal(record[name], dialect) for name in TWELVE) + ")" for record in records)
    return f"create table {table} ({COLUMNS.replace('varchar', 'text')}); insert into {table} values {rows};"


def models_say(records: list[dict[str, Any]], folder: Path) -> list[tuple[str | None, ...]]:
    file = folder / "store.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    connection, _ = open_store(StoreFile(str(file)))
    found = warehouse.rows(connection, *as_of_query(ON))
    return sorted((row["record_id"], row["value"], str(row["in_force_from"]), str(row["in_force_to"] or "")) for row in found)


def asked(dialect: str, assume: list[str]) -> str:
    sql = transpile("as-of", dialect, table="mine", on_date=ON, assume=assume).sql
    return f"select record_id, value, in_force_from, coalesce(cast(in_force_to as text), '') as ends from ({sql}) as answers"


def duckdb_says(records: list[dict[str, Any]], assume: list[str]) -> list[tuple[str, ...]]:
    with duckdb.connect() as connection:
        connection.execute(inserted(records, "mine", "duckdb"))
        return sorted(tuple(str(cell) for cell in row) for row in connection.execute(asked("duckdb", assume)).fetchall())


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str | None, ...]]:
    found = models_say(STORE, tmp_path_factory.mktemp("stores"))
    assert 60 < len(found) < len(STORE)
    return found


def test_t4_the_select_for_duckdb_gives_what_the_models_give(expected: list[tuple[str, ...]]) -> None:
    assert duckdb_says(STORE, ["no-cycles"]) == expected


def test_t5_the_select_for_duckdb_knows_circles(tmp_path: Path) -> None:
    records = [
        dict.fromkeys(TWELVE) | {"record_id": name, "concept": "c", "value": name, "valid_from": begins, "supersedes": [other]}
        for name, begins, other in (("P", "2026-01-01", "Q"), ("Q", "2026-02-01", "P"), ("R", "2026-02-15", "P"))
    ]
    rows = duckdb_says(records, [])
    assert rows == models_say(records, tmp_path)
    assert [row[0] for row in rows] == ["Q", "R"]


def tool(name: str) -> str | None:
    return shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Path]:
    """The folder of the socket of a PostgreSQL of its own, which does not run as root."""
    initdb, control = tool("initdb"), tool("pg_ctl")
    if not (initdb and control and tool("psql")):
        pytest.skip("there is no PostgreSQL on this machine")
    as_user: dict[str, Any] = {"user": "postgres"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="gmem-pg-"))
    if as_user:
        shutil.chown(folder, "postgres")

    def run(*command: str, check: bool = True) -> None:
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=check, **as_user)

    data = str(folder / "data")
    run(initdb, "--no-sync", "--auth=trust", "--username=gmem", "-D", data)
    try:
        run(control, "-w", "-D", data, "-l", str(folder / "log"), "-o", f"-k {folder} -c listen_addresses='' -c fsync=off", "start")
        yield folder
    finally:
        run(control, "-w", "-D", data, "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder)


def test_t4_the_select_for_postgres_gives_what_the_models_give(postgres: Path, expected: list[tuple[str, ...]]) -> None:
    script = f"{inserted(STORE, 'mine', 'postgres')}\n{asked('postgres', ['no-cycles'])};"
    command = [str(tool("psql")), "-h", str(postgres), "-U", "gmem", "-d", "postgres", "-q", "--csv", "-t", "-v", "ON_ERROR_STOP=1"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(tuple(row) for row in csv.reader(done.stdout.splitlines())) == expected


def test_what_a_dialect_has_no_form_for_is_named_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transpile", "as-of", "--to", "postgres", "--date", ON]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "recursion that keeps one row per key (the search for supersession cycles; --assume no-cycles does without)" in captured.err
    assert main(["transpile", "as-of", "--to", "spark", "--date", ON, "--assume", "no-cycles"]) == 1
    assert "for: array_contains_all" in capsys.readouterr().err
    assert main(["transpile", "as-of", "--to", "bigquery", "--date", ON, "--assume", "no-cycles"]) == 1
    said = capsys.readouterr().err
    assert said.count("what sqlglot reports as 'ARRAY_DISTINCT is only supported") == 1 and "; ;" not in said


@pytest.mark.parametrize("dialect", ["spark", "snowflake", "bigquery", "trino"])
def test_a_read_of_built_intervals_is_written_for_every_dialect(dialect: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transpile", "as-of-built", "--to", dialect, "--date", ON, "--table", "memory.intervals"]) == 0
    captured = capsys.readouterr()
    assert "not run there" in captured.err
    assert "memory.intervals" in captured.out.replace("`", "")


def test_the_select_says_what_it_takes_for_granted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transpile", "intervals", "--to", "postgres", "--table", "public.policies", "--assume", "no-cycles"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("-- intervals in postgres, over 'public.policies': record_id varchar, concept varchar")
    assert lines[1] == "-- assumed: no supersessions form a circle (gmem check: supersession_cycle)"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["as-of", "--to", "postgrse", "--date", ON], "there is no dialect 'postgrse'; did you mean 'postgres'?"),
        (["as-of", "--to", "postgres"], "as-of needs --date yyyy-mm-dd"),
        (["as-of", "--to", "postgres", "--date", "2026-02-30"], "'2026-02-30'"),
        (["intervals", "--to", "postgres", "--date", ON], "leave out --date"),
        (["as-of", "--to", "postgres", "--date", ON, "--table", "a b ("], "'a b (' is no name of a table"),
    ],
)
def test_what_cannot_be_used_is_one_line(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transpile", *options]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_other_commands_of_the_room_start_without_sqlglot() -> None:
    code = "import sys, governed_memory.reads.commands; print('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
