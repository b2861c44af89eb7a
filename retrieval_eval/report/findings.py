"""The finding that heads each section: one sentence from its numbers, for every case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from retrieval_eval.escape import visible
from retrieval_eval.model.impact import PairedStatistics
from retrieval_eval.report.comparison import is_clear
from retrieval_eval.report.numbers import of, rate, signed
from retrieval_eval.values import counted

NAME_LIMIT: Final = 36
MAX_LISTED: Final = 4


def name(text: str, limit: int = NAME_LIMIT) -> str:
    """Return an untrusted name as it appears in a sentence."""
    return visible(text, limit)


def listed(parts: Sequence[str], separator: str = ", ") -> str:
    """Return a finding about each config, of the first four where there are more.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e", "f"])
    ('a, b', 'a, b, c, d and 2 more')
    """
    more = len(parts) - MAX_LISTED
    return separator.join(parts[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def coverage(n_paired: int, n_tasks: int, has_pair: bool, is_withheld: bool = False) -> str:
    """Return the finding of the coverage section."""
    if is_withheld:
        return f"{n_paired} of {counted(n_tasks, 'task')} matched, their comparison withheld"
    if has_pair:
        verb = "enters" if n_paired == 1 else "enter"
        return f"{n_paired} of {counted(n_tasks, 'task')} {verb} the paired analysis"
    return f"{counted(n_tasks, 'task')} found, none of them paired"


def shares(label: str, values: Sequence[tuple[str, int, int]]) -> str:
    """Return the finding that gives a count of a whole for each config: name, part, whole.

    Examples
    --------
    >>> shares("Opaque calls", [("a", 1, 300)])
    'Opaque calls: 1 of 300 with a'
    """
    parts = [f"{of(part, whole)} with {name(config)}" for config, part, whole in values]
    return f"{label}: {listed(parts)}"


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
    parts = [f"{rate(value)} with {name(config)} (n = {n})" for config, value, n in ordered]
    return f"{label}: {listed(parts)}"


def never_hit(values: Sequence[tuple[str, int, int]]) -> str:
    """Return the finding about tasks without a relevant file found: config, never, total."""
    shown = [(c, never, total) for c, never, total in values if total]
    if not shown:
        return "No trial has ground truth and a trace, so no time to a relevant file exists"
    parts = [f"{never} of {counted(total, 'task')} with {name(c)}" for c, never, total in shown]
    return f"Never found a relevant file: {listed(parts)}"


def used(values: Sequence[tuple[str, int, int]]) -> str:
    """Return the finding about use: config, ground-truth files used, ground-truth files."""
    shown = [(c, part, whole) for c, part, whole in values if whole]
    if not shown:
        return "No trial has ground truth, so use cannot be measured"
    parts = [f"{part / whole:.2f} with {name(c)} (n = {whole})" for c, part, whole in shown]
    return f"Share of ground-truth files retrieved and used: {listed(parts)}"


def associations(n_strong: int, n_computable: int, n_flips: int) -> str:
    """Return the finding of the association section."""
    if not n_computable:
        return "No association with outcomes rests on enough tasks"
    text = (
        f"{n_strong} of {counted(n_computable, 'pooled association')} "
        f"{'stands' if n_strong == 1 else 'stand'} out after adjustment (q < 0.05)"
    )
    if n_flips:
        text += f"; {n_flips} {'changes' if n_flips == 1 else 'change'} sign within groups"
    return text


def slices(found: Sequence[float], n_small: int) -> str:
    """Return the finding about slices: the differences that may be read, and how many may not.

    It gives the range, not the largest: the largest of many slices is large by chance.
    """
    small = f"{counted(n_small, 'slice')} too small to interpret" if n_small else ""
    if not found:
        return small[:1].upper() + small[1:] if small else "There is nothing to slice"
    text = (
        f"Differences from {signed(min(found))} to {signed(max(found))} over "
        f"{counted(len(found), 'slice')}"
    )
    return f"{text}; {small}" if small else text


def intervals(results: Sequence[PairedStatistics]) -> str:
    """Return the finding about all metrics of a pair: how many differences are clear."""
    known = [r for r in results if r.ci_low is not None and r.ci_high is not None]
    if not known:
        return "No metric has a paired interval"
    clear = sum(is_clear(r) for r in known)
    verb = "is" if clear == 1 else "are"
    return (
        f"{clear} of {counted(len(known), 'paired difference')} {verb} clear: interval without 0 "
        "and adjusted p < 0.05"
    )


def pairs(verdicts: Sequence[str]) -> str:
    """Return the finding about every pair of configs: how many have which verdict.

    Examples
    --------
    >>> pairs(["better", "no verdict", "better"])
    '3 pairs of configurations: 2 better, 1 no verdict'
    """
    counts = Counter(verdicts)
    parts = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    noun = counted(len(verdicts), "pair of configurations", "pairs of configurations")
    return f"{noun}: {parts}"


def views(n_changed: int, n_views: int) -> str:
    """Return the finding about views: how many conclusions change under another view."""
    if not n_changed:
        return f"No conclusion changes under {counted(n_views, 'view')} of what counts as retrieved"
    verb = "depends" if n_changed == 1 else "depend"
    return f"{counted(n_changed, 'conclusion')} {verb} on what counts as retrieved"


def gate(n_failed: int, n_rules: int, n_removed: int, n_unmatched: int = 0) -> str:
    """Return the finding about the validity gate, and how many valid trials have no partner."""
    removed = f"{counted(n_removed, 'trial')} removed" if n_removed else "no trial removed"
    removed += f", {n_unmatched:,} without a partner" if n_unmatched else ""
    if not n_failed:
        return f"The arms may be compared: {counted(n_rules, 'rule')} passed, {removed}"
    failed = f"{n_failed} of {counted(n_rules, 'rule')} failed"
    return f"The arms cannot be compared: {failed}, {removed}"
