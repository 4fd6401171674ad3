"""Memory when things go wrong: killed processes, full disks, folders that nobody may write to, clocks that go back, and input that is none."""

from __future__ import annotations

import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import memory_processes
import pytest
from memory_stores import ANN, GIVEN_ANEW, NOON, cell, events, frame, later, race, recalled, sight, tables, written

from governed_memory.cli import main
from governed_memory.errors import InputError
from governed_memory.log import layout, read_heads, timestamp, verify
from governed_memory.memory import MemoryStore
from governed_memory.memory.ingest import ingest
from governed_memory.memory.proposals import Scene

SCRIPT = str(Path(memory_processes.__file__))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def store(place: Path) -> Iterator[MemoryStore]:
    with MemoryStore(place) as opened:
        yield opened


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(".part")}


# --- what the machine may do ---


@pytest.mark.parametrize(("what", "rounds", "least"), [("write", 90, 60), ("replay", 70, 60), ("ingest", 40, 0)])
def test_a_killed_process_loses_nothing_acknowledged_and_leaves_nothing_half(tmp_path: Path, what: str, rounds: int, least: int) -> None:
    run = subprocess.run([sys.executable, SCRIPT, what, str(tmp_path / what), str(rounds)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) >= least


def test_a_full_disk_is_named_and_leaves_memory_as_it_was(store: MemoryStore, place: Path, tmp_path: Path) -> None:
    written(store, cell("c1", "printer"), cell("w1", "printer", system="working", ttl_seconds=60))
    store.bind([frame("c1", frame_id="f1")], **ANN)
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "a.cells.jsonl").write_text(json.dumps(cell("c2", "x" * 5000)), encoding="utf-8")
    before, files = tables(store), files_of(place)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    attempts: list[Callable[[], object]] = [
        lambda: store.write([cell("c3", "y" * 5000), cell("c4")], **ANN),
        lambda: store.link([{"from_cell_id": "c1", "to_cell_id": "w1", "link_type": "task"}] * 2, **ANN),
        lambda: store.replay(["f1"], **ANN),
        lambda: ingest(store, folder, principal="crm", session_id="i", now=NOON),
        lambda: store.recall("printer", sight(now=later(60))),
        lambda: store.show("c1", sight()),
    ]
    for attempt in attempts:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150, limits[1]))
        try:
            with pytest.raises(InputError, match="File too large") as error:
                attempt()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert "\n" not in str(error.value)
        assert files_of(place) == files and tables(store) == before
    assert [outcome.outcome for outcome in store.write([cell("c3"), cell("c4")], **ANN)] == ["written"] * 2
    assert verify(place / "log").is_whole


def test_a_folder_that_may_not_be_written_to_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        with MemoryStore(folder / "memory") as store:
            written(store, cell("c1"))
        before = files_of(folder)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        run = subprocess.run([sys.executable, SCRIPT, "without_rights", str(folder / "memory")], capture_output=True, text=True, check=True)
        assert "the log cannot be opened for writing: Permission denied" in run.stdout and len(run.stdout.splitlines()) == 1
        assert files_of(folder) == before
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        shutil.rmtree(folder)


def test_a_clock_that_goes_back_and_one_that_stands_still_lose_nothing(store: MemoryStore, place: Path) -> None:
    written(store, cell("b", "printer b", system="working", ttl_seconds=60), now=later(100))
    written(store, cell("a", "printer a", system="working", ttl_seconds=60), now=NOON)
    written(store, cell("c", "printer c", event_index=1), cell("d", "printer d", event_index=1), now=NOON)
    assert recalled(store, "printer", later(160)) == ["c", "d"]
    assert recalled(store, "printer", later(59)) == ["a", "b", "c", "d"]
    store.expire(["a"], principal="ann", session_id="s", now=later(10))
    assert recalled(store, "printer", later(9)) == ["a", "b", "c", "d"]
    assert recalled(store, "printer", later(10)) == ["b", "c", "d"]
    [bound] = store.bind([frame("d", "c")], **ANN)
    found = store.frame(str(bound.target_id), sight())
    assert found and [step["cell_id"] for step in found["steps"]] == ["c", "d"]
    with MemoryStore(place) as anew:
        assert tables(anew) == tables(store)


# --- what somebody may do to the log ---


@pytest.mark.parametrize("segment", [1, 2])
def test_a_memory_whose_log_was_edited_is_not_opened_and_the_first_bad_row_is_named(store: MemoryStore, place: Path, segment: int) -> None:
    written(store, cell("c1", "printer 1"), cell("c2", "printer 2"))
    store._writer.seal(["cells"], timestamp(NOON))
    written(store, cell("c3", "printer 3"), cell("c4", "printer 4"))
    file = place / f"log/w001/cells.00000{segment}.jsonl"
    file.write_bytes(file.read_bytes().replace(b"printer", b"scanner"))
    for _ in range(2):
        with pytest.raises(InputError) as error:
            MemoryStore(place)
        assert str(error.value) == f"{file}: row {2 * segment - 1} was changed: its event does not give its chain; `gmem memory verify` says what is damaged"


def test_what_is_edited_or_chained_again_behind_an_open_memory_is_not_taken_in(store: MemoryStore, place: Path) -> None:
    with MemoryStore(place) as other:
        written(other, cell("c1", "printer 1"))
        assert recalled(store, "printer") == ["c1"]
        written(other, cell("c2", "printer 2"), cell("c3", "printer 3"))
        [file], head = (place / "log").rglob("cells.*.jsonl"), read_heads(place / "log")["w002"].streams["cells"]
        lines = file.read_bytes().splitlines(keepends=True)
        chain = lines[0][layout.CHAIN_AT : layout.CHAIN_AT + 64]
        forged = layout.lines_of(chain, 1, [layout.read_line(line)[1].replace(b"printer", b"scanner") for line in lines[1:]])[0]
        for edited, what in (
            (b"".join(lines[1:]).replace(b"printer 3", b"scanner 3"), "row 3 was changed"),
            (forged, "row 3 is not the row that the head names"),
        ):
            file.write_bytes(lines[0] + edited)
            assert file.stat().st_size == head.bytes
            for _ in range(2):
                with pytest.raises(InputError, match=what):
                    store.recall("printer", sight())
        file.write_bytes(b"".join(lines))
        assert recalled(store, "printer") == ["c1", "c2", "c3"]


# --- two writers at once ---


@pytest.mark.parametrize("first", [0, 1])
def test_of_what_two_writers_tell_of_one_name_the_first_counts_and_the_other_is_told(store: MemoryStore, place: Path, first: int) -> None:
    with MemoryStore(place) as other:
        written(store, cell("x"), cell("y"))
        told = race(
            store,
            other,
            lambda one, which: one.write([cell("c", f"said by {which}"), cell(f"more {which}")], principal="ann", session_id="s", now=later(which != first)),
        )
        # Who tells later in the log's order; where the first has been told so already, before the other was to be seen, it stays told.
        expected = [["written", "written"], ["refused" if first == 0 else "written", "written"]]
        assert [[outcome.outcome for outcome in outcomes] for outcomes in told] == expected
        link = {"link_id": "l", "from_cell_id": "x", "to_cell_id": "y", "link_type": "task"}
        race(store, other, lambda one, which: one.link([{**link, "weight": 0.1 + which / 2}], principal="ann", session_id="s", now=later(which != first)))
        with MemoryStore(place) as anew:
            assert tables(store) == tables(anew) == tables(other)
        for one in (store, other):
            assert recalled(one, "said by") == ["c"]
            shown = one.show("c", sight())
            assert shown and shown["content"] == f"said by {first}"
        assert recalled(store, str(1 - first)) == [f"more {1 - first}"]
        refusals = [(event["stream"], event["target_id"], event["code"]) for event in events(place, "refusals")]
        assert refusals == ([("cells", "c", "identity_conflict"), ("links", "l", "identity_conflict")] if first == 0 else [])


def test_two_writers_that_tell_the_same_of_one_name_are_told_written_and_held(store: MemoryStore, place: Path) -> None:
    with MemoryStore(place) as other:
        told = race(store, other, lambda one, which: one.write([cell("c", "the same"), cell("d" * (which + 1))], **ANN))
        assert [[outcome.outcome for outcome in outcomes] for outcomes in told] == [["written", "written"], ["held", "written"]]
        assert events(place, "refusals") == []


def test_links_to_cells_that_another_writer_tells_later_in_the_log_weigh_the_same_for_all(store: MemoryStore, place: Path) -> None:
    """The log is read by writer, so that the first one's links come before the second one's cells."""
    with MemoryStore(place) as other:
        written(other, cell("x", "printer"), cell("y", "printer"))
        for weight in (0.1, 0.2, 0.3, 0.9):
            store.link([{"from_cell_id": "x", "to_cell_id": "y", "link_type": "task", "weight": weight}], **ANN)
            expected = tables(store)
        assert expected["cell_link_weights"] == [("x", Decimal("1.5")), ("y", Decimal("1.5"))]
        with MemoryStore(place) as anew:
            assert tables(anew) == expected == tables(other)
            parts = [{one["link_part"] for one in opened.recall("printer", sight())} for opened in (store, other, anew)]
        assert parts == [{0.14}] * 3


# --- what may be large ---


def test_a_hundred_thousand_links_of_one_cell_and_recall_still_answers(store: MemoryStore) -> None:
    written(store, cell("hub", "printer"), cell("rim", "printer"))
    links = [{"link_id": f"l{number}", "from_cell_id": "hub", "to_cell_id": "rim", "link_type": "task", "weight": 0.5} for number in range(100_000)]
    assert {outcome.outcome for outcome in store.link(links, **ANN)} == {"written"}
    found = store.recall("printer", sight())
    assert [(one["cell_id"], one["link_part"]) for one in found] == [("hub", 0.14), ("rim", 0.14)]
    shown = store.show("hub", sight())
    assert shown and len(shown["links"]) == 100_000


def test_a_cell_of_ten_megabytes_is_written_found_and_verified(store: MemoryStore, place: Path) -> None:
    content = "打印机 " * 1_000_000 + "straße"
    [name] = written(store, cell("big", content))
    assert recalled(store, "STRASSE 打印") == [name]
    with MemoryStore(place) as anew:
        shown = anew.show(name, sight())
        assert shown and shown["content"] == content
    assert verify(place / "log").is_whole


def test_what_is_larger_than_a_line_of_the_log_may_be_is_refused(store: MemoryStore, place: Path) -> None:
    told = [cell("controls", "\x01" * 16_000_000), cell("fields", metadata={"a": "x" * 40_000_000}), cell("kept")]
    assert [outcome.code for outcome in store.write(told, **ANN)] == ["event_too_long", "event_too_long", None]
    with pytest.raises(InputError, match="the log takes"):
        store._transitions.leave("refusals", {"code": "x" * (1 << 26)}, Scene("write", "ann", "s", NOON))
    assert [event["cell_id"] for event in events(place, "cells")] == ["kept"]


# --- names and values ---

NAMES = [
    "0012",
    "29051_00040",
    "1e5",
    "true",
    "null",
    "NaN",
    "1.0",
    "+7",
    "١٢٣",
    "打印机",
    "e\u0301",
    "é",
    "a b",
    "a'b",
    'a"b',
    "a\\b",
    "a\0b",
    "\x1b[31m",
    "😀",
    "打" * 200,
]


def test_a_name_in_any_script_is_kept_exactly(store: MemoryStore, place: Path) -> None:
    written(store, *(cell(name, "printer") for name in NAMES))
    assert {event["cell_id"] for event in events(place, "cells")} == set(NAMES)
    assert {row[0] for row in store._projection.connection.execute("select cell_id from main.cells").fetchall()} <= set(NAMES)
    assert recalled(store, "printer", most=100) == sorted(NAMES, key=lambda name: name.encode())
    for name in NAMES:
        shown = store.show(name, sight())
        assert shown and shown["cell_id"] == name
    assert [event["found_ids"] for event in events(place, "reads")][1:] == [[name] for name in NAMES]
    assert {outcome.outcome for outcome in store.annotate([{"target_id": name, "kind": "note", "reason": name} for name in NAMES], **ANN)} == {"written"}
    [bound] = store.bind([frame(*NAMES)], **ANN)
    assert store.replay([str(bound.target_id)], **ANN)[0].verified_steps == len(NAMES)
    with MemoryStore(place) as anew:
        assert tables(anew) == tables(store)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


# What is told, and whether it is refused by a guard (its code), or not even an event (what the error says).
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "NaN": (cell(confidence=float("nan")), "finite numbers"),
    "infinity": (cell(metadata={"a": float("inf")}), "finite numbers"),
    "lone surrogate": (cell(content="\ud800"), "unpaired surrogate"),
    "lone surrogate as a key": (cell(metadata={"\udfff": 1}), "unpaired surrogate"),
    "lone surrogate as a name": (cell("\ud800"), "unpaired surrogate"),
    "nested": (cell(metadata=nested(100_000)), "nested too deeply"),
    "bytes": (cell(content=b"x"), "JSON object"),
    "a number as a key": (cell(metadata={1: 2}), "JSON object"),
    "a huge number": (cell(event_index=10**30), "field_malformed"),
    "a number of 400 digits": (cell(event_index=10**400), "field_malformed"),
    "a number beyond 64 bits": (cell(event_index=2**63), "field_malformed"),
    "no whole number": (cell(event_index=1.5), "field_malformed"),
    "a life of 400 digits": ({**cell(), "system": "working", "ttl_seconds": 10**400}, "ttl_misplaced"),
    "a life beyond all calendars": ({**cell(), "system": "working", "ttl_seconds": 1e300}, "ttl_misplaced"),
    "a time that engines know": (cell(created_at="infinity"), "field_malformed"),
    "a time of no calendar": (cell(created_at="2026-02-30"), "field_malformed"),
    "a number as a name": (cell(12), "field_malformed"),  # type: ignore[arg-type]
    "sources in a text": (cell(source_ids="c1"), "field_malformed"),
    "sources of null": (cell(source_ids=[None]), "field_malformed"),
    "metadata in a list": (cell(metadata=[1]), "field_malformed"),
    "a blank name": (cell("\u2003"), "id_blank"),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemoryStore, Path]]:
    place = tmp_path_factory.mktemp("shared") / "memory"
    with MemoryStore(place) as opened:
        written(opened, cell("c1"))
        yield opened, place


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_one_clear_line_and_writes_nothing_of_it(shared: tuple[MemoryStore, Path], name: str) -> None:
    store, place = shared
    (told, expected), before = BAD[name], tables(store)
    try:
        [outcome] = store.write([told], **ANN)
        assert outcome.code == expected and outcome.requirement and "\n" not in outcome.requirement
    except InputError as error:
        assert expected in str(error) and str(error).startswith("item 1: ") and "\n" not in str(error)
    assert tables(store) == before and verify(place / "log").is_whole


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda store: store.recall("x", sight(), most=0), "most: 0 is no number of cells"),
        (lambda store: store.recall("x", sight(), most=2**70), "is no number of cells"),
        (lambda store: store.recall("\ud800", sight()), "unpaired surrogate"),
        (lambda store: store.recall(None, sight()), "expected a text, got NoneType"),
        (lambda store: store.recall("x", sight(session_id="\ud800")), "unpaired surrogate"),
        (lambda store: store.show("\ud800", sight()), "unpaired surrogate"),
        (lambda store: store.frame("\ud800", sight()), "unpaired surrogate"),
        (lambda store: store.readable(["\ud800"], sight()), "unpaired surrogate"),
        (lambda store: store.replay(["\ud800"], **ANN), "unpaired surrogate"),
        (lambda store: store.replay([5], **ANN), "item 1: frame_id: expected a text, got int"),
        (lambda store: store.replay("f1", **ANN), "expected a list of identifiers"),
        (lambda store: store.expire("c1", **ANN), "expected a list of identifiers"),
        (lambda store: store.write([cell()], **{**ANN, "principal": " "}), "principal: is blank"),
        (lambda store: store.write([cell()], **{**ANN, "principal": None}), "principal: expected a text"),
        (lambda store: store.write([cell(), None], **ANN), "item 2: expected an object"),
        (lambda store: store.write({"content": "x"}, **ANN), "item 1: expected an object"),
    ],
)
def test_a_bad_question_is_one_clear_line_and_leaves_no_event(shared: tuple[MemoryStore, Path], ask: Callable[[MemoryStore], object], expected: str) -> None:
    store, place = shared
    before = files_of(place)
    with pytest.raises(InputError) as error:
        ask(store)
    assert expected in str(error.value) and "\n" not in str(error.value)
    assert files_of(place) == before


LINES = {
    "a lone surrogate": ('{"content": "\\ud800"}', "unpaired surrogate"),
    "a number too large": ('{"confidence": 1e999}', "finite numbers"),
    "nested": ('{"a": ' * 300 + "1" + "}" * 300, "more than 200 levels"),
    "nested beyond reading": ("[" * 100_000, "nested too deeply"),
    "NaN": ('{"confidence": NaN}', "NaN"),
    "cut off": ('{"content": "x', "is no JSON"),
    "a list": ("[1]", "expected an object"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_of_a_file_is_named_and_the_rest_of_an_inbox_goes_on(tmp_path: Path, place: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    line, expected = LINES[name]
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "bad.cells.jsonl").write_text(json.dumps(cell("left out")) + "\n" + line, encoding="utf-8")
    (folder / "good.cells.jsonl").write_text(json.dumps(cell("taken in")), encoding="utf-8")
    memory = ["--memory", str(place), "--principal", "crm", "--session", "i"]
    assert main(["memory", "ingest", str(folder), *memory]) == 1
    [told] = capsys.readouterr().err.splitlines()
    assert expected in told and "bad.cells.jsonl line 2" in told
    assert [event["cell_id"] for event in events(place, "cells")] == ["taken in"]
    assert main(["memory", "write", str(folder / "bad.cells.jsonl"), *memory]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert [event["cell_id"] for event in events(place, "cells")] == ["taken in"]


def test_what_a_command_prints_moves_no_cursor(tmp_path: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cells.jsonl"
    file.write_text(json.dumps(cell("c\x1b[31m\n1", "printer \x1b[2J")) + "\n" + json.dumps(cell("c\x1b2", content="\n")), encoding="utf-8")
    memory = ["--memory", str(place), "--principal", "ann", "--session", "s"]
    for asked in (["write", str(file)], ["recall", "printer"], ["show", "c\x1b[31m\n1"], ["show", "\x1b[31m"]):
        main(["memory", *asked, *memory])
    out = capsys.readouterr()
    assert "\x1b" not in out.out + out.err


# --- an inbox, in whatever order ---


def lines_of(folder: Path) -> list[tuple[str, str]]:
    return [(file.name.split(".")[1], line) for file in sorted(folder.iterdir()) for line in file.read_text(encoding="utf-8").splitlines()]


def put_in(folder: Path, lines: list[tuple[str, str]], files: int, draw: random.Random) -> Path:
    """The lines in another order, in other files."""
    folder.mkdir()
    draw.shuffle(lines)
    for stream, line in lines:
        with (folder / f"{draw.randrange(files)}.{stream}.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    return folder


def test_an_inbox_makes_the_same_tables_twice_and_in_any_order_of_files_and_lines(tmp_path: Path) -> None:
    lines = lines_of(memory_processes.inbox(tmp_path, 0))
    lines += [
        ("cells", json.dumps(cell("of nothing", source_ids=["nowhere"]))),
        ("links", json.dumps({"from_cell_id": "0-1", "to_cell_id": "nowhere", "link_type": "task"})),
    ]
    made = []
    for number in range(4):
        with MemoryStore(tmp_path / f"memory{number}") as store:
            folder = put_in(tmp_path / f"inbox_{number}", lines, number + 1, random.Random(number))
            done = ingest(store, folder, principal="crm", session_id="i", now=NOON)
            assert sorted(outcome.code or "" for _, _, outcome in done.refused) == ["cell_unknown", "source_cell_unknown"]
            made.append((tables(store, but=GIVEN_ANEW), sorted(event["code"] for event in events(tmp_path / f"memory{number}", "refusals"))))
            again = ingest(store, folder, principal="crm", session_id="i", now=later(60))
            assert {what for _, what in again.counts} == {"held", "refused"}
            assert tables(store, but=GIVEN_ANEW) == made[-1][0]
    assert all(one == made[0] for one in made)
    assert len(made[0][0]["cells"]) == 12 and made[0][1] == ["cell_unknown", "source_cell_unknown"]


def test_a_long_conversation_is_taken_in_turn_by_turn(tmp_path: Path, store: MemoryStore, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn names the one before it, and the last comes first."""
    folder = tmp_path / "inbox"
    folder.mkdir()
    turns = [cell(f"t{number}", source_ids=[f"t{number - 1}"] if number else []) for number in range(100)]
    (folder / "a.cells.jsonl").write_text("\n".join(json.dumps(turn) for turn in reversed(turns)), encoding="utf-8")
    write, asked = store.write, []
    monkeypatch.setattr(store, "write", lambda told, **more: asked.append(len(told)) or write(told, **more))
    done = ingest(store, folder, principal="crm", session_id="i", now=NOON)
    # Asked for once each: all of those that are left, for each turn that gets in, would be five thousand.
    assert sum(asked) == 100
    assert done.counts == {("cells", "written"): 100}
    assert [event["cell_id"] for event in events(place, "cells")] == [turn["cell_id"] for turn in turns]
    assert events(place, "refusals") == []


def test_cells_that_name_one_another_in_a_circle_stay_out_and_nothing_else(tmp_path: Path, store: MemoryStore) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    told = [cell("a", source_ids=["b"]), cell("b", source_ids=["a"]), cell("c", source_ids=["d"]), cell("d")]
    (folder / "a.cells.jsonl").write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
    done = ingest(store, folder, principal="crm", session_id="i", now=NOON)
    assert done.counts == {("cells", "written"): 2, ("cells", "refused"): 2}
    assert sorted(str(outcome.target_id) for _, _, outcome in done.refused) == ["a", "b"]


# --- retention, by its commands ---


def test_what_is_past_its_time_is_archived_and_removed_and_memory_stays_whole(
    tmp_path: Path, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryStore(place, clock=lambda: NOON) as store:
        written(store, cell("c1", "printer"), cell("c2", "printer"))
        recalled(store, "printer")
    asked = ["--memory", str(place), "--now"]
    archived, removed = ["memory", "archive", "--to", str(tmp_path / "archive")], ["memory", "prune", "--archive", str(tmp_path / "archive")]
    young, old = "2028-09-29T00:00:00", "2028-10-02T00:00:00"
    assert main([*archived, *asked, young]) == main([*removed, *asked, young]) == 0
    assert len(events(place, "reads")) == 1
    assert main([*archived, *asked, old]) == main([*removed, *asked, old]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 removed"
    assert events(place, "reads") == [] and len(events(place, "cells")) == 2
    assert main(["memory", "verify", "--memory", str(place)]) == 0
    with MemoryStore(place) as store:
        assert recalled(store, "printer") == ["c1", "c2"]
    # A policy that keeps cells for a day: what was in them is told by the archive alone.
    monkeypatch.setattr("governed_memory.memory.upkeep_commands._policy", lambda: {"cells": 1})
    assert main([*archived, *asked, old]) == main([*removed, *asked, old]) == 0
    assert main(["memory", "verify", "--memory", str(place)]) == 0
    with MemoryStore(place) as store:
        assert recalled(store, "printer") == []
        assert [outcome.outcome for outcome in store.write([cell("c1", "another")], **ANN)] == ["written"]
