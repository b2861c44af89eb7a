from __future__ import annotations

import hashlib
import json

import pytest

from retrieval_eval.demo import write_search_demo
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import write_atomically
from retrieval_eval.model.gold import Anchor, Label
from retrieval_eval.search.gold import gold_faults, load_gold_set
from retrieval_eval.search.gold.agreement import settle
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.relabel import read_mapping, relabel, relabel_files
from tests.rechunking import recut, renamed, rows_of, same, split, wrapped, write_rows

ALPHA = "The first paragraph says that fees are due on the first day of March."
BETA = "The second one says that late fees are two percent for every started month."
GAMMA = "A third adds that nobody has to pay anything in the year of foundation."
DELTA = "The last one repeals the ordinance of the year before in all of its parts."


def _corpus(path, *rows):
    """Write documents (id, text) that stand one after the other in s.md."""
    found, place = [], 0
    for id_, text, *rest in rows:
        source = rest[0] if rest else "s.md"
        end = place + len(text)
        found.append({"id": id_, "text": text, "source": source, "start": place, "end": end})
        place = end + 1
    return read_corpus(write_rows(path, found))


@pytest.fixture
def again(tmp_path):
    """Return a function that re-labels one row, from old and new documents."""

    def run(row, old, new, **options):
        path = tmp_path / "gold-set.jsonl"
        row = {"id": "q", "query": "fees", "source": "chair", **row}
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
        return relabel(
            load_gold_set(path),
            _corpus(tmp_path / "old.jsonl", *old),
            _corpus(tmp_path / "new.jsonl", *new),
            **options,
        )

    return run


OLD = (("a", ALPHA), ("b", BETA), ("c", GAMMA))


def _pairs(found):
    return {pair.doc: pair.status for pair in found.statuses}


def test_labels_follow_the_text(again):
    row = {
        "relevant": {"a": 2, "b": 0},
        "labels": [{"labeller": "ana", "doc": "a", "grade": 1}],
        "decisions": [{"doc": "a", "grade": 2, "by": ["cleo"], "why": "adjudication"}],
        "label_comments": [{"labeller": "ana", "doc": "b", "comment": "hm"}],
        "anchors": {"a": {"source": "s.md", "start": 0, "end": len(ALPHA),
                          "sha256": hashlib.sha256(ALPHA.encode()).hexdigest()}},
        "ours": "kept",
    }  # fmt: skip
    found = again(row, OLD, [("z", DELTA), ("y", ALPHA), ("b", BETA)])
    (query,) = found.gold.queries
    assert query.relevant == {"y": 2, "b": 0}
    assert query.labels == (Label("ana", "y", 1),)
    assert query.extra["decisions"][0]["doc"] == "y"
    assert query.extra["label_comments"][0]["doc"] == "b"
    assert query.extra["ours"] == "kept"
    start = len(DELTA) + 1
    assert query.anchors == {
        "y": Anchor("s.md", start, start + len(ALPHA), row["anchors"]["a"]["sha256"])
    }
    assert query.extra["relabelled"] == [{"doc": "y", "from": ["a"], "how": "moved"}]
    assert (query.source, found.queue) == ("chair", ())
    assert found.documents == {("default", "a"): ("y",), ("default", "c"): ()}
    assert found.counts() == {
        "pairs": {"moved": 2, "carried": 0, "absorbed": 0, "queued": 0, "dropped": 0, "total": 2},
        "labels": {"moved": 1, "carried": 0, "absorbed": 0, "queued": 0, "dropped": 0, "total": 1},
    }


def test_a_relevant_text_makes_the_longer_document_relevant(again):
    row = {"relevant": {"a": 1, "b": 2, "c": 0},
           "labels": [{"labeller": "ana", "doc": doc, "grade": g} for doc, g in
                      (("a", 2), ("b", 1), ("c", 0))]}  # fmt: skip
    found = again(row, OLD, [("x", f"{ALPHA} {BETA} {GAMMA}")])
    (query,) = found.gold.queries
    assert query.relevant == {"x": 2}
    assert query.labels == (Label("ana", "x", 2),)
    assert query.extra["relabelled"] == [{"doc": "x", "from": ["a", "b"], "how": "carried"}]
    # Nothing about the third part needs to be asked: what contains it is relevant.
    assert _pairs(found) == {"a": "carried", "b": "carried", "c": "absorbed"}
    assert found.queue == ()


def test_a_text_that_was_not_relevant_says_nothing_about_what_was_added(again):
    found = again({"relevant": {"a": 0, "b": 2}}, OLD, [("x", f"{ALPHA} {GAMMA}"), ("b", BETA)])
    assert found.gold.queries[0].relevant == {"b": 2}
    assert _pairs(found) == {"a": "queued", "b": "moved"}
    (queued,) = found.queue
    assert (queued.doc, [(p.doc, p.grade, p.reason) for p in queued.parts]) == (
        "x", [("a", 0, "grown")],
    )  # fmt: skip
    # Unless all of it was graded, and nothing of it is relevant.
    whole = again({"relevant": {"a": 0, "c": 0, "b": 2}}, OLD,
                  [("x", f"{ALPHA}\n\n{GAMMA}"), ("b", BETA)])  # fmt: skip
    assert whole.gold.queries[0].relevant == {"x": 0, "b": 2}
    assert (whole.queue, _pairs(whole)["a"]) == ((), "carried")


def test_graded_texts_that_overlap_make_up_a_document(again):
    # Of three windows of equal length the middle one overlaps both others. Were its words taken
    # out first, as one order of the three would have it, parts of the others stayed behind.
    one, two, three, four = "aa bb cc dd", "ee ff gg hh", "ii jj kk ll", "mm nn oo pp"
    old = [("a", f"{one} {two}"), ("b", f"{two} {three}"), ("c", f"{three} {four}")]
    found = again({"relevant": {"b": 0, "a": 0, "c": 0}}, old,
                  [("x", f"{one} {two} {three} {four}")])  # fmt: skip
    assert (found.gold.queries[0].relevant, found.queue) == ({"x": 0}, ())
    twice = again({"relevant": {"a": 0}}, [("a", one)], [("x", f"{one} {one}")])
    assert twice.gold.queries[0].relevant == {"x": 0}


def test_a_label_of_another_text_does_not_make_up_a_document(again):
    stale = {"source": "s.md", "start": 0, "end": 3,
             "sha256": hashlib.sha256(b"an earlier wording").hexdigest()}  # fmt: skip
    row = {"relevant": {"a": 0, "b": 2}, "anchors": {"b": stale}}
    found = again(row, OLD, [("x", f"{ALPHA} {BETA}"), ("c", GAMMA)])
    # The grade of the second half is unknown, because its label belongs to an earlier wording.
    assert found.gold.queries[0].relevant == {}
    assert _pairs(found) == {"a": "queued", "b": "queued"}
    assert [one.doc for one in found.queue] == ["x"]


def test_a_split_text_is_queued_with_all_of_its_parts(again):
    old = (("a", f"{ALPHA} {BETA}"), ("c", GAMMA))
    row = {"relevant": {"a": 2, "c": 1}, "labels": [{"labeller": "ana", "doc": "a", "grade": 2}]}
    found = again(row, old, [("a1", ALPHA), ("a2", BETA), ("c", GAMMA)])
    (query,) = found.gold.queries
    assert (query.relevant, query.labels) == ({"c": 1}, ())
    assert [one.doc for one in found.queue] == ["a1", "a2"]
    assert found.reasons() == {"split": 1}
    assert found.counts()["labels"]["queued"] == 1


def test_what_is_gone_is_dropped_and_counted(again):
    old = (*OLD, ("d", DELTA, "gone.md"))
    row = {"relevant": {"a": 2, "d": 1, "never": 1}, "labels": [
        {"labeller": "ana", "doc": "d", "grade": 1}, {"labeller": "ana", "doc": "lost", "grade": 0},
    ]}  # fmt: skip
    found = again(row, old, OLD)
    assert found.gold.queries[0].relevant == {"a": 2}
    assert found.reasons() == {"source_gone": 1, "unknown_document": 2}
    counts = found.counts()
    assert counts["pairs"]["dropped"] == 3
    assert counts["labels"] == {
        "moved": 0, "carried": 0, "absorbed": 0, "queued": 0, "dropped": 2, "total": 2,
    }  # fmt: skip


def test_an_anchor_of_another_text_is_no_longer_trusted(again):
    stale = {"source": "s.md", "start": 0, "end": 3,
             "sha256": hashlib.sha256(b"an earlier wording").hexdigest()}  # fmt: skip
    row = {"relevant": {"a": 2}, "anchors": {"a": stale}}
    found = again(row, OLD, OLD)
    assert (_pairs(found), found.reasons()) == ({"a": "queued"}, {"anchor_differs": 1})
    assert [one.doc for one in found.queue] == ["a"]
    # The wording that was graded may stand somewhere else.
    moved = again(row, OLD, (*OLD, ("x", "an earlier wording")))
    assert moved.gold.queries[0].relevant == {"x": 2}
    assert _pairs(again(row, OLD, [("z", DELTA)])) == {"a": "dropped"}


def test_a_grade_of_its_own_goes_before_that_of_a_part(again):
    # Windows overlap: b lies inside a, and a was graded as a whole.
    old = (("a", f"{ALPHA} {BETA}"), ("b", BETA))
    found = again({"relevant": {"a": 0, "b": 1}}, old, old[:1])
    assert found.gold.queries[0].relevant == {"a": 0}
    assert _pairs(found) == {"a": "moved", "b": "absorbed"}


@pytest.mark.parametrize("relevant", [{"a": 1, "b": 2}, {"a": 2, "b": 1}])
def test_documents_with_one_text_that_became_one_keep_the_higher_grade(again, relevant):
    found = again({"relevant": relevant}, [("a", ALPHA), ("b", ALPHA)], [("x", ALPHA)])
    assert found.gold.queries[0].relevant == {"x": 2}
    assert _pairs(found) == {"a": "moved", "b": "moved"}


def test_the_wrong_old_corpus_is_refused(again):
    with pytest.raises(BadInputError, match="has none of the 1 graded documents"):
        again({"relevant": {"nobody": 1}}, OLD, OLD)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return write_search_demo(tmp_path_factory.mktemp("demo"))


def _relabelled(demo, new):
    gold = load_gold_set(demo.gold)
    return relabel(gold, read_corpus(demo.corpus), read_corpus(new.corpus), sources=new.sources)


@pytest.mark.parametrize("cut", [same, renamed, wrapped])
def test_a_shift_of_lines_queues_nothing(demo, tmp_path, cut):
    new = recut(demo, tmp_path, cut, head="Reviewed last spring.\n\n", gap="\n\n")
    found = _relabelled(demo, new)
    counts = found.counts()
    assert found.queue == ()
    gold = load_gold_set(demo.gold)
    n_pairs = sum(len({*q.relevant, *(label.doc for label in q.labels)}) for q in gold.queries)
    assert counts["pairs"]["moved"] == counts["pairs"]["total"] == n_pairs
    assert counts["labels"]["moved"] == sum(len(query.labels) for query in gold.queries)
    for before, after in zip(gold.queries, found.gold.queries, strict=True):
        assert list(before.relevant.values()) == list(after.relevant.values())
        assert after.source == before.source
        assert len(after.anchors) == len(before.anchors)
        for anchor in after.anchors.values():
            text = (new.sources / anchor.source).read_text("utf-8")[anchor.start : anchor.end]
            assert hashlib.sha256(text.encode()).hexdigest() == anchor.sha256
    assert (found.gold.fingerprint == gold.fingerprint) == (cut is not renamed)


CHANGED = ("pd-oracle-card", "pd-linux-install-6", "sp-access-summary")


def test_three_documents_cut_anew_queue_exactly_their_pairs(demo, tmp_path):
    new = recut(demo, tmp_path / "new", split(*CHANGED), head="One line more.\n")
    found = _relabelled(demo, new)
    gold = load_gold_set(demo.gold)
    expected = {
        (query.id, doc) for query in gold.queries for doc in query.relevant if doc in CHANGED
    }
    assert len(expected) > 10
    assert {(f.query, f.doc) for f in found.statuses if f.status == "queued"} == expected
    assert {(one.query, one.doc) for one in found.queue} == {
        (query, f"{doc}/{half}") for query, doc in expected for half in (0, 1)
    }
    assert {f.status for f in found.statuses} == {"moved", "queued"}
    assert {doc for _, doc in found.documents} == set(CHANGED)


def test_the_files_are_read_back_and_settled(demo, tmp_path):
    new = recut(demo, tmp_path / "new", split(*CHANGED))
    gold, old, corpus = (load_gold_set(demo.gold), read_corpus(demo.corpus),
                         read_corpus(new.corpus))  # fmt: skip
    found = relabel(gold, old, corpus)
    out = tmp_path / "out"
    files = relabel_files(found, gold, old, corpus, out, labellers=["cleo"], seed=1)
    assert files == relabel_files(found, gold, old, corpus, out, labellers=["cleo"], seed=1)
    write_atomically(files)
    assert read_mapping(out / "relabel.json") == found.documents
    assert gold_faults(out / "gold-set.jsonl", corpus=corpus) == []
    written = load_gold_set(out / "gold-set.jsonl")
    assert written.fingerprint == found.gold.fingerprint

    queue = rows_of(out / "queue.jsonl")
    sheet = out / "sheet-cleo.jsonl"
    rows = rows_of(sheet)
    assert len(queue) == len(rows) == len(found.queue)
    assert set(rows[0]) == {"item", "query", "document", "grade", "comment"}
    write_rows(sheet, ({**row, "grade": 0} for row in rows))
    done = settle(written, [sheet], out / "key.json")
    assert (done.purpose, done.n_settled) == ("relabel", len(found.queue))
    first = next(query for query in done.queries if query.id == queue[0]["query"])
    assert first.relevant[queue[0]["doc"]] == 0


def test_the_gold_set_that_was_read_is_never_replaced(demo):
    gold, old = load_gold_set(demo.gold), read_corpus(demo.corpus)
    with pytest.raises(BadInputError, match="is the gold set that was read"):
        relabel_files(relabel(gold, old, old), gold, old, old, demo.root)


def test_a_higher_scale_goes_along(tmp_path, again):
    (tmp_path / "gold.toml").write_text("max_grade = 5\n", encoding="utf-8")
    found = again({"relevant": {"a": 5}}, OLD, OLD)
    old = read_corpus(tmp_path / "old.jsonl")
    gold = load_gold_set(tmp_path / "gold-set.jsonl")
    write_atomically(relabel_files(found, gold, old, old, tmp_path / "out"))
    assert load_gold_set(tmp_path / "out/gold-set.jsonl").queries[0].relevant == {"a": 5}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "not what `gold relabel` wrote"),
        ('{"relabel": 1, "documents": {}}', "/documents: expected a list"),
        ('{"relabel": 1, "documents": [{"corpus": "c", "old": "a", "new": "b"}]}',
         "/documents/0: expected corpus, old and new"),
        ("nonsense", "not valid JSON"),
    ],
)  # fmt: skip
def test_a_bad_mapping_is_named(tmp_path, text, sentence):
    path = tmp_path / "relabel.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=sentence):
        read_mapping(path)
