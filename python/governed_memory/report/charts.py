"""The charts of the page as SVG, drawn by Vega-Lite without a browser. Colours are variables of the page, so that they follow its light and dark."""

from __future__ import annotations

from typing import Any

from governed_memory.errors import InputError

VEGA_LITE = "5.20"
COLOURS = {"must be mended": "var(--bad)", "warnings": "var(--warn)", "accepted": "var(--soft)"}
# Text is measured in a font that is narrower than most browsers' own, so it is given room to spare.
LABEL_WIDTH, MARGIN = 160, 215
CONFIG = {
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)", "titleColor": "var(--muted)", "gridColor": "var(--line)", "domainColor": "var(--line)", "tickColor": "var(--line)",
        "titleFontWeight": "normal", "labelFontSize": 11, "titleFontSize": 11,
    },
    "legend": {"labelColor": "var(--muted)", "title": None, "orient": "top", "labelFontSize": 11, "columnPadding": 40},
    "font": "system-ui, sans-serif",
}  # fmt: skip


def trend_chart(builds: list[dict[str, Any]]) -> str:
    """The level that a store reached and declared, build by build."""
    rows = [{"build": place, "reached": build["level"], "declared": build["target_level"]} for place, build in enumerate(builds, start=1)]
    x = {"field": "build", "type": "quantitative", "axis": None, "scale": {"domain": [1, max(2, len(rows))], "nice": False}}
    y = {"type": "quantitative", "scale": {"domain": [0, 3]}, "axis": {"values": [0, 1, 2, 3], "title": "level"}}
    reached = {"x": x, "y": {**y, "field": "reached"}}
    return _svg(
        {
            "width": 320,
            "height": 84,
            "data": {"values": rows},
            "layer": [
                {"mark": {"type": "line", "color": "var(--muted)", "strokeDash": [4, 3]}, "encoding": {"x": x, "y": {**y, "field": "declared"}}},
                {"mark": {"type": "line", "interpolate": "step-after", "color": "var(--accent)", "strokeWidth": 2}, "encoding": reached},
                {"mark": {"type": "circle", "color": "var(--accent)", "size": 28, "opacity": 1}, "encoding": reached},
            ],
        }
    )


def owners_chart(owners: list[dict[str, Any]], names: list[str]) -> str:
    """Findings of each party as one bar, by whether they have to be mended."""
    kinds = dict(zip(("errors", "warnings", "accepted"), COLOURS, strict=True))
    rows = [
        {"party": name, "kind": kinds[kind], "place": place, "findings": owner[kind]}
        for owner, name in zip(owners, names, strict=True)
        for place, kind in enumerate(kinds)
    ]
    return _svg(
        {
            "width": 360,
            "height": {"step": 24},
            "data": {"values": rows},
            "mark": "bar",
            "encoding": {
                "y": {"field": "party", "type": "nominal", "sort": None, "axis": {"title": None, "labelLimit": LABEL_WIDTH, "minExtent": MARGIN}},
                "x": {"field": "findings", "type": "quantitative", "aggregate": "sum", "axis": {"title": "findings", "tickMinStep": 1}},
                "order": {"field": "place"},
                "color": {"field": "kind", "type": "nominal", "scale": {"domain": list(COLOURS), "range": list(COLOURS.values())}},
            },
        }
    )


def fields_chart(fields: list[dict[str, Any]]) -> str:
    """What each field is good for: the share of right answers without it and with it, here and as published."""
    rows = [
        {"field": field["field_id"], "whose": whose, "without": float(field[without]), "with": float(field[with_])}
        for field in fields
        for whose, without, with_ in (("here", "needing_right_without", "needing_right_with"), ("published", "published_without", "published_with"))
    ]
    y = {"field": "field", "type": "nominal", "sort": None, "axis": {"title": None, "labelLimit": LABEL_WIDTH, "minExtent": MARGIN}}
    whose = {"field": "whose", "type": "nominal", "scale": {"domain": ["here", "published"], "range": ["var(--accent)", "var(--muted)"]}}
    offset = {"field": "whose", "type": "nominal", "sort": ["here", "published"]}
    x = {"type": "quantitative", "scale": {"domain": [0, 100]}, "axis": {"title": "percent right: ring without the field, dot with it"}}
    common = {"y": y, "yOffset": offset, "color": whose}
    return _svg(
        {
            "width": 360,
            "height": {"step": 26, "for": "position"},
            "data": {"values": rows},
            "layer": [
                {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": {**common, "x": {**x, "field": "without"}, "x2": {"field": "with"}}},
                {"mark": {"type": "point", "fill": "var(--page)", "size": 40, "opacity": 1}, "encoding": {**common, "x": {**x, "field": "without"}}},
                {"mark": {"type": "circle", "size": 50, "opacity": 1}, "encoding": {**common, "x": {**x, "field": "with"}}},
            ],
        }
    )


def _svg(spec: dict[str, Any]) -> str:
    try:
        import vl_convert
    except ImportError as error:
        raise InputError("gmem report draws its charts with vl-convert-python; install it with `pip install 'governed-memory[report]'`") from error
    whole = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "background": None, "padding": 4, "config": CONFIG, **spec}
    # no address may be read: the data is all here
    drawn: str = vl_convert.vegalite_to_svg(whole, vl_version=VEGA_LITE, allowed_base_urls=[])
    # beside each chart stands a table that says the same; a reader is spared the marks one by one
    return drawn.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
