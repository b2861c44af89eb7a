from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.ask import ScoredDoc
from retrieval_eval.search.run.running import run_queries


def gold(*queries: GoldQuery, fingerprint: str = "f1") -> GoldSet:
    return GoldSet(queries, fingerprint)


def queries(n: int, corpus: str = "default") -> list[GoldQuery]:
    return [GoldQuery(f"q{i}", f"text {i}", corpus) for i in range(1, n + 1)]


class Fixed:
    """Answers from a table of query text; an exception in it is raised. Remembers the calls."""

    def __init__(self, answers, *, is_thread_safe=False):
        self.answers, self.calls, self.is_thread_safe = answers, [], is_thread_safe

    def search(self, query, *, corpus, k):
        self.calls.append((query, corpus, k))
        answer = self.answers.get(query, [("d", 1.0)])
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Stages:
    def first_stage(self, query, *, corpus, k):
        return [ScoredDoc("a", 2.0), ScoredDoc("b", 1.0)]

    def rerank(self, query, docs, *, k):
        return [ScoredDoc(doc.doc, -doc.score) for doc in reversed(docs)]

    def search(self, query, *, corpus, k):
        return self.rerank(query, self.first_stage(query, corpus=corpus, k=k), k=k)


def docs(result):
    return [(doc.doc, doc.score) for doc in result.ranking]


def timeless(results):
    return [replace(result, seconds=None) for result in results]


def test_each_query_is_asked_once_with_its_text_corpus_and_depth():
    retriever = Fixed({})
    results = run_queries(
        gold(GoldQuery("x", "levy", "law"), GoldQuery("y", "fee", "kb")), retriever, depth=7
    )
    assert retriever.calls == [("levy", "law", 7), ("fee", "kb", 7)]
    assert [(r.id, r.status, docs(r)) for r in results] == [
        ("x", "ok", [("d", 1.0)]),
        ("y", "ok", [("d", 1.0)]),
    ]
    assert all(r.seconds >= 0 for r in results)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ValueError("no\nindex"), "ValueError: no index"),
        (SystemExit(0), "SystemExit: 0"),
        ([("d1", 2.0), ("d1", 1.0)], "items 1 and 2 are the same document, 'd1'"),
    ],
)
def test_a_failure_is_recorded_and_the_next_query_is_asked(answer, error):
    failed, ok = run_queries(gold(*queries(2)), Fixed({"text 1": answer}), depth=1)
    assert (failed.status, failed.ranking, failed.problems) == ("failed", (), ())
    assert failed.error.startswith(error)
    assert (ok.status, ok.error) == ("ok", None)


def test_documents_below_the_floor_are_dropped_and_none_left_is_a_refusal():
    answers = {"text 1": [("a", 0.9), ("b", 0.5), ("c", 0.4)], "text 2": [("a", 0.1)], "text 3": []}
    kept, refused, empty = run_queries(gold(*queries(3)), Fixed(answers), depth=3, floor=0.5)
    assert docs(kept) == [("a", 0.9), ("b", 0.5)]
    assert [(r.ranking, r.is_refused, r.status) for r in (refused, empty)] == [
        ((), True, "ok"),
        ((), False, "ok"),
    ]
    assert (kept.is_refused, kept.problems) == (False, ())


def test_the_reranker_is_left_out_only_where_there_is_one():
    [whole] = run_queries(gold(*queries(1)), Stages(), depth=2)
    assert docs(whole) == [("b", -1.0), ("a", -2.0)]
    [first] = run_queries(gold(*queries(1)), Stages(), depth=2, use_rerank=False)
    assert docs(first) == [("a", 2.0), ("b", 1.0)]
    with pytest.raises(BadInputError, match="shows no stages"):
        run_queries(gold(*queries(1)), Fixed({}), depth=2, use_rerank=False)


def test_only_queries_of_the_named_corpora_are_asked():
    retriever = Fixed({})
    rows = [GoldQuery("x", "levy", "law"), GoldQuery("y", "fee", "kb")]
    results = run_queries(gold(*rows), retriever, depth=1, corpora=["kb"])
    assert [r.id for r in results] == ["y"]
    with pytest.raises(BadInputError, match="corpus 'kbb'; the gold set has 'kb', 'law'"):
        run_queries(gold(*rows), retriever, depth=1, corpora=["kb", "kbb"])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"depth": 0}, "depth is 0"),
        ({"depth": 1, "jobs": 0}, "jobs is 0"),
        ({"depth": 1, "floor": float("nan")}, "the floor is nan"),
    ],
)
def test_settings_of_no_use_are_refused(setting, message):
    with pytest.raises(BadInputError, match=message):
        run_queries(gold(*queries(1)), Fixed({}), **setting)


def test_results_come_in_the_order_of_the_gold_set_whichever_is_done_first():
    second_is_reported, calls = threading.Event(), []

    class Crossed:
        is_thread_safe = True

        def search(self, query, *, corpus, k):
            assert query == "text 2" or second_is_reported.wait(60)
            return [(query, 1.0)]

    def progress(done, total, name):
        calls.append((done, total, name))
        second_is_reported.set()

    results = run_queries(gold(*queries(2)), Crossed(), depth=1, jobs=2, progress=progress)
    assert [r.id for r in results] == ["q1", "q2"]
    assert [docs(r) for r in results] == [[("text 1", 1.0)], [("text 2", 1.0)]]
    assert calls == [(1, 2, "q2"), (2, 2, "q1")]


def test_a_retriever_that_says_nothing_about_threads_is_called_from_one():
    threads = set()

    class Shy:
        def search(self, query, *, corpus, k):
            threads.add(threading.current_thread())
            return []

    run_queries(gold(*queries(20)), Shy(), depth=1, jobs=8)
    assert threads == {threading.current_thread()}


def test_no_more_queries_are_asked_at_once_than_jobs():
    lock, running, most = threading.Lock(), 0, 0
    all_are_in = threading.Barrier(3)

    class Counting:
        is_thread_safe = True

        def search(self, query, *, corpus, k):
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            all_are_in.wait(60)  # passes only when three queries are under way
            with lock:
                running -= 1
            return []

    run_queries(gold(*queries(12)), Counting(), depth=1, jobs=3)
    assert most == 3


# --- the journal ---


def test_an_interrupted_run_keeps_what_is_finished_and_asks_for_the_rest(tmp_path):
    journal = tmp_path / "run.journal.jsonl"
    answers = {"text 1": [("a", 1.5)], "text 2": ValueError("down"), "text 3": KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        run_queries(gold(*queries(4)), Fixed(answers), depth=1, journal=journal)

    retriever, calls = Fixed({"text 1": [("other", 9.0)]}), []
    results = run_queries(
        gold(*queries(4)),
        retriever,
        depth=1,
        journal=journal,
        progress=lambda *call: calls.append(call),
    )
    # The first is not asked again; the second failed, the third and fourth were never answered.
    assert [text for text, _, _ in retriever.calls] == ["text 2", "text 3", "text 4"]
    assert docs(results[0]) == [("a", 1.5)]
    assert [r.status for r in results] == ["ok"] * 4
    assert calls == [(1, 4, "q1"), (2, 4, "q2"), (3, 4, "q3"), (4, 4, "q4")]

    again = Fixed({})
    assert run_queries(gold(*queries(4)), again, depth=1, journal=journal) == results
    assert again.calls == []


def test_answers_under_way_when_the_run_is_interrupted_are_kept(tmp_path):
    journal = tmp_path / "run.journal.jsonl"
    second_is_asked, first_is_reported = threading.Event(), threading.Event()

    class Slow:
        is_thread_safe = True

        def search(self, query, *, corpus, k):
            if query == "text 2":
                second_is_asked.set()
                assert first_is_reported.wait(60)
            else:
                assert second_is_asked.wait(60)
            return [(query, 1.0)]

    def interrupt(done, total, name):
        first_is_reported.set()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_queries(gold(*queries(2)), Slow(), depth=1, jobs=2, journal=journal, progress=interrupt)
    retriever = Fixed({})
    results = run_queries(gold(*queries(2)), retriever, depth=1, journal=journal)
    assert retriever.calls == []
    assert [docs(r) for r in results] == [[("text 1", 1.0)], [("text 2", 1.0)]]


OTHER_SETTINGS = {
    "gold_set": {"gold": gold(*queries(2), fingerprint="f2")},
    "depth": {"depth": 2},
    "floor": {"floor": 0.5},
    "use_rerank": {"use_rerank": False},
    "known_documents": {"known_documents": {"d"}},
    "retriever": {"identity": {"spec": "bm25:corpus.jsonl", "options": {"k1": "0.9"}}},
}


@pytest.mark.parametrize("name", OTHER_SETTINGS)
def test_a_journal_of_other_settings_is_refused_and_left_alone(tmp_path, name):
    changed = OTHER_SETTINGS[name]
    journal = tmp_path / "run.journal.jsonl"
    usual = {"gold": gold(*queries(2)), "retriever": Stages(), "depth": 1, "journal": journal}
    run_queries(**usual)
    before = journal.read_bytes()
    with pytest.raises(BadInputError, match=rf"other settings \({name}\); finish that run, start"):
        run_queries(**usual | changed)
    assert journal.read_bytes() == before
    run_queries(**usual | changed, fresh=True)
    run_queries(**usual | changed)


def test_the_facts_of_the_retriever_are_part_of_the_settings(tmp_path):
    class Indexed(Fixed):
        def __init__(self, index):
            super().__init__({})
            self.index = index

        def describe(self):
            return {"name": "mine", "index": self.index}

    journal = tmp_path / "run.journal.jsonl"
    run_queries(gold(*queries(1)), Indexed("v1"), depth=1, journal=journal)
    run_queries(gold(*queries(1)), Indexed("v1"), depth=1, journal=journal)
    with pytest.raises(BadInputError, match="other settings \\(retriever\\)"):
        run_queries(gold(*queries(1)), Indexed("v2"), depth=1, journal=journal)


def test_a_file_that_is_no_journal_is_never_overwritten(tmp_path):
    for text in ("no line end", '{"id": "g1", "query": "levy"}\n', "\n", "[]\n"):
        path = tmp_path / "gold-set.jsonl"
        path.write_text(text, encoding="utf-8")
        for fresh in (False, True):
            with pytest.raises(BadInputError, match="not a journal of a search run"):
                run_queries(gold(*queries(1)), Fixed({}), depth=1, journal=path, fresh=fresh)
            assert path.read_text("utf-8") == text


def journal_line(score: str) -> str:
    return (
        f'{{"id": "q1", "status": "ok", "error": null, "ranking": [["d", {score}]],'
        ' "is_refused": false, "problems": [], "seconds": 0.1}'
    )


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"id": "q1", "status": "ok"}',
        journal_line("NaN"),
        journal_line("true"),
        journal_line("1" + "0" * 400),
    ],
)
def test_a_broken_line_of_a_journal_is_named(tmp_path, line):
    journal = tmp_path / "run.journal.jsonl"
    run_queries(gold(*queries(1)), Fixed({}), depth=1, journal=journal)
    with journal.open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    with pytest.raises(BadInputError, match=r"run.journal.jsonl: line 3: no result of a query"):
        run_queries(gold(*queries(1)), Fixed({}), depth=1, journal=journal)


def test_a_journal_that_cannot_be_written_is_bad_input(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("", encoding="utf-8")
    with pytest.raises(BadInputError, match="cannot be"):
        run_queries(gold(*queries(1)), Fixed({}), depth=1, journal=blocker / "run.journal.jsonl")
    with pytest.raises(BadInputError, match="cannot be"):
        run_queries(gold(*queries(1)), Fixed({}), depth=1, journal=tmp_path)


def test_a_journal_line_is_whole_json_even_with_half_a_surrogate_pair(tmp_path):
    journal = tmp_path / "run.journal.jsonl"
    answers = {"text 1": [("d\ud800", 1.0)], "text 2": ValueError("\udfff")}
    results = run_queries(gold(*queries(2)), Fixed(answers), depth=1, journal=journal)
    assert docs(results[0]) == [("d\ufffd", 1.0)]
    assert results[1].error == "ValueError: \ufffd"
    _, *rows = map(json.loads, journal.read_bytes().splitlines())
    assert [row["id"] for row in rows] == ["q1", "q2"]
    assert rows[0]["ranking"] == [["d\ufffd", 1.0]]
    assert timeless(run_queries(gold(*queries(2)), Fixed(answers), depth=1, journal=journal)) == (
        timeless(results)
    )


def test_what_an_earlier_version_let_pass_is_asked_again(tmp_path):
    journal = tmp_path / "run.journal.jsonl"
    run_queries(gold(*queries(3)), Fixed({}), depth=1, journal=journal)
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    lines[2]["problems"] = ["nan_score", "fewer_than_k"]
    lines[3]["problems"] = ["unsorted"]
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    retriever = Fixed({})
    run_queries(gold(*queries(3)), retriever, depth=1, journal=journal)
    assert [text for text, _, _ in retriever.calls] == ["text 2"]


def test_another_number_of_second_questions_needs_no_fresh_journal(tmp_path):
    journal = tmp_path / "run.journal.jsonl"
    first, later = Fixed({}), Fixed({})
    run_queries(gold(*queries(9)), first, depth=1, journal=journal, ask_twice=2)
    results = run_queries(gold(*queries(9)), later, depth=1, journal=journal, ask_twice=5)
    assert (len(first.calls), len(later.calls)) == (11, 3)
    assert sum(result.again is not None for result in results) == 5
    fewer = run_queries(gold(*queries(9)), later, depth=1, journal=journal, ask_twice=0)
    assert all(result.again is None for result in fewer)
