from __future__ import annotations

import pytest

from retrieval_eval.report import search_opening as opening
from retrieval_eval.report.words import MAX_WORDS
from tests.guards import drop, run_with, thresholds_of
from tests.plain_runs import compare_with_baseline
from tests.report.search_made import (
    CLEAR_GAIN,
    CLEAR_LOSS,
    MEASURES,
    UNCLEAR,
    artefact,
    change,
    delta,
    failed,
    hostile,
    ordinary,
    searched,
)


def title(document) -> str:
    return opening.answer(searched(document)).finding


def badges(document) -> dict[str, str]:
    return dict(opening.header(searched(document)).badges)


def headline(document):
    return opening.answer(searched(document)).exhibits[0]


def with_changes(p5, recall, **fields):
    return artefact(delta=delta({"P@5": p5, "Recall@20": recall, "RR": UNCLEAR}, **fields))


NOTHING_FROM = change(0.0, None, None)
TITLES = [
    (artefact(), "P@5 0.48 and Recall@20 0.48; no baseline to compare with", "none"),
    (with_changes(UNCLEAR, UNCLEAR), "no clear change in P@5 and Recall@20 against", "none"),
    (with_changes(CLEAR_GAIN, UNCLEAR), "P@5 is 4.00 points higher than the baseline", "better"),
    (with_changes(UNCLEAR, CLEAR_LOSS), "Recall@20 is 4.00 points lower than the", "worse"),
    (
        with_changes(CLEAR_GAIN, CLEAR_LOSS),
        "Recall@20 is 4.00 points lower, P@5 is 4.00 points higher than the baseline",
        "worse",
    ),
    (
        with_changes(change(4.0, 1.0, 7.0, n_pairs=2), UNCLEAR | {"n_pairs": 2}),
        "too few queries for a test against the baseline: 2",
        "none",
    ),
    (
        with_changes(NOTHING_FROM, NOTHING_FROM, contributions={}),
        "no metric of the rankings changed against the baseline",
        "none",
    ),
    (
        artefact(delta=delta(is_comparable=False, reasons=["depth: another depth"])),
        "P@5 0.48 and Recall@20 0.48; the baseline measured something else",
        "none",
    ),
]
WITHOUT_VERDICT = [
    (artefact([*ordinary(), failed("f")], delta=delta({"P@5": CLEAR_GAIN})), "1 of 13 queries"),
    (artefact(status={"has_verdict": False, "reasons": ["nothing was measured"]}), "nothing was"),
    (artefact(delta_withheld=["the run is truncated"]), "the run is truncated"),
]


@pytest.mark.parametrize(
    ("document", "expected", "tone"),
    [
        *((document, f"Guard not asked: {said}", tone) for document, said, tone in TITLES),
        *((document, f"No verdict: {said}", "none") for document, said in WITHOUT_VERDICT),
    ],
)
def test_every_case_has_its_title(document, expected, tone):
    answer = opening.answer(searched(document))
    assert answer.finding.startswith(expected)
    assert answer.tone == tone


# --- the verdict of the guard leads ---

P5, RECALL = drop("P@5", 0.5), drop("Recall@20", 0.5)


def reviewed(hits, **fields):
    """A run of known P@5 against a gold set that a person reviewed."""
    found = run_with(hits, **{"label": "after", **fields})
    found["run"]["gold_set"]["is_provisional"] = False
    return found


BEFORE = reviewed([4] * 12, label="before")
ONE_LOST = reviewed([3] + [4] * 11)
NONE_LOST = reviewed([4] * 12)


def guarded(folder, now, *rows, before=BEFORE, rule="threshold"):
    """A run and its baseline under these thresholds."""
    document = {**now, **compare_with_baseline(before, now, seed=1)}
    thresholds = thresholds_of(folder, *rows, rule=rule)
    return searched(document, baseline=before, thresholds=thresholds)


def test_a_breach_leads_and_what_the_test_says_does_not_deny_it(tmp_path):
    made = guarded(tmp_path, ONE_LOST, P5)
    found = opening.answer(made)
    # One query of twelve lost one of its five: 20 / 12 points.
    assert found.finding == "Guard breached: P@5 fell by 1.67 points (limit 0.5)"
    assert found.tone == "worse"
    assert found.sentences[0] == (
        "The guard decides on these queries; whether P@5 and Recall@20 would change on others too, "
        "a test over these cannot tell."
    )
    assert "No clear change" not in " ".join(found.sentences)
    assert opening.header(made).badges[0][0] == "Guard"


def test_no_verdict_of_the_guard_leads_with_why(tmp_path):
    rule = "threshold_and_significant"
    found = opening.answer(guarded(tmp_path, ONE_LOST, P5, rule=rule))
    assert found.finding == (
        "No verdict of the guard: P@5 fell by 1.67 points (limit 0.5), which may be chance"
    )
    assert found.tone == "none"
    found = opening.answer(guarded(tmp_path, NONE_LOST, drop("claim_coverage", 1.0)))
    assert found.finding == (
        "No verdict of the guard: no threshold applies to what the baseline recorded"
    )
    other = reviewed([4] * 13)
    found = opening.answer(guarded(tmp_path, other, P5))
    assert found.finding.startswith("No verdict of the guard: the gold set changed from 12 queries")
    assert "the baseline measured something else" in found.sentences[0]


def test_an_interval_without_zero_is_not_enough_for_a_verdict():
    # Holm over two measures: 0.03 x 2 is no p below 0.05.
    document = with_changes(change(4.0, 1.0, 7.0, p_value=0.03), UNCLEAR)
    assert "no clear change" in title(document)
    document = with_changes(change(4.0, 1.0, 7.0, p_value=0.02), UNCLEAR)
    assert "P@5 is 4.00 points higher" in title(document)


def test_a_baseline_without_verdict_gives_none():
    before = artefact([*ordinary(), failed("f")])
    run = searched(with_changes(CLEAR_GAIN, UNCLEAR), baseline=before)
    answer = opening.answer(run)
    assert answer.finding == "No verdict: 1 of 13 queries of the baseline failed"


def test_labels_no_person_reviewed_are_provisional_and_take_the_colour_away():
    queries = [q | {"source": "bootstrap"} for q in ordinary()]
    document = artefact(queries, delta=delta({"P@5": CLEAR_GAIN, "Recall@20": UNCLEAR}))
    answer = opening.answer(searched(document))
    assert answer.finding == (
        "Guard not asked, on provisional labels: P@5 is 4.00 points higher than the baseline"
    )
    assert answer.tone == "none"
    assert "No person reviewed any of the 12 gold queries." in " ".join(answer.sentences)
    assert badges(document)["Labels"] == "12 taken from feedback: provisional"


WORDY = [{**q, "query": "a b " * 60} for q in ordinary()]


@pytest.mark.parametrize(
    "document",
    [
        artefact(),
        artefact(WORDY, delta=delta()),
        artefact(WORDY, delta=delta(dict.fromkeys(MEASURES, CLEAR_LOSS))),
        artefact([*WORDY, failed("f", "x " * 200)], delta=delta()),
        artefact(WORDY, delta=delta(is_comparable=False, reasons=["depth: " + "w " * 20])),
        artefact(status={"has_verdict": False, "reasons": ["why " * 80]}),
        hostile(),
    ],
)
def test_the_answer_has_at_most_ninety_words(document):
    answer = opening.answer(searched(document))
    assert sum(len(s.split()) for s in answer.sentences) <= MAX_WORDS
    assert len(answer.finding) <= 200
    assert all(answer.sentences)


@pytest.mark.parametrize(
    "document",
    [
        artefact(),
        artefact([*ordinary(), failed("f")], delta=delta()),
        artefact(delta=delta(is_comparable=False, reasons=[], metrics={})),
    ],
)
def test_no_change_stands_in_the_answer_that_may_not_be_read(document):
    table = headline(document)
    assert table.header == ("Metric", "Value", "95 % interval", "n")
