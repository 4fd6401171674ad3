"""Files for readers: an operator's copy of what the reads need, or the one file that an audience may hold (rules G5 to G7, case C30).

DuckDB lets one process write a file or many read it. Readers of a published file hold nothing that a build waits for; the next one takes its
place in one step, and who has the former open goes on reading that.
"""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

import duckdb

from governed_memory import warehouse
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.configuration import OUTSIDE, Caller, Host
from governed_memory.log import utc_now
from governed_memory.reads.ask import READS, name_list
from governed_memory.sealed import Handovers, kept_handovers
from governed_memory.sealed.handovers import PLACE
from governed_memory.warehouse import literal
from governed_memory.warehouse.models import FUNCTIONS, compiled
from governed_memory.warehouse.published import write_manifest

# What the reads, gmem's and an analyst's, look at beside what table functions read.
RELATIONS = {
    *READS, "int_segments", "concept_segments", "int_concept_scopes", "concept_periods", "concept_histories", "record_intervals", "record_intervals_built",
    "records_in_force", "record_rows", "stg_build", "parties", "sources", "question_classes", "findings", "finding_counts", "rule_statuses",
    "store_levels", "waivers", "level_trend", "field_coverage", "policies", "rules", "record_terms", "searchable_records",
}  # fmt: skip
SECONDS_TO_WAIT = 60.0
AUDIENCE_TABLE = "audience_answers"
# As which a published file is handed over.
STEP = "publish"


@dataclass(frozen=True, slots=True)
class Published:
    """What was put in place.

    Attributes:
        path: the file.
        generation_id: which no other publication has.
        stores: that it holds something of.
    """

    path: Path
    generation_id: str
    stores: tuple[str, ...]


def named_audience(name: str, host: Host | None, database: str | None = None) -> Caller:
    """The audience of that name: a caller of the host file, else a party of the register that the project was built with.

    Raises:
        InputError: neither knows the name.
    """
    if host is not None:
        return host.caller(name)
    with warehouse.open_built(database) as connection:
        boundaries = {row["party_id"]: row["boundary"] for row in warehouse.rows(connection, "select party_id, boundary from parties")}
    if name not in boundaries:
        hint = did_you_mean(name, boundaries) or f"registered are {', '.join(sorted(boundaries)) or 'none'}"
        raise InputError(f"--audience: the register of parties has no {name!r}; {hint}; or name callers in a host file with --host")
    return Caller(name, (name,), boundaries[name] or OUTSIDE)


def default_path(database: Path, audience: str | None) -> Path:
    """Where a publication goes unless it is said: beside the built database.

    Raises:
        InputError: the audience's name cannot be part of a file's.
    """
    if audience is not None and not re.fullmatch(r"\w[\w.-]*", audience):
        raise InputError(f"--out: say where the file goes; {audience!r} cannot be part of its name")
    return database.with_name(f"{database.stem}.{audience or 'published'}.duckdb")


def publish(
    path: Path, *, audience: Caller | None = None, database: str | None = None, waits: Callable[[], None] = lambda: None, seconds: float = SECONDS_TO_WAIT
) -> Published:
    """Write a file for readers and put it in place in one step. It is on disk when this returns.

    Args:
        path: the file; it may exist if it was published for the same audience.
        audience: who it is for; without one it is an operator's, and holds everything.
        database: the built database; by default the one GMEM_DATABASE names.
        waits: called once if another process holds the built database.
        seconds: to wait for that.

    Raises:
        InputError: the built database is missing, not built or held, or the file is another's; what was there is as it was.
    """
    built = warehouse.built_path(database)
    if not built.is_file():
        raise InputError(f"{built}: no such database; run `dbt build` first, or name one with --database or GMEM_DATABASE")
    _expect_replaceable(path, built, audience)
    generation_id, handovers = str(uuid.uuid4()), kept_handovers()
    try:
        with warehouse.writing(path, built, waits, seconds=seconds) as connection:
            if audience is None:
                _copy_reads(connection)
            else:
                _disclose(connection, audience)
            stores = _describe(connection, generation_id, audience)
            _take_build(connection, handovers)
    except duckdb.Error as error:
        # Not its text: this still sees what is withheld.
        raise InputError(
            f"{path}: not written ({type(error).__name__}); it is as it was. A database built by an earlier version has to be built again"
        ) from None
    if handovers.are_kept:
        handovers.give(STEP, generation_id, file_root(path), utc_now())
    return Published(path, generation_id, stores)


def file_root(path: Path) -> str:
    """SHA-256 of a published file, which is what is handed over."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _take_build(connection: duckdb.DuckDBPyConnection, handovers: Handovers) -> None:
    """Take over what the build has made: its own row of it is brought to the file, and what it speaks of is looked at again (rule M11).

    Raises:
        InputError: the build noted no root hash, or what is there now has another; nothing is published then.
    """
    if not handovers.are_kept:
        return
    if "build_handover" not in _relations(connection):
        raise InputError(f"{PLACE} is set and the build noted no handover; build with it set, and publish again")
    [given] = warehouse.rows(connection, "select generation, root from build_handover")
    handovers.give("build", given["generation"], given["root"], utc_now())
    [found] = warehouse.rows(connection, "select generation, root from build_root")
    handovers.take("build", found["generation"], found["root"], utc_now())


def _expect_replaceable(path: Path, built: Path, audience: Caller | None) -> None:
    """Neither the built database nor a file of another audience is overwritten: whoever reads there would be shown something else."""
    if not path.exists():
        return
    if path.samefile(built):
        raise InputError(f"{path}: is the built database itself; publish to another file")
    held = warehouse.manifest(path)
    if held is None:
        raise InputError(f"{path}: is there and was not published; it was not replaced")
    name = audience.name if audience else None
    if held["audience"] != name:
        raise InputError(f"{path}: holds what is {_meant_for(held['audience'])}, not {_meant_for(name)}; it was not replaced")


def _meant_for(audience: str | None) -> str:
    return "for operators" if audience is None else f"for {audience!r}"


def _copy_reads(connection: duckdb.DuckDBPyConnection) -> None:
    """Tables of what the reads look at, views among them as they stand, and the table functions over those."""
    held = _relations(connection)
    functions = {model["name"]: set(model["reads"]) for model in compiled()["models"] if model["kind"] in FUNCTIONS}
    for name in sorted(held & RELATIONS.union(*functions.values())):
        connection.execute(f'create table published."{name}" as select * from "{name}"')
    with _in_published(connection):
        warehouse.build(connection, [name for name, reads in functions.items() if reads <= held])


def _relations(connection: duckdb.DuckDBPyConnection) -> set[str]:
    found = connection.execute(
        """select table_name from duckdb_tables() where database_name = 'built' and schema_name = current_schema()
        union all
        select view_name from duckdb_views() where database_name = 'built' and schema_name = current_schema()"""
    ).fetchall()
    return {name for (name,) in found}


def _disclose(connection: duckdb.DuckDBPyConnection, audience: Caller) -> None:
    """What the audience is told on every date, and the function that picks one."""
    asked = {"parties": name_list(audience.parties), "boundary": literal(audience.boundary)}
    connection.execute(f"create table published.{AUDIENCE_TABLE} as {warehouse.fragment('audience_answers', **asked)}")
    ways: Collection[tuple[str, str]] = [("on_date", "audience_answers_as_of"), ("on_date, question_class", "audience_answers_in_class")]
    with _in_published(connection):
        connection.execute("create macro answers_as_of " + ", ".join(f"({parameters}) as table ({warehouse.fragment(name)})" for parameters, name in ways))


@contextmanager
def _in_published(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """While a table function is made, its names are those of the file that it is made in."""
    [(schema,)] = connection.execute("select current_schema()").fetchall()
    connection.execute("use published")
    yield
    connection.execute(f'use built."{schema}"')


def _describe(connection: duckdb.DuckDBPyConnection, generation_id: str, audience: Caller | None) -> tuple[str, ...]:
    held = "stores" if audience is None else f"published.{AUDIENCE_TABLE}"
    stores = tuple(row["store_id"] for row in warehouse.rows(connection, f"select distinct store_id from {held} order by store_id"))
    now = datetime.datetime.now(tz=datetime.UTC).replace(tzinfo=None, microsecond=0)
    write_manifest(
        connection,
        {
            "generation_id": literal(generation_id),
            "published_at": f"timestamp {literal(now)}",
            "built_at": "(select built_at from stg_build)",
            "audience": "null::varchar" if audience is None else literal(audience.name),
            "stores": name_list(stores),
        },
    )
    return stores
