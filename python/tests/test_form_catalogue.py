"""F1: a catalogue, in its three dialects."""

from __future__ import annotations

from pathlib import Path

import pytest
from awkward_records import STORES, same
from hypothesis import HealthCheck, example, given, settings

from governed_memory.overlay.forms import catalogue
from governed_memory.overlay.forms.store import FormStore


@pytest.mark.parametrize("name", ["store.json", "store.yaml"])
def test_f1_a_catalogue_loses_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / name

    @settings(max_examples=60, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STORES)
    @example(FormStore([{"record_id": "A", "supersedes": ["B"], "value": "x", "valid_to": None, "release_to": ["a.b"]}]))
    def holds(store: FormStore) -> None:
        catalogue.write(store, path)
        again = catalogue.read(path)
        assert same(again, store)
        assert again.notices == []

    holds()
