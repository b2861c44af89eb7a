"""The dashboard: the latest search run, its headline, its distance to the baseline, the backlog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.serve.backlog import DEFAULT_NAME, BacklogReader, backlog_block
from retrieval_eval.serve.runs import PATTERN, Run, read_runs
from retrieval_eval.values import Value

NO_BASELINE: Final = "the run was measured without a baseline"

_MOST_NAMED = 20


def dashboard(
    root: Path,
    *,
    backlog: BacklogReader | None = None,
    backlog_name: str = DEFAULT_NAME,
    run: str | None = None,
    corpus: str | None = None,
) -> dict[str, Any]:
    """Return what was measured last, as one JSON document.

    Parameters
    ----------
    root
        Folder of the search runs, such as ``data/eval``.
    backlog
        Reads the backlog; without one the block is null, and ``<backlog_name>_reason`` says so.
    backlog_name
        What the backlog block is called.
    run
        Label or file name of the run to show instead of the latest; the newest that has it.
    corpus
        Show the metrics of this corpus instead of those over all queries.

    Returns
    -------
    dict
        ``latest_run`` (null, with ``latest_run_reason``, when there is none), ``runs`` (newest
        first), ``n_runs``, ``skipped`` (files that are no valid run, by name), the backlog block
        and its reason. Every metric has its ``n`` and its interval; what is not computable is
        null with a reason code.

    Raises
    ------
    BadInputError
        When there is no such run or corpus.

    Examples
    --------
    >>> dashboard(Path("no-such-folder"))["latest_run"] is None
    True
    """
    runs, skipped = read_runs(root)
    shown = _chosen(runs, run)
    if shown is None and corpus is not None:
        raise BadInputError(f"no corpus {corpus!r}: {_why_none(root)}")
    block, reason = backlog_block(backlog)
    return {
        "latest_run": None if shown is None else run_summary(shown, corpus),
        "latest_run_reason": None if shown is not None else _why_none(root),
        "n_runs": len(runs),
        "runs": [_entry(each) for each in runs],
        "skipped": [each.to_json() for each in skipped],
        backlog_name: block,
        f"{backlog_name}_reason": reason,
    }


def run_summary(run: Run, corpus: str | None = None) -> dict[str, Any]:
    """Return a run's settings, counts, metrics and distance to the baseline, without queries.

    With ``corpus``, metrics and delta are those of its queries; ``status`` always counts the
    whole run. Raises ``BadInputError`` for a corpus that the run did not measure.
    """
    document = run.document
    part, delta = document, document["delta"]
    if corpus is not None:
        part = _slice(document["slices"], corpus)
    summary = {
        "name": run.name,
        "label": document["label"],
        "generated_at": document["generated_at"],
        "schema_version": document["schema_version"],
        "corpus": corpus,
        "n_queries": document["status"]["n_queries"] if corpus is None else part["n_queries"],
        "run": document["run"],
        "status": document["status"],
        "headline": {name: _metric(part["metrics"], name) for name in HEADLINE},
        "metrics": part["metrics"],
        "delta": None if delta is None else _delta(delta, corpus, run.n_top1_changed),
        "delta_reason": _no_delta(document) if delta is None else None,
    }
    # The document is kept between requests; what is handed out may be changed by its reader.
    return deepcopy(summary)


def _no_delta(document: Mapping[str, Any]) -> str:
    return "; ".join(document.get("delta_withheld") or [NO_BASELINE])


def _chosen(runs: Sequence[Run], wanted: str | None) -> Run | None:
    if wanted is None:
        return runs[0] if runs else None
    for run in runs:
        if wanted in {run.label, run.name, run.name.removesuffix(".json")}:
            return run
    raise BadInputError(
        f"no run with the label or name {wanted!r}; there are: "
        + _named([run.label or run.name for run in runs])
    )


def _entry(run: Run) -> dict[str, Any]:
    document = run.document
    return {
        "name": run.name,
        "label": document["label"],
        "generated_at": document["generated_at"],
        "n_queries": document["status"]["n_queries"],
        "n_failed": document["status"]["n_failed"],
        "has_verdict": document["status"]["has_verdict"],
        "headline": {name: deepcopy(_metric(document["metrics"], name)) for name in HEADLINE},
    }


def _metric(metrics: Mapping[str, Any], name: str) -> Any:
    return metrics[name] if name in metrics else Value.missing("not_recorded").to_json()


def _slice(slices: Mapping[str, Any], corpus: str) -> Mapping[str, Any]:
    corpora: Mapping[str, Mapping[str, Any]] = slices["corpus"]
    if corpus not in corpora:
        raise BadInputError(f"no corpus {corpus!r} in the run; there are: {_named(corpora)}")
    return corpora[corpus]


def _delta(
    delta: Mapping[str, Any], corpus: str | None, n_top1_changed: int | None
) -> dict[str, Any]:
    metrics = delta["metrics"]
    if corpus is not None:
        metrics = delta["slices"].get("corpus", {}).get(corpus, {}).get("metrics", {})
    return {
        "baseline": delta["baseline"],
        "is_comparable": delta["is_comparable"],
        "reasons": delta["reasons"],
        "changes": delta["changes"],
        "n_queries_top1_changed": n_top1_changed,
        "metrics": metrics,
    }


def _why_none(root: Path) -> str:
    if not root.is_dir():
        return f"there is no folder {root.name!r}; name the folder of the runs with --data"
    return f"no valid {PATTERN} in {root.name!r}; write one with 'retrieval-eval search run'"


def _named(names: Sequence[str] | Mapping[str, Any]) -> str:
    known = list(dict.fromkeys(names))
    shown = ", ".join(known[:_MOST_NAMED]) or "none"
    return shown if len(known) <= _MOST_NAMED else f"{shown} and {len(known) - _MOST_NAMED} more"
