"""Vercy dimension: one document that states the conflict policy and lists its records, as YAML or JSON (rule F1).

A record's fields stand under their own names, its identifier under `id`. The specification has no place for expected concepts yet: they
stand under `extensions`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.beside import Beside, joined, opened
from governed_memory.overlay.forms.json_file import as_json, elements, expect, expect_ending, names_in, text_of, values_in, write_text
from governed_memory.overlay.forms.store import FormStore
from governed_memory.overlay.forms.yaml_file import yaml_in, yaml_text

YAML = (".yaml", ".yml")
EXPECTED = "expected_concepts"


def read(path: Path) -> FormStore:
    """The store in a dimension.

    Raises:
        InputError: the file is no YAML or JSON, or lacks its list of records.
    """
    dimension = expect(_document(path), dict, str(path))
    if "records" not in dimension:
        raise InputError(f"{path}: has no 'records'; expected a dimension: conflict_policy, and records, each with id, valid_from, valid_to and so on")
    notices: list[str] = []
    records = []
    for place, entry in elements(expect(dimension["records"], list, f"{path}: 'records'"), f"{path}, records"):
        rest, notes = opened(expect(entry, dict, place), place)
        record = {"record_id": rest.pop("id")} if "id" in rest else {}
        records.append(joined(record, rest, notes, place, notices))
    extensions = expect(dimension.get("extensions") or {}, dict, f"{path}: 'extensions'")
    policy = dimension.get("conflict_policy")
    expected = names_in(extensions.get(EXPECTED) or [], f"{path}: {EXPECTED!r}")
    others = [*(key for key in dimension if key not in ("conflict_policy", "records", "extensions")), *(key for key in extensions if key != EXPECTED)]
    notices += [f"{path}: {shown(key)} says nothing about records and is left out" for key in others]
    return FormStore(records, None if policy is None else expect(policy, str, f"{path}: 'conflict_policy'"), expected, notices)


def write(store: FormStore, path: Path) -> None:
    """Write a dimension, as YAML where the name ends so, else as JSON.

    Raises:
        InputError: the name has another ending, or a record cannot be written.
    """
    expect_ending(path, (*YAML, ".json"))
    policy = {} if store.conflict_policy is None else {"conflict_policy": store.conflict_policy}
    extensions = {"extensions": {EXPECTED: list(store.expected_concepts)}} if store.expected_concepts else {}
    records = [_entry(record) for record in store.records]
    if path.suffix.lower() in YAML:
        return write_text(path, yaml_text({**policy, **extensions, "records": records}))
    head = "".join(f"{json.dumps(key)}: {as_json(value)},\n" for key, value in {**policy, **extensions}.items())
    listed = ",\n".join(map(as_json, records))
    return write_text(path, f'{{{head}"records": [\n{listed}\n]}}\n')


def _document(path: Path) -> Any:
    if path.suffix.lower() in YAML:
        return yaml_in(path)
    values = values_in(path)
    if len(values) != 1:
        what = "nothing" if not text_of(path).strip() else f"{len(values)} values"
        raise InputError(f"{path}: holds {what}; expected one dimension")
    return values[0][1]


def _entry(record: dict[str, Any]) -> dict[str, Any]:
    rest, notes = dict(record), Beside()
    entry = {"id": rest.pop("record_id")} if "record_id" in rest else {}
    return {**entry, **notes.bag(rest, ("id",))}
