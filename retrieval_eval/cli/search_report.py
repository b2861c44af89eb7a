"""``search report`` and ``search demo``: a page about a search run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from retrieval_eval.cli.common import (
    FILE,
    FOLDER,
    KeepUnchanged,
    echo,
    force_option,
    json_option,
    page_options,
    print_json,
    progress_bar,
)
from retrieval_eval.cli.search_options import (
    DATA,
    GOLD,
    backlog_at_hand,
    backlog_options,
    data_option,
    run_files,
)
from retrieval_eval.records import Renderer

if TYPE_CHECKING:
    from retrieval_eval.gold.backlog import BacklogSource

_NOISE = DATA / "noise.json"
_THRESHOLDS = DATA / "guard.toml"

_reports_dir = click.option(
    "--reports-dir",
    type=FOLDER,
    default=Path("reports"),
    show_default=True,
    help="Folder of the reports.",
)


@click.command()
@click.argument("run", required=False)
@data_option
@click.option(
    "--baseline",
    type=FILE,
    help="Search run to compare with. Default: what the run was compared with.",
)
@click.option(
    "--gold",
    type=FILE,
    help="Gold set that was asked: with it, relevant documents that were not retrieved are named. "
    f"Default: {GOLD}, if any.",
)
@backlog_options
@click.option(
    "--corpus-file",
    type=FILE,
    help="Documents that were searched, to find stale labels. Default: corpus.jsonl beside the "
    "gold set, if any.",
)
@click.option(
    "--noise",
    type=FILE,
    help=f"Noise file, to compare changes with. Default: {_NOISE}, if any.",
)
@click.option(
    "--thresholds",
    type=FILE,
    help=f"Of the guard. Default: {_THRESHOLDS}, if any, else the shipped ones.",
)
@click.option("--justification", type=FILE, help="Breaches accepted in writing (TOML or JSON).")
@click.option(
    "--mapping",
    type=FILE,
    help="relabel.json of `gold relabel`, if labels moved since the baseline, to show "
    "the effect on every measure.",
)
@click.option("--old-gold", type=FILE, help="With --mapping: the gold set of the baseline.")
@_reports_dir
@click.option(
    "--privacy",
    is_flag=True,
    help="Leave out texts of queries and drafts, messages of the retriever, names of labellers.",
)
@page_options
@force_option
@json_option
def report(
    run: str | None,
    data: Path,
    baseline: Path | None,
    gold: Path | None,
    backlog: BacklogSource | None,
    corpus_file: Path | None,
    noise: Path | None,
    thresholds: Path | None,
    justification: Path | None,
    mapping: Path | None,
    old_gold: Path | None,
    reports_dir: Path,
    privacy: bool,
    renderer: Renderer,
    pdf: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a self-contained page about a search run.

    RUN is what `search run` wrote: a file, or the label of a run in the folder --data; by default
    the newest there. The page goes to REPORTS_DIR/search/LABEL/index.html, named after the file
    when the run has no label; beside it lie the executed notebook and every table as CSV. A page
    that is there and whole is kept where files, parameters, notebook and versions are those it was
    made with.

    --backlog also takes the counts that `gold backlog --json` printed, as a .json file. Without
    one, the report has what the run recorded.
    """
    from retrieval_eval.report import build_search
    from retrieval_eval.search.run_names import latest_run

    labels = gold or _if_there(GOLD)
    path = latest_run(data) if run is None else run_files([run], data)[0]
    keep = KeepUnchanged(force)
    with progress_bar("cell") as progress:
        page = build_search(
            path,
            reports_dir=reports_dir,
            baseline=baseline or "",
            backlog=backlog_at_hand(backlog) or "",
            gold=labels,
            corpus=corpus_file or (_if_there(labels.with_name("corpus.jsonl")) if labels else ""),
            noise=noise or _if_there(_NOISE),
            thresholds=thresholds or _if_there(_THRESHOLDS),
            justification=justification or "",
            mapping=mapping or "",
            old_gold=old_gold or "",
            privacy=privacy,
            renderer=renderer,
            pdf=pdf,
            progress=progress,
            keep=keep,
        )
    keep.show(page, as_json=as_json)


def _if_there(path: Path) -> Path | Literal[""]:
    return path if path.exists() else ""


@click.command(short_help="Show every step on an invented collection.")
@_reports_dir
@page_options
@json_option
def demo(
    reports_dir: Path,
    renderer: Renderer,
    pdf: bool,
    as_json: bool,
) -> None:
    """Measure search on an invented collection, change a parameter, and report the difference.

    Writes documents, a gold set, feedback and drafted answers to REPORTS_DIR/search-demo/data,
    measures BM25 with its default parameters, makes that the baseline, measures it with other
    parameters, repeats that for its noise, and writes REPORTS_DIR/search-demo/index.html. Prints
    the page and the commands that do the same by hand.
    """
    from retrieval_eval.report.building import build_demo

    with progress_bar("step") as progress:
        page, made = build_demo(
            reports_dir=reports_dir, renderer=renderer, pdf=pdf, progress=progress
        )
    if as_json:
        print_json(
            {"report": str(page), "run": made.sources["run"], "commands": list(made.commands)}
        )
        return
    echo("The same by hand:")
    for command in made.commands:
        echo(f"  {command}")
    echo(page)
