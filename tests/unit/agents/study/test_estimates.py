"""What leads in the comparison of each kind of metric, and what stands beside it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

import retrieval_eval as rev
from retrieval_eval.agents.metrics.catalog import BY_NAME, Metric
from retrieval_eval.agents.study.trials import trials_of
from retrieval_eval.agents.study.verdict import headline_estimate, repeats_sentence
from tests.studies import document


def record(rows, metrics=("file_recall", "reward", "cost_usd", "elapsed_seconds")):
    return rev.compare(rows, "old", "new", metrics=metrics, n_resamples=500).record


def study(n=12, repeats=1, seed=1, **changes):
    """Return trials of two arms; cost is lognormal, and half as high again in the new one."""
    dice = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        task = dice.lognormal(0, 1)
        for arm, factor in (("old", 1.0), ("new", 1.5)):
            for repeat in range(repeats):
                cost = task * factor * dice.lognormal(0, 0.3)
                row = document(f"t{i:02}", arm, 0.5 + 0.01 * (i % 7) * (arm == "new"))
                row["provenance"]["trial_name"] = f"t{i:02}-{repeat}"
                row["outcome"] |= {"cost_usd": cost, "elapsed_seconds": 60.0 * cost}
                rows.append(row)
    return rows


def costs(rows, arm):
    return np.array(
        [r["outcome"]["cost_usd"] for r in rows if r["provenance"]["config_name"] == arm]
    )


# What kind a metric is


@pytest.mark.parametrize(
    ("name", "kind", "headline"),
    [
        ("file_recall", "bounded", "mean_difference"),
        ("reward", "bounded", "mean_difference"),
        ("cost_usd", "positive", "ratio"),
        ("elapsed_seconds", "positive", "ratio"),
        ("ttfr_seconds", "time", "restricted_mean"),
    ],
)
def test_each_kind_has_its_headline(name, kind, headline):
    block = record(study(), [name]).metrics[name]
    assert BY_NAME[name].kind == block.kind == kind
    assert block.headline == headline


def test_a_column_of_ones_own_is_unbounded_and_of_a_known_unit_is_of_its_kind():
    own = [
        Metric("calls", "calls", ("outcome", "calls"), "calls", unit="calls"),
        Metric("money", "money", ("outcome", "money"), "money", unit="USD", better="lower"),
        Metric("found", "found", ("outcome", "found"), "found"),
    ]
    trials = [
        replace(t, numbers={**t.numbers, "calls": -1.0 * i, "money": 1.0 + i, "found": 0.01 * i})
        for i, t in enumerate(trials_of(study()))
    ]
    found = record(trials, own).metrics
    kinds = [found[metric.name].kind for metric in own]
    assert kinds == ["unbounded", "positive", "bounded"]


def test_a_share_beyond_0_to_1_has_no_bounds():
    many = Metric("many", "many", ("outcome", "many"), "many")
    trials = [
        replace(t, numbers={**t.numbers, "many": 3.0 * i}) for i, t in enumerate(trials_of(study()))
    ]
    block = record(trials, [many]).metrics["many"]
    assert (block.kind, block.bound_low) == ("unbounded", None)


def test_numbers_that_cannot_be_squared_are_not_recorded():
    rows = study()
    for row in rows[:4]:
        row["outcome"]["cost_usd"] = 1e308
    block = record(rows).metrics["cost_usd"]
    assert block.n_pairs == 10
    assert block.estimate == pytest.approx(1.5, rel=0.5)


# Ratios


def test_the_cost_is_led_by_the_ratio():
    rows = study()
    block = record(rows).metrics["cost_usd"]
    logs = np.log(costs(rows, "new") / costs(rows, "old"))
    ends = scipy_stats.ttest_1samp(logs, 0).confidence_interval()
    found = headline_estimate(block)
    assert (found.quantity, found.null, found.n) == ("ratio", 1.0, 12)
    assert found.estimate == pytest.approx(math.exp(logs.mean()))
    assert (found.low, found.high) == pytest.approx((math.exp(ends.low), math.exp(ends.high)))
    assert found.p == block.p_value < 0.05
    assert found.excludes_null
    assert found.is_larger
    assert found.detectable > 1
    # The total bill stays beside it.
    assert block.mean_difference == pytest.approx((costs(rows, "new") - costs(rows, "old")).mean())


def test_repeats_are_averaged_geometrically_inside_the_task():
    rows = study(repeats=3)
    block = record(rows).metrics["cost_usd"]
    logs = np.log(costs(rows, "new")).reshape(12, 3) - np.log(costs(rows, "old")).reshape(12, 3)
    assert block.estimate == pytest.approx(math.exp(logs.mean()))
    ends = scipy_stats.ttest_1samp(logs.mean(axis=1), 0).confidence_interval()
    assert block.ci_low == pytest.approx(math.exp(ends.low))


def test_tasks_that_cost_nothing_are_counted():
    rows = study()
    rows[0]["outcome"]["cost_usd"] = 0.0
    block = record(rows).metrics["cost_usd"]
    assert (block.n_pairs, headline_estimate(block).n, block.n_not_positive) == (12, 11, 1)
    for row in rows[: len(rows) // 2]:
        row["outcome"]["cost_usd"] = 0.0
    block = record(rows).metrics["cost_usd"]
    assert block.estimate is None
    assert block.reason == "not_positive"
    assert headline_estimate(block).reason == "not_positive"
    assert not headline_estimate(block).excludes_null


def test_holm_adjusts_the_p_of_the_headlines():
    found = record(study()).metrics
    p_values = [headline_estimate(block).p for block in found.values()]
    expected = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    smallest, place = expected[0]
    assert list(found.values())[place].p_holm == pytest.approx(min(1, smallest * len(expected)))
    assert found["cost_usd"].p_holm >= found["cost_usd"].p_value


# Repeats


def test_without_repeats_the_spread_is_not_taken_apart():
    block = record(study()).metrics["cost_usd"]
    assert block.variance_between is None
    assert repeats_sentence(block) is None


def test_repeats_tell_whether_more_of_them_would_help():
    block = record(study(n=30, repeats=4)).metrics["cost_usd"]
    # The log ratio of two costs that spread by 0.3, over four repeats.
    assert block.variance_within == pytest.approx(2 * 0.3**2 / 4, rel=0.3)
    assert "of the variance of the differences comes from repeats" in repeats_sentence(block)


# Ranges


def test_intervals_of_rewards_and_recall_stay_in_their_range():
    rows = []
    # The bootstrap intervals of these reach to 1.08 and 1.09.
    for i, reward in enumerate([0.98] * 4 + [0.3, 0.9, 0.95, 0.97]):
        rows.append(document(f"t{i}", "old", 0.02 * i + 0.01, reward=reward))
        rows.append(document(f"t{i}", "new", 0.2 if i == 7 else 1.0, reward=reward))
    found = rev.compare(rows, "old", "new", n_resamples=500)
    for frame in (found.slices, found.tiers, found.calibration):
        ends = frame[["ci_low", "ci_high"]].dropna()
        assert len(ends)
        assert ends.abs().max(axis=None) <= 1


# The document
