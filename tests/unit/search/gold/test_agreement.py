from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.agreement import (
    agreement,
    compare_grades,
    disagreements,
    own_grades,
)


def _labels(**grades):
    """Labels from labeller=grades, one grade a document, "-" for none."""
    return [
        {"labeller": labeller, "doc": f"d{n}", "grade": int(grade)}
        for labeller, given in grades.items()
        for n, grade in enumerate(given)
        if grade != "-"
    ]


def _gold(tmp_path, *rows):
    path = tmp_path / "gold-set.jsonl"
    lines = (
        json.dumps({"query": f"text of {row['id']}", "source": "chair", "corpus": "law", **row})
        for row in rows
    )
    path.write_text("\n".join(lines), encoding="utf-8")
    return load_gold_set(path)


def test_each_pair_of_labellers_over_what_both_graded(tmp_path):
    gold = _gold(
        tmp_path,
        {"id": "q1", "labels": _labels(a="0011", b="01-1", c="---2")},
        {"id": "q2", "labels": _labels(a="22", b="21")},
    )
    ab, ac, bc = agreement(gold, n_resamples=10)
    assert [(p.first, p.second) for p in (ab, ac, bc)] == [("a", "b"), ("a", "c"), ("b", "c")]
    # a, b: (0,0) (0,1) (1,1) of q1 and (2,2) (2,1) of q2.
    assert (ab.overall.n, ab.overall.n_queries) == (5, 2)
    assert ab.overall.agreement.value == 3 / 5
    assert ab.overall.table == ((1, 1, 0), (0, 1, 0), (0, 1, 1))
    # Margins 2, 1, 2 and 1, 3, 1: by chance (2 + 3 + 2) / 25 = .28, so (.6 - .28) / .72.
    assert ab.overall.kappas["none"].value.value == pytest.approx(0.32 / 0.72, abs=1e-12)
    assert ab.overall.kappas["none"].value.n == 5
    assert ab.overall.kappas["none"].interval.low.reason == "too_few_values"
    assert (ac.overall.n, bc.overall.n) == (1, 1)
    assert ac.overall.kappas["linear"].value.reason == "constant_input"


def test_a_corpus_with_few_pairs_has_counts_and_no_kappa(tmp_path):
    gold = _gold(
        tmp_path,
        {"id": "q1", "labels": _labels(a="00112", b="01112")},
        {"id": "q2", "corpus": "tax", "labels": _labels(a="0011", b="0110")},
    )
    (pair,) = agreement(gold, weights=["quadratic"], n_resamples=10)
    assert list(pair.corpora) == ["law", "tax"]
    assert [pair.corpora[name].n for name in pair.corpora] == [5, 4]
    assert list(pair.corpora["law"].kappas) == list(pair.overall.kappas) == ["quadratic"]
    assert pair.corpora["tax"].kappas == {}
    assert pair.corpora["tax"].agreement.value == 0.5


def test_only_the_pairs_that_were_asked_for(tmp_path):
    gold = _gold(tmp_path, {"id": "q1", "labels": _labels(a="00", b="01", c="11")})
    assert [p.second for p in agreement(gold, pairs=[("b", "c")], n_resamples=10)] == ["c"]
    with pytest.raises(BadInputError, match=r"'z' has no label; labellers: a, b, c"):
        agreement(gold, pairs=[("a", "z")])
    with pytest.raises(BadInputError, match=r"not 'a' twice"):
        agreement(gold, pairs=[("a", "a")])


def test_without_common_labels_there_is_nothing_to_measure(tmp_path):
    apart = _gold(tmp_path, {"id": "q1", "labels": _labels(a="0-", b="-1")})
    with pytest.raises(NothingToEvaluateError, match="no two labellers"):
        agreement(apart)
    with pytest.raises(NothingToEvaluateError):
        agreement(apart, pairs=[("a", "b")])


def test_disagreements_and_who_settled_them(tmp_path):
    decision = {"doc": "d1", "grade": 2, "by": ["c"], "why": "adjudication", "over": {"a": 1}}
    gold = _gold(
        tmp_path,
        {"id": "q2", "labels": _labels(a="00", b="01", c="-2"), "relevant": {"d1": 2},
         "decisions": [decision, "no record", {"doc": 7, "why": "adjudication"}]},
        {"id": "q1", "labels": _labels(a="0", b="2")},
    )  # fmt: skip
    first, second = disagreements(gold)
    assert (first.query, first.doc, first.grades, first.final) == (
        "q1", "d0", {"a": 0, "b": 2}, None,
    )  # fmt: skip
    assert first.decided_by == ()
    assert (second.query, second.doc, second.final, second.decided_by) == ("q2", "d1", 2, ("c",))
    # The adjudicator only graded what others disagree on: no pair with them.
    assert second.grades == {"a": 0, "b": 1}
    assert [(p.first, p.second) for p in agreement(gold, n_resamples=10)] == [("a", "b")]
    assert own_grades(gold.queries[0])["d1"] == {"a": 0, "b": 1}


def test_a_scale_beyond_two_is_that_of_the_file(tmp_path):
    (tmp_path / "gold.toml").write_text("max_grade = 4\n", encoding="utf-8")
    gold = _gold(tmp_path, {"id": "q1", "labels": _labels(a="04", b="14")})
    (pair,) = agreement(gold, n_resamples=10)
    assert len(pair.overall.table) == 5
    assert pair.overall.table[4][4] == 1


def test_no_rows_at_all():
    found = compare_grades([], 2, seed=1, n_resamples=10)
    assert (found.n, found.agreement.reason) == (0, "too_few_values")
    assert found.to_json()["kappa"]["none"]["reason"] == "too_few_values"
