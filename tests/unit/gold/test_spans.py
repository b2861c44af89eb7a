from __future__ import annotations

import json
import os

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.chunks import chunks, digest, misplaced, read_source
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.model.gold import Anchor


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


def test_a_source_below_the_folder_is_read(tree):
    assert read_source(tree, "sub/a.md").value.startswith("# Head")


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
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_corpus(path)


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


@pytest.mark.parametrize("name", ["absent", "a" * 300])
def test_a_folder_of_sources_that_is_not_there_is_named(tmp_path, name):
    with pytest.raises(BadInputError, match="no such folder of sources"):
        misplaced([], tmp_path / name)


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
