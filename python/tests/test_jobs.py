"""Jobs, by real servers, clients and processes: done once whatever is killed (M13), as the caller whose they are and nobody else (G5 to G8)."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service_processes import (
    ALICE,
    BOB,
    DAY,
    HIDDEN_FROM_BOB,
    Running,
    host_of,
    job,
    kill_while_running,
    laid_out,
    record,
    results_once,
    running_jobs,
    serving,
    sha256,
    standing,
    submitted,
    wait_until,
    write_store,
)

from governed_memory import cli
from governed_memory.errors import InputError
from governed_memory.log import utc_now
from governed_memory.sealed import generations
from governed_memory.service.jobs.kinds import job_asked
from governed_memory.service.jobs.store import JobStore, Taking

# A job of so many records takes some seconds.
MANY = 1500


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return laid_out(tmp_path_factory.mktemp("jobs"))


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Running]:
    with serving(place) as running:
        yield running


def done(server: Running, token: str, request: str, **given: Any) -> str:
    """A job that was submitted and is done."""
    job_id = server.call(token, "submit_job", kind="packets", request=request, as_of=DAY, **given)["job_id"]
    told = server.ended(token, job_id)
    assert told["state"] == "done", told
    return str(job_id)


def test_a_job_gives_what_the_caller_is_given_directly_with_hashes_M13(server: Running) -> None:
    job_id = done(server, BOB, "all")
    told = server.call(BOB, "job_result", job_id=job_id)
    [packets] = [file for file in told["files"] if file["name"] == "caller-0001.packets.jsonl"]
    content = server.get(f"/jobs/{job_id}/files/{packets['name']}", BOB).content
    assert (len(content), sha256(content)) == (packets["size"], packets["sha256"])
    lines = [json.loads(line) for line in content.splitlines()]
    assert len(lines) == 16 and HIDDEN_FROM_BOB not in content.decode()
    for line in lines[:3]:
        [concept] = line["manifest"]["inputs"]["concepts"]
        assert server.call(BOB, "packet", concepts=[concept], as_of=DAY)["text"] == line["text"]
    text, offset = "", 0
    while offset is not None:
        piece = server.call(BOB, "job_result", job_id=job_id, file=packets["name"], offset=offset, characters=5000)
        text, offset = text + piece["text"], piece["next_offset"]
    assert text.encode() == content


def test_a_manifest_names_no_host_path_or_key_M13(server: Running, place: Path) -> None:
    told = json.dumps(server.call(BOB, "job_result", job_id=done(server, BOB, "manifest")))
    assert not [word for word in (str(place), "host.yml", "k1", os.uname().nodename) if word in told]


def test_nobody_learns_of_a_job_of_somebody_else_G7(server: Running) -> None:
    job_id = done(server, ALICE, "of-alice")
    nobodys = "0" * 32
    for tool in ("job", "cancel_job", "job_result"):
        assert json.dumps(server.call(BOB, tool, job_id=job_id)).replace(job_id, nobodys) == json.dumps(server.call(BOB, tool, job_id=nobodys))
    assert job_id not in json.dumps(server.call(BOB, "jobs"))
    assert job_id in json.dumps(server.call(ALICE, "jobs"))
    name = "caller-0001.packets.jsonl"
    of_alice, of_nobody = (server.get(f"/jobs/{one}/files/{name}", BOB) for one in (job_id, nobodys))
    assert (of_alice.status_code, of_alice.text.replace(job_id, nobodys)) == (of_nobody.status_code, of_nobody.text) == (404, of_nobody.text)
    assert server.get(f"/jobs/{job_id}/files/{name}").status_code == 401
    assert HIDDEN_FROM_BOB in server.get(f"/jobs/{job_id}/files/{name}", ALICE).text
    # Under the same name, another caller has another job.
    assert server.call(BOB, "submit_job", kind="packets", request="of-alice", as_of=DAY)["job_id"] != job_id


def test_progress_counts_only_what_the_caller_is_told_of_G7(server: Running) -> None:
    for token, whole in ((BOB, 16), (ALICE, 20)):
        job_id = done(server, token, "progress")
        assert server.call(token, "job", job_id=job_id)["progress"] == {"done": whole, "whole": whole}


def test_the_same_request_again_is_the_same_job(server: Running) -> None:
    first, again = (server.call(BOB, "submit_job", kind="packets", request="twice", as_of=DAY) for _ in range(2))
    assert first["job_id"] == again["job_id"]
    assert sum(one["request"] == "twice" for one in server.call(BOB, "jobs")["jobs"]) == 1
    assert server.call(BOB, "submit_job", kind="packets", request="twice", as_of="2026-01-01")["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "snapshot"}, "not for you"),
        ({"kind": "bridge", "as_of": DAY, "concepts": ["concept 1"]}, "not for you"),
        ({"kind": "packet", "as_of": DAY}, "did you mean 'packets'"),
        ({"kind": "packets"}, "as_of"),
        ({"kind": "packets", "as_of": "soon"}, "as_of"),
        ({"kind": "packets", "as_of": DAY, "known_on": "soon"}, "known_on"),
        ({"kind": "packets", "as_of": DAY, "budget": 0}, "budget"),
        ({"kind": "packets", "as_of": DAY, "form": "html"}, "form"),
        ({"kind": "packets", "as_of": DAY, "request": "../up"}, "request"),
        ({"kind": "packets", "as_of": DAY, "caller": "alice"}, "caller"),
    ],
)
def test_what_cannot_be_a_job_is_refused_when_it_is_submitted_G8(server: Running, given: dict[str, Any], said: str) -> None:
    error = server.call(BOB, "submit_job", **{"request": "refused", **given})["error"]
    assert error["code"] in ("invalid_argument", "unknown_argument") and said in error["message"]
    assert not any(one["request"] == "refused" for one in server.call(BOB, "jobs")["jobs"])


def test_a_result_is_told_only_while_all_of_it_would_be_told_directly_G5(tmp_path: Path) -> None:
    place = laid_out(tmp_path)
    with serving(place) as server:
        job_id = done(server, BOB, "before")
        name = "caller-0001.packets.jsonl"
        assert "value 7" in server.get(f"/jobs/{job_id}/files/{name}", BOB).text
        # A release is taken back: what was in the result is withheld now.
        write_store(place, [record(number, **({"release_to": ["finance"]} if number == 7 else {})) for number in range(20)])
        refused = server.call(BOB, "job_result", job_id=job_id, file=name)
        assert refused["error"]["code"] == "outdated" and "value" not in json.dumps(refused)
        told = server.get(f"/jobs/{job_id}/files/{name}", BOB)
        assert told.status_code == 410 and "value" not in told.text


def test_no_value_is_in_a_log_a_metric_or_a_row_of_the_queue_M13(server: Running, place: Path) -> None:
    """Not even where the job's own caller may see it: alice's results are full of them."""
    job_id = done(server, ALICE, "full")
    assert HIDDEN_FROM_BOB in server.get(f"/jobs/{job_id}/files/caller-0001.packets.jsonl", ALICE).text
    server.call(ALICE, "ask", concept="SECRET 5", as_of=DAY)
    server.call(ALICE, "SECRET tool", SECRET="SECRET")
    server.call(ALICE, "submit_job", kind="packets", request="fails", as_of=DAY, budget=1)
    kept = [path for folder in ("queue", "working", "cancelled") for path in (place / "jobs" / folder).rglob("*") if path.is_file()]
    assert {path.name for path in kept} >= {"jobs.db"}
    for text in [server.get("/metrics").content, (place / "log.jsonl").read_bytes(), *(path.read_bytes() for path in kept)]:
        assert HIDDEN_FROM_BOB.encode() not in text and ALICE.encode() not in text
    for line in (place / "log.jsonl").read_text(encoding="utf-8").splitlines():
        assert {"at", "event"} <= json.loads(line).keys()


def test_a_snapshot_is_taken_for_whom_the_host_lets_and_told_as_a_receipt_M11(server: Running, place: Path, tmp_path: Path, built: Path) -> None:
    lone = submitted(place, "snapshot", caller="alice", kind="snapshot")
    told = server.ended(ALICE, lone.job.job_id)
    # This server has neither a memory nor a built database.
    assert (told["state"], told["failure"]["code"], told["attempts"]) == ("failed", "unusable", 1)
    other = laid_out(tmp_path)
    taken = submitted(other, "snapshot", caller="alice", kind="snapshot")
    assert cli.main(["job", "run", f"--jobs={other / 'jobs'}", f"--host={other / 'host.yml'}", f"--database={built}"]) == 0
    root = other / "jobs" / "results" / taken.job.job_id
    assert cli.main(["snapshot", "verify", str(root), f"--host={other / 'host.yml'}"]) == 0
    with serving(other) as server_of_other:
        receipt = server_of_other.call(ALICE, "job_result", job_id=taken.job.job_id)
        assert receipt["is_readable"] is False and len(receipt["root"]) == 64
        named = server_of_other.call(ALICE, "job_result", job_id=taken.job.job_id, file=receipt["files"][0]["name"])
        assert named["error"]["code"] == "not_found"


def test_a_run_of_the_bridge_is_done_and_noted_once_M12(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    place = laid_out(tmp_path)
    one = submitted(place, "bridge", "--concept=concept 1", "--concept=concept 2", caller="alice", kind="bridge")
    runs = ["--build=tiny", f"--runs={tmp_path / 'runs'}"]
    assert running_jobs(place, *runs).wait(timeout=120) == 0
    assert standing(place, "bridge", "alice").state == "done"
    folder = place / "jobs" / "results" / one.job.job_id / "generation-000001"
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert run["control_equals_base"] and run["slots"] == 2
    # Killed between the result and the queue, it is looked at again and not run again.
    again = Taking(JobStore(place / "jobs"))
    again._queue.update(one.job.as_row(), id=one.place)
    again._queue._mark_ack_status(one.place, "2")
    again.close()
    assert standing(place, "bridge", "alice").state == "running"
    assert running_jobs(place, *runs).wait(timeout=120) == 0
    assert standing(place, "bridge", "alice").state == "done"
    assert [json.loads(line)["run_id"] for line in (tmp_path / "runs" / "runs.jsonl").read_text().splitlines()] == [run["run_id"]]


def test_a_job_that_is_killed_runs_again_and_has_one_result_M13(tmp_path: Path) -> None:
    place, draw = laid_out(tmp_path, MANY), random.Random(1)
    for number in range(5):
        submitted(place, f"kill-{number}")
        kill_while_running(place, f"kill-{number}", draw, 3.0)
    assert running_jobs(place, "--attempts=1000").wait(timeout=180) == 0
    assert results_once(place) == 5
    assert any(one.job.attempts > 1 for one in JobStore(place / "jobs").standings())


def test_a_server_that_is_killed_takes_its_jobs_up_again_M13(tmp_path: Path) -> None:
    place = laid_out(tmp_path, MANY)
    with serving(place) as server:
        job_id = server.call(BOB, "submit_job", kind="packets", request="one", as_of=DAY)["job_id"]
        wait_until(lambda: standing(place, "one").state == "running")
        server.process.kill()
    assert standing(place, "one").state == "running"
    with serving(place) as server:
        assert server.ended(BOB, job_id)["state"] == "done"
        assert server.call(BOB, "job_result", job_id=job_id)["facts"]["packets"] == MANY * 4 // 5
    assert results_once(place) == 1


def test_a_server_that_is_told_to_end_hands_its_job_back_M13(tmp_path: Path) -> None:
    place = laid_out(tmp_path, MANY)
    with serving(place, "--drain-seconds=0") as server:
        server.call(BOB, "submit_job", kind="packets", request="one", as_of=DAY)
        wait_until(lambda: standing(place, "one").state == "running")
        assert server.stop() == 0
    back = standing(place, "one")
    assert (back.state, back.job.attempts) == ("queued", 0)
    assert running_jobs(place, "--attempts=1").wait(timeout=120) == 0
    assert results_once(place) == 1


def test_who_does_jobs_without_a_server_hands_them_back_too(tmp_path: Path) -> None:
    place = laid_out(tmp_path, MANY)
    submitted(place, "one")
    process = running_jobs(place, "--watch")
    wait_until(lambda: standing(place, "one").state == "running")
    process.terminate()
    assert process.wait(timeout=60) == 0
    assert (standing(place, "one").state, standing(place, "one").job.attempts) == ("queued", 0)


def test_a_result_that_is_not_as_it_was_sealed_is_not_told_M11(tmp_path: Path) -> None:
    place = laid_out(tmp_path)
    one = submitted(place, "one")
    assert running_jobs(place).wait(timeout=60) == 0
    folder = place / "jobs" / "results" / one.job.job_id / "generation-000001"
    with serving(place) as server:
        for name in ("caller-0001.packets.jsonl", "packet_members.jsonl", "manifest.json"):
            kept = (folder / name).read_bytes()
            (folder / name).write_bytes(kept.replace(b"concept 1", b"concept 2"))
            assert (folder / name).read_bytes() != kept or name == "manifest.json"
            if name == "manifest.json":
                (folder / name).write_bytes(kept.replace(b'"kind":"packets"', b'"kind":"snapshot"'))
            told = server.call(BOB, "job_result", job_id=one.job.job_id, file="caller-0001.packets.jsonl")
            assert told["error"]["code"] == "result_unavailable", name
            (folder / name).write_bytes(kept)
        assert "text" in server.call(BOB, "job_result", job_id=one.job.job_id, file="caller-0001.packets.jsonl")


def test_a_server_that_is_told_to_end_lets_a_short_job_end_M13(tmp_path: Path) -> None:
    place = laid_out(tmp_path)
    with serving(place, "--drain-seconds=60") as server:
        server.call(BOB, "submit_job", kind="packets", request="one", as_of=DAY)
        wait_until(lambda: standing(place, "one").state == "running")
        assert server.stop() == 0
    assert results_once(place) == 1


def test_a_job_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    place = laid_out(tmp_path, MANY)
    with serving(place) as server:
        running = server.call(BOB, "submit_job", kind="packets", request="running", as_of=DAY)["job_id"]
        waiting = server.call(BOB, "submit_job", kind="packets", request="waiting", as_of=DAY)["job_id"]
        wait_until(lambda: standing(place, "running").state == "running")
        assert server.call(BOB, "cancel_job", job_id=waiting)["state"] == "cancelled"
        assert server.call(BOB, "cancel_job", job_id=running)["state"] == "cancelling"
        for job_id in (running, waiting):
            assert server.ended(BOB, job_id)["state"] == "cancelled"
            assert server.call(BOB, "job_result", job_id=job_id)["error"]["code"] == "not_done"
        assert server.call(BOB, "job", job_id=waiting)["attempts"] == 0
        wait_until(lambda: list((place / "jobs" / "results").iterdir()) == [])
        # What has ended stays as it is.
        assert server.call(BOB, "cancel_job", job_id=waiting)["state"] == "cancelled"


def test_an_attempt_that_is_killed_is_made_again_up_to_a_cap(tmp_path: Path) -> None:
    place = laid_out(tmp_path, MANY)
    submitted(place, "one")
    process = running_jobs(place, "--attempts=2", f"--log={tmp_path / 'log.jsonl'}")
    for attempt in (1, 2):
        wait_until(lambda attempt=attempt: standing(place, "one").job.attempts == attempt and child_of(process.pid))
        os.kill(child_of(process.pid), signal.SIGKILL)
        wait_until(lambda attempt=attempt: standing(place, "one").job.attempts != attempt or standing(place, "one").state != "running")
    assert process.wait(timeout=60) == 0
    ended = standing(place, "one").as_data()
    assert (ended["state"], ended["failure"]["code"], ended["attempts"]) == ("failed", "crashed", 2)
    assert [json.loads(line)["event"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == ["job_begun", "job_tried", "job_begun", "job_ended"]


def child_of(pid: int) -> int:
    """The process that does an attempt; 0 where there is none yet."""
    for found in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if b"spawn_main" in Path(f"/proc/{found}/cmdline").read_bytes():
            return int(found)
    return 0


def test_what_cannot_be_done_fails_once_and_what_may_pass_is_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = laid_out(tmp_path)
    submitted(place, "small", "--budget=1")
    submitted(place, "nothing", "--known-on=1999-01-01")
    blocked = submitted(place, "blocked")
    (place / "jobs" / "results" / blocked.job.job_id).write_text("in the way")
    assert running_jobs(place, "--attempts=2").wait(timeout=120) == 0
    told = {one.job.request: one.as_data() for one in JobStore(place / "jobs").standings()}
    found = {name: (one["state"], one["failure"]["code"], one["attempts"]) for name, one in told.items()}
    assert found == {"small": ("failed", "does_not_fit", 1), "nothing": ("failed", "nothing_found", 1), "blocked": ("failed", "unavailable", 2)}
    capsys.readouterr()
    assert cli.main(job(place, "status", blocked.job.job_id)) == 1
    assert "unavailable: the stores or the place of results" in capsys.readouterr().out


def test_a_job_that_takes_too_long_is_broken_off(tmp_path: Path) -> None:
    place = laid_out(tmp_path, MANY)
    submitted(place, "long")
    assert running_jobs(place, "--job-seconds=0.2").wait(timeout=60) == 0
    ended = standing(place, "long").as_data()
    assert (ended["state"], ended["failure"]["code"]) == ("failed", "timed_out")
    assert list((place / "jobs" / "results").iterdir()) == []


def test_of_what_has_ended_the_latest_is_kept(tmp_path: Path) -> None:
    place = laid_out(tmp_path)
    first, second, third = (submitted(place, name) for name in ("first", "second", "third"))
    assert cli.main(job(place, "cancel", first.job.job_id)) == 0
    assert running_jobs(place, "--keep-jobs=1").wait(timeout=120) == 0
    assert [one.job.request for one in JobStore(place / "jobs").standings()] == ["third"]
    assert [path.name for path in (place / "jobs" / "results").iterdir()] == [third.job.job_id]
    assert not list((place / "jobs" / "cancelled").iterdir())
    assert second.job.job_id != third.job.job_id


def test_two_processes_never_do_the_jobs_of_one_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = laid_out(tmp_path)
    submitted(place, "one")
    taking = Taking(JobStore(place / "jobs"))
    capsys.readouterr()
    assert cli.main(job(place, "run")) == 2
    told = capsys.readouterr().err
    assert "another process does the jobs" in told and told.count("\n") == 1
    taking.close()
    assert running_jobs(place).wait(timeout=60) == 0
    assert standing(place, "one").state == "done"


def test_a_caller_has_only_so_many_jobs_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = laid_out(tmp_path)
    monkeypatch.setattr("governed_memory.service.jobs.store.MOST_OPEN", 2)
    store, bob = JobStore(place / "jobs"), host_of(place).caller("bob")
    asked = [job_asked("packets", bob, f"job-{number}", {"as_of": DAY}, utc_now()) for number in range(3)]
    for one in asked[:2]:
        store.submit(one)
    with pytest.raises(InputError, match="2 jobs of yours"):
        store.submit(asked[2])
    store.cancel(store.standings()[0])
    assert store.submit(asked[2]).state == "queued"


def test_the_command_line_shows_and_cancels_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = laid_out(tmp_path)
    one = submitted(place, "one")
    assert capsys.readouterr().out == f"{one.job.job_id}\n"
    assert cli.main(job(place, "list")) == 0
    assert capsys.readouterr().out == f"{one.job.job_id}  queued     packets   bob  one\n"
    assert cli.main(job(place, "list", "--caller=alice")) == 0
    assert capsys.readouterr().out == ""
    assert cli.main(job(place, "run")) == 0
    capsys.readouterr()
    assert cli.main(job(place, "status", one.job.job_id, "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["progress"]) == ("done", {"done": 16, "whole": 16})
    assert list(generations(Path(told["result"]).parent)) == [1]
    assert cli.main(job(place, "cancel", one.job.job_id)) == 0
    assert capsys.readouterr().out == "done\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["job", "list", "--jobs={place}/none"], "holds no jobs"),
        (["job", "list"], "--jobs DIR"),
        (["job", "status", "x", "--jobs={place}/jobs"], "is no job"),
        (["job", "submit", "packets", "--jobs={place}/jobs", "--host={place}/host.yml", "--caller=bobb", "--request=a"], "did you mean 'bob'"),
        (["job", "submit", "snapshot", "--jobs={place}/jobs", "--host={place}/host.yml", "--caller=bob", "--request=a"], "not for you"),
        (["job", "run", "--jobs={place}/jobs", "--host={place}/host.yml", "--attempts=0"], "--attempts"),
        (["job", "run", "--jobs={place}/jobs", "--host={place}/keyless.yml"], "no active key"),
        (["serve", "--jobs={place}/jobs", "--host={place}/host.yml", "--caller=bob", "--store={place}/store.jsonl"], "--http"),
        (["job", "run", "--jobs={place}/store.jsonl", "--host={place}/host.yml"], "cannot be written"),
    ],
)
def test_a_command_that_cannot_be_done_says_why(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("GMEM_HOST", "GMEM_JOBS"):
        monkeypatch.delenv(name, raising=False)
    place = laid_out(tmp_path)
    (place / "keyless.yml").write_text(json.dumps({"callers": {"bob": {}}}))
    JobStore(place / "jobs")
    assert cli.main([argument.format(place=place) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_host_file_names_kinds_of_jobs_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "host.yml").write_text(json.dumps({"callers": {"a": {"jobs": ["snapshots"]}, "b": {"jobs": []}}}))
    with pytest.raises(InputError, match="did you mean 'snapshot'"):
        host_of(tmp_path)
    (tmp_path / "host.yml").write_text(json.dumps({"callers": {"b": {"jobs": []}, "c": {}}}))
    assert [host_of(tmp_path).caller(name).jobs for name in ("b", "c")] == [(), ("packets",)]
    with pytest.raises(InputError, match="none is"):
        job_asked("packets", host_of(tmp_path).caller("b"), "x", {"as_of": DAY}, utc_now())
