"""What the five-candidate gate compares on one frozen base: the memory adapters, and MLP adapters, LoRA and prefix tuning of as many parameters (rule M12).

Only the memory adapters have a path for memory. The others get the same slot as one more token after the prompt, at the place that is read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from governed_memory.bridge.adapter import AdapterConfig, Memory, MemoryAdapters
from governed_memory.bridge.runtime import FrozenModel, trainable

WIDTH = 16


@dataclass(frozen=True, slots=True)
class Read:
    """What is read at the last token.

    Attributes:
        states: the last hidden states, [cases, hidden].
        stream: the residual stream before the last norm, which would make all lengths alike, [cases, hidden].
    """

    states: torch.Tensor
    stream: torch.Tensor


class Contender:
    """One method on its own base.

    Attributes:
        name: of the method.
        rate: at which its training starts, chosen on a draw of cases that the gate never uses.
        parameters: what is trained.
    """

    name: str
    rate = 0.01
    parameters: list[nn.Parameter]

    def __init__(self, model: FrozenModel) -> None:
        """On a base that is built for it alone."""
        self.model = model

    def read(self, ids: torch.Tensor, slots: torch.Tensor | None) -> Read:
        """Pass prompts with their memory, or without any."""
        reads: list[Read] = []
        hook = self.model.network.model.norm.register_forward_hook(lambda _, given, states: reads.append(Read(states[:, -1], given[0][:, -1])))
        try:
            self._pass(ids, slots)
        finally:
            hook.remove()
        [read] = reads
        return read

    def release(self) -> None:
        """Take off the base what was put on it."""

    def _pass(self, ids: torch.Tensor, slots: torch.Tensor | None) -> None:
        self.model.network.model(inputs_embeds=self._inputs(ids, slots), use_cache=False)

    def _inputs(self, ids: torch.Tensor, slots: torch.Tensor | None) -> torch.Tensor:
        embedded: torch.Tensor = self.model.network.model.embed_tokens(ids)
        return embedded if slots is None else torch.cat([embedded, slots[:, None]], dim=1)  # [cases, tokens + 1, hidden]


class MemoryContender(Contender):
    """The adapters of this project, which attend to the slot."""

    name = "memory adapters"

    def __init__(self, model: FrozenModel, seed: int) -> None:
        """Adapters with closed gates after two layers."""
        super().__init__(model)
        self.adapters = MemoryAdapters(AdapterConfig(model.hidden_size, sites_of(model), width=WIDTH, seed=seed))
        self.parameters = list(self.adapters.parameters())

    def _pass(self, ids: torch.Tensor, slots: torch.Tensor | None) -> None:
        memory = None if slots is None else Memory(slots[:, None], torch.ones(len(slots), 1, dtype=torch.bool))
        with self.adapters.attached(self.model, memory, measured=False):
            self.model.last_hidden(ids)


class MlpContender(Contender):
    """Residual bottlenecks after the same layers, gated alike."""

    name = "MLP adapters"

    def __init__(self, model: FrozenModel, seed: int) -> None:
        """As wide as the budget bears: two projections where the memory adapters have four."""
        super().__init__(model)
        with seeded(seed):
            self.sites = nn.ModuleDict({str(layer): Bottleneck(model.hidden_size, 2 * WIDTH) for layer in sites_of(model)})
        self.parameters = list(self.sites.parameters())

    def _pass(self, ids: torch.Tensor, slots: torch.Tensor | None) -> None:
        with ExitStack() as hooks:
            for layer, site in self.sites.items():
                hook = self.model.layers[int(layer)].register_forward_hook(lambda _, __, hidden, site=site: hidden + site(hidden))
                hooks.callback(hook.remove)
            super()._pass(ids, slots)


class Bottleneck(nn.Module):
    """An MLP adapter."""

    def __init__(self, hidden_size: int, width: int) -> None:
        """Weights as torch starts them, and a closed gate."""
        super().__init__()
        self.narrow = nn.Linear(hidden_size, width, bias=False)
        self.wide = nn.Linear(width, hidden_size, bias=False)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """What is added to the residual stream."""
        added: torch.Tensor = torch.tanh(self.gate) * self.wide(functional.gelu(self.narrow(functional.rms_norm(hidden, hidden.shape[-1:]))))
        return added


class LoraContender(Contender):
    """Low-rank changes of the projections to queries and values, in every layer."""

    name = "LoRA"
    targets = ("q_proj", "v_proj")

    def __init__(self, model: FrozenModel, seed: int) -> None:
        """Of the rank that the budget bears."""
        from peft import LoraConfig

        super().__init__(model)
        changed = [getattr(layer.self_attn, target) for layer in model.layers for target in self.targets]
        rank = round(budget(model) / sum(one.in_features + one.out_features for one in changed))
        self.wrapped = wrapped(model, LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=list(self.targets)), seed)
        self.parameters = list(trainable(self.wrapped))

    def release(self) -> None:
        """Put the base's own projections back."""
        self.wrapped.unload()


class PrefixContender(Contender):
    """Keys and values before the prompt, in every layer."""

    name = "prefix tuning"
    rate = 0.1

    def __init__(self, model: FrozenModel, seed: int) -> None:
        """As many as the budget bears."""
        from peft import PrefixTuningConfig

        super().__init__(model)
        config = model.network.config
        each = 2 * len(model.layers) * config.num_key_value_heads * config.head_dim
        self.wrapped = wrapped(model, PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=round(budget(model) / each)), seed)
        self.parameters = list(trainable(self.wrapped))

    def _pass(self, ids: torch.Tensor, slots: torch.Tensor | None) -> None:
        inputs = self._inputs(ids, slots)
        with without_notices():
            self.wrapped(inputs_embeds=inputs, attention_mask=torch.ones(inputs.shape[:2], dtype=torch.long))


CONTENDERS: tuple[type[MemoryContender] | type[MlpContender] | type[LoraContender] | type[PrefixContender], ...] = (
    MemoryContender, MlpContender, LoraContender, PrefixContender,
)  # fmt: skip


def sites_of(model: FrozenModel) -> tuple[int, ...]:
    """After which layers adapters stand: a third and two thirds down."""
    count = len(model.layers)
    return tuple(sorted({count // 3, 2 * count // 3}))


def budget(model: FrozenModel) -> int:
    """How many parameters the memory adapters have, which the others are to have as nearly as their kind allows."""
    return len(sites_of(model)) * (4 * model.hidden_size * WIDTH + 1)


def wrapped(model: FrozenModel, config: Any, seed: int) -> Any:
    """The base as peft wraps it, with seeded weights."""
    from peft import get_peft_model

    with seeded(seed), without_notices():
        return get_peft_model(model.network, config)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Weights are drawn by a seed; the generator that others use is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@contextmanager
def without_notices() -> Iterator[None]:
    """Peft calls transformers by names that are soon to go, which is no news for who runs the gate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
