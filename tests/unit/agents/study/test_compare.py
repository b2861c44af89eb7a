"""Comparisons and associations as functions of a frame of trials."""

from __future__ import annotations

import pandas as pd
import pytest

import retrieval_eval as rev
from retrieval_eval import BadInputError, NothingToEvaluateError, associate, compare
from retrieval_eval.agents.metrics.catalog import Metric
from tests.studies import document, frame_of, impact_document, study

ARMS = ("baseline", "mcp")


def test_the_entry_of_the_document_is_the_comparison():
    (entry,) = impact_document(study(8), seed=3)["comparisons"]
    found = compare(study(8), *ARMS, seed=3)
    assert found.to_json() == entry
    assert (found.verdict.state, found.verdict.metric) == (entry["verdict"], "file_recall")
    assert found.verdict.reason == entry["verdict_reason"]
    assert (found.record.gate.passed, found.record.ledger.n_pairs) == (True, 8)


def test_the_frames_of_a_comparison():
    rows = study(8)
    rows[0]["outcome"]["cost_usd"] = None
    found = compare(rows, *ARMS)
    pairs = found.pairs
    assert len(pairs) == 8 * 11
    first = pairs[(pairs["metric"] == "file_recall") & (pairs["task_name"] == "task-1")].iloc[0]
    assert (first["baseline"], first["comparison"], first["benchmark"]) == (0.05, 0.25, "suite")
    assert first["difference"] == pytest.approx(0.2)
    assert pairs["difference"].isna().sum() == 1 + 8 * 8
    estimates = found.estimates.set_index("metric")
    assert estimates.loc["file_recall", "n_pairs"] == 8
    assert estimates.loc["file_recall", "mean_difference"] == pytest.approx(0.15)
    assert estimates.loc["ttfr_seconds", "reason"] == "no_timestamps"
    table = found.table(["file_recall", "reward"])
    assert list(table.index) == ["file recall", "reward"]
    assert list(table.columns[:4]) == ["Tasks", "Baseline", "Comparison", "Difference"]
    with pytest.raises(BadInputError, match="'mean' was not compared; compared: file_recall, mrr"):
        found.table(["mean"])


def test_the_sentence_names_both_sides_the_verdict_and_what_speaks_against_it():
    found = compare(study(12), *ARMS)
    assert found.sentence().startswith(
        "mcp compared with baseline: better, file recall: mean difference +0.150 over 12 matched"
    )
    assert repr(found) == f"<Comparison: {found.sentence()}>"
    assert "mcp finds 42 % of the expected files instead of 28 %" in found._repr_html_()
    rows = study(12)
    for row in rows[1::2]:
        row["ledger"]["mcp_calls_ok"] = 0
    withheld = compare(rows, *ARMS)
    assert str(withheld.verdict) == "no verdict"
    assert withheld.record.gate.failed == ("dead_mcp_server",)
    assert "dead_mcp_server" in withheld.sentence()


def test_names_from_outside_are_harmless_where_a_comparison_shows_itself():
    rows = study(6)
    for row in rows[1::2]:
        row["provenance"]["config_name"] = "<b>\ud800\x1b[31m"
        row["provenance"]["task_name"] += "\udfff"
    for row in rows[::2]:
        row["provenance"]["task_name"] += "\udfff"
    # Frames of runs hold no half of a surrogate pair; those of others may.
    frame = frame_of(rows).replace("<b>\\ud800\x1b[31m", "<b>\ud800\x1b[31m")
    found = compare(frame, "baseline", "<b>\ud800\x1b[31m")
    assert "\x1b" not in repr(found)
    repr(found).encode()
    found._repr_html_().encode()
    assert "<b>" not in found._repr_html_()
    assert len(found.pairs) == 6 * 11


def test_other_metrics_another_view_and_a_column_of_ones_own():
    rows = study(10)
    for row in rows[1::2]:
        row["file_level_metrics"]["views"]["opened"]["file_recall"] = 0.0
    # Reward is better, which overturns a loss of recall by itself.
    assert compare(rows, *ARMS, view="opened").verdict.state == "fragile"
    rows = [row | {"outcome": row["outcome"] | {"reward": 0.5}} for row in rows]
    opened = compare(rows, *ARMS, view="opened")
    assert opened.verdict.state == "worse"
    assert opened.to_json()["views"] == compare(rows, *ARMS).to_json()["views"]
    reward = compare(rows, *ARMS, primary="reward", metrics=["file_recall", "cost_usd"])
    assert list(reward.estimates["metric"]) == ["reward", "file_recall", "cost_usd"]
    assert reward.verdict.metric == "reward"
    frame = frame_of(rows).assign(steps=[i % 7 + (i % 2) for i in range(20)])
    steps = Metric("steps", "steps taken", ("steps",), "steps", better="lower", unit="steps")
    own = compare(frame, *ARMS, primary=steps, metrics=[steps])
    assert own.sentence().startswith("mcp compared with baseline: ")
    assert "steps taken: mean difference" in own.verdict.reason
    tied = associate(frame, ["file_recall"], [steps]).frame
    assert set(tied["outcome_metric"]) == {"steps"}


def test_fewer_resamples_and_another_confidence_change_intervals_alone():
    rows = study(8)
    for number, row in enumerate(rows):
        row["file_level_metrics"]["file_recall"] = (number * 7 % 13) / 13
    wide, narrow = (compare(rows, *ARMS, confidence=c, n_resamples=500) for c in (0.99, 0.8))
    one, other = (
        c.estimates.set_index("metric").loc["file_recall", ["ci_low", "ci_high"]].tolist()
        for c in (wide, narrow)
    )
    assert one[0] < other[0] < other[1] < one[1]
    assert wide.pairs.equals(narrow.pairs)


def test_roles_may_be_stated():
    rows = study(8)
    found = compare(rows, *ARMS, mcp_configs=["baseline"])
    assert set(found.record.gate.failed) == {"mcp_in_baseline", "dead_mcp_server"}
    with pytest.raises(BadInputError, match="no configuration 'base'; there are: baseline, mcp"):
        compare(rows, *ARMS, mcp_configs=["base"])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda f: f.iloc[:0], NothingToEvaluateError, "there is no trial"),
        (lambda _: pd.DataFrame(), NothingToEvaluateError, "there is no trial"),
        (lambda f: f.iloc[:1], BadInputError, "no configuration 'mcp'; there are: baseline"),
        (lambda f: f[f["config_name"] == "mcp"], BadInputError, "no configuration 'baseline'"),
        (lambda f: f[["reward"]], BadInputError, r"no column run_id, .* and \d+ more; take"),
        (lambda f: f.drop(columns="calls_seen"), BadInputError, "no column calls_seen"),
        (
            lambda f: f.drop(columns="ndcg@10"),
            BadInputError,
            "no column ndcg@10; closest: ndcg@1,",
        ),
        (lambda f: f.rename(columns={"model": "modell"}), BadInputError, "closest: modell"),
        (lambda f: f.assign(reward="high"), BadInputError, "reward holds 'high', which is no num"),
        (lambda f: f.assign(repositories="a"), BadInputError, "repositories holds text instead"),
    ],
)
def test_a_frame_that_cannot_be_compared_is_named(change, error, message):
    frame = change(frame_of(study(6)))
    with pytest.raises(error, match=message):
        compare(frame, *ARMS)


def test_what_cannot_be_compared_is_named_with_the_closest():
    rows = study(6)
    with pytest.raises(BadInputError, match="no configuration 'mpc'; there are: mcp, baseline"):
        compare(rows, "baseline", "mpc")
    with pytest.raises(BadInputError, match="both sides are mcp"):
        compare(rows, "mcp", "mcp")
    with pytest.raises(BadInputError, match="'recall' is no metric; closest: recall@10"):
        compare(rows, *ARMS, primary="recall")
    with pytest.raises(BadInputError, match="'seen' is no view; there are: accessed, opened"):
        compare(rows, *ARMS, view="seen")
    with pytest.raises(BadInputError, match="no column steps"):
        compare(frame_of(rows), *ARMS, metrics=[Metric("steps", "steps", ("steps",), "steps")])
    with pytest.raises(NothingToEvaluateError, match="there is no trial"):
        associate([])
    with pytest.raises(BadInputError, match="'gain' is no metric"):
        associate(rows, ["gain"])


def test_one_configuration_has_associations_and_one_row_has_none():
    rows = study(6)[::2]
    found = associate(frame_of(rows), ["file_recall"], ["reward"])
    assert (found.family.m, found.family.declared) == (1, 1)
    assert found.frame.loc[0, "spearman_r"] == pytest.approx(1.0)
    assert "an association, not a cause" in found.sentences()[0]
    assert "not a cause" in found._repr_html_()
    one = associate(frame_of(rows[:1]))
    assert not one.frame["computable"].any()
    assert (
        repr(one) == "<Associations: 0 of 20 associations can be given; none of them shows a cause>"
    )


def test_associations_say_what_they_are_within_each_configuration():
    rows = []
    for i in range(24):
        ease = (i % 6) / 12
        recalls = (ease + (i % 5) / 20, ease + (i * 3 % 7) / 20)
        for config, recall in zip(ARMS, recalls, strict=True):
            reward = recall / 2 + ease / 2 + (i * 5 % 11) / 400
            rows.append(document(f"t-{i:02}", config, recall, reward=reward))
    found = associate(rows, ["file_recall"], ["reward"])
    own = {row.group: row.spearman_r for row in found.records if row.scope == "config"}
    (text,) = found.sentences()
    said = ", ".join(f"{config} +{own[config]:.2f} (n=24)" for config in sorted(ARMS))
    assert f" within configurations (Spearman r): {said}. Pooled " in text


def test_what_two_configurations_differ_in_is_not_said_to_go_together():
    """Within each nothing goes with anything; pooled, both sides of one are higher."""
    shuffled = (0.1, 0.0, 0.2, 0.05, 0.15)
    rows = [
        document(f"t-{i:02}", config, up + i % 5 / 20, reward=up + shuffled[(i + i // 5) % 5])
        for i in range(25)
        for config, up in zip(ARMS, (0.0, 0.5), strict=True)
    ]
    found = associate(rows, ["file_recall"], ["reward"])
    (text,) = found.sentences()
    assert "baseline 0.00 (n=25), mcp 0.00 (n=25). Pooled +0.76 (n=50)" in text
    shown = rev.plot.outcomes(compare(rows, *ARMS), found.frame)
    assert shown.finding.startswith("Within neither arm")


@pytest.mark.parametrize(
    ("rewards", "sign"),
    [
        ((0.2, 0.8, 0.8, 0.2), "No"),
        ((0.2, 0.3, 0.4, 0.5), "Positive"),
        ((0.5, 0.4, 0.3, 0.2), "Neg"),
    ],
)
def test_an_association_of_exactly_nothing_has_no_sign(rewards, sign):
    rows = [document(f"t{i}", "mcp", i / 10, reward=reward) for i, reward in enumerate(rewards)]
    assert associate(rows, ["file_recall"], ["reward"]).sentences()[0].startswith(sign)
