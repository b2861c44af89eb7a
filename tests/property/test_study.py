"""What must hold of every comparison: of whom it is, in which order, and how often repeated."""

from __future__ import annotations

import copy
import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents import study
from retrieval_eval.agents.study import associate, compare
from retrieval_eval.agents.study.compare import comparison_of
from retrieval_eval.agents.study.stated import Settings
from retrieval_eval.agents.study.trials import trials_of
from retrieval_eval.errors import RetrievalEvalError
from tests.conftest import COSTLY
from tests.studies import document, frame_of, impact_document

FEW = Settings(seed=7, n_resamples=100)
"""Enough resamples to see that two intervals are the same."""

ARMS = ("baseline", "mcp")
VIEWS = ("accessed", "opened", "structured", "listing_discounted")
SHARES = (None, 0.0, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 1.0)
LOW, HIGH = (0.0, 0.1, 0.25), (0.2, 0.75, 0.9, 1.0)
REWARDS = st.sampled_from([None, 0.0, 0.0, 0.3, 0.5, 0.5, 1.0, 1.0])

FAULTS = ("crashed_before_start", "degraded_trace", "no_ground_truth", "missing_verifier_result")


def trial(dice, config, task, recall, reward):
    """Return a trial of this recall and reward; what matters less is drawn from ``dice``."""
    hits = recall is not None and recall > 0
    calls = dice.randint(1, 40)
    n_mcp = dice.choice([0, 0, 0, 0, 0, 0, 3] if config == ARMS[0] else [0, 2, 3])
    row = document(
        f"task-{task:02d}",
        config,
        recall,
        reward,
        mcp=n_mcp,
        mcp_ok=dice.randint(0, n_mcp),
        trial=f"t-{dice.randrange(10**6)}",
        benchmark=f"suite-{task % 3}",
        model=dice.choice(["m"] * 9 + ["n"]),
        version=dice.choice(["1"] * 9 + ["2"]),
        cost=dice.choice([None, 0.1, 0.2, 0.7]),
        calls=calls,
        shell=calls,
        opaque=dice.choice([0, 0, 0, calls // 4]),
        repositories=[f"repository-{task % 7}"],
        hit=dice.randint(1, 90) if hits else None,
        **{view: None if recall is None else dice.choice(SHARES) for view in VIEWS[1:]},
    )
    row["file_level_metrics"] |= {
        "reason": None if recall is not None else "no_ground_truth",
        "n_ground_truth": task % 7 + 1,
        "censored_at_seconds": 100.0,
        "mrr": dice.choice(SHARES) if hits else recall,
    }
    slices = {"candidate_set_count": dice.randint(0, 30)}
    row["error_taxonomy"]["slices"] = slices | {"evidence_type": dice.choice(["local", "mcp"])}
    return row


@st.composite
def studies(draw, most=2):
    """Return the trials of two arms over up to twelve tasks; some tasks only one arm ran.

    The arms have recall from the same values, or from values far apart, either way round.
    """
    shares = draw(st.sampled_from([(SHARES, SHARES), (LOW, HIGH), (HIGH, LOW)]))
    dice = random.Random(draw(st.integers(0, 2**32 - 1)))
    rows = []
    for task in range(draw(st.sampled_from([12, 10, 7, 5, 2, 0]))):
        for config, own in zip(ARMS, map(st.sampled_from, shares), strict=True):
            n = draw(st.sampled_from([1, 1, 1, 2, most, 0]))
            rows += [trial(dice, config, task, draw(own), draw(REWARDS)) for _ in range(n)]
    for number, row in enumerate(rows):
        row["provenance"]["trial_name"] += f"-{number}"
    return rows


def compared(rows, first=ARMS[0], second=ARMS[1]):
    return comparison_of(trials_of(rows), first, second, FEW).to_json()


def same(one, other):
    """Whether two documents are equal but for the last digits of their numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-9, abs=1e-9)
    return one == other


OF_REPEATS = re.compile("variance_|n_repeats_")


def without_repeats(value):
    """Return a document without the fields that describe repeats."""
    if isinstance(value, list):
        return [without_repeats(member) for member in value]
    if not isinstance(value, dict):
        return value
    return {k: without_repeats(v) for k, v in value.items() if not OF_REPEATS.match(k)}


@COSTLY
@given(rows=studies())
def test_repeating_every_trial_changes_no_number_but_counts_of_trials(rows):
    again = copy.deepcopy(rows)
    for row in again:
        row["provenance"]["trial_name"] += "-again"
        for name in ("calls_seen", "shell_calls", "shell_opaque"):
            # The opaque share needs ten calls: doubling few would make them enough.
            row["ledger"][name] = row["ledger"][name] + 40 * (name != "shell_opaque")
    for row in rows:
        for name in ("calls_seen", "shell_calls"):
            row["ledger"][name] += 40
    once, twice = (without_repeats(compared(given)) for given in (rows, rows + again))
    for name in ("metrics", "views", "flips", "slices", "difference_associations", "excluded"):
        assert same(once[name], twice[name]), name
    for name in ("verdict", "n_pairs", "verdict_reason", "cautions"):
        assert once[name] == twice[name]
    assert once["gate"]["failed"] == twice["gate"]["failed"]
    for arm in ("baseline", "comparison"):
        assert twice["ledger"][arm]["trials"] == 2 * once["ledger"][arm]["trials"]
        assert twice["ledger"][arm]["used"] == 2 * once["ledger"][arm]["used"]


@COSTLY
@given(rows=studies(), seed=st.integers(0, 1000))
def test_the_order_of_the_trials_changes_no_byte(rows, seed):
    shuffled = copy.deepcopy(rows)
    random.Random(seed).shuffle(shuffled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            study, "Settings", lambda seed, **given: Settings(seed, n_resamples=100, **given)
        )
        one, other = (json.dumps(impact_document(r, seed=3)) for r in (rows, shuffled))
    assert one == other


@COSTLY
@given(rows=studies(), kept=st.integers(1, 5))
def test_a_frame_of_trials_and_any_part_of_it_give_what_their_documents_give(rows, kept):
    frame, mask = frame_of(rows), [number % kept == 0 for number in range(len(rows))]
    part = [row for row, is_kept in zip(rows, mask, strict=True) if is_kept]
    for table, documents in ((frame, rows), (frame.loc[mask], part)):
        configs = {row["provenance"]["config_name"] for row in documents}
        if configs == set(ARMS):
            found = compare(table, *ARMS, seed=7, n_resamples=50).to_json()
            assert found == compare(documents, *ARMS, seed=7, n_resamples=50).to_json()
        else:
            with pytest.raises(RetrievalEvalError, match=r"there is no trial|no configuration"):
                compare(table, *ARMS)
        if configs:
            one, other = (associate(g, seed=7, n_resamples=50) for g in (table, documents))
            assert (one.to_json(), one.family) == (other.to_json(), other.family)


KEPT = (
    *("direction", "n_pairs", "reason", "ties", "p_value", "cluster_by", "n_clusters"),
    "smallest_detectable",
)
SIDES = (("mean_baseline", "mean_comparison"), ("wins", "losses"))
ENDS = (("bill_low", "bill_high"), ("bound_low", "bound_high"))


def negated(value):
    return None if value is None else -value


def inverted(value):
    return None if value is None else 1 / value


def is_mirrored(one, other):
    """Whether a compared metric is the other with its arms swapped."""
    mirrored = inverted if one["headline"] == "ratio" else negated
    return (
        all(same(one[k], other[k]) for k in KEPT)
        and same(one["mean_difference"], negated(other["mean_difference"]))
        and same(one["estimate"], mirrored(other["estimate"]))
        and same(one["ci_low"], mirrored(other["ci_high"]))
        and same(one["ci_high"], mirrored(other["ci_low"]))
        and all(same(one[a], other[b]) and same(one[b], other[a]) for a, b in SIDES)
        and all(
            same(one.get(a), negated(other.get(b)))
            for low, high in ENDS
            for a, b in ((low, high), (high, low))
        )
        and same(one.get("p_holm"), other.get("p_holm"))
    )


OPPOSITE = {"better": "worse", "worse": "better"}


@COSTLY
@given(rows=studies())
def test_swapped_arms_reverse_every_sign_and_no_verdict_is_stronger_than_its_threats(rows):
    one, other = compared(rows), compared(rows, *ARMS[::-1])
    assert one["verdict"] == OPPOSITE.get(other["verdict"], other["verdict"])
    assert one["gate"]["failed"] == other["gate"]["failed"]
    found = {r["name"]: (r["count"], r["n_removed"], r["share_removed"]) for r in _rules(one)}
    assert found == {
        r["name"]: (r["count"], r["n_removed"], r["share_removed"]) for r in _rules(other)
    }
    assert one["ledger"]["baseline"] == other["ledger"]["comparison"]
    assert one["ledger"]["comparison"] == other["ledger"]["baseline"]
    for name in ("computable", "reason", "n_pairs", "excluded", "discrimination"):
        assert one[name] == other[name]
    for name, block in one["metrics"].items():
        assert is_mirrored(block, other["metrics"][name]), name
    for view in VIEWS:
        there, here = one["views"][view], other["views"][view]
        assert there["verdict"] == OPPOSITE.get(here["verdict"], here["verdict"])
        assert all(is_mirrored(there[m], here[m]) for m in there if m != "verdict")
    # What threatens one way round threatens the other way round, with the same effect.
    assert one.get("n_tasks_to_overturn") == other.get("n_tasks_to_overturn")
    assert _threats(one) == _threats(other)
    _holds_for_parts(one, other)
    _is_allowed(one)


def _threats(comparison):
    return sorted(
        (t["name"], t["effect"], t.get("arm") or "", t["unit"]) for t in comparison["threats"]
    )


STRENGTH = ("no_verdict", "too_few_pairs", "no_detectable_difference", "fragile")


def _is_allowed(found):
    """Check that a verdict is no stronger than its threats and its gate allow."""
    effects = {threat["effect"] for threat in found["threats"]}
    if found["gate"]["failed"]:
        assert found["verdict"] == "no_verdict"
    elif "lowers" in effects:
        assert found["verdict"] in STRENGTH
    if "withholds" in effects:
        assert found["verdict"] == "no_verdict"
    if found["verdict"] == "no_verdict":
        assert {view["verdict"] for view in found["views"].values()} == {"no_verdict"}
    assert found["views"]["accessed"]["verdict"] == found["verdict"]
    for threat in found["threats"]:
        assert threat["sentence"]
        # What lowers a verdict says what it takes, or is the trials that are left.
        if threat["effect"] == "lowers":
            assert threat.get("overturn"), threat["name"]


def _rules(comparison):
    return comparison["gate"]["rules"]


def _holds_for_parts(one, other):
    flips = [(f["metric"], f["view"], f["kind"]) for f in one["flips"]]
    assert flips == [(f["metric"], f["view"], f["kind"]) for f in other["flips"]]
    for a, b in zip(one["difference_associations"], other["difference_associations"], strict=True):
        assert same({**a, "interpretation": ""}, {**b, "interpretation": ""})
    for a, b in zip(one["slices"], other["slices"], strict=True):
        assert (a["dimension"], a["level"], a["n_pairs"]) == (
            b["dimension"],
            b["level"],
            b["n_pairs"],
        )
        assert same(a["mean_difference"], negated(b["mean_difference"]))
        assert same(a["ci_low"], negated(b["ci_high"]))


def plant(row, fault):
    if fault == "crashed_before_start":
        row["outcome"] |= {"exception": {"type": "E", "message": "x"}, "reward": 0.0}
        row["ledger"] |= {"calls_seen": 0, "shell_calls": 0, "shell_opaque": 0}
    elif fault == "degraded_trace":
        row["coverage"] |= {"degraded_reason": "cut", "degraded_sources": ["trace"]}
    elif fault == "no_ground_truth":
        row["file_level_metrics"] = {"computable": False, "reason": "no_ground_truth"}
    else:
        row["outcome"]["reward"] = None


@COSTLY
@given(rows=studies(most=3), data=st.data())
def test_every_trial_is_in_the_ledger_and_every_planted_fault_is_found(rows, data):
    planted = {fault: set() for fault in FAULTS}
    for row in rows:
        fault = data.draw(st.sampled_from([None, None, None, *FAULTS]))
        if fault is not None:
            plant(row, fault)
            planted[fault].add(row["provenance"]["trial_name"])
    found = compared(rows)
    rules = {r["name"]: r for r in _rules(found)}
    for fault in FAULTS[:2]:
        assert {t["trial_name"] for t in rules[fault]["trials"]} == planted[fault]
        assert rules[fault]["n_removed"] == len(planted[fault])
    _ledger_adds_up(found, rows)
    gone = {
        config: sum(
            row["provenance"]["config_name"] == config
            and row["provenance"]["trial_name"] in planted["crashed_before_start"]
            for row in rows
        )
        for config in ARMS
    }
    total = {c: sum(row["provenance"]["config_name"] == c for row in rows) for c in ARMS}
    lacking = {
        row["provenance"]["trial_name"]
        for row in rows
        if row["file_level_metrics"]["computable"] is False
    }
    found_lacking = {t["trial_name"] for t in rules["no_ground_truth"]["trials"]}
    elsewhere = {t["trial_name"] for r in _rules(found) if r["n_removed"] for t in r["trials"]}
    assert lacking - elsewhere <= found_lacking <= lacking
    is_too_much = any(3 * gone[c] > total[c] for c in ARMS)
    assert rules["crashed_before_start"]["failed"] == is_too_much
    if found["gate"]["failed"]:
        assert found["verdict"] == "no_verdict"


def _ledger_adds_up(found, rows):
    for side, config in zip(("baseline", "comparison"), ARMS, strict=True):
        row = found["ledger"][side]
        assert row["trials"] == sum(r["provenance"]["config_name"] == config for r in rows)
        parts = sum(row["removed"].values()) + sum(row["unmatched"].values())
        assert row["trials"] == parts + row["used"]
        assert sum(row["outcomes_only"].values()) <= row["used"]
        assert row["used"] == sum(pair[f"n_trials_{side}"] for pair in found["pairs"])
        removed = {r["name"]: 0 for r in _rules(found)} | row["removed"]
        assert all(removed[r["name"]] <= r["n_removed"] for r in _rules(found))
    n_tasks = {(r["provenance"]["benchmark"], r["provenance"]["task_name"]) for r in rows}
    assert len(n_tasks) == found["n_pairs"] + len(found["excluded"])
    lost = found["n_pairs"] - found["metrics"]["file_recall"]["n_pairs"]
    truthless = sum(sum(s["outcomes_only"].values()) for s in _arms(found))
    assert (lost > 0) <= (truthless > 0)


def _arms(found):
    return (found["ledger"]["baseline"], found["ledger"]["comparison"])
