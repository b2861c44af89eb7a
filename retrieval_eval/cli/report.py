"""``retrieval-eval report``: evaluate runs and write their page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from retrieval_eval.cli.common import (
    FOLDER,
    KeepUnchanged,
    chosen_design,
    design_options,
    echo,
    evaluation_options,
    exit_code_of,
    json_option,
    k_option,
    parse_k,
    print_json,
    processes,
    progress_bar,
    reports_dir_option,
)
from retrieval_eval.cli.search_report import (
    holds_searches,
    report_searches,
    searched_options,
    searched_runs,
)
from retrieval_eval.errors import NothingToEvaluateError, RetrievalEvalError
from retrieval_eval.io.user_files import project
from retrieval_eval.records import Renderer

_OF_PAGES = ("runs", "reports_dir", "renderer", "pdf", "as_json")
_OF_SEARCHES = ("baseline", "gold", "accept", "noise", "mapping", "old_gold")


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@design_options
@evaluation_options
@k_option
@click.option("--trials", is_flag=True, help="Also write the page of every trial, step by step.")
@click.option(
    "--trial",
    metavar="NAME",
    help="Only the page of one trial: its name, NAME@CONFIG, or its task.",
)
@click.option("--privacy", is_flag=True, help="Leave out prompts, commands and file content.")
@click.option(
    "--index", "only_index", is_flag=True, help="Only list the reports below REPORTS_DIR anew."
)
@searched_options
@reports_dir_option
@click.option(
    "--renderer",
    type=click.Choice(get_args(Renderer)),
    default=lambda: project().renderer,
    help="auto (default): Quarto where it succeeds, else embedded.",
)
@click.option("--pdf", is_flag=True, help="Write a PDF beside the page (extra 'pdf').")
@click.option(
    "--quarto-extension",
    "extension",
    type=FOLDER,
    metavar="DIR",
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, folder: _copy_extension(context, folder),
    help="Only copy the Quarto extension with our formats into DIR.",
)
@json_option
@click.pass_context
def report(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    design: Path | None,
    no_design: bool,
    benchmarks_root: Path | None,
    output_dir: Path | None,
    k_values: str,
    trials: bool,
    trial: str | None,
    privacy: bool,
    only_index: bool,
    reports_dir: Path,
    renderer: Renderer,
    pdf: bool,
    as_json: bool,
    **searched: Any,
) -> None:
    """Write the self-contained page of what is named, and evaluate runs before where needed.

    RUN... are runs of agents, or a folder that holds several (a page each); a search run by file or
    label, or two of them; a folder of search runs; or an executed notebook (NOTEBOOK.ipynb). From
    --baseline to --old-gold options are for search runs. Tables and the notebook lie beside a page.
    REPORTS_DIR/index.html lists all. A page that was made of the same is kept.

    \b
    Examples:
      retrieval-eval report my_run --trials
      retrieval-eval report before after
    """  # noqa: D301  click reads the control character
    from retrieval_eval.report import build, build_history, build_trial

    if trial is not None and (trials or len(runs) != 1):
        raise click.UsageError("--trial goes with one RUN, and without --trials.")
    if only_index:
        if runs:
            raise click.UsageError("--index does not go with RUN.")
        _write_index(reports_dir, as_json)
        return

    if len(runs) == 1 and runs[0].endswith(".ipynb"):
        _only(context, [name for name in _OF_PAGES if name != "reports_dir"], "a notebook")
        _render(Path(runs[0]), renderer, pdf, as_json)
        return
    if not runs:
        raise click.MissingParameter(ctx=context, param_hint="'RUN...'", param_type="argument")

    keep = KeepUnchanged()
    page: dict[str, Any] = {
        "reports_dir": reports_dir,
        "renderer": renderer,
        "pdf": pdf,
        "keep": keep,
    }
    if (paths := searched_runs(runs)) is not None:
        if len(paths) > 2:
            raise click.UsageError("one search run, or two to compare")
        _only(context, (*_OF_PAGES, *_OF_SEARCHES, "privacy"), "a search run")
        with progress_bar("cell") as progress:
            made = report_searches(paths, progress=progress, privacy=privacy, **page, **searched)
        keep.show(made, as_json=as_json)
        return
    if len(runs) == 1 and holds_searches(Path(runs[0])):
        _only(context, _OF_PAGES, "a folder of search runs")
        with progress_bar("step") as progress:
            made = build_history(runs[0], progress=progress, **page)
        keep.show(made, as_json=as_json)
        return

    stated = chosen_design(runs, design, no_design)
    options: dict[str, Any] = {
        **page,
        "jobs": processes(),
        "benchmarks_root": benchmarks_root,
        "output_dir": output_dir,
        "privacy": privacy,
    }
    try:
        with progress_bar("cell") as progress:
            if trial is None:
                options |= {"k_values": parse_k(k_values), "trials": trials}
                options |= {} if stated is None else {"design": str(stated)}
                made = build(runs, progress=progress, **options)
            else:
                made = build_trial(runs, trial, progress=progress, **options)
    except NothingToEvaluateError:
        if trial is not None or not (inside := _runs_in(runs)):
            raise
        context.exit(_each_run(inside, options, as_json))
    keep.show(made, as_json=as_json)


def _runs_in(names: Sequence[str]) -> tuple[Path, ...]:
    """Return the runs in a folder that is none itself; nothing for other names."""
    from retrieval_eval.io.layout import discover, is_folder, runs_inside

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


def _render(notebook: Path, renderer: Renderer, pdf: bool, as_json: bool) -> None:
    """Write the page of an executed notebook beside it, and its PDF too with ``pdf``."""
    from retrieval_eval.report import render_notebook

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
