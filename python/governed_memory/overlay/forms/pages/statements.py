"""The statements on a page: paragraphs and items that begin with a tag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from governed_memory.errors import shown
from governed_memory.overlay.forms.pages.grammar import RELEASE, STARTS, TAG, UNTAGGED, read_sentence, tag_in
from governed_memory.overlay.forms.pages.markdown import CODE, Block, unquoted
from governed_memory.overlay.forms.store import Unread

CONCEPT = re.compile(r"Concept:\s+(.+)", re.DOTALL)
OPENING = re.compile(rf"({TAG}|{re.escape(UNTAGGED)})(?:\s+|\Z)")
# A new statement may begin with a line of a paragraph.
NEXT = re.compile(rf"\n(?=(?:{TAG}|{re.escape(UNTAGGED)})(?:\s|\Z))")
BRACKETED = re.compile(r"\[([^\]\n]*)\]([(:]|\s|\Z)")
BOX = ("", " ", "x", "X")
_STARTS = [start.replace(" ", r"\s+") + (r"\b" if start[-1].isalpha() else "") for start in STARTS]
_LOWER = [start[0].lower() + start[1:] for start in _STARTS]
BOUNDARY = re.compile(rf"(?:\A|(?P<stop>[.!?][\"'”’»)\]*_]*)\s+)(?={'|'.join(_STARTS)})|;\s+(?={'|'.join(_LOWER)})")
# In the middle of a sentence it would be lost in the value.
MISPLACED = re.compile(rf"(?<!\w)(?:{'|'.join(_STARTS)})|\bin\s+force\s+(?:from|to|until)\s+\d")
# What begins like a sentence about the statement but is not written as one: in other letters, after a comma, in words of its own.
_MARKUP = r"[*_~\"'“”(]*"
STRAY = re.compile(
    rf"(?:\A|[.!?;:,(\n–—])[\s*_~\"'“”(|>-]{{0,9}}(?P<said>{RELEASE})|(?:\A|[.!?][\"'”’»)\]*_]*\s+){_MARKUP}(?P<other>{'|'.join(_STARTS)})", re.IGNORECASE
)
# A tag behind markup, which begins no statement: in a paragraph or heading, and anywhere in code or HTML.
_TAG_IN = rf"(?P<tag>{TAG}|{re.escape(UNTAGGED)})"
_AROUND = r"[*_~|>]|<[/!]?\w[^<>\n]*>"
HIDDEN = re.compile(rf"(?:\A|\n)[ \t]*(?:(?:{_AROUND})[ \t]*)+{_TAG_IN}|\|[ \t*_~]*{_TAG_IN.replace('<tag>', '<cell>')}")
HIDDEN_IN_CODE = re.compile(rf"^(?:[^\w\n\[<]|_|<!--|</?\w[^<>\n]*>)*{_TAG_IN}", re.MULTILINE)
SENTENCE = re.compile(r"(.+?)\.(?:\s+|\Z)", re.DOTALL)
_LEFT_OUT = "write it in the statement's own; the statement is left out"
_LIKE_A_SENTENCE = "words that look like a sentence about the statement are not written as one: see the grammar, or put what is none in quotes within code"


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
    # The tag of the statement that a paragraph without one goes on with; None where there is none.
    before: str | None = None
    for block in blocks:
        if block.is_heading:
            concept, before = _concept(block, page, notices), None
            _is_reported(block, 0, block.text, page, notices)
            continue
        for offset, text in _parts(block.text) if block.is_read else [(0, block.text)]:
            opening = OPENING.match(text) if block.is_read else None
            if not opening:
                if _is_reported(block, offset, text, page, notices):
                    before = None
                elif stray := STRAY.search(text):
                    # It would restrict the statement, or say when it holds, and is not read: the statement is left out rather than be open.
                    if before is not None:
                        found.pop()
                    _report_stray(stray, _place(page, block, offset + _start(stray)), before, notices)
                    before = None
                continue
            before = None
            try:
                record = _record(block, text, opening)
            except Unreadable as error:
                place = _place(page, block, offset + error.offset)
                notices.append(Unread(f"{place}: {_tag_shown(block, opening[1])}: {error}; the statement is left out"))
            else:
                before = _tag_shown(block, opening[1])
                found.append(Statement({**record, **({} if concept is None or "concept" in record else {"concept": concept})}, _place(page, block, offset)))
    return found


def _place(page: str, block: Block, offset: int) -> str:
    return f"{page}, line {block.line + block.text.count(chr(10), 0, offset)}"


def _start(stray: re.Match[str]) -> int:
    return stray.start("said" if stray["said"] else "other")


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


def _is_reported(block: Block, offset: int, text: str, page: str, notices: list[str]) -> bool:
    """Tell of what looks like a statement and is none; whether there was such a tag."""
    place = _place(page, block, offset)
    tags = [*(HIDDEN if block.is_read else HIDDEN_IN_CODE).finditer(text), *filter(None, [OPENING.match(text) if block.is_heading else None])]
    if tags:
        kind = "a heading" if block.is_heading else "markup or a table" if block.is_read else "code or HTML"
        first = tags[0].lastindex or 0
        place = _place(page, block, offset + tags[0].start(first))
        more = f" and {len(tags) - 1} more" if len(tags) > 1 else ""
        name = _tag_shown(block, tags[0][first])
        notices.append(Unread(f"{place}: the tag {name}{more} stands in {kind} and is not read; a paragraph or item begins with the tag itself"))
        return True
    match = None if block.is_heading or not block.is_read else BRACKETED.match(text)
    if not match or match[1] in BOX:
        return False
    if match[2] not in ("(", ":"):
        notices.append(f"{place}: begins with {shown(match[1])} in brackets, which is no tag and is not read; a tag holds a digit and no blank")
    elif re.fullmatch(r"\S*[A-Za-z]-?\d+", match[1]):
        how = "as a link" if match[2] == "(" else "and a colon"
        notices.append(Unread(f"{place}: begins with the tag {shown(match[1])} {how} and is not read; write a statement's own tag without that"))
        return True
    return False


def _report_stray(stray: re.Match[str], place: str, before: str | None, notices: list[str]) -> None:
    if before is not None:
        notices.append(Unread(f"{place}: {before}: {_begins(stray.string[_start(stray) :])} stands in a paragraph of its own; {_LEFT_OUT}"))
    elif stray["said"]:
        notices.append(
            Unread(f"{place}: a sentence that looks like a release belongs to no statement and is not read; write it in the statement's own paragraph")
        )


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
    if stray := STRAY.search(value):
        raise Unreadable(_LIKE_A_SENTENCE, start + _start(stray))
    if hidden := HIDDEN.search(text, opening.end()):
        raise Unreadable("a tag behind markup stands in it; begin a paragraph with it, without markup", hidden.start() + 1)
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
        if STRAY.search(sentence, 1):
            raise Unreadable(_LIKE_A_SENTENCE, start)
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
