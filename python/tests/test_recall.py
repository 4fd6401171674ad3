"""Recall against a slow oracle of its own: which cells match, in which order and with which scores (rule M5); and words of many scripts."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governed_memory.host.configuration import Caller
from governed_memory.memory import MemoryStore, Sight
from governed_memory.memory.terms import index_terms, query_terms

NOW = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.UTC)
WORDS = ("printer", "floor", "two", "jams", "mondays")
CALLERS = {"ann": Caller("ann", (), "inside"), "bob": Caller("bob", ("audit",), "outside")}
SHARES = st.sampled_from((None, 0.0, 0.1, 0.25, 0.5, 1.0))

CELLS = st.fixed_dictionaries(
    {
        "words": st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
        "confidence": SHARES,
        "importance": SHARES,
        "system": st.sampled_from(("episodic", "working")),
        "who": st.sampled_from(("ann", "bob")),
        "session": st.sampled_from(("s1", "s2")),
        "release_to": st.sampled_from((None, ["audit"], ["board"])),
        "lives": st.sampled_from((60, 86_400)),
    }
)
LINKS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.sampled_from((None, 0.0, 0.1, 0.3, 0.7, 1.0))), max_size=12)
QUESTIONS = st.fixed_dictionaries(
    {
        "words": st.lists(st.sampled_from((*WORDS, "nobody")), min_size=1, max_size=4, unique=True),
        "system": st.sampled_from((None, "episodic", "working")),
        "is_global": st.booleans(),
        "who": st.sampled_from(("ann", "bob")),
        "session": st.sampled_from(("s1", "s2")),
        "takes_expired": st.booleans(),
        "most": st.sampled_from((1, 3, 50)),
    }
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(cells=st.lists(CELLS, min_size=1, max_size=12), links=LINKS, questions=st.lists(QUESTIONS, min_size=1, max_size=6), halves=st.booleans())
def test_recall_answers_as_the_oracle_does(
    cells: list[dict[str, Any]], links: list[tuple[int, int, float | None]], questions: list[dict[str, Any]], halves: bool
) -> None:
    cells = [cell | {"cell_id": f"c{place:02}"} for place, cell in enumerate(cells)]
    links = [(one % len(cells), other % len(cells), weight) for one, other, weight in links]
    with TemporaryDirectory() as folder, MemoryStore(folder) as store:
        write(store, cells[: len(cells) // 2] if halves else cells)
        if halves:
            ask(store, questions[0])  # what is known so far is in the tables, and the rest is added to them
            write(store, cells[len(cells) // 2 :])
        kept = link(store, links)
        for threads in (1, 2):
            store._projection.connection.execute(f"set threads = {threads}")
            for question in questions:
                told = [(cell["cell_id"], cell["score"]) for cell in ask(store, question)]
                assert told == oracle(cells, kept, question)


def write(store: MemoryStore, cells: Sequence[dict[str, Any]]) -> None:
    for cell in cells:
        told = {name: cell[name] for name in ("cell_id", "system", "confidence", "importance", "release_to")}
        told |= {"content": " ".join(cell["words"]), "source": "test"} | ({"ttl_seconds": cell["lives"]} if cell["system"] == "working" else {})
        [outcome] = store.write([told], principal=cell["who"], session_id=cell["session"], now=NOW - datetime.timedelta(minutes=5))
        assert outcome.outcome == "written", outcome


def link(store: MemoryStore, links: Sequence[tuple[int, int, float | None]]) -> list[tuple[str, str, float | None]]:
    """Link cells, in two steps; returns what was not refused."""
    told = [{"from_cell_id": f"c{one:02}", "to_cell_id": f"c{other:02}", "link_type": "task", "weight": weight} for one, other, weight in links]
    kept = []
    for part in (told[::2], told[1::2]):
        outcomes = store.link(part, principal="ann", session_id="s1", now=NOW)
        kept += [(one["from_cell_id"], one["to_cell_id"], one["weight"]) for one, outcome in zip(part, outcomes, strict=True) if outcome.outcome == "written"]
        ask(store, {"words": ["printer"], "system": None, "is_global": False, "who": "ann", "session": "s1", "takes_expired": True, "most": 1})
    return kept


def ask(store: MemoryStore, question: dict[str, Any]) -> list[dict[str, Any]]:
    caller = CALLERS[question["who"]]
    sight = Sight(Caller(caller.name, caller.parties, caller.boundary, reads_all_sessions=True), question["session"], NOW, question["is_global"])
    return store.recall(" ".join(question["words"]), sight, system=question["system"], takes_expired=question["takes_expired"], most=question["most"])


def oracle(cells: Sequence[dict[str, Any]], links: Sequence[tuple[str, str, float | None]], question: dict[str, Any]) -> list[tuple[str, float]]:
    """The cells and scores that M5 asks for, cell by cell."""
    found = []
    for cell in cells:
        matched = len(set(cell["words"]) & set(question["words"]))
        if not matched or not may_read(cell, question) or (has_expired(cell) and not question["takes_expired"]):
            continue
        weight = sum(Fraction(str(0.5 if weight is None else weight)) for *ends, weight in links for end in ends if end == cell["cell_id"])
        asked = len(question["words"])
        parts = (
            matched / asked,
            (0.5 if cell["system"] == question["system"] else 0.0) / asked,
            0.2 * (cell["confidence"] or 0.0) / asked,
            0.15 * (cell["importance"] or 0.0) / asked,
            0.14 * float(min(weight, 1)) / asked,
        )
        found.append((cell["cell_id"], parts[0] + parts[1] + parts[2] + parts[3] + parts[4]))
    return sorted(found, key=lambda one: (-one[1], one[0]))[: question["most"]]


def may_read(cell: dict[str, Any], question: dict[str, Any]) -> bool:
    if not question["is_global"] and (cell["session"], cell["who"]) != (question["session"], question["who"]):
        return False
    caller = CALLERS[question["who"]]
    released = bool(set(cell["release_to"] or ()) & set(caller.parties))
    return cell["who"] == caller.name or released or (caller.boundary == "inside" and not cell["release_to"])


def has_expired(cell: dict[str, Any]) -> bool:
    return cell["system"] == "working" and cell["lives"] <= 300


def test_a_word_outweighs_all_else(tmp_path: Path) -> None:
    """Two of three words come before one of three, whatever speaks for the other."""
    with MemoryStore(tmp_path) as store:
        plain = {"system": "episodic", "source": "t", "content": "printer floor"}
        grand = {"system": "working", "ttl_seconds": 60, "source": "t", "content": "printer", "confidence": 1.0, "importance": 1.0}
        first, second, other = store.write([plain, grand, {**plain, "content": "x"}], principal="ann", session_id="s", now=NOW)
        between = {"from_cell_id": second.target_id, "to_cell_id": other.target_id}
        for kind in ("task", "causal", "temporal"):
            store.link([{**between, "link_type": kind, "weight": 1.0}], principal="ann", session_id="s", now=NOW)
            found = store.recall("printer floor jams", Sight(CALLERS["ann"], "s", NOW), system="working")
            assert [cell["cell_id"] for cell in found] == [first.target_id, second.target_id]


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("打印机在二楼", "打印"),
        ("打印机在二楼", "楼"),
        ("東京タワーの高さ", "タワー"),
        ("プリンターが詰まる", "詰"),
        ("เครื่องพิมพ์อยู่ชั้นสอง", "พิมพ์"),
        ("GPU 显卡 2号", "显卡"),
        ("Die STRASSE ist gesperrt", "straße"),
        ("ein Café", unicodedata.normalize("NFD", "café")),
        (unicodedata.normalize("NFD", "ein Café"), "CAFÉ"),
        ("हिन्दी में लिखा", "हिन्दी"),
        ("naïve 2号机", "naïve"),
        ("x" * 70, "x" * 70),
    ],
)
def test_texts_of_many_scripts_are_found(content: str, query: str, tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        [told] = store.write([{"system": "episodic", "content": content, "source": "t"}], principal="ann", session_id="s", now=NOW)
        sight = Sight(CALLERS["ann"], "s", NOW)
        [found] = store.recall(query, sight)
        assert (found["cell_id"], found["term_share"]) == (told.target_id, 1.0)
        assert store.recall("печать 箱", sight) == []


@given(st.text())
def test_every_word_of_a_question_is_among_the_words_of_the_same_text(text: str) -> None:
    """So a text is found by itself, whatever it is written in; and no word has a blank, which stands between them in the log."""
    assert set(query_terms(text)) <= set(index_terms(text))
    assert not any(character.isspace() for word in index_terms(text) for character in word)
