"""What changed between two dates, or between two states of knowledge of them (rules T3, T4, T6, T8, T9)."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from governed_memory.dates import day, instant
from governed_memory.errors import InputError
from governed_memory.reads.history import NO_PERIOD, ending

# The fields of a change, and the columns of changes_between they come from.
COLUMNS = {
    "store_id": "store_id",
    "changed_on": "changed_on",
    "kind": "kind",
    "record_id": "record_id",
    "concept": "concept_id",
    "interval_status": "interval_status",
    "in_force_from": "in_force_from",
    "in_force_to": "in_force_to",
    "end_reason": "end_reason",
    "ended_by": "ended_by",
    "former_in_force_to": "former_in_force_to",
    "owners_before": "owners_before",
    "owners_after": "owners_after",
}
KINDS = {
    "began": "came into force",
    "ended": "ended",
    "owner_changed": "changed owner",
    "added": "turned out to be in force",
    "dropped": "turned out not to be in force",
    "end_changed": "turned out to end on another day",
}


def diff_query(
    first: str, second: str, *, known_on: Sequence[str | None] = (), store_id: str | None = None, concept: str | None = None
) -> tuple[str, dict[str, Any]]:
    """The statement that reads what changed, by store, day and concept, and its values.

    Args:
        first: the first date, yyyy-mm-dd.
        second: the second date, not before the first.
        known_on: nothing: everything known now. One date (its end) or UTC timestamp: both dates as known then. Two: the first date as
            known on the first, the second as known on the second, which may be None for everything known now (T6).
        store_id: one attached store; all if None.
        concept: one concept; all if None.

    Raises:
        InputError: a date is none, or the second of two comes before the first.
    """
    if day("DATE1", first) > day("DATE2", second):
        raise InputError(f"DATE2: {second!r} comes before {first!r}; name the earlier date first")
    return (
        f"""select {", ".join(f"{column} as {name}" for name, column in COLUMNS.items())}
        from changes_between(date '{first}', date '{second}'{_knowledge(known_on)})
        where ($store::varchar is null or store_id = $store) and ($concept::varchar is null or concept_id = $concept)
        order by store_id, changed_on nulls last, concept_id, kind, record_index""",
        {"store": store_id, "concept": concept},
    )


def _knowledge(known_on: Sequence[str | None]) -> str:
    if len(known_on) > 2:
        raise InputError(f"--known-on: given {len(known_on)} times; a comparison has two ends, so at most two")
    if not known_on:
        return ""
    states = ["null" if text is None else f"'{instant('--known-on', text)}'" for text in known_on]
    if len(states) == 1:
        return f", known_on => {states[0]}"
    first, second = known_on
    if first is None or (second is not None and _moment(second) < _moment(first)):
        raise InputError(f"--known-on: {second or 'now'!r} comes before {first or 'now'!r}; name the earlier state of knowledge first")
    return f", first_known_on => {states[0]}, second_known_on => {states[1]}"


def _moment(text: str) -> str:
    """A date or timestamp so that they sort as instants; a date means its end (T6)."""
    plain = instant("--known-on", text)
    return datetime.datetime.fromisoformat(plain if len(plain) > 10 else f"{plain} 23:59:59.999999").isoformat(timespec="microseconds")


def change_lines(changes: Sequence[dict[str, Any]], *, is_file: bool) -> Iterator[str]:
    """The changes as lines for a person, store by store, and how many there are of each kind."""
    for store_id, group in groupby(changes, key=lambda change: change["store_id"]):
        if not is_file:
            yield str(store_id)
        held = list(group)
        widths = [max(len(change[name] or "") for change in held) for name in ("kind", "record_id", "concept")]
        line = "  {:<10}  " + "".join(f"{{:<{width}}}  " for width in widths) + "{}"
        for change in held:
            yield line.format(str(change["changed_on"] or ""), change["kind"], change["record_id"] or "", change["concept"] or "", _what(change)).rstrip()
    counts = Counter(change["kind"] for change in changes)
    yield ", ".join(f"{counts[kind]} {words}" for kind, words in KINDS.items() if counts[kind]) or "no changes"


def _what(change: dict[str, Any]) -> str:
    kind = change["kind"]
    if kind == "owner_changed":
        return f"{', '.join(change['owners_before']) or 'nobody'} -> {', '.join(change['owners_after']) or 'nobody'}"
    if kind == "end_changed":
        return f"last day {change['in_force_to'] or 'open'}, before {change['former_in_force_to'] or 'open'}"
    if kind == "added":
        return f"{change['in_force_from']} .. {change['in_force_to'] or 'open'}"
    if kind == "dropped":
        return ending(change) if change["interval_status"] in ("in_force", "never_in_force") else NO_PERIOD[change["interval_status"]]
    return ending(change) if kind == "ended" else ""
