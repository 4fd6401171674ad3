"""A frozen Qwen3: loaded from a folder on this machine, or built with given sizes and seeded random weights. Nothing is ever fetched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, Qwen3Config

from governed_memory.bridge.tokens import BYTES, Tokens, tokens_beside
from governed_memory.errors import InputError, shown

ARCHITECTURE = "qwen3"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
AUTO = "auto"
# What can be built: the first for tests, in no time; the second has the published sizes of Qwen3-0.6B.
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "tiny": {
        "vocab_size": 256, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1,
        "head_dim": 16, "max_position_embeddings": 4096, "tie_word_embeddings": True,
    },
    "qwen3-0.6b": {
        "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 40960, "tie_word_embeddings": True,
    },
}  # fmt: skip
BUILT_DTYPES = {"tiny": "float32", "qwen3-0.6b": "bfloat16"}


@dataclass(frozen=True, slots=True)
class FrozenModel:
    """A model whose weights nothing changes.

    Attributes:
        network: the model; no parameter of it is trainable.
        tokens: how text becomes tokens.
        seed: of its random weights; None for a checkpoint.
    """

    network: Any
    tokens: Tokens
    seed: int | None

    @property
    def hidden_size(self) -> int:
        """The width of its residual stream."""
        return int(self.network.config.hidden_size)

    @property
    def layers(self) -> Any:
        """Its decoder layers."""
        return self.network.model.layers

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        device: torch.device = self.network.device
        return device

    @property
    def dtype(self) -> torch.dtype:
        """The type of its weights."""
        dtype: torch.dtype = self.network.dtype
        return dtype

    def ids(self, text: str, what: str) -> torch.Tensor:
        """A text as [1, tokens].

        Raises:
            InputError: it has no token, more than the model takes, or one that the model does not know.
        """
        ids, most, known = self.tokens.ids(text), self.network.config.max_position_embeddings, self.network.config.vocab_size
        if not 0 < len(ids) <= most:
            raise InputError(f"{what}: has {len(ids)} tokens; expected 1 to {most}, which is what the model takes")
        if max(ids) >= known:
            raise InputError(f"{what}: token {max(ids)} is unknown to a model of {known}; its tokenizer belongs to another model")
        return torch.tensor([ids], device=self.device)

    def last_hidden(self, ids: torch.Tensor) -> torch.Tensor:
        """The last hidden state, [1, tokens, hidden]."""
        hidden: torch.Tensor = self.network.model(input_ids=ids, use_cache=False).last_hidden_state
        return hidden

    def sha256(self) -> str:
        """The hash of all base weights, with their names, types and shapes."""
        return weights_sha256(self.network.state_dict())


def load(path: str, *, device: str = AUTO, dtype: str = AUTO) -> FrozenModel:
    """The Qwen3 checkpoint of a folder, frozen.

    Raises:
        InputError: there is none, it is of another architecture, weights of it are missing, or the device or type is unknown.
    """
    folder = Path(path)
    _expect_qwen3(folder)
    where, kind = _device(device), _dtype(dtype)
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, dtype=kind or "auto", output_loading_info=True
        )
    except Exception as error:
        if "mismatch" in str(error):
            raise InputError(f"--model: {path!r}: its weights are of other shapes than its config.json states; copy the checkpoint again") from None
        why = type(error).__name__
        raise InputError(f"--model: {path!r}: its weights cannot be loaded ({why}); expected safetensors as `save_pretrained` writes them") from None
    network, report = loaded
    # Weights that a file lacks would be made up at random, without a word.
    wrong = sorted(report["missing_keys"]) + sorted(str(name) for name in report["mismatched_keys"])
    if wrong:
        raise InputError(f"--model: {path!r}: {len(wrong)} weights are missing or of another shape, the first {shown(wrong[0])}; copy the checkpoint again")
    return _frozen(network, where, tokens_beside(folder), None)


def built(shape: str, *, seed: int = 0, device: str = AUTO, dtype: str = AUTO, **sizes: int) -> FrozenModel:
    """A Qwen3 of given sizes with random weights, frozen; the same seed gives the same weights.

    Args:
        shape: one of SHAPES.
        seed: of the weights.
        device: cpu, cuda or auto.
        dtype: of the weights; auto for the shape's own.
        sizes: of the configuration, where others than the shape's are wanted.

    Raises:
        InputError: the shape, device or type is unknown.
    """
    if shape not in SHAPES:
        raise InputError(f"--build: {shape!r} is no shape; expected one of {', '.join(SHAPES)}")
    where, kind = _device(device), _dtype(BUILT_DTYPES[shape] if dtype == AUTO else dtype)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = AutoModelForCausalLM.from_config(Qwen3Config(**{**SHAPES[shape], **sizes}), dtype=kind)  # type: ignore[no-untyped-call]
    return _frozen(network, where, BYTES, seed)


def weights_sha256(weights: Mapping[str, torch.Tensor]) -> str:
    """The hash of weights, with their names, types and shapes, in the order of the names."""
    hashed = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        hashed.update(f"{name} {weight.dtype} {tuple(weight.shape)}\n".encode())
        hashed.update(weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return hashed.hexdigest()


def _frozen(network: Any, device: torch.device, tokens: Tokens, seed: int | None) -> FrozenModel:
    network.requires_grad_(False)
    return FrozenModel(network.eval().to(device), tokens, seed)


def _expect_qwen3(folder: Path) -> None:
    place = folder / "config.json"
    try:
        told = json.loads(place.read_text(encoding="utf-8"))
        kind = told["model_type"]
    except OSError:
        raise InputError(f"--model: {str(folder)!r} is no folder with a checkpoint; expected config.json and model.safetensors in it") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"--model: {str(place)!r} is no configuration of a model; expected JSON with a model_type") from None
    if kind != ARCHITECTURE:
        raise InputError(f"--model: {str(folder)!r} is a {shown(kind)}; expected a checkpoint of {ARCHITECTURE!r}")


def _device(name: str) -> torch.device:
    if name == AUTO:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise InputError(f"--device: {name!r} is no device; expected auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("--device: 'cuda' is not there; expected auto or cpu on this machine")
    return torch.device(name)


def _dtype(name: str) -> torch.dtype | None:
    if name != AUTO and name not in DTYPES:
        raise InputError(f"--dtype: {name!r} is no type of weights; expected auto or one of {', '.join(DTYPES)}")
    return DTYPES.get(name)


def trainable(network: torch.nn.Module) -> Iterator[torch.nn.Parameter]:
    """The parameters that training would change."""
    return (parameter for parameter in network.parameters() if parameter.requires_grad)
