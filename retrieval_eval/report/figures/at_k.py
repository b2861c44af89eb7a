"""Precision, recall and nDCG at each cut-off, by config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, light_grid, name, to_svg
from retrieval_eval.report.numbers import rate

MEASURES = {"precision": "Precision@k", "recall": "Recall@k", "ndcg": "nDCG@k"}
Means = Mapping[str, Mapping[tuple[str, int], tuple[float | None, int]]]
"""By config, (measure, k) to mean and the number of trials it rests on."""


def draw(means: Means, k_values: Sequence[int]) -> Figure | Empty:
    """Return one panel per measure with a curve per config."""
    if not any(v is not None for by_k in means.values() for v, _ in by_k.values()):
        return Empty("at-k", "No trial has computable metrics at a cut-off.")
    groups = style.facets(list(means))
    ks = list(k_values)
    with canvas(2.7 * len(groups), rows=len(groups), columns=3, sharey=True) as (figure, panels):
        for row, group in enumerate(groups):
            for column, (measure, title) in enumerate(MEASURES.items()):
                axes = panels[row * 3 + column]
                for config, mark in group:
                    values = [means[config].get((measure, k), (None, 0))[0] for k in ks]
                    axes.plot(
                        range(len(ks)),
                        [float("nan") if v is None else v for v in values],
                        color=mark.color,
                        linestyle=mark.line,
                        marker=mark.marker,
                        label=name(config),
                        clip_on=False,
                    )
                axes.set_title(title)
                axes.set_xticks(range(len(ks)), [str(k) for k in ks])
                axes.set_xlabel("k")
                axes.set_ylim(0, 1.02)
                axes.set_xlim(-0.3, len(ks) - 0.7)
                light_grid(axes, "y")
            panels[row * 3].set_ylabel("Mean over trials")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2)
        svg = to_svg(figure)
    top = ks[-1]
    text = "; ".join(
        f"{name(config)}: "
        + ", ".join(
            f"{MEASURES[m][:-1]}{top} {rate(by_k.get((m, top), (None, 0))[0])}" for m in MEASURES
        )
        for config, by_k in means.items()
    )
    table = Table(
        "at-k-data",
        "Mean at each cut-off (n = trials with a computable value)",
        ("Config", "Measure", *(f"k = {k}" for k in ks), "n"),
        tuple(
            (
                config,
                title,
                *(rate(by_k.get((m, k), (None, 0))[0]) for k in ks),
                str(by_k.get((m, top), (None, 0))[1]),
            )
            for config, by_k in means.items()
            for m, title in MEASURES.items()
        ),
        ("left", "left", *["right"] * (len(ks) + 1)),
    )
    return Figure(
        "at-k",
        svg,
        f"Precision, recall and nDCG at k = {', '.join(map(str, ks))} by config. {text}.",
        "Means over trials with computable metrics, files ranked by first appearance. "
        "P@k divides by k, also where fewer files were retrieved.",
        table,
    )
