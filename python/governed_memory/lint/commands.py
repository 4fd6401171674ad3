"""`gmem lint-disclosure`: which restricted columns reach an exposure or a public model of a dbt project without a governed read."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from governed_memory.errors import one_line
from governed_memory.lint.disclosure import Finding, Report, lint
from governed_memory.lint.flows import Leaf
from governed_memory.lint.manifest import read_project


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `lint-disclosure` to the root parser."""
    parser = commands.add_parser("lint-disclosure", help="which restricted columns reach an exposure or public model of a dbt project without a governed read")
    parser.add_argument("--manifest", metavar="FILE", default="target/manifest.json", help="what `dbt compile` writes (default: target/manifest.json)")
    parser.add_argument(
        "--catalog",
        metavar="FILE",
        help="what `dbt docs generate` writes: the columns of sources (default: catalog.json beside the manifest, if there)",
    )
    parser.add_argument("--influences", action="store_true", help="also fail on, and list, restricted columns that only decide which rows there are")
    parser.add_argument("--allow-unresolved", action="store_true", help="list what could not be followed, and do not fail on it")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; exit 0 if clean, 1 where something is found or could not be followed."""
    manifest = Path(arguments.manifest)
    beside = manifest.parent / "catalog.json"
    catalog = Path(arguments.catalog) if arguments.catalog else beside if beside.is_file() else None
    report = lint(read_project(manifest, catalog))
    if arguments.json:
        print(json.dumps(as_json(report), ensure_ascii=False, indent=1))
    else:
        print("\n".join(one_line(line) for line in as_text(report, arguments.influences)))
    failing = [finding for finding in report.findings if not finding.allowed and (finding.kind == "value" or arguments.influences)]
    return int(bool(failing or (report.unresolved and not arguments.allow_unresolved)))


def as_json(report: Report) -> dict[str, object]:
    """The report as JSON has it."""
    return {
        "targets": report.targets,
        "restricted_columns": report.restricted,
        "governed_reads": report.governed_reads,
        "findings": [
            {
                "kind": finding.kind, "target": finding.target, "allowed": finding.allowed,
                "path": [{"relation": uid, "column": column or None} for uid, column in finding.path],
            }
            for finding in report.findings
        ],
        "unresolved": [{"relation": found.relation, "reason": found.reason, "targets": list(found.targets)} for found in report.unresolved],
    }  # fmt: skip


def as_text(report: Report, with_influences: bool) -> Iterable[str]:
    """The report as lines."""
    values = [finding for finding in report.findings if finding.kind == "value"]
    influences = [finding for finding in report.findings if finding.kind == "influences"]
    for finding in [*values, *(influences if with_influences else [])]:
        if not finding.allowed:
            yield _line(finding)
    for target, reason in dict.fromkeys((finding.target, finding.allowed) for finding in values if finding.allowed):
        count = sum(finding.target == target for finding in values)
        yield f"allowed     {target}: {count} {'column' if count == 1 else 'columns'} ({reason})"
    for found in report.unresolved:
        reached = f"{found.targets[0]} and {len(found.targets) - 1} more" if len(found.targets) > 1 else found.targets[0]
        yield f"unresolved  {found.relation}: {found.reason} (may reach {reached})"
    yield (
        f"{report.targets} exposures and public models, {report.restricted} restricted columns, {len(report.governed_reads)} governed reads: "
        f"{sum(not finding.allowed for finding in values)} found, {sum(bool(finding.allowed) for finding in values)} allowed, "
        f"{len(report.unresolved)} unresolved, {_influences(influences, is_listed=with_influences)}"
    )


def _influences(found: list[Finding], *, is_listed: bool) -> str:
    """How many, how many of them are allowed, which no list shows, and what lists the others."""
    allowed = sum(bool(finding.allowed) for finding in found)
    beside = f", {allowed} of them allowed" if allowed else ""
    hint = "" if is_listed or allowed == len(found) else f" (--influences lists {'the others' if allowed else 'them'})"
    return f"{len(found)} only influence rows{beside}{hint}"


def _line(finding: Finding) -> str:
    return f"{finding.kind:<10}  {finding.target}: {' <- '.join(_leaf(leaf) for leaf in finding.path)}"


def _leaf(leaf: Leaf) -> str:
    uid, column = leaf
    name = uid.split(".", 2)[-1]
    return f"{name}.{column}" if column else name
