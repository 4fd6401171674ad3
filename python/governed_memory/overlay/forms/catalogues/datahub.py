"""Business glossary of DataHub: YAML of version 1 with nodes and terms.

One of our terms is one record: `name` is its identifier, `description` the value. In a glossary of somebody else's the identifier is the
term's `id`, or else the path to it, `Finance.NetRevenue`. `custom_properties` are texts there: what is none stands in one of them, as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.beside import BESIDE, Beside, joined, opened
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
from governed_memory.overlay.forms.json_file import as_json, elements, expect, expect_shallow, names_in, write_text
from governed_memory.overlay.forms.store import FormStore
from governed_memory.overlay.forms.yaml_file import yaml_in, yaml_text
from governed_memory.warehouse.json_text import Number, parse

SHAPE = "expected a DataHub business glossary: version 1, and under 'terms' or 'nodes' what it holds"
KEPT = ("domain", "contains", "values", "related_terms", "knowledge_links", "term_source", "source_url")
# A node of ours that holds no statements says so under this property.
# Where a term names labels: inherited terms, and tags.
LABELLED = ("inherits", "tags")
GOVERNANCE, LABEL = "governance", "label"
# Properties of ours that hold JSON.
LISTED = ("does_not_apply_to", "supersedes")


@dataclass(frozen=True, slots=True)
class _Inherited:
    """What terms take from the nodes above them."""

    path: tuple[str, ...] = ()
    owners: Any = None
    source: str | None = None


def read(path: Path) -> FormStore:
    """The statements of a glossary.

    Raises:
        InputError: the file is no YAML or another version of a glossary, or a term lacks its name or description.
    """
    glossary = yaml_in(path)
    if not isinstance(glossary, dict) or not {"terms", "nodes"} & glossary.keys():
        what = f"a mapping with {', '.join(shown(key) for key in list(glossary)[:4])}" if isinstance(glossary, dict) else "no mapping"
        raise InputError(f"{path}: holds {what}; {SHAPE}")
    version = glossary.get("version")
    if str(version) != "1":
        raise InputError(f"{path}: 'version' is {shown(version)}; {SHAPE}")
    about: dict[str, Any] = {}
    notices: list[str] = []
    records = []
    labelled: dict[str, None] = {}
    for place, term, inherited in _terms(glossary, str(path), _Inherited(owners=glossary.get("owners"), source=glossary.get("source")), about):
        records.append(_record(term, place, inherited, labelled, notices))
    report_labels(labelled, "'inherits' or 'tags'", str(path), notices)
    expected = about.get(REQUIRED_TERMS)
    required = () if expected is None else names_in(_json(expected, f"{path}: {REQUIRED_TERMS!r}"), f"{path}: {REQUIRED_TERMS!r}")
    return FormStore(records, about.get("conflict_policy"), required, notices)


def write(store: FormStore, path: Path) -> None:
    """Write a glossary with one term for each record, and nodes for the labels that the terms name and for what is said of the glossary.

    Raises:
        InputError: a record cannot be written.
    """
    labels: dict[str, dict[str, None]] = {group: {} for group in LABELS.values()}
    terms = [_term(record, number, labels) for number, record in enumerate(store.records, start=1)]
    about = {} if store.conflict_policy is None else {"conflict_policy": store.conflict_policy}
    if store.expected_concepts:
        about[REQUIRED_TERMS] = as_json(list(store.expected_concepts))
    nodes = [_label_node(group, list(names)) for group, names in labels.items() if names]
    if about:
        nodes.append({"name": POLICY_NAME, "description": "How statements that disagree are settled.", "custom_properties": {BESIDE: GOVERNANCE, **about}})
    write_text(path, yaml_text({"version": Number("1"), "owners": {"groups": []}, **({"nodes": nodes} if nodes else {}), "terms": terms}))


def _term(record: dict[str, Any], number: int, labels: dict[str, dict[str, None]]) -> dict[str, Any]:
    rest, notes = dict(record), Beside()
    name, description = taken(rest, "record_id"), taken(rest, "value")
    notes.not_stated += [role for role, value in (("record_id", name), ("value", description)) if value is None]
    source, party, role = (taken(rest, role) for role in ("source", "concept_owner", "owner_role"))
    inherits = []
    for list_role, group in LABELS.items():
        names = taken_names(rest, list_role)
        labels[group] |= dict.fromkeys(names)
        inherits += [f"{group}.{label}" for label in names]
    lists = {"does_not_apply_to": taken_names(rest, "does_not_apply_to"), "supersedes": taken_predecessors(rest, notes)}
    properties = {role: as_json(names) for role, names in lists.items() if names}
    return {
        "name": name or f"statement-{number}",
        "description": description or "",
        **({"term_source": "EXTERNAL", "source_ref": source} if source else {}),
        **({"owners": {**({"type": role} if role else {}), **({"groups": [party]} if party else {})}} if party or role else {}),
        **({"inherits": inherits} if inherits else {}),
        "custom_properties": {**properties, **_texts(notes.bag(rest, LISTED))},
    }


def _texts(bag: dict[str, Any]) -> dict[str, str]:
    """A bag as texts: those of the record as they are, all else in one JSON text. That is always there: it tells our terms from others."""
    texts = {key: value for key, value in bag.items() if isinstance(value, str)}
    return {**texts, BESIDE: as_json({key: value for key, value in bag.items() if not isinstance(value, str)})}


def _label_node(group: str, names: list[str]) -> dict[str, Any]:
    terms = [{"name": name, "description": f"A label of statements: {group} {name}."} for name in names]
    return {"name": group, "description": "Labels of statements.", "custom_properties": {BESIDE: LABEL}, "terms": terms}


def _terms(node: dict[str, Any], place: str, inherited: _Inherited, about: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], _Inherited]]:
    """The terms of a node and of the nodes in it, each with its place and what it inherits; what is said of the glossary goes into `about`."""
    for where, inner in _listed(node, "nodes", place):
        properties = expect(inner.get("custom_properties") or {}, dict, f"{where}: 'custom_properties'")
        if properties.get(BESIDE) == GOVERNANCE:
            about.update({key: expect(value, str, f"{where}: {key!r}") for key, value in properties.items()})
        elif properties.get(BESIDE) != LABEL:
            owners = inner.get("owners", inherited.owners)
            yield from _terms(inner, where, _Inherited((*inherited.path, _name(inner, where)), owners, inherited.source), about)
    for where, term in _listed(node, "terms", place):
        yield where, term, inherited


def _listed(node: dict[str, Any], key: str, place: str) -> list[tuple[str, dict[str, Any]]]:
    listed = expect(node.get(key) or [], list, f"{place}: {key!r}")
    return [(where, expect(entry, dict, where)) for where, entry in elements(listed, f"{place}, {key}")]


def _name(entry: dict[str, Any], place: str) -> str:
    if "name" not in entry:
        raise InputError(f"{place}: has no 'name', but {', '.join(shown(key) for key in list(entry)[:4]) or 'nothing'}; {SHAPE}")
    return _text(entry["name"], f"{place}: 'name'")


def _text(value: Any, place: str) -> str:
    """A text, or what YAML would take for a number."""
    return value.text if isinstance(value, Number) else str(expect(value, str, place))


def _record(term: dict[str, Any], place: str, inherited: _Inherited, labelled: dict[str, None], notices: list[str]) -> dict[str, Any]:
    name = _name(term, place)
    if "description" not in term:
        raise InputError(f"{place}: the term {shown(name)} has no 'description'; {SHAPE}")
    properties = dict(expect(term.get("custom_properties") or {}, dict, f"{place}: 'custom_properties'"))
    is_ours = BESIDE in properties
    bag = expect(_json(properties.pop(BESIDE), f"{place}: {BESIDE!r}"), dict, f"{place}: {BESIDE!r}") if is_ours else {}
    rest, notes = opened(bag, place)
    lists: dict[str, Any] = {role: _names(properties.pop(role), f"{place}: {role!r}") for role in LISTED if isinstance(properties.get(role), str)}
    if "supersedes" in lists:
        lists["supersedes"] = predecessors(lists["supersedes"], notes)
    listed = {key: _strings(term, key, place) for key in LABELLED}
    named = [label for labels in listed.values() for label in labels]
    labels = {role: [label[len(group) + 1 :] for label in named if label.startswith(f"{group}.")] for role, group in LABELS.items()}
    owners, roles = _owners(term.get("owners", inherited.owners), f"{place}: 'owners'")
    source = term.get("source_ref") or term.get("source_url") or inherited.source
    record = stated({
        "concept_owner": owner(owners),
        "owner_role": ", ".join(roles),
        "source": None if source is None else _text(source, f"{place}: 'source_ref'"),
        **labels,
        **lists,
    })  # fmt: skip
    record["value"] = _text(term["description"], f"{place}: 'description'")
    if is_ours:
        record["record_id"] = name
    else:
        path = ".".join((*inherited.path, name))
        others = {key: [label for label in found if is_others(label)] for key, found in listed.items()}
        labelled.update(dict.fromkeys(label for found in others.values() for label in found))
        identifier = term.get("id") or path
        record |= {"record_id": _text(identifier, f"{place}: 'id'"), "concept": path, **kept(term, KEPT)}
        record |= stated(others)
    return joined(record, {**rest, **properties}, notes, place, notices)


def _owners(owners: Any, place: str) -> tuple[list[str], list[str]]:
    """The owners, and the kinds of ownership, in a list of owners of several kinds or in those of one kind."""
    kinds = owners if isinstance(owners, list) else [] if owners is None else [owners]
    names: list[str] = []
    roles: dict[str, None] = {}
    for where, kind in elements(kinds, place):
        expect(kind, dict, where)
        names += [name for key in ("users", "groups") for name in _strings(kind, key, where)]
        if kind.get("type") is not None:
            roles[_text(kind["type"], f"{where}: 'type'")] = None
    return names, list(roles)


def _strings(entry: dict[str, Any], key: str, place: str) -> list[str]:
    return [_text(value, where) for where, value in elements(expect(entry.get(key) or [], list, f"{place}: {key!r}"), f"{place}: {key!r}")]


def _names(text: str, place: str) -> list[str]:
    """A list in a property: JSON as this project writes it, or names with commas between them as a person does."""
    if text.startswith("["):
        return list(names_in(_json(text, place), place))
    return [name.strip() for name in text.split(",") if name.strip()]


def _json(text: Any, place: str) -> Any:
    try:
        value = parse(expect(text, str, place), unique_keys=True)
    except ValueError as error:
        raise InputError(f"{place}: is no JSON ({error})") from error
    expect_shallow(value, place)
    return value
