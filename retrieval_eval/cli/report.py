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
@click.argument("runs", nargs=-1, metavar="RUN...")
@work_options
@reports_dir_option("<run_id>/index.html")
@click.option("--baseline-config", default="", help="Baseline of the comparison that leads.")
@click.option("--mcp-config", default="", help="Config compared with it.")
@click.option("--privacy", is_flag=True, help="Leave out prompts, commands and file content.")
@click.option(
    "--index",
    "only_index",
    is_flag=True,
    help="Only list the reports below REPORTS_DIR anew, in its index.html.",
)
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
    privacy: bool,
    only_index: bool,
    renderer: Renderer,
    pdf: bool,
    as_json: bool,
) -> None:
    """Evaluate runs where needed and write a self-contained report.

    RUN is a run id below the runs root, or the path of a run directory. Several runs make one
    report. Beside index.html lie the executed notebook and every table as CSV. For a page on two
    runs or configurations against each other, see `retrieval-eval compare --report`. Every report
    is listed in REPORTS_DIR/index.html.
    """
    if only_index:
        _write_index(runs, reports_dir, as_json)
        return
    if not runs:
        raise click.UsageError("Missing argument 'RUN...'.")
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
            progress=progress,
        )
    if as_json:
        print_json({"report": str(page)})
    else:
        echo(page)


def _write_index(runs: tuple[str, ...], reports_dir: Path, as_json: bool) -> None:
    from retrieval_eval.report.index import write_index

    if runs:
        raise click.UsageError("--index takes no RUN.")
    written = write_index(reports_dir)
    for problem in written.problems:
        echo(problem, err=True)
    if as_json:
        print_json({"index": str(written.path), "n_reports": written.n_reports})
    else:
        echo(written.path)
