"""One suite per level, generated from the seed of rules: of each rule it is expected that no finding of it counts (rule L4)."""

from __future__ import annotations

from great_expectations.core import ExpectationSuite
from great_expectations.expectations.core.unexpected_rows_expectation import UnexpectedRowsExpectation
from great_expectations.expectations.metadata_types import FailureSeverity

from governed_memory import warehouse

LEVELS = (1, 2, 3)
# A MUST takes a level away, a SHOULD does not.
SEVERITIES = {"MUST": FailureSeverity.CRITICAL, "SHOULD": FailureSeverity.WARNING}
# What a failing row says: which record of which store fails which rule in which field, and nothing that a record holds (C23).
COLUMNS = "store_id, record_id, field, rule_id"


def suite(level: int) -> ExpectationSuite:
    """The rules of one level. A store has a level when no critical expectation of its suite, or of one below, fails."""
    rules = [rule for rule in warehouse.seed("rules") if rule["level"] == str(level)]
    return ExpectationSuite(name=f"level_{level}", expectations=[_expectation(rule) for rule in rules])


def _expectation(rule: dict[str, str]) -> UnexpectedRowsExpectation:
    return UnexpectedRowsExpectation(
        unexpected_rows_query=f"select {COLUMNS} from {{batch}} where rule_id = '{rule['rule_id']}' order by record_id, field",
        description=f"{rule['rule_id']}, {rule['requirement']}: {rule['summary']}",
        severity=SEVERITIES[rule["requirement"]],
        notes=rule["fix"],
        meta={"rule_id": rule["rule_id"], "requirement": rule["requirement"]},
    )
