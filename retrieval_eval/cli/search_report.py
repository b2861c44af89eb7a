"""``search report`` and ``search demo``: a page on a search run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from retrieval_eval.cli.common import FOLDER, json_option, plain, print_json, progress_bar

_FILE = click.Path(path_type=Path, dir_okay=False)
_OUT = Path("data/eval")
_GOLD = _OUT / "gold-set.jsonl"
_NOISE = _OUT / "noise.json"
_THRESHOLDS = _OUT / "guard.toml"

_reports_dir = click.option(
    "--reports-dir",
    type=FOLDER,
    default=Path("reports"),
    show_default=True,
    help="Folder of the reports.",
)
_renderer = click.option(
    "--renderer",
    type=click.Choice(["auto", "embedded", "quarto"]),
    default="auto",
    show_default=True,
    help="auto: Quarto when it is on the PATH, else the embedded renderer.",
)
_pdf = click.option("--pdf", is_flag=True, help="Write a PDF beside the page (extra 'pdf').")


@click.command()
@click.argument("run", type=_FILE, metavar="[RUN.json]", required=False)
@click.option(
    "--baseline",
    type=_FILE,
    help="Search run to compare with. Default: what the run was compared with.",
)
@click.option(
    "--gold",
    type=_FILE,
    help="Gold set that was asked: with it, relevant documents that were not retrieved are named. "
    f"Default: {_GOLD}, if any.",
)
@click.option(
    "--backlog-file",
    type=_FILE,
    help="Review queue: JSONL of items, or .json of counts. Default: what the run recorded.",
)
@click.option(
    "--backlog-database",
    metavar="URL",
    help="Review queue in a database; it is only read, and its address is not kept.",
)
@click.option(
    "--corpus-file",
    type=_FILE,
    help="Documents that were searched, to find stale labels. Default: corpus.jsonl beside the "
    "gold set, if any.",
)
@click.option(
    "--noise",
    type=_FILE,
    help=f"Noise file, to hold changes against. Default: {_NOISE}, if any.",
)
@click.option(
    "--thresholds",
    type=_FILE,
    help=f"Of the guard. Default: {_THRESHOLDS}, if any, else the shipped ones.",
)
@click.option("--justification", type=_FILE, help="Breaches accepted in writing (TOML or JSON).")
@_reports_dir
@click.option(
    "--privacy",
    is_flag=True,
    help="Leave out texts of queries and drafts, messages of the retriever, names of labellers.",
)
@_renderer
@_pdf
@json_option
def report(
    run: Path | None,
    baseline: Path | None,
    gold: Path | None,
    backlog_file: Path | None,
    backlog_database: str | None,
    corpus_file: Path | None,
    noise: Path | None,
    thresholds: Path | None,
    justification: Path | None,
    reports_dir: Path,
    privacy: bool,
    renderer: Literal["auto", "embedded", "quarto"],
    pdf: bool,
    as_json: bool,
) -> None:
    """Write a self-contained page on a search run.

    RUN.json is what `search run` wrote; by default the newest in data/eval. The page goes to
    REPORTS_DIR/search/LABEL/index.html, named after the file when the run has no label; beside it
    lie the executed notebook and every table as CSV.
    """
    from retrieval_eval.report import build_search
    from retrieval_eval.report.search.loading import latest_run

    if backlog_file is not None and backlog_database is not None:
        raise click.UsageError("--backlog-file and --backlog-database exclude each other")
    labels = gold or _if_there(_GOLD)
    with progress_bar("cell") as progress:
        page = build_search(
            run or latest_run(_OUT),
            reports_dir=reports_dir,
            baseline=baseline or "",
            backlog=backlog_database or str(backlog_file or ""),
            gold=labels,
            corpus=corpus_file or (_if_there(labels.with_name("corpus.jsonl")) if labels else ""),
            noise=noise or _if_there(_NOISE),
            thresholds=thresholds or _if_there(_THRESHOLDS),
            justification=justification or "",
            privacy=privacy,
            renderer=renderer,
            pdf=pdf,
            progress=progress,
        )
    if as_json:
        print_json({"report": str(page)})
    else:
        click.echo(plain(str(page)))


def _if_there(path: Path) -> Path | Literal[""]:
    return path if path.exists() else ""


@click.command()
@_reports_dir
@_renderer
@_pdf
@json_option
def demo(
    reports_dir: Path,
    renderer: Literal["auto", "embedded", "quarto"],
    pdf: bool,
    as_json: bool,
) -> None:
    """Measure search on an invented collection, change a parameter, and report the difference.

    Writes documents, a gold set, feedback and drafted answers to REPORTS_DIR/search-demo/data,
    measures BM25 with its default parameters, makes that the baseline, measures it with other
    parameters, repeats that for its noise, and writes REPORTS_DIR/search-demo/index.html. Prints
    the page and the commands that do the same by hand.
    """
    from retrieval_eval.report.search.building import build_demo

    with progress_bar("step") as progress:
        page, made = build_demo(
            reports_dir=reports_dir, renderer=renderer, pdf=pdf, progress=progress
        )
    if as_json:
        print_json({"report": str(page), "run": str(made.run), "commands": list(made.commands)})
        return
    click.echo("The same by hand:")
    for command in made.commands:
        click.echo(plain(f"  {command}"))
    click.echo(plain(str(page)))
