"""Forest of rank correlations between retrieval metrics and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.model.impact import Association
from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import beside, canvas, legend, name, to_svg
from retrieval_eval.report.names import OUTCOMES, metric_name, reason_sentence
from retrieval_eval.report.numbers import count, interval, p_value, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

THRESHOLD = 0.05
MIN_N = 6
"""Below six observations no p-value can reach 0.05, and a coefficient misleads."""
MAX_ROWS = 20


def is_shown(found: Association) -> bool:
    """Return whether there is a coefficient that rests on enough observations."""
    return found.spearman_r is not None and found.n >= MIN_N


def is_strong(found: Association) -> bool:
    """Return whether the adjusted q value is below the threshold and groups do not contradict."""
    return found.q_value is not None and found.q_value < THRESHOLD and not found.sign_change


def title(found: Association) -> str:
    """Return which metric goes with which outcome."""
    metric, outcome = metric_name(found.retrieval_metric), metric_name(found.outcome_metric)
    return f"{metric.label} ~ {outcome.label.lower()}"


def draw(found: Sequence[Association], configs: Sequence[str]) -> Figure | Empty:
    """Return a row per pooled association, with the same association within each config."""
    pooled = [a for a in found if a.scope == "pooled" and is_shown(a)]
    if not pooled:
        return Empty("associations", _why(found))
    ordered = sorted(pooled, key=_order)[:MAX_ROWS]
    with canvas(1.1 + 0.34 * len(ordered)) as (figure, (axes,)):
        _pooled(axes, ordered)
        _within(axes, ordered, found, list(configs)[: style.MAX_CONFIGS])
        axes.axvline(0, color=style.GREY, linewidth=0.8)
        axes.set_xlim(-1.02, 1.02)
        axes.set_ylim(len(ordered) - 0.4, -0.6)
        axes.set_yticks(range(len(ordered)), [title(a) for a in ordered])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("Spearman's ρ with 95 % bootstrap interval")
        handles, labels = axes.get_legend_handles_labels()
        if labels:
            legend(axes, handles, labels)
        svg = to_svg(figure)
    text = "; ".join(f"{title(a)} {_value(a)}" for a in ordered[:8])
    return Figure(
        "associations",
        svg,
        f"Forest plot of rank correlations with outcomes, pooled over all configs: {text}.",
        "Pooled over all configs and suites, a task once under each config, repeats averaged; "
        "filled diamonds have an adjusted q below 0.05. Small marks show the same association "
        "within a config. A cross means that the sign changes within groups: the pooled value "
        "mixes them and says nothing. Association only.",
        table(found),
    )


def _pooled(axes: Axes, rows: Sequence[Association]) -> None:
    for state, color, fill, marker in (
        ("weak", style.LIGHT_GREY, "white", "D"),
        ("strong", style.TEXT, style.TEXT, "D"),
        ("turns", style.LIGHT_GREY, "white", "x"),
    ):
        chosen = [(y, a) for y, a in enumerate(rows) if _state(a) == state]
        spans = [
            (y, a.ci_low, a.ci_high)
            for y, a in chosen
            if a.ci_low is not None and a.ci_high is not None
        ]
        axes.hlines(
            [y for y, _, _ in spans],
            [low for _, low, _ in spans],
            [high for _, _, high in spans],
            color=color,
            linewidth=1.6,
        )
        axes.plot(
            [a.spearman_r or 0.0 for _, a in chosen],
            [y for y, _ in chosen],
            marker=marker,
            color=color,
            markersize=6,
            linestyle="",
            markerfacecolor=fill,
            clip_on=False,
        )
    changes = [
        y for y in range(1, len(rows)) if rows[y].outcome_metric != rows[y - 1].outcome_metric
    ]
    for y in changes:
        axes.axhline(y - 0.4, color=style.FAINT, linewidth=0.8)
    for y, a in enumerate(rows):
        beside(axes, y, f"{_value(a)}  {_sure(a)}")


def _state(a: Association) -> str:
    return "turns" if a.sign_change else "strong" if is_strong(a) else "weak"


def _sure(a: Association) -> str:
    return "sign changes in groups" if a.sign_change else f"q {p_value(a.q_value)}, n {a.n}"


def _within(
    axes: Axes, rows: Sequence[Association], found: Sequence[Association], configs: Sequence[str]
) -> None:
    inner = {
        (a.retrieval_metric, a.outcome_metric, a.group): a.spearman_r
        for a in found
        if a.scope == "config" and is_shown(a)
    }
    for i, config in enumerate(configs):
        points = [
            (r, y + 0.3)
            for y, a in enumerate(rows)
            if (r := inner.get((a.retrieval_metric, a.outcome_metric, config))) is not None
        ]
        if points:
            mark = style.mark(i)
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                marker=mark.marker,
                color=mark.color,
                markersize=4.5,
                linestyle="",
                label=f"within {name(config)}",
            )


def table(found: Sequence[Association]) -> Table:
    """Return every association, also those that are not computable."""
    return Table(
        "associations-data",
        "Associations by scope",
        ("Association", "Scope", "n", "Tasks", "ρ", "95 % interval", "q", "Note"),
        tuple(
            (
                title(a),
                "pooled" if a.scope == "pooled" else f"{a.scope} {a.group or ''}",
                str(a.n),
                count(a.clusters),
                signed(a.spearman_r),
                interval(a.ci_low, a.ci_high),
                p_value(a.q_value),
                _note(a),
            )
            for a in found
        ),
        ("left", "left", "right", "right", "right", "right", "right", "left"),
    )


def _order(a: Association) -> tuple[int, str, float, str]:
    outcome = a.outcome_metric
    place = OUTCOMES.index(outcome) if outcome in OUTCOMES else len(OUTCOMES)
    return (place, outcome, -(a.spearman_r or 0), a.retrieval_metric)


def _value(a: Association) -> str:
    return f"{signed(a.spearman_r)} {interval(a.ci_low, a.ci_high)}"


def _note(a: Association) -> str:
    if a.spearman_r is None:
        return reason_sentence(a.reason)
    if not is_shown(a):
        return f"n below {MIN_N}: not interpreted"
    return "sign changes within groups" if a.sign_change else ""


def _why(found: Sequence[Association]) -> str:
    reasons = sorted({_note(a) for a in found if a.scope == "pooled"})
    if not reasons:
        return "The analysis holds no association."
    return f"No association can be shown: {'; '.join(reasons)}."
