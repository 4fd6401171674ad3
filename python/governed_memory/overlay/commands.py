"""The commands of this room: check, baseline, compact, expand and profile; those that change a store and that convert one stand beside it."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, message, one_line
from governed_memory.file_options import add_reading, reading
from governed_memory.overlay import baseline as baselines
from governed_memory.overlay import change_commands, convert_commands, reports, steward_commands, worklist_commands
from governed_memory.overlay.check import check
from governed_memory.overlay.compact import compact, expand
from governed_memory.overlay.forms.as_file import add_form, of_form, refuse_form
from governed_memory.overlay.profile import mappings_csv, profile_yaml
from governed_memory.warehouse import StoreFile, attached_records, named_store, open_built, open_memory, raw_records, rows
from governed_memory.warehouse.json_text import dumps
from governed_memory.warehouse.store_file import looks_like_a_file, parse_mapping

SHOWN = 6


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this room's commands to the root parser."""
    parser = commands.add_parser("check", help="the level a store file reaches, and every record that fails a rule")
    parser.add_argument("store", nargs="+", help="a JSON Lines, JSON array, CSV or Parquet file, or FILE.duckdb::TABLE; of several the worst decides")
    parser.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="your columns or keys where they differ from the roles")
    parser.add_argument("--policy", action="store_true", help="the conflict policy is stated beside the records")
    parser.add_argument("--min-level", type=int, choices=(0, 1, 2, 3), default=1, help="the level to reach (default 1)")
    parser.add_argument("--presence-only", action="store_true", help="check presence only, as the published checker does")
    add_reading(parser)
    add_form(parser)
    parser.add_argument("--baseline", metavar="FILE", help="findings accepted when the store was adopted: only new ones count")
    parser.add_argument("--store-id", metavar="NAME", help="what the store is called in the baseline (default: the file's name without its ending)")
    parser.add_argument("--format", choices=("text", "json", "junit", "sarif"), default="text", help="junit and sarif are for CI systems")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the whole report as JSON, as --format json")
    parser.add_argument("--quiet", action="store_true", help="only the level")
    parser.set_defaults(run=run_check)
    parser = commands.add_parser("baseline", help="accept the findings that a store has today, so that only new ones fail")
    parser.add_argument("store", metavar="NAME_OR_FILE", help="an attached store, as the last build found it, or a store file")
    parser.add_argument("-o", "--output", metavar="FILE", help="the baseline, a CSV file that dbt can read as a seed (default: print it)")
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--prune", action="store_true", help="take out of FILE what is no longer found; nothing is added")
    change.add_argument("--accept-new", action="store_true", help="take out of FILE what is no longer found and accept what is new")
    parser.add_argument("--map", default="", metavar="ROLE=COLUMN,...", help="for a file: your columns where they differ from the roles")
    parser.add_argument("--policy", action="store_true", help="for a file: the conflict policy is stated beside the records")
    add_reading(parser)
    add_form(parser)
    parser.add_argument("--store-id", metavar="NAME", help="for a file: what the store is called (default: the file's name without its ending)")
    parser.add_argument("--database", metavar="FILE", help="for a name: the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    parser.set_defaults(run=run_baseline)
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
    convert_commands.register(commands)
    worklist_commands.register(commands)
    steward_commands.register(commands)


def run_check(arguments: argparse.Namespace) -> int:
    """Exit 0 when every store reaches the level, 1 when one does not, 2 when one cannot be read."""
    if arguments.store_id and len(arguments.store) > 1:
        raise InputError(f"--store-id: {arguments.store_id!r} names one store, and {len(arguments.store)} are given; check that one by itself")
    baseline = baselines.read_baseline(arguments.baseline) if arguments.baseline else None
    outcomes = [_outcome(arguments, path, baseline) for path in arguments.store]
    readable = [outcome for outcome in outcomes if "error" not in outcome]
    if arguments.format == "json" and readable:
        print(json.dumps(readable if len(outcomes) > 1 else readable[0], ensure_ascii=False, indent=1))
    elif arguments.format == "text":
        print("\n\n".join("\n".join(_lines(report, quiet=arguments.quiet)) for report in readable), end="\n" if readable else "")
    elif arguments.format in LISTED:
        print(reports.junit(outcomes) if arguments.format == "junit" else reports.sarif(outcomes, has_lines=arguments.form is None))
    return 2 if len(readable) < len(outcomes) else int(not all(report["reached"] for report in readable))


# Findings of a rule that a report for machines lists.
LISTED = {"junit": reports.JUNIT_LISTED, "sarif": reports.SARIF_LISTED}


def _outcome(arguments: argparse.Namespace, path: str, baseline: baselines.Baseline | None) -> dict[str, Any]:
    """The report on one store, or {store, error}; what is not for the report goes to standard error at once."""
    listed = LISTED.get(arguments.format)
    shown = None if arguments.format == "json" else SHOWN
    try:
        with ExitStack() as read:
            store = of_form(_store_file(arguments, path), arguments, read.callback)
            report = check(store, min_level=arguments.min_level, presence_only=arguments.presence_only, shown=shown, baseline=baseline, listed=listed)
    except InputError as error:
        print(f"gmem check: {message(str(error))}", file=sys.stderr)
        return {"store": path, "error": str(error)}
    report["store"] = path
    for notice in report["notices"]:
        print(f"gmem check: notice: {notice}", file=sys.stderr)
    return report


def _store_file(arguments: argparse.Namespace, path: str) -> StoreFile:
    return StoreFile(
        path, parse_mapping(arguments.map), "stated beside the records" if arguments.policy else None, name=arguments.store_id, **reading(arguments)
    )


def run_baseline(arguments: argparse.Namespace) -> int:
    """Write a baseline, or lower one that is there; only --accept-new adds to it."""
    file = Path(arguments.output) if arguments.output else None
    changes = arguments.prune or arguments.accept_new
    if changes and not file:
        raise InputError("-o: name the baseline that is to be changed")
    if file and file.exists() and not changes:
        raise InputError(f"{file}: exists; --prune takes out what is no longer found, --accept-new also accepts what is new")
    before = baselines.read_baseline(str(file)) if changes else None
    if looks_like_a_file(arguments.store):
        with ExitStack() as read:
            store = of_form(_store_file(arguments, arguments.store), arguments, read.callback)
            connection, notices = baselines.judge_file(store, before)
    else:
        refuse_form(arguments)
        connection, notices = baselines.judge_built(arguments.store, before, arguments.database), []
    for notice in notices:
        print(f"gmem baseline: notice: {notice}", file=sys.stderr)
    text = baselines.as_csv(baselines.entries(connection, accept_new=not arguments.prune))
    if file is None:
        print(text, end="")
        return 0
    baselines.write(file, text)
    [counts] = rows(connection, baselines.COUNTS)
    new = f"{counts['new']} new {'left out' if arguments.prune else 'accepted'}"
    print(f"{file}: {counts['kept'] + (0 if arguments.prune else counts['new'])} findings accepted; {new}, {counts['gone']} gone")
    return 0


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
    for line in list(map(_json_line, expand(_compact_lines(arguments.lines)))):
        print(line)
    return 0


def _json_line(record: dict[str, Any]) -> str:
    try:
        return dumps(record)
    except ValueError as error:
        raise InputError(f"record {record.get('record_id')!r}: {error}") from error


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
    beside = report.get("baseline")
    if beside:
        lines.append(f"level apart from the baseline: {beside['level']}")
    elif report["level_with_values"] is not None:
        lines.append(f"level with value rules: {report['level_with_values']}")
    lines.append(f"asked level {report['min_level']}: {verdict}")
    if beside:
        lines.append(f"{beside['file']}: {beside['known']} findings accepted, {beside['new']} new, {beside['gone']} gone")
    if quiet:
        return lines
    if beside:
        return lines + _beside(beside["rules"])
    for title, findings in (("presence", report["findings"]), ("values", report["value_findings"])):
        if findings:
            lines += ["", f"{title}:"]
            lines += [_finding(finding) for finding in findings]
    return lines


def _beside(rules: list[dict[str, Any]]) -> list[str]:
    """What is new, as without a baseline; of the rest the counts."""
    new = [_finding(rule | {"count": rule["new"]}) for rule in rules if rule["new"]]
    known = [f"  {rule['rule']:<61} {rule['known']:>9}" + (f"  {rule['gone']} gone" if rule["gone"] else "") for rule in rules if rule["known"] or rule["gone"]]
    return [*(["", "new:", *new] if new else []), *(["", "in the baseline:", *known] if known else [])]


def _finding(finding: dict[str, Any]) -> str:
    requirement = finding["requirement"] if "rule" not in finding else f"level {finding['level']} {finding['requirement']} {finding['rule']}"
    more = finding["count"] - len(finding["offenders"])
    named = one_line(", ".join(finding["offenders"])) + (f" and {more} more" if more > 0 else "")
    fix = f"\n      {finding['summary']}. {finding['fix']}." if "fix" in finding else ""
    return f"  {finding['field']:<20} {requirement:<40} {finding['count']:>9}  {named}{fix}"
