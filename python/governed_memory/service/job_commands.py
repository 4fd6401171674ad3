"""`gmem job submit | status | list | cancel | run`: work that is done later, once (rule M13). Tools for operators: who asks is what they say (rule G8)."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.host.configuration import JOBS, Host, read_host
from governed_memory.log import utc_now
from governed_memory.packets.formats import FORMATS
from governed_memory.reads.named import add_asked, store_asked
from governed_memory.service.jobs.job import Standing
from governed_memory.service.jobs.kinds import Setting, job_asked
from governed_memory.service.jobs.store import JobStore
from governed_memory.service.jobs.worker import Worker
from governed_memory.service.json_log import log_to

PLACE = "GMEM_JOBS"


def register_jobs(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `job` to the root parser."""
    parser = commands.add_parser("job", help="work that is asked for now and done later, once: packets, runs of the bridge, snapshots")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    submit = verbs.add_parser("submit", help="put a job in the queue; the same again is the same job")
    submit.add_argument("kind", choices=JOBS)
    _add_place(submit)
    submit.add_argument("--host", metavar="FILE", help="the host file, which says who the caller is and what they may submit (default: GMEM_HOST)")
    submit.add_argument("--caller", required=True, metavar="NAME", help="as whom the job acts")
    submit.add_argument("--request", required=True, metavar="NAME", help="what the job is called; it is the caller's only job of that name")
    submit.add_argument("--as-of", metavar="D", help="yyyy-mm-dd")
    submit.add_argument("--concept", action="append", default=[], metavar="C", help="a concept by name; may be repeated (packets: every one, if left out)")
    submit.add_argument("--scope", action="append", default=[], metavar="X", help="a class of question; may be repeated")
    submit.add_argument("--known-on", metavar="D", help="as known at the end of that day, or at that UTC timestamp")
    submit.add_argument("--store", metavar="NAME", help="one attached store (default: every one)")
    submit.add_argument("--budget", type=int, metavar="N", help="how many characters a packet may have (default: no limit)")
    submit.add_argument("--as", dest="text_form", choices=tuple(FORMATS), help="how the text of a packet is written (default: compact)")
    submit.set_defaults(run=_submit)
    status = verbs.add_parser("status", help="where a job stands, and where its result is")
    status.add_argument("job_id", metavar="ID")
    _add_place(status)
    status.add_argument("--json", action="store_true", help="one JSON object")
    status.set_defaults(run=_status)
    known = verbs.add_parser("list", help="all jobs, in the order in which they were submitted")
    _add_place(known)
    known.add_argument("--caller", metavar="NAME", help="only those of this caller")
    known.add_argument("--json", action="store_true", help="one JSON object a line")
    known.set_defaults(run=_list)
    cancel = verbs.add_parser("cancel", help="a job is wanted no more; one that has ended stays as it is")
    cancel.add_argument("job_id", metavar="ID")
    _add_place(cancel)
    cancel.set_defaults(run=_cancel)
    run = verbs.add_parser("run", help="do what is in the queue; `gmem serve --jobs` does it while it serves")
    _add_place(run)
    run.add_argument("--host", metavar="FILE", help="the host file: callers, owners, policies, and the key that signs results (default: GMEM_HOST)")
    add_asked(run)
    run.add_argument("--memory", metavar="DIR", help="for snapshots: the folder of the memory (default: GMEM_MEMORY, else none)")
    add_doing(run)
    run.add_argument("--watch", action="store_true", help="wait for more, until interrupted")
    run.add_argument("--log", metavar="FILE", help="what happens, as JSON Lines without a value of a record; - for standard error")
    run.set_defaults(run=_run)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", metavar="DIR", help=f"where jobs and their results are kept (default: {PLACE})")


def add_doing(parser: argparse.ArgumentParser) -> None:
    """Add the options that say with what jobs are done."""
    base = parser.add_mutually_exclusive_group()
    base.add_argument("--model", metavar="PATH", help="for runs of the bridge: a folder with a Qwen3 checkpoint on this machine")
    base.add_argument("--build", metavar="SHAPE", help="for runs of the bridge: instead, a Qwen3 of this shape with random weights")
    parser.add_argument("--runs", metavar="DIR", help="for runs of the bridge: note them here too, where dbt reads them")
    parser.add_argument("--job-seconds", type=float, default=3600.0, metavar="N", help="how long one attempt at a job may take (default 3600)")
    parser.add_argument("--attempts", type=int, default=3, metavar="N", help="how often a job is begun at most (default 3)")
    parser.add_argument("--keep-jobs", type=int, default=1000, metavar="N", help="how many jobs that have ended are kept, with their results (default 1000)")


def jobs_place(given: str | None) -> Path | None:
    """The place of jobs: as given, else as GMEM_JOBS names it; None where there is none."""
    place = given or os.environ.get(PLACE)
    return Path(place) if place else None


def setting_of(arguments: argparse.Namespace, host: Host, store: Any, database: str | None, memory: str | None) -> Setting:
    """What jobs are done with.

    Raises:
        InputError: results could not be signed, or a number is too small.
    """
    if not arguments.job_seconds > 0 or arguments.attempts < 1 or arguments.keep_jobs < 1:
        raise InputError("--job-seconds is a number above 0, --attempts and --keep-jobs are 1 or more")
    setting = Setting(
        host, store, database, arguments.form, arguments.attestations, memory, os.environ.get("GMEM_LEDGER"),
        arguments.model, arguments.build, arguments.runs, arguments.job_seconds, arguments.attempts, arguments.keep_jobs,
    )  # fmt: skip
    setting.keys.sign(b"a key that cannot sign is found out before a job is done")
    return setting


def _store(arguments: argparse.Namespace, *, is_made: bool = False) -> JobStore:
    place = jobs_place(arguments.jobs)
    if place is None:
        raise InputError(f"say with --jobs DIR (or {PLACE}) where jobs are kept")
    if not is_made and not (place / "queue").is_dir():
        raise InputError(f"--jobs: {str(place)!r} holds no jobs; `gmem job submit` puts the first one there")
    return JobStore(place)


def _submit(arguments: argparse.Namespace) -> int:
    host = read_host(arguments.host)
    if host is None:
        raise InputError("say with --host which file names the callers; a job acts as one of them")
    given = {
        "as_of": arguments.as_of, "concepts": arguments.concept, "scope": arguments.scope, "known_on": arguments.known_on,
        "store": arguments.store, "budget": arguments.budget, "form": arguments.text_form,
    }  # fmt: skip
    job = job_asked(arguments.kind, host.caller(arguments.caller), arguments.request, given, utc_now())
    print(_store(arguments, is_made=True).submit(job).job.job_id)
    return 0


def _status(arguments: argparse.Namespace) -> int:
    """Print where a job stands; 1 where it has ended otherwise than done."""
    store = _store(arguments)
    one = _known(store, arguments.job_id)
    told = one.as_data() | {"caller": one.job.caller, "result": str(store.result_folder(one.job)) if one.state == "done" else None}
    print(json.dumps(told, ensure_ascii=False) if arguments.json else "\n".join(_told(told)))
    return int(one.state in ("failed", "cancelled"))


def _list(arguments: argparse.Namespace) -> int:
    for one in _store(arguments).standings():
        if arguments.caller in (None, one.job.caller):
            job = one.job
            told = one.as_data() | {"caller": job.caller}
            print(json.dumps(told, ensure_ascii=False) if arguments.json else f"{job.job_id}  {one.state:10} {job.kind:8}  {job.caller}  {job.request}")
    return 0


def _cancel(arguments: argparse.Namespace) -> int:
    store = _store(arguments)
    one = _known(store, arguments.job_id)
    store.cancel(one)
    print(_known(store, arguments.job_id).state)
    return 0


def _run(arguments: argparse.Namespace) -> int:
    host = read_host(arguments.host)
    if host is None:
        raise InputError("say with --host which file names the callers and, under `keys`, who signs results")
    store = _store(arguments, is_made=True)
    memory = arguments.memory or os.environ.get("GMEM_MEMORY")
    worker = Worker(store, setting_of(arguments, host, store_asked(arguments, host), arguments.database, memory), log_to(arguments.log))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop(hands_back=True))
    ended = worker.work(waits=arguments.watch)
    print(f"{ended} jobs came to an end", file=sys.stderr)
    return 0


def _known(store: JobStore, job_id: str) -> Standing:
    one = store.standing(job_id)
    if one is None:
        raise InputError(f"{shown(job_id)} is no job of {str(store.place)!r}; `gmem job list` has them")
    return one


def _told(told: dict[str, Any]) -> Iterator[str]:
    progress = told["progress"]
    yield f"job {told['job_id']} ({told['kind']}, {told['request']!r} of {told['caller']}): {told['state']}"
    yield f"  submitted {told['submitted_at']}, begun {told['attempts']} times" + (f", {progress['done']} of {progress['whole']}" if progress["whole"] else "")
    if "failure" in told:
        yield f"  {told['failure']['code']}: {told['failure']['message']}"
    if told["result"]:
        yield f"  result: {told['result']}"
