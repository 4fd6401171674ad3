"""`gmem serve`: the reads for agents, over MCP. A boundary: who asks is fixed by the host file, at the start or by a token (rule G8)."""

from __future__ import annotations

import argparse
import ipaddress
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

from governed_memory.errors import InputError, one_line
from governed_memory.host.configuration import Caller, Host, read_host
from governed_memory.log import witness_at
from governed_memory.memory import MemoryStore
from governed_memory.reads.named import add_asked, store_asked
from governed_memory.reads.noted import memory_place
from governed_memory.service.job_commands import PLACE as JOBS_PLACE
from governed_memory.service.job_commands import add_doing, jobs_place, register_jobs, setting_of
from governed_memory.service.job_tools import Jobs
from governed_memory.service.jobs.store import JobStore
from governed_memory.service.json_log import Log, log_to
from governed_memory.service.limits import Limits
from governed_memory.service.served import Served
from governed_memory.service.served_snapshot import ServedSnapshot, served_snapshot
from governed_memory.service.shared_memory import SharedMemory
from governed_memory.service.tokens import Tokens
from governed_memory.warehouse import StoreFile


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this room's commands to the root parser."""
    register_jobs(commands)
    parser = commands.add_parser("serve", help="serve agents over MCP: standard input and output for one caller, or HTTP for callers with tokens")
    parser.add_argument("--host", metavar="FILE", help="the host file: callers, tokens, owners, policies (default: GMEM_HOST)")
    parser.add_argument("--caller", metavar="NAME", help="on standard input and output: who is served, as the host file names them")
    parser.add_argument("--http", metavar="ADDRESS:PORT", help="serve over HTTP; who calls is told by bearer tokens that the host file names")
    add_asked(parser)
    parser.add_argument("--memory", metavar="DIR", help="let callers remember and recall here, and note all reads here (default: GMEM_MEMORY, else no)")
    parser.add_argument(
        "--snapshots",
        metavar="DIR",
        help="serve the newest snapshot of this place that is whole: its memory, to be read only, and the published file it holds; --memory notes the reads",
    )
    parser.add_argument(
        "--jobs", metavar="DIR", help=f"over HTTP: let callers submit jobs, and do them; they and their results are kept here (default: {JOBS_PLACE}, else no)"
    )
    add_doing(parser)
    _add_limits(parser)
    parser.add_argument("--log", metavar="FILE", help="over HTTP: what happens, as JSON Lines without what is asked or answered; - for standard error")
    parser.set_defaults(run=run_serve)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    usual = Limits()
    for option, kind, said in (
        ("--request-bytes", int, "how large a request may be"),
        ("--request-seconds", float, "how long a request may take to arrive"),
        ("--call-seconds", float, "how long a call may take, with the time it waits for its turn"),
        ("--calls", int, "how many calls run at once"),
        ("--requests", int, "how many requests may run or wait; more are turned away"),
        ("--drain-seconds", float, "told to end, how long to wait for what is under way; then a job is handed back"),
    ):
        default = getattr(usual, option[2:].replace("-", "_"))
        parser.add_argument(option, type=kind, default=default, metavar="N", help=f"over HTTP: {said} (default {default:g})")


def run_serve(arguments: argparse.Namespace) -> int:
    """Serve until the input ends or the server is interrupted."""
    if any(find_spec(name) is None for name in ("mcp", "uvicorn", "prometheus_client")):
        raise InputError("serving needs the `mcp` extra; install it with: pip install 'governed-memory[mcp]'")
    host = read_host(arguments.host)
    if host is None:
        raise InputError("say with --host which file names the callers; only the host's configuration can say who asks")
    if (arguments.caller is None) == (arguments.http is None):
        raise InputError("give --caller NAME to serve one caller on standard input and output, or --http ADDRESS:PORT to serve callers with tokens")
    store = store_asked(arguments, host)
    # Everything that can be wrong is said before anybody is served.
    caller = None if arguments.caller is None else host.caller(arguments.caller)
    place = None if arguments.http is None else _place(arguments.http)
    tokens = None if arguments.http is None else Tokens(host)
    limits = Limits(arguments.request_bytes, arguments.request_seconds, arguments.call_seconds, arguments.calls, arguments.requests, arguments.drain_seconds)
    if caller is not None and (arguments.jobs or arguments.log):
        raise InputError("--jobs and --log go with --http; on standard input and output the server ends with its one caller")
    with _snapshot(arguments, host, store) as snapshot, _memory(memory_place(arguments.memory), host, caller, snapshot) as memory:
        database = str(snapshot.database) if snapshot and snapshot.database else arguments.database
        jobs = None if caller else _jobs(arguments, host, store, database)
        served = Served(store, database, host, memory, arguments.form, arguments.attestations, jobs)
        for notice in snapshot.notices if snapshot else ():
            _notice(notice)
        if caller is not None:
            from governed_memory.service.mcp_server import serve_stdio

            with served.opened() as opened:
                for notice in opened.notices:
                    _notice(notice)
            serve_stdio(served, caller)
        elif tokens is not None and place is not None:
            _serve_http(served, tokens, limits, log_to(arguments.log), place)
    return 0


def _notice(text: str) -> None:
    print(one_line(f"gmem serve: notice: {text}"), file=sys.stderr)


def _jobs(arguments: argparse.Namespace, host: Host, store: StoreFile | str | None, database: str | None) -> Jobs | None:
    place = jobs_place(arguments.jobs)
    if place is None:
        return None
    # A snapshot that is served is not taken again; what its reads are noted in is.
    setting = setting_of(arguments, host, store, database, memory_place(arguments.memory))
    return Jobs(JobStore(place), setting)


@contextmanager
def _snapshot(arguments: argparse.Namespace, host: Host, store: StoreFile | str | None) -> Iterator[ServedSnapshot | None]:
    if arguments.snapshots is None:
        yield None
        return
    if arguments.database or isinstance(store, StoreFile):
        raise InputError("--snapshots: records are those of the published file that the snapshot holds; leave out --database and a store file")
    with served_snapshot(Path(arguments.snapshots), host) as snapshot:
        yield snapshot


@contextmanager
def _memory(place: str | None, host: Host, caller: Caller | None, snapshot: ServedSnapshot | None) -> Iterator[SharedMemory | None]:
    # One process serves one connection on standard input and output, and that is a session.
    own_session = f"mcp-{uuid4().hex}" if caller else None
    if snapshot and snapshot.memory:
        if place is None:
            raise InputError("--snapshots: every read leaves an event, and a snapshot is not written to; name with --memory a memory to note the reads in")
        with witness_at(place, host.keys) as witness, MemoryStore(snapshot.memory, keys=host.keys, witness=witness) as store:
            yield SharedMemory(store, own_session, is_read_only=True)
    elif place is None:
        yield None
    else:
        with MemoryStore(place, keys=host.keys) as store:
            yield SharedMemory(store, own_session)


def _serve_http(served: Served, tokens: Tokens, limits: Limits, log: Log, place: tuple[str, int]) -> None:
    from governed_memory.service.http_server import HttpServer

    if not _is_loopback(place[0]):
        print("gmem serve: notice: tokens and records cross the network in the clear; put it behind something that speaks TLS", file=sys.stderr)
    HttpServer(served, tokens, limits, log).serve(*place)


def _place(text: str) -> tuple[str, int]:
    address, colon, port = text.rpartition(":")
    if not (address and colon and port.isascii() and port.isdigit() and int(port) < 65536):
        raise InputError(f"--http: {text!r} is not ADDRESS:PORT, such as 127.0.0.1:8765")
    return address.removeprefix("[").removesuffix("]"), int(port)


def _is_loopback(address: str) -> bool:
    try:
        return address == "localhost" or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
