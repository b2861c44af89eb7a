"""Equal arms made of a real study of two models: the models of a task swap their outcomes at will.

The study is `verified-mini-50` (fifty tasks of two repositories): `RETRIEVAL_EVAL_STUDIES` names
the folder that holds it. Numbers, and how they depend on each other and on the task, are the real
ones; which model they belong to is drawn, task by task, so that no difference between arms is true.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from simulated_draws import generator
from simulated_studies import Row
from simulated_verdicts import N_RESAMPLES, STATED, Trials

from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.agents.study import compare
from retrieval_eval.agents.study.trials import trials_of

STUDIES = "RETRIEVAL_EVAL_STUDIES"
STUDY = "verified-mini-50"
PAIRS = {
    "two models": ("gpt-5-mini", "gemini-3-pro"),
    "two efforts of one model": ("gpt-5-mini-effort-minimal", "gpt-5-mini-effort-high"),
}
ENDPOINTS = ("file_recall", "mrr", "context_efficiency", "reward", "cost_usd", "ttfr_seconds")
TREATED = ("model", "harness", "harness_version")


@cache
def real_trials() -> Trials:
    """Return the trials of the study; none where it is not there."""
    folder = Path(os.environ.get(STUDIES, os.devnull)) / STUDY
    if not folder.is_dir():
        return []
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    rows = [
        {
            "trace": str(folder / "traces" / arm / f"{task['id']}.traj.json"),
            "task": task["id"],
            "config": arm,
            "reward": float(own["resolved"]),
            "cost_usd": own["cost_usd"],
            "elapsed_seconds": own["elapsed_seconds"],
        }
        for task in tasks
        for arm, own in task["arms"].items()
    ]
    with TemporaryDirectory() as place:
        table = Path(place) / "trials.json"
        table.write_text(json.dumps(rows), encoding="utf-8")
        (found,) = evaluate(
            [table], benchmarks_root=folder / "tasks.json", output_dir=Path(place) / "out"
        ).runs
        return trials_of(found.metrics)


def permuted(g: np.random.Generator, trials: Trials, arms: tuple[str, str]) -> Trials:
    """Return the trials of two arms, of which those of about half of the tasks changed places."""
    tasks: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for one in trials:
        if one.config_name in arms:
            tasks[one.task_name][one.config_name] = one
    found = []
    for own in tasks.values():
        places = arms[::-1] if g.random() < 0.5 else arms
        for arm, place in zip(arms, places, strict=True):
            if arm in own:
                like = next(t for t in trials if t.config_name == place)
                stated = {name: getattr(like, name) for name in TREATED}
                found.append(replace(own[arm], config_name=place, **stated))
    return found


def permuted_row(pair: str, metric: str, studies: int) -> Row:
    """Count the verdicts on permuted arms, in %."""
    trials, arms = real_trials(), PAIRS[pair]
    if not trials:
        return [pair, metric, "–", "–", "–"]
    g = generator("permuted", pair, metric)
    found: Counter[str] = Counter()
    for study in range(studies):
        made = compare(
            permuted(g, trials, arms),
            *arms,
            seed=study,
            primary=metric,
            metrics=[metric],
            n_resamples=N_RESAMPLES,
            design={"treatment": "agent", "cluster": "task"},
        )
        found[made.verdict.state] += 1
    false = sum(found[state] for state in STATED)
    none = found["no_verdict"] + found["too_few_pairs"]
    return [pair, metric, *(f"{100 * n / studies:.1f}" for n in (false, found["fragile"], none))]
