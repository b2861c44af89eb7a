"""The events of a task in order, a strip a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.report import style
from retrieval_eval.report.canvas import height, legend, name, row_labels
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    figure,
    groups_of,
    labels,
    listed,
    marks_of,
    need_rows,
    numbers,
    texts,
    truths,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHAPES: Final = {
    "file_read": "o",
    "code_search": "D",
    "file_search": "|",
    "symbol_navigation": "s",
    "commit_search": "v",
    "deep_search": "*",
    "file_write": "^",
    "other": "X",
}
MAX_STEPS: Final = 400
"""Events drawn of each trial."""


@figure("timeline")
def timeline(
    ax: Axes, frame: pd.DataFrame, by: str | Sequence[str] = ("config_name", "trial_name")
) -> Words:
    """Draw the events of a task as marks on a strip, filled where they hit ground truth.

    Parameters
    ----------
    frame
        A row an event, such as ``run.events`` of one task: columns ``step_index``,
        ``tool_category`` and ``hits_ground_truth``.
    by
        The column (or columns) that tells the trials apart; colours are those of the first. What
        is the same in all rows is not repeated beside the strips.

    Returns
    -------
    Exhibit
        With ``data`` of one row an event drawn.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> kinds = {"tool_category": ["code_search", "file_read"], "hits_ground_truth": [False, True]}
    >>> events = pd.DataFrame({"config_name": "a", "step_index": [0, 1], **kinds})
    >>> rev.plot.timeline(events, by="config_name").finding
    'First hit: step 1 of 2 events with a'
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    keys = [by] if isinstance(by, str) else list(by)
    distinct = [
        k
        for k in keys
        if k == keys[0] or len(set(texts(frame, k))) > len(set(texts(frame, keys[0])))
    ]
    trials = labels(frame, distinct)
    rows = list(
        zip(
            trials,
            labels(frame, keys[0]),
            numbers(frame, "step_index"),
            texts(frame, "tool_category"),
            truths(frame, "hits_ground_truth"),
            strict=True,
        )
    )
    need_rows(frame)
    strips: dict[str, list[tuple[int, str, bool]]] = {}
    colors: dict[str, str] = {}
    marks = marks_of(frame, keys[0])
    for trial, config, step, category, hits in rows:
        if step is not None:
            strips.setdefault(trial, []).append((int(step), category, hits))
            colors[trial] = marks[config].color
    if not strips:
        raise NothingToShow("No event has a step, so there is no order to show.")
    ordered = [
        g for g in groups_of(frame, distinct if len(distinct) > 1 else distinct[0]) if g in strips
    ]
    drawn = {g: sorted(strips[g], key=lambda e: e[0])[:MAX_STEPS] for g in ordered}
    longest = max(map(len, strips.values()))
    size = min(6.5, max(2.4, 6.5 * 50 / longest))
    firsts = {
        g: next((s for s, c, hit in drawn[g] if hit and c != "file_write"), None) for g in ordered
    }
    for y, (g, events) in enumerate(drawn.items()):
        ax.plot([events[0][0], events[-1][0]], [y, y], color=style.FAINT, linewidth=1, zorder=1)
        _marks(ax, y, events, colors[g], size)
        if firsts[g] is not None:
            ax.annotate(
                "first hit",
                (firsts[g] or 0, y - 0.12),
                (firsts[g] or 0, y - 0.45),
                ha="center",
                fontsize=8,
                color=colors[g],
                arrowprops={"arrowstyle": "-", "color": colors[g], "linewidth": 0.8},
            )
    height(ax, 1.15 + 0.6 * len(ordered))
    row_labels(ax, ordered)
    ax.set_ylim(len(ordered) - 0.5, -0.75)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("Step")
    used = [
        c for c in SHAPES if any(_kind(k) == c for events in drawn.values() for _, k, _ in events)
    ]
    look: dict[str, Any] = {"linestyle": "", "color": style.GREY, "markersize": 6}
    handles = [Line2D([], [], marker=SHAPES[c], markerfacecolor=style.PAPER, **look) for c in used]
    handles.append(Line2D([], [], marker="o", **look))
    legend(ax, handles, [*(c.replace("_", " ") for c in used), "filled: hits ground truth"])
    flat = [(g, *event) for g, events in drawn.items() for event in events]
    data = as_frame(
        {
            "group": [g for g, *_ in flat],
            "step": [s for _, s, _, _ in flat],
            "category": [c for _, _, c, _ in flat],
            "hits": ["yes" if h else "no" for *_, h in flat],
        }
    )
    said = [
        f"{'none in' if firsts[g] is None else f'step {firsts[g]} of'} "
        f"{counted(len(strips[g]), 'event')} with {name(g, 36)}"
        for g in ordered
    ]
    parts = "; ".join(
        f"{name(g)} {counted(len(strips[g]), 'event')}, "
        + ("never hits" if firsts[g] is None else f"first hit at step {firsts[g]}")
        for g in ordered
    )
    return Words(
        f"First hit: {listed(said)}",
        f"{counted(sum(map(len, strips.values())), 'event')} of {counted(len(ordered), 'trial')} "
        "in the order of the trace, one strip a trial."
        + (f" Of each the first {MAX_STEPS} are shown." if longest > MAX_STEPS else ""),
        data,
        f"Events in order, one strip a trial: {parts}.",
        {"step": lambda step: f"{step}"},
        {"hits": "Hits ground truth", "group": "Trial"},
    )


def _kind(category: str) -> str:
    return category if category in SHAPES else "other"


def _marks(
    ax: Axes, y: int, events: Sequence[tuple[int, str, bool]], color: str, size: float
) -> None:
    for category, shape in SHAPES.items():
        for hits in (False, True):
            xs = [s for s, c, hit in events if hit is hits and _kind(c) == category]
            if xs:
                ax.plot(
                    xs,
                    [y] * len(xs),
                    linestyle="",
                    marker=shape,
                    color=color,
                    markersize=max(size, 5) if hits else size,
                    markeredgewidth=1.0 if size > 4 else 0.7,
                    markerfacecolor=color if hits else style.PAPER,
                    zorder=4 if hits else 3,
                )
