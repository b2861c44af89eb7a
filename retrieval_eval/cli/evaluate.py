"""``retrieval-eval evaluate``: measure runs and write their artefacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from retrieval_eval.agents.runs import Evaluation, RunEvaluation, evaluate_saved
from retrieval_eval.agents.runs import evaluate as evaluate_runs
from retrieval_eval.cli.common import (
    FOLDER,
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
from retrieval_eval.errors import NothingToEvaluateError
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
