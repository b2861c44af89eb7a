"""One comparison over many studies."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from retrieval_eval import BadInputError, NothingToEvaluateError, compare, pool
from retrieval_eval.stats.pooling import pool_estimates
from tests.studies import document

ARMS = ("baseline", "mcp")


def study(run, shift, n=12, *, seed=1, crash=0, repositories=0, cost=1.5):
    rng = np.random.default_rng([seed, sum(map(ord, run))])
    rows = []
    for i in range(n):
        gain = shift + rng.normal(0, 0.1)
        for config, recall in (("baseline", 0.4), ("mcp", float(np.clip(0.4 + gain, 0, 1)))):
            own = document(
                f"t-{i:02}",
                config,
                recall,
                mcp=3 if config == "mcp" else 0,
                cost=float(np.exp(rng.normal(0, 0.2))) * (cost if config == "mcp" else 1.0),
                exception={"type": "E", "message": None} if i < crash and config == "mcp" else None,
                calls=0 if i < crash and config == "mcp" else 5,
                repositories=[f"r{i % repositories}"] if repositories else [],
            )
            own["provenance"]["run_id"] = run
            rows.append(own)
    return compare(rows, *ARMS, n_resamples=200)


@pytest.fixture(scope="module")
def studies():
    shifts = {"run-a": 0.10, "run-b": 0.25, "run-c": 0.05, "run-d": 0.15, "run-e": 0.2}
    return [study(run, shift) for run, shift in shifts.items()]


def test_comparisons_are_pooled_by_their_means_and_standard_errors(studies):
    found = pool(studies)
    changes = [s.pairs.query("metric == 'file_recall'")["difference"] for s in studies]
    by_hand = pool_estimates(
        [c.mean() for c in changes], [c.std(ddof=1) / math.sqrt(len(c)) for c in changes]
    )
    assert found.mean.value == pytest.approx(by_hand.mean.value)
    assert found.summary.tau.value == pytest.approx(by_hand.tau.value)
    assert [own.study for own in found.studies] == [f"run-{name}" for name in "abcde"]
    assert (found.metric, found.scale, found.left_out) == ("file_recall", "difference", ())
    first, spread, further, *_ = found.sentences()
    assert first.startswith("Over 5 studies the mean difference in file recall is +0.1")
    assert "I² = " in spread
    assert "further study" in further


def test_what_it_shows(studies):
    found = pool(studies)
    frame = found.frame
    assert list(frame["study"][-2:]) == ["all studies", "a further study"]
    assert frame["weight"].sum() == pytest.approx(1.0)
    mean, further = frame.iloc[-2], frame.iloc[-1]
    assert further["low"] < mean["low"] < mean["estimate"] < mean["high"] < further["high"]
    assert (frame["shift"] == frame["estimate"]).all()
    without = found.leave_one_out
    assert list(without["study"]) == [f"without run-{name}" for name in "abcde"]
    again = pool(studies[1:])
    assert without.loc[0, "estimate"] == pytest.approx(again.mean.value)
    assert "<table" in found._repr_html_()
    assert repr(found).startswith("<Pooled: Over 5 studies")


def test_intervals_end_where_shares_do():
    rows = pd.DataFrame({"estimate": [0.9, 0.1, -0.6], "error": [0.02] * 3, "n": [10] * 3})
    found = pool(rows, "file_recall")
    assert (found.summary.prediction.low.value, found.summary.prediction.high.value) == (-1, 1)
    assert pool(rows, "ttfr_seconds").summary.prediction.high.value > 1
    # The interval of a study is Student's t of its units.
    first = found.frame.iloc[0]
    assert first["high"] == pytest.approx(0.9 + 2.2621571628 * 0.02)


def test_ratios_are_pooled_as_logarithms(studies):
    found = pool(studies, "cost_usd")
    assert found.scale == "ratio"
    logs = []
    for each in studies:
        rows = each.pairs.query("metric == 'cost_usd'")
        logs.append(np.log(rows["comparison"] / rows["baseline"]))
    by_hand = pool_estimates(
        [c.mean() for c in logs], [c.std(ddof=1) / math.sqrt(len(c)) for c in logs]
    )
    assert found.mean.value == pytest.approx(math.exp(by_hand.mean.value))
    row = found.frame.iloc[-2]
    assert row["low"] == pytest.approx(math.exp(by_hand.interval.low.value))
    assert row["shift"] == pytest.approx(by_hand.mean.value)
    assert found.sentences()[0].startswith("Over 5 studies the ratio of cost is 1.")


def test_clusters_of_a_study_count_once():
    own = study("run-x", 0.1, n=24, repositories=3)
    (row,) = pool([own]).studies
    changes = own.pairs.query("metric == 'file_recall'")["difference"].to_numpy()
    means = [changes[i::3].mean() for i in range(3)]
    assert row.estimate == pytest.approx(np.mean(means))
    assert row.error == pytest.approx(np.std(means, ddof=1) / math.sqrt(3))
    assert row.n == 3


def test_studies_whose_gate_failed_are_left_out(studies):
    broken = study("run-z", 0.1, crash=8)
    assert broken.record.gate.failed
    found = pool([*studies, broken])
    assert [own.study for own in found.left_out] == ["run-z"]
    assert "1 study left out: run-z: the validity gate withholds a verdict." in found.sentences()


def test_one_and_two_studies_are_given_as_they_are(studies):
    one = pool(studies[:1])
    assert one.sentences()[0].startswith("One study, run-a: its mean difference in file recall is")
    own, mean = one.frame.iloc[0], one.frame.iloc[1]
    assert (mean["low"], mean["high"]) == (own["low"], own["high"])
    wider = pool(studies[:1], confidence=0.99).frame.iloc[1]
    assert wider["low"] < mean["low"] < mean["high"] < wider["high"]
    two = pool(studies[:2])
    assert two.sentences()[0].startswith("Two studies: the mean difference in file recall is +0.")
    assert "do not show how much studies differ" in two.sentences()[0]
    assert math.isnan(two.frame.iloc[-2]["low"])


def test_a_frame_with_errors_or_intervals():
    rows = {"study": ["a", "b", "c", "d"], "estimate": [0.1, 0.16, 0.04, 0.12]}
    errors = np.array([0.03, 0.04, 0.02, 0.05])
    by_error = pool(pd.DataFrame({**rows, "error": errors}), "file_recall")
    low, high = (np.array(rows["estimate"]) + s * 1.959963984540054 * errors for s in (-1, 1))
    by_ends = pool(pd.DataFrame({**rows, "low": low, "high": high}), "file_recall")
    assert by_error.mean.value == pytest.approx(by_ends.mean.value)
    assert by_error.summary.q.value == pytest.approx(by_ends.summary.q.value)
    ratios = pd.DataFrame({**rows, "estimate": np.exp(rows["estimate"]), "error": errors})
    as_ratios = pool(ratios.assign(scale="ratio"), "cost_usd")
    assert as_ratios.mean.value == pytest.approx(math.exp(by_error.mean.value))


def test_pairs_of_other_names_are_said():
    rows = pd.DataFrame(
        {
            "estimate": [0.1, 0.2, 0.3],
            "error": [0.05] * 3,
            "baseline_config": ["old", "old", "older"],
            "comparison_config": ["new"] * 3,
        }
    )
    text = " ".join(pool(rows).sentences())
    assert "The studies compare 2 pairs of configurations: new compared with old; new" in text


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        ({"estimate": [0.1]}, BadInputError, "columns estimate and error"),
        ({"estimate": [None], "error": [0.1]}, NothingToEvaluateError, "no study has an estimate"),
        (
            {"estimate": [1.0, 2.0], "error": [0.1, 0.1], "scale": ["ratio", "difference"]},
            BadInputError,
            "some studies have a difference",
        ),
        ({"estimate": [-1.0], "error": [0.1], "scale": ["ratio"]}, BadInputError, "above 0"),
        (
            {"estimate": [0.1], "error": [0.1], "metric": ["file_recal"]},
            BadInputError,
            "no study has 'file_recall'; closest: file_recal",
        ),
    ],
)
def test_what_cannot_be_pooled(frame, error, message):
    with pytest.raises(error, match=message):
        pool(pd.DataFrame(frame))


def test_a_list_of_something_else_is_refused(studies):
    with pytest.raises(BadInputError, match="not dict"):
        pool([{"estimate": 1}])
    with pytest.raises(BadInputError, match="2 names for 1 comparison"):
        pool(studies[:1], names=["a", "b"])
    with pytest.raises(NothingToEvaluateError, match="no study has an estimate of mrr"):
        pool(studies[:1], "mrr")
