"""`gmem bridge gate`: the five-candidate gate, with the published figures beside ours (rule M12)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from governed_memory.bridge.needs import expect_installed
from governed_memory.bridge.recorded import GATES, expect_writable, record
from governed_memory.memory.options import instant_of

COLUMNS = ("method", "parameters", "without", "with memory", "wrong context", "drop", "norm ratio", "base")
# As the paper reports its own adapters on a trained Qwen3, over three seeds.
PUBLISHED = ("published adapters", "", "0.2049 +- 0.0028", "1.0000", "", "0.8000 +- 0.0000", "1.1270", "")


def register(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `gate` to the verbs of `bridge`."""
    parser = verbs.add_parser("gate", help="train memory adapters on five candidates, beside MLP adapters, LoRA and prefix tuning, and append the outcome")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="how many seeds (default 3)")
    parser.add_argument("--steps", type=int, default=500, metavar="N", help="steps of training, of each method and seed (default 500)")
    parser.add_argument("--runs", default="bridge", metavar="DIR", help="where outcomes are kept (default bridge)")
    parser.add_argument("--now", metavar="INSTANT", help="when it was run (default: the clock)")
    parser.add_argument("--json", action="store_true", help="the outcome as one JSON object")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    folder, now = Path(arguments.runs), instant_of(arguments.now)
    expect_installed(with_peft=True)
    from governed_memory.bridge.gate import GateRequest, gate

    request = GateRequest(arguments.seeds, arguments.steps)
    expect_writable(folder)
    done = gate(request, now)
    record(folder, done, GATES)
    if arguments.json:
        print(json.dumps(done))
    else:
        print("\n".join(told(done)))
        print(f"kept in {folder / GATES}")
    return 0 if done["is_passed"] else 1


def told(gate: Mapping[str, Any]) -> Iterator[str]:
    """A gate as a table in words."""
    chance = 1 / gate["candidates"]
    yield f"gate {gate['gate_id']}: {gate['candidates']} candidates, {gate['seeds']} seeds, {gate['steps']} steps on {gate['learned']} cases"
    yield f"  {gate['model_type']} of {gate['parameter_count']} parameters, random weights, frozen; {gate['parameter_budget']} parameters to train"
    yield f"  accuracy on {gate['asked']} other cases, where chance is {chance:.4f}"
    rows = [COLUMNS, *(_cells(method) for method in gate["methods"]), PUBLISHED]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    yield from (f"  {_line(row, widths)}" for row in rows)
    followed = ", ".join(f"{method['method']} {method['wrong_context_followed']['mean']:.4f}" for method in gate["methods"])
    yield f"  wrong context: another case's memory, which says each candidate equally often; answers that follow it: {followed}"
    yield "  only the memory adapters have a path for memory; the others get the same slot as a last token, and without it their prompt alone"
    yield "  the published figures are of another, trained model and its own task: they stand beside ours, and neither confirms the other"
    yield "  that methods reach the ceiling of a local task proves no superiority of any, here as in the paper, whose four all did"
    yield "passed" if gate["is_passed"] else "NOT passed"


def _cells(method: Mapping[str, Any]) -> tuple[str, ...]:
    is_same = all(one["base_sha256_before"] == one["base_sha256_after"] for one in method["each_seed"])
    names = ("accuracy_without", "accuracy_with", "accuracy_wrong_context", "wrong_context_drop", "hidden_norm_ratio")
    measures = (_measure(method[name]) for name in names)
    return (method["method"], f"{method['parameters']} ({method['share_of_budget'] - 1:+.1%})", *measures, "unchanged" if is_same else "CHANGED")


def _measure(measure: Mapping[str, float | None]) -> str:
    spread = "" if measure["sd"] is None else f" +- {measure['sd']:.4f}"
    return f"{measure['mean']:.4f}{spread}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
