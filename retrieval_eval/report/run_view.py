"""What several sections need from the frames, as plain Python values."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from retrieval_eval.report import gate_labels
from retrieval_eval.report.comparison import HEADLINE, arms
from retrieval_eval.report.numbers import finite
from retrieval_eval.report.run import Run

Record = Mapping[str, Any]
Task = tuple[str, str]
"""Suite and task name; a suite that is not known is the empty text."""


@dataclass
class RunView:
    """Plain views of a run, each computed once; ``privacy`` leaves out folder names."""

    run: Run
    privacy: bool = False

    @cached_property
    def trials(self) -> list[Record]:
        """The rows of the trials frame that were not excluded."""
        return [r for r in rows(self.run, "trials") if r["status"] != "excluded"]

    @cached_property
    def by_config(self) -> dict[str, list[Record]]:
        """The trials of each config, the compared configs first."""
        found: dict[str, list[Record]] = {config: [] for config in self.run.configs}
        for trial in self.trials:
            found.setdefault(str(trial["config_name"]), []).append(trial)
        return {config: trials for config, trials in found.items() if trials}

    @cached_property
    def tasks(self) -> dict[Task, list[Record]]:
        """The trials of each task, in the order of the tasks' names."""
        found: dict[Task, list[Record]] = defaultdict(list)
        for trial in self.trials:
            found[task_of(trial)].append(trial)
        return dict(sorted(found.items()))

    @cached_property
    def pairs(self) -> dict[str, dict[Task, tuple[float, float, float]]]:
        """By metric and task, baseline, comparison and difference of the leading comparison."""
        found: dict[str, dict[Task, tuple[float, float, float]]] = defaultdict(dict)
        chosen = self.run.comparison
        if chosen is None:
            return {}
        for row in rows(self.run, "pairs"):
            configs = (row["baseline_config"], row["comparison_config"])
            a, b, d = (finite(row[k]) for k in ("baseline", "comparison", "difference"))
            if a is None or b is None or d is None:
                continue
            if configs == arms(chosen):
                found[str(row["metric"])][task_of(row)] = (a, b, d)
            elif configs == arms(chosen)[::-1]:
                found[str(row["metric"])][task_of(row)] = (b, a, -d)
        return dict(found)

    @cached_property
    def headline_pairs(self) -> dict[Task, tuple[float, float, float]]:
        """The matched tasks of the headline metric."""
        return self.pairs.get(HEADLINE, {})

    def statuses(self) -> Counter[str]:
        """Return the number of tasks by what became of them (keys of the coverage figure)."""
        return Counter(self._status(task, trials) for task, trials in self.tasks.items())

    def _status(self, task: Task, trials: Sequence[Record]) -> str:
        if task in self.headline_pairs:
            return "matched and scored"
        scored = {str(t["config_name"]) for t in trials if finite(t[HEADLINE]) is not None}
        if self.run.comparison and scored.issuperset(arms(self.run.comparison)):
            return "scored in both, not comparable"
        if scored:
            return "scored in some configs only"
        if any(t["has_ground_truth"] is True for t in trials):
            return "no usable trace"
        return "no ground truth"

    @cached_property
    def withheld(self) -> str | None:
        """Why the leading comparison gives no difference: its failed rules, in a sentence."""
        chosen = self.run.comparison
        return gate_labels.failed_sentence(chosen) if chosen and chosen.gate.failed else None


def rows(run: Run, frame: str) -> list[dict[str, Any]]:
    """Return the rows of a frame as dictionaries; missing flags and integers become None."""
    import pandas as pd

    found = run.frame(frame)
    plain = found.astype("object").where(found.notna(), None)
    records = plain.to_dict("records")
    return [{str(k): None if v is pd.NA else v for k, v in record.items()} for record in records]


def task_of(record: Record) -> Task:
    """Return suite and task name of a row."""
    return (str(record["benchmark"] or ""), str(record["task_name"] or ""))


def numbers(records: Iterable[Record], column: str) -> list[float]:
    """Return the finite values of a column."""
    return [v for r in records if (v := finite(r[column])) is not None]


def mean(values: Sequence[float]) -> float | None:
    """Return the exactly summed mean, or None for no values."""
    return math.fsum(values) / len(values) if values else None


def task_mean(trials: Iterable[Record], config: str, column: str) -> float | None:
    """Return the mean of a column over the trials of one config."""
    return mean(numbers((t for t in trials if t["config_name"] == config), column))
