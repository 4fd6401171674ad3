"""Databases that reports are made of in tests, and pages read without a browser."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import secrets_store

HOSTILE = "</script></textarea><img src=x onerror=hacked=1>'\"&<svg onload=hacked=1>{{7*7}}"
VOID = {"meta", "input", "br", "img", "link", "hr"}


def hostile_store() -> dict[str, Any]:
    """Every text that a record can hold tries to be markup."""

    def record(number: int, **more: Any) -> dict[str, Any]:
        told = {
            "value": f"v {HOSTILE}",
            "source": f"s {HOSTILE}",
            "concept_owner": f"o {HOSTILE}",
            "owner_role": f"r {HOSTILE}",
            "applies_to": [f"x {HOSTILE}"],
        }
        return {"record_id": f"{number} {HOSTILE}", "concept": f"c {HOSTILE}", "valid_from": "2026-01-01", "valid_to": None, **told, **more}

    return {"store_id": f"h {HOSTILE}", "records": [record(1), record(2), record(3, valid_from="2026-03-01", supersedes=[f"1 {HOSTILE}"])]}


def timeline_store() -> dict[str, Any]:
    """A hand-over, a conflict, and a gap."""

    def record(record_id: str, concept: str, valid_from: str, valid_to: str | None = None, **more: Any) -> dict[str, Any]:
        return {"record_id": record_id, "concept": concept, "value": f"says {record_id}", "valid_from": valid_from, "valid_to": valid_to, "source": "m", **more}

    records = [
        record("A-1", "fee", "2026-01-01"),
        record("A-2", "fee", "2026-04-01", supersedes="A-1"),
        record("B-1", "limit", "2026-01-01", "2026-06-30"),
        record("B-2", "limit", "2026-03-01", "2026-09-30"),
        record("C-1", "rate", "2026-01-01", "2026-01-31"),
        record("C-2", "rate", "2026-03-01", None),
        record("D-1", "scoped", "2026-01-01", applies_to=["renewals"]),
    ]
    return {"store_id": "shop", "records": records, "criteria": ["abstain"]}


def build(database: Path, stores: list[dict[str, Any]] | None = None) -> Path:
    """A database as `dbt build` leaves it, which remembers four builds of every store."""
    secrets_store.built_database(database, stores)
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            """insert into level_trend
            select store_id, built_at - to_days(earlier), on_date, row_count, 3, earlier % 4, target_level, false, 10 + earlier, 20, 30
            from level_trend cross join (select unnest([1, 2, 3])::integer as earlier)"""
        )
    return database


class Page(HTMLParser):
    """The elements of a page in their order, each with its attributes, the elements around it and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[dict[str, Any]] = []
        self._open: list[dict[str, Any]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = {"tag": tag, "attributes": dict(attrs), "inside": [other["tag"] for other in self._open], "text": ""}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()["tag"] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element["text"] += data

    def of(self, tag: str) -> list[dict[str, Any]]:
        return [element for element in self.elements if element["tag"] == tag]

    @property
    def data(self) -> dict[str, Any]:
        [held] = [json.loads(element["text"]) for element in self.of("script") if element["attributes"].get("id") == "data"]
        return held

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A table of the data, its places looked up as the script does."""
        held = self.data
        columns = held[table]
        return [dict(zip(columns, (held["pool"][place] for place in row), strict=True)) for row in zip(*columns.values(), strict=True)]
