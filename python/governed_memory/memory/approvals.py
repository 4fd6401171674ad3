"""Learning by approval (rules M7 and M8): what somebody signs of a candidate, put before the guards, and what comes of it, written in one step.

Which frames or traces make a candidate, and what an approval must be, is said by the models of models/memory. Made here is what SQL cannot: the
statement that is signed, and whether its signature is the principal's own.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.host.keys import Keys
from governed_memory.log import canonical_event, timestamp
from governed_memory.memory.kinds import KINDS, SCHEMA, cell_id_of
from governed_memory.memory.proposals import Outcome, Scene, written
from governed_memory.memory.recall import CONSOLIDATION, Sight
from governed_memory.memory.transitions import Told, Transitions, as_mapping, control
from governed_memory.warehouse import fragment, rows

APPROVE, REJECT, REVOKE = "approve", "reject", "revoke"
TRANSITIONS = {APPROVE: "consolidate", REJECT: "reject", REVOKE: "revoke"}
# What a signature is over. Who the principal is and in which role comes from the host file, and not from what is told.
SAID = (
    "verdict", "kind", "cell_id", "candidate_fingerprint", "evidence_fingerprint", "frame_ids", "trace_ids", "party", "policy_version", "reason",
    "approved_at", "valid_from",
)  # fmt: skip
SIGNATURE_CONTEXT = "governed_memory approval 1"


def signed_message(statement: Told, caller: Caller) -> bytes:
    """The bytes that a principal signs: the statement with who says it in which role."""
    return _message(statement, caller.name, caller.role)


def _message(statement: Told, principal: object, role: object) -> bytes:
    said = {name: statement[name] for name in SAID if statement.get(name) is not None} | {"approved_at": written(statement.get("approved_at"))}
    return canonical_event({"context": SIGNATURE_CONTEXT, "principal": principal, "role": role, **said})


def stored_message(event: Told) -> bytes:
    """The bytes that the principal of a stored approval must have signed: in the role that it says they had.

    Raises:
        InputError: it holds what no statement has.
    """
    return _message(event, event.get("principal"), event.get("role"))


def signed(statement: Told, caller: Caller, keys: Keys) -> dict[str, Any]:
    """The statement with the signature of its principal's own key."""
    return {**statement, "signature": keys.sign(signed_message(statement, caller))[1]}


def candidates(transitions: Transitions, sight: Sight) -> list[dict[str, Any]]:
    """The candidates whose evidence may be read from there: each with its kind, and as the model of that kind's candidates has it."""
    return [
        {"kind": kind.name, **found}
        for kind in KINDS.values()
        for found in rows(transitions.projection.connection, f"select * from ({fragment(kind.read)}) order by {kind.order}", asked_across(sight))
    ]


def statement(
    transitions: Transitions, verdict: str, target: str, sight: Sight, *, reason: str, party: str | None = None, valid_from: datetime.date | None = None
) -> dict[str, Any]:
    """What a principal would sign of a candidate, by its fingerprint, or, to revoke, of what was learned, by its cell_id; as memory has it now.

    Raises:
        InputError: the caller speaks for several parties and none was chosen, or for another one than was.
    """
    found = _learned(transitions, target) if verdict == REVOKE else _candidate(transitions, target, sight)
    kind = found["kind"]
    said = {
        "verdict": verdict, "kind": kind, "party": _party(sight.caller, party), "policy_version": _policy_version(transitions, kind, sight),
        "reason": reason, "approved_at": timestamp(sight.now), "valid_from": valid_from.isoformat() if valid_from else None, **found,
    }  # fmt: skip
    if verdict == APPROVE:
        said["cell_id"] = cell_id_of(kind, target)
    return {name: value for name, value in said.items() if value is not None}


def decide(transitions: Transitions, verdict: str, statements: Iterable[Told], sight: Sight, approvers: Keys | None) -> list[Outcome]:
    """Put signed statements of one verdict before the guards, and write what passes with all that comes of it: all in one append.

    Args:
        transitions: what changes memory; caught up with the log.
        verdict: approve, reject or revoke.
        statements: each as `statement` makes and `signed` signs it.
        sight: who says so, as the host file has them; of candidates, those count that may be read from there.
        approvers: the callers' public keys.

    Returns:
        What came of each; the target of an approval is the cell that it makes.
    """
    told = [as_mapping(place, one) for place, one in enumerate(statements, start=1)]
    scene = Scene(TRANSITIONS[verdict], sight.caller.name, sight.session_id, sight.now)
    offer(transitions, sight)
    spoken = [_spoken(one, verdict) for one in told]
    made = [_made(one, of_one.get("signature"), verdict, sight.caller, approvers) for one, of_one in zip(spoken, told, strict=True)]
    proposed = transitions.propose("approvals", spoken, scene, made=made)
    approved = [event["candidate_fingerprint"] for event, _ in proposed.accepted] if verdict == APPROVE else []
    # Who approved stands in `approvals`.
    learning = Scene(TRANSITIONS[APPROVE], CONSOLIDATION, None, sight.now, is_own=True)
    found = {name: _candidates_approved(transitions, kind.offered, approved) for name, kind in KINDS.items()}
    told_cells = [KINDS[name].cell(one) for name, of_kind in found.items() for one in of_kind]
    approvals = [{"approval_id": _approval_id(APPROVE, one)} for of_kind in found.values() for one in of_kind]
    cells = transitions.propose("cells", told_cells, learning, made=approvals)
    links, decisions = _conflicts(transitions, found[SCHEMA], learning)
    if cells.refusals or len(told_cells) != len(approved):
        raise InputError("what was approved is refused, so nothing was written; look at the rows of 'consolidate' in transition_policies")
    transitions.commit({"approvals": proposed.accepted, "refusals": proposed.refusals, "cells": cells.accepted, "links": links, "decisions": decisions}, scene)
    if approved:
        _settle_conflicts(transitions, learning)
    transitions.projection.catch_up()
    offer(transitions, sight)
    return [_outcome(outcome, one, verdict) for outcome, one in zip(transitions.settled("approvals", proposed, scene), told, strict=True)]


def _approval_id(verdict: str, said: Told) -> str:
    return f"{verdict}_{said.get('cell_id') if verdict == REVOKE else said.get('candidate_fingerprint')}"


def _spoken(told: Told, verdict: str) -> dict[str, Any]:
    """A statement as it is told, with what is not for the one who tells left to be refused."""
    spoken = {"role (given)" if name == "role" else name: value for name, value in told.items() if name != "signature"}
    if verdict == APPROVE:
        spoken["cell_id"] = cell_id_of(told.get("kind"), told.get("candidate_fingerprint"))
    return spoken


def _made(told: Told, signature: object, verdict: str, caller: Caller, approvers: Keys | None) -> dict[str, Any]:
    """What is worked out of a statement: its identity, in whose role it is told, and whether they have signed it."""
    name = _approval_id(verdict, told)
    is_told_for = told.get("verdict") == verdict and told.get("party") in caller.parties
    is_signed = is_told_for and isinstance(signature, str) and approvers is not None and approvers.verify(caller.name, signature, signed_message(told, caller))
    made = {"approval_id": name, "fingerprint": name, "is_signed": is_signed}
    if isinstance(signature, str):
        made["signature"] = signature
    return made | ({"role": caller.role} if caller.role else {})


def offer(transitions: Transitions, sight: Sight) -> None:
    """Put the candidates that may be read from there where the guards look."""
    connection = transitions.projection.connection
    for kind in KINDS.values():
        connection.execute(f"create or replace temp table {kind.offered} as {fragment(kind.read)}", asked_across(sight))
    connection.execute("truncate main.int_offered_candidates")
    connection.execute(f"insert into main.int_offered_candidates by name {fragment('offered_candidates')}")


def _candidates_approved(transitions: Transitions, offered: str, fingerprints: Sequence[str]) -> list[dict[str, Any]]:
    if not fingerprints:
        return []
    sql = f"select * from {offered} where candidate_fingerprint in (select unnest($names)) order by candidate_fingerprint"
    return rows(transitions.projection.connection, sql, {"names": list(fingerprints)})


def _conflicts(transitions: Transitions, found: Sequence[Mapping[str, Any]], scene: Scene) -> tuple[list[Any], list[Any]]:
    """Links between opposite schemas that have none yet, these among them, and the decision that each comes from (rules M2 and M7)."""
    given = {
        "cell_ids": [cell_id_of(SCHEMA, one["candidate_fingerprint"]) for one in found],
        "families": [one["family_fingerprint"] for one in found],
        "outcomes": [one["outcome"] for one in found],
        "policies": [one["policy_version"] for one in found],
    }
    pairs = rows(transitions.projection.connection, f"{fragment('opposite_schemas')} order by from_cell_id, to_cell_id", given)
    told = [
        {
            "from_cell_id": pair["from_cell_id"], "to_cell_id": pair["to_cell_id"], "link_type": "conflict",
            "reason": "both were approved, and say another outcome of the same",
        }
        for pair in pairs
    ]  # fmt: skip
    links = transitions.propose("links", told, scene)
    if links.refusals:
        raise InputError("a conflict link is refused, so nothing was written; look at the rows of 'consolidate' in transition_policies")
    decisions = [control(_decision(pair, str(outcome.target_id)), scene) for pair, outcome in zip(pairs, links.outcomes, strict=True)]
    return links.accepted, decisions


def _decision(pair: Mapping[str, Any], link_id: str) -> dict[str, Any]:
    """Which policy says what becomes of two opposite schemas; a decision, and never a fact (rule M2)."""
    return {
        "decision_id": f"decide_{link_id}", "kind": "opposite_outcomes", "policy_version": pair["policy_version"], "outcome": pair["opposites"],
        "subject_ids": [pair["from_cell_id"], pair["to_cell_id"]], "link_id": link_id,
    }  # fmt: skip


def _settle_conflicts(transitions: Transitions, scene: Scene) -> None:
    """Link what somebody else has approved at the same moment: neither of the two could know of the other."""
    transitions.projection.catch_up()
    links, decisions = _conflicts(transitions, [], scene)
    transitions.commit({"links": links, "decisions": decisions}, scene)


def _outcome(outcome: Outcome, told: Told, verdict: str) -> Outcome:
    candidate = told.get("candidate_fingerprint")
    target = {APPROVE: cell_id_of(told.get("kind"), candidate), REJECT: candidate, REVOKE: told.get("cell_id")}[verdict]
    return Outcome(outcome.place, str(target), outcome.outcome, outcome.guard, outcome.code, outcome.requirement)


def _candidate(transitions: Transitions, fingerprint: str, sight: Sight) -> dict[str, Any]:
    """What names a candidate and its evidence; the guards say so where there is none of this fingerprint."""
    for kind in KINDS.values():
        sql = f"select candidate_fingerprint, evidence_fingerprint, {kind.evidence} from ({fragment(kind.read)}) where candidate_fingerprint = $target"
        found = rows(transitions.projection.connection, sql, asked_across(sight) | {"target": fingerprint})
        if found:
            return {"kind": kind.name, **found[0]}
    return _as_approved(transitions, fingerprint) or {"kind": SCHEMA, "candidate_fingerprint": fingerprint}


def _learned(transitions: Transitions, cell_id: str) -> dict[str, Any]:
    """What names something that was learned; the guards say so where the cell is none."""
    for kind in KINDS.values():
        sql = f"select cell_id, candidate_fingerprint from main.{kind.learned} where cell_id = $cell_id"
        found = rows(transitions.projection.connection, sql, {"cell_id": cell_id})
        if found:
            return {"kind": kind.name, **found[0]}
    return {"kind": SCHEMA, "cell_id": cell_id}


def _as_approved(transitions: Transitions, fingerprint: str) -> dict[str, Any] | None:
    """What the approval of a candidate said that is none any more."""
    sql = (
        "select kind, candidate_fingerprint, evidence_fingerprint, nullif(frame_ids, []) as frame_ids, nullif(trace_ids, []) as trace_ids "
        "from main.approvals where candidate_fingerprint = $name and verdict <> 'revoke' order by approval_id limit 1"
    )
    return next(iter(rows(transitions.projection.connection, sql, {"name": fingerprint})), None)


def _party(caller: Caller, party: str | None) -> str | None:
    if party is not None and party not in caller.parties:
        raise InputError(f"{caller.name!r} does not speak for {party!r}; the host file names {', '.join(caller.parties) or 'no party'}")
    if party is None and len(caller.parties) > 1:
        raise InputError(f"{caller.name!r} speaks for {', '.join(caller.parties)}; say for which with --party")
    return party or next(iter(caller.parties), None)


def _policy_version(transitions: Transitions, kind: object, sight: Sight) -> str | None:
    found = rows(transitions.projection.connection, fragment("policies_in_force"), {"clock": sight.clock()})
    return next((str(policy["policy_version"]) for policy in found if policy["kind"] == kind), None)


def asked_across(sight: Sight) -> dict[str, Any]:
    """The parameters of who reads, with the instant; across sessions only for who may, since nobody else knows what another session holds."""
    return sight.asked() | {"clock": sight.clock(), "is_global": sight.is_global and sight.caller.reads_all_sessions}
