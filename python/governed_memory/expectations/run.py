"""Runs the suites over every store and puts what GX makes of them in a folder of Data Docs."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

# Nothing is sent anywhere, whatever else this process or its user has configured; GX asks for it when it is imported.
os.environ["GX_ANALYTICS_ENABLED"] = "false"

import great_expectations as gx
from great_expectations.core import ExpectationValidationResult
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults, ProgressBarsConfig

from governed_memory import warehouse
from governed_memory.errors import InputError, did_you_mean, one_line
from governed_memory.expectations import data_docs
from governed_memory.expectations.source import STATUSES, FindingsSource, read, told
from governed_memory.expectations.suites import COLUMNS, LEVELS, suite

# Records named beside an expectation that fails.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What GX found of one rule in one store. The verdict is fail where a finding counts, n/a where the rule is not asked, else pass."""

    store_id: str
    level: int
    rule_id: str
    requirement: str
    verdict: str
    reason: str | None
    fails_build: bool
    finding_count: int
    rows: list[dict[str, str | None]]


def run(place: str, docs: Path | None, *, stores: Collection[str] = (), levels: Collection[int] = LEVELS) -> list[Outcome]:
    """Validate the findings at a place, one batch per store and one suite per level, and write the Data Docs.

    Args:
        place: a built DuckDB file or the URL of a PostgreSQL database.
        docs: the folder of the Data Docs, put in place whole, in the place of earlier ones only; none are made without one.
        stores: only these; all if none is named.
        levels: only the suites of these levels.

    Raises:
        InputError: the place or the folder cannot be used, a store is not attached, or GX could not run a query.
    """
    statuses = _statuses(place, stores)
    [build] = read(place, "select built_at from stg_build")
    run_id = RunIdentifier(run_name="built", run_time=build["built_at"].replace(tzinfo=datetime.UTC))
    if docs is None:
        return list(_outcomes(_context({}), place, statuses, levels, run_id))
    with data_docs.replaced(docs) as folder:
        context = _context(data_docs.site(folder))
        outcomes = list(_outcomes(context, place, statuses, levels, run_id))
        data_docs.make(context, folder, pages=len(statuses) * len(levels))
    return outcomes


def _statuses(place: str, stores: Collection[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """{store: {rule: its status}} of the stores that are asked for. Every rule has a status, since one without it would pass unseen (L3)."""
    statuses: dict[str, dict[str, dict[str, Any]]] = {}
    for row in read(place, STATUSES):
        statuses.setdefault(row["store_id"], {})[row["rule_id"]] = row
    for store_id in stores:
        if store_id not in statuses:
            hint = did_you_mean(store_id, statuses) or f"attached are {', '.join(statuses) or 'none'}"
            raise InputError(f"--store: {store_id!r} is no attached store; {hint}")
    known = {rule["rule_id"] for rule in warehouse.seed("rules")}
    for store_id, rules in statuses.items():
        if other := sorted(known ^ rules.keys()):
            raise InputError(f"store {store_id!r}: rule_statuses and this version differ in {', '.join(other)}; build again with `dbt build`")
    return {store_id: rules for store_id, rules in statuses.items() if not stores or store_id in stores}


def _context(sites: dict[str, dict[str, Any]]) -> EphemeralDataContext:
    """A context that keeps everything in memory but its sites of Data Docs."""
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        data_docs_sites=sites,
        progress_bars=ProgressBarsConfig(globally=False),
        analytics_enabled=False,
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def _outcomes(
    context: EphemeralDataContext, place: str, statuses: dict[str, dict[str, dict[str, Any]]], levels: Collection[int], run_id: RunIdentifier
) -> Iterator[Outcome]:
    source = FindingsSource(name="findings", connection_string=place)
    context.data_sources.add_or_update_findings(source)
    suites = {level: context.suites.add(suite(level)) for level in levels}
    with told(place), closing(source.get_execution_engine()):
        for store_id, rules in statuses.items():
            # By its hash: whatever the name holds, it is neither a parameter nor a placeholder of the layers that this text passes.
            query = f"select {COLUMNS} from findings where not is_waived and md5(store_id) = '{_md5(store_id)}'"
            batch = source.add_query_asset(_file_name(store_id), query).add_batch_definition_whole_table("findings").get_batch()
            for level, expectations in suites.items():
                results = batch.validate(expectations, result_format="COMPLETE")
                for result in results.results:
                    yield _outcome(result, store_id, level, rules)
                if context.list_data_docs_sites():
                    data_docs.keep(context, results, batch.id, run_id)


def _outcome(result: ExpectationValidationResult, store_id: str, level: int, rules: dict[str, dict[str, Any]]) -> Outcome:
    """The outcome of one expectation, told in its result too, where Data Docs show it."""
    assert result.expectation_config is not None
    meta = result.expectation_config.meta
    rule_id = meta["rule_id"]
    if "details" not in result.result:
        raise InputError(f"store {store_id!r}: Great Expectations could not ask {rule_id}: {_exception(result)}")
    status = rules[rule_id]
    verdict = "fail" if not result.success else "n/a" if status["status"] == "n/a" else "pass"
    if verdict != status["status"]:
        raise InputError(
            f"store {store_id!r}, {rule_id}: findings say {verdict}, rule_statuses {status['status']}; the two are not of one build, so copy both again"
        )
    rows = result.result["details"]["unexpected_rows"]
    count = result.result["observed_value"]
    outcome = Outcome(store_id, level, rule_id, meta["requirement"], verdict, status["reason"], bool(status["fails_build"]), count, rows)
    named = ", ".join(one_line(row["record_id"] or "the store") for row in rows[:NAMED]) + (f" and {count - NAMED} more" if count > NAMED else "")
    words = f"n/a: {outcome.reason}" if verdict == "n/a" else "fail, required" if outcome.fails_build else verdict
    # GX writes it into its pages as it is, and an identifier may be anything.
    result.result["observed_value"] = escape(f"{words}: {named}" if rows else words)
    return outcome


def _exception(result: ExpectationValidationResult) -> str:
    messages = [entry["exception_message"] for entry in result.exception_info.values() if isinstance(entry, dict)]
    return str((messages or [result.exception_info.get("exception_message")])[0]).partition("\n")[0]


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _file_name(store_id: str) -> str:
    """A name that GX may make a file of, the store's own where it can be one."""
    plain = re.sub(r"[^\w-]", "_", store_id)[:60]
    return plain if plain == store_id else f"{plain}-{_md5(store_id)[:8]}"
