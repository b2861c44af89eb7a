"""``retrieval-eval history``: what was measured over time."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.cli.common import (
    FILE,
    FOLDER,
    echo,
    json_option,
    page_options,
    print_json,
    progress_bar,
    reports_dir_option,
    seed_option,
)
from retrieval_eval.records import Renderer


@click.command()
@click.argument("data", required=False, type=FOLDER)
@click.option(
    "--runs-root",
    type=FOLDER,
    help="Folder of all runs of agents. Default: $RETRIEVAL_EVAL_RUNS_ROOT, else ./runs, if any.",
)
@click.option(
    "--output-dir",
    type=FOLDER,
    help="Where their artefacts are: OUTPUT_DIR/<run_id>/. Default: inside each run.",
)
@click.option("--subject", default="", help="One suite or corpus. Default: all.")
@click.option(
    "--thresholds",
    type=FILE,
    help="Of the guard. Default: data/eval/guard.toml, if any, else the shipped ones.",
)
@reports_dir_option("history/index.html")
@seed_option(text="Seed of the intervals of agents.")
@page_options
@json_option
def history(
    data: Path | None,
    runs_root: Path | None,
    output_dir: Path | None,
    subject: str,
    thresholds: Path | None,
    reports_dir: Path,
    seed: int,
    renderer: Renderer,
    pdf: bool,
    as_json: bool,
) -> None:
    """Write a page about all runs over time: means, changes caught by the guard, labels.

    DATA is the folder of search runs; default: data/eval, if any. Of agents, the runs that
    `retrieval-eval evaluate` has measured are read. Nothing is measured again. DATA may be demo:
    the built-in demonstrations.
    """
    from retrieval_eval.pipeline.roots import default_runs_root
    from retrieval_eval.report import build_history

    usual = Path("data/eval")
    chosen = data or (usual if usual.is_dir() else None)
    runs = runs_root or (None if data else default_runs_root())
    with progress_bar("step") as progress:
        page = build_history(
            chosen or "",
            reports_dir=reports_dir,
            runs_root=runs or "",
            output_dir=output_dir or "",
            subject=subject,
            thresholds=thresholds or "",
            seed=seed,
            renderer=renderer,
            pdf=pdf,
            progress=progress,
        )
    if as_json:
        print_json({"report": str(page)})
    else:
        echo(page)
