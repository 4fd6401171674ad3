"""G7, C22, C31: of generated stores, whatever a caller may not see carries a mark in every text; no mark is in an answer, an explanation or an error.

The other ways to ask have tests of their own: test_sandbox.py, test_publish.py, test_mcp.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import answer_oracle
import oracle
import pytest
from answer_oracle import Caller as Told
from generated import examples
from harness import build_time
from test_answers_against_oracle import governed_parts, governed_store
from test_intervals_against_oracle import FIRST, batch_file, day

from governed_memory import cli
from governed_memory.host.configuration import Caller
from governed_memory.reads.ask import Opened, Question, ask, explain

__all__ = ["batch_file"]

MARK = "zqx"
CALLERS = (Caller("k", ("sales",), "inside"), Caller("k", (), "inside"), Caller("k", ("sales",), "outside"))


def marked(store: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """The store, with a mark in the identifier, value, source and owner of each record that the caller may not see, and in what points at them."""
    told = Told(frozenset(caller.parties), caller.boundary == "inside")
    hidden = {row.record_id for row in oracle.rows_of(store) if row.record_id is not None and not answer_oracle.is_visible(store, row, told)} - {
        row.record_id for row in oracle.rows_of(store) if answer_oracle.is_visible(store, row, told)
    }
    records = []
    for record in store["records"]:
        targets = [f"{name}{MARK}" if name in hidden else name for name in oracle.names(record.get("supersedes"))]
        changed = {**record, "supersedes": targets}
        if record.get("record_id") in hidden:
            changed |= {name: f"{record.get(name)}{MARK}" for name in ("record_id", "value", "source", "concept_owner")}
        records.append(changed)
    return {**store, "records": records, "first_built": {}}


@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: f"{caller.boundary}-{len(caller.parties)}")
def test_no_mark_in_answers_and_explanations_G7(batch_file: Path, caller: Caller) -> None:
    seen = {"marks": 0, "answers": 0}

    for batch in examples(3, lambda source: [governed_parts(source) for _ in range(25)]):
        stores = [marked(governed_store(number, parts), caller) for number, parts in enumerate(batch)]
        seen["marks"] += json.dumps([store["records"] for store in stores]).count(MARK)
        connection = build_time(stores, batch_file, {"int_segments"})
        opened = Opened(connection, tuple(store["store_id"] for store in stores), True)
        questions = [
            Question(concept, day(step), caller, scope, known_on)
            for concept in ("c", "d")
            for step in range(-1, 6)
            for scope in ((), ("x",), ("x", "y"))
            for known_on in (None, (FIRST + oracle.DAY * 3).isoformat())
        ]
        told = [ask(opened, questions), [explain(opened, question) for question in questions[::3]]]
        seen["answers"] += len(told[0]) * len(stores)
        assert MARK not in json.dumps(told)
        connection.close()
    assert seen["marks"] > 50 and seen["answers"] > 1000


def test_no_mark_in_what_the_command_prints_C22(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """C22: A is public, B supersedes it and is for the board; staff is refused, is told of neither, and gets A no more."""
    store, host = tmp_path / "store.jsonl", tmp_path / "host.yml"
    records = [
        {"record_id": "A", "concept": "fee", "value": "old fee", "valid_from": "2026-01-01", "valid_to": None, "source": "P"},
        {
            "record_id": f"B{MARK}", "concept": "fee", "value": f"new fee {MARK}", "valid_from": "2026-03-07", "valid_to": None, "source": f"S{MARK}",
            "supersedes": "A", "release_to": ["board"], "concept_owner": f"owner{MARK}",
        },
    ]  # fmt: skip
    store.write_text("".join(json.dumps(record) + "\n" for record in records))
    host.write_text("callers:\n    staff: {parties: [staff], boundary: inside}\n")
    for more in (
        [],
        ["--json"],
        ["--explain"],
        ["--explain", "--json"],
        ["--scope", "x", "--scope", "y"],
        ["--known-on", "2026-06-01"],
        ["--map", "value=nix"],
    ):
        cli.main(["ask", "fee", "--as-of", "2026-04-01", "--caller", "staff", "--store", str(store), "--host", str(host), *more])
        printed = capfd.readouterr()
        for text in (MARK, "2026-03-07", "old fee"):
            assert text not in printed.out + printed.err, (more, text)
    assert cli.main(["ask", "fee", "--as-of", "2026-04-01", "--caller", "staff", "--store", str(store), "--host", str(host), "--json"]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert (answer["outcome"], answer["withheld_records"], answer["stable_until"]) == ("refused", 1, None)
    assert set(answer["reasons"]) == {"superseded", "no_authoritative_record", "not_released"}


def test_not_held_withheld_and_not_searched_are_three_answers_C31(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, host = tmp_path / "store.jsonl", tmp_path / "host.yml"
    records = [
        {"record_id": "A", "concept": "arr", "value": "1", "valid_from": "2026-01-01", "valid_to": None},
        {"record_id": "N", "concept": "nps", "value": "2", "valid_from": "2026-01-01", "valid_to": None, "release_to": ["board"]},
    ]
    store.write_text("".join(json.dumps(record) + "\n" for record in records))
    host.write_text("callers:\n    staff: {parties: [staff], boundary: inside}\n")
    told = {}
    for concept in ("arr", "churn", "nps"):
        assert cli.main(["ask", concept, "--as-of", "2026-04-01", "--caller", "staff", "--store", str(store), "--host", str(host), "--json"]) == 0
        told[concept] = json.loads(capsys.readouterr().out)
    assert told["arr"]["outcome"] == "answered"
    assert (told["churn"]["outcome"], told["churn"]["reasons"], told["churn"]["withheld_records"]) == ("empty", ["not_held"], 0)
    assert (told["nps"]["outcome"], told["nps"]["withheld_records"]) == ("refused", 1)
    assert told["churn"]["coverage"] == {"searched": ["store"], "not_searched": []}
