"""Outcomes and reason codes in words. Which of them an answer carries is decided by the rules' SQL."""

from __future__ import annotations

from typing import Any

OUTCOMES = {
    "answered": "There is an answer.",
    "abstained": "The records disagree and no rule decides between them; all of them are shown.",
    "refused": "Something is held on this that is not for this caller or cannot be decided. Nothing else stands in for it.",
    "empty": "No record answers this question.",
}
REASONS = {
    "expired": "A record of the concept does not cover the date.",
    "validity_unknown": "A record does not say since when or until when it holds.",
    "out_of_scope": "A record of the concept does not apply to this class of question.",
    "scope_required": "A record applies only to some classes of question, and none was named.",
    "superseded": "A record was replaced by a later one.",
    "unauthorized_supersession": "Somebody other than the owner claimed to replace a record; that has no effect.",
    "supersession_cycle": "Records claim to replace each other in a circle; none of that has an effect.",
    "cycle_undecided": "A chain of supersessions is too long to be followed; it has no effect.",
    "unauthorized_precedence": "A record by somebody other than the owner claims to go first; that has no effect.",
    "writer_not_attested": "Who wrote a record is only claimed, and authority rests on the claim.",
    "no_authoritative_record": "No record left was written by the owner of the concept.",
    "conflict_unresolved": "Records of equal rank say different things.",
    "not_held": "The store holds no record of the concept.",
    "not_released": "What decides is released to others.",
    "restricted_without_release": "What decides is restricted and released to nobody.",
    "duplicate_record_id": "Several records of the concept share an identifier, and nothing says which is meant.",
    "integrity_failed": "A record of the concept is not what its attestation says.",
}


def in_words(answer: dict[str, Any]) -> list[str]:
    """The outcome of one store's answer and its reasons, each a sentence."""
    said = [OUTCOMES[answer["outcome"]], *(REASONS.get(code, f"{code}.") for code in answer["reasons"])]
    if answer["withheld_records"]:
        said.append(f"Records that bear on it and are withheld: {answer['withheld_records']}.")
    if answer["stable_until"]:
        said.append(f"It holds until {answer['stable_until']}, when it may change.")
    return said
