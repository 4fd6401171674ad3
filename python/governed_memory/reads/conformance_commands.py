"""`gmem conformance`: a fixture run through every way to ask."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from governed_memory.reads.conformance import PASS, Report, conformance


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `conformance` to the root parser."""
    parser = commands.add_parser("conformance", help="run a fixture of questions through every access path: right answers, nothing exposed")
    parser.add_argument("fixture", metavar="FIXTURE.json", help="cases with records, a caller, a question and what must come of it")
    parser.add_argument("--path", action="append", default=[], metavar="NAME", help="only this path (sql, cli, mcp, governed_sql, published); may be repeated")
    parser.add_argument("--json", action="store_true", help="the report as one JSON object")
    parser.set_defaults(run=run_conformance)


def run_conformance(arguments: argparse.Namespace) -> int:
    """Exit 0 where every case passes on every covered path and nothing was exposed, else 1."""
    report = conformance(arguments.fixture, arguments.path)
    print(json.dumps(report_data(report), ensure_ascii=False, indent=1) if arguments.json else "\n".join(report_lines(report)))
    return 0 if report.is_met else 1


def report_data(report: Report) -> dict[str, Any]:
    """The report for a program."""
    return {
        "report": "gmem-conformance/1",
        "fixture": report.fixture,
        "covered": list(next(iter(report.results.values()))),
        "not_covered": dict(report.not_covered),
        "results": [
            {
                "case": case,
                "paths": {name: {"status": result.status, "exposed": result.exposed, "problems": list(result.problems)} for name, result in paths.items()},
            }
            for case, paths in report.results.items()
        ],
        "cases": len(report.results),
        "passed": report.passed,
        "exposed": report.exposed,
        "met": report.is_met,
    }


def report_lines(report: Report) -> Iterator[str]:
    """The report for a person: a table, what went wrong, which paths were not covered, and the sum."""
    names = list(next(iter(report.results.values())))
    width = max(map(len, ["case", *report.results]))
    yield "  ".join([f"{'case':<{width}}", *(f"{name:<{max(len(name), 7)}}" for name in names)]).rstrip()
    for case, paths in report.results.items():
        yield "  ".join([f"{case:<{width}}", *(f"{paths[name].status:<{max(len(name), 7)}}" for name in names)]).rstrip()
    for case, paths in report.results.items():
        yield from (f"{case}, {name}: {'; '.join(result.problems)}" for name, result in paths.items() if result.status != PASS)
    yield from (f"not covered: {name} ({why})" for name, why in report.not_covered.items())
    yield f"{report.passed} of {len(report.results)} cases pass, {report.exposed} exposed"
