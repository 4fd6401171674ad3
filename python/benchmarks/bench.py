"""Measure what the project promises, beside its peers in the same run, and write docs/benchmarks.md: `make bench`.

A figure is a median of five runs taken in turn. What a bar asks stands beside it, reached or not.
"""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
from as_of_correctness import compared
from big_store import write_store
from governed_read import governed
from measure import Figure, calls, processes

from governed_memory import warehouse
from governed_memory.warehouse import StoreFile

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
RECORDS = int(os.environ.get("GMEM_BENCH_RECORDS", "1000000"))
Row = tuple[str, str, str, str]


def check(store: Path) -> list[Row]:
    """`gmem check` beside the published checker, on the same file."""
    figures = processes({
        "vercy check": [str(BIN / "vercy"), "check", str(store), "--quiet"],
        "gmem check --presence-only": [str(BIN / "gmem"), "check", str(store), "--presence-only", "--quiet"],
        "gmem check": [str(BIN / "gmem"), "check", str(store), "--quiet"],
    })  # fmt: skip
    peer = figures["vercy check"]
    rows = [("vercy check", _seconds(peer), "", f"{peer.peak_mib:.0f} MiB")]
    for name, bar in (("gmem check --presence-only", 15), ("gmem check", 10)):
        ours = figures[name]
        assert ours.peak_mib and peer.peak_mib
        rows.append((name, _seconds(ours), f"{peer.seconds / ours.seconds:.1f} times faster (bar {bar})", f"{ours.peak_mib:.0f} MiB (bar half the peer's)"))
    return rows


def as_of(store: Path) -> list[Row]:
    """The as-of count on the built table beside the same count on a table that stores the ends."""
    connection, _ = warehouse.open_store_file(StoreFile(str(store)), {"records_as_of"})
    connection.execute("create table stored_ends as select record_id, in_force_from as starts_on, in_force_to as ends_on from record_intervals_built")
    day = "date '2023-06-15'"
    questions = {
        "a table that stores the ends": f"select count(*) from stored_ends where starts_on <= {day} and (ends_on is null or ends_on >= {day})",
        "records_as_of": f"select count(*) from records_as_of({day})",
    }
    answers = {name: connection.execute(sql).fetchone() for name, sql in questions.items()}
    assert len(set(answers.values())) == 1, answers
    figures = calls({name: _query(connection, sql) for name, sql in questions.items()}, runs=25)
    stored, ours = figures["a table that stores the ends"], figures["records_as_of"]
    return [
        ("count on a table that stores the ends", f"{stored.seconds * 1000:.1f} ms", "", ""),
        ("count of records_as_of", f"{ours.seconds * 1000:.1f} ms", f"{ours.seconds / stored.seconds:.2f} times (bar 1.2)", ""),
    ]


def diff(store: Path, folder: Path) -> list[Row]:
    """What changed in four months, as a query and as a command over a built database; and what was learned, which derives every interval twice."""
    database = folder / "built.duckdb"
    with duckdb.connect(str(database)) as connection:
        attached = warehouse.attach(connection, StoreFile(str(store)))
        warehouse.build(connection, {"changes_between", "stores"}, empty={"record_ledger"}, constants=attached.constants)
    days = ("2023-06-15", "2023-10-15")
    dates = ", ".join(f"date '{day}'" for day in days)
    with duckdb.connect(str(database), read_only=True) as connection:
        queries = calls({
            "changes_between two dates": _query(connection, f"select kind, count(*) from changes_between({dates}) group by kind"),
            "changes_between two states of knowledge": _query(
                connection, f"select kind, count(*) from changes_between({dates}, first_known_on => null, second_known_on => null) group by kind"
            ),
        })  # fmt: skip
        [changes] = connection.execute(f"select count(*) from changes_between({dates})").fetchone() or (0,)
    command = processes({"gmem diff": [str(BIN / "gmem"), "diff", *days, "--database", str(database)]})["gmem diff"]
    return [
        ("changes_between two dates", _seconds(queries["changes_between two dates"]), f"(bar 2 s); {changes:,} changes", ""),
        ("changes_between two states of knowledge", _seconds(queries["changes_between two states of knowledge"]), "", ""),
        ("gmem diff, every change printed", _seconds(command), "(bar 2 s)", f"{command.peak_mib:.0f} MiB"),
    ]


def compact() -> list[Row]:
    """The size of the compact form of the project's own reference store."""
    path = ROOT / "stores" / "reference.jsonl"
    whole = len(path.read_text(encoding="utf-8").rstrip("\n"))
    small = len(subprocess.run([str(BIN / "gmem"), "compact", str(path)], capture_output=True, text=True, check=True).stdout.rstrip("\n"))
    return [("compact form of stores/reference.jsonl", f"{small} of {whole} characters", f"{100 - 100 * small / whole:.1f} % less", "")]


def build(folder: Path) -> list[Row]:
    """`make build` in a clone that has nothing, then again; one run each, since the first empties what the second has."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    make = ["make", "--silent", "-C", str(clone), "build"]
    first, again = (processes({"make build": make}, runs=1)["make build"] for _ in range(2))
    return [("make build, from nothing", _seconds(first), "(bar 180 s)", ""), ("make build, again", _seconds(again), "(bar 15 s)", "")]


def _query(connection: duckdb.DuckDBPyConnection, sql: str):
    return lambda: connection.execute(sql).fetchall()


def _seconds(figure: Figure) -> str:
    return f"{figure.seconds:.2f} s"


def page(parts: dict[str, list[Row]]) -> str:
    """The page as Markdown."""
    lines = [
        "# Benchmarks",
        "",
        f"`make bench`, {datetime.datetime.now(tz=datetime.UTC).date()}, {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()},",
        f"DuckDB {duckdb.__version__}. Medians of five runs in turn (queries: of 25; builds: one run). The store has {RECORDS:,} records, {{size}}",
        "(`python/benchmarks/big_store.py`: chains of five records, four of five with a predecessor). A bar is what the project asks of itself;",
        "where a figure misses it, the page says so by showing both.",
    ]
    for title, rows in parts.items():
        lines += ["", f"## {title}", "", "| what | figure | beside it | peak memory |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure everything and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        store = write_store(Path(folder) / "store.jsonl", RECORDS)
        size = f"{store.stat().st_size / 1e6:.0f} MB of JSON Lines"
        parts = {
            "Checking a store": check(store),
            "Reading as of a date": as_of(store),
            "Comparing two dates": diff(store, Path(folder)),
            "Governed read": governed(store, Path(folder), RECORDS),
            "Compact form": compact(),
            "As-of answers beside dbt snapshots": [(*row, "") for row in compared()],
            "Building": build(Path(folder)),
        }
    text = page(parts).format(size=size)
    (ROOT / "docs" / "benchmarks.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
