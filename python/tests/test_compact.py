"""F2: compact lines lose nothing in the full form, and are as short as published in the short one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governed_memory.errors import InputError
from governed_memory.overlay.compact import compact, expand

AWKWARD = st.sampled_from(["~", "", ["a"], [""], [], ["a,b", "|"], "\\", "\n", "\r\n", "\\e", "\\j1", "\\[", "\\s", None, ["~"], "a,b", "\u2028"])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
RECORDS = st.lists(
    st.dictionaries(
        st.sampled_from(["record_id", "supersedes", "release_to", "applies_to", "value", "valid_to", "x|y", "~", "", "\\"]), AWKWARD | JSON_VALUES, max_size=5
    ),
    max_size=4,
)


@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(RECORDS)
def test_f2_full_form_is_lossless(records: list[dict]) -> None:
    text = "\n".join(compact(records, full=True))
    assert list(expand(text.split("\n"))) == records


def test_f2_short_form_states_the_published_columns() -> None:
    record = {"record_id": "D-1", "valid_from": "2026-01-01", "valid_to": None, "source": None, "release_to": ["board"], "value": "a|b", "other": 1}
    header, line = compact([record])
    assert header == "# record_id|valid_from|valid_to|source|concept_owner|owner_role|supersedes|release_to|value"
    assert line == "D-1|2026-01-01|~|||||board|a\\pb"
    assert list(expand([header, line])) == [{"record_id": "D-1", "valid_from": "2026-01-01", "valid_to": None, "release_to": ["board"], "value": "a|b"}]


def test_f2_reads_the_columns_a_store_maps() -> None:
    lines = list(
        compact(
            [{"uuid": "E-1", "valid_at": "2026-01-01", "invalid_at": None}], mapping={"record_id": "uuid", "valid_from": "valid_at", "valid_to": "invalid_at"}
        )
    )
    assert lines[1] == "E-1|2026-01-01|~"


def test_f2_published_reference_store_is_as_short_as_published() -> None:
    path = Path(os.environ.get("GMEM_SHARED", Path(__file__).parents[3] / "shared")) / "data" / "reference.jsonl"
    if not path.is_file():
        pytest.skip("the published reference store is not beside the project")
    lines = path.read_text(encoding="utf-8")
    records = [json.loads(line) for line in lines.splitlines()]
    assert len(lines.rstrip("\n")) == 6064
    assert len("\n".join(compact(records))) == 1860


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["record_id|value"], "line 1: 'record_id|value' is no header"),
        ([], "line 1: '' is no header"),
        (["# a|a"], "line 1: the header names a column twice"),
        (["# a", "1|2"], "line 2: 2 fields, but the header names 1"),
        (["# a", "x\\q"], r"line 2: '\\q' is no escape"),
        (["# a", "\\j{"], r"line 2: '{' after \j is not JSON"),
    ],
)
def test_f2_a_line_that_cannot_be_read_is_named(lines: list[str], message: str) -> None:
    with pytest.raises(InputError) as raised:
        list(expand(lines))
    assert str(raised.value).startswith(message)
