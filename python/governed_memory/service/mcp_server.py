"""The tools over MCP, whatever carries it; and on standard input and output, for one caller (rule G8)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from governed_memory.host.configuration import Caller
from governed_memory.overlay.profile import mappings_csv, profile_yaml
from governed_memory.service.calls import Answering, in_a_thread
from governed_memory.service.refusals import ToolError
from governed_memory.service.served import Served
from governed_memory.service.tools import tools_of

NAME = "governed-memory"
INSTRUCTIONS = (
    "Records that say since when they hold, who owns them and who may read them. Ask for a concept on a date; an answer is decided by rules and disclosed "
    "for you. Where it is refused, abstained or empty, say so: do not answer from another record. Cite record_id and source."
)
RESOURCES: dict[str, tuple[str, str, Callable[[], str]]] = {
    "governed-memory://profile": ("The profile: levels, fields and what was measured", "application/yaml", profile_yaml),
    "governed-memory://mappings": ("How other systems name the profile's fields", "text/csv", mappings_csv),
}
OF_MEMORY = " What you write with remember is evidence under your name, and recall finds it again; neither is an answer of record."
READS_ONLY = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# Something is added, and nothing is changed; the same again is the same.
ADDS = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def server(served: Served, who: Callable[[], Caller | None], answering: Answering | None = None) -> Server[Any]:
    """An MCP server over the stores.

    Args:
        served: the stores.
        who: says who calls, and None that nobody is known.
        answering: runs calls; as they come, where nothing else is said.
    """
    answered = answering or in_a_thread(served)

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tools = [
            types.Tool(name=name, description=tool.description, input_schema=tool.schema(), annotations=READS_ONLY if tool.is_read_only else ADDS)
            for name, tool in tools_of(served).items()
        ]
        return types.ListToolsResult(tools=tools)

    async def call(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        caller = who()
        if caller is None:
            return _result(ToolError("unauthenticated", "nobody is known to call").as_data(), is_error=True)
        try:
            return _result(await answered(caller, params.name, params.arguments or {}))
        except ToolError as error:
            return _result(error.as_data(), is_error=True)

    async def list_resources(_: Any, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        resources = [types.Resource(uri=uri, name=uri.partition("://")[2], description=text, mime_type=kind) for uri, (text, kind, _) in RESOURCES.items()]
        return types.ListResourcesResult(resources=resources)

    async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri not in RESOURCES:
            raise MCPError(code=types.INVALID_PARAMS, message=f"no resource is called {uri!r}; there are {', '.join(RESOURCES)}")
        _, kind, read = RESOURCES[uri]
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=read())])

    return Server(
        NAME,
        instructions=INSTRUCTIONS + (OF_MEMORY if served.memory and not served.memory.is_read_only else ""),
        on_list_tools=list_tools,
        on_call_tool=call,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _result(data: dict[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(data, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=data, is_error=is_error)


def serve_stdio(served: Served, caller: Caller) -> None:
    """Serve one caller on standard input and output until the input ends."""
    log_plainly()
    made = server(served, lambda: caller)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await made.run(incoming, outgoing, made.create_initialization_options())

    anyio.run(run)


def log_plainly() -> None:
    """Log to standard error, only errors, and of those only the line: a traceback could quote what was read."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.ERROR, handlers=[handler])


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"gmem serve: {record.getMessage()}"
