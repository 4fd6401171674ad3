"""What approvals say was signed is checked again by `gmem memory verify --host`: a log that is whole may still hold what nobody signed (M7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_learning import HOUR, NOON, House

from governed_memory.cli import main
from governed_memory.log import LogWriter, canonical_event, rows_since


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """One that has approved, rejected and revoked."""
    made = House(tmp_path)
    for number in range(3):
        made.frame(number)
        made.frame(number + 3, outcome="it jams again")
    one, other = (candidate["candidate_fingerprint"] for candidate in made.candidates())
    schema = str(made.decide("approve", one).target_id)
    made.decide("reject", other, "lee")
    made.decide("revoke", schema, now=NOON + HOUR)
    yield made
    made.store.close()


def approvals(house: House) -> list[dict[str, Any]]:
    return [json.loads(row.event) for row in rows_since(house.place / "log", None, {}, ["approvals"])]


def verified(house: House, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[str]]:
    code = main(["memory", "verify", "--memory", str(house.place), *options])
    return code, capsys.readouterr().out.splitlines()


def test_what_was_signed_verifies_and_without_the_host_file_it_is_said_that_nobody_looked(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(approvals(house)) == 3
    code, lines = verified(house, capsys, "--host", str(house.folder / "host.yml"))
    assert code == 0 and lines[-1].endswith("rows, whole") and "approval" not in "".join(lines)
    code, lines = verified(house, capsys)
    assert (code, lines[-2]) == (0, "the signatures of 3 approval(s) are not checked; name the host file with --host")


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        ({"reason": "SECRET"}, "is not what 'kim' signed"),
        ({"role": "clerk"}, "is not what 'kim' signed"),
        ({"valid_from": "2020-01-01"}, "is not what 'kim' signed"),
        ({"principal": "lee"}, "is not what 'lee' signed"),
        ({"signature": None}, "has no signature"),
        ({"signature": "no hexadecimal"}, "is not what 'kim' signed"),
        ({"principal": "eve"}, "is by 'eve', of whom the host file names no public key, so nothing shows that they signed it"),
        ({"frame_ids": {"deep": [1]}}, "is not what 'kim' signed"),
    ],
)
def test_an_approval_that_is_not_what_was_signed_is_named(house: House, capsys: pytest.CaptureFixture[str], forge: dict[str, Any], why: str) -> None:
    """Whoever can write the log can write a row that says of itself that it is signed; the chain is whole then."""
    told = {**approvals(house)[0], "approval_id": "approve_forged", **forge}
    forged = {name: value for name, value in told.items() if value is not None}
    with LogWriter(house.place / "log") as writer:
        writer.append({"approvals": [canonical_event(forged)]}, "2026-10-01T12:00:00Z")
        name = writer.writer
    assert verified(house, capsys)[0] == 0
    code, lines = verified(house, capsys, "--host", str(house.folder / "host.yml"))
    assert (code, lines[0]) == (1, f"{house.place / 'log'}: {name}/approvals row 1: 'approve_forged' {why}")
    assert lines[-1].endswith("rows, 1 problem(s)")
    assert "SECRET" not in "".join(lines)


def test_another_key_in_the_host_file_has_signed_nothing(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    (house.folder / "kim.pub.pem").write_bytes((house.folder / "max.pub.pem").read_bytes())
    code, lines = verified(house, capsys, "--host", str(house.folder / "host.yml"))
    assert code == 1 and lines[-1].endswith("2 problem(s)")
    host = json.loads((house.folder / "host.yml").read_text())
    for entry in host["callers"].values():
        del entry["public_file"]
    (house.folder / "host.yml").write_text(json.dumps(host))
    code, lines = verified(house, capsys, "--host", str(house.folder / "host.yml"))
    assert code == 1 and lines[-1].endswith("3 problem(s)")


def test_an_approval_of_a_skill_is_signed_with_the_traces_that_it_names_M8(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.runs(5, 2)
    skill = next(one for one in house.candidates() if one["kind"] == "skill")
    assert house.decide("approve", skill["candidate_fingerprint"], now=NOON + HOUR).code is None
    host = ("--host", str(house.folder / "host.yml"))
    assert verified(house, capsys, *host)[0] == 0
    told = next(one for one in approvals(house) if one["kind"] == "skill")
    assert told["trace_ids"] == [f"t{number}" for number in range(7)]
    forged = {**told, "approval_id": "approve_forged", "trace_ids": told["trace_ids"][:5]}
    with LogWriter(house.place / "log") as writer:
        writer.append({"approvals": [canonical_event(forged)]}, "2026-10-01T12:00:00Z")
    code, lines = verified(house, capsys, *host)
    assert code == 1 and lines[0].endswith("'approve_forged' is not what 'kim' signed")
