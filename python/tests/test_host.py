"""The host file: what it may say (G8), and one clear line for what it may not. A secret that was written into it is never repeated."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from governed_memory import cli
from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller, read_host
from governed_memory.reads.ask import _undecided

RECORDS = [
    {"record_id": "A", "concept": "c", "value": "old", "valid_from": "2026-01-01", "valid_to": None, "source": "P", "written_by": "finance"},
    {"record_id": "B", "concept": "c", "value": "new", "valid_from": "2026-02-01", "valid_to": None, "source": "Q", "written_by": "finance"},
    {"record_id": "S", "concept": "s", "value": "for the board", "valid_from": "2026-01-01", "valid_to": None, "source": "P", "release_to": ["board"]},
]
HOST = """
callers:
    alice: {parties: [board], boundary: inside}
    bob: {boundary: inside}
    eve: {parties: [board]}
owners: {c: finance}
"""


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "store.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return str(path)


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "host.yml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_who_the_callers_are_G8(tmp_path: Path) -> None:
    host = read_host(written(tmp_path, HOST))
    assert host and host.caller("alice") == Caller("alice", ("board",), "inside")
    assert host.caller("eve").boundary == "outside", "absence is not permission"
    with pytest.raises(InputError, match="no caller is called 'alic'; did you mean 'alice'"):
        host.caller("alic")


@pytest.mark.parametrize(("policy", "outcome"), [("", "B"), ("policy: abstain", None), ("policy: p\npolicies: {p: [source_rank]}\nsources: {P: 1, Q: 2}", "A")])
def test_the_host_says_who_decides_G4(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str, outcome: str | None) -> None:
    host = written(tmp_path, HOST + policy)
    assert cli.main(["ask", "c", "--as-of", "2026-03-01", "--caller", "bob", "--store", store, "--map", "written_by=written_by", "--host", host, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["answer"] or {}).get("record_id") == outcome
    assert answer["outcome"] == ("answered" if outcome else "abstained")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("callers: {k: {token: TOKENSECRET}}", "the token of caller 'k' is given as"),
        ("callers: {k: TOKENSECRET}", "caller 'k' is a mapping, got a text"),
        ("keys: [TOKENSECRET]", "keys is a mapping, got a list"),
        ("callers: {k: {boundary: outside}, k: {boundary: inside}}", "line 1: is not YAML: the key 'k' stands there twice"),
        ("callers: {k: {}}\ncallers: {}", "line 2: is not YAML: the key 'callers' stands there twice"),
        ("caller: {k: {}}", "'caller' is no part of a host file; did you mean 'callers'?"),
        ("callers: {k: {boundry: inside}}", "'boundry' is not understood; did you mean 'boundary'?"),
        ("callers: {k: {boundary: insid}}", "boundary is inside or outside, got 'insid'"),
        ("policy: lastest_valid_from", "there is no conflict policy 'lastest_valid_from'; did you mean 'latest_valid_from'?"),
        ("policies: {p: [latest]}", "'latest' is no criterion"),
        ("owners: [{concept: c, valid_from: 2026-02-30}]", "owners entry 1: valid_from: '2026-02-30' is no date"),
        ("owners: [{concept: c, valid_from: 2026-1-5}]", "'2026-1-5' is no date"),
        ("owners: {c: [a]}", "party is a text, got ['a']"),
        ("owners: [{party: a}]", "concept is a text, got None"),
        ("sources: {P: -1}", "rank is a whole number, 1 the most trusted, got '-1'"),
        ("concepts: {c: two}", "concept 'c' has one answer or several, got 'two'"),
        ("a: [" + "[" * 3000, "is nested too deep"),
        ("a: b: c", "line 1: is not YAML"),
        ("- a", "the file is a mapping, got a list"),
    ],
)
def test_what_a_host_file_may_not_say(tmp_path: Path, capsys: pytest.CaptureFixture[str], store: str, text: str, said: str) -> None:
    code = cli.main(["ask", "c", "--as-of", "2026-03-01", "--caller", "k", "--store", store, "--host", written(tmp_path, text)])
    error = capsys.readouterr().err
    assert code == 2 and said in error and error.count("\n") == 1, error
    assert "TOKENSECRET" not in error


@pytest.mark.parametrize("host", ["", "missing.yml", "."])
def test_a_host_file_is_a_file(store: str, capsys: pytest.CaptureFixture[str], host: str) -> None:
    assert cli.main(["ask", "c", "--as-of", "2026-03-01", "--caller", "k", "--store", store, "--host", host]) == 2
    assert f"{host!r} is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"concept": "c", "asof": "2026-03-01"}', "'asof' is no part of a question; did you mean 'as_of'?"),
        ('{"concept": "c", "known_on": 5}', "known_on is a text, got 5"),
        ('{"concept": "c", "caller": {"boundary": "inside"}}', "caller is a text"),
        ('{"concept": "c", "scope": 0}', "scope is a list of classes, got 0"),
        ('{"concept": "\\ud800"}', "half of a character"),
        ('{"concept": "c", "as_of": "2026-02-30"}', "'2026-02-30' is no date"),
        ('{"concept": "c", "store": "nix"}', "no attached store is called 'nix'"),
        ("[" * 100_000, "is not JSON"),
        ('{"concept": "c", "scope": [' + "9" * 5000 + "]}", "is not JSON"),
        ('"c"', "expected an object with a concept"),
    ],
)
def test_a_line_that_is_no_question_is_named(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, said: str) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"concept": "s"}\n' + line + "\n")
    arguments = ["ask", "--questions", str(questions), "--as-of", "2026-03-01", "--caller", "alice", "--host", written(tmp_path, HOST), "--store", store]
    code, printed = cli.main(arguments), capsys.readouterr()
    assert code == 2 and printed.out == "" and f"{questions} line 2: " in printed.err and said in printed.err, printed.err


def test_questions_are_answered_in_their_order(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = tmp_path / "questions.jsonl"
    lines = [
        {"concept": "s"},
        {"concept": "nix", "caller": "bob"},
        {"concept": "c", "as_of": "2026-01-15", "scope": ["x", "y"]},
        {"concept": "s", "caller": "bob"},
    ]
    questions.write_text("\ufeff" + "".join(json.dumps(line) + "\n\n" for line in lines))
    assert (
        cli.main(["ask", "--questions", str(questions), "--as-of", "2026-03-01", "--caller", "alice", "--host", written(tmp_path, HOST), "--store", store]) == 0
    )
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(answer["concept"], answer["caller"], answer["outcome"]) for answer in told] == [
        ("s", "alice", "answered"), ("nix", "bob", "empty"), ("c", "alice", "answered"), ("s", "bob", "refused"),
    ]  # fmt: skip
    assert told[2]["answer"]["record_id"] == "A" and "for the board" not in json.dumps(told[3])


def test_options_that_do_not_go_together(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"concept": "s"}\n')
    for arguments, said in (
        (["--questions", str(questions), "--scope", "x"], "each line of --questions says its own scope"),
        (["c", "--policy", "lastest"], "there is no conflict policy 'lastest'"),
        (["c", "--questions", str(questions)], "give a CONCEPT to ask about, or --questions FILE"),
        ([], "give a CONCEPT to ask about, or --questions FILE"),
    ):
        assert cli.main(["ask", *arguments, "--as-of", "2026-03-01", "--caller", "k", "--store", store]) == 2
        assert said in capsys.readouterr().err


def test_without_owners_a_read_of_attested_lines_says_so_T8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "attested.jsonl"
    path.write_text("".join(json.dumps({"written_by": "finance", "record": record}) + "\n" for record in RECORDS))
    assert cli.main(["as-of", "2026-03-01", "--store", str(path)]) == 0
    assert "no register says who owns what: no supersession has effect here" in capsys.readouterr().err


def test_questions_keep_to_the_store_that_the_command_names(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"concept": "data_retention"}\n{"concept": "data_retention", "store": "reference_edges"}\n')
    arguments = ["ask", "--questions", str(questions), "--as-of", "2026-10-01", "--caller", "legal", "--store", "reference", "--database", str(built)]
    assert cli.main(arguments) == 0
    assert [json.loads(line)["store"] for line in capsys.readouterr().out.splitlines()] == ["reference", "reference_edges"]


def test_an_undecided_policy_is_told_of_the_store_that_is_asked_only_T5() -> None:
    """T5: what another store lacks says nothing about this answer."""
    with duckdb.connect() as connection:
        connection.execute("create table stores as select unnest(['pages', 'mine']) as store_id, 'p' as policy_id")
        connection.execute("create table int_store_criteria as select store_id, []::varchar[] as criteria from stores")
        assert [notice.partition(":")[0] for notice in _undecided(connection, ("mine",))] == ["store 'mine'"]
        assert len(_undecided(connection, ("mine", "pages"))) == 2


# A store whose keys are not the roles', and one of another form: both looked empty without a word.
MAPPED = [{"id": "A", "thema": "c", "wert": "1", "ab": "2026-01-01", "bis": "2026-03-01"}]


@pytest.mark.parametrize("command", [["ask", "c", "--as-of", "2026-02-01", "--caller", "bob"], ["as-of", "2026-02-01"]])
def test_a_file_whose_records_name_no_concept_is_not_passed_over(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mapped.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in MAPPED))
    host = ["--host", written(tmp_path, HOST)] if command[0] == "ask" else []
    assert cli.main([*command, "--store", str(path), *host]) == 0
    assert "no record of 'mapped' names a concept under 'concept'" in capsys.readouterr().err
    mapping = "record_id=id,concept=thema,value=wert,valid_from=ab,valid_to=bis"
    assert cli.main([*command, "--store", str(path), *host, "--map", mapping]) == 0
    assert "names a concept" not in capsys.readouterr().err


def test_a_concept_that_is_not_held_is_told_with_one_like_it(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--as-of", "2026-03-01", "--caller", "bob", "--store", store, "--host", written(tmp_path, HOST)]
    assert cli.main(["ask", "C", *arguments]) == 0
    printed = capsys.readouterr()
    assert "not_held" in printed.out and "no record is about 'C'" in printed.err
    assert cli.main(["ask", "c", *arguments, "--known-on", "2026-03-01"]) == 0
    assert "3 records do not say when they were recorded" in capsys.readouterr().err


@pytest.mark.parametrize(("reading", "outcome"), [([], "answered"), (["--ends", "exclusive"], "empty"), (["--null-end", "unknown"], "answered")])
def test_every_governed_read_of_a_file_takes_how_its_ends_read_T2(reading: list[str], outcome: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mapped.csv"
    path.write_text("id,thema,wert,ab,bis\nA,c,1,2026-01-01,2026-03-01\n")
    mapping = "record_id=id,concept=thema,value=wert,valid_from=ab,valid_to=bis"
    shared = ["--as-of", "2026-03-01", "--caller", "bob", "--store", str(path), "--host", written(tmp_path, HOST), "--map", mapping, *reading]
    assert cli.main(["ask", "c", *shared, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == outcome
    assert cli.main(["sql", "select outcome from answers", *shared, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"outcome": outcome}]


def test_governed_sql_reads_a_store_of_any_form_F1(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memories = str(tmp_path / "memories.json")
    assert cli.main(["convert", store, "--from", "relational", "--to", "vector_memory", "--out", memories]) == 0
    shared = ["--as-of", "2026-03-01", "--caller", "bob", "--host", written(tmp_path, HOST), "--format", "json"]
    capsys.readouterr()
    told = []
    for named in ([store], [memories, "--form", "vector_memory"]):
        assert cli.main(["sql", "select concept_id, record_id, value from records order by all", *shared, "--store", *named]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1] and told[0]


@pytest.mark.parametrize("place", [".", ".."])
@pytest.mark.parametrize(
    "command",
    [
        ["ask", "c", "--as-of", "2026-03-01", "--caller", "bob"],
        ["sql", "from records", "--as-of", "2026-03-01", "--caller", "bob"],
        ["attest", "sign"],
        ["erase", "--record", "A", "--asked-by", "x", "--because", "y", "--by", "z"],
    ],
)
def test_the_folder_one_stands_in_is_named_like_any_other(
    command: list[str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here/in").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here/in")
    host = [] if command[0] == "erase" else ["--host", written(tmp_path, HOST)]
    code, error = cli.main([*command, "--store", place, *host]), capsys.readouterr().err
    assert code == 2 and error.count("\n") == 1, error


def test_pages_in_the_folder_one_stands_in_are_asked_by_its_name_F1(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages, host = tmp_path / "pages", written(tmp_path, HOST)
    assert cli.main(["convert", store, "--from", "relational", "--to", "documents", "--out", str(pages)]) == 0
    monkeypatch.chdir(pages)
    capsys.readouterr()
    assert cli.main(["ask", "c", "--as-of", "2026-03-01", "--caller", "bob", "--store", ".", "--form", "documents", "--host", host, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["store"] == "pages"


def test_what_a_value_holds_forges_no_line_of_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "forged.jsonl"
    path.write_text(json.dumps({**RECORDS[0], "value": "1\nforged: answered\n  A: 2\x1b[2J", "source": None}) + "\n")
    assert cli.main(["ask", "c", "--as-of", "2026-03-01", "--caller", "bob", "--store", str(path), "--host", written(tmp_path, HOST)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["forged: answered", "  A: 1\\nforged: answered\\n  A: 2\\x1b[2J  (no source, since 2026-01-01)"]
    assert lines.count("forged: answered") == 1


def test_a_statement_that_is_no_select_is_told_once(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    shared = ["--as-of", "2026-03-01", "--caller", "bob", "--store", store, "--host", written(tmp_path, HOST)]
    assert cli.main(["sql", "explain select * from records", *shared]) == 2
    assert capsys.readouterr().err == "gmem sql: only a select can be run\n" and caplog.text == ""


@pytest.mark.parametrize("name", ["pages", "store.yaml", "memories.json"])
def test_a_store_of_another_form_is_said_to_need_form_F1(name: str, store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forms = {"pages": "documents", "store.yaml": "dimension", "memories.json": "vector_memory"}
    path = str(tmp_path / name)
    assert cli.main(["convert", store, "--from", "relational", "--to", forms[name], "--out", path]) == 0
    shared = ["--as-of", "2026-03-01", "--caller", "bob", "--host", written(tmp_path, HOST)]
    capsys.readouterr()
    assert cli.main(["ask", "c", *shared, "--store", path]) == 2
    error = capsys.readouterr().err
    assert "a store of another form is read with --form" in error and error.count("\n") == 1, error
    assert cli.main(["ask", "c", *shared, "--store", path, "--form", forms[name]]) == 0
