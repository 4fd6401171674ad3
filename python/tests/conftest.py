from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run. GMEM_EXAMPLES=10 tries ten times as many, other ones each time.
TIMES = int(os.environ.get("GMEM_EXAMPLES", "1"))
settings.register_profile(
    "stores",
    deadline=None,
    database=None,
    derandomize=TIMES == 1,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("stores")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "large: stores of a million records; leave out with -m 'not large'")
