"""Every interval, edge and as-of read of thousands of small stores, as the plain reading in oracle.py has it.

One example is a batch of stores that are built together. A record is a string of bytes, one a field.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import oracle
import pytest
from generated import codes, examples
from harness import Difference, build_time, reduced

IDS = "ABCDEFGH"
CONCEPTS = ("c", "d")
CLASSES = ("x", "y", "z")
FIRST = datetime.date(2026, 1, 1)
READ_ON = [FIRST + oracle.DAY * step for step in range(-2, 9)]
SCOPES: tuple[list[str] | None, ...] = (None, [], ["x"], ["x", "y"])
# A date means its end (T6), so the first two are one microsecond and eleven hours apart in what they see.
KNOWN_ON = (None, datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 3), datetime.datetime(2026, 1, 4, 11, 0))
RECORDED = (
    None, None, None, "2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04T11:00:00", "2026-01-02T23:59:59.999999Z",
    "2026-01-03 00:00:00.000001", "2026-01-04T13:00:00+02:00", "2026-01-02T22:30:00-05:00", "2026-01-05",
)  # fmt: skip
PARTIES = ("sales", "finance", None)


def day(number: int) -> str:
    return (FIRST + oracle.DAY * number).isoformat()


def pick(options: Any, byte: int) -> Any:
    return options[byte % len(options)]


def record_of(place: int, code: bytes, ids: str, earlier: list[dict[str, Any]]) -> dict[str, Any]:
    """The record that a string of bytes stands for, in a store whose records mostly have `ids`; all zero is open and supersedes nothing."""
    id_, target, second, start, end, concept, applies, excludes, withdrawal, recorded, writer, odd = code
    if odd > 246 and earlier:
        return dict(earlier[-1])
    record: dict[str, Any] = {
        "record_id": IDS[place],
        "concept": "c",
        "value": f"value {place}",
        "valid_from": day(start % 5),
        "valid_to": None,
        "supersedes": None,
    }
    if id_ > 230:
        record["record_id"] = pick(("A", "B", "C", "A", "B", None), id_)
    if target > 70:
        record["supersedes"] = pick(ids, target) if target > 90 else pick((record["record_id"], "Z", "", [], ["Z", None], "  "), target)
    if second > 190 and target > 90:
        record["supersedes"] = [record["supersedes"], pick(ids, second)]
    if start > 243:
        record["valid_from"] = pick((None, "2026-02-30", ""), start)
    if end > 120:
        record["valid_to"] = day(end % 6) if end > 150 else pick(("9999-12-31", "2026-1-5", "", None), end)
    if 115 < end <= 120:
        del record["valid_to"]
    if concept > 170:
        record["concept"] = pick(("d", "d", None), concept)
    if applies > 170:
        record["applies_to"] = pick((["x"], ["y"], ["x", "y"], "x", [], ["x", "x"]), applies)
    if excludes > 190:
        record["does_not_apply_to"] = pick((["x"], ["y"], ["y", "x"], "y", []), excludes)
    if withdrawal > 195:
        record["withdrawal"] = pick(("typed in error", "no longer meant", "  "), withdrawal)
    if recorded > 60:
        record["recorded_at"] = pick(RECORDED, recorded)
    record["written_by"] = pick(PARTIES, writer)
    return record


def ownerships_of(code: bytes, store_id: str) -> list[dict[str, Any]]:
    """A register of up to four entries, no two of one concept, first day and recording."""
    entries: dict[tuple[Any, ...], dict[str, Any]] = {}
    for concept, party, start, recorded in zip(*[iter(code)] * 4, strict=True):
        if concept < 40:
            continue
        entry = {
            "store_id": store_id,
            "concept_id": pick(("c", "c", "d"), concept),
            "party_id": pick(("sales", "finance", "sales", None), party),
            "valid_from": None if start < 100 else FIRST + oracle.DAY * (start % 5),
            "recorded_at": None if recorded < 150 else datetime.datetime(2026, 1, 1 + recorded % 5, recorded % 24),
        }
        entries.setdefault((entry["concept_id"], entry["valid_from"], entry["recorded_at"]), entry)
    return list(entries.values())


def store_of(number: int, parts: tuple[bytes, list[bytes]]) -> dict[str, Any]:
    head, codes = parts
    records: list[dict[str, Any]] = []
    for place, code in enumerate(codes):
        records.append(record_of(place, code, IDS[: len(codes)], records))
    store_id = f"s{number}"
    store = {"store_id": store_id, "records": records, "attests_writers": head[0] > 170, "ownerships": ownerships_of(head[2:], store_id), "first_built": {}}
    if head[1] > 128:
        store["first_built"] = {letter: datetime.datetime(2026, 1, 2 + place % 3, place) for place, letter in enumerate(IDS) if (head[1] >> (place % 7)) & 1}
    return store


def store_parts(source: Random) -> tuple[bytes, list[bytes]]:
    return source.randbytes(14), codes(source, 12, 1, 8)


def batch_of(source: Random) -> list[Any]:
    return [store_parts(source) for _ in range(80)]


@pytest.fixture
def batch_file(tmp_path: Path) -> Path:
    return tmp_path / "stores.jsonl"


def first_rows(stores: list[dict[str, Any]]) -> dict[str, int]:
    """Where each store's rows begin in the joint file."""
    starts, row = {}, 0
    for store in stores:
        starts[store["store_id"]] = row
        row += len(store["records"])
    return starts


def literal(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ", ".join(f"'{item}'" for item in value) + "]::varchar[]"
    return f"'{value}'"


INTERVAL = "interval_status, in_force_from, in_force_to, ended_by, end_reason, is_partly_ended, partly_ended_scopes, ineffective_supersessions"


def intervals(connection: Any, source: str, starts: dict[str, int]) -> dict[tuple[str, int], oracle.Interval]:
    rows = connection.execute(f"select store_id, record_index, {INTERVAL} from {source}").fetchall()
    found = {
        (store_id, index - starts[store_id]): oracle.Interval(*rest, tuple(scopes or ()), tuple(sorted(ineffective or ())))
        for store_id, index, *rest, scopes, ineffective in rows
    }
    assert len(found) == len(rows), "one row a record"
    return found


def vars_of(interval: oracle.Interval, unasked: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(interval, name) for name in interval.__dataclass_fields__ if name not in unasked}


def differing(got: dict[str, Any], wanted: dict[str, Any]) -> str:
    return ", ".join(f"{name} is {got[name]!r}, expected {wanted[name]!r}" for name in wanted if got[name] != wanted[name])


def compare_intervals(
    found: dict[tuple[str, int], oracle.Interval], stores: list[dict[str, Any]], seen: Counter[str], known_on: Any = None, scope: Any = None
) -> None:
    asked = f"known_on={known_on}, scope={scope}"
    # Partly ended is said of a record's interval without a question; for a question it has ended or not (T11).
    unasked = ("is_partly_ended", "partly_ended_scopes") if scope is not None else ()
    for store in stores:
        expected = oracle.answers(store, known_on, scope)
        indexes = {index for store_id, index in found if store_id == store["store_id"]}
        if indexes != set(expected):
            raise Difference(store, f"{asked}: rows {indexes}, expected {set(expected)}")
        for index, interval in expected.items():
            got, wanted = vars_of(found[store["store_id"], index], unasked), vars_of(interval, unasked)
            if got != wanted:
                raise Difference(store, f"{asked}: record {index}: {differing(got, wanted)}")
            seen[interval.status] += 1
            seen[f"ended: {interval.end_reason}"] += 1
            seen[f"partly: {interval.is_partly_ended}"] += 1
            seen["known"] += known_on is not None


def for_batches(
    count: int,
    compare: Callable[[list[dict[str, Any]]], None],
    drawn: Callable[[Random], list[Any]] = batch_of,
    made: Callable[[int, Any], dict[str, Any]] = store_of,
) -> None:
    """Compare generated batches of stores, each made of its place and its parts; where one differs, fail with the least that still does."""
    for batch in examples(count, drawn):
        try:
            compare([made(number, parts) for number, parts in enumerate(batch)])
        except Difference as difference:
            pytest.fail(reduced(difference.store, lambda store: compare([store])), pytrace=False)


def test_intervals_and_edges_as_the_rules_read_T1_T3_T4_T5_T6_T8_T9_T11(batch_file: Path) -> None:
    """T1, T3-T6, T8, T9, T11: status, dates, who ended it and why, partly ended or not, and each edge's reason in its order."""
    seen: Counter[str] = Counter()

    def compare(stores: list[dict[str, Any]]) -> None:
        starts = first_rows(stores)
        connection = build_time(stores, batch_file, {"record_intervals", "record_intervals_at", "record_supersessions"})
        compare_intervals(intervals(connection, "record_intervals", starts), stores, seen)
        compare_edges(connection, stores, starts, seen)
        for known_on in KNOWN_ON:
            for scope in SCOPES:
                if known_on or scope is not None:
                    source = f"record_intervals_at(known_on => {literal(known_on)}, scope => {literal(scope)})"
                    compare_intervals(intervals(connection, source, starts), stores, seen, known_on, scope)
        seen["stores"] += len(stores)
        connection.close()

    for_batches(25, compare)
    assert seen["stores"] > 1000
    statuses = ("in_force", "never_in_force", "validity_unknown", "withdrawal", "duplicate_record_id")
    ends = ("expired", "replaced", "was_wrong", "ended")
    reasons = (
        None, "points_at_nothing", "points_at_itself", "points_at_withdrawal", "duplicate_record_id", "unauthorized_supersession",
        "successor_without_start", "successor_withdrawn", "supersession_cycle",
    )  # fmt: skip
    for case in (*statuses, *(f"ended: {end}" for end in ends), "partly: True", *(f"edge: {reason}" for reason in reasons)):
        assert seen[case] >= 20, f"{case} came up {seen[case]} times: {seen}"


def compare_edges(connection: Any, stores: list[dict[str, Any]], starts: dict[str, int], seen: Counter[str]) -> None:
    edges = connection.execute("select store_id, successor_index, predecessor_id, predecessor_index, ineffective_reason from record_supersessions").fetchall()
    for store in stores:
        start = starts[store["store_id"]]
        got = Counter(
            (index - start, target, place and place - start, reason) for store_id, index, target, place, reason in edges if store_id == store["store_id"]
        )
        expected = Counter(
            (edge.successor.index, edge.target, edge.predecessor and edge.predecessor.index, reason)
            for edge, reason in oracle.reasons_of(store, oracle.rows_of(store))
        )
        if got != expected:
            raise Difference(
                store, f"edges (successor, target, predecessor, reason): {sorted(got - expected, key=str)}, expected {sorted(expected - got, key=str)}"
            )
        seen.update(f"edge: {reason}" for *_, reason in expected.elements())


def test_records_as_of_every_date_T3_T6_T11_G2(batch_file: Path) -> None:
    """T3, T6, T11, G2: the records in force on each date, without and with known_on and scope."""
    seen: Counter[str] = Counter()

    def compare(stores: list[dict[str, Any]]) -> None:
        starts = first_rows(stores)
        connection = build_time(stores, batch_file, {"records_as_of"})
        turn = seen["batches"]
        questions = [(None, None), (KNOWN_ON[1 + turn % 3], None), (None, SCOPES[1 + turn % 3]), (KNOWN_ON[1 + turn % 3], SCOPES[1 + (turn // 3) % 3])]
        for known_on, scope in questions:
            arguments = "" if (known_on, scope) == (None, None) else f", known_on => {literal(known_on)}, scope => {literal(scope)}"
            expected = [oracle.answers(store, known_on, scope) for store in stores]
            for on_date in READ_ON:
                rows = connection.execute(f"select store_id, record_index from records_as_of(date '{on_date}'{arguments})").fetchall()
                for store, answers in zip(stores, expected, strict=True):
                    wanted = Counter(index for index, interval in answers.items() if oracle.holds(interval, on_date))
                    got = Counter(index - starts[store_id] for store_id, index in rows if store_id == store["store_id"])
                    if got != wanted:
                        raise Difference(
                            store, f"on {on_date}, known_on={known_on}, scope={scope}: records {sorted(got.elements())}, expected {sorted(wanted)}"
                        )
                    seen["in force"] += len(wanted)
        seen["batches"] += 1
        connection.close()

    for_batches(8, compare)
    assert seen["in force"] > 1000
