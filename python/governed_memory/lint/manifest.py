"""A dbt manifest as the lint sees it: relations with their columns and marks, and what reads them.

Marks are `meta` in the project's own yml. `restricted: true` on a column (or on a whole model, source or seed) says that it may hold what
not everybody may see; `governed_read: true` on a model, source or column says that what it hands out has passed the release rules (G5, G7)
or tells nothing of what it is made from; `lineage_origin: true` on a model says that it reads what is outside of the warehouse, so that its
own columns are marked and nothing before them is looked at. `may_read_restricted: REASON` on an exposure says that whoever is behind it may see all, and why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown

# dbt 1.7 to 1.11 write these two.
VERSIONS = ("v11", "v12")
SNAPSHOT_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")


@dataclass(frozen=True, slots=True)
class Relation:
    """A model, snapshot, seed or source.

    Attributes:
        uid: dbt's unique id.
        kind: model, snapshot, seed or source.
        written: how SQL names it: the parts of its name, or the whole call that reads a file.
        columns: those that the catalogue or else the yml names; empty where neither does.
        restricted: the columns marked so; `every` where the whole relation is.
        governed: the columns that are governed reads; `is_governed` where the whole relation is.
        is_origin: whether nothing before it is looked at.
        sql: the compiled query, or queries; None where there is none.
        parameters: of a table function, in lower case.
        missing: why there is no query to read, where there should be one.
    """

    uid: str
    kind: str
    written: tuple[str, ...]
    columns: tuple[str, ...]
    restricted: frozenset[str]
    every: bool
    governed: frozenset[str]
    is_governed: bool
    is_origin: bool
    is_public: bool
    reads: tuple[str, ...]
    sql: str | None = None
    parameters: frozenset[str] = frozenset()
    missing: str = ""

    def is_restricted(self, column: str) -> bool:
        """Whether this column is marked."""
        return self.every or column in self.restricted


@dataclass(frozen=True, slots=True)
class Exposure:
    """Something outside of the project that reads from it; `reads` are relations, through metrics and saved queries too."""

    uid: str
    reads: tuple[str, ...]
    may_read_restricted: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """What one manifest holds; `dialect` is that of its SQL."""

    dialect: str
    relations: Mapping[str, Relation] = field(default_factory=dict)
    exposures: tuple[Exposure, ...] = ()


def read_project(manifest: Path, catalog: Path | None) -> Project:
    """Read `target/manifest.json`, and the catalogue where there is one.

    Raises:
        InputError: a file is missing, cut off, of another version, or no such file at all.
    """
    told = _read(manifest, "manifest", "run `dbt compile`, which writes it")
    columns = {} if catalog is None else _catalog_columns(_read(catalog, "catalog", "run `dbt docs generate`, which writes it"), catalog)
    try:
        return _project(told, columns)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{manifest} is not laid out as dbt writes it ({type(error).__name__}: {error}); run `dbt compile` again") from None


def _read(path: Path, what: str, remedy: str) -> dict[str, Any]:
    try:
        told: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no {what} {shown(str(path))}; {remedy}") from None
    except OSError as error:
        raise InputError(f"{shown(str(path))} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8, so no {what}; {remedy}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply for a {what}; {remedy}") from None
    except ValueError as error:
        place = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "a number"
        raise InputError(f"{path} is cut off or no JSON ({place}); {remedy}") from None
    version = told.get("metadata", {}).get("dbt_schema_version", "") if isinstance(told, dict) and isinstance(told.get("metadata"), dict) else ""
    found = re.search(rf"/dbt/{what}/(v\d+)\.json$", version) if isinstance(version, str) else None
    if found is None:
        raise InputError(f"{path} does not say that it is a dbt {what} (metadata.dbt_schema_version is {shown(version)}); {remedy}")
    if what == "manifest" and found[1] not in VERSIONS:
        raise InputError(f"{path} is a dbt manifest {found[1]}; this reads {' and '.join(VERSIONS)}, which dbt 1.7 and later write")
    manifest: dict[str, Any] = told
    return manifest


def _catalog_columns(catalog: dict[str, Any], path: Path) -> dict[str, tuple[str, ...]]:
    try:
        entries = {**catalog["nodes"], **catalog["sources"]}
        return {uid: tuple(column.lower() for column in entry["columns"]) for uid, entry in entries.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not laid out as dbt writes it ({type(error).__name__}: {error}); run `dbt docs generate` again") from None


def _project(told: dict[str, Any], catalog: Mapping[str, tuple[str, ...]]) -> Project:
    relations = {
        uid: _relation(uid, node, catalog.get(uid))
        for uid, node in {**told["nodes"], **told["sources"]}.items()
        if node["resource_type"] in ("model", "snapshot", "seed", "source")
    }
    # What stands between an exposure and the models: metrics, semantic models, saved queries.
    between = {uid: _reads(uid, node) for kind in ("metrics", "semantic_models", "saved_queries") for uid, node in told.get(kind, {}).items()}
    exposures = []
    for uid, node in sorted(told["exposures"].items()):
        reached = list(_reached(_reads(uid, node), between))
        exposures.append(Exposure(
            uid,
            tuple(name for name in reached if name in relations),
            str(_meta(node).get("may_read_restricted") or ""),
            tuple(name for name in reached if name not in relations),
        ))  # fmt: skip
    return Project(str(told["metadata"].get("adapter_type") or "duckdb"), relations, tuple(exposures))


def _reads(uid: str, node: dict[str, Any]) -> tuple[str, ...]:
    """The names of what a node depends on."""
    names = (node.get("depends_on") or {}).get("nodes") or ()
    if not (isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)):
        raise TypeError(f"depends_on.nodes of {uid} holds something else than names")
    return tuple(names)


def _reached(names: Sequence[str], between: Mapping[str, Sequence[str]]) -> Iterator[str]:
    seen: set[str] = set()
    waiting = list(reversed(names))
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in between:
            waiting += between[name]
        else:
            yield name


def _relation(uid: str, node: dict[str, Any], catalog: tuple[str, ...] | None) -> Relation:
    kind = node["resource_type"]
    config = node.get("config") or {}
    stated = {name.lower(): column for name, column in node["columns"].items()}
    restricted = frozenset(name for name, column in stated.items() if _is_set(_meta(column).get("restricted")))
    columns = catalog or tuple(stated)
    parameters = config.get("overloads") or config.get("parameters") or []
    sql, missing = _query(node) if kind in ("model", "snapshot") else (None, "")
    return Relation(
        uid=uid,
        kind=kind,
        written=_written(uid, node),
        columns=columns,
        restricted=restricted,
        every=_is_set(_meta(node).get("restricted")),
        governed=frozenset(name for name, column in stated.items() if _meta(column).get("governed_read") is True),
        is_origin=_meta(node).get("lineage_origin") is True,
        is_governed=_meta(node).get("governed_read") is True,
        is_public=kind == "model" and (config.get("access") or node.get("access")) == "public",
        reads=_reads(uid, node),
        sql=sql,
        parameters=frozenset(_names([parameters] if isinstance(parameters, str) else parameters)),
        missing=missing,
    )


def _query(node: dict[str, Any]) -> tuple[str | None, str]:
    if node.get("language", "sql") != "sql":
        return None, f"it is written in {node['language']}, which cannot be followed"
    if not node.get("compiled_code"):
        return None, "its SQL is not in the manifest: run `dbt compile` without a selection"
    return node["compiled_code"], ""


def _names(parameters: list[str]) -> Iterator[str]:
    """`scope := null` and `a, b` as their names."""
    for text in parameters:
        yield from (part.partition(":=")[0].strip().lower() for part in str(text).split(","))


def _written(uid: str, node: dict[str, Any]) -> tuple[str, ...]:
    if node["resource_type"] == "source":
        named = node.get("relation_name") or ""
        if not isinstance(named, str):
            raise TypeError(f"relation_name of {uid} is no text")
        parts = (node.get("database"), node.get("schema"), node.get("identifier"))
        if named and str(node.get("identifier")) not in named:
            return (named,)  # a file, or a call that reads one
        if named.startswith("'") or "(" in named:
            return (named,)
    else:
        if (node.get("config") or {}).get("materialized") == "ephemeral":
            return (f"__dbt__cte__{node['name']}",)
        parts = (node.get("database"), node.get("schema"), node.get("alias") or node["name"])
    return tuple(part.lower() for part in parts if part)


def _meta(entry: dict[str, Any]) -> dict[str, Any]:
    """The meta of a node or column, which dbt writes in one of two places."""
    return {**(entry.get("meta") or {}), **((entry.get("config") or {}).get("meta") or {})}


def _is_set(mark: object) -> bool:
    """A mark counts unless it plainly says no: an unclear one restricts."""
    return mark is not None and mark is not False
