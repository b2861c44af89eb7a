"""Laws of re-labelling: texts are cut anywhere, and no grade is lost, invented or misplaced."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.model.gold import GoldQuery, GoldSet, Label
from retrieval_eval.search.gold.corpus import Corpus, Document
from retrieval_eval.search.gold.relabel import relabel

N_WORDS = 60
CUTS = st.sets(st.integers(1, N_WORDS - 1), max_size=8).map(sorted)
GRADES = st.dictionaries(st.integers(0, 8), st.integers(0, 2), min_size=1, max_size=9)
# Few words: sentences repeat, and runs of words are shared by several chunks.
WORDS = st.lists(st.sampled_from("abcdef"), min_size=N_WORDS, max_size=N_WORDS)
UNIQUE = [f"word{n}" for n in range(N_WORDS)]


def cut(words, cuts, prefix, shift=0, gap=" "):
    """Documents of a source between the cuts, named by prefix and number."""
    found, place = [], shift
    for n, (start, end) in enumerate(zip([0, *cuts], [*cuts, N_WORDS], strict=True)):
        text = gap.join(words[start:end])
        extra = {"source": "s.md", "start": place, "end": place + len(text)}
        found.append(Document(f"{prefix}{n}", "c", "", text, extra))
        place += len(text) + 1 + shift
    return Corpus(tuple(found), prefix, Path(f"{prefix}.jsonl"))


def graded(corpus, grades, labelled=()):
    ids = [document.id for document in corpus.documents]
    relevant = {ids[n]: grade for n, grade in grades.items() if n < len(ids)} or {ids[0]: 1}
    labels = tuple(Label(who, doc, g) for doc, g in relevant.items() for who in labelled)
    query = GoldQuery("q", "question", "c", relevant=relevant, source="chair", labels=labels)
    return GoldSet((query,), "any")


@given(WORDS, CUTS, CUTS, GRADES)
def test_every_pair_has_one_status_and_every_grade_a_text(words, cuts, others, grades):
    old, new = cut(words, cuts, "o"), cut(words, others, "n")
    gold = graded(old, grades, labelled=("ana", "ben"))
    found = relabel(gold, old, new)
    counts = found.counts()
    (before,), (after,) = gold.queries, found.gold.queries
    assert counts["pairs"]["total"] == len(before.relevant)
    assert counts["labels"]["total"] == len(before.labels)
    for block in counts.values():
        assert sum(n for name, n in block.items() if name != "total") == block["total"]
    assert [pair.doc for pair in found.statuses] == list(before.relevant)
    assert all(
        (f.reason is None) == (f.status not in ("queued", "dropped")) for f in found.statuses
    )

    texts = {document.id: document.text for document in (*old.documents, *new.documents)}
    queued = [one.doc for one in found.queue]
    assert len(queued) == len(set(queued))
    assert not set(queued) & set(after.relevant)
    for doc, grade in after.relevant.items():
        # A grade comes from a text that is wholly there, and of that grade.
        assert any(
            grade == before.relevant[old_doc] and f" {texts[old_doc]} " in f" {texts[doc]} "
            for old_doc in before.relevant
        )
    for label in after.labels:
        assert label.grade == after.relevant[label.doc]


@given(CUTS, CUTS, GRADES)
def test_nothing_relevant_gets_lost_while_its_text_is_there(cuts, others, grades):
    old, new = cut(UNIQUE, cuts, "o"), cut(UNIQUE, others, "n")
    gold = graded(old, grades)
    found = relabel(gold, old, new)
    (before,), (after,) = gold.queries, found.gold.queries
    seen = {*after.relevant, *(one.doc for one in found.queue)}
    for document in old.documents:
        if not before.relevant.get(document.id):
            continue
        words = set(document.text.split())
        for other in new.documents:
            shared = words & set(other.text.split())
            # Half of a text (one word of several tells nothing), or a whole document of it, is
            # never overlooked.
            half = max(min(5, len(words) // 2), min(2, len(words)))
            if len(shared) >= half or shared == {*other.text.split()}:
                assert other.id in seen or len(words) == 1


@given(WORDS, CUTS, GRADES, st.integers(1, 40), st.sampled_from([" ", "\n", " \n\t"]))
def test_a_shift_or_another_wrap_queues_nothing(words, cuts, grades, shift, gap):
    old, new = cut(words, cuts, "o"), cut(words, cuts, "n", shift, gap)
    gold = graded(old, grades, labelled=("ana",))
    found = relabel(gold, old, new)
    assert found.queue == ()
    assert {pair.status for pair in found.statuses} == {"moved"}
    (before,), (after,) = gold.queries, found.gold.queries
    assert after.relevant == {f"n{doc[1:]}": grade for doc, grade in before.relevant.items()}
    assert len(after.labels) == len(before.labels)


@given(WORDS, CUTS, CUTS, GRADES)
def test_there_and_back_no_grade_stands_without_its_text(words, cuts, others, grades):
    old, new = cut(words, cuts, "o"), cut(words, others, "n")
    gold = graded(old, grades)
    there = relabel(gold, old, new).gold
    if not there.queries[0].relevant:
        return
    texts = {document.id: document.text for document in old.documents}
    given_to = gold.queries[0].relevant
    for doc, grade in relabel(there, new, old).gold.queries[0].relevant.items():
        assert grade in [g for o, g in given_to.items() if f" {texts[o]} " in f" {texts[doc]} "]
