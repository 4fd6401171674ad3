"""`governed_memory.open`: the same reads as polars frames, over a store file and over a built database."""

from __future__ import annotations

import datetime
import doctest
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest
from harness import built_database
from test_diff import RECORDS
from test_real_stores import DATA

import governed_memory
from governed_memory import InputError, Stores, notebook

ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in RECORDS), encoding="utf-8")
    return path


@pytest.fixture(params=["file", "database"])
def store(request: pytest.FixtureRequest, file: Path, tmp_path: Path) -> Stores:
    """The same records, in a file and built in a database."""
    return governed_memory.open(file if request.param == "file" else built_database([{"store_id": "one", "records": RECORDS}], tmp_path))


def test_the_examples_of_the_documentation_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = doctest.testfile(str(ROOT / "docs" / "notebooks.md"), module_relative=False)
    module = doctest.testmod(notebook)
    assert (page.failed, module.failed) == (0, 0)
    assert page.attempted > 5
    assert module.attempted > 10


def test_records_as_of_are_those_of_the_command_T3_T6_T11(store: Stores) -> None:
    """T3, T6, T11: a date as text or as a date, known_on and scope as the table function takes them."""
    day = datetime.date(2026, 1, 1)
    assert store.records_as_of("2026-01-01").equals(store.records_as_of(day))
    assert store.records_as_of(day)["record_id"].to_list() == ["B", "C", "F"]
    assert store.records_as_of(day, known_on="2026-01-31")["record_id"].to_list() == ["A", "C", "D", "F"]
    assert store.records_as_of(day, datetime.datetime(2026, 2, 10, 0, 0, 1))["record_id"].to_list() == ["B", "C", "D", "F"]
    zoned = datetime.datetime(2026, 2, 10, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    assert store.records_as_of(day, zoned)["record_id"].to_list() == ["A", "C", "D", "F"]
    assert store.records_as_of(day, concept="churn")["value"].to_list() == ["third text"]


def test_a_frame_has_dates_texts_and_lists(store: Stores) -> None:
    frame = store.records_as_of("2026-01-01", concept="churn")
    types = {name: frame.schema[name] for name in ("in_force_to", "value", "release_to")}
    assert types == {"in_force_to": polars.Date(), "value": polars.String(), "release_to": polars.List(polars.String)}
    assert frame["release_to"].to_list() == [["board"]]
    assert store.records_as_of("1999-01-01").schema == frame.schema


def test_scope_is_a_class_several_or_none_T11_G2(tmp_path: Path) -> None:
    """T11, G2: no scope keeps all; an empty one what applies everywhere; a name alone is a list of one."""
    path = tmp_path / "scopes.jsonl"
    records = [
        {"record_id": name, "concept": "c", "valid_from": "2026-01-01", "valid_to": None, "applies_to": classes} for name, classes in (("A", []), ("B", ["x"]))
    ]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    with governed_memory.open(path) as store:
        ids = [store.records_as_of("2026-01-01", scope=scope)["record_id"].to_list() for scope in (None, [], "x", ["x", "y"], ["y"])]
    assert ids == [["A", "B"], ["A"], ["A", "B"], ["A", "B"], ["A"]]


def test_history_and_diff_are_those_of_the_commands_T6_T9(store: Stores) -> None:
    """T6, T9: the withdrawal too; one state of knowledge, or one for each date, the second perhaps now."""
    assert store.history("churn")["record_id"].to_list() == ["C", "D", "W", "E"]
    first = datetime.date(2026, 1, 1)
    assert store.diff(first, "2026-05-01", concept="churn")["kind"].to_list() == ["ended", "began", "owner_changed"]
    assert store.diff("2025-01-01", first, known_on="2026-01-04", concept="arr")["record_id"].to_list() == ["A"]
    learned = store.diff(first, first, known_on=("2026-01-31", None)).select("kind", "record_id").rows()
    assert learned == [("added", "B"), ("dropped", "A"), ("dropped", "D"), ("end_changed", "F"), ("owner_changed", None)]


def test_no_restricted_value_is_in_a_history_a_diff_or_a_check(store: Stores) -> None:
    frames = (store.history("churn"), store.diff("2025-01-01", "2027-01-01"), store.check())
    assert not any("third text" in str(frame.rows()) for frame in frames)
    assert "third text" in str(store.records_as_of("2026-01-01").rows())


def test_checks_and_levels_are_those_of_the_models_L3_L5(store: Stores) -> None:
    """L3, L5: the findings with who must act, and the level reached; each asked twice."""
    for _ in range(2):
        findings = store.check()
        assert {"record_id", "rule_id", "level", "requirement", "party_id", "detail"} <= set(findings.columns)
        assert findings.filter(polars.col("rule_id") == "source_missing").height == len(RECORDS)
        levels = store.levels()
        assert (levels["row_count"].to_list(), levels["level"].to_list()) == ([8], [1])


def test_any_select_may_be_asked(store: Stores) -> None:
    assert store.query("select count(*) as n from record_intervals_built where end_reason = $why", {"why": "was_wrong"}).item() == 1
    for wrong in ("select * from nothing_here", "selct 1", "", "select $missing"):
        with pytest.raises(InputError) as error:
            store.query(wrong)
        assert "\n" not in str(error.value)
    assert store.query("select 1 as one").item() == 1


def test_a_built_database_is_only_read(file: Path, tmp_path: Path) -> None:
    with governed_memory.open(built_database([{"store_id": "one", "records": RECORDS}], tmp_path)) as store, pytest.raises(InputError, match="one select"):
        store.query("create table mine as select 1 as one")


def test_a_closed_store_says_so(store: Stores) -> None:
    with store as same:
        assert same is store
    store.close()
    assert repr(store).endswith(", closed>")
    for ask in (store.levels, lambda: store.history("arr"), lambda: store.query("select 1"), lambda: store.diff("2026-01-01", "2026-01-01")):
        with pytest.raises(InputError, match="closed; open it again"):
            ask()


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda store: store.records_as_of("2026-2-30"), "'2026-2-30' is no date; write it as yyyy-mm-dd"),
        (lambda store: store.records_as_of(datetime.datetime(2026, 1, 1)), "'2026-01-01T00:00:00' is no date"),
        (lambda store: store.records_as_of("2026-01-01", "soon"), "'soon' is no date"),
        (lambda store: store.records_as_of("2026-01-01", store="nine"), "'nine' is neither a file nor an attached store"),
        (lambda store: store.history("chrun"), "no record is about 'chrun'; did you mean 'churn'?"),
        (lambda store: store.diff("2026-01-02", "2026-01-01"), "name the earlier date first"),
        (lambda store: store.diff("2026-01-01", "2026-01-01", known_on=("2026-02-01", "2026-01-01")), "name the earlier state of knowledge first"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(ask: object, says: str, store: Stores) -> None:
    with pytest.raises(InputError) as error:
        ask(store)  # type: ignore[operator]
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_what_cannot_be_opened_is_refused_in_one_line(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty.duckdb"
    polars_free = tmp_path / "text.duckdb"
    polars_free.write_text("no database", encoding="utf-8")
    import duckdb

    duckdb.connect(str(empty)).close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GMEM_DATABASE", raising=False)
    for arguments, says in (
        ({"path": tmp_path / "none.jsonl"}, "no such file"),
        ({"path": tmp_path / "none.duckdb"}, "no such database"),
        ({"path": empty}, "has not been built"),
        ({"path": polars_free}, "it is no DuckDB database"),
        ({}, "no such database"),
        ({"path": file, "mapping": {"idea": "x"}}, "mapping: 'idea' is no role"),
        ({"path": empty, "mapping": {"value": "x"}}, "a built database has them from its dbt project"),
    ):
        with pytest.raises(InputError) as error:
            governed_memory.open(**arguments)  # type: ignore[arg-type]
        assert says in str(error.value)
        assert "\n" not in str(error.value)


def test_what_is_no_date_no_name_or_no_select_is_refused_in_one_line(store: Stores) -> None:
    asked: list[Callable[[Any], object]] = [
        lambda read: read.records_as_of(20261001), lambda read: read.records_as_of("2026-01-01", 5), lambda read: read.records_as_of("2026-01-01", scope=5),
        lambda read: read.records_as_of("2026-01-01", concept="\ud800"), lambda read: read.records_as_of("2026-01-01", "0001-01-01T00:00:00+14:00"),
        lambda read: read.history(None), lambda read: read.diff("2026-01-01", None), lambda read: read.query("copy (select 1) to 'x.csv'"),
        lambda read: read.query("select 1; select 2"), lambda read: read.query("attach 'x.duckdb' as x"), lambda read: read.query(""), lambda read: read.query(5),
    ]  # fmt: skip
    for ask in asked:
        with pytest.raises(InputError) as error:
            ask(store)
        assert "\n" not in str(error.value)
    assert store.query("with a as (select 1 as x) from a").item() == 1


def test_a_table_in_a_database_is_a_store_too(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "own.duckdb")) as connection:
        connection.execute("create table rules as select 'A' as id, 'c' as concept, date '2026-01-01' as valid_from, null::date as valid_to")
    with governed_memory.open(f"{tmp_path / 'own.duckdb'}::rules", mapping={"record_id": "id"}) as store:
        assert store.records_as_of("2026-01-01")["record_id"].to_list() == ["A"]


def test_importing_the_package_loads_neither_duckdb_nor_polars_nor_dbt() -> None:
    code = "import sys, governed_memory; print([m for m in ('duckdb', 'polars', 'dbt') if m in sys.modules]); governed_memory.open; print('dbt' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == ["[]", "False"]
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        governed_memory.opne  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.skipif(not DATA.is_dir(), reason="no real stores here")
@pytest.mark.parametrize("name", ["peps", "metric_hub", "datahub"])
def test_a_real_store_answers_every_read_T3(name: str) -> None:
    """T3: each read gives a frame, and the count as of a day is that of the intervals that cover it."""
    with governed_memory.open(DATA / f"{name}.jsonl") as store:
        day = "2026-06-30"
        covering = f"select count(*) from record_intervals where in_force_from <= date '{day}' and coalesce(in_force_to >= date '{day}', true)"
        assert store.records_as_of(day).height == store.query(covering).item() > 0
        assert store.check().height > 0
        assert store.levels()["row_count"].item() > 0
        assert store.diff("2020-01-01", day).filter(polars.col("kind") == "began").height > 0
