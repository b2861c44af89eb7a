from __future__ import annotations

import hashlib
import sys
import unicodedata

import pytest

from retrieval_eval.search.gold.identity import normalize_query, query_id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("late fees", "  LATE \t\n fees "),
        ("café", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("a\u00a0b", "a b"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ],
)
def test_the_same_query_in_other_letters(one, other):
    assert normalize_query(one) == normalize_query(other)
    assert query_id("law", one) == query_id("law", other)


@pytest.mark.parametrize(("one", "other"), [("a b", "ab"), ("résumé", "resume"), ("c++", "c")])
def test_another_query(one, other):
    assert normalize_query(one) != normalize_query(other)


def test_normalising_twice_changes_nothing_whatever_the_character():
    # Most code points are assigned to no character, or are private.
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) not in ("Cn", "Co"):
            once = normalize_query(f"x{chr(code)}\u0301 y")
            assert normalize_query(once) == once, hex(code)


def test_the_id_is_the_published_digest():
    # printf 'law\0late fees' | sha256sum
    digest = hashlib.sha256(b"law\x00late fees").hexdigest()
    assert query_id("law", "Late  fees") == "g" + digest[:12]
    assert query_id("tax", "Late  fees") != query_id("law", "Late  fees")


def test_half_a_character_has_an_id_too():
    assert len(query_id("law", "\ud800")) == 13
