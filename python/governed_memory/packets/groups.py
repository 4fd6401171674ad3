"""Groups of facts (rule M9): what an answer rests on, or cells that contradict each other. A group enters a packet whole or not at all."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from governed_memory.dates import date_as_text
from governed_memory.host.canonical import digest

# What a member is to the question.
ANSWER, UNRESOLVED, BESIDE, DISAGREES, EVIDENCE, CONTRARY = "answer", "unresolved", "beside", "stores disagree", "evidence", "contrary evidence"
WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class Member:
    """A record, or a cell.

    Attributes:
        member_id: its identifier.
        value: what it says.
        source: where it comes from.
        since: the first day it holds, or the day it was told; None where nobody said.
        store: of a record.
        concept: of a record.
    """

    member_id: str
    value: str | None
    source: str | None
    since: str | None
    store: str | None = None
    concept: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Facts that are told together.

    Attributes:
        standing: what its members are to the question.
        members: in the order in which they are told.
        reasons: the reason codes of the answer.
        stable_until: the next day on which it may change; None where that is not known or not told.
        withheld_beside: how many records beside them the caller may not see, where each stands for itself (rule G10).
        score: how well it matches; of the best of its members.
        parts: of which the score is made.
    """

    standing: str
    members: tuple[Member, ...]
    reasons: tuple[str, ...] = ()
    stable_until: str | None = None
    withheld_beside: int = 0
    score: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def group_id(self) -> str:
        """Its name in a packet, the same wherever it stands."""
        return digest([self.standing, [[member.store, member.concept, member.member_id] for member in self.members]])[:12]

    @property
    def order(self) -> tuple[Any, ...]:
        """The best-scored first; ties by what the groups are about."""
        first = self.members[0]
        return (-self.score, first.concept is None, first.concept or "", first.store or "", first.member_id)

    @property
    def member_ids(self) -> set[str]:
        """The identifiers of its members."""
        return {member.member_id for member in self.members}

    @property
    def concepts(self) -> set[str]:
        """The concepts of its members."""
        return {member.concept for member in self.members if member.concept is not None}


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Why something is not in a packet; of what is withheld only how much there is.

    Attributes:
        reason: withheld, budget, expired, out_of_scope, superseded, or a reason code of the governed read.
        count: of groups.
        group: the one that was left out, where it may be told.
        concept: the one asked about of which nothing is left.
    """

    reason: str
    count: int = 1
    group: Group | None = None
    concept: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to choose from.

    Attributes:
        groups: the best-scored first.
        exclusions: what is out before anything is chosen.
        stable_until: the next day on which what there is may change; None where that is not known.
        coverage: which stores were searched, and which not.
    """

    groups: tuple[Group, ...]
    exclusions: tuple[Exclusion, ...]
    stable_until: str | None
    coverage: Mapping[str, Any]


def of_answer(answer: Mapping[str, Any], *, is_named: bool) -> tuple[list[Group], list[Exclusion]]:
    """The groups that the answer to one question gives, over one store or several, and what is left out of it.

    Args:
        answer: as `ask` gives it.
        is_named: whether the concept was asked about by name, so that it may be told why nothing of it is left.
    """
    told = answer.get("answers", [answer])
    groups, exclusions = [], []
    for one in told:
        if sides := [one["answer"]] if one["answer"] else one["sides"]:
            standing = ANSWER if one["answer"] else UNRESOLVED if one["outcome"] == "abstained" else BESIDE
            members = tuple(_record(one["store"], answer["concept"], side) for side in sides)
            withheld = one["withheld_records"] if standing == BESIDE else 0
            groups.append(Group(standing, members, tuple(one["reasons"]), one["stable_until"], withheld))
        elif one["outcome"] == "refused" and one["withheld_records"]:
            exclusions.append(Exclusion(WITHHELD))
        elif is_named and (len(told) == 1 or one["reasons"] != ["not_held"]):
            exclusions += [Exclusion(reason, concept=answer["concept"]) for reason in one["reasons"]]
    if is_named and len(told) > 1 and all(one["reasons"] == ["not_held"] for one in told):
        exclusions.append(Exclusion("not_held", concept=answer["concept"]))
    return [_joined(groups)] if answer.get("stores_disagree") else groups, exclusions


def of_cells(members: Sequence[Mapping[str, Any]]) -> Group:
    """The group of a cell, or of cells that contradict each other."""
    cells = tuple(
        Member(cell["cell_id"], cell["summary"] or cell["content"], cell["source"] or ", ".join(cell["source_ids"] or []) or None, _day(cell["recorded_at"]))
        for cell in members
    )
    ends = [cell["expires_at"] for cell in members if cell["expires_at"] is not None]
    return Group(EVIDENCE if len(cells) == 1 else CONTRARY, cells, stable_until=_day(min(ends)) if ends else None)


def earliest(days: Iterable[str | None]) -> str | None:
    """The first of some days; None where one is not known."""
    days = list(days)
    return None if not days or None in days else min(day for day in days if day is not None)


def _joined(groups: Sequence[Group]) -> Group:
    """What stores that disagree say, as one: whoever is told one side is told the others."""
    members = tuple(member for group in groups for member in group.members)
    reasons = tuple(dict.fromkeys(reason for group in groups for reason in group.reasons))
    return Group(DISAGREES, members, reasons, earliest(group.stable_until for group in groups), sum(group.withheld_beside for group in groups))


def _record(store: str, concept: str, side: Mapping[str, Any]) -> Member:
    return Member(side["record_id"], side["value"], side["source"], date_as_text(side["valid_from"]), store, concept)


def _day(instant: datetime.datetime) -> str:
    return instant.date().isoformat()
