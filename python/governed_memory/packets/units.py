"""What a budget counts: characters, or the tokens of a tokenizer that the user names by its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from governed_memory.errors import InputError


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of text.

    Attributes:
        name: characters or tokens.
        count: how many of them a text has.
    """

    name: str
    count: Callable[[str], int]


CHARACTERS = Unit("characters", len)


def tokens_of(place: str) -> Unit:
    """Tokens as a tokenizer on this machine counts them; nothing is fetched.

    Args:
        place: a `tokenizer.json`, or the folder of a model that has one.

    Raises:
        InputError: it is none, or the package that reads it is not installed.
    """
    path = Path(place)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"--tokenizer: {place!r} is no tokenizer.json and no folder with one")
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError("counting tokens needs the `tokens` extra; install it with: pip install 'governed-memory[tokens]'") from None
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception:
        raise InputError(f"--tokenizer: {str(file)!r} cannot be read as a tokenizer; expected what the tokenizers library saves") from None
    return Unit("tokens", lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids))
