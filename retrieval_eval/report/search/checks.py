"""What stands beside a search run and is computed for its report: guard, labels, transfer, queue.

Each is None where something it needs was not given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.agreement import LabellerPair, agreement
from retrieval_eval.model import from_builtins
from retrieval_eval.model.guard import GuardRuling
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report.search.noise import Noise
from retrieval_eval.report.search.stale import LabelCheck, check_labels
from retrieval_eval.search.guard.check import check
from retrieval_eval.search.guard.pinned import pinned_lists
from retrieval_eval.search.guard.thresholds import shipped_thresholds
from retrieval_eval.search.judging_queue import JudgingQueue, judging_queue
from retrieval_eval.search.noise import staleness
from retrieval_eval.search.transfer import transfer
from retrieval_eval.values import DEFAULT_SEED

if TYPE_CHECKING:
    from retrieval_eval.report.search.run import SearchRun

NO_BASELINE: Final = "the file of the baseline was not read"


@dataclass
class Checks:
    """What is computed beside a run, each once, when first used."""

    run: SearchRun

    @cached_property
    def stored(self) -> StoredRun:
        """The search run."""
        return from_builtins(self.run.document, StoredRun, "the search run")

    @cached_property
    def baseline(self) -> StoredRun | None:
        """The search run it is compared with; None where its file was not read."""
        if self.run.baseline is None:
            return None
        return from_builtins(self.run.baseline, StoredRun, "the baseline")

    @cached_property
    def noise(self) -> Noise | None:
        """The noise of the system, with what makes it stale for this run."""
        document = self.run.noise
        if document is None:
            return None
        return Noise(document, tuple(staleness(document, self.stored)))

    @cached_property
    def verdict(self) -> GuardRuling | None:
        """The verdict of the guard; None where the file of the baseline was not read."""
        if self.baseline is None:
            return None
        thresholds = self.run.thresholds or shipped_thresholds()
        return check(
            [self.stored],
            [self.baseline],
            thresholds,
            today=self.day,
            gold=self.run.gold,
            lists=pinned_lists(thresholds),
            justifications=self.run.justifications,
            noise=self.run.noise,
            seed=self.seed,
        )

    @cached_property
    def day(self) -> date:
        """The day of the run: the report is about that day, whenever it is written."""
        try:
            return datetime.fromisoformat(self.run.document["generated_at"]).date()
        except ValueError as error:
            raise BadInputError(f"the run's /generated_at is no time: {error}") from error

    @cached_property
    def seed(self) -> int:
        """The seed of the run's own resampling."""
        seed = self.run.document["run"]["settings"].get("seed")
        return seed if isinstance(seed, int) else DEFAULT_SEED

    @cached_property
    def agreement(self) -> list[LabellerPair]:
        """The agreement of every pair of labellers; empty when no two labelled the same."""
        if self.run.gold is None:
            return []
        try:
            return agreement(self.run.gold, seed=self.seed)
        except NothingToEvaluateError:
            return []

    @cached_property
    def labels(self) -> LabelCheck | None:
        """The judged pairs compared with the corpus; needs gold set and corpus."""
        if self.run.gold is None or self.run.corpus is None:
            return None
        return check_labels(self.run.gold, self.run.corpus)

    @cached_property
    def transfer(self) -> Mapping[str, Any] | None:
        """The change with one corpus left out at a time; needs a comparable baseline."""
        if self.baseline is None:
            return None
        try:
            return transfer(self.baseline, self.stored, seed=self.seed)
        except NothingToEvaluateError:
            return None

    @cached_property
    def queue(self) -> JudgingQueue | None:
        """The documents whose judgement would tell most; needs the gold set."""
        if self.run.gold is None:
            return None
        return judging_queue(self.run.gold, [self.stored])
