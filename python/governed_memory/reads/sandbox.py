"""Governed SQL: an analyst's own statement over what one caller may see on a date, after it has been resolved (rules G1 to G8).

Who wins is decided first, for everybody alike; then what this caller may not see is left out; only then does the statement see anything. It
runs in a process of its own that has been handed those tables and nothing else (`warehouse.cell`).
"""

from __future__ import annotations

import io
import json
import logging
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from governed_memory import warehouse
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.configuration import Caller
from governed_memory.reads.ask import Opened, Question, name_list, way
from governed_memory.reads.released import every_concept
from governed_memory.reads.sandbox_functions import FUNCTIONS
from governed_memory.warehouse import literal

if TYPE_CHECKING:
    import polars

# What a statement may read: {table: columns}. One row of `asked` says what the rest is an answer to.
TABLES = {
    "records": ("store_id", "record_id", "concept_id", "value", "source_id", "valid_from", "outcome"),
    "answers": ("store_id", "concept_id", "outcome", "reasons", "withheld_count", "stable_until", "stores_disagree"),
    "concepts": ("concept_id",),
    "asked": ("as_of", "caller", "scope", "known_on"),
}
# Started as a file, never imported here: it needs polars at once, which most commands do not.
CELL = Path(warehouse.__file__).with_name("cell.py")
LONGEST = 100_000
# Beyond the statement's own time: to start the process, and to hand the tables over.
SECONDS_TO_START = 20.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may use.

    Attributes:
        seconds: that it may run.
        rows: that its result may have.
        memory: MiB that it may hold.
    """

    seconds: float = 10.0
    rows: int = 100_000
    memory: int = 512


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gave.

    Attributes:
        frame: its rows.
        visible: the identifiers of all records that it could see.
    """

    frame: polars.DataFrame
    visible: frozenset[str | None]


def governed_sql(
    opened: Opened,
    sql: str,
    *,
    caller: Caller,
    as_of: str,
    scope: Sequence[str] = (),
    known_on: str | None = None,
    store: str | None = None,
    limits: Limits | None = None,
) -> polars.DataFrame:
    """The result of one select over the governed tables, as a polars frame (which any Arrow library takes without a copy).

    Args:
        opened: stores, from `open_to_ask`.
        sql: one select over `records`, `answers`, `concepts` and `asked`, in DuckDB's SQL.
        caller: whose view the tables are.
        as_of: yyyy-mm-dd.
        scope: classes of question; none gives what applies everywhere (G2).
        known_on: a date (its end) or UTC timestamp: as known then (T6).
        store: one attached store; every one if None.
        limits: of time, rows and memory.

    Raises:
        InputError: the statement is no such select, fails, or goes beyond a limit; the message holds nothing that the statement did not.
    """
    return governed_result(opened, sql, Question("", as_of, caller, tuple(scope), known_on, store), limits or Limits()).frame


def governed_result(opened: Opened, sql: str, question: Question, limits: Limits) -> Result:
    """The same, with what the statement could see; the question's concept is not looked at.

    Raises:
        InputError: as `governed_sql`.
    """
    if len(sql) > LONGEST or "\x00" in sql:
        raise InputError(f"the statement has more than {LONGEST} characters" if len(sql) > LONGEST else "the statement holds a null character")
    _look_over(sql, limits)
    answers = _answers(opened, question)
    sides = answers["sides"].explode(empty_as_null=False).struct.field("record_id").to_list()
    return Result(_run(answers, _tables(question), sql, limits), frozenset([*answers["record_id"].to_list(), *sides]))


def _look_over(sql: str, limits: Limits) -> None:
    """Refuse what is plainly no such select before a process is started for it.

    No boundary: what sqlglot cannot read is left to the process, which judges every statement by the parser that runs it.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    # What it takes for a command it logs, with the statement; the refusal below says all of that.
    logger = logging.getLogger("sqlglot")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        statements = [statement for statement in sqlglot.parse(sql, read="duckdb") if statement is not None]
    except (SqlglotError, RecursionError):
        return
    finally:
        logger.setLevel(level)
    if len(statements) != 1:
        raise InputError(_wording("statements", "", limits))
    [statement] = statements
    if not isinstance(statement, exp.Query):
        raise InputError(_wording("kind", "", limits))
    clauses = {clause.alias.lower() for clause in statement.find_all(exp.CTE)}
    for table in statement.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not table.db and table.name.lower() not in clauses | TABLES.keys():
            raise InputError(_wording("table", table.name, limits))


def _answers(opened: Opened, question: Question) -> polars.DataFrame:
    """The answer to every concept that the stores hold, as the caller is told it."""
    how, known = way(opened, question)
    asked = every_concept(question.as_of, question.caller, question.scope, question.store)
    sql = warehouse.fragment(how, asked=asked, **({"known": literal(known)} if known else {}))
    try:
        # What was not known yet is not held either, and not so much as named.
        return warehouse.plain_frame(opened.connection, f"select * from ({sql}) where not list_contains(reasons, 'not_held')")
    except duckdb.Error as error:
        # Not its text: this statement still sees what is withheld.
        raise InputError(f"the answers could not be worked out ({type(error).__name__}); ask again, or run `dbt build` where the database is older") from None


def _tables(question: Question) -> dict[str, str]:
    known_on = "null::varchar" if question.known_on is None else literal(question.known_on)
    return {
        "records": f"select {', '.join(TABLES['records'])} from ({warehouse.fragment('released', answers='from governed_answers')}) order by all",
        "answers": warehouse.fragment("visible_answers"),
        "concepts": "select distinct concept_id from governed_answers order by concept_id",
        "asked": f"select date {literal(question.as_of)} as as_of, {literal(question.caller.name)} as caller, {name_list(question.scope)} as scope, "
        f"{known_on} as known_on",
    }


def _run(answers: polars.DataFrame, tables: dict[str, str], sql: str, limits: Limits) -> polars.DataFrame:
    import polars

    data = io.BytesIO()
    answers.write_ipc(data)
    asked = {
        "sql": sql, "frame": "governed_answers", "tables": tables, "functions": sorted(FUNCTIONS),
        "seconds": limits.seconds, "rows": limits.rows, "memory": limits.memory,
    }  # fmt: skip
    # Isolated from the environment and the folder of whoever asks; the libraries' own path is all that is handed on.
    environment = {"LC_ALL": "C.UTF-8", "POLARS_MAX_THREADS": "1", **{name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}}
    try:
        done = subprocess.run(
            [sys.executable, "-E", "-P", str(CELL)],
            input=json.dumps(asked).encode() + b"\n" + data.getvalue(),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", env=environment, timeout=limits.seconds + SECONDS_TO_START, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InputError(_wording("InterruptException", "", limits)) from None
    head, _, result = done.stdout.partition(b"\n")
    if not head or (done.returncode and not result):
        raise InputError("the statement was ended: it needs more memory or time than it may use, or is nested too deeply")
    told = json.loads(head)
    if told["error"]:
        raise InputError(_wording(told["error"], told.get("name", ""), limits))
    return polars.read_ipc(io.BytesIO(result))


def _wording(kind: str, name: str, limits: Limits) -> str:
    """What to say of an error: our words, and at most a name that the statement itself holds."""
    words = {
        "statements": "give one statement; more than one, or none, is not run",
        "kind": "only a select can be run",
        "part": f"a statement with {name.replace('_', ' ')} cannot be run; only a plain select can",
        "qualified": f"{name!r}: name tables and functions without a schema; {_known_tables()}",
        "table": f"there is no table {name!r}; {did_you_mean(name, TABLES) or _known_tables()}",
        "function": f"the function {name!r} is not available; {did_you_mean(name.lower(), FUNCTIONS) or 'docs/governed_sql.md lists those that are'}",
        "rows": f"the result has more than {limits.rows} rows; aggregate, or add a limit",
        "size": "the result is larger than 64 MiB; aggregate, or add a limit",
        "result": "a column of the result has a type that Arrow does not; cast it, for example to varchar",
        "InterruptException": f"the statement ran longer than {limits.seconds:g} s and was ended",
        "OutOfMemoryException": f"the statement needs more than {limits.memory} MiB and was ended",
        "MemoryError": f"the statement needs more than {limits.memory} MiB and was ended",
        "RecursionError": "the statement is nested too deeply",
        "ParserException": f"the statement is no SQL that DuckDB can read{_near(name)}",
        "SyntaxException": f"the statement is no SQL that DuckDB can read{_near(name)}",
        "BinderException": f"a name or a type in the statement does not fit{_about(name)}",
        "CatalogException": f"a name in the statement is not known{_about(name)}",
        "ConversionException": "a value cannot be converted to the type asked for; try_cast gives null instead",
        "OutOfRangeException": "a number is out of the range of its type",
        "InvalidInputException": "a function was given something it cannot use",
    }
    return words.get(kind, f"the statement could not be run ({kind})")


def _near(name: str) -> str:
    return f", near {name!r}" if name else ""


def _about(name: str) -> str:
    if not name:
        return f"; {_known_tables()}"
    columns = sorted({column for columns in TABLES.values() for column in columns})
    return f": {name!r}; {did_you_mean(name, columns) or 'the columns are ' + ', '.join(columns)}"


def _known_tables() -> str:
    return f"the tables are {', '.join(TABLES)}"


def plain_rows(frame: polars.DataFrame) -> list[dict[str, Any]]:
    """A result as dictionaries of what JSON knows; dates, times and fractional decimals are texts."""
    return [{name: _plain(value) for name, value in row.items()} for row in frame.to_dicts()]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):  # JSON cannot say it
        return str(value)
    if isinstance(value, Decimal) and value == int(value):  # as which DuckDB gives the sum of whole numbers
        return int(value)
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
