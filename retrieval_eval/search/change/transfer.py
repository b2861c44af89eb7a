"""Leave one corpus out: whether what a change does to the other corpora holds on this one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.search.change.comparability import accepted_mismatches, own_faults
from retrieval_eval.search.change.paired_change import Change, Resampling, change_of, restricted
from retrieval_eval.search.run.named_metrics import (
    FALSE_REFUSAL_RATE,
    TRUE_POSITIVE_RATE,
    WHOLE_RUN_ONLY,
    check_metric_name,
    metric_value,
    query_ids,
    shares,
)
from retrieval_eval.search.run.settings import HEADLINE

DEFAULT_METRICS: Final = (*HEADLINE, "RR", "nDCG@10", TRUE_POSITIVE_RATE, FALSE_REFUSAL_RATE)
MIN_CORPORA: Final = 2

# A change in points this small is the rounding of one that is 0.
_ROUNDING: Final = 1e-9


def transfer(
    a: SearchRun,
    b: SearchRun,
    *,
    metrics: Sequence[str] = (),
    accept: Collection[str] = (),
    seed: int,
) -> dict[str, Any]:
    """Return for every corpus whether the change from ``a`` to ``b`` on the others holds on it.

    For each metric and corpus: the change over the queries of all other corpora pooled, so that
    every query counts the same, and the change over the corpus held out; both with paired
    intervals and pairs. The verdict compares their signs. ``holds``: the same. ``reverses``: the
    opposite. ``vanishes``: the corpus held out does not change. ``no_change``: the others do not.
    ``not_computable``: one of them has no pairs. ``is_clear`` says that the interval of the corpus
    held out leaves out 0; without that its sign may be chance.

    Not computable, and without numbers, when the runs have fewer than two corpora in common.

    Parameters
    ----------
    a, b
        Search runs (schema ``search_run``) before and after the change.
    metrics
        Names of metrics; by default those of :data:`DEFAULT_METRICS` that both runs have.
    accept
        What the runs may differ in; see `accepted_mismatches`, which refuses the rest.
    seed
        Seed of resampling.

    Raises
    ------
    BadInputError
        For a metric that there is not, or that is no mean over queries.
    NothingToEvaluateError
        When the runs did not measure the same thing.
    """
    accepted = accepted_mismatches(a, b, accept)
    names = _metrics(a, b, metrics)
    corpora = sorted({q.corpus for q in a.queries} & {q.corpus for q in b.queries})
    reasons = [
        f"{side} has no verdict: {reason}"
        for side, run in (("A", a), ("B", b))
        for reason in own_faults(run)
    ]
    is_computable = len(corpora) >= MIN_CORPORA
    if not is_computable:
        reasons.append(
            f"the runs share {len(corpora) or 'no'} corpus; holding one out needs at least"
            f" {MIN_CORPORA}"
        )
    resampling = Resampling.of(b.run.settings, seed)
    rows = {}
    if is_computable:
        sides = {name: (shares(a, name), shares(b, name)) for name in names}
        ids = {corpus: (_ids(a, corpus), _ids(b, corpus)) for corpus in corpora}

        def changes(chosen: Collection[str]) -> dict[str, Change]:
            # All metrics of some queries after one another: they are resampled with one draw.
            parts = tuple(frozenset().union(*(ids[c][side] for c in chosen)) for side in (0, 1))
            pairs = restricted(sides, (parts[0], parts[1]))
            return {name: change_of(*pair, resampling) for name, pair in pairs.items()}

        held_out = {corpus: changes([corpus]) for corpus in corpora}
        others = {c: changes([other for other in corpora if other != c]) for c in corpora}
        overall = changes(corpora)
        rows = {
            name: _row(overall[name], {c: (others[c][name], held_out[c][name]) for c in corpora})
            for name in names
        }
    return {
        "schema_version": SCHEMA_VERSION,
        "a": {"label": a.label, "generated_at": a.generated_at},
        "b": {"label": b.label, "generated_at": b.generated_at},
        "accepted": accepted,
        "computable": is_computable,
        "reasons": reasons,
        "corpora": corpora,
        "metrics": rows,
    }


def _row(overall: Change, parts: Mapping[str, tuple[Change, Change]]) -> dict[str, Any]:
    """Return the row of a metric from its changes on the other corpora and on the one held out."""
    corpora: dict[str, dict[str, Any]] = {
        corpus: {
            "held_out": asdict(held_out),
            "others": asdict(others),
            "verdict": _verdict(others, held_out),
            "is_clear": _is_clear(held_out),
        }
        for corpus, (others, held_out) in parts.items()
    }
    return {
        "overall": asdict(overall),
        "corpora": corpora,
        "holds_everywhere": _holds_everywhere([row["verdict"] for row in corpora.values()]),
    }


def _verdict(others: Change, held_out: Change) -> str:
    if others.delta_points is None or held_out.delta_points is None:
        return "not_computable"
    expected, found = _sign(others.delta_points), _sign(held_out.delta_points)
    if expected == 0:
        return "no_change"
    if found == 0:
        return "vanishes"
    return "holds" if found == expected else "reverses"


def _holds_everywhere(verdicts: Collection[str]) -> bool | None:
    if {"vanishes", "reverses"} & set(verdicts):
        return False
    return True if set(verdicts) == {"holds"} else None


def _is_clear(change: Change) -> bool | None:
    if change.ci_low_points is None or change.ci_high_points is None:
        return None
    return change.ci_low_points > 0 or change.ci_high_points < 0


def _sign(points: float) -> int:
    return 0 if abs(points) <= _ROUNDING else (1 if points > 0 else -1)


def _ids(run: SearchRun, corpus: str) -> frozenset[str]:
    return query_ids(run, "corpus", corpus)


def _metrics(a: SearchRun, b: SearchRun, asked: Sequence[str]) -> list[str]:
    for name in asked:
        if check_metric_name(name) in WHOLE_RUN_ONLY:
            raise BadInputError(f"{name} is no mean over queries, so it has no part on a corpus")
    if asked:
        return list(dict.fromkeys(asked))
    return [
        name
        for name in DEFAULT_METRICS
        if all(metric_value(run, name).reason != "not_recorded" for run in (a, b))
    ]
