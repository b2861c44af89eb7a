"""Time to the first relevant file per configuration, with the trials that never hit censored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.study.arms import Document, task_of
from retrieval_eval.study.settings import Settings
from retrieval_eval.values import Value

if TYPE_CHECKING:
    from retrieval_eval.stats.intervals import Interval

UNITS: Final = {
    "seconds": ("ttfr_seconds", "censored_at_seconds"),
    "tokens": ("ttfr_tokens", "censored_at_tokens"),
    "calls": ("ttfr_calls", "censored_at_calls"),
}
"""Unit to the fields of the time of the hit, and of the end of watching without one."""

_WHOLE: Final = {"seconds": "elapsed_seconds", "tokens": "total_tokens"}
"""Unit to the outcome that says how long a trial was."""


def time_to_first_relevant(
    documents: Sequence[Document], settings: Settings
) -> list[dict[str, Any]]:
    """Return Kaplan-Meier curve, median and restricted mean for every configuration and unit.

    A task's first trial stands for it: times of repeats cannot be averaged when some never hit.
    """
    groups: dict[str, dict[tuple[str, str], Document]] = defaultdict(dict)
    for document in documents:
        if document["file_level_metrics"].get("computable"):
            groups[document["provenance"]["config_name"]].setdefault(task_of(document), document)
    watched = {
        config: {unit: _times(list(first.values()), unit) for unit in UNITS}
        for config, first in sorted(groups.items())
    }
    rows = []
    for unit in UNITS:
        ends = [max((t for t, _ in by[unit]), default=None) for by in watched.values()]
        known = [end for end in ends if end is not None]
        for config, by in watched.items():
            until = min(known) if known else None
            rows.append({"config_name": config, "unit": unit, **_row(by[unit], until, settings)})
    return rows


def _times(documents: Sequence[Document], unit: str) -> list[tuple[float, bool]]:
    hit, end = UNITS[unit]
    times = []
    for document in documents:
        block = document["file_level_metrics"]
        has_hit = not block.get("never_hit")
        time = block.get(hit if has_hit else end)
        if time is None and document.get("event_summary", {}).get("total_events") == 0:
            # Who never looked never hit: no event says how long that was, its outcome may.
            time = document["outcome"].get(_WHOLE.get(unit, ""))
        if time is not None:
            times.append((float(time), has_hit))
    return times


def _row(
    times: list[tuple[float, bool]], until: float | None, settings: Settings
) -> dict[str, Any]:
    n = len(times)
    if n == 0 or until is None:
        names = ("share_never", "median", "restricted_mean")
        ends = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
        return {"n": n, "n_hit": 0, "n_never": 0, "until": None, "curve": [], **dict.fromkeys(ends)}
    from retrieval_eval.stats.time_to_event import time_to_event

    found = time_to_event(
        [time for time, _ in times],
        [has_hit for _, has_hit in times],
        seed=settings.seed,
        until=until,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
    )
    curve = found.curve
    return {
        "n": n,
        "n_hit": curve.n_events,
        "n_never": n - curve.n_events,
        **_ends("share_never", found.never, found.never_interval),
        **_ends("median", found.median, found.median_interval),
        **_ends("restricted_mean", found.restricted_mean, found.restricted_mean_interval),
        "until": until,
        "curve": [[t, 1 - s] for t, s in zip(curve.times, curve.survival, strict=True)],
    }


def _ends(name: str, value: Value, interval: Interval) -> dict[str, float | None]:
    return {
        name: value.value,
        f"{name}_low": interval.low.value,
        f"{name}_high": interval.high.value,
    }
