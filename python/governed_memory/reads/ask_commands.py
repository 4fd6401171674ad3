"""`gmem ask`: a governed question on the command line. An operator's tool and no boundary: whoever can run it can name any caller (G8)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from governed_memory.errors import InputError, message, one_line
from governed_memory.host.configuration import Caller, Host, read_host
from governed_memory.log import Witness
from governed_memory.reads.as_of import never_recorded, unknown_concept
from governed_memory.reads.ask import Opened, Question, ask, caller_without_host, explain, open_to_ask, read_questions
from governed_memory.reads.named import add_asked, rows_asked
from governed_memory.reads.noted import add_memory, of_answer, witness_for
from governed_memory.warehouse import StoreFile


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `ask` to the root parser."""
    parser = commands.add_parser("ask", help="the answer to a question on a date, for a caller: decided by the rules, disclosed last")
    parser.add_argument("concept", nargs="?", metavar="CONCEPT")
    parser.add_argument("--as-of", metavar="D", help="yyyy-mm-dd")
    parser.add_argument("--caller", metavar="NAME", help="who asks, as the host file or the register of parties names them")
    parser.add_argument("--host", metavar="FILE", help="the host file: callers, owners, policies (default: GMEM_HOST)")
    parser.add_argument("--scope", action="append", default=[], metavar="X", help="a class of question; may be repeated")
    parser.add_argument("--known-on", metavar="D", help="as known at the end of that day, or at that UTC timestamp")
    parser.add_argument("--questions", metavar="FILE", help="JSON Lines of questions {concept, as_of, caller, scope, known_on, store}; answers as JSON Lines")
    add_asked(parser)
    parser.add_argument("--explain", action="store_true", help="how the answer came about, step by step; of what is withheld nothing is said")
    parser.add_argument("--json", action="store_true", help="the answer as one JSON object")
    add_memory(parser)
    parser.set_defaults(run=run_ask)


def run_ask(arguments: argparse.Namespace) -> int:
    """Print the answer; exit 0 whatever it is."""
    if (arguments.concept is None) == (arguments.questions is None):
        raise InputError("give a CONCEPT to ask about, or --questions FILE")
    if arguments.questions is not None and (arguments.scope or arguments.known_on is not None or arguments.explain):
        raise InputError("--scope, --known-on and --explain go with one CONCEPT; each line of --questions says its own scope and known_on")
    host = read_host(arguments.host)
    store = rows_asked(arguments, host)
    with witness_for(arguments, host) as witness:
        return _run_ask(arguments, host, store, witness)


def _run_ask(arguments: argparse.Namespace, host: Host | None, store: StoreFile | str | None, witness: Witness) -> int:
    opened = open_to_ask(store, arguments.database, host, arguments.attestations)
    for notice in opened.notices:
        print(f"gmem ask: notice: {notice}", file=sys.stderr)
    caller = None if arguments.caller is None else named_caller(opened, host, arguments.caller)
    if arguments.questions is not None:
        named = store if isinstance(store, str) else None
        questions = read_questions(arguments.questions, host, opened, default=caller, as_of=arguments.as_of, store=named)
        answers = ask(opened, questions)
        _note(witness, "ask", answers)
        for answer in answers:
            print(json.dumps(answer, ensure_ascii=False))
        return 0
    if caller is None or arguments.as_of is None:
        raise InputError(f"say {'who asks with --caller' if caller is None else 'for which day with --as-of'}")
    name = store if isinstance(store, str) else None
    question = Question(arguments.concept, arguments.as_of, caller, tuple(arguments.scope), arguments.known_on, name)
    [answer] = ask(opened, [question])
    for notice in _why_nothing_is_held(opened, question, answer):
        print(f"gmem ask: notice: {message(notice)}", file=sys.stderr)
    if arguments.explain:
        answer["explanation"] = explain(opened, question)
    _note(witness, "explain" if arguments.explain else "ask", [answer])
    print(json.dumps(answer, ensure_ascii=False, indent=1) if arguments.json else "\n".join(map(one_line, answer_lines(answer))))
    return 0


def _note(witness: Witness, kind: str, answers: list[dict[str, Any]]) -> None:
    """Note the answers, all of one caller in one step."""
    for caller, of_caller in groupby(sorted(answers, key=lambda answer: str(answer["caller"])), key=lambda answer: str(answer["caller"])):
        witness.note(caller, [of_answer(kind, answer) for answer in of_caller])


def _why_nothing_is_held(opened: Opened, question: Question, answer: dict[str, Any]) -> list[str]:
    """For a person who expected an answer: names of concepts like the one asked about, or that no record says when it was recorded."""
    if any("not_held" not in told["reasons"] for told in answer.get("answers", [answer])):
        return []
    unseen = never_recorded(opened.connection, question.store) if question.known_on else []
    return unseen or [unknown_concept(opened.connection, question.concept)]


def named_caller(opened: Opened, host: Host | None, name: str, command: str = "ask") -> Caller:
    """The caller of that name; without a host file, who the register of parties knows, else somebody outside."""
    if host is not None:
        return host.caller(name)
    caller = caller_without_host(opened, name)
    if caller.boundary != "inside":
        print(f"gmem {command}: notice: nothing says that {name!r} is inside, so only what is released to {name!r} is shown; see --host", file=sys.stderr)
    return caller


def answer_lines(answer: dict[str, Any]) -> Iterator[str]:
    """An answer for a person."""
    for told in answer.get("answers", [answer]):
        yield f"{told['store']}: {told['outcome']}"
        for side in [told["answer"]] if told["answer"] else told["sides"] or []:
            source = "no source" if side["source"] is None else f"source {side['source']}"
            since = f", since {side['valid_from']}" if side["valid_from"] else ""
            yield f"  {side['record_id']}: {side['value']}  ({source}{since})"
        if told["reasons"]:
            yield f"  reasons: {', '.join(told['reasons'])}"
        if told["withheld_records"]:
            yield f"  withheld: {told['withheld_records']}"
        if told["stable_until"]:
            yield f"  holds until {told['stable_until']}"
    if answer.get("stores_disagree"):
        yield "the stores disagree"
    if "explanation" in answer:
        yield from explanation_lines(answer["explanation"])


STEPS = {1: "who covers the day", 2: "who applies to the question", 3: "who is replaced", 4: "who takes precedence", 5: "who may see it"}


def explanation_lines(steps: list[dict[str, Any]]) -> Iterator[str]:
    """The steps for a person; one that changed nothing that the caller may see says so."""
    for store, of_store in groupby(steps, key=lambda step: step["store"]):
        said = list(of_store)
        yield f"how {store} came to it"
        for number, title in STEPS.items():
            lines = [step for step in said if step["step"] == number]
            yield f"  {number} {title}"
            for step in lines:
                yield f"      {step['record_id'] or 'the answer' if number < 5 else step['code']}: {step['explanation']}"
            if not lines:
                yield "      nothing to say of a record that the caller may see"
