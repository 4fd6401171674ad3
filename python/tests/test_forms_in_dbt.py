"""A store of any form as a dbt source: the plugin runs the form's own reader, and the same records come out of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dbt_harness
import duckdb
import pytest
from dbt.adapters.duckdb.utils import SourceConfig
from dbt_common.exceptions import DbtRuntimeError
from form_examples import ENDINGS, available

from governed_memory.dbt_forms import LOG, Plugin, _read
from governed_memory.errors import InputError
from governed_memory.overlay.forms.registry import form
from governed_memory.overlay.forms.store import FormStore
from governed_memory.warehouse import attached_store

RECORDS: list[dict[str, Any]] = [
    {"record_id": "open", "concept": "arr", "value": "x", "valid_from": "2026-01-01", "valid_to": None, "source": "S-1", "concept_owner": "finance"},
    {"record_id": "unknown", "concept": "arr", "value": "y", "valid_from": "2026-02-01", "source": "S-1", "concept_owner": "finance"},
    {"record_id": "ended", "concept": "arr", "value": "z", "valid_from": "2026-03-01", "valid_to": "2026-06-30", "supersedes": "open", "release_to": ["board"]},
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> dbt_harness.Project:
    return dbt_harness.Project(tmp_path_factory.mktemp("forms"))


@pytest.fixture(scope="module")
def built(project: dbt_harness.Project, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("stores")
    project.vars["stores"] = {}
    for name in available():
        path = folder / f"store_{name}{ENDINGS[name][0]}"
        form(name).write(FormStore(RECORDS, "The owner's record decides.", ("arr", "nps")), path)
        project.attach(name, {"plugin": "forms", "form": name, "path": str(path)}, form=name, target_level=1)
    return project.run("record_intervals", "record_intervals_built")


@pytest.mark.parametrize("name", available())
def test_the_plugin_gives_the_records_and_keeps_the_ends_apart_F1_T1(name: str, built: duckdb.DuckDBPyConnection) -> None:
    """F1, T1: an open end, one not stated and a date stay what they are through dbt, and supersession acts."""
    found = built.execute(
        "select record_id, valid_to, is_valid_to_stated, supersedes, release_to from records where store_id = ? order by record_index", [name]
    )
    assert [(record_id, str(end), stated, replaced, released) for record_id, end, stated, replaced, released in found.fetchall()] == [
        ("open", "None", True, None, None),
        ("unknown", "None", False, None, None),
        ("ended", "2026-06-30", True, ["open"], ["board"]),
    ]
    assert built.execute("select form from stores where store_id = ?", [name]).fetchone() == (name,)
    ended = built.execute("select in_force_to::varchar from record_intervals where store_id = ? and record_id = 'open'", [name]).fetchone()
    assert ended == ("2026-02-28",)


def test_an_entry_that_gainsays_its_source_is_refused_F1(tmp_path: Path) -> None:
    """F1: one form, stated once; an entry that says nothing takes what the source says."""
    form("dimension").write(FormStore(RECORDS), tmp_path / "d.yaml")
    meta = {"plugin": "forms", "form": "dimension", "path": str(tmp_path / "d.yaml")}
    project = dbt_harness.Project(tmp_path)
    project.attach("team", meta)
    project.attach("other", meta, form="vector_memory")
    refused = project.dbt("run", "--select", "stg_stores")
    assert refused.returncode != 0
    said = " ".join((refused.stdout + refused.stderr).split())
    assert "store other: form is 'vector_memory' here, but its source tested.other is read as 'dimension' (meta: form)" in said
    del project.vars["stores"]["other"]
    assert project.run("stg_stores").execute("select form from stg_stores").fetchall() == [("dimension",)]


MESSAGES: list[tuple[dict[str, str], str]] = [
    ({"form": "vector_memory"}, "its meta has no path"),
    ({"form": "vector", "path": "x"}, "'vector' is no form"),
    ({"form": "vector_memory", "path": "nowhere.json"}, "nowhere.json: cannot be read"),
    ({"form": "vector_memory", "path": "x", "holds": "record"}, "did you mean 'records'?"),
]


@pytest.mark.parametrize(("meta", "message"), MESSAGES)
def test_a_source_that_cannot_be_read_is_one_line_F1(meta: dict[str, str], message: str) -> None:
    """F1: the source is named, and what is wrong with its meta."""
    plugin = Plugin("forms", {})
    with pytest.raises(DbtRuntimeError) as raised:
        plugin.load(SourceConfig(name="tested", identifier="broken", schema="tested", database=None, meta=meta, tags=[]))
    assert "source tested.broken: " in str(raised.value) and message in str(raised.value)


def test_a_change_is_not_made_to_the_table_that_was_loaded_F1_T7(built: duckdb.DuckDBPyConnection, project: dbt_harness.Project) -> None:
    """T7: the next build would load the store again without it; the place to change is named."""
    assert built
    with pytest.raises(InputError, match=r"the plugin 'forms' reads it as dimension from .*store_dimension[.]yaml; change it there"):
        attached_store("dimension", str(project.folder / dbt_harness.DATABASE))


def test_the_plugin_gives_the_registers_that_a_form_states_F1(tmp_path: Path) -> None:
    """F1: expected concepts and the policy, in the columns that `vars: registers:` asks for."""
    form("dimension").write(FormStore(RECORDS, "Latest wins.", ("arr", "nps")), tmp_path / "d.yaml")
    meta = {"form": "dimension", "path": str(tmp_path / "d.yaml"), "store": "team"}
    assert _read({**meta, "holds": "expected_concepts"}, "x")[1].rows() == [("team", "arr"), ("team", "nps")]
    assert _read({**meta, "holds": "policies"}, "x")[1].rows() == [("team", "Latest wins.")]
    assert [json.loads(text) for (text,) in _read(meta, "x")[1].rows()] == RECORDS
    with pytest.raises(InputError, match="its meta has no form"):
        _read({"path": "x"}, "x")


UNREAD = "# A\n\n[D-1] Kept. In force from 2026-01-01 until further notice.\n\n[D-2] Lost. In force since 2026.\n\n[Note] is no tag.\n"


def test_what_cannot_be_read_fails_the_build_and_notices_are_warnings_F1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F1: no statement is dropped without a word, and what it states is not told."""
    said: list[str] = []
    monkeypatch.setattr(LOG, "warning", said.append)
    (tmp_path / "a.md").write_text(UNREAD, encoding="utf-8")
    meta = {"form": "documents", "path": str(tmp_path)}
    source = SourceConfig(name="tested", identifier="pages", schema="tested", database=None, meta=meta, tags=[])
    with pytest.raises(DbtRuntimeError) as raised:
        Plugin("forms", {}).load(source)
    assert f"source tested.pages: {tmp_path / 'a.md'}, line 5: [D-2]: " in str(raised.value) and "allow_unread: true" in str(raised.value)
    assert said == []
    rows = Plugin("forms", {}).load(replace(source, meta={**meta, "allow_unread": True})).frame
    assert [json.loads(text)["record_id"] for (text,) in rows.rows()] == ["D-1"]
    assert len(said) == 2 and "the statement is left out" in said[0] and "'Note' in brackets" in said[1]
