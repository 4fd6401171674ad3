"""Change what is in force by appending one record that says what it replaces and from when (rules T7, T9).

The old record stays byte for byte; its end follows from the new one when read. What is to be appended is first judged by the project's own
rules over the records plus it (rule L4): Python decides nothing here that those rules decide.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.dates import day
from governed_memory.errors import InputError
from governed_memory.warehouse import StoreFile, append

# What a new record says for itself; everything else it takes over from the record it replaces, unless told otherwise.
OWN_ROLES = frozenset({"record_id", "value", "valid_from", "valid_to", "source", "supersedes", "withdrawal", "recorded_at", "written_by"})
# A withdrawal is no answer and states no rule, so it has no scope of its own either.
NOT_WITHDRAWN = frozenset({"applies_to", "does_not_apply_to", "conflict_policy", "policy", "rule", "priority"})


@dataclass(frozen=True, slots=True)
class Change:
    """One record to append.

    Attributes:
        record_id: its identifier, new in the store.
        supersedes: the identifiers of the records it replaces or withdraws.
        given: {role: value} it states; a role left out is taken over from what it replaces. valid_from is needed.
        from_first_day: begin on the first day of what it replaces, in place of a valid_from: that one was wrong from the start (T9).
    """

    record_id: str
    supersedes: tuple[str, ...]
    given: dict[str, Any] = field(default_factory=dict)
    from_first_day: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change does, or would do.

    Attributes:
        before, after: the intervals of the records concerned without and with it, as rows of record_intervals; before only on a dry run.
        warnings: what is allowed and worth a look, one line each.
    """

    before: list[dict[str, Any]]
    after: list[dict[str, Any]]
    warnings: list[str]


def change(store: StoreFile, changes: Sequence[Change], *, dry_run: bool = False) -> Outcome:
    """Append records that supersede or withdraw others, all or none.

    Args:
        store: where they go; only JSON Lines, CSV, a folder of Parquet files and tables can be appended to.
        changes: the records, in the order in which they are appended. One may replace another of them.
        dry_run: judge and show, but append nothing.

    Raises:
        InputError: the change is refused or cannot be written; the message says what to do instead, and the store is as it was.
    """
    append.appendable(store)
    with append.locked(store), tempfile.TemporaryDirectory() as folder:
        records = _records(store, changes)
        staged = append.stage(store, records, Path(folder))
        outcome = _judge(store, replace(store, more=staged), changes, wants_before=dry_run)
        if not dry_run:
            append.append(store, staged)
    return outcome


def _records(store: StoreFile, changes: Sequence[Change]) -> list[dict[str, Any]]:
    """The changes as records of the store: its own keys, and what each takes over."""
    new = [item.record_id for item in changes]
    for item in changes:
        _refuse_incomplete(item)
    if len(set(new)) < len(new):
        raise InputError(f"record_id {next(name for name in new if new.count(name) > 1)!r} is given twice; every record needs its own")
    held, columns = append.rows_with_ids(store, {*new, *(name for item in changes for name in item.supersedes)})
    by_id: dict[str, dict[str, Any]] = {str(row[store.columns["record_id"]]): row for row in held}
    for name in new:
        if name in by_id:
            raise InputError(f"record_id {name!r} exists already. A record is never edited or ended in place: give the change an id of its own")
    records = []
    for item in changes:
        unknown = next((name for name in item.supersedes if name not in by_id), None)
        if unknown is not None:
            near = append.nearest_id(store, unknown)
            hint = f"did you mean {near!r}?" if near else f"ids are read from {store.columns['record_id']!r}"
            raise InputError(f"record_id {unknown!r} is not in {store.path}, so nothing can replace it; {hint}")
        record = _record(store, item, [by_id[name] for name in item.supersedes], columns)
        by_id[item.record_id] = record
        records.append(record)
    return records


def _refuse_incomplete(item: Change) -> None:
    if not item.record_id.strip():
        raise InputError("a record to append has no record_id; give it one of its own")
    if not item.supersedes:
        raise InputError(f"record {item.record_id!r}: says nothing of what it replaces; name it with --of, or `supersedes` in a file")
    if item.record_id in item.supersedes:
        raise InputError(f"record {item.record_id!r}: cannot replace itself. A record is never edited: give the change an id of its own")
    if not item.given.get("valid_from") and not item.from_first_day:
        raise InputError(f"record {item.record_id!r}: has no first day; give it with --from, or `valid_from` in a file. Old records end where new ones begin")
    for role in ("valid_from", "valid_to"):
        if item.given.get(role) is not None:
            day(f"record {item.record_id!r}: {role}", str(item.given[role]))


def _record(store: StoreFile, item: Change, replaced: list[dict[str, Any]], columns: list[str] | None) -> dict[str, Any]:
    names = store.columns
    is_withdrawal = bool(item.given.get("withdrawal"))
    kept_out = OWN_ROLES | (NOT_WITHDRAWN if is_withdrawal else frozenset())
    said: dict[str, Any] = {"record_id": item.record_id, **_stamp(store, replaced, columns), **item.given}
    if item.from_first_day:
        said["valid_from"] = replaced[0].get(names["valid_from"])
    said["supersedes"] = item.supersedes[0] if len(item.supersedes) == 1 and not item.supersedes[0].startswith("[") else list(item.supersedes)
    if said.get("valid_to") and store.is_valid_to_exclusive:
        said["valid_to"] = (datetime.date.fromisoformat(said["valid_to"]) + datetime.timedelta(days=1)).isoformat()
    for role, key in names.items():
        values = [row[key] for row in replaced if key in row]
        if role in said or role in kept_out or not values:
            continue
        if any(value != values[0] for value in values) or len(values) < len(replaced):
            raise InputError(f"record {item.record_id!r}: the records it replaces differ in {role}; say which holds with --set {role}=VALUE")
        said[role] = values[0]
    lacking = next((role for role in said if names.get(role, role) not in (columns or names.values()) and said[role] is not None), None)
    if lacking:
        raise InputError(
            f"{store.path}: has no column for {lacking}, so the change cannot be written down; add a column {names.get(lacking, lacking)!r} to the store, "
            f"or name the one that holds it with --map {lacking}=COLUMN"
        )
    # An open end is said: in JSON a missing key would mean that nobody knows.
    said.setdefault("valid_to", None)
    # In the order of the record it replaces, then what that one does not have.
    order = [role for key in (columns or replaced[0]) for role, name in names.items() if name == key and role in said]
    return {names[role]: said[role] for role in [*order, *(role for role in said if role not in order)] if columns is None or names[role] in columns}


def _stamp(store: StoreFile, replaced: list[dict[str, Any]], columns: list[str] | None) -> dict[str, Any]:
    """When the record is written, where the store keeps that."""
    key = store.columns["recorded_at"]
    if key not in (replaced[0] if columns is None else columns):
        return {}
    return {"recorded_at": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")}


def _judge(store: StoreFile, with_changes: StoreFile, changes: Sequence[Change], *, wants_before: bool) -> Outcome:
    names = {item.record_id for item in changes}
    concerned = names | {name for item in changes for name in item.supersedes}
    with _opened(with_changes) as after:
        counts = _must_counts(after)
        earlier, before = _before(store, concerned) if counts or wants_before else ({}, [])
        grown = [rule for rule, count in counts.items() if count > earlier.get(rule, 0)]
        if grown:
            raise InputError(_refusal(after, grown, names))
        for edge in warehouse.rows(after, INEFFECTIVE):
            if edge["successor_id"] in names:
                raise InputError(
                    f"record {edge['successor_id']!r}: would not replace {edge['predecessor_id']!r} ({edge['ineffective_reason']}); nothing was changed"
                )
        intervals = _intervals(after, concerned)
        warnings = _warnings(after, intervals, changes)
    return Outcome(before if wants_before else [], intervals, warnings)


def _before(store: StoreFile, names: set[str]) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """What fails without the change, and the intervals of the records it concerns."""
    with _opened(store) as connection:
        return _must_counts(connection), _intervals(connection, names)


def _opened(store: StoreFile) -> duckdb.DuckDBPyConnection:
    connection, _ = warehouse.open_store_file(
        store,
        {"findings", "record_intervals", "record_supersessions"},
        kinds={"findings": "view", "records": "view", "int_record_periods": "table", "int_presence_offenders": "table", "int_value_offenders": "table"},
    )
    return connection


def _must_counts(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Findings per rule that fail the level the store means to meet; which those are is int_offenders_judged's to say (L3)."""
    found = warehouse.rows(connection, "select rule_id, count(*) as found from int_offenders_judged where severity = 'error' group by all order by all")
    return {row["rule_id"]: row["found"] for row in found}


def _refusal(connection: duckdb.DuckDBPyConnection, grown: list[str], names: set[str]) -> str:
    rules = warehouse.rows(connection, "select rule_id, summary, fix from rules where list_contains($grown, rule_id) order by position", {"grown": grown})
    said = "; ".join(f"{rule['rule_id']} ({rule['summary']}. {rule['fix']})" for rule in rules)
    return f"record {', '.join(map(repr, sorted(names)))}: refused, the store would break a rule it keeps: {said}. Nothing was changed"


def _intervals(connection: duckdb.DuckDBPyConnection, names: set[str]) -> list[dict[str, Any]]:
    return warehouse.rows(
        connection,
        """select record_id, interval_status, in_force_from, in_force_to, valid_from, valid_to, ended_by, end_reason, withdrawal is not null as is_withdrawal
        from record_intervals where list_contains($names, record_id) order by record_index""",
        {"names": sorted(names)},
    )


def _warnings(connection: duckdb.DuckDBPyConnection, intervals: list[dict[str, Any]], changes: Sequence[Change]) -> list[str]:
    by_id = {row["record_id"]: row for row in intervals}
    warnings = []
    for item in changes:
        start = by_id[item.record_id]["valid_from"]
        for name in item.supersedes:
            old = by_id[name]
            if old["interval_status"] == "in_force" and old["ended_by"] != item.record_id:
                warnings.append(f"{name!r} is not in force on {start}: it ends on {old['in_force_to']} without {item.record_id!r}")
            elif old["interval_status"] == "never_in_force" and old["end_reason"] != "was_wrong":
                warnings.append(f"{name!r} begins on {old['valid_from']}, not before {item.record_id!r}: it was then never in force")
    should = warehouse.rows(
        connection,
        """select findings.record_id, findings.rule_id, rules.summary from findings inner join rules on findings.rule_id = rules.rule_id
        where findings.severity <> 'error' and list_contains($names, findings.record_id) and findings.rule_id <> 'supersedes_missing'
        order by rules.position, findings.record_id""",
        {"names": [item.record_id for item in changes]},
    )
    return warnings + [f"{row['record_id']!r}: {row['rule_id']} ({row['summary']})" for row in should]


INEFFECTIVE = "select distinct successor_id, predecessor_id, ineffective_reason from record_supersessions where ineffective_reason is not null order by all"
