"""The statements on a page: paragraphs and items that begin with a tag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from governed_memory.errors import shown
from governed_memory.overlay.forms.pages.grammar import STARTS, TAG, UNTAGGED, read_sentence, tag_in
from governed_memory.overlay.forms.pages.markdown import CODE, Block, unquoted
from governed_memory.overlay.forms.store import Unread

CONCEPT = re.compile(r"Concept:\s+(.+)", re.DOTALL)
OPENING = re.compile(rf"({TAG}|{re.escape(UNTAGGED)})(?:\s+|\Z)")
# A new statement may begin with a line of a paragraph.
NEXT = re.compile(rf"\n(?=(?:{TAG}|{re.escape(UNTAGGED)})(?:\s|\Z))")
BRACKETED = re.compile(r"\[([^\]\n]*)\](\(|\s|\Z)")
BOX = ("", " ", "x", "X")
_STARTS = [start.replace(" ", r"\s+") + (r"\b" if start[-1].isalpha() else "") for start in STARTS]
_LOWER = [start[0].lower() + start[1:] for start in _STARTS]
BOUNDARY = re.compile(rf"(?:\A|(?P<stop>[.!?][\"'”’»)\]*_]*)\s+)(?={'|'.join(_STARTS)})|;\s+(?={'|'.join(_LOWER)})")
# In the middle of a sentence it would be lost in the value.
MISPLACED = re.compile(rf"(?<!\w)(?:{'|'.join(_STARTS)})|\bin\s+force\s+(?:from|to|until)\s+\d")
SENTENCE = re.compile(r"(.+?)\.(?:\s+|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """A record, and where it stands."""

    record: dict[str, Any]
    place: str


class Unreadable(ValueError):
    """A sentence that cannot be read; `offset` says where it begins in the text of the block."""

    def __init__(self, why: str, offset: int) -> None:
        """The reason, and where."""
        super().__init__(why)
        self.offset = offset


def statements_on(blocks: Sequence[Block], page: str, notices: list[str]) -> list[Statement]:
    """The statements on a page, in their order. One that cannot be read, and what looks like one, is told in the notices."""
    found: list[Statement] = []
    concept: str | None = None
    for block in blocks:
        if block.is_heading:
            concept = _concept(block, page, notices)
            continue
        for offset, text in _parts(block.text):
            place = f"{page}, line {block.line + block.text.count(chr(10), 0, offset)}"
            opening = OPENING.match(text)
            if not opening:
                _report_lookalike(text, place, notices)
                continue
            try:
                record = _record(block, text, opening)
            except Unreadable as error:
                line = block.line + block.text.count("\n", 0, offset + error.offset)
                notices.append(Unread(f"{page}, line {line}: {_tag_shown(block, opening[1])}: {error}; the statement is left out"))
            else:
                found.append(Statement({**record, **({} if concept is None or "concept" in record else {"concept": concept})}, place))
    return found


def _concept(heading: Block, page: str, notices: list[str]) -> str | None:
    match = CONCEPT.fullmatch(heading.text)
    if not match:
        return None
    try:
        return heading.name(match[1])
    except ValueError as error:
        notices.append(Unread(f"{page}, line {heading.line}: the heading names no concept: {error}; what follows is read without one"))
        return None


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """The statements of a paragraph, each with where it begins."""
    starts = [0, *(match.end() for match in NEXT.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text) + 1], strict=True):
        yield start, text[start : end - 1]


def _report_lookalike(text: str, place: str, notices: list[str]) -> None:
    match = BRACKETED.match(text)
    if not match or match[1] in BOX:
        return
    if match[2] != "(":
        notices.append(f"{place}: begins with {shown(match[1])} in brackets, which is no tag and is not read; a tag holds a digit and no blank")
    elif re.fullmatch(r"\S*[A-Za-z]-?\d+", match[1]):
        notices.append(f"{place}: begins with the tag {shown(match[1])} as a link and is not read; write a statement's own tag without one")


def _tag_shown(block: Block, tag: str) -> str:
    return block.as_written(tag)


def _record(block: Block, text: str, opening: re.Match[str]) -> dict[str, Any]:
    try:
        record: dict[str, Any] = {} if opening[1] == UNTAGGED else {"record_id": tag_in(block, opening[1])}
    except ValueError as error:
        raise Unreadable(f"the tag cannot be read: {error}", 0) from error
    start = opening.end()
    boundary = BOUNDARY.search(text[start:])
    value = text[start:] if boundary is None else text[start : start + max(boundary.start(), boundary.end("stop"))]
    if misplaced := MISPLACED.search(value):
        raise Unreadable(
            f"{_begins(value[misplaced.start() :])} stands within another one; end that with a full stop, or put it in quotes within code",
            start + misplaced.start(),
        )
    if value:
        record["value"] = _value(block, value)
    if boundary is not None:
        _read_sentences(block, text, start + boundary.end(), record)
    return record


def _value(block: Block, text: str) -> str:
    if match := re.fullmatch(rf"{CODE}(.)\.?", text):
        code = block.code(match[1])
        try:
            value = unquoted(code) if code.startswith('"') else None
        except ValueError:
            value = None
        if isinstance(value, str):
            return value
    return block.as_written(text)


def _read_sentences(block: Block, text: str, start: int, record: dict[str, Any]) -> None:
    """Add to the record what the sentences from there on say."""
    while start < len(text):
        match = SENTENCE.match(text, start)
        if not match:
            raise Unreadable(f"{_begins(text[start:])} does not end with a full stop", start)
        # The first may follow a semicolon.
        sentence = match[1][0].upper() + match[1][1:]
        try:
            said = read_sentence(block, sentence)
        except ValueError as error:
            raise Unreadable(f"{_begins(sentence)} cannot be read: {error}", start) from error
        if repeated := said.keys() & record.keys():
            raise Unreadable(f"{_begins(sentence)} says {', '.join(sorted(map(shown, repeated)))} a second time", start)
        record |= said
        start = match.end()


def _begins(sentence: str) -> str:
    """A sentence as a notice names it. What else it holds may be restricted."""
    flat = " ".join(sentence.split())
    known = next((start.rstrip(CODE).rstrip() for start in STARTS if flat[:1].upper() + flat[1 : len(start)] == start), None)
    return "a sentence" if known is None else f"the sentence that begins with {known!r}"
