"""Fifty clients of one server read and submit jobs for a minute, while the published file that it serves is replaced again and again.

    python python/benchmarks/service.py [SECONDS]

Works in a copy of the project, as readers.py does: each generation replaces the records of two concepts by ones with its number. They are built
before, and one takes the place of the former every few seconds. Forty-five clients read, a third of them outside the boundary; five submit jobs,
wait for them and take their results. Each pauses between calls, for a second in the middle.

An answer is of the right generation if both numbers in it are the same, and neither older than the one in place when it was asked for nor newer than the
one in place when it was told. Prints how many calls there were, what went wrong (bar 0), and how long calls took.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import httpx2
import readers
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

GENERATIONS, READERS, JOBBERS = 6, 45, 5
DAY, CONCEPTS = "2027-06-01", ["turn_a", "turn_b"]
NUMBER = re.compile(r"turn (\d{3})")
INSIDE, OUTSIDE = "token-of-legal", "token-of-stranger"


@dataclass
class Seen:
    """What happened."""

    generation: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    said: Counter[str] = field(default_factory=Counter)
    generations: set[int] = field(default_factory=set)

    def expect(self, text: str, since: int, what: str) -> None:
        """An answer of one generation that was in place at some time since."""
        numbers = {int(number) for number in NUMBER.findall(text)}
        if len(numbers) != 1 or not since <= min(numbers) <= self.generation:
            self.wrong.append(f"{what}: {numbers} where {since} to {self.generation} were in place")
        self.generations |= numbers


async def timed(client: Client, seen: Seen, tool: str, **given: Any) -> dict[str, Any]:
    begun_at = time.perf_counter()
    result = await client.call_tool(tool, given)
    seen.seconds.setdefault(tool, []).append(time.perf_counter() - begun_at)
    told = dict(result.structured_content or {})
    if "error" in told:
        seen.said[told["error"]["code"]] += 1
    return told


async def reader(client: Client, seen: Seen, draw: random.Random, until: float, is_inside: bool) -> None:
    while time.monotonic() < until:
        since, tool = seen.generation, draw.choice(("packet", "packet", "records_as_of", "ask", "history"))
        if tool == "packet":
            told = await timed(client, seen, tool, concepts=CONCEPTS, as_of=DAY)
        elif tool == "records_as_of":
            told = await timed(client, seen, tool, as_of=DAY, concept="turn_a")
        elif tool == "ask":
            told = await timed(client, seen, tool, concept="turn_a", as_of=DAY, store="reference")
        else:
            told = await timed(client, seen, tool, concept="turn_a")
        text = json.dumps(told)
        if "error" in told:
            seen.wrong.append(f"{tool}: {told['error']['code']}")
        elif not is_inside:
            if NUMBER.search(text):
                seen.wrong.append(f"{tool}: told somebody outside what is not released to them")
        elif tool != "history":
            seen.expect(text, since, tool)
        await anyio.sleep(draw.uniform(0.5, 1.5))


async def jobber(client: Client, seen: Seen, draw: random.Random, until: float, name: str) -> None:
    number = 0
    while time.monotonic() < until:
        number, since = number + 1, seen.generation
        job = await timed(client, seen, "submit_job", kind="packets", request=f"{name}-{number}", as_of=DAY, concepts=CONCEPTS)
        while "error" not in job and job["state"] in ("queued", "running"):
            await anyio.sleep(0.5)
            job = await timed(client, seen, "job", job_id=job["job_id"])
        if job.get("state") != "done":
            seen.wrong.append(f"job: {job}")
            continue
        result = await timed(client, seen, "job_result", job_id=job["job_id"], file="caller-0001.packets.jsonl")
        if "error" not in result:
            seen.expect(result["text"], since, "job_result")
        elif result["error"]["code"] != "outdated" or seen.generation == since:
            seen.wrong.append(f"job_result: {result['error']['code']}")
        seen.said["jobs done"] += 1
        await anyio.sleep(draw.uniform(0.5, 1.5))


async def replace(seen: Seen, generations: list[Path], published: Path, seconds: float) -> None:
    for number, path in enumerate(generations[1:], start=1):
        await anyio.sleep(seconds / len(generations))
        # What is asked for from now on may be of it; what was asked before may not be newer.
        seen.generation, before = number, seen.generation
        path.replace(published)
        seen.said["generations replaced"] += number - before


async def measured(url: str, generations: list[Path], published: Path, seconds: float) -> Seen:
    seen, until = Seen(), time.monotonic() + seconds

    async def connected(token: str, work: Callable[[Client], Awaitable[None]]) -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            try:
                await work(client)
            except Exception as error:
                seen.wrong.append(f"a client ended with {type(error).__name__}: {error}")

    async with anyio.create_task_group() as group:
        group.start_soon(replace, seen, generations, published, seconds)
        for number in range(READERS):
            draw, is_inside = random.Random(number), number % 3 > 0
            group.start_soon(connected, INSIDE if is_inside else OUTSIDE, lambda client, draw=draw, inside=is_inside: reader(client, seen, draw, until, inside))
        for number in range(JOBBERS):
            draw = random.Random(1000 + number)
            group.start_soon(connected, INSIDE, lambda client, draw=draw, number=number: jobber(client, seen, draw, until, f"client-{number}"))
    return seen


def main(seconds: float) -> int:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        for name in readers.COPIED:
            copy = shutil.copytree if (readers.ROOT / name).is_dir() else shutil.copy
            copy(readers.ROOT / name, project / name)
        environment = {
            **os.environ,
            "PYTHONPATH": str(project / "python"),
            "GMEM_DATABASE": str(project / "built.duckdb"),
            "INSIDE": INSIDE,
            "OUTSIDE": OUTSIDE,
        }
        generations = [built(project, environment, number) for number in range(GENERATIONS)]
        published = project / "published.duckdb"
        generations[0].replace(published)
        server = subprocess.Popen(
            [sys.executable, "-m", "governed_memory.cli", "serve", f"--host={host_file(project)}", f"--database={published}", "--http=127.0.0.1:0",
             f"--jobs={project / 'jobs'}", f"--log={project / 'log.jsonl'}"],
            cwd=project, env=environment, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert server.stderr
        line = server.stderr.readline()
        while "http://" not in line:
            line = server.stderr.readline()
        seen = anyio.run(measured, line.split()[-1], generations, published, seconds)
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=120)
    return told(seen, seconds, server.returncode)


def built(project: Path, environment: dict[str, str], number: int) -> Path:
    """A published file of one more generation."""
    path = project / f"generation-{number}.duckdb"
    failures = readers.turn(project, environment, path, number)
    if failures:
        raise SystemExit("\n".join(failures))
    print(f"generation {number + 1} of {GENERATIONS} is built", file=sys.stderr, flush=True)
    return path


def host_file(project: Path) -> Path:
    private = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )  # fmt: skip
    (project / "k1.pem").write_bytes(private)
    callers = {"legal": {"parties": ["legal"], "boundary": "inside", "token": {"env": "INSIDE"}}, "stranger": {"parties": [], "token": {"env": "OUTSIDE"}}}
    keys = {"active": "k1", "k1": {"algorithm": "ed25519", "file": "k1.pem"}}
    (project / "host.yml").write_text(json.dumps({"callers": callers, "keys": keys}), encoding="utf-8")
    return project / "host.yml"


def told(seen: Seen, seconds: float, ended_with: int) -> int:
    for tool, taken in sorted(seen.seconds.items()):
        taken.sort()
        print(f"{tool:14} {len(taken):6} calls  p50 {median(taken) * 1000:7.0f} ms  p99 {taken[int(len(taken) * 0.99)] * 1000:7.0f} ms")
    every = sorted(second for taken in seen.seconds.values() for second in taken)
    print(f"{'all':14} {len(every):6} calls  p50 {median(every) * 1000:7.0f} ms  p99 {every[int(len(every) * 0.99)] * 1000:7.0f} ms")
    print(f"{READERS + JOBBERS} clients, {seconds:g} s; generations seen {sorted(seen.generations)}; {dict(sorted(seen.said.items()))}")
    print(f"wrong {len(seen.wrong)} (bar 0); the server ended with {ended_with}")
    print("\n".join(seen.wrong[:20]), file=sys.stderr)
    return 1 if seen.wrong or ended_with else 0


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
