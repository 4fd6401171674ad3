"""What the rules of the governed read say of one question, worked out one record at a time (G1 to G7, G10, T8).

Slow and plain on purpose, and free of SQL, like oracle.py, on whose reading of time and supersession it stands. A store as there, and:

    criteria        the policy's criteria in their order
    cardinalities   {concept: 'several'} for concepts that have several answers
    source_ranks    {source: rank}, the least first
    open_markers    markers that restrict nothing
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import oracle
from oracle import Row

MARKERS = ("classification", "confidential", "restricted")
EDGE_REASONS = ("unauthorized_supersession", "supersession_cycle")


@dataclass(frozen=True)
class Caller:
    parties: frozenset[str]
    is_inside: bool


@dataclass(frozen=True)
class Answer:
    outcome: str
    record_id: str | None
    value: str | None
    sides: tuple[str, ...]
    reasons: tuple[str, ...]
    withheld: int


def raw(store: dict[str, Any], row: Row) -> dict[str, Any]:
    record: dict[str, Any] = store["records"][row.index - 1]
    return record


def released_to(store: dict[str, Any], row: Row) -> frozenset[str]:
    return frozenset(oracle.names(raw(store, row).get("release_to")))


def is_restricted(store: dict[str, Any], row: Row) -> bool:
    markers = (raw(store, row).get(marker) for marker in MARKERS)
    return bool(released_to(store, row)) or any(marker is not None and marker not in store.get("open_markers", []) for marker in markers)


def is_visible(store: dict[str, Any], row: Row, caller: Caller) -> bool:
    """G5."""
    if released_to(store, row) & caller.parties:
        return True
    return caller.is_inside and not is_restricted(store, row)


def is_authoritative(store: dict[str, Any], row: Row, known_on: datetime.date | None) -> bool:
    """G4, T8: its writer owned the concept when it was written."""
    return row.written_by is not None and row.written_by == oracle.owner_when_written(store, row.concept, row, known_on)


def claims_precedence(store: dict[str, Any], row: Row) -> bool:
    return oracle.text(raw(store, row).get("conflict_policy")) is not None


def value_of(store: dict[str, Any], row: Row) -> Any:
    return raw(store, row).get("value")


def rank(store: dict[str, Any], row: Row) -> tuple[tuple[bool, Any], ...]:
    """The policy's criteria as one rank, the greatest first; what a record does not say comes last."""
    keys: list[Any] = []
    for criterion in store["criteria"]:
        if criterion == "abstain":
            break
        if criterion == "source_rank":
            place = store.get("source_ranks", {}).get(raw(store, row).get("source"))
            keys.append(None if place is None else -place)
        elif criterion == "latest_valid_from":
            keys.append(row.valid_from)
        else:
            keys.append(row.known_at)
    return tuple((key is not None, key if key is not None else 0) for key in keys)


def most_recent(rows: list[Row]) -> Row:
    return max(
        rows, key=lambda row: (row.valid_from is not None, row.valid_from or datetime.date.min, row.record_id is not None, row.record_id or "", row.index)
    )


def settled(store: dict[str, Any], contest: list[Row]) -> list[Row]:
    """G4: one record that answers, or all the sides that are left."""
    if len({value_of(store, row) for row in contest}) == 1:
        return [most_recent(contest)]
    best = max(rank(store, row) for row in contest)
    top = [row for row in contest if rank(store, row) == best]
    return [most_recent(top)] if len({value_of(store, row) for row in top}) == 1 else top


def ask(store: dict[str, Any], concept: str, caller: Caller, day: datetime.date, scope: list[str], known_on: datetime.date | None = None) -> Answer:
    rows = oracle.rows_of(store, known_on)
    question = frozenset(scope)
    of_concept = [row for row in rows if row.concept == concept]
    held = [row for row in of_concept if not row.is_withdrawal]
    if not held:
        return Answer("empty", None, None, (), ("not_held",), 0)
    if oracle.clashing(rows) & {row.index for row in of_concept}:
        return Answer("refused", None, None, (), ("duplicate_record_id",), 0)
    reasons: set[str] = set()

    # G1
    kept = []
    for row in held:
        if not row.is_validity_known:
            reasons.add("validity_unknown")
            kept.append(row)
        elif oracle.covers(row, day):
            kept.append(row)
        else:
            reasons.add("expired")

    # G2
    relevant = [row for row in kept if oracle.applies(row, question)]
    if len(relevant) < len(kept):
        reasons |= {"out_of_scope"} if scope else {"out_of_scope", "scope_required"}

    # G3
    left = list(relevant)
    for edge, reason in oracle.reasons_of(store, rows, known_on):
        successor, predecessor = edge.successor, edge.predecessor
        if predecessor not in relevant or not oracle.applies(successor, question):
            continue
        if successor.valid_from is not None and successor.valid_from > day:
            continue
        if reason in EDGE_REASONS:
            reasons.add(reason)
        elif reason is None and predecessor in left:
            reasons.add("superseded")
            left.remove(predecessor)

    withheld = sum(not is_visible(store, row, caller) for row in relevant)
    if not left:
        return Answer("empty", None, None, (), tuple(sorted(reasons)), withheld)

    # G4
    authoritative = [row for row in left if is_authoritative(store, row, known_on)]
    if authoritative:
        if any(claims_precedence(store, row) for row in left if row not in authoritative):
            reasons.add("unauthorized_precedence")
        if not store.get("attests_writers"):
            reasons.add("writer_not_attested")
    else:
        reasons.add("no_authoritative_record")
    pool = authoritative or left
    contest = [row for row in pool if row.is_validity_known] or pool

    is_several = store.get("cardinalities", {}).get(concept) == "several"
    sides = contest if is_several else settled(store, contest)
    visible = [row for row in sides if is_visible(store, row, caller)]
    hidden = [row for row in sides if row not in visible]
    codes = {"restricted_without_release" if is_restricted(store, row) and not released_to(store, row) else "not_released" for row in hidden}
    if len(sides) > 1 and not is_several:
        reasons.add("conflict_unresolved")

    # G5 to G7, G10
    if is_several and visible:
        return Answer("answered", None, None, names(visible), tuple(sorted(reasons)), withheld)
    if hidden:
        return Answer("refused", None, None, (), tuple(sorted(reasons | codes)), withheld)
    if len(sides) > 1:
        return Answer("abstained", None, None, names(sides), tuple(sorted(reasons)), withheld)
    return Answer("answered", sides[0].record_id, value_of(store, sides[0]), (), tuple(sorted(reasons)), withheld)


def names(rows: list[Row]) -> tuple[str, ...]:
    return tuple(sorted(row.record_id or "" for row in rows))


def may_be_told_when(store: dict[str, Any], concept: str, caller: Caller, known_on: datetime.date | None = None) -> bool:
    """G6: whether the caller may see every record of the concept, and whatever replaces one."""
    rows = oracle.rows_of(store, known_on)
    held = [row for row in rows if row.concept == concept]
    held += [edge.successor for edge in oracle.edges_of(rows) if edge.predecessor in held]
    return all(is_visible(store, row, caller) for row in held)
