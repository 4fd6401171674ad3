"""A Markdown page as blocks of plain text with its places: headings, paragraphs and items. What stands in `code` is kept apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError
from governed_memory.overlay.forms.json_file import expect_shallow, text_of
from governed_memory.warehouse.json_text import dumps, parse

# Where code stands in a block's text: this character, which no text needs, and one for the number of the code.
CODE = "\ufdd0"
FIRST = 0x100000
MOST = 0xFFFD
DEEPEST = 18
UNREAD = ("fence", "code_block", "html_block")


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, or a paragraph, perhaps that of a list item; or a block of code or HTML, which is not read.

    Attributes:
        text: what it says, line breaks kept; each piece of code is CODE and a character for its place in `codes`.
        codes: what stands in code.
        line: its first line on the page, counted from 1.
        end: the first line after it.
        is_heading: whether it is a heading.
        is_item: whether it is in a list.
        is_read: whether it is text, not code or HTML.
    """

    text: str
    codes: tuple[str, ...]
    line: int
    end: int
    is_heading: bool
    is_item: bool
    is_read: bool = True

    def as_written(self, text: str) -> str:
        """A part of the text with its code in it, on one line."""
        return re.sub(f"{CODE}(.)", lambda match: f"`{self.code(match[1])}`", text).replace("\n", " ")

    def code(self, character: str) -> str:
        """The code that the character after CODE stands for."""
        return self.codes[ord(character) - FIRST]

    def name(self, text: str) -> str:
        """A name as a sentence gives it: in plain words, or in quotes and code.

        Raises:
            ValueError: it is empty, or mixes the two.
        """
        text = " ".join(text.split("\n"))
        if re.fullmatch(f"{CODE}.", text):
            value = unquoted(self.code(text[1]))
            if isinstance(value, str):
                return value
        if not text or CODE in text or text != text.strip():
            raise ValueError("a name is plain words, or a text in quotes within code")
        return text


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page.

    Raises:
        InputError: the page cannot be read, or nests lists and quotations deeper than Markdown's reader goes.
    """
    return blocks_in(text_of(page), str(page))


def blocks_in(text: str, place: str) -> list[Block]:
    """The same of a text."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").parse(text)
    if deep := next((token for token in tokens if token.level >= DEEPEST), None):
        line = deep.map[0] + 1 if deep.map else 1
        raise InputError(f"{place}, line {line}: lists and quotations are nested more than {DEEPEST // 2} deep; what stands in them would not be read")
    blocks = []
    items = 0
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type in UNREAD and token.map:
            content = token.content.replace(CODE, "\ufffd")
            # The first line of a fence is not part of what stands in it.
            first = token.map[0] + (2 if token.type == "fence" else 1)
            blocks.append(Block(content, (), first, token.map[1] + 1, False, items > 0, is_read=False))
        items += {"list_item_open": 1, "list_item_close": -1}.get(token.type, 0)
        if token.type == "inline" and token.map and before is not None:
            codes: list[str] = []
            if len(token.children or []) > MOST:
                raise InputError(f"{place}, line {token.map[0] + 1}: a paragraph holds more markup than one page should; part it")
            flat = _flat(token.children or [], codes)
            blocks.append(Block(flat, tuple(codes), token.map[0] + 1, (before.map or token.map)[1] + 1, before.type == "heading_open", items > 0))
    return blocks


def _flat(children: Sequence[Any], codes: list[str]) -> str:
    """The text of inline tokens: escapes are resolved, and all other markup but code stays as it is written."""
    parts = []
    links: list[str] = []
    for child in children:
        if child.type == "code_inline":
            codes.append(child.content)
            parts.append(CODE + chr(FIRST + len(codes) - 1))
        elif child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif child.type == "link_open":
            links.append(str(child.attrs.get("href", "")))
            parts.append("[")
        elif child.type == "link_close":
            parts.append(f"]({links.pop()})")
        elif child.type == "image":
            parts.append(f"![{child.content}]({child.attrs.get('src', '')})")
        else:
            parts.append(child.markup if child.type.endswith(("_open", "_close")) else child.content.replace(CODE, "\ufffd"))
    return "".join(parts)


def quoted(text: str) -> str:
    """A text in quotes and in code, where it stays what it is whatever it holds."""
    return in_code(dumps(text))


def in_code(json: str) -> str:
    """JSON in code. A backtick, which would end it, can only stand in a text there."""
    return "`" + json.replace("`", "\\u0060") + "`"


def unquoted(code: str) -> Any:
    """What `quoted` or `in_code` put in code.

    Raises:
        ValueError: it is no JSON, or nested too deeply.
    """
    value = parse(code, unique_keys=True)
    try:
        expect_shallow(value, "a value in code")
    except InputError as error:
        raise ValueError(str(error)) from error
    return value
