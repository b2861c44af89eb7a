from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.report.exhibits import Empty, Figure
from retrieval_eval.search.change.anew import part_of
from tests.report.conftest import assert_complete
from tests.report.search_made import (
    MEASURES,
    UNCLEAR,
    Shown,
    artefact,
    change,
    delta,
    failed,
    gold_of,
    hostile,
    only,
    ordinary,
    query,
    searched,
    unanswerable,
)
from tests.report.search_practice import gold, run, whole

EXTREMES = {
    "plain": artefact(),
    "no queries": artefact([]),
    "one query": artefact([query("a", [("x", 1)])]),
    "all failed": artefact([failed("a"), failed("b")]),
    "all unanswerable": artefact([unanswerable("a"), unanswerable("b", [("x", None)])]),
    "nothing returned": artefact([query(str(i), value=0.0) for i in range(6)], delta=delta({})),
    "nothing measured": artefact(metrics={}, delta=delta({})),
    "unknown delta": artefact(delta=delta({"X@5": UNCLEAR}, {"gone": {"X@5": 1.0}}, ["gone"])),
    "no numbers": artefact(delta=delta(dict.fromkeys(MEASURES, change(None, None, None)))),
    "not comparable": artefact(delta=delta(is_comparable=False, reasons=["gold_set: changed"])),
    "hostile": hostile(),
}


@pytest.mark.parametrize(
    ("name", "privacy"), [*((name, False) for name in EXTREMES), ("hostile", True)]
)
def test_every_cell_shows_a_finding_and_something_below_it(name, privacy):
    made = Shown(searched(EXTREMES[name], privacy=privacy), figures=name in FIGURES and not privacy)
    assert {"guard", "contributions", "slice-changes", "worst"} <= set(made.blocks)
    for block in (made.header, made.answer, *made.blocks.values()):
        assert_complete(block)


FIGURES = ("plain", "no queries", "unknown delta", "not comparable", "hostile")


def test_without_verdict_single_queries_stay_and_sums_go():
    made = Shown(searched(artefact([*ordinary(), failed("f")], delta=delta())))
    assert "no measured difference" in made.table("contributions").notes[0]
    assert "1 of 13 queries failed" in made.empty("slice-changes")


def test_slices_under_five_queries_are_not_interpreted():
    made = Shown(searched(artefact(delta=delta())), figures=True)
    rows = {(row[0], row[1]): row[2:] for row in only(made["slices"], Figure).data.rows}
    assert rows["Corpus", "notes"] == ("—", "—", "—", "4")
    assert rows["Corpus", "docs"][-1] == "8"
    # Corpus notes and the three areas have four queries each.
    assert made["slices"].finding.endswith("; 4 parts too small to interpret")
    changes = made.table("slice-changes").rows
    assert ("Corpus", "notes", "4", "—", "not interpreted") in changes
    assert ("Corpus", "docs", "12", "+1.00", "[−2.00, +4.00]") in changes


# --- a part of the queries ---


def test_a_part_of_all_queries_is_the_run_itself():
    own = whole()
    everything = {query.id for query in own.stored.queries}
    for labels in (gold(), None):
        part = part_of(own.stored, everything, labels)
        for name in ("status", "queries", "abstention"):
            assert getattr(part, name) == getattr(own.stored, name)
        assert part.claims.coverage.value == own.stored.claims.coverage.value
        assert part.claims.queries == own.stored.claims.queries
        for name, found in part.metrics.items():
            known = own.stored.metrics[name]
            same = ("value", "n", "ci_low", "ci_high", "n_not_computable")
            same += () if labels is None else ("tie_low", "unjudged_high")
            assert all(getattr(found, s) == getattr(known, s) for s in same)
    assert part_of(own.stored, everything, gold()).slices == own.stored.slices


def test_a_filter_is_followed_by_every_number():
    made = searched(run({"q1": "x"}), baseline=run(), gold=gold())
    part = made.filter("corpus == 'docs'")
    assert part.filtered == "9 of 13 queries, where corpus == 'docs'"
    assert len(part.queries) == part.stored.status.n_queries == 9
    assert part.metrics.set_index("measure").loc["RR", "n"] == 6
    assert set(part.slices.query("dimension == 'corpus'")["level"]) == {"docs"}
    assert (part.stored.abstention.n_answerable, part.stored.abstention.n_unanswerable) == (6, 3)
    shown = Shown(part)
    assert shown.badges()["Filter"] == part.filtered
    assert "whole runs" in shown.empty("guard")
    assert "Review backlog" not in shown.badges()
    again = part.filter("id != 'q0'")
    assert again.filtered == "8 of 13 queries, where corpus == 'docs', and where id != 'q0'"
    chosen = part.filter(lambda queries: queries["id"] != "q0")
    assert chosen.filtered == "8 of 13 queries, where corpus == 'docs', and by a function"
    assert list(chosen.queries["id"]) == list(again.queries["id"])


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("corpse == 'docs'", "search.queries has no column 'corpse'; the closest: corpus"),
        ("corpus ==", "cannot be read"),
        ("corpus", "True or False for every query, not"),
        ("corpus == 'nowhere'", "no query passes"),
        ("@__import__('os')", "cannot be read"),
    ],
)
def test_a_condition_that_cannot_be_followed_is_one_sentence(where, told):
    with pytest.raises(BadInputError, match=told):
        searched(artefact()).filter(where)


def test_what_found_nothing_stands_before_what_ranked_badly():
    asked = [
        query("empty", [], value=0.0),
        query("missed", [("x", 0), ("y", None)], value=0.0),
        query("bad", [("x", None), ("good", 1)], value=0.1),
        query("fine", [("good", 2)], value=0.9),
        unanswerable("u", [("x", None)]),
    ]
    document = artefact(asked)
    made = Shown(searched(document, gold=gold_of(document, {"lost": 1})))
    assert made["worst"].finding == (
        "2 of 4 scored queries found nothing relevant, 1 more have nDCG@10 below 0.50"
    )
    rows = made.table("worst").rows
    assert [row[0] for row in rows] == [f"text of {q.id}" for q in made.run.scored]
    assert rows[0][-2:] == ("nothing", "lost (not retrieved)")
    assert rows[2][-1] == "good (rank 2), lost (not retrieved)"
    alone = Shown(searched(document)).table("worst")
    assert any("when the gold set is read" in note for note in alone.notes)


def test_a_run_with_its_baseline_shows_the_rankings_of_its_difference():
    own = whole(changes={"delta": delta(contributions={"q1": {"RR": -5.0}}, top1=["q1"])})
    assert own.difference.runs == (own.baseline, own.stored)
    assert [table.kind for table in own.carriers.exhibits] == ["rankings"]
    alone = searched(artefact(delta=delta()))
    assert alone.difference is None
    assert only(alone.carriers, Empty).is_expected
