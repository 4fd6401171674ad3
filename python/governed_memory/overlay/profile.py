"""The profile as files: profile.yaml and mappings.csv, written from the project's own seeds."""

from __future__ import annotations

import csv
import io
from typing import Any

from governed_memory.warehouse import seed


def profile() -> dict[str, Any]:
    """Levels, fields with what was measured, the mapping per target, and the published results."""
    return {
        "levels": [{"level": int(row["level"]), "name": row["name"], "unlocks": row["unlocks"]} for row in seed("profile_levels")],
        "fields": [_field(row) for row in seed("profile_fields")],
        "mappings": _mappings(),
        "published_results": [{key: value for key, value in row.items() if value} for row in seed("published_results")],
    }


def profile_yaml() -> str:
    """The profile as YAML."""
    import yaml

    return str(yaml.safe_dump(profile(), allow_unicode=True, sort_keys=False, width=140))


def mappings_csv() -> str:
    """The mapping table: one row per field, one column per target system."""
    targets = list(_mappings())
    cells = {(row["field_id"], row["target"]): row["words"] for row in seed("field_mappings")}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["field", *targets])
    for row in seed("profile_fields"):
        writer.writerow([row["field_id"], *(cells[row["field_id"], target] for target in targets)])
    return text.getvalue()


def _field(row: dict[str, str]) -> dict[str, Any]:
    numbers = {"level": int(row["level"])}
    measured = {name: float(row[name]) for name in ("without_percent", "with_percent", "critical_without", "critical_with") if row[name]}
    texts = {name: row[name] for name in ("requirement", "applies_when", "meaning")}
    return {"field": row["field_id"], **numbers, **texts, "evidence": {"study": row["study"], "measure": row["measure"], **measured}}


def _mappings() -> dict[str, dict[str, str]]:
    targets: dict[str, dict[str, str]] = {}
    for row in seed("field_mappings"):
        targets.setdefault(row["target"], {})[row["field_id"]] = row["words"]
    return targets
