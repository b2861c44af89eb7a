"""``retrieval-eval demo``: a true report on invented runs, on a fresh machine."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.cli.common import FOLDER, json_option, print_json, progress_bar


@click.command()
@click.option(
    "--reports-dir",
    type=FOLDER,
    default=Path("reports"),
    show_default=True,
    help="Where the report goes: REPORTS_DIR/demo/index.html.",
)
@click.option("--pdf", is_flag=True, help="Write a PDF beside the page (extra 'pdf').")
@json_option
def demo(reports_dir: Path, pdf: bool, as_json: bool) -> None:
    """Simulate a benchmark run with known behaviour, evaluate it and write its report.

    The runs are written to REPORTS_DIR/demo/data, in the layout of real ones: look at them, or
    point the other commands at them.
    """
    from retrieval_eval.report import build

    with progress_bar("cell") as progress:
        page = build(["demo"], reports_dir=reports_dir, pdf=pdf, progress=progress)
    if as_json:
        print_json({"report": str(page)})
    else:
        click.echo(page)
