"""The sections of the run report: each method is what one notebook cell shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from retrieval_eval.report.derive import Facts
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.run import Run
from retrieval_eval.report.sections import (
    associated,
    behaviour,
    closing,
    coverage,
    opening,
    outcomes,
    pairs,
    quality,
    slicing,
    tasks,
    validity,
)

DESCRIBES: Final = (
    "The arms failed the validity check: what follows describes each configuration by itself and "
    "is no comparison."
)


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
        self._facts = Facts(run)

    def _described(self, block: Block) -> Block:
        """Add, where the arms cannot be compared, that a section only describes each of them."""
        if self._facts.withheld is None:
            return block
        return replace(block, sentences=(DESCRIBES, *block.sentences))

    def header(self) -> Block:
        """Show run, suites, configurations, status and completeness."""
        return opening.header(self._facts)

    def answer(self) -> Block:
        """Show whether it helped, by how much, how sure, where it hurt, whether to trust it."""
        return opening.answer(self._facts)

    def coverage(self) -> Block:
        """Show tasks by fate."""
        return coverage.coverage(self._facts)

    def trial_fates(self) -> Block:
        """Show trials by reason and config."""
        return coverage.trial_fates(self._facts)

    def ground_truth_sources(self) -> Block:
        """Show where the ground truth comes from."""
        return coverage.ground_truth(self._facts)

    def degraded(self) -> Block:
        """Show degraded trials and excluded folders, verbatim."""
        return coverage.degraded(self._facts)

    def ledger(self) -> Block:
        """Show what became of every tool call."""
        return coverage.ledger(self._facts)

    def gate(self) -> Block:
        """Show whether the arms may be compared, rule by rule."""
        return validity.gate(self._facts)

    def pair_ledger(self) -> Block:
        """Show the way from all trials to the pairs used."""
        return validity.ledger(self._facts)

    def runs(self) -> Block:
        """Show what each run holds, by configuration."""
        return validity.runs(self._facts)

    def recall(self) -> Block:
        """Show distribution of file recall."""
        return self._described(quality.recall(self._facts))

    def cutoffs(self) -> Block:
        """Show precision, recall and nDCG at each cut-off."""
        return self._described(quality.cutoffs(self._facts))

    def means(self) -> Block:
        """Show means by configuration."""
        return self._described(quality.metric_means(self._facts))

    def paired(self) -> Block:
        """Show sorted differences of matched tasks."""
        return pairs.paired(self._facts)

    def by_suite(self) -> Block:
        """Show the headline metric by suite."""
        return pairs.by_suite(self._facts)

    def every_metric(self) -> Block:
        """Show every metric with its interval, adjusted test and effect."""
        return pairs.every_metric(self._facts)

    def views(self) -> Block:
        """Show the headline under every view of what counts as retrieved."""
        return pairs.views(self._facts)

    def discrimination(self) -> Block:
        """Show which metrics can tell the configurations apart."""
        return pairs.discrimination(self._facts)

    def every_pair(self) -> Block:
        """Show the verdict on every pair of configurations."""
        return pairs.every_pair(self._facts)

    def time_to_first(self) -> Block:
        """Show time to the first relevant file, with the share that never found one."""
        return self._described(behaviour.time_to_first(self._facts))

    def utilized(self) -> Block:
        """Show what became of the ground-truth files."""
        return self._described(behaviour.utilized(self._facts))

    def probes(self) -> Block:
        """Show utilization probes by configuration."""
        return self._described(behaviour.probes(self._facts))

    def error_modes(self) -> Block:
        """Show error modes, each with its own denominator."""
        return self._described(behaviour.modes(self._facts))

    def most_missed(self) -> Block:
        """Show ground-truth files that most trials missed."""
        return behaviour.most_missed(self._facts)

    def slices(self) -> Block:
        """Show the difference within slices of the tasks."""
        return slicing.sliced(self._facts)

    def rewarded(self) -> Block:
        """Show reward by how much of the ground truth was found."""
        return slicing.rewarded(self._facts)

    def associations(self) -> Block:
        """Show associations with outcomes."""
        return associated.associated(self._facts)

    def difference_associations(self) -> Block:
        """Show whether differences in retrieval go with differences in outcomes."""
        return associated.with_differences(self._facts)

    def cost(self) -> Block:
        """Show cost, tokens and time."""
        return self._described(outcomes.cost(self._facts))

    def tool_mix(self) -> Block:
        """Show which kinds of tools were used."""
        return outcomes.tools(self._facts)

    def one_task(self) -> Block:
        """Show one task, step by step."""
        return tasks.step_by_step(self._facts)

    def largest_differences(self) -> Block:
        """Show the tasks that differ most."""
        return self._described(tasks.largest(self._facts))

    def all_tasks(self) -> Block:
        """Show every task."""
        return tasks.appendix(self._facts)

    def definitions(self) -> Block:
        """Show definitions of the metrics."""
        return closing.definitions(self._facts)

    def provenance(self) -> Block:
        """Show what this report was made from."""
        return closing.provenance(self._facts, privacy=self.privacy)
