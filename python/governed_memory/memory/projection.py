"""Memory's tables in a database of this process, derived from the log by the compiled models, and kept up with it.

What was read once is not read again: new rows go through the same models in a schema of their own, `fresh`, and what is new in them is added.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import groupby, islice
from pathlib import Path

import duckdb
import polars

from governed_memory.log import Positions, rows_since
from governed_memory.warehouse import build, derivation, literal, open_memory

# Each stream's table and key, and the model of its events.
KEYS = {"cells": "cell_id", "links": "link_id", "annotations": "annotation_id", "frames": "frame_id", "replays": "replay_id"}
EVENTS = {
    "cells": "int_cell_events",
    "links": "int_link_events",
    "annotations": "int_annotation_events",
    "frames": "int_frame_events",
    "replays": "int_replay_events",
}
# Rows read before they are put in the tables: some ten megabytes.
AT_ONCE = 50_000
ROWS = {"writer": polars.String, "seq": polars.Int64, "event": polars.String}


class Projection:
    """The derived tables, as far as the log was read.

    Attributes:
        connection: the database in memory that holds them.
    """

    def __init__(self, log: Path, heads: Path | None) -> None:
        """Derive the tables from all that is committed.

        Raises:
            InputError: the log cannot be read, or is damaged.
        """
        self._log, self._heads = log, heads
        self._seen: Positions = {}
        self.connection = open_memory()
        self._make_tables()
        self.catch_up()

    def catch_up(self) -> None:
        """Read what was committed since, by whichever writer.

        Raises:
            InputError: the log cannot be read, or is damaged.
        """
        rows = rows_since(self._log, self._heads, self._seen, KEYS)
        for (writer, stream), of_one in groupby(rows, key=lambda row: (row.writer, row.stream)):
            while chunk := list(islice(of_one, AT_ONCE)):
                self.add(
                    stream,
                    polars.DataFrame(
                        {"writer": [writer] * len(chunk), "seq": [row.seq for row in chunk], "event": [row.event.decode() for row in chunk]}, ROWS
                    ),
                )
                self._seen[writer, stream] = chunk[-1].seq

    def wrote(self, writer: str, stream: str, seqs: range, events: list[bytes]) -> None:
        """Take in what this process has just committed, without reading it from the log again."""
        if not events or self._seen.get((writer, stream), 0) != seqs.start - 1:
            return  # other rows come before; the next reading of the log brings both
        self.add(stream, polars.DataFrame({"writer": [writer] * len(events), "seq": list(seqs), "event": [event.decode() for event in events]}, ROWS))
        self._seen[writer, stream] = seqs.stop - 1

    def add(self, stream: str, rows: polars.DataFrame) -> None:
        """Put new rows of a stream in the tables."""
        connection = self.connection
        connection.execute("begin")
        try:
            connection.execute(f"truncate fresh.stg_log_{stream}; truncate fresh.{stream}")
            _insert(connection, f"fresh.stg_log_{stream}", rows)
            key = KEYS[stream]
            connection.execute(f"insert into fresh.{stream} select * from fresh.{stream}__derived where {key} not in (select {key} from main.{stream})")
            if stream == "cells":
                connection.execute("update fresh.cells set cell_number = cell_number + (select coalesce(max(cell_number), 0) from main.cells)")
                connection.execute("insert into main.cell_terms select * from fresh.cell_terms__derived")
            connection.execute(f"insert into main.{stream} select * from fresh.{stream}")
            if stream == "links":
                self._add_link_weights()
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise

    def hold(self, wanted: Mapping[str, Collection[str]]) -> None:
        """Put in int_held what is held of these identifiers, {stream: ids}: all that the guards ask about."""
        self.connection.execute("truncate main.int_held")
        for stream, ids in wanted.items():
            if ids:
                system = "system" if stream == "cells" else "null"
                listed = ", ".join(map(literal, ids))
                self.connection.execute(
                    f"insert into main.int_held select {literal(stream)}, {KEYS[stream]}, fingerprint, {system} from main.{stream} where {KEYS[stream]} in ({listed})"
                )

    def _add_link_weights(self) -> None:
        self.connection.execute(
            "update main.cell_link_weights as held set link_weight = held.link_weight + fresh.link_weight "
            "from fresh.cell_link_weights__derived as fresh where held.cell_number = fresh.cell_number"
        )
        self.connection.execute(
            "insert into main.cell_link_weights select * from fresh.cell_link_weights__derived where cell_number not in (select cell_number from main.cell_link_weights)"
        )

    def _make_tables(self) -> None:
        connection = self.connection
        connection.execute("create schema fresh")
        for stream, key in KEYS.items():
            connection.execute(f"create table main.stg_log_{stream} (writer varchar, seq bigint, event varchar)")
        build(connection, [*KEYS, "cell_terms", "cell_link_weights"], kinds=dict.fromkeys(EVENTS.values(), "view"))
        for stream, key in KEYS.items():
            connection.execute(f"create index {stream}_by_key on main.{stream} ({key})")
            connection.execute(f"create table fresh.stg_log_{stream} as from main.stg_log_{stream}")
            moved = {f"stg_log_{stream}", EVENTS[stream]}
            connection.execute(f"create view fresh.{EVENTS[stream]} as {derivation(EVENTS[stream], moved, 'fresh')}")
            connection.execute(f"create view fresh.{stream}__derived as {derivation(stream, moved, 'fresh')}")
            connection.execute(f"create table fresh.{stream} as from main.{stream}")
        connection.execute(f"create view fresh.cell_terms__derived as {derivation('cell_terms', ['cells'], 'fresh')}")
        connection.execute(f"create view fresh.cell_link_weights__derived as {derivation('cell_link_weights', ['links'], 'fresh')}")
        connection.execute("create table main.int_held (stream varchar, held_id varchar, fingerprint varchar, system varchar)")
        self._make_guards()

    def _make_guards(self) -> None:
        judged = ("cells", "links", "annotations")
        for stream in judged:
            self.connection.execute(f"create table main.int_judged_{stream} (place bigint, event varchar)")
        build(self.connection, ["cell_refusals", "link_refusals", "annotation_refusals", "int_expiries"])


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: polars.DataFrame) -> None:
    connection.from_arrow(rows.__arrow_c_stream__()).insert_into(table)
