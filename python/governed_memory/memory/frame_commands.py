"""The commands of event frames: bind, replay and show (rule M6)."""

from __future__ import annotations

import argparse
import datetime
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from governed_memory.dates import instant
from governed_memory.errors import InputError, one_line
from governed_memory.memory.frames import Replayed
from governed_memory.memory.proposals import Outcome
from governed_memory.memory.recall import Reader
from governed_memory.memory.store import MemoryStore
from governed_memory.warehouse.json_text import parse


def register_frames(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `frame` to the root parser."""
    frame = commands.add_parser("frame", help="event frames: bind observations in order, replay them, show one")
    actions = frame.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = actions.add_parser("bind", help="bind cells as frames; the cells stay as they are")
    parser.add_argument("file", metavar="FILE", help="JSON Lines, one frame a line: scene, goal, action, outcome, steps and so on")
    _add_common(parser, run_bind)
    parser = actions.add_parser("replay", help="walk the steps of frames; each that is still what was bound gets a replay link")
    parser.add_argument("frame_id", nargs="+", metavar="FRAME_ID")
    _add_common(parser, run_replay)
    parser = actions.add_parser("show", help="a frame with its state, its steps and the cells they lead back to")
    parser.add_argument("frame_id", metavar="FRAME_ID")
    _add_common(parser, run_show)


def _add_common(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    parser.add_argument("--memory", metavar="DIR", help="the folder of the memory (default: GMEM_MEMORY, else memory)")
    parser.add_argument("--principal", required=True, metavar="NAME", help="who asks, as authenticated by whoever runs this")
    parser.add_argument("--session", metavar="ID", help="the session it is asked in")
    parser.add_argument("--now", metavar="TIME", help="the instant it is asked at, in UTC (default: now)")
    parser.add_argument("--json", action="store_true", help="what came of it as JSON")
    parser.set_defaults(run=run)


def run_bind(arguments: argparse.Namespace) -> int:
    """Bind the frames of a file (M6); 1 where one of them is refused."""
    now, told = _now(arguments), _from_file(arguments.file)
    with _store(arguments) as store:
        outcomes = store.bind(told, principal=arguments.principal, session_id=arguments.session, now=now)
    _show(arguments, outcomes, _bound_line)
    return int(any(outcome.code for outcome in outcomes))


def run_replay(arguments: argparse.Namespace) -> int:
    """Replay frames (M6); 1 where one of them is not complete."""
    now = _now(arguments)
    with _store(arguments) as store:
        outcomes = store.replay(arguments.frame_id, principal=arguments.principal, session_id=arguments.session, now=now)
    _show(arguments, outcomes, _replayed_line)
    return int(not all(outcome.is_complete for outcome in outcomes))


def run_show(arguments: argparse.Namespace) -> int:
    """Show a frame (M6); 1 where there is none that the principal may read in this session (M5)."""
    now = _now(arguments)
    with _store(arguments) as store:
        found = store.frame(arguments.frame_id, Reader(arguments.principal), session_id=arguments.session, now=now)
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False, indent=1, default=str))
    else:
        print(
            "\n".join(map(one_line, _lines(found) if found else [f"{arguments.frame_id}: no such frame that {arguments.principal} may read in this session"]))
        )
    return int(found is None)


def _store(arguments: argparse.Namespace) -> MemoryStore:
    place = Path(arguments.memory or os.environ.get("GMEM_MEMORY") or "memory")
    if not (place / "log").is_dir():
        raise InputError(f"{place}: is no memory, since it has no folder log; name its folder with --memory or GMEM_MEMORY")
    return MemoryStore(place)


def _now(arguments: argparse.Namespace) -> datetime.datetime | None:
    if arguments.now is None:
        return None
    return datetime.datetime.fromisoformat(instant("--now", arguments.now)).replace(tzinfo=datetime.UTC)


def _from_file(name: str) -> list[dict[str, Any]]:
    try:
        lines = Path(name).read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: cannot be read: byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    frames = [_frame(f"{name}, line {number}", line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not frames:
        raise InputError(f"{name}: holds no frame; each line is one JSON object with scene, goal, action, outcome and steps")
    return frames


def _frame(where: str, line: str) -> dict[str, Any]:
    try:
        parse(line, unique_keys=True)
        frame = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error}); every line must be one frame") from error
    if not isinstance(frame, dict):
        raise InputError(f"{where}: not a frame; every line must be one JSON object")
    return frame


def _show(arguments: argparse.Namespace, outcomes: list[Any], line: Callable[[Any], str]) -> None:
    if arguments.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], ensure_ascii=False, indent=1))
    else:
        print("\n".join(one_line(line(outcome)) for outcome in outcomes))


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
