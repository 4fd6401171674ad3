"""The commands of this room: check."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from governed_memory.overlay.check import check
from governed_memory.warehouse.store_file import StoreFile, parse_mapping

SHOWN = 6


def register(commands: argparse._SubParsersAction) -> None:
    """Add this room's commands to the root parser."""
    parser = commands.add_parser("check", help="the level a store file reaches, and every record that fails a rule")
    parser.add_argument("store", help="a JSON Lines, JSON array, CSV or Parquet file, or FILE.duckdb::TABLE")
    parser.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="your columns or keys where they differ from the roles")
    parser.add_argument("--policy", action="store_true", help="the conflict policy is stated beside the records")
    parser.add_argument("--min-level", type=int, choices=(0, 1, 2, 3), default=1, help="the level to reach (default 1)")
    parser.add_argument("--presence-only", action="store_true", help="check presence only, as the published checker does")
    parser.add_argument("--json", action="store_true", help="the whole report as JSON")
    parser.add_argument("--quiet", action="store_true", help="only the level")
    parser.set_defaults(run=run_check)


def run_check(arguments: argparse.Namespace) -> int:
    """Exit 0 when the level is reached, 1 when not."""
    store = StoreFile(arguments.store, parse_mapping(arguments.map), "stated beside the records" if arguments.policy else None)
    report = check(store, min_level=arguments.min_level, presence_only=arguments.presence_only, shown=None if arguments.json else SHOWN)
    for notice in report["notices"]:
        print(f"gmem check: notice: {notice}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        print("\n".join(_lines(report, quiet=arguments.quiet)))
    return 0 if report["reached"] else 1


def _lines(report: dict[str, Any], *, quiet: bool) -> list[str]:
    if not report["records"]:
        return [f"{report['store']}: no records; nothing to check"]
    verdict = "reached" if report["reached"] else "NOT reached"
    lines = [f"{report['store']}: {report['records']} records, presence level {report['level']} of 3"]
    if report["level_with_values"] is not None:
        lines.append(f"level with value rules: {report['level_with_values']}")
    lines.append(f"asked level {report['min_level']}: {verdict}")
    if quiet:
        return lines
    for title, findings in (("presence", report["findings"]), ("values", report["value_findings"])):
        if findings:
            lines += ["", f"{title}:"]
            lines += [_finding(finding) for finding in findings]
    return lines


def _finding(finding: dict[str, Any]) -> str:
    requirement = finding["requirement"] if "rule" not in finding else f"level {finding['level']} {finding['requirement']} {finding['rule']}"
    more = finding["count"] - len(finding["offenders"])
    named = ", ".join(finding["offenders"]) + (f" and {more} more" if more > 0 else "")
    fix = f"\n      {finding['summary']}. {finding['fix']}." if "fix" in finding else ""
    return f"  {finding['field']:<20} {requirement:<40} {finding['count']:>9}  {named}{fix}"
