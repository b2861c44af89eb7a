"""The kinds of threats, what each of them finds, and what it does to the verdict."""

from __future__ import annotations

import random

import pytest

from retrieval_eval.agents.study.arms import config_pairs
from retrieval_eval.agents.study.compare import compare, comparison_of
from retrieval_eval.agents.study.stated import Settings
from retrieval_eval.agents.study.threats import THREATS, kind, leading_threats, threat_title
from retrieval_eval.agents.study.trials import trials_of
from retrieval_eval.model.impact import Threat
from tests.studies import document, impact_document

FEW = Settings(seed=1, n_resamples=400)


def arms(values, first=None, second=None, **fields):
    """Return trials of (task, recall of a, recall of b), with fields for one arm or for both."""
    rows = []
    for i, (task, *recalls) in enumerate(values):
        for config, recall, own in zip("ab", recalls, (first, second), strict=True):
            if recall is not None:
                given = {k: v(i) if callable(v) else v for k, v in (fields | (own or {})).items()}
                rows.append(document(task, config, recall, **given))
    return rows


def gains(*differences, before=0.4):
    return [(f"t{i:02}", before, before + change) for i, change in enumerate(differences)]


def found_of(rows, **options):
    return comparison_of(trials_of(rows), "a", "b", FEW, **options).record


def threat(record, name):
    found = [t for t in record.threats if t.name == name]
    return found[0] if found else None


def test_every_kind_of_threat_has_a_title_a_meaning_and_a_place():
    for name, entry in THREATS.items():
        assert entry.title[0].isupper(), name
        assert not entry.meaning.endswith("."), name
        assert threat_title(name) == entry.title
    assert len({entry.gravity for entry in THREATS.values()}) == len(THREATS)


GAIN = gains(*[0.2, 0.3, 0.25] * 8)
STUDIES = {
    "opposite suites": arms(
        gains(*[0.3, 0.34, 0.28, 0.32, 0.3, 0.26] * 3, *[-0.11, -0.12, -0.09, -0.08] * 2),
        benchmark=lambda i: "north" if i < 18 else "south",
        repositories=lambda i: [f"repo-{i // 2}"],
    ),
    "worst absent": arms(
        [(f"t{i:02}", i / 50, i / 50 + 0.05 if i >= 16 else None) for i in range(40)]
    ),
    "mostly dead server": arms(GAIN, None, {"mcp": 3, "mcp_ok": lambda i: 3 * (i == 0)}),
    "five times the cost": arms(GAIN, {"cost": 1.0}, {"cost": 5.0}),
    "planted effect": arms(GAIN),
    "equal arms": arms(gains(*[0.1, -0.1, 0.05, -0.05] * 6)),
}


@pytest.mark.parametrize(
    ("name", "verdict", "leads"),
    [
        ("opposite suites", "fragile", "heterogeneity"),
        ("worst absent", "fragile", "lacking_values"),
        ("mostly dead server", "no_verdict", "tool_use"),
        ("five times the cost", "better", "other_metrics"),
        ("planted effect", "better", None),
        ("equal arms", "no_detectable_difference", None),
    ],
)
def test_the_verdict_of_each_study_and_the_threat_that_leads_it(name, verdict, leads):
    found = compare(STUDIES[name], "a", "b", n_resamples=400)
    assert found.record.verdict == verdict
    assert len(found.leading_threats) <= 3
    if leads is not None:
        assert found.leading_threats[0].name == leads
    assert found.verdict.overturn == found.record.overturn
    assert (found.record.overturn == "") == (verdict == "no_verdict")
    is_clear = verdict in ("better", "worse", "fragile")
    assert (found.record.n_tasks_to_overturn is not None) == is_clear
    lowering = [t for t in found.record.threats if t.effect == "lowers"]
    assert bool(lowering) == (verdict == "fragile")
    if lowering:
        assert "overturned " in found.verdict.reason
        assert found.record.overturn.startswith("It is overturned ")


def test_the_costly_study_leads_with_what_it_costs():
    found = compare(STUDIES["five times the cost"], "a", "b", n_resamples=400)
    text = found.leading_threats[0].sentence
    assert text.startswith("file recall is better at 5.00 times the cost")
    assert text in found.sentence()
    assert "\n" not in found.sentence()
    frame = found.threats
    assert frame["title"].tolist()[:1] == ["Other metrics pay"]
    assert set(frame["effect"]) == {"none"}
    assert frame["baseline_config"].tolist() == ["a"] * len(frame)


# Missing values and open evidence


def test_the_missing_tasks_are_said_to_be_the_harder_ones_by_the_other_arm():
    said = threat(found_of(STUDIES["worst absent"]), "lacking_values")
    assert "that b lacks are the harder ones: a has 0.15 on them and 0.55" in said.sentence
    assert said.arm == "b"
    assert said.overturn == "if the missing values of b average below 0.13"


def test_a_missing_value_that_counts_as_failure_is_known():
    rows = arms([*gains(*[0.3, 0.2] * 6), *((f"u{i}", 0.1, None) for i in range(4))])
    # Unknown values of b are at worst 0, those of a at worst 1.
    rows += arms([(f"v{i}", None, 0.2) for i in range(4)])
    unknown = compare(rows, "a", "b", design={"missing": "unknown"}).record
    said = threat(unknown, "lacking_values")
    assert (unknown.verdict, said.effect) == ("fragile", "lowers")
    assert said.estimate == pytest.approx((12 * 0.25 - 4 * 0.1 - 4 * 0.8) / 20)
    failed = compare(rows, "a", "b", design={"missing": "failure"}).record
    assert (failed.verdict, threat(failed, "lacking_values")) == ("better", None)
    assert failed.metrics["file_recall"].mean_difference == pytest.approx(
        (12 * 0.25 - 4 * 0.1 + 4 * 0.2) / 20
    )


def drawn(seed, sign=1):
    dice = random.Random(seed)
    return arms(gains(*[sign * round(dice.gauss(0.02, 0.1), 3) for _ in range(40)]))


def test_a_margin_shows_that_an_arm_is_not_worse_where_it_may_be_better():
    found = compare(drawn(6), "a", "b", n_resamples=400, margin=0.05)
    block = found.record.metrics["file_recall"]
    assert -0.05 < block.ci_low < 0 < 0.05 < block.ci_high
    assert found.verdict.state == "not_worse"
    assert "not worse by the margin of 0.05" in found.verdict.reason
    assert "A loss beyond the margin of 0.05 would overturn it" in found.verdict.overturn
    # A loss of the same size is none of that, and neither is it without a margin.
    for rows, options in ((drawn(6, -1), {"margin": 0.05}), (drawn(6), {})):
        other = compare(rows, "a", "b", n_resamples=400, **options)
        assert other.verdict.state == "no_detectable_difference"


def test_few_tasks_of_which_most_differ_cannot_decide_and_many_alike_can():
    few = compare(arms(gains(0.4, 0.5, 0.3, 0.4, 0.5, 0.0)), "a", "b", n_resamples=400)
    assert few.verdict.state == "too_few_pairs"
    assert "5 differ, and no test of so few can tell a difference" in few.verdict.reason
    many = compare(arms(gains(0.4, 0.5, 0.3, 0.4, 0.5, *[0.0] * 9)), "a", "b", n_resamples=400)
    assert many.verdict.state == "no_detectable_difference"


def test_a_margin_makes_equal_arms_equivalent_unless_a_threat_leaves_it():
    values = gains(*[0.01, -0.01, 0.02, -0.02, 0.0, 0.01] * 4)
    assert compare(arms(values), "a", "b").record.verdict == "no_detectable_difference"
    found = compare(arms(values), "a", "b", margin=0.05).record
    assert found.verdict == "equivalent"
    assert "within the margin of 0.05" in found.verdict_reason
    assert found.overturn.startswith("A difference beyond the margin of 0.05 would overturn it")
    missing = arms([*values, ("u", 0.4, None), ("w", 0.4, None), ("x", 0.4, None)])
    found = compare(missing, "a", "b", margin=0.05).record
    assert (found.verdict, threat(found, "lacking_values").effect) == (
        "no_detectable_difference",
        "lowers",
    )
    # A clear difference within the margin is equivalent all the same.
    small = arms(gains(*[0.01, 0.012, 0.008] * 8))
    assert compare(small, "a", "b").record.verdict == "better"
    assert compare(small, "a", "b", margin=0.05).record.verdict == "equivalent"
    assert compare(small, "a", "b", margin=0.005).record.verdict == "better"


def test_missing_costs_have_no_worst_case_but_a_ratio_that_would_cancel_the_difference():
    values = [(f"t{i:02}", 0.4, 0.4) for i in range(12)]
    rows = arms(values, {"cost": 1.0}, {"cost": lambda i: 1.4 + i % 3 / 10})
    found = compare(rows, "a", "b", primary="cost_usd")
    assert (found.record.verdict, threat(found.record, "lacking_values")) == ("worse", None)
    rows += arms([("u", 0.4, None), ("v", 0.4, None)])
    found = compare(rows, "a", "b", primary="cost_usd")
    said = threat(found.record, "lacking_values")
    # Two missing tasks would have to undo twelve, and none that was measured cost less.
    assert (found.record.verdict, said.effect) == ("worse", "none")
    rows = [
        r for r in rows if r["provenance"]["config_name"] == "a" or r["outcome"]["cost_usd"] > 1.5
    ]
    cheap = arms([("w1", 0.4, 0.4), ("w2", 0.4, 0.4)], {"cost": 1.0}, {"cost": 0.2})
    many = arms([(f"x{i}", 0.4, 0.4) for i in range(12)], {"cost": 1.0}, {"cost": 2.0})
    found = compare([*rows, *cheap, *many], "a", "b", primary="cost_usd")
    said = threat(found.record, "lacking_values")
    assert (found.record.verdict, said.effect) == ("fragile", "lowers")
    assert said.overturn.startswith("if the ratio is 0.")


def opened(rows, config, width):
    for row in rows:
        if row["provenance"]["config_name"] == config:
            block = row["file_level_metrics"]
            recall = block["file_recall"]
            block["file_recall_bounds"] = [recall, min(1.0, recall + width)]
    return rows


def test_open_evidence_overturns_what_it_could_explain():
    values = gains(*[0.1, 0.14, 0.12] * 4)
    harmless = found_of(opened(arms(values), "b", 0.3))
    said = threat(harmless, "evidence_width")
    # What the better arm may have found besides cannot make it worse.
    assert (harmless.verdict, said.effect, said.arm) == ("better", "none", "b")
    assert said.estimate == pytest.approx(0.12)
    found = found_of(opened(arms(values), "a", 0.3))
    said = threat(found, "evidence_width")
    assert (found.verdict, said.effect, said.arm) == ("fragile", "lowers", "a")
    assert said.estimate == pytest.approx(0.12 - 0.3)
    assert said.value == pytest.approx(0.3)
    assert {v["verdict"] for k, v in found.views.items() if k != "accessed"} == {"better"}
    assert found.views["accessed"]["verdict"] == "fragile"


def test_open_and_missing_values_overturn_together_what_neither_would():
    values = [*gains(*[0.1, 0.3, 0.5] * 4), ("u", 0.4, None), ("v", 0.4, None)]
    missing = found_of(arms(values))
    wide = found_of(opened(arms(values[:-2]), "a", 0.16))
    assert (missing.verdict, wide.verdict) == ("better", "better")
    found = found_of(opened(arms(values), "a", 0.16))
    assert found.verdict == "fragile"
    assert "together with missing values" in threat(found, "evidence_width").sentence


def repeated(config, draw, *, until_success):
    """Return a task's repeats with rewards of 0 or 1, at most four and at least two."""
    rows = []
    for task in range(30):
        rewards = []
        while len(rewards) < 4 and not (until_success and len(rewards) > 1 and rewards[-1]):
            rewards.append(float(draw.random() < 0.4))
        rows += [
            document(f"t{task:02}", config, 0.5, reward, trial=f"t{task:02}-{i}")
            for i, reward in enumerate(rewards)
        ]
    return rows


@pytest.mark.parametrize("until_success", [True, False])
def test_repeats_that_go_on_until_one_succeeds_are_no_fair_sample(until_success):
    draw = random.Random(5)
    rows = repeated("a", draw, until_success=False)
    rows += repeated("b", draw, until_success=until_success)
    record = compare(rows, "a", "b", primary="reward", n_resamples=400).record
    said = threat(record, "repeats_depend")
    assert (said is not None) == until_success
    if said is not None:
        assert (said.arm, said.effect) == ("b", "lowers")
        assert record.verdict not in ("better", "worse")


def test_what_is_only_listed_is_no_plain_verdict_and_what_is_opened_is():
    assert found_of(arms(GAIN)).verdict == "better"
    found = found_of(arms(GAIN, None, {"opened": 0.4}))
    said = threat(found, "view")
    assert (found.verdict, said.effect) == ("fragile", "lowers")
    assert said.overturn == "if only opened files count as found"


def test_a_trial_that_ran_out_of_time_keeps_its_recorded_reward():
    rows = []
    for i in range(20):
        for config in "ab":
            is_late = config == "b" and i < 5
            row = document(f"t{i:02}", config, 0.5, 0.0 if is_late else 1.0)
            if is_late:
                row["coverage"] |= {"degraded_reason": "cut", "degraded_sources": ["trace"]}
                row["outcome"]["exception"] = {"type": "AgentTimeoutError"}
            rows.append(row)
    found = compare(rows, "a", "b", primary="reward", n_resamples=400).record
    assert found.metrics["reward"].mean_comparison == pytest.approx(0.75)
    assert found.metrics["reward"].n_pairs == 20
    assert found.metrics["file_recall"].n_pairs == 15
    assert "AgentTimeoutError" in threat(found, "errors").sentence
    by_recall = compare(rows, "a", "b", n_resamples=400).record
    assert by_recall.metrics["reward"].n_pairs == 15


def test_rewards_near_their_best_are_saturated():
    rows = arms([(f"t{i:02}", 0.5, 0.6) for i in range(20)], reward=lambda i: float(i > 0))
    found = compare(rows, "a", "b", primary="reward", n_resamples=400).record
    status = {row.metric: row.status for row in found.discrimination}
    assert status["reward"] == "saturated"


# Groups and single tasks


def test_suites_with_opposite_signs_are_named_and_agreeing_ones_are_not():
    both = [0.3, 0.34, 0.28, 0.32, 0.3, 0.26] * 3 + [-0.11, -0.12, -0.09, -0.08] * 2
    suites = {
        "benchmark": lambda i: "north" if i < 18 else "south",
        "repositories": lambda i: [f"repo-{i // 2}"],
    }
    found = found_of(arms(gains(*both), **suites))
    said = threat(found, "heterogeneity")
    assert (found.verdict, said.effect) == ("fragile", "lowers")
    assert "+0.30 in north (18 tasks) to −0.10 in south (8 tasks)" in said.sentence
    assert said.overturn == "if tasks are as those of south"
    less = [change if change > 0 else 0.05 for change in both]
    found = found_of(arms(gains(*less), **suites))
    assert (found.verdict, threat(found, "heterogeneity").effect) == ("better", "none")
    assert threat(found_of(arms(gains(*[0.3, 0.2] * 6))), "heterogeneity") is None


def test_opposite_suites_are_named_where_nothing_is_clear_on_the_whole():
    dice = random.Random(3)
    changes = [(0.2 if i % 2 else -0.2) + dice.gauss(0, 0.04) for i in range(24)]
    found = found_of(arms(gains(*changes), benchmark=lambda i: "odd" if i % 2 else "even"))
    said = threat(found, "heterogeneity")
    assert (found.verdict, said.effect) == ("no_detectable_difference", "none")
    assert " in odd (12 tasks) to " in said.sentence


def test_a_task_that_carries_much_and_without_which_nothing_is_clear_decides():
    found = found_of(arms(gains(0.3, 0.14, 0.02, 0.12, 0.01, 0.02, 0.1, before=0.2)))
    said = threat(found, "one_task")
    assert (found.verdict, said.effect, said.overturn) == ("better", "none", None)
    assert said.value == pytest.approx(0.3 / 0.71)
    assert said.estimate == pytest.approx(0.41 / 6)
    found = found_of(arms(gains(0.32, 0.2, 0.02, 0.05, 0.12, 0.04, before=0.2)))
    said = threat(found, "one_task")
    assert (found.verdict, said.effect) == ("fragile", "lowers")
    assert said.overturn == "without the task suite/t00"
    assert "carries 43 % of the difference: without it, +0.086, which is not clear" in said.sentence


# Trials that are no retrieval


def test_exposed_answers_overturn_a_difference_that_they_make():
    values = gains(*[0.4] * 5, *[0.02, -0.03, 0.01, 0.0, -0.01, 0.02, 0.0])
    rows = arms(values)
    assert found_of(rows).verdict == "better"
    for row in rows:
        if row["provenance"]["config_name"] == "b" and row["provenance"]["task_name"] < "t05":
            row["coverage"]["answer_exposed_at"] = 7
    found = found_of(rows)
    said = threat(found, "answer_exposed")
    assert (found.verdict, said.effect, said.arm) == ("fragile", "lowers", "b")
    assert "0 of 12 trials of a and 5 of 12 trials of b; without them, over 7" in said.sentence
    assert said.value == pytest.approx(5 / 24)
    assert said.estimate == pytest.approx(sum([0.02, -0.03, 0.01, -0.01, 0.02]) / 7)
    for row in rows:
        row["coverage"]["answer_exposed_at"] = 7
    found = found_of(rows)
    assert threat(found, "answer_exposed").sentence.endswith("0 matched tasks are left")
    assert found.verdict == "fragile"


def test_a_summarised_history_that_changes_nothing_is_said_only():
    rows = arms(gains(*[0.2, 0.3, 0.25, 0.15] * 3))
    rows[1]["coverage"]["quality_flags"] = ["context_compacted"]
    found = found_of(rows)
    assert (found.verdict, threat(found, "history_compacted").effect) == ("better", "none")


# Other metrics, and other pairs


def test_a_clearly_worse_reward_overturns_a_better_recall():
    values = gains(*[0.2, 0.3, 0.25, 0.15] * 3)
    rows = arms(values, {"reward": lambda i: 0.8 + i / 100}, {"reward": lambda i: 0.4 + i % 3 / 10})
    found = found_of(rows)
    said = threat(found, "other_metrics")
    assert (found.verdict, said.effect) == ("fragile", "lowers")
    assert said.sentence.startswith("file recall is better, but reward is worse (−0.3")
    assert found.cautions


def equal_arms(seed, n_configs=5, n=12):
    dice = random.Random(seed)
    rows = []
    for i in range(n):
        base = dice.uniform(0.3, 0.6)
        rows += [
            document(f"t{i:02}", f"c{c}", min(1.0, max(0.0, base + dice.gauss(0, 0.15))))
            for c in range(n_configs)
        ]
    return rows


def test_of_many_pairs_none_is_clear_by_chance_alone():
    adjusted = []
    for seed in range(4):
        found = impact_document(equal_arms(seed), seed=1)["comparisons"]
        assert {c["n_family"] for c in found} == {10}
        assert {c["design"]["family"] for c in found} == {"all_pairs"}
        adjusted.append(any(c["verdict"] in ("better", "worse") for c in found))
        for row in found:
            p_value = row["metrics"]["file_recall"]["p_value"]
            assert p_value <= row["p_over_pairs"] <= min(1.0, 10 * p_value) + 1e-12
            if row["verdict"] == "fragile":
                assert "if all 10 pairs are looked at" in row["overturn"]
    assert sum(adjusted) <= 1


def test_a_stated_pair_is_not_adjusted_and_other_configurations_change_nothing_in_it():
    rows = equal_arms(3, 4)
    alone = [row for row in rows if row["provenance"]["config_name"] in ("c0", "c1")]
    found, other = (compare(r, "c0", "c1", n_resamples=200) for r in (rows, alone))
    assert found.to_json() == other.to_json() | {"design": found.to_json()["design"]}
    assert (found.record.n_family, found.record.p_over_pairs) == (None, None)
    assert found.record.design.family == "stated_pair"
    free = compare(rows, n_resamples=200)
    assert free.record.n_family == 6
    whole = {(r.baseline_config, r.comparison_config): r for r in free.every_pair.itertuples()}
    assert len(whole) == len(list(config_pairs(free.trials)))
    mine = whole[free.baseline, free.comparison]
    assert mine.verdict == free.record.verdict


# Too little data, and what is known


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (arms(gains(0.2, -0.1)), "2 matched tasks with file recall: +0.20 and −0.10; no test"),
        (arms([("t", 0.1, None), ("u", None, 0.2)]), "no task in common: 1 task with a and 1 task"),
        (
            arms(gains(0.1, 0.1), second={"degraded": "cut"}),
            "the arms cannot be compared: degraded_trace",
        ),
        (arms(gains(*[0.0] * 12)), "file recall: all 12 differences are 0"),
        (arms(gains(*[0.1, 0.2] * 6), repositories=["one"]), "over 12 matched tasks of one repos"),
        (arms([(f"t{i}", 0.5, None) for i in range(4)]), "there is no trial of b"),
    ],
)
def test_too_little_data_say_what_is_known(rows, reason):
    found = found_of(rows)
    assert reason in found.verdict_reason
    assert found.overturn == "" or found.overturn.endswith(".")


def test_a_difference_that_is_not_clear_says_what_it_would_take():
    found = found_of(arms(gains(*[0.3, -0.2, 0.1, -0.15, 0.05, 0.02, -0.01, 0.2])))
    assert found.verdict == "no_detectable_difference"
    assert found.overturn.startswith("A true difference of 0.")
    assert found.overturn.endswith(" would be found in 80 % of such studies.")


# What holds of every threat


def test_a_threat_of_another_distribution_can_only_weaken(monkeypatch):
    rows = arms(gains(*[0.2, 0.3, 0.25, 0.15] * 3))
    plain = found_of(rows)

    def added(effect):
        @kind(title="Friday", meaning="an arm ran on a Friday", gravity=1)
        def friday(study):
            yield Threat(
                name="friday", value=1.0, unit="trials", effect=effect, sentence="it was a Friday"
            )

        return friday

    monkeypatch.setattr(THREATS, "_entries", dict(THREATS.items()))
    for effect, verdict in (("none", "better"), ("lowers", "fragile")):
        THREATS._entries["friday"] = added(effect)
        found = found_of(rows)
        assert (plain.verdict, found.verdict) == ("better", verdict)
        assert leading_threats(found)[0].name == "friday"
        assert {view["verdict"] for view in found.views.values()} == {verdict}
