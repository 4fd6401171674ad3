"""Memory at a million cells, beside tantivy and rank-bm25 on the same corpus: `python python/benchmarks/memory.py`, with GMEM_SHARED for ranking quality.

The corpus is made from seed 1: cells of twelve words each, drawn by Zipf's law (the word of rank r with weight 1 / r) from 50,000.
The questions are made from seed 2: twenty each of rare words (from rank 5,001), middling (101 to 5,000) and frequent ones (up to 100), of one to three words.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import polars
import rank_bm25
import tantivy

from governed_memory.host.configuration import Caller
from governed_memory.memory import MemoryStore, Sight
from governed_memory.memory.store import utc_now

CELLS = int(os.environ.get("GMEM_BENCH_CELLS", "1000000"))
BATCH = 50_000
SINGLES = 200
WORDS = 50_000
BANDS = {"rare": (5_001, WORDS), "middling": (101, 5_000), "frequent": (1, 100)}
WHO = {"principal": "bench", "session_id": "bench"}
SIGHT = Sight(Caller("bench", (), "inside"), "bench", utc_now())
WORD = re.compile(r"\w+")
Cell = dict[str, Any]
# A question's ten best, as places in the corpus.
Search = Callable[[str], list[int]]
Row = tuple[str, str, str]


def cells(count: int) -> list[Cell]:
    """The corpus, as programs would tell of it."""
    drawn, names = random.Random(1), [f"w{rank:05}" for rank in range(1, WORDS + 1)]
    weights = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))
    return [
        {
            "system": "episodic", "content": " ".join(drawn.choices(names, cum_weights=weights, k=12)), "source": f"ticket {number % 997}",
            "confidence": drawn.choice((0.3, 0.5, 0.7, 0.9)), "importance": drawn.choice((0.1, 0.25, 0.5)),
        }
        for number in range(count)
    ]  # fmt: skip


def questions() -> dict[str, list[str]]:
    """{band: its questions}."""
    drawn = random.Random(2)
    return {band: [" ".join(f"w{drawn.randint(*ranks):05}" for _ in range(1 + number % 3)) for number in range(20)] for band, ranks in BANDS.items()}


def appends(folder: Path, corpus: list[Cell]) -> list[Row]:
    """Batches through guards and log, and the same rows inserted plainly."""
    ours, plain = [], []
    with MemoryStore(folder / "memory") as store, duckdb.connect(str(folder / "plain.duckdb")) as connection:
        connection.execute("create table cells (system varchar, content varchar, source varchar, confidence double, importance double)")
        for batch in (corpus[start : start + BATCH] for start in range(0, len(corpus), BATCH)):
            plain.append(_seconds(lambda batch=batch: connection.from_arrow(polars.DataFrame(batch).__arrow_c_stream__()).insert_into("cells")))
            ours.append(_seconds(lambda batch=batch: store.write(batch, **WHO)))
    size = min(BATCH, len(corpus))
    rate, bulk = size / median(ours), size / median(plain)
    return [
        (f"appends, batches of {size:,}", f"{rate:,.0f} cells/s", f"(bar 50,000); {rate / bulk:.2f} of the plain insert (bar 0.2)"),
        ("the same, all batches with the tables they fill", f"{len(corpus) / sum(ours):,.0f} cells/s", ""),
        ("plain insert of the same rows into a DuckDB file", f"{bulk:,.0f} rows/s", ""),
    ]


def singles(store: MemoryStore) -> list[Row]:
    """Durable writes of one cell each."""
    told = [{"system": "episodic", "content": f"one more note, number {number}", "source": "me"} for number in range(SINGLES)]
    taken = sorted(_seconds(lambda one=one: store.write([one], **WHO)) for one in told)
    return [("a single durable write", _percentiles(taken), "(bar p50 10 ms)")]


def recalls(store: MemoryStore, corpus: list[Cell]) -> list[Row]:
    """The questions, each three times, put to memory and to the peers; rank-bm25 once."""
    asked = questions()
    rows = []
    ways: list[tuple[str, Callable[[str], object], int]] = [("recall", lambda query: store.recall(query, SIGHT), 3)]
    texts = [cell["content"] for cell in corpus]
    ways += [("tantivy", tantivy_search(texts), 3), ("rank-bm25", bm25_search(texts), 1)]
    for name, search, times in ways:
        taken = {
            band: sorted(_seconds(lambda search=search, query=query: search(query)) for query in of_band for _ in range(times))
            for band, of_band in asked.items()
        }
        everything = sorted(second for of_band in taken.values() for second in of_band)
        bands = ", ".join(f"{band} {median(of_band) * 1000:.1f}" for band, of_band in taken.items())
        rows.append(
            (f"{name}, best ten of {len(corpus):,}", _percentiles(everything), f"p50 by band in ms: {bands}" + (" (bar p50 50 ms)" if name == "recall" else ""))
        )
    return rows


def tantivy_search(texts: list[str]) -> Search:
    """BM25 by tantivy, its index in memory."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text")
    builder.add_unsigned_field("place", stored=True)
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for place, text in enumerate(texts):
        writer.add_document(tantivy.Document(text=text, place=place))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> list[int]:
        found = searcher.search(index.parse_query(" ".join(WORD.findall(query)), ["text"]), 10).hits
        return [searcher.doc(address)["place"][0] for _, address in found]

    return search


def bm25_search(texts: list[str]) -> Search:
    """BM25 by rank-bm25."""
    ranked = rank_bm25.BM25Okapi([WORD.findall(text.lower()) for text in texts])

    def search(query: str) -> list[int]:
        scores = ranked.get_scores(WORD.findall(query.lower()))
        best = scores.argsort()[::-1][:10]
        return [int(place) for place in best if scores[place] > 0]

    return search


def memory_search(folder: Path, texts: list[str]) -> Search:
    """Recall; cells are told in the order of the texts."""
    store = MemoryStore(folder / "quality")
    told = [{"cell_id": f"{place:06}", "system": "episodic", "content": text, "source": "corpus"} for place, text in enumerate(texts)]
    assert all(outcome.outcome == "written" for outcome in store.write(told, **WHO))
    return lambda query: [int(cell["cell_id"]) for cell in store.recall(query, SIGHT)]


def quality(folder: Path, data: Path) -> list[Row]:
    """nDCG@10 of the three on real titles and definitions.

    The corpus is the value of every record of peps, metric_hub and datahub. A question is three words (of three letters or more) of a title, drawn
    from seed 3, in its order: of a PEP's title (its value up to the first full stop), of a metric's friendly_name, of what stands before the colon of
    a catalogue's definition. What counts as relevant is every record of the title's concept, and nothing else.
    """
    records = [json.loads(line) for name in ("peps", "metric_hub", "datahub") for line in (data / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    labelled = dict(_labelled(records))
    texts = [record["value"] or "" for record in records]
    told = f"{len(labelled)} questions on {len(texts):,} records"
    searches = {"recall": memory_search(folder, [text or "-" for text in texts]), "tantivy": tantivy_search(texts), "rank-bm25": bm25_search(texts)}
    return [
        (f"{name}, nDCG@10", f"{sum(_ndcg(search(query), relevant) for query, relevant in labelled.items()) / len(labelled):.3f}", told)
        for name, search in searches.items()
    ]


def _labelled(records: list[Cell]) -> Iterator[tuple[str, set[int]]]:
    drawn = random.Random(3)
    places: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        places.setdefault(record["concept"], []).append(place)
    for of_concept in places.values():
        words = [word for word in WORD.findall(_title(records[of_concept[0]])) if len(word) > 2]
        if len(words) >= 3:
            yield " ".join(words[place] for place in sorted(drawn.sample(range(len(words)), 3))), set(of_concept)


def _title(record: Cell) -> str:
    value = record["value"] or ""
    if record["record_id"].startswith("pep-"):
        return value.split(". ")[0]
    if value.startswith("{"):
        return str(json.loads(value).get("friendly_name") or "")
    return value.split(":")[0] if ": " in value else ""


def _ndcg(found: list[int], relevant: set[int]) -> float:
    gained = sum(1 / math.log2(place + 2) for place, one in enumerate(found) if one in relevant)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _percentiles(taken: list[float]) -> str:
    return f"p50 {median(taken) * 1000:.1f} ms, p95 {taken[int(len(taken) * 0.95)] * 1000:.1f} ms"


def main() -> None:
    """Measure everything and print a table."""
    load, corpus = os.getloadavg()[0], cells(CELLS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = appends(folder, corpus)
        started = time.perf_counter()
        with MemoryStore(folder / "memory") as store:
            rows.append(
                (
                    f"opening a memory of {len(corpus):,} cells",
                    f"{time.perf_counter() - started:.1f} s",
                    f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB",
                )
            )
            rows += singles(store) + recalls(store, corpus)
        if data := os.environ.get("GMEM_SHARED"):
            rows += quality(folder, Path(data) / "data")
    print(f"load {load:.1f} when it began, {os.getloadavg()[0]:.1f} when it ended; {os.cpu_count()} cores, DuckDB {duckdb.__version__}")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))


if __name__ == "__main__":
    main()
