"""Residual memory adapters: at chosen layers, the residual stream attends to memory slots, and what it finds is gated and added back (rule M12)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn
from torch.nn import functional

from governed_memory.bridge.runtime import FrozenModel
from governed_memory.errors import InputError, shown
from governed_memory.warehouse.durable import write_whole

CLOSED, SEEDED = "closed", "seeded"
FORMAT = "governed_memory adapters 1"


@dataclass(frozen=True, slots=True)
class AdapterConfig:
    """The shape of adapters.

    Attributes:
        hidden_size: of the model that they are for.
        layers: the decoder layers after which they stand, counted from 0, in order.
        width: of the attention within an adapter.
        heads: among which the width is divided.
        gate: `closed` starts at 0, so that nothing is added before training; `seeded` starts away from 0, for a diagnostic run.
        seed: of the starting weights.
    """

    hidden_size: int
    layers: tuple[int, ...]
    width: int = 64
    heads: int = 4
    gate: str = CLOSED
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if not self.layers or list(self.layers) != sorted({layer for layer in self.layers if layer >= 0}):
            raise InputError(f"adapters: layers {list(self.layers)!r}; expected at least one decoder layer, from 0 up, each once and in order")
        for name in ("hidden_size", "width", "heads"):
            if getattr(self, name) < 1:
                raise InputError(f"adapters: {name} {getattr(self, name)!r}; expected a whole number from 1 up")
        if self.width % self.heads:
            raise InputError(f"adapters: width {self.width!r} cannot be divided among {self.heads!r} heads; give a multiple")
        if self.gate not in (CLOSED, SEEDED):
            raise InputError(f"adapters: gate {self.gate!r}; expected {CLOSED!r} or {SEEDED!r}")

    def expect_fits(self, model: FrozenModel) -> None:
        """InputError where they are for a model of other sizes."""
        if self.hidden_size != model.hidden_size:
            raise InputError(f"adapters: are for a hidden size of {self.hidden_size}, and the model has {model.hidden_size}; name adapters made for it")
        if self.layers[-1] >= len(model.layers):
            raise InputError(f"adapters: layer {self.layers[-1]} is not there; the model has {len(model.layers)}, from 0 to {len(model.layers) - 1}")


@dataclass(frozen=True, slots=True)
class Memory:
    """Slots that adapters attend to.

    Attributes:
        slots: [batch, slots, hidden].
        mask: [batch, slots], true where a slot takes part. Not to be changed: make another memory.
        is_full: whether each row of the batch has a slot that takes part.
    """

    slots: torch.Tensor
    mask: torch.Tensor
    is_full: bool = field(init=False)

    def __post_init__(self) -> None:
        """Refuse what no adapter can attend to."""
        if self.slots.ndim != 3 or self.mask.shape != self.slots.shape[:2] or self.mask.dtype != torch.bool:
            found = f"{list(self.slots.shape)} with a mask {list(self.mask.shape)} of {self.mask.dtype}"
            raise InputError(f"memory: {found}; expected [batch, slots, hidden] with a bool mask [batch, slots]")
        # What is not finite makes the sum so; only a sum that is not finite makes looking at each number worth its time.
        if not (bool(torch.isfinite(self.slots.sum())) or bool(torch.isfinite(self.slots).all())):
            raise InputError("memory: holds a value that is no finite number; nothing was run; remove the file of encodings, they are made again")
        object.__setattr__(self, "is_full", bool(self.mask.any(dim=1).all()))


class MemoryAdapter(nn.Module):
    """Cross-attention from the residual stream to slots, through a gate."""

    def __init__(self, config: AdapterConfig) -> None:
        """Weights as torch starts them."""
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.hidden_size, config.width, bias=False)
        self.key = nn.Linear(config.hidden_size, config.width, bias=False)
        self.value = nn.Linear(config.hidden_size, config.width, bias=False)
        self.output = nn.Linear(config.width, config.hidden_size, bias=False)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, hidden: torch.Tensor, memory: Memory) -> torch.Tensor:
        """What is added to the residual stream: [batch, tokens, hidden], exactly 0 where no slot takes part."""
        slots, has_slots = functional.rms_norm(memory.slots.to(self.gate.dtype), hidden.shape[-1:]), memory.mask.any(dim=1)  # [batch]
        query, key, value = self._split(self._query(hidden)), self._split(self.key(slots)), self._split(self.value(slots))
        # Attention over no slot at all is not a number; there it attends to all, and is put out below.
        mask = (memory.mask | ~has_slots[:, None])[:, None, None, :]  # [batch, 1, 1, slots]
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)  # [batch, heads, tokens, width / heads]
        # The gate is put to the narrow side: the same product, and one pass over the wide one less.
        delta: torch.Tensor = self.output(torch.tanh(self.gate) * found.transpose(1, 2).flatten(2))
        return delta if memory.is_full else torch.where(has_slots[:, None, None], delta, torch.zeros_like(delta))

    def _query(self, hidden: torch.Tensor) -> torch.Tensor:
        """The query of the normed stream; its length is divided out after the projection, where the stream is narrow."""
        stream = hidden.to(self.gate.dtype)
        mean_square = torch.linalg.vector_norm(stream, dim=-1, keepdim=True).square() / stream.shape[-1]
        projected: torch.Tensor = self.query(stream)
        return projected * torch.rsqrt(mean_square + torch.finfo(stream.dtype).eps)

    def _split(self, projected: torch.Tensor) -> torch.Tensor:
        batch, places, width = projected.shape
        return projected.view(batch, places, self.heads, width // self.heads).transpose(1, 2)  # [batch, heads, places, width / heads]


@dataclass(slots=True)
class Site:
    """What was measured where one adapter stands.

    Attributes:
        layer: after which it stands.
        delta: what it added, [batch, tokens, hidden].
        delta_norm: the norm of that.
        norm_ratio: the norm of the stream after it, over that before.
    """

    layer: int
    delta: torch.Tensor
    delta_norm: float
    norm_ratio: float


@dataclass(slots=True)
class Trace:
    """What one forward pass through attached adapters did, site by site."""

    sites: list[Site] = field(default_factory=list)


class MemoryAdapters(nn.Module):
    """The adapters of a model."""

    def __init__(self, config: AdapterConfig) -> None:
        """Seeded weights; the generator that others use is left as it was."""
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.sites = nn.ModuleDict({str(layer): MemoryAdapter(config) for layer in config.layers})
            if config.gate == SEEDED:
                for site in self.sites.values():
                    nn.init.uniform_(site.get_parameter("gate"), 0.25, 0.75)

    def gate(self, layer: int) -> float:
        """How far the gate of the adapter after a layer is open, before its tanh."""
        return float(self.sites[str(layer)].get_parameter("gate").detach())

    @contextmanager
    def attached(self, model: FrozenModel, memory: Memory | None, *, measured: bool = True) -> Iterator[Trace]:
        """Let the model's forward passes go through the adapters; without memory they add nothing, and the stream is the base's bit for bit.

        Args:
            model: the base.
            memory: what is attended to; None for the control without memory.
            measured: whether norms are taken, which costs time.

        Raises:
            InputError: adapters, memory and model are of different sizes.
        """
        self.config.expect_fits(model)
        if memory is not None and memory.slots.shape[-1] != model.hidden_size:
            raise InputError(f"memory: its slots have {memory.slots.shape[-1]} numbers, and the model has a hidden size of {model.hidden_size}")
        trace = Trace()
        hooks = [model.layers[layer].register_forward_hook(_hook(layer, self.sites[str(layer)], memory, trace, measured)) for layer in self.config.layers]
        try:
            yield trace
        finally:
            for hook in hooks:
                hook.remove()

    def save(self, path: Path) -> None:
        """Write weights and configuration as safetensors, in one step."""
        told = {"format": FORMAT, "config": json.dumps(asdict(self.config), sort_keys=True)}
        write_whole(path, save({name: weight.contiguous().cpu() for name, weight in self.state_dict().items()}, told))


def load_adapters(path: Path) -> MemoryAdapters:
    """The adapters that `save` wrote.

    Raises:
        InputError: there is no such file, or it holds none, or a weight that is no finite number.
    """
    try:
        with safe_open(path, "pt") as file:
            told: Mapping[str, Any] = file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"--adapters: {str(path)!r}: no such file") from None
    except (OSError, SafetensorError):
        raise InputError(f"--adapters: {str(path)!r} is no safetensors file") from None
    if told.get("format") != FORMAT:
        raise InputError(f"--adapters: {str(path)!r} has the format {shown(told.get('format'))}; expected {FORMAT!r}")
    try:
        config = json.loads(told["config"])
        adapters = MemoryAdapters(AdapterConfig(**{**config, "layers": tuple(config["layers"])}))
        adapters.load_state_dict(weights)
    except (ValueError, KeyError, TypeError, RuntimeError):
        raise InputError(f"--adapters: {str(path)!r}: its weights do not fit its configuration; save the adapters again") from None
    if not all(bool(torch.isfinite(weight).all()) for weight in weights.values()):
        raise InputError(f"--adapters: {str(path)!r}: a weight is no finite number")
    return adapters


def _hook(layer: int, site: nn.Module, memory: Memory | None, trace: Trace, measured: bool) -> Any:
    def add(_: nn.Module, __: Any, hidden: torch.Tensor) -> torch.Tensor:
        delta = site(hidden, memory) if memory is not None else None
        after = hidden if delta is None or memory is None else _added(hidden, delta.to(hidden.dtype), memory)
        if measured:
            added = torch.zeros_like(hidden) if delta is None else delta
            trace.sites.append(Site(layer, added.detach(), _norm(added), _norm(after) / _norm(hidden)))
        return after

    return add


def _added(hidden: torch.Tensor, delta: torch.Tensor, memory: Memory) -> torch.Tensor:
    after = hidden + delta
    # Adding 0 would turn a negative zero into a positive one, so where nothing takes part nothing is added.
    return after if memory.is_full else torch.where(memory.mask.any(dim=1)[:, None, None], after, hidden)


def _norm(tensor: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor.detach().double()))
