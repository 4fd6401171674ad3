"""A memory with a host file and keys of those who may approve, for the tests of learning."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from pathlib import Path
from typing import Any

from sealed_folders import make_key

from governed_memory.host.configuration import Host, read_host
from governed_memory.host.keys import Keys, private_key
from governed_memory.log import rows_since
from governed_memory.memory import MemoryStore, Outcome, Sight
from governed_memory.memory.approvals import signed
from governed_memory.warehouse import fragment

NOON = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
JAM = {"scene": "printer jam", "goal": "print", "action": "restart it", "outcome": "it prints", "entities": ["printer", "tray"]}
RUN = {"skill": "free the printer", "executor": "runner 1", "conditions": ["printer is on"]}
# Who approves: {name: (parties, role)}.
PEOPLE = {
    "kim": (["support"], "knowledge_steward"),
    "lee": (["support"], "knowledge_steward"),
    "ann": (["support"], "knowledge_steward"),
    "bob": (["support"], "clerk"),
    "max": (["legal"], "knowledge_steward"),
}


def call(tool: str, inputs: str, result: str = "ok", *, succeeded: bool = True) -> dict[str, Any]:
    """A step of a trace."""
    return {"tool": tool, "inputs": inputs, "result": result, "succeeded": succeeded}


def people(folder: Path) -> dict[str, dict[str, Any]]:
    """The callers of a host file who may approve, each with a key pair in the folder."""
    callers: dict[str, dict[str, Any]] = {}
    for name, (parties, role) in PEOPLE.items():
        make_key(folder, name)
        callers[name] = {"parties": parties, "role": role, "public_file": f"{name}.pub.pem", "boundary": "inside", "reads_all_sessions": True}
    return callers


class House:
    """A memory with a host file, and keys of those who may approve."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.place = folder, folder / "memory"
        (folder / "host.yml").write_text(json.dumps({"callers": people(folder)}))
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

    def unlinked(self) -> list[tuple[Any, ...]]:
        """Pairs of opposite schemas that no conflict link joins."""
        self.store._projection.catch_up()
        none: dict[str, list[str]] = {name: [] for name in ("cell_ids", "families", "outcomes", "policies")}
        return self.store._projection.connection.execute(fragment("opposite_schemas"), none).fetchall()

    def table(self, sql: str) -> list[tuple[Any, ...]]:
        self.store._projection.catch_up()
        return self.store._projection.connection.execute(sql).fetchall()

    def trace(self, number: object, *, by: str = "ann", session: str = "desk", store: MemoryStore | None = None, **more: Any) -> str:
        """One run: two calls, the second of which fails where the run does."""
        succeeded = more.get("succeeded", True)
        told = {
            **RUN,
            "trace_id": f"t{number}",
            "ended_at": NOON - HOUR,
            "succeeded": succeeded,
            "steps": [call("look", str(number)), call("restart", str(number), succeeded=succeeded)],
            **({} if succeeded else {"failure_reason": "no power"}),
            **more,
        }
        [outcome] = (store or self.store).record_traces([told], principal=by, session_id=session, now=NOON)
        assert outcome.code is None, outcome
        return f"t{number}"

    def runs(self, successes: int, failures: int = 0, **more: Any) -> list[str]:
        """That many runs of the skill."""
        return [self.trace(number, succeeded=number < successes, **more) for number in range(successes + failures)]
