"""The events of a task in order: what each was, which hit, and the file it reached first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.report import style
from retrieval_eval.report.canvas import light_grid, name, on_layout, panels
from retrieval_eval.report.names import plain_rows
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    figure,
    groups_of,
    labels,
    listed,
    need_rows,
    numbers,
    texts,
    truths,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS: Final = {
    "deep_search": "deep search",
    "code_search": "code search",
    "commit_search": "commits",
    "file_search": "list, find",
    "symbol_navigation": "symbols",
    "file_read": "read",
    "file_write": "write",
    "other": "other",
}
MOST: Final = 4
"""Trials drawn, the first ones."""
MAX_STEPS: Final = 400
"""Events drawn of each trial."""
_LANES: Final = 3


@figure("timeline", height=3.6, width="full", panels=True)
def timeline(
    fig: Figure,
    frame: pd.DataFrame,
    by: str | Sequence[str] = ("config_name", "trial_name"),
    few: bool = False,
) -> Words:
    """Draw the events of a task as marks by kind, filled where they hit, a panel a trial.

    Each expected file is named where the trial reached it first. All panels have one axis of
    steps, so that it shows where two trials part. Of one trial the tokens are below.

    Parameters
    ----------
    frame
        A row an event, such as ``run.events`` of one task: columns ``step_index``,
        ``tool_category`` and ``hits_ground_truth``.
    by
        The column (or columns) that tells the trials apart.
    few
        Whether nothing is drawn of several tasks, or of more than two trials.

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
    keys = [by] if isinstance(by, str) else list(by)
    need_rows(frame)
    trials = labels(frame, keys if len(keys) > 1 else keys[0])
    ordered = groups_of(frame, keys if len(keys) > 1 else keys[0])
    is_many = len(ordered) > 2 or len({*texts(frame, "task_name")} if few else {""}) > 1
    if few and is_many:
        raise NothingToShow("Events are drawn of one task and two trials.", is_expected=True)
    steps, kinds = numbers(frame, "step_index"), texts(frame, "tool_category")
    hits, rows = truths(frame, "hits_ground_truth"), plain_rows(frame)
    events: dict[str, list[dict[str, Any]]] = {}
    for trial, step, kind, hit, row in zip(trials, steps, kinds, hits, rows, strict=True):
        if step is not None:
            said = {"step": int(step), "kind": kind if kind in KINDS else "other", "hit": hit}
            events.setdefault(trial, []).append(row | said)
    if not events:
        raise NothingToShow("No event has a step, so there is no order to show.")
    ordered = [g for g in ordered if g in events]
    drawn = {g: sorted(events[g], key=lambda e: e["step"])[:MAX_STEPS] for g in ordered[:MOST]}
    firsts = {g: _first(own) for g, own in drawn.items()}
    used = [k for k in KINDS if any(e["kind"] == k for own in drawn.values() for e in own)]
    tokens = [e.get("cumulative_tokens") for own in drawn.values() for e in own]
    has_tokens = len(drawn) == 1 and any(t is not None for t in tokens)
    each = 0.3 * len(used) + 1.15
    fig.set_figheight(each * len(drawn) + (1.1 if has_tokens else 0.2))
    axes = panels(
        fig,
        [1] * (len(drawn) + has_tokens),
        narrow=each * len(drawn) + (1.2 if has_tokens else 0.2),
        heights=[each] * len(drawn) + ([1.0] if has_tokens else []),
    )
    last = max(own[-1]["step"] for own in drawn.values())
    configs = list(dict.fromkeys(own[0].get(keys[0]) for own in drawn.values()))
    for ax, (trial, own) in zip(axes, drawn.items(), strict=False):
        look = style.mark(configs.index(own[0].get(keys[0])))
        _events(ax, own, used, last, look)
        if len(drawn) > 1:
            ax.set_title(name(trial, 70), color=look.color)
        ax.set_xlim(-0.012 * last - 0.6, last * 1.012 + 0.6)
    if has_tokens:
        _tokens(axes[-1], next(iter(drawn.values())))
        axes[-1].set_xlim(axes[0].get_xlim())
    axes[-1].set_xlabel("Step")
    flat = [(g, e["step"], e["kind"], e["hit"]) for g, own in drawn.items() for e in own]
    data = {
        "group": [g for g, *_ in flat],
        "step": [step for _, step, *_ in flat],
        "category": [KINDS[kind] for _, _, kind, _ in flat],
        "hits": ["yes" if hit else "no" for *_, hit in flat],
    }
    parts = [
        f"{'none in' if first is None else f'step {first} of'} "
        f"{counted(len(events[g]), 'event')} with {name(g, 36)}"
        for g, first in firsts.items()
    ]
    more = len(ordered) - len(drawn)
    cut = max(map(len, events.values())) > MAX_STEPS
    total = counted(sum(map(len, events.values())), "event")
    return Words(
        f"First hit: {listed(parts)}",
        f"{total} of {counted(len(ordered), 'trial')} in the order of the trace: ● expected file, "
        "named at its first access; ○ other; × error; amber: what it touched is not known."
        + (f" The first {MAX_STEPS} of each." if cut else "")
        + (f" {more} more trials are not drawn." if more else ""),
        as_frame(data),
        f"Events in order by kind, a panel a trial: {listed(parts, 8, '; ')}.",
        {"step": lambda step: f"{step}"},
        {"hits": "Hits ground truth", "group": "Trial"},
    )


def _first(events: Sequence[Mapping[str, Any]]) -> int | None:
    return next((e["step"] for e in events if e["hit"] and e["kind"] != "file_write"), None)


def _events(
    ax: Axes, events: Sequence[Mapping[str, Any]], used: Sequence[str], last: int, look: style.Mark
) -> None:
    size = min(8.0, max(3.0, 520 / max(len(events), 1)))
    for y, kind in enumerate(used):
        ax.axhline(y, color=style.FAINT, lw=0.8, zorder=0)
        own = [e for e in events if e["kind"] == kind]
        for chosen, color, face, marker in (
            ([e for e in own if _state(e) == "other"], style.GREY, style.PAPER, "o"),
            ([e for e in own if _state(e) == "unresolved"], style.GREY, "#e0a458", "o"),
            ([e for e in own if _state(e) == "failed"], style.BAD, style.BAD, "x"),
            ([e for e in own if _state(e) == "hit"], look.color, look.color, "o"),
        ):
            ax.plot(
                [e["step"] for e in chosen],
                [y] * len(chosen),
                linestyle="",
                marker=marker,
                color=color,
                markerfacecolor=face,
                markersize=size,
                zorder=4 if face == look.color else 3,
            )
    names = _names(events)
    top = -0.7 - 0.55 * (_LANES - 1)
    lanes: list[tuple[int, float, float]] = []
    for step, kind, text in names:
        length = len(text) * max(last, 1) * 0.0085
        is_late = step > 0.7 * last
        ends = (step - length, float(step)) if is_late else (float(step), step + length)
        free = (
            lane
            for lane in range(_LANES)
            if all(ends[1] < a or ends[0] > b for own, a, b in lanes if own == lane)
        )
        lane = next(free, None)
        place = top + 0.55 * (lane or 0)
        ax.vlines(step, -0.35 if lane is None else place, used.index(kind), color=look.color, lw=1)
        if lane is None:
            continue
        lanes.append((lane, *ends))
        written = ax.annotate(
            text,
            (step, place),
            (-4 if is_late else 4, 0),
            textcoords="offset points",
            ha="right" if is_late else "left",
            va="center",
            fontsize=8,
            color=look.color,
        )
        on_layout(ax, partial(_only_wide, written))
    first = _first(events)
    if first is not None:
        ax.axvline(first, color=look.color, lw=1.3, ls="--", zorder=0)
    ax.set_yticks(range(len(used)), [KINDS[kind] for kind in used])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(used) - 0.4, top - 0.4 if names else -0.7)
    ax.spines["left"].set_visible(False)


def _only_wide(written: Any, is_narrow: bool) -> None:
    written.set_visible(not is_narrow)


def _state(event: Mapping[str, Any]) -> str:
    if event["hit"]:
        return "hit"
    if event.get("is_error"):
        return "failed"
    return "unresolved" if event.get("is_opaque") else "other"


def _names(events: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, str]]:
    """Return step, kind and words of the events that reached expected files first."""
    seen: set[str] = set()
    found = []
    for event in events:
        files = event.get("matched_ground_truth_files")
        own = list(files) if isinstance(files, list | tuple) else []
        new = [str(file) for file in own if file not in seen]
        if event["kind"] == "file_write" or not new:
            continue
        seen.update(new)
        text = new[0] if len(new[0]) <= 30 else new[0].rpartition("/")[2]
        more = f" +{len(new) - 1}" if len(new) > 1 else ""
        found.append((event["step"], event["kind"], f"{name(text, 36)}{more}"))
    return found


def _tokens(ax: Axes, events: Sequence[Mapping[str, Any]]) -> None:
    known = [e for e in events if e.get("cumulative_tokens") is not None]
    xs = [e["step"] for e in known]
    ys = [float(e["cumulative_tokens"]) / 1000 for e in known]
    ax.fill_between(xs, ys, color=style.FAINT, step="post", lw=0)
    ax.step(xs, ys, color=style.GREY, lw=1.3, where="post")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("tokens, k")
    light_grid(ax, "y")
