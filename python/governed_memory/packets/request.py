"""What a packet is asked for, and by whom."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from governed_memory.dates import day, instant
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.configuration import Caller
from governed_memory.log import expect_text
from governed_memory.packets.formats import FORMATS

# Concepts and cells that a question is looked for in. What is not among the best of that many is not in the packet, however big it may be.
MOST = 24


class DoesNotFitError(InputError):
    """What has to be in a packet does not fit, or is not there for the caller."""


@dataclass(frozen=True, slots=True)
class PacketRequest:
    """What a packet is asked for.

    Attributes:
        caller: who asks, as authentication or the host's configuration says (rule G8).
        as_of: yyyy-mm-dd.
        query: words to look for among what the caller may see.
        concepts: asked about by name.
        ids: exactly these records and cells, with what they stand together with.
        pins: records, cells or concepts that have to be in it.
        scope: classes of question; none asks for what applies everywhere (G2).
        known_on: a date (its end) or UTC timestamp: as known then (T6).
        store: one attached store; every one if None.
        session_id: the caller's session, for cells.
        is_global: cells across sessions; the caller needs the right to.
        budget: how many units the text may have; None for no limit.
        form: compact, jsonl or markdown.
        most: how many concepts, and how many cells, a query looks for.
        now: the instant at which cells are judged to have expired; by default what the clock says.
    """

    caller: Caller
    as_of: str
    query: str | None = None
    concepts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    known_on: str | None = None
    store: str | None = None
    session_id: str | None = None
    is_global: bool = False
    budget: int | None = None
    form: str = "compact"
    most: int = MOST
    now: datetime.datetime | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be asked.

        Raises:
            InputError: a date is none, a text cannot be one, nothing is asked for, or a number is too small.
        """
        day("--as-of", self.as_of)
        if self.known_on is not None:
            instant("--known-on", self.known_on)
        for what, text in (("the question", self.query), ("the session", self.session_id)):
            if text is not None:
                expect_text(what, text)
        for what, names in (("a concept", self.concepts), ("an identifier", self.ids), ("a pin", self.pins), ("a class", self.scope)):
            for name in names:
                expect_text(what, name)
        if not (self.query or "").strip() and not (self.concepts or self.ids or self.pins):
            raise InputError("say what the packet is about: words to look for, concepts, or identifiers")
        if self.budget is not None and self.budget < 1:
            raise InputError(f"budget: {self.budget} is no number of units; give 1 or more")
        if not 1 <= self.most <= 10_000:
            raise InputError(f"most: {self.most} is no number from 1 to 10000")
        if self.form not in FORMATS:
            raise InputError(f"form: {self.form!r} is none; {did_you_mean(self.form, FORMATS) or 'there are ' + ', '.join(FORMATS)}")

    @property
    def on_date(self) -> datetime.date:
        """The day it is asked as of."""
        return datetime.date.fromisoformat(self.as_of)

    def as_inputs(self) -> dict[str, Any]:
        """What was asked, as a manifest tells it; what was left out is not told."""
        told = {
            "query": self.query, "concepts": list(self.concepts), "ids": list(self.ids), "pins": list(self.pins), "as_of": self.as_of,
            "scope": list(self.scope), "known_on": self.known_on, "store": self.store, "session": self.session_id,
            "across_sessions": self.is_global, "budget": self.budget, "form": self.form, "most": self.most,
        }  # fmt: skip
        return {name: value for name, value in told.items() if value not in (None, [], False)}
