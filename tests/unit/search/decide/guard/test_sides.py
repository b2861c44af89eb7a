from __future__ import annotations

import pytest

from tests.guards import run_with, with_claims
from tests.plain_runs import Side, metric_value, per_query, shares

NAMES = ["P@5", "RR", "claim_coverage", "auc", "ungrounded_true_positive_rate"]


def with_all(hits, drafts, refused):
    run = run_with(hits, refused=refused)
    return with_claims(run, [*drafts, *[[]] * len(refused)])


FIRST = with_all([5, 0], [[True], [True, False]], [True, False])
SECOND = with_all([3, 1], [[False], [True, True]], [True, True])
SECOND["abstention"]["auc"]["value"] = 0.5


@pytest.mark.parametrize("name", NAMES)
def test_one_run_has_the_numbers_of_the_run(name):
    side = Side([FIRST])
    assert side.value(name, None) == metric_value(FIRST, name)
    assert side.shares(name) == shares(FIRST, name)
    assert side.per_query(name) == per_query(FIRST, name)
    assert side.spread(name, None) is None
    assert side.lacking(name) == []


def test_a_query_of_several_runs_has_the_mean_of_what_it_had():
    side = Side([FIRST, SECOND])
    assert side.per_query("P@5") == {"q000": pytest.approx(0.8), "q001": pytest.approx(0.1)}
    assert side.value("P@5", None).value == pytest.approx((0.5 + 0.4) / 2)
    assert side.value("P@5", {"q001"}).value == pytest.approx(0.1)
    # Two of three claims in the first run, two of three in the second.
    assert side.value("claim_coverage", None).value == pytest.approx(2 / 3)
    assert side.value("ungrounded_true_positive_rate", None).value == pytest.approx(0.75)


def test_what_is_no_mean_over_queries_is_the_mean_of_the_runs():
    values = [metric_value(run, "auc").value for run in (FIRST, SECOND)]
    assert values[0] != values[1]
    assert Side([FIRST, SECOND]).value("auc", None).value == pytest.approx(sum(values) / 2)
    assert Side([FIRST, SECOND]).shares("auc") == {}


def test_a_run_that_lacks_the_metric_leaves_none():
    found = Side([FIRST, run_with([5, 0])]).value("claim_coverage", None)
    assert (found.value, found.reason) == (None, "not_recorded")


def test_queries_that_lack_it_in_a_run_are_named():
    cut = with_all([3, 1], [[False], [True, True]], [True, True])
    cut["queries"][0]["metrics"]["P@5"] = None
    side = Side([FIRST, cut])
    assert side.lacking("P@5") == ["q000"]
    assert side.per_query("P@5") == {"q001": pytest.approx(0.1)}


def test_the_spread_is_that_of_the_runs():
    side = Side([FIRST, SECOND])
    found = side.spread("P@5", None)
    # The means are 0.5 and 0.4; the queries moved by 0.4 and 0.2, each with a variance of half.
    assert found.n_runs == 2
    assert found.sd_of_runs_points == pytest.approx(10 / 2**0.5)
    assert found.sd_by_query_points == pytest.approx(100 * (0.16 / 2 + 0.04 / 2) ** 0.5 / 2)
    assert side.spread("P@5", {"q001"}).sd_of_runs_points == pytest.approx(20 / 2**0.5)
    assert side.spread("P@5", {"none"}) is None


def test_answers_that_never_moved():
    assert Side([FIRST]).is_still
    assert Side([FIRST, FIRST]).is_still
    assert not Side([FIRST, SECOND]).is_still
