from __future__ import annotations

import subprocess
import sys

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.ask.retrievers import open_retriever


@pytest.mark.parametrize(
    "spec", ["", "bm25", "corpus.jsonl", "ftp://x/y", "a b:c", "module:", ":name", "mod:na-me"]
)
def test_a_spec_of_no_known_kind_is_refused(spec):
    with pytest.raises(BadInputError, match=r"names no retriever|needs a file"):
        open_retriever(spec)


@pytest.mark.parametrize("spec", ["bm25:", "run:"])
def test_a_file_must_be_named(spec):
    with pytest.raises(BadInputError, match=f"{spec} needs a file; expected bm25:CORPUS.jsonl"):
        open_retriever(spec)


def test_a_home_directory_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "text": "tax"}\n', encoding="utf-8")
    retriever = open_retriever("bm25:~/corpus.jsonl")
    assert [doc.doc for doc in retriever.search("tax", corpus="default", k=1)] == ["a"]


def test_no_library_is_loaded_before_it_is_needed():
    heavy = ("bm25s", "httpx", "tenacity", "sqlalchemy", "numpy", "pandas", "scipy")
    program = (
        "import sys\n"
        "import retrieval_eval.search.run.running, retrieval_eval.search.ask.query_vectors\n"
        "import retrieval_eval.search.ask.retrievers.http\n"
        "import retrieval_eval.search.ask.retrievers.module\n"
        "import retrieval_eval.search.ask.retrievers.ranked_file\n"
        f"print(*(name for name in {heavy!r} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
