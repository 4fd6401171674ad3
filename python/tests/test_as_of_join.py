"""As-of joins give every fact once, with the record that the plain reading in oracle.py has in force on the fact's own day."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import oracle
import pytest
from harness import STORE_COLUMNS, Difference, build_time, table
from test_intervals_against_oracle import CLASSES, CONCEPTS, READ_ON, for_batches

from governed_memory import warehouse
from governed_memory.warehouse import StoreFile

ROOT = Path(__file__).parents[2]
TARGETS = {"concept_periods", "stores"}
ADDED = ("status", "record_count", "record_ids", "record_id", "value", "source_id", "concept_owner", "valid_from", "is_restricted")
CALLS = {
    "any scope": "'facts', 'happened_on', 'concept', store_column='store_name', include_restricted=true",
    "in a scope": "'facts', 'happened_on', 'concept', store_column='store_name', scope_column='class', include_restricted=true",
    "one store": "'facts', 'happened_on', 'concept'",
    "named": "'(select * from facts where true)', 'happened_on', 'concept', store=\"it's\", prefix='rate '",
    "class of one store": "'facts', 'happened_on', 'concept', scope_column='class'",
    "shown": "'facts', 'happened_on', 'concept', include_restricted=true",
    "twice": "'facts', 'happened_on', 'concept', prefix='first_'",
}


@pytest.fixture(scope="module")
def joins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Each call of the macro as dbt compiles it."""
    folder = tmp_path_factory.mktemp("compiled")
    texts = [f"{{{{ governed_memory.as_of_join({call}) }}}}" for call in CALLS.values()]
    command = ["--quiet", "compile", "--inline", "\n;;\n".join(texts), "--output", "json", "--profiles-dir", str(ROOT), "--target", "ci"]
    run = subprocess.run(
        [sys.executable, "-c", "from dbt.cli.main import cli; cli()", *command, "--target-path", str(folder), "--log-path", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return dict(zip(CALLS, json.loads(run.stdout)["compiled"].split("\n;;\n"), strict=True))


def expected(store: dict[str, Any], answers: dict[int, oracle.Interval], concept: str | None, on_date: datetime.date | None) -> tuple[Any, ...]:
    """(status, count, ids of several, id, value) for a fact, by the rules as worded."""
    if on_date is None or concept is None:
        return ("no_date" if on_date is None else "no_concept", 0, None, None, None)
    records = {index: store["records"][index - 1] for index, interval in answers.items() if oracle.holds(interval, on_date)}
    found = [record for record in records.values() if oracle.text(record.get("concept")) == concept]
    if len(found) == 1:
        return ("in_force", 1, None, oracle.text(found[0].get("record_id")), found[0].get("value"))
    ids = sorted(oracle.text(record.get("record_id")) or "#" for record in found)
    return ("several_in_force" if found else "no_record", len(found), ids or None, None, None)


@pytest.mark.parametrize("are_many", [False, True])
def test_every_fact_once_with_the_record_of_the_oracle_T3_T11_G2(tmp_path: Path, joins: dict[str, str], are_many: bool) -> None:
    """T3, T11, G2: without regard to scope and for each class, by either of the two plans that the join chooses between."""
    seen: Counter[str] = Counter()
    columns = {"fact_id": "integer", "store_name": "varchar", "concept": "varchar", "class": "varchar", "happened_on": "date", "valid_from": "integer"}

    def compare(stores: list[dict[str, Any]]) -> None:
        connection = build_time(stores, tmp_path / "stores.jsonl", TARGETS)
        if are_many:
            connection.execute("update int_concept_periods set has_many_periods = true")
        asked = list(product(range(len(stores)), (*CONCEPTS, "unheard of", None), (None, *CLASSES), (*READ_ON[::2], None)))
        names = [store["store_id"] for store in stores]
        facts = [
            {"fact_id": place, "store_name": names[store], "concept": concept, "class": class_, "happened_on": on_date, "valid_from": place}
            for place, (store, concept, class_, on_date) in enumerate(asked)
        ]
        insert(connection, columns, facts)
        for name in ("any scope", "in a scope"):
            rows = connection.execute(
                f"select fact_id, as_of_status, as_of_record_count, as_of_record_ids, as_of_record_id, as_of_value, valid_from from ({joins[name]})"
            ).fetchall()
            assert sorted(row[0] for row in rows) == list(range(len(facts))), "one row out per row in"
            answers: dict[Any, dict[int, oracle.Interval]] = {}
            for place, status, count, ids, record_id, value, own in rows:
                assert own == place, "the fact's own columns stay"
                store, concept, class_, on_date = asked[place]
                key = (store, class_ if name == "in a scope" else None)
                if key not in answers:
                    answers[key] = oracle.answers(stores[store], None, None if name == "any scope" else [class_] if class_ else [])
                wanted = expected(stores[store], answers[key], concept, on_date)
                got = (status, count, ids and sorted("#" if item.startswith("#") else item for item in ids), record_id, value)
                if got != wanted:
                    raise Difference(stores[store], f"{name}: {concept} for {class_} on {on_date}: {got}, expected {wanted}")
                seen[f"{name}: {status}"] += 1
        connection.close()

    for_batches(2, compare)
    for case in product(("any scope", "in a scope"), ("in_force", "several_in_force", "no_record", "no_date", "no_concept")):
        assert seen[": ".join(case)] > 100, seen


def insert(connection: duckdb.DuckDBPyConnection, columns: dict[str, str], facts: list[dict[str, Any]]) -> None:
    """The facts as a table, in one statement: there are tens of thousands."""
    table(connection, "facts", columns, [])
    connection.execute("insert into facts select unnest(from_json(?, ?), recursive := true)", [json.dumps(facts, default=str), json.dumps([columns])])


RECORDS = [
    {"record_id": "A", "concept": "rate", "value": "1 %", "source": "S1", "concept_owner": "O1", "valid_from": "2026-01-01", "valid_to": "2026-01-31"},
    {"record_id": "B", "concept": "rate", "value": "2 %", "valid_from": "2026-02-01", "valid_to": None},
    {"record_id": "C", "concept": "rate", "value": "3 %", "valid_from": "2026-03-01", "valid_to": None, "restricted": True},
    {"record_id": "D", "concept": "pay", "value": "secret", "source": "S2", "concept_owner": "O2", "valid_from": "2026-01-01", "valid_to": None, "restricted": True},
]  # fmt: skip


@pytest.fixture
def small(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with built(tmp_path, RECORDS) as connection:
        yield connection


def built(folder: Path, records: list[dict[str, Any]]) -> duckdb.DuckDBPyConnection:
    file = folder / "store.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    connection = warehouse.open_memory()
    attached = warehouse.attach(connection, StoreFile(str(file)))
    warehouse.build(connection, TARGETS, empty={"record_ledger"}, constants=attached.constants)
    return connection


def joined(connection: duckdb.DuckDBPyConnection, join: str, facts: list[tuple[Any, ...]], date_type: str = "date") -> list[tuple[Any, ...]]:
    table(connection, "facts", {"happened_on": date_type, "concept": "varchar"}, [dict(zip(("happened_on", "concept"), fact, strict=True)) for fact in facts])
    return connection.execute(f"select * from ({join}) order by happened_on nulls last, concept").fetchall()


def test_both_ends_count_and_every_fact_is_told_why_T3(small: duckdb.DuckDBPyConnection, joins: dict[str, str]) -> None:
    """T1, T3: the first and the last day hold; facts without a record, a date or a concept stay, with the reason."""
    days = ["2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01", "2026-02-28", "2026-03-01", "infinity", None]
    rows = joined(small, joins["shown"], [(day, "rate") for day in days])
    nothing = (0, None, None, None, None, None, None, None)
    first = ("in_force", 1, None, "A", "1 %", "S1", "O1", datetime.date(2026, 1, 1), False)
    second = ("in_force", 1, None, "B", "2 %", None, None, datetime.date(2026, 2, 1), False)
    several = ("several_in_force", 2, ["B", "C"], None, None, None, None, None, None)
    assert [row[2:] for row in rows] == [("no_record", *nothing), first, first, second, second, several, several, ("no_date", *nothing)]
    assert [row[2:] for row in joined(small, joins["shown"], [("2026-01-01", None), (None, None)])] == [("no_concept", *nothing), ("no_date", *nothing)]


def test_a_timestamp_counts_as_its_day_T3(small: duckdb.DuckDBPyConnection, joins: dict[str, str]) -> None:
    assert joined(small, joins["shown"], [("2026-01-31 23:59:59.9", "rate")], "timestamp")[0][5] == "A"
    assert joined(small, joins["shown"], [("2026-01-31 23:30:00-02:00", "rate")], "timestamptz")[0][5] == "B"


def test_a_restricted_record_is_counted_and_nothing_of_it_told_G7(small: duckdb.DuckDBPyConnection, joins: dict[str, str]) -> None:
    facts = [("2026-01-01", "pay"), ("2026-03-01", "rate")]
    rows = [row[2:] for row in joined(small, joins["one store"], facts)]
    assert rows == [("withheld", 1, None, None, None, None, None, None, True), ("several_in_force", 2, ["B"], None, None, None, None, None, None)]
    assert joined(small, joins["shown"], facts)[0][2:] == ("in_force", 1, None, "D", "secret", "S2", "O2", datetime.date(2026, 1, 1), True)


def test_columns_of_the_fact_are_never_replaced(small: duckdb.DuckDBPyConnection, joins: dict[str, str]) -> None:
    """A fact may have columns named as the record's; one named as a column added is an error, for which there is the prefix."""
    own = {name: "varchar" for name in (*ADDED, "store_id", "concept_id", "starts_on", "question_class_id")}
    table(small, "facts", {"happened_on": "date", "concept": "varchar", **own}, [{"happened_on": "2026-01-01", "concept": "rate", **dict.fromkeys(own, "own")}])
    relation = small.sql(joins["one store"])
    assert relation.columns == ["happened_on", "concept", *own, *(f"as_of_{name}" for name in ADDED)]
    assert (relation.fetchall()[0])[2 : 2 + len(own)] == ("own",) * len(own)
    small.execute(f"create table once as {joins['one store']}")
    assert small.sql(joins["twice"].replace("from facts)", "from once)")).columns[-len(ADDED) :] == [f"first_{name}" for name in ADDED]
    for name in ADDED:
        table(small, "facts", {"happened_on": "date", "concept": "varchar", f"AS_OF_{name}": "varchar"}, [])
        with pytest.raises(duckdb.BinderException, match=rf'Ambiguous reference to column name "as_of_{name}"'):
            small.sql(joins["one store"]).fetchall()


def test_no_facts_and_no_records(tmp_path: Path, small: duckdb.DuckDBPyConnection, joins: dict[str, str]) -> None:
    assert joined(small, joins["one store"], []) == []
    with built(tmp_path, []) as empty:
        assert [row[2:4] for row in joined(empty, joins["one store"], [("2026-01-01", "rate"), (None, "rate")])] == [("no_record", 0), ("no_date", 0)]


def test_a_store_that_is_not_attached_or_not_named_is_an_error(small: duckdb.DuckDBPyConnection, joins: dict[str, str]) -> None:
    """Not a join that finds nothing, nor one over two stores (there is no merge)."""
    table(small, "facts", {"happened_on": "date", "concept": "varchar"}, [{"happened_on": "2026-01-01", "concept": "rate"}])
    name = small.execute("select store_id from stores").fetchall()[0][0]
    with pytest.raises(duckdb.Error, match=f"as_of_join: it's is no attached store; attached are: {name}"):
        small.execute(joins["named"]).fetchall()
    table(small, "stores", STORE_COLUMNS, [{"store_id": name}, {"store_id": "it's"}])
    assert small.sql(joins["named"]).columns[2] == "rate status"
    with pytest.raises(duckdb.Error, match=rf"as_of_join: name the store with store or store_column; attached are: ({name}, it's|it's, {name})"):
        small.execute(joins["one store"]).fetchall()


def test_a_concept_with_many_periods_takes_the_other_plan_with_the_same_answers(tmp_path: Path, joins: dict[str, str]) -> None:
    days = [(datetime.date(2026, 1, 1) + datetime.timedelta(days=number)).isoformat() for number in range(40)]
    daily = [{"record_id": f"R{number}", "concept": "daily", "value": "v", "valid_from": day, "valid_to": day} for number, day in enumerate(days)]
    with built(tmp_path, [*RECORDS, *daily]) as connection:
        assert connection.execute("select concept_id, count(*) from concept_periods where not is_scoped and has_many_periods group by 1").fetchall() == [
            ("daily", 41)
        ]
        rows = joined(connection, joins["one store"], [(day, "daily") for day in [*days, "2026-02-10", "2025-12-31"]] + [("2026-01-01", "rate")])
        assert [(row[2], row[5]) for row in rows] == [
            ("no_record", None),
            ("in_force", "R0"),
            ("in_force", "A"),
            *[("in_force", f"R{n}") for n in range(1, 40)],
            ("no_record", None),
        ]


def test_the_plain_sql_of_the_page_gives_what_the_macro_gives_T11_G2(tmp_path: Path, joins: dict[str, str]) -> None:
    """T11, G2: without and with a class, for every concept of the example store on days around every change."""
    blocks = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/as_of_joins.md").read_text(encoding="utf-8"), flags=re.S)
    plain = {"one store": blocks[2], "class of one store": blocks[3]}
    records = [json.loads(line) for line in (ROOT / "stores/reference.jsonl").read_text(encoding="utf-8").splitlines()]
    with built(tmp_path, records) as connection:
        name = connection.execute("select store_id from stores").fetchall()[0][0]
        connection.execute("""
            create table invoices as
            select row_number() over () as invoice_id, *, concept as rate_concept, happened_on as invoiced_on, class as contract_kind
            from (select distinct concept_id as concept, unnest([starts_on - 1, starts_on, null]) as happened_on from concept_periods)
            cross join (select unnest(['renewals', 'new contracts', 'another', null]) as class)
        """)
        connection.execute("create view facts as from invoices")
        for call, sql in plain.items():
            select = "select invoice_id, {}, {}, {} from ({})"
            ours = select.format("as_of_status", "as_of_record_id", "as_of_value", joins[call])
            theirs = select.format("rate_status", "record_id", "rate", sql.replace("pricing_rules", name))
            # The page leaves it to the macro to tell a missing date from a missing record.
            ours = ours.replace("'no_date'", "'no_record'")
            found = connection.execute(ours).fetchall()
            assert len(found) > 200
            assert Counter(found) == Counter(connection.execute(theirs).fetchall())
            assert {row[1] for row in found} == {"in_force", "no_record", "withheld", "several_in_force"} - ({"several_in_force"} if "class" in call else set())
