"""Change what is in force by appending one record that says what it replaces and from when (rules T7, T9).

The old record stays byte for byte; its end follows from the new one when read. What is to be appended is first judged by the project's own
rules over the records plus it (rule L4): Python decides nothing here that those rules decide.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import duckdb

from governed_memory import warehouse
from governed_memory.dates import day, instant
from governed_memory.errors import InputError
from governed_memory.warehouse import StoreFile, append
from governed_memory.warehouse.store_file import CSV

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
        place: where it was read, for messages: a file and line.
    """

    record_id: str
    supersedes: tuple[str, ...]
    given: dict[str, Any] = field(default_factory=dict)
    from_first_day: bool = False
    place: str | None = None


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
        changes, records = _records(store, changes)
        staged = append.stage(store, records, Path(folder))
        whole = append.candidate(store, staged, Path(folder))
        try:
            outcome = _judge(store, whole, changes, wants_before=dry_run)
        except InputError as error:
            # What is judged lies in the folder of this change; the user knows it as the store.
            raise InputError(str(error).replace(whole.path, store.path)) from error
        if not dry_run:
            append.append(store, staged)
    return outcome


def _records(store: StoreFile, changes: Sequence[Change]) -> tuple[list[Change], list[dict[str, Any]]]:
    """The changes, with identifiers as the store spells them, and as its records: in its own keys, with what each takes over."""
    new: set[str] = set()
    for item in changes:
        with _placed(item):
            _refuse_incomplete(item)
            if _nfc(item.record_id) in new:
                raise InputError(f"record_id {item.record_id!r} is given twice; every record needs its own")
            new.add(_nfc(item.record_id))
    by_id, columns = append.rows_with_ids(store, {name for item in changes for name in (item.record_id, *item.supersedes)})
    spelled, records = [], []
    for item in changes:
        with _placed(item):
            if _nfc(item.record_id) in by_id:
                raise InputError(f"record_id {item.record_id!r} exists already. A record is never edited or ended in place: give the change an id of its own")
    for item in changes:
        with _placed(item):
            _refuse_unreadable(store, item, columns)
            unknown = next((name for name in item.supersedes if _nfc(name) not in by_id), None)
            if unknown is not None:
                raise InputError(_unknown(store, unknown))
            own = replace(item, supersedes=tuple(dict.fromkeys(by_id[_nfc(name)][0] for name in item.supersedes)))
            record = _record(store, own, [by_id[_nfc(name)][1] for name in own.supersedes], columns)
        by_id[_nfc(item.record_id)] = (item.record_id, record)
        spelled.append(own)
        records.append(record)
    return spelled, records


@contextmanager
def _placed(item: Change) -> Iterator[None]:
    """Let a refusal say where the change was read."""
    try:
        yield
    except InputError as error:
        if item.place is None:
            raise
        raise InputError(f"{item.place}: {error}") from error


def _nfc(name: str) -> str:
    """Identifiers are compared in this form."""
    return normalize("NFC", name)


def _unknown(store: StoreFile, name: str) -> str:
    if append.holds_envelopes(store):
        return (
            f"{store.path}: its lines say who wrote each record, which is for the host to say and not for this command: have the host append a line "
            '{"written_by": ..., "record": {...}} and sign it with `gmem attest sign`'
        )
    near = append.nearest_id(store, name)
    hint = f"did you mean {near!r}?" if near else f"ids are read from {store.columns['record_id']!r}"
    return f"record_id {name!r} is not in {store.path}, so nothing can replace it; {hint}"


def _refuse_unreadable(store: StoreFile, item: Change, columns: list[str] | None) -> None:
    """A text in a column that says null, or in CSV none at all, reads as no value (C09)."""
    texts = {"record_id": item.record_id, **item.given}
    unread = {"null", "NULL", *([""] if store.format() == CSV else [])} if columns is not None else set()
    for role, value in texts.items():
        if isinstance(value, str) and value in unread:
            raise InputError(f"record {item.record_id!r}: {role} {value!r} would read as no value in a column of {store.path}; write it in other words")


def _refuse_incomplete(item: Change) -> None:
    if not item.record_id.strip():
        raise InputError("a record to append has no record_id; give it one of its own")
    if not item.supersedes:
        raise InputError(f"record {item.record_id!r}: says nothing of what it replaces; name it with --of, or `supersedes` in a file")
    if _nfc(item.record_id) in map(_nfc, item.supersedes):
        raise InputError(f"record {item.record_id!r}: cannot replace itself. A record is never edited: give the change an id of its own")
    if not item.given.get("valid_from") and not item.from_first_day:
        raise InputError(f"record {item.record_id!r}: has no first day; give it with --from, or `valid_from` in a file. Old records end where new ones begin")
    for role in ("valid_from", "valid_to"):
        if item.given.get(role) is not None:
            day(f"record {item.record_id!r}: {role}", item.given[role])
    if item.given.get("recorded_at") is not None:
        instant(f"record {item.record_id!r}: recorded_at", item.given["recorded_at"])


def _record(store: StoreFile, item: Change, replaced: list[dict[str, Any]], columns: list[str] | None) -> dict[str, Any]:
    names = store.columns
    is_withdrawal = bool(item.given.get("withdrawal"))
    kept_out = OWN_ROLES | (NOT_WITHDRAWN if is_withdrawal else frozenset())
    said: dict[str, Any] = {"record_id": item.record_id, **_stamp(store, replaced, columns), **item.given}
    if item.from_first_day:
        said["valid_from"] = replaced[0].get(names["valid_from"])
    said["supersedes"] = item.supersedes[0] if len(item.supersedes) == 1 and not item.supersedes[0].startswith("[") else list(item.supersedes)
    # 9999-12-31 has no day after it, and is open whichever way ends are written.
    if said.get("valid_to") not in (None, datetime.date.max.isoformat()) and store.is_valid_to_exclusive:
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
    concerned = {_nfc(name) for item in changes for name in (item.record_id, *item.supersedes)}
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
        _refuse_unread(intervals, changes)
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


def _refuse_unread(intervals: list[dict[str, Any]], changes: Sequence[Change]) -> None:
    """A change is shown and judged by identifiers, so each has to read back as one."""
    read = {_nfc(row["record_id"]) for row in intervals}
    for item in changes:
        with _placed(item):
            for name in (item.record_id, *item.supersedes):
                if _nfc(name) not in read:
                    raise InputError(f"record_id {name!r} does not read as one identifier in this store; give the record a plain text as its id")


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
        """select record_id, interval_status, in_force_from, in_force_to, valid_from, valid_to, ended_by, end_reason, is_partly_ended,
            withdrawal is not null as is_withdrawal
        from record_intervals where list_contains($names, nfc_normalize(record_id)) order by record_index""",
        {"names": sorted(names)},
    )


def _warnings(connection: duckdb.DuckDBPyConnection, intervals: list[dict[str, Any]], changes: Sequence[Change]) -> list[str]:
    by_id = {_nfc(row["record_id"]): row for row in intervals}
    warnings = _widened(connection, changes)
    for item in changes:
        start = by_id[_nfc(item.record_id)]["valid_from"]
        for name in item.supersedes:
            old = by_id[_nfc(name)]
            # What ended for some questions only holds for the others until this change (T11).
            if old["interval_status"] == "in_force" and old["ended_by"] != item.record_id and not old["is_partly_ended"]:
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


def _widened(connection: duckdb.DuckDBPyConnection, changes: Sequence[Change]) -> list[str]:
    """Who may see more than before, which is allowed and never silent."""
    named = [{"new": item.record_id, "old": name} for item in changes for name in item.supersedes]
    found = warehouse.rows(connection, WIDENED, {"new": [pair["new"] for pair in named], "old": [pair["old"] for pair in named]})
    warnings = []
    for row in found:
        before = f"is for {', '.join(row['old_names'])} alone" if row["old_names"] else "is restricted"
        after = "is open to everyone" if row["is_open"] else f"also for {', '.join(row['added'])}" if row["old_names"] else f"is for {', '.join(row['added'])}"
        warnings.append(f"{row['new_id']!r}: widens who may see: {row['old_id']!r} {before}, {row['new_id']!r} {after}")
    return warnings


WIDENED = """
    with pairs as (select unnest($new::varchar[]) as new_id, unnest($old::varchar[]) as old_id),
    widened as (
        select
            pairs.new_id, pairs.old_id, not new.is_restricted as is_open, old.release_to as old_names,
            list_filter(new.release_to, lambda name: not list_contains(coalesce(old.release_to, []), name)) as added
        from pairs
        inner join records as new on pairs.new_id = new.record_id
        inner join records as old on pairs.old_id = old.record_id
        where old.is_restricted
    )
    select * from widened
    where is_open or (old_names is not null and len(added) > 0)
    order by new_id, old_id"""
INEFFECTIVE = "select distinct successor_id, predecessor_id, ineffective_reason from record_supersessions where ineffective_reason is not null order by all"
