"""Whatever is asked of memory, in whatever order, by two writers at once and with a clock that jumps: what must hold holds after every step (M1 to M6)."""

from __future__ import annotations

import datetime
import shutil
import tempfile
from pathlib import Path
from typing import Any

from generated import TIMES
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from memory_stores import cell, frame, later, race, sight, tables

from governed_memory.log import verify
from governed_memory.memory import MemoryStore, Outcome

# Few identifiers, so that most of what is drawn meets what is held.
IDS = st.sampled_from(["0012", "1e5", "true", "打", "c e"])
CONTENTS = st.sampled_from(["note of the printer", "note of the straße", "note 打印机"])
SECONDS = st.sampled_from([-90, 0, 0, 0, 30, 60])
LIVES = st.sampled_from([None, None, 60, 3600])
NUMBERS = st.sampled_from([None, 1, 2])
LINKS = st.sampled_from(["task", "causal", "conflict"])
WEIGHTS = st.sampled_from([None, 0.1, 0.2, 0.7])
WRITERS = st.sampled_from([0, 1])
# How many steps go by between two looks at a memory that is opened anew, which takes longer than all else.
STEPS = 8


class Memory(RuleBasedStateMachine):
    """Two open memories at one place, and what of the cells is to be expected."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.stores = [MemoryStore(self.place) for _ in range(2)]
        self.seconds = 0
        self.steps = 0
        # {cell_id: contents that were acknowledged}; two that were told at once may both be, if the one whose clock is behind came later.
        self.contents: dict[str, set[str]] = {}

    def teardown(self) -> None:
        """Nothing is lost by opening it anew."""
        self.is_as_opened_anew()
        for store in self.stores:
            store.close()
        shutil.rmtree(self.place)

    def asked(self, seconds: int) -> dict[str, Any]:
        """Who asks, at a clock that goes on, stands or goes back."""
        self.seconds += seconds
        return {"principal": "ann", "session_id": "s", "now": later(self.seconds)}

    def now(self) -> datetime.datetime:
        return later(self.seconds)

    # --- what may be asked ---

    @rule(by=WRITERS, cell_id=IDS, content=CONTENTS, ttl=LIVES, number=NUMBERS, seconds=SECONDS)
    def write(self, by: int, cell_id: str, content: str, ttl: int | None, number: int | None, seconds: int) -> None:
        self.note(self.stores[by].write([self.cell(cell_id, content, ttl, number)], **self.asked(seconds)), content)

    @rule(one=st.tuples(IDS, CONTENTS, LIVES, NUMBERS), other=st.tuples(IDS, CONTENTS, LIVES, NUMBERS), seconds=SECONDS)
    def write_at_once(self, one: tuple[Any, ...], other: tuple[Any, ...], seconds: int) -> None:
        """Both look at what is held before either has written."""
        cells, by = [self.cell(*one), self.cell(*other)], [self.asked(seconds), self.asked(-seconds)]
        told = race(*self.stores, lambda store, which: store.write([cells[which]], **by[which]))
        for outcomes, content in zip(told, (one[1], other[1]), strict=True):
            self.note(outcomes, content)

    @rule(system=st.sampled_from(["semantic", "procedural", "sensory"]), seconds=SECONDS)
    def write_what_must_be_learned(self, system: str, seconds: int) -> None:
        [outcome] = self.stores[0].write([cell("learned", system=system)], **self.asked(seconds))
        assert outcome.outcome == "refused"

    @rule(by=WRITERS, one=IDS, other=IDS, kind=LINKS, weight=WEIGHTS, name=st.sampled_from([None, "l1"]), seconds=SECONDS)
    def link(self, by: int, one: str, other: str, kind: str, weight: float | None, name: str | None, seconds: int) -> None:
        told = {"link_id": name, "from_cell_id": one, "to_cell_id": other, "link_type": kind, "weight": weight, "reason": "both were seen"}
        self.stores[by].link([told], **self.asked(seconds))

    @rule(one=WEIGHTS, other=WEIGHTS, seconds=SECONDS)
    def link_at_once(self, one: float | None, other: float | None, seconds: int) -> None:
        told = {"link_id": "l2", "from_cell_id": "0012", "to_cell_id": "1e5", "link_type": "task"}
        by = [self.asked(seconds), self.asked(-seconds)]
        race(*self.stores, lambda store, which: store.link([{**told, "weight": (one, other)[which]}], **by[which]))

    @rule(by=WRITERS, cell_id=IDS, kind=st.sampled_from(["note", "doubt", "trust", "decay"]), seconds=SECONDS)
    def annotate(self, by: int, cell_id: str, kind: str, seconds: int) -> None:
        told = {"target_id": cell_id, "kind": kind, "reason": "so it is"} | ({"half_life_seconds": 60} if kind == "decay" else {})
        self.stores[by].annotate([told], **self.asked(seconds))

    @rule(by=WRITERS, cell_id=IDS, seconds=SECONDS)
    def expire(self, by: int, cell_id: str, seconds: int) -> None:
        self.stores[by].expire([cell_id], **self.asked(seconds))

    @rule(by=WRITERS, steps=st.lists(IDS, min_size=1, max_size=3, unique=True), seconds=SECONDS)
    def bind_and_replay(self, by: int, steps: list[str], seconds: int) -> None:
        [outcome] = self.stores[by].bind([frame(*steps)], **self.asked(seconds))
        [replayed] = self.stores[1 - by].replay([str(outcome.target_id)], **self.asked(0))
        assert (outcome.outcome == "refused") == (replayed.outcome == "refused")

    @rule(by=WRITERS, word=st.sampled_from(["note", "strasse", "打印"]), seconds=SECONDS)
    def recall(self, by: int, word: str, seconds: int) -> None:
        found = self.stores[by].recall(word, sight(now=self.asked(seconds)["now"]))
        assert [one["cell_id"] for one in found] == [one["cell_id"] for one in sorted(found, key=lambda one: (-one["score"], one["cell_id"]))]

    @rule(by=WRITERS)
    def reopen(self, by: int) -> None:
        self.stores[by].close()
        self.stores[by] = MemoryStore(self.place)

    # --- what must hold ---

    @invariant()
    def what_was_acknowledged_is_held_and_nothing_else(self) -> None:
        held = dict(self.rows("select cell_id, content from main.cells"))
        assert held.keys() == self.contents.keys()
        assert all(content in self.contents[name] for name, content in held.items())

    @invariant()
    def a_conflict_keeps_both_sides(self) -> None:
        for one, other in self.rows("select from_cell_id, to_cell_id from main.links where link_type = 'conflict'"):
            assert {one, other} <= self.contents.keys()

    @invariant()
    def what_was_learned_and_what_governs_is_no_cell(self) -> None:
        assert self.rows("select cell_id from main.cells where system not in ('working', 'episodic') or transition <> 'write'") == []

    @invariant()
    def an_expired_cell_is_not_recalled(self) -> None:
        found = {one["cell_id"] for one in self.stores[0].recall("note", sight(now=self.now()))}
        lives = dict(self.rows("select cell_id, (created_at, ttl_seconds) from main.cells where system = 'working'"))
        ended = dict(self.rows("select target_id, min(effective_at) from main.annotations where kind = 'expire' group by target_id"))
        now = self.now().replace(tzinfo=None)
        over = {name for name, (seen, ttl) in lives.items() if seen + datetime.timedelta(seconds=ttl) <= now or (name in ended and ended[name] <= now)}
        assert found == self.contents.keys() - over

    @invariant()
    def a_replay_is_there_with_all_its_links(self) -> None:
        verified = (
            "select steps.frame_id, steps.cell_id from main.frame_steps as steps inner join main.replays using (frame_id) where position <= verified_steps"
        )
        linked = "select from_cell_id, to_cell_id from main.links where link_type = 'replay'"
        assert set(self.rows(verified)) == set(self.rows(linked))

    @invariant()
    def the_log_is_whole(self) -> None:
        found = verify(self.place / "log")
        assert found.is_whole, [str(problem) for problem in found.problems]

    @invariant()
    def all_that_have_it_open_see_the_same(self) -> None:
        assert tables(self.stores[0]) == tables(self.stores[1])
        self.steps += 1
        if self.steps % STEPS == 0:
            self.is_as_opened_anew()

    def is_as_opened_anew(self) -> None:
        with MemoryStore(self.place) as anew:
            assert tables(anew) == tables(self.stores[0])

    # --- helpers ---

    def cell(self, cell_id: str, content: str, ttl: int | None, number: int | None) -> dict[str, Any]:
        return cell(cell_id, content, event_index=number, **({"system": "working", "ttl_seconds": ttl} if ttl else {}))

    def note(self, outcomes: list[Outcome], content: str) -> None:
        for outcome in outcomes:
            if outcome.outcome == "written":
                self.contents.setdefault(str(outcome.target_id), set()).add(content)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.stores[0]._projection.catch_up()
        return self.stores[0]._projection.connection.execute(sql).fetchall()


# No shrinking: a failing run is a dozen steps long already, and each more of them opens memories.
Memory.TestCase.settings = settings(
    max_examples=8 * TIMES,
    stateful_step_count=16,
    derandomize=TIMES == 1,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
    phases=(Phase.generate,),
)
TestMemory = Memory.TestCase
