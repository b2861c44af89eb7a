"""A search run in a few lines of plain text, for a terminal and for Markdown alike.

Text of the run stands in them as it is; whoever prints it makes it safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from retrieval_eval.model.search_run import (
    CorpusFacts,
    Delta,
    MetricChange,
    MetricMean,
    RetrieverFacts,
    RunHeader,
    RunStatus,
    SearchRun,
)
from retrieval_eval.ranking.measures import parse_measure
from retrieval_eval.search.run import BASE_MEASURES, DEFAULT_K
from retrieval_eval.search.run.named_metrics import moved_queries
from retrieval_eval.search.run.trust import circularity_sentence, drift_sentence, warnings
from retrieval_eval.search.run.trust import line as trust_line
from retrieval_eval.values import counted, signed

DASH: Final = "—"
NO_BASELINE: Final = (
    "No baseline yet: `retrieval-eval search baseline --update RUN` makes a run the baseline."
)
IDS_NOT_CHECKED: Final = "document ids not checked (no --corpus-file)"
PROVISIONAL: Final = "provisional (bootstrap-only)"


def header(document: SearchRun) -> list[tuple[str, str]]:
    """Return what was measured, as names and values: corpora, gold set, retriever and how."""
    run, status = document.run, document.status
    gold, use, labels = run.gold_set, run.retriever, document.labels
    labelled = (
        f"{gold.name} (n_queries={gold.n_queries:,}, n_labelled_pairs={gold.n_labelled_pairs:,})"
    )
    return [
        ("corpus", _corpora(run)),
        ("gold set", f"{labelled}, {PROVISIONAL}" if gold.is_provisional else labelled),
        ("queries", _queries(status)),
        ("answers", trust_line(document)),
        ("retriever", _retriever(use)),
        ("reranker", _reranker(use)),
        ("floor", "none" if use.floor is None else f"{use.floor:g}"),
        *([("own document", "left out")] if run.settings.without_own else []),
        *([] if labels is None else [("labels", circularity_sentence(labels.circularity))]),
    ]


def notices(document: SearchRun) -> list[str]:
    """Return the sentences a reader must not miss: no verdict, invented or provisional labels."""
    found = [f"No verdict: {reason}." for reason in document.status.reasons]
    found += [f"Warning: {warning}." for warning in warnings(document)]
    found += simulated(document)
    found += without_labels(document)
    if drifted := drift_sentence(document):
        found.append(f"Labels {drifted}.")
    if document.run.gold_set.is_provisional:
        found.append(
            f"The gold set is {PROVISIONAL}: no person has reviewed a row of it, and neither are "
            "these numbers more than that."
        )
    return found


def without_labels(document: SearchRun) -> list[str]:
    """Return the sentence that no label is of a returned document, or none."""
    if not document.run.gold_set.n_labelled_pairs:
        return []
    returned = [found for query in document.queries for found in query.ranking]
    if not returned or any(found.grade is not None for found in returned):
        return []
    unlabelled = (
        f"None of the {counted(len(returned), 'returned document')} has a label, relevant or not"
    )
    return [f"{unlabelled}: are their ids those of the gold set?"]


def simulated(*documents: SearchRun) -> list[str]:
    """Return the sentence that queries of search runs are invented, or none."""
    golds = [document.run.gold_set for document in documents]
    n, total = max((gold.n_simulated or 0, gold.n_queries) for gold in golds)
    if not n:
        return []
    return [f"Simulated data: {n:,} of {counted(total, 'query')} of the gold set are invented."]


def shown_measures(document: SearchRun) -> list[str]:
    """Return the measures of the short list: the base ones, and those of unusual cut-offs."""
    return [
        name
        for name in document.run.settings.measures
        if name in BASE_MEASURES or parse_measure(name).cutoff not in (None, *DEFAULT_K)
    ]


def metric_rows(
    metrics: Mapping[str, MetricMean], names: Sequence[str], *, confidence: float
) -> list[list[str]]:
    """Return a table of means with interval, n and what qualifies them; the head comes first.

    Names of measures apart, all of its text is ours.
    """
    interval = f"{confidence:.0%} interval"
    rows = [["metric", "mean", interval, "n", "not computable", "ties", "unjudged"]]
    for name in names:
        mean = metrics[name]
        rows.append(
            [
                name,
                number(mean.value),
                span(mean.ci_low, mean.ci_high),
                str(mean.n),
                str(mean.n_not_computable),
                _band(mean.tie_low, mean.tie_high),
                "≤ " + number(mean.unjudged_high) if mean.unjudged_high is not None else DASH,
            ]
        )
    return rows


_SHORT: Final = ("P@1", "P@3", "P@5", "P@10", "Recall@20", "RR", "nDCG@10")
_MOST_OWN: Final = 2


def short_rows(document: SearchRun) -> list[list[str]]:
    """Return a table of the metrics that are looked at first, with their change where known."""
    names: list[str] = [name for name in _SHORT if name in document.metrics]
    names += [n for n in shown_measures(document) if n not in BASE_MEASURES][:_MOST_OWN]
    interval = f"{document.run.settings.confidence:.0%} interval"
    delta = document.delta
    changes = delta.metrics if delta is not None and delta.is_comparable else None
    rows = [["metric", "mean", interval, "n", *([] if changes is None else _DELTA)]]
    for name in names:
        mean = document.metrics[name]
        row = [name, number(mean.value), span(mean.ci_low, mean.ci_high), str(mean.n)]
        if changes is not None:
            change = changes.get(name)
            row += [DASH] * len(_DELTA) if change is None else _changed(change)
        rows.append(row)
    return rows


_DELTA: Final = ("baseline", "points", "p")


def _changed(change: MetricChange) -> list[str]:
    return [number(change.baseline), points(change.delta_points), number(change.p_value)]


def delta_rows(
    changes: Mapping[str, MetricChange], names: Sequence[str], *, confidence: float
) -> list[list[str]]:
    """Return a table of changes in points, pair by pair; the head comes first.

    Names of measures apart, all of its text is ours.
    """
    interval = f"{confidence:.0%} interval"
    rows = [["metric", "baseline", "now", "points", interval, "p", "pairs"]]
    for name in names:
        if name not in changes:
            continue
        change = changes[name]
        rows.append(
            [
                name,
                number(change.baseline),
                number(change.current),
                points(change.delta_points),
                signed_span(change.ci_low_points, change.ci_high_points),
                number(change.p_value),
                str(change.n_pairs),
            ]
        )
    return rows


def delta_sentences(delta: Delta) -> list[str]:
    """Return what a table of changes leaves out: comparability, set-up, moved queries, gaps."""
    label = delta.baseline.label or "no label"
    found = [f"Baseline: {label}, measured {delta.baseline.generated_at}."]
    found += [f"Not comparable: {reason}." for reason in delta.reasons]
    found += [f"Changed: {change}." for change in delta.changes]
    if not delta.is_comparable:
        return found
    found.append(
        f"{moved_words(len(moved_queries(delta.queries)), len(delta.queries_top1_changed))}."
    )
    found.append(
        "No threshold was looked at; `retrieval-eval search guard RUN` says if one is breached."
    )
    gone = max((c.n_only_baseline for c in delta.metrics.values()), default=0)
    new = max((c.n_only_current for c in delta.metrics.values()), default=0)
    if gone or new:
        found.append(
            "Queries left out, as they have no value in one of the runs: "
            f"up to {gone} of the baseline and {new} of this run."
        )
    return found


def moved_words(n_moved: int, n_top1: int) -> str:
    """Return how many queries moved, and how many have another first document.

    Examples
    --------
    >>> moved_words(80, 1)
    '80 queries moved, 1 has another first document'
    """
    verb = "has" if n_top1 == 1 else "have"
    return f"{counted(n_moved, 'query')} moved, {n_top1:,} {verb} another first document"


def no_delta(withheld: Sequence[str]) -> str:
    """Return why a search run without a delta has none, from its ``delta_withheld``."""
    if withheld:
        return f"No change against the baseline is given: {'; '.join(withheld)}."
    return NO_BASELINE


def number(value: float | None) -> str:
    """Return a share with three decimals, or a dash for what is not computable.

    Examples
    --------
    >>> number(-0.25), number(-0.0001), number(None)
    ('−0.250', '0.000', '—')
    """
    return DASH if value is None else f"{value:z.3f}".replace("-", "−")


def points(value: float | None) -> str:
    """Return signed points with two decimals; nothing that rounds to 0 has a sign.

    Examples
    --------
    >>> points(0.5), points(-12), points(-0.001), points(None)
    ('+0.50', '−12.00', '0.00', '—')
    """
    return DASH if value is None else signed(value)


def span(low: float | None, high: float | None) -> str:
    """Return ``[low, high]`` of shares, or a dash."""
    return DASH if low is None or high is None else f"[{number(low)}, {number(high)}]"


def signed_span(low: float | None, high: float | None) -> str:
    """Return ``[low, high]`` of points, or a dash."""
    return DASH if low is None or high is None else f"[{points(low)}, {points(high)}]"


def _band(low: float | None, high: float | None) -> str:
    return DASH if number(low) == number(high) else span(low, high)


def _corpora(run: RunHeader) -> str:
    named = ", ".join(_corpus(corpus) for corpus in run.corpora)
    # Runs of earlier versions do not say.
    return f"{named}; {IDS_NOT_CHECKED}" if run.ids_checked is False else named


def _corpus(corpus: CorpusFacts) -> str:
    size = corpus.n_documents
    return corpus.corpus if size is None else f"{corpus.corpus} ({counted(size, 'document')})"


def _queries(status: RunStatus) -> str:
    parts = [f"{status.n_queries:,} asked", f"{status.n_failed:,} failed"]
    for name, n in (("empty", status.n_empty), ("refused", status.n_refused)):
        if n:
            parts.append(f"{n:,} {name}")
    parts += [f"{n:,} {code.replace('_', ' ')}" for code, n in status.problems.items()]
    return ", ".join(parts)


def _retriever(use: RetrieverFacts) -> str:
    options = ", ".join(f"{key}={value}" for key, value in use.options.items())
    name = use.name if use.name == use.spec else f"{use.name} · {use.spec}"
    return f"{name} ({options})" if options else name


def _reranker(use: RetrieverFacts) -> str:
    name = use.reranker
    if not use.uses_rerank:
        return f"{name or 'the second stage'}, left out"
    return name or "none"
