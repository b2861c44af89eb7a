"""A gold set with labels and anchors, two runs of it and what stands beside them, by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retrieval_eval.model.gold import Anchor, GoldSet, Label
from retrieval_eval.model.guard import NoiseFloor
from retrieval_eval.report import SearchRun
from retrieval_eval.search.gold.chunks import digest
from retrieval_eval.search.gold.corpus import Corpus, Document, corpus_fingerprint
from retrieval_eval.search.run import Settings
from tests.plain_runs import composite_block, noise
from tests.report.search_made import searched
from tests.searches import answer, gold_query, gold_set, run_of

QUICK = Settings(n_resamples=100)

GRADES = [("a", 2, 2), ("b", 1, 1), ("c", 0, 0), ("d", 1, 0)]
"""Document and its grades by both labellers. Observed 3/4, expected 5/16: kappa 7/11."""

TOPS = (3, 4, 6, 7, 8, 9, 10, 11, 12, 13)
"""Top scores of the answerable queries; those of the unanswerable are 1, 2 and 5."""


def gold(**labelled: Any) -> GoldSet:
    """Ten answerable queries (six of docs, four of notes) and three that nothing answers."""
    queries = [
        gold_query(
            f"q{i}",
            {"a": 2, "b": 1} | ({"c": 0, "d": 0} if i == 0 else {}),
            corpus="docs" if i < 6 else "notes",
            source="chair" if i else "bootstrap",
            **(labelled or _labelled() if i == 0 else {}),
        )
        for i in range(10)
    ]
    nothing = [gold_query(f"u{i}", answerable=False, corpus="docs") for i in range(3)]
    return gold_set(*queries, *nothing)


def _labelled() -> dict[str, Any]:
    labels = [
        Label(name, doc, grade)
        for doc, first, second in GRADES
        for name, grade in (("ann", first), ("ben", second))
    ]
    return {
        "labels": tuple(labels),
        "anchors": {"a": Anchor("s.md", 0, 9, digest("text of a"))},
    }


def corpus(**texts: str) -> Corpus:
    """Documents a to d of both corpora; a keyword changes a text, an empty one removes it."""
    said = {doc: f"text of {doc}" for doc in "abcd"} | texts
    documents = tuple(
        Document(doc, name, "", text)
        for name in ("docs", "notes")
        for doc, text in said.items()
        if text
    )
    return Corpus(documents, corpus_fingerprint(documents), Path("corpus.jsonl"))


def run(tops: Mapping[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """A run in which ``a`` comes first and ``b`` second; ``tops`` puts another first by query."""
    made = fields.pop("gold", gold())
    answers = []
    for place, query in enumerate(q for q in made.queries if q.answerable is not False):
        top = float(TOPS[place])
        first = (tops or {}).get(query.id, "a")
        rest = [doc for doc in ("a", "b", "x") if doc != first]
        docs = {doc: top - 0.1 * i for i, doc in enumerate([first, *rest])}
        answers.append(answer(query.id, docs))
    answers += [answer(f"u{i}", {"x": score}) for i, score in enumerate((1.0, 2.0, 5.0))]
    return run_of(made, answers, **{"settings": QUICK, "abstain_at": 2.5, **fields})


def claim(text: str, doc: str | None, *, in_context: bool, is_substantive: bool = True) -> dict:
    return {
        "text": text,
        "draft_span": [0, len(text)],
        "is_substantive": is_substantive,
        "supported_by": doc,
        "span": None,
        "in_context": in_context,
        "reason": "supported" if doc else "too_little_overlap",
    }


CLAIMS = {
    "q0": [
        claim("Hello.", None, in_context=False, is_substantive=False),
        claim("It is so.", "a", in_context=True),
    ],
    "q1": [claim("It is other.", None, in_context=True), claim("No.", None, in_context=False)],
}
"""Three substantive claims: one supported by a labelled document, two by the context."""


def with_drafts(document: Mapping[str, Any], by: Mapping[str, Sequence[dict]]) -> dict[str, Any]:
    """The run with claims; coverage and faithfulness are what they come to."""
    own = [c for claims in by.values() for c in claims if c["is_substantive"]]

    def share(n: int) -> dict[str, Any]:
        value = {"value": n / len(own), "n": len(own), "computable": True, "reason": None}
        return {**value, "ci_low": 0.1, "ci_high": 0.9}

    block = {
        "judge": {"name": "offline", "version": "1", "settings": {"threshold": 0.6}},
        "n_drafts": len(by),
        "n_refused": 0,
        "n_unlabelled": 0,
        "n_without_draft": 11,
        "n_claims": sum(map(len, by.values())),
        "n_substantive": len(own),
        "n_supported": sum(c["supported_by"] is not None for c in own),
        "coverage": share(sum(c["supported_by"] is not None for c in own)),
        "faithfulness": share(sum(c["in_context"] for c in own)),
        "agreement": None,
        "queries": [
            {"id": query, "is_refused": False, "claims": list(claims)}
            for query, claims in by.items()
        ],
    }
    joined = {**document, "claims": block}
    return {**joined, "composite": composite_block(joined)}


def noise_of(*runs: Mapping[str, Any], generated_at: str = "2026-01-05T09:00:00Z") -> NoiseFloor:
    return noise(runs, generated_at=generated_at, seed=1)


def whole(**fields: Any) -> SearchRun:
    """A run with everything that may stand beside it: one query changed its first document."""
    made = {
        "baseline": with_drafts(run(label="before"), CLAIMS),
        "gold": gold(),
        "corpus": corpus(),
        "noise": noise_of(run(), run({"q2": "b"})),
        **fields,
    }
    changes = made.pop("changes", {})
    return searched({**with_drafts(run({"q1": "x"}, label="after"), CLAIMS), **changes}, **made)
