from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_roots_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RETRIEVAL_EVAL_RUNS_ROOT", "RETRIEVAL_EVAL_BENCHMARKS_ROOT"):
        monkeypatch.delenv(name, raising=False)
