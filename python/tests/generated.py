"""Generated examples that are the same in every run, whatever else is loaded: a library that learns values from the modules at hand draws other ones.

An example is mostly a batch of stores that are built together; `harness.reduced` shrinks the one store that differs.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import TypeVar

Example = TypeVar("Example")

# GMEM_EXAMPLES=10 tries ten times as many, other ones each time.
TIMES = int(os.environ.get("GMEM_EXAMPLES", "1"))


def examples(count: int, draw: Callable[[random.Random], Example]) -> Iterator[Example]:
    """So many examples, each drawn from a random source of its own."""
    first = 0 if TIMES == 1 else random.SystemRandom().randrange(2**32)
    for number in range(first, first + count * TIMES):
        yield draw(random.Random(number))


def codes(source: random.Random, size: int, least: int, most: int) -> list[bytes]:
    """From `least` to `most` strings of `size` bytes."""
    return [source.randbytes(size) for _ in range(source.randint(least, most))]
