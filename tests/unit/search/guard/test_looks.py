"""Guards that are repeated against one baseline share the chance of a false alarm."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.guard.rendering import to_text
from retrieval_eval.search.guard.rule import harm_test
from retrieval_eval.search.guard.thresholds import read_thresholds, toml_of
from retrieval_eval.stats.sequential import level_at_look
from retrieval_eval.stats.sign_flips import sign_flip_bound, sign_flip_p
from tests.guards import drop, run_with
from tests.plain_runs import check

TODAY = date(2026, 1, 10)


def thresholds(folder, looks):
    path = folder / "guard.toml"
    path.write_text(f"[decision]\nlooks = {looks}\n[[threshold]]\n{drop('P@5', 0.5)}\n")
    return read_thresholds(path)


def test_the_levels_of_all_looks_add_up_to_alpha():
    levels = [level_at_look(0.05, 20, look) for look in range(1, 20_000)]
    assert sum(levels) == pytest.approx(0.05, rel=1e-3)
    assert sum(levels) < 0.05
    assert levels[:20] == [0.05 / 40] * 20
    assert levels == sorted(levels, reverse=True)
    assert level_at_look(0.05, 20, 10**400) == 0
    with pytest.raises(ValueError, match="from 1"):
        level_at_look(0.05, 20, 0)


def test_the_bound_holds_for_every_small_test_and_is_exact_for_equal_signs():
    g = np.random.default_rng(3)
    for n in (7, 12, 18):
        data = g.normal(0.6, 1, n)
        exact = sign_flip_p(data, seed=1)[0].value / 2
        assert sign_flip_bound(data) >= exact
    assert sign_flip_bound(np.full(30, 0.2)) == 2.0**-30
    assert sign_flip_bound(-np.ones(8)) == 1.0


@pytest.mark.parametrize(("n", "level"), [(60, 1e-4), (60, 1e-9)])
def test_p_values_reach_a_small_level(n, level):
    harms = np.where(np.arange(n) % 12 == 0, -20.0, 20.0)
    assert harm_test(harms, seed=1)[0] >= 1 / 20_002
    assert harm_test(np.repeat(harms, 4), seed=1, level=level)[0] < level


def test_a_drop_that_one_guard_catches_may_be_chance_in_a_hundred(tmp_path):
    before = run_with([3] * 60)
    worse = run_with([2] * 9 + [3] * 51)
    alone = read_thresholds(_plain(tmp_path))
    (row,) = check([worse], [before], alone, today=TODAY).rows
    assert row.verdict == "breach"
    assert row.p_value == pytest.approx(2.0**-9)
    found = check([worse], [before], thresholds(tmp_path, 100), today=TODAY)
    assert found.rows[0].verdict in ("within_noise", "no_verdict")
    decision = found.decision
    assert (decision.looks, decision.look, decision.level) == (100, 1, 0.05 / 200)
    assert "over all guards against this baseline" in to_text(found)
    more = run_with([2] * 20 + [3] * 40)
    assert check([more], [before], thresholds(tmp_path, 100), today=TODAY).verdict == "breach"
    late = check([worse], [before], thresholds(tmp_path, 1), today=TODAY, look=1000)
    assert late.decision.level < 1e-7


def _plain(folder):
    path = folder / "plain.toml"
    path.write_text(f"[[threshold]]\n{drop('P@5', 0.5)}\n")
    return path


def test_looks_are_read_and_written_as_toml(tmp_path):
    found = thresholds(tmp_path, 50)
    path = tmp_path / "again.toml"
    path.write_text(toml_of(found))
    assert read_thresholds(path).looks == 50
    path.write_text(f"[decision]\nlooks = 1.5\n[[threshold]]\n{drop('P@5', 1)}\n")
    with pytest.raises(BadInputError, match="/decision/looks: expected a whole number"):
        read_thresholds(path)
