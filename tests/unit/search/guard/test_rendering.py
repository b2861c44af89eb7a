from __future__ import annotations

import re
from datetime import date

import pytest

from retrieval_eval.search.guard.justification import Justification
from retrieval_eval.search.guard.rendering import MARKER, to_comment, to_text
from tests.guards import QUICK, drop, run_with, thresholds_of, with_claims
from tests.plain_runs import check
from tests.searches import answer, gold_query, gold_set, run_of

TODAY = date(2026, 1, 10)
HOSTILE = "<img src=x>|`a`\n\n## PASS\x1b[2J @team **b** </details> \u202e"


def verdict_of(folder, run, baseline, *rows, **options):
    return check([run], [baseline], thresholds_of(folder, *rows), today=TODAY, **options)


@pytest.fixture
def breach(tmp_path):
    baseline, run = run_with([3] * 10), run_with([2, 2, 4, *[3] * 7])
    strict = drop("claim_coverage", 1, "required = true")
    return verdict_of(tmp_path, run, baseline, drop("P@5", 1.5), strict)


def test_the_comment_says_what_a_reviewer_needs(breach):
    lines = to_comment(breach).splitlines()
    assert lines[0] == MARKER
    assert lines[1] == "## ❌ Retrieval guard: BREACH: 2 thresholds: 1 breach, 1 no verdict"
    head, ruler, row, missing = (line.strip("| ").split(" | ") for line in lines[3:7])
    assert head[:4] == ["metric", "baseline", "now", "points"]
    assert set(ruler) == {"---", "---:"}
    assert row[:4] == ["`P@5`", "0.600", "0.580", "−2.00"]
    assert row[5:] == [
        "10: 2 worse, 1 better, net 0.2",
        "−1.5 points (0.1 queries)",
        "threshold",
        "**BREACH**",
    ]
    assert missing[0] == "`claim_coverage`"
    assert missing[-1] == "**NO VERDICT**"
    text = "\n".join(lines)
    assert "<summary>P&#64;5: all 3 queries that moved</summary>" in text
    assert "| q000 | docs | text of q000 | 0.600 | 0.400 | −2.00 |" in text


def test_every_block_is_closed_and_every_row_has_as_many_cells(breach):
    text = to_comment(breach)
    assert text.count("<details>") == text.count("</details>") == 1
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({line.count(" | ") for line in table.splitlines()}) == 1


def test_hostile_text_stays_text(tmp_path):
    def world(docs):
        gold = gold_set(gold_query(HOSTILE, {"d1": 1}, query=HOSTILE, corpus=HOSTILE))
        return run_of(gold, [answer(HOSTILE, docs)], settings=QUICK, label=HOSTILE)

    row = drop("RR", 1, 'slice = { corpus = "<b>\\n|x" }')
    why = Justification({"RR": 100}, HOSTILE, HOSTILE, "b", date(2027, 1, 1))
    found = verdict_of(
        tmp_path, world(["x"]), world(["d1"]), drop("RR", 1), row, justifications=[why]
    )
    text = to_comment(found)
    assert text.startswith(MARKER + "\n## ")
    for wrong in ("<img", "</details> ", "\x1b", "\u202e", "@team", "**b**", "<b>"):
        assert wrong not in text, wrong
    assert text.count("\n## ") == 1
    assert text.count("<details>") == text.count("</details>") == 1
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({line.count(" | ") for line in table.splitlines()}) == 1
    shown = to_text(found)
    assert "\x1b" not in shown
    assert not any(line.startswith("## PASS") for line in shown.splitlines())


def test_no_verdict_says_why_and_nothing_else(tmp_path):
    run = run_with([3] * 10)
    run["queries"] = run["queries"][:5]
    text = to_comment(verdict_of(tmp_path, run, run_with([3] * 10), drop("P@5", 1)))
    assert "## ⚠️ Retrieval guard: NO VERDICT" in text
    assert "the run is truncated: it asked 5 of 10 queries of the gold set" in text
    assert "**NO VERDICT**" in text
    assert "<details>" not in text


def test_an_overridden_breach_is_loud(tmp_path):
    why = Justification({"P@5": 45}, "chunks changed", "ann", "bob", date(2026, 2, 1))
    found = verdict_of(
        tmp_path, run_with([1] * 9), run_with([3] * 9), drop("P@5", 1), justifications=[why]
    )
    text = to_comment(found)
    assert "PASS BY JUSTIFICATION of 1" in text
    assert "**OVERRIDDEN**" in text
    sentence = (
        "OVERRIDDEN: P@5: 40.00 of at most 45 points excused: chunks changed (written by ann, "
        "approved by bob, approval unverified, valid up to 2026-02-01)."
    )
    assert sentence.replace("@", "&#64;") in text
    assert sentence in to_text(found)


def test_at_most_ten_queries_are_listed_the_worst_first(tmp_path):
    hits = [0, 1, *[2] * 12, *[3] * 6]
    found = verdict_of(tmp_path, run_with(hits), run_with([3] * 20), drop("P@5", 1))
    text = to_comment(found)
    assert "P&#64;5: the worst 10 of 14 queries that moved" in text
    listed = re.findall(r"^\| (q\d+) ", text, flags=re.MULTILINE)
    assert listed == [f"q{place:03}" for place in range(10)]


def test_the_text_of_a_failing_test_is_the_same_verdict(breach):
    lines = to_text(breach).splitlines()
    assert lines[0] == "BREACH: 2 thresholds: 1 breach, 1 no verdict"
    assert any(line.startswith("P@5") and line.endswith("BREACH") for line in lines)
    assert "BREACH: P@5: 2.00 points worse, and 1.5 are allowed." in lines
    assert lines[-1].startswith("Paired over queries; a change beyond its threshold is a breach;")
    assert "Intervals: 95%, queries resampled. Policy " in lines[-1]
    assert lines[-1].endswith(", nothing justified.")


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
