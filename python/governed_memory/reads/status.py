"""The state of the attached stores in a screenful: what `make build` prints and `gmem status` shows."""

from __future__ import annotations

from typing import Any

import duckdb

from governed_memory import warehouse

# Records that are named of one rule and one party.
NAMED = 5

FINDINGS = """
    select severity, party_id, party_role, count(*) as findings, count(distinct rule_id) as rules, min(rule_id) as one_rule
    from findings
    where not is_waived
    group by all
    order by severity, findings desc, party_id, party_role"""
# What fails the build, by rule and who must act; of each the first records by name, and of none a value.
FAILING = f"""
    select store_id, rule_id, party_id, party_role, count(*) as findings, min(coalesce(record_id, detail), {NAMED}) as records
    from findings
    where severity = 'error'
    group by all
    order by store_id, rule_id, findings desc, party_id, party_role"""
WAIVED = """
    select case when is_baselined then 'in the baseline' else 'waived' end as what, count(*) as findings
    from findings
    where is_waived
    group by all
    order by what desc"""


def status_lines(database: str | None = None) -> tuple[list[str], bool]:
    """Lines to print, and whether every store reaches the level it declares.

    Raises:
        InputError: there is no built database.
    """
    connection = warehouse.open_built(database)
    levels = warehouse.rows(connection, "select * from store_levels order by store_id")
    findings = warehouse.rows(connection, FINDINGS)
    without_effect = warehouse.rows(connection, "select * from waivers where problem is not null order by store_id, rule_id, record_id")
    waived = warehouse.rows(connection, WAIVED)
    lines = ["stores"]
    for level in levels:
        verdict = "met" if level["is_met"] else "MISSED"
        lines.append(f"  {level['store_id']:<24} {level['row_count']:>9} records   level {level['level']} of 3, declared {level['target_level']}: {verdict}")
    lines += ["", "findings by who must act"]
    for row in findings:
        rules = row["one_rule"] if row["rules"] == 1 else f"{row['rules']} rules"
        lines.append(f"  {row['severity']:<8} {_who(row):<40} {row['findings']:>9}  {rules}")
    if not findings:
        lines.append("  none")
    lines += _failing(connection)
    lines += [f"  {row['what']:<49} {row['findings']:>9}" for row in waived]
    if without_effect:
        lines += ["", "waivers without effect"]
        lines += [f"  {row['store_id']}, {row['rule_id']}, {row['record_id'] or 'all records'}: {row['problem']}" for row in without_effect]
    return lines, all(level["is_met"] for level in levels)


def _failing(connection: duckdb.DuckDBPyConnection) -> list[str]:
    found = warehouse.rows(connection, FAILING)
    lines = ["", "what fails the build (all of it: the table findings)"] if found else []
    for row in found:
        more = f" and {row['findings'] - NAMED} more" if row["findings"] > NAMED else ""
        lines.append(f"  {row['store_id']}, {row['rule_id']}: {', '.join(row['records'])}{more}; for {_who(row)}")
    return lines


def _who(row: dict[str, Any]) -> str:
    role = f" ({row['party_role']})" if row["party_role"] else ""
    return (row["party_id"] or "nobody named (give the store a steward)") + role
