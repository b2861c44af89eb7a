"""Metrics of the files that were retrieved, when the first relevant one was, and what was written.

Ranking metrics are those of trec_eval; the precision of an agent that retrieved nothing is not
computable.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any, Final

from retrieval_eval.agents.events import TrialEvents
from retrieval_eval.agents.events.evidence import (
    accesses,
    attached_files,
    evidence,
    ranked,
    unless_open,
)
from retrieval_eval.agents.events.match import Identity
from retrieval_eval.agents.metrics.catalog import (
    FILES,
    Block,
    FileView,
    TrialView,
    metric,
    recorded,
)
from retrieval_eval.model.metrics import AgentFiles
from retrieval_eval.ranking.measures import DEFINITIONS
from retrieval_eval.values import Value, ratio

CLOCK_TOLERANCE: Final = 1.0
"""Seconds by which the clocks of the trace and of the result may disagree."""


@metric(
    "file_recall",
    label="file recall",
    meaning="ground-truth files found anywhere / ground-truth files",
    formula=DEFINITIONS["Recall"].formula,
    is_compared=True,
    is_associated=True,
    is_headline=True,
)
def file_recall(view: FileView) -> Value:
    """Return the share of the ground-truth files that were retrieved."""
    return view.measure("Recall")


@metric(
    "mrr",
    label="MRR",
    meaning="1 / rank of the first ground-truth file",
    formula=DEFINITIONS["RR"].formula,
    is_compared=True,
    is_associated=True,
    is_headline=True,
)
def mrr(view: FileView) -> Value:
    """Return the reciprocal rank of the first ground-truth file; 0 where none was retrieved."""
    return view.measure("RR")


@metric(
    "map_score",
    label="MAP",
    meaning="precision at each hit, summed / ground-truth files",
    formula=DEFINITIONS["AP"].formula,
)
def map_score(view: FileView) -> Value:
    """Return the average precision of the trial."""
    return view.measure("AP")


@metric(
    "precision",
    label="P",
    meaning="hits in the first {k} files / k",
    formula=DEFINITIONS["P"].formula,
    has_cutoff=True,
    at=(5,),
)
def precision(view: FileView, k: int) -> Value:
    """Return the hits among the first ``k`` files over ``k``."""
    return view.measure(f"P@{k}")


@metric(
    "recall",
    label="Recall",
    meaning="hits in the first {k} files / ground-truth files",
    formula=DEFINITIONS["Recall"].formula,
    has_cutoff=True,
    at=(10,),
)
def recall(view: FileView, k: int) -> Value:
    """Return the hits among the first ``k`` files over the ground-truth files."""
    return view.measure(f"Recall@{k}")


@metric(
    "f1",
    label="F1",
    meaning="harmonic mean of precision and recall",
    formula=DEFINITIONS["F1"].formula,
    has_cutoff=True,
)
def f1(view: FileView, k: int) -> Value:
    """Return the harmonic mean of precision and recall of the first ``k`` files."""
    return view.measure(f"F1@{k}")


@metric(
    "ndcg",
    label="nDCG",
    meaning="discounted gain of the first {k} files / gain of the ideal order",
    formula=DEFINITIONS["nDCG"].formula,
    has_cutoff=True,
    at=(10,),
    is_compared=True,
    is_associated=True,
    is_headline=True,
)
def ndcg(view: FileView, k: int) -> Value:
    """Return the normalised discounted cumulative gain of the first ``k`` files, linear gain."""
    return view.measure(f"nDCG@{k}")


@metric(
    "acc",
    label="Acc",
    meaning="1 where all ground-truth files are among the first {k} files, else 0",
    formula=r"\mathbb{1}[G \subseteq A_{1..k}]",
    has_cutoff=True,
    is_summarised=False,
)
def acc(view: FileView, k: int) -> Value:
    """Return whether the first ``k`` files hold all ground-truth files, as 1 or 0."""
    missing = view.relevant.difference(view.ranked[:k])
    return Value.of(float(not missing), len(view.relevant))


@metric(
    "file_recall_with_attached",
    label="file recall with attached files",
    meaning="ground-truth files retrieved, or shown without a call that requested them / "
    "ground-truth files",
    formula=r"\frac{|(A \cup B) \cap G|}{|G|}",
)
def file_recall_with_attached(view: FileView) -> Value:
    """Return file recall with the files that came with the prompt or with another answer.

    They are instructions, files that the prompt names, and what a harness shows again. All other
    metrics count what the agent's own calls found.
    """
    with_names = view.name != "opened"
    shown = attached_files(view.trial, with_names=with_names) & view.relevant
    value = ratio(len(view.found | shown), len(view.relevant), "no_ground_truth")
    targets = (attached.target for attached in view.trial.beside.attached)
    may_be_shown = {t.file.key for t in targets if with_names or t.access != "listed"}
    return unless_open(value) if may_be_shown & view.relevant else value


TTFR_SECONDS: Final = recorded(
    "ttfr_seconds",
    "TTFR (seconds)",
    "seconds from the agent's start to the first hit",
    FILES,
    better="lower",
    unit="s",
    title="Time to first relevant",
    digits=1,
    reason="no_timestamps",
    censored_at="censored_at_seconds",
    is_compared=True,
    is_headline=True,
)
TTFR_TOKENS: Final = recorded(
    "ttfr_tokens",
    "TTFR (tokens)",
    "tokens used up to the first hit",
    FILES,
    better="lower",
    unit="tokens",
    title="Tokens to first relevant",
    digits=0,
    reason="no_tokens",
    censored_at="censored_at_tokens",
    is_compared=True,
)


@metric(
    "context_efficiency",
    label="context efficiency",
    meaning="retrieved files that are relevant / retrieved files",
    formula=r"\frac{|A \cap G|}{|A|}",
    is_compared=True,
    is_associated=True,
    is_headline=True,
)
def context_efficiency(view: FileView) -> Value:
    """Return the share of the retrieved files that are relevant."""
    return ratio(len(view.found), len(view.ranked), "nothing_retrieved")


def time_to_first_relevant(trial: TrialEvents, lasted: float | None = None) -> dict[str, Any]:
    """Return when the first ground-truth file was retrieved, as fields of the document.

    Seconds count from the agent's start, tokens are truly cumulative, ``ttfr_calls`` counts
    tool calls up to and including the hit. A trial that never hits is right-censored:
    ``never_hit`` is true, the values are null and ``censored_at_seconds``,
    ``censored_at_tokens`` and ``censored_at_calls`` say how long it was observed. Where a hit is
    only possible, all of these are null. Seconds before the start of the trial or after its end,
    ``lasted`` seconds later, are not computable (``outside_trial``).
    """
    found = _first_hit(trial)
    for name in ("ttfr_seconds", "censored_at_seconds"):
        if found[name] is not None and _is_outside(found[name], lasted):
            found |= {name: None, f"{name}_reason": "outside_trial"}
    return found


def _is_outside(seconds: float, lasted: float | None) -> bool:
    end = math.inf if lasted is None else lasted + CLOCK_TOLERANCE
    return not 0 <= seconds <= end


def _first_hit(trial: TrialEvents) -> dict[str, Any]:
    relevant = {f.key for f in trial.ground_truth.files}
    for event, target in accesses(trial):
        if target.file.key in relevant:
            keys = ranked(trial, "accessed").keys
            return {
                "never_hit": False,
                "first_gt_hit_step": event.step_index,
                "ttfr_step": event.step_index,
                "ttfr_calls": event.call_index + 1,
                "ttfr_rank": next(r for r, key in enumerate(keys, 1) if key in relevant),
                "ttfr_seconds": event.elapsed_seconds,
                "ttfr_tokens": event.cumulative_tokens,
                "censored_at_seconds": None,
                "censored_at_tokens": None,
                "censored_at_calls": None,
            }
    nothing = ("first_gt_hit_step", "ttfr_step", "ttfr_calls", "ttfr_rank")
    if "possible" in evidence(trial).values():
        return {
            **dict.fromkeys((*nothing, "never_hit", "ttfr_seconds", "ttfr_tokens")),
            **dict.fromkeys(("censored_at_seconds", "censored_at_tokens", "censored_at_calls")),
        }
    seconds = [e.elapsed_seconds for e in trial.events if e.elapsed_seconds is not None]
    tokens = [e.cumulative_tokens for e in trial.events if e.cumulative_tokens is not None]
    return {
        "never_hit": True,
        **dict.fromkeys((*nothing, "ttfr_seconds", "ttfr_tokens")),
        "censored_at_seconds": max(seconds, default=None),
        "censored_at_tokens": max(tokens, default=None),
        "censored_at_calls": trial.ledger.calls_seen or len(trial.events),
    }


def found_by(trial: TrialEvents) -> dict[str, int]:
    """Return how many ground-truth files each way of looking found.

    Each file found counts once: ``structured`` if any structured tool of the main agent returned
    it, else ``shell_only`` if a shell command of the main agent did, else ``subagent_only``.
    ``listed_only`` counts, across these, the files never opened nor matched.
    """
    relevant = {f.key for f in trial.ground_truth.files}
    ways: dict[Identity, set[str]] = {}
    for event, target in accesses(trial):
        if target.file.key in relevant:
            way = "subagent" if event.is_subagent else event.via or "structured"
            ways.setdefault(target.file.key, set()).update((way, target.access))
    counts = {"structured": 0, "shell_only": 0, "subagent_only": 0, "listed_only": 0}
    for seen in ways.values():
        if "structured" in seen:
            counts["structured"] += 1
        elif "shell" in seen:
            counts["shell_only"] += 1
        else:
            counts["subagent_only"] += 1
        counts["listed_only"] += not seen & {"opened", "matched"}
    return counts


def by_agent(trial: TrialEvents) -> dict[str, AgentFiles]:
    """Return what the main agent and each sub-agent retrieved; nothing without sub-agents."""
    if not any(event.agent for event in trial.events):
        return {}
    relevant = {f.key for f in trial.ground_truth.files}
    found: dict[str, set[Identity]] = {"main": set()}
    for event, target in accesses(trial):
        found.setdefault(event.agent or "main", set()).add(target.file.key)
    return {
        agent: AgentFiles(
            n_retrieved=len(keys),
            n_overlap=len(keys & relevant),
            file_recall=len(keys & relevant) / len(relevant) if relevant else None,
            file_precision=len(keys & relevant) / len(keys) if keys else None,
        )
        for agent, keys in found.items()
    }


# --------------------------------------------------------------------------------------------------
# Utilization probes: relevant files read, written, and read before they were written.

_BLOCK: Block = "utilization_probes"


@metric(
    "util_read_overlap_with_relevant_files",
    label="read overlap",
    meaning="ground-truth files whose content was read / ground-truth files",
    formula=r"\frac{|O \cap G|}{|G|}",
    block=_BLOCK,
    is_compared=True,
    is_associated=True,
    is_headline=True,
)
def read_overlap(view: TrialView) -> Value:
    """Return the share of the ground-truth files whose content was shown."""
    return ratio(len(view.relevant & view.read.keys()), len(view.relevant), view.no_ground_truth)


@metric(
    "util_write_overlap_with_relevant_files_proxy",
    label="write overlap (proxy)",
    meaning="ground-truth files written / ground-truth files",
    formula=r"\frac{|W \cap G|}{|G|}",
    block=_BLOCK,
)
def write_overlap(view: TrialView) -> Value:
    """Return the share of the ground-truth files written, for trials that wrote any file.

    A patch that the agent handed in states what it wrote. Without one, calls that cannot be
    resolved may have written more: then the value is the lower one of its bounds, and 0 is not
    computable.
    """
    return _written(view, view.relevant, view.no_ground_truth)


@metric(
    "util_write_overlap_with_expected_edit_files",
    label="write overlap (expected edits)",
    meaning="expected edit files written / expected edit files",
    formula=r"\frac{|W \cap E|}{|E|}",
    block=_BLOCK,
)
def expected_edits(view: TrialView) -> Value:
    """Return the share of the expected edit files that were written, as `write_overlap` does."""
    expected = {f.key for f in view.trial.ground_truth.expected_edit_files or ()}
    return _written(view, expected, "no_expected_edit_files")


def _written(view: TrialView, expected: Set[Identity], reason: str) -> Value:
    if not expected:
        return Value.missing(reason)
    found = expected & view.written.keys()
    value = ratio(len(found), len(expected), reason) if view.written else _NO_WRITES
    return unless_open(value) if view.may_have_written else value


_NO_WRITES: Final = Value.missing("no_writes")


@metric(
    "util_read_before_write_ratio",
    label="read before write",
    meaning="written files whose content was shown before / written files",
    formula=r"\frac{|\{w \in W : w \text{ opened before it was written}\}|}{|W|}",
    block=_BLOCK,
)
def read_before_write(view: TrialView) -> Value:
    """Return the share of the written files whose content was shown at an earlier event.

    It needs no ground truth. Files that only the patch shows which the agent handed in do not
    count, for it is not known when they were written.
    """
    read: set[Identity] = set()
    written: dict[Identity, bool] = {}
    for event in view.trial.events:
        for target in event.targets:
            key = target.file.key
            if target.access == "written" and key not in view.trial.own_output:
                written.setdefault(key, key in read)
        read |= {t.file.key for t in event.targets if t.access == "opened"}
    if not written:
        return unless_open(_NO_WRITES) if view.written or view.may_have_written else _NO_WRITES
    return ratio(sum(written.values()), len(written), "no_writes")
