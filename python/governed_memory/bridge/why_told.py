"""What `why` found out, laid out as a page for people. No value of a record or cell is on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from governed_memory.memory.trace_forms import as_tree

WIDTH = 14


def page(told: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the page."""
    caller = told["caller"]
    yield f"packet {told['packet_id']}"
    yield f"  made for {caller['name']} ({caller['boundary']}), as of {told['as_of']}"
    if told["asked"]:
        yield f"  asked for: {'; '.join(f'{name} {_words(value)}' for name, value in told['asked'].items())}"
    yield "  the stores are as they were then" if told["same_generation"] else "  the stores have changed since: the read policy is told as it decides now"
    for number, group in enumerate(told["groups"], start=1):
        yield from _group(number, group, told)
    for one in told["exclusions"]:
        yield f"left out: {_named(one['members']) if 'members' in one else one.get('concept', one.get('count'))}: {one['reason']}"
    if told["withheld"]:
        yield f"withheld: {told['withheld']} group(s)"
    yield from _runs(told)


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else repr(value)


def _named(members: list[Mapping[str, Any]]) -> str:
    concepts = ", ".join(dict.fromkeys(member["concept"] for member in members if member["concept"] is not None))
    names = ", ".join(member["id"] for member in members)
    return f"{concepts} [{names}]" if concepts else f"[{names}]"


def _group(number: int, group: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[str]:
    parts = " + ".join(f"{name} {float(part):.3f}" for name, part in group["parts"].items() if float(part))
    yield f"{number}. {_named(group['members'])}: {group['standing']}"
    yield _line("chosen", f"score {float(group['score']):.3f}{f' = {parts}' if parts else ''}, {group['size']} {told['unit']}")
    if group["reasons"]:
        yield _line("reasons", ", ".join(group["reasons"]))
    for member in group["members"]:
        if len(group["members"]) > 1:
            yield f"   {member['id']}"
        yield from _member(member, group, told)


def _member(member: Mapping[str, Any], group: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[str]:
    yield _line("read policy", "; ".join(step["explanation"] for step in member["policy"]))
    yield _line("comes from", _origin(member["origin"]))
    if member["lineage"] is not None:
        yield from (f"     {line}" for line in as_tree(member["lineage"]).split("\n"))
    beside = [other["id"] for other in group["members"] if other is not member]
    contrary = ([f"{', '.join(beside)} beside it ({group['standing']})"] if beside else []) + [f"conflict with {name}" for name in member["conflicts"]]
    yield _line("contrary", "; ".join(contrary) or "nothing that you may see")
    yield from (_line("approval", line) for line in _approvals(member, told))
    yield from (_line("model", line) for line in _effects(member, told))


def _origin(origin: Mapping[str, Any]) -> str:
    recorded = origin["recorded_at"]
    said = {
        "source": origin.get("source", origin.get("source_id")), "written by": origin["written_by"], "recorded": recorded and _at(recorded),
        "holds from": origin.get("valid_from"), "until": origin.get("valid_to"), "system": origin.get("system"), "state": origin.get("state"),
    }  # fmt: skip
    return ", ".join(f"{name} {value}" for name, value in said.items() if value is not None) or "nothing is noted of it"


def _approvals(member: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[str]:
    for one in member["approvals"]:
        yield f"{one['verdict']} by {', '.join(one['by'])}, {_at(one['at'])} ({one['approval_id']})"
    if not member["approvals"]:
        if not told["has_memory"]:
            yield "not looked for; name with --memory the memory that it may be learned in"
        elif member["store"] is None:
            yield "none: it was told to memory, and learned from nothing"
        else:
            yield "none in memory: its writer told it to the store"


def _effects(member: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[str]:
    for effect in member["effects"]:
        yield f"run {effect['run_id']}: left out, the state after the last token moves by {effect['own_effect']:.6g} of its norm"
    if not member["effects"]:
        yield "not measured by itself; run `gmem bridge run --each-fact`" if told["runs"] else "no run of this packet"


def _runs(told: Mapping[str, Any]) -> Iterator[str]:
    for run in told["runs"]:
        weights = "random weights" if run["weights"] == "random" else "a checkpoint"
        still = "without memory it is the base's" if run["control_equals_base"] else "without memory it is NOT the base's"
        yield f"run {run['run_id']}, {_at(run['ran_at'])}: {weights}"
        yield f"  the packet moves the state after the last token by {run['path_change']:.6g} of its norm; {still}"
        outcomes = {True: "ruled out", False: "NOT ruled out", None: "not run"}
        by_outcome = {what: [one["control"] for one in run["controls"] if one["is_held"] is held] for held, what in outcomes.items()}
        yield from (f"  {what}: {', '.join(names)}" for what, names in by_outcome.items() if names)
        if not run["controls"]:
            yield "  rival explanations: not looked at; run `gmem bridge run --control`"
        if not run["is_sound"]:
            yield "  it does not show what a run must, so nothing follows from it"
    if told["runs"]:
        yield "norms say that the path moved, not that an answer is better"
    else:
        yield "no run of this packet: whether it changed a model's path is not known; run `gmem bridge run`"


def _at(instant: str) -> str:
    """An instant to the second, as other commands print it."""
    return instant[:19].replace("T", " ")


def _line(name: str, text: str) -> str:
    return f"   {name:<{WIDTH}}{text}"
