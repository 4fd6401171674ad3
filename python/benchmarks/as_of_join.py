"""As-of joins measured against DuckDB's own best join of the same facts on a table that stores the interval ends.

Run `python python/benchmarks/as_of_join.py [RECORDS FACTS]` in the project's environment; the default is 100,000 and 10,000,000.
Each query runs five times, in turn with the others, and the medians are compared.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from big_store import RECORDS_PER_CONCEPT, write_store

from governed_memory import warehouse
from governed_memory.warehouse import StoreFile

ROOT = Path(__file__).resolve().parents[2]
RUNS = 5
# Both joins bring the same columns of the record.
COLUMNS = ("record_id", "value", "source_id", "concept_owner", "valid_from")
# Primes spread the facts over concepts and days. One concept in twenty-one has no record, and some days lie before the first record.
FACTS = """
create table facts as
select
    number as fact_id,
    'concept_' || lpad(((number * 7907) % ({concepts} * 21 // 20 + 1))::varchar, 6, '0') as concept,
    date '2019-06-01' + ((number * 104729) % 3000)::integer as happened_on,
    (number % 997) / 7.0 as amount
from range({facts}) as numbers (number)
"""
STORED_ENDS = f"""
create table stored_ends as
select concept_id, in_force_from, coalesce(in_force_to, 'infinity') as in_force_to, {", ".join(COLUMNS)}
from record_intervals where interval_status = 'in_force'
"""
RANGE_JOIN = f"""
select facts.*, {", ".join(COLUMNS)}
from facts left join stored_ends
    on facts.concept = stored_ends.concept_id and facts.happened_on between stored_ends.in_force_from and stored_ends.in_force_to
"""
ASOF_JOIN = f"""
select facts.*, {", ".join(f"case when facts.happened_on <= stored_ends.in_force_to then {column} end as {column}" for column in COLUMNS)}
from facts asof left join stored_ends on facts.concept = stored_ends.concept_id and facts.happened_on >= stored_ends.in_force_from
"""


def as_of_join() -> str:
    """The package's own join, as dbt compiles it."""
    call = "{{ governed_memory.as_of_join('facts', 'happened_on', 'concept', prefix='', include_restricted=true) }}"
    with tempfile.TemporaryDirectory() as folder:
        command = ["--quiet", "compile", "--inline", call, "--output", "json", "--project-dir", str(ROOT), "--profiles-dir", str(ROOT)]
        paths = ["--target-path", folder, "--log-path", folder]
        run = subprocess.run([sys.executable, "-c", "from dbt.cli.main import cli; cli()", *command, *paths], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stdout + run.stderr)
    return str(json.loads(run.stdout)["compiled"])


def measured(connection: duckdb.DuckDBPyConnection, query: str, is_written: bool) -> tuple[float, tuple[int, ...]]:
    """Seconds, and what both joins must agree on. A join that is only read computes every column, and writes none."""
    what = f"count(*), count(record_id), {', '.join(f'max({column})' for column in COLUMNS)}, sum(amount)"
    started = time.perf_counter()
    if is_written:
        connection.execute(f"create or replace table joined as {query}")
        seconds = time.perf_counter() - started
        found = connection.execute("select count(*), count(record_id) from joined").fetchone()
    else:
        found = connection.execute(f"select {what} from ({query})").fetchone()
        seconds = time.perf_counter() - started
    assert found
    return seconds, tuple(found[:2])


def main() -> None:
    """Build the store and the facts, run the joins in turn, print the medians."""
    records, facts = (int(number) for number in sys.argv[1:3] or (100_000, 10_000_000))
    queries = {"as_of_join": as_of_join(), "range join on stored ends": RANGE_JOIN, "ASOF join on stored ends": ASOF_JOIN}
    with tempfile.TemporaryDirectory() as folder:
        with warehouse.open_memory() as built:
            attached = warehouse.attach(built, StoreFile(str(write_store(Path(folder) / "store.jsonl", records))))
            warehouse.build(built, {"int_concept_periods", "record_intervals", "stores"}, empty={"record_ledger"}, constants=attached.constants)
            built.execute(f"attach '{folder}/bench.duckdb' as bench")
            for name in ("int_concept_periods", "stores", "record_intervals"):
                built.execute(f"create table bench.{name} as from {name}")
        with duckdb.connect(f"{folder}/bench.duckdb") as connection:
            connection.execute(FACTS.format(concepts=records // RECORDS_PER_CONCEPT, facts=facts))
            connection.execute(STORED_ENDS)
            print(f"{facts:,} facts, {records:,} records, DuckDB {duckdb.__version__}, medians of {RUNS}")
            for is_written in (False, True):
                times: dict[str, list[float]] = {name: [] for name in queries}
                answers = set()
                for _ in range(RUNS):
                    for name, query in queries.items():
                        seconds, found = measured(connection, query, is_written)
                        times[name].append(seconds)
                        answers.add(found)
                assert len(answers) == 1, f"the joins disagree: {answers}"
                medians = {name: statistics.median(runs) for name, runs in times.items()}
                best = min(seconds for name, seconds in medians.items() if name != "as_of_join")
                print("written to a table" if is_written else "read by an aggregate", f"(rows, matched: {answers.pop()})")
                for name, seconds in medians.items():
                    print(f"  {name:<28}{seconds:7.2f} s  {seconds / best:5.2f} times the best on stored ends")


if __name__ == "__main__":
    main()
