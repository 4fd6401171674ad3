"""A readout that tells from a hidden state whether memory was there: the nearer of two means. On shuffled labels it must find nothing."""

from __future__ import annotations

import torch

# Fewer positions than this tell nothing about chance.
ENOUGH = 16
SHUFFLES = 200


def accuracy(on: torch.Tensor, off: torch.Tensor, generator: torch.Generator, *, is_shuffled: bool = False) -> float:
    """How often the readout is right about positions that it was not made from.

    Args:
        on: hidden states with memory, [positions, hidden].
        off: those of the same positions without, so that both of a position are on one side of the split.
        generator: of the split, and of the shuffling.
        is_shuffled: whether a coin says, position by position, which of the two is called the one with memory.
    """
    on, off = on.double().cpu(), off.double().cpu()
    if is_shuffled:
        coin = torch.randint(2, (len(on), 1), generator=generator, dtype=torch.bool)
        on, off = torch.where(coin, on, off), torch.where(coin, off, on)
    places = torch.randperm(len(on), generator=generator)
    made_from, asked = places[: len(on) // 2], places[len(on) // 2 :]
    means = torch.stack([on[made_from].mean(dim=0), off[made_from].mean(dim=0)])
    nearer_on = torch.cdist(torch.cat([on[asked], off[asked]]), means).argmin(dim=1) == 0
    is_on = torch.arange(2 * len(asked)) < len(asked)
    return float((nearer_on == is_on).double().mean())


def shuffled_accuracy(on: torch.Tensor, off: torch.Tensor, generator: torch.Generator) -> float | None:
    """The mean accuracy over many shufflings, which is chance unless the readout leaks; None for too few positions."""
    if len(on) < ENOUGH:
        return None
    return sum(accuracy(on, off, generator, is_shuffled=True) for _ in range(SHUFFLES)) / SHUFFLES
