"""What every kind of retriever promises, those of other distributions included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.ask import Retriever
from retrieval_eval.search.ask.retrievers import (
    RETRIEVERS,
    RetrieverKind,
    open_retriever,
    retriever_kind,
    shown_kinds,
)

SPECS = {
    "bm25": "bm25:corpus.jsonl",
    "http": "http://127.0.0.1:1/search",
    "module": "json:loads",
    "run": "run:run.trec",
}


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "text": "tax"}\n')
    (tmp_path / "run.trec").write_text("q Q0 a 1 2.0 x\n")
    (tmp_path / "mine.py").write_text("def search(query, *, corpus, k): return ['a']\n")
    monkeypatch.setitem(SPECS, "module", "mine:search")


@pytest.fixture(params=sorted(RETRIEVERS))
def kind(request):
    return request.param


def test_a_spec_names_its_kind(kind):
    assert retriever_kind(SPECS[kind]) == kind
    assert RETRIEVERS[kind].shown in shown_kinds()


def test_it_opens_describes_itself_in_json_and_closes(kind):
    retriever = open_retriever(SPECS[kind])
    assert isinstance(retriever, Retriever)
    assert json.loads(json.dumps(retriever.describe()))["name"]
    close = getattr(retriever, "close", lambda: None)
    close()
    close()


_ASK = """
import sys
from retrieval_eval.search.ask.retrievers import open_retriever

for spec in sys.argv[1:]:
    retriever = open_retriever(spec)
    assert retriever.is_deterministic
    asked = [f"w{n} w{n * 7 % 40}" for n in range(40)] + [f"w{n}" for n in range(40)]
    answers = {query: retriever.search(query, corpus="default", k=5) for query in asked}
    print([[(found.doc, found.score.hex()) for found in answers[query]] for query in sorted(asked)])
"""


def test_what_declares_that_it_is_deterministic_answers_alike_in_every_process():
    texts = {f"d{n}": " ".join(f"w{n * step % 40}" for step in range(9)) for n in range(200)}
    rows = [{"id": doc, "text": text} for doc, text in texts.items()]
    Path("corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = (f"w{n % 40} Q0 d{n} 1 {n % 3} x\n" for n in range(200))
    Path("run.trec").write_text("".join(lines))
    said = set()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", _ASK, SPECS["bm25"]],
            env={
                **os.environ,
                "PYTHONHASHSEED": hash_seed,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        said.add(done.stdout)
    assert len(said) == 1
    assert "d199" in said.pop()


def test_an_unknown_option_is_named_each_time_alike(kind):
    said = set()
    for _ in range(2):
        with pytest.raises(BadInputError, match="nonsense") as caught:
            open_retriever(SPECS[kind], {"nonsense": "1"})
        said.add(str(caught.value))
    assert len(said) == 1


def test_the_options_of_the_help_are_those_there_are(kind):
    for name in RETRIEVERS[kind].options:
        # No option has such a value, or it takes any; both ways the option is known.
        said = ""
        try:
            open_retriever(SPECS[kind], {name: "\n"})
        except BadInputError as error:
            said = str(error)
        assert "has no option" not in said


def test_another_distribution_adds_a_kind_by_its_scheme():
    opened = []
    mine = RetrieverKind("mine:PLACE", lambda spec, options: opened.append((spec, options)))
    RETRIEVERS.add("mine", mine)
    try:
        open_retriever("mine:here", {"depth": "2"})
        assert "mine:PLACE" in shown_kinds()
    finally:
        del RETRIEVERS._entries["mine"]
    assert opened == [("mine:here", {"depth": "2"})]
    assert retriever_kind("mine:here") == "module"


@pytest.mark.parametrize("spec", ["dense:vectors.npy", "postgresql://me@db/law", "rrf:a,b"])
def test_a_removed_kind_says_where_it_went(spec):
    with pytest.raises(BadInputError, match=r"was removed: docs/recipes\.md"):
        open_retriever(spec)
