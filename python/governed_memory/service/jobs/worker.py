"""Doing jobs, one after the other: each attempt in a process of its own, which can be ended at any moment without harm."""

from __future__ import annotations

import multiprocessing
import threading
import time
from typing import Any

from governed_memory.errors import BusyError
from governed_memory.service.jobs.child import Told, attempt
from governed_memory.service.jobs.job import PASSING, Standing
from governed_memory.service.jobs.kinds import Setting
from governed_memory.service.jobs.store import JobStore, Taking
from governed_memory.service.json_log import Log, no_log

# How often is looked whether something has happened, and how much longer each time is waited before a job is tried again.
TICK, BACK_OFF = 0.1, 1.0
# How often progress is written down.
NOTED_EVERY = 0.5


class Worker:
    """What does the jobs of a place."""

    def __init__(self, store: JobStore, setting: Setting, log: Log = no_log) -> None:
        """Do jobs with this setting. `log` is told an event and its fields, none of which holds a value of a record."""
        self.store, self.setting, self.log = store, setting, log
        self._stops = threading.Event()
        self._hands_back = threading.Event()
        self._processes = multiprocessing.get_context("spawn")

    def stop(self, *, hands_back: bool) -> None:
        """Begin no further job; and hand the one under way back, or else let it come to its end."""
        self._stops.set()
        if hands_back:
            self._hands_back.set()

    def work(self, *, waits: bool) -> int:
        """Do jobs until there are no more, or with `waits` until stopped; how many came to an end.

        Raises:
            BusyError: without `waits`, another process does them.
        """
        taking = self._taking(waits=waits)
        if taking is None:
            return 0
        ended = 0
        try:
            while not self._stops.is_set():
                one = taking.take()
                if one is not None:
                    ended += self._do(taking, one)
                elif waits:
                    self._stops.wait(TICK)
                else:
                    break
        finally:
            taking.close()
        return ended

    def _taking(self, *, waits: bool) -> Taking | None:
        while not self._stops.is_set():
            try:
                return Taking(self.store)
            except BusyError:
                if not waits:
                    raise
                # Whoever has it may be a server that is about to end.
                self._stops.wait(1.0)
        return None

    def _do(self, taking: Taking, one: Standing) -> bool:
        """One attempt; whether the job has come to an end."""
        if one.job.attempts >= self.setting.attempts and not self.store.has_result(one.job):
            # Each time, whoever did it was killed.
            return self._end(taking, one, "failed", "crashed")
        one, begun_at = taking.begun(one), time.monotonic()
        self.log("job_begun", **_of(one))
        one, told = self._attempt(taking, one)
        seconds = round(time.monotonic() - begun_at, 3)
        if told[0] == "done":
            return self._end(taking, one, "done", seconds=seconds)
        if told[0] == "cancelled":
            return self._end(taking, one, "cancelled", seconds=seconds)
        if told[0] == "handed_back":
            taking.hand_back(one, counts=False)
            self.log("job_handed_back", **_of(one), seconds=seconds)
            return False
        _, code, why = told
        if code in PASSING and one.job.attempts < self.setting.attempts:
            taking.hand_back(one, counts=True)
            self.log("job_tried", **_of(one), code=code, why=why, seconds=seconds)
            self._stops.wait(BACK_OFF * 2 ** (one.job.attempts - 1))
            return False
        return self._end(taking, one, "failed", code, why=why, seconds=seconds)

    def _end(self, taking: Taking, one: Standing, how: str, code: str | None = None, **said: Any) -> bool:
        taking.end(one, how, code)
        taking.forget(self.setting.kept)
        self.log("job_ended", **_of(one), ended=how, **({"code": code} if code else {}), **said)
        return True

    def _attempt(self, taking: Taking, one: Standing) -> tuple[Standing, Told]:
        heard, tells = self._processes.Pipe(duplex=False)
        arguments = (one.job, self.setting.for_a_process(), self.store.working(one.job), self.store.results(one.job), tells)
        process = self._processes.Process(target=attempt, args=arguments, daemon=True)
        process.start()
        tells.close()
        until, noted_at = time.monotonic() + self.setting.seconds, 0.0
        try:
            while True:
                told = _next(heard)
                if told is not None and told[0] != "progress":
                    return one, told
                if told is not None and (time.monotonic() - noted_at > NOTED_EVERY or told[1] == told[2]):
                    one, noted_at = taking.progressed(one, told[1], told[2]), time.monotonic()
                if self._hands_back.is_set():
                    return one, ("handed_back",)
                if self.store.is_cancelled(one.job):
                    return one, ("cancelled",)
                if time.monotonic() > until:
                    return one, ("failed", "timed_out", "it took too long")
        except EOFError:
            process.join()
            return one, ("failed", "crashed", f"the process ended with {process.exitcode}")
        finally:
            process.kill()
            process.join()
            heard.close()


def _next(heard: Any) -> Told | None:
    """What the attempt tells next; None where it tells nothing for a moment. EOFError where it has ended without a word."""
    return heard.recv() if heard.poll(TICK) else None


def _of(one: Standing) -> dict[str, Any]:
    return {"job_id": one.job.job_id, "kind": one.job.kind, "caller": one.job.caller, "attempt": one.job.attempts}
