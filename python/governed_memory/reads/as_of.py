"""What was in force on a date: the project's own as-of read, over a file or over the built database (rules T1 to T6, T11)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.dates import day, instant
from governed_memory.errors import did_you_mean
from governed_memory.warehouse import StoreFile

# T8: whoever wrote a record, nobody is known to own the concept.
WITHOUT_OWNERS = "the lines say who wrote each record, and no register says who owns what: no supersession has effect here; `gmem ask` takes owners with --host"
# The fields of an answer, as the profile names them, and the columns of the read they come from.
COLUMNS = {
    "store_id": "store_id",
    "record_id": "record_id",
    "concept": "concept_id",
    "value": "value",
    "valid_from": "valid_from",
    "valid_to": "valid_to",
    "in_force_from": "in_force_from",
    "in_force_to": "in_force_to",
    "source": "source_id",
    "concept_owner": "concept_owner",
    "owner_role": "owner_role",
    "applies_to": "applies_to",
    "does_not_apply_to": "does_not_apply_to",
    "release_to": "release_to",
    "supersedes": "supersedes",
}


def open_store(
    store: StoreFile | str | None, database: str | None = None, *, reads: Collection[str] = ("records_as_of",), kinds: dict[str, str] | None = None
) -> tuple[duckdb.DuckDBPyConnection, list[str]]:
    """A connection in which the reads answer, and notices.

    Args:
        store: a file, or the name of an attached store, or None for all of them.
        database: the built database; by default the one GMEM_DATABASE names.
        reads: the models that will be read, which a file has to have built.
        kinds: for a file, {model: 'view' or 'table'} where it should differ from the kind dbt gives it.

    Raises:
        InputError: the file or database cannot be read, or no attached store has that name.
    """
    if isinstance(store, StoreFile):
        connection, attached = warehouse.open_store_file(store, {*reads, "stores"}, kinds=kinds)
        is_attested = connection.execute("select 1 from stores where attests_writers").fetchone()
        return connection, attached.notices + ([WITHOUT_OWNERS] if is_attested else []) + without_concepts(connection, store)
    return warehouse.open_built(database, store_id=store), []


def as_of_query(
    on_date: str,
    *,
    store_id: str | None = None,
    concept: str | None = None,
    known_on: str | None = None,
    scope: Sequence[str] | None = None,
) -> tuple[str, dict[str, Any]]:
    """The statement that reads the records in force on a date, ordered by store, concept and record, and its values.

    Args:
        on_date: yyyy-mm-dd.
        store_id: one attached store; all if None.
        concept: one concept; all if None.
        known_on: a date (its end) or UTC timestamp: as known then (T6).
        scope: question classes; None gives every record whatever its scope, an empty list those that apply everywhere (T11).

    Returns:
        SQL for one row per record: its fields, and its derived in_force_from and in_force_to (null: open).

    Raises:
        InputError: a date is none.
    """
    day("DATE", on_date)
    known = f", known_on => '{instant('--known-on', known_on)}'" if known_on else ""
    classes = f", scope => [{', '.join(warehouse.literal(name) for name in scope)}]::varchar[]" if scope is not None else ""
    return (
        f"""select {", ".join(f"{column} as {name}" for name, column in COLUMNS.items())}
        from records_as_of(date '{on_date}'{known}{classes})
        where ($store::varchar is null or store_id = $store) and ($concept::varchar is null or concept_id = $concept)
        order by store_id, concept_id, record_id, record_index""",
        {"store": store_id, "concept": concept},
    )


def left_out(connection: duckdb.DuckDBPyConnection, *, store_id: str | None, concept: str | None, known_on: str | None) -> list[str]:
    """Notices on what an as-of read can not hold: duplicate ids, unknown validity, unknown recording, a concept that no store holds."""
    [counts] = warehouse.rows(
        connection,
        """select count(*) as held,
            count(*) filter (where interval_status = 'duplicate_record_id') as duplicate,
            count(*) filter (where interval_status = 'validity_unknown') as unknown,
            min(record_id) filter (where interval_status = 'duplicate_record_id') as one_duplicate,
            min(record_id) filter (where interval_status = 'validity_unknown') as one_unknown
        from record_intervals_built
        where ($store::varchar is null or store_id = $store) and ($concept::varchar is null or concept_id = $concept)""",
        {"store": store_id, "concept": concept},
    )
    notices = []
    if not counts["held"] and concept is not None:
        notices.append(unknown_concept(connection, concept))
    if counts["duplicate"]:
        notices.append(f"{counts['duplicate']} records share an identifier with another ({counts['one_duplicate']!r}) and are left out: duplicate_record_id")
    if counts["unknown"]:
        named = "" if counts["one_unknown"] is None else f" ({counts['one_unknown']!r})"
        notices.append(f"{counts['unknown']} records of unknown validity{named} are in force on no date: validity_unknown")
    return notices + (never_recorded(connection, store_id) if known_on else [])


def never_recorded(connection: duckdb.DuckDBPyConnection, store_id: str | None) -> list[str]:
    """A notice where a read as known on a date leaves records out, whatever the date (T6)."""
    [unseen] = warehouse.rows(
        connection, "select count(*) as records from records where known_at is null and ($store::varchar is null or store_id = $store)", {"store": store_id}
    )
    return [f"{unseen['records']} records do not say when they were recorded; a read as known on a date leaves them out"] if unseen["records"] else []


def without_concepts(connection: duckdb.DuckDBPyConnection, store: StoreFile) -> list[str]:
    """A notice where no record of a file is about anything: it reads in another way than was said, and every question would look unanswered."""
    [held] = warehouse.rows(connection, "select count(*) as records, count(concept_id) as concepts from records")
    if not held["records"] or held["concepts"]:
        return []
    return [
        f"no record of {store.store_id!r} names a concept under {store.columns['concept']!r}, so there is nothing to ask about; "
        "say with --map concept=COLUMN what names it, or with --form which form the store has"
    ]


def unknown_concept(connection: duckdb.DuckDBPyConnection, concept: str) -> str:
    """What to say where no record is about a concept."""
    concepts = [row["concept_id"] for row in warehouse.rows(connection, "select distinct concept_id from records where concept_id is not null")]
    return "; ".join(filter(None, [f"no record is about {concept!r}", did_you_mean(concept, concepts)]))
