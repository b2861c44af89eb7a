"""Merging of the mentions of one file, and texts that harnesses add."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from retrieval_eval.agents.traces.results.base import distinct, is_file_path
from retrieval_eval.agents.traces.results.payload import is_failure, undecorated
from retrieval_eval.records import RawTarget


def test_a_write_does_not_hide_what_the_same_call_showed() -> None:
    # An edit is answered with the lines around it.
    first, second = RawTarget("a", "written"), RawTarget("a", "matched", lines=((3, 9),))
    assert distinct([first, second]) == (first, second)
    assert distinct([first, replace(second, doubt="no_result")]) == (first,)


def test_lines_of_all_mentions_are_merged_in_order_of_first_appearance():
    found = distinct(
        [
            RawTarget("b", "matched", "r", ((5, 6),)),
            RawTarget("a", "matched", "r", None),
            RawTarget("b", "matched", "r", ((1, 4), (9, 9))),
            RawTarget("b", "matched", "other", ((2, 2),)),
            RawTarget("folder/", "listed"),
        ]
    )
    assert [(t.path, t.repository, t.lines) for t in found] == [
        ("b", "r", ((1, 6), (9, 9))),
        ("a", "r", None),
        ("b", "other", ((2, 2),)),
    ]


@pytest.mark.parametrize(
    "path", ["", "   ", "a/", "a\\", "a\nb", "..", "a/.", "x" * 5000, "\ud800"]
)
def test_what_is_no_file(path):
    assert not is_file_path(path)


def test_only_reminders_at_the_start_of_a_line_are_the_harness_speaking():
    quoted = "a.py:1:print('<system-reminder>x</system-reminder>')"
    assert undecorated(quoted) == quoted
    assert undecorated(f"a\n<system-reminder>\nx\n</system-reminder>\n{quoted}") == f"a\n\n{quoted}"


@pytest.mark.parametrize(
    "text", ["12\tError: x", "src/a.py:3:Error: x", "errors.go", "An Error: x", "File does exist"]
)
def test_content_about_errors_is_no_failure(text):
    assert not is_failure(text)


@pytest.mark.parametrize(
    ("mentions", "access"),
    [
        (["listed", "matched"], "matched"),
        (["matched", "listed"], "matched"),
        (["opened", "matched", "listed"], "opened"),
        (["matched", "opened"], "opened"),
    ],
)
def test_a_file_counts_by_its_strongest_mention(mentions, access):
    (target,) = distinct(RawTarget("a.py", mention) for mention in mentions)
    assert target.access == access
