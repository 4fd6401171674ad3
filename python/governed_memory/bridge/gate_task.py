"""The five-candidate gate's task: which of five choices holds for a case is told by its memory alone, and read off against fixed centroids (rule M12)."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch.nn import functional

from governed_memory.bridge.encode import encode
from governed_memory.bridge.facts import Fact
from governed_memory.bridge.runtime import FrozenModel

CANDIDATES = ("amber", "birch", "cobalt", "dune", "ember")
SAYINGS = ("the choice is {}", "{} was chosen", "it was settled as {}", "{} holds here")
CASES = 10_000
CENTROID_SEED = 20_260_101
# Shifts of every size come equally often in so many questions.
BALANCED = len(CANDIDATES) ** 2


@dataclass(frozen=True, slots=True)
class Cases:
    """Questions with the memory that answers them.

    Attributes:
        ids: the question of each, [cases, tokens]; it names the case, and nothing of the answer.
        slots: the encoding of its record, [cases, hidden].
        answers: the place of its candidate, [cases].
    """

    ids: torch.Tensor
    slots: torch.Tensor
    answers: torch.Tensor

    def wrong_slots(self) -> tuple[torch.Tensor, torch.Tensor]:
        """For each question the slot of another case, and the candidate that this tells: each candidate equally often, whatever the question's own.

        So a reader that follows its context alone is right one time in five: the wrong context says the right candidate as often as chance has it.
        """
        count, choices = len(self.answers), len(CANDIDATES)
        place = torch.arange(count)
        block = place // choices
        others = (place + block) % choices + choices * ((block + 1) % (count // choices))
        return self.slots[others], self.answers[others]


@dataclass(frozen=True, slots=True)
class Task:
    """What is learned from, and what is asked: cases of one draw, none in both.

    Attributes:
        learned: the cases that training sees.
        asked: those that accuracy is measured on.
        centroids: where the readout has each candidate, [candidates, hidden]; of length 1, the same for every seed, never trained.
    """

    learned: Cases
    asked: Cases
    centroids: torch.Tensor

    def scores(self, states: torch.Tensor) -> torch.Tensor:
        """How near states are to each centroid, as cosines: [cases, candidates]."""
        return functional.normalize(states, dim=-1) @ self.centroids.T


def task_of(model: FrozenModel, seed: int, learned: int, asked: int) -> Task:
    """The cases of a seed, their records encoded by the base as those of any packet are.

    Args:
        model: the base.
        seed: of the draw of cases and of how their records say it.
        learned: how many cases training sees.
        asked: how many are asked; a multiple of BALANCED.
    """
    chance = random.Random(seed)
    answers = [place % len(CANDIDATES) for place in range(learned + asked)]
    names = [f"case {number:04d}" for number in chance.sample(range(CASES), len(answers))]
    facts = [Fact(name, "gate", name, chance.choice(SAYINGS).format(CANDIDATES[answer])) for name, answer in zip(names, answers, strict=True)]
    slots = encode(facts, model, model.sha256()).memory.slots[0].clone()
    ids = torch.cat([model.ids(f"which choice holds for {name}?", "gate") for name in names])
    whole = Cases(ids, slots, torch.tensor(answers))
    centroids = torch.randn(len(CANDIDATES), model.hidden_size, generator=torch.Generator().manual_seed(CENTROID_SEED))
    return Task(_part(whole, slice(learned)), _part(whole, slice(learned, None)), functional.normalize(centroids, dim=-1))


def _part(cases: Cases, places: slice) -> Cases:
    return Cases(cases.ids[places], cases.slots[places], cases.answers[places])
