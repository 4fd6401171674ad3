"""What a report says: rows of the built database in an order that is always the same. What may be shown is decided in SQL (rules G5 to G7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.dates import date_as_text
from governed_memory.host.configuration import Caller
from governed_memory.reads.ask import name_list
from governed_memory.reads.history import NO_PERIOD, VALIDITY_PROBLEMS, ending
from governed_memory.warehouse import literal

# Characters of a value that the page holds; the rest of a longer one is in the store.
VALUE_LENGTH = 300
# Builds that a trend goes back.
BUILDS = 60

# How a record stopped holding where what ended it is not named.
UNNAMED_ENDS = {"replaced": "replaced", "ended": "ended", "was_wrong": "was wrong: taken back"}

STORES = """
    select levels.*, stores.steward_party, stores.steward_role
    from store_levels as levels
    inner join stores on levels.store_id = stores.store_id
    order by levels.store_id"""
TREND = f"""
    select store_id, built_at, row_count, level, target_level, is_met, error_count, warning_count, waived_count
    from level_trend
    qualify row_number() over (partition by store_id order by built_at desc) <= {BUILDS}
    order by store_id, built_at"""
COVERAGE = "select store_id, field, level, requirement, asked_count, stated_count from field_coverage order by store_id, position"
RECORDS = f"""
    select
        histories.* exclude (value),
        case when length(histories.value) > {VALUE_LENGTH} then left(histories.value, {VALUE_LENGTH}) || '…' else histories.value end as value,
        in_force.record_index is not null as is_current
    from (__histories__) as histories
    left join records_in_force as in_force on histories.store_id = in_force.store_id and histories.record_index = in_force.record_index
    order by histories.store_id, histories.concept_id, histories.valid_from nulls last, histories.known_at nulls last, histories.record_index"""
PERIODS = """
    select * from (__periods__)
    order by store_id, concept_id, question_class_id nulls first, starts_on nulls first, ends_on nulls last, record_ids"""
FINDINGS = """
    select findings.*
    from (__findings__) as findings
    inner join rules on findings.rule_id = rules.rule_id
    order by list_position(['error', 'warning', 'waived', 'baselined'], findings.severity), findings.store_id, rules.position,
        findings.record_index nulls first, findings.concept_id, findings.record_id"""
OWNERS = """
    select
        party_id,
        party_role,
        count(*) filter (where severity = 'error') as errors,
        count(*) filter (where severity = 'warning') as warnings,
        count(*) filter (where severity in ('waived', 'baselined')) as accepted
    from (__findings__)
    group by all
    order by errors desc, warnings desc, accepted desc, party_id nulls last, party_role nulls last"""

RECORD_FIELDS = (
    "store_id", "concept_id", "record_id", "about", "value", "is_restricted", "is_current", "from", "to", "valid_from", "note", "source_id", "concept_owner",
)  # fmt: skip
PERIOD_FIELDS = ("store_id", "concept_id", "question_class_id", "starts_on", "ends_on", "outcome", "record_ids", "withheld_count")
CONCEPT_FIELDS = ("store_id", "concept_id", "outcome", "has_conflict", "has_gap")
FINDING_FIELDS = ("severity", "store_id", "record_id", "concept_id", "rule_id", "party_id", "party_role")


def content(connection: duckdb.DuckDBPyConnection, audience: Caller | None) -> dict[str, Any]:
    """Everything that the page shows.

    Args:
        connection: the built database, open to read.
        audience: who the page is for. Without one it is a steward's: it names every record, and holds nothing that a restricted one says.

    Raises:
        InputError: the database was built by an earlier version.
    """
    parts = _parts(audience)
    records = [_record(row, audience) for row in _rows(connection, RECORDS, parts)]
    findings = _rows(connection, FINDINGS, parts)
    shown_stores = {row["store_id"] for row in records}
    [build] = warehouse.rows(connection, "select on_date, built_at from stg_build")
    policies = warehouse.rows(connection, f"select * from ({warehouse.fragment('reported_policies')}) order by store_id")
    rules = {rule["rule_id"]: {name: rule[name] for name in ("level", "requirement", "field", "summary", "fix")} for rule in warehouse.seed("rules")}
    pool = Pool()
    # what speaks of all records of a store, as its level and its counts do, is not for an audience (G7)
    told_of_all = audience is None
    return {
        "audience": audience.name if audience else None,
        "built_at": f"{build['built_at']:%Y-%m-%d %H:%M:%S}",
        "on_date": build["on_date"].isoformat(),
        "stores": warehouse.rows(connection, STORES) if told_of_all else [],
        "trends": _by_store(warehouse.rows(connection, TREND)) if told_of_all else {},
        "coverage": _by_store(warehouse.rows(connection, COVERAGE)) if told_of_all else {},
        "owners": _rows(connection, OWNERS, parts),
        "policies": policies if told_of_all else [policy for policy in policies if policy["store_id"] in shown_stores],
        "fields": warehouse.seed("field_ablation") if told_of_all else [],
        "counts": {"records": len(records), "findings": len(findings)},
        "data": {
            "on_date": build["on_date"].isoformat(),
            "rules": {rule: rules[rule] for rule in sorted({row["rule_id"] for row in findings})},
            "records": pool.table(records, RECORD_FIELDS),
            "periods": pool.table(_rows(connection, PERIODS, parts), PERIOD_FIELDS),
            "concepts": pool.table(warehouse.rows(connection, warehouse.fragment("reported_concepts", **parts) + " order by 1, 2"), CONCEPT_FIELDS),
            "findings": pool.table(findings, FINDING_FIELDS),
            "pool": pool.values,
        },
    }


class Pool:
    """Tables as columns of places in one list of values: most texts of a store occur many times, and the page holds each once."""

    def __init__(self) -> None:
        """Begin with no value."""
        self.values: list[Any] = []
        self._places: dict[tuple[type, Any], int] = {}

    def table(self, rows: list[dict[str, Any]], fields: tuple[str, ...]) -> dict[str, list[int]]:
        """The named fields of the rows, {field: one place per row}."""
        return {field: [self._place(row[field]) for row in rows] for field in fields}

    def _place(self, value: Any) -> int:
        plain = tuple(value) if isinstance(value, list) else date_as_text(value)
        place = self._places.setdefault((type(plain), plain), len(self.values))
        if place == len(self.values):
            self.values.append(plain)
        return place


def _parts(audience: Caller | None) -> dict[str, str]:
    """The SQL that the page's rows come from."""
    if audience is None:
        return {name: warehouse.fragment(f"reported_{name}") for name in ("histories", "periods", "findings")}
    who = {"parties": name_list(audience.parties), "boundary": literal(audience.boundary)}
    return {
        "histories": warehouse.fragment("disclosed_history", concept="null::varchar", store="null::varchar", **who),
        "periods": warehouse.fragment("disclosed_periods", **who),
        "findings": warehouse.fragment("disclosed_findings", **who),
    }


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, parts: Mapping[str, str]) -> list[dict[str, Any]]:
    return warehouse.rows(connection, re.sub("__([a-z]+)__", lambda match: parts[match[1]], sql))


def _by_store(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {store_id: list(group) for store_id, group in groupby(rows, key=lambda row: row["store_id"])}


def _record(row: dict[str, Any], audience: Caller | None) -> dict[str, Any]:
    return {
        **row,
        "from": row["in_force_from"],
        "to": row["in_force_to"],
        "about": row["record_concept_id"] if row["record_concept_id"] != row["concept_id"] else None,
        "note": _note(row, audience),
    }


def _note(row: dict[str, Any], audience: Caller | None) -> str:
    """What became of a record, in words."""
    said = [] if row["interval_status"] == "in_force" else [NO_PERIOD[row["interval_status"]]]
    if row["interval_status"] == "validity_unknown":
        said.append(VALIDITY_PROBLEMS[row["validity_problem"]])
    elif row["interval_status"] == "withdrawal":
        said.append(f"takes back {', '.join(row['supersedes'] or []) or 'nothing that is shown'}" + (f": {row['withdrawal']}" if row["withdrawal"] else ""))
    elif row["end_reason"]:
        # an audience is not told which of the two it is: no identifier, or none for it
        is_unnamed = audience is not None and row["ended_by"] is None and row["end_reason"] in UNNAMED_ENDS
        said.append(UNNAMED_ENDS[row["end_reason"]] if is_unnamed else ending({**row, "is_partly_ended": False}))
        if row["is_partly_ended"]:
            said.append("only for some questions")
    return "; ".join(said)
