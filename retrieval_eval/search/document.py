"""The search run artefact: what was measured, with what, and what came out."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any, Final

from retrieval_eval import __version__
from retrieval_eval.distribution import NAME
from retrieval_eval.gold.model import GoldSet
from retrieval_eval.schema import SCHEMA_VERSION, stamped
from retrieval_eval.search.abstention import Gate, abstention_block
from retrieval_eval.search.composite import composite_block
from retrieval_eval.search.results import PROBLEMS, UNTRUSTED
from retrieval_eval.search.scoring import QueryScore, Scores, Slice
from retrieval_eval.search.secrets import shown_options, shown_spec
from retrieval_eval.values import Value, counted

_NO_ENDS: Final = dict.fromkeys(
    ("ci_low", "ci_high", "tie_low", "tie_high", "unjudged_low", "unjudged_high")
)


@dataclass(frozen=True, slots=True)
class RetrieverUse:
    """Which retriever answered, and how it was used; ``facts`` are what it says of itself."""

    spec: str
    options: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    uses_rerank: bool = True
    floor: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the ``retriever`` block; no password of an address stands in it."""
        return {
            "spec": shown_spec(self.spec),
            "name": str(self.facts.get("name") or shown_spec(self.spec)),
            "reranker": _text(self.facts.get("reranker")),
            "uses_rerank": self.uses_rerank,
            "floor": self.floor,
            "options": shown_options(self.options),
            "facts": dict(self.facts),
        }


@dataclass(frozen=True, slots=True)
class CorpusUse:
    """One corpus that was searched; size and fingerprint are None where nobody can tell."""

    corpus: str
    n_documents: int | None = None
    fingerprint: str | None = None


def search_run(
    gold: GoldSet,
    scores: Scores,
    *,
    retriever: RetrieverUse,
    corpora: Sequence[CorpusUse],
    generated_at: str,
    label: str = "",
    backlog: Mapping[str, Any] | None = None,
    abstain_at: float | None = None,
    ids_checked: bool = False,
) -> dict[str, Any]:
    """Return the search run artefact (schema ``search_run``).

    Equal arguments give equal documents; how long the queries took is not part of it.
    ``abstain_at`` is the top score below which a query counts as refused (see `abstention_block`).
    ``ids_checked`` says that the documents of the corpora were known when the queries were asked.
    """
    queries = [_query(query) for query in scores.queries]
    metrics = _metrics(scores.overall)
    body: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "label": label,
        "run": {
            "corpora": [asdict(corpus) for corpus in corpora],
            "ids_checked": ids_checked,
            "gold_set": _gold_set(gold),
            "retriever": retriever.to_json(),
            "settings": scores.settings.to_json(),
            "versions": _versions(),
        },
        "status": _status(queries, metrics),
        "metrics": metrics,
        "slices": {
            dimension: {
                name: {"n_queries": part.n_queries, "metrics": _metrics(part)}
                for name, part in parts.items()
            }
            for dimension, parts in scores.slices.items()
        },
        "queries": queries,
        "abstention": abstention_block(
            queries, threshold=abstain_at, confidence=scores.settings.confidence
        ),
        # Drafts are written from a run, so their claims are added to it; see `with_claims`.
        "claims": None,
    }
    body["composite"] = composite_block(body)
    # Given where there is a baseline; see `held_against`.
    body |= {"delta": None, "delta_withheld": []}
    body["backlog"] = None if backlog is None else dict(backlog)
    return stamped(body, generated_at)


def believed(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a search run in which every answer that cannot be trusted is a failed query.

    Earlier versions scored such answers and left a problem beside them (:data:`UNTRUSTED`): the
    run then has no verdict, and none of its means, for they were taken over these answers too.
    Any other run is returned as it is.
    """
    queries = [_believed(query) for query in document["queries"]]
    if queries == document["queries"]:
        return document
    found = {
        **document,
        "metrics": _unknown(document["metrics"]),
        "slices": {
            dimension: {
                name: {**part, "metrics": _unknown(part["metrics"])} for name, part in parts.items()
            }
            for dimension, parts in document["slices"].items()
        },
        "queries": queries,
    }
    found["status"] = _status(queries, document["metrics"])
    if (old := document.get("abstention")) is not None:
        found["abstention"] = abstention_block(
            queries,
            threshold=old["threshold"],
            confidence=document["run"]["settings"]["confidence"],
            gate=Gate(**old["gate"]),
        )
    if document.get("composite") is not None:
        found["composite"] = composite_block(found)
    if document["delta"] is not None:
        withheld = [f"the run has no verdict: {reason}" for reason in found["status"]["reasons"]]
        found |= {"delta": None, "delta_withheld": withheld}
    return found


def _believed(query: Mapping[str, Any]) -> Mapping[str, Any]:
    wrong = [UNTRUSTED[code] for code in query["problems"] if code in UNTRUSTED]
    if len({found["doc"] for found in query["ranking"]}) < len(query["ranking"]):
        wrong.append(UNTRUSTED["duplicate_documents"])
    if query["status"] == "failed" or not wrong:
        return query
    return {
        **query,
        "status": "failed",
        "error": f"{wrong[0]}, as an earlier version recorded",
        "is_refused": False,
        "problems": [],
        "n_retrieved": 0,
        "ranking": [],
        "metrics": dict.fromkeys(query["metrics"]),
        "reasons": dict.fromkeys(query["metrics"], "query_failed"),
    }


def _unknown(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    gap = Value.missing("query_failed").to_json()
    return {name: {**mean, **_NO_ENDS, **gap} for name, mean in metrics.items()}


def _gold_set(gold: GoldSet) -> dict[str, Any]:
    n_unanswerable = sum(query.answerable is False for query in gold.queries)
    n_simulated = sum(query.extra.get("simulated") is True for query in gold.queries)
    n_unlabelled = sum(not q.n_relevant and q.answerable is not False for q in gold.queries)
    return {
        "name": gold.path.stem if gold.path else "gold-set",
        "fingerprint": gold.fingerprint,
        "n_queries": len(gold.queries),
        "n_labelled_pairs": sum(len(query.relevant) for query in gold.queries),
        "n_answerable": len(gold.queries) - n_unanswerable - n_unlabelled,
        "n_unanswerable": n_unanswerable,
        "n_unlabelled": n_unlabelled,
        "sources": dict(sorted(Counter(query.source for query in gold.queries).items())),
        "is_provisional": gold.is_provisional,
        **({"n_simulated": n_simulated} if n_simulated else {}),
    }


def _versions() -> dict[str, str]:
    ours = {NAME: __version__, "python": platform.python_version()}
    return ours | {name: version(name) for name in ("numpy", "scipy")}


def _status(
    queries: Sequence[Mapping[str, Any]], metrics: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    failed = [query for query in queries if query["status"] == "failed"]
    problems = Counter(code for query in queries for code in query["problems"])
    reasons = []
    if failed:
        reasons.append(
            f"{len(failed)} of {counted(len(queries), 'query')} failed, so the means are not those "
            f"of the gold set; the first was {failed[0]['id']} ({failed[0]['error']})"
        )
    if len(failed) < len(queries) and not any(mean["computable"] for mean in metrics.values()):
        reasons.append("no query has a document labelled relevant, so nothing was measured")
    return {
        "n_queries": len(queries),
        "n_ok": len(queries) - len(failed),
        "n_failed": len(failed),
        "n_empty": sum(q["status"] == "ok" and not q["ranking"] for q in queries),
        "n_refused": sum(query["is_refused"] for query in queries),
        "n_with_problems": sum(bool(query["problems"]) for query in queries),
        "problems": {code: problems[code] for code in PROBLEMS if problems[code]},
        "has_verdict": not reasons,
        "reasons": reasons,
    }


def _metrics(part: Slice) -> dict[str, Any]:
    return {name: mean.to_json() for name, mean in part.metrics.items()}


def _query(scored: QueryScore) -> dict[str, Any]:
    query, result = scored.query, scored.result
    values = {name: score.value for name, score in scored.scores.items()}
    return {
        "id": query.id,
        "query": query.query,
        "corpus": query.corpus,
        "area": query.area,
        "origin": query.origin,
        "source": query.source,
        "answerable": True if query.answerable is None and query.n_relevant else query.answerable,
        "status": result.status,
        "error": result.error,
        "is_refused": result.is_refused,
        "problems": list(result.problems),
        "n_retrieved": len(result.ranking),
        "ranking": [
            {"doc": found.doc, "score": found.score, "grade": query.relevant.get(found.doc)}
            for found in result.ranking
        ],
        "metrics": {name: value.value for name, value in values.items()},
        "reasons": {n: value.reason for n, value in values.items() if value.reason is not None},
    }


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
