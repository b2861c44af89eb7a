from __future__ import annotations

import math

import numpy as np
import pytest

from retrieval_eval.search.beyond_noise import (
    beyond_noise,
    error_of_means,
    noise_band,
    runs_needed,
)
from retrieval_eval.search.noise_level import run_to_run


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


def test_fewer_repeats_are_weaker_evidence():
    found = [beyond_noise(2.0, 0.6, n - 1) for n in (2, 3, 5, 10, 20)]
    assert found == sorted(found, reverse=True)
    # Two runs: t with one degree of freedom is the Cauchy distribution.
    assert beyond_noise(1.0, 1.0, 1) == pytest.approx(0.25)


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


def test_nobody_is_told_to_repeat_a_run_a_thousand_times():
    assert runs_needed(0.1, 3.0, 9, alpha=0.01) is None
