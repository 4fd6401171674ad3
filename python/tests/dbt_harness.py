"""dbt, run as a user does: on the project itself, or on a copy of it with stores of the test's own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import yaml

ROOT = Path(__file__).parents[2]
DATABASE = "built.duckdb"


def dbt(folder: Path, *arguments: str, project: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run one dbt command; its database, target and logs are in the folder."""
    places = ["--project-dir", str(project), "--profiles-dir", str(project), "--target-path", str(folder / "target"), "--log-path", str(folder / "logs")]
    return subprocess.run(
        [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--quiet", *arguments, *places],
        cwd=project, env={**os.environ, "GMEM_DATABASE": str(folder / DATABASE)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def copy_project(folder: Path, *others: str) -> Path:
    """The project, and other parts of it that are named, in a folder of its own."""
    for part in ("macros", "models", "seeds", "tests", *others):
        shutil.copytree(ROOT / part, folder / part)
    for part in ("dbt_project.yml", "profiles.yml", "selectors.yml"):
        shutil.copy(ROOT / part, folder / part)
    return folder


class Project:
    """A copy of the project in which other stores are attached."""

    def __init__(self, folder: Path) -> None:
        self.folder = copy_project(folder / "project")
        self.vars: dict[str, Any] = {"stores": {}, "registers": {}}
        self.files: dict[str, str] = {}

    def attach(self, store_id: str, location: Path | str | dict[str, str], **entry: Any) -> None:
        """Attach a file, or whatever the location is, under this name; a dictionary is the meta of the source."""
        meta = location if isinstance(location, dict) else {"external_location": str(location)}
        self.vars["stores"][store_id] = {"source": ["tested", store_id], "meta": meta, **entry}

    def append_to(self, register: str, file: Path | str, base: str | None = None) -> None:
        """Attach a file that entries of a register are appended to, and what it held before."""
        self.files[f"{register}_file"] = str(file)
        self.vars["registers"][register] = {"appended": ["tested", f"{register}_file"], **({"base": base} if base else {})}

    def dbt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one dbt command on the attached stores."""
        stores = {store_id: dict(entry) for store_id, entry in self.vars["stores"].items()}
        tables = [{"name": store_id, "meta": entry.pop("meta")} for store_id, entry in stores.items()]
        tables += [{"name": name, "meta": {"external_location": location}} for name, location in self.files.items()]
        sources = {"version": 2, "sources": [{"name": "tested", "tables": tables}]}
        (self.folder / "models/staging/_tested__sources.yml").write_text(yaml.safe_dump(sources), encoding="utf-8")
        return dbt(self.folder, *arguments, "--vars", json.dumps({**self.vars, "stores": stores}), project=self.folder)

    def run(self, *models: str) -> duckdb.DuckDBPyConnection:
        """Build the models and all they read, without tests, and open a copy of the database, so that dbt may run again."""
        run = self.dbt("build", "--exclude-resource-type", "test", "unit_test", "--select", *(f"+{model}" for model in models))
        assert run.returncode == 0, run.stdout + run.stderr
        return duckdb.connect(shutil.copy(self.folder / DATABASE, self.folder / "opened.duckdb"), read_only=True)
