"""L1: presence levels agree with the published checker: same level, same findings in the same order, same offenders in the same order.

The allowed differences are two here: an identifier that is no text prints as JSON (the published checker prints it as Python does, and a
falsy one as #i), and the published checker takes any word for a role, where ours refuses an unknown one.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pytest
from generated import codes, examples
from harness import Difference, attach_lines, reduced

from governed_memory import warehouse
from governed_memory.errors import InputError
from governed_memory.overlay.check import check
from governed_memory.warehouse import StoreFile
from governed_memory.warehouse.store_file import parse_mapping

published = pytest.importorskip("vercy.check", reason="the published checker is not installed (extra: peers)")

FIELDS = ("record_id", "valid_from", "valid_to", "source", "concept_owner", "owner_role", "supersedes")
MARKERS = ("conflict_policy", "release_to", "applies_to", "does_not_apply_to", "classification", "confidential", "restricted", "policy", "rule")
ROLES = FIELDS + MARKERS
GOOD = {
    "record_id": None,
    "valid_from": '"2026-01-01"',
    "valid_to": "null",
    "source": '"S-1"',
    "concept_owner": '"sales"',
    "owner_role": '"lead"',
    "supersedes": '"D-0"',
}

# JSON texts, as they stand in a file. What Python takes for blank and what it does not, values that are false, and texts that look like JSON.
BLANKS = [
    f'"\\u{code:04x}"' for code in (9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
]
NEARLY_BLANK = [f'"\\u{code:04x}"' for code in (0, 8, 14, 27, 127, 0x86, 0xAD, 0x180E, 0x200B, 0x200D, 0x2060, 0x3164, 0xFEFF)]
NASTY = [
    "null", '""', '" "', '" \\t\\u3000\\u001c "', '"\u2028"', '"\u3000"',
    "[]", "[ ]", "{}", "{ }", "[null]", "[[]]", "[{}]", '[""]', '[" "]', '["a"]', '["a", null]', "[0]", '{"a": null}', '{"a": {"b": []}}',
    "false", "true", "0", "-0", "0.0", "-0.0", "0e5", "1e-400", "1", "-1", "1.5", "1e2", "1000000000000000000000000000000",
    '"false"', '"true"', '"0"', '"0.0"', '"-0"', '"0e5"', '"NaN"', '"null"', '"[]"', '"{}"', '"\\"\\""', '"\\u005b\\u005d"', '"["', '"{"', '"[a"', '"{}}"',
    '"~"', '"a,b"', '"it\'s"', '"say \\"so\\""', '"a\\\\b"', '"`"', '"|"', '"!"', '" x "', '"\\u00a0x\\u00a0"', '"a\u2028b"', '"a\\nb"',
    '"\\u00e9"', '"e\\u0301"', '"\U0001d4b3"', '"\\ud835\\udcb3"', *BLANKS, *NEARLY_BLANK,
]  # fmt: skip
KEYS = (
    "record_id", "valid_to", "source", "policy", "key", "Key", "KEY", "kEy", "a.b", "a", "$", "$.a", "*", "[0]", "#-1", 'a"b', '"', "it's", "'",
    "a\\b", "\\", "\\u0041", " key ", "two words", "a=b", "\u00e9", "e\u0301", "stra\u00dfe", "STRASSE", "\u2028", "a/b", "~", "never", "never 2",
    "json", "rowid", "filename", "store_id", "select", "record_index", "__proto__", "ke\ty",
)  # fmt: skip


def pick(options: Any, byte: int) -> Any:
    return options[byte % len(options)]


def mapping_of(code: bytes) -> dict[str, str]:
    """Up to five roles with keys of their own, which two may share; all zero maps nothing."""
    return {pick(ROLES, role): pick(KEYS, key) for role, key in zip(code[::2], code[1::2], strict=True) if role > 90}


def line_of(place: int, code: bytes, mapping: dict[str, str], *, nastiness: int, marked: int, every_end: bool) -> str:
    """One record as it stands in the file. All zero states every field and no marker."""
    pairs: dict[str, str] = {}
    for role, byte in zip(ROLES, code, strict=False):
        raw = GOOD.get(role)
        if role == "record_id":
            raw = json.dumps(f"D-{place}")
        if byte > nastiness:
            raw = pick((None, None, None, None, None, None, *NASTY), byte * 7 + place)
        elif role in MARKERS and byte >= marked:
            raw = '["a", "b"]'
        if role == "valid_to" and every_end:
            raw = raw or "null"
        if raw is not None:
            pairs[mapping.get(role, role)] = raw
    decoy, other = code[len(ROLES)], code[len(ROLES) + 1]
    if decoy > 170:
        # Keys that are none of those asked for, however much they look like them.
        role = pick(ROLES, other)
        name = pick((role, role.upper(), role.title(), mapping.get(role, role).swapcase(), f"{role}.x", f" {role}", f'"{role}"'), decoy)
        pairs.setdefault(name, pick(NASTY, other))
    space = pick(("", " ", "  "), other)
    return "{" + f",{space}".join(f"{json.dumps(key, ensure_ascii=decoy % 2 == 0)}:{space}{raw}" for key, raw in pairs.items()) + "}"


LEAST_NASTY = (255, 251, 243, 225, 170, 90)
# From which byte on a marker is stated: in no record, in all, in some.
LEAST_MARKED = (256, 0, 200)


def store_parts(source: Random) -> tuple[bytes, list[bytes]]:
    return source.randbytes(2), codes(source, len(ROLES) + 2, 0, 5)


def batch_of(code: bytes, drawn: list[tuple[bytes, list[bytes]]]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    mapping = mapping_of(code[1:])
    stores = []
    for number, (head, records) in enumerate(drawn):
        nastiness, marked = pick(LEAST_NASTY, head[0]), pick(LEAST_MARKED, head[0] // len(LEAST_NASTY))
        lines = [line_of(place, record, mapping, nastiness=nastiness, marked=marked, every_end=code[0] % 2 == 1) for place, record in enumerate(records)]
        stores.append({"store_id": f"s{number}", "lines": lines, "policy_id": "P-1" if head[1] > 150 else None})
    return mapping, stores


class JsonId:
    """An identifier that is no text: ours is any JSON text of the same value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        try:
            value = json.loads(str(other))
        except ValueError:
            return False
        numbers = isinstance(value, int | float) and isinstance(self.value, int | float)
        return value == self.value or (numbers and math.isclose(value, self.value))

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"JSON {self.value!r}"


def published_report(store: dict[str, Any], mapping: dict[str, str]) -> tuple[int, list[tuple[Any, ...]]]:
    named = published.rid

    def rid(record: dict[str, Any], mapping: dict[str, str], index: int) -> Any:
        value = published.get(record, "record_id", mapping)
        return named(record, mapping, index) if value is None or isinstance(value, str) else JsonId(value)

    with mock.patch.object(published, "rid", rid):
        report = published.check([json.loads(line) for line in store["lines"]], mapping, policy_present=store["policy_id"] is not None)
    return report["level"], [(finding["field"], finding["requirement"], finding["count"], finding["offenders"]) for finding in report["findings"]]


FINDINGS = """
    select findings.store_id, findings.field, findings.published_requirement, findings.finding_count,
        list(coalesce(offenders.record_id, offenders.detail) order by offenders.record_index) as offenders
    from published_findings as findings
    inner join int_presence_offenders as offenders on findings.store_id = offenders.store_id and findings.rule_id = offenders.rule_id
    group by findings.store_id, findings.field, findings.published_requirement, findings.finding_count, findings.position
    order by findings.position"""


def our_reports(stores: list[dict[str, Any]], mapping: dict[str, str], file: Path) -> dict[str, tuple[int, list[tuple[Any, ...]]]]:
    connection = warehouse.open_memory()
    connection.execute("set threads = 1")
    described = [{"store_id": store["store_id"], "policy_id": store["policy_id"]} for store in stores]
    attach_lines(connection, file, [(store["store_id"], line) for store in stores for line in store["lines"]], described, mapping)
    warehouse.build(
        connection,
        {"published_findings", "store_levels", "int_presence_offenders"},
        empty={"record_ledger", "int_value_offenders"},
        kinds={"int_presence_offenders": "table"},
    )
    levels = dict(connection.execute("select store_id, presence_level from store_levels").fetchall())
    found: dict[str, list[tuple[Any, ...]]] = {}
    for store_id, *finding in connection.execute(FINDINGS).fetchall():
        found.setdefault(store_id, []).append(tuple(finding))
    connection.close()
    start = 0
    reports = {}
    for store in stores:
        reports[store["store_id"]] = (
            levels[store["store_id"]],
            [(*finding, placed(offenders, start, store)) for *finding, offenders in found.get(store["store_id"], [])],
        )
        start += len(store["lines"])
    return reports


def placed(offenders: list[str], start: int, store: dict[str, Any]) -> list[str]:
    """Records without an identifier are named by their place in the joint file; here, by the one in their store."""
    places = {f"#{start + place}": f"#{place}" for place in range(len(store["lines"]))}
    return [places.get(offender, offender) for offender in offenders]


def differences(stores: list[dict[str, Any]], mapping: dict[str, str], file: Path, seen: Counter[str]) -> Iterator[Difference]:
    reports = our_reports(stores, mapping, file)
    for store in stores:
        expected = published_report(store, mapping)
        got = reports[store["store_id"]]
        if got != expected:
            yield Difference(store, f"mapping {mapping}: level and findings {got}, published {expected}")
        seen["stores"] += 1
        seen[f"level {got[0]}"] += 1
        seen.update(field for field, *_ in got[1])


def test_thousands_of_stores_reach_the_published_level_with_its_findings_L1(tmp_path: Path) -> None:
    """L1: level, findings (field, requirement, count) and offenders in order, over awkward values, keys and mappings."""
    seen: Counter[str] = Counter()
    file = tmp_path / "stores.jsonl"

    def fail_on_difference(stores: list[dict[str, Any]], mapping: dict[str, str]) -> None:
        for difference in differences(stores, mapping, file, seen):
            raise difference

    def compare(mapping: dict[str, str], stores: list[dict[str, Any]]) -> None:
        try:
            fail_on_difference(stores, mapping)
        except Difference as difference:
            pytest.fail(reduced(difference.store, lambda store: fail_on_difference([store], mapping)), pytrace=False)

    for code, drawn in examples(50, lambda source: (source.randbytes(11), [store_parts(source) for _ in range(90)])):
        compare(*batch_of(code, drawn))
    assert seen["stores"] >= 2000
    for case in ("level 0", "level 1", "level 2", "level 3", *FIELDS, "conflict_policy", "release_to", "applies_to", "does_not_apply_to"):
        assert seen[case] >= 30, f"{case} came up {seen[case]} times: {seen}"


@pytest.mark.parametrize("every_end", [True, False])
@pytest.mark.parametrize("role", ROLES)
def test_every_awkward_value_in_every_field_reads_as_published_L1(role: str, every_end: bool, tmp_path: Path) -> None:
    """L1: one store for each awkward value of a field, in files whose records all state their end and in others."""
    plain = {field: raw or '"D-1"' for field, raw in GOOD.items()}
    stores = []
    for number, raw in enumerate([None, *NASTY]):
        pairs = {key: value for key, value in {**plain, role: raw}.items() if value is not None}
        if role == "valid_to" and every_end:
            pairs["valid_to"] = raw or "null"
        stores.append({"store_id": f"s{number}", "lines": ["{" + ",".join(f'"{key}":{value}' for key, value in pairs.items()) + "}"], "policy_id": None})
    if not every_end:
        stores.append({"store_id": "endless", "lines": ['{"record_id": "E"}'], "policy_id": None})
    different = [f"{difference.store['lines'][0]}: {difference}" for difference in differences(stores, {}, tmp_path / "stores.jsonl", Counter())]
    assert not different, "\n".join(different)


def test_gmem_check_on_one_file_reports_as_published_L1(tmp_path: Path) -> None:
    """L1: the whole report of `check`, a store to a file, as JSON Lines and as an array."""
    for code, drawn in examples(60, lambda source: (source.randbytes(11), store_parts(source))):
        mapping, [store] = batch_of(code, [drawn])
        level, findings = published_report(store, mapping)
        (tmp_path / "lines.jsonl").write_text("\n".join(store["lines"]), encoding="utf-8")
        (tmp_path / "array.json").write_text("[" + ",\n".join(store["lines"]) + "]", encoding="utf-8")
        for name in ("lines.jsonl", "array.json"):
            report = check(StoreFile(str(tmp_path / name), mapping, store["policy_id"]), presence_only=True)
            got = [(finding["field"], finding["requirement"], finding["count"], finding["offenders"]) for finding in report["findings"]]
            assert (report["records"], report["level"], got) == (len(store["lines"]), level, findings), f"{name}, mapping {mapping}: {store['lines']}"
            assert report["pass"] == (bool(store["lines"]) and level >= 1)


def test_offenders_keep_the_order_of_the_store_L1(tmp_path: Path) -> None:
    """L1: the offenders of a store that is read in several pieces stand in the order of the file."""
    lines = [json.dumps({"record_id": f"D-{place}", "valid_from": "2026-01-01", "valid_to": None, "note": "x" * 300}) for place in range(60_000)]
    file = tmp_path / "store.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    expected = published.check([json.loads(line) for line in lines])
    report = check(StoreFile(str(file)), presence_only=True)
    assert [(finding["field"], finding["offenders"]) for finding in report["findings"]] == [
        (finding["field"], finding["offenders"]) for finding in expected["findings"]
    ]


def test_unknown_roles_are_refused_where_the_published_checker_takes_them_L1() -> None:
    """L1: an allowed difference."""
    assert published.parse_map("recrod_id=uuid") == {"recrod_id": "uuid"}
    with pytest.raises(InputError, match="did you mean 'record_id'"):
        parse_mapping("recrod_id=uuid")


def test_identifiers_that_are_no_text_print_as_json_L1(tmp_path: Path) -> None:
    """L1: an allowed difference."""
    file = tmp_path / "store.jsonl"
    file.write_text('{"record_id": true}\n{"record_id": 0}\n{"record_id": ["a"]}\n{"record_id": null}', encoding="utf-8")
    assert check(StoreFile(str(file)), presence_only=True)["findings"][1]["offenders"] == ["true", "0", '["a"]', "#3"]
    assert published.check([{"record_id": True}, {"record_id": 0}, {"record_id": ["a"]}, {"record_id": None}])["findings"][1]["offenders"] == [
        "True",
        "#1",
        "['a']",
        "#3",
    ]


def test_line_separators_inside_a_text_are_data_L1(tmp_path: Path) -> None:
    """L1: an allowed difference."""
    line = json.dumps({"record_id": "A\u2028B\u0085C", "valid_from": "2026-01-01", "valid_to": None}, ensure_ascii=False)
    file = tmp_path / "store.jsonl"
    file.write_text(line + "\n", encoding="utf-8")
    report = check(StoreFile(str(file)), presence_only=True)
    assert (report["records"], report["level"]) == (1, 1)
    assert report["findings"][0]["offenders"] == ["A\u2028B\u0085C"]
    with pytest.raises(published.InputError):
        published.load_records(file)
