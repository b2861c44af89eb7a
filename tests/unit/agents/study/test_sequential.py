"""Studies that are read while trials are added."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retrieval_eval import compare
from retrieval_eval.stats.sequential import always_valid_bounded, always_valid_mean
from tests.studies import document

ARMS = ("baseline", "mcp")


def rows(gains, *, batches=None, repositories=None, costs=None):
    made = []
    for i, gain in enumerate(gains):
        for config, recall in zip(ARMS, (0.2, 0.2 + gain), strict=True):
            own = document(
                f"task-{i:02}",
                config,
                recall,
                mcp=3 if config == "mcp" else 0,
                cost=1.0 if config == "baseline" or costs is None else costs[i],
                repositories=[repositories[i]] if repositories else [],
            )
            own["provenance"]["batch_timestamp"] = batches[i] if batches else None
            made.append(own)
    return made


def estimate(found, metric="file_recall"):
    return found.record.metrics[metric]


def test_without_it_no_look_is_in_the_document():
    found = compare(rows([0.3] * 5 + [0.1] * 5), *ARMS)
    assert "always_low" not in found.to_json()["metrics"]["file_recall"]
    assert estimate(found).always_method is None
    assert found.record.design.is_sequential is False


def test_the_interval_is_that_of_the_differences_in_order_of_time():
    rng = np.random.default_rng(2)
    gains = rng.uniform(-0.1, 0.7, 40)
    order = rng.permutation(40)
    batches = [f"2026-01-{1 + place // 2:02}__09-00-00" for place in order]
    found = estimate(compare(rows(gains, batches=batches), *ARMS, sequential=True))
    times = sorted(range(40), key=lambda i: (batches[i], i))
    by_hand = always_valid_bounded([gains[i] for i in times])
    assert found.always_low == pytest.approx(by_hand.interval.low.value, abs=1e-9)
    assert found.always_high == pytest.approx(by_hand.interval.high.value, abs=1e-9)
    assert found.always_p == pytest.approx(by_hand.p_value.value, abs=1e-9)
    assert found.always_method == "betting"
    # They stand beside the fixed ones, which are shorter.
    assert found.always_low < found.ci_low < found.ci_high < found.always_high


def test_the_verdict_rests_on_what_holds_at_every_look():
    gains = [0.15, 0.1, 0.2, 0.05, 0.12, 0.18, 0.1, 0.14]
    assert compare(rows(gains), *ARMS).verdict.state == "better"
    found = compare(rows(gains), *ARMS, sequential=True)
    assert estimate(found).p_value < 0.05
    assert estimate(found).always_p > 0.05
    assert found.verdict.state == "no_detectable_difference"
    assert "at every look together" in found.sentence()
    many = compare(rows(gains * 6), *ARMS, sequential=True)
    assert estimate(many).always_p < 0.05
    assert many.verdict.state == "better"
    assert "it may be read again while trials are added" in many.verdict.reason
    assert many.record.design.sources["is_sequential"] == "argument"


def test_tasks_of_one_repository_come_in_together():
    rng = np.random.default_rng(3)
    gains = rng.uniform(0, 0.6, 30)
    repositories = [f"repo-{i % 10}" for i in range(30)]
    batches = [f"2026-02-{1 + i // 10:02}__09-00-00" for i in range(30)]
    found = estimate(
        compare(rows(gains, repositories=repositories, batches=batches), *ARMS, sequential=True)
    )
    means = [np.mean(gains[i::10]) for i in range(10)]
    assert found.always_low == pytest.approx(
        always_valid_bounded(means).interval.low.value, abs=1e-9
    )


def test_costs_are_read_as_ratios():
    rng = np.random.default_rng(4)
    costs = np.exp(rng.normal(0.4, 0.3, 30))
    found = estimate(compare(rows([0.1] * 30, costs=costs), *ARMS, sequential=True), "cost_usd")
    by_hand = always_valid_mean(np.log(costs))
    assert found.always_low == pytest.approx(math.exp(by_hand.interval.low.value))
    assert found.always_high == pytest.approx(math.exp(by_hand.interval.high.value))
    assert found.always_method == "mixture_t"
    few = estimate(compare(rows([0.1] * 6, costs=costs[:6]), *ARMS, sequential=True), "cost_usd")
    assert (few.always_low, few.reason) == (None, "too_few_values")


def test_a_design_file_says_it_too(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("is_sequential = true\n", encoding="utf-8")
    found = compare(rows([0.1, 0.2, 0.15, 0.1, 0.2, 0.3]), *ARMS, design=path)
    assert estimate(found).always_method == "betting"


def test_equivalence_has_to_hold_at_every_look():
    rng = np.random.default_rng(6)
    gains = rng.uniform(-0.1, 0.1, 20)
    assert compare(rows(gains), *ARMS, margin=0.1).verdict.state == "equivalent"
    assert compare(rows(gains), *ARMS, margin=0.1, sequential=True).verdict.state != "equivalent"
    wide = compare(rows(gains), *ARMS, margin=0.7, sequential=True)
    assert wide.verdict.state == "equivalent"
