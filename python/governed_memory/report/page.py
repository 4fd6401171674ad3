"""The page: one HTML file with its style, script, charts and data inside, so that it works offline and asks nobody for anything."""

from __future__ import annotations

import hashlib
import os
from base64 import b64encode
from importlib import resources
from pathlib import Path
from typing import Any

from governed_memory import warehouse
from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.report.charts import fields_chart, owners_chart, trend_chart
from governed_memory.report.content import content
from governed_memory.warehouse.durable import write_whole

# Parties that the chart of findings has a bar for; the table beside it has all.
BARS = 12
# What dbt and Great Expectations write below the target folder, first the one that opens without a server.
LINKED = {
    "dbt documentation": ("static_index.html", "index.html"),
    "Great Expectations Data Docs": ("gx_docs/index.html",),
}
GENERATOR = '<meta name="generator" content="gmem report">'
# Characters at the start of a page within which it says what it is.
HEAD = 2000


def write_report(path: Path, *, audience: Caller | None = None, database: str | None = None, target: Path = Path("target")) -> dict[str, int]:
    """Write the page in one step; the same database gives the same bytes.

    Args:
        path: the file; one that is there is replaced only if it is a report for the same audience.
        audience: who it is for; without one it is a steward's.
        database: the built database; by default the one GMEM_DATABASE names.
        target: where dbt wrote its documentation, which the page links to.

    Returns:
        How many records and findings it shows.

    Raises:
        InputError: the database is missing or not built, the file is another's or cannot be written, or the extra `report` is not installed.
    """
    with warehouse.open_built(database) as connection:
        held = content(connection, audience)
    # a page for an audience leads nowhere that is not for it
    links = [] if audience else _links(path, target)
    page = render(held, links)
    _expect_replaceable(path, page)
    try:
        write_whole(path, page.encode())
    except OSError as error:
        raise InputError(f"{path}: not written: {error.strerror}") from error
    counts: dict[str, int] = held["counts"]
    return counts


def render(held: dict[str, Any], links: list[tuple[str, str]]) -> str:
    """The page as text."""
    try:
        import jinja2
    except ImportError as error:
        raise InputError("gmem report fills its page with jinja2; install it with `pip install 'governed-memory[report]'`") from error
    files = resources.files(__package__)
    style, script, template = ((files / name).read_text(encoding="utf-8") for name in ("page.css", "page.js", "page.html"))
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    names = [f"{owner['party_id'] or 'nobody named'}{f', {role}' if (role := owner['party_role']) else ''}" for owner in held["owners"]]
    return environment.from_string(template).render(
        **held,
        links=links,
        style=style,
        script=script,
        # the page runs this script and no other, whatever a record holds
        script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        charts={store_id: trend_chart(builds) for store_id, builds in held["trends"].items()},
        owners_chart=owners_chart(held["owners"][:BARS], names[:BARS]) if names else "",
        bars=BARS,
        fields_chart=fields_chart(held["fields"]) if held["fields"] else "",
    )


def _links(path: Path, target: Path) -> list[tuple[str, str]]:
    """(words, address from the page) of what there is."""
    found = []
    for words, names in LINKED.items():
        there = next((target / name for name in names if (target / name).is_file()), None)
        if there is not None:
            found.append((words, Path(os.path.relpath(there.resolve(), path.resolve().parent)).as_posix()))
    return found


def _expect_replaceable(path: Path, page: str) -> None:
    """Nothing is lost but an earlier report, and whoever opens that file is not shown what is for somebody else."""
    if not path.exists():
        return
    try:
        head = path.read_bytes()[:HEAD].decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; it was not replaced") from error
    if GENERATOR not in head:
        raise InputError(f"{path}: is there and is no report; it was not replaced")
    line = next(line for line in page.splitlines() if line.startswith('<meta name="audience"'))
    if line not in head:
        raise InputError(f"{path}: is a report for another audience; it was not replaced")
