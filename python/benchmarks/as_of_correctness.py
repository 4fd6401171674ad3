"""How many as-of questions a dbt snapshot and this project answer rightly: `python python/benchmarks/as_of_correctness.py` (about three minutes).

A change log of 400 concepts says from which day on what holds, and on which day that was told: on the day itself, late, or as a correction of what was told
before. dbt sees what a source system has, one row for each concept that is overwritten, and snapshots it on every day of loading. Ours gets the same changes as
records, one more for each. What is right is worked out from the log by neither: of what was told, the last that begins by then.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from governed_memory import warehouse
from governed_memory.warehouse import StoreFile

CONCEPTS, QUESTIONS, LOADS = 400, 10_000, 25
FIRST = datetime.date(2025, 1, 6)
EVERY = 14
Days = tuple[datetime.date, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """From `begins` on a concept has this value; told on `told`, one of the days of loading."""

    concept: str
    value: str
    begins: datetime.date
    told: datetime.date


def change_log(seed: int = 11) -> list[Change]:
    """Changes in the order in which they are told: six of ten on their day, three late, one of a day that was told before."""
    drawn, log = random.Random(seed), []
    begun: dict[str, list[datetime.date]] = {}
    for number, told in enumerate(loads()):
        for place in range(CONCEPTS):
            concept = f"c{place:03}"
            if number and drawn.random() > 0.3:
                continue
            earlier, kind = begun.setdefault(concept, []), drawn.random()
            begins = told
            if earlier and kind > 0.9:
                begins = drawn.choice(earlier)
            elif earlier and kind > 0.6:
                begins = told - datetime.timedelta(days=drawn.randint(1, 60))
            log.append(Change(concept, f"{concept} as told on {told}", begins, told))
            earlier.append(begins)
    return log


def loads() -> Days:
    """The days of loading."""
    return tuple(FIRST + datetime.timedelta(days=EVERY * number) for number in range(LOADS))


def questions(seed: int = 12) -> list[tuple[str, datetime.date]]:
    """Concepts and days, some before the first that is known."""
    drawn = random.Random(seed)
    return [(f"c{drawn.randrange(CONCEPTS):03}", FIRST + datetime.timedelta(days=drawn.randint(-20, EVERY * LOADS))) for _ in range(QUESTIONS)]


def truth(log: list[Change]) -> list[str | None]:
    """What is right, by going through the log: a change holds from its day on, over all that was told before it."""
    holds: dict[str, list[tuple[datetime.date, str]]] = {}
    for change in log:
        kept = [one for one in holds.get(change.concept, []) if one[0] < change.begins]
        holds[change.concept] = [*kept, (change.begins, change.value)]
    answers: list[str | None] = []
    for concept, day in questions():
        begun = holds[concept]
        place = bisect_right([begins for begins, _ in begun], day)
        answers.append(begun[place - 1][1] if place else None)
    return answers


def records(log: list[Change]) -> Iterator[dict[str, object]]:
    """The log as a store: each change is one new record, which names what it replaces - all that would hold on its first day or begin after it."""
    standing: dict[str, list[tuple[datetime.date, str]]] = {}
    for number, change in enumerate(log):
        told = standing.setdefault(change.concept, [])
        before = [one for one in told if one[0] < change.begins]
        replaced = [name for begins, name in told if begins >= change.begins] + [name for _, name in before[-1:]]
        name = f"r{number}"
        yield {
            "record_id": name, "concept": change.concept, "value": change.value, "valid_from": change.begins.isoformat(), "valid_to": None, "source": "log",
            "concept_owner": "office", "supersedes": replaced or None, "recorded_at": f"{change.told}T00:00:00Z",
        }  # fmt: skip
        standing[change.concept] = [*before, (change.begins, name)]


def ours(log: list[Change], folder: Path) -> tuple[list[str | None], float]:
    """Our answers, and the seconds from the file to the intervals."""
    store = folder / "store.jsonl"
    store.write_text("".join(json.dumps(record) + "\n" for record in records(log)), encoding="utf-8")
    started = time.perf_counter()
    connection, _ = warehouse.open_store_file(StoreFile(str(store), name="store"), {"record_intervals_built"})
    seconds = time.perf_counter() - started
    held = connection.execute("select concept_id, value, in_force_from, coalesce(in_force_to, date '9999-12-31') from record_intervals_built").fetchall()
    return _looked_up([row for row in held if row[2] is not None and row[2] <= row[3]]), seconds


SNAPSHOT = """{{% snapshot concepts_{column} %}}
{{{{ config(target_schema='main', unique_key='concept', strategy='timestamp', updated_at='{column}') }}}}
select * from main.source_concepts
{{% endsnapshot %}}
"""


def snapshots(log: list[Change], folder: Path) -> tuple[Mapping[str, list[str | None]], float]:
    """Answers of dbt snapshots that take the day of telling, or the day that a change says, for their time; and the seconds of all runs of dbt."""
    (folder / "snapshots").mkdir()
    (folder / "dbt_project.yml").write_text("name: scd2\nversion: '1.0'\nprofile: scd2\n", encoding="utf-8")
    profile = {"scd2": {"target": "dev", "outputs": {"dev": {"type": "duckdb", "path": str(folder / "scd2.duckdb")}}}}
    (folder / "profiles.yml").write_text(json.dumps(profile), encoding="utf-8")
    for column in ("told", "begins"):
        (folder / f"snapshots/concepts_{column}.sql").write_text(SNAPSHOT.format(column=column), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "dbt"), "--quiet", "snapshot", "--project-dir", str(folder), "--profiles-dir", str(folder)]
    seconds = 0.0
    for day in loads():
        with duckdb.connect(str(folder / "scd2.duckdb")) as connection:
            connection.execute("create table if not exists source_concepts (concept varchar primary key, value varchar, begins timestamp, told timestamp)")
            today = [[change.concept, change.value, change.begins, change.told] for change in log if change.told == day]
            connection.executemany("insert or replace into source_concepts values (?, ?, ?, ?)", today)
        started = time.perf_counter()
        subprocess.run(command, check=True, env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"})
        seconds += time.perf_counter() - started
    day_before = "coalesce(dbt_valid_to::date - 1, date '9999-12-31')"
    with duckdb.connect(str(folder / "scd2.duckdb"), read_only=True) as connection:
        held = {
            column: connection.execute(f"select concept, value, dbt_valid_from::date, {day_before} from concepts_{column}").fetchall()
            for column in ("told", "begins")
        }
    return {column: _looked_up(rows) for column, rows in held.items()}, seconds


def _looked_up(rows: list[tuple[str, str, datetime.date, datetime.date]]) -> list[str | None]:
    """The only value that holds on the day of each question; none where there is none, or more than one."""
    by_concept: dict[str, list[tuple[datetime.date, datetime.date, str]]] = {}
    for concept, value, begins, ends in rows:
        by_concept.setdefault(concept, []).append((begins, ends, value))
    answers: list[str | None] = []
    for concept, day in questions():
        found = [value for begins, ends, value in by_concept.get(concept, []) if begins <= day <= ends]
        answers.append(found[0] if len(found) == 1 else None)
    return answers


def right(answers: list[str | None], log: list[Change]) -> int:
    """How many of the answers are right."""
    return sum(answer == held for answer, held in zip(answers, truth(log), strict=True))


def compared() -> list[tuple[str, str, str]]:
    """A row for each way: what, how many are right, how long it took."""
    log = change_log()
    with tempfile.TemporaryDirectory() as folder:
        answers, seconds = ours(log, Path(folder))
        peers, peer_seconds = snapshots(log, Path(folder))
    return [
        ("record_intervals", f"{right(answers, log):,} of {QUESTIONS:,} right", f"{seconds:.1f} s for {len(log):,} records, once"),
        (
            "dbt snapshot, updated_at = day of telling",
            f"{right(peers['told'], log):,} of {QUESTIONS:,} right",
            f"{peer_seconds:.1f} s for both, in {LOADS} runs",
        ),
        ("dbt snapshot, updated_at = valid_from", f"{right(peers['begins'], log):,} of {QUESTIONS:,} right", ""),
    ]


if __name__ == "__main__":
    for row in compared():
        print(f"| {' | '.join(row)} |")
