"""Exports that cannot be read as their form: one clear line each, with the place, and never what a record says (rule F1, C23)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from governed_memory.cli import main
from governed_memory.overlay.forms.registry import form

MEMORY = {"id": "A", "memory": "secret", "metadata": {"valid_from": "2026-01-01", "valid_to": None}}
EDGE = {"uuid": "A", "source_node_uuid": "e", "target_node_uuid": "e", "name": "STATES", "fact": "secret", "valid_at": "2026-01-01", "invalid_at": None}
POLICY = {"uuid": "p", "name": "policy", "labels": ["Policy"], "summary": "secret"}
PINNED = {"id": "p", "memory": "secret", "metadata": {"pinned": "conflict_policy"}}
DEEP = "[" * 5000 + "]" * 5000
# Nine levels of nine aliases each stand for 387 million texts.
BOMB = "a0: &a0 secret\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)) + "records: *a9\n"


def lines(*objects: Any) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in objects)


BAD = {
    # name of the case: (form, file, content, what the line says after the path)
    "no_such_file": ("vector_memory", "m.json", None, ": cannot be read: No such file or directory"),
    "empty_yaml": ("dimension", "d.yaml", "", ": holds null; expected an object"),
    "empty_json": ("dimension", "d.json", " ", ": holds nothing; expected one dimension"),
    "not_utf8": ("vector_memory", "m.json", b'{"results": "\xff"}', ": byte 14 is not UTF-8; save the file as UTF-8"),
    "cut_off": ("vector_memory", "m.json", '{"results": [{"id": "secret"', ", line 1, column 29: not JSON (Expecting ',' delimiter); expected one JSON value, whole"),
    "cut_off_line": ("bitemporal_graph", "g.jsonl", lines(EDGE) + '{"uuid": "secret', ", line 2, column 10: not JSON (Unterminated string starting at); every line must be one JSON object"),
    "html": ("vector_memory", "m.json", "<html>secret</html>", ", line 1, column 1: not JSON (Expecting value); expected one JSON value, whole"),
    "no_number": ("vector_memory", "m.jsonl", lines(MEMORY) + '{"id": "B", "memory": NaN}', ", line 2: NaN is no number in JSON; write null, or a text"),
    "key_twice": ("vector_memory", "m.jsonl", '{"id": "A", "id": "B", "memory": "secret"}', ", line 1: the key 'id' is given twice; say it once"),
    "half_a_character": ("vector_memory", "m.jsonl", '{"id": "A", "memory": "secret \\ud83d"}', ", line 1: a text holds half of a surrogate pair, which is no character; write the whole pair"),
    "deep_json": ("vector_memory", "m.json", f'{{"results": {DEEP}}}', ": nested"),
    "deep_line": ("bitemporal_graph", "g.jsonl", lines(EDGE) + f'{{"uuid": "B", "fact": {"[" * 150 + "]" * 150}}}', ", line 2: nested more than 100 deep; expected records, which are flat or nearly so"),
    "memory_is_a_text": ("vector_memory", "m.json", '{"results": ["secret"]}', ": 'results', element 1: holds a text; expected an object"),
    "results_no_list": ("vector_memory", "m.json", '{"results": {"secret": 1}}', ": 'results': holds an object; expected an array"),
    "memory_without_id": ("vector_memory", "m.jsonl", lines({"memory": "secret"}), ", line 1: is no memory: 'id' is missing or no text; expected an object with id, memory and metadata"),
    "memory_id_a_number": ("vector_memory", "m.jsonl", lines({"id": 5, "memory": "secret"}), ", line 1: is no memory: 'id' is missing or no text"),
    "memory_text_under_another_key": ("vector_memory", "m.jsonl", lines(MEMORY, {"id": "B", "text": "secret"}), ", line 2: is no memory: 'memory' is missing or no text"),
    "metadata_no_object": ("vector_memory", "m.jsonl", lines({**MEMORY, "metadata": ["secret"]}), ", line 1: 'metadata': holds an array; expected an object"),
    "memory_twice": ("vector_memory", "m.jsonl", lines(MEMORY, {"id": "B", "memory": ""}, MEMORY), ", line 3: the id 'A' is taken by another memory; each memory is listed once"),
    "two_policies": ("vector_memory", "m.jsonl", lines(PINNED, {**PINNED, "id": "q"}), ": 2 memories are pinned as the conflict policy; a store has one"),
    "two_versions_of_memories": ("vector_memory", "m.jsonl", lines({"results": [MEMORY]}, {**MEMORY, "id": "B"}), ", line 1: lists 'results' of its own among objects that stand alone: two versions"),
    "register_no_list": ("vector_memory", "m.json", '{"results": [], "expected_concepts": "secret"}', ": 'expected_concepts': holds a text; expected an array"),
    "notes_of_another": ("vector_memory", "m.jsonl", lines({**MEMORY, "metadata": {"governed_memory": "secret"}}), ", line 1: 'metadata': 'governed_memory' holds something else than not_stated, shapes, own"),
    "array_of_numbers": ("bitemporal_graph", "g.json", "[1]", ", element 1: holds a number; expected an object"),
    "edge_without_uuid": ("bitemporal_graph", "g.jsonl", lines(EDGE, {"fact": "secret"}), ", line 2: 'uuid' is missing or no text; expected an edge or a node of a graph"),
    "neither_edge_nor_node": ("bitemporal_graph", "g.jsonl", lines({"uuid": "A", "memory": "secret"}), ", line 1: is neither an edge nor a node"),
    "edge_twice": ("bitemporal_graph", "g.jsonl", lines(EDGE, EDGE), ", line 2: the uuid 'A' is taken by another edge; each edge is listed once"),
    "node_twice": ("bitemporal_graph", "g.jsonl", lines(POLICY, POLICY), ", line 2: the uuid 'p' is taken by another node"),
    "two_policy_nodes": ("bitemporal_graph", "g.jsonl", lines(POLICY, {**POLICY, "uuid": "q"}), ": holds 2 nodes labelled Policy; a store has one conflict policy"),
    "policy_without_text": ("bitemporal_graph", "g.jsonl", lines({**POLICY, "summary": None}), ": the 'summary' of the node labelled Policy: holds null; expected a text"),
    "labels_no_list": ("bitemporal_graph", "g.jsonl", lines({**POLICY, "labels": "Policy"}), ", line 1: 'labels': holds a text; expected an array"),
    "end_of_edge_no_text": ("bitemporal_graph", "g.jsonl", lines({**EDGE, "source_node_uuid": {"x": "secret"}}), ", line 1: 'source_node_uuid': holds an object; expected a text"),
    "two_versions_of_edges": ("bitemporal_graph", "g.jsonl", lines({**EDGE, "episode": "S-1", "episodes": ["S-1"]}), ", line 1: says both 'episode' and 'episodes': two versions"),
    "edges_no_list": ("bitemporal_graph", "g.json", '{"edges": "secret"}', ": 'edges': holds a text; expected an array"),
    "attributes_no_object": ("bitemporal_graph", "g.jsonl", lines({**EDGE, "attributes": "secret"}), ", line 1: 'attributes': holds a text; expected an object"),
    "anchor_bomb": ("dimension", "d.yaml", BOMB, ", line 2: holds an alias, *a0; write the value out, aliases are not read"),
    "yaml_tag": ("dimension", "d.yaml", "records:\n- id: !!python/object/apply:os.system [secret]\n", ", line 2: has the tag 'tag:yaml.org,2002:python/object/apply:os.system'; tags are not read"),
    "yaml_key_twice": ("dimension", "d.yaml", "records:\n- id: A\n  id: B\n", ", line 3: the key 'id' is given twice; say it once"),
    "two_documents": ("dimension", "d.yaml", "records: []\n---\nrecords: []\n", ", line 2: a second document begins; expected one"),
    "broken_yaml": ("dimension", "d.yaml", "records:\n- id: 'A\n", "not YAML"),
    "tab_in_yaml": ("dimension", "d.yaml", "records:\n\t- id: A\n", "not YAML"),
    "deep_yaml": ("dimension", "d.yaml", "records: " + "[" * 150 + "]" * 150, ", line 1: nested more than 100 deep"),
    "very_deep_yaml": ("dimension", "d.yaml", "records: " + DEEP, ", line 1: not YAML (exceeded maximum nesting depth)"),
    "no_records": ("dimension", "d.yaml", "dimension: secret\n", ": has no 'records'; expected a dimension"),
    "records_no_list": ("dimension", "d.yaml", "records: {A: secret}\n", ": 'records': holds an object; expected an array"),
    "record_no_object": ("dimension", "d.json", '{"records": ["secret"]}', ", records, element 1: holds a text; expected an object"),
    "policy_no_text": ("dimension", "d.yaml", "conflict_policy: [secret]\nrecords: []\n", ": 'conflict_policy': holds an array; expected a text"),
    "relational_line": ("relational", "r.jsonl", '{"record_id": "A"}\n["secret"]\n', ", line 2: holds an array; every line must be one JSON object"),
    "relational_ending": ("relational", "r.xlsx", "secret", ": its name ends in '.xlsx'; expected one of"),
    "vouched_lines": ("relational", "r.jsonl", lines({"record": {"record_id": "secret"}, "written_by": "x"}), ": each line vouches for who wrote its record"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_export_gives_one_clear_line_F1_C23(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, file, content, message = BAD[case]
    path = tmp_path / file
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = tmp_path / "out.jsonl"
    assert main(["convert", str(path), "--from", name, "--to", "relational", "--out", str(out)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"gmem convert: {path}")
    assert message in said.err and said.err.count("\n") == 1 and len(said.err) < 600, said.err
    assert "secret" not in said.err
    assert [entry.name for entry in tmp_path.iterdir() if entry != path] == []


TABLES = {
    "release_of_nobody": ("record_releases.csv", "record_id,party_id\nZZ,board\n", "record_releases.csv, record 1: the record 'ZZ' is not in records.csv"),
    "release_to_nobody": ("record_releases.csv", "record_id,party_id\nA,\n", "record_releases.csv, record 1: party_id is empty; expected a text"),
    "odd_flag": ("rule_scopes.csv", "record_id,question_class_id,is_excluded\nA,x,yes\n", "rule_scopes.csv, record 1: is_excluded is 'yes'; expected true or false"),
    "policy_that_is_not_there": ("stores.csv", "store_id,policy_id\ns,p\n", "stores.csv, record 1: the policy 'p' is not in policies.csv"),
    "two_stores": ("stores.csv", "store_id,policy_id\ns,\nt,\n", "stores.csv: holds 2 stores; a folder holds one"),
    "edited_notes": ("records.csv", "record_id,governed_memory\nA,{secret\n", "records.csv, record 1, 'A': governed_memory: is not JSON as `gmem convert` writes it"),
    "ragged": ("records.csv", "record_id,valid_from\nA\n", "records.csv, line 2: 1 columns where the header has 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_tables_that_do_not_fit_together_give_one_clear_line_F1(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, content, message = TABLES[case]
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/records.csv").write_text("record_id,valid_from,valid_to\nA,2026-01-01,\n", encoding="utf-8")
    (tmp_path / "tables" / table).write_text(content, encoding="utf-8")
    assert main(["convert", str(tmp_path / "tables"), "--from", "relational", "--to", "dimension", "--out", str(tmp_path / "out.yaml")]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1 and "secret" not in said, said
    assert not (tmp_path / "out.yaml").exists()


def test_an_anchor_without_an_alias_is_only_a_name_F1(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text("records:\n- &first {id: 0012, valid_from: 2026-01-01, valid_to: ~, value: no, n: 1e5}\n", encoding="utf-8")
    [record] = form("dimension").read(tmp_path / "d.yaml").records
    assert {key: str(value) for key, value in record.items()} == {
        "record_id": "0012",
        "valid_from": "2026-01-01",
        "valid_to": "None",
        "value": "no",
        "n": "1e5",
    }
    assert isinstance(record["record_id"], str) and record["valid_to"] is None
