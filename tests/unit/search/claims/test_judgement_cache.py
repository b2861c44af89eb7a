from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.claims.judge import (
    CachedJudge,
    JudgeError,
    JudgeFacts,
    Judgement,
    ask_all,
)


class Counting:
    """Supports claims that stand in the block, and counts how often it was asked."""

    def __init__(self, model="m", concurrency=1, fails=False):
        self.asked = []
        self.facts = JudgeFacts(name="counting", version="1", settings={"model": model})
        self.concurrency = concurrency
        self.fails = fails

    def judge(self, claim, block_text):
        self.asked.append((claim, block_text))
        if self.fails:
            raise JudgeError("no verdict (3 tries)")
        place = block_text.find(claim)
        return Judgement(place >= 0, (place, place + len(claim)) if place >= 0 else None, "why")


def test_nothing_is_asked_twice_in_one_run_or_the_next(tmp_path):
    path = tmp_path / "cache.jsonl"
    first = Counting()
    judge = CachedJudge(first, path)
    said = [judge.judge(claim, "a b") for claim in ("a", "c", "a")]
    assert len(first.asked) == 2
    second = Counting()
    again = CachedJudge(second, path)
    assert [again.judge(claim, "a b") for claim in ("a", "c", "a")] == said
    assert second.asked == []


@pytest.mark.parametrize(
    ("model", "claim", "block"), [("other", "a", "a b"), ("m", "b", "a b"), ("m", "a", "a c")]
)
def test_another_model_claim_or_block_is_asked(tmp_path, model, claim, block):
    path = tmp_path / "cache.jsonl"
    CachedJudge(Counting(), path).judge("a", "a b")
    other = Counting(model)
    CachedJudge(other, path).judge(claim, block)
    assert other.asked == [(claim, block)]


def test_damaged_lines_are_asked_again_and_do_not_swallow_the_next(tmp_path):
    path = tmp_path / "cache.jsonl"
    CachedJudge(Counting(), path).judge("a", "a b")
    whole = path.read_bytes()
    row = json.loads(whole)
    bad = [{**row, "span": [0, 99]}, {**row, "supported": "yes"}, {**row, "span": [0]}, 7]
    for line in bad:
        path.write_text(json.dumps(line) + "\n")
        judge = Counting()
        assert CachedJudge(judge, path).judge("a", "a b").span == (0, 1)
        assert len(judge.asked) == 1
    path.write_bytes(whole[:-9])
    judge = Counting()
    CachedJudge(judge, path).judge("a", "a b")
    CachedJudge(judge, path).judge("a", "a b")
    assert len(judge.asked) == 1


def test_a_failure_is_not_kept(tmp_path):
    path = tmp_path / "cache.jsonl"
    with pytest.raises(JudgeError):
        CachedJudge(Counting(fails=True), path).judge("a", "a b")
    assert not path.exists()


def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(BadInputError, match="cannot be kept"):
        CachedJudge(Counting(), tmp_path / "no folder" / "cache.jsonl").judge("a", "a b")


@pytest.mark.parametrize("concurrency", [1, 4])
def test_answers_keep_their_order_and_the_first_failure_ends_all(concurrency):
    judge = Counting(concurrency=concurrency)
    assert list(ask_all(lambda n: n * n, range(50), judge)) == [n * n for n in range(50)]
    begun = []

    def fail(n):
        begun.append(n)
        raise JudgeError("no verdict")

    with pytest.raises(JudgeError):
        list(ask_all(fail, range(500), judge))
    assert len(begun) <= concurrency
