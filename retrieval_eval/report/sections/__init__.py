"""The sections of the run report: each method is what one notebook cell shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from retrieval_eval.report.derive import Facts
from retrieval_eval.report.exhibits import Block, shows
from retrieval_eval.report.run import Run
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


def described(make: Callable[[Facts], Block]) -> Callable[[Facts], Block]:
    """Add, where the arms cannot be compared, that a section only describes each of them."""

    def make_described(facts: Facts) -> Block:
        block = make(facts)
        if facts.withheld is None:
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
        self.facts = Facts(run, privacy)

    header = shows(opening.header)
    answer = shows(opening.answer)
    coverage = shows(coverage_sections.coverage)
    trial_fates = shows(coverage_sections.trial_fates)
    ground_truth_sources = shows(coverage_sections.ground_truth)
    degraded = shows(coverage_sections.degraded)
    ledger = shows(coverage_sections.ledger)
    gate = shows(validity.gate)
    pair_ledger = shows(validity.ledger)
    runs = shows(validity.runs)
    recall = shows(described(quality.recall))
    cutoffs = shows(described(quality.cutoffs))
    means = shows(described(quality.metric_means))
    paired = shows(pairs.paired)
    by_suite = shows(pairs.by_suite)
    every_metric = shows(pairs.every_metric)
    views = shows(pairs.views)
    discrimination = shows(pairs.discrimination)
    every_pair = shows(pairs.every_pair)
    time_to_first = shows(described(behaviour.time_to_first))
    utilized = shows(described(behaviour.utilized))
    probes = shows(described(behaviour.probes))
    error_modes = shows(described(behaviour.modes))
    most_missed = shows(behaviour.most_missed)
    slices = shows(slicing.sliced)
    rewarded = shows(slicing.rewarded)
    associations = shows(associated.associated)
    difference_associations = shows(associated.with_differences)
    cost = shows(described(outcomes.cost))
    tool_mix = shows(outcomes.tools)
    one_task = shows(described(tasks.step_by_step))
    largest_differences = shows(tasks.largest)
    all_tasks = shows(described(tasks.appendix))
    definitions = shows(closing.definitions)
    provenance = shows(closing.provenance)
