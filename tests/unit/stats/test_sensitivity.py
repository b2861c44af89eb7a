import math

import numpy as np
import pytest
from scipy import stats

from retrieval_eval.stats.sensitivity import partial_spearman_of

NAN = math.nan


def _partial(x, y, strata, **options):
    (found,) = partial_spearman_of(
        {"x": x, "y": y}, [("x", "y")], strata, seed=1, **({"n_resamples": 200} | options)
    )
    return found


def _by_regression(x, y, strata, given=None):
    """Pearson's correlation of the residuals of ranks on indicators of every label."""
    labels = [strata, *([given] if given is not None else [])]
    design = np.column_stack(
        [[float(own == label) for own in row] for row in labels for label in sorted(set(row))]
    )
    ranks = [stats.rankdata(side) for side in (x, y)]
    rests = [r - design @ np.linalg.lstsq(design, r, rcond=None)[0] for r in ranks]
    return stats.pearsonr(*rests).statistic


@pytest.mark.parametrize("has_given", [False, True])
def test_it_is_the_correlation_of_residuals_of_ranks(has_given):
    rng = np.random.default_rng(3)
    strata = [f"t{i}" for i in range(12) for _ in range(2 + i % 3)]
    given = ["abcd"[j] for i in range(12) for j in range(2 + i % 3)]
    x, y = np.round(rng.normal(size=(2, len(strata))), 1)
    labels = given if has_given else None
    found = _partial(x, y, strata, given=labels)
    assert found.r.value == pytest.approx(_by_regression(x, y, strata, labels), abs=1e-12)
    assert (found.n, found.n_strata) == (len(strata), 12)
    assert found.interval.low.value <= found.r.value <= found.interval.high.value


def test_what_tasks_share_does_not_make_it():
    # Hard tasks have little of both; within a task the two are unrelated.
    rng = np.random.default_rng(7)
    ease = np.repeat(rng.normal(0, 3, 40), 2)
    x, y = ease + rng.normal(size=(2, 80))
    assert stats.spearmanr(x, y).statistic > 0.8
    found = _partial(x, y, np.repeat(np.arange(40), 2).tolist(), n_resamples=2_000)
    assert abs(found.r.value) < 0.3
    assert found.interval.low.value < 0 < found.interval.high.value


def test_what_configurations_do_on_average_does_not_make_it_given_them():
    rng = np.random.default_rng(6)
    config = np.tile([0.0, 3.0], 40)
    x, y = config + rng.normal(size=(2, 80))
    tasks = np.repeat(np.arange(40), 2).tolist()
    assert _partial(x, y, tasks).r.value > 0.5
    assert abs(_partial(x, y, tasks, given=config.tolist()).r.value) < 0.3


def test_units_alone_in_their_task_are_left_out():
    x = [1, 2, 5, 6, 8, 9, 100, NAN]
    y = [3, 4, 1, 2, 5, 6, -50, 7]
    found = _partial(x, y, list("aabbccdd"))
    assert (found.n, found.n_strata, found.r.value) == (6, 3, pytest.approx(1.0))


@pytest.mark.parametrize(
    ("x", "strata", "reason"),
    [
        ([1.0, 2.0, 3.0, 4.0], list("abcd"), "one_value_per_task"),
        ([], [], "one_value_per_task"),
        ([1.0, 2.0, 3.0, 4.0], list("aabb"), "too_few_values"),
        ([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], list("aabbcc"), "constant_input"),
    ],
)
def test_what_is_not_computable_has_a_reason(x, strata, reason):
    found = _partial(x, list(range(len(x))), strata)
    assert found.r.reason == reason
    assert found.interval.low.reason == reason


def test_columns_over_other_units_are_given_as_alone():
    rng = np.random.default_rng(9)
    columns = {name: rng.normal(size=30) for name in "abc"}
    columns["c"][4:7] = NAN
    tasks = np.repeat(np.arange(10), 3).tolist()
    together = partial_spearman_of(
        columns, [("a", "b"), ("a", "c")], tasks, seed=1, n_resamples=300
    )
    for other, found in zip("bc", together, strict=True):
        (alone,) = partial_spearman_of(
            {"a": columns["a"], other: columns[other]},
            [("a", other)],
            tasks,
            seed=1,
            n_resamples=300,
        )
        assert alone == found


def test_labels_must_fit():
    with pytest.raises(ValueError, match="one label"):
        _partial([1.0, 2.0], [1.0, 2.0], ["a"])


def test_the_interval_covers_within_tasks():
    # x and y of a task share its ease, and 0.6 beyond; Spearman's r of normal values of 0.6.
    rng = np.random.default_rng(13)
    tasks, covered = np.repeat(np.arange(30), 2).tolist(), []
    for _ in range(150):
        noise = rng.normal(size=(2, 60))
        ease = np.repeat(rng.normal(size=30), 2)
        x, y = ease + noise[0], ease + 0.6 * noise[0] + 0.8 * noise[1]
        interval = _partial(x, y, tasks, n_resamples=400).interval
        covered.append(interval.low.value <= 0.595 <= interval.high.value)
    assert 0.9 <= np.mean(covered) <= 1.0
