"""How many tasks the next study needs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import retrieval_eval as rev
from retrieval_eval import BadInputError, NothingToEvaluateError, compare
from retrieval_eval.stats.paired import compare_paired
from tests.studies import document

REPOSITORIES = [f"acme/r{i % 8}" for i in range(24)]


def pilot(n=20, repeats=1, *, seed=1, repositories=None, shift=0.1, noise=0.1):
    """Trials of two configurations whose recalls differ by about ``shift``."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        base, gain = rng.uniform(0.2, 0.5), rng.normal(shift, 0.1)
        own = [repositories[i]] if repositories else []
        for r in range(repeats):
            for config, mean in (("baseline", base), ("mcp", base + gain)):
                recall = float(np.clip(mean + rng.normal(0, noise), 0, 1))
                rows.append(
                    document(
                        f"t-{i:02}",
                        config,
                        recall,
                        trial=f"r{r}",
                        repositories=own,
                        cost=float(np.exp(rng.normal(0, 0.3))) * (1.5 if config == "mcp" else 1.0),
                    )
                )
    return compare(rows, "baseline", "mcp")


def test_the_spread_is_of_the_pilot_and_the_effect_is_not():
    few, many = (
        rev.tasks_needed(pilot(noise=noise), difference=0.1).n_tasks for noise in (0.05, 0.2)
    )
    assert few < many
    found = pilot(60)
    deviation = float(
        np.std([p.metrics["file_recall"].difference for p in found.record.pairs], ddof=1)
    )
    needed = rev.tasks_needed(found, difference=deviation / 2)
    # The number of a t test for half a standard deviation is 34; test and interval take two more.
    assert needed.n_tasks == 36
    # What the pilot happened to show changes nothing.
    shifted = pilot(60, shift=0.3)
    assert abs(rev.tasks_needed(shifted, difference=deviation / 2).n_tasks - 36) < 12


def test_a_study_of_that_size_has_the_power():
    needed = rev.tasks_needed(pilot(60), difference=0.1)
    rng = np.random.default_rng(7)
    deviation = float(
        np.std([p.metrics["file_recall"].difference for p in pilot(60).record.pairs], ddof=1)
    )
    clear = 0
    for _ in range(200):
        differences = rng.normal(0.1, deviation, needed.n_tasks)
        found = compare_paired(np.zeros(len(differences)), differences, seed=1, n_resamples=999)
        clear += found.p_value.value < 0.05 and found.interval.low.value > 0
    assert 0.7 < clear / 200 < 0.9


def test_a_smaller_difference_takes_more_and_a_larger_pilot_is_surer():
    found = pilot(20)
    assert (
        rev.tasks_needed(found, difference=0.05).n_tasks
        > rev.tasks_needed(found, difference=0.1).n_tasks
    )

    def width(n):
        made = rev.tasks_needed(pilot(n))
        return made.n_tasks_high / made.n_tasks_low

    assert width(80) < width(20)


def test_costs_are_planned_as_ratios():
    found = rev.tasks_needed(pilot(), metric="cost_usd")
    assert (found.is_ratio, found.difference) == (True, 0.2)
    assert "cost that is 20 % higher" in found.sentence()


def test_tasks_of_repositories_are_planned_in_repositories():
    needed = rev.tasks_needed(pilot(24, repositories=REPOSITORIES))
    assert needed.cluster_by == "repository"
    assert needed.n_tasks == math.ceil(needed.n_clusters * 24 / 8)
    assert "repositories like these" in needed.sentence()


def test_repeats_show_whether_more_of_them_help():
    assert rev.tasks_needed(pilot()).note == ""
    assert "comes from repeats" in rev.tasks_needed(pilot(repeats=3)).note


def test_a_pilot_without_spread_or_with_few_tasks_has_no_answer():
    with pytest.raises(NothingToEvaluateError, match="no spread"):
        rev.tasks_needed(pilot(5))
    same = [document(f"t-{i}", c, 0.5) for i in range(8) for c in ("baseline", "mcp")]
    with pytest.raises(NothingToEvaluateError, match="no spread"):
        rev.tasks_needed(compare(same, "baseline", "mcp"))


@pytest.mark.parametrize("difference", [0.0, -0.1, 1.0, math.nan, math.inf])
def test_a_difference_that_cannot_be_is_refused(difference):
    with pytest.raises(BadInputError, match="a difference to see"):
        rev.tasks_needed(pilot(), difference=difference)


def test_a_metric_that_was_not_compared_is_refused():
    with pytest.raises(BadInputError, match="was not compared"):
        rev.tasks_needed(pilot(), metric="file_recal")
    with pytest.raises(BadInputError, match="state the difference"):
        rev.tasks_needed(pilot(), metric="ttfr_seconds")


def test_a_tiny_difference_has_no_number():
    found = rev.tasks_needed(pilot(), difference=1e-6)
    assert found.n_tasks is None
    assert "more than 100,000" in found.sentence()
