"""What can be learned (rules M7 and M8): of each kind, where its candidates are read, what it is learned from, and the cell that a candidate becomes.

Which evidence makes a candidate is said by the models `schema_candidates` and `skill_candidates`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SCHEMA, SKILL = "schema", "skill"
Candidate = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of what can be learned.

    Attributes:
        name: as `consolidation_policies` has it.
        read: the fragment that reads its candidates.
        order: by which they are listed.
        offered: the table of those that the guards ask about, while a verdict is judged.
        evidence: the field by which an approval names what it was learned from.
        learned: the table of what was.
        cell_of: the cell's own fields of a candidate; the same whoever approves it and when.
    """

    name: str
    read: str
    order: str
    offered: str
    evidence: str
    learned: str
    cell_of: Callable[[Candidate], dict[str, Any]]

    def cell(self, candidate: Candidate) -> dict[str, Any]:
        """The cell that a candidate becomes, within the bounds of its evidence (rule M14)."""
        told = {
            "cell_id": cell_id_of(self.name, candidate["candidate_fingerprint"]),
            "source_ids": candidate["source_ids"] or None,
            "confidence": candidate["confidence"],
            "classification": candidate["classification"],
            "release_to": candidate["release_to"] or None,
            **self.cell_of(candidate),
        }
        return {name: value for name, value in told.items() if value is not None}


def cell_id_of(kind: object, candidate_fingerprint: object) -> str:
    """The cell that a candidate becomes."""
    return f"{kind}_{candidate_fingerprint}"


def _of_frames(candidate: Candidate) -> dict[str, Any]:
    entities = f" ({', '.join(candidate['entities'])})" if candidate["entities"] else ""
    return {
        "system": "semantic",
        "content": f"{candidate['scene']}{entities}. To {candidate['goal']}: {candidate['action']}. Outcome: {candidate['outcome']}",
        "metadata": {
            "kind": SCHEMA,
            "signature": _named(candidate, "scene", "entities", "goal", "action", "outcome"),
            **_named(candidate, "concept", "candidate_fingerprint", "signature_fingerprint", "family_fingerprint", "frame_ids"),
        },
    }


def _of_traces(candidate: Candidate) -> dict[str, Any]:
    """A skill says with what it does and where it does not, so that no reader takes a rate for a promise (rule M8)."""
    likely = f"between {candidate['rate_low']:.0%} and {candidate['rate_high']:.0%}"
    told = [
        f"{candidate['skill']}: {' > '.join(candidate['tools'])}",
        *([f"Where it worked: {', '.join(candidate['success_conditions'])}"] if candidate["success_conditions"] else []),
        f"It worked in {candidate['success_count']} of {candidate['evidence_count']} runs ({likely})",
        *([f"Only where it failed: {', '.join(candidate['failure_conditions'])}"] if candidate["failure_conditions"] else []),
        *([f"It failed because: {'; '.join(candidate['limits'])}"] if candidate["limits"] else []),
    ]
    return {
        "system": "procedural",
        "content": ". ".join(told),
        "summary": f"{candidate['skill']}, {candidate['success_count']} of {candidate['evidence_count']} runs: {' > '.join(candidate['tools'])}",
        "source": f"{candidate['evidence_count']} execution traces",
        "metadata": {
            "kind": SKILL,
            **_named(candidate, "skill", "tools", "success_conditions", "failure_conditions", "limits", "trace_ids", "counter_example_ids"),
            **_named(candidate, "success_count", "failure_count", "success_rate", "rate_low", "rate_high"),
            **_named(candidate, "candidate_fingerprint", "signature_fingerprint"),
        },
    }


def _named(candidate: Candidate, *names: str) -> dict[str, Any]:
    return {name: candidate[name] for name in names}


KINDS = {
    kind.name: kind
    for kind in (
        Kind(SCHEMA, "candidates_read", "concept, outcome, candidate_fingerprint", "readable_candidates", "frame_ids", "learned_schemas", _of_frames),
        Kind(SKILL, "skill_candidates_read", "skill, tools, candidate_fingerprint", "readable_skill_candidates", "trace_ids", "learned_skills", _of_traces),
    )
}
