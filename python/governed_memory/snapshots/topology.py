"""Whether everything that things of memory name is there; what names what is said by the model `unresolved_references` alone."""

from __future__ import annotations

from contextlib import closing
from itertools import groupby, islice
from pathlib import Path

import polars

from governed_memory.log import read_heads, rows_since
from governed_memory.warehouse import build, open_memory, rows

STREAMS = ("cells", "links", "annotations", "frames", "replays", "traces", "approvals", "proposals", "decisions")
AT_ONCE = 250_000
ROWS = {"writer": polars.String, "seq": polars.Int64, "event": polars.String}
HEADS = {"writer": polars.String, "stream": polars.String, "last_seq": polars.Int64, "pruned_seq": polars.Int64}


def unresolved(log: Path, heads: Path | None) -> str | None:
    """The first thing of memory that names what is not there, in one line that tells no value; None where there is none.

    Raises:
        InputError: the log cannot be read, or is damaged.
    """
    with closing(open_memory()) as connection:
        for stream in STREAMS:
            connection.execute(f"create table main.stg_log_{stream} (writer varchar, seq bigint, event varchar)")
        for stream, of_one in groupby(rows_since(log, heads, {}, STREAMS), key=lambda row: row.stream):
            while chunk := [(row.writer, row.seq, row.event.decode()) for row in islice(of_one, AT_ONCE)]:
                told = polars.DataFrame(chunk, ROWS, orient="row")
                connection.from_arrow(told.__arrow_c_stream__()).insert_into(f"main.stg_log_{stream}")
        reached = [
            (writer, stream, state.seq, state.pruned.seq if state.pruned else 0)
            for writer, head in read_heads(log, heads).items()
            for stream, state in head.streams.items()
        ]
        told = polars.DataFrame(reached, HEADS, orient="row")
        connection.execute("create table main.stg_log_heads (writer varchar, stream varchar, last_seq bigint, pruned_seq bigint)")
        connection.from_arrow(told.__arrow_c_stream__()).insert_into("main.stg_log_heads")
        build(connection, ["unresolved_references"])
        found = rows(connection, "select *, count(*) over () as count from main.unresolved_references order by all limit 1")
    if not found:
        return None
    [first] = found
    more = f", and {first['count'] - 1} more" if first["count"] > 1 else ""
    return f"{first['field']} of {first['object_id']!r} in {first['stream']} names {first['named_id']!r}, which is not in {first['named_stream']}{more}"
