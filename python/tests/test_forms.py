"""The forms of a store: what is written reads back as it was, and what cannot be read says so in one line (rule F1)."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import generated
import pytest
from form_examples import ENDINGS, available, awkward_store, place

from governed_memory.overlay.forms.registry import form
from governed_memory.overlay.forms.same import expect_same
from governed_memory.overlay.forms.store import FormStore

WAYS = [pytest.param(name, ending, id=f"{name}{ending or '_folder'}") for name in available() for ending in ENDINGS[name]]


@pytest.mark.parametrize(("name", "ending"), WAYS)
def test_records_come_back_as_they_were_F1_T1_C10_C11(name: str, ending: str, tmp_path: Path) -> None:
    """F1: over generated stores with every field, odd texts and keys, an end that is null, stated or not; twice written, twice the same bytes."""
    for number, store in enumerate(generated.examples(20 if ending == "" else 60, awkward_store)):
        kept = copy.deepcopy(store)
        path = place(tmp_path / str(number), name, ending)
        path.parent.mkdir()
        form(name).write(store, path)
        expect_same(kept, form(name).read(path), path)
        assert store.records == kept.records, "the writer changed what it was given"
        again = place(tmp_path / f"{number}-again", name, ending)
        again.parent.mkdir()
        form(name).write(kept, again)
        assert _bytes(path) == _bytes(again)


def _bytes(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.rglob("*") if path.is_dir() else [path]) if file.is_file()}


@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_a_relational_file_holds_records_as_they_are_F1(ending: str, tmp_path: Path) -> None:
    for number, store in enumerate(generated.examples(15, awkward_store)):
        path = tmp_path / f"{number}{ending}"
        form("relational").write(FormStore(store.records), path)
        expect_same(FormStore(store.records), form("relational").read(path), path)


def test_a_chain_through_every_form_loses_nothing_F1(tmp_path: Path) -> None:
    """F1: each form reads what the one before it gave."""
    store = awkward_store(random.Random(3))
    for name in [*available(), *available()]:
        path = place(tmp_path, name) if name not in ("relational", "documents") else tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}"
        form(name).write(store, path)
        read = form(name).read(path)
        expect_same(store, read, path)
        store = FormStore(read.records, read.conflict_policy, read.expected_concepts)
