from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.escape import (
    html_text,
    markdown_text,
    shorten,
    slug,
    typst_string,
    visible,
)

anything = st.text(st.characters(codec=None), max_size=80)


@given(anything)
def test_html_holds_no_markup_and_keeps_the_words(text):
    escaped = html_text(text)
    assert not set(escaped) & set("<>\"'")
    assert html.unescape(escaped) == visible(text)


@given(anything)
def test_visible_text_is_one_printable_line(text):
    shown = visible(text)
    assert "\n" not in shown
    assert shown.isprintable()
    shown.encode("utf-8")


@pytest.mark.parametrize(
    "blank",
    ["\u034f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u2800", "\u3164", "\ufe0f", "\uffa0",
     "\U000e0101"],
)  # fmt: skip
def test_letters_and_marks_without_ink_are_made_visible(blank):
    # `isprintable` holds for all of these, and `main.py` with one looks like `main.py`.
    assert visible(f"main{blank}.py") == f"main\\u{ord(blank):04x}.py"


@given(anything)
def test_markdown_leaves_no_active_character_unescaped(text):
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", markdown_text(text))
    assert not set(bare) & set("\\`*_{}[]()#|<>~$^@&\"'=!")


def test_quarto_short_codes_and_links_are_broken_up():
    assert "{{<" not in markdown_text("{{< include /etc/passwd >}}")
    assert "](" not in markdown_text("a](javascript:alert(1))")
    assert "{{" not in typst_string("{{< include x >}}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("..", "run"), ("../../etc", "etc"), ("a/b", "a_b"), ("", "run"), ("x" * 500, "x" * 120)],
)
def test_a_slug_is_one_path_component(text, expected):
    assert slug(text) == expected


@given(anything)
def test_a_slug_is_short_enough_for_a_file(text):
    assert 0 < len(slug(text * 99).encode()) <= 240


@given(anything, st.integers(1, 20))
def test_shortened_text_keeps_the_limit(text, limit):
    assert len(shorten(text, limit)) <= limit
