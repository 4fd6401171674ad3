"""What each field of the profile answers: `python python/benchmarks/ablation.py`; with `--write` it writes the seed
field_ablation, which docs/ablation.md and the report show.

A fixed bank of questions (ablation_bank.jsonl, answers by hand) is put to the example store with one field taken out of every record, and to the whole store.
The answers are those of the governed read and of the rules: no model takes part, so the shares are the same in each run. The published figures beside them are
of model calls on other data; they say the same of a field only in kind. The store names a policy of its own, by the rank of a source: without one the reference
policy would hold (docs/rules.md), which the example store names anyway.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from governed_memory import warehouse
from governed_memory.host.configuration import INSIDE, OUTSIDE, Caller
from governed_memory.reads.ask import READS, Opened, Question, ask
from governed_memory.warehouse import StoreFile, literal, rows, rows_as_sql

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "seeds/profile/field_ablation.csv"
FIELDS = (
    "record_id", "valid_from", "valid_to", "source", "concept_owner", "owner_role", "conflict_policy", "applies_to", "does_not_apply_to", "release_to",
    "supersedes", "expected_concepts",
)  # fmt: skip
CALLERS = {name: Caller(name, (name,), OUTSIDE if name == "auditor" else INSIDE) for name in ("staff", "finance", "people", "board", "legal", "auditor")}
COLUMNS = (
    "field_id", "question_count", "right_without", "needing_count", "needing_right_without", "needing_right_with", "exposed_count", "published_without",
    "published_with",
)  # fmt: skip
# Of a kind of question, the fields without which it is meant to fail; the text's own pairs of field and trial.
NEEDS = {
    "past_date": ("valid_from", "supersedes"), "expired": ("valid_to",), "source": ("source",), "owner": ("concept_owner",), "role": ("owner_role",),
    "conflict": ("conflict_policy",), "scope_in": ("applies_to",), "scope_out": ("does_not_apply_to",), "release": ("release_to",),
    "restatement": ("supersedes",), "complete_update": ("supersedes",), "absent": ("expected_concepts",), "cited": ("record_id",),
}  # fmt: skip
# Of the sources that contradict each other; what the board decided comes first.
RANKS = {"FIN-T-01": 1, "FIN-T-02": 2, "FIN-T-03": 2, "FIN-T-04": 1}
Asked = dict[str, Any]


@cache
def bank() -> list[Asked]:
    """The questions, each with what is right."""
    return [json.loads(line) for line in (HERE / "ablation_bank.jsonl").read_text(encoding="utf-8").splitlines()]


def answered_without(field: str | None, folder: Path) -> list[tuple[Asked, bool, bool]]:
    """Each question, whether the store without that field answers it rightly, and whether it tells what it may not."""
    opened = _opened(field, folder)
    missing = {row["concept_id"] for row in rows(opened.connection, "select concept_id from expected_concept_missing")}
    return [(asked, *_judged(asked, opened, missing)) for asked in bank()]


def _opened(field: str | None, folder: Path) -> Opened:
    store = folder / f"without_{field}.jsonl"
    kept = [{key: value for key, value in record.items() if key != field} for record in _records()]
    store.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
    expected = [] if field == "expected_concepts" else [asked["concept"] for asked in bank() if asked["kind"] == "absent" and asked["is_gap"]]
    register = rows_as_sql("stg_expected_concepts", [{"store_id": "store", "concept_id": concept} for concept in expected])
    ranks = rows_as_sql("stg_sources", [{"store_id": "store", "source_id": source, "source_rank": rank} for source, rank in RANKS.items()])
    policy = None if field == "conflict_policy" else "source_rank"
    connection, _ = warehouse.open_store_file(
        StoreFile(str(store), {"written_by": "concept_owner"}, policy_id=policy, name="store"), {*READS, "expected_concept_missing", "records_as_of"},
        given={"stg_expected_concepts": register, "stg_sources": ranks},
    )  # fmt: skip
    return Opened(connection, ("store",), False)


def _judged(asked: Asked, opened: Opened, missing: set[str]) -> tuple[bool, bool]:
    """Whether the answer is right, and whether it tells a caller what they may not be told."""
    if asked["kind"] == "absent":
        return (asked["concept"] in missing) == asked["is_gap"], False
    if asked["kind"] in ("owner", "role"):
        return _responsible(opened, asked["concept"], asked["as_of"], asked["kind"]) == {asked["right"]}, False
    [answer] = ask(opened, [Question(asked["concept"], asked["as_of"], CALLERS[asked.get("caller", "staff")], tuple(asked.get("scope", ())))])
    told = answer["answer"] or {}
    if asked["kind"] == "source":
        return told.get("source") == asked["right"], False
    # A record without an identifier cannot be cited, so of what is told the value stands for it, except where the question is for what to cite.
    key = "record_id" if asked["kind"] == "cited" else "value"
    right = _value_of(asked["right"]) if key == "value" and asked["right"] else asked["right"]
    is_right = answer["outcome"] == asked["outcome"] and told.get(key) == right
    return is_right, asked["outcome"] == "refused" and bool(told or answer["sides"])


def _value_of(record_id: str) -> str:
    return next(record["value"] for record in _records() if record["record_id"] == record_id)


@cache
def _records() -> list[dict[str, Any]]:
    """Those of the example store, and what it lacks for some questions: rivals, corrections and what ended."""
    files = (ROOT / "stores/reference.jsonl", HERE / "ablation_records.jsonl")
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def _responsible(opened: Opened, concept: str, day: str, kind: str) -> set[str | None]:
    column = "concept_owner" if kind == "owner" else "owner_role"
    told = rows(opened.connection, f"select distinct {column} as who from records_as_of(date {literal(day)}) where concept_id = {literal(concept)}")
    return {row["who"] for row in told}


def results(folder: Path) -> Iterator[dict[str, Any]]:
    """A row for each field, in the order of the profile; shares in percent."""
    published = _published()
    whole = answered_without(None, folder)
    for field in FIELDS:
        without = answered_without(field, folder)
        needing = [number for number, (asked, _, _) in enumerate(whole) if field in NEEDS[asked["kind"]]]
        yield dict(zip(COLUMNS, (
            field, len(whole), _share(without, range(len(whole))), len(needing), _share(without, needing), _share(whole, needing),
            sum(is_exposed for _, _, is_exposed in without), *published[field],
        ), strict=True))  # fmt: skip


def _share(judged: Sequence[tuple[Asked, bool, bool]], places: Sequence[int] | range) -> str:
    return f"{100 * sum(judged[place][1] for place in places) / len(places):.1f}"


def _published() -> dict[str, tuple[str, str]]:
    with (ROOT / "seeds/profile/published_results.csv").open(encoding="utf-8", newline="") as file:
        figures = {(row["metric"], row["condition"]): row["value"] for row in csv.DictReader(file)}
    return {field: (figures[field, "without_field"], figures[field, "with_field"]) for field in FIELDS}


def main() -> None:
    """Print the table, or write it."""
    with tempfile.TemporaryDirectory() as folder, RESULTS.open("w", encoding="utf-8", newline="") if "--write" in sys.argv else sys.stdout as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(results(Path(folder)))


if __name__ == "__main__":
    main()
