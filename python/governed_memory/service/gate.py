"""What stands before the application of a server: it turns away what is too large, too slow or too much, and all that comes too late."""

from __future__ import annotations

import json
from collections.abc import Callable

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from governed_memory.service.lifecycle import Lifecycle
from governed_memory.service.limits import Limits

# Requests that say how the server stands are always answered, and need nothing of what is limited.
FREE = ("/health", "/ready", "/metrics")


class Gate:
    """Lets requests through to an application, or turns them away: 405, 408, 413, or 503 with when to come again."""

    def __init__(self, app: ASGIApp, limits: Limits, lifecycle: Lifecycle, turned_away: Callable[[str, int], None]) -> None:
        """Stand before an application; `turned_away` is told why a request was, and with which status."""
        self._app, self._limits, self._lifecycle, self._told = app, limits, lifecycle, turned_away

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"] in FREE:
            await self._app(scope, receive, send)
        elif scope["method"] not in ("POST", "GET") or (scope["method"] == "GET" and scope["path"] == "/mcp"):
            # Nothing is kept between requests, so there is no stream to listen to and no session to end.
            await self._turn_away(send, 405, "method", "use POST for /mcp", ("allow", "POST"))
        elif not self._lifecycle.takes_work:
            await self._turn_away(send, 503, self._lifecycle.state, f"the server is {self._lifecycle.state}", ("retry-after", "5"), ("connection", "close"))
        elif self._lifecycle.in_flight >= self._limits.requests:
            await self._turn_away(send, 503, "busy", "the server has too many requests at once", ("retry-after", "1"))
        else:
            await self._let_through(scope, receive, send)

    async def _let_through(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._lifecycle.in_flight += 1
        try:
            body = None
            with anyio.move_on_after(self._limits.request_seconds):
                body = await _body(receive, self._limits.request_bytes)
            if body is None:
                await self._turn_away(
                    send, 408, "slow", f"the request has not arrived within {self._limits.request_seconds:g} seconds", ("connection", "close")
                )
            elif len(body) > self._limits.request_bytes:
                await self._turn_away(send, 413, "large", f"a request has at most {self._limits.request_bytes} bytes", ("connection", "close"))
            else:
                await self._app(scope, _again(body, receive), send)
        finally:
            self._lifecycle.in_flight -= 1

    async def _turn_away(self, send: Send, status: int, reason: str, message: str, *headers: tuple[str, str]) -> None:
        self._told(reason, status)
        content = json.dumps({"error": {"code": reason, "message": message}}).encode()
        said = [("content-type", "application/json"), ("content-length", str(len(content))), *headers]
        await send({"type": "http.response.start", "status": status, "headers": [(name.encode(), value.encode()) for name, value in said]})
        await send({"type": "http.response.body", "body": content})


async def _body(receive: Receive, most: int) -> bytes:
    """What was sent; of what is too large, no more than says so."""
    found = bytearray()
    while len(found) <= most:
        message = await receive()
        if message["type"] != "http.request":
            break
        found += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(found)


def _again(body: bytes, receive: Receive) -> Receive:
    """What gives a body that was read, and then whatever comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received
