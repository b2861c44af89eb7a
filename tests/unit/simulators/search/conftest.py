"""The simulated search collection, written once a session; read-only, the session shares it."""

from __future__ import annotations

import pytest

from retrieval_eval.demo import SearchDemo
from tests.simulators.search import simulate_search


@pytest.fixture(scope="session")
def search_demo(tmp_path_factory: pytest.TempPathFactory) -> SearchDemo:
    return simulate_search(tmp_path_factory.mktemp("search"))
