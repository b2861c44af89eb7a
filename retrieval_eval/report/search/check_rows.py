"""Rows of the frames of what is checked beside a search run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from retrieval_eval.model import to_builtins
from retrieval_eval.report.columns import SEARCH_FRAMES
from retrieval_eval.report.search.checks import Checks
from retrieval_eval.report.search.reading import Row, coerce, members, records

Document = Mapping[str, Any]


def check_rows(name: str, checks: Checks) -> list[Row]:
    """Return the rows of a frame of :data:`CHECKED`."""
    return list(CHECKED[name](checks))


def _guard(checks: Checks) -> Iterator[Row]:
    for row in checks.verdict.rows if checks.verdict else ():
        part = row.slice
        values = {
            "part": None if part is None else f"{part.dimension} {part.value}",
            "reasons": list(row.reasons),
            "baseline": row.baseline.value,
            "current": row.current.value,
            "noise_points": checks.noise and checks.noise.band(row.metric, row.n_queries),
        }
        yield _read(to_builtins(row), "guard") | values


def _components(checks: Checks) -> Iterator[Row]:
    block = members(checks.run.document.get("composite"))
    return _each(records(block.get("components")), "components")


def _roc(checks: Checks) -> Iterator[Row]:
    block = members(checks.run.document.get("abstention"))
    return _each(records(block.get("roc")), "roc")


def _claims(checks: Checks) -> Iterator[Row]:
    for query in records(members(checks.run.document.get("claims")).get("queries")):
        for claim in records(query["claims"]):
            yield _read(claim, "claims") | {"id": query["id"], "claim": claim["text"]}


def _transfer(checks: Checks) -> Iterator[Row]:
    for metric, row in members(members(checks.transfer).get("metrics")).items():
        for corpus, found in row["corpora"].items():
            held_out = found["held_out"]
            yield _read(held_out, "transfer") | {
                "metric": metric,
                "corpus": corpus,
                "others_points": found["others"]["delta_points"],
                "held_out_points": held_out["delta_points"],
                "verdict": found["verdict"],
                "is_clear": found["is_clear"],
            }


def _agreement(checks: Checks) -> Iterator[Row]:
    for pair in checks.agreement:
        parts = [(None, pair.overall), *pair.corpora.items()]
        for corpus, part in parts:
            for weights, kappa in part.kappas.items():
                yield {
                    "labeller_a": pair.first,
                    "labeller_b": pair.second,
                    "corpus": corpus,
                    "weights": weights,
                    "kappa": kappa.value.value,
                    "ci_low": kappa.interval.low.value,
                    "ci_high": kappa.interval.high.value,
                    "agreement": part.agreement.value,
                    "n": part.n,
                }


def _stale(checks: Checks) -> Iterator[Row]:
    for label in checks.labels.stale if checks.labels else ():
        yield {
            "id": label.query,
            "corpus": label.corpus,
            "doc": label.doc,
            "grade": label.grade,
            "reason": label.reason,
        }


def _to_judge(checks: Checks) -> Iterator[Row]:
    for found in checks.queue.candidates if checks.queue else ():
        yield {
            "id": found.query,
            "doc": found.doc,
            "gain_points": found.gain_points,
            "rank": found.best_rank,
        }


def _each(found: Sequence[Document], frame: str) -> Iterator[Row]:
    return (_read(one, frame) for one in found)


def _read(found: Document, frame: str) -> Row:
    return {c.name: coerce(found.get(c.name), c.type) for c in SEARCH_FRAMES[frame][1]}


CHECKED: Final = {
    "guard": _guard,
    "components": _components,
    "roc": _roc,
    "claims": _claims,
    "transfer": _transfer,
    "agreement": _agreement,
    "stale_labels": _stale,
    "to_judge": _to_judge,
}
"""The frames of what is checked, and how their rows are made."""
