"""The commands of this room: check, compact, expand and profile."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.overlay import change_commands
from governed_memory.overlay.check import check
from governed_memory.overlay.compact import compact, expand
from governed_memory.overlay.profile import mappings_csv, profile_yaml
from governed_memory.warehouse import StoreFile, attached_records, named_store, open_built, open_memory, raw_records
from governed_memory.warehouse.store_file import parse_mapping

SHOWN = 6


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    parser = commands.add_parser("compact", help="a store as compact lines, one record a line")
    parser.add_argument(
        "store",
        help="a JSON Lines, JSON array, CSV or Parquet file, or FILE.duckdb::TABLE, or the name of an attached store. Of an attached store the built "
        "tables are read: they hold the roles of the project and no other key, and dates as the first and last day",
    )
    parser.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="for a file: your columns or keys where they differ from the roles")
    parser.add_argument("--full", action="store_true", help="every field that is read, so that expand gives back each record of a file")
    parser.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    parser.set_defaults(run=run_compact)
    parser = commands.add_parser("expand", help="compact lines as JSON Lines")
    parser.add_argument("lines", help="a file of compact lines, or - for standard input")
    parser.set_defaults(run=run_expand)
    parser = commands.add_parser("profile", help="the governance profile: its fields, levels, mappings and published results")
    parser.add_argument("--format", choices=("yaml", "csv"), default="yaml", help="yaml: the whole profile; csv: the mapping table")
    parser.set_defaults(run=run_profile)
    change_commands.register(commands)


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


def run_compact(arguments: argparse.Namespace) -> int:
    """Print compact lines (F2)."""
    store = named_store(arguments.store, arguments.map)
    if isinstance(store, StoreFile):
        records, mapping = raw_records(open_memory(), store), store.mapping
    else:
        records, mapping = attached_records(open_built(arguments.database, store_id=store), store), {}
    # The store is read to its end before the first line is written: a bad line 900,000 leaves nothing half done.
    for line in list(compact(records, full=arguments.full, mapping=mapping)):
        print(line)
    return 0


def run_expand(arguments: argparse.Namespace) -> int:
    """Print the records of compact lines as JSON Lines (F2)."""
    for record in list(expand(_compact_lines(arguments.lines))):
        print(json.dumps(record, ensure_ascii=False))
    return 0


def run_profile(arguments: argparse.Namespace) -> int:
    """Print profile.yaml or mappings.csv."""
    print(profile_yaml() if arguments.format == "yaml" else mappings_csv(), end="")
    return 0


def _compact_lines(name: str) -> list[str]:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
    # Only a line feed ends a record: other separators may stand in a text.
    return text.removesuffix("\n").split("\n")


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
