from __future__ import annotations

import math
import re
from collections import UserString, namedtuple
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import count
from uuid import UUID

import numpy as np
import pytest

from retrieval_eval.search import ask
from retrieval_eval.search.ask import (
    MAX_ID,
    RetrieverError,
    ScoredDoc,
    rank,
    read_documents,
)

Hit = namedtuple("Hit", ["doc", "score"])


class Name(str, Enum):  # noqa: UP042 - its text is not its value, unlike that of StrEnum
    A = "a"


def pairs(docs):
    return [(doc.doc, doc.score) for doc in docs]


def ranked(*given, depth=10, **options):
    return rank([ScoredDoc(*pair) for pair in given], depth=depth, **options)


@pytest.mark.parametrize(
    "item",
    [
        ScoredDoc("a", 2.0),
        ("a", 2.0),
        ["a", 2],
        Hit("a", 2.0),
        {"doc": "a", "score": 2.0},
        {"id": "a", "score": np.float32(2.0), "text": "…"},
        (np.str_("a"), np.int64(2)),
        (Name.A, Decimal(2)),
        ("a", Fraction(4, 2)),
    ],
)
def test_every_usual_form_of_a_document_is_understood(item):
    [doc] = read_documents([item])
    assert (doc.doc, doc.score) == ("a", 2.0)
    assert type(doc.doc) is str
    assert type(doc.score) is float


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (7, "7"),
        (np.int32(7), "7"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("\ud83d\ude00", "😀"),
        ("a\ud83d", "a\ufffd"),
    ],
)
def test_ids_become_text_that_a_file_can_hold(given, expected):
    assert read_documents([(given, 1.0)])[0].doc == expected


@pytest.mark.parametrize("given", [True, np.True_, 1.0, None, b"a", ["a"], {}, object()])
def test_what_is_no_id_is_refused(given):
    with pytest.raises(RetrieverError, match=r"item 2 has .* for a document"):
        read_documents([("a", 1.0), (given, 1.0)])


@pytest.mark.parametrize(
    ("score", "what"),
    [
        (math.nan, "a score of nan"),
        (-math.inf, "a score of -inf"),
        (np.float32("nan"), "a score of nan"),
        (Decimal("NaN"), "a score of nan"),
        (Decimal("Infinity"), "a score of inf"),
        (10**400, "a value of type int for a score"),
        ("0.5", "a value of type str for a score"),
        (np.str_("0.5"), "a value of type str_ for a score"),
        (b"1", "a value of type bytes for a score"),
        (bytearray(b"1"), "a value of type bytearray for a score"),
        (True, "a value of type bool for a score"),
        (np.True_, "a value of type bool"),
        (np.array(True), "a value of type ndarray for a score"),
        (np.array("0.5"), "a value of type ndarray for a score"),
        (np.array("0.5", dtype=object), "a value of type ndarray for a score"),
        (UserString("0.5"), "a value of type UserString for a score"),
        (1j, "a value of type complex for a score"),
        ([1.0], "a value of type list for a score"),
        (object(), "a value of type object for a score"),
        (None, "no score, and others have one"),
    ],
)
def test_an_answer_with_a_score_that_is_no_finite_number_is_refused(score, what):
    with pytest.raises(RetrieverError, match=rf"^item 2 \('b'\) has {re.escape(what)}"):
        read_documents([("a", 1.0), ("b", score)])


def test_an_answer_with_documents_that_the_corpus_lacks_is_refused():
    known = frozenset({"a", "b"})
    assert pairs(read_documents([("b", 1.0)], known)) == [("b", 1.0)]
    assert read_documents([], known) == []
    with pytest.raises(
        RetrieverError, match=r"^item 2 is 'x', and the corpus has no such document"
    ):
        read_documents(["a", "x", "y"], known)
    with pytest.raises(RetrieverError, match=r"^item 1 is 'a', and"):
        read_documents(["a"], frozenset())


def test_without_any_score_the_order_is_the_ranking():
    expected = [("b", -1.0), ("a", -2.0), ("c", -3.0)]
    assert pairs(read_documents(["b", "a", "c"])) == expected
    assert pairs(read_documents([{"id": "b"}, {"doc": "a"}, {"doc": "c", "score": None}])) == (
        expected
    )
    found = rank(read_documents(["b", "a", "c"]), depth=2)
    assert pairs(found.ranking) == expected[:2]
    assert found.problems == ("more_than_k",)


@pytest.mark.parametrize("value", [None, 3, "ab", b"ab", {"a": 1.0}, {"a"}, object()])
def test_what_is_no_sequence_is_refused(value):
    with pytest.raises(RetrieverError, match=r"the retriever returned .*; expected a sequence"):
        read_documents(value)


def test_an_answer_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(ask, "MAX_DOCUMENTS", 1000)
    with pytest.raises(RetrieverError, match="returned more than 1,000 documents"):
        read_documents((f"d{i}", 0.5) for i in count())
    assert len(read_documents([f"d{i}" for i in range(1000)])) == 1000


def test_an_id_that_a_run_cannot_keep_is_refused():
    assert read_documents(["x" * MAX_ID])
    with pytest.raises(RetrieverError, match="item 1 has a document id of 1,000,000 characters"):
        read_documents(["x" * 1_000_000])


@pytest.mark.parametrize(
    ("given", "depth", "ranking", "problems"),
    [
        ([("a", 2.0), ("b", 1.0)], 2, [("a", 2.0), ("b", 1.0)], ()),
        ([("a", 2.0), ("b", 2.0)], 2, [("b", 2.0), ("a", 2.0)], ()),
        ([("a", 1.0), ("b", 2.0)], 2, [("b", 2.0), ("a", 1.0)], ("scores_rise",)),
        ([("a", 2.0)], 2, [("a", 2.0)], ("fewer_than_k",)),
        ([], 1, [], ("fewer_than_k",)),
        ([("a", 3.0), ("b", 2.0)], 1, [("a", 3.0)], ("more_than_k",)),
        ([("a", 1.0), ("b", 2.0)], 1, [("b", 2.0)], ("scores_rise", "more_than_k")),
    ],
)
def test_what_is_odd_about_a_ranking_is_named(given, depth, ranking, problems):
    found = ranked(*given, depth=depth)
    assert (pairs(found.ranking), found.problems) == (ranking, problems)
    assert not found.is_refused


def test_fewer_than_k_knows_how_many_documents_there_are():
    assert ranked(("a", 1.0), depth=5, n_known=1).problems == ()
    assert ranked(("a", 1.0), depth=5, n_known=2).problems == ("fewer_than_k",)
