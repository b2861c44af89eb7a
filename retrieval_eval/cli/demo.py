"""``retrieval-eval demo``: a complete report on a simulated run, without any setup."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.agents.runs.layout import DEMO
from retrieval_eval.cli.common import (
    echo,
    json_option,
    print_json,
    progress_bar,
    reports_dir_option,
)
from retrieval_eval.demo import write_demo
from retrieval_eval.io.user_files import project


@click.command()
@click.argument("what", type=click.Choice(["agents", "search"]), default="agents")
@reports_dir_option
@json_option
def demo(what: str, reports_dir: Path, as_json: bool) -> None:
    """Evaluate a simulated benchmark run with known behaviour and write its report.

    The page is REPORTS_DIR/demo/index.html. The recorded run is written to REPORTS_DIR/demo/data,
    in the layout of real ones: look at it, or point the other commands at it.

    With `search`: measure search on an invented collection, change a parameter, and report the
    difference in REPORTS_DIR/search-demo/index.html. Documents, gold set, feedback and drafted
    answers are in data/ beside it; the commands that do the same by hand are printed.
    """
    from retrieval_eval.report import build

    if what == "search":
        from retrieval_eval.cli.search_report import show_search_demo

        show_search_demo(reports_dir=reports_dir, as_json=as_json)
        return

    data = reports_dir / DEMO / "data"
    write_demo(data)
    with progress_bar("cell") as progress:
        page = build(
            [DEMO],
            reports_dir=reports_dir,
            renderer=project().renderer,
            progress=progress,
            # With explicit roots, so that no other run of this name is found.
            runs_root=data / "runs",
            benchmarks_root=data / "benchmarks",
            output_dir=data,
        )
    if as_json:
        print_json({"report": str(page)})
    else:
        echo(page)
