from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.search.ask.retrievers.bm25 import stem, tokenize


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        (" \t\n…—!", []),
        ("Betterment levy, § 197(a)", ["betterment", "levy", "197", "a"]),
        ("a b 7", ["a", "b", "7"]),
        ("don't SOC2 snake_case A-1", ["don", "t", "soc2", "snake", "case", "a", "1"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),
        ("ﬁle ２０２４ ①", ["file", "2024", "1"]),
        ("פסק דין מס' 5", ["פסק", "דין", "מס", "5"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("قانون الضرائب", ["قانون", "الضرائب"]),
        ("한국어 법", ["한국어", "법"]),
        ("日本語", ["日本", "本語"]),
        ("税", ["税"]),
        ("第5条の税", ["第", "5", "条の", "の税"]),
        ("tax法令tax", ["tax", "法令", "tax"]),
        ("ภาษี", ["ภา", "าษ", "ษี"]),
    ],
)
def test_terms(text, terms):
    # Normalised here too, for an editor may store marks in another form than is typed.
    assert tokenize(text) == [unicodedata.normalize("NFKC", term) for term in terms]


@pytest.mark.parametrize(
    ("term", "stemmed"),
    [
        # Harman 1991: -ies but not -eies, -aies; -es but not -aes, -ees, -oes; -s but not -us, -ss.
        ("queries", "query"),
        ("zombeies", "zombeies"),
        ("bases", "base"),
        ("fees", "fees"),
        ("shoes", "shoes"),
        ("taxes", "taxe"),
        ("costs", "cost"),
        ("bonus", "bonus"),
        ("access", "access"),
        ("levy", "levy"),
        ("", ""),
    ],
)
def test_stems(term, stemmed):
    assert stem(term) == stemmed


@given(st.text())
def test_any_text_gives_terms_that_do_not_depend_on_its_form(text):
    terms = tokenize(text)
    assert all(terms)
    assert not any(char.isspace() for term in terms for char in term)
    assert tokenize(unicodedata.normalize("NFD", text)) == terms


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_gives_the_same_terms(text):
    # "é" sends the whole text the long way.
    assert tokenize(f"{text} é") == [*tokenize(text), "é"]
