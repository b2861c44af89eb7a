from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict

import pytest

from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.gold_set import gold_faults, load_gold_set
from retrieval_eval.search.gold.identity import query_id
from tests.simulators.search import simulate_search


def _bytes(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def _rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def corpus(search_demo):
    return {row["id"]: row for row in _rows(search_demo.corpus)}


@pytest.fixture(scope="module")
def gold(search_demo):
    return _rows(search_demo.gold)


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not(search_demo, tmp_path):
    again, other = tmp_path / "again", tmp_path / "other"
    simulate_search(again)
    simulate_search(other, seed=1)
    assert _bytes(again) == _bytes(search_demo.root)
    assert _bytes(other)["corpus.jsonl"] != _bytes(search_demo.root)["corpus.jsonl"]


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_promised_holds_for_other_seeds_too(tmp_path, seed):
    demo = simulate_search(tmp_path, seed)
    assert gold_faults(demo.gold, corpus=read_corpus(demo.corpus)) == []
    rows = _rows(demo.gold)
    assert sum("labels" in row for row in rows) >= 60
    assert 30 <= sum(row["source"] == "bootstrap" for row in rows) <= 90


def test_there_is_enough_of_everything(corpus, gold):
    per_corpus = Counter(row["corpus"] for row in corpus.values())
    assert sorted(per_corpus) == ["product_docs", "security_policies"]
    assert min(per_corpus.values()) >= 100
    assert len(corpus) >= 300
    assert len(gold) >= 120
    origins = Counter(row["origin"] for row in gold)
    assert origins["replayed"] / len(gold) == pytest.approx(0.6, abs=0.1)
    assert origins["extracted"] / len(gold) == pytest.approx(0.3, abs=0.1)
    assert origins["adversarial"] / len(gold) == pytest.approx(0.1, abs=0.05)
    areas = defaultdict(set)
    for row in gold:
        areas[row["corpus"]].add(row["area"])
    assert all(len(names) >= 4 for names in areas.values())
    assert sum(row.get("answerable") is False for row in gold) >= 12
    assert {row["source"] for row in gold} == {"bootstrap", "chair"}


def test_documents_are_of_the_length_of_a_block_and_differ(corpus):
    lengths = [len(row["text"].split()) for row in corpus.values()]
    assert min(lengths) >= 60
    assert max(lengths) <= 160
    assert len({row["text"] for row in corpus.values()}) == len(corpus)


def test_no_pattern_is_left_unfilled(corpus, gold):
    # The paths of the interface are the only braces that are meant.
    for row in [*corpus.values(), *gold]:
        text = " ".join(row[name] for name in ("title", "text", "query") if name in row)
        assert set(re.findall(r"\{.*?\}", text)) <= {"{id}"}
        assert not re.search(r"\.\.|  | ,| \.(?!\w)", text), text


def test_the_gold_set_has_no_fault_and_ids_are_the_published_ones(search_demo, gold):
    assert gold_faults(search_demo.gold, corpus=read_corpus(search_demo.corpus)) == []
    assert len(load_gold_set(search_demo.gold).queries) == len(gold)
    for row in gold:
        assert row["id"] == query_id(row["corpus"], row["query"])


def test_grades_are_of_all_kinds_and_the_unanswerable_have_none_above_zero(gold):
    assert {grade for row in gold for grade in row["relevant"].values()} == {0, 1, 2}
    for row in gold:
        assert any(row["relevant"].values()) == row.get("answerable", True)


def test_unreviewed_queries_were_replayed_and_have_one_grade(gold):
    for row in gold:
        if row["source"] == "bootstrap":
            assert row["origin"] == "replayed"
            assert set(row["relevant"].values()) == {1}
            assert "labels" not in row


def test_two_labellers_disagree_as_people_do(gold):
    from sklearn.metrics import cohen_kappa_score

    first, second = [], []
    for row in gold:
        given = defaultdict(dict)
        for label in row.get("labels", ()):
            given[label["doc"]][label["labeller"]] = label["grade"]
        for doc, grades in given.items():
            assert set(grades) == {"a", "b"}
            # What both say was not in dispute, so it is the settled grade.
            if grades["a"] == grades["b"]:
                assert row["relevant"][doc] == grades["a"]
            else:
                assert row["relevant"][doc] in grades.values()
            first.append(grades["a"])
            second.append(grades["b"])
    assert len(first) >= 60
    assert 0.4 < cohen_kappa_score(first, second) < 0.9


def test_anchors_are_the_spans_the_documents_were_cut_from(search_demo, corpus, gold):
    n_anchors = 0
    for row in gold:
        for doc, anchor in row.get("anchors", {}).items():
            source = (search_demo.sources / anchor["source"]).read_text("utf-8")
            span = source[anchor["start"] : anchor["end"]]
            assert span == corpus[doc]["text"]
            assert hashlib.sha256(span.encode()).hexdigest() == anchor["sha256"]
            n_anchors += 1
    assert n_anchors > 100
