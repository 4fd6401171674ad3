"""Every as-of question about a change log with late and corrected changes is answered rightly (rules T2 to T5); the benchmark asks dbt snapshots the same."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import as_of_correctness as log_of_changes


def test_ours_are_all_right(tmp_path: Path) -> None:
    log = log_of_changes.change_log()
    answers, _ = log_of_changes.ours(log, tmp_path)
    assert log_of_changes.right(answers, log) == log_of_changes.QUESTIONS == 10_000
    assert sum(change.begins < change.told for change in log) > 500, "what is told late is part of it"
