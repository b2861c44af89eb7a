"""``retrieval-eval demo``: the report on simulated runs, without any data."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.cli.common import (
    echo,
    json_option,
    page_options,
    print_json,
    progress_bar,
    reports_dir_option,
)
from retrieval_eval.demo import Fault, write_demo
from retrieval_eval.pipeline.roots import DEMO
from retrieval_eval.records import Renderer


@click.command()
@reports_dir_option("demo/index.html")
@click.option(
    "--fault",
    type=click.Choice([fault.value for fault in Fault]),
    help="Plant a fault, to see how the report shows it; goes to REPORTS_DIR/FAULT/demo/.",
)
@page_options
@json_option
def demo(
    reports_dir: Path, fault: str | None, renderer: Renderer, pdf: bool, as_json: bool
) -> None:
    """Simulate a benchmark run with known behaviour, evaluate it and write its report.

    The runs are written to REPORTS_DIR/demo/data, in the layout of real ones: look at them, or
    point the other commands at them.
    """
    from retrieval_eval.report import build

    if fault is not None:
        reports_dir = reports_dir / fault
    data = reports_dir / DEMO / "data"
    write_demo(data, fault=None if fault is None else Fault(fault))
    with progress_bar("cell") as progress:
        page = build(
            [DEMO],
            reports_dir=reports_dir,
            renderer=renderer,
            pdf=pdf,
            progress=progress,
            # By its roots, so that no run of this name elsewhere can be meant.
            runs_root=data / "runs",
            benchmarks_root=data / "benchmarks",
            output_dir=data,
        )
    if as_json:
        print_json({"report": str(page)})
    else:
        echo(page)
