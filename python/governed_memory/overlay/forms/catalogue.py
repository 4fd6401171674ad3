"""Data catalogue: glossary terms of OpenMetadata (JSON) or DataHub (YAML), and the manifest of a dbt project, which is only read (rule F1).

Which of the three a file is shows in what it holds, not in its name. What a term cannot hold stands beside it: in its `extension` in
OpenMetadata, in its `custom_properties` in DataHub.
"""

from __future__ import annotations

from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.overlay.forms.catalogues import datahub, manifest, openmetadata
from governed_memory.overlay.forms.json_file import Placed, text_of, values_in
from governed_memory.overlay.forms.store import FormStore

YAML = (".yaml", ".yml")


def read(path: Path) -> FormStore:
    """The statements of a catalogue: one record a term, a version of a term, or a described node of a dbt project.

    Raises:
        InputError: the file is no JSON or YAML, or none of the three; or a term in it lacks what names it.
    """
    start = text_of(path).lstrip()[:1]
    if not start:
        raise InputError(f"{path}: is empty; expected glossary terms of OpenMetadata or DataHub, or a dbt manifest")
    if start not in ("{", "["):
        return datahub.read(path)
    values: Placed = values_in(path)
    if len(values) == 1 and manifest.is_manifest(values[0][1]):
        return manifest.read(path, values[0][1])
    return openmetadata.read(path, values)


def write(store: FormStore, path: Path) -> None:
    """Write glossary terms: DataHub YAML where the name ends in .yml or .yaml, OpenMetadata JSON where it ends in .json.

    Raises:
        InputError: the name ends otherwise, or a record cannot be written.
    """
    if path.suffix.lower() in YAML:
        return datahub.write(store, path)
    if path.suffix.lower() == ".json":
        return openmetadata.write(store, path)
    raise InputError(f"{path}: a catalogue is written to a name that ends in .json (OpenMetadata) or .yaml (DataHub), not in {path.suffix!r}")
