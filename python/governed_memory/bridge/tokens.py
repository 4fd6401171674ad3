"""Text to tokens, by the tokenizer that is beside a checkpoint, or byte by byte where there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from governed_memory.errors import InputError


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenizer.

    Attributes:
        name: `bytes`, or the SHA-256 of its file.
        ids: the tokens of a text.
    """

    name: str
    ids: Callable[[str], list[int]]


BYTES = Tokens("bytes", lambda text: list(text.encode()))


def tokens_beside(folder: Path) -> Tokens:
    """The tokenizer of a checkpoint's folder; bytes where it has none.

    Raises:
        InputError: there is a `tokenizer.json` that is none.
    """
    file = folder / "tokenizer.json"
    if not file.is_file():
        return BYTES
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception:
        raise InputError(f"{str(file)!r} cannot be read as a tokenizer; expected what the tokenizers library saves") from None
    name = hashlib.sha256(file.read_bytes()).hexdigest()
    return Tokens(name, lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids))
