"""The tools an agent may call, each for one caller that the host names. None takes a caller, and none knows of MCP."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import duckdb

from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.log import Read
from governed_memory.overlay.profile import profile
from governed_memory.reads.ask import Opened, Question, ask, explain
from governed_memory.reads.noted import of_answer, of_listing
from governed_memory.reads.released import INDEX, disclosed_history, released
from governed_memory.service.candidate import check_record
from governed_memory.service.job_tools import JOB_TOOLS
from governed_memory.service.memory_tools import MEMORY_TOOLS
from governed_memory.service.packet_tools import PACKET_TOOLS
from governed_memory.service.proposal_tools import PROPOSAL_TOOLS
from governed_memory.service.refusals import ToolError
from governed_memory.service.served import Served
from governed_memory.service.tool import CONCEPT, DAY, KNOWN_ON, SCOPE, STORE, TEXTS, Call, Tool, expect_arguments, note_read
from governed_memory.service.words import in_words

LOGGER = logging.getLogger(__name__)


def tools_of(served: Served) -> dict[str, Tool]:
    """The tools of a server; those of jobs and of memory only where it has them, and those that write to a memory only where it is kept."""
    usual = TOOLS | PACKET_TOOLS | (JOB_TOOLS if served.jobs else {})
    if served.memory is None:
        return usual
    of_memory = MEMORY_TOOLS | PROPOSAL_TOOLS
    return usual | {name: tool for name, tool in of_memory.items() if tool.is_read_only or not served.memory.is_read_only}


def call_tool(served: Served, caller: Caller, name: str, given: Mapping[str, Any], opens: Callable[[Opened], None] = lambda _: None) -> dict[str, Any]:
    """What a tool gives a caller; `opens` is told of the stores that are opened for it, so that somebody else may interrupt it.

    Raises:
        ToolError: whatever goes wrong. Its message holds nothing but what the call itself says and how tools are called.
    """
    tools = tools_of(served)
    tool = tools.get(name)
    if tool is None:
        raise ToolError("unknown_tool", f"no tool is called {name!r}; there are {', '.join(tools)}")
    expect_arguments(name, tool, given)
    try:
        if not tool.needs_stores:
            return tool.answer(Call(served, NOTHING, caller, given))
        with opened_for_a_call(served) as opened:
            opens(opened)
            answer = tool.answer(Call(served, opened, caller, given))
        if tool.read:
            note_read(served, caller, tool.read(given, answer))
        return answer
    except ToolError:
        raise
    except Exception as error:
        # What a database says may quote a row.
        LOGGER.error("tool %s failed: %s", name, type(error).__name__)
        raise ToolError("internal", "the call failed on the server; nothing was answered") from None


@contextmanager
def opened_for_a_call(served: Served) -> Iterator[Opened]:
    """The stores of a call; a failure to open them is told without its reason, which may quote a file.

    Raises:
        ToolError: on entering, they cannot be read.
    """
    with ExitStack() as held:
        try:
            opened = held.enter_context(served.opened())
        except (InputError, duckdb.Error, OSError) as error:
            LOGGER.error("the stores cannot be opened: %s", type(error).__name__)
            raise ToolError("store_unavailable", "the stores cannot be read now; a build may be writing them. Try again later") from None
        yield opened


def _question(call: Call) -> Question:
    asked = call.asked()
    return Question(call.given["concept"], asked["as_of"], call.caller, asked["scope"], asked["known_on"], asked["store"])


def _ask(call: Call) -> dict[str, Any]:
    # A file answers as the one store it is, whether or not it is named.
    [answer] = ask(call.opened, [_question(call)])
    return answer


def _explain(call: Call) -> dict[str, Any]:
    answer = _ask(call)
    words = {told["store"]: in_words(told) for told in answer.get("answers", [answer])}
    return {**answer, "in_words": words, "explanation": explain(call.opened, _question(call))}


def _records_as_of(call: Call) -> dict[str, Any]:
    asked = call.asked()
    return {"as_of": asked["as_of"], "records": released(call.opened, call.caller, concept=call.given.get("concept"), **asked)}


def _index(call: Call) -> dict[str, Any]:
    asked = call.asked()
    return {"as_of": asked["as_of"], "records": released(call.opened, call.caller, concept=call.given.get("concept"), fields=INDEX, **asked)}


def _get_records(call: Call) -> dict[str, Any]:
    asked = call.asked()
    names = list(dict.fromkeys(call.given["record_ids"]))
    found = [record for record in released(call.opened, call.caller, **asked) if record["record_id"] in names] if names else []
    held = {record["record_id"] for record in found}
    return {"as_of": asked["as_of"], "records": found, "not_found": [name for name in names if name not in held]}


def _history(call: Call) -> dict[str, Any]:
    return {"concept": call.given["concept"], "records": disclosed_history(call.opened, call.caller, call.given["concept"], store=call.store())}


def _check_record(call: Call) -> dict[str, Any]:
    store = call.store()
    if store is None:
        raise ToolError("invalid_argument", f"store: say for which store it is judged; served are {', '.join(call.opened.stores)}")
    return check_record(call.opened, call.served, call.caller, store, call.given["record"])


def _profile(call: Call) -> dict[str, Any]:
    return profile()


def _read_index(given: Mapping[str, Any], answer: dict[str, Any]) -> Read:
    return of_listing("index", _ids(answer["records"]), query=given.get("concept"), on_date=answer["as_of"])


def _read_records(given: Mapping[str, Any], answer: dict[str, Any]) -> Read:
    return of_listing("records_as_of", _ids(answer["records"]), query=given.get("concept"), on_date=answer["as_of"])


def _read_by_name(given: Mapping[str, Any], answer: dict[str, Any]) -> Read:
    # What was asked for may name what is withheld.
    return of_listing("get_records", _ids(answer["records"]), on_date=answer["as_of"])


def _read_history(given: Mapping[str, Any], answer: dict[str, Any]) -> Read:
    ended_by = [record["ended_by"] for record in answer["records"] if record["ended_by"] is not None]
    return of_listing("history", [*_ids(answer["records"]), *ended_by], query=given["concept"])


def _read_beside(given: Mapping[str, Any], answer: dict[str, Any]) -> Read:
    """Of a judgement: the records that would end. What the candidate is called or names otherwise may be the name of a record that is withheld."""
    concept = given["record"].get("concept")
    return of_listing("check_record", _ids(answer["ends"]), query=concept if isinstance(concept, str) else None)


def _ids(records: Iterable[Mapping[str, Any]]) -> list[str]:
    return [record["record_id"] for record in records]


NOTHING = Opened(None, (), False)  # type: ignore[arg-type]
ON_A_DATE: dict[str, dict[str, Any]] = {"as_of": DAY, "scope": SCOPE, "known_on": KNOWN_ON, "store": STORE}
TOOLS = {
    "ask": Tool(
        "The answer to a question about a concept on a date, decided by the rules and disclosed for you. Outcomes: answered; abstained (the sides are "
        "named, do not choose one); refused (you may not see it, do not answer from elsewhere); empty. Cite record_id and source.",
        _ask, {"concept": CONCEPT, **ON_A_DATE}, ("concept", "as_of"), read=lambda _, answer: of_answer("ask", answer),
    ),
    "explain": Tool(
        "The same answer, in words and step by step.",
        _explain, {"concept": CONCEPT, **ON_A_DATE}, ("concept", "as_of"), read=lambda _, answer: of_answer("explain", answer),
    ),
    "index": Tool(
        "What answers on a date rest on, without values: choose from it, then read exactly those with get_records. `characters` is the length of a value.",
        _index, {"concept": CONCEPT, **ON_A_DATE}, ("as_of",), read=_read_index,
    ),
    "get_records": Tool(
        "The records of these identifiers that answers on the date rest on. What is not there, does not answer then or is not yours to see is not found.",
        _get_records, {"record_ids": {**TEXTS, "description": "identifiers from the index"}, **ON_A_DATE}, ("record_ids", "as_of"), read=_read_by_name,
    ),
    "records_as_of": Tool(
        "The records that answers on a date rest on, with their values; of every concept if none is named. Prefer index and get_records where there are many.",
        _records_as_of, {"concept": CONCEPT, **ON_A_DATE}, ("as_of",), read=_read_records,
    ),
    "history": Tool(
        "The records of a concept that you may see, when each was in force and why it ended. Not an answer: what holds on a date is what ask says.",
        _history, {"concept": CONCEPT, "store": STORE}, ("concept",), read=_read_history,
    ),
    "check_record": Tool(
        "What the rules would say of a record beside those you may see, were it written by you. Nothing is written. Roles: record_id, concept, value, "
        "valid_from, valid_to (the last day; null is open), source, concept_owner, owner_role, applies_to, does_not_apply_to, release_to, supersedes.",
        _check_record, {"record": {"type": "object"}, "store": STORE}, ("record",), read=_read_beside,
    ),
    "profile": Tool("The profile that records follow: levels, fields with what was measured, and how other systems name them.", _profile, needs_stores=False),
}  # fmt: skip
