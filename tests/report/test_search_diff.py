"""The report of two search runs: queries first, banner, noise, privacy; the page in a browser."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.report import (
    load_diff,
)
from retrieval_eval.report import search_opening as opening
from retrieval_eval.report import search_tables as tables
from retrieval_eval.report.exhibits import Empty
from retrieval_eval.report.query_pages import ranking_table, write_pages
from retrieval_eval.search.change.baseline import compare_with_baseline
from retrieval_eval.search.change.diff_text import diff_markdown, summary_sentences
from retrieval_eval.search.change.paired_change import moved_between
from retrieval_eval.search.decide.guard import check
from retrieval_eval.search.decide.guard.rendering import to_comment
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from tests.guards import drop, run_with, thresholds_of
from tests.plain_runs import diff
from tests.report.conftest import (
    assert_complete,
)
from tests.report.pages import two_runs as made
from tests.report.search_made import (
    Shown,
    artefact,
    failed,
    hostile,
    notes,
    only,
    ordinary,
    query,
    write,
)
from tests.report.search_practice import run


def accepted_pair():
    other = artefact(label="after")
    other["run"]["gold_set"]["fingerprint"] = "ef" * 32
    return artefact(label="before"), other


EXTREMES = {
    "plain": (artefact(label="a"), artefact(label="b")),
    "hostile": (hostile(), hostile()),
    "failed": (artefact([*ordinary(), failed("f")]), artefact([*ordinary(), failed("f")])),
    "one query": (artefact([query("q", [("x", 1)])]), artefact([query("q", [], value=0.0)])),
    "no label": (artefact(label=""), artefact(label="")),
    "everything": (None, None),
}


@pytest.mark.parametrize(
    ("name", "privacy"), [*((name, False) for name in EXTREMES), ("hostile", True)]
)
def test_every_cell_shows_a_finding_and_something_below_it(name, privacy):
    shown = Shown(
        made(*EXTREMES[name], privacy=privacy), figures=name in ("plain", "hostile") and not privacy
    )
    for block in (shown.header, shown.answer, *shown.blocks.values()):
        assert_complete(block)


def test_the_queries_that_carry_the_change_have_both_rankings():
    block = made().carriers
    assert_complete(block)
    assert block.finding.startswith("2 of 13 queries moved; ")
    first = block.exhibits[0]
    # q1 lost its first document: RR 1 → 1/2 is the larger of the two changes.
    assert first.header == ("Rank", "before", "after")
    assert "RR 1.00 → " in first.caption
    assert first.kind == "rankings"
    cells = [cell for table in block.exhibits for row in table.rows for cell in row[1:]]
    assert any(": relevant (grade " in cell for cell in cells)
    assert any(": unjudged" in cell for cell in cells)
    same = made(artefact(label="a"), artefact(label="b")).carriers
    assert same.finding == "No query moved"
    assert only(same, Empty).sentence.startswith("No metric of any ranking")


def test_failed_refused_and_absent_queries_are_no_zeros(tmp_path):
    broken = [*ordinary()[:10], failed("q10", "secret \x1b[2J"), query("q11", is_refused=True)]
    before, after = artefact(label="a"), artefact(broken, label="b")
    found = made(before, after)
    rows = Shown(found).rows("outcomes")
    assert rows["text of q10"] == ("docs", "answered", "failed")
    assert rows["text of q11"] == ("docs", "answered", "refused")
    tables = {one.id: ranking_table(found, one, "k") for one in found.compare(["q10", "q11"])}
    assert tables["q10"].header[-1] == "b (failed)"
    assert tables["q10"].caption.endswith("metrics with a value in one run only")
    assert {row[-1] for row in tables["q10"].rows} == {"—"}
    assert "failed: secret" in tables["q10"].notes[0]
    assert (
        "secret"
        not in ranking_table(
            made(before, after, privacy=True), found.compare(["q10"])[0], "k"
        ).notes[0]
    )
    write_pages(found, tmp_path, title="made")
    assert "b (failed)" in (tmp_path / "queries.html").read_text(encoding="utf-8")


def test_one_count_of_queries_that_moved_is_everywhere():
    found = made()
    a, b = found.runs
    n = len(moved_between(a, b))
    assert n == found.document.n_queries_moved == found.queries["is_moved"].sum() == 2
    ruling = check([b], [a], shipped_thresholds(), today=date(2026, 1, 1))
    assert ruling.n_queries_moved == n
    assert f"{n} queries moved. " in to_comment(ruling)
    assert compare_with_baseline(a, b, seed=1).delta.n_queries_moved == n
    shown = Shown(found)
    assert f"{n} queries moved" in shown.badges()["Change"]
    assert any(f"{n} queries moved" in sentence for sentence in shown.answer.sentences)
    assert shown["contributions"].finding.startswith(f"{n} of 13 queries moved")
    assert summary_sentences(found.document)[1].startswith(f"{n} queries moved, ")
    assert f"\n- {n} queries moved, " in diff_markdown(found.document)


def test_the_verdict_of_the_guard_leads_and_the_change_does_not_deny_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before, after = run_with([4] * 12, label="before"), run_with([3] + [4] * 11, label="after")
    paths = [write(tmp_path, document, f"{document['label']}.json") for document in (before, after)]
    (tmp_path / "data/eval").mkdir(parents=True)
    thresholds = thresholds_of(tmp_path / "data/eval", drop("P@5", 0.5))
    found = load_diff(*paths)
    block = opening.answer(found)
    assert block.finding == (
        "Guard breached, on provisional labels: P@5 fell by 1.67 points (limit 0.5)"
    )
    assert block.tone == "worse"
    told = "BREACH (1 breach of 1 threshold), B against A; no justification was read"
    assert opening.header(found).badges[0] == ("Guard", told)
    # The other way round it is a gain.
    assert opening.answer(load_diff(*reversed(paths))).finding == (
        "Guard passed, on provisional labels: 1 threshold holds"
    )
    thresholds.path.write_text("[[threshold]]\n")
    found = load_diff(*paths)
    finding = opening.answer(found).finding
    assert finding.startswith("Guard not asked, on provisional labels: no clear change in P@5 and")
    badge = dict(opening.header(found).badges)["Guard"]
    assert badge.startswith("not asked: data/eval/guard.toml: ")


def test_what_was_accepted_is_a_banner_on_the_first_screen():
    pair = accepted_pair()
    with pytest.raises(NothingToEvaluateError):
        diff(*pair, seed=1)
    found = made(*pair, accept=("gold_set",))
    assert dict(opening.header(found).badges)["Accepted differences"] == (
        "NOT THE SAME MEASUREMENT: gold_set"
    )
    answer = opening.answer(found)
    assert answer.finding.startswith("Not the same measurement: ")
    assert answer.sentences[0].startswith("Accepted by name: the gold set changed")
    assert answer.tone == "worse"
    assert any("Accepted although it differs" in note for note in notes(tables.setup_fields(found)))
    plain = dict(opening.header(made()).badges)["Accepted differences"]
    assert plain == "none: they measured the same"


def test_a_filter_is_followed_by_every_number():
    found = made()
    docs = found.filter("corpus == 'docs' and id != 'q2'")
    assert docs.document.n_queries_in_both == 8
    assert set(docs.moved) == {"q1"}
    # Only q1 moved: RR from 1 to 1/2 over five queries.
    assert docs.document.metrics["RR"].delta_points == pytest.approx(-10.0)
    shown = Shown(docs)
    assert shown.badges()["Filter"] == docs.filtered
    assert "whole runs" in shown.badges()["Guard"]
    assert docs.filter("id == 'q1'").document.n_queries_in_both == 1
    with pytest.raises(BadInputError, match="no query passes"):
        found.filter("corpus == 'nowhere'")


def test_loading_takes_files_and_labels_and_names_what_is_wrong(tmp_path):
    first = write(tmp_path, run(label="before"), "eval-report-20260105T100000Z.json")
    write(tmp_path, run({"q1": "x"}, label="after"), "eval-report-20260105T110000Z.json")
    found = load_diff(first, "after", data=tmp_path)
    assert found.names == ("before", "after")
    with pytest.raises(BadInputError, match="labels there"):
        load_diff(first, "gone", data=tmp_path)
    with pytest.raises(BadInputError, match="only one was given"):
        load_diff(first)
    with pytest.raises(BadInputError, match="given as text"):
        load_diff(5, "after")
    with pytest.raises(BadInputError, match="cannot be accepted"):
        load_diff(first, "after", data=tmp_path, accept="depth, nonsense")
    with pytest.raises(BadInputError, match="absent"):
        load_diff(first, "after", data=tmp_path, noise=tmp_path / "absent")


def test_at_most_five_causes_are_named_and_none_is_made_up(monkeypatch):
    found = made()
    assert only(found.causes, Empty).is_expected
    named = [SimpleNamespace(sentence=f"{n} of 13 queries <b>") for n in range(9)]
    monkeypatch.setitem(vars(found), "document", SimpleNamespace(causes=named))
    block = found.causes
    assert block.finding == "0 of 13 queries <b>"
    assert len(block.sentences) == 4
    assert "<b>" not in block._repr_mimebundle_()["text/html"]
