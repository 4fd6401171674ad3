"""From what is told to the event that would be written: identity, times and words are made here, once; whether it may be written is decided by
the guards, in SQL."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from governed_memory.errors import InputError
from governed_memory.log import expect_text, fragments, in_bytes, joined, timestamp
from governed_memory.log.events import Fragments
from governed_memory.memory.projection import KEYS
from governed_memory.memory.recall import Sight, expect_other_than_own
from governed_memory.memory.terms import index_terms

# What is made here or said by the log, and never by the one who writes.
MADE = {"recorded_at", "principal", "session_id", "transition", "terms", "fingerprint", "expires_at", "approval_id", "is_signed"}
MARKS = {"cells": "c", "links": "l", "annotations": "a", "frames": "f", "replays": "r", "traces": "t", "approvals": "p", "proposals": "o"}
TIMES = ("created_at", "effective_at", "starts_at", "ends_at", "ended_at", "approved_at")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one thing that was asked for.

    Attributes:
        place: its place in what was given, from 1.
        target_id: the identifier of the cell, link or other thing; None where it has none.
        outcome: 'written', 'held' where it was there already, or 'refused'.
        guard: which guard refused it.
        code: the condition that it broke.
        requirement: what is expected instead, in words.
    """

    place: int
    target_id: str | None
    outcome: str
    guard: str | None = None
    code: str | None = None
    requirement: str | None = None


@dataclass(frozen=True)
class Scene:
    """Who asks for a transition, where and when.

    Attributes:
        transition: as `transition_policies` names it.
        principal: the authenticated one who asks.
        session_id: the session; None outside of any.
        now: the instant; in UTC, if it names no zone.
        sight: from where they know other cells; None for an operator, who knows all of them.
        is_own: whether memory itself asks, under a name that nobody else may have.
    """

    transition: str
    principal: str
    session_id: str | None
    now: datetime.datetime
    sight: Sight | None = None
    is_own: bool = False

    def __post_init__(self) -> None:
        """Refuse a transition of nobody.

        Raises:
            InputError: the principal is no text, blank, or memory's own.
        """
        if not expect_text("principal", self.principal).strip():
            raise InputError("principal: is blank; name the authenticated one who asks")
        if not self.is_own:
            expect_other_than_own(self.principal)

    @cached_property
    def at(self) -> str:
        """The instant as events write it."""
        return timestamp(self.now)

    @cached_property
    def told(self) -> dict[str, Any]:
        """What every event says of it."""
        said = {"transition": self.transition, "principal": self.principal, "recorded_at": self.at, "session_id": self.session_id}
        return {name: value for name, value in said.items() if value is not None}

    @cached_property
    def fragments(self) -> Fragments:
        """The same, as it is written."""
        return fragments(self.told)

    @cached_property
    def who(self) -> Fragments:
        """Whose saying the fingerprint of an event is of."""
        return _who(self.principal, self.session_id)


def event_of(stream: str, told: Mapping[str, Any], scene: Scene, made: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], bytes]:
    """The event that would be written for what is told, and as it would be.

    The identifier is the one that is given, else made of the content, the principal and the session, so that telling the same again, in any
    order and after any crash, is the same thing. The time of telling is no part of it. `made`: further fields, worked out here and not told.

    Raises:
        InputError: what is told is no JSON.
    """
    said = {name: value for name, value in told.items() if value is not None}
    if not MADE.isdisjoint(said):
        # A field that is not for the one who writes goes in under a name that the type guard refuses.
        said = {f"{name} (given)" if name in MADE else name: value for name, value in said.items()}
    for name in TIMES:
        if name in said:
            said[name] = written(said[name])
    key, parts = KEYS[stream], fragments(said)
    given = parts.pop(key, None)
    fingerprint = _fingerprint(parts, scene.who)
    added = {"fingerprint": fingerprint} if given else {"fingerprint": fingerprint, key: f"{MARKS[stream]}_{fingerprint[:32]}"}
    if stream == "cells":
        added |= _of_a_cell(said, scene)
    if made:
        added |= made
    if given:
        parts[key] = given
    return {**said, **scene.told, **added}, in_bytes(joined(parts | scene.fragments | fragments(added)))


def remade_fingerprint(stream: str, event: Mapping[str, Any]) -> str:
    """The fingerprint that an event of the log makes, whatever it says that its fingerprint is.

    A cell's time is made here where it was not told, and is no part of the fingerprint then; the event does not say which it was.

    Raises:
        InputError: it is no event.
    """
    said = {field: value for field, value in event.items() if field not in MADE and field != KEYS[stream]}
    who = _who(event.get("principal"), event.get("session_id"))
    made = _fingerprint(fragments(said), who)
    if stream == "cells" and said.get("created_at") == event.get("recorded_at") and made != event.get("fingerprint"):
        told = fragments({field: value for field, value in said.items() if field != "created_at"})
        made = _fingerprint(told, who)
    return made


def _fingerprint(said: Fragments, who: Fragments) -> str:
    """Of what is said, by whom and in which session."""
    return hashlib.sha256(in_bytes(f'{{{who["principal"]},"said":{joined(said)},{who["session"]}}}')).hexdigest()


def _who(principal: object, session_id: object) -> Fragments:
    return fragments({"principal": principal, "session": session_id})


def written(given: object) -> object:
    """A time as events write it, where it is one; else what was given, for the type guard to refuse."""
    try:
        found = datetime.datetime.fromisoformat(given) if isinstance(given, str) else given
        if isinstance(found, datetime.datetime):
            return timestamp(found)
    except (ValueError, OverflowError):
        pass
    return given


def _of_a_cell(said: Mapping[str, Any], scene: Scene) -> dict[str, Any]:
    made: dict[str, Any] = {"created_at": said.get("created_at", scene.at)}
    if isinstance(said.get("content"), str):
        told = f"{said['content']} {said['summary']}" if isinstance(said.get("summary"), str) else said["content"]
        made["terms"] = " ".join(index_terms(told))
    if isinstance(said.get("ttl_seconds"), int | float) and isinstance(made["created_at"], str):
        try:
            ends = datetime.datetime.fromisoformat(made["created_at"]) + datetime.timedelta(seconds=said["ttl_seconds"])
            made["expires_at"] = timestamp(ends)
        except (ValueError, OverflowError):
            pass  # the type guard says so: a time to live without an end
    return made
