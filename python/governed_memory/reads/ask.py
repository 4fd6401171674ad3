"""The governed read: one question or many, each answered for a caller (rules G1 to G10). What decides is SQL; this asks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.dates import date_as_text, day, instant
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.configuration import INSIDE, OUTSIDE, Caller, Host
from governed_memory.reads.as_of import without_concepts
from governed_memory.reads.attest import FAILURES, known_head, refuse_what_fails
from governed_memory.reads.attestations import place_beside
from governed_memory.warehouse import StoreFile, literal

# What the statement reads that works answers out, for a store file.
READS = (
    "stores", "records", "record_supersessions", "int_supersession_edges", "int_looping_edges", "int_rows_sharing_id", "concepts",
    "concept_ownerships", "int_store_criteria", "int_source_ranks", "int_standings", "int_concept_holdings", "stg_integrity_failures",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and by whom.

    Attributes:
        concept: asked about.
        as_of: yyyy-mm-dd.
        caller: who asks.
        scope: classes of question; none asks for what applies everywhere (G2).
        known_on: a date (its end) or UTC timestamp: as known then (T6).
        store: one attached store; every one if None.
    """

    concept: str
    as_of: str
    caller: Caller
    scope: tuple[str, ...] = ()
    known_on: str | None = None
    store: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is no date (InputError)."""
        day("--as-of", self.as_of)
        if self.known_on is not None:
            instant("--known-on", self.known_on)

    @property
    def is_lookup(self) -> bool:
        """Whether the build has worked the answer out already."""
        return self.known_on is None and len(self.scope) <= 1


@dataclass(frozen=True, slots=True)
class Opened:
    """Stores that can be asked.

    Attributes:
        connection: in which the statements run.
        stores: the names of all that are attached.
        is_built: by `dbt build`, rather than from a file.
        notices: what opening found out.
        file: that was read, where they are not built.
    """

    connection: duckdb.DuckDBPyConnection
    stores: tuple[str, ...]
    is_built: bool
    notices: list[str] = field(default_factory=list)
    file: Path | None = None


def open_to_ask(
    store: StoreFile | str | None,
    database: str | None = None,
    host: Host | None = None,
    attestations: str | None = None,
    *,
    reads: Iterable[str] = (),
) -> Opened:
    """Open a store file, with the registers of the host, or the built database, with those it was built with.

    A file is held against its attestations (G9): those named, else those beside it; without any it is read as it is.

    Args:
        store: a file, the name of an attached store, or None for all of them.
        database: the built database; by default the one GMEM_DATABASE names.
        host: the host's configuration.
        attestations: for a file: what its host signed of it.
        reads: models to read besides, which a file has to have built.

    Raises:
        InputError: it cannot be read or verified, or no attached store has that name.
    """
    if isinstance(store, StoreFile):
        path = Path(attestations) if attestations else place_beside(store)
        is_attested = attestations is not None or path.exists() or known_head(host, store.store_id) is not None
        given = (host.given() if host else {}) | ({FAILURES: warehouse.rows_as_sql(FAILURES, [])} if is_attested else {})
        try:
            connection, attached = warehouse.open_store_file(store, {*READS, *reads}, given=given, keeps_rows=is_attested)
        except duckdb.ConversionException as error:
            raise InputError(f"{host.place if host else store.path}: {str(error).partition(chr(10))[0]}") from error
        notices = without_concepts(connection, store) + (refuse_what_fails(connection, store, attached, host, path) if is_attested else [])
        return Opened(connection, (store.store_id,), False, attached.notices + notices, store.file)
    connection = warehouse.open_built(database, store_id=store)
    names = tuple(row["store_id"] for row in warehouse.rows(connection, "select store_id from stores order by store_id"))
    notices = [f"{host.place}: owners, sources, concepts and policies are those of the build, not this file's"] if host and host.registers else []
    return Opened(connection, names, True, notices + _undecided(connection, names if store is None else (store,)))


def _undecided(connection: duckdb.DuckDBPyConnection, asked: Sequence[str]) -> list[str]:
    """A notice for each store asked whose policy has no criteria: a slip in its name would look the same."""
    sql = """select store_id, policy_id from stores semi join int_store_criteria as criteria
        on stores.store_id = criteria.store_id and len(criteria.criteria) = 0 order by store_id"""
    undecided = [(row["store_id"], row["policy_id"]) for row in warehouse.rows(connection, sql)]
    return [f"store {name!r}: no criterion of its policy {policy!r} is registered, so rivals stay unresolved" for name, policy in undecided if name in asked]


def ask(opened: Opened, questions: Sequence[Question]) -> list[dict[str, Any]]:
    """The answers, one for each question in their order.

    Returns:
        {concept, as_of, caller, scope, known_on, coverage, and for one store: store, outcome, answer, sides, reasons, withheld_records,
        stable_until; for several: stores_disagree and answers, the same for each store}. Dates are texts.
    """
    if len(questions) == 1 and (rows := _asked_one(opened, questions[0])):
        return [_told(opened, questions[0], rows)]
    found: dict[int, list[dict[str, Any]]] = {number: [] for number in range(len(questions))}
    for (how, known), numbers in groupby(sorted(found, key=lambda number: way(opened, questions[number])), key=lambda number: way(opened, questions[number])):
        asked = [(number, questions[number]) for number in numbers]
        for start in range(0, len(asked), BATCH):
            sql = warehouse.fragment(how, asked=_asked(asked[start : start + BATCH]), **({"known": literal(known)} if known else {}))
            for row in warehouse.rows(opened.connection, f"select * from ({sql}) order by question_number, store_id"):
                found[row["question_number"]].append(row)
    return [_told(opened, question, found[number]) for number, question in enumerate(questions)]


def ask_several(opened: Opened, concepts: Sequence[str], like: Question) -> tuple[list[dict[str, Any]], set[str]]:
    """Several concepts, each asked about like one question.

    Returns:
        The answers in the order of the concepts: as `ask`, but of several stores only those are told that hold something, where one does; and those
        concepts of which the caller may not see every record, so that it may not be told when something of them changes (rule G6).
    """
    found = _looked_up_several(opened, concepts, like) if opened.is_built and like.is_lookup and concepts else {}
    coverage: dict[str, Any] = {"searched": [name for name in opened.stores if like.store in (None, name)]}
    coverage["not_searched"] = [name for name in opened.stores if name not in coverage["searched"]]
    answers = {concept: _told(opened, replace(like, concept=concept), rows) | {"coverage": coverage} for concept, rows in found.items()}
    in_part = {concept for concept, rows in found.items() if not all(row["is_seen_whole"] for row in rows)}
    if missing := [concept for concept in concepts if concept not in found]:
        others = ask(opened, [replace(like, concept=concept) for concept in missing])
        answers |= dict(zip(missing, others, strict=True))
        whom = {"concepts": missing, "parties": list(like.caller.parties), "boundary": like.caller.boundary}
        in_part |= {row["concept_id"] for row in _run(opened, "concepts_seen_in_part", whom)}
    return [answers[concept] for concept in concepts], in_part


def _looked_up_several(opened: Opened, concepts: Sequence[str], like: Question) -> dict[str, list[dict[str, Any]]]:
    """{concept: its rows} of those of which something is held."""
    asked_class = like.scope[0] if like.scope else None
    where = {"concepts": list(concepts), "store_id": like.store, "asked_on": like.as_of, "question_class_id": asked_class}
    places = [row["place"] for row in _run(opened, "segment_places", where)]
    whom = {"question_class_id": asked_class, "parties": list(like.caller.parties), "boundary": like.caller.boundary}
    is_of_one_store = like.store is not None or len(opened.stores) == 1
    told = _run(opened, "looked_up_several_of_one_store" if is_of_one_store else "looked_up_several", whom | {"places": places})
    ordered = sorted(told, key=lambda row: (row["concept_id"], row["store_id"]))
    return {concept: list(rows) for concept, rows in groupby(ordered, key=lambda row: row["concept_id"])}


def explain(opened: Opened, question: Question) -> list[dict[str, Any]]:
    """How the answer came about: {store, step, record_id, code, explanation}, in the order of the steps; of visible records only."""
    known = {"known": literal(question.known_on)} if question.known_on else {}
    sql = warehouse.fragment("explained_as_known" if known else "explained", asked=_asked([(0, question)]), **known)
    columns = "store_id as store, step, record_id, code, explanation"
    return warehouse.rows(opened.connection, f"select {columns} from ({sql}) order by store_id, step, record_id, code, explanation")


BATCH = 5000


def _asked_one(opened: Opened, question: Question) -> list[dict[str, Any]]:
    """One question in the statement that is shortest for it; no row where that is not enough, as nothing is held."""
    if question.store is None and opened.is_built:
        return []
    values: dict[str, Any] = {"store_id": question.store, "concept_id": question.concept, "asked_on": question.as_of}
    caller = {"parties": list(question.caller.parties), "boundary": question.caller.boundary}
    if question.is_lookup and opened.is_built:
        name = "looked_up_one_of_a_class" if question.scope else "looked_up_one"
        values |= {"question_class_id": question.scope[0]} if question.scope else {}
        if question.caller.boundary == INSIDE and (found := _run(opened, f"{name}_openly", values)):
            [row] = found
            return [row | (row["answer"] or {})]
    else:
        name = "worked_out_one_as_known" if question.known_on else "worked_out_one"
        values |= {"asked_scope": list(question.scope)} | ({"known_on": question.known_on} if question.known_on else {})
    return _run(opened, name, values | caller)


def _run(opened: Opened, name: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    return warehouse.rows(opened.connection, warehouse.parsed_fragment(name), values)


def way(opened: Opened, question: Question) -> tuple[str, str]:
    """Which statement answers a question, and as known when ('' for now)."""
    if question.known_on is not None:
        return "worked_out_as_known", question.known_on
    return ("looked_up" if opened.is_built and question.is_lookup else "worked_out"), ""


def _asked(questions: Iterable[tuple[int, Question]]) -> str:
    lines = ", ".join(
        f"({number}, {text_or_null(question.store)}, {literal(question.concept)}, date {literal(question.as_of)}, {name_list(question.scope)}, "
        f"{name_list(question.caller.parties)}, {literal(question.caller.boundary)})"
        for number, question in questions
    )
    return f"from (values {lines}) as asked(question_number, store_id, concept_id, asked_on, asked_scope, caller_parties, caller_boundary)"


def text_or_null(value: str | None) -> str:
    """A text that may be null, as SQL."""
    return "null::varchar" if value is None else literal(value)


def name_list(names: Iterable[str]) -> str:
    """Names as an SQL list."""
    return "[" + ", ".join(map(literal, names)) + "]::varchar[]"


def _told(opened: Opened, question: Question, rows: list[dict[str, Any]]) -> dict[str, Any]:
    searched = [row["store_id"] for row in rows]
    asked = {
        "concept": question.concept,
        "as_of": question.as_of,
        "caller": question.caller.name,
        "scope": list(question.scope),
        "known_on": question.known_on,
        "coverage": {"searched": searched, "not_searched": [name for name in opened.stores if name not in searched]},
    }
    answers = [_answer(row) for row in rows]
    if question.store is not None or not opened.is_built:
        return asked | answers[0]
    return asked | {"stores_disagree": any(row["stores_disagree"] for row in rows), "answers": answers}


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "store": row["store_id"],
        "outcome": row["outcome"],
        "answer": _side(row) if row["outcome"] == "answered" and row["sides"] is None else None,
        "sides": None if row["sides"] is None else [_side(side) for side in row["sides"]],
        "reasons": row["reasons"],
        "withheld_records": row["withheld_count"],
        "stable_until": date_as_text(row["stable_until"]),
    }


def _side(side: dict[str, Any]) -> dict[str, Any]:
    return {"record_id": side["record_id"], "value": side["value"], "source": side["source_id"], "valid_from": date_as_text(side["valid_from"])}


def caller_without_host(opened: Opened, name: str) -> Caller:
    """Who a name is where no host file says so: a party of the register of parties, with its boundary; else outside of everything (G5)."""
    if opened.is_built:
        found = warehouse.rows(opened.connection, "select boundary from parties where party_id = $name", {"name": name})
        if found:
            return Caller(name, (name,), found[0]["boundary"] or OUTSIDE)
    return Caller(name, (name,), OUTSIDE)


def read_questions(path: str, host: Host | None, opened: Opened, *, default: Caller | None, as_of: str | None, store: str | None = None) -> list[Question]:
    """Questions from JSON Lines: {concept, as_of, caller, scope, known_on, store}; the day, caller and store that a line leaves out are as given.

    Raises:
        InputError: a line is no question; it names the file and the line.
    """
    questions = []
    for number, line in _lines(path):
        try:
            questions.append(_question(json.loads(line), host, opened, default=default, as_of=as_of, asked_store=store))
        except InputError as error:
            raise InputError(f"{path} line {number}: {error}") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} line {number}: is not JSON: {getattr(error, 'msg', 'it is nested too deep, or a number is too long')}") from error
    return questions


QUESTION_KEYS = ("concept", "as_of", "caller", "scope", "known_on", "store")


def _question(entry: Any, host: Host | None, opened: Opened, *, default: Caller | None, as_of: str | None, asked_store: str | None) -> Question:
    if not isinstance(entry, dict) or not isinstance(entry.get("concept"), str):
        raise InputError(f"expected an object with a concept, got {str(entry)[:80]!r}")
    for key, value in entry.items():
        if key not in QUESTION_KEYS:
            raise InputError(f"{key!r} is no part of a question; {did_you_mean(key, QUESTION_KEYS) or 'expected ' + ', '.join(QUESTION_KEYS)}")
        if key != "scope" and not (value is None or isinstance(value, str)):
            raise InputError(f"{key} is a text, got {value!r}")
    scope = [entry["scope"]] if isinstance(entry.get("scope"), str) else entry.get("scope")
    if not (scope is None or (isinstance(scope, list) and all(isinstance(name, str) for name in scope))):
        raise InputError(f"scope is a list of classes, got {scope!r}")
    texts = [*(value for value in entry.values() if isinstance(value, str)), *(scope or [])]
    if any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
        raise InputError("a text holds half of a character (a lone surrogate)")
    named, store = entry.get("caller"), entry.get("store") or asked_store
    caller = default if named is None else host.caller(named) if host else caller_without_host(opened, named)
    on_date = entry.get("as_of") or as_of
    if caller is None or on_date is None:
        missing = "caller" if caller is None else "as_of"
        raise InputError(f"says no {missing}, and the command gives none with --{missing.replace('_', '-')}")
    if store is not None and store not in opened.stores:
        raise InputError(f"no attached store is called {store!r}; attached are {', '.join(opened.stores)}")
    return Question(entry["concept"], on_date, caller, tuple(scope or ()), entry.get("known_on"), store)


def _lines(path: str) -> list[tuple[int, str]]:
    if not Path(path).is_file():
        raise InputError(f"{path!r} is no file; expected questions as JSON Lines")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 at byte {error.start}") from error
    return [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
