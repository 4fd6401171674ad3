"""Whether every way to ask gives the answers that a fixture states, and exposes nothing that it forbids (rules G1 to G8).

A fixture holds cases: records with who wrote them, a caller, a question, and what must come of it. Each case becomes a store file and a host
file of its own, which each path is then asked through as its users ask.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from governed_memory.dates import day
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.configuration import INSIDE, OUTSIDE

PASS, FAIL, EXPOSED = "pass", "FAIL", "EXPOSED"
# Cases that are asked at a time.
AT_ONCE = 3
OUTCOMES = ("answered", "abstained", "refused", "empty")


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come of a case; a None is not looked at.

    Attributes:
        outcome: one of OUTCOMES.
        record_id: of the answer; None where there is none.
        conflict: the identifiers of the sides shown.
        reasons: codes that must be raised; others may be.
        withheld_records: how many are withheld.
        forbidden: texts that may occur nowhere.
    """

    outcome: str
    record_id: str | None
    conflict: frozenset[str] | None
    reasons: frozenset[str]
    withheld_records: int | None
    forbidden: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a fixture.

    Attributes:
        case_id: its name.
        concept, as_of, scope: the question.
        principal: who asks.
        parties: whose releases they may read: their audiences and themselves.
        boundary: 'inside' unless the fixture says otherwise.
        owners: {concept: party}.
        policy: the conflict policy; the project's own if None.
        records: each {record, written_by}.
        expected: what must come of it.
    """

    case_id: str
    concept: str
    as_of: str
    scope: tuple[str, ...]
    principal: str
    parties: tuple[str, ...]
    boundary: str
    owners: Mapping[str, str]
    policy: str | None
    records: Sequence[Mapping[str, Any]]
    expected: Expected

    def host_file(self) -> dict[str, Any]:
        """The host's configuration of this case."""
        said = {"callers": {self.principal: {"parties": list(self.parties), "boundary": self.boundary}}, "owners": dict(self.owners)}
        return said | ({"policy": self.policy} if self.policy else {})


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case as files.

    Attributes:
        case: it.
        store: the store file.
        host: the host file.
    """

    case: Case
    store: Path
    host: Path


@dataclass(frozen=True, slots=True)
class Told:
    """What a path gave.

    Attributes:
        answer: {outcome, answer, sides, reasons, withheld_records}, as `ask` gives it; None where the path gave none.
        everything: all it put out, the answer included: results, standard output and error.
        problem: why there is no answer.
    """

    answer: Mapping[str, Any] | None
    everything: str
    problem: str = "gave no answer"


@dataclass(frozen=True, slots=True)
class Result:
    """How a case went on a path.

    Attributes:
        status: PASS, FAIL or EXPOSED.
        problems: what differs, in words that repeat nothing of what was put out.
        exposed: how many forbidden texts occurred.
    """

    status: str
    problems: tuple[str, ...] = ()
    exposed: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """How a fixture went.

    Attributes:
        fixture: its name.
        results: {case: {path: result}}, in order.
        not_covered: {path: why}.
    """

    fixture: str
    results: Mapping[str, Mapping[str, Result]]
    not_covered: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        """Cases that pass on every path that was covered."""
        return sum(all(result.status == PASS for result in paths.values()) for paths in self.results.values())

    @property
    def exposed(self) -> int:
        """Forbidden texts that occurred, each once for every case and path."""
        return sum(result.exposed for paths in self.results.values() for result in paths.values())

    @property
    def is_met(self) -> bool:
        """Whether all pass and nothing was exposed."""
        return self.passed == len(self.results) and not self.exposed


def conformance(path: str, names: Sequence[str] = ()) -> Report:
    """Run a fixture.

    Args:
        path: the fixture.
        names: the paths to ask through; every one if empty.

    Raises:
        InputError: the fixture cannot be read or says something that is not understood, there is no such path, or none is covered.
    """
    from governed_memory.reads.conformance_paths import PATHS

    for name in names:
        if name not in PATHS:
            raise InputError(f"--path: {name!r} is no path; {did_you_mean(name, PATHS) or 'there are ' + ', '.join(PATHS)}")
    fixture, cases = read_fixture(path)
    chosen = {name: PATHS[name] for name in PATHS if not names or name in names}
    missing = {name: why for name, access in chosen.items() if (why := access.missing())}
    covered = {name: access for name, access in chosen.items() if name not in missing}
    if not covered:
        raise InputError(f"none of these paths is covered: {'; '.join(f'{name} ({why})' for name, why in missing.items())}")
    with tempfile.TemporaryDirectory() as folder:
        prepared = [_prepare(Path(folder) / str(number), case) for number, case in enumerate(cases)]
        # Most of the time a case waits for a process of its own.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            judged = pool.map(lambda item: {name: judge(item.case.expected, access.told(item)) for name, access in covered.items()}, prepared)
            results = {item.case.case_id: paths for item, paths in zip(prepared, judged, strict=True)}
    return Report(fixture, results, missing)


def judge(expected: Expected, told: Told) -> Result:
    """How what a path gave compares with what must come of the case."""
    exposed = sum(any(spelled in told.everything for spelled in _spellings(text)) for text in expected.forbidden)
    problems = tuple(_problems(expected, told))
    if exposed:
        return Result(EXPOSED, (f"{exposed} forbidden {'text occurs' if exposed == 1 else 'texts occur'}", *problems), exposed)
    return Result(FAIL if problems else PASS, problems)


def _spellings(text: str) -> set[str]:
    """A text as it is, and as JSON may have it."""
    return {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def _problems(expected: Expected, told: Told) -> Iterator[str]:
    answer = told.answer
    if answer is None:
        yield told.problem
        return
    if answer["outcome"] != expected.outcome:
        yield f"outcome {answer['outcome'] if answer['outcome'] in OUTCOMES else 'unknown'}, expected {expected.outcome}"
    given = answer["answer"] and answer["answer"]["record_id"]
    if given != expected.record_id:
        yield f"answered by {'no record' if given is None else 'another record'}, expected {expected.record_id or 'none'}"
    if expected.conflict is not None and {side["record_id"] for side in answer["sides"] or []} != expected.conflict:
        yield f"other sides, expected {', '.join(sorted(expected.conflict)) or 'none'}"
    lacking = sorted(expected.reasons.difference(answer["reasons"]))
    if lacking:
        yield f"does not say {', '.join(lacking)}"
    if expected.withheld_records is not None and answer["withheld_records"] != expected.withheld_records:
        yield f"another number of records withheld, expected {expected.withheld_records}"


def _prepare(folder: Path, case: Case) -> Prepared:
    folder.mkdir()
    prepared = Prepared(case, folder / "records.jsonl", folder / "host.yml")
    # The envelope of each line is the host's: it alone says who wrote a record (T8).
    lines = [json.dumps({"written_by": entry["written_by"], "record": entry["record"]}, ensure_ascii=False) for entry in case.records]
    prepared.store.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    # JSON is YAML too.
    prepared.host.write_text(json.dumps(case.host_file()), encoding="utf-8")
    return prepared


def read_fixture(path: str) -> tuple[str, list[Case]]:
    """The name and the cases of a fixture.

    Raises:
        InputError: it cannot be read or says something that is not understood; the message names the case.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 at byte {error.start}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON: {getattr(error, 'msg', 'it nests too deeply')}") from error
    whole = _Part(path, content)
    host = whole.part("host", {})
    cases = [_case(_Part(f"{path}: case {place}", entry), host) for place, entry in enumerate(whole.take("cases", list), start=1)]
    if not cases:
        raise InputError(f"{path}: has no cases")
    names = [case.case_id for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: two cases are called {name!r}")
    return whole.take("fixture", str, Path(path).stem), cases


_NEEDED = object()


class _Part:
    """An object of a fixture, whose entries are taken with what they have to be."""

    def __init__(self, where: str, content: Any) -> None:
        if not isinstance(content, dict):
            raise InputError(f"{where}: expected an object, got {_short(content)}")
        self.where, self.content = where, content

    def take(self, key: str, kind: type, default: Any = _NEEDED) -> Any:
        value = self.content.get(key)
        if value is None:
            if default is _NEEDED:
                raise InputError(f"{self.where}: has no {key!r}")
            return default
        # True is no number of records.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"{self.where}: {key} is {KINDS[kind]}, got {_short(value)}")
        return value

    def part(self, key: str, default: Any = _NEEDED) -> _Part:
        return _Part(f"{self.where}: {key}", self.take(key, dict, default))

    def names(self, key: str) -> list[str] | None:
        names: list[Any] | None = self.take(key, list, None)
        if names is not None and not all(isinstance(name, str) and name for name in names):
            raise InputError(f"{self.where}: {key} is a list of texts, got {_short(names)}")
        return names

    def one_of(self, key: str, known: Sequence[str], default: Any = _NEEDED) -> str:
        value: str = self.take(key, str, default)
        if value not in known:
            raise InputError(f"{self.where}: {key} is one of {', '.join(known)}, got {value!r}")
        return value


KINDS = {str: "a text", dict: "an object", list: "a list", int: "a whole number"}


def _short(value: Any) -> str:
    return repr(value)[:80]


def _case(part: _Part, host: _Part) -> Case:
    name = part.take("id", str)
    part.where = f"{part.where} ({name!r})"
    caller, records = part.part("caller"), part.take("records", list)
    principal = caller.take("principal", str)
    return Case(
        name,
        part.take("concept", str),
        day(f"{part.where}: as_of", part.take("as_of", str)),
        tuple(part.names("scope") or ()),
        principal,
        tuple(dict.fromkeys([*(caller.names("audiences") or []), principal])),
        caller.one_of("boundary", (INSIDE, OUTSIDE), INSIDE),
        _owners(host),
        part.take("host_policy", str, None) or host.take("policy", str, None),
        [_record(_Part(f"{part.where}: record {place}", entry)) for place, entry in enumerate(records, start=1)],
        _expected(part.part("expect")),
    )


def _owners(host: _Part) -> dict[str, str]:
    owners = host.part("owners", {})
    return {concept: owners.take(concept, str) for concept in owners.content}


def _record(part: _Part) -> dict[str, Any]:
    return {"written_by": part.take("written_by", str, None), "record": part.take("record", dict)}


def _expected(part: _Part) -> Expected:
    conflict = part.names("conflict")
    return Expected(
        part.one_of("outcome", OUTCOMES),
        part.take("record_id", str, None),
        None if conflict is None else frozenset(conflict),
        frozenset(part.names("reasons") or ()),
        part.take("withheld_records", int, None),
        tuple(part.names("forbidden") or ()),
    )
