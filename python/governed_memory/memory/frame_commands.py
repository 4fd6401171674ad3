"""The commands of event frames: bind, replay and show (rule M6)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from governed_memory.errors import InputError, one_line
from governed_memory.host.configuration import read_host
from governed_memory.memory.frames import Replayed
from governed_memory.memory.json_lines import json_lines
from governed_memory.memory.options import add_place, caller_of, instant_of, opened
from governed_memory.memory.proposals import Outcome
from governed_memory.memory.recall import Sight


def register_frames(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `frame` to the root parser."""
    frame = commands.add_parser("frame", help="event frames: bind observations in order, replay them, show one")
    actions = frame.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = actions.add_parser("bind", help="bind cells as frames; the cells stay as they are")
    parser.add_argument("file", metavar="FILE", help="JSON Lines, one frame a line: scene, goal, action, outcome, steps and so on; - for standard input")
    _add_common(parser, run_bind)
    parser = actions.add_parser("replay", help="walk the steps of frames; each that is still what was bound gets a replay link")
    parser.add_argument("frame_id", nargs="+", metavar="FRAME_ID")
    _add_common(parser, run_replay)
    parser = actions.add_parser("show", help="a frame with its state, its steps and the cells they lead back to")
    parser.add_argument("frame_id", metavar="FRAME_ID")
    parser.add_argument("--global", dest="is_global", action="store_true", help="across sessions; the caller needs reads_all_sessions in the host file")
    _add_common(parser, run_show)


def _add_common(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    add_place(parser)
    parser.set_defaults(run=run)


def run_bind(arguments: argparse.Namespace) -> int:
    """Bind the frames of a file (M6); 1 where one of them is refused."""
    told = [frame for _, frame in json_lines(arguments.file)]
    if not told:
        raise InputError(f"{arguments.file}: holds no frame; each line is one JSON object with scene, goal, action, outcome and steps")
    host, now = read_host(arguments.host), instant_of(arguments.now)
    with opened(arguments, host) as store:
        outcomes = store.bind(told, principal=caller_of(arguments, host).name, session_id=arguments.session, now=now)
    _tell(arguments, outcomes, _bound_line)
    return int(any(outcome.code for outcome in outcomes))


def run_replay(arguments: argparse.Namespace) -> int:
    """Replay frames (M6); 1 where one of them is not complete."""
    host, now = read_host(arguments.host), instant_of(arguments.now)
    with opened(arguments, host) as store:
        outcomes = store.replay(arguments.frame_id, principal=caller_of(arguments, host).name, session_id=arguments.session, now=now)
    _tell(arguments, outcomes, _replayed_line)
    return int(not all(outcome.is_complete for outcome in outcomes))


def run_show(arguments: argparse.Namespace) -> int:
    """Show a frame (M6); 1 where there is none that the caller may read (M5)."""
    host, now = read_host(arguments.host), instant_of(arguments.now)
    with opened(arguments, host) as store:
        found = store.frame(arguments.frame_id, Sight(caller_of(arguments, host), arguments.session, now, arguments.is_global))
    if found is None:
        print(f"{one_line(arguments.frame_id)}: no such frame, or none that you may read", file=sys.stderr)
        return 1
    print(json.dumps(found, ensure_ascii=False, default=str) if arguments.json else "\n".join(map(one_line, _lines(found))))
    return 0


def _tell(arguments: argparse.Namespace, outcomes: Sequence[Any], line: Callable[[Any], str]) -> None:
    for outcome in outcomes:
        print(json.dumps(asdict(outcome), ensure_ascii=False) if arguments.json else one_line(line(outcome)))


def _bound_line(outcome: Outcome) -> str:
    why = f"  {outcome.code} ({outcome.guard}): {outcome.requirement}" if outcome.code else ""
    return f"{outcome.outcome:<8} {outcome.target_id or f'frame {outcome.place}'}{why}"


def _replayed_line(outcome: Replayed) -> str:
    if outcome.code:
        return f"{outcome.outcome:<8} {outcome.frame_id}  {outcome.code} ({outcome.guard}): {outcome.requirement}"
    found = f"{'complete' if outcome.is_complete else 'incomplete'}, {outcome.verified_steps} verified, {outcome.links_written} linked"
    failed = "" if outcome.is_complete else f"; step {outcome.failed_position}, {outcome.failed_cell_id}: {outcome.reason}"
    return f"{outcome.outcome:<8} {outcome.frame_id}  {found}{failed}"


def _lines(frame: dict[str, Any]) -> list[str]:
    failed = f": step {frame['failed_position']}, {frame['reason']}" if frame["failed_position"] is not None else ""
    lines = [f"{frame['frame_id']}  {frame['state']}{failed}"]
    lines += [f"  {name:<8}  {frame[name]}" for name in ("scene", "goal", "action", "outcome")]
    lines += [f"  {name:<8}  {', '.join(frame[name])}" for name in ("entities", "cues") if frame[name]]
    if frame["starts_at"] or frame["ends_at"]:
        lines.append(f"  span      {frame['starts_at'] or '~'} .. {frame['ends_at'] or '~'}")
    lines.append(f"  steps, in the order {'of the source' if frame['order_from'] == 'source' else 'that the frame states'}")
    for step in frame["steps"]:
        lines.append(f"  {step['position']:>3}  {step['cell_id']}  {'replayed' if step['has_replay_link'] else '-':<8}  {step['content'] or '(not held)'}")
        behind = [cell["cell_id"] for cell in frame["lineage"] or [] if cell["position"] == step["position"] and cell["named_by"]]
        lines += [f"         from {cell_id}" for cell_id in behind]
    return lines
