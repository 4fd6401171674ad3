"""Write the models below staging, as dbt compiles them, into the Python package (rule L4).

`gmem` runs this list on a store that no dbt project has attached, so both read one definition of each rule.
Run it after any change of a model, macro or profile seed: `make compiled`. `--check` only says whether the list is current.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from governed_memory.warehouse import StoreFile, attach

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "python" / "governed_memory" / "warehouse" / "compiled_models.json"
# What stands for the attached stores and the run: gmem supplies its own.
FUNCTIONS = ("table_function", "table_functions")
STREAMS = ("cells", "links", "annotations", "frames", "replays", "traces", "approvals", "proposals", "decisions", "reads", "refusals")
LOGS = {f"stg_log_{stream}" for stream in STREAMS}
SUPPLIED = {"stg_store_rows", "stg_stores", "stg_build", "stg_log_heads"} | LOGS


def compile_project() -> tuple[dict, dict[str, str]]:
    """The manifest and the readers' fragments, compiled with no store and no register attached, on a throw-away database."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GMEM_DATABASE"] = str(Path(folder) / "compile.duckdb")
        os.environ.pop("GMEM_LEDGER", None)
        dbt(folder, "--no-partial-parse", "--exclude", *sorted(SUPPLIED))
        manifest = json.loads((Path(folder) / "manifest.json").read_text())
        readers = inline(folder, "reader_fragments")
        # Run in the schema that the connection uses, whatever a project calls it.
        answers = {name: sql.replace('"main".', "") for room in ("answer", "memory", "packet") for name, sql in inline(folder, f"{room}_fragments").items()}
        return manifest, readers | answers


def inline(folder: str, macro: str) -> dict[str, str]:
    """What a macro that returns fragments gives, {name: SQL}."""
    [fragments] = dbt(folder, "--log-level", "none", "--inline", f"{{{{ governed_memory.{macro}() | tojson }}}}").results
    found: dict[str, str] = json.loads(fragments.node.compiled_code)
    return found


def dbt(folder: str, *arguments: str) -> Any:
    """Run `dbt compile`; its target and logs are in the folder."""
    from dbt.cli.main import dbtRunner

    places = ["--project-dir", str(ROOT), "--profiles-dir", str(ROOT), "--target", "dev", "--target-path", folder, "--log-path", folder]
    nothing = json.dumps({"stores": {}, "registers": {}, "on_date": ""})
    result = dbtRunner().invoke(["--quiet", "compile", *places, "--vars", nothing, *arguments])
    if not result.success:
        raise SystemExit(f"dbt compile failed: {result.exception or 'see above'}")
    return result.result


def in_order(nodes: dict[str, dict]) -> list[dict]:
    """Nodes so that each follows what it reads; ties by name, so that the list is the same on every machine."""
    placed: list[str] = []
    waiting = sorted(nodes)
    while waiting:
        ready = [name for name in waiting if all(parent in placed or parent not in nodes for parent in nodes[name]["reads"])]
        placed += ready
        waiting = [name for name in waiting if name not in ready]
    return [nodes[name] for name in placed]


def package_list() -> dict:
    """The list as it is written: seeds of the profile as rows, fragments by name, models in order, and which of them read a register.

    Registers are what models/staging holds itself; the folders in it read what other rooms keep, as packets, runs and reports of tests.
    """
    manifest, fragments = compile_project()
    nodes: dict[str, dict] = {}
    seeds: dict[str, dict] = {}
    registers: list[str] = []
    for node in manifest["nodes"].values():
        name = node["name"]
        if node["resource_type"] == "seed" and node["path"].startswith(("profile/", "memory/")):
            with (ROOT / node["original_file_path"]).open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            types = node["config"]["column_types"]
            seeds[name] = {"columns": {column: types.get(column, "varchar") for column in rows[0]}, "rows": [list(row.values()) for row in rows]}
        elif node["resource_type"] == "model" and name not in SUPPLIED:
            nodes[name] = {
                "name": name,
                "kind": node["config"]["materialized"],
                "parameters": node["config"].get("overloads") or [", ".join(node["config"].get("parameters") or [])],
                "reads": sorted({parent.split(".")[-1] for parent in node["depends_on"]["nodes"]}),
                "sql": node["compiled_code"].strip(),
            }
            if Path(node["path"]).parent == Path("staging"):
                registers.append(name)
    models = in_order(nodes)
    add_columns(seeds, models)
    return {"seeds": dict(sorted(seeds.items())), "fragments": fragments, "registers": sorted(registers), "models": models}


def add_columns(seeds: dict[str, dict], models: list[dict]) -> None:
    """Give each model its columns and their types, which a database over a store without records tells."""
    with duckdb.connect(":memory:") as connection, tempfile.NamedTemporaryFile(suffix=".jsonl") as empty:
        attach(connection, StoreFile(empty.name))
        for name in sorted(LOGS):
            connection.execute(f"create table {name} (writer varchar, seq bigint, event varchar)")
        connection.execute("create table stg_log_heads (writer varchar, stream varchar, last_seq bigint, pruned_seq bigint)")
        for name, table in seeds.items():
            connection.execute(f'create table "{name}" ({", ".join(f"{column} {type_}" for column, type_ in table["columns"].items())})')
        for model in models:
            if model["kind"] not in FUNCTIONS:
                # a table: a view would be planned anew, with all it reads, in each one above it
                connection.execute(f'create table "{model["name"]}" as {model["sql"]}')
                described = connection.execute(f'describe "{model["name"]}"').fetchall()
                model["columns"] = {column: type_ for column, type_, *_ in described}


def main() -> int:
    """Write the list, or with --check say whether it is current."""
    text = json.dumps(package_list(), ensure_ascii=False, indent=1) + "\n"
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            print(f"{TARGET.relative_to(ROOT)} is not what the models compile to: run `make compiled`", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
