"""How well each config retrieved, matched or not."""

from __future__ import annotations

from retrieval_eval.metrics.catalog import BY_NAME
from retrieval_eval.report import findings, tables
from retrieval_eval.report.comparison import HEADLINE
from retrieval_eval.report.exhibits import Block, section
from retrieval_eval.report.figures import at_k, recall_ecdf
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.run_view import RunView, mean, numbers

RANKED_NOTE = (
    "Files are ranked by first appearance (convention trec): P@k divides by k, nDCG is linear, a "
    "repeated file counts once. A trial without a value is counted as such, never scored 0."
)
MEANS = tuple(
    name for name, m in BY_NAME.items() if m.is_of_view and (m.is_headline or "@" not in name)
)


def recall(view: RunView) -> Block:
    """Return the distribution of file recall."""
    values = {c: numbers(trials, HEADLINE) for c, trials in view.by_config.items()}
    medians = [(c, recall_ecdf.quantile(v, 0.5), len(v)) for c, v in values.items() if v]
    return section(findings.ranked("Median file recall", medians), recall_ecdf.draw(values))


def cutoffs(view: RunView) -> Block:
    """Return precision, recall and nDCG at each cut-off."""
    ks = view.run.k_values
    means: dict[str, dict[tuple[str, int], tuple[float | None, int]]] = {}
    for config, trials in view.by_config.items():
        means[config] = {}
        for measure in at_k.MEASURES:
            for k in ks:
                values = numbers(trials, f"{measure}@{k}")
                means[config][measure, k] = (mean(values), len(values))
    top = ks[-1]
    shown = [
        (config, value, n)
        for config, by in means.items()
        for value, n in [by["ndcg", top]]
        if value is not None
    ]
    return section(findings.ranked(f"Mean nDCG@{top}", shown), at_k.draw(means, ks))


def metric_means(view: RunView) -> Block:
    """Return means by config, matched or not."""
    metrics = [m for m in MEANS if "@" not in m or int(m.split("@")[1]) in view.run.k_values]
    scored = [(c, len(numbers(trials, HEADLINE))) for c, trials in view.by_config.items()]
    text = findings.listed([f"{n} with {findings.name(c)}" for c, n in scored])
    return section(
        f"Trials with computable metrics: {text}" if text else "No trial was evaluated",
        tables.by_config(
            view.by_config,
            {m: metric_name(m).titled for m in metrics},
            "means",
            (RANKED_NOTE,),
        ),
    )
