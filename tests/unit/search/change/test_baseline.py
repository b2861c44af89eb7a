from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search.change.baseline import ACCEPTABLE, plan_update, write_update
from retrieval_eval.search.run.document import run_bytes
from tests.plain_runs import compare_with_baseline, differences, read_search_run
from tests.searches import answer, failure, gold_query, gold_set, run_of, written

GOLD = gold_set(gold_query("q1", {"a": 1}), gold_query("q2", {"a": 1}))
OTHER_GOLD = gold_set(gold_query("q1", {"a": 2}), gold_query("q2", {"a": 1}))


def write(path, document):
    path.write_bytes(run_bytes(document))
    return path


@pytest.fixture
def old(tmp_path):
    document = run_of(GOLD, [answer("q1", ["x", "a"]), answer("q2", ["a"])], label="old")
    return write(tmp_path / "baseline.json", document)


@pytest.fixture
def new(tmp_path):
    document = run_of(GOLD, [answer("q1", ["a"]), answer("q2", ["a"])], label="new")
    return write(tmp_path / "run.json", document)


def test_the_first_baseline_is_the_run_without_its_delta(tmp_path, old, new):
    document = read_search_run(new)
    document["delta"] = written(plan_update(old, new).delta)
    write(new, document)
    path = tmp_path / "data" / "baseline.json"
    update = plan_update(path, new)
    assert (update.delta, update.differences) == (None, {})
    assert not path.exists()
    write_update(update)
    assert read_search_run(path) == {**document, "delta": None}


def test_the_delta_is_known_before_anything_is_written(old, new):
    before = old.read_bytes()
    update = plan_update(old, new)
    # RR 1/2 and 1 → 1 and 1
    assert update.delta.metrics["RR"].delta_points == 25
    assert old.read_bytes() == before
    write_update(update)
    assert read_search_run(old)["label"] == "new"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (list.clear, "it holds no query"),
        (lambda queries: queries.append(queries[0]), "1 query more than once, the first is 'q1'"),
    ],
)
def test_a_run_that_was_cut_or_doubled_is_refused(tmp_path, new, spoil, message):
    document = read_search_run(new)
    spoil(document["queries"])
    write(new, document)
    with pytest.raises(NothingToEvaluateError, match=message):
        plan_update(tmp_path / "none.json", new)


@pytest.mark.parametrize("content", ["{", '{"schema_version": "1.2"}'])
def test_an_invalid_run_is_refused(old, new, content):
    before = old.read_bytes()
    new.write_text(content)
    with pytest.raises(BadInputError, match=r"run\.json"):
        plan_update(old, new)
    assert old.read_bytes() == before


def test_a_run_with_failed_queries_is_refused(tmp_path, old):
    document = run_of(GOLD, [answer("q1", ["a"]), failure("q2")])
    run = write(tmp_path / "failed.json", document)
    with pytest.raises(NothingToEvaluateError, match=r"failed\.json .* 1 of 2 queries failed"):
        plan_update(old, run)


def test_another_gold_set_must_be_accepted_by_name(tmp_path, old):
    document = run_of(OTHER_GOLD, [answer("q1", ["a"]), answer("q2", ["a"])], label="relabelled")
    run = write(tmp_path / "other.json", document)
    update = plan_update(old, run)
    assert update.delta.is_comparable is False
    before = old.read_bytes()
    for accept in ((), ("depth", "measures")):
        with pytest.raises(NothingToEvaluateError, match=r"gold set changed .* --accept gold_set$"):
            write_update(update, accept=accept)
    assert old.read_bytes() == before
    write_update(update, accept=("gold_set",))
    assert json.loads(old.read_text())["label"] == "relabelled"


def test_everything_that_can_differ_can_be_accepted(old, new):
    before, after = read_search_run(old), read_search_run(new)
    before["run"]["gold_set"]["fingerprint"] = "0"
    before["run"]["settings"] |= {
        "convention": "x",
        "empty_ranking": "x",
        "depth": 1,
        "without_own": True,
        "measures": [],
    }
    assert (*differences(before, after), "queries") == ACCEPTABLE


def test_a_run_of_some_queries_does_not_replace_one_of_all_by_accident(tmp_path, old):
    run = write(tmp_path / "part.json", run_of(GOLD, [answer("q2", ["a"])]))
    update = plan_update(old, run)
    told = "the run is truncated: it did not ask 1 of the 2 queries of the baseline"
    assert (update.delta, update.delta_withheld) == (None, (told,))
    with pytest.raises(NothingToEvaluateError, match=r"did not ask 1 of the 2 .* --accept queries"):
        write_update(update)
    write_update(update, accept=["queries"])
    assert len(read_search_run(old)["queries"]) == 1


def test_a_run_of_some_queries_is_no_first_baseline_by_accident(tmp_path, new):
    run = write(tmp_path / "part.json", run_of(GOLD, [answer("q2", ["a"])]))
    path = tmp_path / "none.json"
    update = plan_update(path, run)
    with pytest.raises(NothingToEvaluateError, match=r"asked 1 of the 2 .* --accept queries$"):
        write_update(update)
    assert not path.exists()
    write_update(update, accept=["queries"])
    # The same queries again need no further word, and have a delta.
    again = plan_update(path, run)
    assert again.differences == {}
    assert again.delta.is_comparable is True
    # Another gold set: what it leaves out counts from there.
    other = run_of(OTHER_GOLD, [answer("q2", ["a"])])
    assert set(plan_update(path, write(tmp_path / "o.json", other)).differences) == {
        "gold_set",
        "queries",
    }


WHOLE = [answer("q1", ["a"]), answer("q2", ["a"])]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (WHOLE, [failure("q1"), WHOLE[1]], "the run has no verdict: 1 of 2 queries failed"),
        ([failure("q1"), WHOLE[1]], WHOLE, "the baseline has no verdict: 1 of 2 queries failed"),
        (WHOLE, WHOLE[:1], "the run is truncated: it did not ask 1 of the 2 queries"),
        (WHOLE[:1], WHOLE, "the baseline is truncated: it did not ask 1 of the 2 queries"),
    ],
)
def test_no_delta_where_one_side_is_not_the_whole(before, after, told):
    found = compare_with_baseline(run_of(GOLD, before), run_of(GOLD, after), seed=1)
    assert found["delta"] is None
    (sentence,) = found["delta_withheld"]
    assert sentence.startswith(told)
    assert "KeyError" not in sentence  # the words of the retriever


def test_runs_that_searched_no_corpus_in_common_have_no_delta():
    gold = gold_set(gold_query("q1", {"a": 1}), gold_query("q2", {"a": 1}, corpus="other"))
    runs = [run_of(gold, [answer(name, ["a"])]) for name in ("q1", "q2")]
    for run, corpus in zip(runs, ("docs", "other"), strict=True):
        run["run"]["corpora"] = [one for one in run["run"]["corpora"] if one["corpus"] == corpus]
    found = compare_with_baseline(*runs, seed=1)
    told = ["the run and the baseline searched no corpus in common"]
    assert (found["delta"], found["delta_withheld"]) == (None, told)
