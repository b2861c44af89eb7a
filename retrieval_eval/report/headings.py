"""How columns of frames are headed and their values printed.

A metric is printed as the catalogue of metrics declares it, another column of our frames by the
words below and the type and unit of its declaration. An undeclared column keeps its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from retrieval_eval.agents.metrics.catalog import BY_NAME, METRICS
from retrieval_eval.escape import visible
from retrieval_eval.report import names
from retrieval_eval.report.columns import (
    FRAMES,
    HISTORY_FRAMES,
    SEARCH_FRAMES,
    STUDY_FRAMES,
    TRIAL_FRAMES,
    Column,
)
from retrieval_eval.report.names import metric_name
from retrieval_eval.values import as_number

Format = Callable[[Any], str]
"""What prints a value; a missing one never reaches it."""

HEADS: Final[Mapping[str, str]] = {
    "benchmark": "Suite",
    "config_name": "Configuration",
    "baseline_config": "Baseline",
    "comparison_config": "Comparison",
    "task_name": "Task",
    "trial_name": "Trial",
    "run_id": "Run",
    "id": "Query id",
    "doc": "Document",
    "ci_low": "95 % from",
    "ci_high": "95 % to",
    "ci_low_points": "95 % from, points",
    "ci_high_points": "95 % to, points",
    "cost_usd": "Cost (USD)",
    "n": "n",
    "n_clusters": "Clusters",
    "n_ground_truth": "Ground-truth files",
    "n_overlap": "Ground-truth files found",
    "n_pairs": "Pairs",
    "n_queries": "Queries",
    "n_retrieved": "Files retrieved",
    "n_relevant": "Relevant documents",
    "n_not_computable": "Not computable",
    "n_never": "Never",
    "n_hit": "Hit",
    "p_value": "p",
    "p_over_pairs": "p over pairs (Holm)",
    "estimate": "Estimate",
    "p_holm": "p (Holm)",
    "p_adjusted": "p (Holm)",
    "q_value": "q",
    "spearman_r": "ρ",
    "kappa": "κ",
    "smallest_detectable": "Smallest detectable",
    "mcp_calls": "MCP calls",
    "mcp_calls_ok": "MCP calls without error",
    "mcp_events": "MCP events",
    "is_mcp": "MCP",
    "is_error": "Failed",
    "hits_ground_truth": "Hits ground truth",
    "delta_points": "Change (points)",
    "change_points": "Change (points)",
    "limit_points": "Limit (points)",
    "noise_points": "Noise level (points)",
    "gain_points": "Points",
    "held_out_points": "Points",
    "others_points": "Points of the others",
    "measure": "Metric",
    "unjudged_high": "Unjudged: up to",
    "n_by_one": "Labelled by one",
    "n_by_more": "By two or more",
    "false_refusal_rate": "Answerable queries refused",
    "true_positive_rate": "Unanswerable queries refused",
}
"""Columns whose own name does not do."""

OWN: Final = (
    *("group", "rows", "column", "missing", "min", "max", "share", "lower_quartile"),
    *("upper_quartile", "total", "time", "never", "share_at_0", "share_at_1", "step", "category"),
    *("hits", "estimate", "low", "high", "values", "mark"),
)
"""Columns of the data of figures and tables."""

_SIGNED: Final = re.compile(
    r"difference|(?:delta|change|ci_\w+|points?|others|held_out|gain)_?points|spearman_r|"
    r"kappa|^points$|^bound_"
)


_SHARE: Final = re.compile(r"share(_|$)")
"""Columns of parts of a whole, which are printed as percentages."""


@cache
def declared(column: str) -> Column | None:
    """Return the declaration of a column of our frames; columns of a cut-off by any number."""
    stem = re.sub(r"@\d+$", "@{k}", column)
    for frames in (FRAMES, TRIAL_FRAMES, SEARCH_FRAMES, STUDY_FRAMES, HISTORY_FRAMES):
        for _, columns in frames.values():
            for known in columns:
                if known.name == stem:
                    return known
    return None


def heading(column: object) -> str:
    """Return how a column is headed, or several that make up a group, or none.

    Examples
    --------
    >>> heading("ndcg@3"), heading("benchmark"), heading("tool_category"), heading("my_P")
    ('nDCG@3', 'Suite', 'Tool category', 'my_P')
    >>> heading("mrr:opened"), heading(["benchmark", "config_name"]), heading(None)
    ('MRR, opened', 'Suite and configuration', 'Group')
    """
    if not column:
        return "Group"
    if isinstance(column, list | tuple):
        first, *more = map(heading, column)
        return " and ".join([first, *map(inside, more)])
    text = str(column)
    if text in BY_NAME:
        return metric_name(text).titled
    if text in HEADS:
        return HEADS[text]
    name, at, cutoff = text.partition("@")
    if at and cutoff.isdigit() and name in METRICS and METRICS[name].has_cutoff:
        return f"{METRICS[name].label}@{cutoff}"
    name, colon, view = text.partition(":")
    if colon and name in BY_NAME and declared(text) is not None:
        return f"{heading(name)}, {view.replace('_', ' ')}"
    if text in OWN or declared(text) is not None:
        words = re.sub(r"^(?:n|is|has)_(?=.)", "", text).replace("_", " ").replace(":", ": ")
        return f"{words[:1].upper()}{words[1:]}"
    return visible(text, 80)


def inside(text: str) -> str:
    """Return a heading as it stands inside a sentence; an abbreviation keeps its capitals.

    Examples
    --------
    >>> inside("File recall"), inside("MRR"), inside("nDCG@10")
    ('file recall', 'MRR', 'nDCG@10')
    """
    return (
        text
        if text[1:2].isupper() or "@" in text.partition(" ")[0]
        else f"{text[:1].lower()}{text[1:]}"
    )


def is_share(column: object) -> bool:
    """Return whether a column is declared to hold shares, from 0 to 1.

    Examples
    --------
    >>> is_share("file_recall"), is_share("cost_usd"), is_share("my_share")
    (True, False, False)
    """
    text = str(column)
    if text in BY_NAME:
        return BY_NAME[text].unit == "share"
    known = declared(text)
    return known is not None and known.unit == "0–1"


def formatter(column: object, values: Iterable[Any] = ()) -> Format:
    """Return what prints the values of a column: as declared, or as fits all values given."""
    text = str(column)
    if text in BY_NAME:
        return _numeric(metric_name(text).value)
    known = declared(text)
    given = [value for value in values if not is_missing(value)]
    if _SHARE.match(text) and (known or text in OWN) and all(map(_is_number, given)):
        return percent
    if known is not None and known.type == "number" and all(map(_is_number, given)):
        if re.match(r"[pq]_", text):
            return NAMED["p"]
        if text in ("points", "noise_points"):
            return NAMED["points" if text == "points" else "band"]
        if _SIGNED.search(text):
            return NAMED["signed"]
        return NAMED[{"tokens": "count", "s": "seconds"}.get(known.unit, "rate")]
    if given and all(map(_is_number, given)):
        whole = all(float(value).is_integer() for value in given)
        return NAMED["count" if whole else "rate"]
    return as_text


def is_missing(value: Any) -> bool:
    """Return whether a cell holds no value: None, NaN, NaT or the missing value of pandas."""
    if value is None:
        return True
    import pandas as pd

    return value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def as_text(value: Any) -> str:
    """Return any value as text: lists joined, truth as yes or no, numbers as they fit."""
    if is_missing(value):
        return names.MISSING
    if isinstance(value, str):
        return value
    if _is_boolean(value):
        return "yes" if value else "no"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(as_text, value)) or names.MISSING
    if _is_number(value):
        number = as_number(value)
        whole = number is not None and number.is_integer()
        return names.count(number) if whole else names.rate(number)
    return str(value)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _is_number(value: Any) -> bool:
    return not isinstance(value, str) and not _is_boolean(value) and as_number(value) is not None


def percent(value: Any) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.125), percent(1), percent(None)
    ('12.5 %', '100 %', '—')
    """
    number = names.finite(as_number(value))
    return names.MISSING if number is None else f"{100 * number:.1f}".removesuffix(".0") + " %"


def _interval(ends: Any) -> str:
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return names.MISSING
    return names.interval(as_number(ends[0]), as_number(ends[1]))


def _numeric(show: Format) -> Format:
    """Return a format that takes numbers of any type."""
    return lambda value: show(as_number(value))


NAMED: Final[Mapping[str, Format]] = {
    "rate": _numeric(names.rate),
    "signed": _numeric(names.signed),
    "bound": _numeric(names.bound),
    "times": _numeric(names.times),
    "times_bound": _numeric(names.times_bound),
    "points": _numeric(names.contribution),
    "band": _numeric(names.band),
    "count": _numeric(names.count),
    "percent": percent,
    "p": _numeric(names.p_value),
    "interval": _interval,
    "seconds": _numeric(lambda value: names.rate(value, 1)),
    "text": as_text,
}
"""Formats by the names by which ``table.show`` takes them; ``interval`` prints two ends."""
