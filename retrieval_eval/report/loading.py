"""From run ids to frames: evaluate what is missing, then read the artefacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.trial import DEFAULT_K
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.pipeline import evaluate
from retrieval_eval.pipeline.comparison import analyse, relabelled, run_labels
from retrieval_eval.pipeline.evaluate import Evaluation
from retrieval_eval.report.filtering import Where
from retrieval_eval.report.run import Run
from retrieval_eval.values import DEFAULT_SEED

PathLike = str | Path | None
P = ParamSpec("P")
_loaded: dict[str, Run] | None = None


def keep_loaded() -> None:
    """From now on return a run that was loaded before; nothing in it can change.

    For a process that makes many pages of one run, and ends before anything is evaluated anew.
    """
    global _loaded  # noqa: PLW0603  one process, one such choice
    _loaded = _loaded or {}


def _kept(load: Callable[P, Run]) -> Callable[P, Run]:
    @wraps(load)
    def loaded(*arguments: P.args, **options: P.kwargs) -> Run:
        if _loaded is None or options.get("where") is not None:
            return load(*arguments, **options)
        key = repr((arguments, sorted(options.items())))
        if key not in _loaded:
            _loaded[key] = load(*arguments, **options)
        return _loaded[key]

    return loaded


@_kept
def load_run(
    run_ids: str | Path | Sequence[str | Path],
    *,
    runs_root: PathLike = None,
    benchmarks_root: PathLike = None,
    output_dir: PathLike = None,
    baseline_config: str | None = None,
    mcp_config: str | None = None,
    k_values: Sequence[int] = DEFAULT_K,
    seed: int = DEFAULT_SEED,
    separate_runs: bool = False,
    mcp_configs: str | Sequence[str] = (),
    jobs: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    where: Where | None = None,
    privacy: bool = False,
    has_trial_pages: bool = False,
    trial_pages_at: str = "trials",
) -> Run:
    """Return one or several runs as data frames, evaluating what is missing.

    Parameters
    ----------
    run_ids
        Run ids or paths; a text may hold several, separated by commas. The id ``demo`` without
        ``runs_root`` writes the built-in demonstration and reads that.
    runs_root, benchmarks_root, output_dir
        As for :func:`retrieval_eval.evaluate`; empty text counts as None. The demonstration goes
        to ``output_dir`` too, by default to ``reports/demo/data``.
    baseline_config, mcp_config
        The two configs to compare; by default the pair that shares most tasks.
    separate_runs
        Tell a config that several runs have apart by run, as ``config@run``, so that the runs are
        compared; by default its trials count as repeats of one config.
    mcp_configs
        The configs that are meant to use MCP, the others being meant not to; a text may hold
        several, separated by commas. By default what the trials of each used says it.
    k_values, seed, jobs, progress
        As for :func:`retrieval_eval.evaluate`.
    where
        Only the trials that pass a condition, as for :meth:`Run.filter`; all are evaluated. The
        empty text is no condition.
    privacy
        Leave out the arguments of tools, which hold prompts, commands and file content.
    has_trial_pages
        Whether every trial has a page; ``trials["page"]`` then leads there.
    trial_pages_at
        The folder of these pages, relative to the page of the run.

    Returns
    -------
    Run
        The frames of :data:`retrieval_eval.report.columns.FRAMES`, each built when first asked
        for and handed out as a copy: ``trials``, ``events``, ``pairs``, ``gate`` and others.

    Raises
    ------
    BadInputError
        When a run, root, config or setting does not exist or is of the wrong kind, or no trial
        passes the condition.
    NothingToEvaluateError
        When no run holds a trial.
    """
    evaluation = evaluate(
        split_run_ids(run_ids),
        runs_root=_path(runs_root),
        benchmarks_root=_path(benchmarks_root),
        output_dir=_path(output_dir),
        k_values=_whole_numbers(k_values),
        jobs=jobs,
        seed=_whole_numbers([seed])[0],
        progress=progress,
    )
    parameters: dict[str, Any] = {
        "k_values": list(k_values),
        "seed": seed,
        "baseline_config": baseline_config or None,
        "mcp_config": mcp_config or None,
        "runs_root": runs_root or None,
        "benchmarks_root": benchmarks_root or None,
        "output_dir": output_dir or None,
    }
    stated = _names(mcp_configs)
    if stated:
        parameters["mcp_configs"] = stated
    new_names = _names_by_run(evaluation) if separate_runs else None
    run = Run(
        [run.folder for run in evaluation.runs],
        baseline_config=baseline_config,
        mcp_config=mcp_config,
        parameters=parameters,
        impact=_impact(evaluation, new_names, stated),
        new_names=new_names,
        privacy=privacy,
        has_trial_pages=has_trial_pages,
        trial_pages_at=trial_pages_at,
    )
    is_whole = where is None or (isinstance(where, str) and not where.strip())
    return run if where is None or is_whole else run.filter(where)


def _impact(
    evaluation: Evaluation,
    new_names: Sequence[Mapping[str, str]] | None,
    mcp_configs: Sequence[str],
) -> ImpactAnalysis | None:
    """Return the analysis over all runs; None for the one that a single run has on disk."""
    names = new_names or [{} for _ in evaluation.runs]
    if any(names) or mcp_configs:
        trials = [
            relabelled(done.metrics, own.get(config := done.metrics.provenance.config_name, config))
            for run, own in zip(evaluation.runs, names, strict=True)
            for done in run.trials
        ]
        return analyse(trials, None, evaluation.seed, mcp_configs or None)
    return evaluation.impact if len(evaluation.runs) > 1 else None


def _names_by_run(evaluation: Evaluation) -> list[dict[str, str]]:
    """Return for each run the new name of every config that another run has too."""
    configs = [
        {done.metrics.provenance.config_name for done in run.trials} for run in evaluation.runs
    ]
    return run_labels([run.run_id for run in evaluation.runs], configs)


def split_run_ids(run_ids: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the run ids of a text (comma-separated), a path or a sequence of either.

    Examples
    --------
    >>> split_run_ids("a, b,,")
    ['a', 'b']
    """
    given = [run_ids] if isinstance(run_ids, str | Path) else list(run_ids)
    names = [
        name.strip()
        for item in given
        for name in (item.split(",") if isinstance(item, str) else [str(item)])
    ]
    named = [name for name in names if name]
    if not named:
        raise BadInputError(
            "no run id was given: name one or several, separated by commas, or say demo for the "
            "built-in demonstration, which is simulated"
        )
    return named


def _path(value: PathLike) -> Path | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str | Path):
        raise BadInputError(f"a folder is given as text, not as {value!r}")
    return Path(value)


def _whole_numbers(values: Sequence[int]) -> list[int]:
    if not isinstance(values, list | tuple) or any(type(v) is not int for v in values):
        raise BadInputError(f"expected whole numbers, not {values!r}")
    return list(values)


def _names(values: str | Sequence[str]) -> list[str]:
    if isinstance(values, str):
        return [name.strip() for name in values.split(",") if name.strip()]
    if not isinstance(values, list | tuple) or any(type(v) is not str for v in values):
        raise BadInputError(f"expected a list of names, not {values!r}")
    return list(values)
