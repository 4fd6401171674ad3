"""`gmem convert`, and stores as other tools write them (rules F1, T1, T2, T6)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from form_examples import available, place

from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.overlay.forms.registry import form
from governed_memory.overlay.forms.store import FormStore

RECORDS: list[dict[str, Any]] = [
    {"record_id": "A", "concept": "arr", "value": "old", "valid_from": "2026-01-01", "valid_to": None},
    {"record_id": "B", "concept": "arr", "value": "secret", "valid_from": "2026-04-01", "supersedes": "A", "release_to": ["board"]},
]
# As EntityEdge of graphiti-core 0.31 dumps itself; the embedding is shortened.
EDGE: dict[str, Any] = {
    "uuid": "0b6f1c1e", "group_id": "team", "source_node_uuid": "n-1", "target_node_uuid": "n-2", "created_at": "2026-02-03T09:00:00Z", "name": "COMMITS_TO",
    "fact": "Data is kept for five years.", "fact_embedding": None, "episodes": ["LEG-P-04", "LEG-P-05"], "expired_at": "2026-05-01T10:00:00Z",
    "valid_at": "2026-01-01T23:30:00Z", "invalid_at": "2026-04-01T00:00:00Z", "reference_time": None, "attributes": {"classification": "internal"},
}  # fmt: skip
NODES: list[dict[str, Any]] = [
    {"uuid": "n-1", "name": "data_retention", "group_id": "team", "labels": ["Entity"], "created_at": "2026-02-03T09:00:00Z", "summary": "", "attributes": {}},
    {"uuid": "n-2", "name": "customer", "group_id": "team", "labels": ["Entity"], "created_at": "2026-02-03T09:00:00Z", "summary": "", "attributes": {}},
    {"uuid": "p-1", "name": "legal", "group_id": "team", "labels": ["Entity", "Party"], "created_at": "2026-02-03T09:00:00Z", "summary": "", "attributes": {}},
]
OWNED_BY = {"uuid": "o-1", "name": "OWNED_BY", "source_node_uuid": "n-1", "target_node_uuid": "p-1", "fact": "", "attributes": {"role": "General Counsel"}}


def write_lines(path: Path, *objects: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in objects), encoding="utf-8")
    return path


def convert(source: Path, name: str, target: str, out: Path, *options: str) -> int:
    return main(["convert", str(source), "--from", name, "--to", target, "--out", str(out), *options])


@pytest.mark.parametrize("target", available())
def test_a_file_is_converted_to_each_form_and_back_F1(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "in.jsonl", *RECORDS)
    (tmp_path / "there").mkdir()
    out = place(tmp_path / "there", target)
    assert convert(source, "relational", target, out) == 0
    assert capsys.readouterr() == (f"{out}: 2 records\n", "")
    assert convert(out, target, "relational", tmp_path / "back.jsonl", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["records"], summary["conflict_policy"], summary["from"], summary["to"]) == (2, False, target, "relational")
    assert form("relational").read(tmp_path / "back.jsonl").records == RECORDS
    assert [entry.name for entry in (tmp_path / "there").iterdir()] == [out.name]


def test_nothing_is_overwritten_unasked_and_a_folder_never_F1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "in.jsonl", *RECORDS)
    out = tmp_path / "out.json"
    out.write_text("mine", encoding="utf-8")
    assert convert(source, "relational", "vector_memory", out) == 2
    assert (capsys.readouterr().err, out.read_text(encoding="utf-8")) == (f"gmem convert: {out}: exists; --force replaces it\n", "mine")
    assert convert(source, "relational", "vector_memory", out, "--force") == 0
    assert "results" in out.read_text(encoding="utf-8")
    assert convert(source, "relational", "relational", source, "--force") == 2
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/mine").write_text("mine", encoding="utf-8")
    for options in ((), ("--force",)):
        assert convert(source, "relational", "relational", tmp_path / "folder", *options) == 2
    assert [entry.name for entry in (tmp_path / "folder").iterdir()] == ["mine"]
    assert convert(source, "relational", "relational", tmp_path / "no/where.jsonl") == 2
    assert f"there is no folder '{tmp_path / 'no'}'; make it first" in capsys.readouterr().err


@pytest.mark.parametrize("options", [(), ("--force",)])
def test_only_a_regular_file_is_replaced_F1(options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not a pipe or a device, nor a link: whoever names one means what is behind it."""
    source = write_lines(tmp_path / "in.jsonl", *RECORDS)
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "theirs").write_text("theirs", encoding="utf-8")
    (tmp_path / "link.json").symlink_to("theirs")
    (tmp_path / "dangling.json").symlink_to("nowhere")
    told = {"pipe": "is no regular file", "link": "is a link to 'theirs'", "dangling": "is a link to 'nowhere'"}
    for name, why in told.items():
        out = tmp_path / f"{name}.json"
        assert convert(source, "relational", "vector_memory", out, *options) == 2
        assert capsys.readouterr().err.startswith(f"gmem convert: {out}: {why}")
    assert (tmp_path / "pipe.json").is_fifo() and (tmp_path / "theirs").read_text(encoding="utf-8") == "theirs"
    assert str((tmp_path / "dangling.json").readlink()) == "nowhere" and not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["documents", "relational"])
def test_nothing_is_written_inside_what_is_read_F1(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Read again, the folder would hold every record twice."""
    folder = tmp_path / "store"
    assert convert(write_lines(tmp_path / "in.jsonl", *RECORDS), "relational", name, folder) == 0
    (tmp_path / "link").symlink_to(folder)
    before = sorted(folder.rglob("*"))
    for source, out in ((folder, folder / "sub"), (tmp_path / "link", folder / "sub"), (folder, tmp_path / "link/sub.jsonl")):
        assert convert(source, name, name, out) == 2
        assert f"{out}: is inside {str(source)!r}, which is read" in capsys.readouterr().err
    assert convert(folder / "records.csv", "relational", name, folder) == 2
    assert sorted(folder.rglob("*")) == before


def test_a_name_that_no_file_can_have_is_said_F1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "in.jsonl", *RECORDS)
    assert convert(source, "relational", "vector_memory", tmp_path / ("é" * 126 + ".json")) == 2
    assert capsys.readouterr().err == f"gmem convert: --out: '{'é' * 126}.json' cannot be written: File name too long\n"


def test_a_key_has_one_role_F1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "in.jsonl", {"k": "A", "concept": "arr"})
    assert convert(source, "relational", "vector_memory", tmp_path / "out.json", "--map", "value=k,source=k") == 2
    assert "--map: 'k' is given for value and for source; a key can have one role" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("out", "records", "message"),
    [
        ("out.csv", RECORDS, "out.csv: a column cannot hold 'release_to' of record 2, 'B', as it is; write .jsonl, or a folder of tables"),
        ("out.csv", [{"record_id": "A", "valid_to": None}, {"record_id": "secret B"}], "record 2, 'secret B': 'valid_to' would read back as something else"),
        ("out.csv", [{"record_id": "A", "value": ""}], "record 1, 'A': 'value' would read back as something else"),
        ("out.parquet", [{"record_id": "A", "value": {"x": "secret"}}], "out.parquet: a column cannot hold 'value' of record 1, 'A', as it is"),
        ("out.xlsx", RECORDS, "out.xlsx: its name ends in '.xlsx'; expected .jsonl, .json, .csv or .parquet"),
    ],
)
def test_what_columns_cannot_hold_is_refused_and_nothing_is_left_F1_T1_C23(
    out: str, records: list[dict[str, Any]], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_lines(tmp_path / "in.jsonl", *records)
    assert convert(source, "relational", "relational", tmp_path / out) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1 and "secret" not in said.replace("secret B", "")
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("target", "expected"), [("dimension", ".yaml, .yml or .json"), *((name, ".json, .jsonl or .ndjson") for name in ("vector_memory", "bitemporal_graph"))]
)
def test_a_file_without_the_ending_of_its_form_is_not_written_F1(target: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F1: other readers go by the name."""
    source = write_lines(tmp_path / "in.jsonl", *RECORDS)
    assert convert(source, "relational", target, tmp_path / "x") == 2
    assert capsys.readouterr().err == f"gmem convert: {tmp_path / 'x'}: its name ends in ''; expected {expected}\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_statement_that_cannot_be_read_is_not_dropped_unasked_F1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F1: nothing is written without it, unless that is asked for, and then the exit code says so."""
    (tmp_path / "pages").mkdir()
    page = tmp_path / "pages/a.md"
    page.write_text("[D-1] Kept. Source: S-1.\n\n[D-2] Lost. In force since 2026.\n", encoding="utf-8")
    out = tmp_path / "out.jsonl"
    assert convert(tmp_path / "pages", "documents", "relational", out) == 2
    said = capsys.readouterr()
    assert f"{page}, line 3: [D-2]: " in said.err and "cannot be read in 1 place; " in said.err and said.out == "" and not out.exists()
    assert convert(tmp_path / "pages", "documents", "relational", out, "--allow-unread") == 1
    assert capsys.readouterr().out == f"{out}: 1 record; 1 place could not be read and is left out\n"
    assert [record["record_id"] for record in form("relational").read(out).records] == ["D-1"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_columns_hold_what_they_can_F1_C10(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F1, C10: texts stay texts; a null that means nothing there is left out, and said."""
    records = [{"record_id": "0012", "value": 'a, "b"\nc', "valid_to": None, "source": None}, {"record_id": "1e5", "value": "true", "valid_to": "2026-01-01"}]
    source = write_lines(tmp_path / "in.jsonl", *records)
    assert convert(source, "relational", "relational", tmp_path / f"out{ending}") == 0
    assert "null is left out of columns" in capsys.readouterr().err
    found = form("relational").read(tmp_path / f"out{ending}").records
    assert found == [{key: value for key, value in record.items() if key != "source"} for record in records]


def test_a_file_of_rows_has_no_place_for_the_policy_F1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form("dimension").write(FormStore(RECORDS, "The latest wins.", ("arr", "nps")), tmp_path / "d.yaml")
    assert convert(tmp_path / "d.yaml", "dimension", "relational", tmp_path / "out.jsonl") == 2
    assert "has no place for the store's conflict policy; name a folder" in capsys.readouterr().err
    assert convert(tmp_path / "d.yaml", "dimension", "relational", tmp_path / "out") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'out'}: 2 records, the conflict policy, 2 expected concepts\n"


def test_records_csv_alone_does_not_make_a_released_record_look_open_F1_C22(tmp_path: Path) -> None:
    """F1, C22: the releases stand in a table of their own; the row says that there are some."""
    form("relational").write(FormStore(RECORDS), tmp_path / "out")
    rows = form("relational").read(tmp_path / "out/records.csv").records
    assert [row.get("restricted") for row in rows] == [None, "true"]
    assert form("relational").read(tmp_path / "out").records == RECORDS


@pytest.mark.parametrize(
    "mark",
    [{"restricted": True}, {"restricted": False, "release_to": ["board"]}, {"restricted": "no", "release_to": "board"}, {"confidential": True},
     {"classification": ["secret"]}, {"classification": "null"}, {"restricted": "true", "release_to": ["board"]}, {"release_to": [""]}],
)  # fmt: skip
def test_records_csv_alone_shows_every_mark_of_restriction_F1_G5(mark: dict[str, Any], tmp_path: Path) -> None:
    """F1, G5: whatever shape the mark has; a marker that opens other records opens no released one."""
    records = [{"record_id": "A", "valid_to": None, **mark}]
    form("relational").write(FormStore(records), tmp_path / "out")
    [row] = form("relational").read(tmp_path / "out/records.csv").records
    assert any(row.get(name) for name in ("classification", "confidential", "restricted"))
    assert "release_to" not in mark or row["restricted"] == "true"
    assert form("relational").read(tmp_path / "out").records == records


def test_a_record_without_its_releases_stays_restricted_F1_G5(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F1, G5: rows that are missing never open a record; tables that others need are not missing unnoticed."""
    out = tmp_path / "out"
    records = [{**RECORDS[1], "valid_to": None}, {**RECORDS[1], "record_id": "C", "concept": "nps", "applies_to": ["external"], "restricted": "no"}]
    form("relational").write(FormStore(records, "The latest wins."), out)
    releases = out / "record_releases.csv"
    header, first, second = releases.read_text(encoding="utf-8").splitlines(keepends=True)
    releases.write_text(header + second, encoding="utf-8")
    store = form("relational").read(out)
    assert (store.records[0]["restricted"], "release_to" in store.records[0], store.records[1]) == ("true", False, records[1])
    assert store.notices == [f"{out / 'records.csv'}, record 1, 'B': record_releases.csv names no party for it any more; it stays restricted"]
    (tmp_path / "host.yaml").write_text("callers: {x: {parties: [x], boundary: inside}}", encoding="utf-8")
    asked = ["--as-of", "2026-04-01", "--caller", "x", "--host", str(tmp_path / "host.yaml"), "--store", str(out), "--form", "relational"]
    ask = ["ask", "arr", *asked]
    assert main([*ask, "--json"]) == 0
    assert "secret" not in capsys.readouterr().out
    releases.write_text(header + first, encoding="utf-8")
    assert form("relational").read(out).records[1]["restricted"] == "true"
    for name, why in (("record_releases", "is released by it"), ("rule_scopes", "question_classes.csv has rows"), ("stores", "policies.csv has rows")):
        kept = (out / f"{name}.csv").read_bytes()
        (out / f"{name}.csv").unlink()
        assert main(ask) == 2
        said = capsys.readouterr()
        assert f"{name}.csv: is missing" in said.err and why in said.err and "secret" not in said.out + said.err
        (out / f"{name}.csv").write_bytes(kept)


def test_a_text_that_means_nothing_in_a_column_stands_beside_it_F1_C09(tmp_path: Path) -> None:
    """F1, C09: a reader of records.csv takes `null` and a blank for a missing value."""
    records = [{"record_id": "A", "source": text, "value": text, "valid_to": None} for text in ("null", "NULL", " ", "")]
    form("relational").write(FormStore(records), tmp_path / "out")
    assert all("source" not in row and "value" not in row for row in form("relational").read(tmp_path / "out/records.csv").records)
    assert form("relational").read(tmp_path / "out").records == records


@pytest.mark.parametrize(
    ("options", "days"),
    [
        ([], ("2026-01-01", "2026-04-01")),
        (["--ends", "exclusive"], ("2026-01-01", "2026-03-31")),
        (["--zone", "Europe/Berlin"], ("2026-01-02", "2026-04-01")),
        (["--zone", "America/New_York", "--ends", "exclusive"], ("2026-01-01", "2026-03-31")),
    ],
)
def test_a_graph_as_graphiti_dumps_it_F1_T2_T6(options: list[str], days: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F1, T2, T6: moments become days in the zone, created_at is when it was recorded, expired_at ends nothing."""
    graph = write_lines(tmp_path / "graph.jsonl", *NODES, EDGE, OWNED_BY)
    assert convert(graph, "bitemporal_graph", "relational", tmp_path / "out.jsonl", *options) == 0
    assert "timestamps are read as days in " in capsys.readouterr().err
    [record] = form("relational").read(tmp_path / "out.jsonl").records
    assert (record.pop("valid_from"), record.pop("valid_to")) == days
    assert record == {
        "record_id": "0b6f1c1e", "concept": "data_retention", "value": "Data is kept for five years.", "source": "LEG-P-04", "recorded_at": "2026-02-03T09:00:00Z",
        "concept_owner": "legal", "owner_role": "General Counsel", "classification": "internal", "expired_at": "2026-05-01T10:00:00Z", "group_id": "team",
        "target_node_uuid": "n-2", "name": "COMMITS_TO", "episodes": ["LEG-P-04", "LEG-P-05"],
    }  # fmt: skip


def test_a_day_and_an_exclusive_end_move_by_the_rule_of_staging_F1_T2(tmp_path: Path) -> None:
    """T2: the day before; an open end, a sentinel and what is no date stay."""
    ends = ["2026-04-01", None, "9999-12-31", "soon", "2026-04-01T12:00:00Z"]
    source = write_lines(tmp_path / "in.jsonl", *({"record_id": str(number), "valid_from": "2026-01-01", "valid_to": end} for number, end in enumerate(ends)))
    assert convert(source, "relational", "dimension", tmp_path / "d.yaml", "--ends", "exclusive") == 0
    assert [record["valid_to"] for record in form("dimension").read(tmp_path / "d.yaml").records] == ["2026-03-31", None, "9999-12-31", "soon", "2026-04-01"]
    assert convert(source, "relational", "dimension", tmp_path / "e.yaml", "--zone", "Mars/X") == 2


def test_a_fact_that_is_called_like_an_added_edge_stays_a_fact_F1(tmp_path: Path) -> None:
    """F1: only an edge to a party is OWNED_BY, and only one from a fact is SUPERSEDES."""
    owned = {**EDGE, "uuid": "x", "name": "OWNED_BY", "target_node_uuid": "n-2"}
    replaced = {**EDGE, "uuid": "y", "name": "SUPERSEDES"}
    store = form("bitemporal_graph").read(write_lines(tmp_path / "g.jsonl", *NODES[:2], EDGE, owned, replaced))
    assert [record["record_id"] for record in store.records] == ["0b6f1c1e", "x", "y"]
    assert all("concept_owner" not in record and "supersedes" not in record for record in store.records)


@pytest.mark.parametrize("target", ["n-2", "p-9", None])
@pytest.mark.parametrize(("name", "label"), [("VISIBLE_TO", "Party"), ("SCOPES", "QuestionClass"), ("EXCLUDES", "QuestionClass")])
def test_what_an_edge_says_about_a_fact_is_never_dropped_F1_G5(name: str, label: str, target: str | None, tmp_path: Path) -> None:
    """F1, G5: a node that is missing or has another label would leave the fact open."""
    link = {"uuid": "v-1", "name": name, "source_node_uuid": EDGE["uuid"], "target_node_uuid": target}
    with pytest.raises(
        InputError, match=f"line 5: {name} leads to {'nothing' if target is None else repr(target)}, which is no node labelled {label} in this file"
    ):
        form("bitemporal_graph").read(write_lines(tmp_path / "g.jsonl", *NODES, EDGE, link))
    # A fact that is itself called like an added edge is one.
    fact = {**EDGE, "name": "SUPERSEDES"}
    store = form("bitemporal_graph").read(write_lines(tmp_path / "h.jsonl", *NODES, fact, {**link, "name": "VISIBLE_TO", "target_node_uuid": "p-1"}))
    assert [record["release_to"] for record in store.records] == [["legal"]]


def test_an_added_edge_that_says_nothing_is_told_F1(tmp_path: Path) -> None:
    edges = [{**OWNED_BY, "target_node_uuid": "p-9"}, {**OWNED_BY, "uuid": "o-2", "target_node_uuid": "p-8"}]
    edges += [{"uuid": "v", "name": name, "source_node_uuid": "gone", "target_node_uuid": "p-1"} for name in ("SUPERSEDES",)]
    edges += [{**OWNED_BY, "uuid": "o-3", "attributes": {"facts": ["gone"]}}]
    path = write_lines(tmp_path / "g.jsonl", *NODES, EDGE, *edges)
    assert [notice.removeprefix(f"{path}, ") for notice in form("bitemporal_graph").read(path).notices if "OWNED_BY" in notice or "SUPERSEDES" in notice] == [
        "line 5: an edge named OWNED_BY is read as a fact, since it does not lead to a node labelled Party in this file; so are 1 more",
        "line 7: an edge named SUPERSEDES is read as a fact, since it does not start at a fact in this file",
        "line 8: OWNED_BY names no fact of this file and is left out",
    ]
    assert form("bitemporal_graph").read(write_lines(tmp_path / "odd.jsonl", {**EDGE, "name": ["SCOPES"]})).records[0]["name"] == ["SCOPES"]
    gone = {"uuid": "w", "name": "VISIBLE_TO", "source_node_uuid": "gone", "target_node_uuid": "p-1"}
    with pytest.raises(InputError, match="line 5: VISIBLE_TO starts at 'gone', which is no fact in this file"):
        form("bitemporal_graph").read(write_lines(path, *NODES, EDGE, gone))


def test_several_owners_are_told_and_no_one_is_picked_F1_L2(tmp_path: Path) -> None:
    """F1, L2: the concept is named, and the record holds both, which no rule takes for an owner."""
    other = {**NODES[2], "uuid": "p-2", "name": "sales"}
    second = {**OWNED_BY, "uuid": "o-2", "target_node_uuid": "p-2"}
    store = form("bitemporal_graph").read(write_lines(tmp_path / "g.jsonl", *NODES, other, EDGE, OWNED_BY, second))
    assert store.records[0]["concept_owner"] == ["legal", "sales"]
    assert [notice for notice in store.notices if "owned by several" in notice] == [
        f"{tmp_path / 'g.jsonl'}: the concept 'data_retention' is owned by several parties; a concept has one owner"
    ]


def test_the_light_shape_of_edges_reads_as_it_always_did_F1(tmp_path: Path) -> None:
    edge = {"uuid": "D-101", "concept": "arr", "fact": "x", "valid_at": "2025-01-01", "invalid_at": "2026-03-31", "episode": "FIN-POL-04"}
    [record] = form("bitemporal_graph").read(write_lines(tmp_path / "g.jsonl", edge)).records
    assert record == {
        "record_id": "D-101", "concept": "arr", "value": "x", "valid_from": "2025-01-01", "valid_to": "2026-03-31", "source": "FIN-POL-04",
    }  # fmt: skip


def test_memories_as_mem0_lists_them_F1_T6(tmp_path: Path) -> None:
    """F1, T6: created_at is when it was written down, and no start of validity is made of it."""
    memory = {
        "id": "m-1", "memory": "Prefers invoices by mail", "hash": "5d41", "created_at": "2026-02-03T09:00:00-08:00", "updated_at": None, "user_id": "u",
        "metadata": {"source": "chat-7", "release_to": ["sales"], "topic": "billing"},
    }  # fmt: skip
    (tmp_path / "m.json").write_text(json.dumps({"results": [memory], "relations": [{"source": "x"}]}), encoding="utf-8")
    store = form("vector_memory").read(tmp_path / "m.json")
    assert store.records == [
        {
            "record_id": "m-1", "value": "Prefers invoices by mail", "recorded_at": "2026-02-03T09:00:00-08:00", "hash": "5d41", "user_id": "u",
            "source": "chat-7", "release_to": ["sales"], "topic": "billing",
        }
    ]  # fmt: skip
    assert store.notices == [f"{tmp_path / 'm.json'}: 'relations' holds no memories and is left out"]


def test_what_is_stated_twice_is_told_without_the_value_F1_C23(tmp_path: Path) -> None:
    """F1, C23: what stands in the field's own place is read."""
    memory = {"id": "m-1", "memory": "public", "metadata": {"value": "secret", "source": "S-1"}}
    store = form("vector_memory").read(write_lines(tmp_path / "m.jsonl", memory))
    assert store.records == [{"record_id": "m-1", "value": "public", "source": "S-1"}]
    assert store.notices == [f"{tmp_path / 'm.jsonl'}, line 1: 'value' is stated twice and differs; the one in its own place is read"]


def test_a_mapping_names_keys_that_differ_from_the_roles_F1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "in.jsonl", {"id": "A", "starts": "2026-01-01", "valid_to": None})
    assert convert(source, "relational", "vector_memory", tmp_path / "m.json", "--map", "record_id=id,valid_from=starts") == 0
    assert form("vector_memory").read(tmp_path / "m.json").records == [{"record_id": "A", "valid_from": "2026-01-01", "valid_to": None}]
    assert convert(source, "relational", "vector_memory", tmp_path / "n.json", "--map", "record_id=key") == 2
    assert "no record has the key 'key', given for record_id" in capsys.readouterr().err
    assert convert(source, "relational", "vectors", tmp_path / "n.json") == 2
    assert "'vectors' is no form" in capsys.readouterr().err


@pytest.mark.parametrize("name", available())
def test_check_and_reads_take_a_store_of_any_form_F1_L1_T4(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F1, L1, T4: the same level, the same records and the same answers as of the records in a file of their own."""
    records = [{**record, "source": "S-1", "concept_owner": "finance"} for record in RECORDS]
    path = place(tmp_path, name)
    form(name).write(FormStore(records, "The latest wins.", ("arr",)), path)
    assert main(["check", str(path), "--form", name, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["store"], report["records"], report["level"]) == (str(path), 2, 0)
    assert {"valid_to": ["B"]}.items() <= {finding["field"]: finding["offenders"] for finding in report["findings"]}.items()
    assert report["policy_outside_records"] is True
    assert main(["as-of", "2026-03-31", "--store", str(path), "--form", name, "--format", "json"]) == 0
    assert [record["record_id"] for record in json.loads(capsys.readouterr().out)] == ["A"]
    assert main(["as-of", "2026-04-01", "--store", str(path), "--form", name, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["ask", "arr", "--as-of", "2026-03-31", "--caller", "board", "--store", str(path), "--form", name, "--json"]) == 0
    said = capsys.readouterr().out
    assert "secret" not in said and json.loads(said)["store"] == "store"


def test_a_form_is_named_for_a_file_only_F1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "in.jsonl", *RECORDS)
    assert main(["as-of", "2026-01-01", "--form", "dimension"]) == 2
    assert main(["as-of", "2026-01-01", "--store", "reference", "--form", "dimension"]) == 2
    assert main(["as-of", "2026-01-01", "--store", str(source), "--form", "dimensions"]) == 2
    assert "did you mean 'dimension'?" in capsys.readouterr().err
    assert main(["check", str(source), "--form", "vector_memory"]) == 2
    assert "is no memory: 'id' is missing" in capsys.readouterr().err
    assert main(["baseline", "reference", "--form", "dimension"]) == 2


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_c23_of_a_store_of_another_form_nothing_is_left_where_the_command_is_ended(end: signal.Signals, tmp_path: Path) -> None:
    code = f"""
import os
from argparse import Namespace
from governed_memory.overlay.forms import as_file
from governed_memory.warehouse import StoreFile, open_memory, raw_records
store = as_file.of_form(StoreFile("store.json"), Namespace(form="vector_memory", command="ask"))
with open_memory() as connection:
    print([record["value"] for record in raw_records(connection, store)], flush=True)
os.kill(os.getpid(), {int(end)})
"""
    source = write_lines(tmp_path / "in.jsonl", *RECORDS)
    assert convert(source, "relational", "vector_memory", tmp_path / "store.json") == 0
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-end, "['old', 'secret']\n", "")
    assert [path for path in (tmp_path / "tmp").rglob("*") if path.is_file()] == []


def test_of_a_store_of_another_form_nothing_is_left_after_a_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a file left open: a thousand stores may be checked at once."""
    source = write_lines(tmp_path / "in.jsonl", *RECORDS)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    before = len(os.listdir("/proc/self/fd"))
    main(["check", *[str(source)] * 3, "--form", "relational", "--json"])
    assert (len(os.listdir("/proc/self/fd")), list((tmp_path / "tmp").iterdir())) == (before, [])
