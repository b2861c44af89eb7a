from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from retrieval_eval.demo import write_search_demo
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model import from_builtins
from retrieval_eval.model.search_run import Claims, SearchRun
from retrieval_eval.schema import faults
from retrieval_eval.search.claims import (
    ClaimsRequest,
    Draft,
    claims_of,
    measure_claims,
    with_claims,
)
from retrieval_eval.search.claims.judge import JudgeError, JudgeFacts, Judgement, open_judge
from retrieval_eval.search.demo import JUDGE
from retrieval_eval.search.gold.corpus import Corpus, Document
from retrieval_eval.search.measure import Request, measure_request
from tests.plain_runs import metric_value, per_query
from tests.searches import answer, gold_query, gold_set, run_of, written
from tests.simulators.search.drafts import planted_drafts

GOLD = gold_set(
    gold_query("q1", {"d1": 2, "d2": 0}),
    gold_query("q2", {}, answerable=False),
    gold_query("q3", {}),
)
RUN = run_of(GOLD, [answer("q1", ["d2", "d1"]), answer("q2", ["d1"]), answer("q3", ["d1"])])
STORED = from_builtins(RUN, SearchRun, "the run")
CORPUS = Corpus(
    (
        Document("d1", "docs", "Keeping", "Copies are kept for 30 days. They are encrypted."),
        Document("d2", "docs", "", "The port of the agent is 443."),
    ),
    "f" * 64,
    Path("corpus.jsonl"),
)


def block_of(*drafts, judge=None, **fields):
    return written(
        claims_of(STORED, drafts, CORPUS, judge or open_judge(JUDGE), gold=GOLD, **fields)
    )


class Failing:
    facts = JudgeFacts(name="failing", version="1", settings={})
    concurrency = 2

    def judge(self, claim, block_text):
        raise JudgeError("no verdict (3 tries)")


class Recording:
    facts = JudgeFacts(name="recording", version="1", settings={})
    concurrency = 1

    def __init__(self):
        self.asked = []

    def judge(self, claim, block_text):
        self.asked.append((claim, block_text))
        return Judgement(False, None, f"no {len(self.asked)}")


def test_coverage_counts_labelled_blocks_and_faithfulness_the_context():
    text = "Hello! Copies are kept for 30 days. The port is 443. Copies are kept for 31 days."
    found = block_of(Draft("q1", text, ("d2",)))
    (query,) = found["queries"]
    rows = [
        (c["text"], c["is_substantive"], c["supported_by"], c["in_context"], c["reason"])
        for c in query["claims"]
    ]
    assert rows == [
        ("Hello!", False, None, False, "not_substantive"),
        ("Copies are kept for 30 days.", True, "d1", False, "supported"),
        ("The port is 443.", True, None, True, "not_supported"),
        ("Copies are kept for 31 days.", True, None, False, "not_supported"),
    ]
    assert (found["n_claims"], found["n_substantive"], found["n_supported"]) == (4, 3, 1)
    assert found["coverage"]["value"] == pytest.approx(1 / 3)
    assert found["faithfulness"]["value"] == pytest.approx(1 / 3)
    assert found["coverage"]["n"] == found["faithfulness"]["n"] == 3
    # One draft is one cluster, of which nothing can be resampled.
    assert found["coverage"]["ci_low"] is None


def test_spans_are_places_in_the_draft_and_in_the_document():
    text = "Thanks. Copies are kept for 30 days."
    claim = block_of(Draft("q1", text))["queries"][0]["claims"][1]
    assert text[slice(*claim["draft_span"])] == "Copies are kept for 30 days."
    assert CORPUS.documents[0].text[slice(*claim["span"])] == "Copies are kept for 30 days."


def test_context_is_the_top_of_the_run_where_the_draft_names_none():
    said = "The port of the agent is 443."
    assert block_of(Draft("q1", said))["faithfulness"]["value"] == 1.0
    assert block_of(Draft("q1", said, ("d1",)))["faithfulness"]["value"] == 0.0
    assert (
        block_of(Draft("q1", said, ("Our port is 443, of the agent.",)))["faithfulness"]["value"]
        == 1.0
    )
    assert block_of(Draft("q1", said, ()))["faithfulness"]["value"] == 0.0


def test_grade_0_is_no_support_and_an_unanswerable_query_has_none():
    found = block_of(
        Draft("q1", "The port of the agent is 443."), Draft("q2", "Copies are kept for 30 days.")
    )
    assert found["coverage"]["value"] == 0.0
    assert found["faithfulness"]["value"] == 1.0
    reasons = [query["claims"][0]["reason"] for query in found["queries"]]
    assert reasons == ["not_supported", "no_gold_block"]


def test_what_is_left_out_is_counted():
    found = block_of(Draft("q2", "", refused=True), Draft("q3", "Copies are kept for 30 days."))
    counts = {name: found[name] for name in found if name.startswith("n_")}
    assert counts == {
        "n_drafts": 2,
        "n_refused": 1,
        "n_unlabelled": 1,
        "n_without_draft": 1,
        "n_claims": 0,
        "n_substantive": 0,
        "n_supported": 0,
    }
    assert found["coverage"] == {
        "value": None,
        "n": 0,
        "computable": False,
        "reason": "no_claims",
        "ci_low": None,
        "ci_high": None,
    }
    with pytest.raises(NothingToEvaluateError, match="a query without labels"):
        block_of(Draft("q3", "x y"))


def test_a_failing_judge_leaves_no_block():
    with pytest.raises(JudgeError, match="3 tries"):
        block_of(Draft("q1", "Copies are kept for 30 days."), judge=Failing())


def test_a_block_in_both_lists_is_judged_once_and_talk_never():
    judge = Recording()
    found = block_of(Draft("q1", "Hello! It is safe.", ("d1", "d2")), judge=judge)
    assert judge.asked == [
        ("It is safe.", "Keeping\n\nCopies are kept for 30 days. They are encrypted."),
        ("It is safe.", "The port of the agent is 443."),
    ]
    # The reason is that of the labelled block, not of the context.
    assert found["queries"][0]["claims"][1]["reason"] == "no 1"


def test_inputs_that_do_not_belong_together_are_named():
    with pytest.raises(BadInputError, match="line 4: /id: the run has no query 'q9'"):
        block_of(Draft("q9", "x", line=4))
    with pytest.raises(BadInputError, match="line 2: /context/1: 'd9' is no document"):
        block_of(Draft("q1", "x", ("d1", "d9"), line=2))
    other = gold_set(gold_query("q1", {"d1": 1}))
    with pytest.raises(BadInputError, match="fingerprints differ"):
        claims_of(STORED, [Draft("q1", "x")], CORPUS, open_judge(JUDGE), gold=other)
    partial = Corpus(CORPUS.documents[1:], "0" * 64, Path("part.jsonl"))
    with pytest.raises(BadInputError, match=r"part\.jsonl: lacks the document 'd1'"):
        claims_of(STORED, [Draft("q1", "x")], partial, open_judge(JUDGE), gold=GOLD)


def test_the_block_fits_the_schema_and_the_named_metrics():
    found = block_of(Draft("q1", "Copies are kept for 30 days and 31 people."))
    claims = from_builtins(found, Claims, "claims")
    document = written(with_claims(STORED, claims))
    assert faults(document, "search_run") == []
    assert metric_value(document, "claim_coverage").value == found["coverage"]["value"]
    assert per_query(document, "claim_faithfulness") == {"q1": found["faithfulness"]["value"]}
    assert RUN["claims"] is None


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory):
    """The demo's drafts, measured: the document and what was planted, by query."""
    root = tmp_path_factory.mktemp("claims")
    demo = write_search_demo(root)
    run = measure_request(Request(demo.gold, f"bm25:{demo.corpus}", out=root / "runs")).json_path
    request = ClaimsRequest(run, demo.drafts, demo.corpus, demo.gold, root / "claims.json", JUDGE)
    document = written(measure_claims(request))
    assert request.out.exists()
    return document, {draft.query: draft for draft in planted_drafts()}, request


def test_a_paraphrase_of_an_off_gold_block_is_faithful_and_covers_nothing(demo_run):
    document, planted, _ = demo_run
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for query in document["claims"]["queries"]:
        for claim in query["claims"]:
            if claim["is_substantive"]:
                count = counts[planted[query["id"]].kind]
                count["n"] += 1
                count["covered"] += claim["supported_by"] is not None
                count["faithful"] += claim["in_context"]
    off_gold = counts["off_gold"]
    assert off_gold["n"] >= 80
    assert off_gold["covered"] == 0
    assert off_gold["faithful"] >= 0.95 * off_gold["n"]
    assert counts["answered"]["covered"] == 0
    assert counts["grounded"]["covered"] >= 0.95 * counts["grounded"]["n"]


def test_no_fabricated_number_is_covered(demo_run):
    document, planted, _ = demo_run
    n = 0
    for query in document["claims"]["queries"]:
        draft = planted[query["id"]]
        if draft.kind != "fabricated_number":
            continue
        (wrong,) = draft.ungrounded
        start = draft.draft.index(wrong)
        claims = [c for c in query["claims"] if start <= c["draft_span"][0] < start + len(wrong)]
        assert any(claim["supported_by"] is None for claim in claims), wrong
        n += 1
    assert n >= 20


def test_the_interval_is_that_of_whole_drafts_and_lies_around_the_share(demo_run):
    coverage = demo_run[0]["claims"]["coverage"]
    assert 0 < coverage["ci_low"] < coverage["value"] < coverage["ci_high"] < 1
