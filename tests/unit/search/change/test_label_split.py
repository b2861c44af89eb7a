from __future__ import annotations

import pytest

from retrieval_eval.demo import write_search_demo
from retrieval_eval.errors import BadInputError
from retrieval_eval.search.gold import load_gold_set, write_gold_set
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.relabel import relabel
from retrieval_eval.search.run import Settings
from tests.plain_runs import label_split
from tests.rechunking import recut, split
from tests.searches import answer, failure, gold_query, gold_set, measure, run_of


def test_old_rankings_stand_between_the_runs():
    # `a` was cut in two, of which only `a1` is relevant; `b` was merged into `m` with `c`.
    mapping = {("docs", "a"): ("a1", "a2"), ("docs", "b"): ("m",), ("docs", "c"): ("m",)}
    old = gold_set(gold_query("q", {"a": 2, "b": 1}))
    new = gold_set(gold_query("q", {"a1": 2, "a2": 0, "m": 1}))
    before = run_of(old, [answer("q", ["x", "a", "c", "b"])])
    after = run_of(new, [answer("q", ["a1", "m", "x"])])
    found = label_split(old, new, mapping, before, after)
    assert found["n_queries"] == 1
    # Told anew the old ranking is x, a1, a2, m: the first relevant one stays second.
    rr = found["metrics"]["RR"]
    assert (rr["before"], rr["between"], rr["after"]) == (0.5, 0.5, 1.0)
    assert (rr["total"], rr["labels"], rr["retrieval"]) == (50.0, 0.0, 50.0)
    # P@3: a in x, a, c is 1/3; a1 in x, a1, a2 is 1/3; a1 and m in a1, m, x are 2/3.
    p3 = found["metrics"]["P@3"]
    assert p3["labels"] == 0
    assert p3["retrieval"] == pytest.approx(100 / 3, abs=1e-12)
    # P@5: a and b of five; a1 and m of five; the same.
    assert found["metrics"]["P@5"]["total"] == 0
    assert (rr["n"], rr["n_left_out"]) == (1, 0)


def test_a_mapping_of_another_relabelling_is_refused():
    old = gold_set(gold_query("q", {"a": 1}))
    new = gold_set(gold_query("q", {"a1": 1}))
    runs = run_of(old, [answer("q", ["a", "b"])]), run_of(new, [answer("q", ["a1", "b1"])])
    right = {("docs", "a"): ("a1",), ("docs", "b"): ("b1",)}
    assert label_split(old, new, right, *runs)["metrics"]["RR"]["total"] == 0
    other = {("docs", "a"): ("z1",), ("docs", "b"): ("z2",)}
    with pytest.raises(BadInputError, match="none of the 2 documents that the mapping leads to"):
        label_split(old, new, other, *runs)


def test_what_the_labels_did_is_not_blamed_on_retrieval():
    old = gold_set(gold_query("q", {"a": 1, "b": 1}))
    new = gold_set(gold_query("q", {"a": 1, "b": 0}))
    run = [answer("q", ["b", "a"])]
    found = label_split(old, new, {}, run_of(old, run), run_of(new, run))
    block = found["metrics"]["P@1"]
    assert (block["total"], block["labels"], block["retrieval"]) == (-100.0, -100.0, 0.0)


def test_a_document_that_is_gone_keeps_its_rank():
    old, new = (gold_set(gold_query("q", {"b": 1}, note=note)) for note in ("", "x"))
    before = run_of(old, [answer("q", ["a", "b"])])
    after = run_of(new, [answer("q", ["b"])])
    found = label_split(old, new, {("docs", "a"): ()}, before, after)["metrics"]["RR"]
    assert (found["between"], found["labels"], found["retrieval"]) == (0.5, 0.0, 50.0)


def test_the_order_of_ties_under_new_ids_is_not_blamed_on_retrieval():
    # Ties are ordered by id from high to low: z before y, but a before b no more.
    ids = {"y": "b", "z": "a"}
    old, new = (gold_set(gold_query("q", {doc: 1})) for doc in ("z", "a"))
    before = run_of(old, [answer("q", {"z": 1.0, "y": 1.0})])
    after = run_of(new, [answer("q", {"b": 1.0, "a": 1.0})])
    mapping = {("docs", doc): (to,) for doc, to in ids.items()}
    found = label_split(old, new, mapping, before, after)["metrics"]["RR"]
    assert (found["before"], found["between"], found["after"]) == (1.0, 0.5, 0.5)
    assert (found["labels"], found["retrieval"]) == (-50.0, 0.0)


def test_only_queries_that_all_three_have_are_compared():
    queries = [gold_query(name, {"a": 1}) for name in ("q1", "q2", "q3")]
    old = gold_set(*queries)
    new = gold_set(*queries[:2], gold_query("q3", {}), gold_query("q4", {"a": 1}))
    before = run_of(old, [answer("q1", ["a"]), failure("q2"), answer("q3", ["a"])])
    after = run_of(new, [answer(f"q{n}", ["a"]) for n in range(1, 5)])
    found = label_split(old, new, {}, before, after)
    assert found["n_queries"] == 3
    assert (found["metrics"]["RR"]["n"], found["metrics"]["RR"]["n_left_out"]) == (1, 2)
    nothing = label_split(
        old, new, {}, run_of(old, [failure("q1")]), run_of(new, [answer("q1", ["a"])])
    )["metrics"]["RR"]
    assert (nothing["total"], nothing["labels"], nothing["n"]) == (None, None, 0)
    apart = label_split(
        old, new, {}, run_of(old, [answer("q1", ["a"])]), run_of(new, [answer("q4", ["a"])])
    )
    assert apart["n_queries"] == 0


def test_an_empty_ranking_stays_a_zero():
    gold = gold_set(gold_query("q", {"a": 1}))
    found = label_split(gold, gold, {}, run_of(gold, [answer("q")]), run_of(gold, [answer("q")]))
    block = found["metrics"]["P@5"]
    assert (block["between"], block["total"], block["n"]) == (0.0, 0.0, 1)


def test_runs_of_other_gold_sets_or_settings_are_refused():
    old, new = gold_set(gold_query("q", {"a": 1})), gold_set(gold_query("q", {"b": 1}))
    runs = run_of(old, [answer("q", ["a"])]), run_of(new, [answer("q", ["a"])])
    with pytest.raises(BadInputError, match="the earlier run was measured against another gold"):
        label_split(new, new, {}, *runs)
    with pytest.raises(BadInputError, match="the later run"):
        label_split(old, old, {}, *runs)
    deeper = run_of(new, [answer("q", ["a"])], settings=Settings(depth=80))
    with pytest.raises(BadInputError, match="cannot be compared: a different number of documents"):
        label_split(old, new, {}, runs[0], deeper)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Return the search demo with its gold set, corpus, and a run of BM25 on it."""
    demo = write_search_demo(tmp_path_factory.mktemp("demo"))
    run = measure(demo.gold, f"bm25:{demo.corpus}", out=demo.root / "eval")
    return demo, load_gold_set(demo.gold), read_corpus(demo.corpus), run


def _after(demo, tmp_path, cut, **where):
    """Re-label the demo for a corpus cut otherwise; return the split of the change."""
    demo, gold, corpus, before = demo
    new = recut(demo, tmp_path / "new", cut, **where)
    found = relabel(gold, corpus, read_corpus(new.corpus), sources=new.sources)
    write_gold_set(tmp_path / "gold-set.jsonl", found.gold.queries)
    after = measure(tmp_path / "gold-set.jsonl", f"bm25:{new.corpus}", out=tmp_path / "eval")
    return label_split(gold, found.gold, found.documents, before, after)


def test_three_documents_cut_anew_move_something_and_it_adds_up(demo, tmp_path):
    cut = split("pd-oracle-card", "pd-linux-install-6", "sp-access-summary")
    found = _after(demo, tmp_path, cut)
    blocks = found["metrics"].values()
    assert any(block["labels"] for block in blocks)
    for block in blocks:
        assert block["total"] == block["labels"] + block["retrieval"]
        assert block["total"] == pytest.approx(100 * (block["after"] - block["before"]), abs=1e-10)
