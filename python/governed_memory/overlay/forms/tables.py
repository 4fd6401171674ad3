"""A store as a folder of tables, one CSV file each: records, the joins from records to parties and question classes, and the registers.

    records.csv            one row a record; what no column holds stands in `governed_memory`, as JSON
    record_releases.csv    record_id, party_id
    rule_scopes.csv        record_id, question_class_id, is_excluded
    parties.csv            party_id, name, owner_role, boundary
    sources.csv            source_id, title, locator, source_rank
    question_classes.csv   question_class_id, description
    policies.csv           policy_id, policy_text
    stores.csv             store_id, policy_id
    expected_concepts.csv  store_id, concept_id

The registers have the columns that a dbt project's registers have. So that records.csv alone never makes a record look open, `restricted` is
set for one with releases, and a mark of restriction that is no text stands in its own column as JSON too.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.beside import BESIDE, LIST, TEXT, Beside, is_names, joined, opened
from governed_memory.overlay.forms.json_file import as_json, expect, write_text
from governed_memory.overlay.forms.store import FormStore, record_named
from governed_memory.warehouse import ROLES, StoreFile, open_memory, raw_records
from governed_memory.warehouse.json_text import parse

if TYPE_CHECKING:
    import duckdb

RECORDS = "records.csv"
SCOPES = {"applies_to": "false", "does_not_apply_to": "true"}
LISTS = (*SCOPES, "release_to")
# Each of these restricts a record (G5).
MARKS = ("classification", "confidential", "restricted")
COLUMNS = tuple(role for role in ROLES if role not in (*LISTS, "owner_role"))
HEADERS = {
    "record_releases": ("record_id", "party_id"),
    "rule_scopes": ("record_id", "question_class_id", "is_excluded"),
    "parties": ("party_id", "name", "owner_role", "boundary"),
    "sources": ("source_id", "title", "locator", "source_rank"),
    "question_classes": ("question_class_id", "description"),
    "policies": ("policy_id", "policy_text"),
    "stores": ("store_id", "policy_id"),
    "expected_concepts": ("store_id", "concept_id"),
}
# What says something about records; the rest are registers for the checks.
READ = ("record_releases", "rule_scopes", "parties", "question_classes", "policies", "stores", "expected_concepts")
# A table that says which records, or which store, the names of a register apply to: without it they would apply to none.
NEEDED_BY = {"rule_scopes": "question_classes", "stores": "policies"}
POLICY_ID = "conflict_policy"
_RESTORE = "put it back, or write one with its first line alone where it has nothing to say"


def is_folder_of_tables(path: Path) -> bool:
    """Whether the path is a folder that holds a table of records."""
    return (path / RECORDS).is_file()


def read(folder: Path) -> FormStore:
    """The store in a folder of tables.

    Raises:
        InputError: a table cannot be read, lacks a column, joins a record that is not there, or is not there though others need it.
    """
    with open_memory() as connection:
        rows = raw_records(connection, StoreFile(str(folder / RECORDS)))
        tables = {name: _table(connection, folder / f"{name}.csv") for name in READ}
    for needed, register in NEEDED_BY.items():
        if tables[register] and not (folder / f"{needed}.csv").is_file():
            raise InputError(f"{folder / needed}.csv: is missing, and {register}.csv has rows that it refers to; {_RESTORE}")
    known = Counter(row.get("record_id") for row in rows)
    lists: dict[tuple[str, str], list[str]] = {}
    for place, row in tables["record_releases"]:
        lists.setdefault((_record_of(row, known, place), "release_to"), []).append(_cell(row, "party_id", place))
    by_flag = {flag: role for role, flag in SCOPES.items()}
    for place, row in tables["rule_scopes"]:
        flag = _cell(row, "is_excluded", place)
        if flag not in by_flag:
            raise InputError(f"{place}: is_excluded is {shown(flag)}; expected true or false")
        lists.setdefault((_record_of(row, known, place), by_flag[flag]), []).append(_cell(row, "question_class_id", place))
    roles = {_cell(row, "party_id", place): row.get("owner_role") for place, row in tables["parties"]}
    notices: list[str] = []
    joins = _Joined(roles, lists, folder / "record_releases.csv")
    records = [_record(row, f"{folder / RECORDS}, {record_named(number, row)}", joins, notices) for number, row in enumerate(rows, start=1)]
    expected = tuple(_cell(row, "concept_id", place) for place, row in tables["expected_concepts"])
    return FormStore(records, _policy(folder, tables), expected, notices)


def write(store: FormStore, folder: Path) -> None:
    """Write a folder of tables.

    Raises:
        InputError: the folder cannot be made, or the policy's text or an expected concept is blank.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
    writer = _Writer(store)
    _write(folder / RECORDS, (*COLUMNS, BESIDE), [writer.row(record) for record in store.records])
    registers = {
        **writer.joins,
        "parties": [{"party_id": party, "owner_role": writer.roles.get(party)} for party in writer.names["parties"]],
        "sources": [{"source_id": source} for source in writer.names["sources"]],
        "question_classes": [{"question_class_id": name} for name in writer.names["question_classes"]],
        "policies": [] if store.conflict_policy is None else [{"policy_id": POLICY_ID, "policy_text": store.conflict_policy}],
        "stores": [{"store_id": folder.name, "policy_id": None if store.conflict_policy is None else POLICY_ID}],
        "expected_concepts": [{"store_id": folder.name, "concept_id": concept} for concept in store.expected_concepts],
    }
    for text in (store.conflict_policy, *store.expected_concepts):
        if text is not None and not _fits(text):
            raise InputError(f"{folder}: a cell cannot hold {shown(text)} as the conflict policy or an expected concept; give it a text")
    for name, header in HEADERS.items():
        _write(folder / f"{name}.csv", header, registers[name])


class _Writer:
    """The rows of records, and what they say in other tables."""

    def __init__(self, store: FormStore) -> None:
        self.ids = Counter(record["record_id"] for record in store.records if isinstance(record.get("record_id"), str))
        self.joins: dict[str, list[dict[str, Any]]] = {"record_releases": [], "rule_scopes": []}
        self.names: dict[str, dict[str, None]] = {"parties": {}, "sources": {}, "question_classes": {}}
        # The role at each party, as the first record that names one has it.
        self.roles: dict[str, str] = {}
        for record in store.records:
            if _fits(record.get("concept_owner")) and _fits(record.get("owner_role")):
                self.roles.setdefault(record["concept_owner"], record["owner_role"])

    def row(self, record: dict[str, Any]) -> dict[str, Any]:
        """A record's row."""
        rest, notes = dict(record), Beside()
        self._join(rest, notes)
        row = {role: rest.pop(role) for role in COLUMNS if role != "supersedes" and _fits(rest.get(role))}
        if is_names(rest.get("supersedes")):
            row["supersedes"] = as_json(rest.pop("supersedes"))
        elif _fits(rest.get("supersedes")) and not rest["supersedes"].startswith("["):
            row["supersedes"] = rest.pop("supersedes")
        self._owner(row, rest, notes)
        if "source" in row:
            self.names["sources"][row["source"]] = None
        if "valid_to" not in record:
            notes.not_stated.append("valid_to")
        elif record["valid_to"] is None:
            del rest["valid_to"]
        self._mark(row, record, rest, notes)
        bag = notes.bag(rest)
        return {**row, BESIDE: as_json(bag) if bag else None}

    def _join(self, rest: dict[str, Any], notes: Beside) -> None:
        record_id = rest.get("record_id")
        if not _fits(record_id) or self.ids[record_id] > 1:
            return
        for role in LISTS:
            value = rest.get(role)
            names = [value] if isinstance(value, str) else value
            if not is_names(names) or not all(map(_fits, names)):
                continue
            if isinstance(rest.pop(role), str):
                notes.shapes[role] = TEXT
            table, column = ("record_releases", "party_id") if role == "release_to" else ("rule_scopes", "question_class_id")
            self.names["parties" if role == "release_to" else "question_classes"] |= dict.fromkeys(names)
            flag = {"is_excluded": SCOPES[role]} if role in SCOPES else {}
            self.joins[table] += [{"record_id": record_id, column: name, **flag} for name in names]

    @staticmethod
    def _mark(row: dict[str, Any], record: dict[str, Any], rest: dict[str, Any], notes: Beside) -> None:
        """Marks of restriction that the columns would not show: those that are no text, and `restricted` for releases."""
        row |= {mark: as_json(rest[mark]) for mark in MARKS if not _says_nothing(rest.get(mark))}
        if record.get("release_to") and row.get("restricted") != "true":
            rest |= {"restricted": record["restricted"]} if "restricted" in record else {}
            row["restricted"] = "true"
            notes.not_stated.append("restricted")

    def _owner(self, row: dict[str, Any], rest: dict[str, Any], notes: Beside) -> None:
        owner = row.get("concept_owner")
        if owner is None:
            return
        self.names["parties"][owner] = None
        if owner in self.roles:
            if rest.get("owner_role") == self.roles[owner]:
                del rest["owner_role"]
            else:
                notes.not_stated.append("owner_role")


@dataclass(frozen=True, slots=True)
class _Joined:
    """What other tables say: the role at each party, the names joined to {(record, role): names}, and where releases stand."""

    roles: dict[str, Any]
    lists: dict[tuple[str, str], list[str]]
    releases: Path


def _record(row: dict[str, Any], place: str, joins: _Joined, notices: list[str]) -> dict[str, Any]:
    record = {role: value for role, value in row.items() if role != BESIDE}
    bag = _json(row[BESIDE], f"{place}: {BESIDE}") if row.get(BESIDE) is not None else {}
    rest, notes = opened(expect(bag, dict, f"{place}: {BESIDE}"), place)
    if (role := joins.roles.get(record.get("concept_owner", ""))) is not None:
        record["owner_role"] = role
    if str(record.get("supersedes", "")).startswith("["):
        record["supersedes"] = _json(record["supersedes"], f"{place}: supersedes")
    for name in LISTS:
        if found := joins.lists.get((record.get("record_id", ""), name)):
            record[name] = found[0] if len(found) == 1 and notes.shapes.get(name, LIST) == TEXT else found
    if "restricted" in notes.not_stated and not (record.get("release_to") or rest.get("release_to")):
        _keep_restricted(joins.releases, place, notes, notices)
    record |= {mark: rest[mark] for mark in MARKS if mark in rest and record.get(mark) == as_json(rest[mark])}
    return joined(record, rest, notes, place, notices)


def _keep_restricted(releases: Path, place: str, notes: Beside, notices: list[str]) -> None:
    """Leave a record restricted that is released to nobody any more: without its releases it would be open."""
    if not releases.is_file():
        raise InputError(f"{releases}: is missing, and {place}, is released by it; {_RESTORE}")
    notes.not_stated.remove("restricted")
    notices.append(f"{place}: {releases.name} names no party for it any more; it stays restricted")


def _policy(folder: Path, tables: dict[str, list[tuple[str, dict[str, Any]]]]) -> str | None:
    policies = {_cell(row, "policy_id", place): _cell(row, "policy_text", place) for place, row in tables["policies"]}
    named = [(place, row["policy_id"]) for place, row in tables["stores"] if row.get("policy_id") is not None]
    if len(tables["stores"]) > 1:
        raise InputError(f"{folder / 'stores.csv'}: holds {len(tables['stores'])} stores; a folder holds one")
    for place, policy_id in named:
        if policy_id not in policies:
            raise InputError(f"{place}: the policy {shown(policy_id)} is not in policies.csv; add it there, or name another")
    return policies[named[0][1]] if named else None


def _table(connection: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, dict[str, Any]]]:
    rows = raw_records(connection, StoreFile(str(path))) if path.is_file() else []
    return [(f"{path}, record {number}", row) for number, row in enumerate(rows, start=1)]


def _cell(row: dict[str, Any], column: str, place: str) -> str:
    if row.get(column) is None:
        raise InputError(f"{place}: {column} is empty; expected a text")
    return str(row[column])


def _record_of(row: dict[str, Any], known: Counter[Any], place: str) -> str:
    record_id = _cell(row, "record_id", place)
    if known[record_id] != 1:
        raise InputError(f"{place}: the record {shown(record_id)} is {'not' if not known[record_id] else 'more than once'} in {RECORDS}")
    return record_id


def _json(text: str, place: str) -> Any:
    try:
        return parse(text, unique_keys=True)
    except ValueError as error:
        raise InputError(f"{place}: is not JSON as `gmem convert` writes it") from error


def _fits(value: Any) -> bool:
    """Whether a cell holds the text so that every reader of columns gives it back: blank cells and `null` mean nothing there."""
    return isinstance(value, str) and bool(value.strip()) and value.lower() != "null" and not any(character in value for character in "\r\0")


def _says_nothing(mark: Any) -> bool:
    return mark is None or mark in ([], {}) or (isinstance(mark, str) and not mark.strip())


def _write(path: Path, header: tuple[str, ...], rows: Iterable[dict[str, Any]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
