"""Check a store file: the level it reaches, and every rule it fails with its offenders (rules L1 to L5).

Runs the project's own models over the file; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.overlay.baseline import Baseline, given
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


def check(
    store: StoreFile,
    *,
    min_level: int = 1,
    presence_only: bool = False,
    shown: int | None = None,
    baseline: Baseline | None = None,
    listed: int | None = None,
) -> dict[str, Any]:
    """Report the level a store reaches.

    Args:
        store: the file and how it reads.
        min_level: the level asked for, 0 to 3.
        presence_only: leave the value rules (L2) out.
        shown: at most this many offenders of each finding are named; all of them if None. Counts are always whole.
        baseline: findings accepted when the store was adopted; the level with value rules, and so `reached`, leave them out.
        listed: add the status of each rule and at most this many single findings of it, the new ones first.

    Returns:
        The published checker's keys (records, level, min_level, pass, mapping, findings) with its values, and: reached (whether the
        asked level is reached with the value rules), level_with_values, value_findings, owners (findings by party), notices. With a
        baseline also `baseline`, with `listed` also `store_id`, `rules` and `results`.

    Raises:
        InputError: the file cannot be read.
    """
    names_owners = shown is None
    reads_findings = names_owners or baseline is not None or listed is not None
    read = PRESENCE_COLUMNS | (OWNER_COLUMNS if reads_findings else set())
    connection, attached = warehouse.open_store_file(
        replace(store, target_level=min_level),
        {"published_findings", "store_levels"} | ({"findings"} if reads_findings else set()) | ({"baseline_entries"} if baseline else set()),
        empty={VALUE_OFFENDERS} if presence_only else (),
        unread=warehouse.columns("record_rows").keys() - read if presence_only else UNREAD,
        given=given(baseline),
        kinds={
            "findings": "view" if baseline is None and listed is None else "table",
            "records": "view",
            "int_record_periods": "table",
            PRESENCE_OFFENDERS: "table",
            VALUE_OFFENDERS: "table",
        },
    )
    [level] = warehouse.rows(connection, "select * from store_levels")
    findings = [
        {"field": row["field"], "requirement": row["published_requirement"], "count": row["finding_count"], "offenders": row["offenders"]}
        for row in warehouse.rows(connection, _published(shown))
    ]
    value_findings = [] if presence_only else warehouse.rows(connection, _values(shown))
    report = {
        "report": "gmem-check/1",
        "store": store.path,
        "records": level["row_count"],
        "level": level["presence_level"],
        "min_level": min_level,
        "pass": level["row_count"] > 0 and level["presence_level"] >= min_level,
        "reached": level["row_count"] > 0 and level["level"] >= min_level,
        "level_with_values": None if presence_only else level["level"],
        "mapping": store.mapping,
        "policy_outside_records": store.policy_id is not None,
        "findings": findings,
        "value_findings": value_findings,
        "owners": warehouse.rows(connection, OWNERS) if names_owners else [],
        "notices": attached.notices,
    }
    asked = "rules.kind = 'presence'" if presence_only else "true"
    if baseline:
        beside = {"level": level["level"], **_beside(connection, baseline, store, asked, shown)}
        report |= {"baseline": beside, "notices": [*attached.notices, *_notices(beside, baseline, store)]}
    if listed is not None:
        report |= {
            "store_id": store.store_id,
            "rules": warehouse.rows(connection, RULES.format(asked=asked)),
            "results": warehouse.rows(connection, RESULTS.format(asked=asked, listed=listed)),
        }
    return report


def _beside(connection: duckdb.DuckDBPyConnection, baseline: Baseline, store: StoreFile, asked: str, shown: int | None) -> dict[str, Any]:
    """What is found beside the baseline: what it accepts, what is new, and what it accepts that is gone."""
    rules = warehouse.rows(connection, BESIDE.format(asked=asked, offenders=_offenders(shown)), {"store": store.store_id})
    counts = {name: sum(rule[name] for rule in rules) for name in ("known", "new", "gone")}
    return {"file": baseline.path, **counts, "rules": rules}


def _notices(beside: dict[str, Any], baseline: Baseline, store: StoreFile) -> Iterator[str]:
    if beside["gone"]:
        command = f"gmem baseline {store.path} -o {baseline.path} --prune"
        yield f"{baseline.path}: findings that it accepts are gone, {beside['gone']} in all; `{command}` takes them out, so that they cannot come back"
    if beside["new"] and baseline.store_ids and store.store_id not in baseline.store_ids:
        held = ", ".join(map(repr, baseline.store_ids))
        yield f"{baseline.path}: is of {held} and accepts nothing of {store.store_id!r}; --store-id says what a store is called there"


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

BESIDE = """
    with named as (
        select offenders.rule_id, {offenders} as offenders
        from findings as offenders
        where not offenders.is_waived
        group by all
    ),
    gone as (
        select rule_id, sum(finding_count - remaining_count)::bigint as gone
        from baseline_entries
        where store_id = $store
        group by all
    )
    select
        statuses.rule_id as rule, statuses.field, statuses.level, statuses.requirement, statuses.baselined_count as known,
        statuses.finding_count as new, coalesce(gone.gone, 0) as gone, coalesce(named.offenders, []) as offenders, rules.summary, rules.fix
    from rule_statuses as statuses
    inner join rules on statuses.rule_id = rules.rule_id
    left join named on statuses.rule_id = named.rule_id
    left join gone on statuses.rule_id = gone.rule_id
    where (statuses.finding_count > 0 or statuses.baselined_count > 0 or gone.gone > 0) and {asked}
    order by statuses.position"""

RULES = """
    select statuses.*, rules.summary, rules.fix
    from rule_statuses as statuses
    inner join rules on statuses.rule_id = rules.rule_id
    where {asked}
    order by statuses.position"""

# `occurrence` tells findings of one fingerprint apart.
RESULTS = """
    select
        findings.rule_id, findings.field, findings.record_index, findings.record_id, findings.detail, findings.level, findings.requirement,
        findings.severity, findings.fingerprint, findings.party_id, findings.party_role,
        row_number() over (partition by findings.fingerprint order by findings.record_index, findings.detail) as occurrence
    from findings
    inner join rules on findings.rule_id = rules.rule_id
    where {asked}
    qualify row_number() over (partition by findings.rule_id order by findings.is_waived, findings.record_index, findings.field, findings.detail) <= {listed}
    order by rules.position, findings.is_waived, findings.record_index, findings.field, findings.detail"""
