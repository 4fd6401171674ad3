"""What only the host may say (rule G8): who the callers are, who owns which concept, which policy decides, and where keys are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from governed_memory.dates import day, instant
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.keys import Keys, public_keys, read_keys
from governed_memory.warehouse import rows_as_sql
from governed_memory.warehouse.register_file import CRITERIA

INSIDE, OUTSIDE = "inside", "outside"
REFERENCE_POLICY = "owner-then-latest"
# What each part of the file may hold: {key: whether it must be there}.
SECTIONS = {"callers", "owners", "policy", "policies", "concepts", "sources", "keys", "heads"}
# Kinds of jobs, and which of them a caller may submit whose entry says nothing: what they could read anyway.
JOBS, USUAL_JOBS = ("packets", "bridge", "snapshot"), ("packets",)
OWNER = {"concept": True, "party": False, "valid_from": False, "recorded_at": False, "store": False}
SOURCE = {"source": True, "rank": True, "store": False}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        name: as the host knows them.
        parties: the parties whose releases they may read, as release_to spells them.
        boundary: 'inside' or 'outside'; outside it only what names one of the parties is visible (G5).
        reads_all_sessions: whether they may read memory across sessions (M5).
        role: in which they approve what memory learns (M7); None if they do not.
        jobs: the kinds of jobs they may submit to a server (M13).
    """

    name: str
    parties: tuple[str, ...] = ()
    boundary: str = OUTSIDE
    reads_all_sessions: bool = False
    role: str | None = None
    jobs: tuple[str, ...] = USUAL_JOBS


@dataclass(frozen=True, slots=True)
class Host:
    """A host's configuration, as read from its file.

    Attributes:
        callers: {name: caller}.
        registers: {staging model: rows} that stand in place of a project's registers where a store file is read.
        policy: the conflict policy of a store file.
        keys: what attestations are signed and verified with (G9); None where the file has no such section.
        heads: a file of the host's own that notes the newest head of each store.
        tokens: {caller: (where its bearer token is: 'env' or 'file', name)}.
        approvers: the callers' own public keys, by their names, to verify what they approve (M7).
        place: the file, for messages.
    """

    callers: Mapping[str, Caller] = field(default_factory=dict)
    registers: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    policy: str | None = None
    keys: Keys | None = None
    heads: Path | None = None
    tokens: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    place: str = "no host file"
    approvers: Keys | None = None

    def caller(self, name: str) -> Caller:
        """The caller of that name.

        Raises:
            InputError: the file names no such caller.
        """
        if name not in self.callers:
            hint = did_you_mean(name, self.callers) or f"it knows {', '.join(sorted(self.callers)) or 'none'}"
            raise InputError(f"{self.place}: no caller is called {name!r}; {hint}")
        return self.callers[name]

    def given(self) -> dict[str, str]:
        """The registers as {staging model: SQL}, for `warehouse.build`."""
        return {model: rows_as_sql(model, rows) for model, rows in self.registers.items()}


def read_host(path: str | None) -> Host | None:
    """The configuration in a file, or in the one that GMEM_HOST names; None where there is neither.

    Raises:
        InputError: it cannot be read, or says something that is not understood.
    """
    path = (os.environ.get("GMEM_HOST") or None) if path is None else path
    if path is None:
        return None
    if not Path(path).is_file():
        raise InputError(f"{path!r} is no file; a host file is YAML, see docs/governed_read.md")
    try:
        content = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_Loader)
    except RecursionError as error:
        raise InputError(f"{path}: is nested too deep to be a host file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        raise InputError(f"{path}{where}: is not YAML: {getattr(error, 'problem', None) or 'it cannot be parsed'}") from error
    return _host(path, content)


class _Loader(yaml.SafeLoader):
    """YAML in which a key stands once and a date stays the text that it is written as, to be judged like every other date."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that is there twice: the second would silently decide."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands there twice", node.value[place][0].start_mark)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _as_written(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


for _tag in ("timestamp", "int", "float"):
    # numbers too: an identifier such as 0012 is a name, and a whole number is made of a rank alone
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _as_written)


def _host(path: str, content: Any) -> Host:
    sections = _mapping(path, "the file", content or {})
    for name in sections:
        if name not in SECTIONS:
            raise InputError(f"{path}: {name!r} is no part of a host file; {did_you_mean(str(name), SECTIONS) or 'expected ' + ', '.join(sorted(SECTIONS))}")
    callers, tokens, public_files = {}, {}, {}
    for name, entry in _mapping(path, "callers", sections.get("callers") or {}).items():
        callers[str(name)], token = _caller(path, str(name), entry)
        if token:
            tokens[str(name)] = token
        if entry and "public_file" in entry:
            public_files[str(name)] = entry["public_file"]
    registers = {}
    if "owners" in sections:
        registers["stg_concept_ownerships"] = [_owner(path, place, entry) for place, entry in _entries(path, "owners", sections["owners"], "concept", "party")]
    if "sources" in sections:
        registers["stg_sources"] = [_source(path, place, entry) for place, entry in _entries(path, "sources", sections["sources"], "source", "rank")]
    if "concepts" in sections:
        registers["stg_concepts"] = [_cardinality(path, *entry) for entry in _mapping(path, "concepts", sections["concepts"] or {}).items()]
    if "policies" in sections:
        policies = _mapping(path, "policies", sections["policies"] or {})
        registers["stg_policy_criteria"] = [row for name, criteria in policies.items() for row in _criteria(path, str(name), criteria)]
    policy = sections.get("policy")
    if policy is not None:
        expect_policy(f"{path}: policy", policy, sections.get("policies") or {})
    keys = read_keys(path, _mapping(path, "keys", sections["keys"])) if sections.get("keys") else None
    heads = sections.get("heads")
    if heads is not None and not (isinstance(heads, str) and heads):
        raise InputError(f"{path}: heads names a file, got {heads!r}")
    return Host(callers, registers, policy, keys, Path(path).parent / heads if heads else None, tokens, path, public_keys(path, public_files))


def expect_policy(where: str, policy: Any, policies: Mapping[Any, Any]) -> None:
    """InputError where a name is none of the policies, no criterion and not the reference policy: it would decide nothing."""
    known = {*map(str, policies), *CRITERIA, REFERENCE_POLICY}
    if policy not in known:
        raise InputError(f"{where}: there is no conflict policy {policy!r}; {did_you_mean(str(policy), known) or 'expected ' + ', '.join(sorted(known))}")


def _caller(path: str, name: str, entry: Any) -> tuple[Caller, tuple[str, str] | None]:
    where = f"caller {name!r}"
    entry = _mapping(path, where, entry or {})
    _expect_keys(path, where, entry, {"parties", "boundary", "token", "reads_all_sessions", "role", "public_file", "jobs"})
    boundary = entry.get("boundary", OUTSIDE)
    if boundary not in (INSIDE, OUTSIDE):
        raise InputError(f"{path}: {where}: boundary is {INSIDE} or {OUTSIDE}, got {boundary!r}")
    reads_all = entry.get("reads_all_sessions", False)
    if not isinstance(reads_all, bool):
        raise InputError(f"{path}: {where}: reads_all_sessions is true or false, got {reads_all!r}")
    for word in ("role", "public_file"):
        if word in entry and not (isinstance(entry[word], str) and entry[word].strip()):
            raise InputError(f"{path}: {where}: {word} is a text, got {entry[word]!r}")
    jobs = _names(path, f"jobs of {where}", entry["jobs"]) if "jobs" in entry else USUAL_JOBS
    for job in jobs:
        if job not in JOBS:
            raise InputError(f"{path}: {where}: {job!r} is no kind of job; {did_you_mean(job, JOBS) or 'there are ' + ', '.join(JOBS)}")
    token = None
    if "token" in entry:
        given = entry["token"]
        # What stands there is not repeated: it may be the token itself.
        [(kind, value)] = given.items() if isinstance(given, dict) and len(given) == 1 else [(None, None)]
        if kind not in ("env", "file") or not isinstance(value, str):
            raise InputError(f"{path}: the token of {where} is given as {{env: NAME}} or {{file: PATH}}, never in this file itself")
        token = (kind, value)
    return Caller(name, _names(path, f"parties of {where}", entry.get("parties") or []), boundary, reads_all, entry.get("role"), jobs), token


def _owner(path: str, place: str, entry: dict[str, Any]) -> dict[str, Any]:
    _expect_keys(path, place, entry, set(OWNER), required="concept")
    for key in ("party", "store"):
        _expect_text(path, place, entry, key)
    valid_from, recorded_at = entry.get("valid_from"), entry.get("recorded_at")
    return {
        "store_id": entry.get("store"),
        "concept_id": entry["concept"],
        "party_id": entry.get("party"),
        "valid_from": None if valid_from is None else day(f"{path}: {place}: valid_from", valid_from),
        "recorded_at": None if recorded_at is None else instant(f"{path}: {place}: recorded_at", recorded_at),
    }


def _source(path: str, place: str, entry: dict[str, Any]) -> dict[str, Any]:
    _expect_keys(path, place, entry, set(SOURCE), required="source")
    _expect_text(path, place, entry, "store")
    rank = entry.get("rank")
    if not (isinstance(rank, str) and rank.isascii() and rank.isdigit() and len(rank) < 10 and int(rank)):
        raise InputError(f"{path}: {place}: rank is a whole number, 1 the most trusted, got {rank!r}")
    return {"store_id": entry.get("store"), "source_id": entry["source"], "source_rank": int(rank)}


def _expect_text(path: str, place: str, entry: dict[str, Any], key: str) -> None:
    if entry.get(key) is not None and not isinstance(entry[key], str):
        raise InputError(f"{path}: {place}: {key} is a text, got {entry[key]!r}")


def _cardinality(path: str, concept: Any, cardinality: Any) -> dict[str, Any]:
    if cardinality not in ("one", "several"):
        raise InputError(f"{path}: concept {concept!r} has one answer or several, got {cardinality!r}")
    return {"concept_id": str(concept), "cardinality": cardinality}


def _criteria(path: str, name: str, criteria: Any) -> list[dict[str, Any]]:
    words = _names(path, f"policy {name!r}", criteria)
    for word in words:
        if word not in CRITERIA:
            raise InputError(f"{path}: policy {name!r}: {word!r} is no criterion; {did_you_mean(word, CRITERIA) or 'expected ' + ', '.join(CRITERIA)}")
    return [{"policy_id": name, "position": place, "criterion": word} for place, word in enumerate(words, start=1)]


def _entries(path: str, section: str, content: Any, key: str, value: str) -> list[tuple[str, dict[str, Any]]]:
    """A list of entries; or {key: value}, the short form of those that say nothing else."""
    if isinstance(content, dict):
        content = [{key: name, value: given} for name, given in content.items()]
    if not isinstance(content, list):
        raise InputError(f"{path}: {section} is a list of entries or {{{key}: {value}}}, got {content!r}")
    return [(f"{section} entry {place}", _mapping(path, f"{section} entry {place}", entry)) for place, entry in enumerate(content, start=1)]


def _mapping(path: str, what: str, content: Any) -> dict[Any, Any]:
    if not isinstance(content, dict):
        # What stands there is not repeated: it may be a key or a token.
        raise InputError(f"{path}: {what} is a mapping, got a {'list' if isinstance(content, list) else 'text'}")
    return content


def _expect_keys(path: str, where: str, entry: dict[Any, Any], known: set[str], required: str | None = None) -> None:
    for key in entry:
        if key not in known:
            raise InputError(f"{path}: {where}: {key!r} is not understood; {did_you_mean(str(key), known) or 'expected ' + ', '.join(sorted(known))}")
    if required is not None and not isinstance(entry.get(required), str):
        raise InputError(f"{path}: {where}: {required} is a text, got {entry.get(required)!r}")


def _names(path: str, what: str, content: Any) -> tuple[str, ...]:
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise InputError(f"{path}: {what}: expected a list of names, got {content!r}")
    return tuple(content)
