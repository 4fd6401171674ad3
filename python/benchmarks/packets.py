"""Packets at size, and what choosing in two stages supplies: `python python/benchmarks/packets.py`, with GMEM_SHARED for the size of compact lines.

The store has a million records as big_store makes them, with values of twelve words each; the memory has a tenth as many cells of the same words. The words are
those of memory.py, and so are the questions: rare, middling and frequent ones, twenty of each. Questions of two stages are those of question_bank.jsonl.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from statistics import mean, median
from typing import Any

import duckdb
from big_store import records
from memory import WHO, WORDS, cells, questions

from governed_memory import warehouse
from governed_memory.host.configuration import Caller
from governed_memory.host.keys import read_keys
from governed_memory.memory import MemoryStore
from governed_memory.memory.terms import query_terms
from governed_memory.packets import PacketRequest, build_packet
from governed_memory.packets.choice import SCALE, Item, chosen, first_fit, total
from governed_memory.packets.export import every_concept_of, export_packets
from governed_memory.packets.search import READS
from governed_memory.packets.units import CHARACTERS
from governed_memory.reads.ask import READS as ASKED
from governed_memory.reads.ask import Opened, open_to_ask
from governed_memory.reads.released import INDEX, released
from governed_memory.warehouse import StoreFile

RECORDS = int(os.environ.get("GMEM_BENCH_RECORDS", "1000000"))
PACKETS = 10_000
BUDGET = 4000
DAY = "2023-06-15"
HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "stores" / "reference.jsonl"
CALLER = Caller("auditor", ("audit",), "inside")
Row = tuple[str, str, str]


def worded(path: Path) -> Path:
    """The store, with words for values."""
    drawn, names = random.Random(4), [f"w{rank:05}" for rank in range(1, WORDS + 1)]
    weights = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))
    with path.open("w", encoding="utf-8") as file:
        for record in records(RECORDS):
            file.write(json.dumps({**record, "value": " ".join(drawn.choices(names, cum_weights=weights, k=12))}) + "\n")
    return path


def built(store: Path, database: Path) -> Opened:
    """What packets read of the store, in a database file."""
    with duckdb.connect(str(database)) as connection:
        connection.execute("set disabled_compression_methods = 'dict_fsst'")
        connection.execute("set TimeZone = 'UTC'")
        attached = warehouse.attach(connection, StoreFile(str(store), {"written_by": "concept_owner"}, name="s"))
        warehouse.build(connection, {*ASKED, *READS, "int_segments", "record_intervals_built"}, empty={"record_ledger"}, constants=attached.constants)
    return Opened(warehouse.open_built(str(database)), ("s",), True)


def single_packets(opened: Opened, memory: MemoryStore) -> Iterator[Row]:
    """One packet after the other."""
    every: list[float] = []
    for band, asked in questions().items():
        taken, groups = [], []
        for query in asked:
            request = PacketRequest(CALLER, DAY, query=query, session_id=WHO["session_id"], budget=BUDGET)
            started = time.perf_counter()
            packet = build_packet(request, opened, memory=memory)
            taken.append(time.perf_counter() - started)
            groups.append(len(packet.manifest["groups"]))
        every += taken
        yield f"one packet, {band} words", f"p50 {median(taken) * 1000:.1f} ms", f"{mean(groups):.1f} groups"
    yield "one packet over the mix", f"p50 {median(every) * 1000:.1f} ms, p95 {sorted(every)[int(len(every) * 0.95)] * 1000:.1f} ms", "(bar p50 50)"


def exported(opened: Opened, folder: Path) -> Row:
    """Many packets in one pass."""
    for command in (
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", "k.pem"],
        ["openssl", "pkey", "-in", "k.pem", "-pubout", "-out", "k.pub.pem"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    keys = read_keys(str(folder / "host.yml"), {"active": "k", "k": {"algorithm": "ed25519", "file": "k.pem", "public_file": "k.pub.pem"}})
    callers = [CALLER, Caller("finance", ("finance",), "inside")]
    like = PacketRequest(CALLER, DAY, concepts=every_concept_of(opened, None)[: PACKETS // len(callers)])
    started = time.perf_counter()
    made = export_packets(folder / "out", opened, callers, like, keys, every_concept=False, unit=CHARACTERS)
    return f"export of {made.count:,} packets for 2 callers", f"{made.count / (time.perf_counter() - started):,.0f} packets/s", "(bar 500)"


def choice() -> Row:
    """Chosen groups beside the exact optimum and first-fit, on 1,000 random cases of up to 20 groups."""
    ours, first, least = [], [], 1.0
    for number in range(1000):
        source = random.Random(number)
        items = sorted((Item(source.random(), source.randint(20, 400)) for _ in range(source.randint(1, 20))), key=lambda item: -item.score)
        budget = source.randint(400, 2500)
        best = _optimum(items, budget)
        ours.append(total(items, chosen(items, budget)) / best)
        first.append(total(items, first_fit(items, budget)) / best)
        least = min(least, ours[-1])
    return (
        "objective, share of the exact optimum",
        f"least {least:.4f}, mean {mean(ours):.4f}",
        f"(bar 0.99); first-fit {min(first):.3f}, {mean(first):.3f}",
    )


def _optimum(items: list[Item], budget: int) -> int:
    sums = {budget - items[0].size: round(items[0].score * SCALE)}
    for item in items[1:]:
        for left, gained in list(sums.items()):
            if item.size <= left:
                sums[left - item.size] = max(sums.get(left - item.size, 0), gained + round(item.score * SCALE))
    return max(sums.values())


def compact_lines(data: Path) -> Row:
    """The packet of every concept of a real store, beside the same records as JSON Lines."""
    store = data / "peps.jsonl"
    opened = open_to_ask(StoreFile(str(store), policy_id="latest_valid_from", name="peps"), reads=READS)
    packet = build_packet(PacketRequest(Caller("reader", ("public",), "inside"), "2024-06-01", concepts=every_concept_of(opened, None)), opened)
    told = {member["id"] for group in packet.manifest["groups"] for member in group["members"]}
    lines = [line for line in store.read_text(encoding="utf-8").splitlines(keepends=True) if json.loads(line)["record_id"] in told]
    share = 1 - len(packet.text) / sum(map(len, lines))
    return f"compact lines of {len(lines)} records of peps.jsonl", f"{share:.1%} smaller than their JSON Lines", "(bar 40 %)"


def two_stages() -> Iterator[Row]:
    """Everything at once, against an index without values and then what was chosen of it; the choice takes the words that a concept's name has."""
    opened = open_to_ask(StoreFile(str(EXAMPLE), policy_id="latest_valid_from", name="example"), reads=READS)
    bank = [json.loads(line) for line in (HERE / "question_bank.jsonl").read_text(encoding="utf-8").splitlines()]
    figures: dict[str, list[tuple[float, int, int]]] = {"all at once": [], "chosen by words of the name": [], "chosen by who knows": []}
    for asked in bank:
        caller = Caller("k", (asked.get("caller", "staff"),), "inside")
        scope, needed = tuple(asked.get("scope", ())), set(asked["needed"])
        index = released(opened, caller, asked["as_of"], scope=scope, fields=INDEX)
        for how, ids in (
            ("all at once", [entry["record_id"] for entry in index]),
            ("chosen by words of the name", _by_words(asked["question"], index)),
            ("chosen by who knows", asked["needed"]),
        ):
            request = PacketRequest(caller, asked["as_of"], ids=tuple(ids) or ("none",), scope=scope)
            packet = build_packet(request, opened)
            told = {member["id"] for group in packet.manifest["groups"] for member in group["members"]}
            figures[how].append((len(needed & told) / len(needed), len(told), len(packet.text) if told else 0))
    for how, of_one in figures.items():
        recall, count, characters = (mean(column) for column in zip(*of_one, strict=True))
        yield f"{len(bank)} questions, {how}", f"recall of needed records {recall:.3f}", f"{count:.1f} records, {characters:,.0f} characters"


def _by_words(question: str, index: list[dict[str, Any]]) -> list[str]:
    words = set(query_terms(question))
    shares = {entry["record_id"]: len(words & (names := set(query_terms(entry["concept"])))) / len(names) for entry in index}
    best = max(shares.values(), default=0.0)
    return [name for name, share in shares.items() if share == best and best > 0]


def main() -> None:
    """Measure everything and print a table."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        opened = built(worded(folder / "s.jsonl"), folder / "s.duckdb")
        with MemoryStore(folder / "memory") as memory:
            memory.write(cells(RECORDS // 10), **WHO)
            rows = [*single_packets(opened, memory), exported(opened, folder)]
    rows += [choice(), *two_stages()]
    if data := os.environ.get("GMEM_SHARED"):
        rows.append(compact_lines(Path(data) / "data"))
    print(f"load {load:.1f} before, {os.getloadavg()[0]:.1f} after; {os.cpu_count()} cores, DuckDB {duckdb.__version__}, Python {sys.version.split()[0]}")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))


if __name__ == "__main__":
    main()
