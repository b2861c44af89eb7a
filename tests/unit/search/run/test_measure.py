from __future__ import annotations

import re
from datetime import date

import pytest

from retrieval_eval import schema
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search import measure as module
from retrieval_eval.search.ask import ScoredDoc
from retrieval_eval.search.change.baseline import plan_update, write_update
from retrieval_eval.search.decide.guard import check
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.identity import pinned_text
from retrieval_eval.search.measure import JOURNAL, Request, measure_request, run_search
from retrieval_eval.search.run.document import load_search_run
from tests.plain_runs import read_search_run
from tests.rechunking import write_rows
from tests.searches import gold_query, gold_set, measure, written

DAY = date(2026, 1, 5)
ROWS = [
    {"id": "q1", "query": "red apple", "corpus": "fruit", "relevant": {"f1": 2, "f2": 1}},
    {"id": "q2", "query": "blue plum", "corpus": "fruit", "relevant": ["f3"], "area": "stone"},
    {"id": "q3", "query": "steel nail", "corpus": "tools", "relevant": ["t1"]},
    {"id": "q4", "query": "moon cheese", "corpus": "tools", "answerable": False},
]
DOCUMENTS = [
    {"id": "f1", "corpus": "fruit", "text": "a red apple"},
    {"id": "f2", "corpus": "fruit", "text": "an apple"},
    {"id": "f3", "corpus": "fruit", "text": "a plum that is blue"},
    {"id": "t1", "corpus": "tools", "text": "a nail of steel"},
    {"id": "t2", "corpus": "tools", "text": "a hammer"},
]


class Words:
    """Documents by the number of words they share with the query; asked queries are kept."""

    is_thread_safe = True

    def __init__(self):
        self.asked = []
        self.broken = set()
        self.stops_at = None

    def search(self, query, *, corpus, k):
        if query == self.stops_at:
            raise KeyboardInterrupt
        self.asked.append(query)
        if query in self.broken:
            raise KeyError(query)
        words = set(query.split())
        found = {
            d["id"]: float(len(words & set(d["text"].split())))
            for d in DOCUMENTS
            if d["corpus"] == corpus
        }
        return [ScoredDoc(doc, score) for doc, score in found.items() if score][:k]

    def describe(self):
        return {"name": "words", "reranker": None}


@pytest.fixture
def retriever(monkeypatch):
    found = Words()
    monkeypatch.setattr(module, "open_retriever", lambda spec, options: found)
    return found


@pytest.fixture
def gold(tmp_path):
    return write_rows(tmp_path / "gold-set.jsonl", [{"source": "bootstrap", **row} for row in ROWS])


@pytest.fixture
def out(tmp_path):
    return tmp_path / "eval"


def timeless(path):
    """The text of a run but for the seconds that answers took."""
    return re.sub(r'"seconds": [0-9.e-]+', "", path.read_text())


def test_a_run_is_measured_and_written(retriever, gold, out, tmp_path):
    corpus = write_rows(tmp_path / "corpus.jsonl", DOCUMENTS)
    seen = []
    document = measure(
        gold,
        "any:thing",
        corpus_file=corpus,
        label="first",
        out=out,
        progress=lambda done, total, name: seen.append((done, total)),
    )
    # Every one of the four is asked a second time.
    assert seen == [(done, 8) for done in range(1, 9)]
    # q1: f1 then f2; q2: f3; q3: t1. Nothing else shares a word.
    assert document["metrics"]["Recall@20"]["value"] == 1
    assert document["metrics"]["P@5"]["value"] == pytest.approx((2 + 1 + 1) / 5 / 3)
    assert document["metrics"]["P@5"]["not_computable"] == {"no_ground_truth": 1}
    corpora = document["run"]["corpora"]
    assert [(c["corpus"], c["n_documents"]) for c in corpora] == [("fruit", 3), ("tools", 2)]
    assert corpora[0]["fingerprint"] != corpora[1]["fingerprint"]
    assert document["run"]["gold_set"]["is_provisional"] is True
    assert document["delta"] is None

    (path,) = out.glob("*.json")
    assert re.fullmatch(r"eval-report-\d{8}T\d{6}Z\.json", path.name)
    assert read_search_run(path) == document
    assert path.with_suffix(".md").read_text().startswith("# Search run: first\n")
    assert sorted(p.name for p in out.iterdir()) == sorted([path.name, f"{path.stem}.md"])


def test_twice_the_same_but_for_the_time_and_no_report_is_lost(retriever, gold, out, monkeypatch):
    first = measure_request(Request(gold, "any:thing", out=out))
    moment = first.run.generated_at
    monkeypatch.setattr(module, "now", lambda: moment)
    second = measure_request(Request(gold, "any:thing", out=out))
    assert second.json_path.stem == f"{first.json_path.stem}-2"
    assert timeless(first.json_path) == timeless(second.json_path)
    texts = [one.markdown_path.read_text() for one in (first, second)]
    # The section on latency is about seconds alone.
    one, other = (re.sub(r"(?s)## Latency.*?(?=\n## |\Z)", "", text) for text in texts)
    assert one == other
    third = measure_request(Request(gold, "any:thing", out=out, jobs=3))
    assert timeless(third.json_path) == timeless(first.json_path)


def test_only_the_queries_of_a_corpus(retriever, gold, out):
    document = measure(gold, "any:thing", corpora=["fruit"], out=out)
    assert [query["id"] for query in document["queries"]] == ["q1", "q2"]
    assert document["run"]["gold_set"]["n_queries"] == 4
    assert [corpus["corpus"] for corpus in document["run"]["corpora"]] == ["fruit"]
    with pytest.raises(BadInputError, match="'wine'"):
        measure(gold, "any:thing", corpora=["wine"], out=out)


def test_no_secret_reaches_a_file(retriever, gold, out):
    retriever.stops_at = "steel nail"
    options = {"header.Authorization": "s3cret", "bearer_env": "VARIABLE"}
    spec = "https://me:s3cret@host/?key=s3cret"
    with pytest.raises(KeyboardInterrupt):
        measure(gold, spec, options=options, out=out)
    assert (out / JOURNAL).exists()
    written = [path.read_text() for path in out.iterdir()]
    retriever.stops_at = None
    measure(gold, spec, options=options, out=out)
    written += [path.read_text() for path in out.iterdir()]
    assert len(written) == 3
    assert all("s3cret" not in text for text in written)
    assert all("VARIABLE" in text for text in written)


def test_what_cannot_be_used_is_found_before_a_query_is_asked(retriever, gold, out, tmp_path):
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "broken.jsonl").write_text("{\n")
    for options in (
        {"baseline": tmp_path / "broken.json"},
        {"baseline": tmp_path / "none.json"},
        {"corpus_file": tmp_path / "broken.jsonl"},
        {"backlog": str(tmp_path / "broken.jsonl")},
        {"use_rerank": False},
    ):
        with pytest.raises(BadInputError):
            measure(gold, "any:thing", out=out, **options)
    with pytest.raises(BadInputError, match=r"none\.jsonl"):
        measure(tmp_path / "none.jsonl", "any:thing", out=out)
    assert retriever.asked == []
    assert not out.exists()


def test_a_corpus_file_of_other_corpora_only_is_refused(retriever, gold, out, tmp_path):
    corpus = write_rows(tmp_path / "corpus.jsonl", [{"id": "f1", "text": "a red apple"}])
    told = "no document belongs to corpus 'fruit', 'tools' of the gold queries .* has 'default'"
    with pytest.raises(BadInputError, match=told):
        measure(gold, "any:thing", corpus_file=corpus, out=out)
    assert retriever.asked == []
    # What one of the corpora lacks fails query by query.
    write_rows(corpus, DOCUMENTS[:3])
    assert measure(gold, "any:thing", corpus_file=corpus, out=out)["status"]["n_failed"] == 1


def test_corpora_a_retriever_states_are_on_record(retriever, gold, out):
    stated = [{"corpus": "fruit", "n_documents": 3, "fingerprint": "ab"}, {"corpus": "tools"}, 7]
    retriever.describe = lambda: {"name": "words", "corpora": stated}
    assert measure(gold, "any:thing", out=out)["run"]["corpora"] == [
        {"corpus": "fruit", "n_documents": 3, "fingerprint": "ab"},
        {"corpus": "tools", "n_documents": None, "fingerprint": None},
    ]


def test_a_retriever_that_knows_its_documents_is_checked(retriever, gold, out):
    retriever.known_documents = {"fruit": ["f1", "f2"], "tools": ["t1", "t2"]}
    document = written(measure_request(Request(gold, "words", out=out)).run)
    assert document["run"]["ids_checked"] is True
    assert [q["status"] for q in document["queries"]] == ["ok", "failed", "ok", "ok"]
    assert document["queries"][1]["error"] == "item 1 is 'f3', and the corpus has no such document"


def test_known_documents_that_raise_are_refused_and_none_are_not_known(
    retriever, gold, out, monkeypatch
):
    monkeypatch.setattr(Words, "known_documents", None, raising=False)
    assert measure_request(Request(gold, "words", out=out)).run.run.ids_checked is False

    def broken(self):
        raise OSError("no index")

    monkeypatch.setattr(Words, "known_documents", property(broken), raising=False)
    with pytest.raises(BadInputError, match=r"known_documents is of no use \(OSError: no index\)"):
        measure_request(Request(gold, "words", out=out))


def test_an_object_and_a_gold_set_in_memory_are_measured_without_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gold = gold_set(gold_query("q1", {"t1": 1}, query="steel nail", corpus="tools"))
    document = written(run_search(gold, Words(), label="mine"))
    assert document["metrics"]["RR"]["value"] == 1
    retriever = document["run"]["retriever"]
    assert retriever["spec"] == f"{__name__}:Words"
    assert retriever["name"] == "words"
    assert schema.faults(document, "search_run") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("retriever", "options", "message"),
    [
        (Words(), {"k1": "2"}, "takes no options"),
        (7, {}, "a value of type int is no retriever"),
        ("bm25:absent.jsonl", {}, "absent.jsonl"),
    ],
)
def test_what_is_no_retriever_is_refused(tmp_path, retriever, options, message):
    gold = gold_set(gold_query("q1", {"t1": 1}))
    with pytest.raises(BadInputError, match=message):
        run_search(gold, retriever, options=options)


def pinned_at(path, gold, *ids):
    path.write_text(pinned_text(load_gold_set(gold), ids))
    return path


def test_only_the_queries_of_a_pinned_list(retriever, gold, out, tmp_path):
    listed = pinned_at(tmp_path / "pinned.txt", gold, "q3", "q1")
    first = measure_request(Request(gold, "any:thing", out=out, queries=listed, ask_twice=0))
    assert retriever.asked == ["red apple", "steel nail"]
    assert first.run.run.pinned.name == "pinned.txt"
    assert first.run.run.pinned.n_queries == 2
    # The list was stated before, so that nothing was left out.
    baseline = tmp_path / "baseline.json"
    write_update(plan_update(baseline, first.json_path))
    second = measure_request(
        Request(gold, "any:thing", out=out, queries=listed, baseline=baseline)
    ).run
    assert second.delta is not None
    verdict = check([second], [load_search_run(baseline)], shipped_thresholds(), today=DAY).verdict
    assert verdict != "breach"
    whole = measure_request(Request(gold, "any:thing", out=out, label="whole"))
    ruling = check([whole.run], [load_search_run(baseline)], shipped_thresholds(), today=DAY)
    assert ruling.verdict == "no_verdict"
    assert "asked other queries (pinned in pinned.txt)" in ruling.reasons[0]
    # A list is no leave to shrink a baseline.
    write_update(plan_update(tmp_path / "all.json", whole.json_path))
    assert "queries" in plan_update(tmp_path / "all.json", first.json_path).differences


def test_a_pinned_list_that_no_longer_holds_is_refused_before_a_query_is_asked(
    retriever, gold, out, tmp_path
):
    listed = pinned_at(tmp_path / "pinned.txt", gold, "q1")
    rows = [{**row, "source": "bootstrap"} for row in ROWS]
    write_rows(gold, [{**rows[0], "relevant": ["f2"]}, *rows[1:]])
    with pytest.raises(NothingToEvaluateError, match="no longer what they were"):
        measure(gold, "any:thing", out=out, queries=listed)
    write_rows(gold, rows[1:])
    with pytest.raises(NothingToEvaluateError, match="the first is 'q1'"):
        measure(gold, "any:thing", out=out, queries=listed)
    with pytest.raises(BadInputError, match="no such file"):
        measure(gold, "any:thing", out=out, queries=tmp_path / "none.txt")
    assert retriever.asked == []


def test_a_journal_of_other_queries_belongs_to_another_run(retriever, gold, out, tmp_path):
    retriever.stops_at = "steel nail"
    with pytest.raises(KeyboardInterrupt):
        measure(gold, "any:thing", out=out)
    retriever.stops_at = None
    listed = pinned_at(tmp_path / "pinned.txt", gold, "q1")
    with pytest.raises(BadInputError, match=r"unfinished run with other settings .*queries"):
        measure(gold, "any:thing", out=out, queries=listed)
