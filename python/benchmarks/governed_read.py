"""The governed read at size, beside the published engine in the same run; `make bench` puts the rows into docs/benchmarks.md."""

from __future__ import annotations

import datetime
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from big_store import RECORDS_PER_CONCEPT, write_store
from measure import calls
from vercy_graphiti import enforce

from governed_memory import warehouse
from governed_memory.host.configuration import Caller
from governed_memory.reads.ask import READS, Opened, Question, ask
from governed_memory.warehouse import StoreFile

DAY = "2023-06-15"
CALLER = Caller("auditor", ("audit",), "inside")
MAPPING = {"written_by": "concept_owner"}
Row = tuple[str, str, str, str]


def governed(store: Path, folder: Path, records: int) -> list[Row]:
    """Every figure of the governed read on a store of so many records."""
    database, seconds, peak = built(store, folder / "governed.duckdb")
    rows = [(f"segments of {records:,} records, from the file", f"{seconds:.1f} s", "", f"{peak:.0f} MiB")]
    rows += every_concept(store, database)
    small = built(write_store(folder / "small.jsonl", records // 100), folder / "small.duckdb")[0]
    large_one, small_one = one_question(database, records), one_question(small, records // 100)
    for name, bar in (("a lookup", "bar 3, p99 10"), ("with two classes", "bar 25"), ("as known on a day", "bar 25")):
        (p50, p99), (former, _) = large_one[name], small_one[name]
        rows.append(
            (
                f"one question, {name}",
                f"p50 {p50:.1f} ms, p99 {p99:.1f} ms",
                f"({bar}); {p50 / former:.2f} times that of {records // 100:,} records (bar 2)",
                "",
            )
        )
    return rows + one_concept(folder)


def built(store: Path, database: Path) -> tuple[Path, float, float]:
    """What asking reads of a store, in a database file; seconds, and the peak memory of this process in MiB."""
    started = time.perf_counter()
    with duckdb.connect(str(database)) as connection:
        # as in profiles.yml
        connection.execute("set disabled_compression_methods = 'dict_fsst'")
        connection.execute("set TimeZone = 'UTC'")
        attached = warehouse.attach(connection, StoreFile(str(store), MAPPING, name="s"))
        targets = {*READS, "int_segments", "governed_answers", "record_intervals_built"}
        warehouse.build(connection, targets, empty={"record_ledger"}, constants=attached.constants)
    return database, time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def every_concept(store: Path, database: Path) -> list[Row]:
    """The answers of all concepts for one caller and day, beside the engine's loop with its facts in memory, and with reading them."""
    started = time.perf_counter()
    with store.open(encoding="utf-8") as file:
        facts: dict[str, list[Any]] = {}
        for line in file:
            record = json.loads(line)
            facts.setdefault(record["concept"], []).append(enforce.Fact.from_record(record, record["concept_owner"]))
    loading = time.perf_counter() - started
    owners = {concept: held[0].written_by for concept, held in facts.items()}
    host, caller = enforce.Host(owners, "latest_valid_from"), enforce.Caller.of("auditor", ["audit"])
    day = datetime.date.fromisoformat(DAY)
    with warehouse.open_built(str(database)) as connection:
        statement = f"select * from governed_answers(date '{DAY}', ['audit'], 'inside')"
        figures = calls({
            "engine": lambda: [enforce.decide(held, concept=concept, caller=caller, as_of=day, host=host) for concept, held in facts.items()],
            "ours": lambda: warehouse.frame(connection, statement),
        })  # fmt: skip
    engine, ours = figures["engine"].seconds, figures["ours"].seconds
    return [
        ("every concept, the published engine over facts in memory", f"{engine:.2f} s", f"{loading:.1f} s more to load them", ""),
        (
            "every concept, governed_answers as a frame",
            f"{ours:.2f} s",
            f"{engine / ours:.1f} times faster (bar 3), with loading {(loading + engine) / ours:.0f} (bar 20)",
            "",
        ),
    ]


def one_question(database: Path, records: int) -> dict[str, tuple[float, float]]:
    """{kind of question: (p50, p99) in ms} through the Python API, of 300 questions (of 60 that are worked out)."""
    chosen = random.Random(1)
    with warehouse.open_built(str(database)) as connection:
        opened = Opened(connection, ("s",), True)

        def figures(count: int, **more: Any) -> tuple[float, float]:
            taken = []
            for _ in range(count):
                concept = f"concept_{chosen.randrange(records // RECORDS_PER_CONCEPT):06}"
                question = Question(concept, DAY, CALLER, store="s", **more)
                taken.append(_milliseconds(lambda question=question: ask(opened, [question])))
            taken.sort()
            return taken[count // 2], taken[int(count * 0.99)]

        figures(10)
        return {
            "a lookup": figures(300),
            "with two classes": figures(60, scope=("retail", "wholesale")),
            "as known on a day": figures(60, known_on="2026-01-01"),
        }


def one_concept(folder: Path) -> list[Row]:
    """The segments of one concept whose records begin on days of their own and never end, for twice as many records each time."""
    rows, former = [], None
    for count in (5_000, 10_000, 20_000):
        path = folder / f"concept_{count}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number in range(count):
                start = (datetime.date(1970, 1, 1) + datetime.timedelta(days=number)).isoformat()
                file.write(json.dumps({"record_id": f"R{number}", "concept": "c", "value": f"v{number}", "valid_from": start, "valid_to": None}) + "\n")
        seconds = _milliseconds(lambda path=path: warehouse.open_store_file(StoreFile(str(path)), {"int_segments"})) / 1000
        beside = f"{seconds / former:.2f} times that of half as many" if former else ""
        rows.append((f"one concept of {count:,} records on days of their own", f"{seconds:.2f} s", beside + (" (bar 10 s)" if count == 10_000 else ""), ""))
        former = seconds
    return rows


def _milliseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for row in governed(write_store(Path(name) / "store.jsonl", 1_000_000), Path(name), 1_000_000):
            print(" | ".join(row))
