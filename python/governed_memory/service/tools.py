"""The tools an agent may call: all of them read, each for one caller that the host names. None takes a caller, and none knows of MCP."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb

from governed_memory.dates import day, instant
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.configuration import Caller
from governed_memory.overlay.profile import profile
from governed_memory.reads.ask import Opened, Question, ask, explain
from governed_memory.reads.released import INDEX, disclosed_history, released
from governed_memory.service.candidate import check_record
from governed_memory.service.refusals import ToolError, of_arguments
from governed_memory.service.served import Served
from governed_memory.service.words import in_words

LOGGER = logging.getLogger(__name__)

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": {"type": "string"}}
DAY = {"type": "string", "description": "yyyy-mm-dd"}
CONCEPT = {"type": "string", "description": "a concept, exactly as the store names it"}
SCOPE = {**TEXTS, "description": "classes of question; none asks for what applies everywhere"}
KNOWN_ON = {"type": "string", "description": "as known at the end of that day (yyyy-mm-dd), or at that UTC timestamp"}
STORE = {"type": "string", "description": "one of the stores served; all of them if left out"}


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the stores, who calls, and the arguments, whose kinds are as the tool says."""

    served: Served
    opened: Opened
    caller: Caller
    given: Mapping[str, Any]

    def asked(self) -> dict[str, Any]:
        """The arguments that say what is asked, each a date where it has to be."""
        known_on = self.given.get("known_on")
        with of_arguments():
            return {
                "as_of": day("as_of", self.given["as_of"]),
                "known_on": None if known_on is None else instant("known_on", known_on),
                "scope": tuple(self.given.get("scope") or ()),
                "store": self.store(),
            }

    def store(self) -> str | None:
        """The store that is named; the only one where there is only one."""
        name = self.given.get("store")
        if name is not None and name not in self.opened.stores:
            raise ToolError("invalid_argument", f"store: none is called {name!r}; served are {', '.join(self.opened.stores)}")
        return self.opened.stores[0] if name is None and len(self.opened.stores) == 1 else name


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        description: for the agent.
        arguments: {name: JSON schema}.
        required: the arguments that have to be there.
        answer: what it gives for a call.
        needs_stores: whether the stores have to be opened for it.
    """

    description: str
    answer: Callable[[Call], dict[str, Any]]
    arguments: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    needs_stores: bool = True

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, which allows no others."""
        return {"type": "object", "properties": dict(self.arguments), "required": list(self.required), "additionalProperties": False}


def call_tool(served: Served, caller: Caller, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool gives a caller.

    Raises:
        ToolError: whatever goes wrong. Its message holds nothing but what the call itself says and how tools are called.
    """
    tool = TOOLS.get(name)
    if tool is None:
        raise ToolError("unknown_tool", f"no tool is called {name!r}; there are {', '.join(TOOLS)}")
    _expect_arguments(name, tool, given)
    try:
        if not tool.needs_stores:
            return tool.answer(Call(served, NOTHING, caller, given))
        with _opened(served) as opened:
            return tool.answer(Call(served, opened, caller, given))
    except ToolError:
        raise
    except Exception as error:
        # What a database says may quote a row.
        LOGGER.error("tool %s failed: %s", name, type(error).__name__)
        raise ToolError("internal", "the call failed on the server; nothing was answered") from None


class _opened:
    """The stores of a call; a failure to open them is told without its reason, which may quote a file."""

    def __init__(self, served: Served) -> None:
        self._context = served.opened()

    def __enter__(self) -> Opened:
        try:
            return self._context.__enter__()
        except (InputError, duckdb.Error, OSError) as error:
            LOGGER.error("the stores cannot be opened: %s", type(error).__name__)
            raise ToolError("store_unavailable", "the stores cannot be read now; a build may be writing them. Try again later") from None

    def __exit__(self, *raised: Any) -> None:
        self._context.__exit__(*raised)


def _expect_arguments(name: str, tool: Tool, given: Mapping[str, Any]) -> None:
    for argument, value in given.items():
        if argument not in tool.arguments:
            hint = did_you_mean(argument, tool.arguments) or f"it takes {', '.join(tool.arguments) or 'none'}"
            raise ToolError("unknown_argument", f"{name}: {argument!r} is not accepted; {hint}. Who asks is known from how you are connected")
        if not _is_a(tool.arguments[argument], value):
            raise ToolError("invalid_argument", f"{name}: {argument} is {KINDS[tool.arguments[argument]['type']]}")
    for argument in tool.required:
        if argument not in given:
            raise ToolError("invalid_argument", f"{name}: says no {argument}")


KINDS = {"string": "a text", "array": "a list of texts", "object": "an object"}


def _is_a(schema: Mapping[str, Any], value: Any) -> bool:
    if schema["type"] == "array":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, str if schema["type"] == "string" else dict)


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


NOTHING = Opened(None, (), False)  # type: ignore[arg-type]
ON_A_DATE: dict[str, dict[str, Any]] = {"as_of": DAY, "scope": SCOPE, "known_on": KNOWN_ON, "store": STORE}
TOOLS = {
    "ask": Tool(
        "The answer to a question about a concept on a date, decided by the rules and disclosed for you. Outcomes: answered; abstained (the sides are "
        "named, do not choose one); refused (you may not see it, do not answer from elsewhere); empty. Cite record_id and source.",
        _ask, {"concept": CONCEPT, **ON_A_DATE}, ("concept", "as_of"),
    ),
    "explain": Tool("The same answer, in words and step by step.", _explain, {"concept": CONCEPT, **ON_A_DATE}, ("concept", "as_of")),
    "index": Tool(
        "What answers on a date rest on, without values: choose from it, then read exactly those with get_records. `characters` is the length of a value.",
        _index, {"concept": CONCEPT, **ON_A_DATE}, ("as_of",),
    ),
    "get_records": Tool(
        "The records of these identifiers that answers on the date rest on. What is not there, does not answer then or is not yours to see is not found.",
        _get_records, {"record_ids": {**TEXTS, "description": "identifiers from the index"}, **ON_A_DATE}, ("record_ids", "as_of"),
    ),
    "records_as_of": Tool(
        "The records that answers on a date rest on, with their values; of every concept if none is named. Prefer index and get_records where there are many.",
        _records_as_of, {"concept": CONCEPT, **ON_A_DATE}, ("as_of",),
    ),
    "history": Tool(
        "The records of a concept that you may see, when each was in force and why it ended. Not an answer: what holds on a date is what ask says.",
        _history, {"concept": CONCEPT, "store": STORE}, ("concept",),
    ),
    "check_record": Tool(
        "What the rules would say of a record beside those you may see, were it written by you. Nothing is written. Roles: record_id, concept, value, "
        "valid_from, valid_to (the last day; null is open), source, concept_owner, owner_role, applies_to, does_not_apply_to, release_to, supersedes.",
        _check_record, {"record": {"type": "object"}, "store": STORE}, ("record",),
    ),
    "profile": Tool("The profile that records follow: levels, fields with what was measured, and how other systems name them.", _profile, needs_stores=False),
}  # fmt: skip
