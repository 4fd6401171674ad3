"""Every published figure has one line on the page of limits, and each line speaks of some."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from governed_memory import warehouse

PAGE = (Path(__file__).parents[2] / "docs/limits.md").read_text(encoding="utf-8")


def test_each_published_figure_has_one_verdict() -> None:
    ids = [row["result_id"] for row in warehouse.seed("published_results")]
    lines = [line.split(" | ") for line in PAGE.partition("## The published figures")[2].splitlines() if line.startswith("| `")]
    assert {verdict for _, verdict, _ in lines} == {"reproduced", "in kind", "not reproducible"}
    patterns = [name for names, _, _ in lines for name in re.findall("`([^`]+)`", names)]
    assert {name: found for name in ids if len(found := [pattern for pattern in patterns if fnmatchcase(name, pattern)]) != 1} == {}
    assert [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in ids)] == []
