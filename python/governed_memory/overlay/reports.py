"""Reports of `gmem check` for CI systems: JUnit XML and SARIF 2.1.0. Both name rules and records; neither holds a record's value (G7).

An outcome is what `check` returns with `listed`, or {"store", "error"} for a store that cannot be read.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from governed_memory import __version__, warehouse
from governed_memory.warehouse import StoreFile
from governed_memory.warehouse.store_file import JSON_LINES

Outcome = dict[str, Any]

# Findings of one rule that are named. All rules together stay below the 25,000 results that GitHub takes of one run.
JUNIT_LISTED = 50
SARIF_LISTED = 500

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(outcomes: Sequence[Outcome]) -> str:
    """One suite per store, one case per rule. It fails on what keeps the store from the asked level; a rule that is not asked is skipped."""
    root = ElementTree.Element("testsuites", name="gmem check")
    for outcome in outcomes:
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(outcome["store"]))
        if "error" in outcome:
            ElementTree.SubElement(_case(suite, outcome, "readable"), "error", message=_clean(outcome["error"]))
        elif not outcome["records"]:
            ElementTree.SubElement(_case(suite, outcome, "records"), "failure", message="no records; nothing to check")
        else:
            _cases(suite, outcome)
        _count(suite, suite)
    _count(root, root)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _cases(suite: ElementTree.Element, outcome: Outcome) -> None:
    results = _by_rule(outcome)
    for rule in outcome["rules"]:
        case = _case(suite, outcome, rule["rule_id"])
        new = [result for result in results[rule["rule_id"]] if result["severity"] in ("error", "warning")]
        heading = f"level {rule['level']} {rule['requirement']}, {_findings(rule['finding_count'])}: {rule['summary']}. {rule['fix']}."
        left_out = rule["finding_count"] - len(new)
        lines = [_named(result) for result in new] + ([f"and {left_out} more"] if left_out else [])
        text = []
        if any(result["severity"] == "error" for result in new):
            failure = ElementTree.SubElement(case, "failure", message=_clean(heading), type=rule["rule_id"])
            failure.text = _clean("\n".join(lines))
        elif new:
            text = [heading, *lines]
        elif rule["status"] == "n/a":
            ElementTree.SubElement(case, "skipped", message=rule["reason"])
        if rule["baselined_count"]:
            text.append(f"{_findings(rule['baselined_count'])} in the baseline")
        if text:
            ElementTree.SubElement(case, "system-out").text = _clean("\n".join(text))


def _case(suite: ElementTree.Element, outcome: Outcome, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=_clean(outcome["store"]), name=name)


def _count(element: ElementTree.Element, within: ElementTree.Element) -> None:
    for attribute, path in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(len(within.findall(f".//{path}"))))


def sarif(outcomes: Sequence[Outcome], *, has_lines: bool = True) -> str:
    """One run: every rule with its help, every finding at its store and, in JSON Lines, at its line, where the store `has_lines` that are records.

    A finding that keeps the store from the asked level is an error, a MUST above it a warning, the rest notes.
    """
    rules = warehouse.seed("rules")
    by_id = {rule["rule_id"]: rule for rule in rules}
    results: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for outcome in outcomes:
        if "error" in outcome:
            notes.append(_notification("error", outcome["error"]))
            continue
        lines = _lines(outcome) if has_lines else {}
        results += [_result(outcome, result, by_id[result["rule_id"]], lines.get(result["record_index"])) for result in outcome["results"]]
        listed = {rule_id: len(found) for rule_id, found in _by_rule(outcome).items()}
        for rule in outcome["rules"]:
            if left_out := rule["finding_count"] + rule["waived_count"] - listed.get(rule["rule_id"], 0):
                notes.append(_notification("note", f"{outcome['store']}: {_findings(left_out)} more of {rule['rule_id']}"))
    run = {
        "tool": {"driver": {"name": "gmem", "version": __version__, "semanticVersion": __version__, "rules": [_rule(rule) for rule in rules]}},
        "invocations": [{"executionSuccessful": not any("error" in outcome for outcome in outcomes), "toolExecutionNotifications": notes}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, ensure_ascii=False, indent=1)


def _rule(rule: dict[str, str]) -> dict[str, Any]:
    return {
        "id": rule["rule_id"],
        "name": rule["rule_id"],
        "shortDescription": {"text": f"{rule['summary']}."},
        "fullDescription": {"text": f"{rule['summary']}. Level {rule['level']}, {rule['requirement']}."},
        "help": {"text": f"{rule['fix']}."},
        "defaultConfiguration": {"level": "error" if rule["requirement"] == "MUST" else "note"},
        "properties": {"tags": [rule["kind"], f"level-{rule['level']}", rule["requirement"]]},
    }


def _result(outcome: Outcome, result: dict[str, Any], rule: dict[str, str], line: int | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(outcome["store"])}}
    if line:
        physical["region"] = {"startLine": line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if result["record_id"] is not None:
        location["logicalLocations"] = [{"name": result["record_id"], "kind": "record"}]
    level = "error" if result["severity"] == "error" else "warning" if result["severity"] == "warning" and result["requirement"] == "MUST" else "note"
    found: dict[str, Any] = {
        "ruleId": rule["rule_id"],
        "ruleIndex": int(rule["position"]) - 1,
        "level": level,
        "message": {"text": f"{rule['summary']}: {_named(result)}"},
        "locations": [location],
        # The second name is the one by which GitHub tells whether two results are the same.
        "partialFingerprints": {
            "finding/v1": result["fingerprint"],
            "primaryLocationLineHash": f"{result['fingerprint']}:{result['occurrence']}",
        },
        "properties": {"requirement": result["requirement"], "level": result["level"], "party": result["party_id"], "role": result["party_role"]},
    }
    if "baseline" in outcome:
        is_known = result["severity"] == "baselined"
        found["baselineState"] = "unchanged" if is_known else "new"
        if is_known:
            found["suppressions"] = [{"kind": "external", "status": "accepted", "justification": "It is in the baseline."}]
    return found


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}


def _uri(store: str) -> str:
    """Relative to the working directory where the file lies below it, as uploads want it."""
    file = StoreFile(store).file.absolute()
    here = Path.cwd()
    return quote(file.relative_to(here).as_posix()) if file.is_relative_to(here) else file.as_uri()


def _lines(outcome: Outcome) -> dict[int | None, int]:
    """{place of a record: its line} for the records named, in JSON Lines; a blank line holds no record."""
    store = StoreFile(outcome["store"])
    named = {result["record_index"] for result in outcome["results"]}
    if not named or store.format() != JSON_LINES:
        return {}
    lines: dict[int | None, int] = {}
    place = 0
    with store.file.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                place += 1
                if place in named:
                    lines[place] = number
    return lines if place == outcome["records"] else {}


def _by_rule(outcome: Outcome) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for result in outcome["results"]:
        found[result["rule_id"]].append(result)
    return found


def _named(result: dict[str, Any]) -> str:
    record = result["record_id"]
    where = result["detail"] if record is None else f"{record} ({result['field']}{', ' + result['detail'] if result['detail'] else ''})"
    role = f" ({result['party_role']})" if result["party_role"] else ""
    return f"{where}; for {result['party_id']}{role}" if result["party_id"] else str(where)


def _findings(count: int) -> str:
    return f"{count} {'finding' if count == 1 else 'findings'}"


def _clean(text: str) -> str:
    """XML has no place for most control characters, which an identifier may hold."""
    return NOT_IN_XML.sub("\ufffd", text)
