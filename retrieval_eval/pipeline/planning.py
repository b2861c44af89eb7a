"""The plan of a study from a pilot named on a command line or in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.runs import is_folder, split_run
from retrieval_eval.pipeline.evaluate import evaluate
from retrieval_eval.study.plan import Plan, plan
from retrieval_eval.values import DEFAULT_SEED


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the run it was read from (empty without one), and how many trials are simulated."""

    plan: Plan
    run: str
    n_trials: int
    n_simulated: int


def plan_from(
    pilot: str = "",
    *,
    runs_root: Path | str | None = None,
    benchmarks_root: Path | str | None = None,
    output_dir: Path | str | None = None,
    mcp_configs: Sequence[str] | None = None,
    seed: int = DEFAULT_SEED,
    jobs: int = 1,
    progress: Any = None,
    **numbers: Any,
) -> Planned:
    """Evaluate what is missing of a pilot and return the plan that it leads to.

    Parameters
    ----------
    pilot
        ``RUN``, ``RUN:BASELINE`` or ``RUN:BASELINE:COMPARISON``; empty without a pilot.
    mcp_configs
        The configurations of the pilot that are meant to use MCP.
    runs_root, benchmarks_root, output_dir, seed, jobs, progress
        As for :func:`retrieval_eval.evaluate`.
    numbers
        As for :func:`retrieval_eval.plan`.

    Raises
    ------
    BadInputError
        As :func:`retrieval_eval.plan` does, or when there is no such run or configuration.
    NothingToEvaluateError
        When the run holds no trial.
    """
    if not pilot:
        return Planned(plan(**numbers), "", 0, 0)
    run, baseline, comparison = split_pilot(pilot)
    evaluation = evaluate(
        [run],
        runs_root=runs_root,
        benchmarks_root=benchmarks_root,
        output_dir=output_dir,
        seed=seed,
        jobs=jobs,
        progress=progress,
    )
    trials = [metrics for each in evaluation.runs for metrics in each.metrics]
    found = plan(
        trials,
        baseline,
        comparison,
        mcp_configs=mcp_configs,
        source=f"pilot {Path(run).name}",
        **numbers,
    )
    return Planned(found, run, len(trials), sum(bool(t.provenance.is_simulated) for t in trials))


def split_pilot(pilot: str) -> tuple[str, str, str]:
    """Return run, baseline and comparison of ``RUN[:BASELINE[:COMPARISON]]``.

    A path that exists is a run, whatever colons it holds.

    Examples
    --------
    >>> split_pilot("run:a:b"), split_pilot("run"), split_pilot("s3://bucket/run:a")
    (('run', 'a', 'b'), ('run', '', ''), ('s3://bucket/run', 'a', ''))
    """
    if is_folder(pilot):
        return pilot, "", ""
    parts = split_run(pilot)
    for n in (2, 1):
        name = ":".join(parts[:-n])
        if len(parts) > n and is_folder(name):
            return (name, *parts[-n:], *[""] * (2 - n))  # type: ignore[return-value]
    if len(parts) > 3 or not parts[0]:
        raise BadInputError(
            f"{pilot!r} is no pilot: RUN, or RUN:BASELINE:COMPARISON to name its configurations"
        )
    run, baseline, comparison = (*parts, "", "")[:3]
    return run, baseline, comparison
