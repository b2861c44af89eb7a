"""Whatever surrounds a listed name, it is gone; and what is not listed is not touched."""

from __future__ import annotations

import re
import string
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.search.gold.pseudonyms import (
    IDENTIFIERS,
    Entity,
    Hider,
    Listed,
    PseudonymMapping,
    letters,
)

NAMES = ("Zephyrine Holdings", "Quimby", "Löwenfurt & Söhne")
KEY = bytes(32)

splitters = st.sampled_from(["", "", "", "\u00ad", "\u200b", "<b>", "</b>", "<wbr/>", "*", "`"])
gaps = st.sampled_from([" ", "  ", "-", "_", "&nbsp;", "%20", "", ".", "\n", "</b> <i>"])
cases = st.sampled_from([str.lower, str.upper, str.title, lambda text: text])
surroundings = st.text(max_size=12) | st.sampled_from(["<a href='", "'>", "**", "/srv/", "x"])


@st.composite
def disguised(draw):
    """Return a listed name as texts may have it."""
    name = draw(cases)(draw(st.sampled_from(NAMES)))
    if draw(st.booleans()):
        name = unicodedata.normalize("NFD", name)
    words = re.findall(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*", name)
    split = ["".join(char + draw(splitters) for char in word) for word in words]
    return draw(gaps).join(split)


texts = st.lists(st.one_of(disguised(), surroundings), max_size=8).map("".join)


def _hider(names=NAMES, key=KEY):
    entities = tuple(Entity("thing", (name,), (False,)) for name in names)
    patterns = {kind: re.compile(pattern) for kind, pattern in IDENTIFIERS.items()}
    return Hider(Listed(entities, patterns), PseudonymMapping(key))


def _hidden(hider, *texts):
    for text in texts:
        hider.collect(text)
    hider.draw()
    return [hider.hide(text) for text in texts]


def _words(text):
    """Return what a reader sees: letters and digits without markup, accents and case."""
    shown = re.sub(r"<[^<>]*>|[*`]", "", text.replace("&nbsp;", " ").replace("%20", " "))
    return letters(shown)


@given(surroundings, disguised(), surroundings)
def test_a_name_is_gone_whatever_surrounds_it(before, name, after):
    (hidden,) = _hidden(_hider(), f"{before} {name} {after}")
    for original in NAMES:
        assert letters(original) not in _words(hidden)


@given(texts)
def test_the_same_text_gives_the_same_bytes_in_any_order(text):
    other = "account 1234567890 of Quimby, mail x@y.example"
    assert _hidden(_hider(), text, other) == _hidden(_hider(), other, text)[::-1]


@given(st.text(alphabet=string.ascii_lowercase + " .,;!?()\n", max_size=80))
def test_what_is_not_listed_is_not_touched(text):
    if not any(letters(name) in letters(text) for name in NAMES):
        assert _hidden(_hider(), text) == [text]


@given(st.sets(st.from_regex(r"[A-Z][a-z]{4,9}", fullmatch=True), min_size=1, max_size=12))
def test_pseudonyms_differ_and_none_is_an_original(names):
    hider = _hider(tuple(sorted(names)))
    pseudonyms = _hidden(hider, *sorted(names))
    assert len(set(pseudonyms)) == len(names)
    lower = {name.lower() for name in names}
    assert not {pseudonym.lower() for pseudonym in pseudonyms} & lower


@given(st.sets(st.from_regex(r"[1-9][0-9]{7,11}", fullmatch=True), min_size=1, max_size=30))
def test_stand_ins_differ_keep_their_length_and_none_is_an_original(numbers):
    originals = sorted(numbers)
    stand_ins = _hidden(_hider(), *originals)
    assert len(set(stand_ins)) == len(originals)
    assert not set(stand_ins) & numbers
    assert [len(new) for new in stand_ins] == [len(old) for old in originals]
    assert all(new.isdigit() for new in stand_ins)


@given(st.binary(min_size=32, max_size=32))
def test_the_pseudonym_follows_from_the_key(key):
    assert _hidden(_hider(key=key), "Quimby") == _hidden(_hider(key=key), "Quimby")
    (pseudonym,) = _hidden(_hider(key=key), "Quimby")
    assert pseudonym.isalpha()
    assert pseudonym[0].isupper()
