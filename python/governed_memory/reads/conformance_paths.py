"""The paths that `gmem conformance` asks through, each as its users do."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import duckdb

from governed_memory import warehouse
from governed_memory.errors import GovernedMemoryError, InputError
from governed_memory.host.configuration import Host, read_host
from governed_memory.reads.ask import READS, open_to_ask
from governed_memory.reads.conformance import Case, Prepared, Told
from governed_memory.warehouse import StoreFile, literal

SECONDS = 60
GMEM = (sys.executable, "-m", "governed_memory.cli")


@dataclass(frozen=True, slots=True)
class Path:
    """A way to ask.

    Attributes:
        ask: gives its answer to a case.
        missing: why it cannot be covered here; '' where it can.
    """

    ask: Callable[[Prepared], Told]
    missing: Callable[[], str] = str

    def told(self, prepared: Prepared) -> Told:
        """What it gives for a case; an error is something it put out, too."""
        try:
            return self.ask(prepared)
        except (GovernedMemoryError, duckdb.Error, subprocess.TimeoutExpired, ValueError) as error:
            return Told(None, str(error), f"gave no answer ({type(error).__name__})")


def store_of(prepared: Prepared) -> StoreFile:
    """The store of a case, under its policy."""
    return StoreFile(str(prepared.store), policy_id=prepared.case.policy)


def _asked_in_sql(prepared: Prepared) -> Told:
    """`governed_answers`, the SQL that analysts call: what the build has worked out, and the same worked out again."""
    case = prepared.case
    connection, _ = warehouse.open_store_file(store_of(prepared), {*READS, "governed_answers"}, given=_host(prepared).given())
    parties = f"[{', '.join(map(literal, case.parties))}]::varchar[]"
    classes = f"[{', '.join(map(literal, case.scope))}]::varchar[]"
    ways = [f", scope => {classes}"]
    if len(case.scope) <= 1:
        ways.append("".join(f", question_class => {literal(name)}" for name in case.scope))
    with connection:
        found = [
            warehouse.rows(connection, f"select * from governed_answers(date {literal(case.as_of)}, {parties}, {literal(case.boundary)}{way})") for way in ways
        ]
    everything = _as_text(found)
    answers = [_from_row(_about(case, rows)) for rows in found]
    if any(answer != answers[0] for answer in answers):
        return Told(None, everything, "looks up another answer than it works out")
    return Told(answers[0], everything)


def _about(case: Case, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    return next((row for row in rows if row["concept_id"] == case.concept), None)


def _from_row(row: dict[str, Any] | None) -> dict[str, Any]:
    if row is None:
        # There is no row for what a store does not hold.
        return {"outcome": "empty", "answer": None, "sides": None, "reasons": ["not_held"], "withheld_records": 0}
    decided = row["outcome"] == "answered" and row["sides"] is None
    return {
        "outcome": row["outcome"],
        "answer": {"record_id": row["record_id"]} if decided else None,
        "sides": row["sides"],
        "reasons": row["reasons"],
        "withheld_records": row["withheld_count"],
    }


def _asked_on_command_line(prepared: Prepared) -> Told:
    """`gmem ask`, for a program and for a person."""
    case = prepared.case
    scope = [f"--scope={name}" for name in case.scope]
    asked = [f"--caller={case.principal}", f"--as-of={case.as_of}", f"--host={prepared.host}", f"--store={prepared.store}", *scope, "--", case.concept]
    for_a_program, for_a_person = _gmem("ask", "--json", *asked), _gmem("ask", *asked)
    everything = "\n".join([for_a_program.stdout, for_a_program.stderr, for_a_person.stdout, for_a_person.stderr])
    if for_a_program.returncode or for_a_person.returncode:
        return Told(None, everything, f"gmem ask ended with {for_a_program.returncode or for_a_person.returncode}")
    return Told(json.loads(for_a_program.stdout), everything)


def _gmem(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GMEM, *arguments], capture_output=True, encoding="utf-8", check=False, timeout=SECONDS)


def _asked_over_mcp(prepared: Prepared) -> Told:
    """A client session with `gmem serve`: its answer, and whatever its other reads and its log say besides."""
    import anyio

    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        said: list[str] = []
        try:
            answer = anyio.run(_session, prepared, said, log)
        except Exception as error:
            answer = None
            said.append(str(error))
        log.seek(0)
        said.append(log.read())
    return Told(answer, "\n".join(said), "the session gave no answer")


async def _session(prepared: Prepared, said: list[str], log: Any) -> Mapping[str, Any] | None:
    import anyio
    from mcp import ClientSession, StdioServerParameters, stdio_client

    case = prepared.case
    arguments = [*GMEM[1:], "serve", f"--host={prepared.host}", f"--caller={case.principal}", f"--store={prepared.store}"]
    asked = {"as_of": case.as_of, **({"scope": list(case.scope)} if case.scope else {})}
    with anyio.fail_after(SECONDS):
        async with (
            stdio_client(StdioServerParameters(command=GMEM[0], args=arguments, env=_environment()), errlog=log) as streams,
            ClientSession(*streams) as session,
        ):
            await session.initialize()

            async def call(tool: str, **given: Any) -> dict[str, Any]:
                result = await session.call_tool(tool, given)
                said.append(result.model_dump_json())
                # What JSON escapes reads as it is meant, too.
                said.append(json.dumps(result.structured_content, ensure_ascii=False))
                return {} if result.is_error else dict(result.structured_content)

            answer = await call("ask", concept=case.concept, **asked)
            await call("explain", concept=case.concept, **asked)
            await call("records_as_of", **asked)
            await call("history", concept=case.concept)
            listed = await call("index", **asked)
            await call("get_records", record_ids=[entry["record_id"] for entry in listed.get("records", [])], **asked)
    return answer or None


def _environment() -> dict[str, str]:
    """The server's modules are those of this process."""
    import os

    return {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}


def _without_mcp() -> str:
    return "" if find_spec("mcp") and find_spec("uvicorn") else "the `mcp` extra is not installed"


def _asked_in_governed_sql(prepared: Prepared) -> Told:
    """`governed_sql`: a statement over what the caller may see, for each table that there is."""
    case, host = prepared.case, _host(prepared)
    governed_sql = import_module(SANDBOX).governed_sql
    opened = open_to_ask(store_of(prepared), None, host)
    asked = {"caller": host.caller(case.principal), "as_of": case.as_of, "scope": case.scope}
    found = {name: governed_sql(opened, f"select * from {name}", **asked).to_dicts() for name in ("answers", "records", "concepts", "asked")}
    shown = [record for record in found["records"] if record["concept_id"] == case.concept]
    row = next((answer for answer in found["answers"] if answer["concept_id"] == case.concept), None)
    is_answered = row is not None and row["outcome"] == "answered"
    whole = row and {**row, "record_id": shown[0]["record_id"] if is_answered and len(shown) == 1 else None, "sides": None if is_answered else shown or None}
    return Told(_from_row(whole), _as_text(found))


def _asked_in_published_file(prepared: Prepared) -> Told:
    """The file that `gmem publish` writes for one audience: its answer on the date, and all that it holds, to the byte."""
    case, host = prepared.case, _host(prepared)
    if len(case.scope) > 1:
        raise InputError("a published file answers for one class of question at a time")
    folder = prepared.store.parent
    with warehouse.open_store_file(store_of(prepared), BUILT, given=host.given())[0] as connection:
        connection.execute(f"attach {literal(folder / 'built.duckdb')} as built")
        for name in sorted(BUILT):
            connection.execute(f"create table built.{name} as select * from main.{name}")
        connection.execute("detach built")
    file = folder / "published.duckdb"
    import_module(PUBLISH).publish(file, audience=host.caller(case.principal), database=str(folder / "built.duckdb"))
    with warehouse.open_memory() as connection:
        connection.execute(f"attach {literal(file)} as published (read_only)")
        connection.execute("use published")
        question_class = "".join(f", {literal(name)}" for name in case.scope)
        answers = warehouse.rows(connection, f"select * from answers_as_of(date {literal(case.as_of)}{question_class})")
        names = [row["name"] for row in warehouse.rows(connection, "select table_name as name from duckdb_tables() where database_name = 'published'")]
        found = {name: warehouse.rows(connection, f'select * from "{name}"') for name in sorted(names)}
    return Told(_from_row(_about(case, answers)), _as_text([answers, found]) + file.read_bytes().decode("utf-8", "ignore"))


def _host(prepared: Prepared) -> Host:
    host = read_host(str(prepared.host))
    assert host is not None
    return host


def _as_text(found: Any) -> str:
    return json.dumps(found, default=str, ensure_ascii=False)


def _without(module: str) -> Callable[[], str]:
    return lambda: "" if find_spec(module) else f"there is no {module}"


SANDBOX, PUBLISH = "governed_memory.reads.sandbox", "governed_memory.reads.publish"
# What publishing for an audience reads of a built database, and what tells one.
BUILT = {"int_segments", "record_intervals_built", "records", "question_classes", "stores", "stg_build"}

PATHS: dict[str, Path] = {
    "sql": Path(_asked_in_sql),
    "cli": Path(_asked_on_command_line),
    "mcp": Path(_asked_over_mcp, _without_mcp),
    "governed_sql": Path(_asked_in_governed_sql, _without(SANDBOX)),
    "published": Path(_asked_in_published_file, _without(PUBLISH)),
}
