"""`gmem why`: where each fact of a packet comes from, who approved it and what it did to a model, for whoever may see it (rules G5, G7, M2, M9, M12)."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dbt_harness
import pytest
from memory_stores import events
from whole_way import BOT, DAY, LATER, NOW, STORE, Done, bridge, gmem, packet, packet_file, told, within

NOTES = ("note-no", "note-yes")


@pytest.fixture
def here(way: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder of its own in which all was done, where the test works."""
    with within(shutil.copytree(way / "bridge", tmp_path / "here")) as folder:
        yield folder


def made() -> dict[str, Any]:
    return dict(json.loads(Path(packet_file()).read_text(encoding="utf-8")))


def as_reader(name: str) -> tuple[str, ...]:
    return ("--caller", name, "--global", "--host", "host.yml", "--memory", "memory", "--now", LATER)


def why(*more: str, target: str | None = None, reader: tuple[str, ...] = BOT, store: tuple[str, ...] = STORE, packets: str = "packets") -> Done:
    return gmem("why", made()["packet_id"] if target is None else target, "--packets", packets, *reader, *store, *more)


def data(*more: str, **asked: Any) -> dict[str, Any]:
    done = why("--json", *more, **asked)
    assert done.code == 0, done
    return dict(json.loads(done.out))


def learned() -> str:
    return str(json.loads(Path("learned.jsonl").read_text(encoding="utf-8").splitlines()[0])["record_id"])


def test_one_page_answers_what_was_chosen_why_and_what_came_of_it(here: Path) -> None:
    [notes, answer] = data()["groups"]
    assert [member["id"] for member in notes["members"]] == [*NOTES] and notes["standing"] == "contrary evidence"
    [schema] = answer["members"]
    assert (schema["id"], answer["standing"]) == (learned(), "answer")
    assert [step["code"] for step in schema["policy"]] == ["answers", "answered"]
    assert [(one["verdict"], one["by"], one["at"]) for one in schema["approvals"]] == [("approve", ["kim"], NOW)]
    things = {(thing["kind"], thing["id"]) for thing in schema["lineage"]["things"]}
    assert {("frame", "f0"), ("cell", "0-1"), ("principal", "ann"), ("principal", "kim")} <= things
    [run] = map(json.loads, Path("bridge/runs.jsonl").read_text(encoding="utf-8").splitlines())
    effects = {fact["member_id"]: fact["own_effect"] for fact in run["facts"]}
    assert {
        member["id"]: member["effects"] for group in (notes, answer) for member in group["members"]
    } == {name: [{"run_id": run["run_id"], "own_effect": effect}] for name, effect in effects.items()}  # fmt: skip
    assert [(one["conflicts"], one["approvals"], [step["code"] for step in one["policy"]]) for one in notes["members"]] == [
        (["note-yes"], [], ["released,across_sessions"]), (["note-no"], [], ["released,across_sessions"]),
    ]  # fmt: skip
    assert [(one["run_id"], one["path_change"], one["is_sound"]) for one in data()["runs"]] == [(run["run_id"], run["path_change"], True)]


def test_the_page_for_people_has_each_of_the_answers(here: Path) -> None:
    page = why().out
    assert re.search(r"^2\. printer jam .*: answer\n   chosen +score 0\.733 = term_share 0\.667 \+ decided_part 0\.067, \d+ characters$", page, re.M)
    assert re.search(r"^   read policy +is what the rules leave; the caller may see what the rules leave$", page, re.M)
    assert re.search(r"^   approval +approve by kim, 2026-10-01 12:00:00 \(approve_\w+\)$", page, re.M)
    assert re.search(r"^   contrary +note-yes beside it \(contrary evidence\); conflict with note-yes$", page, re.M)
    assert re.search(r"^   model +run \w{16}: left out, the state after the last token moves by [\d.]+ of its norm$", page, re.M)
    assert "  the stores are as they were then" in page.splitlines() and page.splitlines()[-1] == "norms say that the path moved, not that an answer is better"
    assert "ZQX" not in page and "it prints" not in page.replace("printer jam", "")


def test_what_the_reader_may_not_see_is_counted_whoever_the_packet_was_made_for_G7(here: Path) -> None:
    found = data(reader=as_reader("max"))
    assert ([group["standing"] for group in found["groups"]], found["withheld"], found["asked"]) == (["answer"], 1, None)
    [schema] = found["groups"][0]["members"]
    assert schema["effects"] and schema["lineage"]["withheld"] == 0
    for done in (why(reader=as_reader("max")), why("--json", reader=as_reader("max"))):
        assert not re.search("note-|ZQX|prints again", done.out)
    # The agent itself, since it speaks for nobody any more.
    host = json.loads(Path("host.yml").read_text(encoding="utf-8"))
    host["callers"]["bot"]["parties"] = []
    Path("host.yml").write_text(json.dumps(host), encoding="utf-8")
    own = data()
    assert ([group["standing"] for group in own["groups"]], own["withheld"], own["asked"]) == (["answer"], 1, {"query": "printer prints again"})
    assert "note-" not in json.dumps(own)


def test_a_restricted_record_is_told_to_its_parties_alone_G5(here: Path) -> None:
    [record] = map(json.loads, Path("learned.jsonl").read_text(encoding="utf-8").splitlines())
    Path("learned.jsonl").write_text(json.dumps(record | {"release_to": ["support"]}) + "\n", encoding="utf-8")
    assert [group["standing"] for group in data()["groups"]] == ["contrary evidence", "answer"]
    for reader in ("max", "guest"):
        done, unknown = why(reader=as_reader(reader)), made()["packet_id"]
        assert (done.code, done.out, done.err) == (1, "", f"{unknown}: nothing is called so, or nothing that you may read\n")


def test_sessions_hold_as_in_every_read_of_memory_M5(here: Path) -> None:
    local = ("--caller", "kim", "--host", "host.yml", "--memory", "memory", "--now", LATER)
    assert data(reader=local)["withheld"] == 1
    own = ("--caller", "ann", "--session", "desk", "--host", "host.yml", "--memory", "memory", "--now", LATER)
    [notes, _] = data(reader=own)["groups"]
    assert {step["code"] for member in notes["members"] for step in member["policy"]} == {"released,own_session"}
    beyond = why(reader=("--caller", "guest", "--global", "--host", "host.yml", "--memory", "memory"))
    assert beyond.code == 1


def test_what_was_left_out_is_told_to_whom_it_may_be(here: Path) -> None:
    Path(packet_file()).unlink()
    narrow = packet("--concept", "nobody holds this", "--pin", learned(), "--budget", "400")
    # A learned schema is reached as a record; the cell that was pinned with it counts as withheld.
    assert [one["reason"] for one in narrow["manifest"]["exclusions"]] == ["not_held", "budget", "withheld"]
    page = why().out
    assert "left out: nobody holds this: not_held" in page and "left out: [note-no, note-yes]: budget" in page and "withheld: 1 group(s)" in page
    other = data(reader=as_reader("max"))
    assert ([group["standing"] for group in other["groups"]], other["exclusions"], other["withheld"]) == (["answer"], [], 1)


def test_a_run_leads_to_its_packet_and_another_run_of_it_is_left_out(here: Path) -> None:
    assert bridge("--seed", "1").code == 0
    one, other = (json.loads(line)["run_id"] for line in Path("bridge/runs.jsonl").read_text(encoding="utf-8").splitlines())
    assert [run["run_id"] for run in data()["runs"]] == [one, other]
    found = data(target=other)
    assert [run["run_id"] for run in found["runs"]] == [other] and found["packet_id"] == made()["packet_id"]
    assert {effect["run_id"] for group in found["groups"] for member in group["members"] for effect in member["effects"]} == {other}


def test_without_a_run_or_a_measured_effect_the_rest_is_answered(here: Path) -> None:
    none = why("--runs", "elsewhere")
    assert none.code == 0 and none.out.splitlines()[-1] == ("no run of this packet: whether it changed a model's path is not known; run `gmem bridge run`")
    assert re.search("^   approval +approve by kim", none.out, re.M) and not Path("elsewhere").exists()
    assert gmem("bridge", "run", "--packet", packet_file(), "--model", "model", "--device", "cpu", "--runs", "plain").code == 0
    plain = why("--runs", "plain").out
    assert "not measured by itself; run `gmem bridge run --each-fact`" in plain and "  rival explanations: not looked at" in plain


def test_without_memory_records_are_told_and_learning_is_not(here: Path) -> None:
    Path(packet_file()).unlink()
    only = ("--caller", "bot", "--host", "host.yml")
    printed = told("packet", "build", "--query", "printer", "--as-of", DAY, *only, *STORE, "--json")
    Path("packets/p.json").write_text(printed, encoding="utf-8")
    page = why(reader=only).out
    assert re.search("^   approval +not looked for; name with --memory", page, re.M) and ": answer" in page


def test_what_happened_since_is_told_as_it_is_now(here: Path) -> None:
    signed = ("--key", "kim.pem", "--reason", "it was the paper", "--from", DAY, "--principal", "kim", "--now", LATER, "--host", "host.yml")
    assert gmem("revoke", learned(), *signed).code == 0
    records = told("memory", "records", "--host", "host.yml")
    Path("learned.jsonl").write_text(records, encoding="utf-8")
    found = data()
    [schema] = found["groups"][1]["members"]
    assert not found["same_generation"] and [one["verdict"] for one in schema["approvals"]] == ["approve", "revoke"]
    assert [step["code"] for step in schema["policy"]] == ["superseded", "empty"]
    assert "  the stores have changed since: the read policy is told as it decides now" in why().out.splitlines()


def test_a_record_of_a_store_that_is_called_like_a_cell_is_not_that_cell(here: Path) -> None:
    Path("other.jsonl").write_text(json.dumps({"record_id": "0-1", "concept": "price", "value": "list", "valid_from": "2026-01-01", "valid_to": None}) + "\n")
    other = ("--store", "other.jsonl", "--policy", "abstain")
    printed = told("packet", "build", "--concept", "price", "--as-of", DAY, *BOT, *other, "--json")
    Path("packets/p.json").write_text(printed, encoding="utf-8")
    found = data(target=json.loads(printed)["packet_id"], store=other)
    [[price]] = (group["members"] for group in found["groups"])
    assert (price["id"], price["lineage"], price["approvals"]) == ("0-1", None, [])


def test_the_read_policy_is_asked_with_the_scope_of_the_packet_G2(here: Path) -> None:
    copies = {"record_id": "E-1", "concept": "copies", "value": "two", "valid_from": "2026-01-01", "valid_to": None, "applies_to": ["paper"]}
    Path("other.jsonl").write_text(json.dumps(copies) + "\n", encoding="utf-8")
    other = ("--store", "other.jsonl", "--policy", "abstain")
    printed = told("packet", "build", "--concept", "copies", "--as-of", DAY, "--scope", "paper", *BOT, *other, "--json")
    Path("packets/p.json").write_text(printed, encoding="utf-8")
    [[copy]] = (group["members"] for group in data(target=json.loads(printed)["packet_id"], store=other)["groups"])
    assert [step["code"] for step in copy["policy"]] == ["answers", "answered"]


def test_a_packet_of_a_build_is_held_against_that_build(built: Path, here: Path) -> None:
    database = ("--database", str(built))
    printed = told("packet", "build", "--concept", "data_retention", "--as-of", "2026-06-01", *BOT, *database, "--json")
    Path("packets/p.json").write_text(printed, encoding="utf-8")
    found = data(target=json.loads(printed)["packet_id"], store=database)
    assert found["same_generation"]
    # Both stores of the example hold a record of that name; each is told as its own store has it.
    retention = {member["store"]: member for group in found["groups"] for member in group["members"] if member["id"] == "M-602"}
    assert len(retention) == len(found["groups"]) > 1 and retention["reference"]["origin"]["source_id"] == "LEG-P-04"
    assert {one["policy"][0]["code"] for one in retention.values()} == {"answers"}


def test_a_packet_of_an_export_is_found_by_its_beginning_in_older_ones_too(here: Path) -> None:
    export = ("packet", "export", "--out", "out", "--host", "host.yml", *STORE, "--caller", "bot", "--caller", "kim")
    told(*export, "--as-of", DAY), told(*export, "--as-of", "2026-10-03")
    [entry] = map(json.loads, Path("out/generation-000001/caller-0001.index.jsonl").read_text().splitlines())
    found = data(target=entry["packet_id"][:16], packets="out")
    assert (found["packet_id"], found["as_of"], found["runs"]) == (entry["packet_id"], DAY, [])
    assert [member["id"] for group in found["groups"] for member in group["members"]] == [learned()]
    # What is not as it was sealed is not read, and said.
    file = Path("out/generation-000002/caller-0002.packets.jsonl")
    file.write_bytes(file.read_bytes().replace(b"kim", b"max"))
    done = why(target=entry["packet_id"], packets="out")
    assert done.code == 0 and "notice: not read: out/generation-000002" in done.err
    shutil.rmtree("out/generation-000001")
    lost = why(target=entry["packet_id"], packets="out")
    assert lost.code == 2 and "is no packet in 'out'" in lost.err and "generation-000002" in lost.err and lost.err.count("\n") == 1


def test_the_read_leaves_an_event_of_what_was_shown_and_no_name_where_nothing_was(here: Path) -> None:
    assert why().code == 0 and why(reader=as_reader("max")).code == 0 and why(reader=as_reader("guest")).code == 1
    own, other, none = (one for one in events(Path("memory"), "reads") if one["read_kind"] == "why")
    assert (own["principal"], own["query"], own["found_ids"]) == ("bot", made()["packet_id"], [*NOTES, learned()])
    assert (other["principal"], other["found_ids"]) == ("max", [learned()])
    assert (none["principal"], none["outcome"], none.get("query"), none["found_ids"]) == ("guest", "nothing", None, [])


def edited() -> None:
    file = Path(packet_file())
    file.write_text(file.read_text(encoding="utf-8").replace("it prints", "it jams "), encoding="utf-8")


def named_twice() -> None:
    for name in ("one", "other"):
        Path("packets", f"{name}.json").write_text(json.dumps(made_like(name)), encoding="utf-8")


def made_like(name: str) -> dict[str, Any]:
    return {"packet_id": f"abc{name}", "manifest": {}, "text": ""}


def broken_runs() -> None:
    Path("bridge/runs.jsonl").write_text("no JSON\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("prepare", "asked", "expected"),
    [
        (None, {"target": "feed"}, "'feed' is no packet in 'packets', and begins the identifier of none"),
        (None, {"target": ""}, "'' is no packet in 'packets'"),
        (named_twice, {"target": "abc"}, "'abc' begins the identifiers of 2 packets in 'packets'; give more of it"),
        (edited, {}, "is not as it was made: its id or the hash of its text does not match"),
        (None, {"packets": "nowhere"}, "--packets: 'nowhere' is not there"),
        (None, {"packets": "host.yml"}, "is no packet in 'host.yml'"),
        (None, {"reader": ("--caller", "bot", "--host", "host.yml")}, "the packet holds cells; name with --memory the memory that they are of"),
        (None, {"reader": ("--caller", "bot", "--host", "host.yml", "--memory", "packets")}, "--memory: 'packets' holds no memory"),
        (None, {"reader": ("--caller", "bot", "--host", "host.yml", "--session", "s")}, "are of cells; say with --memory where they are"),
        (None, {"reader": as_reader("eve")}, "no caller is called 'eve'"),
        (None, {"store": ("--database", "nowhere.duckdb")}, "nowhere.duckdb: no such database"),
        (lambda: shutil.copy("learned.jsonl", "o.jsonl"), {"store": ("--store", "o.jsonl")}, "the packet was made of the store 'learned', and here are o"),
        (broken_runs, {}, "cannot be read; expected what `gmem bridge run` appended"),
    ],
)
def test_what_cannot_be_told_is_one_line(here: Path, prepare: Any, asked: dict[str, Any], expected: str) -> None:
    target = asked.pop("target", made()["packet_id"])
    if prepare is not None:
        prepare()
    done = why(target=target, **asked)
    assert (done.code, done.out) == (2, "") and expected in done.err and done.err.count("\n") == 1, done


def test_exports_need_the_key_that_signed_them(here: Path) -> None:
    told("packet", "export", "--out", "out", "--host", "host.yml", *STORE, "--as-of", DAY)
    done = gmem("why", "abc", "--packets", "out", "--caller", "bot", *STORE)
    assert done.code == 2 and "holds exports, which are signed; name with --host" in done.err


def test_the_example_of_the_docs_says_what_it_prints(tmp_path: Path) -> None:
    docs = {name: (dbt_harness.ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in ("learning", "why")}
    program, *_ = re.findall(r"```python\n(.*?)```", docs["learning"], flags=re.S)
    approve = re.findall(r"^\$ gmem (approve .*)$", docs["learning"], flags=re.M)[0]
    [session] = re.findall(r"```console\n(.*?)```", docs["why"], flags=re.S)
    asked = re.findall(r"^\$ gmem (.*)\n((?:(?!\$ ).*\n)*)", session.replace("\\\n", " "), flags=re.M)
    assert len(asked) == 4
    with within(tmp_path):
        exec(program, {})
        told(*shlex.split(approve))
        for command, printed in asked:
            asked_for, _, file = re.sub(r"^why \w+", f"why {made_in('packet.json')[:8]}", command).partition(" > ")
            out = told(*shlex.split(asked_for))
            if file:
                Path(file).write_text(out, encoding="utf-8")
            elif command.startswith("why"):
                assert hidden(out) == hidden(printed)


def made_in(place: str) -> str:
    return str(json.loads(Path(place).read_text(encoding="utf-8"))["packet_id"]) if Path(place).exists() else ""


def hidden(text: str) -> str:
    """Without what another day, or another build of torch, says otherwise."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"\b(packet|run) [0-9a-f]{16,64}", r"\1 ID", text)
    return re.sub(r"by \d+\.\d+ of its norm", "by N of its norm", text)
