"""The tools over HTTP: MCP at /mcp and results of jobs at /jobs, for whoever a bearer token says (rule G8); and how the server stands, for who runs it.

POST /mcp                          streamable HTTP; nothing is kept between requests, so that none rests on who sent an earlier one
GET  /jobs/{job id}/files/{name}   a file of the result of a job of the caller's
GET  /health /ready /metrics       without a token; nothing of records or callers
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from functools import partial
from types import FrameType
from typing import Any

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from governed_memory.errors import InputError, one_line
from governed_memory.host.configuration import Caller
from governed_memory.service.calls import Calls
from governed_memory.service.gate import Gate
from governed_memory.service.job_tools import file_of, own_result
from governed_memory.service.jobs.worker import Worker
from governed_memory.service.json_log import Log, no_log
from governed_memory.service.lifecycle import Lifecycle, State
from governed_memory.service.limits import Limits
from governed_memory.service.mcp_server import log_plainly, server
from governed_memory.service.metrics import Metrics
from governed_memory.service.refusals import ToolError
from governed_memory.service.served import Served
from governed_memory.service.tokens import Tokens
from governed_memory.service.tools import opened_for_a_call

# How long a look at the stores is good for, in seconds.
LOOKED = 1.0
# What a job that is handed back, and connections that are closed, may take.
CLOSING = 5
STATUS = {"unauthenticated": 401, "not_found": 404, "not_done": 409, "outdated": 410, "timed_out": 504}


class HttpServer:
    """One server: what it serves, where it stands, and what it counts."""

    def __init__(self, served: Served, tokens: Tokens, limits: Limits, log: Log = no_log) -> None:
        """A server that has not begun."""
        self.served, self.tokens, self.limits, self.log = served, tokens, limits, log
        self.metrics = Metrics()
        self.lifecycle = Lifecycle(self._entered)
        self.calls = Calls(served, limits, self.metrics, log)
        self.worker = Worker(served.jobs.store, served.jobs.setting, self._job_log) if served.jobs else None
        self._looked_at, self._can_open = -LOOKED, False

    def app(self, address: str) -> ASGIApp:
        """The ASGI application."""
        routes = [
            Route("/health", self._health, methods=["GET"]),
            Route("/ready", self._ready, methods=["GET"]),
            Route("/metrics", self._numbers, methods=["GET"]),
        ]
        if self.served.jobs:
            routes.append(Route("/jobs/{job_id}/files/{name}", self._file, methods=["GET"]))
        # No authorization server: the issuer is named because the SDK asks for one, and is published nowhere.
        auth = AuthSettings(issuer_url=AnyHttpUrl("http://localhost"), resource_server_url=None)
        made = server(self.served, self._who, self.calls).streamable_http_app(
            stateless_http=True, json_response=True, host=address, auth=auth, token_verifier=_Verifier(self.tokens),
            max_request_body_size=self.limits.request_bytes, custom_starlette_routes=routes,
        )  # fmt: skip
        return Gate(made, self.limits, self.lifecycle, self._turned_away)

    def serve(self, address: str, port: int) -> None:
        """Serve until told to end, and end when what was under way has ended or was handed back.

        It is reached while it is starting, so that whoever runs it sees that it lives. When it is ready, standard error says where; port 0 takes a
        free one.

        Raises:
            InputError: the address cannot be listened at, or the stores cannot be read.
        """
        log_plainly()
        listening = _listen(address, port)
        where = f"[{address}]" if ":" in address else address
        # Paths in an access log would be harmless; whatever a client puts into them would not be.
        config = uvicorn.Config(
            self.app(address), log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=CLOSING, timeout_keep_alive=15
        )
        failed = anyio.run(self._run, config, listening, f"http://{where}:{listening.getsockname()[1]}/mcp")
        self.lifecycle.enter("stopped")
        if failed is not None:
            raise failed

    async def _run(self, config: uvicorn.Config, listening: socket.socket, url: str) -> InputError | None:
        """Serve; what kept it from starting, if something did."""
        told_to_end = anyio.Event()
        loop_server = _Server(config, told_to_end)
        working = threading.Thread(target=self._work, name="jobs", daemon=True)
        async with anyio.create_task_group() as group:
            group.start_soon(self._drain, told_to_end, loop_server, working)
            group.start_soon(partial(loop_server.serve, sockets=[listening]))
            try:
                notices = await anyio.to_thread.run_sync(self._notices)
            except InputError as error:
                told_to_end.set()
                return error
            for notice in notices:
                print(one_line(f"gmem serve: notice: {notice}"), file=sys.stderr)
            if self.worker:
                working.start()
            if self.lifecycle.enter("ready"):
                print(f"gmem serve: {url}", file=sys.stderr, flush=True)
        return None

    def _notices(self) -> list[str]:
        with self.served.opened() as opened:
            return list(opened.notices)

    async def _drain(self, told_to_end: anyio.Event, loop_server: _Server, working: threading.Thread) -> None:
        await told_to_end.wait()
        self.lifecycle.enter("draining")
        if self.worker:
            self.worker.stop(hands_back=False)
        until = time.monotonic() + self.limits.drain_seconds
        while (self.lifecycle.in_flight or working.is_alive()) and time.monotonic() < until and not loop_server.force_exit:
            await anyio.sleep(0.05)
        if self.worker:
            self.worker.stop(hands_back=True)
            if working.is_alive():
                await anyio.to_thread.run_sync(working.join, CLOSING)
        loop_server.should_exit = True

    def _work(self) -> None:
        assert self.worker is not None
        while self.lifecycle.state in ("starting", "ready"):
            try:
                self.worker.work(waits=True)
            except Exception as error:
                # A queue that cannot be used for a moment, such as on a full disk; reads go on meanwhile.
                self.log("jobs_stopped", why=type(error).__name__)
                time.sleep(1.0)

    def _entered(self, state: State) -> None:
        self.metrics.entered(state)
        self.log("state", state=state)

    def _job_log(self, event: str, **fields: Any) -> None:
        if "seconds" in fields:
            self.metrics.attempted(fields["kind"], fields.get("code") or fields.get("ended") or "handed_back", fields["seconds"])
        self.log(event, **fields)

    def _turned_away(self, reason: str, status: int) -> None:
        self.metrics.turned_away(reason)
        self.log("turned_away", reason=reason, status=status)

    def _who(self) -> Caller | None:
        access = get_access_token()
        return None if access is None else self.served.host.callers.get(access.client_id)

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"state": self.lifecycle.state}, headers={"cache-control": "no-store"})

    async def _ready(self, _: Request) -> Response:
        """Whether it answers: 200 where it is ready and the stores can be read, else 503."""
        stores = self.lifecycle.takes_work and await anyio.to_thread.run_sync(self._stores_can_be_read)
        told = {"state": self.lifecycle.state, "stores": "readable" if stores else "unavailable", "in_flight": self.lifecycle.in_flight}
        return JSONResponse(told, 200 if stores else 503, headers={"cache-control": "no-store"})

    async def _numbers(self, _: Request) -> Response:
        self.metrics.in_flight.set(self.lifecycle.in_flight)
        store = self.served.jobs.store if self.served.jobs else None
        standings = await anyio.to_thread.run_sync(store.standings) if store else None
        return Response(self.metrics.as_text(standings), media_type="text/plain; version=0.0.4")

    async def _file(self, request: Request) -> Response:
        caller = self._who()
        if caller is None:
            return _refused(ToolError("unauthenticated", "nobody is known to call"))
        job_id, name = request.path_params["job_id"], request.path_params["name"]

        def content(opens: Any) -> dict[str, Any]:
            with opened_for_a_call(self.served) as opened:
                opens(opened)
                return {"content": file_of(own_result(self.served, opened, caller, job_id), name)}

        try:
            told = await self.calls.counted(caller, "job_file", content)
        except ToolError as error:
            return _refused(error)
        return Response(told["content"], media_type="application/octet-stream", headers={"cache-control": "no-store"})

    def _stores_can_be_read(self) -> bool:
        if time.monotonic() - self._looked_at >= LOOKED:
            try:
                with opened_for_a_call(self.served):
                    self._can_open = True
            except ToolError:
                self._can_open = False
            self._looked_at = time.monotonic()
        return self._can_open


class _Server(uvicorn.Server):
    """Ends when what is under way has ended, and not by the signal itself; a second signal does not wait."""

    def __init__(self, config: uvicorn.Config, told_to_end: anyio.Event) -> None:
        super().__init__(config)
        self._told_to_end = told_to_end

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._told_to_end.is_set():
            self.should_exit = self.force_exit = True
        self._told_to_end.set()


class _Verifier:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        caller = self._tokens.caller(token)
        # The token itself goes no further.
        return None if caller is None else AccessToken(token="", client_id=caller.name, scopes=[])


def _refused(error: ToolError) -> Response:
    return JSONResponse(error.as_data(), STATUS.get(error.code, 503))


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
