"""The ROC of refusals against scikit-learn, with ties, empty rankings and everything equal."""

from __future__ import annotations

import math
import random

import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from retrieval_eval.search.run.abstention import auc, roc_points


def random_scores(rng):
    levels = rng.choice((1, 2, 5, 40, 10**9))
    n = rng.choice((1, 2, 3, 30, 300))
    share_empty = rng.choice((0.0, 0.1, 0.9))
    shift = rng.choice((0, 0, levels // 3))
    return [
        -math.inf if rng.random() < share_empty else (rng.randrange(levels) + shift) / 7
        for _ in range(n)
    ]


def theirs(low, high):
    """scikit-learn takes no infinity: what came back empty lies below everything instead."""
    floor = min((s for s in (*low, *high) if math.isfinite(s)), default=0.0) - 1
    top = [floor if math.isinf(score) else score for score in (*low, *high)]
    labels = [1] * len(low) + [0] * len(high)
    refused = [-score for score in top]
    false_rates, true_rates, _ = roc_curve(labels, refused, drop_intermediate=False)
    return false_rates.tolist(), true_rates.tolist(), roc_auc_score(labels, refused)


@pytest.mark.parametrize("seed", range(300))
def test_curve_and_area_equal_those_of_scikit_learn(seed):
    rng = random.Random(seed)
    low, high = random_scores(rng), random_scores(rng)
    false_rates, true_rates, area = theirs(low, high)
    points = roc_points(low, high)
    assert [p.false_refusal_rate for p in points] == pytest.approx(false_rates, abs=1e-12)
    assert [p.true_positive_rate for p in points] == pytest.approx(true_rates, abs=1e-12)
    assert auc(low, high).value == pytest.approx(area, abs=1e-12)


def test_equal_scores_everywhere_are_worth_a_half():
    assert theirs([2.0] * 3, [2.0] * 5)[2] == 0.5
    assert auc([2.0] * 3, [2.0] * 5).value == 0.5


def test_where_scikit_learn_warns_of_one_class_nothing_is_computable():
    from sklearn.exceptions import UndefinedMetricWarning

    with pytest.warns(UndefinedMetricWarning):
        roc_curve([1, 1], [0.5, 0.7])
    assert roc_points([0.5, 0.7], []) == ()
    assert auc([0.5, 0.7], []).value is None
