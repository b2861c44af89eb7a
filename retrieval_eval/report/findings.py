"""The finding that heads each section: one sentence from its numbers, for every case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from retrieval_eval.report.comparison import MetricResult
from retrieval_eval.report.escape import visible
from retrieval_eval.report.numbers import of, plural, rate, signed

NAME_LIMIT: Final = 36


def name(text: str) -> str:
    """Return a foreign name as it appears in a sentence."""
    return visible(text, NAME_LIMIT)


def coverage(n_paired: int, n_tasks: int, has_pair: bool) -> str:
    """Return the finding of the coverage section."""
    if has_pair:
        verb = "enters" if n_paired == 1 else "enter"
        return f"{n_paired} of {plural(n_tasks, 'task')} {verb} the paired analysis"
    return f"{plural(n_tasks, 'task')} found, none of them paired"


def shares(label: str, values: Sequence[tuple[str, int, int]]) -> str:
    """Return the finding that gives a count of a whole for each config: name, part, whole.

    Examples
    --------
    >>> shares("Opaque calls", [("a", 1, 300)])
    'Opaque calls: 1 of 300 with a'
    """
    parts = [f"{of(part, whole)} with {name(config)}" for config, part, whole in values[:4]]
    return f"{label}: {', '.join(parts)}"


def ranked(label: str, values: Sequence[tuple[str, float, int]]) -> str:
    """Return the finding that orders configs by a value: name, value, n.

    Examples
    --------
    >>> ranked("Median file recall", [("a", 0.5, 10), ("b", 0.6, 12)])
    'Median file recall: 0.60 with b (n = 12), 0.50 with a (n = 10)'
    """
    ordered = sorted(values, key=lambda v: (-v[1], v[0]))
    if not ordered:
        return f"{label} is not computable for any trial"
    parts = [f"{rate(value)} with {name(config)} (n = {n})" for config, value, n in ordered[:4]]
    return f"{label}: {', '.join(parts)}"


def never_hit(values: Sequence[tuple[str, int, int]]) -> str:
    """Return the finding about trials that never found a relevant file: config, never, total."""
    shown = [(c, never, total) for c, never, total in values if total]
    if not shown:
        return "No trial has ground truth and a trace, so no time to a relevant file exists"
    parts = [f"{never} of {plural(total, 'trial')} with {name(c)}" for c, never, total in shown[:4]]
    return f"Never found a relevant file: {', '.join(parts)}"


def used(values: Sequence[tuple[str, int, int]]) -> str:
    """Return the finding about use: config, ground-truth files used, ground-truth files."""
    shown = [(c, part, whole) for c, part, whole in values if whole]
    if not shown:
        return "No trial has ground truth, so use cannot be measured"
    parts = [f"{part / whole:.2f} with {name(c)}" for c, part, whole in shown[:4]]
    return f"Share of ground-truth files retrieved and used: {', '.join(parts)}"


def associations(n_strong: int, n_computable: int, n_flips: int) -> str:
    """Return the finding of the association section."""
    if not n_computable:
        return "No association with outcomes rests on enough trials"
    text = (
        f"{n_strong} of {plural(n_computable, 'pooled association')} "
        f"{'stands' if n_strong == 1 else 'stand'} out after adjustment (q < 0.05)"
    )
    if n_flips:
        text += f"; {n_flips} {'turns' if n_flips == 1 else 'turn'} sign within a config"
    return text


def slices(cells: Mapping[tuple[str, str], tuple[float, int]], min_n: int) -> str:
    """Return the finding about slices: (suite, size) to mean difference and matched tasks."""
    if not cells:
        return "No matched task, so there is nothing to slice"
    large = {key: value for key, value in cells.items() if value[1] >= min_n}
    small = len(cells) - len(large)
    if not large:
        return f"Every cell holds fewer than {min_n} matched tasks, so none is interpreted"
    suite, size = max(sorted(large), key=lambda key: abs(large[key][0]))
    difference, n = large[suite, size]
    text = f"Largest difference: {signed(difference)} in {name(suite)}, {size} sets (n = {n})"
    return f"{text}; {plural(small, 'cell')} too small to interpret" if small else text


def intervals(results: Sequence[MetricResult]) -> str:
    """Return the finding about all metrics of a pair: how many intervals exclude 0."""
    known = [r for r in results if r.ci_low is not None and r.ci_high is not None]
    if not known:
        return "No metric has a paired interval"
    clear = sum(r.verdict in ("better", "worse") for r in known)
    verb = "is" if clear == 1 else "are"
    return (
        f"{clear} of {plural(len(known), 'paired difference')} {verb} clear: interval without 0 "
        "and p < 0.05, not adjusted for their number"
    )
