"""Which metrics can tell tasks and configurations apart, and which only look as if they could."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from retrieval_eval.metrics.catalog import BY_NAME
from retrieval_eval.study.pairs import Pair
from retrieval_eval.study.rewards import are_poolable
from retrieval_eval.values import signed

SATURATED_SHARE: Final = 0.9
"""A share-like metric with this much of its values at 0, or at 1, is saturated."""

REDUNDANT_R: Final = 0.98
"""Two metrics whose ranks correlate this strongly say the same."""

MIN_VALUES: Final = 6


def discrimination(pairs: Sequence[Pair], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return for each metric whether it discriminates, over both sides of all pairs.

    ``constant``: every value is the same. ``saturated``: nearly all values sit at an end of the
    scale. ``redundant``: it ranks the units as an earlier metric of the list does. Otherwise
    ``discriminates``, or ``not_computable`` below six values. Rewards of several scales are none.
    """
    columns = {name: _values(pairs, name) for name in names}
    trials = [d for pair in pairs for d in (*pair.baseline, *pair.comparison)]
    if not are_poolable(trials):
        columns["reward"] = []
    rows: list[dict[str, Any]] = []
    kept: list[str] = []
    for name in names:
        status, detail, other = _status(name, columns, kept)
        if status == "discriminates":
            kept.append(name)
        rows.append({"metric": name, "status": status, "detail": detail, "with": other})
    return rows


def _values(pairs: Sequence[Pair], name: str) -> list[float | None]:
    return [value.value for pair in pairs for value in pair.values(BY_NAME[name])]


def _status(
    name: str, columns: dict[str, list[float | None]], kept: Sequence[str]
) -> tuple[str, str, str | None]:
    values = [v for v in columns[name] if v is not None]
    if len(values) < MIN_VALUES:
        return "not_computable", f"{len(values)} values", None
    if len(set(values)) == 1:
        return "constant", f"all {len(values)} values are {values[0]:g}", None
    if BY_NAME[name].unit == "share":
        for end in (0.0, 1.0):
            share = values.count(end) / len(values)
            if share >= SATURATED_SHARE:
                return "saturated", f"{share:.2f} of {len(values)} values are {end:g}", None
    for other in kept:
        r = _rank_correlation(columns[name], columns[other])
        if r is not None and abs(r) >= REDUNDANT_R:
            return "redundant", f"ranks as {BY_NAME[other].label} does (r = {signed(r, 3)})", other
    return "discriminates", f"{len(set(values))} distinct of {len(values)} values", None


def _rank_correlation(xs: Sequence[float | None], ys: Sequence[float | None]) -> float | None:
    from retrieval_eval.stats.correlation import spearman

    known = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
    if len(known) < MIN_VALUES:
        return None
    return spearman([x for x, _ in known], [y for _, y in known], seed=0, n_resamples=1).r.value
