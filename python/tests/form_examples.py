"""Stores for the tests of forms: generated ones with every field and with what forms find hard, and where each form is written."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from governed_memory.overlay.forms.registry import FORMS
from governed_memory.overlay.forms.store import FormStore
from governed_memory.warehouse.json_text import Number

# The endings in which a form is written; the first is the one that other tests use. None is a folder.
ENDINGS = {
    "bitemporal_graph": (".jsonl", ".json"),
    "vector_memory": (".json", ".jsonl"),
    "catalogue": (".json", ".yaml"),
    "documents": ("",),
    "relational": ("",),
    "dimension": (".yaml", ".json"),
}
TEXTS = (
    "Net of returns, rebates; and tax", "0012", "1e5", "true", "no", "null", "~", "2026-01-01", "a: b # c", "- x", "[1, 2]", "{}", '"quoted"', "it's",
    "two\nlines", "tab\there", " blanks around ", "two  blanks", "trailing \nblank", "\u2028", "é — 中文 😀", "e\u0301", "[D-102]", "**bold** `code` | x", "<b>&amp;</b>",
    "\\n", "#", "&anchor", "*alias", "!tag", "%", "@", "x" * 200 + " " + "y" * 200, "carriage\rreturn", "a\r\nb", "\x07", "", " ",
    "Ends on 2026-03-31. Released to board.", "http://x.example/a?b=c#d", "=1+1", "ﬁ", "\ufeffx", "/", ".", "::", "§", "1.", "1)", "___", "---", "```",
)  # fmt: skip
IDS = ("D-101", "D-102", "D-103", "M/4", "0012", "SAT", "true", "id with blanks", "a,b", "é", "record:1", "record-1", "conflict-policy", "party:x")
CONCEPTS = ("arr", "data_retention", "Net revenue", "a/b", "entity:arr", "0012")
PARTIES = ("finance", "legal", "board", "sales and marketing", "party:legal", "x,y")
ROLES = ("Head of Finance", "Data steward", "VP, Sales")
CLASSES = ("renewals", "external", "internal use")
DAYS = ("2026-01-01", "2026-03-31", "2025-12-31", "1999-02-28")
ODD_DAYS = ("2026-02-30", "2026-01-01T23:30:00Z", "2026-04-01T00:00:00+02:00", "infinity", "9999-12-31", "soon", "", "2026-1-1")
OTHER_KEYS = (
    "note", "id", "uuid", "fact", "memory", "metadata", "hash", "user_id", "name", "group_id", "episodes", "attributes", "labels", "governed_memory", "pinned",
    "records", "created_at", "updated_at", "expired_at", "target_node_uuid", "key with blanks", "ключ", "a.b", "description", "tags", "owner", "owners", "meta",
)  # fmt: skip
OTHER_VALUES: tuple[Any, ...] = (
    "text", "", None, True, False, Number("5"), Number("1.50"), Number("1E400"), [], {}, ["a"], [["a"], {"b": None}], {"deep": {"er": [Number("1")]}},
    "conflict_policy", "STATES", "2026-01-01T00:00:00Z", ["S-1", "S-2"],
)  # fmt: skip


def available() -> list[str]:
    """The forms whose module is there."""
    return [name for name, module in FORMS.items() if find_spec(module)]


def place(folder: Path, name: str, ending: str | None = None) -> Path:
    """Where a store of a form is written."""
    return folder / ("store" + (ENDINGS[name][0] if ending is None else ending))


def awkward_store(source: random.Random) -> FormStore:
    """A store of up to eight records, each field stated in most, and oddly in some."""
    records = [_record(source) for _ in range(source.randint(0, 8))]
    policy = source.choice(
        (None, "The owner's record decides; else the latest.", *(text for text in TEXTS if text.strip() and text != "null" and "\r" not in text))
    )
    expected = source.sample(CONCEPTS, source.randint(0, 3))
    return FormStore(records, policy, tuple(expected))


def _record(source: random.Random) -> dict[str, Any]:
    record: dict[str, Any] = {}

    def state(key: str, *choices: Any, often: float = 0.8) -> None:
        if source.random() < often:
            record[key] = source.choice(choices)

    def names(values: tuple[str, ...]) -> Any:
        found = source.sample(values, source.randint(1, len(values)))
        return source.choice((found, found, found, found[0], [found[0]], [], None, "", [source.choice(TEXTS)], [Number("1")], [found[0], found[0]]))

    def rarely(values: tuple[Any, ...]) -> Any:
        return source.choice(values if source.random() < 0.2 else values[:1])

    state("record_id", source.choice(IDS), source.choice(IDS), rarely((source.choice(IDS), None, Number("7"), "", " ", ["D-1"])), often=0.95)
    state("concept", source.choice(CONCEPTS), rarely((source.choice(CONCEPTS), None, "", Number("1"))))
    state("value", source.choice(TEXTS), source.choice(TEXTS), rarely(("plain", *OTHER_VALUES)))
    state("valid_from", *DAYS, rarely((DAYS[0], None, *ODD_DAYS, Number("2026"))))
    state("valid_to", None, None, *DAYS, rarely((DAYS[1], *ODD_DAYS, [], Number("0"))), often=0.75)
    state("source", "FIN-POL-04", "LEG-POL-06", source.choice(TEXTS), rarely(("S", None, ["S"])))
    state("concept_owner", *PARTIES, rarely(("finance", None, "", ["finance", "legal"])))
    state("owner_role", *ROLES, rarely(("Head of Finance", None, "", Number("3"))), often=0.6)
    state("conflict_policy", "latest wins", None, "", False, often=0.1)
    for key, values in (("applies_to", CLASSES), ("does_not_apply_to", CLASSES), ("release_to", PARTIES), ("supersedes", IDS)):
        state(key, names(values), often=0.5)
    state("classification", "confidential", "public", None, often=0.2)
    state("restricted", True, False, "true", None, often=0.1)
    state("recorded_at", "2026-01-01", "2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "yesterday", None, often=0.3)
    state("withdrawal", "was wrong", "", often=0.1)
    for _ in range(source.choice((0, 0, 1, 2))):
        state(source.choice(OTHER_KEYS), source.choice(OTHER_VALUES))
    items = list(record.items())
    source.shuffle(items)
    return dict(items)
