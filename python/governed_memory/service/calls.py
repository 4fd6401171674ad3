"""Calls of tools, as a server over HTTP runs them: so many at once, each within its time, counted and noted without what was asked or answered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import duckdb

from governed_memory.host.configuration import Caller
from governed_memory.reads.ask import Opened
from governed_memory.service.json_log import Log
from governed_memory.service.limits import Limits
from governed_memory.service.metrics import Metrics
from governed_memory.service.refusals import ToolError
from governed_memory.service.served import Served
from governed_memory.service.tools import call_tool, tools_of
from governed_memory.service.words import OUTCOMES

Answering = Callable[[Caller, str, Mapping[str, Any]], Awaitable[dict[str, Any]]]


def in_a_thread(served: Served) -> Answering:
    """Runs calls as they come. Reading blocks; in a thread it keeps nobody else waiting."""

    async def answer(caller: Caller, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        return await anyio.to_thread.run_sync(partial(call_tool, served, caller, name, given))

    return answer


class Calls:
    """Runs calls within limits."""

    def __init__(self, served: Served, limits: Limits, metrics: Metrics, log: Log) -> None:
        """Run calls of a server."""
        self._served, self._limits, self._metrics, self._log = served, limits, metrics, log
        self._turns = anyio.CapacityLimiter(limits.calls)

    async def __call__(self, caller: Caller, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a tool gives a caller.

        Raises:
            ToolError: whatever goes wrong, as `call_tool` has it; or it took too long.
        """
        return await self.counted(caller, name if name in tools_of(self._served) else "unknown", partial(call_tool, self._served, caller, name, given))

    async def counted(self, caller: Caller, tool: str, answer: Callable[[Callable[[Opened], None]], dict[str, Any]]) -> dict[str, Any]:
        """What an answer gives, which is told whom to tell of the stores that it opens.

        Raises:
            ToolError: it raises one, or it took too long.
        """
        begun_at, result, outcome = time.perf_counter(), "internal", None
        try:
            told = await self._within_its_time(answer)
            result, outcome = "ok", told.get("outcome")
            return told
        except ToolError as error:
            result = error.code
            raise
        finally:
            seconds = time.perf_counter() - begun_at
            self._metrics.called(tool, result, seconds)
            # Only words of ours: a frame has an outcome in the words of whoever saw it.
            said = outcome if isinstance(outcome, str) and outcome in OUTCOMES else result
            self._log("call", tool=tool, caller=caller.name, outcome=said, seconds=round(seconds, 4))

    async def _within_its_time(self, answer: Callable[[Callable[[Opened], None]], dict[str, Any]]) -> dict[str, Any]:
        stores: list[Opened] = []

        def run() -> dict[str, Any]:
            try:
                return answer(stores.append)
            finally:
                stores.clear()

        try:
            with anyio.move_on_after(self._limits.call_seconds):
                return await anyio.to_thread.run_sync(run, limiter=self._turns, abandon_on_cancel=True)
            raise ToolError("timed_out", f"it took longer than {self._limits.call_seconds:g} seconds and was broken off; ask for less, or submit a job")
        finally:
            # What nobody waits for any more is not looked for either; it may come to its end just now.
            for opened in tuple(stores):
                with suppress(duckdb.Error):
                    opened.connection.interrupt()
