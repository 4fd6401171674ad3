"""What waits for stewards, what was done about it, and registers that are only added to (L5, L6, L7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt_harness import Project

from governed_memory.cli import main

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
        for name in ("question_classes", "steward_actions"):
            (folder / f"{name}.jsonl").touch()
        self.place = folder

    def steward(self, *arguments: str) -> None:
        register = {"transfer": "concept_ownerships", "policy": "policies", "question-class": "question_classes", "expect": "expected_concepts", "party": "parties"}
        file = str(self.place / f"{register[arguments[0]]}.jsonl")
        assert main(["steward", *arguments, "--by", "ada", "--because", "agreed", "--file", file]) == 0

    def build(self) -> duckdb.DuckDBPyConnection:
        connection = self.project.run("steward_worklist", "policies", "policy_criteria", "parties", "question_classes", "records_in_force")
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


def test_l6_a_conflict_is_listed_with_the_change_that_ends_it(world: World) -> None:
    [(detail, fix, answers, since, party)] = rows(world, "select detail, fix, affected_answers, since_on, party_id from steward_worklist where kind = 'conflict'")
    assert (detail, answers, since) == ("undecided between R-1, R-2, R-3", 1, None)
    assert fix == f"Append one record that replaces every side: `gmem supersede --store=s --of=R-1 --of=R-2 --of=R-3 --id=NEW_ID --from={ON_DATE} --value=VALUE`"
    assert party == "data-office"


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
