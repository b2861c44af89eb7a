"""How many queries a guard needs, compared with guards that are carried out."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval_eval import BadInputError, plan_search
from retrieval_eval.search.guard.rule import BREACH, decide, harm_test
from retrieval_eval.search.guard.thresholds import read_thresholds
from retrieval_eval.search.noise_level import noise_test, run_to_run
from retrieval_eval.search.plan import plan_sentences
from retrieval_eval.stats.harm_power import Moves, power_beyond_noise, power_of_flips
from tests.guards import drop, run_with, thresholds_of
from tests.plain_runs import noise

STUDIES = 600


def caught(harms, level, limit):
    """How many of the studies' mean harms are a breach, as the guard decides."""
    tests = np.array([harm_test(harm, seed=i, n_resamples=1999) for i, harm in enumerate(harms)])
    means = harms.mean(axis=1)
    found = decide(
        means[:, None], [limit], tests[:, :1], tests[:, 1:], [harms.shape[1]], alpha=level
    )
    return np.mean(found.codes == BREACH)


@pytest.mark.parametrize(
    ("harm", "moves", "n", "limit"),
    [
        (2.0, Moves(0.1, 20.0), 90, 0.5),
        (10.0, Moves(0.2, 100.0, is_even=True), 150, 1.5),
        (2.0, Moves(0.3, 20.0), 300, 0.5),
        (2.0, Moves(0.05, 60.0), 300, 0.5),
        (2.0, Moves(0.1, 40.0), 300, 1.8),
    ],
)
def test_the_stated_power_is_that_of_guards_that_are_carried_out(harm, moves, n, limit):
    g = np.random.default_rng(7)
    share, mean, inner = moves.towards(harm)
    shape = (STUDIES, n)
    if moves.is_even:
        size = moves.root_mean_square
        own = np.where(g.random(shape) < (1 + mean / size) / 2, size, -size)
    else:
        own = g.normal(mean, inner, shape)
    harms = np.where(g.random(shape) < share, own, 0.0)
    stated = power_of_flips(harm, moves, n, level=0.01, limit=limit)
    # Four standard errors of the simulation, and three points of the approximation.
    room = 4 * (stated * (1 - stated) / STUDIES) ** 0.5 + 0.03
    assert caught(harms, 0.01, limit) == pytest.approx(stated, abs=room)


def test_the_power_beyond_noise_is_that_of_guards_with_a_noise_file():
    g, n, sd, n_runs = np.random.default_rng(7), 200, 20.0, 10
    found = 0
    for _ in range(STUDIES):
        level = run_to_run(g.normal(0, sd, (n_runs, n)) / 100)
        harm = 5.0 + float(np.diff(g.normal(0, sd, (2, n)).mean(axis=1))[0])
        test = noise_test(harm, [level], (1, 1), is_deterministic=False)
        found += harm > 0.5 and test.p_value <= 0.01
    # The noise of a file is the larger of two estimates, and that by queries is nearly exact.
    error = np.sqrt(2) * np.hypot(sd / np.sqrt(n), 100 / n / np.sqrt(n_runs))
    stated = power_beyond_noise(5.0, error, n_runs - 1, level=0.01, limit=0.5, least_estimate=error)
    assert found / STUDIES == pytest.approx(stated, abs=0.08)


def test_a_plan_of_stated_moves():
    (row,) = plan_search(moved=0.1, metrics=["P@5"], n_queries=600).metrics
    assert (row.decided_by, row.n_queries, row.limit_points) == ("significance", 90, 0.5)
    assert row.n_asked is None
    assert row.achieved > 0.99
    assert 0.5 < row.detectable_points < 1.5
    powers = {point.n_queries: point.power for point in row.curve}
    assert powers[min(powers)] < 0.8 < powers[max(powers)]
    assert [a.source for a in row.assumptions] == ["stated", "one document"]


def test_deterministic_systems_need_fewer_queries_than_tested_ones():
    tested = plan_search(moved=0.3, metrics=["P@5"]).metrics[0]
    still = plan_search(moved=0.3, metrics=["P@5"], is_deterministic=True).metrics[0]
    assert still.decided_by == "threshold"
    assert still.n_queries < tested.n_queries
    assert "deterministic" in " ".join(still.notes)


def test_refusals_take_the_share_that_moves_and_rankings_a_spread_too():
    rows = {row.metric: row for row in plan_search(moved=0.1).metrics}
    assert rows["ungrounded_true_positive_rate"].n_queries > 2000
    assert "standard deviation" in rows["Recall@20"].reason
    rows = {row.metric: row for row in plan_search(sd=12.0).metrics}
    assert rows["Recall@20"].n_queries > 100
    assert "share of queries" in rows["ungrounded_true_positive_rate"].reason


def test_a_drop_that_the_threshold_allows_has_no_plan(tmp_path):
    path = tmp_path / "guard.toml"
    path.write_text(
        '[[threshold]]\nmetric = "P@5"\ndirection = "down is bad"\nmax_change = 2.0\n'
        'unit = "points"\n'
    )
    found = plan_search(moved=0.1, thresholds=read_thresholds(path))
    assert plan_sentences(found) == ["P@5: no plan: its threshold allows a change of 2 points."]


def test_a_share_of_guards_is_not_rounded_to_all_of_them():
    text = plan_sentences(plan_search(moved=0.1, power=0.999, metrics=["P@5"], n_queries=200))
    assert "in 99.9 % of guards" in text[0]
    assert text[1].endswith("2 points in over 99 %.")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "state what the plan rests on"),
        ({"moved": 1.5}, "share of queries that move"),
        ({"sd": -1.0}, "standard deviation"),
        ({"moved": 0.1, "points": 0.0}, "a drop lies above 0"),
        ({"moved": 0.1, "power": 1.0}, "the power lies"),
        ({"moved": 0.1, "n_queries": 10**30}, "at 1,000,000 at most"),
        ({"moved": 0.1, "metrics": ["P@7"]}, "no threshold bounds the change of P@7"),
    ],
)
def test_numbers_that_no_guard_has_are_refused(given, message):
    with pytest.raises(BadInputError, match=message):
        plan_search(**given)


def test_a_plan_of_a_slice_takes_the_noise_that_follows_for_it(tmp_path):
    runs = [run_with([place, *[3] * 39]) for place in (1, 3, 2)]
    document = noise(runs, generated_at="2026-01-04T00:00:00Z", seed=1)
    rows = [drop("P@5", 0.5), drop("P@5", 0.5, "slice = {corpus = 'docs'}")]
    thresholds = thresholds_of(tmp_path, *rows, rule="threshold_and_real")
    known = {"thresholds": thresholds, "noise": document, "points": 5.0}
    whole, part = plan_search(**known).metrics
    # Without a pair of runs a slice is as noisy as other queries; its size is not known.
    assert (part.decided_by, part.n_queries) == ("noise", whole.n_queries)
    assert (whole.n_asked, part.n_asked) == (whole.n_queries, None)
    # What a pair shows of single queries adds to the noise of a slice.
    whole, part = plan_search(**known, moved=0.3).metrics
    assert part.n_queries > whole.n_queries
    assert plan_search(**known, n_runs=3).metrics[1].n_queries is not None
