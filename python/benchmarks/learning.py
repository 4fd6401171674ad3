"""Learning at a million frames and a million traces, and ten thousand approvals in one batch: `python python/benchmarks/learning.py`.

Frames and traces are put in the tables of an open memory by SQL, since writing a million of each through the guards is what memory.py times: frames of two
cells each, ten of a signature, all replayed; traces of three calls and one cell each, ten of a signature, of which two failed. All is read on two threads.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from governed_memory.host.configuration import Caller
from governed_memory.host.keys import Keys, private_key, public_keys
from governed_memory.log import utc_now
from governed_memory.memory import MemoryStore, Sight
from governed_memory.memory.approvals import asked_across, signed
from governed_memory.warehouse import fragment

EVIDENCE = int(os.environ.get("GMEM_BENCH_EVIDENCE", "1000000"))
APPROVALS = int(os.environ.get("GMEM_BENCH_APPROVALS", "10000"))
OF_A_SIGNATURE = 10
CALLER = Caller("kim", ("support",), "inside", True, role="knowledge_steward")
Row = tuple[str, str, str]

WRITTEN = "'ann' as principal, 's' as session_id, timestamp '2026-09-01' as recorded_at"
FOR_ALL = "0.5 as confidence, []::varchar[] as release_to, false as is_restricted, 'ann' as principal, 's' as session_id, timestamp '2026-09-01' as recorded_at"
CELLS = f"""
    select i as cell_number, 'c' || i as cell_id, 'episodic' as system, 'x' as content, []::varchar[] as source_ids, sha256('c' || i) as fingerprint, {FOR_ALL}
    from range(2 * $count) as told (i)"""
FRAMES = f"""
    select
        'f' || i as frame_id, 'scene ' || i % ($count // {OF_A_SIGNATURE}) as scene, ['printer', 'tray'] as entities, 'print' as goal, 'restart' as action,
        'it prints' as outcome, []::varchar[] as cues, 'source' as order_from, sha256('f' || i) as fingerprint, {WRITTEN},
        [
            {{'position': 1, 'cell_id': 'c' || 2 * i, 'cell_fingerprint': 'x'}},
            {{'position': 2, 'cell_id': 'c' || (2 * i + 1), 'cell_fingerprint': 'x'}}
        ] as steps
    from range($count) as told (i)"""
REPLAYS = f"select 'r' || i as replay_id, 'f' || i as frame_id, true as is_complete, 2 as verified_steps, {WRITTEN} from range($count) as told (i)"
TRACES = f"""
    select
        't' || i as trace_id, 'skill ' || i % ($count // {OF_A_SIGNATURE}) as skill, ['printer is on'] as conditions, []::varchar[] as planned_tools,
        i // ($count // {OF_A_SIGNATURE}) < {OF_A_SIGNATURE - 2} as succeeded, if(succeeded, null, 'no power') as failure_reason, 'runner' as executor,
        timestamp '2026-09-01' + to_seconds(i) as ended_at, ['c' || i] as source_ids, sha256('t' || i) as fingerprint, {FOR_ALL},
        list_transform(
            ['look', 'open', 'restart'],
            lambda tool, place: {{'tool': tool, 'inputs_hash': 'i' || i, 'result_hash': 'r', 'succeeded': succeeded or place < 3}}
        ) as steps
    from range($count) as told (i)"""


def candidates(store: MemoryStore, sight: Sight) -> list[Row]:
    """How long it takes to read all candidates of each kind."""
    connection = store._projection.connection
    connection.execute("set threads = 2")
    rows = []
    for what, tables, read in (
        ("frames", {"cells": CELLS, "frames": FRAMES, "replays": REPLAYS}, "candidates_read"),
        ("traces", {"traces": TRACES}, "skill_candidates_read"),
    ):
        for table, sql in tables.items():
            connection.execute(f"insert into main.{table} by name {sql}", {"count": EVIDENCE})
        counted = f"select count(*), max(candidate_fingerprint), sum(confidence) from ({fragment(read)})"
        found, took = _timed(partial(_first, connection, counted, asked_across(sight)))
        rows.append((f"candidates of {EVIDENCE:,} {what}", took, f"{found[0]:,} found (bar 5 s)"))
    return rows


def approvals(store: MemoryStore, sight: Sight, key: Keys, approvers: Keys) -> list[Row]:
    """How long it takes to approve many candidates in one batch."""
    connection = store._projection.connection
    for table in ("frames", "traces", "replays", "cells"):
        connection.execute(f"truncate main.{table}")
    for table, sql in {"cells": CELLS, "frames": FRAMES, "replays": REPLAYS}.items():
        connection.execute(f"insert into main.{table} by name {sql}", {"count": APPROVALS * OF_A_SIGNATURE})
    found = store.candidates(sight)
    one = store.statement("approve", found[0]["candidate_fingerprint"], sight, reason="seen ten times")
    named = ("candidate_fingerprint", "evidence_fingerprint", "frame_ids")
    said = [one | {name: candidate[name] for name in named} | {"cell_id": f"schema_{candidate['candidate_fingerprint']}"} for candidate in found]
    handed, of_signing = _timed(lambda: [signed(statement, CALLER, key) for statement in said])
    outcomes, took = _timed(lambda: store.decide("approve", handed, sight, approvers))
    became = ", ".join(f"{count:,} {outcome}" for outcome, count in Counter(outcome.outcome for outcome in outcomes).items())
    return [(f"{len(said):,} approvals in one batch", took, f"{became} (bar 10 s); signing them, {of_signing}, is not counted")]


def keys(folder: Path) -> tuple[Keys, Keys]:
    """A principal's own key, and the host's list of public ones."""
    made = Ed25519PrivateKey.generate()
    own, public = folder / "kim.pem", folder / "kim.pub.pem"
    own.write_bytes(made.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    public.write_bytes(made.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
    return private_key("kim", str(own)), public_keys("the benchmark", {"kim": str(public)})


def _first(connection: duckdb.DuckDBPyConnection, sql: str, asked: dict[str, Any]) -> Any:
    return connection.execute(sql, asked).fetchone()


def _timed(asked: Callable[[], Any]) -> tuple[Any, str]:
    """What was asked for, and how long it took; the work of all threads too, which other processes of the machine do not make longer by waiting."""
    start, worked = time.perf_counter(), time.process_time()
    found = asked()
    return found, f"{time.perf_counter() - start:.1f} s ({time.process_time() - worked:.1f} s of work)"


def main() -> None:
    """Print a table of what was measured."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "memory") as store:
        sight = Sight(CALLER, None, utc_now(), True)
        rows = candidates(store, sight) + approvals(store, sight, *keys(Path(folder)))
    print("| what | takes | |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(f"\nLoad of the machine when it began: {load:.1f}.")


if __name__ == "__main__":
    main()
