from __future__ import annotations

import pytest

from retrieval_eval.report import SearchReport, SearchRun, assets
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.notebook_files import read_notebook
from retrieval_eval.report.search import tables
from tests.report.conftest import assert_complete
from tests.report.search_made import (
    BACKLOG,
    MEASURES,
    UNCLEAR,
    artefact,
    change,
    delta,
    failed,
    gold_of,
    hostile,
    mean,
    ordinary,
    query,
    unanswerable,
)

SECTIONS = [
    name
    for name in dir(SearchReport)
    if not name.startswith("_") and callable(getattr(SearchReport, name))
]


def report(document, **fields) -> SearchReport:
    privacy = fields.pop("privacy", False)
    return SearchReport(SearchRun(document, **fields), privacy=privacy)


def only(block, kind):
    return next(e for e in block.exhibits if isinstance(e, kind))


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
    "odd p": artefact(delta=delta(dict.fromkeys(MEASURES, change(1.0, 0.5, 2.0, p_value=7)))),
    "not comparable": artefact(delta=delta(is_comparable=False, reasons=["gold_set: changed"])),
    "hostile": hostile(),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("privacy", [False, True])
def test_every_section_has_a_finding_and_something_to_show(name, privacy):
    made = report(EXTREMES[name], privacy=privacy)
    for section in SECTIONS:
        assert_complete(getattr(made, section)())


def test_composition_adds_up_and_counts_grades_of_the_gold_set():
    document = artefact([*ordinary(9), unanswerable("u")])
    table = only(report(document, gold=gold_of(document, {"m": 2})).composition(), Table)
    counts = {}
    for part, _, share in table.rows:
        n, whole = share.split(" (")[0].split(" of ")
        counts.setdefault((part, int(whole)), []).append(int(n))
    assert all(sum(ns) == whole for (_, whole), ns in counts.items())
    # Nine queries with one relevant, one judged as not relevant, and one that was missed.
    assert ("Grade of judged pairs", 27) in counts
    assert ("Answerable", "yes", "9 of 10 (0.90)") in table.rows
    assert not any(
        row[0].startswith("Grade") for row in only(report(document).composition(), Table).rows
    )


def test_a_gold_set_that_was_not_used_is_said():
    table = only(report(artefact(), gold_problem="It is another one").composition(), Table)
    assert table.notes == ("It is another one.",)


def test_ties_and_unjudged_documents_stand_beside_the_mean():
    document = artefact()
    document["metrics"]["P@5"] = mean([0.5] * 4, tie_low=0.4991, tie_high=0.5004)
    document["metrics"]["RR"] = mean([0.5] * 4, tie_low=0.3, tie_high=0.6, unjudged_high=0.9)
    rows = {row[0]: row for row in only(report(document).judged(), Table).rows}
    assert rows["P@5"][5:] == ("[0.499, 0.500]", "0.70")
    assert rows["RR"] == ("RR", "0.50", "[0.40, 0.60]", "4", "0", "[0.30, 0.60]", "0.90")
    assert rows["Recall@20"][5] == "—"


def test_what_happened_to_queries_is_counted_and_failed_ones_come_first():
    asked = [
        *ordinary(3),
        query("s", [("x", 1)], problems=["fewer_than_k"]),
        query("z", [], is_refused=True, value=0.0),
        failed("f"),
    ]
    block = report(artefact(asked)).problems()
    summary, listed = block.exhibits
    assert {row[0]: row[1] for row in summary.rows} == {
        "failed": "1 of 6",
        "empty": "1 of 6",
        "refused": "1 of 6",
        "fewer than k": "1 of 6",
    }
    assert [row[0] for row in listed.rows] == ["text of f", "text of s"]
    assert "KeyError" in listed.rows[0][3]
    assert block.finding == "2 of 6 answers are remarked on: 1 failed, 1 fewer than k"


def test_the_backlog_counts_are_shown_with_their_total():
    table = only(report(artefact(backlog=BACKLOG)).backlog(), Table)
    counts = {name: int(n) for name, n in table.rows}
    assert counts.pop("total") == sum(counts.values()) == 11


def test_queries_come_by_what_they_add_to_the_headline_measures():
    moved = {
        "q01": {"RR": 9.0},
        "q02": {"P@5": 0.2},
        "q03": {"Recall@20": -0.7, "P@5": 0.1},
        "q04": {"Judged@10": 5.0},
    }
    block = report(artefact(delta=delta(contributions=moved, top1=["q02"]))).query_changes()
    table = only(block, Table)
    assert [row[0] for row in table.rows] == ["text of q03", "text of q02", "text of q01"]
    assert table.rows[0][2:] == ("+0.10", "−0.70", "0", "0", "")
    assert table.rows[1][-1] == "yes"
    assert block.finding == "4 of 12 queries moved a measure"
    assert "Changed: k1: 1.2 → 2.0." in block.sentences
    figure = only(block, Figure)
    assert "P@5: 2 higher, 0 lower, 10 unchanged of 12" in figure.alt
    assert "Recall@20: 0 higher, 1 lower, 11 unchanged of 12" in figure.alt


def test_single_queries_come_before_means():
    cells = [c.source for c in read_notebook(assets.notebook("search_report")).cells]
    order = ("answer", "query_changes", "first_documents", "changes", "slices")
    places = [cells.index(f"report.{name}()") for name in order]
    assert places == sorted(places)


def test_first_documents_that_changed_show_both_with_their_grades():
    before = artefact([query("q01", [("old", 2)]), query("q02", [])])
    after = artefact(
        [query("q01", [("new", None), ("old", 2)]), query("q02", [("d", 1)])],
        delta=delta(contributions={"q01": {"RR": -25.0}}, top1=["q01", "q02"]),
    )
    rows = only(report(after, baseline=before).first_documents(), Table).rows
    assert rows == (
        ("text of q01", "old (grade 2)", "new", "−25.00"),
        ("text of q02", "nothing", "d (grade 1)", "0"),
    )
    alone = only(report(after).first_documents(), Table)
    assert [row[1] for row in alone.rows] == ["—", "—"]
    assert "baseline's file" in alone.notes[-1]


def test_first_documents_beyond_the_table_are_not_said_to_be_in_a_file_without_them(monkeypatch):
    # queries.csv has the first document of this run only, and not which changed.
    monkeypatch.setattr(tables, "MAX_ROWS", 1)
    before = artefact([query("q01", [("old", 2)]), query("q02", [])])
    after = artefact([query("q01", []), query("q02", [("d", 1)])], delta=delta(top1=["q01", "q02"]))
    table = only(report(after, baseline=before).first_documents(), Table)
    assert table.notes[0] == (
        "The first 1 of 2; all in first_documents.csv of `retrieval-eval search diff --report`."
    )


def test_the_change_of_every_measure_is_drawn_with_its_pairs():
    metrics = {"P@5": change(4.0, 1.0, 7.0, n_only_current=2), "RR": UNCLEAR}
    block = report(artefact(delta=delta(metrics))).changes()
    assert block.finding == "1 of 2 measures have an interval that leaves out 0"
    figure = only(block, Figure)
    assert "P@5 +4.00 [+1.00, +7.00]" in figure.alt
    assert figure.data.rows[0] == (
        *("P@5", "0.50", "0.54", "+4.00", "[+1.00, +7.00]", "0.500", "12", "2"),
    )


def test_without_verdict_single_queries_stay_and_sums_go():
    made = report(artefact([*ordinary(), failed("f")], delta=delta()))
    assert "no measured change" in made.query_changes().sentences[0]
    for block in (made.changes(), made.slice_changes()):
        assert "1 of 13 queries failed" in only(block, Empty).sentence


def test_slices_under_five_queries_are_not_interpreted():
    block = report(artefact()).slices()
    figure = only(block, Figure)
    rows = {(row[0], row[1]): row[2:] for row in figure.data.rows}
    assert rows["Corpus", "notes"][:2] == ("4", "not interpreted (n = 4)")
    assert rows["Corpus", "docs"][0] == "8"
    assert rows["Corpus", "docs"][1].endswith("(8)")
    assert "n = 4" in figure.svg
    # Corpus notes and the three areas have four queries each.
    assert block.finding.endswith("; 4 parts too small to interpret")
    changes = only(report(artefact(delta=delta())).slice_changes(), Table)
    assert ("Corpus", "notes", "P@5", "4", "not interpreted") in changes.rows
    assert ("Corpus", "docs", "P@5", "12", "+1.00 [−2.00, +4.00]") in changes.rows


def test_what_found_nothing_is_told_from_what_ranked_badly():
    asked = [
        query("empty", [], value=0.0),
        query("missed", [("x", 0), ("y", None)], value=0.0),
        query("bad", [("x", None), ("good", 1)], value=0.1),
        query("fine", [("good", 2)], value=0.9),
        unanswerable("u", [("x", None)]),
    ]
    document = artefact(asked)
    made = report(document, gold=gold_of(document, {"lost": 1}))
    block = made.nothing_found()
    assert block.finding == "2 of 4 scored queries found nothing relevant"
    rows = only(block, Table).rows
    assert [row[0] for row in rows] == ["text of empty", "text of missed"]
    assert rows[0][3:] == ("nothing", "—", "lost (not retrieved)")
    assert rows[1][3:] == ("2", "x", "lost (not retrieved)")
    worst = made.worst()
    assert worst.finding == "1 of 2 queries that found something have nDCG@10 below 0.50"
    assert only(worst, Table).rows[0] == (
        *("text of bad", "docs", "0.10", "0.10", "0.10"),
        "good (rank 2), lost (not retrieved)",
    )
    assert "when the gold set is read" in only(report(document).nothing_found(), Table).notes[-1]


def test_unanswerable_queries_show_what_came_back_and_no_measure():
    asked = [
        unanswerable("a", [("x", None)]),
        unanswerable("b", [("y", None), ("z", None), ("w", None)]),
        unanswerable("c"),
        query("d", [("x", 1), ("y", None)]),
    ]
    block = report(artefact(asked)).unanswerable()
    assert block.finding == "2 of 3 unanswerable queries got documents all the same"
    scores, listed = block.exhibits
    # The first of n documents scores n in these runs.
    assert scores.rows == (
        ("Unanswerable", "3", "0", "1", "1.00", "2.00", "3.00"),
        ("Answerable", "1", "0", "0", "2.00", "2.00", "2.00"),
    )
    assert [row[0] for row in listed.rows] == ["text of b", "text of a", "text of c"]
    assert only(report(artefact()).unanswerable(), Empty)


def test_long_tables_name_the_file_that_has_the_rest():
    asked = [query(f"q{i}", [], value=0.0) for i in range(40)]
    table = only(report(artefact(asked)).nothing_found(), Table)
    assert len(table.rows) == 25
    assert table.notes[0] == "The first 25 of 40; all in queries.csv."


def test_private_reports_hold_no_text_of_queries_and_no_way_to_the_retriever():
    document = artefact(
        [*ordinary(), failed("f", "secret message"), unanswerable("u", [("x", None)])],
        delta=delta(top1=["q01"], changes=["spec: secret-old → secret-new"]),
    )
    for privacy in (False, True):
        made = report(document, privacy=privacy)
        shown = "".join(
            getattr(made, section)()._repr_mimebundle_()["text/html"] for section in SECTIONS
        )
        for word in ("text of", "secret"):
            assert (word in shown) is not privacy
        assert "q01" in shown or not privacy


def test_a_setting_for_the_intervals_is_not_called_ninety_five():
    document = artefact(delta=delta())
    document["run"]["settings"]["confidence"] = 0.9
    made = report(document)
    shown = "".join(getattr(made, s)()._repr_mimebundle_()["text/html"] for s in SECTIONS)
    assert "95 %" not in shown
    assert "90 % interval" in shown
