"""The tools of memory. What an agent writes is evidence and never knowledge, and is the caller's own: it is written under the name that
authentication gives, in one of their sessions, under an identifier made here, and can name nothing that they may not read (rules G7, G8, M4, M5)."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from governed_memory.dates import day
from governed_memory.errors import InputError, NotAllowedError, shown
from governed_memory.log import canonical_event, utc_now
from governed_memory.memory import MemoryStore, Sight
from governed_memory.service.refusals import GuardRefusal, ToolError, of_arguments
from governed_memory.service.tool import DAY, TEXT, TEXTS, Call, Tool

LOGGER = logging.getLogger(__name__)
MOST, MOST_AT_ALL = 10, 100
# What a cell says of itself when it is recalled, and why it stands where it does.
CELL = ("cell_id", "system", "content", "summary", "source", "source_ids", "session_id", "recorded_at", "expired_at")
WHY = ("matched_terms", "term_share", "system_part", "confidence_part", "importance_part", "link_part")


def _remember(call: Call) -> dict[str, Any]:
    return _told(call, "cells", "cell_id") | {"system": call.given["system"]}


def _link(call: Call) -> dict[str, Any]:
    return _told(call, "links", "link_id")


def _observe_frame(call: Call) -> dict[str, Any]:
    return _told(call, "frames", "frame_id")


def _told(call: Call, stream: str, key: str) -> dict[str, Any]:
    """Write what a call says; the arguments are the fields."""
    told = {name: value for name, value in call.given.items() if name != "session"}
    expect_json(told)
    session = session_of(call)
    if session is None:
        raise ToolError("invalid_argument", "session: name one; this connection has none of its own")
    with held_memory(call) as memory:
        [outcome] = memory.tell(stream, [told], Sight(call.caller, session, utc_now()))
    if outcome.code is not None:
        raise GuardRefusal(str(outcome.guard), outcome.code, str(outcome.requirement))
    return {key: outcome.target_id, "outcome": outcome.outcome, "session": session, "written_by": call.caller.name}


def _recall(call: Call) -> dict[str, Any]:
    most = call.given.get("most", MOST)
    if not 1 <= most <= MOST_AT_ALL:
        raise ToolError("invalid_argument", f"most: {shown(most)} is no number from 1 to {MOST_AT_ALL}")
    sight = _sight(call)
    how = {"system": call.given.get("system"), "takes_expired": call.given.get("include_expired", False), "most": most}
    with held_memory(call) as memory:
        found = memory.recall(_text(call, "query"), sight, **how)
    cells = [
        {**{name: plain(cell[name]) for name in CELL}, "score": cell["score"], "why": {name: cell[name] for name in WHY}}
        for cell in found
    ]  # fmt: skip
    return {"session": sight.session_id, "cells": cells}


def _get_cell(call: Call) -> dict[str, Any]:
    sight, name = _sight(call), _text(call, "cell_id")
    with held_memory(call) as memory:
        cell = memory.show(name, sight)
    if cell is None:
        raise ToolError("not_found", f"cell_id: {shown(name)} is no cell that you may read from this session")
    return {"session": sight.session_id, "cell": {field: plain(value) for field, value in cell.items() if field not in ("cell_number", "is_restricted")}}


def _sight(call: Call) -> Sight:
    as_of = call.given.get("as_of")
    with of_arguments():
        on_date = None if as_of is None else datetime.date.fromisoformat(day("as_of", as_of))
    return Sight(call.caller, session_of(call), utc_now(), call.given.get("across_sessions", False), on_date)


def session_of(call: Call) -> str | None:
    """The session of a call. It is one of the caller's: the same name with another caller is another session."""
    if "session" not in call.given:
        return call.served.memory.own_session if call.served.memory else None
    if not _text(call, "session").strip():
        raise ToolError("invalid_argument", "session: is blank; give it a name")
    return str(call.given["session"])


def _text(call: Call, name: str) -> str:
    """An argument that is a text and can be written."""
    expect_json({name: call.given[name]})
    return str(call.given[name])


def expect_json(told: Mapping[str, Any]) -> None:
    """ToolError where an argument cannot be written."""
    for name, value in told.items():
        try:
            canonical_event({name: value})
        except InputError:
            raise ToolError("invalid_argument", f"{name}: holds what JSON has no form for, such as half of a character") from None


@contextmanager
def held_memory(call: Call) -> Iterator[MemoryStore]:
    """The memory, for this call alone; a failure of it is told without its reason, which may name a file."""
    assert call.served.memory, "these tools are there only where there is a memory"
    try:
        with call.served.memory.held() as memory:
            yield memory
    except NotAllowedError as error:
        raise GuardRefusal(error.guard, error.code, error.requirement) from None
    except InputError as error:
        LOGGER.error("the memory cannot be used: %s", type(error).__name__)
        raise ToolError("memory_unavailable", "the memory cannot be used now; nothing was answered or written. Try again later") from None


def plain(value: Any) -> Any:
    """A value as JSON has it; times are UTC."""
    if isinstance(value, datetime.datetime):
        return f"{value.isoformat()}Z"
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {name: plain(item) for name, item in value.items()} if isinstance(value, dict) else value


def _writing(description: str, answer: Callable[[Call], dict[str, Any]], arguments: Mapping[str, dict[str, Any]], required: tuple[str, ...]) -> Tool:
    return Tool(description, answer, {**arguments, "session": SESSION}, required, needs_stores=False, is_read_only=False)


def _reading(description: str, answer: Callable[[Call], dict[str, Any]], arguments: Mapping[str, dict[str, Any]], required: tuple[str, ...]) -> Tool:
    return Tool(description, answer, {**arguments, **FROM_WHERE}, required, needs_stores=False)


def said(description: str, of: Mapping[str, Any] = TEXT) -> dict[str, Any]:
    """The JSON schema of an argument."""
    return {**of, "description": description}


NUMBER, FLAG, TIME = {"type": "number"}, {"type": "boolean"}, "as yyyy-mm-ddThh:mm:ss (UTC)"
SESSION = said("a session of yours, by a name you choose; over standard input and output, this connection's own if left out")
SYSTEM = said("working (for the task at hand, with ttl_seconds) or episodic (what was observed)")
FROM_WHERE: dict[str, dict[str, Any]] = {
    "as_of": {**DAY, "description": "what was there by the end of that day, yyyy-mm-dd"},
    "across_sessions": said("read across sessions; only callers whom the host lets", FLAG),
    "session": SESSION,
}
MEMORY_TOOLS = {
    "remember": _writing(
        "Writes down what was observed, as a cell of one of your sessions, under your name. It is evidence, never knowledge: what is learned from "
        "it needs an approval. Give source, or source_ids. Saying the same again is the same cell.",
        _remember,
        {
            "system": SYSTEM, "content": said("what was observed"), "summary": said("the same in short"),
            "source": said("where it comes from"), "source_ids": said("cells it comes from", TEXTS),
            "confidence": said("0 to 1", NUMBER), "importance": said("0 to 1", NUMBER),
            "event_index": said("its place in an order of events", {"type": "integer"}), "created_at": said(f"when it was observed, {TIME}; now if left out"),
            "ttl_seconds": said("for a working cell: how long it lives", NUMBER), "metadata": said("anything else", {"type": "object"}),
            "classification": TEXT, "release_to": said("the parties that may read it besides you", TEXTS),
        },
        ("system", "content"),
    ),
    "link": _writing(
        "Says that two cells belong together. A conflict keeps both and says why.",
        _link,
        {
            "from_cell_id": TEXT, "to_cell_id": TEXT, "link_type": said("temporal, similarity, causal, task, procedural or conflict"),
            "reason": said("why; a conflict has one"), "weight": said("0 to 1", NUMBER),
        },
        ("from_cell_id", "to_cell_id", "link_type"),
    ),
    "observe_frame": _writing(
        "Binds cells that you wrote in this session as one event: scene, goal, action, outcome. The cells stay as they are; their order is that of "
        "event_index, then created_at.",
        _observe_frame,
        {
            "scene": TEXT, "goal": TEXT, "action": TEXT, "outcome": TEXT, "steps": said("the cells, by cell_id", TEXTS), "entities": TEXTS,
            "cues": TEXTS, "starts_at": said(TIME), "ends_at": said(TIME),
        },
        ("scene", "goal", "action", "outcome", "steps"),
    ),
    "recall": _reading(
        "The cells that match words, the best first, each with why. Of this session and of what is nobody's session. Evidence, not an answer: what holds "
        "on a date is what ask says.",
        _recall,
        {
            "query": said("words, in any order"), "system": said("cells of this system before others that match as many words"),
            "most": said(f"how many at most; {MOST} if left out", {"type": "integer"}), "include_expired": said("expired working cells too", FLAG),
        },
        ("query",),
    ),
    "get_cell": _reading(
        "One cell with its state, links and what was said of it. What is not there or not yours to read is not found.",
        _get_cell, {"cell_id": TEXT}, ("cell_id",),
    ),
}  # fmt: skip
