"""Hybrid search by reciprocal rank fusion."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.results import RetrieverError
from retrieval_eval.search.retrievers import open_retriever
from retrieval_eval.search.retrievers.rrf import fuse
from retrieval_eval.search.secrets import shown_options


def test_a_case_by_hand():
    # The sums of 1 / (60 + rank): a 1/61 + 1/63, b 1/62 + 1/61, c 1/63, d 1/62.
    found = fuse([["a", "b", "c"], ["b", "d", "a"]])
    assert [(each.doc, each.score) for each in found] == [
        ("b", pytest.approx(0.03252247488101534, abs=1e-15)),
        ("a", pytest.approx(0.032266458495966696, abs=1e-15)),
        ("d", pytest.approx(0.016129032258064516, abs=1e-15)),
        ("c", pytest.approx(0.015873015873015872, abs=1e-15)),
    ]
    weighted = fuse([["a", "b", "c"], ["b", "d", "a"]], [3, 1], k=0)
    # a 3/1 + 1/3, b 3/2 + 1/1, c 3/3, d 1/2.
    assert [(each.doc, each.score) for each in weighted] == [
        ("a", float(Fraction(10, 3))),
        ("b", 2.5),
        ("c", 1.0),
        ("d", 0.5),
    ]


def test_equal_sums_of_other_terms_are_a_tie():
    # 1/84 + 1/84 = 1/63 + 1/126, which adding rounded terms would tell apart or not by luck.
    fill = [f"x{place:03}" for place in range(200)]
    one, two = fill[:100], fill[100:]
    one[23], two[23] = "a", "a"
    one[2], two[65] = "b", "b"
    scores = {each.doc: each.score for each in fuse([one, two])}
    assert scores["a"] == scores["b"]


RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=1, max_size=4)


@given(RANKINGS, st.randoms(use_true_random=False))
def test_the_order_of_the_rankings_does_not_matter_and_ties_go_by_id(rankings, random):
    found = fuse(rankings)
    shuffled = list(rankings)
    random.shuffle(shuffled)
    assert fuse(shuffled) == found
    assert {each.doc for each in found} == set().union(*rankings)
    exact = {
        doc: sum(Fraction(1, 61 + each.index(doc)) for each in rankings if doc in each)
        for doc in {each.doc for each in found}
    }
    assert [each.doc for each in found] == sorted(exact, key=lambda d: (exact[d], d), reverse=True)


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A corpus, its vectors, and the options of a fusion of both."""
    monkeypatch.chdir(tmp_path)
    texts = {"a": "levy levy", "b": "levy on land", "c": "parking fee"}
    lines = (json.dumps({"id": doc, "text": text}) for doc, text in texts.items())
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    np.savez("vectors.npz", vectors=[[0.0, 1], [1, 1], [1, 0]], ids=list(texts))
    (tmp_path / "queries.jsonl").write_text('{"query": "levy", "vector": [1, 0]}\n')
    return {
        "words": "bm25:corpus.jsonl",
        "words.b": "0",
        "vectors": "dense:vectors.npz",
        "vectors.query_vectors": "queries.jsonl",
    }


def test_parts_are_asked_and_fused(parts):
    retriever = open_retriever("rrf:words,vectors", parts)
    ask = {"corpus": "default", "k": 3}
    lists = retriever.rankings("levy", **ask)
    ranked = {name: [each.doc for each in found] for name, found in lists.items()}
    assert ranked == {"words": ["a", "b"], "vectors": ["c", "b", "a"]}
    assert retriever.search("levy", **ask) == fuse(list(ranked.values()))
    assert retriever.search("levy", corpus="default", k=1) == fuse(list(ranked.values()))[:1]
    assert retriever.is_thread_safe
    assert {n: sorted(d) for n, d in retriever.known_documents.items()} == {"default": list("abc")}
    heavy = open_retriever("rrf:words,vectors", {**parts, "weight.vectors": "9", "k": "0"})
    assert heavy.search("levy", corpus="default", k=1)[0].doc == "c"


def test_a_failing_part_fails_the_query(parts):
    retriever = open_retriever("rrf:words,vectors", parts)
    with pytest.raises(RetrieverError, match=r"part 'vectors': .* has none for this query"):
        retriever.search("fee", corpus="default", k=3)


def test_the_description_has_every_part_without_its_secrets(parts):
    def facts(**more):
        return open_retriever("rrf:words,vectors", {**parts, **more}).describe()

    one = facts()
    assert (one["name"], one["k"], one["window"]) == ("rrf(words, vectors)", 60, 100)
    assert one["parts"]["words"]["facts"]["b"] == 0.0
    assert one["corpora"][0]["n_documents"] == 3
    assert facts(**{"words.k1": "2"}) != one != facts(window="5")
    del parts["words.b"]
    hidden = {"words": "http://127.0.0.1:1/search?sig=hush"}
    assert "hush" not in json.dumps(facts(**hidden))
    assert shown_options(hidden) == {"words": "http://127.0.0.1:1/search?sig=***"}


def test_files_of_rankings_are_fused_by_query_id(tmp_path):
    (tmp_path / "one.trec").write_text("q Q0 a 1 2.0 x\nq Q0 b 2 1.0 x\n")
    (tmp_path / "two.trec").write_text("q Q0 b 1 9.0 y\nr Q0 c 1 9.0 y\n")
    options = {"one": f"run:{tmp_path / 'one.trec'}", "two": f"run:{tmp_path / 'two.trec'}"}
    retriever = open_retriever("rrf:one,two", options)
    assert retriever.query_ids == {"q", "r"}
    assert retriever.search_by_id("q", corpus="any", k=5) == fuse([["a", "b"], ["b"]])


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        ("rrf:", {}, "'' cannot be the name of a part"),
        ("rrf:words", {}, "needs two to 8 parts"),
        ("rrf:words,words", {}, "'words' cannot be the name of a part"),
        ("rrf:words,k", {}, "'k' cannot be the name"),
        ("rrf:words,other", {}, "give the spec of the part 'other'"),
        ("rrf:words,other", {"other": "run:none.trec"}, "none.trec"),
        ("rrf:words,other", {"other": "bm25:corpus.jsonl", "other.b": "2"}, "option b is '2'"),
        ("rrf:words,other", {"other": "bm25:corpus.jsonl", "k": "-1"}, "option k is '-1'"),
        ("rrf:words,other", {"weight.third": "1"}, "no option 'weight.third'"),
        (
            "rrf:words,other",
            {"other": "bm25:corpus.jsonl", "weight.words": "0", "weight.other": "0"},
            "every weight is 0",
        ),
    ],
)
def test_parts_of_no_use_are_refused(spec, options, said, parts):
    with pytest.raises(BadInputError, match=said):
        open_retriever(spec, {"words": parts["words"], **options})


def test_a_file_is_not_fused_with_a_retriever_that_knows_no_ids(parts, tmp_path):
    (tmp_path / "one.trec").write_text("q Q0 a 1 2.0 x\n")
    with pytest.raises(BadInputError, match="knows its queries by id"):
        open_retriever("rrf:words,file", {"words": parts["words"], "file": "run:one.trec"})
