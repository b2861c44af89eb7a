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
from tests.report.search_made import artefact, change, mean, query
from tests.report.search_made import delta as search_delta

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


def metric(value, n):
    return mean([value] * n)


def delta():
    """Compared with a baseline: P@5 rose by 25 points, on the cases alone by 50."""
    moved = {"baseline": 0.25, "current": 0.5, "n_pairs": 4}
    of_cases = {"baseline": 0.0, "current": 0.5, "n_pairs": 2}
    slices = {"cases": {"metrics": {"P@5": change(50.0, 20.0, 80.0, **of_cases)}}}
    return search_delta(
        {"P@5": change(25.0, -5.0, 55.0, **moved)},
        {"g1": {"P@5": 25.0}},
        ["g1", "g3"],
        slices={"corpus": slices, "area": {}},
    )


def search_run(
    label="first",
    generated_at="2026-01-05T10:00:00Z",
    *,
    p5=0.5,
    n_failed=0,
    with_delta=False,
):
    """Return a run over four queries, two of the corpus "cases" and two of "notes"."""
    asked = [
        query(f"g{n}", [("d1", 1)], corpus="cases" if n < 3 else "notes", source="bootstrap")
        for n in range(1, 5)
    ]
    found, nothing = 4 - n_failed, {"reason": "no_ground_truth"}
    parts = {"cases": (metric(0.6, 2), metric(1.0, 2))}
    parts["notes"] = (metric(None, 0) | nothing, metric(None, 0) | nothing)
    corpora = {
        name: {"n_queries": 2, "metrics": dict(zip(MEASURES, means, strict=True))}
        for name, means in parts.items()
    }
    return artefact(
        asked,
        label=label,
        generated_at=generated_at,
        status={
            "n_ok": found,
            "n_failed": n_failed,
            "has_verdict": not n_failed,
            "reasons": [f"{n_failed} of 4 queries failed"] if n_failed else [],
        },
        metrics={"P@5": metric(p5, found), "Recall@20": metric(0.75, found)},
        slices={"corpus": corpora, "area": {}, "origin": {}, "source": {}},
        delta=delta() if with_delta else None,
    )


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
