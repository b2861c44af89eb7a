from __future__ import annotations

import json
import math
from collections import Counter

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.ask import RetrieverError
from retrieval_eval.search.ask.retrievers import open_retriever
from retrieval_eval.search.ask.retrievers.bm25 import METHODS, bm25_settings, tokenize

# Lengths 2, 4 and 3: the mean is 3.
TAXES = [
    {"id": "a", "text": "tax levy"},
    {"id": "b", "text": "tax tax appeal court"},
    {"id": "c", "title": "Parking", "text": "permit fee"},
]
# The inverse document frequency of "tax", in 2 of 3 documents, as Lucene has it.
IDF_TAX = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))


@pytest.fixture
def bm25(tmp_path):
    def opened(rows, **options):
        path = tmp_path / "corpus.jsonl"
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(lines, encoding="utf-8")
        return open_retriever(f"bm25:{path}", options)

    return opened


def found(retriever, query, k=10, corpus="default"):
    return [(doc.doc, doc.score) for doc in retriever.search(query, corpus=corpus, k=k)]


def ids(*args, **options):
    return [doc for doc, _ in found(*args, **options)]


def test_scores_are_those_of_the_formula(bm25):
    # k1 (1 - b + b l / mean) is 1.2 x 0.75 for two words of three, 1.2 x 1.25 for four.
    assert found(bm25(TAXES), "tax") == [
        ("b", pytest.approx(IDF_TAX * 2 / (1.5 + 2), abs=1e-12)),
        ("a", pytest.approx(IDF_TAX * 1 / (0.9 + 1), abs=1e-12)),
    ]


def test_options_change_the_formula(bm25):
    # Without length normalisation and with k1 = 1: tf / (1 + tf).
    assert found(bm25(TAXES, k1="1", b="0"), "tax") == [
        ("b", pytest.approx(IDF_TAX * 2 / 3, abs=1e-12)),
        ("a", pytest.approx(IDF_TAX * 1 / 2, abs=1e-12)),
    ]
    # ATIRE: ln(N / df), and (k1 + 1) above the fraction.
    [(_, score), _] = found(bm25(TAXES, method="atire", k1="1", b="0"), "tax")
    assert score == pytest.approx(math.log(3 / 2) * 2 * 2 / 3, abs=1e-12)


def test_terms_add_up_and_a_repeated_one_counts_twice(bm25):
    retriever = bm25(TAXES)
    tax, levy = dict(found(retriever, "tax")), dict(found(retriever, "levy"))
    both = dict(found(retriever, "tax levy unheard"))
    assert both["a"] == pytest.approx(tax["a"] + levy["a"], abs=1e-12)
    assert both["b"] == pytest.approx(tax["b"], abs=1e-12)
    assert dict(found(retriever, "tax tax"))["b"] == pytest.approx(2 * tax["b"], abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_only_documents_with_a_term_of_the_query_are_found(bm25, method):
    retriever = bm25(TAXES, method=method)
    for query in ("", "   ", "?!", "zoning", "unheard of"):
        assert found(retriever, query) == []
    assert ids(retriever, "court zoning") == ["b"]
    # Robertson's weight of a term in most documents is 0; they match all the same.
    assert sorted(ids(retriever, "tax")) == ["a", "b"]


def test_the_title_is_searched_and_case_is_not(bm25):
    assert ids(bm25(TAXES), "PARKING") == ["c"]


def test_ties_are_ordered_by_id_and_cut_the_same_way(bm25):
    rows = [{"id": name, "text": "same words"} for name in ("b", "d10", "a", "d9", "c")]
    retriever = bm25(rows)
    assert ids(retriever, "words") == ["d9", "d10", "c", "b", "a"]
    for k in range(1, 6):
        assert ids(retriever, "words", k=k) == ["d9", "d10", "c", "b", "a"][:k]
    shuffled = bm25(rows[::-1])
    assert found(shuffled, "words") == found(retriever, "words")
    assert shuffled.describe() == retriever.describe()


def test_each_corpus_has_an_index_of_its_own(bm25):
    rows = [
        {"id": "a", "corpus": "law", "text": "tax"},
        {"id": "a", "corpus": "kb", "text": "tax form"},
        {"id": "b", "corpus": "kb", "text": "fee"},
    ]
    retriever = bm25(rows)
    # Alone in its corpus: N = df = 1 and the length is the mean, so ln(1 + 0.5 / 1.5) / 2.2.
    assert found(retriever, "tax", corpus="law") == [
        ("a", pytest.approx(math.log(1 + 0.5 / 1.5) / 2.2, abs=1e-12))
    ]
    assert ids(retriever, "fee", corpus="kb") == ["b"]
    assert ids(retriever, "fee", corpus="law") == []
    with pytest.raises(RetrieverError, match="holds no corpus 'tax' \\(it has 'kb', 'law'\\)"):
        retriever.search("tax", corpus="tax", k=1)
    corpora = retriever.describe()["corpora"]
    assert [(c["corpus"], c["n_documents"]) for c in corpora] == [("kb", 2), ("law", 1)]
    assert all(len(c["fingerprint"]) == 64 for c in corpora)


def test_documents_without_words_do_no_harm(bm25):
    retriever = bm25([{"id": "a", "text": ""}, {"id": "b", "text": "…"}])
    assert found(retriever, "tax") == found(retriever, "") == []
    retriever = bm25([{"id": "a", "text": ""}, {"id": "b", "text": "tax"}])
    assert ids(retriever, "tax") == ["b"]


def test_the_fingerprint_follows_all_that_changes_an_answer(bm25):
    def index(rows=TAXES, **options):
        return bm25(rows, **options).describe()["index"]

    changed = [*TAXES[:2], {**TAXES[2], "title": "Parking places"}]
    different = [
        index(),
        index(changed),
        index(TAXES[:2]),
        index(k1="0.9"),
        index(b="0.4"),
        index(method="bm25l"),
        index(stopwords="english"),
        index(stemmer="s"),
    ]
    assert len(set(different)) == len(different)
    assert index(k1="1.2") == index()


def test_stop_words_and_the_stemmer_are_off_unless_asked_for(bm25):
    rows = [{"id": "a", "text": "the policies of the city"}, {"id": "b", "text": "policy"}]
    assert ids(bm25(rows), "the policy") == ["b", "a"]
    assert ids(bm25(rows), "policies") == ["a"]
    assert ids(bm25(rows, stopwords="english"), "the") == []
    assert sorted(ids(bm25(rows, stemmer="s"), "policies")) == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k2": "1"}, "bm25 has no option 'k2'; it has k1, b, delta, method, stopwords, stemmer"),
        ({"k1": "-0.1"}, "option k1 is '-0.1'; it must be a number from 0 to 1000"),
        ({"k1": "nan"}, "option k1 is 'nan'"),
        ({"b": "1.01"}, "a number from 0 to 1"),
        ({"method": "okapi"}, "must be one of lucene, robertson, atire, bm25l, bm25\\+"),
        ({"stopwords": "klingon"}, "must be one of none, danish"),
        ({"stemmer": "porter"}, "must be one of none, s"),
    ],
)
def test_options_of_no_use_are_refused(options, message):
    with pytest.raises(BadInputError, match=message):
        bm25_settings(options)


def test_scores_equal_a_plain_reckoning_of_the_formula(bm25):
    words = ["tax", "levy", "fee", "court", "appeal", "permit"]
    rows = [
        {"id": f"d{n}", "text": " ".join(words[(n * step) % 6] for step in range(1, 3 + n % 5))}
        for n in range(20)
    ]
    terms = {row["id"]: Counter(tokenize(row["text"])) for row in rows}
    mean = sum(sum(counts.values()) for counts in terms.values()) / len(terms)

    def score(doc, query):
        total = 0.0
        for term in query.split():
            df = sum(term in counts for counts in terms.values())
            tf, length = terms[doc][term], sum(terms[doc].values())
            idf = math.log(1 + (len(terms) - df + 0.5) / (df + 0.5))
            total += idf * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * length / mean))
        return total

    retriever = bm25(rows, k1="0.9", b="0.4")
    for query in ("tax", "levy fee", "court appeal permit tax"):
        expected = {doc: score(doc, query) for doc in terms if score(doc, query) > 0}
        assert dict(found(retriever, query, k=99)) == pytest.approx(expected, abs=1e-12)
