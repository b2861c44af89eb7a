"""Search runs made by hand: every number in them is written down or a plain average of those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from retrieval_eval.io.files import write_json
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.model.search_diff import SearchDiff as StoredDiff
from retrieval_eval.report import SearchDiff, SearchRun, loading, notebook_files
from retrieval_eval.report import search_opening as opening
from retrieval_eval.report import search_tables as tables
from retrieval_eval.report.exhibits import Block, Empty, Table
from retrieval_eval.report.notebook_files import read_notebook
from retrieval_eval.report.registered import Exhibit, table
from retrieval_eval.search.change import diff
from tests.plain_runs import stored
from tests.report.conftest import HOSTILE, values_of
from tests.searches import abstention_block


def searched(document: Mapping[str, Any], **fields: Any) -> SearchRun:
    """The search run of a document, and what may stand beside it."""
    if fields.get("baseline") is not None:
        fields["baseline"] = stored(fields["baseline"])
    return SearchRun(stored(document), **fields)


def compared(a: Mapping[str, Any], b: Mapping[str, Any], **options: Any) -> SearchDiff:
    """The difference of two documents; ``changes`` are to members of its own document."""
    own = {name: options.pop(name) for name in ("noise", "privacy", "places") if name in options}
    before, after = stored(a), stored(b)
    found: StoredDiff = diff(before, after, seed=1, **options)
    return SearchDiff(found, before, after, pinned=options.get("pinned"), **own)


def exhibit(frame: Any) -> Exhibit:
    """The table of a frame that carries what its table says."""
    return table.show(frame)


def notes(frame: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = only(exhibit(frame).block(), Table).notes
    return found


class Shown:
    """What the cells of a notebook show on a run or difference, by the key of the exhibit.

    Figures are drawn only where requested.
    """

    def __init__(self, run: SearchRun | SearchDiff, *, figures: bool = False) -> None:
        is_run = isinstance(run, SearchRun)
        name = "search_report" if is_run else "search_diff"
        self.run = run
        self.header: Block = opening.header(run)
        self.answer: Block = opening.answer(run)
        self.blocks: dict[str, Block] = {}
        self.exhibits: dict[str, Exhibit] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loading, "load_search" if is_run else "load_diff", lambda *_, **__: run)
            if not figures:
                patch.setattr(tables, "plot", _Undrawn())
            shown = values_of(
                read_notebook(notebook_files.notebook(name)), {"privacy": run.privacy}
            )
            for _, found in shown:
                if isinstance(found, Exhibit):
                    assert found.key not in self.blocks
                    self.exhibits[found.key] = found
                    self.blocks[found.key] = found.block()

    def __getitem__(self, key: str) -> Block:
        return self.blocks[key]

    def rows(self, key: str) -> dict[str, tuple[str, ...]]:
        """The rows of a table by their first cell."""
        return {row[0]: row[1:] for row in self.table(key).rows}

    def table(self, key: str) -> Table:
        return only(self[key], Table)

    def empty(self, key: str) -> str:
        return only(self[key], Empty).sentence

    def badges(self) -> dict[str, str]:
        return dict(self.header.badges)

    def html(self) -> str:
        blocks = (self.header, self.answer, *self.blocks.values())
        return "".join(block._repr_mimebundle_()["text/html"] for block in blocks)


def only(block: Block, kind: type[Any]) -> Any:
    (found,) = (exhibit for exhibit in block.exhibits if isinstance(exhibit, kind))
    return found


class _Undrawn:
    """Stands for ``rev.plot``: no figure is drawn, which takes most of the time."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: SimpleNamespace(ax=None)


MEASURES = ("P@5", "Recall@20", "RR", "nDCG@10", "Judged@10")
FINGERPRINT = "ab" * 32


def mean(values: Sequence[float | None], **changes: Any) -> dict[str, Any]:
    """The mean of some values, with an interval of a tenth to either side from three on."""
    known = [v for v in values if v is not None]
    value = sum(known) / len(known) if known else None
    has_interval = value is not None and len(known) >= 3
    lost = len(values) - len(known)
    return {
        "value": value,
        "n": len(known),
        "computable": bool(known),
        "reason": None if known else "no_computable_values",
        "n_not_computable": lost,
        "not_computable": {"no_ground_truth": lost} if lost else {},
        "ci_low": max(0, value - 0.1) if has_interval else None,
        "ci_high": min(1, value + 0.1) if has_interval else None,
        "tie_low": value,
        "tie_high": value,
        "unjudged_low": value,
        "unjudged_high": None if value is None else min(1, value + 0.2),
        **changes,
    }


def query(name: str, docs: Sequence[tuple[str, int | None]] = (), **fields: Any) -> dict[str, Any]:
    """A query and the documents that came back for it, with their grades."""
    ranking = [
        {"doc": doc, "score": float(len(docs) - place), "grade": grade}
        for place, (doc, grade) in enumerate(docs)
    ]
    value = fields.pop("value", 0.5)
    metrics = {m: None if m == "Judged@10" and not docs else value for m in MEASURES}
    reasons = {m: "no_ground_truth" for m, v in metrics.items() if v is None}
    return {
        "id": name,
        "query": f"text of {name}",
        "corpus": "docs",
        "area": "area-a",
        "origin": "replayed",
        "source": "chair",
        "answerable": True,
        "status": "ok",
        "error": None,
        "is_refused": False,
        "problems": [],
        "n_retrieved": len(docs),
        "ranking": ranking,
        "metrics": metrics,
        "reasons": reasons,
        **fields,
    }


def failed(name: str, error: str = "the retriever raised KeyError: 'x'") -> dict[str, Any]:
    return query(name, value=None, status="failed", error=error)


def unanswerable(name: str, docs: Sequence[tuple[str, int | None]] = ()) -> dict[str, Any]:
    return query(name, docs, value=None, answerable=False)


def ordinary(n: int = 12) -> list[dict[str, Any]]:
    """Queries that found their one relevant document, over two corpora and three areas."""
    return [
        query(
            f"q{i:02}",
            [(f"d{i}", 1), ("other", 0), ("unjudged", None)],
            value=round(0.4 + 0.02 * (i % 10), 2),
            corpus="docs" if i % 3 else "notes",
            area=f"area-{'abc'[i % 3]}",
            source="chair" if i % 2 else "bootstrap",
        )
        for i in range(n)
    ]


def shortened(document: dict[str, Any]) -> dict[str, Any]:
    """The run as one that kept the first documents only, so that its values are not theirs."""
    for asked in document["queries"]:
        asked["n_retrieved"] = 20
    return document


def means_of(queries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {m: mean([q["metrics"][m] for q in queries]) for m in MEASURES}


def artefact(queries: Sequence[dict[str, Any]] | None = None, **changes: Any) -> dict[str, Any]:
    """A search run over some queries; ``gold`` and ``status`` change members of these blocks."""
    asked = list(ordinary() if queries is None else queries)
    n_failed = sum(q["status"] == "failed" for q in asked)
    codes = [code for q in asked for code in q["problems"]]
    sources = {s: sum(q["source"] == s for q in asked) for s in ("bootstrap", "chair")}
    reasons = [f"{n_failed} of {len(asked)} queries failed"] if n_failed else []
    corpora = sorted({q["corpus"] for q in asked})
    gold = {
        "name": "gold-set",
        "fingerprint": FINGERPRINT,
        "n_queries": len(asked),
        "n_labelled_pairs": 2 * len(asked),
        "n_answerable": sum(q["answerable"] is True for q in asked),
        "n_unanswerable": sum(q["answerable"] is False for q in asked),
        "n_unlabelled": 0,
        "sources": {s: n for s, n in sources.items() if n},
        "is_provisional": not sources["chair"],
        **changes.pop("gold", {}),
    }
    status = {
        "n_queries": len(asked),
        "n_ok": len(asked) - n_failed,
        "n_failed": n_failed,
        "n_empty": sum(q["status"] == "ok" and not q["ranking"] for q in asked),
        "n_refused": sum(q["is_refused"] for q in asked),
        "n_with_problems": sum(bool(q["problems"]) for q in asked),
        "problems": {code: codes.count(code) for code in sorted(set(codes))},
        "has_verdict": not reasons,
        "reasons": reasons,
        **changes.pop("status", {}),
    }
    return {
        "schema_version": "1.2",
        "generated_at": "2026-01-06T10:00:00Z",
        "label": "changed",
        "run": {
            "corpora": [
                {"corpus": c, "n_documents": 40, "fingerprint": "cd" * 32} for c in corpora
            ],
            "gold_set": gold,
            "retriever": {
                "spec": "bm25:secret-folder/corpus.jsonl",
                "name": "bm25",
                "reranker": None,
                "uses_rerank": True,
                "floor": None,
                "options": {"k1": "2.0"},
                "facts": {"name": "bm25", "index": "secret-index"},
                **changes.pop("retriever", {}),
            },
            "settings": {
                "k_values": [5, 20],
                "depth": 50,
                "convention": "trec",
                "empty_ranking": "zero",
                "measures": list(MEASURES),
                "seed": 7,
                "n_resamples": 200,
                "confidence": 0.95,
            },
            "versions": {"retrieval-eval": "0.1"},
        },
        "status": status,
        "metrics": means_of(asked),
        "slices": {
            dimension: {
                level: {
                    "n_queries": sum(str(q[dimension]) == level for q in asked),
                    "metrics": means_of([q for q in asked if str(q[dimension]) == level]),
                }
                for level in sorted({str(q[dimension]) for q in asked})
            }
            for dimension in ("corpus", "area", "origin", "source")
        },
        "queries": asked,
        "delta": None,
        "backlog": None,
        **changes,
    }


def change(points: float | None, low: float | None, high: float | None, **fields: Any) -> dict:
    """A change of a measure in points, from a baseline of one half."""
    return {
        "baseline": 0.5,
        "current": None if points is None else 0.5 + points / 100,
        "delta_points": points,
        "ci_low_points": low,
        "ci_high_points": high,
        "n_pairs": 12,
        "n_only_baseline": 0,
        "n_only_current": 0,
        "p_value": 0.5,
        **fields,
    }


CLEAR_GAIN = change(4.0, 1.0, 7.0, p_value=0.001)
CLEAR_LOSS = change(-4.0, -7.0, -1.0, p_value=0.001)
UNCLEAR = change(1.0, -2.0, 4.0, p_value=0.4)


def delta(
    metrics: Mapping[str, Any] | None = None,
    contributions: Mapping[str, Mapping[str, float]] | None = None,
    top1: Sequence[str] = (),
    **changes: Any,
) -> dict[str, Any]:
    """A block of the change; by default nothing is clear and two queries moved P@5."""
    given = dict.fromkeys(MEASURES, UNCLEAR) if metrics is None else dict(metrics)
    moved = {"q01": {"P@5": 1.5}, "q02": {"P@5": -0.5}} if contributions is None else contributions
    return {
        "baseline": {
            "label": "before",
            "generated_at": "2026-01-05T10:00:00Z",
            "gold_fingerprint": FINGERPRINT,
        },
        "is_comparable": True,
        "reasons": [],
        "changes": ["k1: 1.2 → 2.0"],
        "metrics": given,
        "slices": {
            "corpus": {
                "docs": {"metrics": given},
                "notes": {"metrics": {m: {**c, "n_pairs": 4} for m, c in given.items()}},
            },
            "area": {},
        },
        "queries_top1_changed": list(top1),
        "queries": [{"id": q, "contributions": dict(c)} for q, c in moved.items()],
        **changes,
    }


BACKLOG = {
    "pending_review": 3,
    "approved": 5,
    "rejected": 1,
    "published": 2,
    "other": 0,
    "total": 11,
    "oldest_pending_at": "2025-12-01T08:00:00Z",
    "oldest_pending_age_days": 36.1,
    "as_of": "2026-01-06T10:00:00Z",
}


def gold_of(document: Mapping[str, Any], missed: Mapping[str, int] | None = None) -> GoldSet:
    """The gold set of an artefact's queries: graded documents of the rankings, and ``missed``."""
    queries = []
    for asked in document["queries"]:
        grades = {d["doc"]: d["grade"] for d in asked["ranking"] if d["grade"] is not None}
        extra = dict(missed or {}) if asked["answerable"] else {}
        queries.append(
            GoldQuery(
                id=asked["id"],
                query=asked["query"],
                corpus=asked["corpus"],
                relevant=grades | extra,
                source=asked["source"],
                answerable=asked["answerable"],
            )
        )
    return GoldSet(tuple(queries), document["run"]["gold_set"]["fingerprint"])


def write(folder: Path, document: Mapping[str, Any], name: str = "run.json") -> Path:
    write_json(folder / name, document)
    return folder / name


def hostile_claims(ids: Sequence[str]) -> dict[str, Any]:
    """Drafts whose claims, documents and judge attack the page."""
    share = {"value": 0.0, "n": len(HOSTILE), "computable": True, "reason": None}
    share |= {"ci_low": 0.0, "ci_high": 0.3}
    claims = [
        {
            "text": text,
            "draft_span": [0, 1],
            "is_substantive": True,
            "supported_by": None,
            "span": None,
            "in_context": False,
            "reason": text,
        }
        for text in HOSTILE
    ]
    return {
        "judge": {"name": HOSTILE[0], "version": HOSTILE[1], "settings": {}},
        "n_drafts": 1,
        "n_refused": 0,
        "n_unlabelled": 0,
        "n_without_draft": len(ids) - 1,
        "n_claims": len(claims),
        "n_substantive": len(claims),
        "n_supported": 0,
        "coverage": share,
        "faithfulness": share,
        "agreement": None,
        "queries": [{"id": ids[0], "is_refused": False, "claims": claims}],
    }


def hostile_composite() -> dict[str, Any]:
    """A composite whose names and reasons attack the page."""
    value = {"value": None, "n": 0, "computable": False, "reason": "missing_component"}
    names = [
        {"name": text, "value": None, "n": 0, "floor": 0.5, "ceiling": None} for text in HOSTILE
    ]
    return {
        "value": value | {"ci_low": None, "ci_high": None},
        "worst": None,
        "components": [name | {"margin": None, "passes": None} for name in names],
        "reasons": list(HOSTILE),
    }


def hostile() -> dict[str, Any]:
    """A run whose every foreign text attacks the page."""
    queries = [
        query(
            f"{text} {place}",
            [(f"{text} doc", 1), (text, None)] if place % 4 else [],
            query=text,
            corpus=HOSTILE[place % 2],
            area=HOSTILE[place % 3],
            origin=text,
            problems=["fewer_than_k", text],
            value=0.25,
        )
        for place, text in enumerate(HOSTILE)
    ]
    queries += [failed(f"failed {HOSTILE[0]}", error=f"it said {HOSTILE[1]}")]
    queries += [unanswerable(f"none {HOSTILE[0]}", [(HOSTILE[1], None)])]
    ids = [q["id"] for q in queries]
    return artefact(
        queries,
        abstention=abstention_block(queries),
        claims=hostile_claims(ids),
        composite=hostile_composite(),
        label=HOSTILE[0],
        retriever={
            "spec": HOSTILE[1],
            "name": HOSTILE[2],
            "reranker": HOSTILE[4],
            "options": {HOSTILE[0]: HOSTILE[3]},
            "facts": {HOSTILE[1]: HOSTILE[5], "name": HOSTILE[0]},
        },
        delta=delta(
            contributions={q: {"P@5": 0.1, HOSTILE[0]: 1.0} for q in ids},
            top1=ids,
            changes=list(HOSTILE),
            baseline={
                "label": HOSTILE[2],
                "generated_at": HOSTILE[0],
                "gold_fingerprint": HOSTILE[1],
            },
        ),
        backlog={**BACKLOG, "as_of": HOSTILE[0], "oldest_pending_at": HOSTILE[1]},
    )
