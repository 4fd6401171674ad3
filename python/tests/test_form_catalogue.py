"""F1: a catalogue, in its three dialects."""

from __future__ import annotations

import copy
import json
import random
import shutil
from pathlib import Path
from typing import Any

import dbt_harness
import generated
import pytest
import yaml
from awkward_records import STORES, plain, same
from hypothesis import HealthCheck, example, given, settings

from governed_memory.errors import InputError
from governed_memory.overlay.check import check
from governed_memory.overlay.forms import catalogue
from governed_memory.overlay.forms.store import FormStore
from governed_memory.warehouse import StoreFile


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


def reference(kind: str, name: str) -> dict[str, Any]:
    return {"id": "0c8a9f3e-0000-4000-8000-000000000001", "type": kind, "name": name, "fullyQualifiedName": name, "deleted": False}


def term(name: str, **stated: Any) -> dict[str, Any]:
    """A term as the API gives it."""
    return {
        "id": "0c8a9f3e-0000-4000-8000-000000000002", "name": name, "displayName": name.title(), "description": f"What {name} means.",
        "fullyQualifiedName": f"Business.{name}", "glossary": reference("glossary", "Business"), "synonyms": [], "relatedTerms": [], "references": [],
        "version": 0.1, "updatedAt": 1767225600123, "updatedBy": "admin", "reviewers": [], "owners": [], "tags": [], "status": "Approved", "deleted": False,
        **stated,
    }  # fmt: skip


def read_json(path: Path, content: Any) -> FormStore:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return catalogue.read(path)


def test_f1_terms_of_openmetadata_say_what_they_say_and_no_more(tmp_path: Path) -> None:
    """F1: the day a term was saved is when it was recorded, never since when it holds; labels of the data restrict nothing here."""
    owned = term(
        "churn",
        owners=[reference("team", "sales")], reviewers=[reference("user", "vp-sales")], references=[{"name": "SAL-G-04", "endpoint": "https://x.example/4"}],
        tags=[{"tagFQN": "PII.Sensitive", "source": "Classification"}, {"tagFQN": 'ReleaseTo."a.b"'}], extension={"valid_from": "2026-03-01", "ticket": "T-1"},
    )  # fmt: skip
    store = read_json(tmp_path / "o.json", {"data": [owned, term("draft", status="Draft"), term("gone", deleted=True)], "paging": {"total": 3}})
    churn, draft = map(plain, store.records)
    assert churn == {
        "record_id": "Business.churn@0.1", "concept": "Business.churn", "value": "What churn means.", "concept_owner": "sales", "owner_role": "vp-sales",
        "source": "SAL-G-04", "release_to": ["a.b"], "valid_from": "2026-03-01", "ticket": "T-1", "recorded_at": "2026-01-01T00:00:00.123000Z",
        "tags": ["PII.Sensitive"], "status": "Approved",
    }  # fmt: skip
    assert "valid_from" not in draft and "valid_to" not in draft
    assert [notice.removeprefix(str(tmp_path)) for notice in store.notices] == [
        "/o.json, data, element 2: the term 'Business.draft' has the status 'Draft'; it is read like any other",
        "/o.json, data, element 3: the term 'gone' is marked as deleted and left out",
        "/o.json: labels such as 'PII.Sensitive' are kept under 'tags'; only those of ReleaseTo restrict a statement here",
    ]


@pytest.mark.parametrize("as_text", [True, False])
def test_f1_the_history_of_a_term_is_a_chain_of_statements(as_text: bool, tmp_path: Path) -> None:
    versions: list[Any] = [term("churn", version=version, description=f"Version {version}.") for version in (10.0, 0.2, 0.1)]
    history = {"entityType": "glossaryTerm", "versions": [json.dumps(version) for version in versions] if as_text else versions}
    records = read_json(tmp_path / "o.json", [history, term("arr")]).records
    assert [(record["record_id"], record.get("supersedes")) for record in records] == [
        ("Business.churn@0.1", None), ("Business.churn@0.2", "Business.churn@0.1"), ("Business.churn@10.0", "Business.churn@0.2"), ("Business.arr@0.1", None),
    ]  # fmt: skip


GLOSSARY = """
version: 1
source: Handbook
owners: {users: [ada]}
nodes:
    - name: Finance
      description: About money.
      owners: [{type: DATA_STEWARD, groups: [finance]}]
      terms:
          - name: Revenue
            description: What was invoiced.
            inherits: [Classification.Sensitive, ReleaseTo.board]
            source_ref: FIN-1
          - {name: Margin, id: "urn:li:glossaryTerm:margin", description: What is left., custom_properties: {valid_from: 2026-01-01, does_not_apply_to: "internal, audit"}}
      nodes:
          - {name: Old, description: No more in use., terms: [{name: 0012, description: A code.}]}
terms:
    - {name: Seat, description: A place., owners: {users: [ada, bob]}, tags: [PII.Sensitive, ReleaseTo.legal]}
"""


def test_f1_terms_of_datahub_inherit_owners_and_source(tmp_path: Path) -> None:
    (tmp_path / "g.yml").write_text(GLOSSARY, encoding="utf-8")
    store = catalogue.read(tmp_path / "g.yml")
    owned = {"concept_owner": "finance", "owner_role": "DATA_STEWARD"}
    assert store.records == [
        {"record_id": "Finance.Old.0012", "concept": "Finance.Old.0012", "value": "A code.", "source": "Handbook", **owned},
        {
            "record_id": "Finance.Revenue", "concept": "Finance.Revenue", "value": "What was invoiced.", "source": "FIN-1", "release_to": ["board"],
            "inherits": ["Classification.Sensitive"], **owned,
        },
        {
            "record_id": "urn:li:glossaryTerm:margin", "concept": "Finance.Margin", "value": "What is left.", "source": "Handbook", "valid_from": "2026-01-01",
            "does_not_apply_to": ["internal", "audit"], **owned,
        },
        {
            "record_id": "Seat", "concept": "Seat", "value": "A place.", "source": "Handbook", "concept_owner": ["ada", "bob"], "tags": ["PII.Sensitive"],
            "release_to": ["legal"],
        },
    ]  # fmt: skip
    assert store.notices == [
        f"{tmp_path / 'g.yml'}: labels such as 'Classification.Sensitive' are kept under 'inherits' or 'tags'; only those of ReleaseTo restrict a statement here"
    ]


def test_f1_what_is_written_for_datahub_is_as_its_reader_takes_it(tmp_path: Path) -> None:
    """F1: custom properties are texts, and every label that a term inherits is a term of a node."""
    record = {"record_id": "A", "value": "x", "valid_to": None, "release_to": ["board"], "applies_to": ["renewals"], "n": [1], "supersedes": "B"}
    catalogue.write(FormStore([record], "The owner decides.", ("arr",)), tmp_path / "g.yaml")
    glossary = yaml.safe_load((tmp_path / "g.yaml").read_text(encoding="utf-8"))
    assert glossary["version"] == 1 and glossary["owners"] == {"groups": []}
    [term] = glossary["terms"]
    named = {f"{node['name']}.{label['name']}" for node in glossary["nodes"] for label in node.get("terms", [])}
    assert {*term["inherits"]} == named == {"ReleaseTo.board", "AppliesTo.renewals"}
    assert all(isinstance(value, str) for node in [*glossary["nodes"], term] for value in node["custom_properties"].values())


def test_l2_several_owners_of_a_term_are_one_finding_for_its_concept(tmp_path: Path) -> None:
    """L2, F1: never a silent pick; however many versions of the term name them, and whatever else is wrong with its shape."""
    both = [reference("team", "sales"), reference("user", "ada")]
    versions = [term("churn", version=version, owners=both) for version in (0.1, 0.2)]
    twice = term("arr", owners=[both[0], both[0]])
    shapeless = term("nps", owners=both, references=[{"name": "a"}, {"name": "b"}])
    store = read_json(tmp_path / "o.json", [{"versions": versions}, twice, shapeless, term("older", owner=both[0])])
    assert [record.get("concept_owner") for record in store.records] == [["sales", "ada"], ["sales", "ada"], "sales", ["sales", "ada"], "sales"]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(plain(record)) + "\n" for record in store.records), encoding="utf-8")
    found = {finding["rule"]: finding for finding in check(StoreFile(str(tmp_path / "r.jsonl")))["value_findings"]}
    assert found["concept_owner_ambiguous"]["offenders"] == ["Business.churn@0.1", "Business.nps@0.1"]
    assert (found["field_malformed"]["field"], found["field_malformed"]["offenders"]) == ("source", ["Business.nps@0.1"])


def test_f1_this_projects_own_manifest_is_read(built: Path) -> None:
    store = catalogue.read(built.parent / "target/manifest.json")
    by_id = {record["record_id"]: record for record in store.records}
    assert len(by_id) == len(store.records) > 100 and store.notices == []
    assert by_id["model.governed_memory.parties"]["value"].startswith("One row per party")
    assert by_id["seed.governed_memory.rules"]["source"] == "seeds/profile/_profile__rules.yml"
    assert by_id["source.governed_memory.attached.reference"]["meta"] == {"external_location": "stores/reference.jsonl"}


def test_f1_a_manifest_says_owners_versions_and_what_meta_holds(tmp_path: Path) -> None:
    """F1: a version replaces the one before it up to the latest; a deprecation date is its end; several owners stay several."""
    models = tmp_path / "project/models"
    models.mkdir(parents=True)
    (tmp_path / "project/dbt_project.yml").write_text("{name: shop, profile: governed_memory, flags: {send_anonymous_usage_stats: false}}", encoding="utf-8")
    shutil.copy(dbt_harness.ROOT / "profiles.yml", tmp_path / "project")
    (models / "_models.yml").write_text(GOVERNED, encoding="utf-8")
    for name in ("arr_v1", "arr_v2", "arr_v3", "day"):
        (models / f"{name}.sql").write_text("select date '2026-01-01' as day, 1 as amount", encoding="utf-8")
    run = dbt_harness.dbt(tmp_path, "parse", project=tmp_path / "project")
    assert run.returncode == 0, run.stdout + run.stderr
    store = catalogue.read(tmp_path / "target/manifest.json")
    records = {record["record_id"]: plain(record) for record in store.records}
    arr = {
        "concept": "model.shop.arr", "source": "models/_models.yml", "concept_owner": "finance", "owner_role": "Head of Finance", "release_to": ["board"],
        "meta": {"ticket": "F-12"},
    }  # fmt: skip
    ends = records["model.shop.arr.v1"].pop("valid_to")
    assert ends.startswith("2026-06-30")
    assert records["model.shop.arr.v1"] == {
        **arr,
        "record_id": "model.shop.arr.v1",
        "value": "Annual recurring revenue before discounts.",
        "valid_from": "2025-01-01",
    }
    assert records["model.shop.arr.v2"] == {
        **arr, "record_id": "model.shop.arr.v2", "value": "Annual recurring revenue.", "valid_from": "2026-01-01", "supersedes": "model.shop.arr.v1",
    }  # fmt: skip
    assert "supersedes" not in records["model.shop.arr.v3"]
    assert records["metric.shop.revenue"]["concept_owner"] == ["finance", "sales"]
    assert records["exposure.shop.board_pack"]["concept_owner"] == "Controlling"
    assert [notice.partition("manifest.json: ")[2] for notice in store.notices] == [
        "model.shop.day: states 'classification' but has no description, so nothing that could hold; it is left out"
    ]


MANIFEST: dict[str, Any] = {"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}, "nodes": {}, "groups": {}}
NODE = {"unique_id": "model.a.b", "resource_type": "model", "description": "secret"}
OURS = {**term("A"), "extension": {"governed_memory": {"shapes": "secret"}}}
BOMB = "a: &a [secret, secret]\nb: &b [*a, *a]\nterms: *b\n"
BAD = {
    # name of the case: (content, what the line says after the path)
    "empty": ("  \n", ": is empty; expected glossary terms of OpenMetadata or DataHub, or a dbt manifest"),
    "cut_off": (json.dumps({"data": [term("secret")]})[:-90], ", line 1, column"),
    "another_object": ({"results": "secret"}, ": holds an object with 'results'; expected glossary terms of OpenMetadata"),
    "an_object_of_nothing": ({}, ": holds an object with nothing in it; expected"),
    "texts": (["secret"], ", element 1: holds a text; expected an object"),
    "data_no_list": ({"data": {"a": "secret"}}, ": 'data': holds an object; expected an array"),
    "no_name": ({"data": [term("a"), {"description": "secret"}]}, ", data, element 2: has no 'name', but 'description'; expected"),
    "no_glossary": ([{"name": "a", "description": "secret"}], ", element 1: has no 'glossary', but 'name', 'description'; expected"),
    "description_no_text": ([term("a", description={"secret": 1})], ", element 1: 'description': holds an object; expected a text"),
    "owners_are_texts": ([term("a", owners=["secret"])], ", element 1: 'owners': holds a text; expected an object"),
    "owner_without_a_name": ([term("a", owners=[{"type": "team"}])], ", element 1: 'owners': a reference without a name: holds null; expected a text"),
    "extension_no_object": ([term("a", extension="secret")], ", element 1: 'extension': holds a text; expected an object"),
    "notes_of_another": ([OURS], ", element 1: 'governed_memory' holds something else than"),
    "no_time": ([term("a", updatedAt=1e300)], ", element 1: 'updatedAt' is no time in milliseconds"),
    "tags_no_objects": ([term("a", tags=["secret"])], ", element 1: 'tags': holds a text; expected an object"),
    "a_version_that_is_no_json": ([{"versions": ["secret"]}], ", element 1, versions, element 1: is a text that is no JSON object"),
    "a_version_without_a_number": ([{"versions": [term("a", version=None)]}], ", element 1, versions, element 1: has no 'version'; in a history"),
    "a_deep_version": ([{"versions": ["[" * 5000 + "]" * 5000]}], ", element 1, versions, element 1: "),
    "deep": ('{"data": ' + "[" * 5000 + "]" * 5000 + "}", ": nested"),
    "key_twice": ('[{"name": "a", "name": "secret"}]', ": the key 'name' is given twice; say it once"),
    "manifest_of_another_version": ({**MANIFEST, "metadata": {"dbt_schema_version": "v4"}}, ": 'dbt_schema_version' is 'v4'; manifests of version 9"),
    "manifest_of_no_version": ({**MANIFEST, "metadata": {}}, ": 'dbt_schema_version' is None; manifests of version 9"),
    "manifest_without_groups": ({key: MANIFEST[key] for key in ("metadata", "nodes")}, ": has no 'groups'; expected a whole manifest.json"),
    "manifest_of_lists": ({**MANIFEST, "nodes": ["secret"]}, ": 'nodes': holds an array; expected an object"),
    "node_without_an_id": ({**MANIFEST, "nodes": {"n": {**NODE, "unique_id": None}}}, ": n: 'unique_id': holds null; expected a text"),
    "meta_no_object": ({**MANIFEST, "nodes": {"n": {**NODE, "meta": "secret"}}}, ": n: 'meta': holds a text; expected an object"),
    "owner_is_a_number": ({**MANIFEST, "nodes": {"n": {**NODE, "meta": {"owner": 5}}}}, ": n: 'owner': an owner: holds a number; expected a text"),
    "metadata_no_object": ({"metadata": "secret", "nodes": {}}, ": 'metadata': holds a text; expected an object"),
    "yaml_of_something_else": ("secret\n", ": holds no mapping; expected a DataHub business glossary"),
    "another_mapping": ("records: [secret]\n", ": holds a mapping with 'records'; expected a DataHub business glossary"),
    "another_version": ("version: 2\nterms: []\n", ": 'version' is 2; expected a DataHub business glossary: version 1"),
    "no_version": ("terms: []\n", ": 'version' is None; expected a DataHub business glossary: version 1"),
    "anchor_bomb": ("version: 1\n" + BOMB, ", line 3: holds an alias, *a; write the value out"),
    "cut_off_yaml": (GLOSSARY.rpartition("bob")[0], "not YAML"),
    "deep_yaml": ("version: 1\nterms: " + "[" * 200 + "]" * 200, ", line 2: nested more than 100 deep"),
    "yaml_key_twice": ("version: 1\nterms:\n- name: a\n  name: secret\n", ", line 4: the key 'name' is given twice; say it once"),
    "term_without_a_name": ("version: 1\nterms: [{description: secret}]\n", ", terms, element 1: has no 'name', but 'description'; expected"),
    "term_without_a_description": ("version: 1\nterms: [{name: a}]\n", ", terms, element 1: the term 'a' has no 'description'; expected"),
    "terms_no_list": ("version: 1\nterms: {name: secret}\n", ": 'terms': holds an object; expected an array"),
    "inherits_no_list": ("version: 1\nterms: [{name: a, description: b, inherits: secret}]\n", ", terms, element 1: 'inherits': holds a text; expected an array"),
    "owners_no_mapping": ("version: 1\nterms: [{name: a, description: b, owners: [secret]}]\n", ", terms, element 1: 'owners', element 1: holds a text; expected"),
    "properties_of_another": (
        "version: 1\nterms: [{name: a, description: b, custom_properties: {governed_memory: secret}}]\n",
        ", terms, element 1: 'governed_memory': is no JSON",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_f1_a_bad_catalogue_gives_one_clear_line_c23(case: str, tmp_path: Path) -> None:
    content, message = BAD[case]
    path = tmp_path / "export"
    with pytest.raises(InputError) as raised:
        read_json(path, content)
    said = str(raised.value)
    assert said.startswith(str(path)) and message in said, said
    assert "secret" not in said and "\n" not in said and len(said) < 600


WHOLE: list[Any] = [
    {"data": [term("a", owners=[reference("team", "b")], reviewers=[reference("user", "c")], references=[{"name": "d"}], tags=[{"tagFQN": "A.b"}], extension={"e": 1})]},
    [{"versions": [term("a"), json.dumps(term("a", version=0.2))]}, OURS | {"extension": {"governed_memory": {"not_stated": ["value"]}, "valid_to": None}}],
    MANIFEST | {"nodes": {"n": NODE | {"meta": {"owners": ["a", {"name": "b"}], "release_to": ["c"]}, "version": 2, "latest_version": 2, "group": "g", "tags": ["t"]}}, "groups": {"g": {"name": "g", "owner": {"name": "h"}}}},
    yaml.safe_load(GLOSSARY) | {"nodes": [{"name": "p", "description": "q", "custom_properties": {"governed_memory": "governance", "conflict_policy": "r", "required_terms": "[]"}}]},
]  # fmt: skip
ODD: tuple[Any, ...] = (None, True, 0, -1.5, 1e300, "", "x", "[", [], ["x"], [[]], [None], {}, {"x": None}, {"name": 5}, {"name": "x"})


def test_f1_a_catalogue_with_anything_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    """F1: whatever stands where something else is meant, there is never another error than one that says what is wrong."""
    refused = 0
    for whole in generated.examples(400, lambda source: _with_one_odd(source, source.choice(WHOLE))):
        path = tmp_path / "export"
        path.write_text(yaml.safe_dump(whole) if isinstance(whole, dict) and "owners" in whole else json.dumps(whole), encoding="utf-8")
        try:
            catalogue.read(path)
        except InputError as error:
            refused += 1
            assert str(error).startswith(str(path)), error
    assert refused > 50


def _with_one_odd(source: random.Random, whole: Any) -> Any:
    """The value with one part of it, at any depth, in another shape or left out."""
    copied = copy.deepcopy(whole)
    places: list[tuple[Any, Any]] = []
    inner = [copied]
    while inner:
        value = inner.pop()
        keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        places += [(value, key) for key in keys]
        inner += [value[key] for key in keys]
    holder, key = source.choice(places)
    if isinstance(holder, dict) and source.random() < 0.2:
        del holder[key]
    else:
        holder[key] = source.choice(ODD)
    return copied


def test_f1_a_catalogue_is_written_by_its_ending(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a catalogue is written to a name that ends in .json"):
        catalogue.write(FormStore([]), tmp_path / "store.txt")
    assert [*tmp_path.iterdir()] == []


# A group, versions of a model, an exposure and a metric.
GOVERNED = """
groups:
    - name: finance
      owner: {name: Head of Finance, email: finance@example.com}
models:
    - name: arr
      description: Annual recurring revenue.
      group: finance
      latest_version: 2
      config:
          meta: {valid_from: "2026-01-01", release_to: [board], ticket: F-12}
      versions:
          - {v: 1, deprecation_date: 2026-06-30, description: Annual recurring revenue before discounts., config: {meta: {valid_from: "2025-01-01"}}}
          - {v: 2}
          - {v: 3, description: Announced.}
    - name: day
      config: {meta: {classification: secret}}
      time_spine: {standard_granularity_column: day}
      columns: [{name: day, granularity: day}]
semantic_models:
    - name: revenue
      description: Revenue by day.
      model: ref('arr', v=2)
      defaults: {agg_time_dimension: day_of}
      entities: [{name: id, type: primary, expr: day}]
      dimensions: [{name: day_of, type: time, expr: day, type_params: {time_granularity: day}}]
      measures: [{name: amount, agg: sum}]
metrics:
    - name: revenue
      label: Revenue
      description: What was invoiced.
      type: simple
      type_params: {measure: amount}
      config: {group: finance, meta: {owners: [sales, finance]}}
exposures:
    - name: board_pack
      type: dashboard
      description: What the board sees.
      owner: {name: Controlling, email: controlling@example.com}
      depends_on: [ref('arr')]
"""
