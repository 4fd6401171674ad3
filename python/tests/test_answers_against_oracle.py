"""Every answer of thousands of small stores, looked up and worked out, as the plain reading in answer_oracle.py has it (G1 to G7, G10)."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import answer_oracle
import oracle
from answer_oracle import Caller
from generated import codes
from harness import Difference, build_time
from test_intervals_against_oracle import FIRST, batch_file, for_batches, pick, store_of, store_parts

from governed_memory import warehouse
from governed_memory.host import configuration as host
from governed_memory.reads.ask import Opened, Question, ask

__all__ = ["batch_file"]

DAYS = [FIRST + oracle.DAY * step for step in (-1, 0, 1, 2, 3, 5)]
LOOKED_UP: tuple[list[str], ...] = ([], ["x"], ["z"])
WORKED_OUT: tuple[list[str], ...] = ([], ["x"], ["x", "y"])
KNOWN_ON = (None, datetime.date(2026, 1, 2), datetime.date(2026, 1, 4))
CALLERS = (
    Caller(frozenset(), True),
    Caller(frozenset({"board"}), True),
    Caller(frozenset({"board", "sales"}), False),
    Caller(frozenset(), False),
)
CRITERIA = (("latest_valid_from",), ("abstain",), ("source_rank", "latest_valid_from"), ("latest_recorded", "abstain", "latest_valid_from"), ("source_rank",))
SOURCE_RANKS = {"P": 1, "Q": 2}
RELEASES = (["board"], ["board", "sales"], ["sales"], "board", [], ["auditor"])


def governed_parts(source: Random) -> tuple[Any, list[bytes], bytes]:
    return store_parts(source), codes(source, 6, 8, 8), source.randbytes(2)


def governed_batch(source: Random) -> list[Any]:
    return [governed_parts(source) for _ in range(45)]


def governed_store(number: int, parts: Any) -> dict[str, Any]:
    """A store of the interval tests, whose records further have rival or equal values, sources, claims and releases."""
    store_parts, codes, head = parts
    store = store_of(number, store_parts)
    for record, code in zip(store["records"], codes, strict=False):
        value, source, claim, release, marker, _ = code
        record["value"] = pick(("one", "two", "three", "one"), value)
        record["source"] = pick(("P", "Q", "R", None), source)
        if claim > 170:
            record["conflict_policy"] = pick(("mine wins", "  "), claim)
        if release > 150:
            record["release_to"] = pick(RELEASES, release)
        if marker > 200:
            record[pick(answer_oracle.MARKERS, marker)] = pick(("secret", "public"), marker)
    store["criteria"] = pick(CRITERIA, head[0])
    store["cardinalities"] = {"d": "several"}
    store["source_ranks"] = SOURCE_RANKS
    store["open_markers"] = ["public"]
    return store


def told(answer: dict[str, Any]) -> answer_oracle.Answer:
    sides = tuple(sorted(side["record_id"] or "" for side in answer["sides"] or []))
    return answer_oracle.Answer(answer["outcome"], answer["record_id"], answer["value"], sides, tuple(sorted(answer["reasons"])), answer["withheld_count"])


def asked(stores: list[dict[str, Any]], scopes: tuple[list[str], ...]) -> list[tuple[Any, ...]]:
    return [(*question, number) for number, question in enumerate(product(stores, ("c", "d"), DAYS, scopes, CALLERS))]


QUESTION = {
    "question_number": "bigint", "store_id": "varchar", "concept_id": "varchar", "asked_on": "date", "asked_scope": "varchar[]",
    "caller_parties": "varchar[]", "caller_boundary": "varchar",
}  # fmt: skip


def answers(connection: Any, questions: list[tuple[Any, ...]], file: Path, how: str, **known: str) -> dict[int, dict[str, Any]]:
    rows = (
        [number, store["store_id"], concept, str(day), scope, sorted(caller.parties), "inside" if caller.is_inside else "outside"]
        for store, concept, day, scope, caller, number in questions
    )
    file.write_text("".join(json.dumps(dict(zip(QUESTION, row, strict=True))) + "\n" for row in rows))
    asked = f"from read_json('{file}', format = 'newline_delimited', columns = {QUESTION})"
    return {row["question_number"]: row for row in warehouse.rows(connection, warehouse.fragment(how, asked=asked, **known))}


def compare(stores: list[dict[str, Any]], file: Path) -> None:
    connection = build_time(stores, file, ["int_segments"])
    for how, scopes, known_on in [("looked_up", LOOKED_UP, None), ("worked_out", WORKED_OUT, None)] + [
        ("worked_out_as_known", WORKED_OUT, known) for known in KNOWN_ON[1:]
    ]:
        questions = asked(stores, scopes)
        found = answers(connection, questions, file.with_name("questions.jsonl"), how, **({"known": f"'{known_on}'"} if known_on else {}))
        for store, concept, day, scope, caller, number in questions:
            expected = answer_oracle.ask(store, concept, caller, day, scope, known_on)
            answer = found[number]
            question = f"{how} {concept} on {day} scope {scope} known {known_on} by {caller}"
            if told(answer) != expected:
                raise Difference(store, f"{question}: {told(answer)}, expected {expected}")
            check_stable(store, concept, caller, day, scope, known_on, answer, question)


def check_stable(store: Any, concept: str, caller: Caller, day: Any, scope: Any, known_on: Any, answer: Any, question: str) -> None:
    """G6: told only where nothing is withheld; until then nothing changes, and by then the first change has come."""
    until = answer["stable_until"]
    is_told = answer_oracle.may_be_told_when(store, concept, caller, known_on) and "duplicate_record_id" not in answer["reasons"]
    expected = answer_oracle.ask(store, concept, caller, day, scope, known_on)
    later = [FIRST + oracle.DAY * step for step in range(-1, 9) if FIRST + oracle.DAY * step > day]
    changes = [other for other in later if answer_oracle.ask(store, concept, caller, other, scope, known_on) != expected]
    if not is_told:
        if until is not None:
            raise Difference(store, f"{question}: told {until}, but not all of it may be seen")
    elif changes and (until is None or until > changes[0]):
        raise Difference(store, f"{question}: said to be stable until {until}, but changes on {changes[0]}")
    elif until is not None and not day < until:
        raise Difference(store, f"{question}: stable until {until}, which is not later")


def test_answers_are_those_of_the_oracle(batch_file: Path) -> None:
    for_batches(3, lambda stores: compare(stores, batch_file), governed_batch, governed_store)


def test_a_question_asked_alone_is_answered_as_among_others(batch_file: Path) -> None:
    """Each of the statements that are short for one question, among them those for what nobody inside is kept from."""
    seen: Counter[str] = Counter()

    def compare_alone(stores: list[dict[str, Any]]) -> None:
        connection = build_time(stores, batch_file, ["int_segments"])
        for is_built in (True, False):
            opened = Opened(connection, tuple(store["store_id"] for store in stores), is_built)
            scopes = LOOKED_UP if is_built else LOOKED_UP[:1]
            callers = [host.Caller("k", tuple(sorted(caller.parties)), "inside" if caller.is_inside else "outside") for caller in CALLERS[1:3]]
            questions = [
                Question(concept, str(DAYS[2]), caller, tuple(scope), store=store["store_id"])
                for store in stores
                for concept, scope, caller in product(("c", "d", "never held"), scopes, callers)
            ]
            for question, among in zip(questions, ask(opened, questions), strict=True):
                [alone] = ask(opened, [question])
                if alone != among:
                    raise Difference(next(store for store in stores if store["store_id"] == question.store), f"{question}: {alone}, among others {among}")
                seen.update([alone["outcome"], *alone["reasons"]])

    for_batches(1, compare_alone, lambda source: governed_batch(source)[:15], governed_store)
    assert all(seen[case] > 5 for case in ("answered", "abstained", "refused", "empty", "scope_required", "not_held", "not_released")), seen
