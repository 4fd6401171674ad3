"""A run of the bridge: what was run, what it did at each site, what the controls say. It is one line, written when all of it is known."""

from __future__ import annotations

import datetime
import math
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from governed_memory.bridge.adapter import MemoryAdapters
from governed_memory.bridge.encode import encode
from governed_memory.bridge.facts import facts_of
from governed_memory.bridge.intervention import Intervention, change, sites_of
from governed_memory.bridge.rivals import rivals
from governed_memory.bridge.runtime import ARCHITECTURE, FrozenModel, weights_sha256
from governed_memory.errors import InputError
from governed_memory.host.canonical import digest
from governed_memory.packets import Packet
from governed_memory.packets.packet import sha256_of

FORMAT = "governed_memory bridge run 1"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What is to be run.

    Attributes:
        packet: whose facts are handed over.
        prompt: the request that the model reads on both paths.
        wrong_packet: another packet, for the control that tells whether it matters which.
        has_rivals: whether the controls against rival explanations are run.
        has_effects: whether each fact is left out once.
        is_diagnostic: whether the adapters are seeded for this run, and come from no file.
    """

    packet: Packet
    prompt: str
    wrong_packet: Packet | None = None
    has_rivals: bool = False
    has_effects: bool = False
    is_diagnostic: bool = True


def prompt_of(packet: Packet) -> str:
    """What a packet was built for: its query, else the concepts that it names."""
    inputs = packet.manifest["inputs"]
    return inputs.get("query") or ", ".join((*inputs.get("concepts", []), *inputs.get("ids", []), *inputs.get("pins", [])))


def run(request: RunRequest, model: FrozenModel, adapters: MemoryAdapters, ran_at: datetime.datetime, kept_in: Path | None = None) -> dict[str, Any]:
    """Run the full path and the control without memory on one request.

    Returns:
        The run as its row has it, with the rows of its sites, facts and controls.

    Raises:
        InputError: the packet has no facts, model and adapters do not fit, or what came out is no finite number.
    """
    adapters.config.expect_fits(model)
    facts = facts_of("--packet", request.packet)
    wrong_facts = facts_of("--wrong-packet", request.wrong_packet) if request.wrong_packet else None
    if wrong_facts and {fact.fingerprint for fact in wrong_facts} <= {fact.fingerprint for fact in facts}:
        raise InputError("--wrong-packet: holds no fact that the packet does not hold, so it cannot do something else; name another")
    ids = model.ids(request.prompt, "--prompt")
    before = model.sha256()
    encoded = encode(facts, model, before, kept_in)
    intervention = Intervention(model, adapters, ids, encoded.memory)
    base, full, control = intervention.base(), intervention.passed(encoded.memory), intervention.passed(None)
    sites = sites_of(full, control, adapters)
    if not all(math.isfinite(number) for site in sites for number in site.values()) or not bool(torch.isfinite(full.hidden).all()):
        raise InputError("the run gave a number that is not finite, so nothing of it is kept; give --dtype float32, or look at the adapters")
    wrong = encode(wrong_facts, model, before, kept_in).memory if wrong_facts else None
    held = {
        "format": FORMAT,
        "packet_id": request.packet.packet_id, "prompt_sha256": sha256_of(request.prompt), "prompt_tokens": ids.shape[1],
        **model_told(model), "is_diagnostic": request.is_diagnostic, **_adapters(adapters), **versions(),
        "slots": len(facts), "masked_in": int(encoded.memory.mask.sum()), "encoded": encoded.encoded,
        "path_change": change(full.hidden[-1], control.hidden[-1]), "control_equals_base": bool(torch.equal(control.hidden, base)),
        **intervention.gradients(),
        "base_sha256_before": before, "sites": sites,
        "facts": intervention.effects(full, facts) if request.has_effects else [],
        "controls": rivals(intervention, full, wrong) if request.has_rivals else [],
        "base_sha256_after": model.sha256(),
    }  # fmt: skip
    ran = ran_at.astimezone(datetime.UTC).isoformat()
    return {"run_id": digest([plain(held), ran])[:16], "ran_at": ran, **held}


def plain(value: Any) -> Any:
    """Numbers as their shortest text, which is what is hashed."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value if isinstance(value, (str, bool)) or value is None else repr(value)


def model_told(model: FrozenModel) -> dict[str, Any]:
    """What a row says of the base."""
    network = model.network
    return {
        "model_type": ARCHITECTURE, "weights": "checkpoint" if model.seed is None else "random", "model_seed": model.seed,
        "hidden_size": model.hidden_size, "layer_count": len(model.layers), "parameter_count": sum(parameter.numel() for parameter in network.parameters()),
        "tokenizer": model.tokens.name, "device": model.device.type, "dtype": str(model.dtype).removeprefix("torch."),
    }  # fmt: skip


def _adapters(adapters: MemoryAdapters) -> dict[str, Any]:
    config = adapters.config
    return {
        "gate": config.gate, "adapter_seed": config.seed, "adapter_width": config.width, "adapter_heads": config.heads,
        "adapter_sha256": weights_sha256(adapters.state_dict()),
    }  # fmt: skip


def versions(*more: str) -> dict[str, str]:
    """Of the packages alone; nothing that tells the machine."""
    used = {name: version(name) for name in ("torch", "transformers", "safetensors", "duckdb", *more)}
    return {f"{name}_version": number for name, number in ({"python": platform.python_version()} | used).items()}
