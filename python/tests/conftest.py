from __future__ import annotations

import os
from pathlib import Path

import dbt_harness
import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings

# The same examples on every run. GMEM_EXAMPLES=10 tries ten times as many, other ones each time.
TIMES = int(os.environ.get("GMEM_EXAMPLES", "1"))
# An example is a batch of stores, which says little when printed or shrunk as a whole: harness.reduced shrinks the one store that differs.
settings.register_profile(
    "stores",
    deadline=None,
    database=None,
    derandomize=TIMES == 1,
    phases=[Phase.explicit, Phase.generate],
    verbosity=Verbosity.quiet,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "large: stores of a million records; leave out with -m 'not large'")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example stores, built by dbt in a database of its own."""
    folder = tmp_path_factory.mktemp("built")
    run = dbt_harness.dbt(folder, "build", "--exclude-resource-type", "test", "unit_test")
    assert run.returncode == 0, run.stdout + run.stderr
    return folder / dbt_harness.DATABASE
