"""The page of `gmem report` as a person uses it, in headless Chromium: with the keyboard, in the dark, on a narrow screen, with 10,000 records."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_pages import HOSTILE, build, hostile_store, timeline_store

from governed_memory.cli import main

pytest.importorskip("vl_convert", reason="the extra `report` is not installed")
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no Chromium here; on Debian: apt-get install chromium chromium-driver")

SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--window-size=1280,1000",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Any]:
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in (*SWITCHES, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # the driver is named, so that none is looked for elsewhere
    driver = webdriver.Chrome(options=options, service=Service(DRIVER, env={**os.environ, "SE_OFFLINE": "true", "SE_AVOID_STATS": "true"}))
    yield driver
    driver.quit()


def written(database: Path) -> str:
    out = database.with_suffix(".html")
    assert main(["report", "--database", str(database), "--out", str(out)]) == 0
    return out.as_uri()


@pytest.fixture(scope="module")
def shop(folder: Path) -> str:
    return written(build(folder / "shop.duckdb", [timeline_store(), hostile_store()]))


@pytest.fixture(scope="module")
def many(folder: Path) -> str:
    """10,000 records of 2,500 concepts: chains of four, some of them restricted."""
    source = random.Random(7)
    records = [
        {
            "record_id": f"R{chain:05}-{place}", "concept": f"area{chain % 50}/figure {chain:05}", "valid_from": f"20{10 + place}-0{1 + chain % 9}-01", "valid_to": None,
            "value": " ".join(source.choices(("net", "gross", "of", "returns", "rebates", "monthly", "per", "seat", "taxes"), k=12)),
            "source": f"DOC-{chain % 300}", "concept_owner": f"team{chain % 40}", "supersedes": f"R{chain:05}-{place - 1}" if place else None,
            **({"release_to": ["board"]} if chain % 10 == 0 else {}),
        }
        for chain in range(2500)
        for place in range(4)
    ]  # fmt: skip
    return written(build(folder / "many.duckdb", [{"store_id": "many", "records": records}]))


def count(browser: Any, name: str) -> str:
    return str(browser.execute_script("return document.getElementById(arguments[0]).textContent", f"{name}-count"))


def until(browser: Any, name: str, starts: str) -> float:
    """Seconds until the count of a list starts so."""
    began = time.perf_counter()
    while not count(browser, name).startswith(starts):
        assert time.perf_counter() - began < 30, (count(browser, name), browser.get_log("browser"))
        time.sleep(0.005)
    return time.perf_counter() - began


def clean(browser: Any) -> None:
    """Nothing went wrong in the page, and it fetched nothing but itself."""
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    assert {address for address in asked if not address.startswith(("file://", "data:", "chrome"))} == set()


def test_a_timeline_opens_with_the_keyboard_and_says_what_it_draws(browser: Any, shop: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser.get(shop)
    page = browser.switch_to.active_element
    page.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the report"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "main"
    search = browser.find_element(By.ID, "concepts-text")
    search.send_keys("a-1")
    until(browser, "concepts", "1 concept of 5")
    for _ in range(10):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        if browser.switch_to.active_element.tag_name == "summary":
            break
    outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "whoever uses the keyboard sees where they are"
    assert browser.find_elements(By.CSS_SELECTOR, ".timeline") == [], "drawn when it is opened"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    table = browser.find_element(By.CSS_SELECTOR, ".timeline")
    assert "2026-01-01 to 2026-03-31; replaced by A-2" in table.text and "from 2026-04-01 on" in table.text
    first, second = (bar.rect for bar in browser.find_elements(By.CSS_SELECTOR, ".timeline .bar"))
    assert abs(first["x"] + first["width"] - second["x"]) < 2, "the second begins where the first ends"
    clean(browser)


def test_conflicts_and_gaps_are_drawn_and_told(browser: Any, shop: str) -> None:
    browser.get(shop)
    browser.execute_script("document.querySelectorAll('#concepts-list summary').forEach((summary) => summary.click())")
    time.sleep(0.2)
    told = browser.execute_script("return document.getElementById('concepts-list').textContent")
    assert "conflict, 2026-03-01 to 2026-06-30: B-1, B-2" in told and "nothing in force, 2026-02-01 to 2026-02-28" in told
    drawn = browser.execute_script("return [...document.querySelectorAll('.timeline .band')].map((mark) => mark.className)")
    assert {"band bad", "band none", "band ok"} <= set(drawn)
    clean(browser)


def test_texts_of_records_run_nowhere(browser: Any, shop: str) -> None:
    browser.get(shop)
    browser.execute_script("document.querySelectorAll('#concepts-list summary').forEach((summary) => summary.click())")
    time.sleep(0.3)
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return document.images.length + document.querySelectorAll('svg svg, #concepts svg').length") == 0
    assert HOSTILE in browser.execute_script("return document.getElementById('concepts-list').textContent")
    assert HOSTILE in browser.execute_script("return document.getElementById('findings-list').textContent")
    # and whatever got in would not run
    browser.execute_script("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 1\"><script>window.hacked = 1</' + 'script>')")
    time.sleep(0.2)
    assert browser.execute_script("return window.hacked") is None
    assert any("Content Security Policy" in entry["message"] for entry in browser.get_log("browser"))


def test_findings_and_concepts_lead_to_each_other(browser: Any, shop: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    browser.get(shop)
    everything = count(browser, "findings")
    Select(browser.find_element(By.ID, "findings-severity")).select_by_visible_text("must be mended")
    assert count(browser, "findings") != everything
    browser.find_element(By.ID, "findings-text").send_keys("concept_owner_missing b-1")
    until(browser, "findings", "1 finding of")
    [concept] = browser.find_elements(By.CSS_SELECTOR, "#findings-list button")
    concept.click()
    until(browser, "concepts", "1 concept of")
    assert browser.switch_to.active_element.get_attribute("id") == "concepts-text"
    browser.find_element(By.CSS_SELECTOR, "#concepts-list summary").click()
    time.sleep(0.2)
    browser.find_element(By.CSS_SELECTOR, "#concepts-list .body > p > button").click()
    time.sleep(0.3)
    assert browser.find_element(By.ID, "findings-text").get_attribute("value") == "limit"
    browser.find_element(By.CSS_SELECTOR, "#findings-form button").click()
    until(browser, "findings", everything)
    clean(browser)


def test_every_control_has_a_name_in_the_accessibility_tree(browser: Any, shop: str) -> None:
    browser.get(shop)
    browser.execute_script("document.querySelectorAll('#concepts-list summary').forEach((summary) => summary.click())")
    time.sleep(0.2)
    nodes = [node for node in browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"] if not node["ignored"]]
    named: dict[str, list[str]] = {}
    for node in nodes:
        named.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    for role in ("button", "searchbox", "combobox", "link", "DisclosureTriangle", "table", "region", "search", "heading", "meter", "columnheader", "rowheader"):
        assert named.get(role) and all(named[role]), (role, named.get(role))
    assert {"banner", "main", "contentinfo", "status"} <= named.keys()
    assert len(set(named["region"])) == len(named["region"]), "landmarks can be told apart"


def test_light_and_dark_follow_the_system_until_one_is_chosen(browser: Any, shop: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    def brightness(system: str) -> float:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": system}]})
        page, text = browser.execute_script(
            """return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('h1')).color]
            .map((colour) => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0))"""
        )
        return float(page - text)

    browser.get(shop)
    theme = Select(browser.find_element(By.ID, "theme"))
    assert brightness("light") > 300 and brightness("dark") < -300
    theme.select_by_visible_text("light")
    assert brightness("dark") > 300
    theme.select_by_visible_text("dark")
    assert brightness("light") < -300
    theme.select_by_visible_text("as the system")
    assert brightness("light") > 300
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_text_stands_out_from_what_is_behind_it(browser: Any, shop: str) -> None:
    """At least 4.5 to 1 in light and in dark, for every colour that text has."""
    for scheme in ("light", "dark"):
        browser.get(shop)
        ratios = browser.execute_script(
            """
            document.documentElement.style.colorScheme = arguments[0];
            const shine = (name) => {
                const probe = document.body.appendChild(document.createElement("i"));
                probe.style.color = `var(--${name})`;
                const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
                probe.remove();
                const [r, g, b] = parts.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const found = {};
            for (const text of ["ink", "muted", "accent", "ok", "warn", "bad", "note"])
                for (const behind of ["page", "card"]) {
                    const [more, less] = [shine(text), shine(behind)].sort((a, b) => b - a);
                    found[`${text} on ${behind}`] = (more + 0.05) / (less + 0.05);
                }
            return found;""",
            scheme,
        )
        assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}, scheme


def test_a_narrow_screen_needs_no_scrolling_sideways(browser: Any, shop: str) -> None:
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    browser.get(shop)
    browser.execute_script("document.querySelectorAll('#concepts-list summary').forEach((summary) => summary.click())")
    time.sleep(0.2)
    width, shown = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= shown == 360


def test_ten_thousand_records_stay_usable(browser: Any, many: str) -> None:
    """What is not on the page is not in the document. The limits are several times what it takes, for a machine that is busy."""
    from selenium.webdriver.common.by import By

    browser.get(many)
    until(browser, "concepts", "2,500 concepts of 2,500")
    timing = browser.execute_script("const [entry] = performance.getEntriesByType('navigation'); return entry.loadEventEnd - entry.startTime")
    assert timing < 6000
    assert browser.execute_script("return document.querySelectorAll('*').length") < 4000
    took = browser.execute_script(
        """const text = document.getElementById("concepts-text");
        const times = [];
        for (const words of ["rebates seat", "team7", "figure 02499", ""]) {
            text.value = words;
            const began = performance.now();
            document.getElementById("concepts-form").dispatchEvent(new Event("change"));
            document.body.offsetHeight;
            times.push(performance.now() - began);
        }
        return times"""
    )
    assert max(took) < 2000
    search = browser.find_element(By.ID, "concepts-text")
    search.send_keys("figure 02499")
    until(browser, "concepts", "1 concept of 2,500")
    search.clear()
    search.send_keys("area7/")
    until(browser, "concepts", "50 concepts of 2,500, 1 to 25 shown")
    [later] = [button for button in browser.find_elements(By.CSS_SELECTOR, "#concepts-pages button") if button.text == "Later"]
    later.click()
    assert "26 to 50 shown" in count(browser, "concepts")
    print(f"10,000 records: loaded in {timing:.0f} ms, filtered in {', '.join(f'{part:.0f}' for part in took)} ms")
    clean(browser)
