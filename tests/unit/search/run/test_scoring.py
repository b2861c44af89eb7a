from __future__ import annotations

from math import log2

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search.run import BASE_MEASURES, Settings
from retrieval_eval.search.run.scoring import NO_NAME, score_run
from tests.searches import answer, failure, gold_query, gold_set, written

SETTINGS = Settings(k_values=(1, 3, 5))

GOLD = gold_set(
    gold_query("q1", {"a": 2, "b": 1, "c": 0}, area="levy", origin="replayed"),
    gold_query("q2", {"d": 1}, area="levy", source="chair"),
    gold_query("q3", answerable=False, corpus="other", origin="adversarial"),
    gold_query("q4", corpus="other"),
    gold_query("q5", {"e": 1}, corpus="other"),
    gold_query("q6", {"f": 1}, corpus="other"),
)
ANSWERS = (
    answer("q1", {"x": 0.9, "a": 0.8, "b": 0.8, "c": 0.1}),  # ranked x, b, a, c
    answer("q2", ["y", "z"]),
    answer("q3", ["y"]),
    answer("q4", ["y"]),
    answer("q5"),
    failure("q6"),
)


@pytest.fixture(scope="module")
def scored():
    return score_run(GOLD, ANSWERS, SETTINGS)


@pytest.fixture
def of(scored):
    by_id = {query.query.id: query for query in scored.queries}
    return lambda query, measure: by_id[query].scores[measure]


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("P@1", 0),
        ("P@3", 2 / 3),
        ("P@5", 2 / 5),
        ("P@10", 2 / 10),
        ("Recall@1", 0),
        ("Recall@3", 1),
        ("RR", 1 / 2),
        ("nDCG@5", (1 / log2(3) + 2 / 2) / (2 + 1 / log2(3))),
        ("Judged@10", 3 / 4),
    ],
)
def test_a_graded_ranking_with_a_tie_by_hand(of, measure, value):
    assert of("q1", measure).value.value == pytest.approx(value, abs=1e-15)


def test_the_band_over_orders_of_a_tie(of):
    ideal = 2 + 1 / log2(3)
    found = of("q1", "nDCG@5")
    assert found.tie_low == pytest.approx((1 / log2(3) + 1) / ideal)
    assert found.tie_high == pytest.approx((2 / log2(3) + 1 / 2) / ideal)
    assert (of("q1", "P@5").tie_low, of("q1", "P@5").tie_high) == (0.4, 0.4)


def test_what_has_no_ground_truth_is_not_computable(of):
    for query in ("q3", "q4"):
        found = of(query, "P@5")
        assert (found.value.reason, found.tie_low, found.unjudged_high) == (
            "no_ground_truth",
            None,
            None,
        )


def test_an_empty_ranking_scores_zero_on_everything_but_judged(of):
    for measure in ("P@1", "P@5", "Recall@20", "RR", "nDCG@10"):
        found = of("q5", measure)
        assert (found.value.value, found.value.n) == (0, 1)
        assert (found.tie_low, found.tie_high, found.unjudged_high) == (0, 0, 0)
    assert of("q5", "Judged@10").value.reason == "nothing_retrieved"


def test_an_unlabelled_query_without_an_answer_lacks_ground_truth():
    scored = score_run(gold_set(gold_query("q")), [answer("q")], SETTINGS)
    assert {s.value.reason for s in scored.queries[0].scores.values()} == {"no_ground_truth"}


def test_a_failed_query_has_no_values(of):
    assert {of("q6", name).value.reason for name in SETTINGS.measures} == {"query_failed"}


def test_means_rest_on_computable_queries_and_count_the_others(scored):
    found = written(scored.overall.metrics["P@5"])
    # q1 0.4, q2 and q5 0
    assert found["value"] == pytest.approx(0.4 / 3)
    assert (found["n"], found["n_not_computable"]) == (3, 3)
    assert found["not_computable"] == {"no_ground_truth": 2, "query_failed": 1}
    # q1: x too is relevant, 3 of 5; q2: y and z, 2 of 5; q5 has nothing
    assert (found["unjudged_low"], found["unjudged_high"]) == (
        pytest.approx(0.4 / 3),
        pytest.approx((3 / 5 + 2 / 5) / 3),
    )
    assert scored.overall.n_queries == 6


def test_the_band_of_a_mean(scored):
    found = written(scored.overall.metrics["nDCG@5"])
    ideal = 2 + 1 / log2(3)
    assert found["tie_low"] == pytest.approx((1 / log2(3) + 1) / ideal / 3)
    assert found["tie_high"] == pytest.approx((2 / log2(3) + 1 / 2) / ideal / 3)


def test_judged_has_no_bounds_by_unjudged_documents(scored):
    found = written(scored.overall.metrics["Judged@10"])
    # q1 3 of 4, q2 0 of 2
    assert (found["value"], found["n"]) == (0.375, 2)
    assert (found["unjudged_low"], found["unjudged_high"]) == (None, None)


def test_slices_name_everything_and_add_up(scored):
    sizes = {
        dimension: {name: part.n_queries for name, part in parts.items()}
        for dimension, parts in scored.slices.items()
    }
    assert sizes == {
        "corpus": {"docs": 2, "other": 4},
        "area": {NO_NAME: 4, "levy": 2},
        "origin": {NO_NAME: 4, "adversarial": 1, "replayed": 1},
        "source": {"bootstrap": 5, "chair": 1},
    }
    assert scored.slices["corpus"]["other"].metrics["P@5"].value == 0
    assert scored.slices["corpus"]["docs"].metrics["P@5"].value == pytest.approx(0.2)
    only = scored.slices["origin"]["adversarial"].metrics["P@5"]
    assert only.reason == "no_computable_values"
    assert only.ci_low is None


def test_intervals_lie_in_the_range_of_measures_and_around_the_mean():
    names = [f"q{number}" for number in range(12)]
    gold = gold_set(*(gold_query(name, {"a": 1}) for name in names))
    answers = [
        answer(name, ["a"] if place < 10 else ["x", "a"]) for place, name in enumerate(names)
    ]
    found = written(score_run(gold, answers, SETTINGS).overall.metrics["RR"])
    assert found["value"] == pytest.approx((10 + 2 * 0.5) / 12)
    assert 0 <= found["ci_low"] < found["value"] < found["ci_high"] <= 1


def test_nothing_and_strangers_are_refused():
    with pytest.raises(NothingToEvaluateError, match="no query was evaluated"):
        score_run(GOLD, [], SETTINGS)
    with pytest.raises(BadInputError, match="no query 'q9'"):
        score_run(GOLD, [answer("q9")], SETTINGS)


def test_the_measures_are_the_usual_ones_and_those_asked_for():
    assert set(Settings(k_values=()).measures) == set(BASE_MEASURES)
    extra = set(Settings(k_values=(2, 5)).measures) - set(BASE_MEASURES)
    assert extra == {"P@2", "Recall@2", "nDCG@2"}
    assert Settings(k_values=(10, 1)).measures == Settings(k_values=(1, 10)).measures


def test_settings_that_measure_nothing_are_refused():
    with pytest.raises(BadInputError, match="deepest cut-off is 20"):
        Settings(depth=10)
    with pytest.raises(BadInputError, match="deepest cut-off is 100"):
        Settings(k_values=(100,))
    with pytest.raises(BadInputError, match="from 1"):
        Settings(k_values=(0,))
