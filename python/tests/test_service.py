"""A server over HTTP as whoever runs it has it: where it stands, what it takes on, what it counts and notes, and how it ends (rule M13)."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from service_processes import ALICE, BOB, DAY, ENVIRONMENT, GMEM, HIDDEN_FROM_BOB, Running, laid_out, record, serving, wait_until, write_store

from governed_memory import cli
from governed_memory.errors import InputError
from governed_memory.service.lifecycle import Lifecycle
from governed_memory.service.limits import Limits

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ASK = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {"concept": "concept 1", "as_of": DAY}}}
ACCEPT = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return laid_out(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Running]:
    """One with small limits."""
    with serving(place, "--request-bytes=2000", "--request-seconds=1", "--requests=2") as running:
        yield running


def numbers(server: Running) -> dict[tuple[str, ...], float]:
    """{(name, label values...): value} of /metrics, by a parser of the format."""
    families = text_string_to_metric_families(server.get("/metrics").text)
    return {(sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value for family in families for sample in family.samples}


def post(server: Running, token: str, content: bytes, **headers: str) -> httpx2.Response:
    said = {"Authorization": f"Bearer {token}", "Accept": ACCEPT, "Content-Type": "application/json", **headers}
    return httpx2.post(server.url, content=content, headers=said, timeout=60)


class Half:
    """A request of which one half is sent."""

    def __init__(self, server: Running, body: bytes = json.dumps(ASK).encode()) -> None:
        host, port = server.base.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {BOB}\r\nAccept: {ACCEPT}\r\nContent-Type: application/json\r\n"
        self.socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:10])
        self.rest = body[10:]

    def finish(self) -> str:
        """Send the rest, and read the answer."""
        self.socket.sendall(self.rest)
        return self.answer()

    def answer(self) -> str:
        found = b""
        self.socket.settimeout(30)
        while b"\r\n\r\n" not in found or len(found.split(b"\r\n\r\n", 1)[1]) < int(found.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            block = self.socket.recv(65536)
            assert block, found
            found += block
        self.socket.close()
        return found.decode()


def test_who_runs_it_sees_that_it_lives_and_whether_it_answers(server: Running, place: Path) -> None:
    health, ready = server.get("/health"), server.get("/ready")
    assert (health.status_code, health.json()) == (200, {"state": "ready"})
    assert (ready.status_code, ready.json()) == (200, {"state": "ready", "stores": "readable", "in_flight": 0})
    (place / "store.jsonl").write_text('{"record_id": "SECRET', encoding="utf-8")
    wait_until(lambda: server.get("/ready").status_code == 503)
    assert server.get("/ready").json() == {"state": "ready", "stores": "unavailable", "in_flight": 0}
    assert server.get("/health").status_code == 200
    write_store(place, [record(number) for number in range(20)])
    wait_until(lambda: server.get("/ready").status_code == 200)


def test_what_it_counts_is_as_prometheus_reads_it(server: Running) -> None:
    before = numbers(server)
    server.call(BOB, "ask", concept="concept 1", as_of=DAY)
    server.call(BOB, "ask", concept="concept 1", as_of="soon")
    server.call(BOB, "made up")
    after = numbers(server)
    for result, tool in (("ok", "ask"), ("invalid_argument", "ask"), ("unknown_tool", "unknown")):
        key = ("gmem_calls_total", result, tool)
        assert after[key] - before.get(key, 0) == 1, key
    assert after["gmem_call_seconds_count", "ask"] == after["gmem_calls_total", "ok", "ask"] + after["gmem_calls_total", "invalid_argument", "ask"]
    assert (after["gmem_state", "ready"], after["gmem_state", "draining"]) == (1, 0)
    assert ("gmem_jobs", "queued") in after and "made" not in server.get("/metrics").text


@pytest.mark.parametrize("headers", [{}, {"Transfer-Encoding": "chunked"}])
def test_a_request_that_is_too_large_is_turned_away(server: Running, headers: dict[str, str]) -> None:
    before = numbers(server).get(("gmem_turned_away_total", "large"), 0)
    content = json.dumps({**ASK, "more": "x" * 2000}).encode()
    told = post(server, BOB, content, **headers) if not headers else _chunked(server, content)
    assert (told.status_code, told.json()["error"]["code"]) == (413, "large")
    assert numbers(server)["gmem_turned_away_total", "large"] == before + 1
    assert post(server, BOB, json.dumps(LIST).encode()).status_code == 200


def _chunked(server: Running, content: bytes) -> httpx2.Response:
    pieces = (content[start : start + 100] for start in range(0, len(content), 100))
    return httpx2.post(server.url, content=pieces, headers={"Authorization": f"Bearer {BOB}", "Accept": ACCEPT, "Content-Type": "application/json"}, timeout=60)


def test_a_request_that_arrives_too_slowly_is_turned_away(server: Running) -> None:
    assert Half(server).answer().startswith("HTTP/1.1 408 ")


def test_more_requests_than_it_takes_on_are_turned_away_and_none_is_lost(server: Running) -> None:
    halves = [Half(server), Half(server)]
    wait_until(lambda: server.get("/ready").json()["in_flight"] == 2)
    told = post(server, BOB, json.dumps(LIST).encode())
    assert (told.status_code, told.json()["error"]["code"], told.headers["retry-after"]) == (503, "busy", "1")
    assert all(half.finish().startswith("HTTP/1.1 200 ") for half in halves)
    wait_until(lambda: server.get("/ready").json()["in_flight"] == 0)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_hold_open(server: Running, method: str) -> None:
    told = httpx2.request(method, server.url, headers={"Authorization": f"Bearer {BOB}", "Accept": ACCEPT})
    assert (told.status_code, told.headers["allow"]) == (405, "POST")


def test_a_call_that_takes_too_long_is_broken_off(place: Path) -> None:
    with serving(place, "--call-seconds=0.0001") as server:
        error = server.call(BOB, "ask", concept="concept 1", as_of=DAY)["error"]
        assert error["code"] == "timed_out"
        assert numbers(server)["gmem_calls_total", "timed_out", "ask"] == 1
        assert server.get("/ready").status_code == 200
        assert server.stop() == 0


def test_told_to_end_it_answers_what_it_has_begun_and_begins_nothing_more_M13(tmp_path: Path) -> None:
    place = laid_out(tmp_path)
    with serving(place, "--drain-seconds=60", "--request-seconds=60") as server:
        half = Half(server)
        wait_until(lambda: server.get("/ready").json()["in_flight"] == 1)
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: server.get("/health").json() == {"state": "draining"})
        ready = server.get("/ready")
        assert (ready.status_code, ready.json()["state"]) == (503, "draining")
        told = post(server, BOB, json.dumps(LIST).encode())
        assert (told.status_code, told.json()["error"]["code"], told.headers["retry-after"]) == (503, "draining", "5")
        assert numbers(server)["gmem_state", "draining"] == 1
        answer = half.finish()
        assert answer.startswith("HTTP/1.1 200 ") and "value 1" in answer
        assert server.process.wait(timeout=30) == 0
    events = [json.loads(line) for line in (place / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [event["state"] for event in events if event["event"] == "state"] == ["starting", "ready", "draining", "stopped"]
    [call] = [event for event in events if event["event"] == "call"]
    assert (call["tool"], call["caller"], call["outcome"]) == ("ask", "bob", "answered")
    assert [(event["reason"], event["status"]) for event in events if event["event"] == "turned_away"] == [("draining", 503)]


def test_told_twice_it_does_not_wait(tmp_path: Path) -> None:
    with serving(laid_out(tmp_path), "--drain-seconds=600", "--request-seconds=600") as server:
        half = Half(server)
        wait_until(lambda: server.get("/ready").json()["in_flight"] == 1)
        server.process.send_signal(signal.SIGINT)
        wait_until(lambda: server.get("/health").json() == {"state": "draining"})
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(timeout=60)
        half.socket.close()


def test_it_is_there_while_it_is_starting(tmp_path: Path) -> None:
    """A store that takes a moment to read: whoever runs it sees that it lives, and nobody is served."""
    place = laid_out(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    write_store(place, [record(number) for number in range(50_000)])
    command = [*GMEM, "serve", f"--host={place / 'host.yml'}", f"--store={place / 'store.jsonl'}", f"--http=127.0.0.1:{port}"]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    seen: set[str] = set()
    until = time.monotonic() + 120
    while "ready" not in seen and time.monotonic() < until:
        try:
            seen.add(httpx2.get(f"http://127.0.0.1:{port}/health", timeout=30).json()["state"])
        except httpx2.TransportError:
            continue
    process.terminate()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert seen == {"starting", "ready"}
    assert told == f"gmem serve: http://127.0.0.1:{port}/mcp\n"


def test_what_cannot_be_read_keeps_it_from_starting_in_one_line(tmp_path: Path) -> None:
    place = laid_out(tmp_path)
    (place / "store.jsonl").write_text('{"record_id": "SECRET', encoding="utf-8")
    command = [*GMEM, "serve", f"--host={place / 'host.yml'}", f"--store={place / 'store.jsonl'}", "--http=127.0.0.1:0"]
    ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1), ended.stderr
    assert HIDDEN_FROM_BOB not in ended.stderr and "store.jsonl" in ended.stderr


def test_no_path_without_a_token_tells_of_records_or_callers(server: Running) -> None:
    server.call(ALICE, "ask", concept="SECRET 5", as_of=DAY)
    said = "".join(server.get(path).text for path in ("/health", "/ready", "/metrics"))
    assert not [word for word in (HIDDEN_FROM_BOB, "alice", "bob", "concept", "R-5", "store.jsonl") if word in said]


@pytest.mark.parametrize(
    ("option", "said"),
    [("--request-bytes=0", "--request-bytes"), ("--call-seconds=nan", "--call-seconds"), ("--calls=-1", "--calls"), ("--drain-seconds=-1", "--drain-seconds")],
)
def test_a_limit_that_is_none_is_refused(option: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("TOKEN_OF_ALICE", "TOKEN_OF_BOB"):
        monkeypatch.setenv(name, name)
    place = laid_out(tmp_path)
    assert cli.main(["serve", f"--host={place / 'host.yml'}", f"--store={place / 'store.jsonl'}", "--http=127.0.0.1:0", option]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_log_that_cannot_be_written_keeps_it_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("TOKEN_OF_ALICE", "TOKEN_OF_BOB"):
        monkeypatch.setenv(name, name)
    place = laid_out(tmp_path)
    assert cli.main(["serve", f"--host={place / 'host.yml'}", f"--store={place / 'store.jsonl'}", "--http=127.0.0.1:0", f"--log={place}"]) == 2
    assert "--log" in capsys.readouterr().err


def test_a_life_only_goes_forward() -> None:
    seen: list[str] = []
    life = Lifecycle(seen.append)
    assert not life.takes_work
    assert life.enter("ready") and life.takes_work and not life.enter("ready") and not life.enter("starting")
    assert life.enter("draining") and not life.takes_work and not life.enter("ready")
    assert life.enter("stopped") and seen == ["starting", "ready", "draining", "stopped"]
    with pytest.raises(InputError):
        Limits(calls=0)
