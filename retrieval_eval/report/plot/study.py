"""The figures of the page of a run: did the agents find the files, did it matter, where, and why.

○ is the baseline and ■ the comparison in all of them.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.trials import Trial
from retrieval_eval.agents.study.verdict import deciding_estimate
from retrieval_eval.model.impact import PairedEstimate
from retrieval_eval.report import style
from retrieval_eval.report.canvas import (
    height,
    legend,
    light_grid,
    name,
    on_layout,
    panels,
    row_labels,
)
from retrieval_eval.report.displays import LABELS, is_small
from retrieval_eval.report.documents import named_file
from retrieval_eval.report.headings import inside, percent
from retrieval_eval.report.names import (
    interval,
    leading,
    leading_interval,
    metric_name,
    of,
    plain_rows,
    rate,
    signed,
)
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    column,
    figure,
    listed,
    need_rows,
    numbers,
    texts,
    truths,
)
from retrieval_eval.report.words import arms
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from retrieval_eval.agents.study.compare import Comparison

A, B = style.MARKS[:2]
NAMED: Final = 32
"""Tasks up to which each has its name beside it."""
DRAWN_BELOW: Final = 5
"""Means of fewer units are drawn hollow."""
LEAST: Final = 6
"""Trials below which a page shows these themselves."""
OUTCOMES: Final = (
    ("reward", "Reward"),
    ("cost_usd", "Cost (USD)"),
    ("elapsed_seconds", "Time (s)"),
)


# The answer


@figure("pairs", height=3.4, width="wide", of="study")
def pairs(ax: Axes, study: Comparison, metric: str = "file_recall") -> Words:
    """Draw both sides of every matched task, sorted by difference, and below them the means.

    The interval of the mean difference is counted from the mean of the baseline. Where no
    difference may be shown, every trial is drawn by its configuration instead.

    Parameters
    ----------
    study
        What :func:`retrieval_eval.compare` returned.
    metric
        The metric to draw.

    Returns
    -------
    Exhibit
        With ``data`` of one row a task: ``baseline``, ``comparison``, ``difference``; or a trial.

    Examples
    --------
    >>> import retrieval_eval as rev
    >>> def trial(task, config, recall):
    ...     return {
    ...         "provenance": {"benchmark": "s", "task_name": task, "config_name": config},
    ...         "coverage": {},
    ...         "ledger": {"calls_seen": 5},
    ...         "file_level_metrics": {"computable": True, "file_recall": recall},
    ...         "outcome": {"reward": 1.0},
    ...     }
    >>> old = [trial(f"t{i}", "old", i / 16) for i in range(8)]
    >>> new = [trial(f"t{i}", "new", i / 16 + 0.25) for i in range(8)]
    >>> rev.plot.pairs(rev.compare(old + new, "old", "new")).finding
    '■ found more on 8 of 8 tasks, the same on 0, less on 0'
    """
    if metric not in study.record.metrics:
        raise NothingToShow(f"{name(metric, 60)} was not compared.")
    if study.why_not:
        return _trials(ax, study, metric)
    known = metric_name(metric)
    found = sorted(
        (
            (sides.difference, pair.task_name, sides.baseline or 0.0, sides.comparison or 0.0)
            for pair in study.record.pairs
            if (sides := pair.metrics[metric]).difference is not None
        ),
        key=lambda row: (-row[0], row[1]),
    )
    if not found:
        raise NothingToShow(f"No matched task has {inside(known.label)} on both sides.")
    n, has_names = len(found), len(found) <= NAMED
    bottom = n + 1.0 if has_names else n + 0.05 * n + 0.1
    height(ax, 0.19 * n + 1.15 if has_names else 5.2)
    for y, (change, _, before, after) in enumerate(found):
        if change:
            tone = (B if change > 0 else A).color
            ax.hlines(y, before, after, color=tone, lw=2.2 if has_names else 1.1, alpha=0.55)
    size = 6.5 if has_names else 3.0
    ys = range(n)
    _open(ax, [row[2] for row in found], ys, A, size)
    moved = [y for y in ys if found[y][0]]
    _full(ax, [found[y][3] for y in moved], moved, B, size - 1)
    same = [y for y in ys if not found[y][0]]
    _full(ax, [found[y][3] for y in same], same, B, size / 2)
    block = study.record.metrics[metric]
    ends = f"{leading(metric, block)} {leading_interval(metric, block)}"
    _mean_row(ax, bottom, block, 0.7 + 0.012 * n)
    change_text = leading(metric, block)
    if has_names:
        notes = [known.difference(change) if change else "0" for change, *_ in found]
        labels = [*(task for _, task, *_ in found), "", f"Mean of {n}"]
        row_labels(ax, labels, [*notes, "", change_text])
        ax.get_yticklabels()[-1].set_fontweight("bold")
    else:
        ax.set_yticks([bottom], [f"Mean of {n}"])
    ax.set_ylim(bottom + 1.0 + 0.02 * n, -0.8)
    _room(ax, [*[row[2] for row in found], *[row[3] for row in found]], metric)
    what = "share of the expected files that the agent found"
    ax.set_xlabel(f"File recall: {what}" if metric == "file_recall" else known.titled)
    up, down = sum(row[0] > 0 for row in found), sum(row[0] < 0 for row in found)
    verb = "found more" if metric == "file_recall" else f"has more {inside(known.label)}"
    finding = f"■ {verb} on {up} of {counted(n, 'task')}, the same on {len(same)}, less on {down}"
    first, second = (name(arm, 48) for arm in arms(study.record))
    heads = ("task_name", "baseline", "comparison", "difference")
    rows = [(task, before, after, change) for change, task, before, after in found]
    return Words(
        finding,
        f"A row is a task: ○ {first}, ■ {second}. Last row: means; bar: interval of their "
        f"difference, {ends}, from ○ on.",
        as_frame(dict(zip(heads, map(list, zip(*rows, strict=True)), strict=True))),
        f"{known.label} of {counted(n, 'task')} under both configurations; mean difference {ends}.",
        {"baseline": known.value, "comparison": known.value, "difference": known.difference},
        {"baseline": first, "comparison": second},
    )


def _trials(ax: Axes, study: Comparison, metric: str) -> Words:
    """Draw every trial by its configuration, where no difference may be shown."""
    if is_small(study):
        raise NothingToShow(f"{study.why_not}", is_expected=True)
    known = metric_name(metric)
    values = {arm: [] for arm in study.arms}  # type: dict[str, list[float]]
    rows = []
    for trial in study.trials:
        if trial.config_name in values and metric in trial.numbers:
            values[trial.config_name].append(trial.numbers[metric])
            rows.append((trial.config_name, trial.task_name, trial.numbers[metric]))
    if not rows:
        raise NothingToShow(f"No trial has {inside(known.label)}.")
    height(ax, 1.0 + 0.95 * len(values))
    means = {arm: statistics.fmean(own) for arm, own in values.items() if own}
    for y, (arm, own) in enumerate(values.items()):
        mark = style.mark(y)
        stacked: Counter[float] = Counter()
        for value in sorted(own):
            level = round(value, 2)
            stacked[level] += 1
            place = y + 0.32 - min(0.7, 0.09 * (stacked[level] - 1))
            (_full if y else _open)(ax, [value], [place], mark, 5.5)
        if own:
            ax.vlines(means[arm], y - 0.42, y + 0.42, color=mark.color, lw=2)
    row_labels(ax, list(values), [f"mean {known.value(means.get(arm))}" for arm in values])
    _room(ax, [row[2] for row in rows], metric)
    ax.set_xlabel(known.titled)
    every = sum(row[2] == 1 for row in rows)
    half = sum(row[2] < 0.5 for row in rows)
    said = f"{every} found all expected files, {half} less than half"
    if metric != "file_recall":
        said = listed([f"mean {known.value(m)} with {name(arm)}" for arm, m in means.items()])
    return Words(
        f"{counted(len(rows), 'trial')}: {said}",
        "A mark is a trial, the line the mean of a configuration.",
        as_frame(
            {
                "config_name": [row[0] for row in rows],
                "task_name": [row[1] for row in rows],
                metric: [row[2] for row in rows],
            }
        ),
        f"{known.label} of {counted(len(rows), 'trial')} by configuration: {said}.",
    )


def _open(ax: Axes, xs: Sequence[float], ys: Any, mark: style.Mark, size: float) -> None:
    _marks(ax, xs, ys, mark, size, style.PAPER)


def _full(ax: Axes, xs: Sequence[float], ys: Any, mark: style.Mark, size: float) -> None:
    _marks(ax, xs, ys, mark, size, mark.color)


def _marks(
    ax: Axes, xs: Sequence[float], ys: Any, mark: style.Mark, size: float, face: str
) -> None:
    look: dict[str, Any] = {"linestyle": "", "marker": mark.marker, "color": mark.color}
    ax.plot(
        list(xs),
        list(ys),
        markerfacecolor=face,
        markersize=size,
        markeredgewidth=1.4,
        zorder=4,
        clip_on=False,
        **look,
    )


def _mean_row(ax: Axes, y: float, block: PairedEstimate, half: float) -> None:
    """Draw both means, and the interval of their difference from that of the baseline."""
    before, after = block.mean_baseline, block.mean_comparison
    if before is None or after is None:
        return
    lead = deciding_estimate(block)
    ax.axhspan(y - half, y + half, color=style.FAINT, alpha=0.4, lw=0, zorder=0)
    ax.vlines(before, y - half, y + half, color=A.color, lw=1, ls=":", zorder=2)
    if lead.ends is not None and lead.quantity != "ratio":
        low, high = lead.ends
        ax.hlines(y, before + low, before + high, color=B.color, lw=3.2, zorder=3)
    _open(ax, [before], [y], A, 9)
    _full(ax, [after], [y], B, 9)


def _room(ax: Axes, values: Sequence[float], metric: str) -> None:
    is_share = metric in BY_NAME and BY_NAME[metric].unit == "share"
    if is_share and all(0 <= value <= 1 for value in values):
        ax.set_xlim(-0.02, 1.02)
    light_grid(ax)
    ax.spines["left"].set_visible(False)


# Did finding the files matter?


@figure("outcomes", height=6.0, width="large", of="study", panels=True)
def outcomes(
    fig: Figure, study: Comparison, found: pd.DataFrame, metric: str = "file_recall"
) -> Words:
    """Draw reward, cost and time of every trial against what it found, and change against change.

    The last panel, of a task with itself, is left out where no difference may be shown.

    Parameters
    ----------
    study
        What :func:`retrieval_eval.compare` returned.
    found
        ``rev.associate(…).frame``: the correlations in the titles of the panels.
    metric
        The retrieval metric of the horizontal axis.

    Returns
    -------
    Exhibit
        With ``data`` of one row a trial drawn.
    """
    trials = [t for t in study.trials if t.config_name in study.arms and metric in t.numbers]
    shown = [
        (outcome, label)
        for outcome, label in OUTCOMES
        if sum(outcome in t.numbers for t in trials) >= LEAST
    ]
    if not shown:
        raise NothingToShow(
            f"Fewer than {LEAST} trials have both file recall and an outcome.",
            is_expected=is_small(study),
        )
    if len({t.numbers[metric] for t in trials}) < 2:
        raise NothingToShow(
            "All trials found the same share, so that nothing can go together with it."
        )
    changes = [] if study.why_not else _changes(study, metric)
    n = len(shown) + bool(changes)
    rows = [2, n - 2] if n == 4 else [n]
    fig.set_figheight(3.0 * len(rows))
    axes = panels(fig, rows, narrow=2.6 * n)
    label = metric_name(metric).label
    for ax, (outcome, title) in zip(axes, shown, strict=False):
        _against(ax, study, trials, (metric, outcome))
        of_arms = _within(found, study.arms, metric, outcome)
        ax.set_title(f"{title}{_rho_text(of_arms)}")
        ax.set_xlabel(label)
    change = study.difference_associations
    if changes:
        ax = axes[-1]
        ax.axhline(0, color=style.GREY, lw=0.8)
        ax.axvline(0, color=style.GREY, lw=0.8)
        _full(ax, [x for x, _ in changes], [y for _, y in changes], style.MARKS[2], 4.5)
        ax.set_title(f"Same task, change of reward{_rho_text([_rho(change, metric, 'reward')])}")
        ax.set_xlabel(f"Change of {inside(label)}, ■ minus ○")
        light_grid(ax, "both")
    names = [outcome for outcome, _ in shown]
    said = _matters(_within(found, study.arms, metric, "reward"), change, metric)
    tail = f"; last panel: {counted(len(changes), 'task')}, whose difficulty cancels"
    return Words(
        said,
        "A mark is a trial; lines: means of about quarters of an arm's trials. ρ: Spearman within "
        f"an arm with 95 % interval, clustered by task{tail if changes else ''}. An association, "
        "no cause.",
        as_frame(
            {
                "task_name": [t.task_name for t in trials],
                "config_name": [t.config_name for t in trials],
                **{m: [t.numbers.get(m) for t in trials] for m in (metric, *names)},
            }
        ),
        f"{listed([t for _, t in shown])} against {inside(label)} of "
        f"{counted(len(trials), 'trial')}: {said}.",
    )


def _against(ax: Axes, study: Comparison, trials: Sequence[Trial], of: tuple[str, str]) -> None:
    for i, arm in enumerate(study.arms):
        own = [t for t in trials if t.config_name == arm and of[1] in t.numbers]
        xs, ys = ([t.numbers[name] for t in own] for name in of)
        (_full if i else _open)(ax, xs, ys, style.mark(i), 4.5)
        # A line through both arms would show the difference between them.
        # Of equal shares none is before the other, so they stay together.
        ordered = groupby(sorted(zip(xs, ys, strict=True)), key=lambda point: point[0])
        least = len(own) / min(4, max(2, len(own) // 8))
        parts: list[list[tuple[float, float]]] = [[]]
        for _, points in ordered:
            if len(parts[-1]) >= least:
                parts.append([])
            parts[-1].extend(points)
        means = [tuple(map(statistics.fmean, zip(*part, strict=True))) for part in parts if part]
        mark = style.mark(i)
        look: dict[str, Any] = {"color": mark.color, "linestyle": mark.line}
        ax.plot([m[0] for m in means], [m[1] for m in means], lw=2, alpha=0.6, **look)
    light_grid(ax, "both")


def _changes(study: Comparison, metric: str) -> list[tuple[float, float]]:
    found = []
    for pair in study.record.pairs:
        sides = [pair.metrics.get(name) for name in (metric, "reward")]
        values = [side.difference for side in sides if side is not None]
        if len(values) == 2 and None not in values:
            found.append((values[0] or 0.0, values[1] or 0.0))
    return found if len(found) >= LEAST else []


Found = Mapping[str, Any] | None
"""A row of an association; None where it cannot be given."""


def _rho(frame: pd.DataFrame, metric: str, outcome: str, arm: str | None = None) -> Found:
    """Return the association within an arm, or of changes."""
    for row in plain_rows(frame):
        own = (row.get("retrieval_metric"), row.get("outcome_metric"), row.get("group"))
        is_asked = own == (metric, outcome, arm) and row.get("scope") != "suite"
        if is_asked and row.get("spearman_r") is not None:
            return row
    return None


def _within(frame: pd.DataFrame, arms: Sequence[str], metric: str, outcome: str) -> list[Found]:
    return [_rho(frame, metric, outcome, arm) for arm in arms]


def _rho_text(rows: Sequence[Found]) -> str:
    known = [(glyph, row) for glyph, row in zip(style.GLYPHS, rows, strict=False) if row]
    texts = [
        f"{glyph + ' ' if len(rows) > 1 else ''}{signed(row['spearman_r'])} "
        f"{interval(row['ci_low'], row['ci_high'])}"
        for glyph, row in known
    ]
    return f"\nρ {', '.join(texts)}" if texts else ""


def _is_clear(row: Found) -> bool:
    ends = (row or {}).get("ci_low"), (row or {}).get("ci_high")
    return None not in ends and (ends[0] > 0 or ends[1] < 0)  # type: ignore[operator]


def _matters(within: Sequence[Found], change: pd.DataFrame, metric: str) -> str:
    """Return whether more was rewarded where more was found, in an arm and for one task."""
    same = _rho(change, metric, "reward")
    clear = {
        glyph: row["spearman_r"] > 0
        for glyph, row in zip(style.GLYPHS, within, strict=False)
        if row is not None and _is_clear(row)
    }
    if not any(within):
        return "Too few trials of an arm have both recall and reward to say if they go together"
    if not clear:
        text = "Within neither arm does what was found clearly go with reward"
    elif len(set(clear.values())) > 1:
        text = "What was found goes with more reward in one arm and with less in the other"
    else:
        is_more = next(iter(clear.values()))
        where = "Within both arms" if len(clear) == len(within) else f"Within {next(iter(clear))}"
        text = f"{where} trials that found more were rewarded {'more' if is_more else 'less'}"
        if same is not None:
            sure = _is_clear(same) and (same["spearman_r"] > 0) == is_more
            text += (
                f", {'also' if sure else 'but not clearly'} where a task is compared with itself"
            )
    risen = [
        noun
        for outcome, noun in (("cost_usd", "cost"), ("elapsed_seconds", "time"))
        if (row := _rho(change, metric, outcome)) is not None
        and (row.get("q_value") or 1) < 0.05
        and row["spearman_r"] > 0
    ]
    return f"{text}; with recall {' and '.join(risen)} rose too" if risen else text


@figure("correlations", height=5.6, width="third")
def correlations(ax: Axes, frame: pd.DataFrame, changes: pd.DataFrame | None = None) -> Words:
    """Draw rank correlations of retrieval metrics with outcomes as cells, and those of changes.

    Parameters
    ----------
    frame
        ``rev.associate(…).frame``: the associations within each of several configurations, else
        the pooled ones.
    changes
        ``study.difference_associations``: a task compared with itself, left out where withheld.

    Returns
    -------
    Exhibit
        With ``data`` of one row a cell.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> row = {"retrieval_metric": "mrr", "outcome_metric": "reward", "scope": "pooled", "n": 20}
    >>> found = pd.DataFrame([{**row, "spearman_r": 0.5, "q_value": 0.01}])
    >>> rev.plot.correlations(found).finding
    'MRR goes with reward most closely (+0.50, the highest of 1)'
    """
    from matplotlib.patches import Rectangle

    need_rows(frame)
    column(frame, "spearman_r")
    rows = [row for row in plain_rows(frame) if row["spearman_r"] is not None]
    arms = dict.fromkeys(str(r["group"]) for r in rows if r.get("scope") == "config")
    # Pooled, metrics in which two arms differ would go together by that alone.
    blocks = [
        (
            f"Within {config}",
            [r for r in rows if (r.get("scope"), r.get("group")) == ("config", config)],
        )
        for config in arms
    ]
    if len(blocks) < 2:
        pooled = [row for row in rows if row.get("scope", "pooled") == "pooled"]
        blocks = [("Across trials", pooled)]
    if changes is not None and not {"withheld", "too_few"} & changes.attrs.keys():
        column(changes, "spearman_r")
        own_changes = [row for row in plain_rows(changes) if row["spearman_r"] is not None]
        blocks.append(("Change, change", own_changes))
    cells = [
        (
            title,
            str(r.get("retrieval_metric")),
            str(r.get("outcome_metric")),
            r["spearman_r"],
            q,
            r.get("n"),
        )
        for title, own in blocks
        for r, q in zip(own, _q_values(own), strict=True)
    ]
    outcomes_shown = [o for o, _ in OUTCOMES if any(cell[2] == o for cell in cells)]
    cells = [cell for cell in cells if cell[2] in outcomes_shown and (cell[5] or 0) >= LEAST]
    if not cells:
        none = f"No association rests on {LEAST} tasks or more."
        raise NothingToShow(none, is_expected=True)
    y, ticks = 0, []
    for title, _ in blocks:
        own_cells = [cell for cell in cells if cell[0] == title]
        if not own_cells:
            continue
        most = max(int(cell[5] or 0) for cell in own_cells)
        ticks.append((y, f"{title}, n = {most}", True))
        y += 1
        for metric in dict.fromkeys(cell[1] for cell in own_cells):
            ticks.append((y, _label(metric), False))
            for _, _, outcome, rho, q, _ in (c for c in own_cells if c[1] == metric):
                x = outcomes_shown.index(outcome)
                tone, is_sure = (A if rho > 0 else B).color, q is not None and q < 0.05
                shade = min(0.85, abs(rho)) * 0.55
                ax.add_patch(
                    Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=tone, alpha=shade, lw=0)
                )
                weight = "bold" if is_sure else "normal"
                ink = style.TEXT if is_sure else style.GREY
                text = ax.text(x, y, signed(rho), ha="center", va="center", fontweight=weight)
                text.set_color(ink)
            y += 1
    height(ax, 0.7 + 0.36 * y)
    ax.set_xlim(-0.5, len(outcomes_shown) - 0.5)
    ax.set_ylim(y - 0.5, -0.5)
    ax.set_yticks([place for place, *_ in ticks], [text for _, text, _ in ticks])
    for tick, (*_, is_head) in zip(ax.get_yticklabels(), ticks, strict=True):
        tick.set_fontweight("bold" if is_head else "normal")
    heads = {"cost_usd": "Cost", "elapsed_seconds": "Time", "reward": "Reward"}
    ax.set_xticks(range(len(outcomes_shown)), [heads[o] for o in outcomes_shown])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    lead = [cell for cell in cells if cell[0] != "Change, change"] or cells
    first = [cell for cell in lead if cell[2] == "reward"] or lead
    best = max(first, key=lambda cell: cell[3])
    outcome = heads[best[2]].lower()
    where = f" {inside(best[0])}" if best[0].startswith("Within ") else ""
    columns = ("scope", "retrieval_metric", "outcome_metric", "spearman_r", "q_value", "n")
    return Words(
        f"{_label(best[1])} goes with {outcome} most closely ({signed(best[3])}{where}, the "
        f"highest of {len(first)})",
        f"Spearman ρ of {counted(len(cells), 'pair')}. Bold: q < 0.05 over the cells of a block "
        "(Benjamini–Hochberg). Blue: rise together.",
        as_frame(dict(zip(columns, map(list, zip(*cells, strict=True)), strict=True))),
        f"Cells of {counted(len(cells), 'rank correlation')} of retrieval metrics with outcomes; "
        f"{_label(best[1])} and {outcome} {signed(best[3])}.",
        {"retrieval_metric": str, "outcome_metric": str},
    )


def _q_values(rows: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return the q values of a block, which its rows have unless they are those within an arm."""
    if any(row.get("q_value") is not None for row in rows):
        return [row.get("q_value") for row in rows]
    from retrieval_eval.stats.multiplicity import benjamini_hochberg

    return list(benjamini_hochberg([row.get("p_value") for row in rows]).values)


def _label(metric: str) -> str:
    if metric == "util_read_overlap_with_relevant_files":
        return "Read overlap"
    return LABELS.get(metric) or name(metric_name(metric).label)


# Where?

DIMENSIONS: Final = {
    "suite": "Suite",
    "n_ground_truth_files": "Expected files",
    "n_repositories": "Repositories",
    "candidate_set_size": "Files retrieved",
    "evidence_type": "Evidence",
    "ground_truth_confidence": "Confidence in the expected files",
}
LEVELS: Final = {
    "small": "up to 5",
    "medium": "6 to 20",
    "large": "over 20",
    "mcp": "MCP used",
    "local": "no MCP",
}


@figure("slices", height=3.6, width="half", of="study")
def slices(ax: Axes, study: Comparison) -> Words:
    """Draw the difference of the verdict's metric in every slice of the tasks.

    A dimension in which all tasks are alike says nothing and is left out.

    Parameters
    ----------
    study
        What :func:`retrieval_eval.compare` returned.

    Returns
    -------
    Exhibit
        With ``data`` of one row a slice.
    """
    if study.why_not:
        raise NothingToShow(study.why_not, is_expected=True)
    found = study.record.slices
    levels: defaultdict[str, set[str]] = defaultdict(set)
    for cell in found:
        levels[cell.dimension].add(cell.level)
    shown = [cell for cell in found if len(levels[cell.dimension]) > 1]
    known = [c for c in shown if c.mean_difference is not None and c.interpretable]
    if not known:
        raise NothingToShow("In every dimension all tasks are alike, or too few, to be split.")
    lead = deciding_estimate(study.record.metrics[study.record.verdict_metric])
    if lead.ends is not None and lead.quantity == "mean_difference":
        ax.axvspan(*lead.ends, color=style.FAINT, alpha=0.45, lw=0)
    if lead.estimate is not None and lead.quantity == "mean_difference":
        ax.axvline(lead.estimate, color=style.GREY, lw=1, ls=":")
    ax.axvline(0, color=style.GREY, lw=0.9)
    rows: list[tuple[str, Any]] = []
    for cell in shown:
        head = DIMENSIONS.get(cell.dimension, cell.dimension.replace("_", " "))
        rows += [] if (head, None) in rows else [(head, None)]
        rows.append((LEVELS.get(cell.level, cell.level), cell))
    notes = []
    for y, (_, cell) in enumerate(rows):
        if cell is None or not cell.interpretable or cell.mean_difference is None:
            notes.append("" if cell is None else f"{counted(cell.n_pairs, 'task')}: too few")
            continue
        tone = (B if cell.mean_difference >= 0 else A).color
        if cell.ci_low is not None and cell.ci_high is not None:
            ax.hlines(y, cell.ci_low, cell.ci_high, color=tone, lw=1.8)
        ax.plot([cell.mean_difference], [y], marker="o", ms=6, color=tone)
        means = f"{rate(cell.mean_baseline)} → {rate(cell.mean_comparison)}"
        notes.append(f"{means}, {counted(cell.n_pairs, 'task')}")
    height(ax, max(2.6, 0.27 * len(rows) + 0.9))
    row_labels(ax, [text for text, _ in rows], notes)
    for tick, (_, cell) in zip(ax.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if cell is None else "normal")
    light_grid(ax)
    ax.spines["left"].set_visible(False)
    metric = inside(metric_name("file_recall").label)
    ax.set_xlabel(f"Difference in {metric}, ■ minus ○")
    sure = [c for c in known if c.ci_low is not None and c.ci_high is not None]
    sure = [c for c in sure if (c.ci_low or 0) > 0 or (c.ci_high or 0) < 0]
    down = sum((c.mean_difference or 0) < 0 for c in known)
    way = "more in all" if not down else f"less in {down} of"
    where = listed([f"“{name(LEVELS.get(c.level, c.level))}”" for c in sure], 2)
    clear = f"by itself clear only in {where}" if sure else "clear by itself in none"
    columns = ("n_pairs", "mean_baseline", "mean_comparison", "mean_difference")
    fields = ("dimension", "level", *columns, "ci_low", "ci_high")
    return Words(
        f"■ finds {way} {counted(len(known), 'slice')}; {clear}",
        "Mean difference with 95 % interval, not corrected for the number of slices; band: all "
        "tasks. ○ → ■ at the right. Dimensions in which all tasks are alike are left out.",
        as_frame({f: [getattr(cell, f) for cell in shown] for f in fields}),
        f"Differences in {metric} of {counted(len(known), 'slice')}: {clear}.",
    )


@figure("calibration", height=3.6, width="half")
def calibration(
    ax: Axes, frame: pd.DataFrame, configs: Sequence[str] = (), least: int = LEAST
) -> Words:
    """Draw the mean reward of tasks by how many of their expected files were opened.

    Parameters
    ----------
    frame
        ``study.calibration``: rows by ``config_name``, ``dimension``, ``level`` and ``opened``.
    configs
        The configurations in the order of their marks; by default those of the frame.
    least
        Of fewer tasks nothing is drawn.

    Returns
    -------
    Exhibit
        With ``data`` of one row a cell that holds a task.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> cells = {"opened": ["none", "all"], "n": [6, 8], "mean_reward": [0.25, 0.75]}
    >>> cells |= {"config_name": "a", "dimension": "all", "level": "all", "interpretable": True}
    >>> frame = pd.DataFrame({**cells, "ci_low": 0.1, "ci_high": 0.9})
    >>> rev.plot.calibration(frame, least=1).finding
    'Reward is 0.75 where all of the expected files were opened, 0.25 where none was'
    """
    need_rows(frame)
    named = list(configs) or list(dict.fromkeys(texts(frame, "config_name")))
    columns = ("config_name", "dimension", "level", "opened", "n", "mean_reward")
    cells = [
        row
        for row in plain_rows(frame[[*columns, "ci_low", "ci_high"]])
        if row["n"] and row["mean_reward"] is not None and row["config_name"] in named
    ]
    levels: defaultdict[str, set[str]] = defaultdict(set)
    for row in cells:
        part = (row["dimension"], row["level"])
        if sum(c["n"] for c in cells if (c["dimension"], c["level"]) == part) >= DRAWN_BELOW:
            levels[row["dimension"]].add(row["level"])
    cells = [c for c in cells if c["dimension"] == "all" or c["level"] in levels[c["dimension"]]]
    cells = [c for c in cells if c["dimension"] == "all" or len(levels[c["dimension"]]) > 1]
    if not cells:
        raise NothingToShow("No task has both opened files and a reward.")
    _need(_n_tasks(cells), least)
    rows: list[tuple[str, list[dict[str, Any]]]] = []
    for dimension, level in dict.fromkeys((c["dimension"], c["level"]) for c in cells):
        title = LEVELS.get(level, level)
        whole = f"{DIMENSIONS.get(dimension, dimension)}: {title}"
        rows.append(("All tasks" if dimension == "all" else whole, []))
        for opened in dict.fromkeys(c["opened"] for c in cells if c["level"] == level):
            key = (dimension, level, opened)
            own = [c for c in cells if (c["dimension"], c["level"], c["opened"]) == key]
            rows.append((f"{opened} opened", own))
    notes = []
    for y, (_, own) in enumerate(rows):
        for cell in own:
            i = named.index(cell["config_name"])
            mark, place = style.mark(i), y + 0.16 * (i - (len(named) - 1) / 2)
            if cell["ci_low"] is not None and cell["ci_high"] is not None:
                ax.hlines(place, cell["ci_low"], cell["ci_high"], color=mark.color, lw=1.2)
            is_few = cell["n"] < DRAWN_BELOW
            (_open if is_few or not i else _full)(ax, [cell["mean_reward"]], [place], mark, 6)
        counts = {c["config_name"]: c["n"] for c in own}
        notes.append("n = " + ", ".join(f"{counts.get(c, 0):g}" for c in named) if own else "")
    height(ax, max(2.6, 0.27 * len(rows) + 0.9))
    row_labels(ax, [text for text, _ in rows], notes)
    for tick, (_, own) in zip(ax.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("normal" if own else "bold")
    light_grid(ax)
    ax.spines["left"].set_visible(False)
    values = [v for c in cells for v in (c["mean_reward"], c["ci_low"], c["ci_high"])]
    known = [v for v in values if v is not None]
    if min(known) >= 0 and max(known) <= 1:
        ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("Mean reward")
    return Words(
        _calibrated(cells),
        f"Mean reward of {_n_tasks(cells):g} tasks by expected files opened, with 95 % interval "
        "and n at the right. Where finding the files is what is rewarded, the marks move right.",
        as_frame({c: [row[c] for row in cells] for c in (*columns, "ci_low", "ci_high")}),
        f"Mean reward by expected files opened in {counted(len(cells), 'cell')}: "
        f"{inside(_calibrated(cells))}.",
    )


def _n_tasks(cells: Sequence[Mapping[str, Any]]) -> float:
    return float(sum(c["n"] for c in cells if c["dimension"] == "all"))


def _calibrated(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return the mean reward where most and least was opened, of parts that hold enough tasks."""
    sums: dict[str, tuple[float, float]] = {}
    for opened in ("all", "some", "none"):
        own = [c for c in cells if c["dimension"] == "all" and c["opened"] == opened]
        if (n := sum(c["n"] for c in own)) >= DRAWN_BELOW:
            sums[opened] = sum(c["n"] * c["mean_reward"] for c in own) / n, n
    if not sums:
        return f"Reward by what was opened: all parts hold fewer than {DRAWN_BELOW} tasks"
    said = [
        f"{rate(mean)} where {opened}{'' if i else ' of the expected files'} "
        f"{'was' if opened == 'none' else 'were'}{'' if i else ' opened'}"
        for i, (opened, (mean, _)) in enumerate(sums.items())
    ]
    return f"Reward is {', '.join([said[0], *said[1:][-1:]])}"


# How does it fail?


def _n_trials(frame: pd.DataFrame) -> int:
    """Return how many trials rows are of."""
    names = [c for c in ("config_name", "task_name", "trial_name") if c in frame.columns]
    if not names:
        return len(frame)
    return len(set(zip(*(texts(frame, name) for name in names), strict=True)))


def _need(n: float, least: int) -> None:
    """Raise where so few units are better shown one by one."""
    if n < least:
        units = f"{n:g} of at least {least} trials"
        raise NothingToShow(f"{units}: too few for this figure.", is_expected=True)


CAUSES: Final = (
    ("not found", "#7f1d1d", "no file of the fix was found"),
    ("name only", "#c2410c", "found by name only"),
    ("opened", "#eab308", "opened, none edited"),
    ("some edited", "#93c5fd", "some edited"),
    ("all edited", "#1d4ed8", "all edited, still wrong"),
)
"""Why a trial did not solve its task, with a colour and in words; the worst first."""


@figure("errors", height=3.6, width="half", panels=True)
def errors(
    fig: Figure,
    frame: pd.DataFrame,
    configs: Sequence[str] = (),
    failures: pd.DataFrame | None = None,
    least: int = LEAST,
) -> Words:
    """Draw the five error modes as shares of what each is counted of, and failures by cause.

    Parameters
    ----------
    frame
        ``run.errors``: columns ``label``, ``of``, ``config_name``, ``count``, ``denominator``.
    configs
        The configurations in the order of their marks; by default those of the frame.
    failures
        ``run.failures``, which has rows where trials have a reward of 0 or 1 and the files to edit
        are known: the panel of causes is left out without.
    least
        Of fewer trials nothing is drawn.

    Returns
    -------
    Exhibit
        With ``data`` of one row a mode and configuration.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> row = {"mode": "missed_key_evidence", "label": "Missed key evidence", "of": "files"}
    >>> files = pd.DataFrame([{**row, "config_name": "a", "count": 1, "denominator": 4}])
    >>> rev.plot.errors(files, least=1).finding
    'Missed key evidence: 25 % of files with ○'
    """
    need_rows(frame)
    _need(_n_trials(frame), least)
    named = list(configs) or list(dict.fromkeys(texts(frame, "config_name")))[:4]
    sums: defaultdict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    columns = zip(
        texts(frame, "label"),
        texts(frame, "of"),
        texts(frame, "config_name"),
        numbers(frame, "count"),
        numbers(frame, "denominator"),
        strict=True,
    )
    for label, whole, config, n, total in columns:
        if config in named:
            sums[label, whole, config][0] += n or 0
            sums[label, whole, config][1] += total or 0
    modes = list(dict.fromkeys(k[:2] for k in sums))
    modes = [m for m in modes if any(sums[*m, c][1] for c in named)]
    if not modes:
        raise NothingToShow("No error mode has anything to count.")
    causes = _causes(failures, named) if failures is not None else {}
    axes = panels(fig, [1, 1] if causes else [1], narrow=4.6 if causes else 3.2)
    fig.set_figheight((2.1 if causes else 0.6) + 0.42 * len(modes))
    if causes:
        _cause_bars(axes[0], causes)
    ax = axes[-1]
    notes = []
    for y, mode in enumerate(modes):
        shares = []
        for i, config in enumerate(named):
            n, total = sums[*mode, config]
            if total:
                shares.append(n / total)
                (_full if i else _open)(ax, [shares[-1]], [y], style.mark(i), 7)
        ax.hlines(y, 0, max(shares, default=0), color=style.FAINT, lw=1, zorder=1)
        ax.hlines(y, min(shares, default=0), max(shares, default=0), color=style.LIGHT_GREY, lw=2.5)
        notes.append(" · ".join("{:g}/{:g}".format(*sums[*mode, c]) for c in named))
    row_labels(ax, [label for label, _ in modes], notes)
    light_grid(ax)
    ax.set_xlim(-0.02, 1.02)
    ax.xaxis.set_major_formatter(lambda value, _: percent(value))
    ax.spines["left"].set_visible(False)
    rows = [(*mode, c, *sums[*mode, c]) for mode in modes for c in named]
    heads = ("label", "of", "config_name", "count", "denominator")
    data: dict[str, list[Any]] = dict(zip(heads, map(list, zip(*rows, strict=True)), strict=True))
    known = [sums[*mode, c] for mode in modes for c in named]
    data["share"] = [n / total if total else None for n, total in known]
    finding = _failed(causes) or _missed(sums, modes, named)
    return Words(
        finding.replace("ground-truth", "expected"),
        f"Files of each mode of those it is counted of, over {_n_trials(frame)} trials; ○ · ■ at "
        "the right. "
        f"Lower is better.{' Above: trials that were not rewarded.' if causes else ''}",
        as_frame(data),
        f"Error modes of {counted(len(named), 'configuration')}: {finding}.",
        {"share": percent},
    )


def _failed(causes: Mapping[str, Mapping[str, int]]) -> str:
    total = sum(sum(own.values()) for own in causes.values())
    if not total:
        return ""
    most = Counter[str]()
    for own in causes.values():
        most.update(own)
    cause, n = most.most_common(1)[0]
    said = {key: text for key, _, text in CAUSES}[cause]
    return f"Of {counted(total, 'unrewarded trial')}, most ({of(n, total)}) had: {said}"


def _missed(sums: Any, modes: Sequence[tuple[str, str]], named: Sequence[str]) -> str:
    label, whole = modes[0]
    glyphs = dict(zip(named, style.GLYPHS, strict=False))
    known = [(c, *sums[label, whole, c]) for c in named if sums[label, whole, c][1]]
    parts = [f"{percent(round(n / t, 2))} of {whole} with {glyphs[c]}" for c, n, t in known[:1]]
    parts += [f"{percent(round(n / t, 2))} with {glyphs[c]}" for c, n, t in known[1:]]
    return f"{label}: {', '.join(parts)}" if parts else f"{label}: nothing to count"


def _causes(frame: pd.DataFrame, named: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return how many trials of each configuration failed for which cause."""
    found = Counter(zip(texts(frame, "config_name"), texts(frame, "cause"), strict=True))
    shown = {c: {key: found[c, key] for key, *_ in CAUSES if found[c, key]} for c in named}
    return shown if any(shown.values()) else {}


def _cause_bars(ax: Axes, causes: Mapping[str, Mapping[str, int]]) -> None:
    from matplotlib.patches import Patch

    totals = [sum(own.values()) for own in causes.values()]
    for y, own in enumerate(causes.values()):
        left = 0
        for key, color, _ in CAUSES:
            n = own.get(key, 0)
            ax.barh(y, n, left=left, color=color, height=0.6, edgecolor=style.PAPER)
            if n > 0.06 * max(totals):
                dark = key in ("opened", "some edited")
                ink = style.ON_LIGHT if dark else style.ON_DARK
                ax.text(left + n / 2, y, str(n), ha="center", va="center", color=ink, fontsize=8)
            left += n
    labels = [f"{g} unrewarded" for g, _ in zip(style.GLYPHS, causes, strict=False)]
    row_labels(ax, labels, [counted(n, "trial") for n in totals])
    ax.set_xlim(0, max(totals))
    ax.set_xticks([])
    ax.spines[["left", "bottom"]].set_visible(False)
    used = [(c, t) for key, c, t in CAUSES if any(own.get(key) for own in causes.values())]
    legend(ax, [Patch(facecolor=color) for color, _ in used], [text for _, text in used])


@figure("tools", height=3.6, width="half", panels=True)
def tools(fig: Figure, frame: pd.DataFrame, least: int = LEAST) -> Words:
    """Draw what each kind of tool returned, and in how many trials it brought the first hit.

    Parameters
    ----------
    frame
        ``run.found_by``: a row a trial and kind of tool, with ``kind``, ``n_files``,
        ``n_expected`` and ``is_first``.
    least
        Of fewer trials nothing is drawn.

    Returns
    -------
    Exhibit
        With ``data`` of one row a kind of tool.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> row = {"kind": "file read", "n_files": 20, "n_expected": 5, "is_first": True}
    >>> rev.plot.tools(pd.DataFrame([row]), least=1).finding
    'File read brought the first expected file in 1 of 1 trials that hit; 25 % of its files are'
    """
    need_rows(frame)
    _need(_n_trials(frame), least)
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for kind, files, expected, is_first in zip(
        texts(frame, "kind"),
        numbers(frame, "n_files"),
        numbers(frame, "n_expected"),
        truths(frame, "is_first"),
        strict=True,
    ):
        for i, value in enumerate((float(is_first), files or 0, expected or 0)):
            sums[kind][i] += value
    found = sorted((item for item in sums.items() if item[1][1]), key=lambda i: (-i[1][0], i[0]))
    if not found:
        raise NothingToShow("No tool returned a file.")
    total = sum(first for _, (first, *_) in found)
    found = found[:10]
    axes = panels(fig, [2], narrow=0.9 + 0.62 * len(found), share=False)
    fig.set_figheight(max(2.6, 0.7 + 0.34 * len(found)))
    color = style.PARTS[0][0]
    for y, (_, (first, n, hits)) in enumerate(found):
        axes[0].barh(y, first, color=color, height=0.62)
        axes[1].barh(y, hits, color=color, height=0.62)
        axes[1].barh(y, n - hits, left=hits, color=style.FAINT, height=0.62)
        for ax, x, text in (
            (axes[0], first, f"{first:g}"),
            (axes[1], n, f"{percent(round(hits / n, 2))} of {n:,g}"),
        ):
            ax.annotate(text, (x, y), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes[0].set_title("Trials whose first hit it brought")
    axes[1].set_title("Files returned; dark: expected")
    axes[0].set_xlim(0, max(first for _, (first, *_) in found) * 1.2 + 0.5)
    axes[1].set_xlim(0, max(n for _, (_, n, _) in found) * 1.4)
    for ax in axes:
        ax.set_ylim(len(found) - 0.5, -0.5)
        ax.set_yticks(range(len(found)), [name(kind, 24) for kind, _ in found])
        ax.tick_params(axis="y", length=0)
        ax.set_xticks([])
        ax.spines[["left", "bottom"]].set_visible(False)
    on_layout(axes[1], lambda is_narrow: axes[1].tick_params(labelleft=is_narrow))
    kind, (first, n, hits) = found[0]
    return Words(
        f"{name(kind, 40)[:1].upper()}{name(kind, 40)[1:]} brought the first expected file in "
        f"{of(first, total)} trials that hit; {percent(round(hits / n, 2))} of its files are",
        f"{counted(_n_trials(frame), 'trial')} together, writes left out. A file counts each time "
        "that it is returned.",
        as_frame(
            {
                "kind": [kind for kind, _ in found],
                "is_first": [int(row[0]) for _, row in found],
                "n_files": [int(row[1]) for _, row in found],
                "n_expected": [int(row[2]) for _, row in found],
            }
        ),
        f"First hits and files returned by {counted(len(found), 'kind')} of tool: {name(kind, 40)} "
        f"{first:g} first hits, {of(hits, n)} files expected.",
    )


UNITS: Final = {"seconds": "Seconds", "tokens": "Tokens", "calls": "Tool calls"}


@figure("first_hit", height=2.5, width="full", panels=True)
def first_hit(
    fig: Figure, frame: pd.DataFrame, configs: Sequence[str] = (), least: int = LEAST
) -> Words:
    """Draw the share of tasks that had reached a first expected file, by each unit of time.

    Parameters
    ----------
    frame
        ``study.times``: a row a task, with ``config_name``, ``unit`` and ``time``, which is missing
        for a task that never reached one.
    configs
        The configurations in the order of their marks; by default those of the frame.
    least
        Of fewer tasks nothing is drawn.

    Returns
    -------
    Exhibit
        With ``data`` of one row a configuration and unit: ``n``, ``n_never`` and ``median``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> times = pd.DataFrame({"config_name": "a", "unit": "seconds", "time": [3.0, 5.0, None]})
    >>> rev.plot.first_hit(times, least=1).finding
    'Half of the tasks reach a first expected file within 5 s with ○'
    """
    from matplotlib.ticker import PercentFormatter

    need_rows(frame)
    named = list(configs) or list(dict.fromkeys(texts(frame, "config_name")))[:4]
    found: defaultdict[tuple[str, str], list[float | None]] = defaultdict(list)
    for config, unit, time in zip(
        texts(frame, "config_name"), texts(frame, "unit"), numbers(frame, "time"), strict=True
    ):
        if config in named:
            found[unit, config].append(time)
    units = list(dict.fromkeys(unit for unit, _ in found))
    units = [u for u in units if any(t is not None for c in named for t in found[u, c])]
    if not units:
        raise NothingToShow("No task reached an expected file at a known time.")
    _need(sum(len(found[units[0], c]) for c in named), least)
    axes = panels(fig, [len(units)], narrow=2.3 * len(units), share=True)
    rows = []
    for ax, unit in zip(axes, units, strict=True):
        end = max(t for c in named for t in found[unit, c] if t is not None) * 1.03
        halves = []
        for i, config in enumerate(named):
            own = found[unit, config]
            if not own:
                continue
            hits = sorted(t for t in own if t is not None)
            shares = [k / len(own) for k in range(len(hits) + 1)]
            mark, half = style.mark(i), _half(own)
            look: dict[str, Any] = {"color": mark.color, "linestyle": mark.line, "lw": 2}
            ax.step([0, *hits, end], [*shares, shares[-1]], where="post", **look)
            if half is not None:
                (_full if i else _open)(ax, [half], [0.5], mark, 6.5)
            halves.append(f"{_amount(half)} {style.GLYPHS[i % 4]}")
            rows.append((config, unit, len(own), len(own) - len(hits), half))
        ax.set_title(f"{UNITS.get(unit, unit)}, median {' and '.join(halves)}")
        ax.set_ylim(0, 1.03)
        ax.set_xlim(left=0)
        ax.locator_params(axis="x", nbins=5)
        ax.xaxis.set_major_formatter(lambda value, _: _amount(value))
        ax.yaxis.set_major_formatter(PercentFormatter(1, 0))
        light_grid(ax, "both")
    axes[0].set_ylabel("Tasks that reached one")
    glyphs = dict(zip(named, style.GLYPHS, strict=False))
    first = [row for row in rows if row[1] == units[0]]
    unit = {"seconds": " s"}.get(units[0], f" {units[0]}")
    parts = [f"{_amount(half)}{unit} with {glyphs[c]}" for c, _, _, _, half in first if half]
    finding = f"Half of the tasks reach a first expected file within {' and '.join(parts)}"
    if not parts:
        finding = f"Fewer than half of the {sum(r[2] for r in first)} tasks reach an expected file"
    never = [f"{counted(n, 'task')} with {glyphs[c]}" for c, _, _, n, _ in first]
    heads = ("config_name", "unit", "n", "n_never", "median")
    return Words(
        finding,
        f"Marks: medians. Never reached: {', '.join(never)}, counted as not yet.",
        as_frame(dict(zip(heads, map(list, zip(*rows, strict=True)), strict=True))),
        f"Time to the first expected file in {counted(len(units), 'unit')}: {inside(finding)}.",
        {"median": _amount},
    )


def _half(times: Sequence[float | None]) -> float | None:
    """Return by when half of all had it; None where fewer did."""
    hits = sorted(t for t in times if t is not None)
    place = math.ceil(len(times) / 2) - 1
    return hits[place] if len(hits) > place else None


def _amount(value: float | None) -> str:
    if value is None:
        return "never"
    if value >= 10_000:
        return f"{value / 1000:,.0f} k"
    return f"{value:,.0f}" if value >= 10 or float(value).is_integer() else f"{value:.1f}"


# A few trials


@figure("found", height=3.0, width="full")
def found(ax: Axes, frame: pd.DataFrame, most: int = 14, least: int = 0) -> Words:
    """Draw what each trial of a task did with each expected file.

    Parameters
    ----------
    frame
        ``run.ground_truth`` of one task, or rows of it.
    most
        Files drawn, those that were missed most first.
    least
        Nothing is drawn of more trials than this; 0: of any number.

    Returns
    -------
    Exhibit
        With ``data`` of one row a trial and file.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> row = {"config_name": "a", "trial_name": "t", "task_name": "t", "file": "x.py"}
    >>> row |= {"repository": None, "is_retrieved": True, "is_possible": False, "first_step": 3}
    >>> rev.plot.found(pd.DataFrame([{**row, "opened_step": 3}])).finding
    '1 of 1 expected file was found by at least one trial'
    """
    from matplotlib.patches import Rectangle

    need_rows(frame)
    trials = list(
        dict.fromkeys(zip(texts(frame, "config_name"), texts(frame, "trial_name"), strict=True))
    )
    tasks = set(texts(frame, "task_name"))
    if len(tasks) > 1 or (least and len(trials) > least) or len(trials) > 8:
        raise NothingToShow(
            "Files by trial are drawn of one task and few trials.", is_expected=True
        )
    columns = zip(
        texts(frame, "config_name"),
        texts(frame, "trial_name"),
        _files(column(frame, "file"), column(frame, "repository")),
        truths(frame, "is_retrieved"),
        truths(frame, "is_possible"),
        numbers(frame, "first_step"),
        numbers(frame, "opened_step"),
        strict=True,
    )
    cells = {}
    for config, trial, file, is_found, is_possible, first, opened in columns:
        cells[(config, trial), file] = (is_found, is_possible, first, opened)
    files = list(dict.fromkeys(file for _, file in cells))
    files.sort(key=lambda file: sum(cells.get((t, file), (False,))[0] for t in trials))
    shown = files[:most]
    configs = list(dict.fromkeys(config for config, _ in trials))
    for x, trial in enumerate(trials):
        mark = style.mark(configs.index(trial[0]))
        for y, file in enumerate(shown):
            if (trial, file) not in cells:
                continue
            is_found, is_possible, first, opened = cells[trial, file]
            look: dict[str, Any] = {"facecolor": mark.soft, "edgecolor": mark.color}
            if not is_found and is_possible:
                look = {"facecolor": style.PAPER, "edgecolor": mark.color, "hatch": "////"}
            elif not is_found:
                look = {"facecolor": "none", "edgecolor": style.LIGHT_GREY, "linestyle": "--"}
            ax.add_patch(Rectangle((x - 0.47, y - 0.4), 0.94, 0.8, lw=1, **look))
            text = ax.text(x, y, "", ha="center", va="center", fontsize=8.5)
            text.set_bbox(
                {"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.5}
                if is_possible and not is_found
                else None
            )
            on_layout(ax, _cell_words(text, is_found, is_possible, first, opened))
    height(ax, 0.9 + (0.46 if len(shown) <= 6 else 0.3) * len(shown))
    ax.set_xlim(-0.55, len(trials) - 0.45)
    row_labels(ax, shown)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xticks(range(len(trials)), [name(config, 26) for config, _ in trials])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    n = sum(any(cells.get((t, file), (False,))[0] for t in trials) for file in files)
    noun = "expected file" if len(files) == 1 else "expected files"
    were = "was" if n == 1 else "were"
    more = f" The {len(shown)} of {len(files)} files that were missed most."
    keys = list(cells)
    return Words(
        f"{n} of {len(files)} {noun} {were} found by at least one trial",
        "The step of the first access, and when the file was opened. Possible: a call may have "
        f"shown it, but the trace does not prove it.{more if len(shown) < len(files) else ''}",
        as_frame(
            {
                "config_name": [config for (config, _), _ in keys],
                "trial_name": [trial for (_, trial), _ in keys],
                "file": [file for _, file in keys],
                "is_retrieved": ["yes" if cells[key][0] else "no" for key in keys],
                "is_possible": ["yes" if cells[key][1] else "no" for key in keys],
                "first_step": [cells[key][2] for key in keys],
                "opened_step": [cells[key][3] for key in keys],
            }
        ),
        f"Expected files by trial: {n} of {len(files)} {were} found, in "
        f"{counted(len(trials), 'trial')}.",
    )


def _files(files: Sequence[str], repositories: Sequence[str | None]) -> list[str]:
    """Return files by name, with their repository where there are several."""
    if len(set(repositories)) < 2:
        return [str(file) for file in files]
    return [named_file(f, r) for f, r in zip(files, repositories, strict=True)]


def _cell_words(
    text: Any, is_found: bool, is_possible: bool, first: float | None, opened: float | None
) -> Callable[[bool], None]:
    """Return what writes into a cell what a trial did with a file."""
    if not is_found:
        said = "possible" if is_possible else "missed"
        return lambda _: text.set_text(said)
    step = f"step {first:.0f}" if first is not None else "found"
    then = ", never opened" if opened is None else f", opened at {opened:.0f}"
    whole = step if opened is not None and opened == first else f"{step}{then}"
    return lambda is_narrow: text.set_text(step if is_narrow else whole)
