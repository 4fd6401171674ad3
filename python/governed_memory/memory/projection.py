"""Memory's tables in a database of this process, derived from the log by the compiled models, and kept up with it.

What was read once is not read again: new rows go through the same models in a schema of their own, `fresh`, and what is new in them is added.
What this process writes itself waits in `pending` until somebody reads the tables, since that is most of the work of a single write.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import polars

from governed_memory.log import Positions, rows_since
from governed_memory.warehouse import build, columns, derivation, open_memory

# Each stream's table and key, the model of its events, and the model that refuses some.
KEYS = {
    "cells": "cell_id", "links": "link_id", "annotations": "annotation_id", "frames": "frame_id", "replays": "replay_id", "traces": "trace_id",
    "approvals": "approval_id", "proposals": "proposal_id",
}  # fmt: skip
EVENTS = {stream: f"int_{key.removesuffix('_id')}_events" for stream, key in KEYS.items()}
REFUSALS = {stream: f"{KEYS[stream].removesuffix('_id')}_refusals" for stream in KEYS}
DERIVED = (
    "cell_terms", "cell_link_weights", "int_expiries", "int_bound_steps", "int_replay_findings", "frame_states", "frame_lineage", "schema_evidence",
    "learned_schemas", "memory_records", "int_revoked_lineage", "skill_evidence", "learned_skills", "skill_lineage", "graph_nodes", "graph_edges",
)  # fmt: skip
# Seeds that reads of memory ask.
SEEDS = ("classifications", "consolidation_policies", "adjacencies")
# Models whose rows are put there for what is asked.
GIVEN = ("int_held", "int_reread", "int_offered_candidates")
# Rows put in the tables at a time, and rows of this process that may wait: some hundred megabytes.
AT_ONCE = 250_000
# More rows than this in a table that is emptied, and it is made anew: in memory, the space of single rows is not given back.
MANY = 10_000
ROWS = {"writer": polars.String, "seq": polars.Int64, "event": polars.String}
HELD: dict[str, Any] = {
    "stream": polars.String, "held_id": polars.String, "fingerprint": polars.String, "system": polars.String, "event_index": polars.Int64,
    "created_at": polars.Datetime("us"), "principal": polars.String, "session_id": polars.String,
}  # fmt: skip


class Projection:
    """The derived tables, as far as the log was read.

    Attributes:
        connection: the database in memory that holds them.
        read: how many rows of each stream were read from the log; those that this process wrote are mostly not.
    """

    def __init__(self, log: Path, heads: Path | None, *, until: Positions | None = None) -> None:
        """Derive the tables from all that is committed.

        Args:
            log: the folder of the log.
            heads: the folder of its heads, by default `heads` beside the log.
            until: no more of each stream than this, and nothing of others.

        Raises:
            InputError: the log cannot be read, or is damaged.
        """
        self._log, self._heads, self._until = log, heads, until
        self._seen: Positions = {}
        self.read: Counter[str] = Counter()
        self._pending: dict[str, list[tuple[str, int, bytes]]] = defaultdict(list)
        self._pending_held: dict[tuple[str, str], tuple[str, str | None]] = {}
        self._is_held_empty = True
        self._filled: Counter[str] = Counter()
        self.connection = open_memory()
        # What a checkpoint would write is in the log; without one, a big transaction ends in a tenth of the time.
        self.connection.execute("set checkpoint_threshold = '1 TB'")
        self._make_tables()
        self.catch_up()
        self._make_indexes()

    def catch_up(self) -> None:
        """Take in what was committed since, by whichever writer, and what waits.

        Raises:
            InputError: the log cannot be read, or is damaged.
        """
        self.read_others()
        for stream in KEYS:
            if self._pending[stream]:
                self._add(stream, self._pending[stream])
                del self._pending[stream]
        self._pending_held.clear()

    def read_others(self) -> None:
        """Take in what others have committed since; what this process wrote itself may go on waiting."""
        until = self._until
        rows = (row for row in rows_since(self._log, self._heads, self._seen, KEYS) if until is None or row.seq <= until.get((row.writer, row.stream), 0))
        for (writer, stream), of_one in groupby(rows, key=lambda row: (row.writer, row.stream)):
            while chunk := [(row.writer, row.seq, row.event) for row in islice(of_one, AT_ONCE)]:
                self._add(stream, chunk)
                self._seen[writer, stream] = chunk[-1][1]
                self.read[stream] += len(chunk)

    def take_in_decisions(self) -> None:
        """Take in the decisions, which only a graph shows: they are few, and read anew each time.

        Raises:
            InputError: the log cannot be read, or is damaged.
        """
        told = [(row.writer, row.seq, row.event.decode()) for row in rows_since(self._log, self._heads, {}, ["decisions"])]
        self.fill("main.stg_log_decisions", polars.DataFrame(told, ROWS, orient="row"))

    def reached(self) -> dict[str, int]:
        """How far each stream was read that says what memory holds."""
        return {f"{writer}/{stream}": seq for (writer, stream), seq in sorted(self._seen.items())}

    def wrote(self, writer: str, stream: str, seqs: range, events: Sequence[tuple[Mapping[str, Any], bytes]]) -> None:
        """Take note of what this process has just committed: each event, and as it was written."""
        if self._seen.get((writer, stream), 0) != seqs.start - 1:
            return  # other rows come before; the next reading of the log brings both
        self._seen[writer, stream] = seqs.stop - 1
        self._pending[stream] += [(writer, seq, encoded) for seq, (_, encoded) in zip(seqs, events, strict=True)]
        if len(self._pending[stream]) >= AT_ONCE:
            self.catch_up()
            return
        for event, _ in events:
            name = event[KEYS[stream]]
            # What binding asks for beside that it reads from the tables, and catches up before.
            self._pending_held[stream, name] = event["fingerprint"], event.get("system")

    def hold(self, wanted: Mapping[str, Collection[str]]) -> dict[tuple[str, str], str]:
        """Put in int_held what is held of these identifiers, {stream: ids}: all that the guards ask about.

        Returns:
            {(stream, id): fingerprint}.
        """
        waiting = self._pending_held
        keys = [key for stream, names in wanted.items() for name in names if (key := (stream, name)) in waiting] if waiting else []
        found = [(*key, *waiting[key], None, None, None, None) for key in keys]
        for stream, names in wanted.items():
            if names:
                of_a_cell = "system, event_index, created_at" if stream == "cells" else "null::varchar, null::bigint, null::timestamp"
                # As a parameter the list is looked up in the index; a join would read the whole table.
                sql = (
                    f"select '{stream}', {KEYS[stream]}, fingerprint, {of_a_cell}, principal, session_id "
                    f"from main.{stream} where {KEYS[stream]} in (select unnest($names))"
                )
                found += self.connection.execute(sql, {"names": list(names)}).fetchall()
        if found or not self._is_held_empty:
            self.fill("main.int_held", polars.DataFrame(found, HELD, orient="row"))
        self._is_held_empty = not found
        return {(stream, name): fingerprint for stream, name, fingerprint, *_ in found}

    def writers_of(self, stream: str, names: Collection[str]) -> dict[str, str]:
        """{id: the writer whose event of it counts}, of those of these identifiers that are in the tables."""
        sql = f"select {KEYS[stream]}, writer from main.{stream} where {KEYS[stream]} in (select unnest($names))"
        return dict(self.connection.execute(sql, {"names": list(names)}).fetchall())

    def fill(self, table: str, rows: polars.DataFrame) -> None:
        """Put rows in a table in place of all that it holds."""
        self._empty(table, self._filled[table])
        self._filled[table] = len(rows)
        if len(rows) == 1:
            # In half the time, and most writes are of one thing.
            self.connection.execute(f"insert into {table} values ({', '.join('?' * rows.width)})", rows.row(0))
        elif len(rows):
            self.connection.from_arrow(rows.__arrow_c_stream__()).insert_into(table)

    def _empty(self, table: str, size: int) -> None:
        if size > MANY:
            self.connection.execute(f"create or replace table {table} as from {table} limit 0")
        else:
            self.connection.execute(f"truncate {table}")

    def _add(self, stream: str, rows: Iterable[tuple[str, int, bytes]]) -> None:
        """Put new rows of a stream, (writer, seq, event), in the tables."""
        connection = self.connection
        told = polars.DataFrame([(writer, seq, event.decode()) for writer, seq, event in rows], ROWS, orient="row")
        connection.execute("begin")
        try:
            self.fill(f"fresh.stg_log_{stream}", told)
            connection.execute(f"insert into fresh.{stream} select * from fresh.{stream}__derived")
            if self._leave_out_what_is_there(stream):
                self._tell_again(stream)
            if stream == "cells":
                connection.execute("update fresh.cells set cell_number = cell_number + (select coalesce(max(cell_number), 0) from main.cells)")
                connection.execute("insert into main.cell_terms select * from fresh.cell_terms__derived")
            connection.execute(f"insert into main.{stream} select * from fresh.{stream}")
            if stream == "links":
                self._add_link_weights()
            for table in (f"fresh.stg_log_{stream}", f"fresh.{stream}"):
                self._empty(table, len(told))
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise

    def _leave_out_what_is_there(self, stream: str) -> bool:
        """Whether something was told of what is held already."""
        key = KEYS[stream]
        names = [name for (name,) in self.connection.execute(f"select {key} from fresh.{stream}").fetchall()]
        # As a parameter the list is looked up in the index.
        there = [
            name for (name,) in self.connection.execute(f"select {key} from main.{stream} where {key} in (select unnest($names))", {"names": names}).fetchall()
        ]
        if there:
            self.connection.execute(f"delete from fresh.{stream} where {key} in (select unnest($names))", {"names": there})
        return bool(there)

    def _tell_again(self, stream: str) -> None:
        """Where two writers have told of one identifier at once and the one read now was the first, put its row in the place of the other's."""
        connection, key = self.connection, KEYS[stream]
        earlier = [name for (name,) in connection.execute(f"select {key} from fresh.{stream}__earlier").fetchall()]
        if not earlier:
            return
        given = {"names": earlier}
        if stream == "cells":
            connection.execute(
                "delete from main.cell_terms where cell_number in (select cell_number from main.cells where cell_id in (select unnest($names)))", given
            )
        numbers = f" replace (cell_number + (select count(*) from fresh.{stream}__derived) as cell_number)" if stream == "cells" else ""
        connection.execute(f"create or replace temp table told_earlier as select *{numbers} from fresh.{stream}__earlier")
        connection.execute(f"delete from main.{stream} where {key} in (select unnest($names))", given)
        connection.execute(f"insert into fresh.{stream} select * from told_earlier")
        if stream == "links":
            # What the other one weighed is in the sums.
            connection.execute("truncate main.cell_link_weights")
            connection.execute("insert into main.cell_link_weights select * from main.cell_link_weights__derived")

    def _add_link_weights(self) -> None:
        self.connection.execute(
            "update main.cell_link_weights as held set link_weight = held.link_weight + fresh.link_weight "
            "from fresh.cell_link_weights__derived as fresh where held.cell_id = fresh.cell_id"
        )
        self.connection.execute(
            "insert into main.cell_link_weights select * from fresh.cell_link_weights__derived "
            "where cell_id not in (select cell_id from main.cell_link_weights)"
        )

    def _make_tables(self) -> None:
        connection = self.connection
        for stream in KEYS:
            connection.execute(f"create table main.stg_log_{stream} (writer varchar, seq bigint, event varchar)")
        connection.execute("create table main.stg_log_decisions (writer varchar, seq bigint, event varchar)")
        for stream in REFUSALS:
            connection.execute(f"create table main.int_judged_{stream} (place bigint, event varchar)")
        for model in GIVEN:
            connection.execute(f"create table main.{model} ({', '.join(f'{name} {kind}' for name, kind in columns(model).items())})")
        build(connection, [*KEYS, *DERIVED, *SEEDS, *REFUSALS.values()])
        connection.execute("create schema fresh")
        for stream in KEYS:
            connection.execute(f"create table fresh.stg_log_{stream} as from main.stg_log_{stream}")
            connection.execute(f"create table fresh.{stream} as from main.{stream}")
            moved = {f"stg_log_{stream}", EVENTS[stream]}
            connection.execute(f"create view fresh.{EVENTS[stream]} as {derivation(EVENTS[stream], moved, 'fresh')}")
            connection.execute(f"create view fresh.{stream}__derived as {derivation(stream, moved, 'fresh')}")
            self._make_earlier(stream)
        connection.execute(f"create view fresh.cell_terms__derived as {derivation('cell_terms', ['cells'], 'fresh')}")
        connection.execute(f"create view fresh.cell_link_weights__derived as {derivation('cell_link_weights', ['links'], 'fresh')}")
        connection.execute(f"create view main.cell_link_weights__derived as {derivation('cell_link_weights', [], 'fresh')}")

    def _make_earlier(self, stream: str) -> None:
        """Of what is told anew, what was told before the row that is held: both go through the model that says which of two is the first."""
        connection, key, events = self.connection, KEYS[stream], EVENTS[stream]
        connection.execute("create schema if not exists joint")
        fields = ", ".join(columns(events))
        # The words are one text in the event and a list in the table.
        held = fields.replace(" terms,", " array_to_string(terms, ' ') as terms,")
        connection.execute(
            f"create view joint.{events} as select {fields} from fresh.{events} where {key} in (select {key} from main.{stream}) "
            f"union all select {held} from main.{stream} where {key} in (select {key} from fresh.{events})"
        )
        connection.execute(f"create view joint.{stream} as {derivation(stream, [events], 'joint')}")
        connection.execute(
            f"create view fresh.{stream}__earlier as select told.* from joint.{stream} as told inner join main.{stream} as held using ({key}) "
            "where (told.writer, told.seq) <> (held.writer, held.seq)"
        )

    def _make_indexes(self) -> None:
        # A write asks for one identifier among a million; a scan would take longer than all the rest of it. Made last, since filling one row by row
        # takes longer than all the rest of opening.
        for stream, key in KEYS.items():
            self.connection.execute(f"create index {stream}_by_key on main.{stream} ({key})")
