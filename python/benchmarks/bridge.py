"""The bridge: from DuckDB to a tensor beside DuckDB's own export, what a second run encodes, and what adapters add to a forward pass of the full shape.

Run: python python/benchmarks/bridge.py   (about two minutes; 3 GB of memory)
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars
import torch

from governed_memory.bridge.adapter import SEEDED, AdapterConfig, MemoryAdapters
from governed_memory.bridge.encode import encode, memory_of
from governed_memory.bridge.facts import Fact
from governed_memory.bridge.needs import expect_installed
from governed_memory.bridge.runtime import FrozenModel, built
from governed_memory.warehouse import open_memory
from governed_memory.warehouse.encodings import Encodings

ROWS, SIZE, TOKENS, SLOTS = 20_000, 1024, 256, 32


def seconds(*steps: Callable[[], object], rounds: int) -> list[float]:
    """The median of each step; they take turns, so that what else the machine does meets them alike."""
    taken: list[list[float]] = [[] for _ in steps]
    for step in steps:
        step()
    for number in range(rounds):
        for place in sorted(range(len(steps)), reverse=bool(number % 2)):
            begun = time.perf_counter()
            steps[place]()
            taken[place].append(time.perf_counter() - begun)
    return [statistics.median(one) for one in taken]


def export() -> None:
    """The same rows in the same order: exported by DuckDB as Arrow, and as the tensor that adapters get."""
    with open_memory() as connection:
        encodings = Encodings(connection, "m", SIZE)
        connection.execute(
            f"insert into encodings_{SIZE} select format('{{:064d}}', n), 'm', list_transform(range({SIZE}), lambda x: random()::float)::float[{SIZE}] "
            f"from range({ROWS}) as numbers(n)"
        )
        names = [f"{number:064d}" for number in range(ROWS)]
        column = f"select encoding from encodings_{SIZE}"

        def wanted() -> object:
            relation = encodings.relation(names)
            return polars.DataFrame(relation)

        whole, same, tensor = seconds(
            lambda: polars.DataFrame(connection.sql(column)), wanted, lambda: memory_of(encodings, names, torch.device("cpu")), rounds=9
        )
    print(f"load {os.getloadavg()[0]:.1f}")
    print(f"export of the whole column {whole * 1000:.0f} ms; of {ROWS} facts by name {same * 1000:.0f} ms; to a checked tensor {tensor * 1000:.0f} ms")
    print(f"  tensor over export by name: {tensor / same:.2f}; over export of the column: {tensor / whole:.2f}")


def overhead(model: FrozenModel) -> None:
    """A forward pass of the full shape with adapters and without."""
    facts = [Fact(f"F{number}", "s", "concept", f"value {number}") for number in range(SLOTS)]
    with tempfile.TemporaryDirectory() as folder:
        first = encode(facts, model, "base", Path(folder, "e.duckdb"))
        second = encode(facts, model, "base", Path(folder, "e.duckdb"))
    print(f"encoded by the first run {first.encoded}, by the second {second.encoded}")
    adapters = MemoryAdapters(AdapterConfig(model.hidden_size, (9, 18), gate=SEEDED))
    ids = torch.randint(0, 256, (1, TOKENS), generator=torch.Generator().manual_seed(0)).to(model.device)

    def base() -> None:
        with torch.no_grad():
            model.last_hidden(ids)

    def through() -> None:
        with torch.no_grad(), adapters.attached(model, first.memory, measured=False):
            model.last_hidden(ids)

    plain, with_memory = seconds(base, through, rounds=3)
    print(f"{TOKENS} tokens, {SLOTS} slots, 2 adapters: {plain:.3f} s without, {with_memory:.3f} s with: {100 * (with_memory / plain - 1):+.1f} %")


def main() -> None:
    expect_installed()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    export()
    overhead(built("qwen3-0.6b", device="cpu"))
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
