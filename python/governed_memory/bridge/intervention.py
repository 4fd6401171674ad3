"""One request through a frozen model, with the memory of a packet and without, and what differed (rule M12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from governed_memory.bridge.adapter import Memory, MemoryAdapters, Site
from governed_memory.bridge.facts import Fact
from governed_memory.bridge.runtime import FrozenModel, trainable


@dataclass(frozen=True, slots=True)
class Path:
    """One pass.

    Attributes:
        hidden: the last hidden state, [tokens, hidden].
        sites: what each adapter did.
    """

    hidden: torch.Tensor
    sites: Sequence[Site]


@dataclass(frozen=True, slots=True)
class Intervention:
    """What is run.

    Attributes:
        model: the base.
        adapters: through which memory reaches it.
        ids: the request, [1, tokens].
        memory: of the packet.
    """

    model: FrozenModel
    adapters: MemoryAdapters
    ids: torch.Tensor
    memory: Memory

    def passed(self, memory: Memory | None) -> Path:
        """A pass through the adapters with some memory, or none, without gradients."""
        with torch.no_grad(), self.adapters.attached(self.model, memory) as trace:
            hidden = self.model.last_hidden(self.ids)[0]
        return Path(hidden, trace.sites)

    def base(self) -> torch.Tensor:
        """The last hidden state of the model as it is, [tokens, hidden]."""
        with torch.no_grad():
            return self.model.last_hidden(self.ids)[0]

    def gradients(self) -> dict[str, int]:
        """How many parameters of the base are trainable, and how many of base and adapters have a gradient after the last hidden state was pulled at."""
        with self.adapters.attached(self.model, self.memory, measured=False):
            self.model.last_hidden(self.ids)[0, -1].float().square().mean().backward()  # type: ignore[no-untyped-call]
        told = {
            "base_parameters_trainable": sum(parameter.numel() for parameter in trainable(self.model.network)),
            "base_parameters_with_gradient": _with_gradient(self.model.network),
            "adapter_parameters_with_gradient": _with_gradient(self.adapters),
        }
        self.adapters.zero_grad(set_to_none=True)
        return told

    def effects(self, full: Path, facts: Sequence[Fact]) -> list[dict[str, Any]]:
        """A row for each fact: how far the state after the last token moves when this fact alone is left out.

        It has no fingerprint, from which a short value could be guessed.
        """
        return [
            {
                "place": place, "store_id": fact.store, "concept_id": fact.concept, "member_id": fact.member_id,
                "own_effect": change(self.passed(without(self.memory, place)).hidden[-1], full.hidden[-1]),
            }
            for place, fact in enumerate(facts)
        ]  # fmt: skip


def change(now: torch.Tensor, before: torch.Tensor) -> float:
    """How far one is from the other, as a share of the other's norm; infinite where there is something beside nothing."""
    distance, length = (float(torch.linalg.vector_norm(one)) for one in (now.double() - before.double(), before.double()))
    return distance / length if length else (float("inf") if distance else 0.0)


def sites_of(full: Path, control: Path, adapters: MemoryAdapters) -> list[dict[str, Any]]:
    """A row for each adapter: what it added with memory, and without."""
    return [
        {
            "layer": site.layer, "gate": adapters.gate(site.layer), "memory_delta_norm": site.delta_norm, "hidden_norm_ratio": site.norm_ratio,
            "control_delta_norm": other.delta_norm,
        }
        for site, other in zip(full.sites, control.sites, strict=True)
    ]  # fmt: skip


def without(memory: Memory, place: int) -> Memory:
    """The memory with one slot masked."""
    mask = memory.mask.clone()
    mask[:, place] = False
    return replace(memory, mask=mask)


def _with_gradient(network: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters() if parameter.grad is not None)
