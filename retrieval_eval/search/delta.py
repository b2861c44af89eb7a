"""What changed between two search runs of the same gold set, query by query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from retrieval_eval.search.named_metrics import query_ids, shares
from retrieval_eval.search.paired_change import (
    Change,
    Resampling,
    Sides,
    change_of,
    contributions,
    restricted,
)
from retrieval_eval.search.retrievers import retriever_kind
from retrieval_eval.values import counted

Document = Mapping[str, Any]

SLICED_BY: Final = ("corpus", "area")

_DIGEST: Final = re.compile(r"\b[0-9a-f]{32,}\b")


def delta(baseline: Document, current: Document, *, seed: int) -> dict[str, Any]:
    """Return the change from one search run to another, in points (hundredths).

    Queries are paired by id. A measure is compared over the queries that have it in both runs;
    those that have it in one only are counted. ``baseline`` and ``current`` are means over these
    pairs, so their difference is a change of answers and never of queries. A query contributes
    (current - baseline) / n_pairs, and these contributions add up to the change.

    Interval and p-value are those of `compare_paired` (not computable below three and six pairs).
    When the runs did not measure the same thing (see `differences`) there are no numbers.

    Parameters
    ----------
    baseline, current
        Search runs (schema ``search_run``).
    seed
        Seed of resampling; number and coverage are those of the current run.

    Returns
    -------
    dict
        The ``delta`` block of the current run.
    """
    reasons = differences(baseline, current)
    block: dict[str, Any] = {
        "baseline": {
            "label": baseline["label"],
            "generated_at": baseline["generated_at"],
            "gold_fingerprint": baseline["run"]["gold_set"]["fingerprint"],
        },
        "is_comparable": not reasons,
        "reasons": [f"{code}: {sentence}" for code, sentence in reasons.items()],
        "changes": changes(baseline, current),
        "metrics": {},
        "slices": {},
        "queries_top1_changed": [],
        "queries": [],
    }
    if reasons:
        return block
    before = {query["id"]: query for query in baseline["queries"]}
    after = {query["id"]: query for query in current["queries"]}
    names = common_measures(baseline, current)
    sides = {name: (shares(baseline, name), shares(current, name)) for name in names}
    resampling = Resampling.of(current["run"]["settings"], seed)
    block["metrics"] = _changes_of(sides, resampling)
    block["slices"] = {
        dimension: {
            value: {
                "metrics": _changes_of(
                    restricted(sides, slice_of(baseline, current, dimension, value)), resampling
                )
            }
            for value in current["slices"][dimension]
        }
        for dimension in SLICED_BY
    }
    block["queries_top1_changed"] = [
        query for query in after if query in before and top1_differs(before[query], after[query])
    ]
    block["queries"] = _contributions(sides, after)
    return block


def differences(baseline: Document, current: Document) -> dict[str, str]:
    """Return why two runs cannot be compared: a sentence for each code, empty when they can.

    The codes: ``gold_set`` (other queries or judgements), ``convention``, ``empty_ranking``,
    ``depth`` (RR looks at the whole ranking) and ``measures`` (none in common).
    """
    found = {}
    was, now = baseline["run"]["gold_set"], current["run"]["gold_set"]
    if was["fingerprint"] != now["fingerprint"]:
        found["gold_set"] = (
            f"the gold set changed from {counted(was['n_queries'], 'query')} and "
            f"{counted(was['n_labelled_pairs'], 'labelled pair')} "
            f"({was['fingerprint'][:12]}) to {now['n_queries']:,} and {now['n_labelled_pairs']:,} "
            f"({now['fingerprint'][:12]})"
        )
    old, new = baseline["run"]["settings"], current["run"]["settings"]
    for code, words in (
        ("convention", "measures are defined otherwise"),
        ("empty_ranking", "empty rankings are scored otherwise"),
        ("depth", "another number of documents was asked for"),
    ):
        if old[code] != new[code]:
            found[code] = f"{words} ({old[code]}, now {new[code]})"
    if not common_measures(baseline, current):
        found["measures"] = "the runs have no measure in common"
    return found


def truncation(run: Document) -> str | None:
    """Return how much of its gold set a run asked, None where it asked all of it."""
    n, n_gold = len({query["id"] for query in run["queries"]}), run["run"]["gold_set"]["n_queries"]
    return f"it asked {n} of the {counted(n_gold, 'query')} of the gold set" if n < n_gold else None


def changes(baseline: Document, current: Document) -> list[str]:
    """Return in words what else differs between the set-ups of two runs, such as an option.

    Options of two kinds of retriever have nothing to do with each other; only the kinds are told.
    """
    kinds = [retriever_kind(run["run"]["retriever"]["spec"]) for run in (baseline, current)]
    is_same_kind = kinds[0] == kinds[1]
    old, new = (_setup(run, with_options=is_same_kind) for run in (baseline, current))
    told = [] if is_same_kind else [f"kind of retriever: {kinds[0]} → {kinds[1]}"]
    told += [
        f"{name}: {old.get(name, 'not there')} → {new.get(name, 'not there')}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]
    # Where only one of them has unanswerable queries, nobody knows the other's threshold.
    blocks = [run.get("abstention") for run in (baseline, current)]
    if None not in blocks:
        was, now = (_told(block["threshold"]) for block in blocks if block is not None)
        told += [f"abstain_at: {was} → {now}"] if was != now else []
    return told


def _setup(document: Document, *, with_options: bool) -> dict[str, str]:
    use = document["run"]["retriever"]
    found = {key: use[key] for key in ("spec", "name", "reranker", "uses_rerank", "floor")}
    if with_options:
        # Where a retriever states an option itself, with its default, that is the fuller truth.
        found |= {**use["options"], **use["facts"]}
        found.pop("corpora", None)
    for corpus in document["run"]["corpora"]:
        size, digest = corpus["n_documents"], corpus["fingerprint"]
        known = "size unknown" if size is None else counted(size, "document")
        found[f"corpus {corpus['corpus']}"] = (
            f"{known}, {f'digest {digest}' if digest else 'no digest'}"
        )
    return {name: _told(value) for name, value in found.items()}


def _told(value: object) -> str:
    return "none" if value is None else _DIGEST.sub(lambda hit: hit[0][:12], str(value))


def common_measures(baseline: Document, current: Document) -> list[str]:
    """Return the measures that both runs have, in the order of the second."""
    known = baseline["run"]["settings"]["measures"]
    return [name for name in current["run"]["settings"]["measures"] if name in known]


def _changes_of(sides: Sides, resampling: Resampling) -> dict[str, Any]:
    return {name: _block(change_of(*pair, resampling)) for name, pair in sides.items()}


def _block(change: Change) -> dict[str, Any]:
    return {
        "baseline": change.before,
        "current": change.after,
        "delta_points": change.delta_points,
        "ci_low_points": change.ci_low_points,
        "ci_high_points": change.ci_high_points,
        "p_value": change.p_value,
        "n_pairs": change.n_pairs,
        "n_only_baseline": change.n_only_before,
        "n_only_current": change.n_only_after,
    }


def _contributions(sides: Sides, after: Iterable[str]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, float]] = {query: {} for query in after}
    for name, pair in sides.items():
        for query, moved in contributions(*pair).items():
            found[query][name] = moved
    return [{"id": query, "contributions": moved} for query, moved in found.items() if moved]


def slice_of(
    baseline: Document, current: Document, dimension: str, value: str
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of the queries of a slice in either run."""
    return query_ids(baseline, dimension, value), query_ids(current, dimension, value)


def top1_differs(before: Document, after: Document) -> bool:
    """Return whether a query has another first document, or none; False where it failed."""
    if "failed" in (before["status"], after["status"]):
        return False
    tops = [query["ranking"][0]["doc"] if query["ranking"] else None for query in (before, after)]
    return tops[0] != tops[1]
