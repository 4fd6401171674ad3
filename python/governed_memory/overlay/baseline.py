"""The findings that a store was adopted with: written once, read by `gmem check` and `dbt build`, and only ever lowered (rule L3).

Which finding is in the baseline, and which entry is still found, is decided by the models int_offenders_judged and baseline_entries.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.errors import InputError, did_you_mean
from governed_memory.warehouse import StoreFile, literal
from governed_memory.warehouse.connection import is_file
from governed_memory.warehouse.diagnose import explain_unreadable
from governed_memory.warehouse.durable import write_whole
from governed_memory.warehouse.readers import column_reader, csv_delimiter
from governed_memory.warehouse.store_file import CSV

REGISTER = "stg_baseline"

PROBLEMS = {
    "rule_unknown": "there is no such rule",
    "fingerprint_differs": "its fingerprint is not that of what stands beside it; take it out, and let `gmem baseline` write entries",
    "count_invalid": "its finding_count is no whole number above 0; take it out, and let `gmem baseline` write entries",
    "listed_twice": "it stands there twice; keep one of the two",
}


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline file that can be used.

    Attributes:
        path: the file.
        sql: its entries, in the columns of the register.
        store_ids: the stores it has entries of.
    """

    path: str
    sql: str
    store_ids: tuple[str, ...]


def read_baseline(path: str) -> Baseline:
    """Read a baseline file.

    Raises:
        InputError: there is no such file, it is no baseline, or an entry was changed by hand.
    """
    if not is_file(Path(path)):
        raise InputError(f"{path}: no such baseline; `gmem baseline STORE -o {path}` writes one")
    columns = warehouse.columns(REGISTER)
    connection = warehouse.open_memory()
    try:
        delimiter = csv_delimiter(connection, StoreFile(path))
    except duckdb.Error as error:
        raise explain_unreadable(StoreFile(path), CSV, error) from error
    if missing := columns.keys() - _header(path, delimiter):
        raise InputError(f"{path}: is no baseline, since it has no column {min(missing)!r}; `gmem baseline` writes one")
    reader = column_reader(connection, StoreFile(path), CSV)
    # A number or date that is none reads as null, which int_baseline judges. Without the trim, DuckDB lets its reader cast, which then stops.
    cells = [name if type_ == "VARCHAR" else f"try_cast(trim({name}) as {type_}) as {name}" for name, type_ in columns.items()]
    sql = f"select {', '.join(cells)} from {reader}"
    try:
        warehouse.build(connection, {"int_baseline"}, given={REGISTER: sql})
    except duckdb.Error as error:
        raise explain_unreadable(StoreFile(path), CSV, error) from error
    for row in warehouse.rows(connection, "select * from int_baseline where problem is not null limit 1"):
        hint = did_you_mean(row["rule_id"] or "", [rule["rule_id"] for rule in warehouse.seed("rules")]) if row["problem"] == "rule_unknown" else ""
        where = f"entry of store {row['store_id']!r}, rule {row['rule_id']!r}, record {row['record_id']!r}"
        raise InputError("; ".join(filter(None, [f"{path}: {where}: {PROBLEMS[row['problem']]}", hint])))
    stores = warehouse.rows(connection, "select distinct store_id from int_baseline order by all")
    return Baseline(path, sql, tuple(row["store_id"] for row in stores))


def _header(path: str, delimiter: str) -> set[str]:
    try:
        with Path(path).open(encoding="utf-8-sig", errors="replace", newline="") as file:
            return set(next(csv.reader(file, delimiter=delimiter), []))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except csv.Error:
        return set()


def given(baseline: Baseline | None) -> dict[str, str]:
    """The register's rows for `warehouse.build`; none without a baseline."""
    return {REGISTER: baseline.sql} if baseline else {}


def judge_file(store: StoreFile, baseline: Baseline | None) -> tuple[duckdb.DuckDBPyConnection, list[str]]:
    """A store file's findings, judged by a baseline, and notices.

    Raises:
        InputError: the file cannot be read as records.
    """
    connection, attached = warehouse.open_store_file(store, {"int_offenders_judged", "baseline_entries"}, unread={"value"}, given=given(baseline), kinds=TABLES)
    return connection, attached.notices


def judge_built(store_id: str, baseline: Baseline | None, database: str | None = None) -> duckdb.DuckDBPyConnection:
    """An attached store's findings as the last build has them, judged by a baseline, whichever the build had.

    Raises:
        InputError: there is no built database, or it has no store of that name.
    """
    connection = warehouse.open_memory()
    built = warehouse.attach_built(connection, database, store_id=store_id)
    columns = ", ".join(warehouse.columns("int_value_offenders"))
    rows = f"from {built}.{{}} where store_id = {literal(store_id)}"
    offenders = {f"int_{kind}_offenders": f"select {columns} {rows.format('findings')} and kind = '{kind}'" for kind in ("presence", "value")}
    others = {name: f"select * {rows.format(name)}" for name in ("stores", "stg_waivers", "store_conditions")}
    connection.execute(f"create table stg_build as select * from {built}.stg_build")
    warehouse.build(connection, {"int_offenders_judged", "baseline_entries"}, given=offenders | others | given(baseline), kinds=TABLES)
    return connection


TABLES = {"int_presence_offenders": "table", "int_value_offenders": "table", "int_offenders_judged": "table"}


def entries(connection: duckdb.DuckDBPyConnection, *, accept_new: bool) -> list[dict[str, Any]]:
    """The baseline's entries lowered to what is still found; with `accept_new` also the findings that it does not cover."""
    added = "union all select store_id, rule_id, field, record_id, detail, fingerprint, finding_count, created_on from added" if accept_new else ""
    return warehouse.rows(
        connection,
        f"""
        with added as (
            select
                offenders.store_id, offenders.rule_id, offenders.field, offenders.record_id, builds.on_date as created_on, offenders.fingerprint,
                case when offenders.record_id is null then offenders.detail end as detail, count(*) as finding_count
            from int_offenders_judged as offenders
            cross join stg_build as builds
            where not offenders.is_waived
            group by all
        ),
        kept as (
            select store_id, rule_id, field, record_id, detail, fingerprint, remaining_count as finding_count, created_on from baseline_entries
            {added}
        )
        select
            store_id, rule_id, field, record_id, any_value(detail) as detail, fingerprint,
            sum(finding_count)::bigint as finding_count, min(created_on) as created_on
        from kept
        group by store_id, rule_id, field, record_id, fingerprint
        having sum(finding_count) > 0
        order by store_id, rule_id, field, record_id nulls first, detail, fingerprint""",
    )


COUNTS = """
    select
        (select count(*) from int_offenders_judged where not is_waived) as new,
        (select coalesce(sum(remaining_count), 0)::bigint from baseline_entries) as kept,
        (select coalesce(sum(finding_count - remaining_count), 0)::bigint from baseline_entries) as gone"""


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Entries as text: the same entries give the same bytes."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(warehouse.columns(REGISTER)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write(path: Path, text: str) -> None:
    """Put a baseline in place in one step.

    Raises:
        InputError: it cannot be written there.
    """
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
