"""Controls against what else might explain that memory moved a model's path (rule M12). Each says what it measured and whether the rival is ruled out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from governed_memory.bridge.adapter import Memory
from governed_memory.bridge.intervention import Intervention, Path, change
from governed_memory.bridge.readout import ENOUGH, shuffled_accuracy

# Sums of the same numbers in another order, in float32.
SAME = 1e-4
# Less than this and the change is one of rounding.
DIFFERENT = 1e-6
CHANCE, AROUND = 0.5, 0.1
SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class Expected:
    """What a control has to measure: its words, and whether a measure is so."""

    words: str
    holds: Callable[[float], bool]


NOTHING = Expected("= 0", lambda found: found == 0.0)
AS_BEFORE = Expected(f"<= {SAME}", lambda found: found <= SAME)
OTHERWISE = Expected(f"> {DIFFERENT}", lambda found: found > DIFFERENT)
BY_CHANCE = Expected(f"{CHANCE} +- {AROUND}", lambda found: abs(found - CHANCE) <= AROUND)


def rivals(run: Intervention, full: Path, wrong: Memory | None = None) -> list[dict[str, Any]]:
    """A row for each control: its name, the rival explanation, what was measured, what was expected, and whether it held (None where it could not be run).

    Args:
        run: what was run.
        full: its full path.
        wrong: the memory of another packet.
    """
    plain, bare, memory = run.base(), run.passed(None), run.memory
    accuracy = shuffled_accuracy(full.hidden, bare.hidden, _generator())
    emptied = Memory(memory.slots[:, :0], memory.mask[:, :0])
    masked = replace(memory, mask=torch.zeros_like(memory.mask))
    turned = list(reversed(range(memory.slots.shape[1])))

    def added(other: Memory) -> float:
        """At the first adapter, before which no path differs."""
        return change(run.passed(other).sites[0].delta, full.sites[0].delta)

    def norms(other: Memory) -> float:
        return sum(site.delta_norm for site in run.passed(other).sites)

    return [
        _row("prompt surface", "the prompt alone moves the path", change(bare.hidden, plain), NOTHING),
        _row("readout leakage", "a readout finds any labels", accuracy, BY_CHANCE, f"needs a prompt of {ENOUGH} tokens"),
        _row("leftover state", "an earlier pass left something behind", change(run.passed(memory).hidden, full.hidden), NOTHING),
        _row("shuffled memory", "any numbers of that size do the same", added(_shuffled(memory)), OTHERWISE),
        _row("wrong packet", "any packet does the same", None if wrong is None else added(wrong), OTHERWISE, "needs another packet"),
        _row("empty memory", "the adapters move the path without slots", norms(emptied), NOTHING),
        _row("all slots masked", "masked slots are seen", norms(masked), NOTHING),
        _row("permuted slots", "the order of slots matters", added(_places(memory, turned)), AS_BEFORE),
        _row("duplicated slots", "how often all of it is told matters", added(_places(memory, turned * 2)), AS_BEFORE),
    ]


def _row(name: str, rival: str, measured: float | None, expected: Expected, needs: str = "") -> dict[str, Any]:
    return {
        "control": name, "rival": rival, "measured": measured, "expected": expected.words if measured is not None else needs,
        "is_held": expected.holds(measured) if measured is not None else None,
    }  # fmt: skip


def _places(memory: Memory, places: list[int]) -> Memory:
    return Memory(memory.slots[:, places], memory.mask[:, places])


def _shuffled(memory: Memory) -> Memory:
    """The same numbers in each slot, at other places of it."""
    places = torch.randperm(memory.slots.shape[-1], generator=_generator()).to(memory.slots.device)
    return replace(memory, slots=memory.slots[..., places])


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(SEED)
