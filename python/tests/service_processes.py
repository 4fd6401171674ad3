"""Real servers and real clients for tests of the service: a store, a host file with a key, `gmem serve` in a process, and sessions of callers."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from sealed_folders import SECTION, make_key

from governed_memory import cli
from governed_memory.host.configuration import Host, read_host
from governed_memory.service.jobs.job import Standing
from governed_memory.service.jobs.store import JobStore

GMEM = [sys.executable, "-m", "governed_memory.cli"]
ALICE, BOB = "token-of-alice", "token-of-bob"
DAY = "2026-09-01"
ENVIRONMENT = {**os.environ, "GMEM_DATABASE": "none.duckdb", "PYTHONPATH": str(Path(cli.__file__).parents[1]), "TOKEN_OF_ALICE": ALICE, "TOKEN_OF_BOB": BOB}
HOST = {
    "callers": {
        "alice": {"parties": ["finance"], "boundary": "inside", "token": {"env": "TOKEN_OF_ALICE"}, "jobs": ["packets", "bridge", "snapshot"]},
        "bob": {"parties": ["sales"], "boundary": "inside", "token": {"env": "TOKEN_OF_BOB"}},
    },
    "keys": SECTION,
}
# Of every fifth record bob may know nothing.
HIDDEN_FROM_BOB = "SECRET"


def record(number: int, **said: Any) -> dict[str, Any]:
    told = {"record_id": f"R-{number}", "concept": f"concept {number}", "value": f"value {number}", "valid_from": "2025-01-01", "valid_to": None, "source": "S"}
    hidden = {"concept": f"SECRET {number}", "value": f"SECRET value {number}", "release_to": ["finance"]} if number % 5 == 0 else {}
    return {**told, **hidden, **said}


def write_store(folder: Path, records: list[dict[str, Any]]) -> None:
    part = folder / "store.part"
    part.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    part.replace(folder / "store.jsonl")


def laid_out(folder: Path, count: int = 20) -> Path:
    """A store file with so many records, a host file and its key."""
    write_store(folder, [record(number) for number in range(count)])
    make_key(folder)
    (folder / "host.yml").write_text(json.dumps(HOST), encoding="utf-8")
    return folder


def host_of(place: Path) -> Host:
    host = read_host(str(place / "host.yml"))
    assert host is not None
    return host


@dataclass
class Running:
    """A server that runs."""

    process: subprocess.Popen[str]
    url: str

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    def get(self, path: str, token: str | None = None) -> httpx2.Response:
        return httpx2.get(f"{self.base}{path}", headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=60)

    def call(self, token: str, tool: str, **given: Any) -> dict[str, Any]:
        async def asked(client: Client) -> Any:
            return await client.call_tool(tool, given)

        return dict(over_http(self.url, token, asked).structured_content)

    def ended(self, token: str, job_id: str) -> dict[str, Any]:
        """A job when it has ended."""

        async def asked(client: Client) -> dict[str, Any]:
            while True:
                told = (await client.call_tool("job", {"job_id": job_id})).structured_content
                if told["state"] in ("done", "failed", "cancelled"):
                    return dict(told)
                await anyio.sleep(0.05)

        return dict(over_http(self.url, token, asked))

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def over_http(url: str, token: str, asked: Callable[[Client], Awaitable[Any]]) -> Any:
    """What a session with that token gives."""

    async def within() -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return await asked(client)

    return anyio.run(within)


@contextmanager
def serving(place: Path, *more: str) -> Iterator[Running]:
    """A server of a place, with jobs and a log, until the block ends or the server does."""
    running = started(place, *more)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
        running.process.communicate(timeout=60)


def started(place: Path, *more: str) -> Running:
    arguments = ["serve", f"--host={place / 'host.yml'}", f"--store={place / 'store.jsonl'}", "--http=127.0.0.1:0"]
    kept = [f"--jobs={place / 'jobs'}", f"--log={place / 'log.jsonl'}", *more]
    process = subprocess.Popen([*GMEM, *arguments, *kept], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    line = process.stderr.readline()
    assert line.startswith("gmem serve: http://127.0.0.1:"), line + process.stderr.read()
    return Running(process, line.split()[-1])


def job(place: Path, *arguments: str) -> list[str]:
    """A command line of `gmem job` for a place."""
    verb, *more = arguments
    host = [f"--host={place / 'host.yml'}"] if verb in ("submit", "run") else []
    store = [f"--store={place / 'store.jsonl'}"] if verb == "run" else []
    return ["job", verb, f"--jobs={place / 'jobs'}", *host, *store, *more]


def submitted(place: Path, request: str, *more: str, caller: str = "bob", kind: str = "packets") -> Standing:
    """A job that was submitted by an operator, for a caller."""
    of_packets = () if kind == "snapshot" else (f"--as-of={DAY}",)
    assert cli.main(job(place, "submit", kind, f"--caller={caller}", f"--request={request}", *of_packets, *more)) == 0
    return standing(place, request, caller)


def standing(place: Path, request: str, caller: str = "bob") -> Standing:
    [found] = [one for one in JobStore(place / "jobs").standings() if (one.job.caller, one.job.request) == (caller, request)]
    return found


def running_jobs(place: Path, *more: str) -> subprocess.Popen[str]:
    """A process that does the jobs of a place."""
    return subprocess.Popen([*GMEM, *job(place, "run", *more)], env=ENVIRONMENT, stderr=subprocess.DEVNULL, text=True)


def wait_until(is_so: Callable[[], Any], patience: float = 60.0) -> None:
    until = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < until, "it has not come to that"
        time.sleep(0.01)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def kill_while_running(place: Path, request: str, draw: random.Random, most: float) -> None:
    """Kill, without a warning, whoever does a job, some moment after it was begun; their process goes with them."""
    process = running_jobs(place, "--watch", "--attempts=1000")
    wait_until(lambda: standing(place, request).state != "queued")
    time.sleep(draw.uniform(0, most))
    process.kill()
    process.wait()


def main() -> None:
    """Kill so many times, each at another moment of another job; then each job has its result, once. `service_processes.py PLACE TIMES`."""
    place, times = Path(sys.argv[1]), int(sys.argv[2])
    place.mkdir(parents=True)
    laid_out(place, 1500)
    draw = random.Random(0)
    for number in range(times):
        submitted(place, f"kill-{number}")
        kill_while_running(place, f"kill-{number}", draw, 4.0)
    process = running_jobs(place, "--attempts=1000")
    assert process.wait() == 0
    print(results_once(place), "of", times, "jobs have one whole result;", sum(one.job.attempts for one in JobStore(place / "jobs").standings()), "attempts")


def results_once(place: Path) -> int:
    """How many jobs are done with exactly one result, which is whole; all of them have to be."""
    from governed_memory.sealed import generations, verified

    keys = host_of(place).keys
    assert keys is not None
    roots = set()
    standings = JobStore(place / "jobs").standings()
    for one in standings:
        [folder] = generations(place / "jobs" / "results" / one.job.job_id).values()
        roots.add(verified(folder, "packets", keys).root)
        assert one.state == "done", one
        assert {path.name for path in folder.parent.iterdir()} == {".lock", "latest", folder.name}
    # The same was asked for each time, so the same came out.
    assert len(roots) == 1
    return len(standings)


if __name__ == "__main__":
    main()
