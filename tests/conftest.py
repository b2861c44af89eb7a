"""What every test shares: the offline guard, hypothesis profiles, real runs and the demo tree."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import (  # noqa: F401 - fixtures for every test
    database,
    fresh_postgres_url,
    postgres_url,
    sqlite_database,
    vector_url,
)
from tests.sharing import shared

PROJECT = Path(__file__).resolve().parents[1]

# Before anything imports these libraries: no window, no warning about paths or debuggers.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")

# Every run draws the same examples: what passes here passes elsewhere. The random search is
# `make test-deep`; what it finds becomes an @example. No deadline: a slow machine is no failure.
settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=60,
    derandomize=True,
    database=None,
)
settings.register_profile(
    "deep", settings.get_profile("default"), derandomize=False, max_examples=2000
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(PROFILE)

COSTLY = settings(max_examples=20) if PROFILE == "default" else settings()
"""For the laws whose examples take longest, such as whole guards: `make test-deep` draws all."""


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):
        return True
    host = str(address[0])
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host.split("%", 1)[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True, scope="session")
def _offline() -> Iterator[None]:
    """Let no test leave this machine: loopback and Unix sockets work, the rest is refused."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            original = getattr(socket.socket, name)

            def guarded(self, address, *, _original=original):
                if not _is_local(address):
                    raise OSError(f"tests run offline; refused a connection to {address!r}")
                return _original(self, address)

            patch.setattr(socket.socket, name, guarded)
        yield


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def real_runs() -> Path:
    """The folder of real runs; tests that need it are skipped where it is absent."""
    stated = os.environ.get("RETRIEVAL_EVAL_REAL_RUNS")
    folder = Path(stated) if stated else PROJECT.parent / "shared" / "real-runs"
    if not (folder / "runs").is_dir():
        pytest.skip(f"no real runs at {folder}; set RETRIEVAL_EVAL_REAL_RUNS to their folder")
    return folder


@pytest.fixture(scope="session")
def real_study() -> Path:
    """The folder of a published study; tests that need it are skipped where it is absent."""
    stated = os.environ.get("RETRIEVAL_EVAL_STUDIES")
    folder = Path(stated) if stated else PROJECT.parent / "shared" / "studies"
    if not (folder / "verified-mini-50" / "traces").is_dir():
        pytest.skip(f"no studies at {folder}; set RETRIEVAL_EVAL_STUDIES to their folder")
    return folder / "verified-mini-50"


@pytest.fixture(scope="session")
def demo_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of the recorded demo; read-only, because the whole session shares it."""
    from retrieval_eval.demo import write_demo

    return shared(tmp_path_factory, "demo", write_demo)


@pytest.fixture(scope="session")
def demo_roots(demo_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The roots with which ``demo`` is the recorded demo, measured once."""
    from retrieval_eval import evaluate

    roots = {"runs_root": demo_tree / "runs", "benchmarks_root": demo_tree / "benchmarks"}

    def measure(folder: Path) -> None:
        evaluate(["demo"], output_dir=folder, **roots)

    return {**roots, "output_dir": shared(tmp_path_factory, "demo-artefacts", measure)}


@pytest.fixture(scope="session")
def demo_plan() -> object:
    """What the simulator planted in `demo_tree`, and what should be measured from it."""
    from tests.simulators.plan import make_stage
    from tests.simulators.tree import SEED

    return make_stage(SEED).plan
