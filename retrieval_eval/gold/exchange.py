"""What imports and exports share: what a format cannot hold, and queries from foreign parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import Document
from retrieval_eval.gold.fields import DEFAULT_MAX_GRADE
from retrieval_eval.gold.ids import normalize_query
from retrieval_eval.gold.model import GoldQuery, GoldSet
from retrieval_eval.gold.rows import DEFAULT_CORPUS
from retrieval_eval.values import counted

_LOST: Final[tuple[tuple[Callable[[GoldQuery], bool], str], ...]] = (
    (lambda query: query.area is not None, "areas"),
    (lambda query: query.origin is not None, "origins"),
    (lambda query: bool(query.note), "notes"),
    (lambda query: bool(query.labels), "labels of single labellers"),
    (lambda query: bool(query.anchors), "anchors to source texts"),
    (lambda query: bool(query.extra), "fields that are not ours"),
)


@dataclass(frozen=True, slots=True)
class Imported:
    """Queries and documents from another format, and sentences on what was made of them."""

    queries: tuple[GoldQuery, ...]
    notes: tuple[str, ...]
    documents: tuple[Document, ...] | None = None

    @property
    def max_grade(self) -> int:
        """The top of the scale that holds all grades, at least the usual one."""
        grades = (grade for query in self.queries for grade in query.relevant.values())
        return max(DEFAULT_MAX_GRADE, *grades, 0)


def judged_queries(
    name: str, texts: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]], corpus: str
) -> tuple[tuple[GoldQuery, ...], list[str]]:
    """Return queries (source ``chair``) with their grades, and notes on what was changed.

    Grades below 0, which some collections give to junk, become 0.

    Parameters
    ----------
    name
        What to call the file of the texts in messages.
    texts
        Query id to its text.
    qrels
        Query id to judged documents and grades.
    corpus
        The corpus that all queries are asked of.

    Raises
    ------
    BadInputError
        When judged queries have no text, or two ids ask the same; all are named.
    """
    faults = [
        f"{name}: no text for the judged query {key[:80]!r}" for key in qrels if key not in texts
    ]
    first: dict[str, str] = {}
    for key, text in texts.items():
        other = first.setdefault(normalize_query(text), key)
        if other != key:
            faults.append(
                f"{name}: {other[:80]!r} and {key[:80]!r} are the same query (case and white space"
                " do not count); keep one of them"
            )
    if faults:
        raise BadInputError("\n".join(faults))
    junk = sum(grade < 0 for judged in qrels.values() for grade in judged.values())
    notes = [f"{counted(junk, 'grade')} below 0 became 0"] if junk else []
    found = []
    for key, text in texts.items():
        relevant = {doc: max(grade, 0) for doc, grade in qrels.get(key, {}).items()}
        answerable = True if any(relevant.values()) else None
        query = GoldQuery(
            key, text, corpus, relevant=relevant, source="chair", answerable=answerable
        )
        found.append(query)
    return tuple(found), notes


def refuse_ids(gold: GoldSet, form: str, is_bad: Callable[[str], object], reason: str) -> None:
    """Raise `BadInputError` naming the ids of queries and documents that ``form`` cannot hold."""
    queries = [query.id for query in gold.queries]
    documents = [doc for query in gold.queries for doc in query.relevant]
    bad = [
        f"the {noun} id {key[:80]!r}"
        for noun, keys in (("query", queries), ("document", documents))
        for key in dict.fromkeys(keys)
        if is_bad(key)
    ]
    if bad:
        raise BadInputError(f"{form} cannot hold ids with {reason}: {_listed(bad, 20)}")


def losses(gold: GoldSet, form: str) -> list[str]:
    """Return a sentence for each thing that ``form`` (the name of a format) does not keep.

    The formats of information retrieval hold queries, documents and grades of pairs. Everything
    else that this gold set has is named with its count.
    """
    queries, found = gold.queries, []
    for is_there, name in _LOST:
        n = sum(map(is_there, queries))
        if n:
            found.append(f"{name} of {counted(n, 'query')}: {form} has no place for them")
    bootstrap = sum(query.source == "bootstrap" for query in queries)
    if bootstrap:
        found.append(
            f"that {counted(bootstrap, 'query')} came from the bootstrap and nobody's review:"
            " an import takes every row for reviewed"
        )
    corpora = sorted({query.corpus for query in queries})
    if corpora and corpora != [DEFAULT_CORPUS]:
        found.append(f"the names of the corpora ({_listed(corpora)}): all queries share one corpus")
    unanswerable = sum(query.answerable is False for query in queries)
    if unanswerable:
        found.append(
            f"that {counted(unanswerable, 'query')} cannot be answered: without a relevant"
            " document this reads like a query that nobody judged"
        )
    stated = sum(query.answerable is True and not query.n_relevant for query in queries)
    if stated:
        found.append(f"that {counted(stated, 'query')} can be answered by documents yet unknown")
    unjudged = sum(not query.relevant for query in queries)
    if unjudged:
        found.append(
            f"judgements of {counted(unjudged, 'query')}: there are none, so that an evaluation"
            " by qrels alone passes over them"
        )
    return found


def _listed(names: Iterable[str], most: int = 5) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(name[:120] for name in names[:most]) + more
