"""Data Docs, the pages that GX makes of its results: put in place whole, the same in every run, and silent about who reads them."""

from __future__ import annotations

import logging
import re
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
from great_expectations.data_context.types.resource_identifiers import ExpectationSuiteIdentifier, ValidationResultIdentifier

from governed_memory.errors import InputError, shown

# In a folder of Data Docs: what of it was written here. Nothing else may be there when it is replaced.
WRITTEN = ".written_by_gmem"
# In a page: a name drawn by chance, and a picture that is fetched from the maker of GX, with the time of the run.
DRAWN = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b")
PICTURE = re.compile(r"https://great-expectations-web-assets[^\s\"')]*")


def site(folder: Path) -> dict[str, dict[str, Any]]:
    """The configuration of one site of Data Docs in a folder."""
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}
    index = {"class_name": "DefaultSiteIndexBuilder"}
    return {"governed_memory": {"class_name": "SiteBuilder", "show_how_to_buttons": False, "store_backend": store, "site_index_builder": index}}


def keep(context: EphemeralDataContext, results: ExpectationSuiteValidationResult, batch_id: str, run_id: RunIdentifier) -> None:
    """Keep results where Data Docs are made from. When the batch was loaded is of no interest and differs in every run."""
    cast("dict[str, Any]", results.meta).pop("batch_markers", None)
    results.meta["run_id"] = run_id
    results.meta["validation_time"] = run_id.run_time
    named = ExpectationSuiteIdentifier(name=results.suite_name)
    key = ValidationResultIdentifier(expectation_suite_identifier=named, run_id=run_id, batch_identifier=batch_id)
    context.validation_results_store.store_validation_results(results, key, named)


@contextmanager
def replaced(docs: Path) -> Generator[Path]:
    """A new folder to make Data Docs in, which then takes the place of earlier ones; where making them fails, those stay.

    Raises:
        InputError: at the place is something else than what an earlier run wrote there.
    """
    _expect_ours(docs)
    docs.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=docs.parent.absolute(), prefix=f".{docs.name}-") as folder:
        new = Path(folder) / "new"
        yield new
        (new / WRITTEN).write_text("".join(f"{name}\n" for name in sorted(_names(new))), encoding="utf-8")
        # Again, since making them takes a while.
        _expect_ours(docs)
        if docs.exists():
            docs.rename(Path(folder) / "old")
        new.rename(docs)


def _expect_ours(docs: Path) -> None:
    """InputError where the folder holds anything that no earlier run wrote, which says in the folder itself what it wrote."""
    if docs.is_symlink() or (docs.exists() and not docs.is_dir()):
        raise InputError(f"--docs: {str(docs)!r} is no folder")
    if not docs.exists():
        return
    try:
        written = {WRITTEN, *(docs / WRITTEN).read_text(encoding="utf-8").split("\n")}
    except (OSError, UnicodeDecodeError):
        written = set()
    if others := sorted(_names(docs) - written):
        raise InputError(
            f"--docs: {str(docs)!r} holds something else than Data Docs of an earlier run: {shown(others[0])}"
            f"{f' and {len(others) - 1} more' if others[1:] else ''}; name a folder that is empty, new, or of an earlier run"
        )


def _names(folder: Path) -> set[str]:
    """Everything in a folder, folders too, by its path from there."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def make(context: EphemeralDataContext, folder: Path, *, pages: int) -> None:
    """Make the Data Docs of a context, with so many pages of results.

    Raises:
        InputError: there are fewer. GX logs a page that it could not make and goes on.
    """
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        context.build_data_docs()
    finally:
        logger.setLevel(level)
    made = len(list((folder / "validations").rglob("*.html")))
    if made != pages:
        raise InputError(f"Great Expectations made {made} of {pages} pages of results; the Data Docs are left as they were")
    for page in folder.rglob("*"):
        if page.suffix in (".html", ".css"):
            page.write_text(_settled(page.read_text(encoding="utf-8")), encoding="utf-8")


def _settled(page: str) -> str:
    """A page in which the names that GX draws by chance are numbers, and that fetches nothing from its maker."""
    numbers: dict[str, str] = {}
    return DRAWN.sub(lambda match: numbers.setdefault(match[0], str(uuid.UUID(int=len(numbers)))), PICTURE.sub("data:,", page))
