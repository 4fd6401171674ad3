"""Each of the 72 cells of the mapping, by name: the field stands where the cell says, and only when the record states it (rule F1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from form_examples import available, place
from places import RECORD_ID, places

from governed_memory import warehouse
from governed_memory.overlay.forms.registry import FORMS, form
from governed_memory.overlay.forms.store import FormStore

BEFORE: dict[str, Any] = {
    "record_id": "D-101", "concept": "net_revenue", "value": "Gross revenue less returns.", "valid_from": "2025-01-01", "valid_to": None,
    "source": "FIN-POL-04",
}  # fmt: skip
RECORD: dict[str, Any] = {
    "record_id": RECORD_ID, "concept": "net_revenue", "value": "Gross revenue less returns and rebates.", "valid_from": "2026-04-01", "valid_to": "2026-12-31",
    "source": "FIN-POL-07", "concept_owner": "finance", "owner_role": "Head of Finance", "applies_to": ["renewals", "external"],
    "does_not_apply_to": ["internal"], "release_to": ["board", "auditors"], "supersedes": "D-101",
}  # fmt: skip
POLICY, EXPECTED = "The record of the concept's owner decides; else the latest.", ("net_revenue", "churn")
# What stands in the place: of the expected concepts the one that no record is about.
VALUES = {**RECORD, "conflict_policy": POLICY, "expected_concepts": ["churn"]}
CELLS = [(row["field_id"], row["target"]) for row in warehouse.seed("field_mappings")]


@pytest.mark.parametrize(("field", "target"), CELLS, ids=[f"{field}-{target}" for field, target in CELLS])
def test_the_field_stands_where_the_mapping_says_F1(field: str, target: str, tmp_path: Path) -> None:
    if target not in available():
        pytest.skip(f"the form {target} is not here")
    find = places(target)[field]
    assert find(_written(target, tmp_path / "with")) == VALUES[field]
    assert _found(find, _written(target, tmp_path / "without", field)) != VALUES[field]


def _written(target: str, folder: Path, left_out: str = "") -> Path:
    folder.mkdir()
    record = {key: value for key, value in RECORD.items() if key != left_out}
    store = FormStore([BEFORE, record], None if left_out == "conflict_policy" else POLICY, () if left_out == "expected_concepts" else EXPECTED)
    path = place(folder, target)
    form(target).write(store, path)
    return path


def _found(find: Any, path: Path) -> Any:
    """What stands in the place, or nothing where there is no such place."""
    try:
        return find(path)
    except (LookupError, StopIteration, AttributeError, TypeError, OSError):
        return None


def test_the_cells_are_the_72_of_the_profile_F1() -> None:
    assert len(CELLS) == len(set(CELLS)) == 72
    assert {target for _, target in CELLS} == {*FORMS}
