"""Stores as dbt attaches them: each file reads as it stands, whatever it looks like, and each entry's readings reach the intervals."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import pytest

from governed_memory.cli import main

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
    "semicolons": ["0012", "#1e5"], "bars": ["0012", "#1e5"], "tabs": ["0012", "#1e5"],
    "partition_csv": ["A"], "partition_jsonl": ["A"], "partition_json": ["A"], "partition_parquet": ["A"],
    "parts_csv": ["A", "B", "C"], "parts_jsonl": ["A", "B", "C"], "parts_parquet": ["A", "B", "C"],
    "star": ["a*.csv"], "mark": ["a?.csv"], "brackets": ["[ab].csv"], "quote": ["it's.csv"],
}  # fmt: skip


# What stands under valid_to: the status, first and last day that it gives a record from 2026-01-01 on.
LAST, NEXT, CLOSED, OPEN, UNKNOWN = (
    "2026-03-31",
    "2026-04-01",
    ("never_in_force", None, None),
    ("in_force", "2026-01-01", None),
    ("validity_unknown", None, None),
)
ENDS: dict[str, dict[str | None, Any]] = {
    "exclusive": {
        "2026-04-01": LAST, "2026-04-01T00:00:00Z": LAST, "2026-04-01T00:00:00": LAST, "2026-04-01T02:00:00+02:00": LAST, "2026-04-01T00:00:00.000001Z": NEXT,
        "2026-04-01T10:00:00Z": NEXT, "2026-01-02": "2026-01-01", "2026-01-01": CLOSED, "9999-12-31": OPEN, "infinity": OPEN, None: OPEN,
    },
    "exclusive_berlin": {
        "2026-04-01": LAST, "2026-03-31T22:00:00Z": LAST, "2026-03-31T22:00:01Z": NEXT, "2026-04-01T00:00:00": LAST, "2026-04-01T00:00:00Z": NEXT,
    },
    "inclusive_berlin": {"2026-04-01": NEXT, "2026-03-31T21:59:59Z": LAST, "2026-03-31T22:00:00Z": NEXT, "2026-04-01T00:00:00": NEXT},
    "unknown": {None: UNKNOWN, "  ": UNKNOWN, "2026-03-31": LAST, "2026-03-31T12:00:00Z": LAST, "9999-12-31": OPEN},
    "unknown_exclusive": {None: UNKNOWN, "2026-04-01": LAST, "2026-04-01T00:00:00Z": LAST},
}  # fmt: skip
ENTRIES: dict[str, dict[str, Any]] = {
    "exclusive": {"valid_to_is": "exclusive"},
    "exclusive_berlin": {"valid_to_is": "exclusive", "zone": "Europe/Berlin"},
    "inclusive_berlin": {"zone": "Europe/Berlin"},
    "unknown": {"null_end": "unknown"},
    "unknown_exclusive": {"null_end": "unknown", "valid_to_is": "exclusive"},
}
# The same in columns that are dates or timestamps by type: {store: (type, entry, {end: what it gives})}.
TYPED: dict[str, tuple[str, dict[str, Any], dict[str | None, Any]]] = {
    "dates": ("date", ENTRIES["unknown_exclusive"], {"2026-04-01": LAST, None: UNKNOWN}),
    "timestamps": ("timestamp", ENTRIES["exclusive_berlin"], {"2026-04-01 00:00:00": LAST, "2026-04-01 00:00:01": NEXT, None: OPEN}),
    "instants": ("timestamptz", ENTRIES["exclusive_berlin"], {"2026-03-31 22:00:00+00": LAST, "2026-04-01 00:00:00+00": NEXT}),
}


def attach_ends(project: dbt_harness.Project, folder: Path) -> None:
    for name, ends in ENDS.items():
        records = [{"record_id": f"to {end}", "valid_from": "2026-01-01", "valid_to": end, "supersedes": None} for end in ends]
        # Begins before the end of the first record, and ends it all the same.
        records.append({"record_id": "successor", "valid_from": "2026-03-15", "valid_to": "2027-01-01", "supersedes": "ended"})
        records.append({"record_id": "ended", "valid_from": "2026-01-01", "valid_to": "2026-04-01", "supersedes": None})
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, records[0])
            writer.writeheader()
            writer.writerows(records)
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
        project.attach(f"{name}_csv", folder / f"{name}.csv", **ENTRIES[name])
        project.attach(f"{name}_json", folder / f"{name}.jsonl", **ENTRIES[name])
    for name, (type_, entry, ends) in TYPED.items():
        rows = ", ".join(f"('to {end}', {f'{end!r}' if end else 'null'})" for end in ends)
        as_parquet(
            folder / f"{name}.parquet",
            f"select record_id, date '2026-01-01' as valid_from, valid_to::{type_} as valid_to from (values {rows}) as t(record_id, valid_to)",
        )
        project.attach(name, folder / f"{name}.parquet", **entry)


@pytest.fixture(scope="module")
def connection(project: dbt_harness.Project, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("files")
    attach_files(project, folder)
    attach_ends(project, folder)
    return project.run("record_intervals", "records_as_of")


def intervals(connection: duckdb.DuckDBPyConnection, store_id: str) -> dict[str, Any]:
    rows = connection.execute("select record_id, interval_status, in_force_from, in_force_to from record_intervals where store_id = ?", [store_id]).fetchall()
    return {record_id: tuple(str(part) if isinstance(part, datetime.date) else part for part in parts) for record_id, *parts in rows}


def expected(ends: dict[str | None, Any]) -> dict[str, Any]:
    return {f"to {end}": ("in_force", "2026-01-01", given) if isinstance(given, str) else given for end, given in ends.items()}


def test_every_file_reads_as_it_stands_L1(connection: duckdb.DuckDBPyConnection) -> None:
    """L1, C10: separators, ids, patterns and names as they are; part files in their order."""
    rows = connection.execute("select store_id, list(record_id order by record_index) from record_rows group by all").fetchall()
    assert {store_id: ids for store_id, ids in rows if store_id in IDS} == IDS
    assert connection.execute("select value from record_rows where store_id = 'semicolons' order by record_index").fetchall() == [("1,2,3,4",), ("5,6,7,8",)]


def test_a_folder_whose_name_looks_like_a_column_is_none_L1(connection: duckdb.DuckDBPyConnection) -> None:
    """L1: what a record says stands in the file, not in its path."""
    assert connection.execute("select distinct source_id from record_rows where store_id like 'partition%'").fetchall() == [(None,)]


@pytest.mark.parametrize("name", ENDS)
def test_an_end_reads_as_the_entry_of_its_store_says_T1_T2(name: str, connection: duckdb.DuckDBPyConnection) -> None:
    """T1, T2, T4: `valid_to_is`, `null_end` and `zone`, in columns and in JSON, where null is open whatever `null_end` says and a blank no date."""
    until = str(datetime.date(2027, 1, 1) - datetime.timedelta(days="valid_to_is" in ENTRIES[name]))
    both = {"successor": ("in_force", "2026-03-15", until), "ended": ("in_force", "2026-01-01", "2026-03-14")}
    assert intervals(connection, f"{name}_csv") == expected(ENDS[name]) | both
    in_json = {end: OPEN if end is None else given for end, given in ENDS[name].items()}
    assert intervals(connection, f"{name}_json") == expected(in_json) | both


@pytest.mark.parametrize("name", TYPED)
def test_an_end_of_a_type_reads_as_the_entry_of_its_store_says_T1_T2(name: str, connection: duckdb.DuckDBPyConnection) -> None:
    """T1, T2: the same where the column is a date, a timestamp or an instant."""
    assert intervals(connection, name) == expected(TYPED[name][2])


def test_an_end_that_is_unknown_is_in_no_read_T1(connection: duckdb.DuckDBPyConnection) -> None:
    """T1: and the day that an exclusive end names is the first that no longer holds."""

    def as_of(store_id: str, day: str) -> set[str]:
        return {
            record_id for (record_id,) in connection.execute(f"select record_id from records_as_of(date '{day}') where store_id = ?", [store_id]).fetchall()
        }

    assert as_of("unknown_csv", "2026-03-01") == {"to 2026-03-31", "to 2026-03-31T12:00:00Z", "to 9999-12-31", "ended"}
    assert as_of("unknown_exclusive_csv", "2026-03-31") == {"to 2026-04-01", "to 2026-04-01T00:00:00Z", "successor"}
    assert as_of("unknown_exclusive_csv", "2026-04-01") == {"successor"}


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


def test_a_waiver_without_effect_gives_a_warning_and_is_named_L3(project: dbt_harness.Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L3: a blank reason or a blank end is told, not passed over."""
    project.vars["stores"] = {}
    (tmp_path / "store.jsonl").write_text(LINE, encoding="utf-8")
    project.attach("store", tmp_path / "store.jsonl")
    waivers = [
        "store_id,rule_id,record_id,reason,ends_on",
        "store,source_missing,A, ,2030-01-01",
        "store,source_missing,,known,",
        "store,source_missing,B,known,2030-01-01",
    ]
    (project.folder / "seeds/example/example_waivers.csv").write_text("\n".join(waivers), encoding="utf-8")
    project.vars["registers"] = {"waivers": "example_waivers"}
    wanted = ["+findings", "+store_levels", "+record_intervals_built", "every_waiver_has_a_reason_and_an_end"]
    run = project.dbt("build", "--indirect-selection", "empty", "--exclude-resource-type", "unit_test", "--select", *wanted)
    assert run.returncode == 0, run.stdout + run.stderr
    results = json.loads((project.folder / "target/run_results.json").read_text(encoding="utf-8"))["results"]
    assert [(result["status"], result["failures"]) for result in results if "every_waiver" in result["unique_id"]] == [("warn", 2)]
    main(["status", "--database", str(project.folder / dbt_harness.DATABASE)])
    told = capsys.readouterr().out.partition("waivers without effect\n")[2].splitlines()
    assert told == ["  store, source_missing, A: it gives no reason", "  store, source_missing, all records: it gives no last day"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on_date": "2026-1-5"}, 'on_date is "2026-1-5", which is no date'),
        ({"on_date": "2026-02-30"}, 'on_date is "2026-02-30", which is no date'),
        ({"on_date": "' or '"}, "which is no date"),
        ({"stores": 5}, "vars: stores: expected names"),
        ({"stores": {"a": 5}}, "vars: stores: a: expected names"),
        ({"stores": {"it's": {"source": "x"}}}, "expected a name without quotes"),
        ({"registers": ["parties"]}, "vars: registers: expected names"),
        ({"stores": {"a": {"source": "example_parties", "form": "nope"}}}, "store a: form is 'nope', expected relational or bitemporal_graph"),
        ({"stores": {"a": {"source": "example_parties", "zone": "Mars/X"}}}, "store a: zone is 'Mars/X', which is no time zone"),
    ],
)
def test_what_the_vars_say_wrongly_is_said_when_compiling_L1(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    """L1: in one line of dbt's own error, with what is expected, before anything is built."""
    run = dbt_harness.dbt(tmp_path, "compile", "--select", "stg_stores", "stg_build", "--vars", json.dumps({"stores": {}, "registers": {}, **given}))
    assert run.returncode != 0
    assert message in " ".join(run.stdout.split())
    assert "Traceback" not in run.stdout + run.stderr


def test_an_array_that_is_cut_off_is_refused_L1(project: dbt_harness.Project, tmp_path: Path) -> None:
    """L1: with the store and the file; a whole one and one object a line read as ever."""
    project.vars["stores"] = {}
    for name, content in (("whole", f" [{LINE}] "), ("none", "[ ]"), ("lines", LINE)):
        (tmp_path / f"{name}.json").write_text(content, encoding="utf-8")
        project.attach(name, tmp_path / f"{name}.json")
    run = project.dbt("compile", "--select", "stg_store_rows")
    assert run.returncode == 0, run.stdout
    (tmp_path / "whole.json").write_text(f"[{LINE},", encoding="utf-8")
    run = project.dbt("compile", "--select", "stg_store_rows")
    assert run.returncode != 0
    assert "store whole: " in run.stdout and "whole.json: the array does not end in ]" in " ".join(run.stdout.split())


def test_a_missed_level_names_records_rule_and_who_must_act_L3_L5_C23(project: dbt_harness.Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L3, L5, C23: on the console of dbt and in `gmem status`, and without a value."""
    project.vars["stores"], project.vars["registers"] = {}, {}
    record = {"valid_from": "2026-01-01", "concept": "arr", "concept_owner": "finance", "value": "secret", "release_to": ["board"]}
    (tmp_path / "store.jsonl").write_text("\n".join(json.dumps({"record_id": f"A-{number}", **record}) for number in range(7)), encoding="utf-8")
    project.attach("store", tmp_path / "store.jsonl", target_level=1)
    project.run("findings", "int_required_findings", "store_levels", "record_intervals_built")
    run = project.dbt("--no-quiet", "test", "--select", "no_required_finding_valid_to_unstated_")
    assert run.returncode == 1, run.stdout
    told = "store store fails valid_to_unstated: A-0, A-1, A-2, A-3, A-4 and 2 more; for finance."
    assert told in " ".join(run.stdout.split())
    assert "secret" not in run.stdout
    assert main(["status", "--database", str(project.folder / dbt_harness.DATABASE)]) == 1
    assert "  store, valid_to_unstated: A-0, A-1, A-2, A-3, A-4 and 2 more; for finance\n" in capsys.readouterr().out
