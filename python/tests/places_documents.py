"""Where each field stands in a folder of pages, found without the form's own reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORD_ID = "D-102"


def _page(path: Path, name: str) -> str:
    return (path / f"{name}.md").read_text(encoding="utf-8")


def _line(path: Path) -> str:
    return next(line for line in _page(path, "statements").splitlines() if line.startswith(f"[{RECORD_ID}]"))


def _in_line(pattern: str) -> Callable[[Path], str]:
    return lambda path: re.search(pattern, _line(path))[1]  # type: ignore[index]


def _listed(pattern: str) -> Callable[[Path], list[str]]:
    return lambda path: _in_line(pattern)(path).split(", ")


def _owned(path: Path) -> tuple[str, str]:
    """The owner and the role in the sentence of the owners page about the statement, or about its concept."""
    found: list[tuple[str, str]] = re.findall(
        rf"^- (?:\[{RECORD_ID}\]|net_revenue) is owned by (\S+), where the (.+) answers\.$", _page(path, "owners"), re.MULTILINE
    )
    return found[0]


def _policy(path: Path) -> str:
    heading, _, text = _page(path, "policy").partition("\n\n")
    assert heading.startswith("# ")
    return text.strip()


def _unpopulated(path: Path) -> list[str]:
    expected = re.findall(r"^- \[ \] (\S+)$", _page(path, "checklist"), re.MULTILINE)
    return [concept for concept in expected if f"## Concept: {concept}\n" not in _page(path, "statements")]


PLACES: dict[str, Callable[[Path], Any]] = {
    "record_id": lambda path: _line(path)[1 : len(RECORD_ID) + 1],
    "valid_from": _in_line(r"[Ii]n force from (\S+?)[ .]"),
    "valid_to": _in_line(r"[Ii]n force [^.]*to ([\d-]+)\."),
    "source": _in_line(r"Source: (\S+)\. "),
    "concept_owner": lambda path: _owned(path)[0],
    "owner_role": lambda path: _owned(path)[1],
    "conflict_policy": _policy,
    "applies_to": _listed(r"\. Governs ([^.]+) questions\."),
    "does_not_apply_to": _listed(r"Does not govern ([^.]+) questions\."),
    "release_to": _listed(r"Released to ([^.]+)\."),
    "supersedes": _in_line(r"Replaces \[(\S+)\]\."),
    "expected_concepts": _unpopulated,
}
