"""Records as a store may hold them: every role and other keys, plain and awkward values, each field left out, null or of another shape at times."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from governed_memory.overlay.forms.store import FormStore
from governed_memory.warehouse.json_text import dumps

WORDS = st.sampled_from(
    ["finance", "Head of Finance", "board", "D-101", "net_revenue", "a.b", "new contracts", "legal and tax", "nobody", "0012", "true", "null", "~", "no"]
)
AWKWARD = st.sampled_from([
    "", " ", "\n", "a\nb", "a\r\nb", " led", "trailed ", "two  spaces", "[D-1]", "[D-1] x", "[x](y)", "](", "*", "**b**", "_", "a_b_c", "`", "``", "a`b",
    '"', "'", '"quoted"', "\\", "\\n", "#", "# head", "- item", "1. item", "> said", "|", "||", "---", "<b>", "<!-- -->", "&amp;", "&", "~", "=", "<<", "!", "@", "%", ":", "a: b",
    "a, b", ", ", "a and b", "; ", "a; in force from 2026-01-01", "x. Source: y.", "Source: y.", "In force from 2026-01-01.", "Replaces [D-1].", "Also `a` is `1`.",
    "is owned by", "about", "About x", "No tag", "no tag", "{{ x }}", "{% if %}", "\u2028", "\x85", "\x00", "\ufeff", "\u200b", "é", "e\u0301", "😀", "\t", "a\tb", "9999-12-31",
    "2026-02-30", "2026-01-01T00:00:00Z", "ReleaseTo.x", "a\"b.c", "http://x.y/z?a=b&c", "1e5", "Net revenue is x.", "Ends. Well!", "..", "\xa0", "a\\", "\\*", "![i](j)", "[a]: b",
])  # fmt: skip
TEXTS = WORDS | AWKWARD | st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
DATES = st.sampled_from(["2026-01-01", "2026-06-30", "2024-02-29", "2026-04-01T12:00:00Z"])
NAMES = st.lists(TEXTS, max_size=3)


def _field(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(usual, usual, usual, st.none(), ANYTHING)


FIELDS = {
    **{role: _field(TEXTS) for role in ("record_id", "concept", "value", "source", "concept_owner", "owner_role", "conflict_policy", "classification", "withdrawal", "written_by")},
    **{role: _field(DATES | TEXTS) for role in ("valid_from", "valid_to", "recorded_at")},
    **{role: _field(NAMES) for role in ("applies_to", "does_not_apply_to", "release_to")},
    "supersedes": _field(TEXTS | NAMES),
    **{role: ANYTHING for role in ("confidential", "restricted", "policy", "rule", "priority")},
    **{key: ANYTHING for key in ("id", "name", "tags", "synonyms", "extension", "governed_memory", "custom_properties", "", "a b", '"', "`", "a.b", "<<", "\u2028")},
}  # fmt: skip
RECORDS = st.lists(st.fixed_dictionaries({}, optional=FIELDS), max_size=4)
STORES = st.builds(FormStore, RECORDS, st.none() | TEXTS, st.lists(TEXTS, max_size=3).map(tuple))


def plain(value: Any) -> Any:
    """As the json module reads it, so that a number is one however it is held."""
    return json.loads(dumps(value))


def same(store: FormStore, other: FormStore) -> bool:
    """Whether two stores say the same."""
    kept = ("conflict_policy", "expected_concepts")
    return [plain(record) for record in store.records] == [plain(record) for record in other.records] and all(
        getattr(store, name) == getattr(other, name) for name in kept
    )
