from __future__ import annotations

import shutil
from pathlib import Path

import dbt_harness
import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "large: stores of a million records; leave out with -m 'not large'")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example stores, built by dbt in a database of its own."""
    folder = tmp_path_factory.mktemp("built")
    run = dbt_harness.dbt(folder, "build", "--exclude-resource-type", "test", "unit_test")
    assert run.returncode == 0, run.stdout + run.stderr
    # as the build left it, whatever another command makes of it in the same folder
    shutil.copy(folder / "target/manifest.json", folder / "manifest.json")
    return folder / dbt_harness.DATABASE


@pytest.fixture(scope="session")
def way(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole way from an observation to a model: `way/STEP` is all as it was after that step, to be copied and not changed."""
    from whole_way import walked

    return walked(tmp_path_factory.mktemp("way"))
