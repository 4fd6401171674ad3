"""`gmem gates`: which stages of memory hold, from tests that ran."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from governed_memory.errors import one_line
from governed_memory.gates.judged import Judged, judge
from governed_memory.gates.outcomes import read_junit, read_run_results, write_outcomes

JUNIT, RUN_RESULTS = "target/pytest.xml", "target/run_results.json"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `gates` to the root parser."""
    parser = commands.add_parser("gates", help="which stages of memory hold, from reports of tests that ran")
    parser.add_argument("--junit", action="append", metavar="FILE", help=f"what `pytest --junitxml=FILE` wrote; may be repeated (default: {JUNIT})")
    parser.add_argument("--dbt", action="append", metavar="FILE", help=f"what `dbt build` wrote; may be repeated (default: {RUN_RESULTS})")
    parser.add_argument("--out", metavar="FILE", help="also write what became of each test, for `vars: gates: {outcomes: FILE}`")
    parser.add_argument("--json", action="store_true", help="the gates and every claim as one JSON object")
    parser.set_defaults(run=run_gates)


def run_gates(arguments: argparse.Namespace) -> int:
    """Print each gate; exit 0 where all are true, else 1."""
    outcomes = [outcome for file in arguments.junit or [JUNIT] for outcome in read_junit(Path(file))]
    outcomes += [outcome for file in arguments.dbt or [RUN_RESULTS] for outcome in read_run_results(Path(file))]
    if arguments.out:
        write_outcomes(Path(arguments.out), outcomes)
    judged = judge(outcomes)
    if arguments.json:
        print(json.dumps({"report": "gmem-gates/1", "met": judged.is_met, "gates": judged.gates, "claims": judged.claims}, ensure_ascii=False, indent=1))
    else:
        print("\n".join(one_line(line) for line in as_text(judged)))
    return 0 if judged.is_met else 1


def as_text(judged: Judged) -> Iterator[str]:
    """A line for each gate, why those are false that are, and the sum."""
    yield f"{'gate':<16} {'':<6} {'passed':>6} {'failed':>6} {'skipped':>7} {'rules':>7} {'artefacts':>9}"
    for gate in judged.gates:
        yield _line(gate)
    said: set[str] = set()
    for gate in judged.gates:
        # A gate over others repeats what these have said.
        yield from (f"{gate['gate_id']}: {problem}" for problem in gate["problems"] if problem not in said)
        said.update(gate["problems"])
    yield f"{sum(gate['is_true'] for gate in judged.gates)} of {len(judged.gates)} gates are true"


def _line(gate: dict[str, Any]) -> str:
    rules, artefacts = f"{gate['rules_covered']}/{gate['rules_total']}", f"{gate['artefacts_there']}/{gate['artefacts_total']}"
    verdict = "true" if gate["is_true"] else "FALSE"
    return f"{gate['gate_id']:<16} {verdict:<6} {gate['tests_passed']:>6} {gate['tests_failed']:>6} {gate['tests_skipped']:>7} {rules:>7} {artefacts:>9}"
