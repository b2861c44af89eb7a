"""The sections of the run report: each method is what one notebook cell shows."""

from __future__ import annotations

from retrieval_eval.report.derive import Facts
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.run import Run
from retrieval_eval.report.sections import (
    behaviour,
    closing,
    coverage,
    opening,
    outcomes,
    quality,
    tasks,
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

    def recall(self) -> Block:
        """Show distribution of file recall."""
        return quality.recall(self._facts)

    def cutoffs(self) -> Block:
        """Show precision, recall and nDCG at each cut-off."""
        return quality.cutoffs(self._facts)

    def means(self) -> Block:
        """Show means by configuration."""
        return quality.metric_means(self._facts)

    def paired(self) -> Block:
        """Show sorted differences of matched tasks."""
        return quality.paired(self._facts)

    def by_suite(self) -> Block:
        """Show the headline metric by suite."""
        return quality.by_suite(self._facts)

    def every_pair(self) -> Block:
        """Show every metric of every pair of configurations."""
        return quality.every_pair(self._facts)

    def time_to_first(self) -> Block:
        """Show time to the first relevant file, with the share that never found one."""
        return behaviour.time_to_first(self._facts)

    def utilized(self) -> Block:
        """Show what became of the ground-truth files."""
        return behaviour.utilized(self._facts)

    def probes(self) -> Block:
        """Show utilization probes by configuration."""
        return behaviour.probes(self._facts)

    def error_modes(self) -> Block:
        """Show error modes, each with its own denominator."""
        return behaviour.modes(self._facts)

    def most_missed(self) -> Block:
        """Show ground-truth files that most trials missed."""
        return behaviour.most_missed(self._facts)

    def slices(self) -> Block:
        """Show differences by suite, candidate-set size and evidence type."""
        return outcomes.sliced(self._facts)

    def associations(self) -> Block:
        """Show associations with outcomes."""
        return outcomes.associated(self._facts)

    def cost(self) -> Block:
        """Show cost, tokens and time."""
        return outcomes.cost(self._facts)

    def tool_mix(self) -> Block:
        """Show which kinds of tools were used."""
        return outcomes.tools(self._facts)

    def one_task(self) -> Block:
        """Show one task, step by step."""
        return tasks.step_by_step(self._facts)

    def largest_differences(self) -> Block:
        """Show the tasks that differ most."""
        return tasks.largest(self._facts)

    def all_tasks(self) -> Block:
        """Show every task."""
        return tasks.appendix(self._facts)

    def definitions(self) -> Block:
        """Show definitions of the metrics."""
        return closing.definitions(self._facts)

    def provenance(self) -> Block:
        """Show what this report was made from."""
        return closing.provenance(self._facts, privacy=self.privacy)
