"""Two runs that declare determinism and differ."""

from __future__ import annotations

import pytest

from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.change import diff
from retrieval_eval.search.change.comparability import both_declare
from retrieval_eval.search.decide.guard import check
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.search.measure import run_search
from retrieval_eval.search.run import Settings
from tests.unit.search.run.test_hostile_retrievers import DAY

GOLD = GoldSet(
    tuple(
        GoldQuery(f"q{n}", f"text {n}", "docs", relevant={"a": 1}, source="chair")
        for n in range(10)
    ),
    "0" * 64,
)


def run_of(answer, *, is_deterministic=True, facts=None):
    class Index:
        def search(self, query, *, corpus, k):
            return answer

        def describe(self):
            return {"name": "index", **(facts or {})}

    Index.is_deterministic = is_deterministic
    return run_search(GOLD, Index(), settings=Settings(n_resamples=20, depth=20))


def test_the_guard_and_the_difference_say_it_and_a_breach_stays():
    before, after = run_of(["a", "b"]), run_of(["b", "c"])
    said = both_declare(before, after)
    assert said is not None
    assert "10 of 10 rankings differ" in said
    ruling = check([after], [before], shipped_thresholds(), today=DAY)
    assert ruling.verdict == "breach"
    assert said in ruling.notes
    assert any("10 of 10 rankings differ" in one for one in diff(before, after, seed=1).notices)


@pytest.mark.parametrize(
    "after",
    [
        lambda: run_of(["a", "b"]),
        lambda: run_of(["b", "c"], is_deterministic=False),
        # Another set-up is why they differ.
        lambda: run_of(["b", "c"], facts={"index": "v2"}),
    ],
)
def test_nothing_is_said_where_nothing_contradicts(after):
    assert both_declare(run_of(["a", "b"]), after()) is None
