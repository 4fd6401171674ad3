"""F1: documents, Markdown pages of tagged statements in plain sentences."""

from __future__ import annotations

import shutil
from pathlib import Path

from awkward_records import STORES, same
from hypothesis import HealthCheck, given, settings

from governed_memory.overlay.forms import documents
from governed_memory.overlay.forms.store import FormStore


def test_f1_documents_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pages"

    @settings(max_examples=80, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STORES)
    def holds(store: FormStore) -> None:
        shutil.rmtree(path, ignore_errors=True)
        documents.write(store, path)
        again = documents.read(path)
        assert same(again, store)

    holds()
