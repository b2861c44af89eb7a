from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model import from_builtins
from retrieval_eval.model.gold import Label
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.judging_queue import judging_queue
from tests.searches import answer, failure, gold_query, gold_set, run_of

SETTINGS = Settings(n_resamples=20)


def run(gold, *answers):
    return from_builtins(run_of(gold, answers, settings=SETTINGS), SearchRun, "the run")


def docs(queue):
    return [(candidate.query, candidate.doc) for candidate in queue.candidates]


def test_the_gain_by_hand():
    gold = gold_set(gold_query("q", {"a": 1, "b": 0, "m": 1}), gold_query("other", {"z": 1}))
    found = judging_queue(gold, [run(gold, answer("q", "axby"), answer("other", "z"))])
    assert docs(found) == [("q", "x"), ("q", "y")]
    # P@5: a fifth. Recall@20 lies between 1/2 and 3/4: if x is relevant from 2/3 on, else to 2/3.
    gain = 100 * (1 / 5 + max(2 / 3 - 1 / 2, 3 / 4 - 2 / 3)) / 2
    assert [c.gain_points for c in found.candidates] == pytest.approx([gain, gain])
    assert [c.best_rank for c in found.candidates] == [2, 4]
    assert (found.n_candidates, found.n_unlabelled, found.n_awaiting, found.n_failed) == (
        2,
        0,
        0,
        0,
    )


def test_the_first_five_come_before_the_first_twenty_and_beyond_is_left_out():
    ranking = [f"d{i:02}" for i in range(1, 25)]
    gold = gold_set(gold_query("q", {"m": 1}))
    found = docs(judging_queue(gold, [run(gold, answer("q", ranking))]))
    assert found == [("q", doc) for doc in ranking[:20]]


def test_where_all_that_is_relevant_was_found_only_precision_can_move():
    gold = gold_set(gold_query("q", {"a": 1}))
    found = docs(judging_queue(gold, [run(gold, answer("q", "axyzwuv"))]))
    assert found == [("q", doc) for doc in "xyzw"]


def test_ties_go_by_rank_then_by_id():
    gold = gold_set(*(gold_query(name, {"m": 1}) for name in ("q2", "q1")))
    found = judging_queue(gold, [run(gold, answer("q2", "ab"), answer("q1", "ba"))])
    assert docs(found) == [("q1", "b"), ("q2", "a"), ("q1", "a"), ("q2", "b")]


def test_a_document_of_several_runs_counts_for_each():
    gold = gold_set(gold_query("q", {"m": 1}))
    one, two = run(gold, answer("q", "ab")), run(gold, answer("q", "cb"))
    found = judging_queue(gold, [one, two])
    assert docs(found) == [("q", "b"), ("q", "a"), ("q", "c")]
    best = found.candidates[0]
    assert (best.n_runs, best.best_rank) == (2, 2)
    alone = judging_queue(gold, [one]).candidates[1]
    assert best.gain_points == pytest.approx(2 * alone.gain_points)


def test_what_only_another_run_found_can_open_a_gap_that_is_closed_now():
    # Both find all that is known to be relevant: their recall is 1 with nothing to gain.
    gold = gold_set(gold_query("q", {"a": 1}))
    one, two = run(gold, answer("q", "axyzwu")), run(gold, answer("q", "axyzwv"))
    assert docs(judging_queue(gold, [one])) == [("q", doc) for doc in "xyzw"]
    found = judging_queue(gold, [one, two])
    # Were v relevant, the first run's recall would be 1/2 … 2/3 with u unjudged.
    assert docs(found) == [("q", doc) for doc in "xyzwuv"]
    assert [c.gain_points for c in found.candidates] == pytest.approx([40] * 4 + [0] * 2)
    assert docs(judging_queue(gold, [one, one])) == [("q", doc) for doc in "xyzw"]


def test_only_the_first_n_are_returned_and_all_are_counted():
    gold = gold_set(gold_query("q", {"m": 1}))
    found = judging_queue(gold, [run(gold, answer("q", "abcd"))], n=3)
    assert docs(found) == [("q", "a"), ("q", "b"), ("q", "c")]
    assert found.n_candidates == 4


def test_what_has_no_bounds_is_counted_and_left_out():
    gold = gold_set(
        gold_query("unlabelled", {"x": 0}),
        gold_query("unanswerable", answerable=False),
        gold_query("failed", {"a": 1}),
        gold_query("empty", {"a": 1}),
        gold_query("awaiting", {"a": 1}, labels=(Label("one", "a", 1), Label("one", "y", 2))),
    )
    answers = [answer(q.id, "xyz") for q in gold.queries]
    answers[2:4] = [failure("failed"), answer("empty")]
    found = judging_queue(gold, [run(gold, *answers)])
    assert docs(found) == [("awaiting", "x"), ("awaiting", "z")]
    assert (found.n_unlabelled, found.n_awaiting, found.n_failed) == (1, 1, 1)


def test_judgements_made_since_the_run_count():
    old = gold_set(gold_query("q", {"m": 1}))
    document = run(old, answer("q", "ab"))
    new = gold_set(gold_query("q", {"m": 1, "a": 0}))
    assert docs(judging_queue(new, [document])) == [("q", "b")]


def test_a_run_of_other_queries_is_refused():
    gold = gold_set(gold_query("q", {"m": 1}))
    with pytest.raises(BadInputError, match="not in the gold set: 1 query of the run ''"):
        judging_queue(gold_set(gold_query("p", {"m": 1})), [run(gold, answer("q", "ab"))])


def test_without_a_run_there_is_nothing_to_judge():
    with pytest.raises(NothingToEvaluateError):
        judging_queue(gold_set(), [])
