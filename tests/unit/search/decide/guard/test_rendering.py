from __future__ import annotations

import html
import json
import re
from datetime import date

import mistune
import pytest

from retrieval_eval.search.decide.guard.justification import Justification
from retrieval_eval.search.decide.guard.rendering import MARKER, to_comment, to_text
from tests.guards import QUICK, drop, run_with, thresholds_of, with_claims
from tests.plain_runs import check
from tests.searches import answer, gold_query, gold_set, run_of

TODAY = date(2026, 1, 10)


def verdict_of(folder, run, baseline, *rows, **options):
    return check([run], [baseline], thresholds_of(folder, *rows), today=TODAY, **options)


@pytest.fixture
def breach(tmp_path):
    baseline, run = run_with([3] * 10), run_with([2, 2, 4, *[3] * 7])
    strict = drop("claim_coverage", 1, "required = true")
    return verdict_of(tmp_path, run, baseline, drop("P@5", 1.5), strict)


RENDER = mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url"])


def tables(text):
    """Every table of a comment as rows of cells."""
    found = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    return [[line.strip("| ").split(" | ") for line in one.splitlines()] for one in found]


def test_the_comment_leads_with_the_queries_that_carried_the_verdict(breach):
    lines = to_comment(breach).splitlines()
    assert lines[0] == MARKER
    assert lines[1] == (
        "## ❌ Retrieval guard: BREACH: P&#64;5 fell by 2.00 points (2 of 10 queries got worse), "
        "and 1.5 are allowed"
    )
    assert lines[3] == "**What explains it, the most telling first**"
    assert lines[5].startswith(
        "- P&#64;5 by 2.0 points lower: 2 queries of 10 got worse, most of all"
    )
    assert lines[7] == "**`P@5`: all 2 queries that got worse**"
    carried, thresholds, moved = tables("\n".join(lines) + "\n")
    assert carried[0] == ["query", "first relevant document", "lost", "points", "id"]
    text, name = "<code>text of q000</code>", "<code>q000</code>"
    assert carried[2] == [text, "rank 1 → rank 1", "<code>d3</code>", "−2.00", name]
    assert len(carried) == 4
    head, ruler, row, missing = thresholds
    assert head[:4] == ["metric", "baseline", "now", "points"]
    assert set(ruler) == {"---", "---:"}
    assert row[:4] == ["`P@5`", "0.600", "0.580", "−2.00"]
    assert row[5:] == [
        "10: 2 worse, 1 better, net 0.2",
        "−1.5 points (0.1 queries)",
        "threshold",
        "**BREACH**",
    ]
    assert (missing[0], missing[-1]) == ("`claim_coverage`", "**NO VERDICT**")
    # The rest is folded.
    folds = [line for line in lines if line.startswith("<summary>")]
    assert folds == [
        "<summary>Notes and method</summary>",
        "<summary>P&#64;5: all 3 queries that moved</summary>",
    ]
    assert lines.index("<details>") > lines.index("| " + " | ".join(missing) + " |")
    assert moved[2][:3] == [name, "<code>docs</code>", text]


def test_documents_that_went_are_named_with_their_ranks(tmp_path):
    def world(docs):
        gold = gold_set(gold_query("q", {"d1": 2, "d2": 1, "d3": 0}))
        return run_of(gold, [answer("q", docs)], settings=QUICK)

    row = drop("P@5", 1).replace("P@5", "P@1")
    found = verdict_of(tmp_path, world(["x", "d2"]), world(["d1", "d2", "d3"]), row)
    (mover,) = found.rows[0].movers
    assert (mover.rank_before, mover.rank_now, mover.lost) == (1, 2, ("d1",))
    assert "| rank 1 → rank 2 | <code>d1</code> |" in to_comment(found)
    gone = verdict_of(tmp_path, world([]), world(["d1"]), row).rows[0].movers[0]
    assert (gone.rank_before, gone.rank_now, gone.lost) == (1, None, ("d1",))


def test_refusals_and_drafts_are_shown_as_what_they_are(tmp_path):
    before, now = (run_with([3] * 8, refused=refused) for refused in ([True] * 8, [False] * 8))
    row = drop("ungrounded_true_positive_rate", 1)
    text = to_comment(verdict_of(tmp_path, now, before, row))
    assert "| <code>text of u000</code> | refused → answered | −12.50 |" in text
    drafts = [with_claims(run_with([3] * 8), [[True, good]] * 8) for good in (False, True)]
    text = to_comment(verdict_of(tmp_path, *drafts, drop("claim_coverage", 1)))
    assert "| <code>text of q000</code> | 1.000 → 0.500 | −6.25 |" in text


def test_every_block_is_closed_and_every_row_has_as_many_cells(breach):
    text = to_comment(breach)
    assert text.count("<details>") == text.count("</details>") == 2
    for table in tables(text):
        assert len({len(row) for row in table}) == 1


HOSTILE = [
    "<img src=x>|`a`\n\n## PASS\x1b[2J @team **b** </details> \u202e",
    "[a](http://x.example) ![i](http://x.example/i.png) <https://x.example>",
    "https://x.example www.x.example ann@x.example mailto:ann@x.example #12 t/r#3 GH-4",
    "</code></details><!-- @team -->\\| ```\n$x$ :tada: ~~d~~ [^1] &#64;team &lt;b&gt;",
    "- [ ] task\n| a | b |\n| --- | --- |",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_stays_text(tmp_path, hostile):
    def world(docs):
        rows = [
            gold_query(f"{hostile} {n}", {f"{hostile} d": 1}, query=hostile, corpus=hostile)
            for n in range(30)
        ]
        answers = [answer(row.id, docs) for row in rows]
        return run_of(gold_set(*rows), answers, settings=QUICK, label=hostile)

    row = drop("RR", 1, f"slice = {{ corpus = {json.dumps(hostile)} }}")
    why = Justification({"RR": 100}, hostile, hostile, "b", date(2027, 1, 1))
    by_corpus = drop("P@5", 1, 'slices = ["corpus", "area"]')
    found = verdict_of(
        tmp_path,
        world(["x"]),
        world([f"{hostile} d"]),
        *(drop("RR", 1), row, drop("P@5", 1), by_corpus),
        justifications=[why],
    )
    assert {row.verdict for row in found.rows} == {"overridden", "breach", "skipped"}
    text = to_comment(found)
    assert text.startswith(MARKER + "\n## ")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)
    assert text.count("\n## ") == 1
    assert text.count("<details>") == text.count("</details>")
    for table in tables(text):
        assert len({len(row) for row in table}) == 1
    page = RENDER(text)
    assert set(re.findall(r"<(\w+)", page)) <= {
        *("h2", "p", "ul", "li", "strong", "code", "details", "summary"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    # What a host searches for mentions, issues and addresses: the text outside of code.
    outside = html.unescape(re.sub(r"<code>.*?</code>|<[^>]*>", "\n", page))
    assert not re.search(r"(?<!\w)@\w|@x\.|#\d", outside)
    inside = [html.unescape(one) for one in re.findall(r"<code>(.*?)</code>", page)]
    assert not any(re.search(r"@\w|://\w|www\.", one) for one in inside if len(one) > 10)
    shown = to_text(found)
    assert "\x1b" not in shown
    assert not any(line.startswith("## PASS") for line in shown.splitlines())


def test_a_comment_is_never_longer_than_a_host_takes(tmp_path):
    long = "@|<" * 3000
    rows = [gold_query(f"{long}{n}", {"d1": 1}, query=long, area=f"{n}") for n in range(400)]
    runs = (
        run_of(gold_set(*rows), [answer(row.id, docs) for row in rows], settings=QUICK, label=long)
        for docs in (["x"], ["d1"])
    )
    parts = [drop("P@5", 1, f'slice = {{ area = "{n}" }}') for n in range(400)]
    found = verdict_of(tmp_path, *runs, drop("P@5", 1), *parts)
    text = to_comment(found)
    assert len(text.encode()) <= 65_536
    assert text.splitlines()[1].startswith("## ❌ Retrieval guard: BREACH: P&#64;5 fell by 20.00")
    assert "the same holds for 400 further thresholds" in text
    assert re.search(r"And \d+ thresholds more\.", text)
    assert text.endswith("Cut to the length of a comment; `--json` prints the rest.\n")
    assert text.count("<details>") == text.count("</details>")


def test_no_verdict_says_why_first(tmp_path):
    run = run_with([3] * 10)
    run["queries"] = run["queries"][:5]
    text = to_comment(verdict_of(tmp_path, run, run_with([3] * 10), drop("P@5", 1)))
    why = "the run is truncated: it asked 5 of the 10 queries of the gold set"
    assert text.splitlines()[1] == f"## ⚠️ Retrieval guard: NO VERDICT: {why}"
    assert "**NO VERDICT**" in text
    assert "queries that" not in text


def test_a_pass_says_how_many_thresholds_hold(tmp_path):
    same = run_with([3] * 10)
    rows = drop("P@5", 1), drop("claim_coverage", 1)
    text = to_comment(verdict_of(tmp_path, same, same, *rows))
    assert text.splitlines()[1] == "## ✅ Retrieval guard: PASS: 1 threshold holds; 1 not applied"


def test_an_overridden_breach_is_loud(tmp_path):
    why = Justification({"P@5": 45}, "chunks changed", "ann", "bob", date(2026, 2, 1))
    found = verdict_of(
        tmp_path, run_with([1] * 9), run_with([3] * 9), drop("P@5", 1), justifications=[why]
    )
    text = to_comment(found)
    assert text.splitlines()[1].endswith(
        "PASS BY JUSTIFICATION of 1: P&#64;5 fell by 40.00 points (9 of 9 queries got worse), and "
        "1 are allowed; up to 45 are excused"
    )
    assert "**OVERRIDDEN**" in text
    sentence = (
        "OVERRIDDEN: P@5: 40.00 of at most 45 points excused: chunks changed (written by ann, "
        "approved by bob, valid up to 2026-02-01)."
    )
    assert sentence.replace("@", "&#64;") in text
    assert sentence in to_text(found)


def test_at_most_ten_queries_are_listed_the_worst_first(tmp_path):
    hits = [0, 1, *[2] * 12, *[3] * 6]
    found = verdict_of(tmp_path, run_with(hits), run_with([3] * 20), drop("P@5", 1))
    text = to_comment(found)
    assert "**`P@5`: the worst 5 of 14 queries that got worse**" in text
    assert "P&#64;5: the worst 10 of 14 queries that moved" in text
    listed = re.findall(r"^\| <code>(q\d+)<", text, flags=re.MULTILINE)
    assert listed == [f"q{place:03}" for place in range(10)]


def test_the_text_of_a_failing_test_is_the_same_verdict(breach):
    lines = to_text(breach).splitlines()
    assert lines[0] == "BREACH: 2 thresholds: 1 breach, 1 no verdict"
    assert any(line.startswith("P@5") and line.endswith("BREACH") for line in lines)
    assert "BREACH: P@5: 2.00 points worse, and 1.5 are allowed." in lines
    assert lines[-1].startswith("Paired over queries; a change beyond its threshold is a breach;")
    assert lines[-1].endswith("Intervals: 95%, queries resampled.")


def test_bounds_and_directions_are_spelled_out(tmp_path):
    run = with_claims(run_with([3] * 10), [[True]] * 10)
    run["abstention"] = None
    rows = [
        drop("claim_coverage", 2, "floor = 0.5").replace('"points"', '"relative_percent"'),
        'metric = "P@5"\ndirection = "up is bad"\nceiling = 0.9',
        drop("RR", 1, 'slice = { corpus = "docs" }').replace("down", "up"),
    ]
    text = to_text(verdict_of(tmp_path, run, run, *rows))
    assert "−2 % of the baseline (0.2 queries), ≥ 0.5" in text
    assert "≤ 0.9" in text
    assert "+1 points (0.1 queries)" in text
    assert "RR [corpus docs]" in text
    assert "10, none moved" in text


@pytest.mark.parametrize(
    ("rule", "shown", "words"),
    [
        ("threshold", "threshold", "beyond its threshold is a breach; a floor"),
        ("threshold_and_significant", "significance", "one-sided sign-flip test of the queries ("),
        ("threshold_and_beyond_noise", "noise", "beyond the measured run-to-run noise ("),
        ("threshold_and_real", "significance", "where there is none and a system is not determin"),
    ],
)
def test_what_decided_stands_in_every_row_and_the_rule_below(tmp_path, rule, shown, words):
    baseline, run = run_with([3] * 10), run_with([2, *[3] * 9])
    thresholds = thresholds_of(tmp_path, drop("P@5", 5), rule=rule)
    text = to_text(check([run], [baseline], thresholds, today=TODAY))
    head, row = (line.split("  ") for line in text.splitlines()[2:4])
    assert [cell for cell in head if cell][-2].strip() == "decided by"
    assert [cell for cell in row if cell][-2].strip() == shown
    assert words in text.splitlines()[-1]
