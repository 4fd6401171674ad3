"""What each field is for: the seed and the page say what the questions give today, and with all fields every question is answered rightly."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "python/benchmarks"))

import ablation  # noqa: E402


def test_with_all_fields_every_question_is_answered_rightly_and_nothing_too_much_is_told(tmp_path: Path) -> None:
    judged = ablation.answered_without(None, tmp_path)
    assert len(judged) >= 60
    assert [asked["question"] for asked, is_right, is_exposed in judged if not is_right or is_exposed] == []
    assert {asked["kind"] for asked, _, _ in judged} == ablation.NEEDS.keys()


@pytest.fixture(scope="module")
def told() -> list[dict[str, str]]:
    with ablation.RESULTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_seed_is_what_the_questions_give(tmp_path: Path, told: list[dict[str, str]]) -> None:
    assert [{name: str(value) for name, value in row.items()} for row in ablation.results(tmp_path)] == told


def test_each_field_changes_the_answers_that_need_it(told: list[dict[str, str]]) -> None:
    assert [row["field_id"] for row in told if float(row["needing_right_without"]) >= float(row["needing_right_with"])] == []


def test_the_page_has_the_figures_of_the_seed(told: list[dict[str, str]]) -> None:
    page = (ROOT / "docs/ablation.md").read_text(encoding="utf-8")
    for row in told:
        cells = (
            f"`{row['field_id']}`", f"{row['right_without']} %", row["needing_count"], f"{row['needing_right_without']} %", f"{row['needing_right_with']} %",
            row["exposed_count"], f"{row['published_without']} %", f"{row['published_with']} %",
        )  # fmt: skip
        assert f"| {' | '.join(cells)} |" in page
