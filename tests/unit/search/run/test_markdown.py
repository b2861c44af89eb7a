from __future__ import annotations

import re

import mistune
import pytest

from retrieval_eval.search.run.markdown import escaped
from retrieval_eval.search.run.summary import metric_rows, points
from tests.plain_runs import delta, header, notices, shown_measures, stored, to_markdown
from tests.searches import answer, failure, gold_query, gold_set, run_of

HOSTILE = [
    "a | b || c",
    "`code` ``x``",
    "<script>alert(1)</script>",
    "<!-- comment",
    "[link](http://x.example) ![i](y)",
    "*bold* _it_ **b** __c__ ~~d~~",
    "# heading",
    "back\\slash \\| \\",
    "&amp; &lt;",
    "http://x.example www.x.example a@x.example",
    "$x^2$ {{< include x >}} [^1] ::: {.c}",
    "\"quotes\" 'q' -- ...",
    "- item",
    "snake_case _x __y__z_ a_b_",
    ":smile: a:b mailto:x@y.example",
    "(a)[b](c) (x) + 1. 2) !",
    "| --- | --- |",
]

RENDER = mistune.create_markdown(
    escape=False, plugins=["table", "strikethrough", "url", "footnotes"]
)


def text_of(html):
    """What a reader sees of a piece of HTML; the spaces that keep it from being linked are not."""
    import html as entities

    return entities.unescape(re.sub(r"<[^>]*>", "", html)).replace("\u200b", "")


@pytest.mark.parametrize("text", [*HOSTILE, "@team and a@b for #12 (#1) of t/r#1"])
def test_hostile_text_shows_as_it_stands_and_becomes_nothing(text):
    shown = RENDER(f"before {escaped(text)} after")
    assert re.findall(r"<(\w+)", shown) == ["p"]
    assert text_of(shown).strip() == f"before {text} after"
    cell = RENDER(f"| a | b |\n| --- | --- |\n| {escaped(text)} | end |\n")
    assert set(re.findall(r"<(\w+)", cell)) == {"table", "thead", "tr", "th", "tbody", "td"}
    assert cell.count("<td") == 2
    cells = [text_of(found) for found in re.findall(r"<td[^>]*>(.*?)</td>", cell)]
    assert cells == [text, "end"]


def test_a_host_finds_no_mention_and_no_issue():
    # Hosts look for these in the text of the rendered page.
    for text in ("@team", "(@team)", "x@y.example", "#12", "team/repo#12"):
        html = re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), RENDER(escaped(text)))
        assert not re.search(r"@\w|#\d", html), html
    assert escaped("P@5, nDCG@10.") == "P&#64;5, nDCG&#64;10."


def test_text_stays_on_one_line_and_nothing_hides():
    assert escaped("a\n\nb\tc") == "a b c"
    assert escaped("a\u202eb\x1b[31m") == r"a\\u202eb\\u001b\[31m"


GOLD = gold_set(
    *(gold_query(f"q{n}", {"a": 1}, query=text) for n, text in enumerate(HOSTILE)),
    gold_query("bad", {"a": 1}, area="x|y", source="chair"),
)


def run(ranking, **fields):
    answers = [answer(q.id, ranking) for q in GOLD.queries[:-1]]
    return run_of(GOLD, [*answers, failure("bad", "boom | <b>")], label="*new*", **fields)


@pytest.fixture
def document():
    document = run(["a"])
    document["delta"] = delta(run(["x", "a"]), document, seed=1)
    return document


def test_the_page_holds_what_a_reviewer_needs(document):
    shown = RENDER(to_markdown(document))
    assert set(re.findall(r"<(\w+)", shown)) <= {
        *("h1", "h2", "p", "strong", "ul", "li"),
        *("table", "thead", "tr", "th", "tbody", "td"),
    }
    text = " ".join(text_of(shown).split())
    assert "Search run: *new*" in text
    assert "No verdict: 1 of 18 queries failed" in text
    assert "n_queries=18, n_labelled_pairs=18" in text
    assert "boom | <b>" in text
    assert "x|y" in text
    for query in GOLD.queries:
        assert " ".join(query.query.split()) in text


def test_the_change_stands_in_points(document):
    text = text_of(RENDER(to_markdown(document)))
    # RR 1/2 → 1 for all pairs; P@1 0 → 1.
    assert "0.500\n1.000\n+50.00" in re.sub(r"\s*\n\s*", "\n", text)
    n = len(HOSTILE)
    assert f"{n} queries moved, {n} have another first document." in text


def test_without_a_baseline_it_says_how_to_make_one():
    assert "No baseline yet: `retrieval-eval search baseline --update RUN`" in to_markdown(
        run(["a"])
    )


def test_a_change_that_cannot_be_compared_gives_its_reason_and_no_table(document):
    other = run(["a"])
    other["run"]["gold_set"]["fingerprint"] = "0" * 64
    document["delta"] = delta(other, document, seed=1)
    text = text_of(RENDER(to_markdown(document)))
    assert "Not comparable: gold_set: the gold set changed" in text
    assert "points" not in text


def test_the_backlog_is_shown_when_there_is_one(document):
    assert "Backlog" not in to_markdown(document)
    counts = {"pending_review": 3, "approved": 2, "rejected": 1, "published": 0, "other": 0}
    document["backlog"] = {**counts, "total": 6, "oldest_pending_at": "2026-01-01T00:00:00Z"}
    text = text_of(RENDER(to_markdown(document)))
    assert "pending review 3, approved 2, rejected 1, published 0, other 0, total 6" in text
    assert "the oldest pending since 2026-01-01T00:00:00Z" in text


def test_the_header_names_all_that_was_measured():
    gold = gold_set(gold_query("q1", {"a": 1}))
    facts = {"name": "hybrid", "reranker": "cross"}
    document = run_of(gold, [answer("q1", is_refused=True)], facts=facts, options={"k1": "2"})
    document["run"]["corpora"][0]["n_documents"] = 8000
    document["run"]["retriever"]["floor"] = 0.25
    assert header(document) == [
        ("corpus", "docs (8,000 documents); document ids not checked (no --corpus-file)"),
        ("gold set", "gold-set (n_queries=1, n_labelled_pairs=1), provisional (bootstrap-only)"),
        ("queries", "1 asked, 0 failed, 1 empty, 1 refused"),
        ("answers", "1 query, 0 failed; ids not checked; none asked twice"),
        ("retriever", "hybrid · tests:fake (k1=2)"),
        ("reranker", "cross"),
        ("floor", "0.25"),
    ]
    document["run"]["retriever"]["uses_rerank"] = False
    assert dict(header(document))["reranker"] == "cross, left out"
    assert "provisional (bootstrap-only)" in notices(document)[0]


def test_ids_that_are_none_of_the_gold_set_are_a_notice():
    gold = gold_set(gold_query("q1", {"a": 1}), gold_query("q2", {"b": 1}))
    told = "None of the 3 returned documents has a label, relevant or not: are their ids"
    lost = run_of(gold, [answer("q1", ["A", "B"]), answer("q2", ["B"])])
    assert any(notice.startswith(told) for notice in notices(lost))
    for answers in ([answer("q1", ["A", "a"]), answer("q2", ["B"])], [answer("q1", [])] * 2):
        one, other = answers
        found = notices(run_of(gold, [one, answer("q2", [doc.doc for doc in other.ranking])]))
        assert not any("None of the" in notice for notice in found)


def test_the_short_list_has_the_usual_measures_and_the_unusual_ones_asked_for():
    from retrieval_eval.search.run import BASE_MEASURES, Settings

    gold = gold_set(gold_query("q1", {"a": 1}))
    usual = run_of(gold, [answer("q1", ["a"])])
    assert set(shown_measures(usual)) == set(BASE_MEASURES)
    settings = Settings(k_values=(5, 7))
    document = run_of(gold, [answer("q1", ["a"])], settings=settings)
    assert set(shown_measures(document)) - set(BASE_MEASURES) == {"P@7", "Recall@7", "nDCG@7"}


def test_a_row_of_the_table_of_means():
    gold = gold_set(gold_query("q1", {"a": 1}), gold_query("q2"))
    document = run_of(gold, [answer("q1", {"x": 1.0, "a": 1.0}), answer("q2", ["x"])])
    names = ["RR", "P@5", "Judged@10"]
    rows = {row[0]: row[1:] for row in metric_rows(stored(document).metrics, names, confidence=0.9)}
    assert rows["metric"][1] == "90% interval"
    # x and a tie, so a is first or second; one query has no interval and one nothing relevant.
    assert rows["RR"] == ["0.500", "—", "1", "1", "[0.500, 1.000]", "≤ 1.000"]
    assert rows["P@5"] == ["0.200", "—", "1", "1", "—", "≤ 0.400"]
    assert rows["Judged@10"] == ["0.500", "—", "1", "1", "—", "—"]


def test_points_have_a_sign_and_nothing_has_none():
    assert [points(x) for x in (1.234, -0.5, 0.004, -0.004, 0, None)] == [
        *("+1.23", "−0.50", "0.00", "0.00", "0.00", "—")
    ]
