"""What a tool is: its arguments, which it is called with and no others, and what it answers. None takes a caller, and none knows of MCP."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from governed_memory.dates import day, instant
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.configuration import Caller
from governed_memory.log import Read
from governed_memory.reads.ask import Opened
from governed_memory.service.refusals import ToolError, of_arguments
from governed_memory.service.served import Served

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
        is_read_only: whether it changes nothing but the list of what was read.
        read: what of a call and its answer is noted as read, where the tool does not note it itself; None where nothing is.
    """

    description: str
    answer: Callable[[Call], dict[str, Any]]
    arguments: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    needs_stores: bool = True
    is_read_only: bool = True
    read: Callable[[Mapping[str, Any], dict[str, Any]], Read] | None = None

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, which allows no others."""
        return {"type": "object", "properties": dict(self.arguments), "required": list(self.required), "additionalProperties": False}


def expect_arguments(name: str, tool: Tool, given: Mapping[str, Any]) -> None:
    """ToolError where the arguments of a call are not those that the tool takes."""
    for argument, value in given.items():
        if argument not in tool.arguments:
            hint = did_you_mean(argument, tool.arguments) or f"it takes {', '.join(tool.arguments) or 'none'}"
            raise ToolError("unknown_argument", f"{name}: {argument!r} is not accepted; {hint}. Who asks is known from how you are connected")
        if not _is_a(tool.arguments[argument], value):
            raise ToolError("invalid_argument", f"{name}: {argument} is {KINDS[tool.arguments[argument]['type']]}")
    for argument in tool.required:
        if argument not in given:
            raise ToolError("invalid_argument", f"{name}: says no {argument}")


def note_read(served: Served, caller: Caller, read: Read) -> None:
    """Note what was read, where there is a memory to note it in (rule M5).

    Raises:
        ToolError: it cannot be noted, so nothing may be answered.
    """
    if served.memory is None:
        return
    try:
        served.memory.witness.note(caller.name, [read])
    except InputError:
        LOGGER.error("a read cannot be noted in the memory log")
        raise ToolError("read_not_noted", "the read cannot be noted, so nothing is answered; try again later") from None


KINDS = {
    "string": "a text",
    "array": "a list of texts",
    "object": "an object",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}
TYPES: dict[str, type | tuple[type, ...]] = {"string": str, "array": list, "object": dict, "number": (int, float), "integer": int, "boolean": bool}


def _is_a(schema: Mapping[str, Any], value: Any) -> bool:
    if isinstance(value, bool) and schema["type"] != "boolean":
        return False  # in Python it is a number, in JSON it is none
    if schema["type"] == "array" and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return False
    if schema["type"] == "integer":
        return isinstance(value, int) and abs(value) < 1 << 63
    return isinstance(value, TYPES[schema["type"]])
