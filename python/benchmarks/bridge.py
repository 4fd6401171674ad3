"""The bridge: from DuckDB to a tensor beside DuckDB's own export, what a second run encodes, and what adapters add to a forward pass of the full shape.

Run: python python/benchmarks/bridge.py   (about two minutes on an idle machine; 3 GB of memory)
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars
import torch

from governed_memory.bridge.adapter import SEEDED, AdapterConfig, Memory, MemoryAdapters
from governed_memory.bridge.encode import encode, memory_of
from governed_memory.bridge.facts import Fact
from governed_memory.bridge.needs import expect_installed
from governed_memory.bridge.runtime import FrozenModel, built
from governed_memory.warehouse import open_memory
from governed_memory.warehouse.encodings import Encodings

ROWS, SIZE, TOKENS, SLOTS = 20_000, 1024, 256, 32
WARMING = 30


def seconds(*steps: Callable[[], object], rounds: int) -> list[list[float]]:
    """What each step took, round by round; they take turns, so that what else the machine does meets them alike."""
    taken: list[list[float]] = [[] for _ in steps]
    for step in steps:
        warmed(step)
    for number in range(rounds):
        for place in sorted(range(len(steps)), reverse=bool(number % 2)):
            taken[place].append(timed(steps[place]))
    return taken


def timed(step: Callable[[], object]) -> float:
    begun = time.perf_counter()
    step()
    return time.perf_counter() - begun


def warmed(step: Callable[[], object]) -> None:
    """Run a step until three in a row are alike: first passes of a large model were seen to take ten times as long, with adapters or without."""
    last = [timed(step) for _ in range(3)]
    for _ in range(WARMING):
        if max(last) < 1.3 * min(last):
            return
        last = [*last[1:], timed(step)]


def export() -> None:
    """A column exported by DuckDB as Arrow, and the same rows found by name and checked, as the tensor that adapters get."""
    with open_memory() as connection:
        encodings = Encodings(connection, "m", SIZE)
        connection.execute(
            f"insert into encodings_{SIZE} select format('{{:064d}}', n), 'm', list_transform(range({SIZE}), lambda x: random()::float)::float[{SIZE}] "
            f"from range({ROWS}) as numbers(n)"
        )
        names = [f"{number:064d}" for number in range(ROWS)]
        shuffled = random.Random(0).sample(names, ROWS)
        column = f"select encoding from encodings_{SIZE}"
        taken = seconds(
            lambda: polars.DataFrame(connection.sql(column)),
            lambda: memory_of(encodings, names, torch.device("cpu")),
            lambda: memory_of(encodings, shuffled, torch.device("cpu")),
            rounds=15,
        )
    whole, tensor, shuffled_tensor = (statistics.median(one) for one in taken)
    print(f"export of the bare column {whole * 1000:.0f} ms; {ROWS} facts by name as a checked tensor:")
    for order, taken in (("as they are kept", tensor), ("shuffled", shuffled_tensor)):
        print(f"  {order} {taken * 1000:.0f} ms, {taken / whole:.2f} times as long")


def overhead(model: FrozenModel) -> None:
    """A forward pass of the full shape with adapters and without; in one thread, since several wait for each other where the machine has other work."""
    torch.set_num_threads(1)
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

    plain, with_memory = seconds(base, through, rounds=41)
    pairs = statistics.median(after / before - 1 for before, after in zip(plain, with_memory, strict=True))
    without, both = statistics.median(plain), statistics.median(with_memory)
    print(f"{TOKENS} tokens, {SLOTS} slots, 2 adapters, one thread: {without:.3f} s without, {both:.3f} s with: {100 * (both / without - 1):+.1f} %")
    print(f"  the median of the pairs {100 * pairs:+.1f} %; what two adapters take by themselves {1000 * by_itself(model, adapters, first.memory):.1f} ms")


def by_itself(model: FrozenModel, adapters: MemoryAdapters, memory: Memory) -> float:
    """What the adapters compute in one pass, without the base: less than a machine's noise shows beside it."""
    hidden = torch.randn(1, TOKENS, model.hidden_size, generator=torch.Generator().manual_seed(0)).to(model.device, model.dtype)

    def added() -> None:
        with torch.no_grad():
            for site in adapters.sites.values():
                torch.add(hidden, site(hidden, memory).to(hidden.dtype))

    [taken] = seconds(added, rounds=21)
    return statistics.median(taken)


def main() -> None:
    expect_installed()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    export()
    overhead(built("qwen3-0.6b", device="cpu"))
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
