from __future__ import annotations

import math
from collections import namedtuple
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import count
from uuid import UUID

import numpy as np
import pytest

from retrieval_eval.search.protocol import ScoredDoc
from retrieval_eval.search.results import RetrieverError
from retrieval_eval.search.returned import MAX_DOCUMENTS, rank, read_documents

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
    "score", [None, "0.5", b"1", True, math.nan, 10**400, 1j, [1.0], object(), np.nan]
)
def test_what_is_no_number_is_no_score(score):
    first, second = read_documents([("a", 1.0), ("b", score)])
    assert first.score == 1.0
    assert math.isnan(second.score)


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


def test_an_endless_generator_is_cut():
    docs = read_documents((f"d{i}", 0.5) for i in count())
    assert len(docs) == MAX_DOCUMENTS


def test_the_order_is_score_then_id_both_descending():
    found = ranked(("b", 1.0), ("c", 2.0), ("a", 1.0), ("B", 1.0))
    assert pairs(found.ranking) == [("c", 2.0), ("b", 1.0), ("a", 1.0), ("B", 1.0)]


@pytest.mark.parametrize(
    ("given", "depth", "ranking", "problems"),
    [
        ([("a", 2.0), ("b", 1.0)], 2, [("a", 2.0), ("b", 1.0)], ()),
        ([("a", 2.0), ("b", 2.0)], 2, [("b", 2.0), ("a", 2.0)], ()),
        ([("a", 1.0), ("b", 2.0)], 2, [("b", 2.0), ("a", 1.0)], ("unsorted",)),
        ([("a", 2.0)], 2, [("a", 2.0)], ("fewer_than_k",)),
        ([], 1, [], ("fewer_than_k",)),
        ([("a", 3.0), ("b", 2.0)], 1, [("a", 3.0)], ("more_than_k",)),
        ([("a", 1.0), ("b", 2.0)], 1, [("b", 2.0)], ("unsorted", "more_than_k")),
        (
            [("a", 1.0), ("b", 0.5), ("a", 2.0)],
            2,
            [("a", 2.0), ("b", 0.5)],
            ("duplicate_documents", "unsorted", "more_than_k"),
        ),
        ([("a", 2.0), ("a", 1.0)], 2, [("a", 2.0)], ("duplicate_documents", "fewer_than_k")),
        ([("a", math.nan), ("b", 1.0)], 1, [("b", 1.0)], ("nan_score", "more_than_k")),
        ([("a", math.inf), ("b", -math.inf)], 2, [], ("nan_score", "fewer_than_k")),
        # A NaN between two scores hides nothing of their order.
        ([("a", 1.0), ("x", math.nan), ("b", 2.0)], 3, [("b", 2.0), ("a", 1.0)],
         ("nan_score", "fewer_than_k", "unsorted")),
    ],
)  # fmt: skip
def test_what_cannot_be_ranked_is_dropped_and_named(given, depth, ranking, problems):
    found = ranked(*given, depth=depth)
    assert (pairs(found.ranking), found.problems) == (ranking, problems)
    assert not found.is_refused


def test_fewer_than_k_knows_how_many_documents_there_are():
    assert ranked(("a", 1.0), depth=5, known={"a"}).problems == ()
    assert ranked(("a", 1.0), depth=5, known={"a", "b"}).problems == ("fewer_than_k",)


def test_unknown_documents_below_the_cut_are_no_problem():
    assert ranked(("a", 2.0), ("x", 1.0), depth=1, known={"a", "b"}).problems == ("more_than_k",)
    found = ranked(("x", 2.0), ("a", 1.0), depth=2, known={"a", "b"})
    assert (pairs(found.ranking), found.problems) == (
        [("x", 2.0), ("a", 1.0)],
        ("unknown_documents",),
    )
