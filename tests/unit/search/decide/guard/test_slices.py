"""Thresholds on every declared slice, of which the worst decides."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from retrieval_eval import schema
from retrieval_eval.search.decide import (
    BREACH,
    decide,
    harm_test,
    noise_of_part,
    noise_test,
    run_to_run,
)
from retrieval_eval.search.decide.guard.justification import Justification
from retrieval_eval.search.decide.guard.rendering import to_comment, to_text
from retrieval_eval.search.decide.thresholds import Part
from tests.guards import drop, run_with, thresholds_of
from tests.plain_runs import check, noise
from tests.searches import written

TODAY = date(2026, 1, 10)
BY_CORPUS = drop("P@5", 5, 'slices = ["corpus", "area"]')
# Twenty queries each of a, b and c, four of d.
CORPORA = [*"a" * 20, *"b" * 20, *"c" * 20, *"d" * 4]
BEFORE = [3] * 64


def judged(folder, after, *rows, rule="threshold_and_real", before=BEFORE, **options):
    thresholds = thresholds_of(folder, *(rows or [BY_CORPUS]), rule=rule)
    runs = (run_with(hits, corpora=CORPORA[: len(hits)]) for hits in (after, before))
    found = check(*([one] for one in runs), thresholds, today=TODAY, **options)
    assert schema.faults(written(found), "search_guard") == []
    return found


def lost(corpus, n=10):
    """The hits where this many queries of a corpus lose one document."""
    first = CORPORA.index(corpus)
    return [2 if first <= place < first + n else 3 for place in range(64)]


def test_the_worst_slice_is_named_and_decides(tmp_path):
    found = judged(tmp_path, lost("b"), drop("P@5", 5), BY_CORPUS)
    whole, row = found.rows
    assert (whole.verdict, row.verdict, found.exit_code) == ("pass", "breach", 1)
    assert (row.slice.dimension, row.slice.value) == ("corpus", "b")
    assert row.name == "P@5 [corpus b, worst of 3 slices]"
    assert row.worst_of == ("corpus", "area")
    # Ten of twenty lost a fifth.
    assert (row.change_points, row.n_queries) == (pytest.approx(-10), 20)
    assert [(s.value, s.verdict, s.n_queries) for s in row.slices] == [
        ("b", "breach", 20),
        ("a", "pass", 20),
        ("c", "pass", 20),
    ]
    assert "P@5 [corpus b, worst of 3 slices]" in to_text(found)
    assert "corpus b, worst of 3 slices" in to_comment(found)


def test_slices_and_rows_are_one_family(tmp_path):
    row = judged(tmp_path, lost("b"), drop("P@5", 5), drop("RR", 5), BY_CORPUS).rows[-1]
    # Two rows and three slices.
    assert row.p_value == 2**-10
    assert row.p_adjusted == pytest.approx(5 * row.p_value)


def test_a_slice_too_small_to_show_a_change_is_no_reason_to_block(tmp_path):
    row = judged(tmp_path, lost("a", 3), drop("P@5", 1, 'slices = ["corpus"]')).rows[0]
    assert (row.verdict, row.slice.value) == ("within_noise", "a")
    assert row.reasons[-1].startswith("this slice would show only ")


def test_several_slices_that_breach_are_counted_and_excused_one_by_one(tmp_path):
    after = [min(pair) for pair in zip(lost("a"), lost("c", 12), strict=True)]
    row = judged(tmp_path, after).rows[0]
    assert row.slice.value == "c"
    assert row.reasons[-1] == "2 slices breach"
    excuses = [
        Justification({"P@5": 12}, "why", "ann", "ben", date(2027, 1, 1), Part("corpus", name))
        for name in "ac"
    ]
    assert judged(tmp_path, after, justifications=excuses[:1]).rows[0].verdict == "breach"
    both = judged(tmp_path, after, justifications=excuses).rows[0]
    assert (both.verdict, both.justification.part.value) == ("overridden", "c")


def test_without_a_slice_that_is_large_enough_nothing_is_judged(tmp_path):
    large = drop("P@5", 1, 'slices = ["corpus"]', "min_queries = 21")
    found = judged(tmp_path, lost("b"), drop("P@5", 50), large)
    assert (found.rows[1].verdict, found.rows[1].slices) == ("skipped", ())
    assert found.rows[1].reasons == ("no corpus has 21 queries, and is not all",)
    # One corpus that is all of the run is judged by the threshold of the whole.
    whole = judged(tmp_path, [2] * 20, before=[3] * 20).rows[0]
    assert whole.verdict == "skipped"


def test_a_deterministic_system_is_judged_slice_by_slice_without_chance(tmp_path):
    still = noise(
        [run_with(BEFORE, corpora=CORPORA)] * 2, generated_at="2026-01-04T00:00:00Z", seed=1
    )
    row = judged(tmp_path, lost("c", 2), drop("P@5", 1, 'slices = ["corpus"]'), noise=still).rows[0]
    assert (row.verdict, row.slice.value, row.p_adjusted) == ("breach", "c", 0)


def test_slices_cause_few_alarms_where_nothing_changed():
    # Nine tests of one family: all queries, and eight slices of 25. Each query moves by chance.
    rng = np.random.default_rng(1)
    n = 300
    alarms = 0
    for _ in range(n):
        moved = rng.choice([-20.0, 0.0, 20.0], 200, p=[0.2, 0.6, 0.2])
        parts = [moved, *moved.reshape(8, 25)]
        tests = [harm_test(part, seed=1, n_resamples=500) for part in parts]
        found = decide(
            [part.mean() for part in parts],
            [0.5, *[2.0] * 8],
            [p for p, _ in tests],
            [error for _, error in tests],
            [len(part) - 1 for part in parts],
        )
        alarms += BREACH in found.codes
    # At most 5 %; twice the standard error above it is 7.5 %.
    assert alarms / n <= 0.075


def test_slices_cause_few_alarms_where_whole_runs_are_good_or_bad():
    rng = np.random.default_rng(1)
    studies, n, size = 400, 120, 30
    alarms = np.zeros((studies, 2), bool)
    for study in range(studies):
        # Ten runs of the noise file, and the pair that is compared.
        runs = rng.normal(0, 2, (12, 1)) + rng.normal(0, 8, (12, n))
        level, harms = run_to_run(runs[:10] / 100), (runs[10] - runs[11]).reshape(-1, size)
        tests = [harm_test(part, seed=1, n_resamples=500) for part in harms]
        levels = [noise_of_part(level, size, error) for _, error in tests]
        means = harms.mean(axis=1)
        by_noise = [
            noise_test(float(mean), [of_part], (1, 1), is_deterministic=False).p_value
            for mean, of_part in zip(means, levels, strict=True)
        ]
        for way, p in enumerate([by_noise, [p for p, _ in tests]]):
            found = decide(means, [0.5] * len(means), p, np.ones(len(means)), 9)
            alarms[study, way] = BREACH in found.codes
    by_noise, by_queries = alarms.mean(axis=0)
    assert by_noise <= 0.05 < 0.1 < by_queries
