"""Utilization probes: relevant files read, written, and read before they were written."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from retrieval_eval.agents.events.evidence import unless_open
from retrieval_eval.agents.events.match import Identity
from retrieval_eval.agents.metrics.catalog import Block, TrialView, metric
from retrieval_eval.values import Value, ratio

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
