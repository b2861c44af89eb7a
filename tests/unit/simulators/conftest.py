"""The demo with every planted fault, each written once a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.simulators import DemoPlan, Fault, simulate_run

Faulty = Callable[[Fault], tuple[Path, DemoPlan]]


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    """Return root and plan of the demo with a fault; read-only, the session shares them."""

    @cache
    def write(fault: Fault) -> tuple[Path, DemoPlan]:
        root = tmp_path_factory.mktemp(fault)
        return root, simulate_run(root, fault=fault)

    return write
