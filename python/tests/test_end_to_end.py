"""From an observation to a model, on the command line as users go it; and at each step a refusal, after which all that was there before still is and the
reason is said or kept (rules M2, M3, M5, M7, M9, M12, T3, G5)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from memory_stores import events
from whole_way import (
    ANN,
    BOT,
    DAY,
    KIM,
    LATER,
    QUERY,
    STEPS,
    STORE,
    Done,
    approval,
    bridge,
    candidate,
    frame,
    gmem,
    lines,
    observation,
    packet_file,
    record,
    told,
    within,
)

STREAMS = ("cells", "links", "frames", "replays", "approvals")


@pytest.fixture
def after(way: Path, tmp_path: Path) -> Callable[[str], Any]:
    """A folder of its own in which all was done up to a step; leaving it, all that was there still has to be."""

    @contextmanager
    def copy(step: str) -> Iterator[Path]:
        folder = shutil.copytree(way / step, tmp_path / step)
        before = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        with within(folder):
            yield folder
            for path, content in before.items():
                assert path.is_file(), path
                if path.suffix == ".jsonl":
                    assert path.read_bytes().startswith(content), path
                elif path.parts[:2] != ("memory", "heads"):
                    assert path.read_bytes() == content, path
            assert told("memory", "verify", "--host", "host.yml").count("\n") == 1

    return copy


def counts() -> list[int]:
    return [len(events(Path("memory"), stream)) for stream in STREAMS]


def refusals() -> list[tuple[str, str, str]]:
    """(transition, guard, code) of each that is kept."""
    return [(one["transition"], one["guard"], one["code"]) for one in events(Path("memory"), "refusals")]


def is_said(done: Done, expected: str, code: int = 2) -> None:
    assert (done.code, done.out) == (code, "") and expected in done.err and done.err.count("\n") == 1, done


def test_the_whole_way(way: Path) -> None:
    with within(way / STEPS[-1]):
        assert counts() == [9, 7, 3, 3, 1] and refusals() == []
        made = json.loads(Path(packet_file()).read_text(encoding="utf-8"))
        [learned] = map(json.loads, Path("learned.jsonl").read_text(encoding="utf-8").splitlines())
        members = [[member["id"] for member in group["members"]] for group in made["manifest"]["groups"]]
        assert members == [["note-no", "note-yes"], [learned["record_id"]]]
        assert (learned["value"], learned["valid_from"]) == ("it prints", "2026-10-01")
        [run] = map(json.loads, Path("bridge/runs.jsonl").read_text(encoding="utf-8").splitlines())
        assert run["packet_id"] == made["packet_id"] and run["path_change"] > 0 and run["control_equals_base"]
        assert [site["control_delta_norm"] for site in run["sites"]] == [0.0, 0.0]
        assert {fact["member_id"] for fact in run["facts"]} == {"note-no", "note-yes", learned["record_id"]}


# Observation ------------------------------------------------------------------------------------------------------------------------------


def test_an_observation_of_nobody_is_refused(after: Any) -> None:
    with after("observation"):
        before, note = counts(), lines("more.jsonl", {"system": "episodic", "content": "more", "source": "log"})
        is_said(gmem("memory", "write", note, "--principal", "eve", "--session", "s", "--host", "host.yml"), "no caller is called 'eve'")
        assert counts() == before


@pytest.mark.parametrize(
    ("cell", "who", "refusal"),
    [
        ({}, ("--principal", "ann", "--host", "host.yml"), ("write", "policy", "session_missing")),
        ({"source": None}, ANN, ("write", "provenance", "source_missing")),
        ({"system": "semantic"}, ANN, ("write", "policy", "approval_required")),
        ({"cell_id": "0-1"}, ANN, ("write", "identity", "identity_conflict")),
    ],
)
def test_an_observation_that_may_not_be_is_refused_and_the_refusal_kept_M3(
    after: Any, cell: dict[str, Any], who: tuple[str, ...], refusal: tuple[str, str, str]
) -> None:
    with after("observation"):
        before = counts()
        told_cell = {name: value for name, value in ({"system": "episodic", "content": "more", "source": "log"} | cell).items() if value is not None}
        done = gmem("memory", "write", lines("more.jsonl", told_cell), *who)
        assert done.code == 1 and f"refused: {refusal[2]}" in done.err
        assert (counts(), refusals()) == (before, [refusal])


# Frame ------------------------------------------------------------------------------------------------------------------------------------


def test_a_frame_of_a_cell_that_is_not_held_is_refused_M6(after: Any) -> None:
    with after("observation"):
        bound = {"scene": "s", "goal": "g", "action": "a", "outcome": "o", "steps": ["0-1", "nowhere"]}
        done = gmem("frame", "bind", lines("frames.jsonl", bound), *ANN)
        assert done.code == 1 and "cell_unknown (integrity)" in done.out
        assert counts() == [8, 1, 0, 0, 0] and refusals() == [("bind", "integrity", "cell_unknown")]


def test_frames_that_were_not_replayed_are_no_evidence_M6(after: Any) -> None:
    with after("observation"):
        frame(replays=False)
        assert gmem("candidates", "--global", *KIM) == Done(1, "no candidate that you may read\n", "")
        assert counts() == [8, 1, 3, 0, 0]


# Candidate --------------------------------------------------------------------------------------------------------------------------------


def test_two_frames_are_too_few_and_nothing_is_approved_of_them_M6(after: Any, way: Path) -> None:
    with within(way / "candidate"):
        fingerprint = candidate()
    with after("observation"):
        frame(frames=2)
        assert gmem("candidates", "--global", *KIM).code == 1
        done = gmem("approve", fingerprint, "--key", "kim.pem", "--reason", "seen", *KIM)
        assert done.code == 1 and "refused: candidate_unknown (integrity)" in done.err
        assert counts() == [8, 5, 2, 2, 0] and refusals() == [("consolidate", "integrity", "candidate_unknown")]


# Approval ---------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "key", "code"),
    [
        ("ann", "ann.pem", "proposer_approves"),
        ("bob", "bob.pem", "role_not_allowed"),
        ("kim", "lee.pem", "signature_invalid"),
    ],
)
def test_whoever_may_not_approve_makes_nothing_M7(after: Any, by: str, key: str, code: str) -> None:
    with after("candidate"):
        before = counts()
        done = approval(by, key)
        assert done.code == 1 and f"refused: {code} (" in done.err
        assert counts() == before and [(one[0], one[2]) for one in refusals()] == [("consolidate", code)]
        assert told("memory", "records", "--host", "host.yml") == ""
        assert candidate()


# Record -----------------------------------------------------------------------------------------------------------------------------------


def asked(name: str, day: str = DAY) -> dict[str, Any]:
    [learned] = {json.loads(line)["concept"] for line in Path("learned.jsonl").read_text(encoding="utf-8").splitlines()}
    printed = told("ask", learned, "--as-of", day, "--caller", name, "--host", "host.yml", "--memory", "memory", *STORE, "--json")
    return dict(json.loads(printed))


def test_a_record_of_restricted_evidence_is_told_to_its_parties_alone_M14(after: Any) -> None:
    with after("nothing"):
        observation(classification="confidential", release_to=["support"])
        frame()
        assert approval().code == 0
        record()
        assert asked("bot")["answer"]["value"] == "it prints"
        refused = asked("max")
        assert (refused["outcome"], refused["answer"], refused["withheld_records"]) == ("refused", None, 1) and "not_released" in refused["reasons"]
        last = events(Path("memory"), "reads")[-1]
        assert (last["principal"], last["outcome"], last["found_ids"]) == ("max", "refused", [])


def test_a_record_that_was_revoked_answers_no_more_and_stays_T3(after: Any) -> None:
    with after("record"):
        schema = record()
        signed = ("--key", "kim.pem", "--reason", "it was the paper", "--from", DAY, "--principal", "kim", "--now", LATER, "--host", "host.yml")
        assert gmem("revoke", schema, *signed).code == 0
        records = told("memory", "records", "--host", "host.yml")
        assert records.startswith(Path("learned.jsonl").read_text(encoding="utf-8"))
        Path("learned.jsonl").write_text(records, encoding="utf-8")
        assert asked("bot")["outcome"] == "empty" and "superseded" in asked("bot")["reasons"]
        assert asked("bot", "2026-10-01")["answer"]["record_id"] == schema
        assert (
            gmem("approve", candidate_of(schema), "--key", "lee.pem", "--reason", "again", "--principal", "lee", "--now", LATER, "--host", "host.yml").code == 1
        )
        assert refusals()[-1][2] == "candidate_revoked"


def candidate_of(schema: str) -> str:
    return schema.removeprefix("schema_")


def test_before_it_holds_a_record_is_no_answer(after: Any) -> None:
    with after("record"):
        assert (asked("bot", "2026-09-30")["outcome"], asked("bot", "2026-09-30")["reasons"]) == ("empty", ["expired"])


# Packet -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (("--budget", "0"), "budget: 0 is no number of units; give 1 or more"),
        (("--budget", "10"), "too few for the header alone"),
        (("--pin", "nowhere"), "'nowhere' is nothing that 'bot' is told"),
    ],
)
def test_a_packet_that_cannot_be_is_said_to_be_none_M9(after: Any, more: tuple[str, ...], expected: str) -> None:
    with after("packet"):
        is_said(gmem("packet", "build", "--query", QUERY, "--as-of", DAY, *BOT, *STORE, *more, "--json"), expected)
        # What was refused was not read: no event tells of it.
        assert len([one for one in events(Path("memory"), "reads") if one["read_kind"] == "packet"]) == 1


def test_a_packet_whose_hash_was_edited_is_read_by_nobody(after: Any) -> None:
    with after("packet"):
        whole = json.loads(Path(packet_file()).read_text(encoding="utf-8"))
        for place, doctored in (("text", {**whole, "text": whole["text"] + " "}), ("id", {**whole, "packet_id": whole["packet_id"][:-1] + "x"})):
            Path(f"{place}.json").write_text(json.dumps(doctored), encoding="utf-8")
            for command in (
                ("packet", "explain", f"{place}.json"),
                ("bridge", "run", "--packet", f"{place}.json", "--model", "model", "--device", "cpu"),
                ("why", doctored["packet_id"], "--packets", f"{place}.json", *BOT, *STORE),
            ):
                is_said(gmem(*command), "is not as it was made")
        assert not Path("bridge").exists()


# Graph ------------------------------------------------------------------------------------------------------------------------------------


def test_whoever_may_not_see_it_walks_nowhere_M10(after: Any) -> None:
    with after("packet"):
        guest = ("--principal", "guest", "--global", "--now", LATER, "--host", "host.yml")
        for start in (record(), "note-no", "f0", "nowhere"):
            assert gmem("graph", "walk", start, *guest) == Done(1, "nothing of that name that you may read\n", "")
        walks = [one for one in events(Path("memory"), "reads") if one["read_kind"] == "walk"]
        assert [(one["principal"], one["outcome"], one["found_ids"], one.get("query")) for one in walks] == [("guest", "nothing", [], None)] * 4


def test_a_walk_across_sessions_that_is_not_allowed_is_refused_and_kept_M5(after: Any) -> None:
    with after("packet"):
        host = json.loads(Path("host.yml").read_text(encoding="utf-8"))
        host["callers"]["guest"]["reads_all_sessions"] = False
        Path("narrow.yml").write_text(json.dumps(host), encoding="utf-8")
        is_said(gmem("graph", "walk", "f0", "--global", "--principal", "guest", "--host", "narrow.yml"), "may not read across sessions")
        assert refusals() == [("read", "policy", "global_not_allowed")]


# Bridge -----------------------------------------------------------------------------------------------------------------------------------


def other_architecture() -> None:
    shutil.copytree("model", "other")
    config = json.loads(Path("other/config.json").read_text(encoding="utf-8"))
    Path("other/config.json").write_text(json.dumps(config | {"model_type": "llama"}), encoding="utf-8")


def other_adapters() -> None:
    from governed_memory.bridge.adapter import AdapterConfig, MemoryAdapters

    MemoryAdapters(AdapterConfig(16, (0,))).save(Path("narrow.safetensors"))


@pytest.mark.parametrize(
    ("prepare", "model", "more", "expected"),
    [
        (other_architecture, "other", (), "is a 'llama'; expected a checkpoint of 'qwen3'"),
        (None, "nowhere", (), "is no folder with a checkpoint"),
        (other_adapters, "model", ("--adapters", "narrow.safetensors"), "are for a hidden size of 16, and the model has 32"),
    ],
)
def test_a_model_that_does_not_fit_leaves_no_run_and_those_before_M12(
    after: Any, prepare: Callable[[], None] | None, model: str, more: tuple[str, ...], expected: str
) -> None:
    for step in ("graph", "bridge"):
        with after(step):
            runs = Path("bridge/runs.jsonl")
            kept = runs.read_bytes() if runs.exists() else None
            if prepare is not None:
                prepare()
            is_said(bridge(*more, model=model), expected)
            assert (runs.read_bytes() if runs.exists() else None) == kept


def test_a_packet_without_a_fact_is_handed_to_no_model(after: Any) -> None:
    with after("record"):
        printed = gmem("packet", "build", "--query", "nobody says so", "--as-of", DAY, *BOT, *STORE, "--json")
        assert printed.code == 1
        Path("packets").mkdir()
        Path("packets/empty.json").write_text(printed.out, encoding="utf-8")
        is_said(bridge(), "holds no fact, so there is nothing to hand to a model")
        assert not Path("bridge").exists()
