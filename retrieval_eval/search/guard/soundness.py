"""Whether two search runs may be held against each other at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from retrieval_eval.search.claims.judge import is_same_judge
from retrieval_eval.search.delta import changes, differences
from retrieval_eval.search.document import believed
from retrieval_eval.values import counted

Document = Mapping[str, Any]


def run_faults(
    runs: Sequence[Document], baselines: Sequence[Document], scope: Collection[str] | None
) -> list[str]:
    """Return why runs have no verdict against baselines, in sentences; empty when they have one.

    Any of them may lack a verdict of its own, hold no query, hold one twice, or have failed on one;
    they may have measured different things (`differences`); a run that asked fewer queries than its
    gold set has, or left out a corpus, is not the whole; and several runs of a side may hold a copy
    (`copies`) or be of several systems (`system_changes`).

    Parameters
    ----------
    scope
        Ids of pinned queries, which are then all that has to be there; None: the whole gold set.
    """
    found = []
    named = [*_named("the baseline", baselines), *_named("the run", runs)]
    for name, doc in named:
        found += [f"{name} has no verdict of its own: {why}" for why in own_faults(doc)]
        found += _missing_queries(name, doc, scope)
    for whose, side in (("baseline", baselines), ("run", runs)):
        found += [f"on the side of the {whose}, {why}" for why in copies(side)]
        found += [f"on the side of the {whose}, {why}" for why in system_changes(side)]
    run, baseline = runs[0], baselines[0]
    found += differences(baseline, run).values()
    skipped = _corpora(baseline, scope) - _corpora(run, scope)
    if skipped:
        found.append(f"the run skipped the corpus {', '.join(sorted(skipped))}")
    return found


def run_notes(runs: Sequence[Document], baselines: Sequence[Document]) -> list[str]:
    """Return what a reader should know of runs that have a verdict."""
    run, baseline = runs[0], baselines[0]
    found = []
    if run["run"]["gold_set"]["is_provisional"]:
        found.append("the gold set is provisional: no person has reviewed a row of it")
    # Earlier versions did not record it.
    if any(one["run"].get("ids_checked") is False for one in runs):
        found.append(
            "the document ids of the run were not checked (no --corpus-file): one that the corpus "
            "lacks counts as not relevant"
        )
    told = [{(one["generated_at"], one["label"]) for one in side} for side in (runs, baselines)]
    if told[0] & told[1]:
        is_whole = told[0] == told[1]
        found.append(
            "the run is the baseline itself, so nothing can have changed"
            if is_whole
            else "a run stands on both sides, which hides what changed"
        )
    old, new = _digests(baseline), _digests(run)
    found += [
        f"the documents of corpus {name} are others than the baseline's: labels may be stale"
        for name in sorted(old.keys() & new.keys())
        if None not in (old[name], new[name]) and old[name] != new[name]
    ]
    return found


def copies(runs: Sequence[Document]) -> list[str]:
    """Return which runs stand in a list twice, in sentences: they would show no noise.

    A run is known by its label, the second it was measured in and its answers, so that a copy of
    it, such as the baseline, is found, too.
    """
    return [
        f"run {number} is run {other} again; a run shows no noise against itself"
        for number, run in enumerate(runs, 1)
        for other, earlier in enumerate(runs[: number - 1], 1)
        if all(run[key] == earlier[key] for key in ("generated_at", "label", "queries"))
    ]


def system_changes(runs: Sequence[Document]) -> list[str]:
    """Return why runs are not all of one system over the same queries, in sentences."""
    found = []
    for number, (one, other) in enumerate(pairwise(runs), 2):
        apart = [
            *differences(one, other).values(),
            *changes(one, other),
            *claim_faults(other, one),
        ]
        if {q["id"] for q in one["queries"]} != {q["id"] for q in other["queries"]}:
            apart.append("other queries were asked")
        if apart:
            found.append(
                f"run {number} is not of the same system as the one before, so what lies between "
                f"them is no noise: {'; '.join(apart)}"
            )
    return found


def claim_faults(run: Document, baseline: Document) -> list[str]:
    """Return why claim metrics of two runs cannot be compared: another judge decided."""
    old, new = ((doc.get("claims") or {}).get("judge") for doc in (baseline, run))
    if old is None or new is None or is_same_judge(old, new):
        return []
    return [f"another judge decided ({_judge(old)}, now {_judge(new)})"]


def own_faults(doc: Document) -> list[str]:
    """Return why a run has no verdict whatever it is held against, in sentences."""
    if not doc["queries"]:
        return ["it holds no query"]
    doc = believed(doc)
    found = list(doc["status"]["reasons"])
    n_failed = sum(query["status"] == "failed" for query in doc["queries"])
    if n_failed and not found:
        found.append(f"{n_failed} of {len(doc['queries'])} queries failed")
    if not doc["status"]["has_verdict"] and not found:
        found.append("it says so without a reason")
    twice = [query for query, n in Counter(q["id"] for q in doc["queries"]).items() if n > 1]
    if twice:
        told = f"it holds {counted(len(twice), 'query')} more than once"
        found.append(f"{told}, the first is {twice[0]!r}")
    return found


def _named(name: str, runs: Sequence[Document]) -> list[tuple[str, Document]]:
    if len(runs) == 1:
        return [(name, runs[0])]
    return [(f"{name} {number} of {len(runs)}", run) for number, run in enumerate(runs, 1)]


def _missing_queries(name: str, doc: Document, scope: Collection[str] | None) -> list[str]:
    asked = {query["id"] for query in doc["queries"]}
    if scope is not None:
        missing = sorted(set(scope) - asked)
        told = f"{name} lacks {len(missing)} of {len(set(scope))} pinned queries"
        return [f"{told}, the first is {missing[0]!r}"] if missing else []
    n_gold = doc["run"]["gold_set"]["n_queries"]
    if asked and len(asked) < n_gold:
        return [f"{name} is truncated: it asked {len(asked)} of {n_gold} queries of the gold set"]
    return []


def _corpora(doc: Document, scope: Collection[str] | None) -> set[str]:
    return {q["corpus"] for q in doc["queries"] if scope is None or q["id"] in scope}


def _digests(doc: Document) -> dict[str, str | None]:
    return {corpus["corpus"]: corpus["fingerprint"] for corpus in doc["run"]["corpora"]}


def _judge(judge: Document) -> str:
    return f"{judge.get('name')} {judge.get('version')}"
