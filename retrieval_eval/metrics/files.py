"""File-level ranking metrics of a trial, under every view of what "retrieved" means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from retrieval_eval.events.match import Identity
from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.events.retrieved import VIEWS, accesses, ranking
from retrieval_eval.metrics.ranking import rank_metrics
from retrieval_eval.metrics.timing import time_to_first_relevant
from retrieval_eval.records import FileRef
from retrieval_eval.values import Value, ratio

DEFAULT_K: Final = (1, 3, 5, 10)
"""The seed's cut-offs."""

CONVENTION: Final = "trec"

_AT_K: Final = {"precision": "P", "recall": "Recall", "f1": "F1", "ndcg": "nDCG"}


def file_metrics(
    trial: TrialEvents,
    k_values: Sequence[int] = DEFAULT_K,
    *,
    reason: str | None = None,
    lasted: float | None = None,
) -> dict[str, Any]:
    """Return the ``file_level_metrics`` block; ``computable: false`` with a reason otherwise.

    The top level holds the metrics of the default view ``accessed``, ``views`` those of all.
    A single number that is not computable is null and has its reason code in ``reasons``.

    Parameters
    ----------
    k_values
        Cut-offs of P, Recall, F1 and nDCG.
    reason
        Why nothing of the trial is computable (such as ``no_trace``), or None.
    lasted
        How many seconds the agent ran, where that is known.
    """
    reason = reason or (None if trial.ground_truth.files else trial.ground_truth.reason)
    if reason is not None:
        return {"computable": False, "reason": reason}
    views = {view: _view_metrics(trial, ranking(trial, view), k_values) for view in VIEWS}
    retrieved = [target.file.key for _, target in accesses(trial)]
    return {
        "computable": True,
        "reason": None,
        "default_view": VIEWS[0],
        "convention": CONVENTION,
        "k_values": list(k_values),
        **views[VIEWS[0]],
        "n_ground_truth": len({f.key for f in trial.ground_truth.files}),
        "n_repeats": len(retrieved) - len(set(retrieved)),
        **time_to_first_relevant(trial, lasted),
        "found_by": found_by(trial),
        "views": views,
    }


def _view_metrics(
    trial: TrialEvents, ranked: Sequence[FileRef], k_values: Sequence[int]
) -> dict[str, Any]:
    ids = [_id(f.key) for f in ranked]
    relevant = {_id(f.key) for f in trial.ground_truth.files}
    names = [f"{measure}@{k}" for measure in _AT_K.values() for k in k_values]
    values = rank_metrics(ids, relevant, [*names, "RR", "AP", "Recall"])
    values["context_efficiency"] = ratio(
        len(relevant.intersection(ids)), len(ids), "nothing_retrieved"
    )
    block: dict[str, Any] = {
        field: {str(k): values[f"{measure}@{k}"].value for k in k_values}
        for field, measure in _AT_K.items()
    }
    singles = {
        "mrr": values["RR"],
        "map_score": values["AP"],
        "file_recall": values["Recall"],
        "context_efficiency": values["context_efficiency"],
    }
    block.update({name: value.value for name, value in singles.items()})
    block["n_retrieved"] = len(ids)
    block["n_overlap"] = len(relevant.intersection(ids))
    block["reasons"] = _reasons(values, singles)
    return block


def _reasons(values: dict[str, Value], singles: dict[str, Value]) -> dict[str, str]:
    fields = {measure: field for field, measure in _AT_K.items()}
    reasons = {name: v.reason for name, v in singles.items() if v.reason}
    for name, value in values.items():
        measure, at, k = name.partition("@")
        if value.reason and at:
            reasons[f"{fields[measure]}@{k}"] = value.reason
    return reasons


def found_by(trial: TrialEvents) -> dict[str, int]:
    """Return how many ground-truth files each way of looking found.

    Each file found counts once: ``structured`` if any structured tool of the main agent returned
    it, else ``shell_only`` if a shell command of the main agent did, else ``subagent_only``.
    ``listed_only`` counts, across these, the files never opened nor matched.
    """
    relevant = {f.key for f in trial.ground_truth.files}
    ways: dict[Identity, set[str]] = {}
    for event, target in accesses(trial):
        if target.file.key in relevant:
            way = "subagent" if event.is_subagent else event.via or "structured"
            ways.setdefault(target.file.key, set()).update((way, target.access))
    counts = {"structured": 0, "shell_only": 0, "subagent_only": 0, "listed_only": 0}
    for seen in ways.values():
        if "structured" in seen:
            counts["structured"] += 1
        elif "shell" in seen:
            counts["shell_only"] += 1
        else:
            counts["subagent_only"] += 1
        counts["listed_only"] += not seen & {"opened", "matched"}
    return counts


def _id(key: Identity) -> str:
    repository, path = key
    return f"{repository or ''}::{path}"
