"""The owners page: who owns a concept, or what a single statement is about, and who answers there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from governed_memory.errors import shown
from governed_memory.overlay.forms.catalogues.terms import owner as one_or_several
from governed_memory.overlay.forms.pages.grammar import REFERENCE, tag_in
from governed_memory.overlay.forms.pages.markdown import Block
from governed_memory.overlay.forms.pages.statements import SENTENCE, Statement
from governed_memory.overlay.forms.store import Unread

OWNED = re.compile(r"(?P<about>.+?)\s+is\s+owned\s+by\s+(?P<owner>.+?)(?:,\s+where\s+(?:the\s+)?(?P<role>.+?)\s+answers)?", re.DOTALL)
ANSWERED = re.compile(r"(?:The\s+(?P<role>.+?)|(?P<nobody>Nobody))\s+answers\s+for\s+(?P<about>.+)", re.DOTALL)
NOBODY = "nobody"


@dataclass(slots=True)
class Entry:
    """What the page says of one concept or tag.

    Attributes:
        place: where it says so first.
        owners: the owners it names; None says nobody.
        roles: those who answer.
    """

    place: str
    owners: list[str | None] = field(default_factory=list)
    roles: list[str | None] = field(default_factory=list)

    def fields(self) -> dict[str, Any]:
        """As a record states it: several owners as a list, which a rule reports."""
        return {role: _one(names) for role, names in (("concept_owner", self.owners), ("owner_role", self.roles)) if names}


def _one(names: list[str | None]) -> Any:
    return one_or_several(name for name in names if name is not None)


@dataclass(slots=True)
class Owners:
    """What the owners page says, by concept and by tag."""

    concepts: dict[str, Entry] = field(default_factory=dict)
    tags: dict[str, Entry] = field(default_factory=dict)

    def add(self, blocks: Sequence[Block], page: str, notices: list[str]) -> None:
        """Read the sentences of a page. Of what is not in a list, only those that speak of owners."""
        for block in blocks:
            if block.is_heading or not block.is_read:
                continue
            start = 0
            while start < len(block.text):
                match = SENTENCE.match(block.text, start)
                sentence = match[1] if match else block.text[start:]
                place = f"{page}, line {block.line + block.text.count(chr(10), 0, start)}"
                is_read = match is not None and self._add_sentence(block, sentence, place)
                if not is_read and (block.is_item or re.search(r"owned\s+by|\banswers\s+for\b", sentence)):
                    expected = "expected `CONCEPT is owned by PARTY, where the ROLE answers.`"
                    notices.append(Unread(f"{place}: a sentence cannot be read and is left out; {expected}"))
                start = match.end() if match else len(block.text)

    def _add_sentence(self, block: Block, sentence: str, place: str) -> bool:
        match = ANSWERED.fullmatch(sentence) or OWNED.fullmatch(sentence)
        if not match:
            return False
        try:
            if re.fullmatch(REFERENCE, match["about"]):
                entry = self.tags.setdefault(tag_in(block, match["about"]), Entry(place))
            else:
                entry = self.concepts.setdefault(block.name(match["about"]), Entry(place))
            said = {name: None if text == NOBODY else block.name(text) for name, text in match.groupdict().items() if text and name in ("owner", "role")}
        except ValueError:
            return False
        entry.owners += [said["owner"]] if "owner" in said else []
        entry.roles += [said["role"]] if "role" in said else [None] if match.groupdict().get("nobody") else []
        return True

    def given(self, statement: Statement) -> dict[str, Any]:
        """The record with its owner: what is said of its tag goes before what is said of its concept."""
        record = statement.record
        tag, concept = record.get("record_id"), record.get("concept")
        entry = (self.tags.get(tag) if isinstance(tag, str) else None) or (self.concepts.get(concept) if isinstance(concept, str) else None)
        return {**record, **{role: value for role, value in (entry.fields() if entry else {}).items() if role not in record}}

    def report_unused(self, statements: Sequence[Statement], notices: list[str]) -> None:
        """Tell which tags on the page are those of no statement."""
        known = {tag for statement in statements if isinstance(tag := statement.record.get("record_id"), str)}
        notices += [f"{entry.place}: no statement has the tag {shown(tag)}" for tag, entry in self.tags.items() if tag not in known]
