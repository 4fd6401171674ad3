"""What waits for stewards, what was done about it, and registers that are only added to (L5, L6, L7)."""

from __future__ import annotations

import json
import shlex
import shutil
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt_harness import Project

from governed_memory.cli import main
from governed_memory.warehouse.durable import journal_of

MARK = "ZQX"
BASE = {"valid_from": "2026-01-01", "valid_to": None, "source": "S-1", "concept_owner": "finance", "owner_role": "Head of Finance", "conflict_policy": None}
ON_DATE = "2026-07-01"


def record(record_id: str, concept: str, **more: Any) -> dict[str, Any]:
    return {**BASE, "record_id": record_id, "concept": concept, "value": f"value of {record_id}", **more}


# Ten questions: six that nothing or nobody answers, four that are sound.
SOUND = ("sound", "withheld", "replaced", "registered")
GAPS = {"never_there": "missing", "withdrawn": "missing", "lapsed": "not_in_force", "to_come": "not_in_force", "given_up": "unowned", "unclaimed": "unowned"}
RECORDS = [
    record("S-1", "sound"),
    record("S-2", "withheld", value=f"{MARK} value", release_to=["board"], classification=f"{MARK} class"),
    record("S-3", "replaced"),
    record("S-4", "replaced", valid_from="2026-06-01", supersedes="S-3"),
    record("S-5", "registered", concept_owner=None),
    record("G-1", "withdrawn", withdrawal="it was wrong"),
    record("G-2", "lapsed", valid_to="2026-06-30"),
    record("G-3", "to_come", valid_from="2026-07-02"),
    record("G-4", "given_up"),
    record("G-5", "unclaimed", concept_owner=None),
]
RIVALS = [
    record("R-1", "rivals", value=f"{MARK} one", release_to=["board"]),
    record("R-2", "rivals", value=f"{MARK} two", source=None),
    record("R-3", "rivals", value="three", valid_from="2026-02-01", supersedes="W-1"),
    record("W-1", "rivals", withdrawal=f"{MARK} reason"),
    record("E-1", "erased", value="what must go", note="also this"),
]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


class World:
    """A project with one store, whose registers and trace are files that are only added to."""

    def __init__(self, folder: Path) -> None:
        self.project = Project(folder)
        self.folder = self.project.folder
        self.project.vars["on_date"] = ON_DATE
        self.project.attach("s", write(folder / "s.jsonl", RECORDS + RIVALS), target_level=0, steward="data-office", policy="undecided")
        for register in ("concept_ownerships", "expected_concepts", "parties", "question_classes", "policies", "steward_actions"):
            self.project.append_to(register, folder / f"{register}.jsonl")
        self.project.append_to("policy_criteria", folder / "policies.jsonl")
        self.project.append_to("redactions", folder / "s.redactions.jsonl")
        for name in ("question_classes", "steward_actions"):
            (folder / f"{name}.jsonl").touch()
        erasure = ["--asked-by", "subject 7", "--because", "their request", "--by", "ada"]
        assert main(["erase", "--store", str(folder / "s.jsonl"), "--record", "E-1", *erasure]) == 0
        self.place = folder

    def steward(self, *arguments: str) -> None:
        register = {
            "transfer": "concept_ownerships",
            "policy": "policies",
            "question-class": "question_classes",
            "expect": "expected_concepts",
            "party": "parties",
        }
        file = str(self.place / f"{register[arguments[0]]}.jsonl")
        assert main(["steward", *arguments, "--by", "ada", "--because", "agreed", "--file", file]) == 0

    def build(self) -> duckdb.DuckDBPyConnection:
        connection = self.project.run("steward_worklist", "policies", "policy_criteria", "parties", "question_classes", "redactions", "stg_registers")
        return connection


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Built twice: before and after later entries."""
    made = World(tmp_path_factory.mktemp("stewards"))
    made.steward("transfer", "--concept", "registered", "--to", "sales", "--from", "2026-01-01")
    made.steward("transfer", "--concept", "given_up", "--to", "finance", "--from", "2026-01-01")
    made.steward("transfer", "--concept", "given_up", "--to-nobody", "--from", "2026-06-01")
    made.steward("transfer", "--concept", "given_up", "--to", "legal", "--from", "2026-07-02")
    for concept in (*SOUND, *GAPS):
        made.steward("expect", "--concept", concept, "--from", "2026-01-01")
    made.steward("expect", "--concept", "not_any_more", "--from", "2026-01-01")
    made.steward("expect", "--concept", "not_any_more", "--from", "2026-06-01", "--no-longer")
    made.steward("policy", "--policy", "undecided", "--criterion", "latest_valid_from", "--from", "2026-01-01")
    made.steward("policy", "--policy", "undecided", "--criterion", "source_rank", "--criterion", "abstain", "--from", "2026-06-01")
    made.steward("policy", "--policy", "undecided", "--criterion", "latest_recorded", "--from", "2026-07-02")
    made.steward("party", "--party", "finance", "--boundary", "inside", "--role", "Head", "--from", "2026-01-01")
    made.steward("party", "--party", "finance", "--boundary", "inside", "--role", "CFO", "--from", "2026-07-01")
    made.steward("party", "--party", "gone", "--boundary", "inside", "--from", "2026-01-01")
    made.steward("party", "--party", "gone", "--from", "2026-06-01", "--no-longer")
    made.opened = made.build()  # type: ignore[attr-defined]
    return made


def rows(world: World, sql: str) -> list[tuple[Any, ...]]:
    return world.opened.execute(sql).fetchall()  # type: ignore[attr-defined]


def test_c31_the_six_gaps_are_found_and_nothing_else(world: World) -> None:
    """L6, C31: a concept that is withheld is held; one that is not expected any more is no gap."""
    assert dict(rows(world, "select concept_id, gap from concept_gaps")) == GAPS
    assert len(rows(world, "from concept_gaps")) == 6
    listed = {concept for (concept,) in rows(world, "select concept_id from steward_worklist where kind = 'gap'")}
    assert listed == set(GAPS)


def test_l7_the_latest_entry_that_has_begun_counts_as_a_whole(world: World) -> None:
    assert rows(world, "select position, criterion from policy_criteria order by 1") == [(1, "source_rank"), (2, "abstain")]
    assert rows(world, "select party_id, owner_role, name from parties") == [("finance", "CFO", None)]
    assert rows(world, "select count(*) from question_classes") == [(0,)]
    assert rows(world, "select count(*) from concept_ownerships where concept_id = 'given_up'") == [(3,)]


def test_l8_a_redaction_is_a_row_of_its_register(world: World) -> None:
    assert rows(world, "select store_id, record_id, field, replacement, asked_by, because from redactions") == [
        ("s", "E-1", "value", "[erased: E-1]", "subject 7", "their request")
    ]
    assert rows(world, "select value from records where record_id = 'E-1'") == [("[erased: E-1]",)]
    assert b"must go" not in (world.place / "s.jsonl").read_bytes()


def test_l6_a_conflict_is_listed_with_the_change_that_ends_it(world: World) -> None:
    [(detail, fix, answers, since, party)] = rows(
        world, "select detail, fix, affected_answers, since_on, party_id from steward_worklist where kind = 'conflict'"
    )
    assert (detail, answers, since) == ("undecided between R-1, R-2, R-3", 1, None)
    assert (
        fix == "Append one record that replaces every side: `gmem supersede --store=s --of=R-1 --of=R-2 --of=R-3 --id=NEW_ID "
        f"--from={ON_DATE} --value=VALUE --source=SOURCE`"
    )
    assert party == "data-office"


def test_l6_the_command_of_a_conflict_runs_as_it_stands(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What the rivals differ in the command asks for, as it would of anybody."""
    monkeypatch.setenv("GMEM_DATABASE", str(world.folder / "built.duckdb"))
    [(fix,)] = rows(world, "select fix from steward_worklist where kind = 'conflict'")
    command = shlex.split(fix.split("`")[1])
    assert command.pop(0) == "gmem"
    capsys.readouterr()
    assert main([*command, "--dry-run"]) == 2
    assert "the records it replaces differ in release_to; say which holds with --set release_to=VALUE" in capsys.readouterr().err
    assert main([*command, "--dry-run", "--set", "release_to=board"]) == 0
    assert "R-1     2026-01-01 .. ~              -> 2026-01-01 .. 2026-06-30  replaced, by NEW_ID" in capsys.readouterr().out


def test_l6_a_supersession_without_effect_is_one_item_that_says_why(world: World) -> None:
    found = rows(world, "select record_id, rule_id, detail from steward_worklist where kind = 'ineffective_supersession'")
    assert found == [("R-3", "supersession_ineffective", "supersedes W-1, points_at_withdrawal")]
    assert rows(world, "select count(*) from steward_worklist where rule_id = 'supersession_ineffective'") == [(1,)]
    open_findings = "select count(*) from findings where not is_waived"
    items = "select count(*) from steward_worklist where rule_id is not null"
    assert rows(world, open_findings) == rows(world, items)


def test_g7_nothing_that_a_restricted_record_says_is_on_the_worklist(world: World) -> None:
    for name in ("steward_worklist", "concept_gaps", "int_conflicts"):
        assert MARK not in json.dumps(rows(world, f"from {name}"), default=str)
    assert rows(world, f"select count(*) from records where value like '%{MARK}%'") == [(3,)]


# The commands


@pytest.fixture
def desk(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty trace, from which the built database is read."""
    monkeypatch.setenv("GMEM_DATABASE", str(world.folder / "built.duckdb"))
    (tmp_path / "trace.jsonl").touch()
    return tmp_path / "trace.jsonl"


def listed(trace: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["worklist", "list", "--json", "--file", str(trace), *options]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def note(trace: Path, *arguments: str) -> int:
    return main(["worklist", *arguments, "--by", "ada", "--file", str(trace)])


def test_l6_a_snoozed_item_is_hidden_until_its_day_and_never_lost(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [item] = listed(desk, capsys, "--kind", "conflict")
    name = item["item_id"]
    assert note(desk, "acknowledge", name[:8]) == 0
    assert note(desk, "assign", name, "--to", "bob") == 0
    assert note(desk, "snooze", name, "--until", "2026-07-02", "--because", "waits for the audit") == 0
    assert listed(desk, capsys, "--kind", "conflict") == []
    [shown] = listed(desk, capsys, "--kind", "conflict", "--all")
    assert (shown["acknowledged_by"], shown["assigned_to"], shown["snoozed_until"], shown["snooze_reason"]) == (
        "ada",
        "bob",
        "2026-07-02",
        "waits for the audit",
    )
    assert [found["item_id"] for found in listed(desk, capsys, "--party", "bob", "--all")] == [name]
    assert main(["worklist", "history", name[:8], "--file", str(desk)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ", 2)[2] for line in lines[:-1]] == [
        "acknowledge, by ada",
        "assign to bob, by ada",
        "snooze until 2026-07-02, by ada: waits for the audit",
    ]
    before = desk.read_bytes()
    assert note(desk, "assign", name, "--to-nobody") == 0
    assert desk.read_bytes().startswith(before)
    assert [found["assigned_to"] for found in listed(desk, capsys, "--kind", "conflict", "--all")] == [None]


REFUSED = {
    "a snooze without a reason": (["snooze", "{}", "--until", "2030-01-01"], "--because: an entry says why it was made"),
    "a snooze that hides nothing": (["snooze", "{}", "--until", "2026-07-01", "--because", "x"], "--until: 2026-07-01 is not after 2026-07-01"),
    "no date": (["snooze", "{}", "--until", "soon", "--because", "x"], "--until: 'soon' is no date"),
    "an unknown item": (["acknowledge", "{}", "zzzzzz"], "item 'zzzzzz': no open item begins so"),
    "too little of a name": (["acknowledge", "{}", "abc"], "item 'abc': write at least 4 characters"),
    "nobody": (["assign", "{}", "--to", " "], "--to: an empty name assigns to nobody"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_noted_is_one_line_and_notes_nothing(case: str, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, said = REFUSED[case]
    name = listed(desk, capsys)[0]["item_id"]
    assert note(desk, *(argument.format(name) for argument in arguments)) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert desk.read_bytes() == b""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "trace.jsonl, line 1: not JSON"),
        ("[1]", "trace.jsonl, line 1: no entry; every line must be one JSON object"),
        ('{"item_id": 7}', "trace.jsonl, line 1: item_id is no text"),
        ('{"item_id": "a", "acted_by": "x", "action": "snooze", "snoozed_until": "soon"}', "trace.jsonl, entry 1: snoozed_until: 'soon' is no date"),
    ],
)
def test_a_trace_that_was_changed_by_hand_is_refused_by_its_line(line: str, said: str, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk.write_text(line + "\n")
    assert main(["worklist", "list", "--file", str(desk)]) == 2
    assert said in capsys.readouterr().err


def test_g7_no_command_shows_what_a_restricted_record_says(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worklist", "list", "--all", "--limit", "0", "--file", str(desk)]) == 0
    told = capsys.readouterr()
    assert "R-1" in told.out and MARK not in told.out + told.err


def test_l7_writers_at_once_lose_no_entry(tmp_path: Path) -> None:
    file = tmp_path / "parties.jsonl"
    common = ["--boundary", "inside", "--by", "ada", "--because", "new", "--file", str(file), "--database", str(tmp_path / "none.duckdb")]
    writers = [threading.Thread(target=main, args=(["steward", "party", "--party", f"p{number}", *common],)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert {json.loads(line)["party_id"] for line in file.read_text().splitlines()} == {f"p{number}" for number in range(8)}


def test_l7_the_history_of_a_register_says_who_and_why(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["steward", "history", "--database", str(world.folder / "built.duckdb"), "--of", "given_up", "--register", "concept_ownerships"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and "owned by nobody" in lines[1] and "by ada: agreed" in lines[0]


@pytest.mark.parametrize(("name", "told"), [("snoozed_until", "infinity"), ("snoozed_until", "2026-1-5"), ("acted_at", "infinity"), ("acted_at", "-infinity")])
def test_l6_a_day_of_the_trace_comes(name: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An item snoozed until infinity would be lost."""
    sound = {"item_id": "a", "action": "snooze", "acted_by": "x", "reason": "y", "acted_at": "2026-07-01 10:00:00.5", "snoozed_until": "2026-08-01"}
    file = write(tmp_path / "trace.jsonl", [sound])
    assert main(["worklist", "history", "--file", str(file)]) == 0
    write(file, [sound, {**sound, name: told}])
    assert main(["worklist", "history", "--file", str(file)]) == 2
    assert capsys.readouterr().err == f"gmem worklist: {file}, entry 2: {name}: {told!r} is no date; write it as yyyy-mm-dd\n"


@pytest.mark.parametrize("wrong", [[1], [["a"]], [{}], [None], "latest_recorded", {"a": 1}, 7])
def test_a_list_of_an_entry_that_holds_no_texts_is_refused_by_its_line(wrong: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "register.jsonl", [{"policy_id": "p", "criteria": ["latest_recorded"]}, {"policy_id": "p", "criteria": wrong}])
    for way in (["history", "--register", "policies"], ["policy", "--policy", "p", "--criterion", "source_rank", "--by", "ada", "--because", "x"]):
        assert main(["steward", *way, "--file", str(file), "--database", str(tmp_path / "none.duckdb")]) == 2
        assert capsys.readouterr().err == f"gmem steward: {file}, line 2: criteria is no list of texts; write it as one\n"
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["transfer", "--concept", "c", "--to", "x"], "--from: who owned a concept when decides"),
        (["party", "--party", "x"], "--boundary: an entry says everything"),
        (["policy", "--policy", "x"], "--criterion: an entry says everything"),
        (["expect", "--concept", " "], "concept_id: is blank"),
        (["policy", "--policy", "x", "--criterion", "abstain", "--criterion", "abstain"], "--criterion: abstain is given twice"),
        (["policy", "--policy", "x", "--criterion", "abstain", "--criterion", "source_rank"], "--criterion: source_rank comes after abstain"),
        (["expect", "--concept", "c", "--from", "1.1.2026"], "--from: '1.1.2026' is no date"),
    ],
)
def test_an_entry_that_says_too_little_is_refused(arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "register.jsonl"
    assert main(["steward", *arguments, "--by", "ada", "--because", "x", "--file", str(file)]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert not file.exists()


def test_a_project_that_attaches_no_file_says_how(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--by", "ada", "--because", "x", "--database", str(built)]
    assert main(["steward", "expect", "--concept", "c", *arguments]) == 2
    assert (
        "attaches no file that entries can be appended to; name one with --file, and attach it as `registers: expected_concepts: {appended:"
        in capsys.readouterr().err
    )


def test_l5_no_level_that_is_missed_keeps_the_worklist_from_being_built(world: World) -> None:
    """dbt builds nothing that comes behind everything that a failing test reads."""
    manifest = json.loads((world.folder / "target/manifest.json").read_text())
    nodes = {name: set(node["depends_on"].get("nodes") or []) for name, node in manifest["nodes"].items()}

    def behind(name: str) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            new = nodes.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    kept = {name: behind(f"model.governed_memory.{name}") for name in ("findings", "steward_worklist", "level_history", "rule_statuses")}
    tests = [name for name in nodes if name.startswith("test.governed_memory.no_required_finding_")]
    assert len(tests) > 30
    assert [(test, name) for test in tests for name, before in kept.items() if nodes[test] <= before] == []


def test_l7_what_is_appended_after_a_build_shows_from_the_next_one_on(world: World) -> None:
    """A built database is one state, and needs none of the files that it was built from."""
    kinds = dict(rows(world, "select table_name, table_type from information_schema.tables where table_name like 'stg_%'"))
    appended = ("concept_ownerships", "expected_concepts", "parties", "question_classes", "policies", "policy_criteria", "steward_actions", "redactions")
    assert {kinds[f"stg_{name}"] for name in appended} == {"BASE TABLE"}


@pytest.fixture
def elsewhere(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which the attached files are not found by the names that the project has for them."""
    with duckdb.connect(str(tmp_path / "built.duckdb")) as copy:
        copy.execute(f"attach '{world.folder / 'built.duckdb'}' as world (read_only)")
        for name in ("stg_build", "record_intervals_built", "int_steward_items", "int_worklist_build", "stg_steward_actions"):
            copy.execute(f"create table {name} as from world.main.{name}")
        copy.execute("create table stg_registers as select 'parties' as register_id, '''moved/parties.jsonl''' as location, true as is_appended")
        copy.execute("insert into stg_registers values ('steward_actions', '''moved/trace.jsonl''', true)")
    monkeypatch.setenv("GMEM_DATABASE", str(tmp_path / "built.duckdb"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["worklist", "list"],
        ["worklist", "history"],
        ["worklist", "acknowledge", "abcdef", "--by", "ada"],
        ["steward", "history"],
        ["steward", "history", "--register", "parties"],
        ["steward", "party", "--party", "x", "--boundary", "inside", "--by", "ada", "--because", "new"],
    ],
)
def test_l7_an_attached_file_that_is_not_found_is_said_and_not_passed_over(command: list[str], elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    told = capsys.readouterr()
    assert "jsonl: is not here, and the built project attaches it as the register" in told.err and not told.out
    assert not (elsewhere / "moved").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["worklist", "list", "--store", "t"], "--store: the last build knows no 't'; known are s"),
        (["worklist", "list", "--party", "finanze"], "--party: the last build knows no 'finanze'; did you mean 'finance'?"),
        (["worklist", "list", "--file", "none.jsonl"], "none.jsonl: no such file"),
        (["worklist", "history", "zzzz"], "no entry about 'zzzz'; item 'zzzz': no open item begins so"),
        (["worklist", "history", "--file", "none.jsonl"], "none.jsonl: no such file"),
        (["steward", "history", "--register", "parties", "--file", "none.jsonl"], "none.jsonl: no such file"),
        (
            ["steward", "history", "--register", "parties", "--file", "concept_ownerships.jsonl"],
            "entry 1: has the key 'concept_id', so it is no entry of parties",
        ),
        (["steward", "history", "--register", "policies", "--file", "parties.jsonl"], "has the key 'party_id', so it is no entry of policies"),
    ],
)
def test_a_name_that_nothing_has_is_no_empty_answer(
    command: list[str], said: str, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GMEM_DATABASE", str(world.folder / "built.duckdb"))
    monkeypatch.chdir(world.place)
    capsys.readouterr()
    assert main(command) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_an_open_item_of_which_nothing_was_noted_has_an_empty_history(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = listed(desk, capsys)[0]["item_id"]
    assert main(["worklist", "history", name, "--file", str(desk)]) == 0
    assert capsys.readouterr().out == "0 entries\n"
    assert note(desk, "assign", name, "--to-nobody") == 0
    assert capsys.readouterr().out == f"{desk}: assign {name[:10]} to nobody\n"


def test_a_project_without_such_registers_has_no_history_to_show(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["steward", "history", "--database", str(built)]) == 2
    assert "attaches no register that entries are appended to" in capsys.readouterr().err


PARTY = ["steward", "party", "--boundary", "inside", "--by", "ada", "--because", "new", "--database", "none.duckdb"]


def test_l7_the_first_entry_of_a_register_says_that_it_must_be_complete_from_then_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, is_told in (("first", True), ("second", False)):
        assert main([*PARTY, "--party", name, "--file", str(tmp_path / "parties.jsonl")]) == 0
        assert ("is a finding (party_unknown)" in capsys.readouterr().err) is is_told


def test_l7_a_register_with_a_base_is_complete_already(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PARTY[:-1], str(built), "--party", "new", "--file", str(tmp_path / "parties.jsonl")]) == 0
    assert "party_unknown" not in capsys.readouterr().err


def test_l7_a_line_that_somebody_else_cut_off_is_named_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "parties.jsonl"
    file.write_text('{"party_id": "a"}\n{"party_id": "cut')
    before = file.read_bytes()
    assert main([*PARTY, "--party", "x", "--file", str(file)]) == 2
    told = capsys.readouterr().err
    assert "parties.jsonl, line 2: not JSON" in told and "it was cut off, so complete it or remove it and run this again" in told
    assert file.read_bytes() == before


def test_l7_an_entry_of_a_writer_that_was_cut_off_is_none_and_the_next_one_takes_it_back(tmp_path: Path) -> None:
    file = tmp_path / "parties.jsonl"
    file.write_text('{"party_id": "a"}\n{"party_id": "cut')
    journal_of(file).write_bytes(b'18\n{"party_id": "cut off"}\n')
    assert main([*PARTY, "--party", "x", "--file", str(file)]) == 0
    assert [json.loads(line)["party_id"] for line in file.read_text().splitlines()] == ["a", "x"]


def test_t6_l7_an_owner_entered_after_the_last_record_fails_no_build(tmp_path: Path) -> None:
    """Whether a supersession had an effect is known only when the register says whose the concept was (T8)."""
    project = Project(tmp_path)
    lines = [record("A-1", "fee", by="finance"), record("A-2", "fee", by="finance", valid_from="2026-02-01", supersedes="A-1")]
    stamped = [{**line, "recorded_at": "2026-02-01"} for line in lines]
    project.attach("s", write(tmp_path / "s.jsonl", stamped), target_level=0, attests_writers=True, columns={"written_by": "by"})
    owner = {"concept_id": "fee", "party_id": "finance", "valid_from": "2026-01-01", "recorded_at": "2026-03-01 10:00:00", "recorded_by": "ada", "because": "x"}
    project.append_to("concept_ownerships", write(tmp_path / "owners.jsonl", [owner]))
    run = project.dbt("build", "--indirect-selection", "empty", "--select", "+intervals_known_by_now_are_all_intervals")
    assert run.returncode == 0, run.stdout
    [(ended,)] = duckdb.connect(str(project.folder / "built.duckdb"), read_only=True).execute(
        "select in_force_to::varchar from record_intervals where record_id = 'A-1'"
    ).fetchall()  # fmt: skip
    assert ended == "2026-01-31"


def test_l7_the_command_that_a_missing_concept_shows_takes_it_off_the_list(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is expected of every store, an entry of one store ends nothing."""
    [(fix,)] = rows(world, "select fix from steward_worklist where concept_id = 'never_there' and rule_id is not null")
    assert fix.endswith(": `gmem steward expect --concept=never_there --no-longer --by=WHO --because=WHY`") and "every store" in fix
    project = Project(tmp_path)
    project.vars["on_date"] = ON_DATE
    project.attach("s", write(tmp_path / "s.jsonl", RECORDS), target_level=0)
    file = tmp_path / "expected.jsonl"
    project.append_to("expected_concepts", file)
    shared = ["--by", "ada", "--because", "agreed", "--from", "2026-01-01", "--file", str(file), "--database", str(tmp_path / "none.duckdb")]
    for more in ([], ["--store", "s"]):
        assert main(["steward", "expect", "--concept", "nps", *more, *shared]) == 0
    capsys.readouterr()
    assert main(["steward", "expect", "--concept", "nps", "--store", "t", "--no-longer", *shared]) == 0
    assert "holds no 'nps' of store 't', so nothing ends; it is expected of every store: leave out --store" in capsys.readouterr().err
    # Expected of every store and of this one: one gap, and each expectation is taken off by itself.
    for left in (1, 1, 0):
        found = project.run("concept_gaps", "steward_worklist").execute("select fix from steward_worklist where concept_id = 'nps'").fetchall()
        assert len(found) == left
        if left:
            command = found[0][0].split("`")[1].replace("=WHO", "=ada").replace("=WHY", "=agreed")
            assert main([*shlex.split(command)[1:], "--from", "2026-02-01", "--file", str(file), "--database", str(tmp_path / "none.duckdb")]) == 0
            assert "warning" not in capsys.readouterr().err


def test_l6_a_list_of_an_earlier_build_says_so(world: World, desk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stopped = shutil.copy(world.folder / "built.duckdb", tmp_path / "stopped.duckdb")
    asked = ["worklist", "list", "--file", str(desk), "--database", str(stopped)]
    assert main(asked) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and f"items on {ON_DATE}" in printed.out
    with duckdb.connect(str(stopped)) as later:
        later.execute("create or replace view stg_build as select date '2026-07-09' as on_date, timestamp '2099-01-01 10:00:00' as built_at")
    assert main(asked) == 0
    printed = capsys.readouterr()
    assert "the build of 2099-01-01 10:00:00 (UTC) stopped before it made this list" in printed.err and printed.err.count("\n") == 1
    assert f"items on {ON_DATE}" in printed.out
