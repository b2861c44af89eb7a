"""A stored run is believed as far as it agrees with itself."""

from __future__ import annotations

from datetime import date

import pytest

from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.search.run.trust import distrust
from tests.guards import run_with, with_trust
from tests.plain_runs import check, stored


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda r: r["queries"][0]["metrics"].update({"P@5": 1.0}), "the documents of 1 query"),
        (lambda r: r["queries"][0]["metrics"].update({"RR": 0.25}), "the documents of 1 query"),
        (lambda r: r["queries"][0]["ranking"].reverse(), "the documents of 1 query"),
        (lambda r: r["queries"][0]["ranking"][4].update(grade=2), "the documents of 1 query"),
        (
            lambda r: r["metrics"]["Recall@20"].update(value=0.99),
            "the mean of Recall@20",
        ),
        (lambda r: r["trust"].update(n_asked_twice=10**9), "another n_asked_twice"),
        (lambda r: r["trust"].update(is_deterministic=None), "another is_deterministic"),
    ],
)
def test_a_run_that_contradicts_itself_decides_nothing(edit, said):
    sound, edited = (with_trust(run_with([3] * 25)) for _ in range(2))
    edit(edited)
    assert said in "; ".join(distrust(stored(edited)))
    assert distrust(stored(sound)) == []
    for sides in (([edited], [sound]), ([sound], [edited])):
        assert check(*sides, shipped_thresholds(), today=date(2026, 1, 5)).verdict == "no_verdict"
