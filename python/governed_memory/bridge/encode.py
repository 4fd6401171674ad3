"""Facts as slots: each is encoded once by the frozen model itself, kept in DuckDB, and read back as a tensor over the memory of DuckDB's export.

The encoding of a fact is the mean of the model's last hidden states over the tokens of its text. It has not been trained for that: two facts that say
alike things need not come near each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils.dlpack import from_dlpack

from governed_memory.bridge.adapter import Memory
from governed_memory.bridge.facts import Fact
from governed_memory.bridge.runtime import FrozenModel
from governed_memory.errors import InputError
from governed_memory.host.canonical import digest
from governed_memory.warehouse.encodings import Encodings, encodings_kept

# Changes with how a fact is encoded, so that what was kept by another way is not taken for it.
METHOD = "mean of last hidden states 1"


@dataclass(frozen=True, slots=True)
class Encoded:
    """The memory of a packet.

    Attributes:
        memory: one slot a fact, in their order.
        encoded: how many facts were encoded for it; the others were kept from before.
    """

    memory: Memory
    encoded: int


def encode(facts: Sequence[Fact], model: FrozenModel, base_sha256: str, kept_in: Path | None = None) -> Encoded:
    """The slots of facts.

    Args:
        facts: of a packet.
        model: the base, which encodes what is not kept yet.
        base_sha256: the hash of its weights.
        kept_in: the DuckDB file of encodings; None keeps nothing.

    Raises:
        InputError: a fact has more tokens than the model takes, or its encoding is no finite number; then none of these is kept.
    """
    with encodings_kept(kept_in, model_fingerprint(model, base_sha256), model.hidden_size) as encodings:
        by_name = {fact.fingerprint: fact for fact in facts}
        missing = encodings.missing([fact.fingerprint for fact in facts])
        encodings.keep({name: _encoding(by_name[name], model) for name in missing})
        return Encoded(memory_of(encodings, [fact.fingerprint for fact in facts], model.device), len(missing))


def memory_of(encodings: Encodings, fingerprints: Sequence[str], device: torch.device) -> Memory:
    """[1, facts, hidden] over DuckDB's own Arrow export: on a CPU without a copy; and a mask that is true throughout."""
    # By DLPack, since `from_numpy` warns of memory that is not to be written; nothing here writes to slots.
    slots = from_dlpack(encodings.array(fingerprints)).unsqueeze(0)
    return Memory(slots.to(device), torch.ones(slots.shape[:2], dtype=torch.bool, device=device))


def model_fingerprint(model: FrozenModel, base_sha256: str) -> str:
    """What an encoding depends on besides the fact: weights, sizes, tokenizer and method, and the device, which rounds in its own way."""
    config = model.network.config
    sizes = [config.num_attention_heads, config.num_key_value_heads, config.head_dim, str(config.rope_parameters), config.rms_norm_eps, config.hidden_act]
    return digest([METHOD, base_sha256, [str(size) for size in sizes], model.tokens.name, str(model.dtype), model.device.type])


def _encoding(fact: Fact, model: FrozenModel) -> list[float]:
    # One at a time, so that an encoding does not depend on what stands beside it.
    with torch.no_grad():
        encoding = model.last_hidden(model.ids(fact.text, f"packet: {fact.member_id!r}")).float().mean(dim=1)[0]
    if not bool(torch.isfinite(encoding).all()):
        raise InputError(f"packet: {fact.member_id!r}: the model's encoding is no finite number; look whether the checkpoint is whole, or give --dtype float32")
    numbers: list[float] = encoding.tolist()
    return numbers
