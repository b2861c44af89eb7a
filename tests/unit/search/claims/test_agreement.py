from __future__ import annotations

import json
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.claims import HumanLabel, judge_agreement, read_human_labels
from retrieval_eval.search.claims.judge import JudgeFacts, Judgement
from retrieval_eval.search.gold.corpus import Corpus, Document
from tests.searches import written

CORPUS = Corpus(
    (Document("d1", "docs", "Title", "A text."), Document("d1", "other", "", "B text.")),
    "f" * 64,
    Path("corpus.jsonl"),
)


class Says:
    """Supports the claims that begin with "yes"."""

    facts = JudgeFacts(name="says", version="1", settings={})
    concurrency = 3

    def judge(self, claim, block_text):
        return Judgement(claim.startswith("yes"), None, "x")


def labels(both, judge_only, human_only, neither):
    return [
        *[HumanLabel("yes", "b", True)] * both,
        *[HumanLabel("yes", "b", False)] * judge_only,
        *[HumanLabel("no", "b", True)] * human_only,
        *[HumanLabel("no", "b", False)] * neither,
    ]


def test_kappa_accuracy_and_confusion():
    found = written(judge_agreement(labels(20, 5, 10, 15), Says()))
    # Seen 35/50; by chance (25·30 + 25·20)/2500 = 0.5: kappa (0.7 − 0.5) / 0.5.
    assert found["kappa"]["value"] == pytest.approx(0.4)
    assert found["accuracy"]["value"] == pytest.approx(0.7)
    # Wilson: centre (0.7 + 1.96²/100) / (1 + 1.96²/50), half width as published.
    assert found["accuracy"]["ci_low"] == pytest.approx(0.5625, abs=5e-4)
    assert found["accuracy"]["ci_high"] == pytest.approx(0.8090, abs=5e-4)
    assert found["confusion"] == {"both": 20, "judge_only": 5, "human_only": 10, "neither": 15}
    assert found["n"] == found["kappa"]["n"] == found["accuracy"]["n"] == 50


def test_kappa_is_that_of_scikit_learn():
    given = labels(31, 4, 9, 17)
    said = [label.claim == "yes" for label in given]
    human = [label.supported for label in given]
    found = judge_agreement(given, Says()).kappa.value
    assert found == pytest.approx(cohen_kappa_score(said, human), abs=1e-12)


def test_one_sided_labels_have_no_kappa_but_an_accuracy():
    found = written(judge_agreement(labels(4, 0, 0, 0), Says()))
    assert (found["kappa"]["value"], found["kappa"]["reason"]) == (None, "constant_input")
    assert found["accuracy"]["value"] == 1.0


def test_labels_are_read_with_ids_and_texts_and_faults_named_by_line(tmp_path):
    path = tmp_path / "labels.jsonl"
    one = Corpus(CORPUS.documents[:1], "f" * 64, Path("corpus.jsonl"))
    path.write_text(
        '{"claim": "a", "block": "d1", "supported": true}\n'
        '{"claim": "b", "block": "some text", "supported": false}\n'
    )
    assert read_human_labels(path, one) == (
        HumanLabel("a", "Title\n\nA text.", True),
        HumanLabel("b", "some text", False),
    )
    rows = [
        ({"claim": "a", "block": "d1", "supported": True}, "in several corpora"),
        ({"claim": "a", "block": "d9", "supported": True}, "'d9' is no document"),
        ({"claim": "a", "block": "x y", "supported": 1}, "/supported: expected true or false"),
        ({"claim": "", "block": "x y", "supported": True}, "/claim: expected text"),
        ({"claim": "a", "supported": True}, "/block: expected text"),
        ([], "expected an object"),
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row, _ in rows) + "{\n")
    with pytest.raises(BadInputError) as raised:
        read_human_labels(path, CORPUS)
    lines = str(raised.value).splitlines()
    for number, (line, (_, message)) in enumerate(zip(lines, rows, strict=False), start=1):
        assert line.startswith(f"{path}: line {number}: ")
        assert message in line
    assert "line 7: not valid JSON" in lines[6]
    path.write_text("")
    with pytest.raises(BadInputError, match="holds no label"):
        read_human_labels(path, CORPUS)
