from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search import claims as module
from retrieval_eval.search.claims import ClaimsRequest, measure_claims
from retrieval_eval.search.claims.judge import JudgeFacts, Judgement
from retrieval_eval.search.demo import JUDGE
from tests.searches import measure, written


class Counting:
    """Supports everything, and counts how often it was asked."""

    facts = JudgeFacts(name="counting", version="1", settings={})
    concurrency = 1

    def __init__(self):
        self.n_asked = 0

    def judge(self, claim, block_text):
        self.n_asked += 1
        return Judgement(True, None, "supported")


@pytest.fixture
def judge(monkeypatch):
    judge = Counting()
    monkeypatch.setattr(module, "open_judge", lambda *given, **options: judge)
    return judge


def _lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def request_of(tmp_path):
    """Return a function that makes a request out of one draft."""
    gold = _lines(
        tmp_path / "gold-set.jsonl",
        {"id": "q", "query": "levy", "source": "chair", "relevant": {"d": 1}},
    )
    corpus = _lines(tmp_path / "corpus.jsonl", {"id": "d", "text": "The levy is due in March."})
    measure(gold, f"bm25:{corpus}", out=tmp_path / "runs")
    (run,) = (tmp_path / "runs").glob("*.json")

    def request(draft):
        return ClaimsRequest(
            run=run,
            drafts=_lines(tmp_path / "drafts.jsonl", draft),
            corpus=corpus,
            gold=gold,
            out=tmp_path / "claims.json",
            judge=JUDGE,
            human_labels=_lines(
                tmp_path / "labels.jsonl",
                {"claim": "The levy is due", "block": "d", "supported": True},
            ),
        )

    return request


def test_claims_and_agreement_are_measured_and_written(request_of, judge):
    request = request_of({"id": "q", "draft": "The levy is due in March."})
    document = written(measure_claims(request))
    assert (document["claims"]["n_supported"], document["claims"]["agreement"]["n"]) == (1, 1)
    # The claim against its document, which is label and context at once, and the human label.
    assert judge.n_asked == 2
    assert json.loads(request.out.read_bytes()) == document


def test_what_cannot_be_used_is_found_before_a_judge_is_asked(request_of, judge):
    request = request_of({"id": "absent", "draft": "The levy is due in March."})
    with pytest.raises(BadInputError, match="the run has no query 'absent'"):
        measure_claims(request)
    assert judge.n_asked == 0
    assert not request.out.exists()
