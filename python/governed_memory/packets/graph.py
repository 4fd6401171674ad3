"""Walks over the graph of memory (rule M10): filtered by adjacency and scale, within a budget, and never more than the reader may read.

The graph is a view. Whatever is cut or drawn of it changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from governed_memory.errors import InputError, did_you_mean, shown
from governed_memory.memory import MemoryStore, Sight
from governed_memory.warehouse import seed

SCALES = ("episode", "schema", "control")
# Nodes that a walk comes to at most, and how far, unless it is said.
MOST, STEPS = 50, 8
CUTS = {
    "cut_by_budget": "further nodes, beyond the budget",
    "cut_by_steps": "nodes next to these, further than the walk goes",
    "cut_by_type": "nodes next to these, along edges of other types",
    "cut_by_scale": "nodes next to these, of other scales",
    "withheld": "nodes next to these, withheld",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A node that a walk came to.

    Attributes:
        node_id: of the cell, frame, decision or approval.
        scale: episode, schema or control.
        kind: the system of a cell; frame; decision; or a verdict.
        steps: how far it is from the start.
        edges: {to, adjacency} of each edge to another node of the walk.
    """

    node_id: str
    scale: str
    kind: str
    steps: int
    edges: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk came to, the nearest first.

    Attributes:
        nodes: in the order of the walk; none where the start is nothing that the reader may read.
        cut: how much was left out, by why.
    """

    nodes: tuple[Node, ...]
    cut: Mapping[str, int]

    def as_data(self) -> dict[str, Any]:
        """{nodes, cut}, as JSON has it."""
        nodes = [{"node_id": node.node_id, "scale": node.scale, "kind": node.kind, "steps": node.steps, "edges": list(node.edges)} for node in self.nodes]
        return {"nodes": nodes, "cut": dict(self.cut)}


def walk(
    memory: MemoryStore,
    start: str,
    sight: Sight,
    *,
    types: Collection[str] | None = None,
    scales: Collection[str] | None = None,
    most: int = MOST,
    steps: int = STEPS,
) -> Walk:
    """Walk from a node along edges of some types and over nodes of some scales. The walk leaves an event.

    Args:
        memory: the memory.
        start: where it begins; it is part of the walk whatever its scale.
        sight: who walks, from which session and when.
        types: adjacencies, as the seed `adjacencies` names them; all if None.
        scales: episode, schema or control; all if None.
        most: nodes at most.
        steps: how far at most.

    Raises:
        InputError: a type, scale or number is none, the caller may not read so, or the log cannot be read or written.
    """
    _expect_known("type", types, sorted({row[name] for row in seed("adjacencies") for name in ("adjacency", "adjacency_of_schema")}))
    _expect_known("scale", scales, SCALES)
    for what, number in (("budget", most), ("steps", steps)):
        if not 1 <= number <= 100_000:
            raise InputError(f"{what}: {number} is no number from 1 to 100000")
    found = memory.walk(start, sight, adjacencies=types, scales=scales, most=most, steps=steps)
    nodes = tuple(Node(row["node_id"], row["scale"], row["kind"], row["steps"], row["edges"]) for row in found)
    return Walk(nodes, {why: found[0][why] for why in CUTS} if found else dict.fromkeys(CUTS, 0))


def _expect_known(what: str, given: Collection[str] | None, known: Collection[str]) -> None:
    for name in given or ():
        if name not in known:
            raise InputError(f"{what}: {shown(name)} is none; {did_you_mean(name, known) or 'there are ' + ', '.join(known)}")
