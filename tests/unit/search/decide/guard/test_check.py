from __future__ import annotations

import dataclasses
import math
from datetime import date
from pathlib import Path

import pytest
from msgspec import structs

from retrieval_eval import schema
from retrieval_eval.search.decide import RULES
from retrieval_eval.search.decide.guard.justification import Justification
from retrieval_eval.search.decide.guard.rendering import method
from retrieval_eval.search.decide.thresholds import Part, shipped_thresholds
from retrieval_eval.search.gold.identity import Pinned, fingerprint
from retrieval_eval.search.run import Settings
from tests.guards import QUICK, drop, run_with, thresholds_of, with_claims
from tests.plain_runs import check, noise
from tests.searches import (
    GENERATED_AT,
    abstention_block,
    answer,
    failure,
    gold_query,
    gold_set,
    run_of,
    written,
)

TODAY = date(2026, 1, 10)
TRUE_POSITIVE = "ungrounded_true_positive_rate"
FALSE_REFUSAL = "answerable_false_refusal_rate"


def verdict_of(folder, run, baseline, *rows, rule="threshold", **options):
    found = check(
        [run], [baseline], thresholds_of(folder, *rows, rule=rule), today=TODAY, **options
    )
    document = written(found)
    assert document["exit_code"] == found.exit_code
    assert schema.faults(document, "search_guard") == []
    return document


def test_points_and_queries_stand_beside_each_other(tmp_path):
    # Of 10 queries two lose a fifth and one gains one: (1 - 2) / 5 / 10 = -2 points.
    baseline, run = run_with([3] * 10), run_with([2, 2, 4, *[3] * 7])
    found = verdict_of(tmp_path, run, baseline, drop("P@5", 1.5))
    (row,) = found["rows"]
    assert (found["verdict"], found["exit_code"], row["verdict"]) == ("breach", 1, "breach")
    assert row["change_points"] == pytest.approx(-2)
    assert (row["n_queries"], row["n_up"], row["n_down"]) == (10, 1, 2)
    assert row["change_queries"] == pytest.approx(-0.2)
    assert row["limit_queries"] == pytest.approx(0.15)
    assert row["reasons"] == ["2.00 points worse, and 1.5 are allowed"]
    assert row["baseline"]["value"] == pytest.approx(0.6)
    assert [(m["id"], round(m["points"], 9)) for m in row["movers"]] == [
        ("q000", -2.0),
        ("q001", -2.0),
        ("q002", 2.0),
    ]
    assert (row["movers"][0]["before"], row["movers"][0]["now"]) == (0.6, 0.4)


def threshold(kind, limit, *more):
    """A threshold on P@5: points or per cent, of a fall or a rise, a floor or a ceiling."""
    bound = f"{kind} = {limit}"
    direction = "up" if kind in ("rise", "relative rise", "ceiling") else "down"
    if kind not in ("floor", "ceiling"):
        unit = "relative_percent" if kind.startswith("relative") else "points"
        bound = f'max_change = {limit}\nunit = "{unit}"'
    return "\n".join(['metric = "P@5"', f'direction = "{direction} is bad"', bound, *more])


# Hits of ten queries among their first five: one of them lost or gained is 2 points of P@5.
LOWER, EVEN, HIGHER, ALL = [2, *[3] * 9], [3] * 10, [4, *[3] * 9], [5] * 10


@pytest.mark.parametrize(
    ("kind", "before", "after", "allowed", "breached"),
    [
        ("fall", EVEN, LOWER, 2, 1.99),
        ("rise", EVEN, HIGHER, 2, 1.99),
        ("relative fall", ALL, [4, *[5] * 9], 2, 1.99),  # of 1.00
        ("relative fall", HIGHER, EVEN, 3.23, 3.22),  # 0.02 of 0.62 are 3.226 %
        ("relative rise", EVEN, HIGHER, 3.34, 3.33),  # 0.02 of 0.60
        ("floor", EVEN, EVEN, 0.6, 0.61),
        ("floor", HIGHER, LOWER, 0.58, 0.59),
        ("ceiling", EVEN, EVEN, 0.6, 0.59),
        ("ceiling", LOWER, HIGHER, 0.62, 0.61),
    ],
)
def test_every_kind_of_threshold_allows_exactly_its_limit(
    tmp_path, kind, before, after, allowed, breached
):
    baseline, run = run_with(before), run_with(after)
    for limit, verdict, code in ((allowed, "pass", 0), (breached, "breach", 1)):
        found = verdict_of(tmp_path, run, baseline, threshold(kind, limit))
        assert (found["verdict"], found["exit_code"]) == (verdict, code)
        assert bool(found["rows"][0]["reasons"]) is (verdict == "breach")


@pytest.mark.parametrize("kind", ["fall", "relative fall", "rise", "relative rise"])
def test_a_change_for_the_better_is_never_a_breach(tmp_path, kind):
    sides = (EVEN, HIGHER) if "fall" in kind else (EVEN, LOWER)
    baseline, run = map(run_with, sides)
    assert verdict_of(tmp_path, run, baseline, threshold(kind, 0))["verdict"] == "pass"


@pytest.mark.parametrize("rule", RULES)
def test_contract_of_every_rule(tmp_path, rule):
    baseline = run_with([3] * 20)
    still = noise([baseline, run_with([3] * 20, label="again")], generated_at=GENERATED_AT, seed=1)

    def judged(hits, *rows, **fields):
        run = run_with(hits, label="run", **fields)
        return verdict_of(tmp_path, run, baseline, *rows, rule=rule, noise=still)

    unchanged = judged([3] * 20, drop("P@5", 0))
    assert (unchanged["exit_code"], unchanged["rows"][0]["verdict"]) == (0, "pass")
    # All 20 queries lost a fifth: by chance once in a million.
    worse = judged([2] * 20, drop("P@5", 19.9))
    assert (worse["exit_code"], worse["rows"][0]["verdict"]) == (1, "breach")
    assert judged([2] * 20, drop("P@5", 20))["exit_code"] == 0
    # A bound of the value itself is a breach under every rule, without any change.
    assert judged([3] * 20, threshold("floor", 0.61))["exit_code"] == 1
    # What was not asked is never a pass.
    part = run_with([3] * 20, label="run")
    part["queries"] = part["queries"][:-1]
    found = verdict_of(tmp_path, part, baseline, drop("P@5", 100), rule=rule, noise=still)
    assert found["exit_code"] == 2
    assert worse["decision"]["rule"] == rule


def test_every_rule_is_described_by_its_own_sentence_and_in_the_guide(tmp_path):
    run = run_with(EVEN)
    sentences = {
        method(check([run], [run], thresholds_of(tmp_path, drop("P@5", 1), rule=rule), today=TODAY))
        for rule in RULES
    }
    assert len(sentences) == len(RULES)
    guide = (Path(__file__).parents[5] / "docs" / "guard.md").read_text(encoding="utf-8")
    assert all(f"| `{rule}`" in guide for rule in RULES)


def test_noise_passes_where_the_run_could_have_seen_a_change(tmp_path):
    # 3 of 400 queries lose a fifth, which is 0.15 points: one in eight by chance.
    baseline, run = run_with([3] * 400), run_with([2, 2, 2, *[3] * 397])
    (row,) = verdict_of(
        tmp_path, run, baseline, drop("P@5", 0.1), rule="threshold_and_significant"
    )["rows"]
    assert row["verdict"] == "within_noise"
    assert (row["p_value"], row["is_noise"]) == (0.125, True)
    assert row["detectable_points"] < 2
    assert verdict_of(tmp_path, run, baseline, drop("P@5", 0.1))["verdict"] == "breach"


def test_few_queries_give_no_verdict_instead_of_a_pass(tmp_path):
    # 3 of 10 queries lose two fifths: 12 points, and yet one in eight by chance.
    baseline, run = run_with([3] * 10), run_with([1, 1, 1, *[3] * 7])
    found = verdict_of(tmp_path, run, baseline, drop("P@5", 0.5), rule="threshold_and_significant")
    assert (found["verdict"], found["exit_code"]) == ("no_verdict", 2)
    assert "too few queries to tell: 10 of them" in found["rows"][0]["reasons"][-1]
    none = verdict_of(
        tmp_path,
        run_with([1, 3]),
        run_with([3, 3]),
        drop("P@5", 1),
        rule="threshold_and_significant",
    )
    assert none["rows"][0]["reasons"][-1].endswith("would show nothing")


def test_a_slice_is_held_alone(tmp_path):
    corpora = ["a"] * 5 + ["b"] * 5
    baseline = run_with([3] * 10, corpora=corpora)
    run = run_with([2, *[3] * 8, 4], corpora=corpora)  # a loses what b gains
    rows = [drop("P@5", 1), *(drop("P@5", 1, f"slice = {{corpus = '{c}'}}") for c in "ab")]
    found = verdict_of(tmp_path, run, baseline, *rows)
    assert [row["verdict"] for row in found["rows"]] == ["pass", "breach", "pass"]
    assert [row["n_queries"] for row in found["rows"]] == [10, 5, 5]
    assert found["rows"][1]["change_points"] == pytest.approx(-4)


# Nothing below may ever pass.


def broken(case):
    good = run_with([3] * 6, corpora=["a", "a", "a", "b", "b", "b"])
    gold = gold_set(*(gold_query(q["id"], {"d1": 1}, corpus=q["corpus"]) for q in good["queries"]))
    answers = [answer(q["id"], ["d1"]) for q in good["queries"]]
    if case == "failed query":
        return run_of(gold, [failure("q000"), *answers[1:]]), run_of(gold, answers)
    if case == "failed baseline":
        return run_of(gold, answers), run_of(gold, [failure("q000"), *answers[1:]])
    if case == "truncated":
        return run_of(gold, answers[:5]), run_of(gold, answers)
    if case == "skipped corpus":
        return run_of(gold, answers[:3]), run_of(gold, answers)
    if case == "other labels":
        other = gold_set(*(structs.replace(q, relevant={"d1": 2}) for q in gold.queries))
        return run_of(other, answers), run_of(gold, answers)
    if case == "other depth":
        return run_of(gold, answers, settings=Settings(depth=30)), run_of(gold, answers)
    document = run_of(gold, answers)
    baseline = run_of(gold, answers)
    if case == "empty":
        document["queries"] = []
    if case == "empty by its own account":
        document["status"] = {**document["status"], "has_verdict": False}
    if case == "a query twice":
        document["queries"][0] = document["queries"][1]
    if case == "hidden failure":
        document["queries"][0] = {**document["queries"][0], "status": "failed"}
    if case == "other convention":
        document["run"]["settings"] = {**document["run"]["settings"], "convention": "mine"}
    return document, baseline


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("failed query", "the run has no verdict of its own: 1 of 6 queries failed"),
        ("failed baseline", "the baseline has no verdict of its own: 1 of 6"),
        ("truncated", "the run is truncated: it asked 5 of the 6 queries"),
        ("skipped corpus", "the run skipped the corpus b"),
        ("other labels", "the gold set changed"),
        ("other depth", "a different number of documents was requested"),
        ("empty", "the run has no verdict of its own: it holds no query"),
        ("empty by its own account", "it gives no reason"),
        ("a query twice", "it holds 1 query more than once, the first is 'q001'"),
        ("hidden failure", "1 of 6 queries failed"),
        ("other convention", "metrics are defined differently"),
    ],
)
def test_a_broken_run_never_passes(tmp_path, case, reason):
    run, baseline = broken(case)
    expires = date(2027, 1, 1)
    overrides = [Justification({"P@5": 100}, "because", "a", "b", expires)]
    lax = drop("P@5", 100, "required = false")
    for rule in ("threshold", "threshold_and_significant"):
        found = verdict_of(tmp_path, run, baseline, lax, rule=rule, justifications=overrides)
        assert (found["verdict"], found["exit_code"]) == ("no_verdict", 2)
        assert any(reason in sentence for sentence in found["reasons"]), found["reasons"]
        assert [row["verdict"] for row in found["rows"]] == ["no_verdict"]


def test_a_metric_that_the_baseline_lacks_is_not_applied_unless_it_is_required(tmp_path):
    run = run_with([3] * 3)
    strict = drop("claim_coverage", 1, "required = true")
    required = verdict_of(tmp_path, run, run, drop("P@5", 1), strict)
    assert (required["verdict"], required["exit_code"]) == ("no_verdict", 2)
    (reason,) = required["rows"][1]["reasons"]
    assert reason.startswith("neither run has a value: the value was not recorded (")
    for row in (drop("claim_coverage", 1), drop("claim_coverage", 1, "required = false")):
        skipped = verdict_of(tmp_path, run, run, drop("P@5", 1), row)
        assert (skipped["verdict"], skipped["rows"][1]["verdict"]) == ("pass", "skipped")
        (reason,) = skipped["rows"][1]["reasons"]
        assert reason.startswith("the baseline has no claim_coverage: ")
        assert skipped["headline"] == "PASS: 2 thresholds: 1 pass, 1 not applied"
        alone = verdict_of(tmp_path, run, run, row)
        assert (alone["verdict"], alone["exit_code"]) == ("no_verdict", 2)


def test_a_metric_that_the_run_lost_leaves_no_verdict(tmp_path):
    with_it, without = with_claims(run_with([3] * 3), [[True]] * 3), run_with([3] * 3)
    for more in ("", "required = false", "required = true", "floor = 0.1"):
        row = drop("claim_coverage", 1, more)
        found = verdict_of(tmp_path, without, with_it, drop("P@5", 1), row)
        assert found["exit_code"] == 2
        assert "the run has no value" in found["rows"][1]["reasons"][0]


def test_a_metric_that_only_the_run_has_is_not_applied_but_its_bounds_are(tmp_path):
    covered, without = with_claims(run_with([3] * 4), [[True]] * 4), run_with([3] * 4)
    bare = with_claims(run_with([3] * 4), [[False]] * 4)
    change, bound = drop("claim_coverage", 1), drop("claim_coverage", 1, "floor = 0.5")
    found = verdict_of(tmp_path, covered, without, drop("P@5", 1), change)
    assert [row["verdict"] for row in found["rows"]] == ["pass", "skipped"]
    for run, verdict in ((covered, "pass"), (bare, "breach")):
        found = verdict_of(tmp_path, run, without, bound)
        assert [row["verdict"] for row in found["rows"]] == [verdict]
    strict = drop("claim_coverage", 1, "required = true")
    found = verdict_of(tmp_path, covered, without, strict)
    assert "the baseline has no value" in found["rows"][0]["reasons"][0]


def test_what_some_runs_of_the_baseline_recorded_or_is_no_number_is_not_left_out(tmp_path):
    run = run_with([3] * 4)
    half = [with_claims(run_with([3] * 4, label="a"), [[True]] * 4), run_with([3] * 4, label="b")]
    thresholds = thresholds_of(tmp_path, drop("claim_coverage", 1), drop("P@5", 1))
    found = check([run], half, thresholds, today=TODAY)
    assert [row.verdict for row in found.rows] == ["no_verdict", "pass"]
    broken = with_claims(run_with([3] * 4), [[True]] * 4)
    broken["claims"]["coverage"]["value"] = math.nan
    found = check([run], [broken], thresholds, today=TODAY)
    assert [row.verdict for row in found.rows] == ["no_verdict", "pass"]


def test_queries_that_lost_their_value_leave_no_verdict(tmp_path):
    baseline, run = (with_claims(run_with([3] * 8), [[True]] * 8) for _ in range(2))
    del run["claims"]["queries"][2]
    found = verdict_of(tmp_path, run, baseline, drop("claim_coverage", 1))
    assert found["exit_code"] == 2
    assert "the run lacks it for 1 query of the baseline, the first is 'q002'" in str(found)


def test_another_judge_leaves_no_verdict(tmp_path):
    baseline, run = (with_claims(run_with([3] * 8), [[True]] * 8) for _ in range(2))
    run["claims"]["judge"] = {**run["claims"]["judge"], "version": "2"}
    found = verdict_of(tmp_path, run, baseline, drop("P@5", 1), drop("claim_coverage", 1))
    assert [row["verdict"] for row in found["rows"]] == ["pass", "no_verdict"]
    assert "another judge decided (offline 1, now offline 2)" in found["rows"][1]["reasons"]


def test_claims_are_compared_over_all_claims(tmp_path):
    # 8 drafts of two claims; one loses both: 100 → 87.5 %.
    baseline = with_claims(run_with([3] * 8), [[True, True]] * 8)
    run = with_claims(run_with([3] * 8), [[False, False], *[[True, True]] * 7])
    (row,) = verdict_of(tmp_path, run, baseline, drop("claim_coverage", 1))["rows"]
    assert row["change_points"] == pytest.approx(-12.5)
    assert row["verdict"] == "breach"
    assert [mover["id"] for mover in row["movers"]] == ["q000"]


@pytest.mark.parametrize("kappa", [None, (-0.1, 0.5)])
def test_claims_of_a_judge_that_is_not_known_to_agree_with_people_do_not_block(tmp_path, kappa):
    baseline = with_claims(run_with([3] * 8), [[True, True]] * 8, kappa=kappa)
    run = with_claims(run_with([3] * 8), [[False, False]] * 8, kappa=kappa)
    given = (drop("claim_coverage", 1), drop("P@5", 1))
    verdict = verdict_of(tmp_path, run, baseline, *given)
    row = verdict["rows"][0]
    assert (verdict["verdict"], row["verdict"], row["change_points"]) == ("pass", "skipped", -100)
    why = "not compared with people" if kappa is None else r"beyond chance (agreement"
    assert row["reasons"][0].startswith("advisory, 100.00 points worse where 1 are allowed: ")
    assert why in row["reasons"][0]
    required = verdict_of(tmp_path, run, baseline, drop("claim_coverage", 1, "required = true"))
    assert required["rows"][0]["verdict"] == "no_verdict"
    # One of the runs of a judge may hold what is known of it.
    known = with_claims(run_with([3] * 8), [[True, True]] * 8)
    assert verdict_of(tmp_path, run, known, *given)["rows"][0]["verdict"] == "breach"


@pytest.mark.parametrize(
    ("before", "now", "limit", "expected"),
    [
        # 100 -> 87.5 to 93.75 %: a breach at both ends, a pass at both ends, or neither.
        ([True, True], [None, False], 1, "breach"),
        ([True, True], [None, False], 20, "pass"),
        ([True, True], [None, False], 9, "no_verdict"),
        # Unproved in the baseline: 93.75 to 100 before.
        ([True, None], [True, False], 9, "pass"),
        ([True, None], [True, False], 2, "no_verdict"),
    ],
)
def test_unproved_claims_decide_only_where_both_ends_agree(tmp_path, before, now, limit, expected):
    rest = [[True, True]] * 7
    baseline = with_claims(run_with([3] * 8), [before, *rest])
    run = with_claims(run_with([3] * 8), [now, *rest])
    (row,) = verdict_of(tmp_path, run, baseline, drop("claim_coverage", limit))["rows"]
    assert row["verdict"] == expected
    if expected == "no_verdict":
        assert (
            "unproved claims decide, against the run and in its favour: breach" in row["reasons"][0]
        )


def test_the_unchanged_system_passes_whatever_its_claims_leave_open(tmp_path):
    run = with_claims(run_with([3] * 8), [[None, True]] * 8)
    row = verdict_of(tmp_path, run, run, drop("claim_coverage", 1))["rows"][0]
    assert (row["verdict"], row["change_points"]) == ("pass", 0)
    # What only one of the runs leaves open is open.
    other = with_claims(run_with([3] * 8), [[True, None], *[[None, True]] * 7])
    for claim, text in zip(other["claims"]["queries"][0]["claims"], "ab", strict=True):
        claim["text"] = text
    row = verdict_of(tmp_path, other, run, drop("claim_coverage", 1))["rows"][0]
    assert row["verdict"] == "no_verdict"


def test_a_floor_that_unproved_claims_decide_has_no_verdict(tmp_path):
    run = with_claims(run_with([3] * 8), [[True, None], *[[True, True]] * 7])
    row = 'metric = "claim_coverage"\ndirection = "down is bad"\nfloor = {}'
    for floor, expected in ((0.9, "pass"), (0.95, "no_verdict"), (1.0, "no_verdict")):
        (found,) = verdict_of(tmp_path, run, run, row.format(floor))["rows"]
        assert found["verdict"] == expected


def test_a_breach_stays_one_where_another_row_has_no_verdict(tmp_path):
    baseline, run = with_claims(run_with([3] * 8), [[True]] * 8), run_with([1] * 8)
    found = verdict_of(tmp_path, run, baseline, drop("P@5", 1), drop("claim_coverage", 1))
    assert [row["verdict"] for row in found["rows"]] == ["breach", "no_verdict"]
    assert (found["verdict"], found["exit_code"]) == ("breach", 1)


@pytest.mark.parametrize("rule", RULES[:3])
def test_always_answering_and_always_refusing_fail_where_the_baseline_refuses(rule):
    shipped = shipped_thresholds()
    gate = tuple(row for row in shipped.rows if row.metric in (TRUE_POSITIVE, FALSE_REFUSAL))
    thresholds = dataclasses.replace(shipped, rows=gate, rule=rule)
    working = run_with([5] * 20, refused=[True] * 9 + [False])
    answers = run_with([5] * 20, refused=[False] * 10)
    refuses = refusing_all(20, 10)
    found = {
        name: check([run], [working], thresholds, today=TODAY)
        for name, run in (("answers", answers), ("refuses", refuses), ("working", working))
    }
    assert {name: v.exit_code for name, v in found.items()} == {
        "answers": 1,
        "refuses": 1,
        "working": 0,
    }
    assert [row.verdict for row in found["answers"].rows] == ["breach", "pass"]
    assert [row.verdict for row in found["refuses"].rows] == ["pass", "breach"]
    # It begins to refuse everything: there was no refusal to lose, but there were answers.
    started = check([refuses], [answers], thresholds, today=TODAY)
    assert [row.verdict for row in started.rows] == ["skipped", "breach"]


def refusing_all(n_answerable, n_unanswerable):
    run = run_with([0] * n_answerable, refused=[True] * n_unanswerable)
    for query in run["queries"]:
        query["ranking"] = []
    run["abstention"] = abstention_block(run["queries"])
    return run


def unchanged(kind):
    if kind == "answers everything":
        return run_with([3] * 12, refused=[False] * 8)
    if kind == "refuses everything":
        return refusing_all(12, 8)
    if kind == "refuses half":
        return run_with([3] * 12, refused=[True, False] * 4)
    if kind == "refuses below a threshold":
        run = run_with([3] * 12, refused=[False] * 8)
        run["abstention"] = abstention_block(run["queries"], threshold=3.5)
        return run
    if kind in ("gives no scores", "gives no scores and gets a threshold"):
        run = run_with([3] * 12, refused=[True, False] * 4)
        for query in run["queries"]:
            for place, found in enumerate(query["ranking"], 1):
                found["score"] = -float(place)
        threshold = None if kind == "gives no scores" else -1.5
        run["abstention"] = abstention_block(run["queries"], threshold=threshold)
        return run
    if kind == "has drafts":
        return with_claims(run_with([3] * 12), [[False]] * 12)
    if kind == "finds nothing":
        return run_with([0] * 12)
    return run_with([3] * 12)


@pytest.mark.parametrize(
    "kind",
    [
        *("answers everything", "refuses everything", "refuses half", "refuses below a threshold"),
        *("gives no scores", "gives no scores and gets a threshold", "has drafts"),
        *("finds nothing", "was asked nothing that has no answer"),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_an_unchanged_run_of_any_retriever_passes_the_shipped_guard(kind, rule):
    run, baseline = unchanged(kind), {**unchanged(kind), "label": "baseline"}
    still = noise([baseline, {**baseline, "label": "again"}], generated_at=GENERATED_AT, seed=1)
    thresholds = dataclasses.replace(shipped_thresholds(), rule=rule)
    for given in (None, still):
        if given is None and rule == "threshold_and_beyond_noise":
            continue  # it asks for a noise file
        found = check([run], [baseline], thresholds, today=TODAY, noise=given)
        assert (found.exit_code, found.verdict) == (0, "pass"), written(found)["rows"]
        assert {row.verdict for row in found.rows} <= {"pass", "skipped"}
        assert all(row.reasons for row in found.rows if row.verdict == "skipped")


def test_a_baseline_without_refusals_has_none_to_lose_unless_a_floor_is_asked_for(tmp_path):
    answers = run_with([5] * 20, refused=[False] * 10)
    found = verdict_of(tmp_path, answers, answers, drop(TRUE_POSITIVE, 1), drop("P@5", 1))
    row = found["rows"][0]
    assert (row["verdict"], row["baseline"]["value"], row["current"]["value"]) == ("skipped", 0, 0)
    (reason,) = row["reasons"]
    assert reason.startswith("the baseline refused no unanswerable query")
    floor = drop(TRUE_POSITIVE, 1, "floor = 0.8")
    assert verdict_of(tmp_path, answers, answers, floor)["verdict"] == "breach"
    lost = run_with([5] * 20, refused=[False] * 10)
    lost["abstention"] = None
    found = verdict_of(tmp_path, lost, answers, drop(TRUE_POSITIVE, 1), drop("P@5", 1))
    assert found["rows"][0]["verdict"] == "no_verdict"


def pinned(gold_queries, *, ids=None):
    ids = tuple(query.id for query in gold_queries) if ids is None else ids
    return Pinned(ids, fingerprint(gold_queries), Path("pinned.txt"))


def pinned_world():
    queries = [gold_query(f"q{n}", {"d1": 1}, answerable=True) for n in range(8)]
    gold = gold_set(*queries)
    good = [answer(query.id, ["d1"]) for query in queries]
    bad = [answer(query.id, ["x"]) for query in queries[:4]] + good[4:]
    return gold, run_of(gold, bad, settings=QUICK), run_of(gold, good, settings=QUICK)


def test_pinned_queries_alone_are_looked_at(tmp_path):
    gold, run, baseline = pinned_world()
    same = pinned(gold.queries[4:])
    found = verdict_of(tmp_path, run, baseline, drop("RR", 1), gold=gold, pinned=same)
    assert (found["verdict"], found["n_pinned"]) == ("pass", 4)
    assert found["rows"][0]["n_queries"] == 4
    lost = pinned(gold.queries[:5])
    found = verdict_of(tmp_path, run, baseline, drop("RR", 1), gold=gold, pinned=lost)
    assert found["rows"][0]["change_points"] == pytest.approx(-80)


def test_a_run_of_the_pinned_queries_only_is_whole(tmp_path):
    gold, _, _ = pinned_world()
    answers = [answer(query.id, ["d1"]) for query in gold.queries[:4]]
    run = run_of(gold, answers, settings=QUICK)
    four = pinned(gold.queries[:4])
    assert verdict_of(tmp_path, run, run, drop("RR", 1))["exit_code"] == 2
    assert verdict_of(tmp_path, run, run, drop("RR", 1), gold=gold, pinned=four)["exit_code"] == 0
    five = pinned(gold.queries[:5])
    found = verdict_of(tmp_path, run, run, drop("RR", 1), gold=gold, pinned=five)
    assert found["exit_code"] == 2
    assert "the run lacks 1 of 5 pinned queries, the first is 'q4'" in found["reasons"]


def test_pinned_queries_whose_labels_moved_give_no_verdict(tmp_path):
    gold, run, baseline = pinned_world()
    stale = pinned([structs.replace(gold.queries[0], relevant={"d2": 1})])
    found = verdict_of(tmp_path, run, baseline, drop("RR", 100), gold=gold, pinned=stale)
    assert found["exit_code"] == 2
    assert "are no longer what they were" in found["reasons"][0]
    fresh = pinned(gold.queries[:1])
    other = gold_set(*gold.queries[:7])
    found = verdict_of(tmp_path, run, baseline, drop("RR", 100), gold=other, pinned=fresh)
    assert "the run measured another gold set than the one given" in found["reasons"]
    found = verdict_of(tmp_path, run, baseline, drop("RR", 100), pinned=fresh)
    assert "without the gold set it is not known whether" in found["reasons"][0]


def test_a_pinned_list_may_be_the_slice_of_one_threshold(tmp_path):
    gold, run, baseline = pinned_world()
    row = drop("RR", 1, "slice = {queries = 'four.txt'}")
    lists = {"four.txt": pinned(gold.queries[4:])}
    found = verdict_of(tmp_path, run, baseline, row, drop("RR", 1), gold=gold, lists=lists)
    assert [r["verdict"] for r in found["rows"]] == ["pass", "breach"]
    found = verdict_of(
        tmp_path, run, baseline, row, gold=gold, lists=lists, pinned=pinned(gold.queries[:2])
    )
    assert "none of the pinned queries is of queries four.txt" in found["rows"][0]["reasons"]


def justified(**change):
    given = {"metrics": {"P@5": 40}, "reason": "chunks changed", "author": "a"}
    given |= {"second_approver": "b", "expires": date(2026, 1, 10)}
    return Justification(**{**given, **change})


def test_a_justified_breach_passes_and_says_so(tmp_path):
    baseline, run = run_with([3] * 10), run_with([1] * 10)
    found = verdict_of(tmp_path, run, baseline, drop("P@5", 1), justifications=[justified()])
    (row,) = found["rows"]
    assert (found["exit_code"], row["verdict"]) == (0, "overridden")
    assert found["headline"].startswith("PASS BY JUSTIFICATION of 1")
    assert row["justification"]["max_points"] == 40
    assert row["justification"]["excused_points"] == pytest.approx(40)
    assert row["justification"]["metric"] == "P@5"
    assert row["justification"]["second_approver"] == "b"
    assert row["justification"]["expires"] == "2026-01-10"


def test_what_was_not_justified_stays_a_breach(tmp_path):
    baseline, run = run_with([3] * 10), run_with([1] * 10)
    cases = [
        (justified(expires=date(2026, 1, 9)), "of P@5 expired on 2026-01-09"),
        (justified(metrics={"RR": 40}), "of RR was not needed"),
        (justified(part=Part("corpus", "docs")), "of P@5 [corpus docs] was not needed"),
    ]
    for one, note in cases:
        found = verdict_of(tmp_path, run, baseline, drop("P@5", 1), justifications=[one])
        assert found["exit_code"] == 1
        assert any(note in sentence for sentence in found["notes"]), found["notes"]
    two = [drop("P@5", 1), drop("Recall@5", 1)]
    found = verdict_of(tmp_path, run, baseline, *two, justifications=[justified()])
    assert [row["verdict"] for row in found["rows"]] == ["overridden", "breach"]
    assert found["exit_code"] == 1


@pytest.mark.parametrize("metrics", [{"P@5": 1}, {"P@5": 39.9}, {"P@5": 1, "Recall@5": 100}])
def test_a_drop_beyond_the_stated_size_stays_a_breach(tmp_path, metrics):
    baseline, run = run_with([3] * 10), run_with([1] * 10)
    why = [justified(metrics=metrics), justified(metrics={"P@5": 0.5})]
    found = verdict_of(tmp_path, run, baseline, drop("P@5", 0.5), justifications=why)
    (row,) = found["rows"]
    assert (found["exit_code"], row["verdict"], row["justification"]) == (1, "breach", None)
    told = f"the justification excuses at most {metrics['P@5']:g} points, and these are 40.00"
    assert told in row["reasons"]
    assert not any("P@5 was not needed" in note for note in found["notes"])
    enough = [*why, justified(metrics={"P@5": 40})]
    found = verdict_of(tmp_path, run, baseline, drop("P@5", 0.5), justifications=enough)
    assert found["rows"][0]["justification"]["max_points"] == 40


def test_the_size_counts_from_the_bound_and_from_the_baseline(tmp_path):
    baseline, run = run_with([3] * 10), run_with([2] * 10)
    floor = 'metric = "P@5"\ndirection = "down is bad"\nfloor = 0.5'
    ceiling = 'metric = "P@5"\ndirection = "up is bad"\nceiling = 0.1'
    for row, then, size in (
        (floor, run, 10),  # 0.40 now and before: 10 points below the floor
        (floor, baseline, 20),  # 0.60 before
        (ceiling, run, 30),
    ):
        for points, code in ((size, 0), (size - 0.1, 1)):
            why = [justified(metrics={"P@5": points})]
            found = verdict_of(tmp_path, run, then, row, justifications=why)
            assert found["exit_code"] == code, (row, points)


def test_a_justification_never_stands_in_for_a_verdict(tmp_path):
    baseline, run = with_claims(run_with([3] * 10), [[True]] * 10), run_with([3] * 10)
    one = justified(metrics={"claim_coverage": 100})
    found = verdict_of(tmp_path, run, baseline, drop("claim_coverage", 1), justifications=[one])
    assert (found["exit_code"], found["rows"][0]["verdict"]) == (2, "no_verdict")


def test_what_a_reader_should_know_is_a_note(tmp_path):
    baseline = run_with([3] * 3)
    run = run_with([3] * 3, label="later")
    assert (
        "the gold set is provisional"
        in verdict_of(tmp_path, run, baseline, drop("P@5", 1))["notes"][0]
    )
    again = verdict_of(tmp_path, baseline, baseline, drop("P@5", 1))
    assert again["exit_code"] == 0
    assert "the run is the baseline itself, so nothing can have changed" in again["notes"]
    for document, digest in ((run, "1"), (baseline, "2")):
        document["run"]["corpora"] = [{"corpus": "docs", "n_documents": 3, "fingerprint": digest}]
    found = verdict_of(tmp_path, run, baseline, drop("P@5", 1), notes=["the noise is stale"])
    assert any("the documents of corpus docs are others" in note for note in found["notes"])
    assert "the noise is stale" in found["notes"]


def test_ids_that_were_not_checked_are_a_note(tmp_path):
    told = "the document ids of the run were not checked (no --corpus-file): one that the corpus"
    for is_checked in (True, False):
        run = run_with([3] * 3, label="later", ids_checked=is_checked)
        notes = verdict_of(tmp_path, run, run_with([3] * 3), drop("P@5", 1))["notes"]
        assert any(note.startswith(told) for note in notes) is not is_checked
    # Earlier versions did not record it.
    del run["run"]["ids_checked"]
    notes = verdict_of(tmp_path, run, run_with([3] * 3), drop("P@5", 1))["notes"]
    assert not any(note.startswith(told) for note in notes)
