"""What the rules of time say of a small store, worked out one record, one edge and one day at a time.

Slow and plain on purpose, and free of SQL: it reads T1, T3 to T6, T8, T9, T11 and G2 as they are worded, so that the models can be
held against it. A store is a dictionary:

    records           the records as JSON objects, in the order they arrived
    attests_writers   whether written_by is attested by the host (T8)
    ownerships        the register: [{concept_id, party_id (None: nobody), valid_from, recorded_at}], dates or None
    first_built       {record_id: when a build first saw it}, which counts where a record has no recorded_at (T6)

Rows are named by their place in the store, from 1, because ids may be shared or missing.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

DAY = datetime.timedelta(days=1)
SENTINEL = datetime.date(9999, 1, 1)


@dataclass(frozen=True)
class Row:
    index: int
    record_id: str | None
    concept: str | None
    valid_from: datetime.date | None
    valid_to: datetime.date | None
    is_validity_known: bool
    supersedes: tuple[str, ...]
    applies_to: frozenset[str]
    does_not_apply_to: frozenset[str]
    is_withdrawal: bool
    recorded_at: datetime.datetime | None
    known_at: datetime.datetime | None
    written_by: str | None
    concept_owner: str | None


@dataclass(frozen=True)
class Edge:
    successor: Row
    target: str
    predecessor: Row | None


@dataclass(frozen=True)
class Interval:
    status: str
    in_force_from: datetime.date | None
    in_force_to: datetime.date | None
    ended_by: str | None
    end_reason: str | None
    is_partly_ended: bool
    partly_ended_scopes: tuple[str, ...]
    ineffective: tuple[str, ...]


# Reading a record


def text(value: Any) -> str | None:
    """A text, or None where nothing is said."""
    return value if isinstance(value, str) and value.strip() else None


def names(value: Any) -> tuple[str, ...]:
    """The names in a list, or in one plain text, each once."""
    items = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(item for item in items if text(item)))


def calendar_date(value: Any) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def instant(value: Any) -> datetime.datetime | None:
    """A point in time as UTC without a zone; one that names no zone is UTC already."""
    if value is None:
        return None
    moment = datetime.datetime.fromisoformat(value)
    return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def read(index: int, record: dict[str, Any], first_built: dict[str, datetime.datetime]) -> Row:
    valid_from = calendar_date(record.get("valid_from"))
    end = record.get("valid_to")
    valid_to = calendar_date(end)
    # T1: the key has to be there, and hold null or a date; a far-future date reads as open.
    is_end_known = "valid_to" in record and (end is None or valid_to is not None)
    recorded_at = instant(record.get("recorded_at"))
    record_id = text(record.get("record_id"))
    return Row(
        index=index,
        record_id=record_id,
        concept=text(record.get("concept")),
        valid_from=valid_from,
        valid_to=None if valid_to and valid_to >= SENTINEL else valid_to,
        is_validity_known=valid_from is not None and is_end_known,
        supersedes=names(record.get("supersedes")),
        applies_to=frozenset(names(record.get("applies_to"))),
        does_not_apply_to=frozenset(names(record.get("does_not_apply_to"))),
        is_withdrawal=text(record.get("withdrawal")) is not None,
        recorded_at=recorded_at,
        known_at=recorded_at or first_built.get(record_id or ""),
        written_by=text(record.get("written_by")),
        concept_owner=text(record.get("concept_owner")),
    )


def is_known(moment: datetime.datetime | None, known_on: datetime.date | None) -> bool:
    """T6: recorded at or before known_on, a date meaning its end. Without known_on everything is known."""
    if known_on is None:
        return True
    if moment is None:
        return False
    if isinstance(known_on, datetime.datetime):
        return moment <= known_on
    return moment.date() <= known_on


def rows_of(store: dict[str, Any], known_on: datetime.date | None = None) -> list[Row]:
    """The records that a read as known on a date sees; a copy of an earlier record is that record."""
    rows = []
    for place, record in enumerate(store["records"]):
        row = read(place + 1, record, store.get("first_built", {}))
        is_copy = row.record_id is not None and record in store["records"][:place]
        if not is_copy and is_known(row.known_at, known_on):
            rows.append(row)
    return rows


def clashing(rows: list[Row]) -> set[int]:
    """Rows whose id another row has too."""
    return {row.index for row in rows if row.record_id is not None and sum(other.record_id == row.record_id for other in rows) > 1}


# Supersessions (T5, T8)


def edges_of(rows: list[Row]) -> list[Edge]:
    found = []
    for successor in rows:
        for target in successor.supersedes:
            holders = [row for row in rows if row.record_id == target]
            found += [Edge(successor, target, holder) for holder in holders or [None]]
    return found


def owner_when_written(store: dict[str, Any], concept: str | None, successor: Row, known_on: datetime.date | None) -> str | None:
    """T8: who owned the concept when the successor was written, by its recorded_at, else by its valid_from."""
    entries = [
        entry
        for entry in store.get("ownerships", [])
        if concept is not None and entry["concept_id"] == concept and (entry["recorded_at"] is None or is_known(entry["recorded_at"], known_on))
    ]
    written_on = successor.recorded_at.date() if successor.recorded_at else successor.valid_from
    if written_on is None:
        return entries[0]["party_id"] if len(entries) == 1 and entries[0]["valid_from"] is None else None
    begun = [entry for entry in entries if entry["valid_from"] is None or entry["valid_from"] <= written_on]
    if not begun:
        return None
    latest = max(begun, key=lambda entry: (entry["valid_from"] or datetime.date.min, entry["recorded_at"] or datetime.datetime.min))
    return latest["party_id"]


def reasons_of(store: dict[str, Any], rows: list[Row], known_on: datetime.date | None = None) -> list[tuple[Edge, str | None]]:
    """Each edge with the first reason why it has no effect, or None."""
    shared = clashing(rows)

    def early_reason(edge: Edge) -> str | None:
        successor, predecessor = edge.successor, edge.predecessor
        if predecessor is None:
            return "points_at_nothing"
        if successor.record_id == edge.target:
            return "points_at_itself"
        if predecessor.is_withdrawal:
            return "points_at_withdrawal"
        if successor.index in shared or predecessor.index in shared:
            return "duplicate_record_id"
        if store.get("attests_writers"):
            owner = owner_when_written(store, predecessor.concept, successor, known_on)
            if owner is None or owner != successor.written_by:
                return "unauthorized_supersession"
        if successor.valid_from is None:
            return "successor_without_start"
        return None

    judged = [(edge, early_reason(edge)) for edge in edges_of(rows)]
    withdrawn = {
        edge.predecessor.index
        for edge, reason in judged
        if reason is None
        and edge.successor.is_withdrawal
        and not edge.successor.applies_to
        and not edge.successor.does_not_apply_to
        and edge.predecessor.valid_from is not None
        and edge.successor.valid_from <= edge.predecessor.valid_from
    }
    judged = [(edge, reason or ("successor_withdrawn" if edge.successor.index in withdrawn else None)) for edge, reason in judged]
    passed = [edge for edge, reason in judged if reason is None]
    return [(edge, reason or ("supersession_cycle" if is_on_cycle(edge, passed) else None)) for edge, reason in judged]


def is_on_cycle(edge: Edge, edges: list[Edge]) -> bool:
    """Whether the edges lead from what an edge replaces back to the record that replaces it."""
    seen: set[int] = set()
    waiting = [edge.predecessor.index]
    while waiting:
        at = waiting.pop()
        if at == edge.successor.index:
            return True
        if at not in seen:
            seen.add(at)
            waiting += [other.predecessor.index for other in edges if other.successor.index == at]
    return False


# Scope (G2, T11)


def applies(row: Row, question: frozenset[str] | None) -> bool:
    """Whether a record applies to a question's classes; None asks without regard to scope, an empty set names no class."""
    if question is None:
        return True
    return not row.does_not_apply_to & question and (not row.applies_to or bool(row.applies_to & question))


def is_narrower(successor: Row, predecessor: Row) -> bool:
    """Whether some question is left to the predecessor alone, tried with every question that the two could tell apart."""
    classes = sorted(successor.applies_to | successor.does_not_apply_to | predecessor.applies_to | predecessor.does_not_apply_to)
    questions = (frozenset(chosen) for size in range(len(classes) + 1) for chosen in combinations(classes, size))
    return any(applies(predecessor, question) and not applies(successor, question) for question in questions)


# Intervals (T3, T4, T9, T11)


def covers(row: Row, day: datetime.date) -> bool:
    return row.is_validity_known and row.valid_from <= day and (row.valid_to is None or day <= row.valid_to)


def is_in_force(row: Row, successors: list[Row], shared: set[int], day: datetime.date) -> bool:
    """T3, for one day."""
    if row.is_withdrawal or row.index in shared:
        return False
    return covers(row, day) and not any(successor.valid_from <= day for successor in successors)


def days_of(rows: list[Row]) -> list[datetime.date]:
    """Every day from the one before the first date that the rows name to the one after the last."""
    dates = [date for row in rows for date in (row.valid_from, row.valid_to) if date] or [datetime.date(2026, 1, 1)]
    return [min(dates) + DAY * step for step in range(-1, (max(dates) - min(dates)).days + 2)]


def answers(store: dict[str, Any], known_on: datetime.date | None = None, scope: list[str] | None = None) -> dict[int, Interval]:
    """{place of the record: its interval}, of every record that the question can see."""
    question = None if scope is None else frozenset(scope)
    rows = rows_of(store, known_on)
    shared = clashing(rows)
    edges = reasons_of(store, rows, known_on)
    days = days_of(rows)
    found = {}
    for row in rows:
        if not applies(row, question):
            continue
        successors = [edge.successor for edge, reason in edges if reason is None and edge.predecessor == row and applies(edge.successor, question)]
        in_force = [day for day in days if is_in_force(row, successors, shared, day)]
        ending = list(ending_successors(row, successors))
        is_partly_ended = bool(ending) and all(is_narrower(successor, row) for successor in ending)
        found[row.index] = Interval(
            status=status_of(row, shared, in_force),
            in_force_from=in_force[0] if in_force else None,
            in_force_to=in_force[-1] if in_force and in_force[-1] != days[-1] else None,
            ended_by=ending[0].record_id if ending else None,
            end_reason=end_reason_of(row, ending),
            is_partly_ended=is_partly_ended,
            partly_ended_scopes=tuple(sorted({name for successor in ending for name in successor.applies_to})) if is_partly_ended else (),
            ineffective=tuple(sorted(f"{edge.target}: {reason}" for edge, reason in edges if reason is not None and edge.successor == row)),
        )
        assert not in_force or len(in_force) == (in_force[-1] - in_force[0]).days + 1, "T4: in force without a gap"
    return found


def ending_successors(row: Row, successors: list[Row]) -> Iterator[Row]:
    """The successors that begin first, where that is before the record ends by itself; of those that begin on one day the least id leads."""
    if not successors:
        return
    first = min(successor.valid_from for successor in successors)
    if row.valid_to is None or first <= row.valid_to:
        yield from sorted((s for s in successors if s.valid_from == first), key=lambda s: (s.record_id is None, s.record_id or ""))


def status_of(row: Row, shared: set[int], in_force: list[datetime.date]) -> str:
    if row.is_withdrawal:
        return "withdrawal"
    if row.index in shared:
        return "duplicate_record_id"
    if not row.is_validity_known:
        return "validity_unknown"
    return "in_force" if in_force else "never_in_force"


def end_reason_of(row: Row, ending: list[Row]) -> str | None:
    """T9 keeps four ends apart."""
    if not ending:
        return "expired" if row.valid_to else None
    if not ending[0].is_withdrawal:
        return "replaced"
    return "was_wrong" if row.valid_from and ending[0].valid_from <= row.valid_from else "ended"


def in_force_on(store: dict[str, Any], day: datetime.date, known_on: datetime.date | None = None, scope: list[str] | None = None) -> set[int]:
    """The records in force on a day."""
    return {index for index, interval in answers(store, known_on, scope).items() if holds(interval, day)}


# Changes between two dates, each as known on its own


def changes(
    store: dict[str, Any],
    first: datetime.date,
    second: datetime.date,
    first_known: datetime.date | None = None,
    second_known: datetime.date | None = None,
) -> list[tuple[Any, ...]]:
    """(kind, place, first day that differs, last day, reason, by whom, last day as known first) of each record; (kind, concept, owners) of each concept."""
    then, now = answers(store, first_known), answers(store, second_known)
    days = days_of([*rows_of(store, first_known), *rows_of(store, second_known)])
    days = [min(days[0], first) + DAY * step for step in range((max(days[-1], second) - min(days[0], first)).days + 1)]
    found: list[tuple[Any, ...]] = []
    for index, interval in now.items():
        former = then.get(index)
        told = (interval.in_force_to, interval.end_reason, interval.ended_by)
        was, is_ = former is not None and holds(former, first), holds(interval, first)
        differing = [day for day in days if (former is not None and holds(former, day)) != holds(interval, day)]
        if was != is_:
            found.append(("added" if is_ else "dropped", index, differing[0], *told, former and former.in_force_to))
        elif was and holds(interval, second) and differing:
            found.append(("end_changed", index, differing[0], *told, former.in_force_to))
        for day in days:
            if first < day <= second and holds(interval, day) != holds(interval, day - DAY):
                found.append(("began" if holds(interval, day) else "ended", index, day, *told, None))
    rows = rows_of(store, second_known)
    for concept in {row.concept for row in rows if row.concept}:
        before, after = owners_on(store, concept, first, first_known), owners_on(store, concept, second, second_known)
        if before is not None and after is not None and before != after:
            found.append(("owner_changed", concept, tuple(sorted(before)), tuple(sorted(after))))
    return found


def owners_on(store: dict[str, Any], concept: str, day: datetime.date, known_on: datetime.date | None) -> set[str] | None:
    """Who owns a concept on a day: by the register's latest entry, else by what its records in force claim, else nobody can say."""
    begun = [
        entry
        for entry in store.get("ownerships", [])
        if entry["concept_id"] == concept
        and (entry["recorded_at"] is None or is_known(entry["recorded_at"], known_on))
        and (entry["valid_from"] is None or entry["valid_from"] <= day)
    ]
    if begun:
        latest = max(begun, key=lambda entry: (entry["valid_from"] or datetime.date.min, entry["recorded_at"] or datetime.datetime.min))
        return {latest["party_id"]} - {None}
    in_force = in_force_on(store, day, known_on)
    claims = {row.concept_owner for row in rows_of(store, known_on) if row.concept == concept and row.index in in_force}
    return claims - {None} if claims else None


def holds(interval: Interval, day: datetime.date) -> bool:
    """Whether an interval covers a day."""
    return interval.in_force_from is not None and interval.in_force_from <= day and (interval.in_force_to is None or day <= interval.in_force_to)
