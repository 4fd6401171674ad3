"""What a server counts, in the text that Prometheus reads. Labels are words of ours: no caller, no concept, no value of a record."""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Enum, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from governed_memory.service.jobs.job import Standing
from governed_memory.service.lifecycle import STATES, State

# Seconds. A call is a few milliseconds, a large one seconds; jobs take minutes.
OF_CALLS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
OF_JOBS = (1, 5, 15, 60, 300, 900, 3600)
JOB_STATES = ("queued", "running", "cancelling", "done", "failed", "cancelled")


class Metrics:
    """The numbers of one server."""

    def __init__(self) -> None:
        """All at nought, in a registry of its own."""
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._calls = Counter("gmem_calls", "Calls of tools, by how they went: ok, or the code of the error", ("tool", "result"), registry=self._registry)
        self._seconds = Histogram("gmem_call_seconds", "How long calls took", ("tool",), buckets=OF_CALLS, registry=self._registry)
        self._turned_away = Counter("gmem_turned_away", "Requests that were not begun, by why", ("reason",), registry=self._registry)
        self.in_flight = Gauge("gmem_requests_in_flight", "Requests that are being answered", registry=self._registry)
        self._state = Enum("gmem_state", "Where the server stands", states=list(STATES), registry=self._registry)
        self._attempts = Counter("gmem_job_attempts", "Attempts at jobs, by what became of them", ("kind", "result"), registry=self._registry)
        self._job_seconds = Histogram("gmem_job_attempt_seconds", "How long attempts took", ("kind",), buckets=OF_JOBS, registry=self._registry)

    def entered(self, state: State) -> None:
        """The server has come to a state."""
        self._state.state(state)

    def called(self, tool: str, result: str, seconds: float) -> None:
        """A call has been answered."""
        self._calls.labels(tool, result).inc()
        self._seconds.labels(tool).observe(seconds)

    def turned_away(self, reason: str) -> None:
        """A request was not begun."""
        self._turned_away.labels(reason).inc()

    def attempted(self, kind: str, result: str, seconds: float) -> None:
        """An attempt at a job is over."""
        self._attempts.labels(kind, result).inc()
        self._job_seconds.labels(kind).observe(seconds)

    def as_text(self, standings: Iterable[Standing] | None) -> bytes:
        """All numbers, with those of the jobs there are; None where a server has no jobs."""
        jobs = CollectorRegistry()
        if standings is not None:
            jobs.register(_Jobs(Count(one.state for one in standings)))
        return generate_latest(self._registry) + generate_latest(jobs)


class _Jobs(Collector):
    """How many jobs there are, counted when somebody asks."""

    def __init__(self, count: Count[str]) -> None:
        self._count = count

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily("gmem_jobs", "Jobs, by where they stand", labels=["state"])
        for state in JOB_STATES:
            family.add_metric([state], self._count[state])
        yield family
