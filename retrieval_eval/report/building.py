"""From run ids to a report folder: evaluate, execute, render, and the tables as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from retrieval_eval.errors import RenderError
from retrieval_eval.escape import slug, visible
from retrieval_eval.pipeline.roots import DEMO
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report import assets, parameters
from retrieval_eval.report.columns import FRAMES
from retrieval_eval.report.loading import load_run, split_run_ids
from retrieval_eval.report.publishing import Files, publish, write_frame, write_frames
from retrieval_eval.report.run import Run
from retrieval_eval.report.run_view import RunView
from retrieval_eval.report.sections.tasks import task_rows
from retrieval_eval.report.sections.trial import TrialReport

Notebook = Literal["run_report", "compare_runs"]
NOTEBOOKS: Final[dict[str, str]] = {"run_report": "", "compare_runs": "compare"}
"""Notebook of a report over runs to its folder below that of the runs."""

RUN_PARAMETERS: Final = (
    "runs_root",
    "benchmarks_root",
    "output_dir",
    "baseline_config",
    "mcp_config",
    "k_values",
    "seed",
    "mcp_configs",
)


def build(
    run_ids: str | Path | Sequence[str | Path],
    *,
    reports_dir: Path,
    notebook: Notebook = "run_report",
    renderer: Renderer = "auto",
    pdf: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
    **given: Any,
) -> Path:
    """Write the report of one or several runs and return the path of its page.

    Parameters
    ----------
    run_ids
        As for :func:`retrieval_eval.report.load_run`.
    reports_dir
        The report goes to ``<reports_dir>/<run_id>/index.html``, with the executed notebook and
        the CSV of every frame beside it; that of ``compare_runs`` one folder deeper, to
        ``<reports_dir>/<run_id>/compare/index.html``.
    notebook
        ``run_report`` describes the runs together; ``compare_runs`` compares their configurations,
        and tells a configuration that several runs have apart by run, unless its parameter
        ``separate_runs`` is False.
    renderer
        ``embedded``, or ``quarto``, which needs Quarto on PATH; ``auto`` is Quarto where it is,
        and where it fails the embedded one, with a ``FallbackWarning``.
    pdf
        Also write ``report.pdf``.
    jobs
        Processes to evaluate trials with.
    progress
        Called with steps done, steps in all, and what is being done.
    **given
        Parameters of the notebook; None means the default.

    Raises
    ------
    BadInputError
        When a run does not exist, or a parameter is unknown or of the wrong type.
    NothingToEvaluateError
        When there is no trial.
    RenderError
        When a cell fails or the page cannot be rendered.
    """
    if notebook not in NOTEBOOKS:
        raise RenderError(f"there is no notebook '{notebook}'; choose {', '.join(NOTEBOOKS)}")
    names = split_run_ids(run_ids)
    base = reports_dir / folder_name(names)
    values = {"run_id": ", ".join(names), **_given(given)}
    if names == [DEMO] and not values.get("runs_root"):
        values.setdefault("output_dir", str(base / "data"))
    run = _load(names, values, notebook, progress, jobs)
    folder = base / NOTEBOOKS[notebook]
    is_simulated = run.n_simulated > 0
    return _report(notebook, run, values, folder, is_simulated, renderer, pdf, progress)


def build_trial(
    run_ids: str | Path | Sequence[str | Path],
    trial: str,
    *,
    reports_dir: Path,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    **given: Any,
) -> Path:
    """Write the step-by-step report of one trial and return the path of its page.

    ``trial`` is a trial name, or a task name, which means its first trial by config and name.
    The report goes to ``<reports_dir>/<run_id>/trials/<trial>/index.html``, with ``config`` to
    ``<trial>@<config>``. Parameters and errors are those of :func:`build`.
    """
    names = split_run_ids(run_ids)
    base = reports_dir / folder_name(names)
    values = {"run_id": ", ".join(names), "trial": trial, **_given(given)}
    if names == [DEMO] and not values.get("runs_root"):
        values.setdefault("output_dir", str(base / "data"))
    run = _load(names, values, "trial_report", progress)
    config = str(values.get("config", ""))
    is_simulated = TrialReport(run, trial, config=config).trial["is_simulated"] is True
    folder = base / "trials" / trial_folder(trial, config)
    return _report("trial_report", None, values, folder, is_simulated, renderer, pdf, progress)


def folder_name(names: Sequence[str]) -> str:
    """Return the name of the report folder of some runs.

    Examples
    --------
    >>> folder_name(["staging/a", "b"])
    'a+b'
    """
    return slug("+".join(_ids(names)))


def trial_folder(trial: str, config: str = "") -> str:
    """Return the name of the folder of a trial's report; two configs may have one of a name.

    Examples
    --------
    >>> trial_folder("task-one"), trial_folder("task-one", "baseline")
    ('task-one', 'task-one@baseline')
    """
    return slug(f"{trial}@{config}" if config else trial)


def _ids(names: Sequence[str]) -> list[str]:
    """Return the ids of runs, of which some may be given as paths."""
    return [Path(name).name or name for name in names]


def _given(given: Mapping[str, Any]) -> dict[str, Any]:
    plain = {k: str(v) if isinstance(v, Path) else v for k, v in given.items() if v is not None}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}


def _load(
    names: Sequence[str],
    values: Mapping[str, Any],
    notebook: str,
    progress: Progress | None,
    jobs: int = 1,
) -> Run:
    """Check the parameters, then evaluate here, so that a bad input never starts a kernel."""
    parameters.check(values, parameters.of_notebook(assets.notebook(notebook)))
    chosen = {name: values[name] for name in RUN_PARAMETERS if name in values}
    is_separate = values.get("separate_runs", notebook == "compare_runs")
    run = load_run(names, **chosen, separate_runs=is_separate, jobs=jobs, progress=progress)
    _ = run.comparison
    return run


def _report(
    notebook: str,
    run: Run | None,
    values: dict[str, Any],
    folder: Path,
    is_simulated: bool,
    renderer: Renderer,
    as_pdf: bool,
    progress: Progress | None,
) -> Path:
    def tables(place: Path) -> Files:
        return write_tables(run, place, privacy=values.get("privacy") is True) if run else []

    return publish(
        notebook,
        values,
        folder,
        title=visible(f"Retrieval report: {', '.join(_ids(split_run_ids(values['run_id'])))}", 120),
        is_simulated=is_simulated,
        tables=tables,
        renderer=renderer,
        pdf=as_pdf,
        progress=progress,
    )


def write_tables(run: Run, folder: Path, *, privacy: bool) -> Files:
    """Write every frame and the table of all tasks as CSV; return file names and meanings."""
    import pandas as pd

    appendix = pd.DataFrame(task_rows(RunView(run)))
    return [
        *write_frames(run, FRAMES, folder, without=("arguments",) if privacy else ()),
        write_frame(
            "appendix",
            "one row a task, as in the section All tasks",
            appendix,
            folder,
            is_simulated=run.n_simulated > 0,
        ),
    ]
