"""Summaries of parts of a run merge to the summary of the run, whatever the parts are."""

from __future__ import annotations

import pickle
import random

import pytest

from retrieval_eval.metrics.document import TrialMetrics
from retrieval_eval.model import from_builtins
from retrieval_eval.pipeline.summary import PartialSummary, run_summary, trial_entry
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


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_of_parts_is_the_whole(seed):
    dice = random.Random(seed)
    rows = [made(dice, number) for number in range(80)]
    whole = run_summary("run", rows, (), (1, 5), generated_at=AT)
    parts = [PartialSummary() for _ in range(9)]
    for position in dice.sample(range(len(rows)), len(rows)):
        dice.choice(parts).add(position, rows[position][1])
    while len(parts) > 1:
        one, other = (parts.pop(dice.randrange(len(parts))) for _ in range(2))
        one.merge(pickle.loads(pickle.dumps(other)))
        parts.append(one)
    entries = [trial_entry(stem, trial) for stem, trial in rows]
    assert parts[0].summary("run", entries, (), (1, 5), generated_at=AT) == whole
    assert parts[0].n_trials == len(rows) == sum(c.n_trials for c in whole.configs.values())


def test_a_part_grows_by_numbers_and_not_by_documents():
    dice = random.Random(1)
    sizes = []
    for n in (200, 2200):
        part = PartialSummary()
        for number in range(n):
            part.add(number, made(dice, number)[1])
        sizes.append(len(pickle.dumps(part)))
    assert (sizes[1] - sizes[0]) / 2000 < 200
