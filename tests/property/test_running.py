"""What a retriever returns can be anything; a run stays whole, and can be stopped anywhere."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.io.files import json_bytes
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.ask import PROBLEMS, rank, read_documents
from retrieval_eval.search.run.running import run_queries

ids = st.one_of(st.text(max_size=3), st.integers(), st.sampled_from(["a", "b", "c"]))
scores = st.one_of(
    st.floats(), st.integers(), st.none(), st.sampled_from([0.0, -0.0, 1.0, 10**400])
)
# Some engines give the largest number of single precision where there is no score.
sane = st.tuples(st.sampled_from("abcdefgh"), st.floats(-1e38, 1e38))
anything = st.recursive(
    st.none() | st.booleans() | st.binary(max_size=3) | scores | ids,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.sets(st.text(max_size=2), max_size=2)
        | st.dictionaries(st.sampled_from(["doc", "id", "score", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
documents = st.lists(
    st.one_of(
        st.tuples(ids, scores),
        ids,
        st.fixed_dictionaries({"id": ids}, optional={"score": scores}),
        anything,
    ),
    max_size=6,
)
answers = st.one_of(anything, documents, documents.map(iter))


class Table:
    # No score that is drawn is a distance.
    lower_is_better = False

    def __init__(self, table, is_thread_safe=False):
        self.table, self.asked, self.is_thread_safe = table, [], is_thread_safe

    def search(self, query, *, corpus, k):
        self.asked.append(query)
        answer = self.table[query]
        if answer == "raise":
            raise ValueError("planned")
        return answer


def gold(n):
    return GoldSet(tuple(GoldQuery(f"q{i}", f"q{i}", "default") for i in range(n)), "f")


def timeless(results):
    return [replace(result, seconds=None) for result in results]


@given(answers, st.integers(1, 4), st.none() | st.floats(-2, 2))
def test_any_answer_gives_a_result_that_can_be_written(answer, depth, floor):
    [result] = run_queries(
        gold(1), Table({"q0": answer}), depth=depth, floor=floor, known_documents={"a", "b"}
    )
    assert (result.status == "failed") == (result.error is not None)
    assert result.status == "ok" or not result.ranking
    assert len(result.ranking) <= depth
    assert len({doc.doc for doc in result.ranking}) == len(result.ranking)
    assert all(math.isfinite(doc.score) for doc in result.ranking)
    keys = [(doc.score, doc.doc) for doc in result.ranking]
    assert keys == sorted(keys, reverse=True)
    assert floor is None or all(score >= floor for score, _ in keys)
    assert not (result.is_refused and result.ranking)
    assert list(result.problems) == [code for code in PROBLEMS if code in result.problems]
    json_bytes([[doc.doc, doc.score] for doc in result.ranking] + [result.error])


distinct = st.lists(sane, max_size=8, unique_by=lambda pair: pair[0])


@given(distinct, st.integers(1, 6))
def test_a_ranking_is_what_a_plain_reckoning_gives_and_stays_it(given_docs, depth):
    left = dict(given_docs)
    ranked = rank(read_documents(given_docs), depth=depth)
    expected = []
    while left and len(expected) < depth:
        top = max(left, key=lambda doc: (left[doc], doc))
        expected.append((top, left.pop(top)))
    assert [(doc.doc, doc.score) for doc in ranked.ranking] == expected
    assert ("more_than_k" in ranked.problems) == (len(given_docs) > depth)
    assert ("fewer_than_k" in ranked.problems) == (len(expected) < depth)
    scores = [score for _, score in given_docs]
    again = rank(ranked.ranking, depth=depth)
    assert again.ranking == ranked.ranking
    assert set(again.problems) <= {"fewer_than_k"}
    is_odd = bool({"unsorted", "scores_rise"} & set(ranked.problems))
    assert is_odd == (scores != sorted(scores, reverse=True))


@given(distinct, st.sampled_from(["nan", "inf", "text", "none", "again", "unknown"]), st.data())
def test_one_item_that_cannot_be_trusted_makes_the_query_fail(given_docs, what, data):
    place = data.draw(st.integers(0, len(given_docs)))
    known = {*"abcdefgh", "good"}
    items = [("good", 1.0), *given_docs]
    bad = {
        "nan": ("z", math.nan),
        "inf": ("z", math.inf),
        "text": ("z", "1.0"),
        "none": ("z", None),
        "again": (data.draw(st.sampled_from(items))[0], 2.0),
        "unknown": ("y", 2.0),
    }[what]
    items.insert(place, bad)
    [result] = run_queries(gold(1), Table({"q0": items}), depth=3, known_documents=known | {"z"})
    assert (result.status, result.ranking, result.is_refused) == ("failed", (), False)
    assert result.error


@given(st.data())
def test_a_run_stopped_anywhere_ends_like_one_that_was_not(data):
    n = data.draw(st.integers(1, 6))
    row = st.just("raise") | st.lists(sane, max_size=3)
    table = {f"q{i}": data.draw(row) for i in range(n)}
    whole = timeless(run_queries(gold(n), Table(table), depth=2))
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.jsonl"
        run_queries(gold(n), Table(table), depth=2, journal=journal)
        written = journal.read_bytes()
        header = written.index(b"\n") + 1
        # A share and no place: the seconds in the journal make its length differ.
        cut = header + round(data.draw(st.floats(0, 1)) * (len(written) - header))
        journal.write_bytes(written[:cut])
        kept = written[header:cut].count(b"\n")

        resumed = Table(table)
        assert timeless(run_queries(gold(n), resumed, depth=2, journal=journal)) == whole
        finished = {r.id for r in whole[:kept] if r.status == "ok"}
        assert resumed.asked == [f"q{i}" for i in range(n) if f"q{i}" not in finished]

        again = Table(table)
        assert timeless(run_queries(gold(n), again, depth=2, journal=journal)) == whole
        assert again.asked == [r.id for r in whole if r.status == "failed"]


@given(st.lists(st.just("raise") | st.lists(sane, max_size=3), max_size=8), st.integers(2, 4))
def test_several_jobs_give_what_one_gives(rows, jobs):
    table = {f"q{i}": row for i, row in enumerate(rows)}
    alone = run_queries(gold(len(rows)), Table(table), depth=2)
    together = run_queries(gold(len(rows)), Table(table, is_thread_safe=True), depth=2, jobs=jobs)
    assert timeless(together) == timeless(alone)
