from __future__ import annotations

import math

import pytest

from retrieval_eval.search.change.paired_change import (
    Resampling,
    change_of,
    contributions,
    pairs_of,
    restricted,
)
from retrieval_eval.stats.paired import compare_paired

SETTINGS = Resampling(seed=1, n_resamples=200, confidence=0.9)


def test_only_queries_with_a_value_in_both_runs_count():
    before = {"q1": (0.5, 1.0), "q2": (1.0, 1.0), "q3": (0.0, 1.0), "q5": (0.0, 0.0), "q6": (1, 1)}
    after = {"q1": (1.0, 1.0), "q2": (1.0, 1.0), "q4": (0.0, 1.0), "q5": (1.0, 1.0), "q6": (0, 0)}
    change = change_of(before, after, SETTINGS)
    assert (change.before, change.after, change.delta_points) == (0.75, 1.0, 25.0)
    # q3 and q6 have a value in the first run only, q4 and q5 in the second: nothing to measure is
    # none.
    assert (change.n_pairs, change.n_only_before, change.n_only_after) == (2, 2, 2)
    assert (change.n_up, change.n_down) == (1, 0)
    assert list(pairs_of(before, after)) == ["q1", "q2"]


def test_interval_and_p_value_are_those_of_the_paired_comparison():
    old = [0.2, 0.4, 0.6, 0.8, 0.2, 0.4, 1.0]
    new = [0.4, 0.4, 0.2, 1.0, 0.6, 0.8, 0.6]
    before, after = ({f"q{i}": (v, 1.0) for i, v in enumerate(row)} for row in (old, new))
    change = change_of(before, after, SETTINGS)
    compared = compare_paired(old, new, seed=1, n_resamples=200, confidence=0.9)
    assert change.ci_low_points == 100 * compared.interval.low.value
    assert change.p_value == compared.p_value.value


def test_a_share_of_all_claims_is_a_quotient_of_sums():
    # 3 of 4 claims and 1 of 1, then 3 of 5 and 0 of 3: 4/5 becomes 3/8.
    before, after = {"q1": (3.0, 4.0), "q2": (1.0, 1.0)}, {"q1": (3.0, 5.0), "q2": (0.0, 3.0)}
    change = change_of(before, after, SETTINGS)
    assert change.before == pytest.approx(0.8, abs=1e-12)
    assert change.after == pytest.approx(0.375, abs=1e-12)
    given = contributions(before, after)
    # For q1 it is 3/8 less 3/5, for q2 nothing less 1/5.
    assert given == pytest.approx({"q1": -22.5, "q2": -20.0}, abs=1e-12)
    assert math.fsum(given.values()) == pytest.approx(change.delta_points, abs=1e-12)
    assert change.n_down == 2


def test_more_claims_move_a_query_whose_own_share_stands():
    before, after = {"q1": (1.0, 1.0), "q2": (0.0, 1.0)}, {"q1": (3.0, 3.0), "q2": (0.0, 1.0)}
    # 1/2 becomes 3/4: the whole 25 points are q1's, although all its claims were supported before.
    assert contributions(before, after) == pytest.approx({"q1": 25.0})
    change = change_of(before, after, SETTINGS)
    assert change.delta_points == pytest.approx(25.0)
    assert (change.n_up, change.n_down) == (0, 0)


def test_without_a_pair_there_is_no_number():
    change = change_of({"q1": (1.0, 1.0)}, {"q2": (1.0, 1.0)}, SETTINGS)
    assert (change.before, change.after, change.delta_points, change.p_value) == (None,) * 4
    assert (change.n_pairs, change.n_only_before, change.n_only_after) == (0, 1, 1)


def test_a_part_is_chosen_by_id_in_either_run():
    sides = {"RR": ({"q1": (1.0, 1.0), "q2": (1.0, 1.0)}, {"q1": (0.0, 1.0), "q2": (0.0, 1.0)})}
    assert restricted(sides, ({"q1"}, {"q2"})) == {"RR": ({"q1": (1.0, 1.0)}, {"q2": (0.0, 1.0)})}
