"""The search demo, written once a session; read-only, the session shares it."""

from __future__ import annotations

import pytest

from retrieval_eval.demo.search import SearchDemo, write_search_demo


@pytest.fixture(scope="session")
def search_demo(tmp_path_factory: pytest.TempPathFactory) -> SearchDemo:
    return write_search_demo(tmp_path_factory.mktemp("search"))
