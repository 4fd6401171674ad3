"""`gmem report`: what the page says, what it must not say, and that it is one file that asks nobody for anything (G5 to G8, C23)."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import shutil
import sys
from pathlib import Path

import duckdb
import pytest
import secrets_store
from report_pages import HOSTILE, Page, build, hostile_store, timeline_store

from governed_memory.cli import main

pytest.importorskip("vl_convert", reason="the extra `report` is not installed")
pytest.importorskip("jinja2", reason="the extra `report` is not installed")


def report(database: Path, out: Path, *more: str) -> str:
    assert main(["report", "--database", str(database), "--out", str(out), "--target", str(out.parent / "target"), *more]) == 0
    return out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def secret(folder: Path) -> Path:
    """The store of marked secrets, and its host file beside it."""
    secrets_store.write(folder)
    return build(folder / "secret.duckdb")


@pytest.fixture(scope="module")
def shop(folder: Path) -> Path:
    return build(folder / "shop.duckdb", [timeline_store(), hostile_store()])


@pytest.fixture(scope="module")
def text(shop: Path, folder: Path) -> str:
    return report(shop, folder / "shop.html")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


# What it says ------------------------------------------------------------------------------------------------------------------------


def test_a_timeline_is_drawn_from_the_derived_intervals_T4(page: Page) -> None:
    """T4, C02: the hand-over is derived, and says who replaced whom; no end is written anywhere."""
    records = {row["record_id"]: row for row in page.rows("records")}
    assert (records["A-1"]["from"], records["A-1"]["to"], records["A-1"]["note"]) == ("2026-01-01", "2026-03-31", "replaced by A-2")
    assert (records["A-2"]["from"], records["A-2"]["to"], records["A-2"]["is_current"]) == ("2026-04-01", None, True)
    assert not records["A-1"]["is_current"]


def test_conflicts_gaps_and_scopes_are_told_apart(page: Page) -> None:
    concepts = {row["concept_id"]: row for row in page.rows("concepts") if row["store_id"] == "shop"}
    told = {name: (row["outcome"], row["has_conflict"], row["has_gap"]) for name, row in concepts.items()}
    assert told == {
        "fee": ("decided", False, False),
        "limit": ("empty", True, False),
        "rate": ("decided", False, True),
        "scoped": ("out_of_scope", False, False),
    }
    periods = [
        (row["concept_id"], row["question_class_id"], row["starts_on"], row["ends_on"], row["outcome"], row["record_ids"]) for row in page.rows("periods")
    ]
    assert ("limit", None, "2026-03-01", "2026-06-30", "unresolved", ["B-1", "B-2"]) in periods
    assert ("rate", None, "2026-02-01", "2026-02-28", "empty", None) in periods
    assert ("scoped", "renewals", "2026-01-01", None, "decided", ["D-1"]) in periods


def test_periods_follow_on_each_other_and_each_tells_something_else(page: Page) -> None:
    rows = page.rows("periods")
    pairs = [(one, two) for one, two in itertools.pairwise(rows) if all(one[key] == two[key] for key in ("store_id", "concept_id", "question_class_id"))]
    assert pairs
    assert all((one["outcome"], one["record_ids"]) != (two["outcome"], two["record_ids"]) for one, two in pairs)


def test_level_trend_coverage_and_owners_are_those_of_the_models(page: Page, text: str, shop: Path) -> None:
    with duckdb.connect(str(shop), read_only=True) as connection:
        [(level, errors)] = connection.execute(
            "select level, (select count(*) from findings where store_id = 'shop' and severity = 'error') from store_levels where store_id = 'shop'"
        ).fetchall()
        stated = connection.execute("select stated_count, asked_count from field_coverage where store_id = 'shop' and field = 'concept_owner'").fetchall()
    [card] = [element["text"] for element in page.of("article") if "shop" in element["text"]]
    assert f"level {level} of 3, declared 3" in card and f"Must be mended{errors}" in re.sub(r"\s", "", card).replace("Mustbemended", "Must be mended")
    assert "Level in the last 4 builds" in card
    assert stated == [(0, 7)] and "0 of 7" in text
    findings = page.rows("findings")
    assert len([row for row in findings if row["store_id"] == "shop" and row["severity"] == "error"]) == errors > 0
    assert [row["severity"] for row in findings] == sorted((row["severity"] for row in findings), key=["error", "warning", "waived", "baselined"].index)
    assert "What each field is for" in text and "58.3 %" in text
    assert "owner-then-latest" in text or "none named beside the records" in text


def test_the_example_links_to_the_documentation_that_is_there(built: Path, tmp_path: Path) -> None:
    """The stores that dbt built; links are relative, so that the folder may move, and lead to what exists."""
    plain = report(built, tmp_path / "plain.html")
    assert "M-603" in plain and 'id="further"' not in plain
    (tmp_path / "target/gx_docs").mkdir(parents=True)
    for name in ("index.html", "gx_docs/index.html"):
        (tmp_path / "target" / name).write_text("docs")
    linked = Page(report(built, tmp_path / "linked.html"))
    assert [element["attributes"]["href"] for element in linked.of("a") if "further" not in element["attributes"]["href"]][-2:] == [
        "target/index.html", "target/gx_docs/index.html",
    ]  # fmt: skip


def test_an_example_page_is_small(built: Path, tmp_path: Path) -> None:
    assert len(report(built, tmp_path / "page.html").encode()) < 150_000


def test_a_value_is_cut_where_it_is_long(folder: Path) -> None:
    record = {"record_id": "L", "concept": "long", "value": "ü" * 1000, "valid_from": "2026-01-01", "valid_to": None}
    database = build(folder / "long.duckdb", [{"store_id": "s", "records": [record]}])
    [row] = Page(report(database, folder / "long.html")).rows("records")
    assert row["value"] == "ü" * 300 + "…"


# What it must not say ----------------------------------------------------------------------------------------------------------------


def test_a_stewards_page_names_restricted_records_and_says_nothing_of_what_they_say_C23(secret: Path, folder: Path) -> None:
    """C23, G7: identifiers, dates and rules; of the marked texts only identifiers, and the party that must act on a finding."""
    text = report(secret, folder / "stewards.html")
    told = set(re.findall(rf"{secrets_store.MARK}[\w-]*", text))
    assert told == {f"{secrets_store.MARK}-{number}" for number in range(1, 9)} | {f"{secrets_store.MARK}-o"}
    records = Page(text).rows("records")
    assert {row["value"] for row in records if row["is_restricted"]} == {None}
    assert {row["concept_owner"] for row in records if row["is_restricted"]} == {None}
    assert "seen by all inside" in text


@pytest.mark.parametrize("name", ["analyst", "outsider"])
def test_a_page_for_an_audience_holds_nothing_of_what_it_may_not_see_G5_G7(secret: Path, folder: Path, name: str) -> None:
    text = report(secret, folder / f"{name}.html", "--caller", name, "--host", str(folder / "host.yml"))
    assert secrets_store.MARK not in text
    page = Page(text)
    shown = {row["record_id"] for row in page.rows("records")}
    assert shown == ({"open-7"} if name == "outsider" else {f"open-{number}" for number in range(1, 7)} | {"7.5"})
    # what speaks of every record of a store is not told
    assert not [element for element in page.of("section") if element["attributes"]["id"] in ("stores", "coverage", "fields")]
    assert {row["record_id"] for row in page.rows("findings")} <= shown
    assert (
        {row["concept_id"] for row in page.rows("periods")}
        == {row["concept_id"] for row in page.rows("concepts")}
        == {row["concept_id"] for row in page.rows("records")}
    )
    if name == "analyst":
        [ended] = [row for row in page.rows("records") if row["record_id"] == "open-4"]
        assert ended["note"] == "replaced", "not by whom"
        assert ("wins", "refused") in {(row["concept_id"], row["outcome"]) for row in page.rows("periods")}


def test_withheld_records_change_nothing_in_the_findings_of_an_audience_G7(folder: Path) -> None:
    """A record that names a withheld one, and one that names nothing that exists, look alike to who sees neither."""
    told = []
    for held in (True, False):
        records = [
            secrets_store.record("seen", "plain", "open", "2030-01-01", supersedes="hidden"),
            *([secrets_store.record("hidden", "other", "x", "2029-01-01", release_to=["board"])] if held else []),
        ]
        database = build(folder / f"held_{held}.duckdb", [{"store_id": "s", "records": records}])
        (folder / "inside.yml").write_text("callers: {reader: {boundary: inside}}")
        told.append(report(database, folder / f"held_{held}.html", "--audience", "reader", "--host", str(folder / "inside.yml")))
    assert told[0] == told[1]
    assert "open" in told[0]


def test_the_audience_may_be_a_party_of_the_register(secret: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "to the partner" in report(secret, folder / "partner.html", "--audience", "partner")
    assert main(["report", "--database", str(secret), "--out", str(folder / "x.html"), "--audience", "partnr"]) == 2
    assert "did you mean 'partner'?" in capsys.readouterr().err
    assert not (folder / "x.html").exists()


def test_no_text_of_a_record_becomes_markup(page: Page) -> None:
    assert page.of("img") == [] and len(page.of("script")) == 2
    assert not [element for element in page.elements if any(name.startswith("on") for name in element["attributes"])]
    # each arrived as it is: in the data, in a table written by the template, in a chart
    records = [row for row in page.rows("records") if row["store_id"] != "shop"]
    assert {row["value"] for row in records} == {f"v {HOSTILE}"} and {row["concept_id"] for row in records} == {f"c {HOSTILE}"}
    assert f"o {HOSTILE}" in {element["text"] for element in page.of("th")}
    assert [element for element in page.of("text") if "o </script>" in element["text"]], "a label of the chart"


# What it is --------------------------------------------------------------------------------------------------------------------------


def test_the_page_asks_no_other_machine_for_anything(text: str, page: Page) -> None:
    """Its policy forbids everything but its own script, by hash; and there is no address in what is markup."""
    [policy] = [element["attributes"]["content"] for element in page.of("meta") if element["attributes"].get("http-equiv") == "Content-Security-Policy"]
    [script] = [element["text"] for element in page.of("script") if "id" not in element["attributes"]]
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    named = {
        (element["tag"], name)
        for element in page.elements
        for name, value in element["attributes"].items()
        if re.search(r"^\s*(\w+:)?//", value or "") and not name.startswith("xmlns")
    }
    assert named == set()
    assert {element["attributes"]["href"][0] for element in page.of("a")} == {"#"}
    assert not re.search(r"url\(|@import", "".join(element["text"] for element in page.of("style")))
    assert page.of("link") == page.of("iframe") == page.of("object") == []


def test_who_uses_no_mouse_and_no_eyes_finds_everything(page: Page) -> None:
    assert [element["tag"] for element in page.elements if element["tag"] in ("header", "main", "footer")] == ["header", "main", "footer"]
    assert page.of("html")[0]["attributes"]["lang"] == "en" and len(page.of("title")[0]["text"]) > 10
    headings = [int(element["tag"][1]) for element in page.elements if re.fullmatch("h[1-6]", element["tag"])]
    assert headings[0] == 1 and headings.count(1) == 1 and all(after <= before + 1 for before, after in itertools.pairwise(headings))
    ids = [element["attributes"]["id"] for element in page.elements if "id" in element["attributes"]]
    assert len(ids) == len(set(ids))
    labelled = {element["attributes"]["for"] for element in page.of("label")}
    controls = {element["attributes"]["id"] for element in page.of("input") + page.of("select")}
    assert controls and controls == labelled
    assert all("aria-label" in element["attributes"] for element in page.of("nav") + page.of("form") + page.of("meter"))
    assert all(element["attributes"]["aria-labelledby"] in ids for element in page.of("section"))
    captions = [element for element in page.of("caption") if element["text"].strip()]
    assert len(captions) == len(page.of("table")) > 5
    # a chart is drawn beside a table that says the same
    assert page.of("svg") and all(element["attributes"]["aria-hidden"] == "true" for element in page.of("svg"))
    assert all("scope" in element["attributes"] for element in page.of("th"))
    assert {element["attributes"]["role"] for element in page.elements if element["attributes"].get("id", "").endswith("-count")} == {"status"}
    assert page.of("a")[0]["attributes"]["href"] == "#main", "first a way past the navigation"


def test_the_same_database_gives_the_same_bytes(shop: Path, text: str, tmp_path: Path) -> None:
    copy = tmp_path / "another name.duckdb"
    shutil.copy(shop, copy)
    assert report(copy, tmp_path / "again.html") == text


def test_only_a_report_for_the_same_readers_is_replaced(secret: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = ["--host", str(folder / "host.yml")]
    mine = folder / "mine.html"
    mine.write_text("<title>my own page</title>")
    assert main(["report", "--database", str(secret), "--out", str(mine)]) == 2
    assert "is there and is no report" in capsys.readouterr().err and mine.read_text() == "<title>my own page</title>"
    held = report(secret, folder / "held.html", "--caller", "outsider", *host)
    for more in ([], ["--caller", "analyst", *host]):
        assert main(["report", "--database", str(secret), "--out", str(folder / "held.html"), *more]) == 2
        assert "is a report for another audience" in capsys.readouterr().err
    assert (folder / "held.html").read_text() == held == report(secret, folder / "held.html", "--caller", "outsider", *host)


def test_what_is_missing_is_said_in_one_line(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*more: str) -> str:
        assert main(["report", *more]) == 2
        told = capsys.readouterr()
        assert told.out == "" and told.err.count("\n") == 1
        return told.err

    assert "no such database" in refused("--database", str(tmp_path / "none.duckdb"))
    assert "not written" in refused("--database", str(shop), "--out", str(tmp_path / "no/such/folder.html"))
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert "pip install 'governed-memory[report]'" in refused("--database", str(shop), "--out", str(tmp_path / "x.html"))
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_build_has_to_be_built_again(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.duckdb"
    shutil.copy(shop, old)
    with duckdb.connect(str(old)) as connection:
        connection.execute("drop table level_trend")
    assert main(["report", "--database", str(old), "--out", str(tmp_path / "x.html")]) == 2
    assert "has to be built again with `dbt build`" in capsys.readouterr().err


def test_a_file_published_for_operators_gives_the_same_report(shop: Path, text: str, tmp_path: Path) -> None:
    assert main(["publish", "--database", str(shop), "--out", str(tmp_path / "published.duckdb")]) == 0
    assert report(tmp_path / "published.duckdb", tmp_path / "page.html") == text


def test_data_of_many_records_is_kept_small(page: Page) -> None:
    """Each text stands once in the page's data, however often it occurs."""
    pool = [json.dumps(value) for value in page.data["pool"]]
    assert len(pool) == len(set(pool))
