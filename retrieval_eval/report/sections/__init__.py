"""The sections of the run report: each method is what one notebook cell shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from retrieval_eval.report.exhibits import Block, section_method
from retrieval_eval.report.run import Run
from retrieval_eval.report.run_view import RunView
from retrieval_eval.report.sections import (
    associated,
    behaviour,
    closing,
    opening,
    outcomes,
    pairs,
    quality,
    slicing,
    tasks,
    validity,
)
from retrieval_eval.report.sections import coverage as coverage_sections

DESCRIBES: Final = (
    "The arms failed the validity check: what follows describes each configuration by itself and "
    "is no comparison."
)


def described(make: Callable[[RunView], Block]) -> Callable[[RunView], Block]:
    """Add, where the arms cannot be compared, that a section only describes each of them."""

    def make_described(view: RunView) -> Block:
        block = make(view)
        if view.withheld is None:
            return block
        return replace(block, sentences=(DESCRIBES, *block.sentences))

    make_described.__doc__ = make.__doc__
    return make_described


class Report:
    """The run report, section by section.

    Parameters
    ----------
    run
        What was measured.
    privacy
        Leave out prompts, commands, file content and folder names.
    """

    def __init__(self, run: Run, *, privacy: bool = False) -> None:
        self.run = run
        self.privacy = privacy
        self.view = RunView(run, privacy)

    header = section_method(opening.header)
    answer = section_method(opening.answer)
    coverage = section_method(coverage_sections.coverage)
    trial_status = section_method(coverage_sections.trial_status)
    ground_truth_sources = section_method(coverage_sections.ground_truth)
    degraded = section_method(coverage_sections.degraded)
    ledger = section_method(coverage_sections.ledger)
    gate = section_method(validity.gate)
    pair_ledger = section_method(validity.ledger)
    runs = section_method(validity.runs)
    recall = section_method(described(quality.recall))
    cutoffs = section_method(described(quality.cutoffs))
    means = section_method(described(quality.metric_means))
    paired = section_method(pairs.paired)
    by_suite = section_method(pairs.by_suite)
    every_metric = section_method(pairs.every_metric)
    views = section_method(pairs.views)
    discrimination = section_method(pairs.discrimination)
    every_pair = section_method(pairs.every_pair)
    time_to_first = section_method(described(behaviour.time_to_first))
    utilized = section_method(described(behaviour.utilized))
    probes = section_method(described(behaviour.probes))
    error_modes = section_method(described(behaviour.modes))
    most_missed = section_method(behaviour.most_missed)
    slices = section_method(slicing.sliced)
    rewarded = section_method(slicing.rewarded)
    associations = section_method(associated.associated)
    difference_associations = section_method(associated.with_differences)
    cost = section_method(described(outcomes.cost))
    tool_mix = section_method(outcomes.tools)
    one_task = section_method(described(tasks.step_by_step))
    largest_differences = section_method(tasks.largest)
    all_tasks = section_method(described(tasks.appendix))

    def definitions(self) -> Block:
        """Return what every metric means."""
        return self.run.definitions()

    def provenance(self) -> Block:
        """Return what the report was made from."""
        return closing.provenance(self.run, privacy=self.privacy)
