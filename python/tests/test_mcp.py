"""`gmem serve` asked by real client sessions: who asks is never an argument, and what a caller may not see is as if it were not there (G5 to G8, C25)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from service_processes import over_http

from governed_memory import cli
from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller, Host, read_host
from governed_memory.service.refusals import ToolError
from governed_memory.service.served import Served
from governed_memory.service.tokens import Tokens
from governed_memory.service.tools import TOOLS, call_tool
from governed_memory.service.words import OUTCOMES, REASONS
from governed_memory.warehouse import StoreFile, fragment

SHARED = Path(os.environ.get("GMEM_SHARED") or Path(__file__).resolve().parents[3] / "shared")
PEPS = SHARED / "data" / "peps.jsonl"
GMEM = [sys.executable, "-m", "governed_memory.cli"]
# The modules under test, wherever they were installed from.
HERE = {"PYTHONPATH": str(Path(cli.__file__).parents[1])}
ALICE, BOB = "token-of-alice", "token-of-bob"
DAY = "2026-09-01"

OPEN = {"valid_to": None, "source": "POL-1", "concept_owner": "finance"}
RECORDS: list[dict[str, Any]] = [
    {"record_id": "M-1", "concept": "margin", "value": "SECRET-41 percent", "valid_from": "2026-01-01", **OPEN, "source": "BOARD-9", "release_to": ["finance"]},
    {"record_id": "D-1", "concept": "discount", "value": "up to 15 percent", "valid_from": "2025-01-01", **OPEN},
    {"record_id": "D-2", "concept": "discount", "value": "SECRET-7 audit", "valid_from": "2026-07-01", **OPEN, "supersedes": ["D-1"], "release_to": ["finance"]},
    {"record_id": "D-3", "concept": "discount", "value": "12 percent", "valid_from": "2026-10-01", **OPEN, "supersedes": ["D-2"]},
    {"record_id": "T-1", "concept": "travel", "value": "économie class", "valid_from": "2024-01-01", **OPEN, "applies_to": ["abroad"]},
    {"record_id": "T-2", "concept": "travel", "value": "by train", "valid_from": "2024-01-01", **OPEN},
    {"record_id": "P-1", "concept": "price", "value": "list", "valid_from": "2026-01-01", **OPEN, "release_to": ["sales"]},
    {"record_id": "W-1", "valid_from": "2026-08-01", "valid_to": None, "supersedes": ["M-1"], "withdrawal": "SECRET-REASON", "source": "BOARD-10"},
    {"record_id": "W-2", "concept": "travel", "valid_from": "2026-08-02", "valid_to": None, "supersedes": ["M-1"], "withdrawal": "SECRET-OTHER"},
]  # fmt: skip
HIDDEN_FROM_BOB = ("SECRET", "M-1", "D-2", "BOARD-9", "2026-07-01", "W-1")
HOST = {
    "callers": {
        "alice": {"parties": ["finance"], "boundary": "inside", "token": {"env": "TOKEN_OF_ALICE"}},
        "bob": {"parties": ["sales"], "boundary": "inside", "token": {"file": "bob.token"}},
        "carol": {"token": {"env": "TOKEN_OF_CAROL"}},
    },
    "owners": {"margin": "finance"},
}


def written(folder: Path, records: list[dict[str, Any]] = RECORDS) -> tuple[Path, Path]:
    """A store file and a host file."""
    store, host = folder / "store.jsonl", folder / "host.yml"
    store.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    host.write_text(json.dumps(HOST), encoding="utf-8")
    (folder / "bob.token").write_text(f"{BOB}\n", encoding="utf-8")
    return store, host


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over HTTP, as somebody starts it."""
    store, host = written(tmp_path_factory.mktemp("served"))
    environment = {**os.environ, **HERE, "TOKEN_OF_ALICE": ALICE, "TOKEN_OF_CAROL": "token-of-carol"}
    process = subprocess.Popen(
        [*GMEM, "serve", f"--host={host}", f"--store={store}", "--http=127.0.0.1:0"], env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stderr and process.stdout
    line = process.stderr.readline()
    assert line.startswith("gmem serve: http://127.0.0.1:"), line
    yield line.split()[-1]
    process.terminate()
    output, log = process.communicate(timeout=20)
    # Nothing of what was asked or answered is in a log.
    assert (output, log) == ("", "")


def call(url: str, token: str, tool: str, **given: Any) -> dict[str, Any]:
    """One call of a tool in a session of its own."""

    async def asked(client: Client) -> Any:
        return await client.call_tool(tool, given)

    return dict(over_http(url, token, asked).structured_content)


def everything(client: Client) -> Awaitable[str]:
    """All that the reads say on every concept."""

    async def asked() -> str:
        said = []
        for concept in ("margin", "discount", "travel", "price", "nothing"):
            said.append(await client.call_tool("explain", {"concept": concept, "as_of": DAY}))
            said.append(await client.call_tool("history", {"concept": concept}))
        for tool in ("records_as_of", "index"):
            said.append(await client.call_tool(tool, {"as_of": DAY}))
        said.append(await client.call_tool("records_as_of", {"as_of": DAY, "known_on": "2026-12-01"}))
        return "\n".join(result.model_dump_json() for result in said)

    return asked()


def test_nothing_of_a_withheld_record_reaches_another_caller_G7(url: str) -> None:
    """G5, G7, C25: every read, for who may see and who may not."""
    for_bob = over_http(url, BOB, everything)
    assert not [text for text in HIDDEN_FROM_BOB if text in for_bob]
    assert "by train" in for_bob and "P-1" in for_bob
    for_alice = over_http(url, ALICE, everything)
    assert "SECRET-7" in for_alice and "2026-07-01" in for_alice and '"P-1"' not in for_alice


def test_a_packet_in_two_steps_holds_exactly_what_was_chosen_F3_M9(url: str) -> None:
    for token, expected in ((ALICE, {"D-2", "T-2"}), (BOB, {"T-2", "P-1"})):
        index = call(url, token, "index", as_of=DAY)["records"]
        chosen = [entry["record_id"] for entry in index]
        packet = call(url, token, "packet", ids=[*chosen, "M-1"], as_of=DAY)
        assert {member["id"] for group in packet["manifest"]["groups"] for member in group["members"]} == expected
        assert packet["manifest"]["exclusions"] == []
        if token == BOB:
            assert not any(mark in json.dumps(packet | {"manifest": {**packet["manifest"], "inputs": None}}) for mark in HIDDEN_FROM_BOB)


def test_a_packet_by_words_keeps_to_its_budget_M9(url: str) -> None:
    packet = call(url, BOB, "packet", query="price discount train SECRET", as_of=DAY, budget=120)
    assert len(packet["text"]) <= 120
    assert [group["members"][0]["id"] for group in packet["manifest"]["groups"]] == ["P-1"]
    assert call(url, BOB, "packet", query="price", as_of=DAY, pins=["M-1"])["error"]["code"] == "invalid_argument"
    assert call(url, BOB, "packet", as_of=DAY)["error"]["code"] == "invalid_argument"
    assert call(url, BOB, "packet", query="price", as_of=DAY, budget=3)["error"]["code"] == "invalid_argument"
    assert call(url, BOB, "packet", query="price", as_of=DAY, form="html")["error"]["code"] == "invalid_argument"


def test_a_refused_question_gives_no_other_record_G6(url: str) -> None:
    """G6: D-1 is visible, and ended by what bob may not see: it answers nowhere."""
    assert call(url, BOB, "ask", concept="discount", as_of=DAY)["outcome"] == "refused"
    for tool in ("records_as_of", "index"):
        assert call(url, BOB, tool, concept="discount", as_of=DAY)["records"] == []
    [first, third] = call(url, BOB, "history", concept="discount")["records"]
    assert (first["record_id"], first["in_force_to"], first["end_reason"], first["ended_by"]) == ("D-1", "2026-06-30", "replaced", None)
    assert (third["record_id"], third["supersedes"]) == ("D-3", [])


def test_a_withheld_identifier_is_one_that_does_not_exist_C25(url: str) -> None:
    """C25, G7: by identifier, by concept, and as what a record would replace."""
    found = call(url, BOB, "get_records", record_ids=["M-1", "no-such", "T-2", "D-2", "T-2"], as_of=DAY)
    assert [record["record_id"] for record in found["records"]] == ["T-2"]
    assert found["not_found"] == ["M-1", "no-such", "D-2"]
    assert call(url, BOB, "history", concept="margin") == {**call(url, BOB, "history", concept="no-such"), "concept": "margin"}
    one, other = (judged(url, BOB, supersedes=name) for name in ("D-2", "X-9"))
    assert json.dumps(one).replace("D-2", "X-9") == json.dumps(other)
    taken, free = (judged(url, BOB, record_id=name) for name in ("D-2", "X-9"))
    assert json.dumps(taken).replace("D-2", "X-9") == json.dumps(free)
    assert "duplicate" in json.dumps(judged(url, ALICE, record_id="D-2"))


def judged(url: str, token: str, **said: Any) -> dict[str, Any]:
    record = {
        "record_id": "N-1",
        "concept": "discount",
        "value": "9 percent",
        "valid_from": "2026-11-01",
        "valid_to": None,
        "source": "S",
        "concept_owner": "finance",
    }
    return call(url, token, "check_record", record={**record, **said})


def test_a_record_is_judged_by_the_rules_before_it_is_written_L4(url: str) -> None:
    """L4: what it would end, what has no effect, and what fails, by rule."""
    good = judged(url, BOB, supersedes="D-3")
    assert (good["passes"], [record["record_id"] for record in good["ends"]], good["no_effect"]) == (True, ["D-3"], [])
    bad = judged(url, BOB, supersedes="X-9", valid_to="soon")
    assert bad["passes"] is False
    assert {"valid_to_invalid"} <= {finding["rule"] for finding in bad["findings"]}
    assert bad["no_effect"] == [{"record_id": "X-9", "reason": "points_at_nothing"}]
    assert judged(url, BOB, written_by="finance")["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize("argument", ["user_id", "caller", "principal", "parties", "boundary"])
def test_who_asks_is_no_argument_C25_G8(url: str, argument: str) -> None:
    """G8, C25: not accepted, and never read."""
    error = call(url, BOB, "ask", concept="margin", as_of=DAY, **{argument: "alice"})["error"]
    assert error["code"] == "unknown_argument" and argument in error["message"]


def test_without_parties_nothing_is_seen_C25(url: str) -> None:
    """C25, G5: no audience is none, not every one; an empty list of identifiers is no record, not all."""
    said = over_http(url, "token-of-carol", everything)
    assert not [record["record_id"] for record in RECORDS if record["record_id"] in said]
    assert call(url, "token-of-carol", "ask", concept="travel", as_of=DAY)["outcome"] == "refused"
    assert call(url, ALICE, "get_records", record_ids=[], as_of=DAY) == {"as_of": DAY, "records": [], "not_found": []}
    assert call(url, BOB, "ask", concept="travel", as_of=DAY, scope=[])["answer"]["record_id"] == "T-2"


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer", f"Bearer {ALICE}x", f"Basic {ALICE}", f"Bearer {ALICE.upper()}"])
def test_an_unknown_token_is_turned_away_G8(url: str, header: str | None) -> None:
    """G8: 401, before anything is read."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"Accept": "application/json, text/event-stream", **({"Authorization": header} if header else {})}
    response = httpx2.post(url, json=request, headers=headers)
    assert (response.status_code, response.json()["error"]) == (401, "invalid_token")


def test_callers_at_the_same_time_each_see_their_own_G8(url: str) -> None:
    """G8: no call is answered for the caller of another."""

    async def asked(client: Client) -> list[str]:
        found = [""] * 8

        async def one(place: int) -> None:
            found[place] = (await client.call_tool("ask", {"concept": "price", "as_of": DAY})).structured_content["outcome"]

        async with anyio.create_task_group() as group:
            for place in range(len(found)):
                group.start_soon(one, place)
        return found

    async def both() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}

        async def session(token: str) -> None:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                found[token] = await asked(client)

        async with anyio.create_task_group() as group:
            for token in (ALICE, BOB):
                group.start_soon(session, token)
        return found

    assert anyio.run(both) == {ALICE: ["refused"] * 8, BOB: ["answered"] * 8}


@pytest.mark.parametrize(
    ("tool", "given", "code"),
    [
        ("ask", {"concept": "margin", "as_of": "2026-9-1"}, "invalid_argument"),
        ("ask", {"concept": "margin", "as_of": DAY, "known_on": "soon"}, "invalid_argument"),
        ("ask", {"as_of": DAY}, "invalid_argument"),
        ("ask", {"concept": 7, "as_of": DAY}, "invalid_argument"),
        ("ask", {"concept": "margin", "as_of": DAY, "scope": "abroad"}, "invalid_argument"),
        ("ask", {"concept": "margin", "as_of": DAY, "store": "other"}, "invalid_argument"),
        ("check_record", {"record": {"record_id": "N", "valid_form": "2026-01-01"}}, "invalid_argument"),
        ("forget", {"record_id": "M-1"}, "unknown_tool"),
    ],
)
def test_a_call_that_cannot_be_answered_says_why_C25(url: str, tool: str, given: dict[str, Any], code: str) -> None:
    """One code and one line, no trace of the program."""
    error = call(url, BOB, tool, **given)["error"]
    assert error["code"] == code
    assert not re.search(r"Traceback|\n|select |duckdb|python", error["message"])


def test_quotes_in_arguments_are_text(url: str) -> None:
    """What is asked for is a value, whatever it holds."""
    for text in ("it's", "'; drop table records; --", "margin' or '1'='1", "__parties__", "a\x00b"):
        answer = call(url, BOB, "ask", concept=text, as_of=DAY)
        assert answer.get("outcome", "empty") == "empty", answer
        assert call(url, BOB, "history", concept=text).get("records", []) == []
        assert call(url, BOB, "get_records", record_ids=[text], as_of=DAY).get("records", []) == []


def test_an_answer_in_words_and_the_profile(url: str) -> None:
    """What an agent can say for a refusal, and the profile as a tool and as resources."""
    [said] = call(url, BOB, "explain", concept="margin", as_of="2026-05-01")["in_words"].values()
    assert OUTCOMES["refused"] in said and REASONS["not_released"] in said
    steps = call(url, BOB, "explain", concept="travel", as_of=DAY)["explanation"]
    assert [(step["step"], step["record_id"], step["code"]) for step in steps][-2:] == [(4, "T-2", "answers"), (5, None, "answered")]
    assert {field["field"] for field in call(url, BOB, "profile")["fields"]} >= {"valid_from", "release_to"}

    async def asked(client: Client) -> list[str]:
        listed = (await client.list_resources()).resources
        with pytest.raises(MCPError, match="no resource is called"):
            await client.read_resource("governed-memory://records")
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {*TOOLS, "packet"} and all(tool.annotations.read_only_hint for tool in tools)
        return [(await client.read_resource(str(resource.uri))).contents[0].text for resource in listed]

    profile, mappings = over_http(url, BOB, asked)
    assert profile.startswith("levels:") and mappings.startswith("field,")


def test_every_reason_has_words() -> None:
    """A code that SQL raises has a sentence of its own."""
    raised = set(re.findall(r"then '([a-z_]+)' end", fragment("worked_out", asked=""))) | {"scope_required", "not_held", "duplicate_record_id"}
    assert len(raised) > 10 and raised <= REASONS.keys()


def test_a_changed_file_answers_anew(tmp_path: Path) -> None:
    """No answer comes from a file as it was."""
    store, host = written(tmp_path)
    served = Served(StoreFile(str(store)), None, known(host))
    bob = Caller("bob", ("sales",), "inside")
    asked = {"concept": "travel", "as_of": DAY}
    assert call_tool(served, bob, "ask", asked)["answer"]["record_id"] == "T-2"
    newer = {"record_id": "T-3", "concept": "travel", "value": "by bus", "valid_from": "2026-08-01", **OPEN, "supersedes": "T-2"}
    store.write_text(store.read_text(encoding="utf-8") + json.dumps(newer) + "\n", encoding="utf-8")
    assert call_tool(served, bob, "ask", asked)["answer"]["record_id"] == "T-3"
    store.write_text('{"record_id": "SECRET-41"', encoding="utf-8")
    with pytest.raises(ToolError) as failed:
        call_tool(served, bob, "ask", asked)
    assert failed.value.code == "store_unavailable" and "SECRET" not in str(failed.value)


def test_a_store_of_another_form_is_served_and_read_anew_F1(tmp_path: Path) -> None:
    """Pages in a folder: what changes is a file in it."""
    store, host = written(tmp_path)
    pages = tmp_path / "pages"
    assert cli.main(["convert", str(store), "--from", "relational", "--to", "documents", "--out", str(pages)]) == 0
    served = Served(StoreFile(str(pages)), None, known(host), form="documents")
    bob = Caller("bob", ("sales",), "inside")
    asked = {"concept": "travel", "as_of": DAY}
    told = call_tool(served, bob, "ask", asked)
    assert (told["store"], told["answer"]["record_id"]) == ("pages", "T-2")
    newer = "\n\n## Concept: travel\n\n[T-3] By bus. In force from 2026-08-01 until further notice. Replaces [T-2].\n"
    with (pages / "statements.md").open("a", encoding="utf-8") as page:
        page.write(newer)
    assert call_tool(served, bob, "ask", asked)["answer"]["record_id"] == "T-3"
    assert call_tool(served, bob, "history", {"concept": "travel"})["records"]


def known(path: Path) -> Host:
    host = read_host(str(path))
    assert host is not None
    return host


def test_the_built_stores_are_served_together(built: Path) -> None:
    """Every attached store: one answer for each, and a record is judged with the project's registers."""
    served = Served(None, str(built), Host(callers={"a": Caller("a", ("everyone",), "inside")}))
    who = served.host.callers["a"]
    answer = call_tool(served, who, "ask", {"concept": "data_retention", "as_of": "2026-09-30"})
    assert {told["store"]: told["outcome"] for told in answer["answers"]}["reference"] == "answered"
    index = call_tool(served, who, "index", {"as_of": "2026-09-30", "store": "reference"})["records"]
    assert all("value" not in entry for entry in index)
    chosen = [entry["record_id"] for entry in index][:2]
    found = call_tool(served, who, "get_records", {"record_ids": chosen, "as_of": "2026-09-30", "store": "reference"})["records"]
    assert [record["record_id"] for record in found] == chosen and all(record["value"] for record in found)
    assert call_tool(served, who, "history", {"concept": "data_retention"})["records"]
    record = {"record_id": "N-1", "concept": "data_retention", "value": "v", "valid_from": "2026-12-01", "valid_to": None, "supersedes": "M-603"}
    with pytest.raises(ToolError, match="say for which store"):
        call_tool(served, who, "check_record", {"record": record})
    judgement = call_tool(served, who, "check_record", {"record": record, "store": "reference"})
    assert [ended["record_id"] for ended in judgement["ends"]] == ["M-603"]
    assert {finding["rule"] for finding in judgement["findings"]} >= {"source_missing"}


@pytest.mark.parametrize(
    ("callers", "said"),
    [
        ({"a": {}}, "no caller has a token"),
        ({"a": {"token": {"env": "NO_SUCH"}}}, "missing"),
        ({"a": {"token": {"env": "EMPTY"}}}, "empty"),
        ({"a": {"token": {"file": "no-such"}}}, "cannot be read"),
        ({"a": {"token": {"env": "ONE"}}, "b": {"token": {"file": "one"}}}, "have the same token"),
        ({"a": {"token": {"env": "SPACED"}}}, "characters"),
        ({"a": {"token": "very-secret"}}, "is given as {env: NAME} or {file: PATH}"),
        ({"a": {"token": {"env": "ONE", "file": "one"}}}, "is given as {env: NAME} or {file: PATH}"),
        ({"a": {"token": {}}}, "is given as {env: NAME} or {file: PATH}"),
    ],
)
def test_tokens_that_tell_nobody_apart_are_refused_at_the_start_G8(
    callers: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """G8: before anybody is served, in one line that holds no token."""
    for name, value in {"EMPTY": "", "ONE": "very-secret", "SPACED": "very secret"}.items():
        monkeypatch.setenv(name, value)
    store, host = written(tmp_path)
    (tmp_path / "one").write_text("very-secret\n", encoding="utf-8")
    host.write_text(json.dumps({"callers": callers}), encoding="utf-8")
    assert cli.main(["serve", f"--host={host}", f"--store={store}", "--http=127.0.0.1:0"]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and "very" not in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--caller=bob"], "--host"),
        (["--host={host}"], "--caller NAME"),
        (["--host={host}", "--caller=bob", "--http=127.0.0.1:0"], "--caller NAME"),
        (["--host={host}", "--caller=bobb"], "did you mean 'bob'"),
        (["--host={host}", "--http=8765"], "ADDRESS:PORT"),
        (["--host={host}", "--caller=bob", "--store=no-such.jsonl"], "no such file"),
    ],
)
def test_a_server_that_cannot_start_says_why_G8(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit 2."""
    monkeypatch.delenv("GMEM_HOST", raising=False)
    _, host = written(tmp_path)
    assert cli.main(["serve", *(argument.format(host=host) for argument in arguments)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_tokens_are_compared_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G8: a token stands for one caller, and a part of one for nobody."""
    monkeypatch.setenv("TOKEN_OF_ALICE", ALICE)
    monkeypatch.setenv("TOKEN_OF_CAROL", "token-of-carol")
    _, host = written(tmp_path)
    tokens = Tokens(known(host))
    assert [caller and caller.name for caller in map(tokens.caller, (ALICE, BOB, ALICE[:-1], "", "\udcff"))] == ["alice", "bob", None, None, None]
    with pytest.raises(InputError, match="no caller has a token"):
        Tokens(Host())


def test_without_the_extra_the_core_works_and_serve_says_what_to_install() -> None:
    """The core needs neither the SDK nor its HTTP server."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['mcp', 'mcp_types', 'uvicorn', 'starlette', 'anyio'])); "
        "from governed_memory.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    served = subprocess.run([sys.executable, "-c", code, "serve", "--caller=a"], capture_output=True, text=True, check=False, env={**os.environ, **HERE})
    assert served.returncode == 2 and "pip install 'governed-memory[mcp]'" in served.stderr and served.stderr.count("\n") == 1
    helped = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False, env={**os.environ, **HERE})
    assert helped.returncode == 0 and "serve" in helped.stdout


@pytest.mark.skipif(not PEPS.is_file(), reason=f"no real stores here: {PEPS} does not exist (GMEM_SHARED names another place)")
def test_questions_answered_by_hand_over_standard_input_and_output_T3_G4(tmp_path: Path) -> None:
    """T3, G4, G8: a real store with its authors as owners, where a question has one answer; and somebody outside gets none of it."""
    records = {record["record_id"]: record for record in map(json.loads, PEPS.read_text(encoding="utf-8").splitlines())}
    owners = [{"concept": record["concept"], "party": record["concept_owner"], "valid_from": record["valid_from"]} for record in records.values()]
    questions = [json.loads(line) for line in (SHARED / "data/questions/peps.jsonl").read_text(encoding="utf-8").splitlines()]
    # Where several are in force, the source means all of them (G10); else the concept has the one answer that any concept has.
    several = {question["concept"]: "several" for question in questions if len(question["in_force"]) > 1}
    callers = {"reader": {"parties": ["public"]}, "stranger": {"parties": []}}
    host = tmp_path / "host.yml"
    host.write_text(json.dumps({"callers": callers, "owners": owners, "policy": "abstain", "concepts": several}), encoding="utf-8")

    async def answers(caller: str) -> list[dict[str, Any]]:
        arguments = [*GMEM[1:], "serve", f"--host={host}", f"--caller={caller}", f"--store={PEPS}", "--map=written_by=concept_owner"]
        async with Client(StdioServerParameters(command=GMEM[0], args=arguments, env=HERE)) as client:
            found = []
            for question in questions:
                # The answers by hand are of every class at once.
                scope = sorted({name for record in records.values() if record["concept"] == question["concept"] for name in record["applies_to"]})
                result = await client.call_tool("ask", {"concept": question["concept"], "as_of": question["date"], "scope": scope})
                found.append(result.structured_content)
            return found

    for question, answer in zip(questions, anyio.run(answers, "reader"), strict=True):
        shown = [answer["answer"]] if answer["answer"] else answer["sides"] or []
        assert sorted(record["record_id"] for record in shown) == sorted(question["in_force"]), (question, answer)
        assert answer["outcome"] == ("answered" if question["in_force"] else "empty")
    withheld = anyio.run(answers, "stranger")
    assert {answer["outcome"] for answer, question in zip(withheld, questions, strict=True) if question["in_force"]} == {"refused"}
    assert not any("pep-" in json.dumps({**answer, "concept": ""}) for answer in withheld)
