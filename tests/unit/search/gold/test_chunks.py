"""Chunks of source texts, and where old ones are after re-chunking."""

from __future__ import annotations

import json
import os

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import Anchor
from retrieval_eval.search.gold.chunks import (
    Resolution,
    chunks,
    digest,
    misplaced,
    read_source,
    resolve,
)
from retrieval_eval.search.gold.corpus import read_corpus
from tests.rechunking import write_rows


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    root = tmp_path / "sources"
    (root / "sub").mkdir(parents=True)
    (root / "sub/a.md").write_text("# Head\n\none\ntwo three\n", encoding="utf-8")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "in.md").symlink_to(root / "sub/a.md")
    (root / "folder").symlink_to(root / "sub")
    os.mkfifo(root / "pipe")
    (root / "bytes.md").write_bytes(b"\xff\xfe")
    return root


@pytest.mark.parametrize(
    "source",
    ["../secret.md", "sub/../../secret.md", "/etc/hostname", "out.md", "in.md", "folder/a.md",
     "", ".", "sub", "absent.md", "bytes.md", "a\0b", "x" * 5000, "pipe"],
)  # fmt: skip
def test_nothing_else_is(tree, source):
    found = read_source(tree, source)
    assert found.value is None
    assert found.problem


def _corpus(tmp_path, *rows):
    return read_corpus(write_rows(tmp_path / "corpus.jsonl", rows))


def test_documents_that_do_not_stand_where_they_say(tree, tmp_path):
    rows = [
        {"id": "right", "text": "one two", "source": "sub/a.md", "start": 8, "end": 15},
        {"id": "wrong", "text": "one two", "source": "sub/a.md", "start": 9, "end": 15},
        {"id": "link", "text": "secret", "source": "out.md", "start": 0, "end": 6},
        {"id": "silent", "text": "anything"},
    ]
    wrong, problems = misplaced(chunks(_corpus(tmp_path, *rows)).values(), tree)
    assert wrong == {("default", "wrong"), ("default", "link")}
    assert problems == ["'out.md': is a link, which is not followed"]
    with pytest.raises(BadInputError, match="no such folder"):
        misplaced([], tree / "absent")


def test_spans_of_any_shape(tmp_path):
    bad = [("no", {}), ("list", {"source": ["x"], "start": 1, "end": 2}),
           ("blank", {"source": " ", "start": 1, "end": 2}),
           ("text", {"source": "s", "start": "1", "end": 2}),
           ("true", {"source": "s", "start": True, "end": 2}),
           ("back", {"source": "s", "start": 3, "end": 2})]  # fmt: skip
    corpus = _corpus(tmp_path, *({"id": id_, "text": "t", **said} for id_, said in bad))
    found = chunks(corpus)
    assert [chunk.anchor for chunk in found.values()] == [None] * len(bad)
    assert [chunk.source for chunk in found.values()] == [None, None, None, "s", "s", "s"]
    # A gold row may know what the corpus does not say.
    known = Anchor("elsewhere.md", 4, 5, "0" * 64)
    assert chunks(corpus, {("default", "no"): known})["default", "no"].anchor == Anchor(
        "elsewhere.md", 4, 5, digest("t")
    )


ALPHA = "The first paragraph says that fees are due on the first day of March."
BETA = "The second one says that late fees are two percent for every started month."
GAMMA = "A third adds that nobody has to pay anything in the year of foundation."
COMMON = "This sentence stands in every single part of it."


@pytest.fixture
def cut(tmp_path):
    """Return a function from rows (id, text, source="s.md", start) to chunks."""

    def write(*rows):
        path = tmp_path / "corpus.jsonl"
        lines = []
        place = 0
        for id_, text, *rest in rows:
            source = rest[0] if rest else "s.md"
            row = {"id": id_, "text": text, "source": source}
            row |= {"start": place, "end": place + len(text)} if source else {}
            lines.append(json.dumps(row) + "\n")
            place += len(text) + 1
        path.write_text("".join(lines), encoding="utf-8")
        return chunks(read_corpus(path))

    return write


def _resolved(old, new, sources=None):
    return {key[1]: found for key, found in resolve(old, new, sources).items()}


def test_the_same_text_is_the_same_document_wherever_it_stands(cut):
    old = cut(("a", ALPHA), ("b", BETA))
    new = cut(("x", GAMMA), ("y", BETA.replace(" ", "\n  ")), ("z", ALPHA, "other.md"))
    assert _resolved(old, new) == {
        "a": Resolution("moved", ("z",)),
        "b": Resolution("moved", ("y",)),
    }


def test_equal_texts_are_told_apart_by_their_order(cut):
    old = cut(("a", COMMON), ("b", ALPHA), ("c", COMMON))
    new = cut(("x", GAMMA), ("c", COMMON), ("y", ALPHA), ("a", COMMON))
    found = _resolved(old, new)
    assert (found["a"].docs, found["c"].docs) == (("c",), ("a",))
    # One of them is gone: the id decides, else the place.
    fewer = _resolved(old, cut(("c", COMMON), ("y", ALPHA)))
    assert (fewer["a"].docs, fewer["c"].docs) == (("c",), ("c",))


def test_a_document_that_holds_all_of_the_text_carries_it(cut):
    old = cut(("a", ALPHA), ("b", BETA))
    new = cut(("x", f"{ALPHA} {BETA} {GAMMA}"), ("y", f"{ALPHA}\n{BETA}"))
    found = _resolved(old, new)
    assert found["a"] == found["b"] == Resolution("carried", ("y", "x"))


def test_a_text_in_several_documents_was_split(cut):
    old = cut(("a", f"{ALPHA} {BETA}"), ("b", GAMMA))
    new = cut(("a1", ALPHA), ("a2", BETA), ("b", GAMMA))
    assert _resolved(old, new)["a"] == Resolution("changed", ("a1", "a2"), "split")


def test_shared_sentences_and_documents_that_are_accounted_for_do_not_count(cut):
    old = cut(("a", f"{ALPHA} {COMMON}"), ("b", f"{BETA} {COMMON}"), ("c", f"{COMMON} {GAMMA}"))
    new = cut(
        ("a", f"{ALPHA} {COMMON}"),
        ("b1", BETA.replace("two", "three")),
        ("c1", f"{COMMON} {GAMMA[:40]}"),
    )
    found = _resolved(old, new)
    assert found["a"].how == "moved"
    assert found["b"] == Resolution("changed", ("b1",), "changed")
    assert found["c"] == Resolution("changed", ("c1",), "changed")


def test_a_document_that_is_another_old_one_unchanged_is_no_part(cut):
    # Windows overlap: b stands in a as well, and is still the same.
    old = cut(("a", f"{ALPHA} {BETA}"), ("b", BETA))
    new = cut(("a1", f"{ALPHA} {GAMMA}"), ("b", BETA))
    assert _resolved(old, new)["a"] == Resolution("changed", ("a1",), "changed")


def test_a_rewritten_document_of_the_same_id_is_looked_at_again(cut):
    old, new = cut(("a", ALPHA), ("b", BETA)), cut(("a", GAMMA), ("x", BETA))
    assert _resolved(old, new)["a"] == Resolution("changed", ("a",), "changed")
    gone = _resolved(old, cut(("y", GAMMA), ("x", BETA)))
    assert gone["a"] == Resolution("gone", (), "text_gone")


def test_a_source_that_vanished(cut, tmp_path):
    old = cut(("a", ALPHA, "old.md"), ("b", BETA))
    new = cut(("b", BETA))
    assert _resolved(old, new)["a"] == Resolution("gone", (), "source_gone")
    (tmp_path / "sources").mkdir()
    assert _resolved(old, new, tmp_path / "sources")["a"].reason == "source_gone"
    (tmp_path / "sources/old.md").write_text("something", encoding="utf-8")
    assert _resolved(old, new, tmp_path / "sources")["a"].reason == "source_without_chunks"


def test_without_spans_only_the_same_id_is_looked_at(cut):
    old = cut(("a", ALPHA, None), ("b", BETA, None), ("c", f"{GAMMA} {ALPHA}", None))
    new = cut(("a", f"{ALPHA} {GAMMA}", None), ("x", BETA, None), ("y", GAMMA, None))
    assert _resolved(old, new) == {
        "a": Resolution("carried", ("a",)),
        "b": Resolution("moved", ("x",)),
        "c": Resolution("gone", (), "text_gone"),
    }


@pytest.mark.parametrize("short", ["Yes.", "Fees apply", ""])
def test_short_texts(cut, short):
    old = cut(("a", short), ("b", BETA))
    found = _resolved(old, cut(("a", short), ("b", BETA)))
    assert found["a"] == Resolution("moved", ("a",))
    # It is found as words, and an empty text is not part of anything.
    other = _resolved(old, cut(("x", f"{short} indeed and always so"), ("b", BETA)))
    assert other["a"].how == ("carried" if short else "gone")
    parts = _resolved(cut(("a", f"{ALPHA} {short or 'No.'}")), cut(("x", short or "No.")))
    assert parts["a"] == Resolution("changed", ("x",), "changed")
