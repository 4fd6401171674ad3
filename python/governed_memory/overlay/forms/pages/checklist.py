"""The checklist page, which names the expected concepts, and the policy page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from governed_memory.overlay.forms.pages.markdown import CODE, Block, unquoted
from governed_memory.overlay.forms.store import Unread


def concepts_on(blocks: Sequence[Block], page: str, notices: list[str]) -> tuple[str, ...]:
    """The concepts on a checklist: one an item, with or without a box before it."""
    found = []
    for block in blocks:
        if block.is_heading or not block.is_item or not block.is_read:
            continue
        try:
            found.append(block.name(re.sub(r"\A\[[ xX]?\]\s+", "", block.text)))
        except ValueError as error:
            notices.append(Unread(f"{page}, line {block.line}: names no concept: {error}; the item is left out"))
    return tuple(found)


def policy_on(blocks: Sequence[Block], text: str) -> str | None:
    """How disagreements are settled: what stands on the page after its first heading, as it is written."""
    blocks = [block for block in blocks if block.is_read]
    heading = blocks[0].end if blocks and blocks[0].is_heading else 1
    rest = [block for block in blocks if block.line >= heading]
    if len(rest) == 1 and re.fullmatch(f"{CODE}.", rest[0].text) and rest[0].codes[0].startswith('"'):
        try:
            value = unquoted(rest[0].codes[0])
        except ValueError:
            value = None
        if isinstance(value, str):
            return value
    return "\n".join(text.split("\n")[heading - 1 :]).strip() or None
