"""`gmem lint-disclosure`: where restricted columns go, in pairs of projects one of which lets them out (rules G5, G7; case C22)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from dbt_harness import dbt

from governed_memory.cli import main
from governed_memory.lint.commands import as_text
from governed_memory.lint.disclosure import Finding, Report

CASES = Path(__file__).parent / "lint"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())
VERSION = "https://schemas.getdbt.com/dbt/manifest/v12.json"
COLUMNS = {"people": ["id", "name", "secret"], "orders": ["order_id", "person_id", "amount"]}
NODE: dict[str, Any] = {"database": "db", "schema": "main", "columns": {}, "config": {}, "depends_on": {"nodes": []}}


def written_by_hand(folder: Path) -> dict[str, Any]:
    """A manifest of the models in a folder, `report` being public, over two sources; `people.secret` is restricted."""
    columns = {table: {name: {"name": name, "meta": {"restricted": True} if name == "secret" else {}} for name in names} for table, names in COLUMNS.items()}
    sources = {
        f"source.p.raw.{table}": {
            **NODE,
            "resource_type": "source",
            "schema": "raw",
            "name": table,
            "identifier": table,
            "relation_name": f'"db"."raw"."{table}"',
            "columns": columns[table],
        }
        for table in COLUMNS
    }
    nodes = {}
    for file in folder.glob("*.sql"):
        code, config, reads = file.read_text(encoding="utf-8"), {"access": "public" if file.stem == "report" else "protected"}, []
        for found in re.findall(r"config\((.*?)\) }}", code):
            config |= eval(f"dict({found})", {"true": True})
        for name in re.findall(r"ref\('(\w+)'\)", code):
            reads.append(f"model.p.{name}")
        for name in re.findall(r"source\('raw', '(\w+)'\)", code):
            reads.append(f"source.p.raw.{name}")
        code = re.sub(r"{{ config.*?}}|{%.*%}", "", code)
        code = re.sub(r"{{ source\('raw', '(\w+)'\) }}", r'"db"."raw"."\1"', code)
        if "ephemeral" in "".join((folder / f"{name.split('.')[-1]}.sql").read_text(encoding="utf-8") for name in reads if name.startswith("model")):
            code = "with __dbt__cte__first as (select 1) " + code.replace("{{ ref('first') }}", "__dbt__cte__first")
        code = re.sub(r"{{ ref\('(\w+)'\) }}", r'"db"."main"."\1"', code)
        nodes[f"model.p.{file.stem}"] = {
            **NODE, "resource_type": "model", "name": file.stem, "alias": file.stem, "config": config, "compiled_code": code, "depends_on": {"nodes": reads},
        }  # fmt: skip
    return {"metadata": {"dbt_schema_version": VERSION, "adapter_type": "duckdb"}, "nodes": nodes, "sources": sources, "exposures": {}}


def run(manifest: dict[str, Any] | Path, capsys: pytest.CaptureFixture[str], *options: str, folder: Path | None = None) -> tuple[int, dict[str, Any]]:
    if isinstance(manifest, dict):
        assert folder is not None
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        manifest = folder / "manifest.json"
    code = main(["lint-disclosure", "--json", "--manifest", str(manifest), *options])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, json.loads(captured.out)


def said(report: dict[str, Any], prefix: str = "") -> list[str]:
    """The report as the lines of expected.txt."""

    def short(uid: str) -> str:
        return uid.rpartition(".")[2].removeprefix(prefix)

    lines = []
    for finding in report["findings"]:
        way = " <- ".join(short(leaf["relation"]) + (f".{leaf['column']}" if leaf["column"] else "") for leaf in finding["path"])
        lines.append(f"{finding['kind']} {way}")
    for found in report["unresolved"]:
        reason = re.sub(r"\b(?:model|source)\.[\w.]+", lambda match: short(match[0]), found["reason"])
        lines.append(f"unresolved {short(found['relation'])}: {reason}")
    return sorted(lines)


def expected(case: str) -> list[str]:
    return (CASES / case / "expected.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("case", NAMES)
def test_g7_a_restricted_column_is_found_on_its_way_out(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = run(written_by_hand(CASES / case / "fails"), capsys, "--influences", folder=tmp_path)
    lines = said(report)
    assert (code, lines) == (1, expected(case))


@pytest.mark.parametrize("case", NAMES)
def test_g7_what_lets_nothing_out_passes(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = run(written_by_hand(CASES / case / "passes"), capsys, "--influences", folder=tmp_path)
    assert (code, said(report)) == (0, [])


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every case as dbt itself compiles it: one project with all of them, each model named after its case; its manifest and catalogue."""
    folder = tmp_path_factory.mktemp("cases")
    (folder / "models").mkdir()
    with duckdb.connect(str(folder / "db.duckdb")) as connection:
        connection.execute("create schema raw; create table raw.people (id integer, name varchar, secret varchar)")
        connection.execute("create table raw.orders (order_id integer, person_id integer, amount integer)")
    public = []
    for file in sorted(CASES.glob("*/*/*.sql")):
        case = f"{file.parent.parent.name}__{file.parent.name}__"
        if file.stem == "report":
            public.append({"name": case + "report", "config": {"access": "public"}})
        code = re.sub(r"ref\('(\w+)'\)", rf"ref('{case}\1')", file.read_text(encoding="utf-8"))
        (folder / "models" / f"{case}{file.stem}.sql").write_text(code, encoding="utf-8")
    secret = {"name": "secret", "config": {"meta": {"restricted": True}}}
    properties = {"models": public, "sources": [{"name": "raw", "tables": [{"name": "people", "columns": [secret]}, {"name": "orders"}]}]}
    profile = {"p": {"target": "dev", "outputs": {"dev": {"type": "duckdb", "path": str(folder / "db.duckdb"), "threads": 1}}}}
    project = {"name": "p", "profile": "p", "flags": {"send_anonymous_usage_stats": False}, "models": {"+materialized": "view"}}
    for name, content in {"dbt_project": project, "profiles": profile, "models/_all": properties}.items():
        (folder / f"{name}.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    done = dbt(folder, "docs", "generate", project=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "target"


def test_g7_what_dbt_compiles_reads_as_the_manifests_written_by_hand(compiled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = run(compiled / "manifest.json", capsys, "--influences")
    assert code == 1
    by_case: dict[tuple[str, str], list[str]] = {(case, side): [] for case in NAMES for side in ("fails", "passes")}
    for finding in report["findings"]:
        case, side, _ = finding["target"].removeprefix("model.p.").split("__")
        by_case[case, side] += said({"findings": [finding], "unresolved": []}, f"{case}__{side}__")
    for found in report["unresolved"]:
        case, side, _ = found["relation"].removeprefix("model.p.").split("__")
        by_case[case, side] += said({"findings": [], "unresolved": [found]}, f"{case}__{side}__")
    assert {key: sorted(lines) for key, lines in by_case.items()} == {(case, side): expected(case) if side == "fails" else [] for case, side in by_case}


PASSING = CASES / "star" / "passes"
EXPOSURE = {"name": "board", "depends_on": {"nodes": ["source.p.raw.people"]}, "meta": {}}


def test_an_exposure_reads_every_column_of_what_it_depends_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(PASSING) | {"exposures": {"exposure.p.board": EXPOSURE}}
    assert [finding["target"] for finding in run(manifest, capsys, folder=tmp_path)[1]["findings"]] == ["exposure.p.board"]
    through = {"metric.p.m": {"depends_on": {"nodes": ["semantic_model.p.s"]}}}, {"semantic_model.p.s": {"depends_on": {"nodes": ["source.p.raw.people"]}}}
    exposure = EXPOSURE | {"depends_on": {"nodes": ["metric.p.m"]}}
    manifest |= {"exposures": {"exposure.p.board": exposure}, "metrics": through[0], "semantic_models": through[1]}
    assert said(run(manifest, capsys, folder=tmp_path)[1]) == ["value people.secret"]


def test_an_exposure_that_may_read_all_says_why_and_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(PASSING) | {"exposures": {"exposure.p.board": EXPOSURE | {"meta": {"may_read_restricted": "the board may read all"}}}}
    code, report = run(manifest, capsys, folder=tmp_path)
    assert (code, [finding["allowed"] for finding in report["findings"]]) == (0, ["the board may read all"])
    assert main(["lint-disclosure", "--manifest", str(tmp_path / "manifest.json")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "allowed     exposure.p.board: 1 column (the board may read all)",
        "2 exposures and public models, 1 restricted columns, 0 governed reads: 0 found, 1 allowed, 0 unresolved, 0 only influence rows",
    ]


@pytest.mark.parametrize(
    ("allowed", "summary"),
    [
        (0, "3 only influence rows (--influences lists them)"),
        (1, "3 only influence rows, 1 of them allowed (--influences lists the others)"),
        (3, "3 only influence rows, 3 of them allowed"),
    ],
)
def test_the_summary_counts_what_is_listed_and_what_is_allowed(allowed: int, summary: str) -> None:
    report = Report([Finding("influences", "model.p.m", (("source.p.raw.people", "secret"),), "may" if number < allowed else "") for number in range(3)])
    assert list(as_text(report, with_influences=False))[-1].endswith(f"0 unresolved, {summary}")
    *listed, last = as_text(report, with_influences=True)
    assert len(listed) == 3 - allowed and last.endswith(f"{summary.partition(' (')[0]}")


def test_a_public_model_may_hold_what_its_own_yml_marks_and_its_readers_may_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(CASES / "chain_of_refs" / "fails")
    first = manifest["nodes"]["model.p.first"]
    first["config"]["access"] = "public"
    first["columns"] = {"a": {"name": "a", "config": {"meta": {"restricted": True}}}}
    assert said(run(manifest, capsys, folder=tmp_path)[1]) == ["value report.c <- second.b <- first.a"]
    first["columns"] = {"a": {"name": "a", "meta": {"governed_read": True}}}
    assert run(manifest, capsys, folder=tmp_path)[0] == 0


def test_what_only_influences_rows_fails_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(CASES / "where" / "fails")
    assert [run(manifest, capsys, *options, folder=tmp_path)[0] for options in ([], ["--influences"])] == [0, 1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"compiled_code": None}, "its SQL is not in the manifest: run `dbt compile` without a selection"),
        ({"language": "python"}, "it is written in python, which cannot be followed"),
        ({"compiled_code": "select " + "(" * 3000 + "1" + ")" * 3000}, "its SQL is nested too deeply to be followed"),
        ({"compiled_code": "drop table people"}, "its SQL is not one select"),
        ({"compiled_code": "select 1; select 2"}, "its SQL is not one select"),
    ],
)
def test_what_cannot_be_followed_is_unresolved(change: dict[str, Any], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(PASSING)
    manifest["nodes"]["model.p.report"] |= change
    code, report = run(manifest, capsys, folder=tmp_path)
    assert (code, said(report)) == (1, [f"unresolved report: {reason}"])
    assert run(manifest, capsys, "--allow-unresolved", folder=tmp_path)[0] == 0


def test_c23_sql_that_cannot_be_read_is_not_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(PASSING)
    manifest["nodes"]["model.p.report"]["compiled_code"] = "select 'the secret' from from where"
    assert "the secret" not in json.dumps(run(manifest, capsys, folder=tmp_path)[1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no manifest"),
        ("", "is cut off or no JSON (line 1); run `dbt compile`"),
        ('{"metadata": {"dbt_schema', "is cut off or no JSON (line 1)"),
        ("[" * 100_000, "is nested too deeply for a manifest"),
        ("[]", "does not say that it is a dbt manifest"),
        ('{"metadata": {"dbt_schema_version": 12}}', "does not say that it is a dbt manifest"),
        ('{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v9.json"}}', "is a dbt manifest v9; this reads v11 and v12"),
        ('{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json"}}', "does not say that it is a dbt manifest"),
        (f'{{"metadata": {{"dbt_schema_version": "{VERSION}"}}}}', "is not laid out as dbt writes it (KeyError: 'nodes')"),
        (f'{{"metadata": {{"dbt_schema_version": "{VERSION}"}}, "nodes": {{"a": 1}}, "sources": {{}}, "exposures": {{}}}}', "is not laid out as dbt writes it"),
        (b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_one_line(text: str | bytes | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "manifest.json"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main(["lint-disclosure", "--manifest", str(file)]) == 2
    error = capsys.readouterr().err
    assert (words in error, error.count("\n"), error.startswith("gmem lint-disclosure: ")) == (True, 1, True), error


@pytest.mark.parametrize("place", [".", "/"])
def test_a_folder_is_no_manifest(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint-disclosure", "--manifest", place]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("wrong", [[None], [1.5], [[]], [{}], {"a": 1}, "model.p.report"])
@pytest.mark.parametrize(("kind", "uid"), [("nodes", "model.p.report"), ("metrics", "metric.p.m"), ("exposures", "exposure.p.e")])
def test_a_node_that_reads_no_names_is_one_line(kind: str, uid: str, wrong: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(PASSING)
    manifest.setdefault(kind, {}).setdefault(uid, {})["depends_on"] = {"nodes": wrong}
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(manifest))
    assert main(["lint-disclosure", "--manifest", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"{file} is not laid out as dbt writes it (TypeError: depends_on.nodes of {uid} holds something else" in error


@pytest.mark.parametrize("wrong", [[[]], {"a": 1}, 5])
def test_a_source_whose_relation_has_no_name_is_one_line(wrong: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(PASSING)
    manifest["sources"]["source.p.raw.people"]["relation_name"] = wrong
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(manifest))
    assert main(["lint-disclosure", "--manifest", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "(TypeError: relation_name of source.p.raw.people is no text)" in error


@pytest.mark.parametrize(
    ("adapter", "sql", "found"),
    [
        ("snowflake", 'select P.SECRET as "X" from DB.RAW.PEOPLE as p', ["value report.x <- people.secret"]),
        ("snowflake", "select f.value as x from db.raw.people as p, lateral flatten(input => p.secret) as f", ["value report.x <- people.secret"]),
        ("snowflake", "select Id, Name from DB.RAW.PEOPLE", []),
        ("bigquery", "select s as y from `db`.`raw`.`people` as p, unnest(split(p.secret)) as s", ["value report.y <- people.secret"]),
        ("bigquery", "select * except (secret) from `db`.`raw`.`people`", []),
        ("spark", "select w from `raw`.`people` lateral view explode(split(secret, ' ')) t as w", ["value report.w <- people.secret"]),
        ("sqlserver", "select x.id from db.raw.people p cross apply (select top 1 p.secret as id) x", ["value report.id <- people.secret"]),
        (
            "postgres",
            "select id from (db.raw.people p join db.raw.orders o on p.id = o.person_id and p.secret is null)",
            ["influences report <- people.secret"],
        ),
        (
            "duckdb",
            "select * from (summarize db.raw.people)",
            ["unresolved report: it selects columns by a star or a pattern whose relation's columns are not known"],
        ),
    ],
)
def test_g7_other_dialects_and_odd_corners(adapter: str, sql: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(PASSING)
    manifest["metadata"]["adapter_type"] = adapter
    manifest["nodes"]["model.p.report"] |= {"compiled_code": sql, "depends_on": {"nodes": []}}
    assert said(run(manifest, capsys, folder=tmp_path)[1]) == found


def test_a_dialect_that_cannot_be_read_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(PASSING)
    manifest["metadata"]["adapter_type"] = "cobol"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert main(["lint-disclosure", "--manifest", str(tmp_path / "manifest.json")]) == 2
    assert capsys.readouterr().err.startswith("gmem lint-disclosure: the manifest is for 'cobol', whose SQL cannot be read; known are ")


def test_snapshots_and_seeds_hand_on_columns_and_whole_relations_may_be_restricted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written_by_hand(PASSING)
    seed = {**NODE, "resource_type": "seed", "name": "codes", "alias": "codes", "config": {"meta": {"restricted": True}}}
    kept = {**NODE, "resource_type": "snapshot", "name": "kept", "alias": "kept", "compiled_code": 'select * from "db"."raw"."people"'}
    manifest["nodes"] |= {"seed.p.codes": seed, "snapshot.p.kept": kept | {"depends_on": {"nodes": ["source.p.raw.people"]}}}
    report = manifest["nodes"]["model.p.report"]
    report |= {"compiled_code": "select k.*, c.code from db.main.kept k, db.main.codes c", "depends_on": {"nodes": ["snapshot.p.kept", "seed.p.codes"]}}
    lines = said(run(manifest, capsys, folder=tmp_path)[1])
    assert lines == ["value report.code <- codes.code", "value report.secret <- kept.secret <- people.secret"]
