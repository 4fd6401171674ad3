"""What a job may be, and how it is done: packets of many concepts, a run of the bridge, a snapshot. Each seals one folder, as its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from governed_memory.dates import day, instant
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.configuration import Caller, Host
from governed_memory.host.keys import Keys
from governed_memory.log import expect_text, timestamp, utc_now
from governed_memory.packets import PacketRequest, build_packet, export
from governed_memory.packets.formats import FORMATS
from governed_memory.packets.units import CHARACTERS
from governed_memory.reads.ask import Opened
from governed_memory.reads.released import INDEX, released
from governed_memory.sealed import Part, seal
from governed_memory.service.jobs.job import Job, expect_request
from governed_memory.service.served import Served
from governed_memory.snapshots.opening import KIND as SNAPSHOT
from governed_memory.snapshots.taking import Sources, take
from governed_memory.warehouse import StoreFile, built_path

PACKETS, BRIDGE = export.KIND, "bridge-run"
MOST_BUDGET = 100_000
Progress = Callable[[int, int], None]


class NothingFoundError(InputError):
    """There is nothing of which the caller would be told."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What jobs are done with, which the host says and no caller.

    Attributes:
        host: the host's configuration.
        store: what is served, as `Served` has it.
        database: the built database.
        form: of a store file.
        attestations: of a store file.
        memory: the folder of a memory, for snapshots.
        ledger: the file of the kept tables, for snapshots.
        model: a folder with a Qwen3 checkpoint, for the bridge.
        shape: instead of it, a Qwen3 with random weights.
        runs: where runs of the bridge are noted for dbt; None for nowhere.
        seconds: how long an attempt may take.
        attempts: how often a job is begun at most.
        kept: how many jobs that have ended are kept, with their results.
    """

    host: Host
    store: StoreFile | str | None = None
    database: str | None = None
    form: str | None = None
    attestations: str | None = None
    memory: str | None = None
    ledger: str | None = None
    model: str | None = None
    shape: str | None = None
    runs: str | None = None
    seconds: float = 3600.0
    attempts: int = 3
    kept: int = 1000

    @property
    def keys(self) -> Keys:
        """What results are sealed with.

        Raises:
            InputError: the host has none.
        """
        if self.host.keys is None or self.host.keys.active is None:
            raise InputError(f"{self.host.place}: names no active key under `keys`, and results of jobs are signed (docs/service.md)")
        return self.host.keys

    def for_a_process(self) -> Setting:
        """The same without what was read of keys, which does not pass from one process to another."""
        return replace(self, host=replace(self.host, keys=_unread(self.host.keys), approvers=_unread(self.host.approvers)))

    def served(self) -> Served:
        """The stores."""
        return Served(self.store, self.database, self.host, None, self.form, self.attestations)


@dataclass(frozen=True, slots=True)
class Work:
    """A job that is done: as whom, with what, and where its result is put."""

    job: Job
    caller: Caller
    setting: Setting
    out: Path
    progress: Progress

    def asked(self) -> dict[str, Any]:
        """The arguments that say what is asked of the stores."""
        return asked_of(self.job)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of job.

    Attributes:
        sealed_as: what its result is sealed as.
        does: seals the result.
        takes: the arguments it may have.
        needs: those it has to have.
    """

    sealed_as: str
    does: Callable[[Work], None]
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def job_asked(kind: str, caller: Caller, request: str, given: Mapping[str, Any], now: datetime) -> Job:
    """A job that a caller asks for, if they may and it can be understood.

    Raises:
        InputError: it cannot, or they may not; the message holds nothing but what they gave.
    """
    if kind not in KINDS:
        raise InputError(f"kind: {kind!r} is no kind of job; {did_you_mean(kind, KINDS) or 'there are ' + ', '.join(KINDS)}")
    if kind not in caller.jobs:
        raise InputError(f"kind: {kind!r} is not for you to submit; {'yours are ' + ', '.join(caller.jobs) if caller.jobs else 'none is'}")
    expect_request(request)
    one = KINDS[kind]
    arguments = {name: value for name, value in given.items() if value not in (None, [], ())}
    for name in arguments:
        if name not in one.takes:
            raise InputError(f"{name}: a job of kind {kind!r} takes none; it takes {', '.join(one.takes) or 'no arguments'}")
    for name in one.needs:
        if name not in arguments:
            raise InputError(f"{name}: a job of kind {kind!r} says it")
    _expect_usable(arguments)
    return Job(kind, caller.name, request, arguments, timestamp(now))


def asked_of(job: Job) -> dict[str, Any]:
    """What a job asks of the stores, as reads take it."""
    given = job.arguments
    return {"as_of": given["as_of"], "scope": tuple(given.get("scope", ())), "known_on": given.get("known_on"), "store": given.get("store")}


def _expect_usable(given: Mapping[str, Any]) -> None:
    if "as_of" in given:
        day("as_of", given["as_of"])
    if "known_on" in given:
        instant("known_on", given["known_on"])
    for name in ("concepts", "scope"):
        for text in given.get(name, ()):
            expect_text(name, text)
    if "store" in given:
        expect_text("store", given["store"])
    if not 1 <= given.get("budget", 1) <= MOST_BUDGET:
        raise InputError(f"budget: {given['budget']} is no number from 1 to {MOST_BUDGET}")
    if given.get("form", "compact") not in FORMATS:
        raise InputError(f"form: {given['form']!r} is none; there are {', '.join(FORMATS)}")


def _unread(keys: Keys | None) -> Keys | None:
    return None if keys is None else Keys(keys.keys, keys.active, keys.host)


def _packets(work: Work) -> None:
    with work.setting.served().opened() as opened:
        export.export_packets(
            work.out, opened, [work.caller], _request(work, opened), work.setting.keys,
            every_concept="concepts" not in work.job.arguments, unit=CHARACTERS, progress=work.progress,
        )  # fmt: skip


def _request(work: Work, opened: Opened) -> PacketRequest:
    given, asked = work.job.arguments, work.asked()
    # Only of what the caller is told: how many concepts are held besides would show in the progress (rule G7).
    found = given.get("concepts") or dict.fromkeys(record["concept"] for record in released(opened, work.caller, fields=INDEX, **asked))
    concepts = tuple(dict.fromkeys(concept for concept in found if concept is not None))
    if not concepts:
        raise NothingFoundError("nothing is held on that date of which this caller is told")
    asked["store"] = asked["store"] if opened.is_built else None
    return PacketRequest(work.caller, concepts=concepts, budget=given.get("budget"), form=given.get("form", "compact"), **asked)


def _bridge(work: Work) -> None:
    from governed_memory.bridge.needs import expect_installed

    setting = work.setting
    if not (setting.model or setting.shape):
        raise InputError("a run of the bridge needs --model PATH or --build SHAPE, which the server was not given")
    expect_installed()
    from governed_memory.bridge.adapter import SEEDED, AdapterConfig, MemoryAdapters
    from governed_memory.bridge.run import RunRequest, prompt_of, run
    from governed_memory.bridge.runtime import built, load

    with setting.served().opened() as opened:
        packet = build_packet(_request(work, opened), opened)
    if not packet.manifest["groups"]:
        raise NothingFoundError("the packet has no fact for this caller")
    work.progress(1, 3)
    model = load(setting.model) if setting.model else built(str(setting.shape))
    count = len(model.layers)
    adapters = MemoryAdapters(AdapterConfig(model.hidden_size, tuple(sorted({count // 3, 2 * count // 3})), gate=SEEDED)).to(model.device)
    done = run(RunRequest(packet, prompt_of(packet), has_rivals=True, has_effects=True), model, adapters, utc_now())
    work.progress(2, 3)

    def write(part: Part) -> dict[str, Any]:
        part.put("packet.json", _line(packet.as_data()))
        part.put("run.json", _line(done))
        return {"run_id": done["run_id"], "packet_id": packet.packet_id}

    seal(work.out, BRIDGE, write, setting.keys)
    work.progress(3, 3)


def _snapshot(work: Work) -> None:
    setting = work.setting
    database = built_path(setting.database)
    sources = Sources(
        Path(setting.memory) if setting.memory else None,
        database if setting.database or database.is_file() else None,
        Path(setting.ledger) if setting.ledger else None,
    )
    take(work.out, sources, setting.keys, utc_now())
    work.progress(1, 1)


def _line(told: Mapping[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"


OF_STORES = ("as_of", "concepts", "scope", "known_on", "store", "budget", "form")
KINDS = {
    "packets": Kind(PACKETS, _packets, OF_STORES, ("as_of",)),
    "bridge": Kind(BRIDGE, _bridge, OF_STORES, ("as_of", "concepts")),
    "snapshot": Kind(SNAPSHOT, _snapshot),
}
