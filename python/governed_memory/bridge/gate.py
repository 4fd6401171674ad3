"""The five-candidate gate: does memory through adapters decide what the frozen base alone can only guess? Beside it, three methods more (rule M12)."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from governed_memory.bridge.contenders import CONTENDERS, Contender, MemoryContender, budget
from governed_memory.bridge.gate_task import BALANCED, CANDIDATES, Task, task_of
from governed_memory.bridge.run import model_told, plain, versions
from governed_memory.bridge.runtime import built, trainable
from governed_memory.errors import InputError
from governed_memory.host.canonical import digest

FORMAT = "governed_memory bridge gate 1"
SHAPE = "tiny"
MEASURES = ("accuracy_without", "accuracy_with", "accuracy_wrong_context", "wrong_context_drop", "wrong_context_followed", "hidden_norm_ratio")
MOST_SEEDS, MOST_STEPS = 20, 10_000
BATCH, SHARPNESS = 50, 10.0
CHANCE = 1 / len(CANDIDATES)
# What the gate asks of the memory adapters, and of the budgets of the others.
LEAST_WITH, AROUND_CHANCE, LEAST_DROP, BUDGET_WITHIN = 0.95, 0.05, 0.7, 0.05


@dataclass(frozen=True, slots=True)
class GateRequest:
    """How the gate is run.

    Attributes:
        seeds: how many seeds, from 0 up: each draws other cases and starts methods with other weights, on one base and with one set of centroids.
        steps: of training, of each method and seed.
        learned: how many cases training sees.
        asked: how many others are asked afterwards.
        contenders: which methods.
    """

    seeds: int = 3
    steps: int = 500
    learned: int = 1000
    asked: int = 200
    contenders: Sequence[type[Any]] = CONTENDERS

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        for name, number, most in (("--seeds", self.seeds, MOST_SEEDS), ("--steps", self.steps, MOST_STEPS)):
            if not 1 <= number <= most:
                raise InputError(f"{name}: {number!r}; expected a whole number from 1 to {most}")
        if self.asked < 1 or self.asked % BALANCED:
            raise InputError(f"gate: {self.asked!r} cases asked; expected a multiple of {BALANCED}, so that no candidate is asked for more often")


def gate(request: GateRequest, ran_at: datetime.datetime) -> dict[str, Any]:
    """Train and measure every method on every seed.

    Returns:
        The gate as its row has it. The same request gives the same but for `ran_at`: it runs in one thread, since several add up in another order.
    """
    with one_thread():
        model = built(SHAPE, device="cpu")
        tasks = [task_of(model, seed, request.learned, request.asked) for seed in range(request.seeds)]
        methods = [_method(kind, tasks, request.steps) for kind in request.contenders]
    held = {
        "format": FORMAT, **model_told(model), **versions("peft"),
        "candidates": len(CANDIDATES), "seeds": request.seeds, "steps": request.steps, "learned": request.learned, "asked": request.asked,
        "parameter_budget": budget(model), "methods": methods, "is_passed": _is_passed(methods),
    }  # fmt: skip
    return {"gate_id": digest(plain(held))[:16], "ran_at": ran_at.astimezone(datetime.UTC).isoformat(), **held}


def _method(kind: type[Any], tasks: Sequence[Task], steps: int) -> dict[str, Any]:
    """One method over all seeds: mean and sample standard deviation of each measure (none of one seed), and what each seed gave."""
    each = [_once(kind, task, seed, steps) for seed, task in enumerate(tasks)]
    measures = {
        name: {"mean": statistics.fmean(one[name] for one in each), "sd": statistics.stdev(one[name] for one in each) if len(each) > 1 else None}
        for name in MEASURES
    }
    parameters = each[0]["parameters"]
    share = parameters / budget(built(SHAPE, device="cpu"))
    return {"method": kind.name, "rate": kind.rate, "parameters": parameters, "share_of_budget": share, **measures, "each_seed": each}


def _once(kind: type[Any], task: Task, seed: int, steps: int) -> dict[str, Any]:
    """One method on one seed, on a base of its own."""
    model = built(SHAPE, device="cpu")
    before = model.sha256()
    contender: Contender = kind(model, seed)
    _train(contender, task, steps, seed)
    found = _measured(contender, task)
    contender.release()
    return {
        "seed": seed, "parameters": sum(parameter.numel() for parameter in contender.parameters), **found,
        "base_parameters_trainable": sum(parameter.numel() for parameter in trainable(model.network)),
        "base_sha256_before": before, "base_sha256_after": model.sha256(),
    }  # fmt: skip


def _train(contender: Contender, task: Task, steps: int, seed: int) -> None:
    """Each method sees the same cases with the same memory in the same order, and none without memory."""
    optimizer = torch.optim.Adam(contender.parameters, lr=contender.rate)
    chance, cases = torch.Generator().manual_seed(seed), task.learned
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = contender.rate * (1 - step / steps)
        places = torch.randint(len(cases.answers), (BATCH,), generator=chance)
        states = contender.read(cases.ids[places], cases.slots[places]).states
        loss = functional.cross_entropy(SHARPNESS * task.scores(states), cases.answers[places])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _measured(contender: Contender, task: Task) -> dict[str, float]:
    """The measures on cases that training did not see."""
    cases = task.asked
    wrong_slots, told = cases.wrong_slots()
    with torch.no_grad():
        bare, full, wrong = (contender.read(cases.ids, slots) for slots in (None, cases.slots, wrong_slots))
    answered = [task.scores(read.states).argmax(dim=1) for read in (bare, full, wrong)]
    without, with_memory, misled = (_share(one == cases.answers) for one in answered)
    return {
        "accuracy_without": without, "accuracy_with": with_memory, "accuracy_wrong_context": misled, "wrong_context_drop": with_memory - misled,
        "wrong_context_followed": _share(answered[2] == told),
        "hidden_norm_ratio": float((_lengths(full.stream) / _lengths(bare.stream)).mean()),
    }  # fmt: skip


def _share(is_so: torch.Tensor) -> float:
    return int(is_so.sum()) / len(is_so)


def _lengths(stream: torch.Tensor) -> torch.Tensor:
    lengths: torch.Tensor = torch.linalg.vector_norm(stream.double(), dim=-1)
    return lengths


def _is_passed(methods: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the memory adapters do on every seed what the gate asks, every base is as it was, and every budget is near."""
    own = [one for method in methods if method["method"] == MemoryContender.name for one in method["each_seed"]]
    decides = all(
        one["accuracy_with"] >= LEAST_WITH and abs(one["accuracy_without"] - CHANCE) <= AROUND_CHANCE and one["wrong_context_drop"] >= LEAST_DROP for one in own
    )
    return bool(own) and decides and all(is_base_untouched(method) and abs(method["share_of_budget"] - 1) <= BUDGET_WITHIN for method in methods)


def is_base_untouched(method: Mapping[str, Any]) -> bool:
    """Whether no seed of a method left its base with other weights, or with any to train."""
    return all(one["base_sha256_before"] == one["base_sha256_after"] and not one["base_parameters_trainable"] for one in method["each_seed"])


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch in one thread, then in as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
