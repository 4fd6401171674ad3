"""The commands of learning: `gmem skill record`, `gmem candidates | approve | reject | revoke` and `gmem memory records` (rules M7 and M8)."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from typing import Any

from governed_memory.errors import InputError, one_line, shown
from governed_memory.host.configuration import read_host
from governed_memory.host.keys import private_key
from governed_memory.memory.approvals import APPROVE, REJECT, REVOKE, signed
from governed_memory.memory.json_lines import json_lines
from governed_memory.memory.kinds import SKILL
from governed_memory.memory.options import add_folder, add_place, caller_of, instant_of, opened, tell_outcomes
from governed_memory.memory.proposals import Outcome
from governed_memory.memory.recall import Sight

DONE = {APPROVE: "approved", REJECT: "rejected", REVOKE: "revoked"}


def register_learning(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to the root parser."""
    skill = commands.add_parser("skill", help="skills: record the execution traces that they are learned from")
    recording = skill.add_subparsers(dest="action", required=True, metavar="ACTION").add_parser("record", help="record traces of what was run")
    recording.add_argument(
        "file", metavar="FILE", help="JSON Lines, one trace a line: skill, steps, succeeded, executor, ended_at and so on; - for standard input"
    )
    add_place(recording)
    recording.set_defaults(run=run_record)
    listing = commands.add_parser("candidates", help="what could be learned from replayed frames or from traces, and awaits an approval")
    listing.add_argument("--all", dest="takes_settled", action="store_true", help="also those that were approved, rejected or revoked")
    listing.add_argument("--global", dest="is_global", action="store_true", help="across sessions; the caller needs reads_all_sessions in the host file")
    add_place(listing)
    listing.set_defaults(run=run_candidates)
    for verdict, target, what in (
        (APPROVE, "FINGERPRINT", "approve a candidate: it becomes a schema, and a record, or a skill"),
        (REJECT, "FINGERPRINT", "reject a candidate; other evidence makes another one"),
        (REVOKE, "CELL_ID", "revoke what was learned: it is no longer read, and what comes of it is in doubt"),
    ):
        parser = commands.add_parser(verdict, help=what)
        parser.add_argument("target", metavar=target)
        parser.add_argument("--key", metavar="FILE", required=True, help="the principal's own private key, Ed25519 in PEM form")
        parser.add_argument("--reason", metavar="TEXT", required=True, help="why")
        parser.add_argument("--party", metavar="NAME", help="the party that the principal speaks for, where they have several")
        if verdict != REJECT:
            parser.add_argument("--from", dest="valid_from", metavar="DATE", help="since when (default: the day of the statement)")
        add_place(parser)
        parser.set_defaults(run=run_verdict, verdict=verdict)


def register_records(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `records` to the commands of memory."""
    records = verbs.add_parser("records", help="what was learned as records of a store, JSON Lines, for `gmem ask --store FILE`")
    add_folder(records)
    records.set_defaults(run=run_records)


def run_record(arguments: argparse.Namespace) -> int:
    """Record the traces of a file (M8); 1 where one of them is refused."""
    told = [trace for _, trace in json_lines(arguments.file)]
    if not told:
        raise InputError(f"{arguments.file}: holds no trace; each line is one JSON object with skill, steps, succeeded, executor and ended_at")
    host, now = read_host(arguments.host), instant_of(arguments.now)
    with opened(arguments, host, begins=True) as memory:
        outcomes = memory.record_traces(told, principal=caller_of(arguments, host).name, session_id=arguments.session, now=now)
    return tell_outcomes(outcomes, as_json=arguments.json)


def run_candidates(arguments: argparse.Namespace) -> int:
    """Print the candidates that the caller may read; 1 where there is none."""
    host = read_host(arguments.host)
    with opened(arguments, host) as memory:
        sight = Sight(caller_of(arguments, host), arguments.session, instant_of(arguments.now), arguments.is_global)
        found = [one for one in memory.candidates(sight) if arguments.takes_settled or one["state"] == "open"]
    for one in found:
        print(json.dumps(one, ensure_ascii=False, default=str) if arguments.json else "\n".join(map(one_line, _lines(one))))
    if not found and not arguments.json:
        print("no candidate that you may read")
    return 0 if found else 1


def run_verdict(arguments: argparse.Namespace) -> int:
    """Sign and hand in one statement; 1 where it is refused."""
    host = read_host(arguments.host)
    if host is None:
        raise InputError("who may approve stands in a host file; name it with --host, see docs/learning.md")
    with opened(arguments, host) as memory:
        caller = caller_of(arguments, host)
        sight = Sight(caller, arguments.session, instant_of(arguments.now), caller.reads_all_sessions)
        valid_from = _day(arguments.valid_from) if arguments.verdict != REJECT else None
        said = memory.statement(arguments.verdict, arguments.target, sight, reason=arguments.reason, party=arguments.party, valid_from=valid_from)
        [outcome] = memory.decide(arguments.verdict, [signed(said, caller, private_key(caller.name, arguments.key))], sight, host.approvers)
    return _tell(outcome, arguments)


def run_records(arguments: argparse.Namespace) -> int:
    """Print the records that a build has in `memory_records`."""
    with opened(arguments, read_host(arguments.host)) as memory:
        for record in memory.records():
            told = {name: value for name, value in record.items() if name == "valid_to" or value not in (None, [])}
            print(json.dumps(told, ensure_ascii=False, default=_written))
    return 0


def _tell(outcome: Outcome, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(json.dumps({name: getattr(outcome, name) for name in outcome.__slots__}, ensure_ascii=False))
    elif outcome.code:
        print(one_line(f"refused: {outcome.code} ({outcome.guard}): expected that {outcome.requirement}"), file=sys.stderr)
    else:
        print(one_line(f"{DONE[arguments.verdict] if outcome.outcome == 'written' else 'held'}  {outcome.target_id}"))
    return int(bool(outcome.code))


def _lines(candidate: dict[str, Any]) -> list[str]:
    named = f"{candidate['candidate_fingerprint']}  {candidate['state']}"
    return [named, *(_of_a_skill(candidate) if candidate["kind"] == SKILL else _of_a_schema(candidate))]


def _of_a_skill(candidate: dict[str, Any]) -> list[str]:
    successes = [name for name in candidate["trace_ids"] if name not in set(candidate["counter_example_ids"])]
    return [
        f"  skill {candidate['skill']}: {' > '.join(candidate['tools'])}",
        f"  {candidate['success_count']} of {candidate['evidence_count']} runs succeeded: {', '.join(successes)}",
        f"  rate of success {candidate['success_rate']:.2f}, surely {candidate['rate_low']:.2f} to {candidate['rate_high']:.2f}",
        *(f"  {what}: {', '.join(names)}" for what, names in _limits(candidate).items() if names),
        f"  recorded by {', '.join(candidate['proposers'])}",
        *_proposed(candidate),
    ]


def _limits(candidate: dict[str, Any]) -> dict[str, list[str]]:
    return {
        "where it worked": candidate["success_conditions"],
        "only where it failed": candidate["failure_conditions"],
        "failed because": candidate["limits"],
        f"against it {candidate['failure_count']}": candidate["counter_example_ids"],
    }


def _of_a_schema(candidate: dict[str, Any]) -> list[str]:
    opposing = len(candidate["opposing_frame_ids"])
    return [
        f"  {candidate['concept']}: {candidate['outcome']}",
        f"  {candidate['evidence_count']} frames: {', '.join(candidate['frame_ids'])}",
        *([f"  against it {opposing}: {', '.join(candidate['opposing_frame_ids'])}"] if opposing else []),
        f"  bound by {', '.join(candidate['proposers'])}",
        *_proposed(candidate),
    ]


def _proposed(candidate: dict[str, Any]) -> list[str]:
    return [f"  proposed by {', '.join(candidate['proposed_by'])}"] if candidate["proposed_by"] else []


def _day(text: str | None) -> datetime.date | None:
    try:
        return None if text is None else datetime.date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--from: {shown(text)} is no date; write it as yyyy-mm-dd") from None


def _written(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime.date) else str(value)
