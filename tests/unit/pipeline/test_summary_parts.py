"""The summary of a run from totals of its parts, and from columns that are summed up apart."""

from __future__ import annotations

import json
import random

import pytest

from retrieval_eval.metrics.catalog import read_metric, summarised
from retrieval_eval.metrics.document import TrialMetrics
from retrieval_eval.model import from_builtins, to_builtins
from retrieval_eval.pipeline.summary import OverTasks, TaskNumbers, Totals, run_summary, trial_entry
from tests.factories import metrics_document

AT = "2026-01-02T03:04:05Z"
CONFIGS = ("a", "b", "c")


def made(dice: random.Random, number: int) -> tuple[str, TrialMetrics]:
    """Return one of a few repeats of a few tasks; any number of it may be missing."""
    suite = dice.choice(("points", "share"))
    identity = {
        "run_id": "run",
        "config_name": dice.choice(CONFIGS),
        "benchmark": suite,
        "task_name": f"task-{dice.randrange(8)}",
        "trial_name": f"trial-{number}",
    }
    kinds = dice.random() < 0.9, dice.random() < 0.9
    document = metrics_document(identity, dice.random(), dice, *kinds)
    rewards = (0.1, 0.2, 0.7, None, -3.0) if suite == "share" else (0.5, 37.0, 1e16, None)
    weights = (30, 30, 30, 9, 1) if suite == "share" else (1, 1, 1, 1)
    (document["outcome"]["reward"],) = dice.choices(rewards, weights)
    return f"s/{number}", from_builtins(document, TrialMetrics, "made")


@pytest.mark.parametrize("seed", range(3))
def test_totals_of_parts_and_columns_apart_are_the_summary_of_the_whole(seed):
    dice = random.Random(seed)
    rows = [made(dice, number) for number in range(80)]
    whole = run_summary("run", rows, (), (1, 5), generated_at=AT)
    parts = [Totals() for _ in range(9)]
    for _, trial in rows:
        dice.choice(parts).add(trial)
    while len(parts) > 1:
        one, other = (parts.pop(dice.randrange(len(parts))) for _ in range(2))
        # A table keeps them as JSON.
        plain = json.loads(json.dumps(to_builtins(other)))
        one.merge(from_builtins(plain, Totals, "kept"))
        parts.append(one)
    (totals,) = parts
    over_tasks = {}
    for config in CONFIGS:
        own = [m.provenance.config_name == config for _, m in rows]
        metrics = {}
        for metric in summarised():
            column = TaskNumbers([metric])
            for (_, trial), is_own in zip(rows, own, strict=True):
                if is_own:
                    value = read_metric(trial, metric)
                    task = (trial.provenance.benchmark, trial.provenance.task_name)
                    column.add(task, [(value.value, value.reason)])
            found = column.summary(totals.unscaled)
            metrics |= found.metrics
        over_tasks[config] = OverTasks(found.n_tasks, metrics)
    entries = [trial_entry(stem, trial) for stem, trial in rows]
    assert totals.summary("run", over_tasks, entries, (), (1, 5), generated_at=AT) == whole
    assert totals.n_trials == len(rows) == sum(c.n_trials for c in whole.configs.values())
