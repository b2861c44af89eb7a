from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace
from scipy.stats import t

from retrieval_eval import schema
from retrieval_eval.search.gold.identity import Pinned, fingerprint
from tests.guards import drop, run_with, thresholds_of, with_claims, with_trust
from tests.plain_runs import check, noise
from tests.searches import gold_query, gold_set, written

MOMENT = "2026-01-04T00:00:00Z"
REAL, BEYOND = "threshold_and_real", "threshold_and_beyond_noise"
# Eight of forty queries lose a fifth: 4 points. All went down: 1 in 256 by chance.
BEFORE, AFTER = [3] * 40, [*[2] * 8, *[3] * 32]
DOWN = 2**-8


def noise_of(hits=BEFORE, *, band=1.0, step=0.0, n_runs=10, **fields):
    """A noise file of runs like these, with the numbers of P@5 that a test needs."""
    other = [hits[0] - 1, *hits[1:]]
    found = noise(
        [run_with(hits, **fields), run_with(other, **fields)], generated_at=MOMENT, seed=1
    )
    metric = found.metrics["P@5"]
    # A query that moves in one run more is added to what was seen.
    unseen = 100 / metric.n_queries / math.sqrt(n_runs)
    level = replace(metric.run_to_run, sd_points=math.sqrt(band**2 - unseen**2), step_points=step)
    metrics = {**found.metrics, "P@5": replace(metric, run_to_run=level)}
    return replace(found, n_runs=n_runs, metrics=metrics)


def held(folder, document, *rows, rule=REAL, before=BEFORE, after=AFTER, run=None, **options):
    run = run or run_with(after)
    thresholds = thresholds_of(folder, *(rows or [drop("P@5", 0.5)]), rule=rule)
    ruling = check(
        [run], [run_with(before)], thresholds, today=date(2026, 1, 10), noise=document, **options
    )
    verdict = written(ruling)
    assert schema.faults(verdict, "search_guard") == []
    return verdict


@pytest.mark.parametrize("rule", [REAL, BEYOND])
def test_a_change_beyond_the_measured_noise_is_a_breach(tmp_path, rule):
    (row,) = held(tmp_path, noise_of(band=1.0), rule=rule)["rows"]
    assert (row["verdict"], row["decided_by"]) == ("breach", "noise")
    # 4 points over sqrt(2) times 1 is 2.83, with nine degrees of freedom.
    assert row["p_value"] == pytest.approx(t.sf(4 / math.sqrt(2), 9))
    assert row["p_value"] == pytest.approx(0.0099, abs=1e-4)


def test_half_a_step_is_left_to_chance(tmp_path):
    (row,) = held(tmp_path, noise_of(band=1.0, step=2.0))["rows"]
    assert row["p_value"] == pytest.approx(t.sf(3 / math.sqrt(2), 9))


def test_a_change_that_noise_would_make_passes_where_one_that_matters_would_show(tmp_path):
    # Three of 400 lose a fifth: 0.15 points. Of a band of 0.4, (1.83 + 0.88) * 0.57 = 1.54 show.
    before, after = [3] * 400, [2, 2, 2, *[3] * 397]
    (row,) = held(
        tmp_path, noise_of(before, band=0.4), drop("P@5", 0.1), before=before, after=after
    )["rows"]
    assert (row["verdict"], row["decided_by"]) == ("within_noise", "noise")
    assert row["p_value"] == pytest.approx(t.sf(0.15 / (0.4 * math.sqrt(2)), 9))
    assert row["detectable_points"] == pytest.approx(1.537, abs=1e-3)
    assert "repeating the run alone would do that" in row["reasons"][-1]


def test_noise_that_would_hide_what_matters_leaves_no_verdict(tmp_path):
    # (1.83 + 0.88) * 2.83 = 7.7 points, and 2 matter.
    (row,) = held(tmp_path, noise_of(band=2.0))["rows"]
    assert (row["verdict"], row["decided_by"]) == ("no_verdict", "noise")
    assert row["p_value"] == pytest.approx(t.sf(math.sqrt(2), 9))
    # (1.67 + 1.67) * 2 * sqrt(2 / 23) = 1.97 with 9 + 44 degrees of freedom.
    assert row["reasons"][-2:] == [
        (
            "too noisy to tell: as 10 runs of one system move, "
            "a run would show only 7.7 points or more"
        ),
        "the means of 23 runs on either side would show 2 points",
    ]


def test_any_change_of_a_deterministic_system_is_real_in_any_part_of_it(tmp_path):
    still = noise([run_with(BEFORE)] * 2, generated_at=MOMENT, seed=1)
    rows = [drop("P@5", 0.4), drop("P@5", 0.4, "slice = {corpus = 'docs'}"), drop("Recall@5", 0.6)]
    after = [2, *[3] * 39]  # half a point, one in two by chance
    found = held(tmp_path, still, *rows, rule=BEYOND, after=after)["rows"]
    assert [row["verdict"] for row in found] == ["breach", "breach", "pass"]
    assert [row["p_value"] for row in found] == [0, 0, 0]


# Three of sixty queries lose two of five documents: two points, one in eight by chance.
FEW, LESS = [3] * 60, [1, 1, 1, *[3] * 57]


@pytest.mark.parametrize("rule", [REAL, BEYOND])
def test_a_drop_of_two_points_in_three_queries_of_a_deterministic_system_is_a_breach(
    tmp_path, rule
):
    runs = [with_trust(run_with(hits)) for hits in (LESS, FEW)]
    thresholds = thresholds_of(tmp_path, drop("P@5", 0.5), rule=rule)
    found = check(*([one] for one in runs), thresholds, today=date(2026, 1, 10))
    (row,) = found.rows
    assert (row.verdict, row.decided_by, row.p_value) == ("breach", "determinism", 0)
    assert schema.faults(written(found), "search_guard") == []
    (note,) = [note for note in found.notes if "asked twice" in note]
    # Clopper and Pearson: 1 - 0.025 ** (1 / 20) is 16.8 %.
    assert note.startswith("20 queries of each run asked twice, all with the same answer, so at")
    assert "at most 17% of queries (95%) vary" in note
    # The same numbers with a noise file that says so.
    still = noise([run_with(FEW)] * 2, generated_at=MOMENT, seed=1)
    (with_file,) = held(tmp_path, still, rule=rule, before=FEW, after=LESS)["rows"]
    assert (with_file["verdict"], with_file["p_value"]) == ("breach", 0)


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ({}, {"n_same": 19}),
        ({"n_same": 19}, {}),
        ({}, {"n_twice": 0, "n_same": 0}),
        ({}, None),
        (None, {}),
    ],
)
def test_what_one_side_does_not_show_is_no_determinism(tmp_path, now, then):
    runs = [
        run_with(hits) if known is None else with_trust(run_with(hits), **known)
        for hits, known in ((LESS, now), (FEW, then))
    ]
    thresholds = thresholds_of(tmp_path, drop("P@5", 0.5), rule=REAL)
    (row,) = check(*([one] for one in runs), thresholds, today=date(2026, 1, 10)).rows
    assert (row.verdict, row.decided_by) == ("no_verdict", "significance")


def test_a_retriever_may_declare_that_it_is_deterministic(tmp_path):
    declared = {"n_twice": 0, "n_same": 0, "is_declared": True}
    runs = [with_trust(run_with(hits), **declared) for hits in (LESS, FEW)]
    thresholds = thresholds_of(tmp_path, drop("P@5", 0.5), rule=REAL)
    found = check(*([one] for one in runs), thresholds, today=date(2026, 1, 10))
    assert found.rows[0].decided_by == "determinism"
    assert "says that it is deterministic, and no query was asked twice" in " ".join(found.notes)


def test_noise_that_was_measured_is_believed_before_a_sample(tmp_path):
    runs = [with_trust(run_with(hits)) for hits in (AFTER, BEFORE)]
    part = drop("P@5", 0.5, "slice = {corpus = 'docs'}")
    thresholds = thresholds_of(tmp_path, drop("P@5", 0.5), part, rule=REAL)
    found = check(
        *([one] for one in runs), thresholds, today=date(2026, 1, 10), noise=noise_of()
    ).rows
    # The file shows that the system is not deterministic, in a part neither.
    assert [row.decided_by for row in found] == ["noise", "noise"]


def test_drafts_may_vary_where_the_retriever_does_not(tmp_path):
    drafts = [[True, shown] for shown in [False] * 2 + [True] * 58]
    base = with_claims(with_trust(run_with(FEW)), [[True] * 2] * 60)
    run = with_claims(with_trust(run_with(LESS)), drafts)
    thresholds = thresholds_of(tmp_path, drop("claim_coverage", 1), drop("P@5", 1), rule=REAL)
    found = check([run], [base], thresholds, today=date(2026, 1, 10)).rows
    assert [row.decided_by for row in found] == ["significance", "determinism"]


def test_without_noise_the_shipped_rule_asks_the_queries(tmp_path):
    (row,) = held(tmp_path, None)["rows"]
    assert (row["verdict"], row["decided_by"], row["p_value"]) == ("breach", "significance", DOWN)


@pytest.mark.parametrize("after", [AFTER, BEFORE])
def test_the_rule_of_noise_has_no_verdict_without_it_whatever_changed(tmp_path, after):
    verdict = held(tmp_path, None, rule=BEYOND, after=after)
    (row,) = verdict["rows"]
    assert (verdict["exit_code"], row["verdict"], row["p_value"]) == (2, "no_verdict", None)
    assert row["reasons"] == [
        "no noise was measured; `retrieval-eval search noise --retriever SPEC` measures it"
    ]


def test_a_floor_holds_without_noise(tmp_path):
    verdict = held(tmp_path, None, drop("P@5", 5, "floor = 0.57"), rule=BEYOND)
    assert (verdict["exit_code"], verdict["rows"][0]["verdict"]) == (1, "breach")
    assert verdict["rows"][0]["reasons"] == ["0.560 is below the floor of 0.57"]


def test_noise_of_another_system_decides_nothing(tmp_path):
    other = noise_of(facts={"name": "fake", "model": "v0"})
    found = held(tmp_path, other)
    assert found["rows"][0]["decided_by"] == "significance"
    assert "the noise file is stale, so it decided nothing" in found["notes"]
    (row,) = held(tmp_path, other, rule=BEYOND)["rows"]
    assert row["verdict"] == "no_verdict"
    assert row["reasons"][0].startswith("the noise file is stale; `retrieval-eval search noise")


def test_noise_of_a_quarter_ago_decides_nothing(tmp_path):
    for moment, expected in (("2026-04-06T00:00:00Z", "noise"), ("2026-04-07", "significance")):
        run = run_with(AFTER, generated_at=moment)
        assert held(tmp_path, noise_of(), run=run)["rows"][0]["decided_by"] == expected


def test_noise_of_the_baseline_is_that_of_a_change_that_did_nothing(tmp_path):
    run = run_with(AFTER, facts={"name": "fake", "model": "v2"})
    (row,) = held(tmp_path, noise_of(), run=run, rule=BEYOND)["rows"]
    assert (row["verdict"], row["decided_by"]) == ("breach", "noise")


@pytest.mark.parametrize("rule", [REAL, BEYOND])
def test_a_part_has_the_noise_of_the_whole_and_more(tmp_path, rule):
    corpora = ["a"] * 10 + ["b"] * 30
    document = noise_of(corpora=corpora)
    level = replace(document.metrics["P@5"].run_to_run, sd_by_query_points=0.3)
    level = replace(level, sd_of_runs_points=0.5)
    metric = replace(document.metrics["P@5"], run_to_run=level)
    document = replace(document, metrics={**document.metrics, "P@5": metric})
    rows = [drop("P@5", 0.5, f"slice = {{corpus = '{c}'}}") for c in "ab"]
    run, base = (run_with(hits, corpora=corpora) for hits in (AFTER, BEFORE))
    thresholds = thresholds_of(tmp_path, *rows, rule=rule)
    found = check([run], [base], thresholds, today=date(2026, 1, 10), noise=document).rows
    assert [row.decided_by for row in found] == ["noise", "noise"]
    # Eight of ten queries lose a fifth, so the pair shows more noise by query than the file.
    by_query = 20 * math.sqrt(0.8 * 0.2 / 9) / math.sqrt(2)
    band = math.hypot(by_query, 0.4, 100 / 10 / math.sqrt(10))
    assert found[0].p_value == pytest.approx(t.sf(16 / band / math.sqrt(2), 9))
    assert [row.verdict for row in found] == ["breach", "pass"]
    level = replace(level, sd_by_query_points=3.0, sd_of_runs_points=5.0)
    document.metrics["P@5"] = replace(metric, run_to_run=level)
    found = check([run], [base], thresholds, today=date(2026, 1, 10), noise=document).rows
    band = math.hypot(2 * 3.0, 4.0, 100 / 10 / math.sqrt(10))
    assert found[0].p_value == pytest.approx(t.sf(16 / band / math.sqrt(2), 9))
    assert found[0].verdict == "no_verdict"


def test_noise_of_other_queries_says_nothing_of_a_part(tmp_path):
    part = drop("P@5", 0.5, "slice = {corpus = 'docs'}")
    other = replace(noise_of(), n_queries=39)
    (row,) = held(tmp_path, other, part)["rows"]
    assert row["decided_by"] == "significance"
    (row,) = held(tmp_path, other, part, rule=BEYOND)["rows"]
    assert row["reasons"][0].startswith("noise was measured over other queries")


def test_noise_of_pinned_queries_holds_for_exactly_these(tmp_path):
    good = dict.fromkeys(["d1", "d2", "d3", "d4", "d5"], 1)
    queries = [gold_query(f"q{place:03}", good, answerable=True) for place in range(40)]
    gold = gold_set(*queries)
    pinned = Pinned(tuple(q.id for q in queries[:20]), fingerprint(queries[:20]), Path("p.txt"))
    options = {"pinned": pinned, "gold": gold, "rule": BEYOND}
    (row,) = held(tmp_path, replace(noise_of(), pinned=pinned.fingerprint), **options)["rows"]
    # Eight of twenty: 8 points.
    assert row["p_value"] == pytest.approx(t.sf(8 / math.sqrt(2), 9))
    (row,) = held(tmp_path, noise_of(), **options)["rows"]
    assert row["reasons"] == [
        "noise was measured over other queries; `search noise --queries` takes a pinned list"
    ]
    (row,) = held(tmp_path, replace(noise_of(), pinned=pinned.fingerprint), rule=BEYOND)["rows"]
    assert row["verdict"] == "no_verdict"


def test_a_metric_whose_noise_was_not_measured(tmp_path):
    document = noise_of()
    del document.metrics["RR"]
    rows = [drop("P@5", 0.5), drop("RR", 0.5)]
    found = held(tmp_path, document, *rows)["rows"]
    assert [row["decided_by"] for row in found] == ["noise", "significance"]
    found = held(tmp_path, document, *rows, rule=BEYOND)["rows"]
    assert found[1]["reasons"][0].startswith("the noise of RR was not measured")


def test_noise_under_another_judge_says_nothing_of_claims(tmp_path):
    drafts = [[True, shown] for shown in [False] * 8 + [True] * 32]
    base, run = (
        with_claims(run_with(BEFORE), [[True] * 2] * 40),
        with_claims(run_with(AFTER), drafts),
    )
    measured = noise([base] * 2, generated_at=MOMENT, seed=1)
    other = replace(measured, judge=replace(measured.judge, version="0"))
    thresholds = thresholds_of(tmp_path, drop("claim_coverage", 1), drop("P@5", 1), rule=BEYOND)
    for document, verdicts in ((measured, ["breach"] * 2), (other, ["no_verdict", "breach"])):
        found = check([run], [base], thresholds, today=date(2026, 1, 10), noise=document).rows
        assert [row.verdict for row in found] == verdicts
    assert "another judge decided (offline 0, now offline 1)" in found[0].reasons[0]


def test_rows_of_either_kind_are_one_family(tmp_path):
    document = noise_of()
    del document.metrics["RR"]
    found = held(tmp_path, document, drop("P@5", 0.5), drop("RR", 0.5))["rows"]
    assert found[0]["p_adjusted"] == pytest.approx(2 * found[0]["p_value"])


@pytest.mark.parametrize(
    ("rule", "decided_by"),
    [("threshold", "threshold"), ("threshold_and_significant", "significance")],
)
def test_the_other_rules_take_no_noise(tmp_path, rule, decided_by):
    with_it, without = (held(tmp_path, document, rule=rule) for document in (noise_of(), None))
    assert with_it == without
    assert (with_it["exit_code"], with_it["rows"][0]["decided_by"]) == (1, decided_by)


def test_what_is_no_mean_over_queries_has_its_threshold_only(tmp_path):
    same = run_with([3] * 6, refused=[True] * 6)
    verdict = check(
        [same],
        [same],
        thresholds_of(tmp_path, drop("auc", 1), drop("P@5", 1), rule=REAL),
        today=date(2026, 1, 10),
    )
    assert [row.decided_by for row in verdict.rows] == ["threshold", "significance"]


def several(hits, n=3, **fields):
    """Runs of one system in which the last query gains a fifth, stays or loses one."""
    return [
        run_with(
            [*hits[:-1], hits[-1] + (k % 3) - 1],
            generated_at=f"2026-01-0{k + 2}T00:00:00Z",
            **fields,
        )
        for k in range(n)
    ]


def held_means(folder, runs, baselines, *rows, noise_file=None, rule=REAL):
    thresholds = thresholds_of(folder, *(rows or [drop("P@5", 0.5)]), rule=rule)
    verdict = check(runs, baselines, thresholds, today=date(2026, 1, 10), noise=noise_file)
    document = written(verdict)
    assert schema.faults(document, "search_guard") == []
    return document


@pytest.mark.parametrize("rule", [REAL, BEYOND])
def test_several_runs_of_a_side_are_their_own_measure_of_noise(tmp_path, rule):
    found = held_means(tmp_path, several(AFTER), several(BEFORE), rule=rule)
    (row,) = found["rows"]
    assert (row["verdict"], row["decided_by"]) == ("breach", "noise")
    # A fifth of one of 40 queries up and down: 0.5 points, and one query that moves once in six.
    band = math.hypot(0.5, 100 / 40 / math.sqrt(6))
    half_a_step = 20 / 40 / 3 / 2
    expected = t.sf((4 - half_a_step) / (band * math.sqrt(2 / 3)), 4)
    assert row["p_value"] == pytest.approx(expected)
    assert row["change_points"] == pytest.approx(-4)
    assert (found["run"]["n_runs"], found["baseline"]["n_runs"]) == (3, 3)


def test_a_noise_file_and_the_runs_of_a_side_are_pooled(tmp_path):
    (row,) = held_means(tmp_path, [run_with(AFTER)], several(BEFORE), noise_file=noise_of())["rows"]
    # Nine degrees of freedom say 1² less the query that moved once in ten, two say 0.5².
    seen = (9 * (1 - (100 / 40) ** 2 / 10) + 2 * 0.25) / 11
    band = math.sqrt(seen + (100 / 40) ** 2 / 13)
    expected = t.sf(4 / (band * math.sqrt(1 + 1 / 3)), 11)
    assert row["p_value"] == pytest.approx(expected)
    assert row["decided_by"] == "noise"


def test_several_runs_measure_the_noise_of_a_part_of_the_queries(tmp_path):
    part = drop("P@5", 0.5, "slice = {corpus = 'docs'}")
    (row,) = held_means(tmp_path, several(AFTER), several(BEFORE), part)["rows"]
    assert (row["verdict"], row["decided_by"]) == ("breach", "noise")
    # The file is of all queries, and so adds nothing.
    (same,) = held_means(
        tmp_path, several(AFTER), several(BEFORE), part, noise_file=noise_of(band=9.0)
    )["rows"]
    assert same["p_value"] == row["p_value"]


def test_runs_that_never_moved_show_any_change(tmp_path):
    same = [run_with(BEFORE, label=f"run {k}") for k in range(2)]
    (row,) = held_means(tmp_path, [run_with([2, *[3] * 39])], same, drop("P@5", 0.4))["rows"]
    assert (row["verdict"], row["decided_by"], row["p_value"]) == ("breach", "noise", 0)


def test_too_few_runs_say_how_many_would_do(tmp_path):
    loud = [run_with([k, *[3] * 9], label=f"run {k}") for k in (1, 3)]
    (row,) = held_means(tmp_path, [run_with([2] * 10)], loud)["rows"]
    assert row["verdict"] == "no_verdict"
    assert row["reasons"][-2].startswith(
        "too noisy to tell: as 2 runs of one system move, the mean of 1 against that of 2 would"
    )
    # The band is hypot(4 / sqrt(2), 10 / sqrt(2)) = 7.6 points, and 3.3 * 7.6 * sqrt(2 / 100) > 2.
    assert row["reasons"][-1] == "even 100 runs on either side would not show 2 points"


def test_runs_of_a_side_must_be_of_one_system_and_no_copies(tmp_path):
    base = several(BEFORE)
    other = run_with(AFTER, facts={"name": "fake", "model": "v2"})
    for runs, told in (
        ([run_with(AFTER), other], "on the side of the run, run 2 is not of the same system"),
        ([run_with(AFTER)] * 2, "on the side of the run, run 2 is run 1 again"),
    ):
        found = held_means(tmp_path, runs, base)
        assert found["exit_code"] == 2
        assert any(reason.startswith(told) for reason in found["reasons"])
    cut = run_with(BEFORE, label="cut")
    cut["queries"] = cut["queries"][:30]
    found = held_means(tmp_path, [run_with(AFTER)], [*base, cut])
    assert (
        "the baseline 4 of 4 is truncated: it asked 30 of the 40 queries of the gold set"
        in (found["reasons"])
    )


def test_a_run_on_both_sides_is_noted(tmp_path):
    base = several(BEFORE)
    found = held_means(tmp_path, [run_with(AFTER, label="new"), base[0]], base)
    assert "a run stands on both sides, which hides what changed" in found["notes"]


@pytest.mark.parametrize(("others", "n"), [([], 3), ([drop("RR", 0.5)], 4)])
def test_the_runs_that_would_do_count_what_is_known_and_what_else_is_tested(tmp_path, others, n):
    # By t with 9 + 4 degrees of freedom (1.77 + 1.77) * 0.64 * sqrt(2 / 3) = 1.85 for one row;
    # for two rows (2.16 + 1.77) instead gives 2.05, and four runs 1.75. Nine are of the file.
    before, after = [3] * 400, [*[2] * 12, *[3] * 388]
    (row, *_) = held(
        tmp_path,
        noise_of(before, band=0.64),
        drop("P@5", 0.1),
        *others,
        before=before,
        after=after,
    )["rows"]
    assert row["verdict"] == "no_verdict"
    assert row["reasons"][-1] == f"the means of {n} runs on either side would show 2 points"


def test_a_still_noise_file_of_all_queries_says_nothing_beside_runs_that_vary(tmp_path):
    still = noise([run_with(BEFORE)] * 2, generated_at=MOMENT, seed=1)
    part = drop("P@5", 0.5, "slice = {corpus = 'docs'}")
    sides = several(AFTER), several(BEFORE)
    (without,) = held_means(tmp_path, *sides, part)["rows"]
    (beside,) = held_means(tmp_path, *sides, part, noise_file=still)["rows"]
    assert beside["p_value"] == without["p_value"] > 0


def test_answers_that_moved_without_the_metric_are_no_still_system(tmp_path):
    base = [run_with(BEFORE, label=f"run {k}") for k in range(2)]
    ranking = base[1]["queries"][0]["ranking"]
    ranking[:2] = ranking[1::-1]
    (row,) = held_means(tmp_path, [run_with([2, *[3] * 39])], base, drop("P@5", 0.4))["rows"]
    # One query that moves once in two runs: 2.5 / sqrt(2) points, of one run against two.
    error = 100 / 40 / math.sqrt(2) * math.sqrt(1 + 1 / 2)
    assert row["p_value"] == pytest.approx(t.sf((0.5 - 100 / 40 / 2 / 2) / error, 1))
    assert row["verdict"] == "no_verdict"
