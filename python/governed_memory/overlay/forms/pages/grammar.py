"""The sentences of a statement, read and written (docs/forms_catalogue_documents.md).

[D-102] Net revenue is the invoiced amount less returns. In force from 2026-01-01 to 2026-06-30. Source: FIN-H-05. Replaces [D-101].
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from governed_memory.overlay.forms.json_file import as_json
from governed_memory.overlay.forms.pages.markdown import CODE, Block, in_code, quoted, unquoted

# A tag is short and holds a digit; [x] is a box that is ticked and [note] a word in brackets. One in code may be any text.
TAG = rf"\[(?:{CODE}.|[^\s\[\]]*\d[^\s\[\]]*)\]"
UNTAGGED = "[no tag]"
DATE = rf"(?:\d{{4}}-\d\d-\d\d[^\s{CODE}]*|{CODE}.)"
NAMES = r"(.+)"
SEPARATOR = re.compile(r",\s+and\s+|,\s+|\s+and\s+")
LINK = r"(?:\([^()\s]*\))?"
REFERENCE = rf"\[(?:{CODE}.|[^\[\]]+)\]{LINK}"


def _sentence(pattern: str) -> re.Pattern[str]:
    # Where a sentence has a blank, a line may end.
    return re.compile(pattern.replace(" ", r"\s+"), re.DOTALL)


IN_FORCE = _sentence(rf"In force(?: from (?P<start>{DATE}))?(?: to (?P<end>{DATE})| (?P<open>until further notice))?")
REPLACES = _sentence(rf"Replaces (nothing|{REFERENCE}(?:(?:, and |, | and ){REFERENCE})*)")
ALSO = _sentence(rf"Also {CODE}(.) is {CODE}(.)")
NO_QUESTION_LEFT_OUT = _sentence("Leaves out no questions")
Reader = Callable[[Block, "re.Match[str]"], dict[str, Any]]


def sentences_of(role_values: dict[str, Any]) -> Iterator[str]:
    """The sentences that say what a record does, but for its tag, value and owner."""
    rest = dict(role_values)
    if interval := _interval(rest):
        yield interval
    if isinstance(rest.get("source"), str) and rest["source"]:
        yield f"Source: {words(rest.pop('source'))}."
    if "supersedes" in rest and (tags := _replaced(rest["supersedes"])):
        del rest["supersedes"]
        yield f"Replaces {tags}."
    for role, sentence, empty in (
        # `Released to nobody.` restricts, which an empty list does not.
        ("release_to", "Released to {}.", None),
        ("applies_to", "Governs {} questions.", "Governs no questions."),
        ("does_not_apply_to", "Does not govern {} questions.", "Leaves out no questions."),
    ):
        names = rest.get(role)
        if isinstance(names, list) and all(isinstance(name, str) for name in names) and (names or empty):
            del rest[role]
            yield sentence.format(", ".join(map(words, names))) if names else str(empty)
    for key, value in rest.items():
        name = quoted(key) if not key or key.startswith('"') or not re.fullmatch(r"[\w.-]+", key) else f"`{key}`"
        yield f"Also {name} is {in_code(as_json(value))}."


def _interval(rest: dict[str, Any]) -> str | None:
    parts = []
    if isinstance(rest.get("valid_from"), str):
        parts.append(f"from {date(rest.pop('valid_from'))}")
    if isinstance(rest.get("valid_to"), str):
        parts.append(f"to {date(rest.pop('valid_to'))}")
    elif "valid_to" in rest and rest["valid_to"] is None:
        del rest["valid_to"]
        parts.append("until further notice")
    return f"In force {' '.join(parts)}." if parts else None


def _replaced(supersedes: Any) -> str | None:
    if supersedes is None:
        return "nothing"
    # One tag is a text; a list of one is said in another way.
    tags = [supersedes] if isinstance(supersedes, str) else supersedes if isinstance(supersedes, list) and len(supersedes) > 1 else []
    return ", ".join(map(tag, tags)) if all(isinstance(one, str) for one in tags) else None


def tag(text: str) -> str:
    """A tag in brackets: plain where it can be."""
    return f"[{text}]" if re.fullmatch(r"(?=\S*\d)[^\W_](?:[\w.-]*[^\W_])?", text) else f"[{quoted(text)}]"


def date(text: str) -> str:
    """A date or timestamp, or whatever stands in its place."""
    return text if re.fullmatch(r"\d{4}-\d\d-\d\d(?:[T0-9:Z+-]*[0-9Z])?", text, re.ASCII) else quoted(text)


def words(text: str) -> str:
    """A name in plain words where it can be: none that a sentence means something by."""
    word = r"[^\W_](?:[\w/:.@-]*[^\W_])?"
    is_plain = re.fullmatch(rf"{word}(?: {word})*", text) and not RESERVED & set(text.lower().split(" ")) and not re.search(RELEASE, text, re.IGNORECASE)
    return text if is_plain else quoted(text)


RESERVED = {"and", "nobody", "nothing", "no", "questions", "is", "where", "answers"}


def read_sentence(block: Block, sentence: str) -> dict[str, Any]:
    """What one sentence of a statement says, by role.

    Raises:
        ValueError: it is none of those that a statement may have.
    """
    for pattern, reader in CLAUSES:
        if match := pattern.fullmatch(sentence):
            return reader(block, match)
    raise ValueError("it is none of the sentences that a statement may have")


def names_in(block: Block, text: str, nothing: str | None) -> list[str]:
    """The names of a list such as `board, legal and audit`."""
    return [] if text == nothing else [block.name(name) for name in SEPARATOR.split(text)]


def tag_in(block: Block, text: str) -> str:
    """The identifier in a tag or a reference, brackets and all."""
    return block.name(text[1 : text.index("]")])


def _read_interval(block: Block, match: re.Match[str]) -> dict[str, Any]:
    found: dict[str, Any] = {role: block.name(match[part]) for role, part in (("valid_from", "start"), ("valid_to", "end")) if match[part]}
    found |= {"valid_to": None} if match["open"] else {}
    if not found:
        raise ValueError("it says neither since when nor until when")
    return found


def _read_replaced(block: Block, match: re.Match[str]) -> dict[str, Any]:
    if match[1] == "nothing":
        return {"supersedes": None}
    tags = [tag_in(block, reference) for reference in re.findall(REFERENCE, match[1])]
    return {"supersedes": tags[0] if len(tags) == 1 else tags}


def _read_also(block: Block, match: re.Match[str]) -> dict[str, Any]:
    key, value = block.code(match[1]), unquoted(block.code(match[2]))
    name = unquoted(key) if key.startswith('"') else key
    return {str(name): value}


def _read_release(block: Block, match: re.Match[str]) -> dict[str, Any]:
    # An empty list alone restricts nothing (G5), and who writes `nobody` means the opposite.
    names = names_in(block, match[1], "nobody")
    return {"release_to": names} if names else {"release_to": [], "restricted": True}


def _list_reader(role: str, nothing: str | None) -> Reader:
    return lambda block, match: {role: names_in(block, match[1], nothing)}


CLAUSES: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (IN_FORCE, _read_interval),
    (_sentence("Source: (.+)"), lambda block, match: {"source": block.name(match[1])}),
    (REPLACES, _read_replaced),
    (_sentence(f"Released to {NAMES}"), _read_release),
    (_sentence(f"Governs {NAMES} questions"), _list_reader("applies_to", "no")),
    (_sentence(f"Does not govern {NAMES} questions"), _list_reader("does_not_apply_to", None)),
    (NO_QUESTION_LEFT_OUT, lambda block, match: {"does_not_apply_to": []}),
    (ALSO, _read_also),
)
# How a sentence begins that says, in words of its own, who may see a statement.
RELEASE = r"(?:only\s+)?(?:released?|visible|disclosed|restricted)\s*(?:only\s+)?(?:to\b|:)"
# How a sentence begins that is not part of the value any more.
STARTS = ("In force", "Source:", "Replaces", "Released to", "Governs", "Does not govern", "Leaves out", f"Also {CODE}")
