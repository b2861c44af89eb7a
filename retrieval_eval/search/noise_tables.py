"""A noise document in a few lines of plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retrieval_eval.search.beyond_noise import MOST_RUNS, runs_needed
from retrieval_eval.search.guard.rule import SMALLEST_RESOLUTION
from retrieval_eval.search.noise_thresholds import ALPHA
from retrieval_eval.search.settings import BASE_MEASURES, HEADLINE
from retrieval_eval.search.summary import DASH

Document = Mapping[str, Any]
Rows = list[list[str]]


def noise_sentences(noise: Document) -> list[str]:
    """Return what was repeated, whether it is deterministic, and how many runs a guard needs."""
    use, gold = noise["run"]["retriever"], noise["run"]["gold_set"]
    asked = f"{noise['n_queries']:,} queries of {gold['name']} ({gold['fingerprint'][:12]})"
    found = [f"{noise['n_runs']} runs of {use['name']} over {asked}."]
    if noise["is_deterministic"]:
        found.append("Deterministic: every query got the same documents in every run.")
    else:
        found.append(
            f"{noise['n_queries_varied']} of {noise['n_queries']} queries got other documents in "
            "some run."
        )
    return found + _runs_needed(noise)


def _runs_needed(noise: Document) -> list[str]:
    alpha = ALPHA / max(len(noise["suggested_thresholds"]), 1)
    told = []
    for name in HEADLINE:
        band = noise["metrics"].get(name, {}).get("band_points")
        if not band:
            continue
        n = runs_needed(SMALLEST_RESOLUTION, band, noise["n_runs"] - 1, alpha=alpha)
        told.append(f"{name} " + (f"more than {MOST_RUNS}" if n is None else f"{n:,}"))
    what = f"Runs on either side whose means show a change of {SMALLEST_RESOLUTION:g} points"
    return [f"{what} to the guard: {', '.join(told)}."] if told else []


def shown_metrics(noise: Document) -> list[str]:
    """Return the metrics of the short list: base measures, and all that are no measures."""
    return [name for name in noise["metrics"] if name in BASE_MEASURES or "@" not in name]


def level_rows(noise: Document, names: Sequence[str]) -> Rows:
    """Return noise between runs and between samples of queries, and what can be detected."""
    rows = [
        [
            *("metric", "queries", "run to run, SD", "largest", "sampling, SD"),
            *("detectable: runs", "change", "unrelated"),
        ]
    ]
    for name in names:
        metric = noise["metrics"][name]
        level = metric["run_to_run"]
        is_still = level["is_deterministic"]
        detectable = metric["smallest_detectable_points"]
        rows.append(
            [
                name,
                str(metric["n_queries"]),
                "deterministic" if is_still else _points(level["sd_points"]),
                _points(level["largest_delta_points"]),
                _points(metric["query_sampling"]["level_sd_points"]),
                *(_points(detectable[basis]) for basis in ("run_to_run", "change", "unrelated")),
            ]
        )
    return rows


def detectable_rows(noise: Document) -> Rows:
    """Return the smallest detectable changes of the headline measures by number of queries.

    The range is that from runs alone to unrelated systems; the number between, where there is
    one, is for the given change.
    """
    names = [name for name in HEADLINE if name in noise["metrics"]]
    rows = [["queries", *names]]
    if not names:
        return rows
    for count in noise["metrics"][names[0]]["by_n_queries"]:
        cells = [noise["metrics"][name]["by_n_queries"][count] for name in names]
        rows.append([f"{int(count):,}", *map(_range, cells)])
    return rows


def _range(bases: Document) -> str:
    given = [bases["run_to_run"], bases["change"], bases["unrelated"]]
    shown = [_points(value) for value in given if value is not None]
    return " … ".join(shown) or DASH


def _points(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"
