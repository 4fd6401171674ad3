"""What became of tests, as the reports of pytest (JUnit XML) and dbt (run_results.json) tell it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from governed_memory.errors import InputError, shown
from governed_memory.warehouse.durable import write_whole

# Commands of dbt that make or test what they name; others, such as compile, only say that they could.
RUNNING = ("build", "run", "test", "seed", "snapshot", "retry")
DBT_PASSED = ("success", "pass")
DBT_SKIPPED = ("skipped", "no-op")


@dataclass(frozen=True, slots=True, order=True)
class Outcome:
    """What became of one test: a row of stg_test_outcomes."""

    suite: str
    file: str
    test_name: str
    outcome: str


def read_junit(path: Path) -> list[Outcome]:
    """The tests of a JUnit report, as `pytest --junitxml` writes it.

    Raises:
        InputError: there is no such file, or it is none.
    """
    data = _read(path, "--junit", "`pytest --junitxml=FILE`")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"--junit: {str(path)!r} is no XML: {error}; expected what `pytest --junitxml=FILE` writes when it ends") from None
    if root.tag not in ("testsuites", "testsuite"):
        raise InputError(
            f"--junit: {str(path)!r} is no report of tests: its root is {shown(root.tag)}; expected 'testsuites', as `pytest --junitxml=FILE` writes it"
        )
    return [_of_case(case) for case in root.iter("testcase")]


def _of_case(case: ElementTree.Element) -> Outcome:
    """A module that was not collected has no class: its own name stands where a test's would."""
    module, name = case.get("classname", ""), case.get("name", "")
    if not module:
        module, name = name, "(the whole file)"
    parts = module.split(".")
    place = next((place for place, part in enumerate(parts) if part.startswith("test_")), len(parts) - 1)
    inner = [*parts[place + 1 :], name]
    held = {child.tag for child in case}
    outcome = "failed" if held & {"failure", "error"} else "skipped" if "skipped" in held else "passed"
    return Outcome("pytest", f"{parts[place]}.py", "::".join(inner), outcome)


def read_run_results(path: Path) -> list[Outcome]:
    """What dbt ran: data tests, unit tests, models and seeds. One that only warned has found something, and has failed.

    Raises:
        InputError: there is no such file, it is none, or it is of a command that runs nothing.
    """
    data = _read(path, "--dbt", "`dbt build`")
    try:
        told = json.loads(data)
        command, is_empty = str(told["args"]["which"]), bool(told["args"].get("empty"))
        outcomes = [_of_node(str(result["unique_id"]), str(result["status"])) for result in told["results"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"--dbt: {str(path)!r} is no run_results.json of dbt; expected what `dbt build` leaves in target/") from None
    if command not in RUNNING or is_empty:
        raise InputError(f"--dbt: {str(path)!r} is of `dbt {command}{' --empty' if is_empty else ''}`, which tests nothing; expected that of `dbt build`")
    return outcomes


def _of_node(unique_id: str, status: str) -> Outcome:
    """`model.PACKAGE.NAME`, or of a generic test `test.PACKAGE.NAME.HASH`, of which the name is enough."""
    kind, _, *names = unique_id.split(".")
    name = names[0] if kind == "test" else ".".join(names)
    return Outcome("dbt", kind, name, "passed" if status in DBT_PASSED else "skipped" if status in DBT_SKIPPED else "failed")


def write_outcomes(path: Path, outcomes: Iterable[Outcome]) -> None:
    """Write the file that dbt reads as `vars: gates: {outcomes: FILE}`, in one step.

    Raises:
        InputError: it cannot be written.
    """
    lines = "".join(json.dumps(asdict(outcome), ensure_ascii=False) + "\n" for outcome in sorted(outcomes))
    try:
        write_whole(path, lines.encode())
    except (OSError, ValueError) as error:
        raise InputError(f"--out: {str(path)!r} cannot be written: {getattr(error, 'strerror', None) or error}") from None


def _read(path: Path, option: str, writer: str) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{option}: {str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}; write it with {writer}") from None
