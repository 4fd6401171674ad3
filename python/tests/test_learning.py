"""Learning by approval: evidence makes candidates, a signature makes a schema, and nothing is raised or lost on the way (M2, M3, M6, M7, M14)."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from governed_memory.host.configuration import Host, read_host
from governed_memory.host.keys import Keys, private_key
from governed_memory.log import rows_since
from governed_memory.memory import MemoryStore, Outcome, Sight
from governed_memory.memory.approvals import signed

NOON = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
JAM = {"scene": "printer jam", "goal": "print", "action": "restart it", "outcome": "it prints", "entities": ["printer", "tray"]}
# Who approves: {name: (parties, role)}.
PEOPLE = {
    "kim": (["support"], "knowledge_steward"),
    "lee": (["support"], "knowledge_steward"),
    "ann": (["support"], "knowledge_steward"),
    "bob": (["support"], "clerk"),
}


class House:
    """A memory with a host file, and keys of those who may approve."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.place = folder, folder / "memory"
        callers = {}
        for name, (parties, role) in PEOPLE.items():
            key = Ed25519PrivateKey.generate()
            plain = serialization.NoEncryption()
            (folder / f"{name}.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
            public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
            (folder / f"{name}.pub.pem").write_bytes(public)
            callers[name] = {"parties": parties, "role": role, "public_file": f"{name}.pub.pem", "boundary": "inside", "reads_all_sessions": True}
        (folder / "host.yml").write_text(json.dumps({"callers": callers}))
        host = read_host(str(folder / "host.yml"))
        assert host is not None
        self.host: Host = host
        self.store = MemoryStore(self.place)

    def sight(self, name: str = "kim", now: datetime.datetime = NOON) -> Sight:
        return Sight(self.host.caller(name), None, now, True)

    def key(self, name: str) -> Keys:
        return private_key(name, str(self.folder / f"{name}.pem"))

    def frame(
        self,
        number: object,
        *,
        by: str = "ann",
        session: str = "desk",
        replays: bool = True,
        store: MemoryStore | None = None,
        cell: dict[str, Any] | None = None,
        **more: Any,
    ) -> str:
        """One incident: two cells, bound and replayed."""
        store = store or self.store
        told = [
            {"cell_id": f"{number}-{step}", "system": "episodic", "content": f"{number} {step}", "source": "log", "event_index": step, **(cell or {})}
            for step in (1, 2)
        ]
        who: dict[str, Any] = {"principal": by, "session_id": session, "now": NOON}
        assert not any(outcome.code for outcome in store.write(told, **who))
        [bound] = store.bind([{**JAM, "frame_id": f"f{number}", "steps": [one["cell_id"] for one in told], **more}], **who)
        assert bound.code is None, bound
        if replays:
            [found] = store.replay([f"f{number}"], **who)
            assert found.is_complete
        return f"f{number}"

    def candidates(self, name: str = "kim") -> list[dict[str, Any]]:
        return self.store.candidates(self.sight(name))

    def decide(self, verdict: str, target: str, by: str = "kim", *, now: datetime.datetime = NOON, store: MemoryStore | None = None, **more: Any) -> Outcome:
        store, sight = store or self.store, self.sight(by, now)
        said = store.statement(verdict, target, sight, reason=more.pop("reason", "seen three times"), **more)
        [outcome] = store.decide(verdict, [signed(said, sight.caller, self.key(by))], sight, self.host.approvers)
        return outcome

    def rows(self, *streams: str) -> Counter[str]:
        return Counter(row.stream for row in rows_since(self.place / "log", None, {}, streams or None))

    def table(self, sql: str) -> list[tuple[Any, ...]]:
        self.store._projection.catch_up()
        return self.store._projection.connection.execute(sql).fetchall()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def learned(house: House) -> House:
    for number in range(3):
        house.frame(number)
    return house


def test_three_replayed_frames_make_a_candidate_and_its_approval_a_schema(learned: House) -> None:
    [candidate] = learned.candidates()
    assert (candidate["evidence_count"], candidate["frame_ids"], candidate["state"]) == (3, ["f0", "f1", "f2"], "open")
    before = learned.rows()
    outcome = learned.decide("approve", candidate["candidate_fingerprint"])
    assert outcome == Outcome(1, f"schema_{candidate['candidate_fingerprint']}", "written")
    assert learned.rows() - before == Counter(approvals=1, cells=1)
    [schema] = learned.table("select system, source_ids, approval_id from main.cells where system = 'semantic'")
    assert schema == ("semantic", candidate["source_ids"], f"approve_{candidate['candidate_fingerprint']}")
    [record] = learned.store.records()
    assert (record["record_id"], record["value"], record["concept_owner"]) == (outcome.target_id, "it prints", "support")
    assert str(record["valid_from"]) == "2026-10-01"
    assert learned.candidates()[0]["state"] == "approved"
