"""How much a search run moves when nothing changed, and what changes it can therefore show.

Two kinds of noise: between runs of one system on the same queries, and between samples of queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.records import Progress
from retrieval_eval.schema import SCHEMA_VERSION, stamped
from retrieval_eval.search.beyond_noise import noise_band
from retrieval_eval.search.delta import common_measures
from retrieval_eval.search.guard.pinned import Pinned
from retrieval_eval.search.guard.soundness import copies, own_faults, system_changes
from retrieval_eval.search.measure import Request, measured_document
from retrieval_eval.search.named_metrics import BLOCK_OF, WHOLE_RUN_ONLY, Share, shares
from retrieval_eval.search.noise_level import (
    by_query,
    detectable_changes,
    query_sampling,
    run_to_run,
)
from retrieval_eval.search.noise_thresholds import suggestions
from retrieval_eval.search.paired_change import Resampling, linear, pairs_of

Document = Mapping[str, Any]

DEFAULT_REPEATS: Final = 10
_LEAST_RUNS: Final = 2
_RANKED_FILE: Final = "run:"


def repeated_runs(
    request: Request, *, repeats: int = DEFAULT_REPEATS, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Return so many search runs of one and the same request; no report is written.

    The retriever is opened anew for each. What it keeps outside of itself, such as a cache of
    embeddings on disk, is shared by the runs and cannot be seen in their noise.

    Raises
    ------
    BadInputError
        When there are fewer than two repeats, or the retriever is a ranked file, which answers
        the same every time.
    """
    if repeats < _LEAST_RUNS:
        raise BadInputError(f"{repeats} repeats show no noise; ask for 2 or more")
    if request.retriever.startswith(_RANKED_FILE):
        raise BadInputError(
            "a ranked file answers the same every time; name finished runs of the system instead"
        )

    def one(number: int) -> dict[str, Any]:
        def report(done: int, total: int, name: str) -> None:
            if progress is not None:
                progress(number * total + done, repeats * total, name)

        return measured_document(request, progress=report)

    return [one(number) for number in range(repeats)]


def check_distinct(runs: Sequence[Document]) -> None:
    """Raise NothingToEvaluateError when one run stands in a list twice (`copies`)."""
    if found := copies(runs):
        raise NothingToEvaluateError(found[0])


def noise(
    runs: Sequence[Document],
    *,
    generated_at: str,
    seed: int,
    change: tuple[Document, Document] | None = None,
    pinned: Pinned | None = None,
) -> dict[str, Any]:
    """Return the noise of a system from runs of it that differ in nothing (A/A).

    Parameters
    ----------
    runs
        At least two search runs of one set-up over the same queries.
    generated_at
        The date of the noise file (ISO 8601).
    seed
        Seed of resampling; number and coverage are those of the first run.
    change
        Two runs whose difference is typical of changes to come. How much such a change varies
        from query to query is what hides it, and runs of one system do not know.
    pinned
        Look at these queries only.

    Returns
    -------
    dict
        Schema ``search_noise``: by metric the run-to-run noise (exactly 0 where deterministic),
        the query-sampling noise, the smallest detectable changes, and suggested thresholds.

    Raises
    ------
    NothingToEvaluateError
        When there are fewer than two runs, one has no verdict, they are not of one system, or
        lack a pinned query.
    """
    _check_same(runs)
    if pinned is not None:
        runs = [_of_pinned(run, pinned) for run in runs]
    first = runs[0]
    resampling = Resampling.of(first["run"]["settings"], seed)
    rankings = [_rankings(run) for run in runs]
    n_varied = sum(
        any(ranking[query] != rankings[0][query] for ranking in rankings) for query in rankings[0]
    )
    metrics = {}
    for name in _names(runs):
        table = by_query([_shares(run, name) for run in runs])
        if not table.size:
            continue
        level = run_to_run(table)
        metrics[name] = {
            "n_queries": level.n_queries,
            "run_to_run": {
                "sd_points": level.sd_points,
                "sd_of_runs_points": level.sd_of_runs_points,
                "sd_by_query_points": level.sd_by_query_points,
                "largest_delta_points": level.largest_delta_points,
                "step_points": level.step_points,
                "is_deterministic": level.is_deterministic,
            },
            "band_points": noise_band(level, is_deterministic=n_varied == 0),
            "query_sampling": query_sampling(table, resampling),
            **detectable_changes(table, level.sd_points, _differences(change, name)),
        }
    body = {
        "schema_version": SCHEMA_VERSION,
        "n_runs": len(runs),
        "n_queries": len(rankings[0]),
        "pinned": None if pinned is None else pinned.fingerprint,
        "n_queries_varied": n_varied,
        "is_deterministic": n_varied == 0,
        "run": dict(first["run"]),
        "judge": (first.get("claims") or {}).get("judge"),
        "runs": [{key: run[key] for key in ("label", "generated_at")} for run in runs],
        "change": None if change is None else [run["label"] for run in change],
        "settings": asdict(resampling),
        "metrics": metrics,
        "suggested_thresholds": suggestions(metrics, len(runs)),
    }
    return stamped(body, generated_at)


def _check_same(runs: Sequence[Document]) -> None:
    if len(runs) < _LEAST_RUNS:
        raise NothingToEvaluateError(f"{len(runs)} run shows no noise; name two or more")
    for number, run in enumerate(runs, 1):
        if reasons := own_faults(run):
            raise NothingToEvaluateError(f"run {number} has no verdict: {'; '.join(reasons)}")
    if found := system_changes(runs):
        raise NothingToEvaluateError(found[0])


def _shares(run: Document, name: str) -> dict[str, Share]:
    # The claims of a run are those of all its queries, whichever are looked at.
    asked = {query["id"] for query in run["queries"]}
    return {query: share for query, share in shares(run, name).items() if query in asked}


def _of_pinned(run: Document, pinned: Pinned) -> Document:
    ids = set(pinned.ids)
    kept = [query for query in run["queries"] if query["id"] in ids]
    if len(kept) < len(ids):
        missing = min(ids - {query["id"] for query in kept})
        raise NothingToEvaluateError(
            f"the runs lack {len(ids) - len(kept)} of {len(ids)} pinned queries, the first is "
            f"{missing!r}"
        )
    return {**run, "queries": kept}


def _names(runs: Sequence[Document]) -> list[str]:
    others = [name for name in BLOCK_OF if name not in WHOLE_RUN_ONLY]
    return common_measures(runs[0], runs[1]) + [
        name for name in others if all(shares(run, name) for run in runs)
    ]


def _rankings(run: Document) -> dict[str, list[str]]:
    return {query["id"]: [found["doc"] for found in query["ranking"]] for query in run["queries"]}


def _differences(change: tuple[Document, Document] | None, name: str) -> list[float] | None:
    """Return by how much a typical change moves a metric, query by query."""
    if change is None:
        return None
    pairs = pairs_of(*(shares(run, name) for run in change)).values()
    old, new = (linear([pair[side] for pair in pairs]) for side in (0, 1))
    return [b - a for a, b in zip(old, new, strict=True)]
