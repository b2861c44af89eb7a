"""Search runs as the faces find them on disk, small enough to be worked out by hand."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from retrieval_eval.io.files import json_bytes
from retrieval_eval.model import to_builtins
from retrieval_eval.model.dashboard import Backlog
from retrieval_eval.serve.dashboard import Sources, dashboard, served

MEASURES = ("P@5", "Recall@20")

BACKLOG = Backlog(
    pending_review=3,
    approved=10,
    rejected=2,
    published=4,
    other=0,
    total=19,
    oldest_pending_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    oldest_pending_age_days=1.5,
    n_pending_undated=0,
    other_statuses={},
    as_of=datetime(2026, 1, 3, 15, 4, 5, tzinfo=UTC),
)
BACKLOG_SERVED = to_builtins(BACKLOG)


def metric(value, n, reason=None):
    half = None if value is None else 0.1
    return {
        "value": value,
        "n": n,
        "computable": value is not None,
        "reason": reason,
        "n_not_computable": 0,
        "not_computable": {},
        "ci_low": None if value is None else value - half,
        "ci_high": None if value is None else value + half,
        "tie_low": value,
        "tie_high": value,
        "unjudged_low": value,
        "unjudged_high": value,
    }


def change(baseline, current, n):
    points = 100 * (current - baseline)
    return {
        "baseline": baseline,
        "current": current,
        "delta_points": points,
        "ci_low_points": points - 30,
        "ci_high_points": points + 30,
        "n_pairs": n,
        "n_only_baseline": 0,
        "n_only_current": 0,
        "p_value": None,
    }


def delta():
    """Compared with a baseline: P@5 rose by 25 points, on the cases alone by 50."""
    return {
        "baseline": {
            "label": "before",
            "generated_at": "2025-12-31T00:00:00Z",
            "gold_fingerprint": "0" * 64,
        },
        "is_comparable": True,
        "reasons": [],
        "changes": ["the option b changed from 0.75 to 0.4"],
        "metrics": {"P@5": change(0.25, 0.5, 4)},
        "slices": {
            "corpus": {"cases": {"metrics": {"P@5": change(0.0, 0.5, 2)}}},
            "area": {},
        },
        "queries_top1_changed": ["g1", "g3"],
        "queries": [{"id": "g1", "contributions": {"P@5": 25.0}}],
    }


def search_run(
    label="first",
    generated_at="2026-01-05T10:00:00Z",
    *,
    p5=0.5,
    n_failed=0,
    with_delta=False,
):
    """Return a run over four queries, two of the corpus "cases" and two of "notes"."""
    reasons = [f"{n_failed} of 4 queries failed"] if n_failed else []
    return {
        "schema_version": "1.2",
        "generated_at": generated_at,
        "label": label,
        "run": {
            "corpora": [
                {"corpus": "cases", "n_documents": 9, "fingerprint": "1" * 64},
                {"corpus": "notes", "n_documents": None, "fingerprint": None},
            ],
            "gold_set": {
                "name": "gold-set.jsonl",
                "fingerprint": "0" * 64,
                "n_queries": 4,
                "n_labelled_pairs": 6,
                "n_answerable": 4,
                "n_unanswerable": 0,
                "n_unlabelled": 0,
                "sources": {"bootstrap": 4, "chair": 0},
                "is_provisional": True,
            },
            "retriever": {
                "spec": "bm25:corpus.jsonl",
                "name": "bm25",
                "reranker": None,
                "uses_rerank": False,
                "floor": None,
                "options": {},
                "facts": {},
            },
            "settings": {
                "k_values": [1, 3, 5, 10, 20],
                "depth": 50,
                "convention": "trec",
                "empty_ranking": "zero",
                "measures": list(MEASURES),
                "seed": 1,
                "n_resamples": 2000,
                "confidence": 0.95,
            },
            "versions": {"retrieval_eval": "0.1.0"},
        },
        "status": {
            "n_queries": 4,
            "n_ok": 4 - n_failed,
            "n_failed": n_failed,
            "n_empty": 0,
            "n_refused": 0,
            "n_with_problems": 0,
            "problems": {},
            "has_verdict": not n_failed,
            "reasons": reasons,
        },
        "metrics": {"P@5": metric(p5, 4 - n_failed), "Recall@20": metric(0.75, 4 - n_failed)},
        "slices": {
            "corpus": {
                "cases": {
                    "n_queries": 2,
                    "metrics": {"P@5": metric(0.6, 2), "Recall@20": metric(1.0, 2)},
                },
                "notes": {
                    "n_queries": 2,
                    "metrics": {
                        "P@5": metric(None, 0, "no_ground_truth"),
                        "Recall@20": metric(None, 0, "no_ground_truth"),
                    },
                },
            },
            "area": {},
            "origin": {},
            "source": {},
        },
        "queries": [query(f"g{number}") for number in range(1, 5)],
        "delta": delta() if with_delta else None,
        "backlog": None,
    }


def query(name):
    return {
        "id": name,
        "query": f"what is {name}?",
        "corpus": "cases" if name in ("g1", "g2") else "notes",
        "area": None,
        "origin": None,
        "source": "bootstrap",
        "answerable": True,
        "status": "ok",
        "error": None,
        "is_refused": False,
        "problems": [],
        "n_retrieved": 1,
        "ranking": [{"doc": "d1", "score": 1.0, "grade": 1}],
        "metrics": {"P@5": 0.2, "Recall@20": 1.0},
        "reasons": {},
    }


def dashboard_of(root: Path, *, run=None, corpus=None, **backlog):
    """Return the dashboard as a client reads it."""
    sources = Sources(root, root, **backlog)
    return answered(dashboard(sources, run=run, corpus=corpus), sources)


def answered(answer, sources: Sources):
    return json.loads(json_bytes(served(answer, sources)))


def write(root: Path, name: str, document) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    path = root / f"eval-report-{name}.json"
    text = document if isinstance(document, str) else json.dumps(document)
    path.write_text(text, encoding="utf-8")
    return path


def digest(*roots: Path) -> str:
    """Return the SHA-256 of every name, kind, link target and byte below ``roots``."""
    found = hashlib.sha256()
    for root in roots:
        for path in sorted(root.rglob("*")):
            kind = "l" if path.is_symlink() else "d" if path.is_dir() else "f"
            content = path.read_bytes() if kind == "f" and path.is_file() else b""
            found.update(f"{kind} {path.relative_to(root)}\n".encode() + content)
    return found.hexdigest()
