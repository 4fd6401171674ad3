"""The whole way from an observation to a model, on the command line as users go it: each step is a function, and the folder is kept as it was after each."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learning_houses import JAM, people
from sealed_folders import SECTION, make_key

from governed_memory.cli import main

NOW, LATER = "2026-10-01T12:00:00", "2026-10-02T12:00:00"
DAY = "2026-10-02"
QUERY = "printer prints again"
# Who writes, who approves, and an agent that reads.
ANN = ("--principal", "ann", "--session", "desk", "--now", NOW, "--host", "host.yml")
KIM = ("--principal", "kim", "--now", NOW, "--host", "host.yml")
BOT = ("--caller", "bot", "--global", "--host", "host.yml", "--memory", "memory", "--now", LATER)
STORE = ("--store", "learned.jsonl", "--map", "written_by=written_by")
STEPS = ("nothing", "observation", "frame", "candidate", "approval", "record", "packet", "graph", "bridge")


@dataclass(frozen=True, slots=True)
class Done:
    """What a command did.

    Attributes:
        code: how it ended.
        out: what it printed.
        err: what it said on standard error.
    """

    code: int
    out: str
    err: str


def gmem(*arguments: str) -> Done:
    """Run a command here."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return Done(code, out.getvalue(), err.getvalue())


def told(*arguments: str) -> str:
    """What a command prints that does as it was asked."""
    done = gmem(*arguments)
    assert done.code == 0, (arguments, done)
    return done.out


@contextmanager
def within(folder: Path) -> Iterator[Path]:
    """Work in a folder, as somebody does who gives names without one."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)


def lines(place: str, *rows: dict[str, Any]) -> str:
    """Write JSON Lines; where."""
    Path(place).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return place


def begin(folder: Path) -> None:
    """A host with keys, callers and an owner, and a model on this machine."""
    from governed_memory.bridge.needs import expect_installed

    expect_installed()
    from governed_memory.bridge.runtime import built

    make_key(folder)
    bot = {"parties": ["support"], "boundary": "inside", "reads_all_sessions": True}
    guest = {"parties": ["guests"], "boundary": "outside", "reads_all_sessions": True}
    owners = [{"concept": "printer jam | print | restart it | printer, tray", "party": "support"}]
    host = {"keys": SECTION, "callers": {**people(folder), "bot": bot, "guest": guest}, "owners": owners, "policy": "owner-then-latest"}
    (folder / "host.yml").write_text(json.dumps(host))
    built("tiny", device="cpu").network.save_pretrained(folder / "model")


def observation(*, frames: int = 3, **more: Any) -> None:
    """Two cells for each incident, and two notes of the support that contradict each other."""
    cells = [
        {"cell_id": f"{number}-{step}", "system": "episodic", "content": f"incident {number}, part {step}", "source": "log", "event_index": step, **more}
        for number in range(frames)
        for step in (1, 2)
    ]
    notes = [
        {"cell_id": name, "system": "episodic", "content": f"the printer prints again: ZQX {name}", "source": "call", "release_to": ["support"]}
        for name in ("note-no", "note-yes")
    ]
    told("memory", "write", lines("cells.jsonl", *cells, *notes), *ANN)
    conflict = {"from_cell_id": "note-no", "to_cell_id": "note-yes", "link_type": "conflict", "reason": "they say the opposite"}
    told("memory", "link", lines("links.jsonl", conflict), *ANN)


def frame(*, frames: int = 3, replays: bool = True) -> None:
    """The incidents bound, and replayed."""
    bound = [{**JAM, "frame_id": f"f{number}", "steps": [f"{number}-1", f"{number}-2"]} for number in range(frames)]
    told("frame", "bind", lines("frames.jsonl", *bound), *ANN)
    if replays:
        told("frame", "replay", *(one["frame_id"] for one in bound), *ANN)


def candidate() -> str:
    """The one that there is, by its fingerprint."""
    [found] = map(json.loads, told("candidates", "--global", "--json", *KIM).splitlines())
    return str(found["candidate_fingerprint"])


def approval(by: str = "kim", key: str = "kim.pem") -> Done:
    """Approve the candidate."""
    named = ("--key", key, "--reason", "seen three times", "--from", "2026-10-01")
    return gmem("approve", candidate(), *named, "--principal", by, "--now", NOW, "--host", "host.yml")


def record() -> str:
    """What was learned, as a store; the identifier of its record."""
    Path("learned.jsonl").write_text(told("memory", "records", "--host", "host.yml"), encoding="utf-8")
    [found] = map(json.loads, Path("learned.jsonl").read_text(encoding="utf-8").splitlines())
    return str(found["record_id"])


def packet(*more: str) -> dict[str, Any]:
    """What the agent is given of it, in the folder `packets`."""
    Path("packets").mkdir(exist_ok=True)
    printed = told("packet", "build", "--query", QUERY, "--as-of", DAY, *BOT, *STORE, *more, "--json")
    made: dict[str, Any] = json.loads(printed)
    Path("packets", f"{made['packet_id'][:8]}.json").write_text(printed, encoding="utf-8")
    return made


def packet_file() -> str:
    """Where the packet is."""
    [file] = Path("packets").glob("*.json")
    return str(file)


def bridge(*more: str, model: str = "model") -> Done:
    """Hand the packet to the model."""
    named = ("--packet", packet_file(), "--model", model, "--device", "cpu", "--now", LATER)
    return gmem("bridge", "run", *named, "--control", "--each-fact", *more)


def walked(folder: Path) -> Path:
    """The whole way; `folder/STEP` is as all was after that step."""
    at = folder / "way"
    at.mkdir()

    def keep(step: str) -> None:
        shutil.copytree(at, folder / step)

    begin(at)
    with within(at):
        keep("nothing")
        observation()
        keep("observation")
        frame()
        keep("frame")
        candidate()
        keep("candidate")
        assert approval().code == 0
        keep("approval")
        schema = record()
        keep("record")
        packet()
        keep("packet")
        told("graph", "walk", schema, "--global", *KIM, "--json")
        keep("graph")
        done = bridge()
        assert done.code == 0, done
        keep("bridge")
    return folder
