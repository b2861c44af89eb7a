"""How many tasks a study needs, and what it rests on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import retrieval_eval as rev
from retrieval_eval import BadInputError, compare, plan
from retrieval_eval.stats.paired import compare_paired
from retrieval_eval.stats.power import power_by_test_and_interval, power_of_t
from tests.studies import document, frame_of


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
    return rows


def values(found):
    return {a.name: a.value for a in found.record.assumptions}


def sources(found):
    return {a.name: a.source for a in found.record.assumptions}


def test_power_of_t_agrees_with_the_noncentral_t_distribution():
    for n, effect in ((5, 1.0), (20, 0.6), (300, 0.15)):
        critical = stats.t.ppf(0.975, n - 1)
        shift = effect * math.sqrt(n)
        by_scipy = stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift)
        assert power_of_t(effect, 1.0, n) == pytest.approx(by_scipy, abs=1e-9)
    assert power_of_t(0.1, 1.0, 1) == 0.0
    assert power_of_t(9.0, 0.001, 300) == 1.0


def test_power_of_t_agrees_with_statsmodels():
    power = pytest.importorskip("statsmodels.stats.power")
    for n, effect in ((8, 0.9), (34, 0.5), (199, 0.2)):
        assert power_of_t(effect, 1.0, n) == pytest.approx(
            power.TTestPower().power(effect, n, 0.05), abs=1e-9
        )


@pytest.mark.parametrize(
    ("effect", "published"),
    # Cohen (1988): 15, 34 and 199 pairs for the t test alone. Here the interval must agree too,
    # which takes up to two more.
    [(0.8, 15), (0.5, 34), (0.2, 199)],
)
def test_a_plan_needs_what_is_published_and_a_little_more(effect, published):
    found = plan(sd=1.0, metric="elapsed_seconds", difference=effect)
    assert published <= found.n_tasks <= published + 2
    assert found.record.n_trials == 2 * found.n_tasks
    (own,) = found.record.needs
    assert (own.repeats, own.n_tasks_low, own.n_tasks_high) == (1, None, None)


def test_the_planned_number_is_the_first_that_reaches_the_power():
    found = plan(sd=0.2, difference=0.1)
    assert power_by_test_and_interval(0.1, 0.2, found.n_tasks) >= 0.8
    assert power_by_test_and_interval(0.1, 0.2, found.n_tasks - 1) < 0.8
    assert plan(sd=0.2, difference=-0.1).n_tasks == found.n_tasks
    more = [plan(sd=0.2, difference=0.1, power=p).n_tasks for p in (0.5, 0.8, 0.9, 0.99)]
    assert more == sorted(more)


def test_what_stated_tasks_show():
    found = plan(sd=0.2, tasks=60, difference=0.1).record
    assert power_by_test_and_interval(found.detectable, 0.2, 60) == pytest.approx(0.8, abs=1e-6)
    assert found.achieved == pytest.approx(power_by_test_and_interval(0.1, 0.2, 60))
    few = plan(sd=0.2, tasks=4, difference=0.1)
    assert (few.record.detectable, few.record.achieved) == (None, 0.0)
    assert "4 matched tasks are too few for a verdict." in few.sentences()


def test_repeats_lessen_what_is_within_tasks_only():
    found = plan(between=0.2, within=0.2, difference=0.1)
    needs = {need.repeats: need.n_tasks for need in found.record.needs}
    assert list(needs) == [1, 2, 3, 5]
    for repeats, n in needs.items():
        sd = math.sqrt(0.2**2 + 2 * 0.2**2 / repeats)
        assert n == plan(sd=sd, difference=0.1).n_tasks
    # More tasks are worth more than more repeats.
    trials = [need.n_trials for need in found.record.needs]
    assert trials == sorted(trials)
    assert plan(between=0.2, difference=0.1).n_tasks == plan(sd=0.2, difference=0.1).n_tasks


def test_clusters_count_by_their_design_effect():
    alone = plan(sd=0.2, difference=0.05).n_tasks
    clustered = plan(sd=0.2, difference=0.05, icc=0.2, cluster_size=4).n_tasks
    assert clustered == pytest.approx(alone * (1 + 3 * 0.2), rel=0.06)
    assert clustered % 4 == 0
    # With few clusters, each of many tasks, Student's t of their means.
    few = plan(sd=0.1, difference=0.1, icc=0.1, cluster_size=20)
    assert few.n_tasks in (60, 80, 100)
    assert any("clusters' means" in note for note in few.record.notes)


def test_ties_take_more_tasks_where_few_of_them_move():
    tied = plan(sd=0.4, difference=0.3, share_zero=0.7)
    assert tied.n_tasks > 1.3 * plan(sd=0.4, difference=0.3).n_tasks
    # Six tasks that move are the fewest with a p-value below .05.
    assert power_by_test_and_interval(0.5, 0.5, 6, share_zero=0.5) < 0.5**6 + 1e-9


def test_a_pilot_is_read_as_a_comparison_reads_it():
    rows = pilot(24)
    found = plan(rows, difference=0.05, source="pilot first")
    differences = compare(rows).pairs.query("metric == 'file_recall'")["difference"]
    assert values(found)["sd"] == pytest.approx(np.std(differences, ddof=1))
    (sd,) = (a for a in found.record.assumptions if a.name == "sd")
    ends = [sd.value * math.sqrt(23 / stats.chi2.ppf(q, 23)) for q in (0.975, 0.025)]
    assert [sd.low, sd.high] == pytest.approx(ends)
    assert sd.source == "pilot first: 24 matched tasks, 1 trial of each in each arm"
    need = found.record.needs[0]
    assert need.n_tasks_low < need.n_tasks < need.n_tasks_high
    assert need.n_tasks_high == plan(sd=sd.high, difference=0.05).n_tasks
    # Its comparison, its frame and its documents say the same.
    assert plan(compare(rows), difference=0.05, source="pilot first") == found
    assert plan(frame_of(rows), difference=0.05, source="pilot first") == found
    assert sources(plan(rows, sd=0.3, difference=0.05)) == {
        "difference": "stated",
        "sd": "stated",
    }


def test_repeats_of_a_pilot_are_taken_apart():
    found = plan(pilot(150, 4, noise=0.15), difference=0.05)
    read = values(found)
    assert read["within"] == pytest.approx(0.15, rel=0.1)
    assert read["between"] == pytest.approx(0.1, rel=0.25)
    assert read["sd"] ** 2 == pytest.approx(read["between"] ** 2 + 2 * read["within"] ** 2 / 4)
    assert (found.record.repeats, len(found.record.needs)) == (4, 5)
    once = plan(pilot(20), difference=0.05)
    assert any("how much repeats would help is not known" in n for n in once.record.notes)
    assert [n.repeats for n in once.record.needs] == [1]
    stated = plan(pilot(20), difference=0.05, within=0.05)
    assert len(stated.record.needs) == 4


def test_clusters_of_a_pilot_are_those_of_its_comparison():
    rng = np.random.default_rng(5)
    shared = rng.normal(0.1, 0.2, 10)
    rows = []
    for i in range(60):
        gain = shared[i % 10] + rng.normal(0, 0.1)
        for config, recall in (("baseline", 0.4), ("mcp", float(np.clip(0.4 + gain, 0, 1)))):
            rows.append(document(f"t-{i:02}", config, recall, repositories=[f"repo-{i % 10}"]))
    found = plan(rows, difference=0.1)
    read = values(found)
    assert read["cluster_size"] == pytest.approx(6.0)
    assert 0.5 < read["icc"] < 0.95
    assert sources(found)["icc"] == "pilot: by repository"
    # Tasks of one repository hardly add anything, also to what the pilot knows of the spread.
    (sd,) = (a for a in found.record.assumptions if a.name == "sd")
    assert sd.high / sd.value > math.sqrt(20 / stats.chi2.ppf(0.025, 20))


def test_costs_are_planned_as_ratios():
    rows = pilot(30)
    found = plan(rows, metric="cost_usd")
    assert (found.record.scale, found.record.target) == ("ratio", 1.2)
    pairs = compare(rows).pairs.query("metric == 'cost_usd'")
    logs = np.log(pairs["comparison"] / pairs["baseline"])
    assert values(found)["sd"] == pytest.approx(np.std(logs, ddof=1))
    same = plan(rows, metric="cost_usd", ratio=1 / 1.2)
    assert same.n_tasks == found.n_tasks
    assert plan(rows, metric="cost_usd", difference=0.2).record.scale == "difference"
    stated = plan(sd=0.5, metric="cost_usd", tasks=40).record
    assert stated.detectable > 1
    assert math.log(stated.detectable) == pytest.approx(
        plan(sd=0.5, metric="elapsed_seconds", difference=0.1, tasks=40).record.detectable, abs=1e-6
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "state what the plan rests on"),
        ({"sd": 0.1, "within": 0.2}, "not both"),
        ({"sd": -0.1}, "sd is finite and not below 0, not -0.1"),
        ({"sd": 5.0, "metric": "ttfr_seconds"}, "state the difference to see"),
        ({"sd": 0.0}, "do not vary"),
        ({"sd": 0.1, "difference": 0.0}, "a difference to see is not 0"),
        ({"sd": 0.1, "difference": 1.5}, "cannot be"),
        ({"sd": 0.1, "difference": 0.1, "ratio": 1.1}, "not both"),
        ({"sd": 0.1, "ratio": 1.1}, "lies between 0 and 1: state a difference"),
        ({"sd": 0.1, "metric": "cost_usd", "ratio": 1.0}, "above 0 and not 1"),
        ({"sd": 0.1, "power": 1.0}, "the power lies between 0 and 1"),
        ({"sd": 0.1, "power": 0.04}, "lies above alpha"),
        ({"sd": 0.1, "alpha": 0.7}, "alpha lies between"),
        ({"sd": 0.1, "icc": 0.2}, "state the mean number of tasks of a cluster"),
        ({"sd": 0.1, "icc": 1.0, "cluster_size": 3}, "the ICC lies from 0"),
        ({"sd": 0.1, "cluster_size": 0.5}, "at least one task"),
        ({"sd": 0.1, "share_zero": 1.0}, "without a difference lies from 0"),
        ({"sd": 0.1, "repeats": 0}, "at least one trial"),
        ({"sd": 0.1, "tasks": 0}, "at least one task"),
        ({"sd": 0.1, "metric": "recal"}, "'recal' is no metric; closest: recall"),
    ],
)
def test_numbers_that_no_study_has_are_refused(given, message):
    with pytest.raises(BadInputError, match=message):
        plan(**given)


def test_a_pilot_that_shows_no_spread_is_refused():
    with pytest.raises(BadInputError, match="2 matched tasks with file recall in both"):
        plan(pilot(2))
    with pytest.raises(BadInputError, match="one configuration, baseline"):
        plan(pilot(5)[::2])
    with pytest.raises(BadInputError, match="two different configurations; there are: baseline, "):
        plan(pilot(5), "baseline", "baseline")
    with pytest.raises(BadInputError, match="do not vary"):
        plan([document(f"t{i}", c, 0.5) for i in range(5) for c in ("a", "b")])
    with pytest.raises(BadInputError, match="no config"):
        plan(pilot(5), "basline")
    with pytest.raises(rev.NothingToEvaluateError):
        plan([])


def test_a_difference_that_no_number_of_tasks_shows():
    found = plan(sd=0.5, difference=0.0005)
    assert found.n_tasks is None
    assert "more than 100,000 matched tasks would be needed" in found.sentences()[0]


def test_what_it_shows():
    found = plan(pilot(24, 2), difference=0.1, tasks=30)
    assert "matched tasks are needed (2 trials of each in both configurations" in repr(found)
    assert "30 matched tasks show a difference of" in " ".join(found.sentences())
    assert "<table" in found._repr_html_()
    assert list(found.needs["repeats"]) == [1, 2, 3, 5]
    curve = found.curve[found.curve["repeats"] == 2]
    assert curve["power"].is_monotonic_increasing
    assert (curve["power_low"] <= curve["power"]).all()
    assert (curve["power_high"] >= curve["power"]).all()
    assert set(found.assumptions["name"]) >= {"difference", "sd", "between", "within"}
    assert found.to_json()["n_tasks"] == found.n_tasks


@pytest.mark.parametrize(
    "given",
    [
        {"sd": 0.2, "difference": 0.15},
        {"sd": 0.2, "difference": 0.12, "icc": 0.2, "cluster_size": 4},
    ],
)
def test_a_planned_study_reaches_its_power(given):
    n = plan(**given).n_tasks
    rng, found = np.random.default_rng(4), []
    size, icc = given.get("cluster_size", 1), given.get("icc", 0.0)
    labels = (np.arange(n) // size).tolist()
    for _ in range(400):
        shared = rng.normal(0, 0.2 * math.sqrt(icc), n)[labels]
        rows = given["difference"] + shared + rng.normal(0, 0.2 * math.sqrt(1 - icc), n)
        made = compare_paired(
            np.zeros(n), rows, seed=1, n_resamples=400, clusters=labels if size > 1 else None
        )
        found.append(made.p_value.value < 0.05 and made.interval.low.value > 0)
    # Four standard errors of a share of 400 are eight points.
    assert np.mean(found) == pytest.approx(0.8, abs=0.08)
