"""``evaluate`` measures runs and writes their artefacts, ``init`` the table of their trials."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from retrieval_eval.agents.runs.evaluate import Evaluation, RunEvaluation, evaluate_saved
from retrieval_eval.agents.runs.evaluate import evaluate as evaluate_runs
from retrieval_eval.cli.common import (
    FILE,
    FOLDER,
    PATH,
    echo,
    evaluation_options,
    json_option,
    k_option,
    number,
    parse_k,
    print_json,
    print_table,
    processes,
    progress_bar,
)
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model import to_builtins
from retrieval_eval.model.summary import NeverHit
from retrieval_eval.values import counted

_COLUMNS = (
    ("file recall", "file_recall", 2),
    ("MRR", "mrr", 2),
    ("nDCG@10", "ndcg@10", 2),
    ("context eff.", "context_efficiency", 2),
    ("TTFR s", "ttfr_seconds", 0),
    ("reward", "reward", 2),
)


@click.command()
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "--from-events",
    type=FOLDER,
    help="In place of runs: the event documents (*.retrieval_events.json) in this folder. Nothing "
    "is written without --output-dir.",
)
@evaluation_options
@k_option
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=processes,
    help="Processes to evaluate trials with. Default: one a core.",
)
@click.option(
    "--executor",
    metavar="KIND:N|URL",
    help="Evaluate on processes:N or dask://HOST:PORT (extra 'dask'), not by --jobs.",
)
@click.option(
    "--tables",
    is_flag=True,
    help="Also write all trials as Parquet tables to tables/ in the output (extra 'dask').",
)
@json_option
def evaluate(
    runs: tuple[str, ...],
    from_events: Path | None,
    benchmarks_root: Path | None,
    output_dir: Path | None,
    k_values: str,
    jobs: int,
    executor: str | None,
    tables: bool,
    as_json: bool,
) -> None:
    """Measure the retrieval of one or more runs and write their artefacts.

    RUN is the path of a run, or its id below ./runs or $RETRIEVAL_EVAL_RUNS_ROOT. Trials whose
    inputs have not changed are not computed again. No input is modified.

    Runs, the benchmarks root and the output may be URLs, such as s3://bucket/runs/a (extra 'dask').

    Exit code 2: there is no trial, or none could be measured.
    """
    cutoffs = parse_k(k_values)
    if (from_events is None) is (not runs):
        raise click.UsageError("name runs, or a folder of event documents with --from-events")
    if from_events is not None:
        evaluation = evaluate_saved(from_events, output_dir=output_dir, k_values=cutoffs)
    else:
        with progress_bar("trial") as progress:
            evaluation = evaluate_runs(
                runs,
                benchmarks_root=benchmarks_root,
                output_dir=output_dir,
                k_values=cutoffs,
                jobs=jobs,
                executor=executor,
                tables=tables,
                progress=progress,
            )
    if as_json:
        print_json(_as_json(evaluation))
    else:
        for run in evaluation.runs:
            _print_run(run)
    if reason := evaluation.why_nothing_was_measured():
        raise NothingToEvaluateError(reason)


def _as_json(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "runs": [
            {
                "run_id": run.run_id,
                "folder": str(run.folder) if run.is_written else None,
                **_outline(run),
            }
            for run in evaluation.runs
        ]
    }


def _outline(run: RunEvaluation) -> dict[str, Any]:
    summary = to_builtins(run.summary)
    found = {key: summary[key] for key in ("counts", "configs", "excluded")}
    return {**found, "notes": list(run.notes)}


def _print_run(run: RunEvaluation) -> None:
    counts = run.summary.counts
    fresh = sum(done.is_fresh for done in run.trials)
    echo()
    echo(run.run_id)
    echo(
        f"  {counted(counts.trials_found, 'trial')} found: {counts.evaluated} evaluated, "
        f"{counts.degraded} degraded, {counts.excluded} excluded; "
        f"{counts.computable} with metrics, "
        f"{counts.without_ground_truth} without ground truth; "
        f"{fresh} computed now, {len(run.trials) - fresh} unchanged"
    )
    head = ["  config", "trials", "tasks", *(label for label, _, _ in _COLUMNS), "never hit"]
    rows = [head]
    if counts.simulated:
        echo(f"  SIMULATED DATA: {counts.simulated} of these trials are invented")
    for config, block in run.summary.configs.items():
        cells = [
            f"{number(block.metrics[name].mean, digits)} (n={block.metrics[name].n})"
            for _, name, digits in _COLUMNS
        ]
        never = block.never_hit or NeverHit(count=0, denominator=0)
        ratio = f"{never.count} of {never.denominator}"
        rows.append([f"  {config}", str(block.n_trials), str(block.n_tasks), *cells, ratio])
    print_table(rows)
    widths = [done.metrics.coverage.recall_width for done in run.trials]
    open_ones = [width for width in widths if width]
    if open_ones:
        echo(
            f"  left open by their traces: up to {number(max(open_ones))} of the file recall in "
            f"{counted(len(open_ones), 'trial')}; the report names them"
        )
    for excluded in run.summary.excluded:
        echo(f"  left out: {excluded.path}: {excluded.reason} {excluded.detail}")
    for note in run.notes:
        echo(f"  note: {note}")
    place = run.folder if run.is_written else "not written; name a folder with --output-dir"
    echo(f"  artefacts: {place}")


# --------------------------------------------------------------------------------------------------
# ``retrieval-eval init``: the table of trials that a folder was recognised as.


@click.command()
@click.argument("place", metavar="FOLDER", type=PATH)
@click.option(
    "--output",
    type=FILE,
    default="trials.csv",
    show_default=True,
    help="The table to write. One that is there is not overwritten.",
)
@json_option
def init(place: Path, output: Path, as_json: bool) -> None:
    """Write the table of trials that FOLDER was recognised as, to be corrected and used again.

    FOLDER holds traces as SWE-bench, SWE-agent, OpenHands, Harbor or Inspect publish them,
    trajectories in a folder for each configuration, sessions of agents, or a run tree; a single
    log of several trials will do as well. Nothing is measured.

    Each row is a trial: its trace, task and configuration, and as far as they are known reward and
    cost. Give the table to evaluate, report and compare in place of FOLDER.

    \b
    Example:
      retrieval-eval init results/ --output trials.csv
      retrieval-eval evaluate trials.csv --truth truth.jsonl

    Exit code 2: there is no trial. 3: the table is there already.
    """  # noqa: D301  click reads the control character
    from retrieval_eval.agents.door import nearest, opened, table_text
    from retrieval_eval.io.files import probe, write_text

    if not probe(place.exists):
        raise BadInputError(f"{place}: no such file or folder")
    if probe(output.exists):
        raise BadInputError(f"{output}: is there already; name another file with --output")
    found = opened(place.absolute())
    if not found.rows:
        raise NothingToEvaluateError(f"no trial found in {place}: {nearest(place.absolute())}")
    write_text(output, table_text(found, Path(os.path.abspath(output.parent))))  # noqa: PTH100
    tasks = {row.task for row in found.rows}
    configs = list(dict.fromkeys(row.config for row in found.rows))
    rewards = sum(row.reward is not None for row in found.rows)
    notes = [*found.problems, *(f"left out: {one.detail}" for one in found.excluded)]
    if as_json:
        print_json(
            {
                "table": str(output),
                "layout": found.layout,
                "trials": len(found.rows),
                "tasks": len(tasks),
                "configs": configs,
                "rewards": rewards,
                "notes": notes,
            }
        )
        return
    what = f"{counted(len(found.rows), 'trial')} of {counted(len(tasks), 'task')}"
    echo(f"{found.layout}: {what}, {rewards} with a reward")
    for config in configs:
        echo(f"  {config}: {sum(row.config == config for row in found.rows)}")
    for note in notes:
        echo(f"  note: {note}")
    echo(output)
