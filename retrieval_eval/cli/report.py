"""``retrieval-eval report``: evaluate runs and write their page."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.cli.common import (
    echo,
    json_option,
    page_options,
    parse_k,
    print_json,
    progress_bar,
    reports_dir_option,
    work_options,
)
from retrieval_eval.records import Renderer


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@work_options
@reports_dir_option("<run_id>/index.html")
@click.option("--baseline-config", default="", help="Baseline of the comparison that leads.")
@click.option("--mcp-config", default="", help="Config compared with it.")
@click.option(
    "--trials",
    is_flag=True,
    help="Also write the page of every trial, step by step, in trials/ beside the report, linked "
    "from it. Pages for which nothing has changed are kept.",
)
@click.option("--privacy", is_flag=True, help="Leave out prompts, commands and file content.")
@page_options
@json_option
def report(
    runs: tuple[str, ...],
    runs_root: Path | None,
    benchmarks_root: Path | None,
    output_dir: Path | None,
    reports_dir: Path,
    jobs: int,
    baseline_config: str,
    mcp_config: str,
    k_values: str,
    seed: int,
    trials: bool,
    privacy: bool,
    renderer: Renderer,
    pdf: bool,
    as_json: bool,
) -> None:
    """Evaluate runs where needed and write a self-contained report.

    RUN is a run id below the runs root, or the path of a run directory. Several runs make one
    report. Beside index.html lie the executed notebook and every table as CSV. For a page on two
    runs or configurations against each other, see `retrieval-eval compare --report`; for one on a
    single trial `retrieval-eval trial --report`.
    """
    from retrieval_eval.report import build

    with progress_bar("cell") as progress:
        page = build(
            runs,
            reports_dir=reports_dir,
            jobs=jobs,
            runs_root=runs_root,
            benchmarks_root=benchmarks_root,
            output_dir=output_dir,
            baseline_config=baseline_config,
            mcp_config=mcp_config,
            k_values=parse_k(k_values),
            seed=seed,
            privacy=privacy,
            renderer=renderer,
            pdf=pdf,
            trials=trials,
            progress=progress,
        )
    if as_json:
        print_json({"report": str(page)})
    else:
        echo(page)
