"""The commands that look after a memory: `gmem memory verify | ingest | archive | prune`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from governed_memory.errors import InputError, one_line
from governed_memory.host.configuration import read_host
from governed_memory.log import archive, prune, read_heads, seal, sign_heads, timestamp, utc_now, verify
from governed_memory.memory.built import edited_rows, replaced_reads
from governed_memory.memory.ingest import ORDER, ingest
from governed_memory.memory.options import add_folder, add_place, caller_of, folder_of, instant_of, opened
from governed_memory.memory.signatures import count_approvals, unsigned_approvals
from governed_memory.sealed import kept_handovers
from governed_memory.warehouse import build, open_memory

# Refused things named one by one; the rest is counted.
TOLD = 20


def register_upkeep(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to those of memory."""
    check = verbs.add_parser("verify", help="whether the log is whole, its approvals signed, and a build of it unedited; names what is not")
    add_folder(check)
    check.add_argument("--built", metavar="FILE", help="also compare the tables and views of this built database")
    check.add_argument("--noted", metavar="DIR", help="also hold the heads against copies noted elsewhere")
    check.set_defaults(run=run_verify)
    inbox = verbs.add_parser("ingest", help="take in the files of a folder; safe to run twice")
    inbox.add_argument("inbox", metavar="DIR")
    add_place(inbox)
    inbox.set_defaults(run=run_ingest)
    sign = verbs.add_parser("sign", help="sign the heads of a log that began without keys, once it is verified")
    add_folder(sign)
    sign.set_defaults(run=run_sign)
    keep = verbs.add_parser("archive", help="copy the sealed segments of the log to a folder, with a manifest of hashes")
    add_folder(keep)
    keep.add_argument("--to", metavar="DIR", required=True)
    keep.add_argument("--now", metavar="TIME", help="the instant that ages are counted to (default: the clock)")
    keep.set_defaults(run=run_archive)
    cut = verbs.add_parser("prune", help="remove archived segments past their time, as the seed retention_policies says")
    add_folder(cut)
    cut.add_argument("--archive", metavar="DIR", required=True, help="where `gmem memory archive` put the copies")
    cut.add_argument("--now", metavar="TIME", help="the instant that ages are counted to (default: the clock)")
    cut.set_defaults(run=run_prune)


def run_verify(arguments: argparse.Namespace) -> int:
    """Verify the log, and a build where one is named; 1 where something is wrong."""
    host, log = read_host(arguments.host), _log(arguments)
    found = verify(log, None, host.keys if host else None, Path(arguments.noted) if arguments.noted else None)
    problems = [str(problem) for problem in found.problems]
    if arguments.built and not problems:
        problems += [*edited_rows(log, Path(arguments.built)), *replaced_reads(Path(arguments.built))]
    notices = [str(notice) for notice in found.notices]
    if not found.problems and (approvals := count_approvals(log)):
        if host is not None:
            problems += unsigned_approvals(log, host.approvers)
        else:
            notices.append(f"the signatures of {approvals} approval(s) are not checked; name the host file with --host")
    for line in [*problems, *notices]:
        print(one_line(line))
    print(f"{sum(found.rows.values())} rows, {'whole' if not problems else f'{len(problems)} problem(s)'}")
    return 1 if problems else 0


def run_ingest(arguments: argparse.Namespace) -> int:
    """Take in an inbox; 1 where something was refused or unreadable."""
    host = read_host(arguments.host)
    name = caller_of(arguments, host).name
    with opened(arguments, host, begins=True) as memory:
        done = ingest(memory, Path(arguments.inbox), principal=name, session_id=arguments.session, now=instant_of(arguments.now))
    _hand_over(folder_of(arguments) / "log")
    for text in done.unreadable:
        print(one_line(text), file=sys.stderr)
    for file, line, outcome in done.refused[:TOLD]:
        print(one_line(f"{file} line {line}: refused: {outcome.code}: expected that {outcome.requirement}"), file=sys.stderr)
    for stream in ORDER:
        counts = {what: done.counts[stream, what] for what in ("written", "held", "refused")}
        if arguments.json:
            print(json.dumps({"stream": stream, **counts}))
        elif any(counts.values()):
            print(f"{stream}: {', '.join(f'{count} {what}' for what, count in counts.items() if count)}")
    if not done.counts and not arguments.json:
        print("nothing to take in")
    return 1 if done.unreadable or done.refused else 0


def _hand_over(log: Path) -> None:
    """Give what is committed to whoever builds: of each stream the last row, whose chain covers all before it."""
    handovers = kept_handovers()
    for writer, head in read_heads(log).items() if handovers.are_kept else ():
        for stream, state in head.streams.items():
            handovers.give("ingest", f"{writer}/{stream}/{state.seq}", state.chain, utc_now())


def run_sign(arguments: argparse.Namespace) -> int:
    """Sign the heads with the host's active key."""
    host = read_host(arguments.host)
    if host is None or host.keys is None:
        raise InputError("say with --host which file names the key to sign with")
    signed = sign_heads(_log(arguments), host.keys)
    print(f"{len(signed)} head(s) signed: {', '.join(signed) or 'none was without a signature'}")
    return 0


def run_archive(arguments: argparse.Namespace) -> int:
    """Seal what is past its time, and copy what is sealed."""
    host = read_host(arguments.host)
    keys, log = host.keys if host else None, _log(arguments)
    to, inside = Path(arguments.to).resolve(), [log.resolve(), (log.parent / "heads").resolve()]
    if any(to == folder or folder in to.parents for folder in inside):
        raise InputError(f"--to: {arguments.to!r} is part of the memory itself, where it would be taken for rows or heads; name a folder beside it")
    sealed = seal(log, _policy(), timestamp(instant_of(arguments.now)), keys=keys)
    copied = archive(log, Path(arguments.to), keys=keys)
    print(f"{len(sealed.segments)} sealed, {len(copied)} copied to {arguments.to}")
    return _tell_busy(sealed.busy)


def run_prune(arguments: argparse.Namespace) -> int:
    """Remove archived segments past their time."""
    host = read_host(arguments.host)
    done = prune(_log(arguments), Path(arguments.archive), _policy(), timestamp(instant_of(arguments.now)), keys=host.keys if host else None)
    for segment, why in done.kept.items():
        print(f"kept {segment}: {why}")
    print(f"{len(done.segments)} removed")
    return _tell_busy(done.busy)


def _tell_busy(writers: list[str]) -> int:
    for writer in writers:
        print(f"{writer}: is at work, so nothing of it was touched; run this again when it has ended", file=sys.stderr)
    return 1 if writers else 0


def _log(arguments: argparse.Namespace) -> Path:
    log = folder_of(arguments) / "log"
    if not log.is_dir():
        raise InputError(f"{str(log.parent)!r} holds no memory; name its folder with --memory")
    return log


def _policy() -> dict[str, int]:
    """For how many days each stream is kept, as the model int_retention says."""
    with open_memory() as connection:
        build(connection, ["int_retention"])
        return dict(connection.execute("select stream, keep_days from int_retention order by stream").fetchall())
