"""``retrieval-eval report``: evaluate runs and write their page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from retrieval_eval.cli.common import (
    FILE,
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
    together,
)
from retrieval_eval.cli.search_options import (
    JUSTIFICATION,
    NOISE,
    THRESHOLDS,
    accept_option,
    backlog_source,
    found_in_data,
    mapping_option,
    noise_option,
    old_gold_option,
    run_files,
)
from retrieval_eval.demo import write_demo
from retrieval_eval.errors import NothingToEvaluateError, RetrievalEvalError
from retrieval_eval.io.user_files import project
from retrieval_eval.records import Renderer

# --------------------------------------------------------------------------------------------------
# Pages of search runs, which `report` and `demo` make: their options, and the making.

searched_options = together(
    click.option(
        "--baseline",
        type=FILE,
        help="Search run to compare with, if not what the run was compared with.",
    ),
    click.option(
        "--gold",
        type=FILE,
        help="Gold set that was asked, to name what was missed.",
    ),
    noise_option,
    accept_option,
    mapping_option,
    old_gold_option,
)
"""What only pages of search runs take."""


def searched_runs(runs: Sequence[str]) -> list[Path] | None:
    """Return the files of search runs that are named by file or label; None where one is not."""
    from retrieval_eval.agents.door import holds_trials
    from retrieval_eval.errors import BadInputError
    from retrieval_eval.io.files import probe

    if not runs or any(probe(Path(run).is_dir) or holds_trials(Path(run)) for run in runs):
        return None
    try:
        return run_files(runs)
    except BadInputError:
        return None


def report_searches(
    paths: Sequence[Path],
    *,
    baseline: Path | None,
    gold: Path | None,
    accept: Sequence[str],
    mapping: Path | None,
    old_gold: Path | None,
    noise: Path | None,
    **page: Any,
) -> Path:
    """Write the page of a search run, or of two the page of their difference; return its path."""
    from retrieval_eval.report import build_diff, build_search

    stated = project()
    page |= {"noise": noise or found_in_data(NOISE) or ""}
    page |= {"mapping": mapping or "", "old_gold": old_gold or ""}
    if len(paths) == 2:
        page["accept"] = ",".join(accept)
        return build_diff(*paths, data=stated.data_folder, gold=gold or "", **page)
    labels = gold or _if_there(stated.gold_set)
    beside = labels and _if_there(labels.with_name("corpus.jsonl"))
    return build_search(
        paths[0],
        baseline=baseline or "",
        backlog=backlog_source() or "",
        gold=labels or "",
        corpus=stated.corpus_file or beside or "",
        thresholds=found_in_data(THRESHOLDS) or "",
        justification=found_in_data(JUSTIFICATION) or "",
        **page,
    )


def _if_there(path: Path) -> Path | None:
    return path if path.exists() else None


def holds_searches(folder: Path) -> bool:
    """Return whether a folder holds search runs, of which `search history` tells."""
    return next(folder.glob("eval-report-*.json"), None) is not None


def show_search_demo(*, reports_dir: Path, as_json: bool) -> None:
    """Measure search on an invented collection, and print its page and the same steps by hand."""
    from retrieval_eval.report.building import build_demo

    with progress_bar("step") as progress:
        made, demo = build_demo(
            reports_dir=reports_dir, renderer=project().renderer, progress=progress
        )
    if as_json:
        commands = list(demo.commands)
        print_json({"report": str(made), "run": demo.sources["run"], "commands": commands})
        return
    echo("The same by hand:")
    for command in demo.commands:
        echo(f"  {command}")
    echo(made)


# --------------------------------------------------------------------------------------------------
# ``retrieval-eval report``: evaluate runs and write their page.

_OF_PAGES = ("runs", "reports_dir", "renderer", "pdf", "as_json")
_OF_SEARCHES = ("baseline", "gold", "accept", "noise", "mapping", "old_gold")


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@design_options
@evaluation_options
@k_option
@click.option("--trials", is_flag=True, help="Also write the page of every trial, step by step.")
@click.option("--details", is_flag=True, help="Also write what defends the numbers.")
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
    details: bool,
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

    if trial is not None and (trials or details or len(runs) != 1):
        raise click.UsageError("--trial goes with one RUN, and without --trials and --details.")
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
                options |= {"k_values": parse_k(k_values), "trials": trials, "details": details}
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


# --------------------------------------------------------------------------------------------------
# ``retrieval-eval demo``: a complete report on a simulated run, without any setup.


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
    from retrieval_eval.agents.runs.layout import DEMO
    from retrieval_eval.report import build

    if what == "search":
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
