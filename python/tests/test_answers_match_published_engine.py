"""G1 to G7 against the published engine, `vercy_graphiti.enforce.decide`, on thousands of generated questions: outcome, answer, sides, reason codes
and how many records are withheld. Questions on which the rules differ on purpose are left out; answer_oracle.py holds those.

Left out: a successor that has expired or does not state its end (T4, T5); a loop with a member that does not cover the day or is out of scope (T5).
The engine knows no withdrawals, unattested stores, several answers, edges across concepts or callers outside the boundary, so none is made.
"""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from generated import codes
from harness import Difference, build_time
from test_answers_against_oracle import QUESTION, answers
from test_intervals_against_oracle import FIRST, batch_file, day, for_batches, pick

enforce = pytest.importorskip("vercy_graphiti.enforce", reason="the published engine is in the extra `peers`")

__all__ = ["QUESTION", "batch_file"]

DAYS = [FIRST + datetime.timedelta(days=step) for step in (0, 2, 4)]
SCOPES: tuple[list[str], ...] = ([], ["x"], ["x", "y"])
AUDIENCES: tuple[tuple[str, ...], ...] = ((), ("board",), ("sales", "board"))


def batch_of(source: Random) -> list[Any]:
    return [(source.randbytes(2), codes(source, 11, 1, 6)) for _ in range(60)]


def record_of(place: int, code: bytes, count: int) -> dict[str, Any]:
    target, second, start, end, applies, excludes, writer, value, claim, release, marker = code
    record: dict[str, Any] = {
        "record_id": "ABCDEF"[place],
        "concept": "c",
        "value": pick(("one", "two", "three"), value),
        "valid_from": day(start % 5),
        "valid_to": None,
        "source": "S",
        "written_by": pick(("finance", "finance", "sales", None), writer),
    }
    if target > 110:
        record["supersedes"] = ["ABCDEF"[target % count]]
        if second > 190:
            record["supersedes"].append("ABCDEF"[second % count])
    if start > 235:
        record["valid_from"] = None
    if end > 150:
        record["valid_to"] = day(end % 6)
    elif end > 140:
        del record["valid_to"]
    if applies > 190:
        record["applies_to"] = pick((["x"], ["y"], ["x", "y"]), applies)
    if excludes > 210:
        record["does_not_apply_to"] = pick((["x"], ["y"]), excludes)
    if claim > 170:
        record["conflict_policy"] = "mine wins"
    if release > 150:
        record["release_to"] = pick((["board"], ["sales"], ["board", "sales"], ["auditor"]), release)
    if marker > 220:
        record["classification"] = "secret"
    return record


def store_of(number: int, parts: tuple[bytes, list[bytes]]) -> dict[str, Any]:
    head, codes = parts
    ownership = {"store_id": f"s{number}", "concept_id": "c", "party_id": "finance", "valid_from": None, "recorded_at": None}
    return {
        "store_id": f"s{number}",
        "records": [record_of(place, code, len(codes)) for place, code in enumerate(codes)],
        "attests_writers": True,
        "ownerships": [ownership] if head[0] > 60 else [],
        "criteria": ["abstain"] if head[1] > 128 else ["latest_valid_from"],
    }


def fact_of(record: dict[str, Any]) -> Any:
    return enforce.Fact.from_record({key: value for key, value in record.items() if key != "written_by"}, record["written_by"])


def differs_on_purpose(facts: list[Any], on_date: datetime.date, scope: set[str]) -> bool:
    by_id = {fact.record_id: fact for fact in facts}

    def covers(fact: Any) -> bool:
        return not fact.validity_known or (fact.valid_from <= on_date and (fact.valid_to is None or on_date <= fact.valid_to))

    def applies(fact: Any) -> bool:
        return not scope & set(fact.does_not_apply_to) and (not fact.applies_to or bool(scope & set(fact.applies_to)))

    for fact in facts:
        for target in fact.supersedes:
            if target == fact.record_id:
                continue
            if not fact.validity_known or (fact.valid_to is not None and fact.valid_to < on_date):
                return True
            if reaches(by_id, target, fact.record_id, set()) and not all(covers(other) and applies(other) for other in facts):
                return True
    return False


def reaches(by_id: dict[str, Any], start: str, goal: str, seen: set[str]) -> bool:
    if start == goal:
        return True
    seen.add(start)
    return any(reaches(by_id, target, goal, seen) for target in by_id[start].supersedes if target in by_id and target not in seen)


def decided(store: dict[str, Any], facts: list[Any], on_date: datetime.date, scope: list[str], audiences: tuple[str, ...]) -> tuple[Any, ...]:
    owners = {entry["concept_id"]: entry["party_id"] for entry in store["ownerships"]}
    host = enforce.Host(owners, store["criteria"][0])
    decision = enforce.decide(facts, concept="c", caller=enforce.Caller("somebody", frozenset(audiences)), as_of=on_date, host=host, scope=scope)
    answer = decision.answer.record_id if decision.answer else None
    return decision.outcome, answer, tuple(fact.record_id for fact in decision.conflict), {reason["code"] for reason in decision.reasons}, decision.withheld


def told(answer: dict[str, Any]) -> tuple[Any, ...]:
    sides = tuple(side["record_id"] for side in answer["sides"] or [])
    return answer["outcome"], answer["record_id"], sides, set(answer["reasons"]) - {"scope_required"}, answer["withheld_count"]


def test_answers_are_those_of_the_published_engine(batch_file: Path) -> None:
    seen: Counter[str] = Counter()

    def compare(stores: list[dict[str, Any]]) -> None:
        connection = build_time(stores, batch_file, {"int_segments"})
        asked, expected = [], {}
        for store in stores:
            facts = [fact_of(record) for record in store["records"]]
            for on_date in DAYS:
                for scope in SCOPES:
                    if differs_on_purpose(facts, on_date, set(scope)):
                        continue
                    for audiences in AUDIENCES:
                        number = len(asked)
                        asked.append((store, "c", on_date, scope, _Inside(frozenset(audiences)), number))
                        expected[number] = decided(store, facts, on_date, scope, audiences)
        found = answers(connection, asked, batch_file.with_name("questions.jsonl"), "worked_out")
        lookups = answers(connection, [question for question in asked if len(question[3]) < 2], batch_file.with_name("questions.jsonl"), "looked_up")
        for store, _, on_date, scope, caller, number in asked:
            for how, found_answers in (("worked out", found), ("looked up", lookups)):
                if number in found_answers and told(found_answers[number]) != expected[number]:
                    raise Difference(
                        store, f"{how} on {on_date}, scope {scope}, for {sorted(caller.parties)}: {told(found_answers[number])}, expected {expected[number]}"
                    )
            seen[expected[number][0]] += 1
            seen.update(expected[number][3])

    for_batches(20, compare, batch_of, store_of)
    assert sum(seen[outcome] for outcome in ("answered", "abstained", "refused", "empty")) > 5000
    for case in (
        "answered",
        "abstained",
        "refused",
        "empty",
        "superseded",
        "unauthorized_supersession",
        "supersession_cycle",
        "unauthorized_precedence",
        "conflict_unresolved",
    ):
        assert seen[case] >= 30, f"{case} came up {seen[case]} times"


class _Inside:
    is_inside = True

    def __init__(self, parties: frozenset[str]) -> None:
        self.parties = parties
