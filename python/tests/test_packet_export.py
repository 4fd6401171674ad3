"""Rule M9, case C22: exported packets hold what the build answers, for one caller each, and are read only from an export that is whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import dbt_harness
import duckdb
import pytest
from generated import examples
from sealed_folders import SECTION, host_keys, make_key, structural_edit

from governed_memory import cli
from governed_memory.packets.export import KIND
from governed_memory.sealed import newest_valid

RECORDS = [
    {"record_id": "A", "concept": "margin", "value": "ZQX-41", "valid_from": "2026-01-01", "release_to": ["board"]},
    {"record_id": "B", "concept": "price", "value": "list", "valid_from": "2026-01-01"},
    {"record_id": "C1", "concept": "colour", "value": "blue", "valid_from": "2026-01-01"},
    {"record_id": "C2", "concept": "colour", "value": "red", "valid_from": "2026-01-01"},
    {"record_id": "D", "concept": "ZQX-only", "value": "ZQX", "valid_from": "2026-01-01", "release_to": ["board"]},
]
HOST = {
    "keys": SECTION,
    "callers": {"staff": {"parties": ["staff"], "boundary": "inside"}, "chair": {"parties": ["board"], "boundary": "inside"}},
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "store.jsonl").write_text("".join(json.dumps({**record, "valid_to": None, "source": "S"}) + "\n" for record in RECORDS))
    return with_host(tmp_path)


def with_host(folder: Path) -> Path:
    make_key(folder)
    (folder / "host.yml").write_text(json.dumps(HOST))
    return folder


def export(place: Path, *more: str, as_of: str = "2026-06-01") -> int:
    named = ["--out", str(place / "out"), "--as-of", as_of, "--host", str(place / "host.yml")]
    return cli.main(["packet", "export", *named, "--store", str(place / "store.jsonl"), "--policy", "abstain", *more])


def get(place: Path, caller: str, concept: str) -> int:
    return cli.main(["packet", "get", concept, "--from", str(place / "out"), "--caller", caller, "--host", str(place / "host.yml")])


def test_each_caller_has_files_of_their_own_with_nothing_made_for_another(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(place) == 0
    folder = place / "out" / "generation-000001"
    assert capsys.readouterr().out == f"{folder}: 6 packets for 2 callers\n"
    staff, chair = ("\n".join(path.read_text() for path in sorted(folder.glob(f"caller-000{number}.*"))) for number in (1, 2))
    assert "ZQX" not in staff and "ZQX-41" in chair and "ZQX-only" in chair
    assert "ZQX-41" not in "".join((folder / f"{table}.jsonl").read_text() for table in ("packets", "packet_groups", "packet_members", "packet_exclusions"))
    assert get(place, "staff", "colour") == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        line for line in json.loads((folder / "caller-0001.packets.jsonl").read_text().splitlines()[0])["text"].splitlines()[1:]
    ]
    assert get(place, "staff", "margin") == 1
    assert get(place, "chair", "margin") == 0


def test_a_concept_asked_for_by_name_is_told_as_withheld(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(place, "--concept", "margin", "--caller", "staff") == 0
    assert get(place, "staff", "margin") == 1
    assert "left out: 1 group(s): withheld" in capsys.readouterr().err


def test_the_same_export_again_has_the_same_root(place: Path) -> None:
    assert export(place) == export(place) == 0
    first, second = (json.loads((place / "out" / f"generation-00000{number}" / "manifest.json").read_text())["sealed"] for number in (1, 2))
    assert first["root"] == second["root"] and first["generation"] != second["generation"]


def test_an_export_that_is_not_as_it_was_sealed_is_not_read(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(place) == export(place) == 0
    file = place / "out" / "generation-000002" / "caller-0001.packets.jsonl"
    file.write_bytes(file.read_bytes().replace(b"list", b"lost"))
    capsys.readouterr()
    assert get(place, "staff", "price") == 0
    told = capsys.readouterr()
    assert "list" in told.out and "not read" in told.err and "generation-000002" in told.err
    shutil.rmtree(place / "out" / "generation-000001")
    assert get(place, "staff", "price") == 2
    assert "holds no export of packets that is whole" in capsys.readouterr().err


def test_flipped_bits_and_edits_of_an_export_are_all_refused_C29(place: Path, tmp_path: Path) -> None:
    assert export(place) == export(place, as_of="2026-07-01") == 0
    root, keys = place / "out", host_keys(place)
    older, newest = root / "generation-000001", root / "generation-000002"
    files = sorted(newest.iterdir())
    for source in examples(1000, lambda source: source):
        file = source.choice([path for path in files if path.stat().st_size])
        content = bytearray(kept := file.read_bytes())
        bit = source.randrange(8 * len(content))
        content[bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)
        assert newest_valid(root, KIND, keys).folder == older
        file.write_bytes(kept)
    for number, source in enumerate(examples(100, lambda source: source)):
        copy = shutil.copytree(root, tmp_path / f"copy-{number}")
        edit = structural_edit(source, copy / newest.name, copy / older.name)
        assert newest_valid(copy, KIND, keys).folder == copy / older.name, edit
    assert newest_valid(root, KIND, keys).folder == newest


@pytest.mark.parametrize(
    ("more", "expected"),
    [(["--caller", "nobody"], "nobody"), (["--budget", "10"], "the header alone"), (["--concepts", "nowhere"], "nowhere")],
)
def test_what_cannot_be_exported_leaves_nothing(place: Path, capsys: pytest.CaptureFixture[str], more: list[str], expected: str) -> None:
    assert export(place, *more) == 2
    error = capsys.readouterr().err
    assert expected in error and error.count("\n") == 1
    assert not list(place.glob("out/generation-*"))


def test_who_has_nothing_exported_is_told_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(place, "--caller", "staff") == 0
    assert get(place, "chair", "price") == 2
    assert "nothing was exported for that caller; there is something for staff" in capsys.readouterr().err


def test_the_tests_of_packets_pass_on_an_export_of_the_build_and_fail_on_doctored_ones(tmp_path: Path) -> None:
    project = dbt_harness.Project(with_host(tmp_path))
    (tmp_path / "store.jsonl").write_text("".join(json.dumps({**record, "valid_to": None, "source": "S"}) + "\n" for record in RECORDS))
    project.attach("s", tmp_path / "store.jsonl", form="relational")
    project.vars["packets"] = {"exports": str(tmp_path / "out")}
    project.run("int_segments", "record_terms", "packets", "packet_groups", "packet_members", "packet_exclusions", "int_concept_holdings", "records").close()
    database = project.folder / dbt_harness.DATABASE
    arguments = ["--out", str(tmp_path / "out"), "--as-of", "2026-06-01", "--host", str(tmp_path / "host.yml"), "--database", str(database)]
    assert cli.main(["packet", "export", *arguments, "--budget", "200"]) == 0
    selected = ["--select", "path:models/staging/packets", "path:models/packets", "path:tests/packets", "--indirect-selection", "cautious"]
    built = project.dbt("build", *selected, "--exclude", "record_terms", "searchable_records")
    assert built.returncode == 0, built.stdout
    with duckdb.connect(str(database)) as connection:
        assert connection.execute("select count(*) filter (is_of_this_build) from packets").fetchall() == [(6,)]
    for doctored, failing in (
        ("update packets set used = budget + 1", "a_packet_keeps_to_its_budget"),
        ("delete from packet_members where member_id = 'C1'", "a_group_of_a_packet_is_whole"),
        ("update packets set caller_parties = ['staff'] where caller = 'chair'", "nothing_withheld_is_in_a_packet"),
    ):
        shutil.copy(database, tmp_path / "kept.duckdb")
        with duckdb.connect(str(database)) as connection:
            connection.execute(doctored)
        tested = project.dbt("test", "--select", failing)
        assert tested.returncode == 1 and failing in tested.stdout, doctored
        shutil.copy(tmp_path / "kept.duckdb", database)
