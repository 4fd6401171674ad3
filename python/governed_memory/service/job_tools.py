"""The tools of jobs (rule M13). A job is its caller's: it acts as they do, and to anybody else it is one that does not exist (rule G7)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from sqlite3 import Error as QueueError
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.host.configuration import JOBS, Caller
from governed_memory.log import utc_now
from governed_memory.packets.formats import FORMATS
from governed_memory.reads.ask import Opened
from governed_memory.reads.noted import of_listing
from governed_memory.service.jobs.job import Standing
from governed_memory.service.jobs.kinds import Setting, job_asked
from governed_memory.service.jobs.results import OutdatedError, Result, result_of
from governed_memory.service.jobs.store import JobStore
from governed_memory.service.memory_tools import expect_json
from governed_memory.service.refusals import ToolError, of_arguments
from governed_memory.service.served import Served
from governed_memory.service.tool import DAY, KNOWN_ON, SCOPE, STORE, TEXT, TEXTS, Call, Tool, note_read

LOGGER = logging.getLogger(__name__)
# Characters of a file that one call gives.
PIECE, MOST_PIECE = 20_000, 200_000


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of a server: where they are, and with what they are done."""

    store: JobStore
    setting: Setting


def _jobs(served: Served) -> Jobs:
    assert served.jobs, "these tools are there only where there are jobs"
    return served.jobs


def _submit(call: Call) -> dict[str, Any]:
    expect_json(call.given)
    given = {name: value for name, value in call.given.items() if name not in ("kind", "request")}
    with of_arguments():
        job = job_asked(call.given["kind"], call.caller, call.given["request"], given, utc_now())
    try:
        with of_arguments():
            return _jobs(call.served).store.submit(job).as_data()
    except (QueueError, OSError) as error:
        raise _unavailable(error) from None


def _job(call: Call) -> dict[str, Any]:
    return own(call.served, call.caller, call.given["job_id"]).as_data()


def _list(call: Call) -> dict[str, Any]:
    try:
        return {"jobs": [one.as_data() for one in _jobs(call.served).store.standings() if one.job.caller == call.caller.name]}
    except (QueueError, OSError) as error:
        raise _unavailable(error) from None


def _cancel(call: Call) -> dict[str, Any]:
    one = own(call.served, call.caller, call.given["job_id"])
    try:
        _jobs(call.served).store.cancel(one)
    except OSError as error:
        raise _unavailable(error) from None
    return own(call.served, call.caller, call.given["job_id"]).as_data()


def _result(call: Call) -> dict[str, Any]:
    job_id, name = call.given["job_id"], call.given.get("file")
    result = own_result(call.served, call.opened, call.caller, job_id)
    told: dict[str, Any] = {"job_id": job_id, **result.as_data(), "is_readable": bool(result.names)}
    if name is None:
        return told
    text = file_of(result, name).decode()
    offset, most = call.given.get("offset", 0), call.given.get("characters", PIECE)
    if offset < 0 or not 1 <= most <= MOST_PIECE:
        raise ToolError("invalid_argument", f"offset: expected 0 or more, and characters 1 to {MOST_PIECE}")
    end = min(offset + most, len(text))
    return told | {"file": name, "text": text[offset:end], "next_offset": end if end < len(text) else None}


def own(served: Served, caller: Caller, job_id: str) -> Standing:
    """A job of the caller's.

    Raises:
        ToolError: it is not there, or somebody else's, which is the same to the letter.
    """
    try:
        one = _jobs(served).store.standing(job_id)
    except (QueueError, OSError) as error:
        raise _unavailable(error) from None
    if one is None or one.job.caller != caller.name:
        raise ToolError("not_found", f"job_id: {shown(job_id)} is no job of yours")
    return one


def own_result(served: Served, opened: Opened, caller: Caller, job_id: str) -> Result:
    """The result of a job of the caller's; that it was read is noted before it is given.

    Raises:
        ToolError: there is none, or it tells what the caller would not be told now.
    """
    one, jobs = own(served, caller, job_id), _jobs(served)
    if one.state != "done":
        raise ToolError("not_done", f"job_id: the job is {one.state}; it has no result")
    try:
        result = result_of(one.job, jobs.store.results(one.job), jobs.setting.keys, opened, caller)
    except OutdatedError as error:
        raise ToolError("outdated", str(error)) from None
    except (InputError, OSError) as error:
        raise _not_as_delivered(error) from None
    if result.names:
        note_read(served, caller, of_listing("job_result", result.shown, on_date=one.job.arguments.get("as_of")))
    return result


def file_of(result: Result, name: str) -> bytes:
    """The content of a file of a result.

    Raises:
        ToolError: it has none of that name that its caller may have, or it is not as it was sealed.
    """
    if name not in result.names:
        known = f"there are {', '.join(result.names)}" if result.names else "there is none"
        raise ToolError("not_found", f"file: {shown(name)} is none that you may read; {known}")
    try:
        return result.read(name)
    except (InputError, OSError) as error:
        raise _not_as_delivered(error) from None


def _not_as_delivered(error: Exception) -> ToolError:
    LOGGER.error("the result of a job cannot be read: %s", type(error).__name__)
    return ToolError("result_unavailable", "the result is not there as it was delivered; submit the job again under another name")


def _unavailable(error: Exception) -> ToolError:
    LOGGER.error("the jobs cannot be used: %s", type(error).__name__)
    return ToolError("jobs_unavailable", "the jobs cannot be read or written now; try again later")


def _tool(
    description: str, answer: Callable[[Call], dict[str, Any]], arguments: Mapping[str, dict[str, Any]], required: tuple[str, ...] = (), *, writes: bool = False
) -> Tool:
    return Tool(description, answer, arguments, required, needs_stores=False, is_read_only=not writes)


JOB_ID = {"job_id": {**TEXT, "description": "as submit_job gave it"}}
JOB_TOOLS = {
    "submit_job": _tool(
        "Asks for work that is done later, as you: packets (one of each concept; of every one that you are told of, if concepts are left out), bridge (a "
        "frozen model with the facts of concepts beside a control without) or snapshot. The same request again is the same job. See where it stands with job.",
        _submit,
        {
            "kind": {**TEXT, "description": ", ".join(JOBS)},
            "request": {**TEXT, "description": "what you call the job: letters, digits, points, lines and underscores"},
            "concepts": {**TEXTS, "description": "concepts, exactly as the store names them"},
            "as_of": DAY, "scope": SCOPE, "known_on": KNOWN_ON, "store": STORE,
            "budget": {"type": "integer", "description": "how many characters a packet may have; no limit if left out"},
            "form": {**TEXT, "description": f"{', '.join(FORMATS)}; compact if left out"},
        },
        ("kind", "request"),
        writes=True,
    ),
    "job": _tool("Where a job of yours stands: queued, running, done, failed, cancelling or cancelled; and how much is done.", _job, JOB_ID, ("job_id",)),
    "jobs": _tool("Your jobs, in the order in which you submitted them.", _list, {}),
    "cancel_job": _tool("Says that a job of yours is wanted no more. One that has ended stays so.", _cancel, JOB_ID, ("job_id",), writes=True),
    "job_result": Tool(
        "What a job of yours gave: its files with their hashes, and of one of them a piece of its text. Given only as long as you would be shown all of it.",
        _result,
        {
            **JOB_ID, "file": {**TEXT, "description": "one of the files"},
            "offset": {"type": "integer", "description": "of the first character; 0 if left out"},
            "characters": {"type": "integer", "description": f"how many; {PIECE} if left out"},
        },
        ("job_id",),
    ),
}  # fmt: skip
