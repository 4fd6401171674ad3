"""Governed SQL: the tables are what `ask` says, nothing of a withheld record is within reach of a statement, and no statement hangs (G5 to G8)."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest
import secrets_store
from secrets_store import AS_OF, MARK, MARKED_DAY

from governed_memory import cli, warehouse
from governed_memory.errors import InputError
from governed_memory.host.configuration import Host, read_host
from governed_memory.reads import sandbox
from governed_memory.reads.ask import Opened, Question, ask, open_to_ask
from governed_memory.reads.sandbox import Limits, governed_sql
from governed_memory.reads.sandbox_functions import FUNCTIONS
from governed_memory.reads.sql_commands import print_frame
from governed_memory.warehouse import StoreFile, cell

CONCEPTS = sorted({entry["concept"] for entry in secrets_store.records()})


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return secrets_store.write(tmp_path_factory.mktemp("secrets"))


@pytest.fixture(scope="module")
def host(places: tuple[Path, Path]) -> Host:
    found = read_host(str(places[1]))
    assert found
    return found


@pytest.fixture(scope="module")
def opened(places: tuple[Path, Path], host: Host) -> Opened:
    return open_to_ask(StoreFile(str(places[0]), policy_id="latest"), host=host)


@pytest.fixture(scope="module")
def frame(opened: Opened, host: Host) -> bytes:
    """What the process of a statement is handed, for statements that tests run in this one."""
    data = io.BytesIO()
    sandbox._answers(opened, Question("", AS_OF, host.caller("analyst"))).write_ipc(data)
    return data.getvalue()


def run_here(sql: str, frame: bytes, host: Host) -> polars.DataFrame:
    tables = sandbox._tables(Question("", AS_OF, host.caller("analyst")))
    asked = {"sql": sql, "frame": "governed_answers", "tables": tables, "functions": sorted(FUNCTIONS), "seconds": 20, "rows": 1000, "memory": 256}
    return cell.run(asked, frame)


def holds_mark(text: str) -> bool:
    return any(mark in text for mark in (MARK, MARKED_DAY, "777"))


@pytest.mark.parametrize("name", ["analyst", "outsider"])
@pytest.mark.parametrize("asked", [{}, {"scope": (f"{MARK}-class",)}, {"known_on": "2031-12-31"}], ids=["plain", "scope", "known"])
def test_tables_hold_what_ask_says(opened: Opened, host: Host, name: str, asked: dict[str, Any]) -> None:
    caller = host.caller(name)
    told = ask(opened, [Question(concept, AS_OF, caller, **asked) for concept in CONCEPTS])
    told = [answer for answer in told if answer["reasons"] != ["not_held"]]
    sql = "select (select list(a order by concept_id) from answers a) as answers, (select list(r order by record_id) from records r) as records"
    [held] = sandbox.plain_rows(governed_sql(opened, sql, caller=caller, as_of=AS_OF, **asked))
    fields = {"concept_id": "concept", "outcome": "outcome", "reasons": "reasons", "withheld_count": "withheld_records", "stable_until": "stable_until"}
    assert [{name: row[name] for name in fields} for row in held["answers"] or []] == [
        {name: answer[field] for name, field in fields.items()} for answer in told
    ]
    sides = [(answer, side) for answer in told for side in ([answer["answer"]] if answer["answer"] else answer["sides"] or [])]
    expected = [(side["record_id"], answer["concept"], side["value"], side["source"], side["valid_from"], answer["outcome"]) for answer, side in sides]
    found = [tuple(row[name] for name in sandbox.TABLES["records"] if name != "store_id") for row in held["records"] or []]
    assert sorted(found) == sorted(expected)
    assert not holds_mark(json.dumps(held))


def test_tables_have_the_columns_that_are_documented(frame: bytes, host: Host) -> None:
    for table, columns in sandbox.TABLES.items():
        assert tuple(run_here(f"from {table}", frame, host).columns) == columns


# What a caller may see is there; all of it, so that the tests below cannot pass for want of anything to find.
def test_open_records_are_there_and_secrets_are_not(frame: bytes, host: Host) -> None:
    assert run_here("select record_id from records order by all", frame, host)["record_id"].to_list() == ["7.5", "open-1", "open-3", "open-5", "open-6"]
    refused = run_here("select concept_id from answers where outcome = 'refused' order by all", frame, host)["concept_id"].to_list()
    assert refused == ["alone", "doubled", "ended", "released", "unknown", "wins"]


@pytest.mark.parametrize(
    "sql",
    [
        "with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select max(n) from t",
        "select *, row_number() over w from records window w as (partition by store_id order by record_id) qualify row_number() over w = 1",
        "select r.*, y from records r, lateral (select upper(r.value) as y)",
        "select case when value like 's%' then 1 else 2 end, value in ('a'), value between 'a' and 'b', exists (select 1 from answers) from records",
        "select list_transform(reasons, lambda code: upper(code)), len(reasons), reasons[1], [x for x in reasons if x <> 'a'] from answers",
        "select date_trunc('month', valid_from), extract(year from valid_from), valid_from + interval 1 month, valid_from::timestamp from records",
        "select outcome, count(*) filter (where withheld_count > 0), sum(withheld_count) from answers group by rollup (outcome) having count(*) > 0",
        "(select concept_id from records union all by name select concept_id from answers) except select 'x' order by 1 limit 3 offset 1",
        "select * exclude (value) from records semi join answers using (concept_id)",
        "from records -- a comment\n",
        'select "value" as "ünï 😀" from "records" /* and /* another */ */;',
        "values (1), (2)",
        "select to_json(r) ->> 'value', {'a': 1}.a, map {'a': 1}['a'], $$text$$ from records r",
        "select * from range(3) as r(n), unnest([1, 2]) as u(m)",
        "select try_cast(value as integer), regexp_extract(value, '[0-9]+'), columns('.*_id') from records",
    ],
)
def test_ordinary_statements_run(frame: bytes, host: Host, sql: str) -> None:
    assert run_here(sql, frame, host).width


REFUSED = {
    "statements": ["select 1; select 2", "select 1; drop table records", "", ";", "-- nothing"],
    "kind": [
        "drop table records", "insert into records values (1)", "update records set value = 'x'", "delete from records", "create table x as select 1",
        "create macro f(a) as 1", "attach 'x.db'", "detach memory", "copy records to 'x.csv'", "copy (select 1) to '/dev/stdout'", "pragma database_list",
        "set enable_external_access = true", "reset lock_configuration", "set variable a = 1", "install httpfs", "load httpfs", "call pragma_version()",
        "prepare p as select 1", "execute p", "explain analyze select 1", "export database 'x'", "import database 'x'", "use memory", "checkpoint", "begin",
        "vacuum", "comment on table records is 'x'", "merge into records using answers on true when matched then delete",
    ],
    "part": [
        "select $1", "select ?", "describe records", "from (describe records)", "show tables", "from (show all tables)", "summarize records",
        "with a as (insert into records select * from records returning *) from a", "select * from records using sample 1 rows",
    ],
    "qualified": [
        "from information_schema.tables", "from pg_catalog.pg_tables", "from main.records", "from memory.main.records", "select system.main.upper('a')",
        "select 1 operator(pg_catalog.+) 2", "select value.getenv() from records",
    ],
    "table": [
        "from nosuch", "from governed_answers", "from duckdb_tables", "from sqlite_master", "from pg_tables", "from 'x.csv'", "from '/etc/passwd'",
        'from "records "', "from recordѕ", "with pg_tables as (select 1) from pg_tables", "select * from (with duckdb_views as (select 1) select 1), duckdb_views",
        "from frame", "from asked_frame", "from 'https://example.invalid/x.parquet'",
    ],
    "function": [
        "select getenv('HOME')", "from read_csv('/etc/passwd')", "from read_text('/etc/*')", "from glob('*')", "from duckdb_settings()", "from duckdb_tables()",
        "from pragma_database_list()", "from query('select 1')", "from query_table('records')", "select current_setting('threads')", "select version()",
        "select current_query()", "from json_execute_serialized_sql('x')", "from seq_scan('records')", "from arrow_scan(1, 2, 3)", "from pandas_scan(1)",
        "from test_all_types()", "select nextval('x')", "select error('x')", "select 'x'.getenv()", "select * from sniff_csv('/etc/passwd')",
        "select GetEnv('HOME')", 'select "getenv"(\'HOME\')', "from repeat_row(1, num_rows = 10)", "select sleep_ms(100000)",
        "select list_transform([1], lambda x: getenv('HOME'))", "select (select max(x) from read_csv('x') as t(x))", "select count(*) filter (getenv('a') = 'b')",
        "select 1 from records order by getenv('HOME')", "select 1 from records limit (select getenv('HOME')::int)", "from histogram('records', value)",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "sql"), [(kind, sql) for kind, statements in REFUSED.items() for sql in statements])
def test_what_is_no_plain_select_is_refused(frame: bytes, host: Host, kind: str, sql: str) -> None:
    with pytest.raises((cell.Refused, duckdb.ParserException)) as raised:
        run_here(sql, frame, host)
    assert getattr(raised.value, "kind", kind) == kind
    assert getattr(raised.value, "name", "").casefold() in sql.casefold() or kind == "part"


# The second layer: what the first refuses would not work in the closed database either.
def test_the_database_is_closed_without_the_first_layer(frame: bytes, host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cell, "expect_allowed", lambda *_: None)
    (tmp_path / "x.csv").write_text("a\n1\n")
    for sql in (f"from read_csv('{tmp_path}/x.csv')", f"from '{tmp_path}/x.csv'", f"from read_text('{tmp_path}/x.csv')", f"from glob('{tmp_path}/*')"):
        with pytest.raises(duckdb.PermissionException):
            run_here(sql, frame, host)
    with pytest.raises(duckdb.CatalogException):
        run_here("from frame", frame, host)
    assert (
        run_here("select string_agg(table_name, ' ' order by table_name) as held from duckdb_tables()", frame, host).item() == "answers asked concepts records"
    )


def test_functions_are_known_to_duckdb() -> None:
    known = {name for (name,) in duckdb.connect().execute("select distinct function_name from duckdb_functions()").fetchall()}
    # Without a row there, they are part of DuckDB's grammar.
    assert FUNCTIONS - known <= {"coalesce", "if", "ifnull", "nullif", "unnest", "current_date", "current_timestamp", "position", "extract", "trim"} | WINDOWS


def test_functions_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs/governed_sql.md").read_text(encoding="utf-8")
    assert set(text.split("```")[1].split()) == FUNCTIONS


WINDOWS = {"row_number", "rank", "dense_rank", "rank_dense", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"}

PROBES = [
    "select cast(value as integer) from records",
    "select * from records where value::date > '2020-01-01'",
    "select nosuch from records",
    f"select * from records where record_id = '{MARK}-1' or value like '%{MARK[:2]}%' ",
    "select string_agg(answers::varchar, '|') || string_agg(records::varchar, '|') from answers, records",
    "select * from asked, concepts, answers",
    "selec 1",
    "select 'ünterminated",
    "from information_schema.columns",
    "select case when (select count(*) from records where value like 'Z%') > 0 then 1 / 0 else cast('x' as integer) end",
]


@pytest.mark.parametrize("sql", PROBES)
def test_no_result_and_no_error_holds_anything_withheld(opened: Opened, host: Host, sql: str) -> None:
    try:
        told = governed_sql(opened, sql, caller=host.caller("analyst"), as_of=AS_OF).write_json()
    except InputError as error:
        told = str(error)
        # Nor what may be seen: only our words, and names that the statement holds.
        assert "seen by all" not in told and "12" not in told and "\n" not in told
    assert not holds_mark(told)


def test_the_command_prints_nothing_withheld(places: tuple[Path, Path], capfd: pytest.CaptureFixture[str]) -> None:
    store, host = places
    for sql, code in ((PROBES[0], 2), (PROBES[4], 0)):
        assert cli.main(["sql", sql, "--as-of", AS_OF, "--caller", "analyst", "--store", str(store), "--host", str(host), "--format", "json"]) == code
        out, err = capfd.readouterr()
        assert (err if code else out) and not holds_mark(out + err)
        assert err.count("\n") <= 1


BOMBS = [
    "with recursive t as (select 1 as n union all select n + 1 from t) select max(n) from t",
    "with recursive t as (select 'x' as n union all select n || n from t) select max(length(n)) from t",
    "select count(*) from range(1000000) a, range(1000000) b, range(1000000) c",
    "select sum(len(repeat('x', 2000000000))) from records",
    "select len(range(100000000000))",
    "select * from range(1000000)",
    f"select {'(' * 3000}1{')' * 3000}",
]


@pytest.mark.parametrize("sql", BOMBS)
def test_no_statement_hangs_or_takes_more_than_it_may(opened: Opened, host: Host, sql: str) -> None:
    begun = time.monotonic()
    with pytest.raises(InputError):
        governed_sql(opened, sql, caller=host.caller("analyst"), as_of=AS_OF, limits=Limits(seconds=1.0, rows=1000, memory=128))
    assert time.monotonic() - begun < 8


def test_messages_say_what_to_do(opened: Opened, host: Host) -> None:
    def message(sql: str) -> str:
        with pytest.raises(InputError) as raised:
            governed_sql(opened, sql, caller=host.caller("analyst"), as_of=AS_OF)
        return str(raised.value)

    assert message("from recrods") == "there is no table 'recrods'; did you mean 'records'?"
    assert message("select vlue from records") == "a name or a type in the statement does not fit: 'vlue'; did you mean 'value'?"
    assert message("select interval 1 day") == "a column of the result has a type that Arrow does not; cast it, for example to varchar"
    assert message("\x00") == "the statement holds a null character"


def test_failure_to_work_out_answers_says_nothing_of_them(opened: Opened, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse, "fragment", lambda *_, **__: "select cast(value as date) as day, ['a'] as reasons from records")
    with pytest.raises(InputError) as raised:
        sandbox._answers(opened, Question("", AS_OF, host.caller("analyst")))
    assert str(raised.value).startswith("the answers could not be worked out (ConversionException)") and not holds_mark(str(raised.value))
    assert raised.value.__suppress_context__


def test_formats(frame: bytes, host: Host, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    result = run_here("select concept_id, reasons, withheld_count, sum(2) as two from answers where concept_id = 'plain' group by all", frame, host)

    def printed(form: str) -> bytes:
        print_frame(result, form)
        return capfdbinary.readouterr().out

    assert json.loads(printed("json")) == [{"concept_id": "plain", "reasons": ["no_authoritative_record"], "withheld_count": 0, "two": 2}]
    assert printed("csv").decode().splitlines() == ["concept_id,reasons,withheld_count,two", 'plain,"[""no_authoritative_record""]",0,2']
    assert polars.read_ipc(io.BytesIO(printed("arrow")))["concept_id"].to_list() == ["plain"]
    assert printed("table").decode().splitlines()[-1] == "1 row"


def test_a_built_database_answers_a_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = secrets_store.built_database(tmp_path / "built.duckdb")
    sql = "select store_id, record_id from records"
    assert cli.main(["sql", sql, "--as-of", AS_OF, "--caller", "partner", "--database", str(database), "--format", "csv"]) == 0
    assert capsys.readouterr().out == "store_id,record_id\nsecrets,open-7\n"
