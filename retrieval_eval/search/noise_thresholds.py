"""Thresholds that the measured noise of a system rarely exceeds, as a snippet of guard.toml."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from retrieval_eval.search.guard.thresholds import shipped_thresholds

Document = Mapping[str, Any]

ALPHA: Final = 0.05
_STEP: Final = 0.1


def suggestions(metrics: Mapping[str, Document], n_runs: int) -> list[dict[str, Any]]:
    """Return a suggested threshold for each shipped one whose metric was measured.

    It is the shipped change, or, where that is less, what the difference of two runs of the same
    system exceeds in 5 % of comparisons over all these thresholds together (Bonferroni; Student's
    t, for the noise was estimated from ``n_runs``), in tenths of a point. Where nothing moved it
    is the shipped one.
    """
    from scipy.special import stdtrit

    rows = [
        row
        for row in shipped_thresholds().rows
        if row.max_change is not None and row.unit == "points" and row.metric in metrics
    ]
    found = []
    for row in rows:
        assert row.max_change is not None
        quantile = float(stdtrit(n_runs - 1, 1 - ALPHA / len(rows)))
        beyond = quantile * math.sqrt(2.0) * metrics[row.metric]["run_to_run"]["sd_points"]
        found.append(
            {
                "metric": row.metric,
                "direction": row.direction,
                "shipped_max_change_points": row.max_change,
                "noise_points": beyond,
                "max_change_points": max(row.max_change, _rounded_up(beyond)),
            }
        )
    return found


def snippet(document: Document) -> str:
    """Return the suggested thresholds of a noise document as TOML for ``guard.toml``."""
    moment = document["generated_at"][:10]
    lines = [f"# Suggested from {document['n_runs']} runs of one system, {moment}."]
    for row in document["suggested_thresholds"]:
        noise, usual = row["noise_points"], row["shipped_max_change_points"]
        lines += [
            "",
            f"# Noise reaches {noise:.2f} points; shipped: {usual:g}.",
            "[[threshold]]",
            f'metric = "{row["metric"]}"',
            f'direction = "{row["direction"]}"',
            f"max_change = {row['max_change_points']:.1f}",
            'unit = "points"',
        ]
    return "\n".join(lines) + "\n"


def _rounded_up(points: float) -> float:
    return math.ceil(points / _STEP - 1e-9) / round(1 / _STEP)
