"""F2: compact lines lose nothing in the full form, and are as short as published in the short one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governed_memory import warehouse
from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.overlay.compact import compact, expand
from governed_memory.warehouse import StoreFile, attached_records
from governed_memory.warehouse.json_text import dumps, parse

STORES = Path(__file__).parents[2] / "stores"

AWKWARD = st.sampled_from(["~", "", ["a"], [""], [], ["a,b", "|"], "\\", "\n", "\r\n", "\\e", "\\j1", "\\[", "\\s", None, ["~"], "a,b", "\u2028"])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False, allow_infinity=False),
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
    assert [json.loads(dumps(record)) for record in expand(text.split("\n"))] == records


@pytest.mark.parametrize("number", ["12345678901234567890.123456789", "1e400", "1.10", "-0.0", "9" * 5000])
def test_f2_a_number_keeps_its_digits(number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = f'{{"record_id": "A", "value": {number}, "source": {{"b": [{number}], "c": true}}}}'
    (tmp_path / "store.jsonl").write_text(line, encoding="utf-8")
    (tmp_path / "compact.txt").write_text("\n".join(printed(capsys, "compact", "--full", str(tmp_path / "store.jsonl"))), encoding="utf-8")
    [again] = printed(capsys, "expand", str(tmp_path / "compact.txt"))
    assert parse(again) == parse(line)
    assert again.count(number) == 2


def test_f2_what_no_reader_could_take_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value, message in (("[" * 3000 + "]" * 3000, "nested too deeply"), ("NaN", "NaN is no number")):
        (tmp_path / "store.jsonl").write_text(f'{{"record_id": "A", "value": {value}}}', encoding="utf-8")
        (tmp_path / "compact.txt").write_text(f"# record_id|value\nA|\\j{value}", encoding="utf-8")
        for arguments in (["compact", "--full", str(tmp_path / "store.jsonl")], ["expand", str(tmp_path / "compact.txt")]):
            assert main(arguments) == 2
            error = capsys.readouterr().err
            assert message in error and "line" in error and error.count("\n") == 1


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


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out.removesuffix("\n").split("\n")


@pytest.mark.parametrize(
    ("name", "mapping"),
    [("reference", "written_by=concept_owner"), ("reference_edges", "record_id=uuid,value=fact,valid_from=valid_at,valid_to=invalid_at,source=episode")],
)
def test_f2_an_attached_store_is_compacted_by_its_name(name: str, mapping: str, built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F2: the same lines as from its file, which need not be there; the full form has every role that a record states, each as text or a list."""
    file = str(STORES / f"{name}.jsonl")
    assert printed(capsys, "compact", name, "--database", str(built)) == printed(capsys, "compact", file, "--map", mapping)
    columns = StoreFile(file, dict(pair.split("=") for pair in mapping.split(",") if pair)).columns
    stated = [
        {
            role: "true" if record[key] is True else record[key]
            for role, key in columns.items()
            if record.get(key) is not None or (role == "valid_to" and key in record)
        }
        for record in map(json.loads, Path(file).read_text(encoding="utf-8").splitlines())
    ]
    assert list(expand(printed(capsys, "compact", name, "--full", "--database", str(built)))) == stated


def test_f2_t1_c11_the_tables_of_a_store_read_back_as_they_were(tmp_path: Path) -> None:
    """F2, T1, C11: an end that is unknown is not opened, a list in which nothing can be read does not become one that says nothing, copies stay."""
    records = [
        {"record_id": "missing", "valid_from": "2026-01-01"},
        {"record_id": "no date", "valid_from": "2026-01-01", "valid_to": "soon"},
        {"record_id": "far", "valid_from": "2026-01-01", "valid_to": "9999-12-31"},
        {"record_id": "time", "valid_from": "2026-01-01T10:00:00Z", "valid_to": None, "recorded_at": "2026-01-01T10:00:00+02:00"},
        {"record_id": "lists", "valid_to": None, "supersedes": ["time", "far"], "applies_to": "one", "does_not_apply_to": []},
        {"record_id": "closed", "valid_to": None, "release_to": {"board": True}, "confidential": False},
        {"record_id": "closed", "valid_to": None, "release_to": {"board": True}, "confidential": False},
    ]
    is_known = "is_valid_to_stated and valid_to_problem is distinct from 'not_a_date' as is_end_known"
    columns = f"record_id, valid_from, valid_to, {is_known}, recorded_at, supersedes, applies_to, does_not_apply_to, release_to, confidential"

    def rows(name: str, kept: list[dict]) -> tuple[list[tuple], list[dict]]:
        file = tmp_path / name
        file.write_text("\n".join(json.dumps(record) for record in kept), encoding="utf-8")
        connection, _ = warehouse.open_store_file(StoreFile(str(file)), {"record_rows"})
        return connection.execute(f"select {columns} from record_rows order by record_index").fetchall(), attached_records(connection, "store")

    before, held = rows("store.jsonl", records)
    after, _ = rows("again.jsonl", list(expand(compact(held, full=True))))
    assert after == before
    assert [row[3] for row in after] == [False, False, True, True, True, True, True]
    assert after[5][8] == []


def test_f2_what_is_neither_a_file_nor_an_attached_store_is_refused(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F2: with the stores there are; a mapping belongs to a file."""
    for arguments, message in ((["referenz"], "did you mean 'reference'?"), (["reference", "--map", "value=fact"], "`vars: stores:`")):
        assert main(["compact", *arguments, "--database", str(built)]) == 2
        assert message in capsys.readouterr().err


def test_f2_a_record_that_only_duckdb_forgives_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F2: compact lines need JSON that any reader takes; a large record is no reason to refuse."""
    file = tmp_path / "store.jsonl"
    file.write_text('{"value": "' + "x" * (40 << 20) + '"}\n', encoding="utf-8")
    assert len(printed(capsys, "compact", str(file))[1]) > 40 << 20
    file.write_text('{"record_id": "A"}\n{"record_id": "B",}\n', encoding="utf-8")
    assert main(["compact", str(file)]) == 2
    assert "store.jsonl, line 2, column" in capsys.readouterr().err
