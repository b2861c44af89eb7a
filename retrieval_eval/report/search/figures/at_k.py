"""P, Recall and nDCG at each cut-off with intervals, one curve a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, light_grid, name, to_svg
from retrieval_eval.report.numbers import rate
from retrieval_eval.report.search.names import cutoff
from retrieval_eval.report.search.records import Mean
from retrieval_eval.report.search.tables import span
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAMILIES: Final = ("P", "Recall", "nDCG")
MAX_CURVES: Final = 8
_SHIFT: Final = 0.09

Curves = Mapping[str, Mapping[str, Mean]]
"""Means by corpus and measure, the corpora with most queries first."""


def draw(curves: Curves, coverage: str) -> Figure | Empty:
    """Return a panel for each family of measures; more than four corpora become facets."""
    kept = dict(list(curves.items())[:MAX_CURVES])
    ks = {family: _cutoffs(kept, family) for family in FAMILIES}
    if not any(m.value is not None for by in kept.values() for m in by.values()):
        return Empty("search-at-k", "No query has a value, so there is no curve to draw.")
    groups = style.facets(list(kept))
    with canvas(2.9 * len(groups), rows=len(groups), columns=3, sharey=True) as (figure, panels):
        for row, group in enumerate(groups):
            for column, family in enumerate(FAMILIES):
                axes = panels[row * 3 + column]
                for place, (corpus, mark) in enumerate(group):
                    shift = (place - (len(group) - 1) / 2) * _SHIFT
                    found = [kept[corpus].get(f"{family}@{k}") for k in ks[family]]
                    _curve(axes, found, mark, shift, name(corpus))
                _finish(axes, family, ks[family])
            panels[row * 3].set_ylabel("Mean over queries")
            handles, labels = panels[row * 3].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper left", ncols=2)
        svg = to_svg(figure)
    return Figure(
        "search-at-k",
        svg,
        f"P, Recall and nDCG by cut-off for {counted(len(kept), 'corpus', 'corpora')}. "
        f"{_words(kept)}",
        f"Mean over the queries of a corpus with {coverage} bootstrap interval; marks are moved "
        "apart sideways. P@k divides by k, so it falls where fewer than k documents are relevant."
        + (f" The {MAX_CURVES} corpora with most queries." if len(curves) > MAX_CURVES else ""),
        _table(curves, ks, coverage),
    )


def _cutoffs(curves: Curves, family: str) -> list[int]:
    found = {cutoff(measure) for by in curves.values() for measure in by}
    return sorted(k for base, k in found if base == family and k is not None)


def _curve(
    axes: Axes, found: Sequence[Mean | None], mark: style.Mark, shift: float, label: str
) -> None:
    points = [(x + shift, m) for x, m in enumerate(found) if m is not None and m.value is not None]
    values = [float("nan") if m is None or m.value is None else m.value for m in found]
    axes.plot(
        [x + shift for x in range(len(found))],
        values,
        color=mark.color,
        linestyle=mark.line,
        marker=mark.marker,
        label=label,
        clip_on=False,
    )
    spans = [(x, m) for x, m in points if m.ci_low is not None and m.ci_high is not None]
    if spans:  # an empty collection of lines breaks the layout of the figure
        axes.vlines(
            [x for x, _ in spans],
            [m.ci_low or 0.0 for _, m in spans],
            [m.ci_high or 0.0 for _, m in spans],
            color=mark.color,
            linewidth=1.1,
        )


def _finish(axes: Axes, family: str, ks: Sequence[int]) -> None:
    axes.set_title(f"{family}@k")
    axes.set_xticks(range(len(ks)), [str(k) for k in ks])
    axes.set_xlabel("k")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(-0.4, max(len(ks), 1) - 0.6)
    light_grid(axes, "y")


def _words(curves: Curves) -> str:
    parts = []
    for corpus, by in curves.items():
        shown = [by[m] for m in ("P@5", "Recall@20", "nDCG@10") if m in by]
        n = max((m.n for m in shown), default=0)
        values = ", ".join(f"{m.measure} {rate(m.value)}" for m in shown)
        parts.append(f"{name(corpus)}: {values} (n = {n})")
    return f"{'; '.join(parts)}."


def _table(curves: Curves, ks: Mapping[str, Sequence[int]], coverage: str) -> Table:
    columns = [f"{family}@{k}" for family in FAMILIES for k in ks[family]]
    body = [
        (name(corpus, 60), m.measure, rate(m.value), span(m.ci_low, m.ci_high), str(m.n))
        for corpus, by in curves.items()
        for column in columns
        if (m := by.get(column)) is not None
    ]
    return Table(
        "search-at-k-data",
        "Mean at each cut-off by corpus",
        ("Corpus", "Measure", "Mean", f"{coverage} interval", "n"),
        tuple(body[:200]),
        ("left", "left", "right", "right", "right"),
        (f"The first 200 of {len(body)} rows; all in slices.csv.",) if len(body) > 200 else (),
    )
