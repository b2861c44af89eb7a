"""Utilization probes: relevant files read, written, and read before they were written."""

from __future__ import annotations

from retrieval_eval.events.match import Identity
from retrieval_eval.metrics.catalog import Block, TrialView, metric
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
    """Return the share of the ground-truth files written, for trials that wrote any file."""
    if not view.written:
        return Value.missing("no_writes")
    return ratio(len(view.relevant & view.written.keys()), len(view.relevant), view.no_ground_truth)


@metric(
    "util_write_overlap_with_expected_edit_files",
    label="write overlap (expected edits)",
    meaning="expected edit files written / expected edit files",
    formula=r"\frac{|W \cap E|}{|E|}",
    block=_BLOCK,
)
def expected_edits(view: TrialView) -> Value:
    """Return the share of the expected edit files that were written."""
    expected = {f.key for f in view.trial.ground_truth.expected_edit_files or ()}
    if not expected:
        return Value.missing("no_expected_edit_files")
    if not view.written:
        return Value.missing("no_writes")
    return ratio(len(expected & view.written.keys()), len(expected), "no_expected_edit_files")


@metric(
    "util_read_before_write_ratio",
    label="read before write",
    meaning="written files whose content was shown before / written files",
    formula=r"\frac{|\{w \in W : w \text{ opened before it was written}\}|}{|W|}",
    block=_BLOCK,
)
def read_before_write(view: TrialView) -> Value:
    """Return the share of the written files whose content was shown at an earlier event.

    It needs no ground truth.
    """
    read: set[Identity] = set()
    written: dict[Identity, bool] = {}
    for event in view.trial.events:
        for target in event.targets:
            key = target.file.key
            if target.access == "written" and key not in view.trial.own_output:
                written.setdefault(key, key in read)
        read |= {t.file.key for t in event.targets if t.access == "opened"}
    return ratio(sum(written.values()), len(written), "no_writes")
