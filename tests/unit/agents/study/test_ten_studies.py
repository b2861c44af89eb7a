"""The ten misleading studies and the clean ones have what their names say."""

import pytest

from tests.studies import comparison
from tests.unit.agents.study.ten_studies import MISLEADING, STUDIES


@pytest.fixture(scope="module")
def found():
    return {name: comparison(make(2)) for name, make in STUDIES.items()}


def test_every_study_has_two_arms_and_the_same_trials_for_the_same_seed():
    assert len(STUDIES) == MISLEADING + 3
    for make in STUDIES.values():
        rows = make(5)
        assert {row["provenance"]["config_name"] for row in rows} == {"baseline", "mcp"}
        assert rows == make(5) != make(6)


def test_studies_without_a_usable_result_have_no_plain_verdict(found):
    for name in ("three_repositories", "worst_absent", "crashes_on_worst", "mostly_dead_server"):
        assert found[name]["verdict"] not in ("better", "worse"), name
    assert found["contaminated_control"]["verdict"] not in ("better", "worse")


def test_a_plain_gain_is_better_and_equal_arms_are_not(found):
    assert found["planted_effect"]["verdict"] == "better"
    for name in ("equal_arms", "equivalent_arms"):
        assert found[name]["verdict"] not in ("better", "worse"), name


def test_the_costly_study_has_five_times_the_cost_and_the_suites_opposite_signs(found):
    cost = found["five_times_the_cost"]["metrics"]["cost_usd"]
    assert cost["mean_comparison"] == pytest.approx(5 * cost["mean_baseline"], rel=0.2)
    pairs = found["opposite_suites"]["pairs"]
    signs = {(p["benchmark"], p["metrics"]["file_recall"]["difference"] > 0) for p in pairs}
    assert signs == {("suite-a", True), ("suite-b", False)}
    times = found["survivors_times"]["metrics"]["ttfr_seconds"]
    assert (times["n_never_baseline"], times["n_never_comparison"]) == (0, 12)
    rewards = {row["benchmark"] for row in found["two_reward_scales"]["reward_by_suite"]}
    assert rewards == {"suite-a", "suite-b"}
