"""`gmem serve --snapshots`: what is served is the newest snapshot that is whole, and nothing of any other (rule M11)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from memory_stores import NOON, cell, events, written
from sealed_folders import SECTION, host_keys
from test_mcp import GMEM, HERE

from governed_memory.cli import main
from governed_memory.log import LogWriter, canonical_event
from governed_memory.memory import MemoryStore
from governed_memory.reads.publish import publish
from governed_memory.sealed import Part, seal
from governed_memory.service.memory_tools import MEMORY_TOOLS
from governed_memory.service.packet_tools import PACKET_TOOLS
from governed_memory.service.proposal_tools import PROPOSAL_TOOLS
from governed_memory.service.tools import TOOLS
from governed_memory.snapshots import KIND, Sources, take
from governed_memory.snapshots.memory_log import put_log

AT = "2026-10-01T12:00:00.000000Z"
READS = {name for name, tool in (MEMORY_TOOLS | PROPOSAL_TOOLS).items() if tool.is_read_only}


@pytest.fixture(scope="module")
def place(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two snapshots, of a memory and a published file; the newer one names a cell that it does not hold."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "host.yml").write_text(json.dumps({"keys": SECTION, "callers": {"ann": {"boundary": "inside"}}}), encoding="utf-8")
    keys, root = host_keys(folder), folder / "snapshots"
    publish(folder / "example.published.duckdb", database=str(built))
    with MemoryStore(folder / "memory", keys=keys) as store:
        written(store, cell("a", "printer jam"), session_id="s")
    take(root, Sources(memory=folder / "memory", files=[folder / "example.published.duckdb"]), keys, NOON)
    with LogWriter(folder / "memory/log", keys=keys) as writer:
        broken = {"link_id": "l", "from_cell_id": "a", "to_cell_id": "gone", "link_type": "causal", "recorded_at": AT, "transition": "link"}
        writer.append({"links": [canonical_event(broken)]}, AT)

    def write(part: Part) -> dict[str, Any]:
        put_log(part, folder / "memory/log", None)
        return {"taken_at": AT, "memory": {}, "tables": {}, "files": [], "versions": {}}

    seal(root, KIND, write, keys)
    (folder / "live").mkdir()
    return folder


def asked(place: Path, call: Callable[[Client], Any], log: Path) -> Any:
    arguments = ["serve", f"--host={place / 'host.yml'}", "--caller=ann", f"--snapshots={place / 'snapshots'}", f"--memory={place / 'live'}"]
    server = StdioServerParameters(command=GMEM[0], args=[*GMEM[1:], *arguments], env={**os.environ, **HERE, "GMEM_DATABASE": "/none.duckdb"})

    async def session() -> Any:
        from mcp.client.stdio import stdio_client

        with log.open("w", encoding="utf-8") as told:
            async with Client(stdio_client(server, errlog=told)) as client:
                return await call(client)

    return anyio.run(session)


def test_m11_a_snapshot_with_a_missing_cell_is_refused_and_the_one_before_is_served(place: Path, tmp_path: Path) -> None:
    async def call(client: Client) -> Any:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        found = await client.call_tool("recall", {"query": "printer", "session": "s"})
        answer = await client.call_tool("ask", {"concept": "data_retention", "as_of": "2026-10-01", "store": "reference"})
        refused = await client.call_tool("remember", {"system": "episodic", "content": "x", "source": "y"})
        return tools, found.structured_content, answer.structured_content, refused.structured_content

    tools, found, answer, refused = asked(place, call, tmp_path / "log")
    assert [one["cell_id"] for one in found["cells"]] == ["a"]
    assert answer["answer"]["record_id"] == "M-603"
    # The copy that is served is not kept, so that nobody writes into it; what was read is noted where the memory lives.
    assert tools == {*TOOLS, *PACKET_TOOLS, *READS} and READS
    assert refused["error"]["code"] == "unknown_tool"
    assert [(event["read_kind"], event["found_ids"]) for event in events(place / "live", "reads")] == [("recall", ["a"]), ("ask", ["M-603"])]
    first, second, *_ = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert first.endswith("generation-000002: topology check failed: to_cell_id of 'l' in links names 'gone', which is not in cells")
    assert second.startswith(f"gmem serve: notice: served is generation 1 of {AT}, root ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--database=x.duckdb",), "leave out --database and a store file"),
        (("--memory=",), "name with --memory a memory to note the reads in"),
        (("--snapshots=none",), "'none' holds no sealed generations"),
        (("--host=keyless.yml",), "names no keys to verify snapshots with"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    place: Path, arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.delenv("GMEM_MEMORY", raising=False)
    (place / "keyless.yml").write_text(json.dumps({"callers": {"ann": {"boundary": "inside"}}}), encoding="utf-8")
    assert main(["serve", "--host=host.yml", "--caller=ann", "--snapshots=snapshots", "--memory=live", *arguments]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert told in line


def test_m11_nothing_is_served_where_no_snapshot_is_whole(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(place / "snapshots", tmp_path / "snapshots")
    (tmp_path / "snapshots/generation-000001/head.w001.json").unlink()
    assert main(["serve", f"--host={place / 'host.yml'}", "--caller=ann", f"--snapshots={tmp_path / 'snapshots'}", f"--memory={place / 'live'}"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "holds no snapshot that is whole, so nothing is served; refused: " in line and "head.w001.json is missing" in line
