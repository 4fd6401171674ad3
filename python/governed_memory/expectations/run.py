"""Runs the suites over every store and puts what GX makes of them in a folder of Data Docs."""

from __future__ import annotations

import datetime
import hashlib
import logging
import os
import re
import tempfile
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

# Nothing is sent anywhere, whatever else this process or its user has configured; GX asks for it when it is imported.
os.environ["GX_ANALYTICS_ENABLED"] = "false"

import great_expectations as gx
from great_expectations.core import ExpectationSuiteValidationResult, ExpectationValidationResult
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context import EphemeralDataContext
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults, ProgressBarsConfig
from great_expectations.data_context.types.resource_identifiers import ExpectationSuiteIdentifier, ValidationResultIdentifier

from governed_memory.errors import InputError, did_you_mean, one_line
from governed_memory.expectations.source import STATUSES, FindingsSource, read
from governed_memory.expectations.suites import COLUMNS, LEVELS, suite

SITE = {"class_name": "SiteBuilder", "show_how_to_buttons": False, "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"}}
# In a page: a name drawn by chance, and a picture that is fetched from the maker of GX, with the time of the run.
DRAWN = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b")
PICTURE = re.compile(r"https://great-expectations-web-assets[^\s\"')]*")
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
    _expect_replaceable(docs)
    docs.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=docs.parent, prefix=f".{docs.name}-") as folder:
        context = _context({"governed_memory": SITE | {"store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": f"{folder}/docs"}}})
        outcomes = list(_outcomes(context, place, statuses, levels, run_id))
        _build_docs(context, Path(folder), docs, pages=len(statuses) * len(levels))
    return outcomes


def _statuses(place: str, stores: Collection[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """{store: {rule: its status}} of the stores that are asked for."""
    statuses: dict[str, dict[str, dict[str, Any]]] = {}
    for row in read(place, STATUSES):
        statuses.setdefault(row["store_id"], {})[row["rule_id"]] = row
    for store_id in stores:
        if store_id not in statuses:
            hint = did_you_mean(store_id, statuses) or f"attached are {', '.join(statuses) or 'none'}"
            raise InputError(f"--store: {store_id!r} is no attached store; {hint}")
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
    context.data_sources.add_or_update_findings(source)  # type: ignore[attr-defined]
    suites = {level: context.suites.add(suite(level)) for level in levels}
    for store_id, rules in statuses.items():
        # By its hash: whatever the name holds, it is neither a parameter nor a placeholder of the layers that this text passes.
        query = f"select {COLUMNS} from findings where not is_waived and md5(store_id) = '{_md5(store_id)}'"
        batch = source.add_query_asset(_file_name(store_id), query).add_batch_definition_whole_table("findings").get_batch()
        for level, expectations in suites.items():
            results = batch.validate(expectations, result_format="COMPLETE")
            for result in results.results:
                yield _outcome(result, store_id, level, rules)
            if context.list_data_docs_sites():
                _keep(context, results, batch.id, run_id)


def _outcome(result: ExpectationValidationResult, store_id: str, level: int, rules: dict[str, dict[str, Any]]) -> Outcome:
    """The outcome of one expectation, told in its result too, where Data Docs show it."""
    assert result.expectation_config is not None
    meta = result.expectation_config.meta
    rule_id = meta["rule_id"]
    if "details" not in result.result:
        raise InputError(f"store {store_id!r}: Great Expectations could not ask {rule_id}: {_exception(result)}")
    status = rules.get(rule_id, {"status": "missing"})
    verdict = "fail" if not result.success else "n/a" if status["status"] == "n/a" else "pass"
    if verdict != status["status"]:
        raise InputError(
            f"store {store_id!r}, {rule_id}: findings say {verdict}, rule_statuses {status['status']}; the tables are not of one build of this version: "
            "run `dbt build`, and copy both"
        )
    rows = result.result["details"]["unexpected_rows"]
    count = result.result["observed_value"]
    outcome = Outcome(store_id, level, rule_id, meta["requirement"], verdict, status["reason"], bool(status["fails_build"]), count, rows)
    named = ", ".join(one_line(row["record_id"] or "the store") for row in rows[:NAMED]) + (f" and {count - NAMED} more" if count > NAMED else "")
    told = f"n/a: {outcome.reason}" if verdict == "n/a" else "fail, required" if outcome.fails_build else verdict
    # GX writes it into its pages as it is, and an identifier may be anything.
    result.result["observed_value"] = escape(f"{told}: {named}" if rows else told)
    return outcome


def _exception(result: ExpectationValidationResult) -> str:
    told = [entry["exception_message"] for entry in result.exception_info.values() if isinstance(entry, dict)]
    return str((told or [result.exception_info.get("exception_message")])[0]).partition("\n")[0]


def _keep(context: EphemeralDataContext, results: ExpectationSuiteValidationResult, batch_id: str, run_id: RunIdentifier) -> None:
    """Keep the results where the Data Docs are made from. When the batch was loaded is of no interest and differs in every run."""
    results.meta.pop("batch_markers", None)
    results.meta["run_id"] = run_id
    results.meta["validation_time"] = run_id.run_time
    named = ExpectationSuiteIdentifier(name=results.suite_name)
    key = ValidationResultIdentifier(expectation_suite_identifier=named, run_id=run_id, batch_identifier=batch_id)
    context.validation_results_store.store_validation_results(results, key, named)


def _build_docs(context: EphemeralDataContext, folder: Path, docs: Path, *, pages: int) -> None:
    """Put the Data Docs in place. GX logs a page that it could not make and goes on, so they are counted."""
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        context.build_data_docs()
    finally:
        logger.setLevel(level)
    made = len(list((folder / "docs" / "validations").rglob("*.html")))
    if made != pages:
        raise InputError(f"{docs}: Great Expectations made {made} of {pages} pages of results; what was there is left as it was")
    for page in (path for path in (folder / "docs").rglob("*") if path.suffix in (".html", ".css")):
        page.write_text(_settled(page.read_text(encoding="utf-8")), encoding="utf-8")
    if docs.exists():
        docs.rename(folder / "before")
    (folder / "docs").rename(docs)


def _settled(page: str) -> str:
    """A page that is the same in every run, as the names that GX draws by chance become numbers, and that tells its maker of no reader."""
    numbers: dict[str, str] = {}
    return DRAWN.sub(lambda match: numbers.setdefault(match[0], str(uuid.UUID(int=len(numbers)))), PICTURE.sub("data:,", page))


def _expect_replaceable(docs: Path) -> None:
    if docs.is_symlink() or (docs.exists() and not docs.is_dir()):
        raise InputError(f"--docs: {str(docs)!r} is no folder")
    held = {path.name for path in docs.iterdir()} if docs.exists() else set()
    if held and not {"index.html", "expectations", "static"} <= held:
        raise InputError(f"--docs: {str(docs)!r} holds something else than Data Docs; name a folder that is empty, new, or of an earlier run")


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _file_name(store_id: str) -> str:
    """A name that GX may make a file of, the store's own where it can be one."""
    plain = re.sub(r"[^\w-]", "_", store_id)[:60]
    return plain if plain == store_id else f"{plain}-{_md5(store_id)[:8]}"


