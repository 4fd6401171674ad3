"""Check a store file: the level it reaches, and every rule it fails with its offenders (rules L1 to L5).

Runs the project's own models over the file; nothing is decided here.
"""

from __future__ import annotations

from typing import Any

from governed_memory import warehouse
from governed_memory.warehouse import StoreFile

PRESENCE_OFFENDERS = "int_presence_offenders"
VALUE_OFFENDERS = "int_value_offenders"
# What the presence rules read of a row, and what tells who must act on a finding.
PRESENCE_COLUMNS = {
    "store_id", "record_id", "is_valid_from_stated", "is_valid_to_stated", "is_source_stated", "is_concept_owner_stated", "is_owner_role_stated",
    "is_applies_to_stated", "is_does_not_apply_to_stated", "is_release_to_stated", "is_supersedes_stated",
    "states_policy", "states_rule", "carries_restriction",
}  # fmt: skip
OWNER_COLUMNS = {"concept_owner", "owner_role"}
# What no rule reads.
UNREAD = {"value"}


def check(store: StoreFile, *, min_level: int = 1, presence_only: bool = False, shown: int | None = None) -> dict[str, Any]:
    """Report the level a store reaches.

    Args:
        store: the file and how it reads.
        min_level: the level asked for, 0 to 3.
        presence_only: leave the value rules (L2) out.
        shown: at most this many offenders of each finding are named; all of them if None. Counts are always whole.

    Returns:
        The published checker's keys (records, level, min_level, pass, mapping, findings) with its values, and: reached (whether the
        asked level is reached with the value rules), level_with_values, value_findings, owners (findings by party), notices.

    Raises:
        InputError: the file cannot be read.
    """
    names_owners = shown is None
    read = PRESENCE_COLUMNS | (OWNER_COLUMNS if names_owners else set())
    connection, attached = warehouse.open_store_file(
        store,
        {"published_findings", "store_levels"} | ({"findings"} if names_owners else set()),
        empty={"record_ledger", VALUE_OFFENDERS} if presence_only else {"record_ledger"},
        unread=warehouse.columns("record_rows").keys() - read if presence_only else UNREAD,
        kinds={"findings": "view", "records": "view", "int_record_periods": "table", PRESENCE_OFFENDERS: "table", VALUE_OFFENDERS: "table"},
    )
    [level] = warehouse.rows(connection, "select * from store_levels")
    findings = [
        {"field": row["field"], "requirement": row["published_requirement"], "count": row["finding_count"], "offenders": row["offenders"]}
        for row in warehouse.rows(connection, _published(shown))
    ]
    value_findings = [] if presence_only else warehouse.rows(connection, _values(shown))
    reached = level["presence_level"] if presence_only else level["level"]
    return {
        "report": "gmem-check/1",
        "store": store.path,
        "records": level["row_count"],
        "level": level["presence_level"],
        "min_level": min_level,
        "pass": level["row_count"] > 0 and level["presence_level"] >= min_level,
        "reached": level["row_count"] > 0 and reached >= min_level,
        "level_with_values": None if presence_only else level["level"],
        "mapping": store.mapping,
        "policy_outside_records": store.policy_id is not None,
        "findings": findings,
        "value_findings": value_findings,
        "owners": warehouse.rows(connection, OWNERS) if names_owners else [],
        "notices": attached.notices,
    }


def _offenders(shown: int | None) -> str:
    """The offenders of one rule, in the order of the store; a finding about the store itself is named by its detail."""
    name = "coalesce(offenders.record_id, offenders.detail)"
    if shown is None:
        return f"list({name} order by offenders.record_index)"
    return f"list_transform(min((coalesce(offenders.record_index, 0), {name}), {shown}), lambda pair: pair[2])"


def _published(shown: int | None) -> str:
    return f"""
        with named as (
            select offenders.rule_id, {_offenders(shown)} as offenders
            from {PRESENCE_OFFENDERS} as offenders
            semi join published_findings on offenders.rule_id = published_findings.rule_id
            group by all
        )
        select published_findings.*, named.offenders
        from published_findings
        inner join named on published_findings.rule_id = named.rule_id
        order by published_findings.position"""


def _values(shown: int | None) -> str:
    return f"""
        with named as (
            select offenders.rule_id, offenders.field, count(*) as count, {_offenders(shown)} as offenders
            from {VALUE_OFFENDERS} as offenders
            group by all
        )
        select named.rule_id as rule, named.field, rules.level, rules.requirement, named.count, named.offenders, rules.summary, rules.fix
        from named
        inner join rules on named.rule_id = rules.rule_id
        order by rules.position, named.field"""


OWNERS = """
    select party_id as party, party_role as role, count(*) filter (where requirement = 'MUST') as must, count(*) filter (where requirement <> 'MUST') as should
    from findings
    group by all
    order by must desc, should desc, party, role"""
