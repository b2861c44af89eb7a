"""``retrieval-eval render``: the page of a notebook that the user changed and executed."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.cli.common import FILE, PATH, echo, json_option, print_json, renderer_option
from retrieval_eval.records import Renderer


@click.command()
@click.argument("notebook", type=PATH)
@click.option(
    "--output",
    type=FILE,
    metavar="FILE",
    help="Where the page or the PDF goes. Default: beside the notebook, with its name.",
)
@click.option(
    "--format",
    "suffix",
    type=click.Choice(["html", "pdf"]),
    help="A page or a PDF. Default: what the ending of --output says, else html.",
)
@renderer_option
@json_option
def render(
    notebook: Path, output: Path | None, suffix: str | None, renderer: Renderer, as_json: bool
) -> None:
    """Write the page of an executed notebook of your own.

    NOTEBOOK is what papermill or Jupyter saved: a copy of a notebook of this project that you
    changed, or any notebook that uses this package. It is not executed again. The page is one file
    that opens without a network and looks like a report; code and printed text are left out.
    """
    from retrieval_eval.report import render_notebook

    target = output or notebook.with_suffix(f".{suffix or 'html'}")
    if suffix and target.suffix.lower() != f".{suffix}":
        raise click.UsageError(f"--output does not end in .{suffix}, which --format asks for.")
    page = render_notebook(notebook, target, renderer=renderer)
    if as_json:
        print_json({"page": str(page)})
    else:
        echo(page)
