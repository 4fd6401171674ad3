"""Stores as dbt attaches them: each file reads as it stands, whatever it looks like, and each entry's readings reach the intervals."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import pytest

HEADER = "record_id,valid_from,valid_to\n"
ROW = "A,2026-01-01,\n"
LINE = '{"record_id": "A", "valid_from": "2026-01-01", "valid_to": null}\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> dbt_harness.Project:
    return dbt_harness.Project(tmp_path_factory.mktemp("attached"))


def as_parquet(file: Path, select: str) -> None:
    duckdb.sql(f"copy ({select}) to '{file}'")


def attach_files(project: dbt_harness.Project, folder: Path) -> None:
    """Each file under the name of what is odd about it."""

    def text(name: str, content: str) -> Path:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
        return folder / name

    # Read by a guess, these have commas between their columns, or a comment in the second line, or a number for an id.
    project.attach("semicolons", text("semicolons.csv", "record_id;valid_from;valid_to;value\n0012;2026-01-01;;1,2,3,4\n#1e5;2026-01-01;;5,6,7,8\n"))
    project.attach("bars", text("bars.csv", "record_id|valid_from|valid_to|a,b,c,d,e\n0012|2026-01-01||1,2,3,4,5\n#1e5|2026-01-01||\n"), delimiter="|")
    project.attach("tabs", text("tabs.tsv", "record_id\tvalid_from\tvalid_to\n0012\t2026-01-01\t\n#1e5\t2026-01-01\t\n"))
    for name, content in (("x.csv", HEADER + ROW), ("x.jsonl", LINE), ("x.json", f"[{LINE}]")):
        project.attach(f"partition_{name[2:]}", text(f"source=S-1/{name}", content))
    as_parquet(folder / "source=S-1/x.parquet", "select 'A' as record_id, '2026-01-01' as valid_from, null::varchar as valid_to")
    project.attach("partition_parquet", folder / "source=S-1/x.parquet")
    for place, record_id in enumerate("ABC"):
        text(f"parts/{place}.csv", HEADER + ROW.replace("A", record_id))
        text(f"parts/{place}.jsonl", LINE.replace('"A"', f'"{record_id}"'))
        as_parquet(folder / f"parts/{place}.parquet", f"select '{record_id}' as record_id, '2026-01-01' as valid_from, null::varchar as valid_to")
    for suffix in ("csv", "jsonl", "parquet"):
        project.attach(f"parts_{suffix}", folder / f"parts/*.{suffix}")
    for name in ("ab.csv", "a*.csv", "a?.csv", "[ab].csv", "it's.csv"):
        text(f"names/{name}", HEADER + ROW.replace("A", name))
    project.attach("star", folder / "names/a*.csv")
    project.attach("mark", folder / "names/a?.csv")
    project.attach("brackets", folder / "names/[ab].csv")
    project.attach("quote", folder / "names/it's.csv")


IDS = {
    **dict.fromkeys(["semicolons", "bars", "tabs"], ["0012", "#1e5"]),
    **dict.fromkeys(["partition_csv", "partition_jsonl", "partition_json", "partition_parquet"], ["A"]),
    **dict.fromkeys(["parts_csv", "parts_jsonl", "parts_parquet"], ["A", "B", "C"]),
    **{"star": ["a*.csv"], "mark": ["a?.csv"], "brackets": ["[ab].csv"], "quote": ["it's.csv"]},
}


@pytest.fixture(scope="module")
def connection(project: dbt_harness.Project, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    attach_files(project, tmp_path_factory.mktemp("files"))
    return project.run("record_intervals")


def test_every_file_reads_as_it_stands_L1(connection: duckdb.DuckDBPyConnection) -> None:
    """L1, C10: separators, ids, patterns and names as they are; part files in their order."""
    rows = connection.execute("select store_id, list(record_id order by record_index) from record_rows group by all").fetchall()
    assert dict(rows) == IDS
    assert connection.execute("select value from record_rows where store_id = 'semicolons' order by record_index").fetchall() == [("1,2,3,4",), ("5,6,7,8",)]


def test_a_folder_whose_name_looks_like_a_column_is_none_L1(connection: duckdb.DuckDBPyConnection) -> None:
    """L1: what a record says stands in the file, not in its path."""
    assert connection.execute("select distinct source_id from record_rows where store_id like 'partition%'").fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("content", "entry", "message"),
    [
        (HEADER + ROW + "B,2026-01-01\n", {}, "row 3 (the header is row 1): missing columns; Expected Number of Columns: 3 Found: 2"),
        (HEADER + ROW * 60_000 + "B,2026-01-01,,secret\n", {}, "row 60002 (the header is row 1): too many columns; Expected Number of Columns: 3 Found: 4"),
        (HEADER + ROW, {"delimiter": "::"}, "delimiter is '::'"),
    ],
)
def test_a_row_of_another_length_is_refused_by_its_place_L1_C23(
    content: str, entry: dict[str, Any], message: str, project: dbt_harness.Project, tmp_path: Path
) -> None:
    """L1, C23: the file and the row are named; what the row holds is not."""
    project.vars["stores"] = {}
    (tmp_path / "ragged.csv").write_text(content, encoding="utf-8")
    project.attach("ragged", tmp_path / "ragged.csv", **entry)
    run = project.dbt("compile", "--select", "stg_store_rows")
    assert run.returncode != 0
    assert message in " ".join(run.stdout.split())
    assert "ragged.csv" in run.stdout
    assert "secret" not in run.stdout + run.stderr
