"""Glossary terms of OpenMetadata, as its API lists them: `{"data": [...]}`, an array, JSON Lines, one term, or version histories.

One of our terms is one record: `name` is its identifier, `displayName` the concept, `description` the value. A catalogue of somebody else's
has terms and versions of terms; there the identifier is the full name with the version, `Finance.NetRevenue@0.2`.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.beside import BESIDE, Beside, is_names, joined, opened
from governed_memory.overlay.forms.catalogues.terms import (
    LABELS,
    POLICY_NAME,
    REQUIRED_TERMS,
    is_others,
    kept,
    owner,
    predecessors,
    report_labels,
    stated,
    taken,
    taken_names,
    taken_predecessors,
)  # fmt: skip
from governed_memory.overlay.forms.json_file import Placed, as_json, elements, expect, expect_shallow, names_in, write_text
from governed_memory.overlay.forms.store import FormStore
from governed_memory.warehouse.json_text import Number, parse

SHAPE = 'expected glossary terms of OpenMetadata, {"data": [...]}, or a dbt manifest'
GLOSSARY = "governed_memory"
NAMESPACE = uuid.UUID("7b0d3c0e-2f55-4c0e-9f0a-6d1f3f6f2a11")
APPROVED = ("Approved", "Unprocessed")
KEPT = ("synonyms", "tags", "relatedTerms", "domains", "status", "entityStatus")


def read(path: Path, values: Placed) -> FormStore:
    """The statements of an export, given as the values of its file.

    Raises:
        InputError: it holds no terms, or a term lacks its name, description or glossary.
    """
    notices: list[str] = []
    records: list[dict[str, Any]] = []
    glossary: dict[str, Any] = {}
    labelled: dict[str, None] = {}
    for place, entry in _entries(path, values, glossary):
        if "versions" in entry:
            records += _history(entry, place, labelled, notices)
        elif (record := _record(entry, place, labelled, notices)) is not None:
            records.append(record)
    report_labels(labelled, "'tags'", str(path), notices)
    extension = expect(glossary.get("extension") or {}, dict, f"{path}: 'glossary', 'extension'")
    policy = extension.get("conflict_policy")
    if policy is not None:
        policy = expect(expect(policy, dict, f"{path}: 'conflict_policy'").get("description"), str, f"{path}: 'conflict_policy', 'description'")
    return FormStore(records, policy, names_in(extension.get(REQUIRED_TERMS) or [], f"{path}: {REQUIRED_TERMS!r}"), notices)


def write(store: FormStore, path: Path) -> None:
    """Write one object that lists a term for each record, and the glossary they belong to.

    Raises:
        InputError: a record cannot be written as JSON.
    """
    extension: dict[str, Any] = {}
    if store.conflict_policy is not None:
        extension["conflict_policy"] = _reference("page", POLICY_NAME) | {"description": store.conflict_policy}
    if store.expected_concepts:
        extension[REQUIRED_TERMS] = list(store.expected_concepts)
    glossary = {**_reference("glossary", GLOSSARY), "description": "Statements with their validity, owners, sources and releases.", "extension": extension}
    terms = ",\n".join(as_json(_term(record, number)) for number, record in enumerate(store.records, start=1))
    paging = as_json({"total": len(store.records)})
    write_text(path, f'{{"glossary": {as_json(glossary)},\n"data": [\n{terms}\n],\n"paging": {paging}}}\n')


def _term(record: dict[str, Any], number: int) -> dict[str, Any]:
    rest, notes = dict(record), Beside()
    name, description = taken(rest, "record_id"), taken(rest, "value")
    notes.not_stated += [role for role, value in (("record_id", name), ("value", description)) if value is None]
    concept, source, party, role = (taken(rest, role) for role in ("concept", "source", "concept_owner", "owner_role"))
    tags = [f"{group}.{_quoted(label)}" for list_role, group in LABELS.items() for label in taken_names(rest, list_role)]
    older = taken_predecessors(rest, notes)
    synonyms = taken_names(rest, "synonyms")
    named = name or f"statement-{number}"
    return {
        "id": str(uuid.uuid5(NAMESPACE, f"{number} {named}")),
        "name": named,
        **({"displayName": concept} if concept else {}),
        "fullyQualifiedName": f"{GLOSSARY}.{_quoted(named)}",
        "description": description or "",
        "glossary": _reference("glossary", GLOSSARY),
        "version": Number("0.2" if older else "0.1"),
        **({"changeDescription": {
            "previousVersion": Number("0.1"),
            "fieldsUpdated": [{"name": "name", "oldValue": old, "newValue": named} for old in older],
        }} if older else {}),
        **({"owners": [_reference("team", party)]} if party else {}),
        **({"reviewers": [_reference("team", role)]} if role else {}),
        **({"references": [{"name": source}]} if source else {}),
        **({"synonyms": synonyms} if synonyms else {}),
        **({"tags": [{"tagFQN": tag, "source": "Classification", "labelType": "Manual", "state": "Confirmed"} for tag in tags]} if tags else {}),
        # always there, so that our terms are told from those of others
        "extension": {BESIDE: {}, **notes.bag(rest)},
    }  # fmt: skip


def _reference(kind: str, name: str) -> dict[str, Any]:
    return {"id": str(uuid.uuid5(NAMESPACE, f"{kind} {name}")), "type": kind, "name": name}


def _quoted(name: str) -> str:
    # As in OpenMetadata: a dot parts the names of a full name.
    return '"' + name.replace('"', '\\"') + '"' if "." in name or '"' in name else name


def _unquoted(name: str) -> str:
    return name[1:-1].replace('\\"', '"') if len(name) > 1 and name[0] == name[-1] == '"' else name


def _entries(path: Path, values: Placed, glossary: dict[str, Any]) -> Placed:
    """The terms and histories of an export; what it says of the glossary goes into `glossary`."""
    found: Placed = []
    for place, value in values:
        if isinstance(value, dict) and "data" in value and "name" not in value:
            glossary.update(expect(value.get("glossary") or {}, dict, f"{place}: 'glossary'"))
            listed = elements(expect(value["data"], list, f"{place}: 'data'"), f"{place}, data")
        else:
            listed = elements(value, place) if isinstance(value, list) else [(place, value)]
        found += [(where, expect(entry, dict, where)) for where, entry in listed]
    if values and not isinstance(values[0][1], list) and found and not {"name", "versions"} & found[0][1].keys():
        raise InputError(f"{path}: holds an object with {_some(found[0][1])}; {SHAPE}")
    return found


def _some(entry: dict[str, Any]) -> str:
    return ", ".join(shown(key) for key in list(entry)[:4]) or "nothing in it"


def _record(term: dict[str, Any], place: str, labelled: dict[str, None], notices: list[str], version: str = "") -> dict[str, Any] | None:
    _expect_term(term, place)
    if term.get("deleted") is True:
        notices.append(f"{place}: the term {shown(term['name'])} is marked as deleted and left out")
        return None
    extension = expect(term.get("extension") or {}, dict, f"{place}: 'extension'")
    is_ours = BESIDE in extension
    rest, notes = opened(extension, place)
    tags = [expect(tag, dict, f"{place}: 'tags'").get("tagFQN") for tag in _list(term, "tags", place)]
    labels = {
        role: [_unquoted(tag[len(group) + 1 :]) for tag in tags if isinstance(tag, str) and tag.startswith(f"{group}.")] for role, group in LABELS.items()
    }
    record = stated({
        "concept_owner": owner(_named(term, "owners", place) + _named(term, "owner", place)),
        "owner_role": ", ".join(_named(term, "reviewers", place)),
        "source": owner(_sources(term, place)),
        **labels,
    })  # fmt: skip
    if is_ours:
        record |= {"record_id": term["name"], "value": term["description"], **stated({"concept": term.get("displayName"), **kept(term, ("synonyms",))})}
        older = [change.get("oldValue") for change in _changes(term, place)]
        record |= {"supersedes": predecessors(older, notes)} if is_names(older) else {}
    else:
        record |= _somebody_elses(term, place, [tag for tag in tags if isinstance(tag, str)], labelled, notices)
    return joined(record, rest, notes, place, notices)


def _somebody_elses(term: dict[str, Any], place: str, tags: list[str], labelled: dict[str, None], notices: list[str]) -> dict[str, Any]:
    """What a term says that this project did not write: it is about itself."""
    named = term.get("fullyQualifiedName") or f"{_name(term['glossary'], place)}.{_quoted(term['name'])}"
    name = expect(named, str, f"{place}: 'fullyQualifiedName'")
    others = [tag for tag in tags if is_others(tag)]
    labelled.update(dict.fromkeys(others))
    status = term.get("status", term.get("entityStatus"))
    if isinstance(status, str) and status not in APPROVED:
        notices.append(f"{place}: the term {shown(name)} has the status {shown(status)}; it is read like any other")
    return stated({
        "record_id": name if term.get("version") is None else f"{name}@{_version(term['version'], place)}",
        "concept": name,
        "value": term["description"],
        "recorded_at": _instant(term.get("updatedAt"), place),
        **kept(term, KEPT),
        "tags": others,
    })  # fmt: skip


def _version(version: Any, place: str) -> str:
    return version.text if isinstance(version, Number) else str(expect(version, str, f"{place}: 'version'"))


def _history(history: dict[str, Any], place: str, labelled: dict[str, None], notices: list[str]) -> list[dict[str, Any]]:
    """The versions of one term, the oldest first; each supersedes the one before it."""
    terms: list[tuple[str, dict[str, Any]]] = []
    for where, version in elements(expect(history["versions"], list, f"{place}: 'versions'"), f"{place}, versions"):
        term = expect(_parsed(version, where), dict, where)
        _expect_term(term, where)
        if not isinstance(term.get("version"), Number):
            raise InputError(f"{where}: has no 'version'; in a history every term states a number")
        terms.append((where, term))
    terms.sort(key=lambda item: float(item[1]["version"].text))
    records = [record for where, term in terms if (record := _record(term, where, labelled, notices)) is not None]
    for older, newer in pairwise(records):
        if newer["record_id"] == older["record_id"]:
            notices.append(f"{place}: two versions are called {shown(newer['record_id'])}; both are read")
        else:
            newer.setdefault("supersedes", older["record_id"])
    return records


def _parsed(version: Any, place: str) -> Any:
    """A version as it stands in a history: an object, or its text."""
    if not isinstance(version, str):
        return version
    try:
        term = parse(version, unique_keys=True)
    except ValueError as error:
        raise InputError(f"{place}: is a text that is no JSON object; expected a term") from error
    expect_shallow(term, place)
    return term


def _expect_term(term: dict[str, Any], place: str) -> None:
    for key, kind in (("name", str), ("description", str), ("glossary", dict)):
        if key not in term:
            raise InputError(f"{place}: has no {key!r}, but {_some(term)}; {SHAPE}")
        expect(term[key], kind, f"{place}: {key!r}")


def _list(term: dict[str, Any], key: str, place: str) -> list[Any]:
    value = term.get(key)
    if value is None:
        return []
    return [value] if isinstance(value, dict) else list(expect(value, list, f"{place}: {key!r}"))


def _name(reference: Any, place: str) -> str:
    entry = expect(reference, dict, place)
    return str(expect(entry.get("name") or entry.get("fullyQualifiedName") or entry.get("id"), str, f"{place}: a reference without a name"))


def _named(term: dict[str, Any], key: str, place: str) -> list[str]:
    return [_name(reference, f"{place}: {key!r}") for reference in _list(term, key, place)]


def _sources(term: dict[str, Any], place: str) -> list[str]:
    found = [expect(entry, dict, f"{place}: 'references'") for entry in _list(term, "references", place)]
    return [str(name) for entry in found if (name := entry.get("name") or entry.get("endpoint"))]


def _changes(term: dict[str, Any], place: str) -> list[dict[str, Any]]:
    description = expect(term.get("changeDescription") or {}, dict, f"{place}: 'changeDescription'")
    changes = [expect(change, dict, f"{place}: 'fieldsUpdated'") for change in _list(description, "fieldsUpdated", place)]
    return [change for change in changes if change.get("name") == "name"]


def _instant(milliseconds: Any, place: str) -> str | None:
    """An epoch time in milliseconds as a timestamp in UTC."""
    if milliseconds is None:
        return None
    try:
        count = int(expect(milliseconds, Number, f"{place}: 'updatedAt'").text)
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=count)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except (ValueError, OverflowError) as error:
        raise InputError(f"{place}: 'updatedAt' is no time in milliseconds, got {shown(milliseconds)}") from error
