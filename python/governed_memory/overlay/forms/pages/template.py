"""Pages written from a store, by a template."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from governed_memory.overlay.forms.json_file import as_json
from governed_memory.overlay.forms.pages.checklist import policy_on
from governed_memory.overlay.forms.pages.grammar import UNTAGGED, sentences_of, tag, words
from governed_memory.overlay.forms.pages.markdown import blocks_in, quoted
from governed_memory.overlay.forms.pages.statements import statements_on
from governed_memory.overlay.forms.store import FormStore

STATEMENTS = """\
# Statements
{% for heading, text in statements %}
{% if heading %}

## {{ heading }}
{% endif %}

{{ text }}
{% endfor %}
"""
OWNERS = """\
# Owners

{% for sentence in owners %}
- {{ sentence }}
{% endfor %}
"""
POLICY = """\
# Conflict policy

{{ policy }}
"""
CHECKLIST = """\
# Expected concepts

{% for concept in concepts %}
- [ ] {{ concept }}
{% endfor %}
"""
OWNER_ROLES = ("concept_owner", "owner_role")
# ASCII punctuation that Markdown reads as more than itself.
MARKUP = re.compile(r"([\\`*_\[\]<>&])")
Render = Callable[[str], str]


def pages(store: FormStore) -> dict[str, str]:
    """The pages of a store, {name: text}. Owners, policy and checklist are there where the store has them.

    Raises:
        InputError: a record cannot be written.
    """
    owners, by_page = _owner_sentences(store.records)
    found = {"statements": _page(STATEMENTS, statements=_placed(store.records, by_page))}
    if owners:
        found["owners"] = _page(OWNERS, owners=owners)
    if store.conflict_policy is not None:
        found["policy"] = _policy(store.conflict_policy)
    if store.expected_concepts:
        found["checklist"] = _page(CHECKLIST, concepts=list(map(words, store.expected_concepts)))
    return found


def _page(template: str, **given: Any) -> str:
    from jinja2 import Environment, StrictUndefined

    # Markdown, no HTML: what a text holds is made harmless where it is put into a sentence.
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined, autoescape=False)
    return environment.from_string(template).render(given)


def _placed(records: list[dict[str, Any]], owned_by_page: list[bool]) -> Iterator[tuple[str | None, str]]:
    """Each statement, with the heading that goes before it where its concept is another than that of the one before."""
    before = None
    for record, is_owned in zip(records, owned_by_page, strict=True):
        stated = {key: value for key, value in record.items() if not (is_owned and key in OWNER_ROLES)}
        concept = stated.pop("concept") if isinstance(stated.get("concept"), str) else None
        heading = None if concept == before else "Other statements" if concept is None else f"Concept: {words(concept)}"
        before = concept
        yield heading, _statement(stated)


def _statement(stated: dict[str, Any]) -> str:
    rest = dict(stated)
    name = tag(rest.pop("record_id")) if isinstance(rest.get("record_id"), str) else UNTAGGED
    if not isinstance(rest.get("value"), str):
        return " ".join([name, *sentences_of(rest)])
    value = rest.pop("value")
    sentences = list(sentences_of(rest))
    for written in (value, MARKUP.sub(r"\\\1", value)):
        text = f"{name} {_with_value(written, sentences)}"
        if _reads_as(text, stated):
            return text
    return " ".join([name, quoted(value) + ("." if sentences else ""), *sentences])


def _with_value(value: str, sentences: list[str]) -> str:
    """The value and the sentences after it: a value that is no whole sentence is followed by a semicolon."""
    if not sentences or value.endswith((".", "!", "?")):
        return " ".join([value, *sentences])
    first, *others = sentences
    return " ".join([f"{value}; {first[0].lower()}{first[1:]}", *others])


def _reads_as(text: str, stated: dict[str, Any]) -> bool:
    """Whether what is written is read as what it says: the surest test of a text that might look like something else."""
    notices: list[str] = []
    blocks = blocks_in(text, "")
    found = statements_on(blocks, "", notices) if len(blocks) == 1 and not blocks[0].is_item else []
    return not notices and len(found) == 1 and as_json(_sorted(found[0].record)) == as_json(_sorted(stated))


def _sorted(record: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(record.items()))


def _policy(policy: str) -> str:
    plain = _page(POLICY, policy=policy)
    return plain if policy_on(blocks_in(plain, ""), plain) == policy else _page(POLICY, policy=quoted(policy))


def _owner_sentences(records: list[dict[str, Any]]) -> tuple[list[str], list[bool]]:
    """The sentences of the owners page, and of each record whether they say its owner.

    A concept has one sentence where all its records say the same, else each of its statements has its own.
    """
    names = Counter(record["record_id"] for record in records if isinstance(record.get("record_id"), str))
    said: dict[str, set[str]] = {}
    for record in records:
        if isinstance(record.get("concept"), str):
            said.setdefault(record["concept"], set()).add(as_json(_owned(record)))
    sentences: dict[str, None] = {}
    by_page = []
    for record in records:
        concept, name, owned = record.get("concept"), record.get("record_id"), _owned(record)
        about = None
        if isinstance(concept, str) and len(said[concept]) == 1:
            about = words(concept)
        elif isinstance(name, str) and names[name] == 1:
            about = tag(name)
        is_said = about is not None and bool(owned) and all(value is None or (isinstance(value, str)) for value in owned.values())
        if about is not None and is_said:
            sentences[_owner_sentence(about, owned)] = None
        by_page.append(is_said)
    return list(sentences), by_page


def _owned(record: dict[str, Any]) -> dict[str, Any]:
    return {role: record[role] for role in OWNER_ROLES if role in record}


def _owner_sentence(about: str, owned: dict[str, Any]) -> str:
    names = {role: "nobody" if value is None else words(value) for role, value in owned.items()}
    role = names.get("owner_role")
    if "concept_owner" not in names:
        return f"{'Nobody' if owned['owner_role'] is None else f'The {role}'} answers for {about}."
    answers = "" if role is None else f", where {role if role == 'nobody' else f'the {role}'} answers"
    return f"{about} is owned by {names['concept_owner']}{answers}."
