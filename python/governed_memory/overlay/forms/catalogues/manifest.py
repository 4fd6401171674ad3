"""The manifest of a dbt project: what its descriptions say of models, sources, seeds, snapshots, metrics and exposures. It is only read.

The identifier is dbt's `unique_id`, in which a version of a model has a name of its own; the concept is the same without the version.
Roles are stated under `meta`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.catalogues.terms import owner, stated
from governed_memory.overlay.forms.json_file import expect
from governed_memory.overlay.forms.store import FormStore
from governed_memory.warehouse import ROLES
from governed_memory.warehouse.json_text import Number

# Since 9 there are groups and versions of models; what comes after 12 is not known here.
VERSIONS = range(9, 13)
SECTIONS = ("sources", "exposures", "metrics", "semantic_models", "saved_queries")
DESCRIBED = ("model", "seed", "snapshot")
OWNERS = ("owner", "owners")


def is_manifest(value: Any) -> bool:
    """Whether a JSON value looks like the manifest of a dbt project."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return metadata is not None and ("nodes" in value or (isinstance(metadata, dict) and "dbt_schema_version" in metadata))


def read(path: Path, manifest: dict[str, Any]) -> FormStore:
    """One record for each thing in the project that has a description.

    Raises:
        InputError: the manifest is of a version that is not known here, or a part of it has another shape.
    """
    _expect_version(path, manifest)
    groups = {_text(group, "name", place): group for place, group in _entries(manifest, "groups", path)}
    nodes = [(place, node) for place, node in _entries(manifest, "nodes", path) if node.get("resource_type") in DESCRIBED]
    others = [entry for section in SECTIONS if section in manifest for entry in _entries(manifest, section, path)]
    notices: list[str] = []
    read = [(node, record) for place, node in [*nodes, *others] if (record := _record(node, place, groups, notices)) is not None]
    for record, older in _replaced(read):
        record.setdefault("supersedes", older)
    return FormStore([record for _, record in read], notices=notices)


def _expect_version(path: Path, manifest: dict[str, Any]) -> None:
    metadata = expect(manifest["metadata"], dict, f"{path}: 'metadata'")
    version = metadata.get("dbt_schema_version")
    number = version.rpartition("/v")[2].removesuffix(".json") if isinstance(version, str) else ""
    if not (number.isdigit() and int(number) in VERSIONS):
        raise InputError(
            f"{path}: 'dbt_schema_version' is {shown(version)}; manifests of version 9 (dbt 1.5) to 12 are read, run `dbt parse` with one of these"
        )


def _entries(manifest: dict[str, Any], section: str, path: Path) -> list[tuple[str, dict[str, Any]]]:
    if section not in manifest:
        raise InputError(f"{path}: has no {section!r}; expected a whole manifest.json, as `dbt parse` writes it")
    entries = expect(manifest[section], dict, f"{path}: {section!r}")
    return [(f"{path}: {name}", expect(entry, dict, f"{path}: {name}")) for name, entry in entries.items()]


def _text(entry: dict[str, Any], key: str, place: str) -> str:
    if key not in entry:
        raise InputError(f"{place}: has no {key!r}; expected a whole manifest.json, as `dbt parse` writes it")
    text = str(expect(entry[key], str, f"{place}: {key!r}"))
    if not text:
        raise InputError(f"{place}: {key!r} is empty; expected a whole manifest.json, as `dbt parse` writes it")
    return text


def _record(node: dict[str, Any], place: str, groups: dict[str, dict[str, Any]], notices: list[str]) -> dict[str, Any] | None:
    config = expect(node.get("config") or {}, dict, f"{place}: 'config'")
    meta = {**expect(config.get("meta") or {}, dict, f"{place}: 'meta'"), **expect(node.get("meta") or {}, dict, f"{place}: 'meta'")}
    roles = {key: value for key, value in meta.items() if key in ROLES}
    description = expect(node.get("description") or "", str, f"{place}: 'description'")
    if not description.strip() and "value" not in roles:
        if roles:
            notices.append(f"{place}: states {', '.join(map(shown, roles))} but has no description, so nothing that could hold; it is left out")
        return None
    name = _text(node, "unique_id", place)
    party, role = _owned(node, config, meta, groups, place)
    derived = {
        "record_id": name,
        "concept": _concept(node, name),
        "value": description,
        # the deprecation of a model is the end that dbt has a place for
        "valid_to": node.get("deprecation_date"),
        "source": str(node.get("patch_path") or node.get("original_file_path") or "").rpartition("://")[2],
        "concept_owner": owner(party),
        "owner_role": role,
        "tags": node.get("tags"),
        "meta": {key: value for key, value in meta.items() if key not in ROLES and key not in OWNERS},
    }
    claimed = _parties(roles["concept_owner"], place) if "concept_owner" in roles else []
    several = owner([*claimed, *party])
    return {**stated(derived), **roles, **({"concept_owner": several} if claimed else {})}


def _concept(node: dict[str, Any], name: str) -> str:
    """The unique id without the version of a model."""
    version = node.get("version")
    return name if version is None else name.removesuffix(f".v{version}")


def _owned(node: dict[str, Any], config: dict[str, Any], meta: dict[str, Any], groups: dict[str, dict[str, Any]], place: str) -> tuple[list[str], str | None]:
    """Who owns a node, and the one there who answers: its group and the group's owner, else its own owner; with those that meta names."""
    named = [party for key in OWNERS if key in meta for party in _parties(meta[key], f"{place}: {key!r}")]
    group = node.get("group") or config.get("group")
    if group is not None:
        return [str(expect(group, str, f"{place}: 'group'")), *named], _contact(groups.get(group, {}).get("owner"))
    contact = _contact(node.get("owner"))
    return [*([contact] if contact else []), *named], None


def _contact(entry: Any) -> str | None:
    """The name of an owner, else where mail reaches them."""
    found = [entry.get(key) for key in ("name", "email")] if isinstance(entry, dict) else []
    return next((value for value in found if isinstance(value, str) and value), None)


def _parties(value: Any, place: str) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [_contact(entry) or str(expect(entry, str, f"{place}: an owner")) for entry in values]


def _replaced(read: list[tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each version of a model with the one before it, up to the latest: what comes after that one is announced and replaces nothing yet."""
    versions: dict[str, list[tuple[tuple[bool, float, str], dict[str, Any]]]] = {}
    for node, record in read:
        if node.get("version") is not None and _order(node["version"]) <= _order(node.get("latest_version", node["version"])):
            versions.setdefault(_concept(node, node["unique_id"]), []).append((_order(node["version"]), record))
    for listed in versions.values():
        listed.sort(key=lambda entry: entry[0])
        for (_, older), (_, newer) in pairwise(listed):
            yield newer, older["record_id"]


def _order(version: Any) -> tuple[bool, float, str]:
    """Numbers by size, before names by their letters, as dbt orders them."""
    text = version.text if isinstance(version, Number) else str(version)
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text
