"""Drift of labelled documents, classed without the corpus that was labelled."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise

import pytest
from msgspec.structs import replace

from retrieval_eval.cli.main import run
from retrieval_eval.demo import write_search_demo
from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import Corpus, Document, corpus_bytes, read_corpus
from retrieval_eval.gold.drift import drift, labelled_documents, text_digest, with_digests
from retrieval_eval.gold.gold_set import load_gold_set, write_gold_set
from retrieval_eval.gold.relabel import relabel
from retrieval_eval.model.gold import GoldQuery, GoldSet
from tests.rechunking import recut, split


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return write_search_demo(tmp_path_factory.mktemp("drift"))


@pytest.fixture(scope="module")
def digested(demo):
    gold = load_gold_set(demo.gold)
    found = with_digests(gold, read_corpus(demo.corpus))
    assert found.n_added == sum(len(labelled_documents(query)) for query in gold.queries)
    return GoldSet(found.queries, gold.fingerprint, gold.path)


def _pieces(doc, words, *cuts):
    ends = [0, *cuts, len(words)]
    return [
        replace(doc, id=f"{doc.id}/{n}", text=" ".join(words[start:end]))
        for n, (start, end) in enumerate(pairwise(ends))
    ]


def _planted(documents, dice):
    """Return a corpus in which the drift of every document is known."""
    new, truth, left = [], {}, list(documents)
    while left:
        doc = left.pop(0)
        words, key = doc.text.split(), (doc.corpus, doc.id)
        half = len(words) // 2
        kind = dice.choice(
            ["same", "wrapped", "moved", "halves", "thirds", "overlap", "merged", "edited", "other",
             "gone"]
        )  # fmt: skip
        if kind == "merged" and not (left and left[0].corpus == doc.corpus):
            kind = "same"
        match kind:
            case "same":
                new.append(doc)
            case "wrapped":
                new.append(replace(doc, text=doc.text.replace(" ", " \n ")))
                kind = "same"
            case "moved":
                new.append(replace(doc, id=f"new-{doc.id}"))
            case "halves" | "thirds":
                third = len(words) // 3
                new += _pieces(doc, words, *([half] if kind == "halves" else [third, 2 * third]))
                kind = "split"
            case "overlap":
                parts = words[: half + 8], words[half - 8 :]
                new += [
                    replace(doc, id=f"{doc.id}/{n}", text=" ".join(part))
                    for n, part in enumerate(parts)
                ]
                kind = "split"
            case "merged":
                other = left.pop(0)
                new.append(replace(doc, id=f"m-{doc.id}", text=f"{doc.text}\n{other.text}"))
                truth[other.corpus, other.id] = "merged"
            case "edited":
                for place in dice.sample(range(len(words)), max(1, len(words) // 20)):
                    words[place] = "edited"
                new.append(replace(doc, text=" ".join(words)))
                kind = "changed"
            case "other":
                new.append(replace(doc, text="other words about nothing that was here before"))
                kind = "changed"
        truth[key] = kind
    return new, truth


def test_planted_classes_are_found(demo, digested):
    corpus = read_corpus(demo.corpus)
    seen: Counter[tuple[str, str]] = Counter()
    for seed in range(3):
        new, truth = _planted(corpus.documents, random.Random(seed))
        report = drift(digested, Corpus(tuple(new), "", corpus.path))
        found = {(one.corpus, one.doc): one.drift for one in report.documents}
        seen.update((truth[key], kind) for key, kind in found.items())
        assert report.counts()["total"] == sum(report.counts().values()) / 2
    classes = {"same", "moved", "split", "merged", "changed", "gone"}
    assert {planted for planted, _ in seen} == classes
    for name in classes:
        right = seen[name, name]
        assert right / sum(n for (planted, _), n in seen.items() if planted == name) >= 0.98
        assert right / sum(n for (_, found), n in seen.items() if found == name) >= 0.98


def test_a_split_by_sentences_is_exact_and_an_unchanged_corpus_does_not_drift(
    demo, digested, tmp_path
):
    assert drift(digested, read_corpus(demo.corpus)).drifted == ()
    doc = labelled_documents(digested.queries[0])[0]
    new = read_corpus(recut(demo, tmp_path, split(doc)).corpus)
    (first, *_) = [one for one in drift(digested, new).drifted if one.doc == doc]
    assert (first.drift, first.docs, first.is_exact) == ("split", (f"{doc}/0", f"{doc}/1"), True)
    # What re-labelling keeps does not drift.
    moved = relabel(digested, read_corpus(demo.corpus), new).gold
    assert drift(moved, new).drifted == ()
    assert sum(len(query.digests) for query in moved.queries) > 1000


def test_short_texts_and_equal_texts():
    def now(*texts):
        documents = [Document(f"n{place}", "c", "", text) for place, text in enumerate(texts)]
        return Corpus(tuple(documents), "", None)

    def kind(text, corpus):
        query = GoldQuery("q", "q", "c", relevant={"d": 1}, digests={"d": text_digest(text)})
        (found,) = drift(GoldSet((query,), ""), corpus).documents
        return found.drift, found.docs

    assert kind("fees", now("no", "fees")) == ("moved", ("n1",))
    assert kind("fees", now("late fees")) == ("merged", ("n0",))
    assert kind("fees", now("no")) == ("gone", ())
    assert kind("", now("no")) == ("gone", ())
    assert kind("late fees", now("late", "fees")) == ("split", ("n0", "n1"))
    assert kind("a b", now("a b", "a b")) == ("moved", ("n0", "n1"))
    assert kind("a b", now()) == ("gone", ())


def test_digest_and_drift_on_the_command_line(demo, tmp_path, capsys):
    path, corpus = tmp_path / "gold-set.jsonl", tmp_path / "corpus.jsonl"
    write_gold_set(path, load_gold_set(demo.gold).queries[:12])
    before = path.read_bytes()
    files = ["--gold", str(path), "--corpus-file", str(demo.corpus)]
    assert run(["gold", "drift", *files]) == 2
    assert run(["gold", "digest", *files, "--json"]) == 0
    assert path.read_bytes() != before
    written = path.read_bytes()
    assert run(["gold", "digest", *files]) == 0
    assert path.read_bytes() == written
    assert run(["gold", "drift", *files]) == 0
    query = load_gold_set(path).queries[0]
    changed_key = query.corpus, next(iter(query.digests))
    new = [
        replace(doc, text="new words") if (doc.corpus, doc.id) == changed_key else doc
        for doc in read_corpus(demo.corpus).documents
    ]
    corpus.write_bytes(corpus_bytes(new))
    capsys.readouterr()
    changed = [*files[:3], str(corpus)]
    assert run(["gold", "drift", *changed, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {(one["corpus"], one["doc"], one["drift"]) for one in found["documents"]} == {
        (*changed_key, "changed")
    }
    assert run(["gold", "digest", *changed, "--renew"]) == 0
    assert run(["gold", "drift", *changed]) == 0


@pytest.mark.parametrize(
    ("digest", "message"),
    [
        ("7", r"line 1: /digests: expected documents with their digests"),
        ('{"d": 7}', r"line 1: /digests/d: expected an object"),
        ('{"d": {"sha256": "ab"}}', r"line 1: /digests/d/n_words: is missing"),
        (json.dumps({"d": {"sha256": "ab", "n_words": 1, "head": "", "sketch": "", "shared": ""}}),
         "/digests/d/sha256: expected 64 hexa"),
        (json.dumps({"d": {"sha256": "a" * 64, "n_words": 1, "head": "", "sketch": "abc",
                           "shared": ""}}), "/digests/d/sketch: expected up to 32 times 8"),
    ],
)  # fmt: skip
def test_a_digest_that_cannot_be_one_is_named(tmp_path, digest, message):
    path = tmp_path / "gold-set.jsonl"
    row = f'{{"query": "q", "relevant": ["d"], "source": "chair", "digests": {digest}}}\n'
    path.write_text(row)
    with pytest.raises(BadInputError, match=message):
        load_gold_set(path)
