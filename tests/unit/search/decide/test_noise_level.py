from __future__ import annotations

import math

import numpy as np
import pytest

from retrieval_eval.search.change.paired_change import Resampling
from retrieval_eval.search.decide import (
    QUERY_COUNTS,
    beyond_noise,
    by_query,
    detectable_changes,
    error_of_means,
    noise_band,
    noise_of_part,
    query_sampling,
    run_to_run,
    runs_needed,
)

SETTINGS = Resampling(seed=1, n_resamples=4_000, confidence=0.95)


def test_noise_between_runs_by_hand():
    # Means 0.5, 0.6, 0.4 in the three runs; only the first two of four queries move.
    table = np.array([[0.5, 0.5, 1.0, 0.0], [0.7, 0.7, 1.0, 0.0], [0.3, 0.3, 1.0, 0.0]])
    found = run_to_run(table)
    assert found.sd_of_runs_points == pytest.approx(10.0)
    # Each of the two has a variance of 0.04: the root of 0.08, over four queries.
    assert found.sd_by_query_points == pytest.approx(100 * math.sqrt(0.08) / 4)
    assert found.sd_points == found.sd_of_runs_points
    assert found.largest_delta_points == pytest.approx(20.0)
    assert (found.n_runs, found.n_queries, found.is_deterministic) == (3, 4, False)


def test_queries_that_cancel_are_noise_too():
    table = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = run_to_run(table)
    assert (found.sd_of_runs_points, found.largest_delta_points) == (0.0, 0.0)
    assert found.is_deterministic is False
    assert found.sd_points == pytest.approx(50.0)


def test_no_noise_is_exactly_none():
    table = np.tile([0.1, 0.7, 0.3], (5, 1))
    found = run_to_run(table)
    assert (found.sd_points, found.sd_by_query_points, found.largest_delta_points) == (0, 0, 0)
    assert found.is_deterministic
    assert query_sampling(table, SETTINGS).delta_sd_points == 0.0
    assert noise_band(found, is_deterministic=True) == 0.0


def test_the_noise_of_a_part_keeps_what_runs_have_in_common():
    rng = np.random.default_rng(1)
    # Runs vary by 10 points as a whole, single queries by 40.
    whole = run_to_run(rng.normal(0, 0.1, (200, 1)) + rng.normal(0, 0.4, (200, 400)))
    part = noise_of_part(whole, 25, 0.0)
    assert part.sd_points == pytest.approx(math.hypot(10, 40 / math.sqrt(25)), rel=0.1)
    assert (part.n_queries, part.n_runs) == (25, 200)
    assert part.step_points == pytest.approx(16 * whole.step_points)
    # What the pair shows counts where it is more; where it shows nothing, all noise is in the part.
    shown = [noise_of_part(whole, 25, math.sqrt(2) * e).sd_by_query_points for e in (1, 11)]
    assert shown == pytest.approx([4 * whole.sd_by_query_points, 11])
    unknown = noise_of_part(whole, 25, math.inf)
    assert unknown.sd_by_query_points == pytest.approx(16 * whole.sd_by_query_points)
    assert noise_of_part(whole, 400, math.inf).sd_points == pytest.approx(whole.sd_points)


def test_the_step_is_the_least_a_query_can_move():
    # Fifths, of which 0.6 comes with other last digits, over four queries: 20 / 4 points.
    table = np.array([[0.2, 0.6, 1.0, 0.0], [0.4, 0.6000000000000001, 1.0, 0.0]])
    assert run_to_run(table).step_points == pytest.approx(5.0)
    assert run_to_run(np.ones((2, 4))).step_points == 25.0
    assert run_to_run(np.array([[1.0, 0.0]] * 3)).step_points == 50.0


def test_sampling_noise_is_the_standard_error():
    generator = np.random.Generator(np.random.PCG64(5))
    base = generator.random(200)
    table = np.array([base, base + generator.normal(0, 0.05, 200)])
    found = query_sampling(table, SETTINGS)
    # A bootstrap of a mean has the standard deviation s / root n, with n in place of n - 1.
    expected = 100 * np.mean([row.var() for row in table]) ** 0.5 / math.sqrt(200)
    assert found.level_sd_points == pytest.approx(expected, rel=0.05)
    differences = table[1] - table[0]
    assert found.delta_sd_points == pytest.approx(
        100 * differences.std() / math.sqrt(200), rel=0.05
    )


def test_detectable_changes_are_what_the_package_says_of_such_differences():
    from retrieval_eval.stats.paired import compare_paired

    generator = np.random.Generator(np.random.PCG64(7))
    table = generator.random((2, 400))
    differences = generator.normal(0, 0.2, 400).tolist()
    found = detectable_changes(table, 0.0, differences)
    compared = compare_paired([0.0] * 400, differences, seed=1, n_resamples=20)
    expected = 100 * compared.smallest_detectable_difference.value
    assert found.change == pytest.approx(expected)
    assert detectable_changes(table, 0.0, differences, 400) == found
    assert found.run_to_run == 0.0
    falling = [detectable_changes(table, 0.0, None, n).unrelated for n in QUERY_COUNTS]
    assert falling == sorted(falling, reverse=True)


def test_a_typical_change_shows_no_sooner_than_the_noise_allows():
    table = np.array([[0.1, 0.9, 0.5, 0.3, 0.2, 0.8, 0.4]] * 2)
    differences = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01]
    found = detectable_changes(table, 5.0, differences)
    assert found.change == found.run_to_run > 0
    assert detectable_changes(table, 5.0, None).change is None


def test_values_that_do_not_vary_say_nothing_of_a_change():
    found = detectable_changes(np.zeros((2, 30)), 0.0, [0.0] * 30)
    assert (found.run_to_run, found.change, found.unrelated) == (0.0, None, None)


def test_a_table_holds_the_queries_of_all_runs():
    runs = [
        {"q2": (1.0, 1.0), "q1": (0.5, 1.0), "q3": (0.0, 1.0)},
        {"q1": (0.0, 1.0), "q2": (1.0, 1.0), "q3": (0.0, 0.0)},
    ]
    assert by_query(runs).tolist() == [[0.5, 1.0], [0.0, 1.0]]
    # 3 of 5 claims: the row's mean is the share of all claims.
    (row,) = by_query([{"q1": (1.0, 1.0), "q2": (2.0, 4.0)}])
    assert row.mean() == pytest.approx(0.6)


def test_the_band_holds_one_more_query_than_was_seen_to_move():
    # One of four queries is 25 points; one move in two runs has a variance of 25^2 / 2.
    still = run_to_run(np.array([[1.0] * 4] * 2))
    assert noise_band(still, is_deterministic=False) == pytest.approx(25 / math.sqrt(2))
    # Another metric of a system whose documents stood still moved: a judge, and no retriever.
    moving = run_to_run(np.array([[1.0, 0.5], [1, 1]]))
    assert moving.sd_points == pytest.approx(25 / math.sqrt(2))
    for is_deterministic in (True, False):
        band = noise_band(moving, is_deterministic=is_deterministic)
        assert band == pytest.approx(math.sqrt(25**2 / 2 + 50**2 / 2))


def test_beyond_noise_is_a_tail_of_t():
    from scipy.stats import t

    assert beyond_noise(1.0, 0.6, 9) == pytest.approx(t.sf(1 / 0.6, 9))
    # Half a step of 0.5 is left to chance.
    assert beyond_noise(1.0, 0.6, 4, step_points=0.5) == pytest.approx(t.sf(0.75 / 0.6, 4))
    assert beyond_noise(-1.0, 0.6, 9) > 0.5
    for harm, expected in ((1e-9, 0), (0.0, 1), (-1.0, 1)):
        assert beyond_noise(harm, 0.0, 9, step_points=1.0) == expected


def test_the_variances_of_groups_of_runs_are_pooled_by_their_freedom():
    # Two runs 50 and three runs 0 points apart: (1 * 1250 + 2 * 0) / 3, and one query of four
    # that moves in one run of five.
    moving = run_to_run(np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))
    still = run_to_run(np.ones((3, 4)))
    assert moving.sd_points == pytest.approx(math.sqrt(1250))
    for levels in ((moving, still), (still, moving)):
        assert noise_band(*levels, is_deterministic=True) == pytest.approx(
            math.sqrt(1250 / 3 + 25**2 / 5)
        )
    assert noise_band(still, still, is_deterministic=True) == 0


def test_the_error_of_means_is_that_of_independent_runs():
    assert error_of_means(0.4, 1, 1) == pytest.approx(0.4 * math.sqrt(2))
    assert error_of_means(0.4, 4, 1) == pytest.approx(math.sqrt(0.04 + 0.16))


@pytest.mark.parametrize("freedom", [0, 1, 9, 100])
@pytest.mark.parametrize("band", [0.1, 0.7, 3.0])
def test_the_runs_needed_are_the_first_whose_means_find_it(freedom, band):
    from scipy.stats import t

    def finds(n):
        known = freedom + 2 * (n - 1)
        return known and (t.isf(0.01, known) + t.isf(0.05, known)) * band * math.sqrt(2 / n) <= 2

    found = runs_needed(2.0, band, freedom, alpha=0.01)
    assert found == next(n for n in range(1, 101) if finds(n))


def test_a_thousand_repeats_are_never_recommended():
    assert runs_needed(0.1, 3.0, 9, alpha=0.01) is None
