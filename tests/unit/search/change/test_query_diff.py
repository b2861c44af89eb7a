from __future__ import annotations

import pytest

from retrieval_eval.model.search_diff import MetricOfQuery
from retrieval_eval.search.change import diff
from retrieval_eval.search.change.diff_text import compare_queries, query_lines, side_by_side
from tests.plain_runs import stored
from tests.searches import answer, failure, gold_query, gold_set, run_of

LONG = "path/to/" + "a-rather-long-document-name-" * 3
WIDE = "書" * 30
GOLD = gold_set(
    gold_query("q1", {LONG: 1, "a": 2}, query="\x1b[2J\nrank  A\r " + "long " * 40),
    gold_query("q2", {"a": 1}),
    gold_query("q3", {"a": 1}),
)


def compared(before, after, *names, **options):
    a, b = (stored(run_of(GOLD, answers)) for answers in (before, after))
    return compare_queries(diff(a, b, seed=1, **options), a, b, names)


def test_deep_ranks_are_shown_where_a_document_is_relevant():
    deep = [f"d{i:02}" for i in range(40)]
    before = [answer("q1", [*deep[:30], "a", *deep[30:]]), answer("q2"), answer("q3")]
    after = [answer("q1", deep), answer("q2"), answer("q3")]
    (query,) = compared(before, after, "q1").queries
    rows = side_by_side(query)
    assert [(row.rank, row.n_skipped) for row in rows[19:]] == [(20, 0), (31, 10)]
    assert rows[-1].a.doc == "a"
    assert rows[-1].a.other_rank is None


def test_no_line_is_wider_than_80_columns_and_no_text_leaves_its_place():
    docs = [LONG, WIDE, "\x1b]0;title\x07", "\u202eevil", "a"]
    before = [answer("q1", docs), answer("q2"), answer("q3")]
    after = [answer("q1", docs[::-1]), answer("q2"), answer("q3")]
    lines = list(query_lines(compared(before, after, "q1")))
    for line in lines:
        assert len(line) + sum(character == "書" for character in line) <= 80
        assert line.isprintable()
    text = "".join(line.replace(" ", "") for line in lines)
    assert text.count("書") == 60
    assert sum(line.startswith("rank") for line in lines) == 1


@pytest.mark.parametrize("is_failed_before", [False, True])
def test_failed_and_absent_answers_have_no_number(is_failed_before):
    good = [answer("q1", ["a"]), answer("q2", ["a"]), answer("q3", ["a"])]
    bad = [answer("q1", ["a"]), failure("q2", "time out"), answer("q3", is_refused=True)]
    sides = (bad, good) if is_failed_before else (good, bad)
    found = compared(*sides, "q2", "q3")
    failed, refused = found.queries
    of_failed, of_good = ("a", "b") if is_failed_before else ("b", "a")
    assert {getattr(m, of_failed) for m in failed.metrics.values()} == {None}
    assert failed.metrics["RR"] == MetricOfQuery(**{of_good: 1.0, of_failed: None}, points=None)
    assert {m.points for m in failed.metrics.values()} == {None}
    text = "\n".join(query_lines(found))
    assert "failed: time out" in text
    assert "refused" in text
    assert {failed.a.outcome, failed.b.outcome} == {"answered", "failed"}
    assert {refused.a.outcome, refused.b.outcome} == {"answered", "refused"}
