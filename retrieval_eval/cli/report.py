"""``retrieval-eval report``: evaluate runs and write their page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from retrieval_eval.cli.common import (
    FOLDER,
    KeepUnchanged,
    chosen_design,
    design_options,
    echo,
    exit_code_of,
    force_option,
    json_option,
    page_options,
    parse_k,
    print_json,
    progress_bar,
    reports_dir_option,
    work_options,
)
from retrieval_eval.cli.search_report import report_searches, searched_options, searched_runs
from retrieval_eval.errors import NothingToEvaluateError, RetrievalEvalError
from retrieval_eval.records import Renderer

_OF_SEARCHES = ("runs", "reports_dir", "privacy", "renderer", "pdf", "force", "as_json")
_OF_NOTEBOOK = ("runs", "renderer", "pdf", "as_json")


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@design_options
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
@click.option(
    "--trial",
    metavar="NAME",
    help="Write the page of one trial, step by step: by its name, NAME@CONFIG or its task's name.",
)
@click.option("--privacy", is_flag=True, help="Leave out prompts, commands and file content.")
@click.option(
    "--index",
    "only_index",
    is_flag=True,
    help="Only list the reports below REPORTS_DIR anew, in its index.html, in place of RUN.",
)
@searched_options
@page_options
@force_option
@click.option(
    "--quarto-extension",
    "extension",
    type=FOLDER,
    metavar="DIR",
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, folder: _copy_extension(context, folder),
    help="Only copy the Quarto extension with our formats into DIR, where `quarto render` then "
    "makes the same page and PDF from an executed notebook.",
)
@json_option
@click.pass_context
def report(
    context: click.Context,
    runs: tuple[str, ...],
    design: Path | None,
    no_design: bool,
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
    trial: str | None,
    privacy: bool,
    only_index: bool,
    searched: dict[str, Any],
    renderer: Renderer,
    pdf: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Evaluate runs where needed and write a self-contained report.

    RUN is a run id below the runs root, or the path of a run directory. Several runs make one
    report; a folder that holds several runs makes one of each, and the index lists them with their
    verdicts. Beside index.html lie the executed notebook, its parameters (params.yml), the versions
    it was made with (versions.csv), and every table and the data of every figure as CSV. For a page
    on two runs or configurations against each other, see `retrieval-eval compare --report`.

    RUN may also be a search run: its file, or its label in the folder --data. Its page goes to
    REPORTS_DIR/search/LABEL/index.html. Of two search runs it is the page of what changed. Options
    from --baseline to --old-gold are for these only.

    A page that is there and whole is kept where runs, parameters, notebook, renderer and versions
    are those it was made with.

    RUN may be an executed notebook (NOTEBOOK.ipynb), such as your own copy of one of this project:
    its page, and with --pdf its PDF, are written beside it. It is not executed again; code and
    printed text are left out.

    Every report is listed in REPORTS_DIR/index.html.
    """
    from retrieval_eval.report import build, build_trial

    if trial is not None and (trials or len(runs) != 1):
        raise click.UsageError("--trial goes with one RUN, and without --trials.")
    if only_index:
        if runs:
            raise click.UsageError("--index does not go with RUN.")
        _write_index(reports_dir, as_json)
        return

    if len(runs) == 1 and runs[0].endswith(".ipynb"):
        _render(context, Path(runs[0]), renderer, pdf, as_json)
        return
    if not runs:
        raise click.MissingParameter(ctx=context, param_hint="'RUN...'", param_type="argument")

    if (paths := searched_runs(runs, searched["data"])) is not None:
        if len(paths) > 2:
            raise click.UsageError("one search run, or two to compare")
        _only(context, (*_OF_SEARCHES, *searched), "a search run")
        report_searches(
            paths,
            searched,
            reports_dir=reports_dir,
            as_json=as_json,
            force=force,
            privacy=privacy,
            renderer=renderer,
            pdf=pdf,
        )
        return

    keep = KeepUnchanged(force)
    stated = chosen_design(runs, runs_root, design, no_design)
    options: dict[str, Any] = {
        "reports_dir": reports_dir,
        "jobs": jobs,
        "runs_root": runs_root,
        "benchmarks_root": benchmarks_root,
        "output_dir": output_dir,
        "privacy": privacy,
        "renderer": renderer,
        "pdf": pdf,
        "keep": keep,
    }
    try:
        with progress_bar("cell") as progress:
            if trial is None:
                options |= {
                    "baseline_config": baseline_config,
                    "mcp_config": mcp_config,
                    "k_values": parse_k(k_values),
                    "seed": seed,
                    "trials": trials,
                } | ({} if stated is None else {"design": str(stated)})
                page = build(runs, progress=progress, **options)
            else:
                page = build_trial(runs, trial, progress=progress, **options)
    except NothingToEvaluateError:
        if trial is not None or not (inside := _runs_in(runs)):
            raise
        context.exit(_each_run(inside, options, as_json))
    keep.show(page, as_json=as_json)


def _runs_in(names: Sequence[str]) -> tuple[Path, ...]:
    """Return the runs in a folder that is none itself; nothing for other names."""
    from retrieval_eval.io.layout import discover, runs_inside
    from retrieval_eval.io.runs import is_folder

    if len(names) != 1 or not is_folder(names[0]):
        return ()
    folder = Path(names[0])
    found = discover(folder, folder.name)
    return runs_inside((trial.path for trial in found.trials), folder)


def _each_run(folders: Sequence[Path], options: dict[str, Any], as_json: bool) -> int:
    """Write the report of every run and the index of all; return the exit code.

    A run that has no report is named, and does not stop the others.
    """
    from retrieval_eval.report import build
    from retrieval_eval.report.index import write_index

    codes = [0]
    for folder in folders:
        try:
            with progress_bar("cell") as progress:
                build([str(folder)], progress=progress, **options)
        except RetrievalEvalError as error:
            codes.append(exit_code_of(error))
            echo(f"{folder}: {error}", err=True)
    index = write_index(options["reports_dir"])
    if as_json:
        print_json({"index": str(index.path), "n_reports": index.n_reports})
    else:
        echo(index.path)
    return max(codes)


def _render(
    context: click.Context, notebook: Path, renderer: Renderer, pdf: bool, as_json: bool
) -> None:
    """Write the page of an executed notebook beside it, and its PDF too with ``pdf``."""
    from retrieval_eval.report import render_notebook

    _only(context, _OF_NOTEBOOK, "a notebook")
    page = render_notebook(notebook, notebook.with_suffix(".html"), renderer=renderer)
    if pdf:
        render_notebook(notebook, notebook.with_suffix(".pdf"), renderer=renderer)
    if as_json:
        print_json({"report": str(page)})
    else:
        echo(page)


def _only(context: click.Context, names: Sequence[str], what: str) -> None:
    """Raise a usage error for an option that was given and is none of these."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is ParameterSource.COMMANDLINE and parameter.name not in names:
            option = parameter.opts[-1] if isinstance(parameter, click.Option) else "RUN"
            raise click.UsageError(f"{option} does not go with {what}")


def _copy_extension(context: click.Context, folder: Path | None) -> None:
    if folder is None or context.resilient_parsing:
        return
    from retrieval_eval.report.quarto import copy_extension

    echo(copy_extension(folder))
    context.exit()


def _write_index(reports_dir: Path, as_json: bool) -> None:
    from retrieval_eval.report.index import write_index

    written = write_index(reports_dir)
    for problem in written.problems:
        echo(problem, err=True)
    if as_json:
        print_json({"index": str(written.path), "n_reports": written.n_reports})
    else:
        echo(written.path)
