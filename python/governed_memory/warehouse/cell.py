"""The process in which somebody else's statement runs: it is started for one statement, and holds the tables it was handed and nothing else.

Run as a file of its own, without the rest of the package: what was withheld has never been in its memory. From standard input it reads one
line of JSON and then a frame as Arrow; to standard output it writes one line of JSON and then the result as Arrow.

    in    {"sql", "frame": its table, "tables": {name: SQL over the frame}, "functions": allowed names, "seconds", "rows", "memory": MiB}
    out   {"error": kind, "name": what of the statement it is about} or {"error": null}

Two layers. The statement, as DuckDB's own parser reads it, must be one select made of allowed parts. And the database it runs in is closed: no
files, no network, no extensions, no objects of Python, no further settings.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import sys
import threading
from collections.abc import Iterator
from typing import Any

import duckdb
import polars

# Kinds of parts that a statement may have, as DuckDB names them. What is left out: parameters, SHOW, DESCRIBE, SUMMARIZE and whatever changes data.
QUERIES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
RELATIONS = {"BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY", "TABLE_FUNCTION", "EXPRESSION_LIST", "PIVOT"}
EXPRESSIONS = {
    "COLUMN_REF", "FUNCTION", "VALUE_CONSTANT", "CASE_EXPR", "STAR", "LAMBDA", "COLLATE", "POSITIONAL_REFERENCE", "ARRAY_EXTRACT", "ARRAY_SLICE",
    "STRUCT_EXTRACT", "ARRAY_CONSTRUCTOR", "ARROW", "GROUPING_FUNCTION", "TYPE", "CAST",
}  # fmt: skip
MODIFIERS = {"LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER", "ASCENDING", "DESCENDING"}
KINDS = QUERIES | RELATIONS | EXPRESSIONS | MODIFIERS
FAMILIES = ("COMPARE_", "CONJUNCTION_", "OPERATOR_", "WINDOW_", "ORDER_")
TABLE_FUNCTIONS = {"unnest", "range", "generate_series"}
# Views that every DuckDB database has; a statement may not even call a clause of its own so.
SYSTEM = re.compile(r"(duckdb|pragma|sqlite|pg)_|information_schema", re.IGNORECASE)
OPERATOR = re.compile(r"[^\w\s\"'.]+")
RESULT_LIMIT = 64 * 1024 * 1024
# Seconds in which DuckDB may still end a query by itself.
GRACE = 1.0


class Refused(Exception):
    """The statement is not run: which kind of refusal, and the name in the statement that it is about."""

    def __init__(self, kind: str, name: str = "") -> None:
        """Keep both apart from the message, which nobody is shown."""
        super().__init__(kind)
        self.kind, self.name = kind, name


def main() -> None:
    """Answer the one statement that standard input brings."""
    asked = json.loads(sys.stdin.buffer.readline())
    bound_process(asked)
    # Not every step of DuckDB's heeds an interruption. The process then ends all the same, and says why.
    last = threading.Timer(asked["seconds"] + GRACE, end, [{"error": "InterruptException"}])
    last.daemon = True
    result = None
    try:
        data = sys.stdin.buffer.read()
        last.start()
        result = run(asked, data)
        told: dict[str, Any] = {"error": None}
    except Refused as refusal:
        told = {"error": refusal.kind, "name": refusal.name}
    except duckdb.Error as error:
        told = {"error": type(error).__name__, "name": name_in(str(error), asked["sql"])}
    except (MemoryError, RecursionError) as error:
        told = {"error": type(error).__name__}
    except BaseException as error:  # polars panics are no Exception; whatever went wrong, its text stays here
        told = {"error": "result" if type(error).__name__ in ("PanicException", "ComputeError", "InvalidOperationError") else type(error).__name__}
    last.cancel()
    end(told, result)


def end(told: dict[str, Any], result: polars.DataFrame | None = None) -> None:
    """Say what came of it, and end at once: there is nothing to clean up, and threads of a broken-off query may still run."""
    out = io.BytesIO()
    if result is not None:
        result.write_ipc(out)
    os.write(1, json.dumps(told).encode() + b"\n")
    sent = memoryview(out.getvalue())
    while sent:
        sent = sent[os.write(1, sent) :]
    os._exit(0)


def bound_process(asked: dict[str, Any]) -> None:
    """Have the system end the process where DuckDB's own limits do not reach."""
    # Beside what queries may use: the libraries, their threads, and a result in both DuckDB's and Arrow's form.
    memory = (asked["memory"] + 2048) * 1024 * 1024
    for kind, limit in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, int(asked["seconds"]) + 10), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        held = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (held, held))


def run(asked: dict[str, Any], data: bytes) -> polars.DataFrame:
    """The result of the statement over the tables."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": "1", "memory_limit": f"{asked['memory']}MiB", "temp_directory": "", "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false", "allow_community_extensions": "false", "python_enable_replacements": "false",
    }  # fmt: skip
    connection = duckdb.connect(":memory:", config=config)
    # It would be drawn on standard output, between the parts of the result.
    connection.execute("set enable_progress_bar = false")
    connection.execute("set TimeZone = 'UTC'")
    # The capsule rather than the frame: DuckDB would go through pyarrow for that.
    connection.from_arrow(polars.read_ipc(io.BytesIO(data)).__arrow_c_stream__()).create(asked["frame"])
    for name, sql in asked["tables"].items():
        connection.execute(f'create table "{name}" as {sql}')
    connection.execute(f'drop table "{asked["frame"]}"')
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    timer = threading.Timer(asked["seconds"], connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        expect_allowed(connection, asked["sql"], set(asked["tables"]), set(asked["functions"]))
        result = polars.DataFrame(connection.sql(asked["sql"]).limit(asked["rows"] + 1))
    finally:
        timer.cancel()
    if len(result) > asked["rows"]:
        raise Refused("rows")
    if result.estimated_size() > RESULT_LIMIT:
        raise Refused("size")
    return result


def expect_allowed(connection: duckdb.DuckDBPyConnection, sql: str, tables: set[str], functions: set[str]) -> None:
    """Refused where the statement is not one select over these tables, made of allowed parts."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise Refused("statements")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise Refused("kind")
    [(text,)] = connection.execute("select json_serialize_sql($1::varchar)", [sql]).fetchall()
    parsed = json.loads(text)
    if parsed["error"] or len(parsed["statements"]) != 1:
        raise Refused("kind")
    parts = list(every_part(parsed["statements"][0]))
    clauses = {name for part in parts for name in clause_names(part)}
    for name in clauses:
        if SYSTEM.match(name):
            raise Refused("table", name)
    known = {name.casefold() for name in tables | clauses}
    for part in parts:
        expect_part(part, known, functions)


def every_part(root: object) -> Iterator[dict[str, Any]]:
    """Every object in a parsed statement."""
    waiting = [root]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def clause_names(part: dict[str, Any]) -> list[str]:
    """The names that a part gives to queries of the statement."""
    named = [entry["key"] for entry in part["cte_map"]["map"]] if "cte_map" in part else []
    return [*named, part["cte_name"]] if "cte_name" in part else named


def expect_part(part: dict[str, Any], tables: set[str], functions: set[str]) -> None:
    """Refused where one part is of another kind, or names a table or function that is not there for this."""
    kind = part.get("type", "TYPE")
    if part.get("sample"):
        raise Refused("part", "sample")
    if not isinstance(kind, str) or (kind not in KINDS and not kind.startswith(FAMILIES)):
        raise Refused("part", str(kind).lower())
    if any(part.get(key) for key in ("schema", "catalog", "schema_name", "catalog_name", "at_clause")):
        raise Refused("qualified", ".".join(part.get("qualified_name", {}).get("path", [])))
    if "table_name" in part and part.get("type") == "BASE_TABLE" and part["table_name"].casefold() not in tables:
        raise Refused("table", part["table_name"])
    if "function_name" in part:
        name = part["function_name"]
        if name.lower() not in functions and not (part.get("is_operator") and OPERATOR.fullmatch(name)):
            raise Refused("function", name)
    if kind == "TABLE_FUNCTION" and part["function"].get("function_name", "").lower() not in TABLE_FUNCTIONS:
        raise Refused("function", part["function"].get("function_name", ""))


def name_in(message: str, sql: str) -> str:
    """The name that an error is about, if it stands in the statement: nothing else of an error's text leaves this process."""
    found = re.search(r'"([^"]+)"|with name ([^\s!]+) does not exist|Function with name (\S+)', message.partition("\n")[0])
    name = next(filter(None, found.groups()), "") if found else ""
    return name if name.casefold() in sql.casefold() else ""


if __name__ == "__main__":
    main()
