"""A walk drawn as a honeycomb: one hexagon for each node, the start in the middle, the others around it in the order of the walk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape

from governed_memory.packets.graph import CUTS, Walk

SIZE, GAP = 52.0, 6.0
COLOURS = {"episode": "#dceaf7", "schema": "#dff0d8", "control": "#f6e3cf"}
STROKES = {"conflict": "#c0392b", "semantic-conflict": "#c0392b", "semantic-support": "#2e7d32", "support": "#2e7d32"}
# The six ways around a cell, in axial coordinates.
AROUND = ((0, -1), (-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1))
LETTERS = 14


def svg(walk: Walk) -> str:
    """The walk as one SVG, without a script, a font or anything from elsewhere; identifiers are text."""
    places = dict(zip((node.node_id for node in walk.nodes), _spiral(), strict=False))
    extent = max((max(abs(x), abs(y)) for x, y in places.values()), default=0.0) + SIZE * 1.2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-extent:.1f} {-extent:.1f} {2 * extent:.1f} {2 * extent:.1f}" '
        f'width="{2 * extent:.0f}" height="{2 * extent:.0f}" font-family="sans-serif" text-anchor="middle">',
        *_edges(walk, places),
        *(line for node in walk.nodes for line in _cell(node.node_id, node.scale, node.kind, places[node.node_id])),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def html(walk: Walk, title: str) -> str:
    """The walk as a page: the drawing, what the colours mean, and what was cut."""
    legend = "".join(f'<span style="background:{colour};padding:2px 8px;margin-right:8px">{scale}</span>' for scale, colour in COLOURS.items())
    cut = "".join(f"<li>{count} {escape(CUTS[why])}</li>" for why, count in walk.cut.items() if count)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title></head>\n<body><h1>{escape(title)}</h1><p>{legend}</p>\n{svg(walk)}"
        f"{f'<h2>Left out</h2><ul>{cut}</ul>' if cut else ''}</body></html>\n"
    )


def _edges(walk: Walk, places: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """Each edge once, whichever of its ends tells of it."""
    told = {(*sorted((node.node_id, edge["to"])), edge["adjacency"]) for node in walk.nodes for edge in node.edges if edge["to"] in places}
    for one, other, adjacency in sorted(told):
        (x1, y1), (x2, y2) = places[one], places[other]
        stroke = STROKES.get(adjacency, "#777")
        yield f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="3"><title>{escape(adjacency)}</title></line>'


def _cell(node_id: str, scale: str, kind: str, place: tuple[float, float]) -> Iterator[str]:
    x, y = place
    corners = " ".join(f"{x + SIZE * math.sin(math.pi / 3 * n):.1f},{y + SIZE * math.cos(math.pi / 3 * n):.1f}" for n in range(6))
    name = node_id if len(node_id) <= LETTERS else node_id[: LETTERS - 1] + "…"
    yield f'<polygon points="{corners}" fill="{COLOURS[scale]}" stroke="#555"><title>{_text(node_id)}</title></polygon>'
    yield f'<text x="{x:.1f}" y="{y:.1f}" font-size="10">{_text(name)}</text>'
    yield f'<text x="{x:.1f}" y="{y + 14:.1f}" font-size="9" fill="#555">{_text(kind)}</text>'


def _text(text: str) -> str:
    """Text as XML can hold it: some controls it cannot even escape."""
    return escape("".join(character if character.isprintable() else "\ufffd" for character in text))


def _spiral() -> Iterator[tuple[float, float]]:
    """The middles of a honeycomb's cells, ring by ring."""
    yield 0.0, 0.0
    ring = 1
    while True:
        q, r = ring, 0
        for step_q, step_r in AROUND:
            for _ in range(ring):
                yield _middle(q, r)
                q, r = q + step_q, r + step_r
        ring += 1


def _middle(q: int, r: int) -> tuple[float, float]:
    width = math.sqrt(3) * SIZE + GAP
    return width * (q + r / 2), width * math.sqrt(3) / 2 * r
