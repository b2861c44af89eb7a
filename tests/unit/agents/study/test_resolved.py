"""Resolved tasks: the two-by-two table, its test, and how much comes from finding."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.study import compare
from tests.studies import document


def rows(counts):
    """Return one trial a task and arm, from counts of (rewards of both, files opened by both)."""
    made = []
    for number, ((rewards, opened), n) in enumerate(counts.items()):
        for i in range(n):
            for config, reward, share in zip("ab", rewards, opened, strict=True):
                made.append(
                    document(f"t{number}-{i}", config, 1.0, float(reward), opened=float(share))
                )
    return made


def test_the_table_its_interval_and_the_parts_of_the_difference():
    found = compare(
        rows(
            {
                ((1, 1), (1, 1)): 10,
                ((1, 0), (1, 0)): 8,
                ((0, 1), (0, 1)): 2,
                ((0, 0), (1, 1)): 6,
                ((0, 0), (0, 0)): 4,
            }
        ),
        "a",
        "b",
        n_resamples=200,
    ).record.resolved
    assert found is not None
    counts = (found.n_both, found.n_only_baseline, found.n_only_comparison, found.n_neither)
    assert counts == (10, 8, 2, 10)
    assert found.difference == pytest.approx(-0.2)
    assert found.p_value == pytest.approx(0.109375)
    assert found.ci_low < -0.2 < found.ci_high
    arm = found.comparison
    assert (arm.n_all_opened, arm.n_all_opened_resolved, arm.n_not_all_opened) == (18, 12, 12)
    assert found.by_finding + found.by_using == pytest.approx(found.difference)
    assert found.by_finding < -0.1


def test_rewards_between_0_and_1_are_not_resolved_or_not():
    made = rows({((1, 0), (1, 1)): 7})
    made[0]["outcome"]["reward"] = 0.5
    assert compare(made, "a", "b", n_resamples=200).record.resolved is None


def test_arms_that_always_open_all_files_have_no_part_of_finding():
    found = compare(rows({((1, 0), (1, 1)): 7}), "a", "b", n_resamples=200).record.resolved
    assert (found.by_finding, found.by_using, found.difference) == (None, None, -1.0)
