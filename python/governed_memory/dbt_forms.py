"""A store of any form as a dbt source: a plugin of dbt-duckdb that runs the form's own reader (rule F1).

    # profiles.yml, under the target
    plugins: [{module: governed_memory.dbt_forms, alias: forms}]

    # a source
    - name: team_memory
      meta: {plugin: forms, form: vector_memory, path: data/memories.json}

The table has one column, `json`, with a record in each row, so that staging keeps an open end and one that is not stated apart, as it does
for a file of JSON Lines. `holds: expected_concepts` and `holds: policies` give the registers that a form states beside its records.

What reading found out is a warning of dbt. Where a statement cannot be read, the load fails, unless the source's meta has `allow_unread: true`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars
from dbt.adapters.duckdb.plugins import BasePlugin
from dbt.adapters.duckdb.utils import SourceConfig
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from governed_memory.errors import InputError, did_you_mean, message
from governed_memory.overlay.forms.json_file import as_json
from governed_memory.overlay.forms.registry import FORMS, form
from governed_memory.overlay.forms.store import FormStore

HOLDS = ("records", "expected_concepts", "policies")
# Unread statements that an error names.
NAMED = 5
LOG = AdapterLogger("governed_memory")


class Rows:
    """A frame as DuckDB reads it through Arrow's C interface, which needs no pyarrow; a frame itself it would hand to that."""

    def __init__(self, frame: polars.DataFrame) -> None:
        """Keep the frame, which may be read more than once."""
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The frame's own stream, a new one each time it is read."""
        return self.frame.__arrow_c_stream__(requested_schema)


class Plugin(BasePlugin):
    """Reads the sources that name it. A path is taken from where dbt runs, as an external_location is."""

    def load(self, source_config: SourceConfig) -> Rows:
        """The rows of a source.

        Raises:
            DbtRuntimeError: its meta does not say what to read, or the store cannot be read, or not the whole of it; in one line that names the
                source.
        """
        name = source_config.table_name()
        try:
            store, rows = _read(source_config.meta, source_config.identifier)
            if source_config.meta.get("allow_unread") is not True:
                _expect_all_read(store)
        except InputError as error:
            raise DbtRuntimeError(f"source {name}: {message(str(error))}") from error
        for notice in store.notices:
            LOG.warning(f"source {name}: {message(notice)}")
        return Rows(rows)


def _expect_all_read(store: FormStore) -> None:
    """A gap that nobody sees would be taken for all that the store states."""
    if unread := store.unread:
        more = f"; and {len(unread) - NAMED} more" if len(unread) > NAMED else ""
        raise InputError(f"{'; '.join(unread[:NAMED])}{more}. Mend it there, or set allow_unread: true in the source's meta to load the rest")


def _read(meta: dict[str, Any], name: str) -> tuple[FormStore, polars.DataFrame]:
    """What the source names, and its rows."""
    for key in ("form", "path"):
        if not isinstance(meta.get(key), str):
            raise InputError(f"its meta has no {key}; expected form, one of {', '.join(FORMS)}, and path")
    holds = meta.get("holds", "records")
    if holds not in HOLDS:
        raise InputError(f"holds is {holds!r}; {did_you_mean(str(holds), HOLDS) or 'expected one of ' + ', '.join(HOLDS)}")
    store = form(meta["form"]).read(Path(meta["path"]))
    if holds == "records":
        return store, polars.DataFrame({"json": [as_json(record) for record in store.records]}, schema={"json": polars.String})
    return store, _register(store, str(meta.get("store", name)), holds)


def _register(store: FormStore, store_id: str, holds: str) -> polars.DataFrame:
    """A register in the columns that `vars: registers:` asks for."""
    if holds == "expected_concepts":
        found = {"store_id": [store_id] * len(store.expected_concepts), "concept_id": list(store.expected_concepts)}
    else:
        policies = [] if store.conflict_policy is None else [store.conflict_policy]
        found = {"policy_id": [store_id for _ in policies], "policy_text": policies}
    return polars.DataFrame(found, schema=dict.fromkeys(found, polars.String))
