"""What a packet is chosen from: governed answers, and cells that the caller may read. What finds, answers and discloses is SQL."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from governed_memory.dates import date_as_text
from governed_memory.memory import MemoryStore, Sight
from governed_memory.memory.terms import index_terms, query_terms
from governed_memory.packets.groups import WITHHELD, Exclusion, Found, Group, of_answer, of_cells
from governed_memory.packets.request import PacketRequest
from governed_memory.reads.ask import Opened, Question, ask_several
from governed_memory.warehouse import fragment, literal, rows

# What searching reads, for a store file.
READS = ("record_terms", "searchable_records")
# A record that answers was decided by rules; it counts as a cell of which somebody is sure (rule M5).
DECIDED = 0.2
# What is asked for by its name comes before all that only has the words.
NAMED = 2.0


@dataclass(frozen=True, slots=True)
class CellsFound:
    """What cells there are to choose from.

    Attributes:
        groups: of readable cells.
        exclusions: what is out before anything is chosen.
        stable_until: the first day on which one of them ends; None where none does.
        generation: how far the log was read.
    """

    groups: tuple[Group, ...]
    exclusions: tuple[Exclusion, ...]
    stable_until: str | None
    generation: Any


def found(request: PacketRequest, opened: Opened) -> Found:
    """The answers to what is asked, by name, by identifier or by words, as groups with their scores."""
    words = query_terms(request.query or "")
    matched, next_start = _matching(request, opened, words) if words else ([], None)
    known = dict.fromkeys((*request.concepts, *matched))
    concepts = list(dict.fromkeys((*known, *_concepts_of(request, opened))))
    answers, in_part = ask_several(opened, concepts, _like(request))
    groups: list[Group] = []
    exclusions: list[Exclusion] = []
    told: list[str] = []
    for answer in answers:
        of_one, left_out = of_answer(answer, is_named=answer["concept"] in request.concepts)
        of_one = of_one if answer["concept"] in known else [group for group in of_one if is_named(group, request)]
        groups += of_one
        # What an identifier leads to and the caller is not told is as if it were not there (rule G7).
        exclusions += left_out if answer["concept"] in known else []
        told += [answer["concept"]] if of_one or answer["concept"] in known else []
    kept = [group for group in _scored(groups, words, request) if group.score]
    days = [one["stable_until"] for answer in answers if answer["concept"] in told for one in answer.get("answers", [answer])]
    days += [date_as_text(next_start)] if next_start else []
    coverage = answers[0]["coverage"] if answers else {"searched": [request.store] if request.store else list(opened.stores), "not_searched": []}
    return Found(tuple(kept), tuple(exclusions), None if in_part.intersection(told) else _first(days), coverage)


def found_by_name(request: PacketRequest, opened: Opened) -> Iterator[tuple[str, Found]]:
    """What there is of each concept that the request names, one after the other: what so many packets of one concept each are made of."""
    answers, in_part = ask_several(opened, request.concepts, _like(request))
    for answer in answers:
        groups, exclusions = of_answer(answer, is_named=True)
        kept = tuple(replace(group, score=NAMED, parts={"named": NAMED}) for group in groups)
        days = [one["stable_until"] for one in answer.get("answers", [answer])]
        yield answer["concept"], Found(kept, tuple(exclusions), None if answer["concept"] in in_part else _first(days), answer["coverage"])


def cells_found(request: PacketRequest, memory: MemoryStore) -> CellsFound:
    """The cells that the words of the request match or that it names, with what each contradicts (rule M9)."""
    sight = Sight(request.caller, request.session_id, request.now or memory.now(), request.is_global, request.on_date)
    found = memory.groups(sight, query=request.query, cell_ids=(*request.ids, *request.pins), most=request.most)
    groups, exclusions = [], []
    for one in found.groups:
        if one["members"] is None:
            exclusions.append(Exclusion(WITHHELD))
            continue
        group = _scored_cells(of_cells(one["members"]), found.scores, request)
        if one["is_live"]:
            groups.append(group)
        else:
            exclusions.append(Exclusion("expired", group=group))
    return CellsFound(tuple(groups), tuple(exclusions), _first(group.stable_until for group in groups), found.generation)


def _scored_cells(group: Group, scores: Mapping[str, Mapping[str, float]], request: PacketRequest) -> Group:
    best = max((scores.get(member.member_id, {}) for member in group.members), key=lambda parts: sum(parts.values()))
    parts = dict(best) | ({"named": NAMED} if is_named(group, request) else {})
    return replace(group, score=sum(parts.values()), parts=parts)


def policies(opened: Opened) -> dict[str, str | None]:
    """The conflict policy of each store that can be asked."""
    told = rows(opened.connection, "select store_id, policy_id from stores order by store_id")
    return {row["store_id"]: row["policy_id"] for row in told if row["store_id"] in opened.stores}


def generation(opened: Opened) -> dict[str, Any]:
    """Which state of the stores an answer is of: the build's instant, or the hash of the file."""
    if opened.file is not None:
        return {"sha256": _hash_of(opened.file, *_signature(opened.file))} if opened.file.is_file() else {}
    return {"built_at": rows(opened.connection, "select built_at from stg_build")[0]["built_at"].isoformat()}


def _signature(file: Path) -> tuple[int, int]:
    return file.stat().st_mtime_ns, file.stat().st_size


@lru_cache(maxsize=8)
def _hash_of(file: Path, _: int, __: int) -> str:
    """Once for each state of a file: a server makes many packets of one."""
    with file.open("rb") as held:
        return hashlib.file_digest(held, "sha256").hexdigest()


def _matching(request: PacketRequest, opened: Opened, words: Sequence[str]) -> tuple[list[str], Any]:
    sql = fragment("matching_concepts", terms=", ".join(map(literal, words)))
    asked = {
        "on_date": request.as_of, "store_id": request.store if opened.is_built else None, "parties": list(request.caller.parties),
        "boundary": request.caller.boundary, "most": request.most,
    }  # fmt: skip
    told = rows(opened.connection, sql, asked)
    return [row["concept_id"] for row in told], told[0]["next_start"] if told else None


def _concepts_of(request: PacketRequest, opened: Opened) -> Iterable[str]:
    """The concepts of records that are named, and pins that may name a concept. Whether any is told is for the answer to say."""
    names = [*request.ids, *request.pins]
    if not names:
        return []
    asked = {"record_ids": names, "store_id": request.store if opened.is_built else None}
    told = rows(opened.connection, f"{fragment('concepts_of_records')} order by concept_id", asked)
    return [*(row["concept_id"] for row in told), *request.pins]


def is_named(group: Group, request: PacketRequest) -> bool:
    """Whether the request names the group by its concept, or by a member that the caller is told."""
    return bool(group.concepts.intersection((*request.concepts, *request.pins)) or group.member_ids.intersection((*request.ids, *request.pins)))


def _like(request: PacketRequest) -> Question:
    """The question that is asked about each concept."""
    return Question("", request.as_of, request.caller, request.scope, request.known_on, request.store)


def _first(days: Iterable[str | None]) -> str | None:
    return min((day for day in days if day is not None), default=None)


def _scored(groups: Sequence[Group], words: Sequence[str], request: PacketRequest) -> list[Group]:
    """The groups with how many of the words the best of their members has: of what is told, and of nothing else."""
    asked = set(words)
    best = [
        max(len(asked.intersection(index_terms(f"{member.concept or ''} {member.value or ''}"))) for member in group.members) if asked else 0
        for group in groups
    ]
    return [_with_score(group, matched, len(words), is_named(group, request)) for group, matched in zip(groups, best, strict=True)]


def _with_score(group: Group, matched: int, count: int, is_asked_for: bool) -> Group:
    parts = {"named": NAMED} if is_asked_for else {}
    parts |= {"term_share": matched / count, "decided_part": DECIDED / count} if matched else {}
    return replace(group, score=sum(parts.values()), parts=parts)
