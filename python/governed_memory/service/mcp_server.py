"""The tools over MCP: on standard input and output for one caller, or over HTTP for whoever a bearer token says (rule G8)."""

from __future__ import annotations

import json
import logging
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller
from governed_memory.overlay.profile import mappings_csv, profile_yaml
from governed_memory.service.refusals import ToolError
from governed_memory.service.served import Served
from governed_memory.service.tokens import Tokens
from governed_memory.service.tools import call_tool, tools_of

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


def server(served: Served, who: Callable[[], Caller | None]) -> Server[Any]:
    """An MCP server over the stores; `who` says who calls, and None that nobody is known."""

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
            # Reading blocks; in a thread it keeps nobody else waiting.
            return _result(await anyio.to_thread.run_sync(partial(call_tool, served, caller, params.name, params.arguments or {})))
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
    _log_plainly()
    made = server(served, lambda: caller)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await made.run(incoming, outgoing, made.create_initialization_options())

    anyio.run(run)


def serve_http(served: Served, tokens: Tokens, address: str, port: int) -> None:
    """Serve whoever has a token, as streamable HTTP at /mcp, until interrupted. Port 0 takes a free one; standard error says which.

    Raises:
        InputError: the address cannot be listened at.
    """
    _log_plainly()
    listening = _listen(address, port)
    where = f"[{address}]" if ":" in address else address
    print(f"gmem serve: http://{where}:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    # Paths in an access log would be harmless; whatever a client puts into them would not be.
    config = uvicorn.Config(http_app(served, tokens, address), log_level="warning", access_log=False, server_header=False)
    anyio.run(partial(uvicorn.Server(config).serve, sockets=[listening]))


def http_app(served: Served, tokens: Tokens, address: str) -> Starlette:
    """The ASGI application of `serve_http`. Nothing is kept between requests, so that none rests on who sent an earlier one."""

    class Verifier:
        async def verify_token(self, token: str) -> AccessToken | None:
            caller = tokens.caller(token)
            # The token itself goes no further.
            return None if caller is None else AccessToken(token="", client_id=caller.name, scopes=[])

    def who() -> Caller | None:
        access = get_access_token()
        return None if access is None else served.host.callers.get(access.client_id)

    made = server(served, who)
    # No authorization server: the issuer is named because the SDK asks for one, and is published nowhere.
    auth = AuthSettings(issuer_url=AnyHttpUrl("http://localhost"), resource_server_url=None)
    return made.streamable_http_app(stateless_http=True, json_response=True, host=address, auth=auth, token_verifier=Verifier())


def _listen(address: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
    except OSError as error:
        raise InputError(f"--http: cannot listen at {address!r} port {port}: {error.strerror or error}") from error
    listening.listen()
    return listening


def _log_plainly() -> None:
    """Only errors, and of those only the line: a traceback could quote what was read."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.ERROR, handlers=[handler])


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"gmem serve: {record.getMessage()}"
