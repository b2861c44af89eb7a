from __future__ import annotations

import math
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from retrieval_eval.search.decide import BREACH, HOLDS, RULES, decide, harm_test
from retrieval_eval.search.decide.guard import N_MOVERS, no_verdict
from retrieval_eval.search.decide.guard.justification import Justification
from retrieval_eval.search.decide.guard.rendering import MARKER, to_comment, to_text
from tests.conftest import COSTLY
from tests.guards import drop, run_with, thresholds_of
from tests.plain_runs import check, noise

TODAY = date(2026, 1, 10)

HITS = st.lists(st.integers(0, 5), min_size=6, max_size=14)
NOISE_RULES = ("threshold_and_real", "threshold_and_beyond_noise")
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=6, max_size=14)


def of(metric, points, rule="threshold"):
    with tempfile.TemporaryDirectory() as folder:
        return thresholds_of(Path(folder), drop(metric, points), rule=rule)


def held(run, baseline, thresholds, **options):
    return check([run], [baseline], thresholds, today=TODAY, **options)


@COSTLY
@given(HITS, st.sampled_from(RULES))
def test_a_deterministic_equal_system_always_passes(hits, rule):
    runs = run_with(hits), run_with(hits, label="again")
    still = noise(runs, generated_at=runs[0]["generated_at"], seed=1)
    verdict = held(*runs, of("P@5", 0, rule), noise=still)
    assert verdict.exit_code == 0
    assert verdict.rows[0].change_points == 0


@COSTLY
@given(PAIRS, st.floats(0, 30))
def test_the_threshold_rule_is_the_difference_of_two_means(pairs, limit):
    before, after = [a for a, _ in pairs], [b for _, b in pairs]
    lost = 100 * (sum(before) - sum(after)) / 5 / len(pairs)
    if math.isclose(lost, limit, abs_tol=1e-6):
        return
    verdict = held(run_with(after), run_with(before), of("P@5", limit))
    assert verdict.exit_code == (1 if lost > limit else 0)
    assert verdict.rows[0].harm_points == pytest.approx(lost, abs=1e-9)


@COSTLY
@given(PAIRS)
def test_significance_only_ever_lifts_a_breach_and_never_to_silence(pairs):
    before, after = run_with([a for a, _ in pairs]), run_with([b for _, b in pairs])
    strict = held(after, before, of("P@5", 0.5))
    gentle = held(after, before, of("P@5", 0.5, "threshold_and_significant"))
    if strict.exit_code == 0:
        assert gentle.exit_code == 0
    elif gentle.exit_code == 0:
        assert gentle.rows[0].verdict == "within_noise"
        assert gentle.rows[0].reasons


@COSTLY
@given(HITS, st.data())
def test_a_run_that_lacks_queries_never_passes(hits, data):
    run = run_with(hits)
    kept = data.draw(st.sets(st.sampled_from(range(len(hits))), max_size=len(hits) - 1))
    run["queries"] = [run["queries"][place] for place in sorted(kept)]
    why = Justification({"P@5": 100}, "because", "a", "b", date(2030, 1, 1))
    verdict = held(run, run_with(hits), of("P@5", 100), justifications=[why])
    assert verdict.exit_code == 2


@COSTLY
@given(PAIRS)
def test_the_queries_listed_add_up_to_the_change(pairs):
    before, after = run_with([a for a, _ in pairs]), run_with([b for _, b in pairs])
    (row,) = held(after, before, of("P@5", 0)).rows
    points = [mover.points for mover in row.movers]
    if row.n_up + row.n_down <= N_MOVERS:
        assert math.fsum(points) == pytest.approx(row.change_points, abs=1e-9)
    assert points == sorted(points)


@given(st.text(), st.text(min_size=1))
def test_any_text_is_one_comment_and_no_control_character(reason, metric):
    thresholds = of("P@5", 1)
    verdict = no_verdict(thresholds, [reason, metric], TODAY)
    comment = to_comment(verdict)
    assert comment.startswith(MARKER + "\n## ")
    assert comment.count("\n## ") == 0 or comment.index("\n## ") == len(MARKER)
    assert not any(ord(c) < 32 and c != "\n" for c in comment + to_text(verdict))


@given(
    st.lists(
        st.tuples(st.floats(-5, 5), st.floats(0, 3), st.floats(0, 1), st.floats(0, 3)),
        min_size=1,
        max_size=6,
    ),
    st.integers(6, 5000),
)
def test_a_decision_is_lawful(rows, n):
    harm, limit, p, error = (np.array(column) for column in zip(*rows, strict=True))
    plain = decide(harm, limit, p, error, n, rule="threshold").codes
    tested = decide(harm, limit, p, error, n).codes
    assert ((plain == HOLDS) == (tested == HOLDS)).all()
    # What is a breach stays one when it is worse, and more surely so.
    worse = decide(harm + 1, limit, p / 2, error, n).codes
    assert (worse[tested == BREACH] == BREACH).all()
    # The order of the rows does not count.
    backwards = decide(harm[::-1], limit[::-1], p[::-1], error[::-1], n).codes
    assert backwards[::-1].tolist() == tested.tolist()


@given(st.lists(st.sampled_from([-0.4, -0.2, 0.0, 0.2, 0.4]), min_size=6, max_size=10))
def test_the_test_counts_sign_patterns(harms):
    data = np.array(harms)
    patterns = np.array(np.meshgrid(*[[-1, 1]] * len(data))).reshape(len(data), -1)
    sums = patterns.T @ data
    at_least = float(np.mean(sums >= data.sum() - 1e-9))
    found = harm_test(data, seed=1)[0]
    if data.sum() > 1e-9:
        assert found == pytest.approx(at_least)
    else:
        assert found >= 0.5 - 1e-9


@COSTLY
@given(PAIRS, st.floats(0, 20), st.floats(0, 20), st.integers(2, 30), st.sampled_from(NOISE_RULES))
def test_more_noise_in_the_noise_file_never_makes_a_breach(pairs, band, more, n_runs, rule):
    before, after = run_with([a for a, _ in pairs]), run_with([b for _, b in pairs])
    found = noise([before] * 2, generated_at=before["generated_at"], seed=1)
    found = replace(found, n_runs=n_runs)
    codes = []
    for points in (band, band + more):
        found.metrics["P@5"] = replace(found.metrics["P@5"], band_points=points)
        codes.append(held(after, before, of("P@5", 0.5, rule), noise=found).exit_code)
    assert codes[0] == 1 or codes[1] != 1
    # However noisy, what stays within its threshold passes.
    if 100 * sum(a - b for a, b in pairs) / 5 / len(pairs) <= 0.5:
        assert codes == [0, 0]


MEANS = st.lists(st.lists(st.integers(0, 5), min_size=6, max_size=6), min_size=2, max_size=4)


def labelled(hits, name):
    return [run_with(one, label=f"{name} {place}") for place, one in enumerate(hits)]


@COSTLY
@given(MEANS, MEANS, st.randoms(use_true_random=False))
def test_the_mean_of_runs_is_held_whatever_their_order(before, after, random):
    thresholds = of("P@5", 0.5, "threshold_and_real")
    sides = labelled(after, "run"), labelled(before, "baseline")
    there, back = (check(*order, thresholds, today=TODAY) for order in (sides, sides[::-1]))
    assert (there.exit_code == 1) + (back.exit_code == 1) <= 1
    found = there.rows[0]
    assert found.change_points == pytest.approx(-back.rows[0].change_points, abs=1e-9)
    lost = 100 * (np.mean(before) - np.mean(after)) / 5
    assert found.harm_points == pytest.approx(lost, abs=1e-9)
    assert found.decided_by == "noise"
    for side in sides:
        random.shuffle(side)
    again = check(*sides, thresholds, today=TODAY).rows[0]
    assert again.verdict == found.verdict
    assert again.p_value == pytest.approx(found.p_value, abs=1e-9)
