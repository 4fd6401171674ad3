"""What an agent may propose and never decide: that a record be replaced, or a candidate be approved (rules M4, M7). A proposal is the caller's own, as
what they remember is; it can name nothing that they may not read, and is released no wider than what it would replace (G7, M14)."""

from __future__ import annotations

from typing import Any

from governed_memory import warehouse
from governed_memory.dates import day
from governed_memory.errors import shown
from governed_memory.log import utc_now
from governed_memory.memory import Sight
from governed_memory.memory.kinds import SCHEMA, SKILL
from governed_memory.reads.released import visible_beside
from governed_memory.service.memory_tools import FLAG, FROM_WHERE, SESSION, expect_json, held_memory, plain, said, session_of
from governed_memory.service.refusals import GuardRefusal, ToolError, of_arguments
from governed_memory.service.tool import CONCEPT, DAY, STORE, TEXT, TEXTS, Call, Tool

# Of a candidate of either kind, and of each.
CANDIDATE = ("kind", "candidate_fingerprint", "state", "evidence_count", "min_evidence", "source_ids", "confidence", "proposers", "proposed_by")
OF_KIND = {
    SCHEMA: ("concept", "scene", "entities", "goal", "action", "outcome", "frame_ids", "opposing_frame_ids"),
    SKILL: (
        "skill", "tools", "success_count", "failure_count", "success_rate", "rate_low", "rate_high", "success_conditions", "failure_conditions", "limits",
        "trace_ids", "counter_example_ids",
    ),
}  # fmt: skip
OF_A_RECORD = ("concept", "value", "valid_from", "supersedes")
# The records to be replaced, by their places in the store, and for whom a proposal is that may quote any of them. That a read asks for (G5), and no
# list that a restricted one has not (M14).
BOUNDS = """
    with named as (
        select record_id, concept_id, classification, release_to, is_restricted
        from records
        where store_id = $store and record_index in (select unnest($places))
    ),
    lists as (
        select release_to, classification from named where is_restricted
        union all
        select $release_to, $classification where len($release_to) > 0
    ),
    common as (select coalesce(list_sort(list_reduce(list(release_to), lambda one, other: list_intersect(one, other))), []) as release_to from lists)
    select
        (select list(record_id) from named where concept_id = $concept) as found,
        (select release_to from common) as release_to,
        coalesce(
            $classification, (select max(nullif(trim(classification), '')) from lists),
            case when (select count(*) from lists) > 0 and len((select release_to from common)) = 0 then 'restricted' end
        ) as classification"""


def _candidates(call: Call) -> dict[str, Any]:
    sight = Sight(call.caller, session_of(call), utc_now(), call.given.get("across_sessions", False))
    with held_memory(call) as memory:
        found = [one for one in memory.candidates(sight) if call.given.get("include_settled", False) or one["state"] == "open"]
    return {"session": sight.session_id, "candidates": [_told(one) for one in found]}


def _told(candidate: dict[str, Any]) -> dict[str, Any]:
    return {name: plain(candidate[name]) for name in CANDIDATE + OF_KIND[candidate["kind"]]}


def _propose(call: Call) -> dict[str, Any]:
    told = {name: value for name, value in call.given.items() if name not in ("session", "store")}
    expect_json(told)
    session = session_of(call)
    if session is None:
        raise ToolError("invalid_argument", "session: name one; this connection has none of its own")
    of_record = [name for name in OF_A_RECORD if name in told]
    if "candidate_fingerprint" in told:
        if of_record:
            raise ToolError("invalid_argument", f"{of_record[0]}: a consolidation says nothing of a record; propose the two apart")
        told["kind"] = "consolidation"
    else:
        told |= _change(call)
    with held_memory(call) as memory:
        [outcome] = memory.propose([told], Sight(call.caller, session, utc_now()))
    if outcome.code is not None:
        raise GuardRefusal(str(outcome.guard), outcome.code, str(outcome.requirement))
    return {"proposal_id": outcome.target_id, "outcome": outcome.outcome, "kind": told["kind"], "session": session, "proposed_by": call.caller.name}


def _change(call: Call) -> dict[str, Any]:
    """What a proposal to replace records says, held against those that the caller may see.

    Raises:
        ToolError: it lacks something, or names what is no such record to them.
    """
    for name in OF_A_RECORD:
        if not call.given.get(name):
            raise ToolError("invalid_argument", f"{name}: say it to propose a change of a record, or candidate_fingerprint to propose an approval")
    store, names = call.store(), list(dict.fromkeys(call.given["supersedes"]))
    if store is None:
        raise ToolError("invalid_argument", f"store: say in which store; served are {', '.join(call.opened.stores)}")
    with of_arguments():
        starts = day("valid_from", call.given["valid_from"])
    places = list(visible_beside(call.opened, call.caller, store, call.given["concept"], names))
    asked = {"concept": call.given["concept"], "release_to": call.given.get("release_to", []), "classification": call.given.get("classification")}
    visible = warehouse.rows(
        call.opened.connection, "select record_index from records where store_id = $store and record_index in (select unnest($places)) "
        "and record_id in (select unnest($names))", {"store": store, "places": places, "names": names},
    )  # fmt: skip
    [bounds] = warehouse.rows(call.opened.connection, BOUNDS, {**asked, "store": store, "places": [row["record_index"] for row in visible]})
    for name in names:
        if name not in (bounds["found"] or []):
            raise ToolError("not_found", f"supersedes: {shown(name)} is no record of this concept that you may see")
    told = {"kind": "record", "store_id": store, "valid_from": starts, "supersedes": names}
    # An empty list in the place of the one that was given: for nobody in common.
    return told | {name: bounds[name] or None for name in ("release_to", "classification")}


PROPOSAL_TOOLS = {
    "candidates": Tool(
        "What could be learned and awaits the approval of a person: schemas from enough replayed frames that say the same, and skills from execution traces "
        "that surely work often enough, each with what speaks against it. "
        "Only those whose evidence you may read. No candidate is knowledge.",
        _candidates,
        {**{name: FROM_WHERE[name] for name in ("across_sessions", "session")}, "include_settled": said("also approved, rejected and revoked ones", FLAG)},
        needs_stores=False,
    ),
    "propose": Tool(
        "Proposes something for persons to decide: that records be replaced (concept, value, valid_from, supersedes), or that a candidate be approved "
        "(candidate_fingerprint). Nothing changes by it; you cannot decide on it, and whoever you speak for may not approve what you propose.",
        _propose,
        {
            "reason": said("why"), "candidate_fingerprint": said("the candidate to approve, from candidates"),
            "concept": CONCEPT, "value": said("what the new record would say"), "valid_from": {**DAY, "description": "its first day, yyyy-mm-dd"},
            "supersedes": said("the records that it would replace, by record_id", TEXTS), "store": {**STORE, "description": "the store of these records"},
            "classification": TEXT, "release_to": said("the parties that may read the proposal besides you", TEXTS), "session": SESSION,
        },
        ("reason",), is_read_only=False,
    ),
}  # fmt: skip
