"""Memory over MCP, asked by real client sessions: what an agent writes is its caller's own and evidence; what it may not read is as if it were not there
(C25, G5, G7, G8, M4, M5); and every governed read leaves an event before it is told (M5)."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pytest
from dbt_harness import DATABASE, dbt
from mcp import Client, StdioServerParameters
from service_processes import over_http
from test_mcp import DAY, GMEM, HERE, known, written

from governed_memory import cli
from governed_memory.host.configuration import Caller, Host
from governed_memory.log import LogWriter, rows_since
from governed_memory.memory import MemoryStore
from governed_memory.service.memory_tools import MEMORY_TOOLS
from governed_memory.service.proposal_tools import PROPOSAL_TOOLS
from governed_memory.service.refusals import ToolError
from governed_memory.service.served import Served
from governed_memory.service.shared_memory import SharedMemory
from governed_memory.service.tools import TOOLS, call_tool
from governed_memory.warehouse import StoreFile

NOW = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
NAMES = ("alice", "bob", "team", "team_a", "auditor")
HOST = {
    "callers": {
        "alice": {"parties": ["finance"], "boundary": "inside", "token": {"env": "TOKEN_ALICE"}},
        "bob": {"parties": ["sales"], "boundary": "inside", "token": {"env": "TOKEN_BOB"}},
        "team": {"boundary": "inside", "token": {"env": "TOKEN_TEAM"}},
        "team_a": {"boundary": "inside", "token": {"env": "TOKEN_TEAM_A"}},
        "auditor": {"boundary": "inside", "reads_all_sessions": True, "token": {"env": "TOKEN_AUDITOR"}},
    },
    "owners": {"margin": "finance"},
}
TOKENS = {f"TOKEN_{name.upper()}": f"token-of-{name}" for name in NAMES}
FRAME = {"scene": "office", "goal": "sell", "action": "call", "outcome": "sold"}
SEEN = {"system": "episodic", "content": "the customer asked for a discount", "source": "call 7"}


def told(memory: MemoryStore, principal: str, **cell: Any) -> str:
    """A cell that was there before anybody is served, in the session s1."""
    [outcome] = memory.write([{"system": "episodic", "source": "before", **cell}], principal=principal, session_id="s1", now=NOW)
    assert outcome.outcome == "written", outcome
    return str(outcome.target_id)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, a host file and a memory with cells of alice, one of them restricted, and one of bob that comes from one of hers."""
    folder = tmp_path_factory.mktemp("served")
    written(folder)
    (folder / "host.yml").write_text(json.dumps(HOST), encoding="utf-8")
    with MemoryStore(folder / "memory") as memory:
        cells = {
            "open": told(memory, "alice", content="SECRET-alpha discount", summary="SECRET-alpha"),
            "restricted": told(memory, "alice", content="SECRET-beta discount", release_to=["finance"]),
        }
        cells["of bob"] = told(memory, "bob", content="discount heard of", source_ids=[cells["open"]])
        memory.link([{"from_cell_id": cells["of bob"], "to_cell_id": cells["open"], "link_type": "causal", "reason": "SECRET-link"}], principal="root", now=NOW)
        # Both ends are bob's, the session in which it was told is not.
        other = told(memory, "bob", content="another of bob")
        link = {"from_cell_id": cells["of bob"], "to_cell_id": other, "link_type": "task", "reason": "SECRET-elsewhere"}
        memory.link([link], principal="alice", session_id="s1", now=NOW)
        [frame] = memory.bind([{**FRAME, "scene": "SECRET-scene", "steps": [cells["open"]]}], principal="alice", session_id="s1", now=NOW)
        cells["frame"] = str(frame.target_id)
    (folder / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def cells(place: Path) -> dict[str, str]:
    """The identifiers of those."""
    found: dict[str, str] = json.loads((place / "cells.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def url(place: Path) -> Iterator[str]:
    """A server over HTTP, as somebody starts it."""
    process = subprocess.Popen(
        [*GMEM, "serve", f"--host={place / 'host.yml'}", f"--store={place / 'store.jsonl'}", "--http=127.0.0.1:0", f"--memory={place / 'memory'}"],
        env={**os.environ, **HERE, **TOKENS}, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr and process.stdout
    line = process.stderr.readline()
    assert line.startswith("gmem serve: http://127.0.0.1:"), line
    yield line.split()[-1]
    process.terminate()
    output, log = process.communicate(timeout=20)
    # Nothing of what was asked, written or answered is in a log.
    assert (output, log) == ("", "")


def call(url: str, who: str, tool: str, **given: Any) -> dict[str, Any]:
    """One call over HTTP, in the session s1 unless it says another; `session=None` says none."""
    given = {name: value for name, value in {"session": "s1", **given}.items() if value is not None}

    async def asked(client: Client) -> Any:
        return await client.call_tool(tool, given)

    return dict(over_http(url, f"token-of-{who}", asked).structured_content)


def events(memory: Path, stream: str) -> list[dict[str, Any]]:
    """The committed events of a stream."""
    return [json.loads(row.event) for row in rows_since(memory / "log", None, {}, [stream])]


def test_what_an_agent_writes_is_evidence_under_its_callers_name_M4_G8(url: str, place: Path) -> None:
    """M4, G8: written once, found again with the parts of its score, and the log says who wrote it and where."""
    first = call(url, "bob", "remember", **SEEN)
    assert first == {"cell_id": first["cell_id"], "outcome": "written", "session": "s1", "written_by": "bob", "system": "episodic"}
    assert call(url, "bob", "remember", **SEEN) == {**first, "outcome": "held"}
    [event] = [event for event in events(place / "memory", "cells") if event["cell_id"] == first["cell_id"]]
    assert (event["principal"], event["session_id"], event["transition"]) == ("bob", "s1", "write")
    second = call(url, "bob", "remember", system="working", content="call the customer", source_ids=[first["cell_id"]], ttl_seconds=3600)
    linked = call(url, "bob", "link", from_cell_id=first["cell_id"], to_cell_id=second["cell_id"], link_type="causal", reason="asked for")
    assert linked["outcome"] == "written"
    found = call(url, "bob", "recall", query="customer asked")["cells"]
    assert [cell["cell_id"] for cell in found] == [first["cell_id"], second["cell_id"]]
    assert found[0]["why"]["matched_terms"] == 2 and found[1]["source_ids"] == [first["cell_id"]]
    [link] = call(url, "bob", "get_cell", cell_id=second["cell_id"])["cell"]["links"]
    assert (link["link_id"], link["reason"]) == (linked["link_id"], "asked for")
    framed = call(url, "bob", "observe_frame", **FRAME, steps=[second["cell_id"], first["cell_id"]])
    [frame] = [event for event in events(place / "memory", "frames") if event["frame_id"] == framed["frame_id"]]
    assert (frame["principal"], [step["cell_id"] for step in frame["steps"]]) == ("bob", [first["cell_id"], second["cell_id"]])


@pytest.mark.parametrize(
    ("tool", "given", "guard", "code"),
    [
        ("remember", {**SEEN, "system": "semantic"}, "policy", "approval_required"),
        ("remember", {**SEEN, "system": "procedural"}, "policy", "approval_required"),
        ("remember", {**SEEN, "system": "working"}, "type", "ttl_missing"),
        ("remember", {"system": "episodic", "content": "from nowhere"}, "provenance", "source_missing"),
        ("link", {"from_cell_id": "{of bob}", "to_cell_id": "{of bob}", "link_type": "causal"}, "type", "self_link"),
        ("observe_frame", {**FRAME, "steps": []}, "provenance", "steps_missing"),
        ("recall", {"query": "discount", "across_sessions": True}, "policy", "global_not_allowed"),
    ],
)
def test_a_refusal_says_which_condition_is_broken_M3(
    url: str, place: Path, cells: dict[str, str], tool: str, given: dict[str, Any], guard: str, code: str
) -> None:
    """M3, M4: the guard, its condition and what is expected, in the caller's result and in the log; nothing else is written."""
    named = {name: value.format(**cells) if isinstance(value, str) else value for name, value in given.items()}
    before = [len(events(place / "memory", stream)) for stream in ("cells", "links", "frames")]
    error = call(url, "bob", tool, **named)["error"]
    assert (error["guard"], error["code"]) == (guard, code)
    assert error["requirement"] and error["requirement"] in error["message"]
    assert [len(events(place / "memory", stream)) for stream in ("cells", "links", "frames")] == before
    last = events(place / "memory", "refusals")[-1]
    assert (last["principal"], last["guard"], last["code"]) == ("bob", guard, code)


def test_another_callers_cell_is_one_that_does_not_exist_C25_G7(url: str, cells: dict[str, str]) -> None:
    """C25, G7: read, linked, named as a source or as a step: word for word what a name gets that nobody holds."""
    own = call(url, "bob", "remember", **SEEN)["cell_id"]
    for hidden in (cells["open"], cells["restricted"], cells["frame"]):
        free = f"{hidden[:2]}{'0' * 32}"
        for tool, given in (
            ("get_cell", {"cell_id": "{}"}),
            ("link", {"from_cell_id": "{}", "to_cell_id": own, "link_type": "task"}),
            ("link", {"from_cell_id": own, "to_cell_id": "{}", "link_type": "conflict", "reason": "r"}),
            ("remember", {**SEEN, "content": "derived", "source_ids": ["{}"]}),
            ("remember", {**SEEN, "content": "derived", "source_ids": [own, "{}"]}),
            ("observe_frame", {**FRAME, "steps": ["{}"]}),
            ("observe_frame", {**FRAME, "steps": [own, "{}"]}),
        ):
            taken, other = (call(url, "bob", tool, **json.loads(json.dumps(given).replace("{}", name))) for name in (hidden, free))
            assert "error" in taken, (tool, taken)
            assert json.dumps(taken).replace(hidden, free) == json.dumps(other), tool
    # Also a cell of one's own, from another session.
    assert call(url, "bob", "get_cell", cell_id=own, session="s2")["error"]["code"] == "not_found"
    assert call(url, "bob", "link", from_cell_id=own, to_cell_id=cells["of bob"], link_type="task", session="s2")["error"]["code"] == "cell_unknown"


@pytest.mark.parametrize("argument", ["user_id", "principal", "caller", "parties", "cell_id", "link_id", "session_id", "recorded_at", "approval_id"])
def test_who_writes_and_under_which_identifier_is_no_argument_C25_G8(url: str, argument: str) -> None:
    """C25, G8: an identifier of one's own choosing could be another's; it is refused whether or not it is."""
    error = call(url, "bob", "remember", **SEEN, **{argument: "alice"})["error"]
    assert error["code"] == "unknown_argument" and argument in error["message"]


def test_sessions_are_each_callers_own_and_names_are_not_joined_C25(url: str) -> None:
    """C25: ("team", "a_b") and ("team_a", "b") are two keys, and one caller's session is not another's of that name."""
    written_by = {}
    for who, session in (("team", "a_b"), ("team_a", "b"), ("team", "b")):
        written_by[who, session] = call(url, who, "remember", **{**SEEN, "content": f"heard by {who} in {session}"}, session=session)["cell_id"]
    assert len(set(written_by.values())) == 3
    for (who, session), cell_id in written_by.items():
        assert [cell["cell_id"] for cell in call(url, who, "recall", query="heard", session=session)["cells"]] == [cell_id]
    same = [call(url, who, "remember", **SEEN, session="b")["cell_id"] for who in ("team", "team_a")]
    assert same[0] != same[1]
    assert call(url, "team", "recall", query="heard", session=None)["cells"] == []
    # Over HTTP a connection is no session.
    assert call(url, "team", "remember", **SEEN, session=None)["error"]["code"] == "invalid_argument"


def test_nothing_of_other_sessions_or_of_what_is_restricted_reaches_a_caller_G7(url: str, cells: dict[str, str]) -> None:
    """G5, G7: no content, no identifier and no link, in no answer and no refusal; whoever may read across sessions sees what is not restricted."""

    async def asked(client: Client) -> str:
        said = []
        for session in ("s1", "s2", "alice", '["alice","s1"]', "alice/s1"):
            for query in ("SECRET-alpha", "discount", "beta alpha link scene"):
                said.append(await client.call_tool("recall", {"query": query, "session": session, "include_expired": True, "most": 100}))
                said.append(await client.call_tool("recall", {"query": query, "session": session, "across_sessions": True}))
            said.append(await client.call_tool("get_cell", {"cell_id": cells["of bob"], "session": session}))
            said.append(await client.call_tool("remember", {**SEEN, "content": "SECRET", "session": session, "system": "semantic"}))
        return "\n".join(result.model_dump_json() for result in said)

    for_bob = over_http(url, "token-of-bob", asked)
    assert cells["of bob"] in for_bob
    assert not [text for text in ("SECRET-", cells["open"], cells["restricted"], cells["frame"]) if text in for_bob]
    for_auditor = over_http(url, "token-of-auditor", asked)
    assert "SECRET-alpha discount" in for_auditor
    assert not [text for text in ("SECRET-beta", cells["restricted"]) if text in for_auditor]
    assert "SECRET-beta" in over_http(url, "token-of-alice", asked)


def test_what_was_there_by_a_day_M5(url: str, cells: dict[str, str]) -> None:
    """M5: as of a day before it was written, a cell is not there."""
    for as_of, there in (("2026-10-31", False), ("2026-11-01", True)):
        found = call(url, "bob", "recall", query="heard", as_of=as_of)["cells"]
        assert (cells["of bob"] in [cell["cell_id"] for cell in found]) is there
        assert ("cell" in call(url, "bob", "get_cell", cell_id=cells["of bob"], as_of=as_of)) is there


def test_an_expired_working_cell_is_recalled_only_if_asked_for_M2(url: str) -> None:
    """M2."""
    over = {"system": "working", "content": "parked thought", "source": "me", "ttl_seconds": 5, "created_at": "2026-01-01T00:00:00"}
    cell_id = call(url, "bob", "remember", **over)["cell_id"]
    assert call(url, "bob", "recall", query="parked")["cells"] == []
    [found] = call(url, "bob", "recall", query="parked", include_expired=True)["cells"]
    assert (found["cell_id"], found["expired_at"]) == (cell_id, "2026-01-01T00:00:05Z")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("remember", {**SEEN, "confidence": True}),
        ("remember", {**SEEN, "event_index": 10**30}),
        ("remember", {**SEEN, "event_index": 1.5}),
        ("remember", {**SEEN, "source_ids": [1]}),
        ("remember", {**SEEN, "metadata": "m"}),
        ("remember", {**SEEN, "session": " "}),
        ("remember", {"content": "of no system"}),
        ("recall", {"query": "discount", "most": 0}),
        ("recall", {"query": "discount", "most": 101}),
        ("recall", {"query": "discount", "as_of": "soon"}),
        ("recall", {"query": 7}),
        ("get_cell", {"cell_id": "c", "across_sessions": "yes"}),
    ],
)
def test_a_call_that_cannot_be_answered_says_why(url: str, tool: str, given: dict[str, Any]) -> None:
    """One code, and one line that names the argument."""
    error = call(url, "bob", tool, **given)["error"]
    assert error["code"] == "invalid_argument" and "\n" not in error["message"]


def test_what_json_cannot_hold_is_refused_before_it_is_written(place: Path, tmp_path: Path) -> None:
    """Half of a character, or a number that is none: in whatever argument, and nothing is written."""
    with MemoryStore(tmp_path) as store:
        served = Served(StoreFile(str(place / "store.jsonl")), None, Host(), SharedMemory(store, "own"))
        bad = [
            ("remember", {**SEEN, **over})
            for over in ({"content": "\ud800"}, {"confidence": float("nan")}, {"metadata": {"a": [float("inf")]}}, {"session": "\ud800"})
        ]
        for tool, given in [*bad, ("recall", {"query": "\ud800"}), ("get_cell", {"cell_id": "\ud800"})]:
            with pytest.raises(ToolError) as failed:
                call_tool(served, Caller("bob"), tool, given)
            assert failed.value.code == "invalid_argument"
        assert events(tmp_path, "cells") == events(tmp_path, "reads") == []


def test_memory_is_offered_only_where_there_is_one_and_says_that_it_writes(url: str, place: Path) -> None:
    """The tools that add something say so; without --memory there are none of them."""

    async def listed(client: Client) -> dict[str, Any]:
        return {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    tools = over_http(url, "token-of-bob", listed)
    assert tools.keys() == {*TOOLS, "packet", *MEMORY_TOOLS, *PROPOSAL_TOOLS}
    assert {name for name, annotations in tools.items() if not annotations.read_only_hint} == {"remember", "link", "observe_frame", "propose"}
    assert not [name for name, annotations in tools.items() if annotations.destructive_hint or not annotations.idempotent_hint]
    served = Served(StoreFile(str(place / "store.jsonl")), None, Host())
    with pytest.raises(ToolError, match="no tool is called"):
        call_tool(served, Caller("bob"), "remember", SEEN)


def test_on_standard_input_and_output_a_connection_is_a_session(place: Path, tmp_path: Path) -> None:
    """M5: session-local without a name; with one, the caller's next connection goes on there. GMEM_MEMORY names the memory as --memory does."""
    arguments = ["serve", f"--host={place / 'host.yml'}", "--caller=bob", f"--store={place / 'store.jsonl'}"]
    parameters = StdioServerParameters(command=GMEM[0], args=[*GMEM[1:], *arguments], env={**HERE, "GMEM_MEMORY": str(tmp_path / "memory")})

    async def connection(number: int) -> tuple[str, list[int]]:
        async with Client(parameters) as client:
            own = (await client.call_tool("remember", {**SEEN, "content": f"unnamed {number}"})).structured_content
            await client.call_tool("remember", {**SEEN, "content": f"named {number}", "session": "project"})
            unnamed, named = [
                (await client.call_tool("recall", given)).structured_content for given in ({"query": "unnamed"}, {"query": "named", "session": "project"})
            ]
            assert unnamed["session"] == own["session"]
            return own["session"], [len(unnamed["cells"]), len(named["cells"])]

    (first, found), (second, found_later) = (anyio.run(connection, number) for number in range(2))
    assert first != second
    assert (found, found_later) == ([1, 1], [1, 2])


def test_callers_and_other_processes_write_at_the_same_time(url: str, place: Path) -> None:
    """What each is told was written is there, under their own name; what another process commits is seen by the next call."""

    def saying(session: str) -> Any:
        async def asked(client: Client) -> list[str]:
            names: list[str] = []

            async def one(number: int) -> None:
                told = await client.call_tool("remember", {**SEEN, "content": f"crowd {number}", "session": session})
                names.append(told.structured_content["cell_id"])

            async with anyio.create_task_group() as group:
                for number in range(6):
                    group.start_soon(one, number)
            return names

        return asked

    with MemoryStore(place / "memory") as beside:
        found = {who: over_http(url, f"token-of-{who}", saying("crowd")) for who in ("alice", "bob")}
        beside.write([{**SEEN, "content": "crowd beside"}], principal="bob", session_id="crowd", now=NOW)
        seen = {who: {cell["cell_id"] for cell in call(url, who, "recall", query="crowd", session="crowd", most=100)["cells"]} for who in found}
    assert [len(seen[who]) for who in ("alice", "bob")] == [6, 7]
    assert all(set(names) <= seen[who] for who, names in found.items()) and not seen["alice"] & seen["bob"]


def test_every_governed_read_leaves_an_event_M5_G7(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """M5, G7: of tools and of commands, who read what and what was shown; no identifier that was withheld, and no value; and dbt reads it."""
    store, host = written(tmp_path)
    memory, bob = tmp_path / "memory", Caller("bob", ("sales",), "inside")
    with MemoryStore(memory) as opened:
        served = Served(StoreFile(str(store)), None, known(host), SharedMemory(opened, "own"))
        for tool, given in (
            ("ask", {"concept": "discount", "as_of": DAY}),
            ("explain", {"concept": "travel", "as_of": DAY}),
            ("index", {"as_of": DAY}),
            ("records_as_of", {"concept": "price", "as_of": DAY}),
            ("get_records", {"record_ids": ["M-1", "T-2", "D-2"], "as_of": DAY}),
            ("history", {"concept": "discount"}),
            ("check_record", {"record": {"record_id": "M-1", "concept": "discount", "value": "v", "valid_from": "2026-11-01", "supersedes": ["D-2", "D-3"]}}),
            ("profile", {}),
        ):
            call_tool(served, bob, tool, given)
        with pytest.raises(ToolError):
            call_tool(served, bob, "get_cell", {"cell_id": "c_hidden"})
    monkeypatch.setenv("GMEM_MEMORY", str(memory))
    asked = ["--caller=bob", f"--host={host}", f"--store={store}", f"--as-of={DAY}"]
    assert cli.main(["ask", "travel", *asked]) == 0
    assert cli.main(["ask", "travel", "--explain", *asked]) == 0
    assert cli.main(["sql", "select record_id, 'BOARD-9' as x from records where value <> 'SECRET-7 audit'", *asked]) == 0
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"concept": "discount"}\n{"concept": "price", "caller": "alice"}\n', encoding="utf-8")
    assert cli.main(["ask", f"--questions={questions}", *asked]) == 0
    capsys.readouterr()
    run = dbt(tmp_path, "run", "--select", "+read_events", "--vars", json.dumps({"memory": {"log": str(memory / "log")}}))
    assert run.returncode == 0, run.stdout + run.stderr
    with duckdb.connect(str(tmp_path / DATABASE), read_only=True) as connection:
        rows = connection.sql("select read_kind, principal, query, on_date::varchar, outcome, found_ids from read_events order by writer, seq").fetchall()
    by_kind = {(row[0], row[1], row[2]): row[3:] for row in rows}
    assert len(rows) == len(by_kind) + 2 == 13  # two questions were asked twice
    assert by_kind["ask", "bob", "discount"] == (DAY, "refused", [])
    assert by_kind["ask", "alice", "price"] == (DAY, "refused", [])
    assert by_kind["explain", "bob", "travel"] == (DAY, "answered", ["T-2", "T-1"])
    assert by_kind["index", "bob", None] == (DAY, "found", ["P-1", "T-2"])
    assert by_kind["records_as_of", "bob", "price"] == (DAY, "found", ["P-1"])
    assert by_kind["get_records", "bob", None] == (DAY, "found", ["T-2"])
    assert by_kind["history", "bob", "discount"] == (None, "found", ["D-1", "D-3"])
    assert by_kind["check_record", "bob", "discount"] == (None, "found", ["D-3"])
    assert by_kind["show", "bob", None] == (None, "nothing", [])
    assert by_kind["ask", "bob", "travel"] == (DAY, "answered", ["T-2"])
    [(_, _, statement)] = [key for key in by_kind if key[0] == "sql"]
    assert by_kind["sql", "bob", statement] == (DAY, "found", ["P-1", "T-2"])
    log = b"".join(path.read_bytes() for path in memory.rglob("*.jsonl")).decode()
    assert not [text for text in ("M-1", "D-2", "SECRET", "BOARD-9", "W-1", "by train", "percent", "c_hidden") if text in log]


def test_without_a_memory_a_read_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No folder appears where none is asked for."""
    store, host = written(tmp_path)
    before = sorted(tmp_path.iterdir())
    monkeypatch.delenv("GMEM_MEMORY", raising=False)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["ask", "travel", "--caller=bob", f"--host={host}", f"--store={store}", f"--as-of={DAY}"]) == 0
    assert "T-2" in capsys.readouterr().out and sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", [["ask", "travel"], ["ask", "travel", "--json"], ["sql", "select * from records"]])
@pytest.mark.parametrize("fails", ["opening", "writing", "naming"])
def test_a_read_that_cannot_be_noted_is_not_told_M5(
    command: list[str], fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """M5: one clear line, and nothing of the answer."""
    store, host = written(tmp_path)
    memory = tmp_path / "memory"
    if fails == "opening":
        memory.write_text("no folder", encoding="utf-8")
    elif fails == "writing":
        # Where the next head would be put there is a folder.
        (memory / "heads").mkdir(parents=True)
        monkeypatch.setattr(LogWriter, "_commit", _full)
    assert cli.main([*command, "--caller=bob", f"--host={host}", f"--store={store}", f"--as-of={DAY}", f"--memory={memory}"]) == 2
    output, error = capsys.readouterr()
    assert output == "" and "by train" not in error and error.count("\n") == 1 and "log" in error


def _full(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_tool_that_cannot_note_its_read_tells_nothing_M5(place: Path, tmp_path: Path) -> None:
    """M5: over MCP the same, without the path; and a memory that cannot be used says so."""
    store = MemoryStore(tmp_path)
    served = Served(StoreFile(str(place / "store.jsonl")), None, Host(), SharedMemory(store, "own"))
    bob = Caller("bob", ("sales",), "inside")
    assert call_tool(served, bob, "ask", {"concept": "travel", "as_of": DAY})["outcome"] == "answered"
    store._writer.close()
    for tool, given, code in (
        ("ask", {"concept": "travel", "as_of": DAY}, "read_not_noted"),
        ("history", {"concept": "travel"}, "read_not_noted"),
        ("recall", {"query": "anything"}, "memory_unavailable"),
        ("remember", SEEN, "memory_unavailable"),
    ):
        with pytest.raises(ToolError) as failed:
            call_tool(served, bob, tool, given)
        assert failed.value.code == code and str(tmp_path) not in str(failed.value)


def test_a_damaged_memory_keeps_the_server_from_starting(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit 2, before anybody is served."""
    with MemoryStore(tmp_path) as memory:
        told(memory, "bob", content="whole")
    (tmp_path / "heads/w001.json").unlink()
    arguments = ["serve", f"--host={place / 'host.yml'}", f"--store={place / 'store.jsonl'}", "--caller=bob", f"--memory={tmp_path}"]
    assert cli.main(arguments) == 2
    error = capsys.readouterr().err
    assert "head" in error and error.count("\n") == 1
