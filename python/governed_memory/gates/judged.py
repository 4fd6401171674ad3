"""The gates and their claims, by the compiled models alone: no rule of a gate is here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from governed_memory import warehouse
from governed_memory.gates.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class Judged:
    """Rows of the models `gates` and `gate_claims`."""

    gates: list[dict[str, Any]]
    claims: list[dict[str, Any]]

    @property
    def is_met(self) -> bool:
        """Whether every gate is true; without a gate nothing is."""
        return bool(self.gates) and all(gate["is_true"] for gate in self.gates)


def judge(outcomes: Iterable[Outcome]) -> Judged:
    """Every gate, from what became of these tests."""
    given = warehouse.rows_as_sql("stg_test_outcomes", [asdict(outcome) for outcome in sorted(set(outcomes))])
    with warehouse.open_memory() as connection:
        warehouse.build(connection, {"gates", "gate_claims"}, given={"stg_test_outcomes": given})
        gates = warehouse.rows(connection, "select * from gates order by position")
        claims = warehouse.rows(connection, "select * from gate_claims order by gate_id, subject, tests")
    return Judged(gates, claims)
