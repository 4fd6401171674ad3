"""`gmem proposals`: what somebody, an agent mostly, has proposed, and the command by which a person makes it so (rules M4 and M7)."""

from __future__ import annotations

import argparse
import json
from typing import Any

from governed_memory.errors import one_line
from governed_memory.host.configuration import read_host
from governed_memory.memory.options import add_place, caller_of, instant_of, opened
from governed_memory.memory.recall import Sight


def register_proposals(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the root parser."""
    parser = commands.add_parser("proposals", help="what was proposed, of records and candidates, and the command that accepts it")
    parser.add_argument("--all", dest="takes_settled", action="store_true", help="also of candidates that were settled, or are none any more")
    parser.add_argument("--global", dest="is_global", action="store_true", help="across sessions; the caller needs reads_all_sessions in the host file")
    add_place(parser)
    parser.set_defaults(run=run_proposals)


def run_proposals(arguments: argparse.Namespace) -> int:
    """Print the proposals that the caller may read; 1 where there is none."""
    host = read_host(arguments.host)
    with opened(arguments, host) as memory:
        sight = Sight(caller_of(arguments, host), arguments.session, instant_of(arguments.now), arguments.is_global)
        found = [one for one in memory.proposals(sight) if arguments.takes_settled or one["state"] == "open"]
    for one in found:
        print(json.dumps(one, ensure_ascii=False, default=str) if arguments.json else "\n".join(map(one_line, _lines(one))))
    if not found and not arguments.json:
        print("no proposal that you may read")
    return 0 if found else 1


def _lines(proposal: dict[str, Any]) -> list[str]:
    change = [
        f"  {proposal['store_id']}, {proposal['concept']}: {proposal['value']}",
        f"  from {proposal['valid_from']} in place of {', '.join(proposal['supersedes'])}",
    ]
    return [
        f"{proposal['proposal_id']}  {proposal['kind']}  {proposal['state']}  by {proposal['principal']}, {proposal['recorded_at']:%Y-%m-%d %H:%M:%S}",
        *(change if proposal["kind"] == "record" else [f"  candidate {proposal['candidate_fingerprint']}"]),
        f"  because {proposal['reason']}",
        *([f"  accept with: {proposal['command']}"] if proposal["state"] == "open" else []),
    ]
