"""`gmem expectations`: the rules as Great Expectations suites, with Data Docs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from governed_memory import warehouse
from governed_memory.errors import InputError, one_line

if TYPE_CHECKING:
    from governed_memory.expectations.run import Outcome

DOCS = "target/gx_docs"
# Records that are named of one rule.
NAMED = 5


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this room's command to the root parser."""
    parser = commands.add_parser("expectations", help="the rules as Great Expectations suites, one per level, over what the last build found; with Data Docs")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--database", metavar="FILE", help="the built database (default: GMEM_DATABASE, else governed_memory.duckdb)")
    place.add_argument("--url", metavar="URL", help="a PostgreSQL database that holds findings, rule_statuses and stg_build: postgresql://USER@HOST/DATABASE")
    parser.add_argument("--store", action="append", default=[], metavar="NAME", help="only this attached store; may be repeated")
    parser.add_argument("--level", type=int, action="append", choices=(1, 2, 3), help="only the suite of this level; may be repeated")
    parser.add_argument("--docs", metavar="FOLDER", default=DOCS, help=f"where the Data Docs go, in the place of earlier ones (default {DOCS})")
    parser.add_argument("--json", action="store_true", help="one object per store and rule")
    parser.set_defaults(run=run_expectations)


def run_expectations(arguments: argparse.Namespace) -> int:
    """Exit 0 when nothing fails that a store's declared level requires, 1 when something does, 2 when the findings cannot be read."""
    needed = {"great_expectations", "duckdb_engine"} | ({"psycopg2"} if arguments.url else set())
    if any(find_spec(name) is None for name in needed):
        raise InputError("expectations need the `gx` extra; install it with: pip install 'governed-memory[gx]'")
    if arguments.url is not None and not arguments.url.startswith("postgresql://"):
        raise InputError("--url: only PostgreSQL can be asked by URL; write postgresql://USER@HOST/DATABASE, or name a DuckDB file with --database")
    place = arguments.url or str(warehouse.built_path(arguments.database))
    if not arguments.url:
        warehouse.open_built(place).close()
    from governed_memory.expectations.run import run
    from governed_memory.expectations.suites import LEVELS

    outcomes = run(place, Path(arguments.docs), stores=arguments.store, levels=sorted(set(arguments.level or LEVELS)))
    if arguments.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], ensure_ascii=False, indent=1))
    else:
        print("\n".join(map(one_line, [*_lines(outcomes), "", f"Data Docs: {Path(arguments.docs) / 'index.html'}"])))
    return 1 if any(outcome.fails_build for outcome in outcomes) else 0


def _lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for store_id, of_store in groupby(outcomes, key=lambda outcome: outcome.store_id):
        yield store_id
        for level, of_level in groupby(of_store, key=lambda outcome: outcome.level):
            found = list(of_level)
            counts = {verdict: sum(outcome.verdict == verdict for outcome in found) for verdict in ("pass", "fail", "n/a")}
            yield f"  level {level}: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}"
            yield from (f"    {_failure(outcome)}" for outcome in found if outcome.verdict == "fail")
            for reason in dict.fromkeys(outcome.reason for outcome in found if outcome.verdict == "n/a"):
                yield f"    n/a   {', '.join(outcome.rule_id for outcome in found if outcome.reason == reason)}: {reason}"


def _failure(outcome: Outcome) -> str:
    named = ", ".join(row["record_id"] or "the store" for row in outcome.rows[:NAMED])
    more = f" and {outcome.finding_count - NAMED} more" if outcome.finding_count > NAMED else ""
    return f"{'FAIL' if outcome.fails_build else 'fail'}  {outcome.rule_id} ({outcome.requirement}): {named}{more}"
