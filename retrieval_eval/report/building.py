"""From names of runs to a report folder: load, execute, render, and the tables as CSV."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from retrieval_eval.agents.door import name_of_run
from retrieval_eval.agents.runs.fingerprint import combined
from retrieval_eval.agents.runs.layout import is_demo
from retrieval_eval.errors import BadInputError, RenderError, RetrievalEvalError
from retrieval_eval.escape import markdown_text, slug, visible
from retrieval_eval.io.files import remove, write_json, write_text
from retrieval_eval.model import to_builtins
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report import notebook_files, render
from retrieval_eval.report.columns import DIFF_FRAMES, FRAMES, SEARCH_FRAMES
from retrieval_eval.report.execute import Kernel, check, of_notebook
from retrieval_eval.report.exhibits import Empty, Link, Table, section
from retrieval_eval.report.index import DETAILS, RUN_NOTEBOOK, TRIALS, Listed, newest
from retrieval_eval.report.loading import (
    as_text,
    is_demo_diff,
    kept_loaded,
    load_diff,
    load_run,
    load_search,
    of_demo,
    split_run_ids,
)
from retrieval_eval.report.notebook_files import notebook_of
from retrieval_eval.report.provenance import input_digest
from retrieval_eval.report.publishing import (
    PARAMETERS,
    Files,
    Keep,
    digest_of,
    is_current,
    publish,
    read_executed,
    write_frame,
    write_frames,
)
from retrieval_eval.report.query_pages import write_pages
from retrieval_eval.report.run import Run
from retrieval_eval.report.search_diff import SearchDiff
from retrieval_eval.report.search_run import SearchRun
from retrieval_eval.report.searched import Searched
from retrieval_eval.report.table.study import task_means
from retrieval_eval.report.trial import QUOTING, Trial
from retrieval_eval.report.words import VERDICTS
from retrieval_eval.search.demo import DEMO_FOLDER, MeasuredDemo, measured_demo, measured_history
from retrieval_eval.search.demo import is_demo as is_search_demo

COMPARED: Final = "compare"
"""Folder, below that of the runs, of a page that compares configurations that were named."""

PAGE: Final = "index.html"
SEARCH_FOLDER: Final = "search"
WHOLE: Final = "diff.json"
PRIVATE_COLUMNS: Final = ("query", "error", "claim", "reasons", "labeller_a", "labeller_b")
"""Columns of search frames that private tables leave out."""

SEARCH_FILES: Final = (
    *("run", "baseline", "gold", "corpus", "queries"),
    *("noise", "thresholds", "justification", "mapping", "old_gold"),
)
"""Parameters of the search notebooks that name a file."""

SHOWN: Final = ("file_recall", "ndcg@10", "ttfr_seconds", "reward", "cost_usd")
"""Metrics of the table of all tasks."""

RUN_PARAMETERS: Final = (
    "runs_root",
    "benchmarks_root",
    "output_dir",
    "baseline_config",
    "mcp_config",
    "k_values",
    "seed",
    "mcp_configs",
    "separate_runs",
    "design",
    "where",
)


@kept_loaded()
def build(
    run_ids: str | Path | Sequence[str | Path],
    *,
    reports_dir: Path,
    is_compared: bool = False,
    details: bool = False,
    renderer: Renderer = "auto",
    pdf: bool = False,
    trials: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
    keep: Keep | None = None,
    **given: Any,
) -> Path:
    """Write the report of one or several runs and return the path of its page.

    Parameters
    ----------
    run_ids
        As for :func:`retrieval_eval.report.load_run`.
    reports_dir
        The report goes to ``<reports_dir>/<run_id>/index.html``, with the executed notebook and
        the CSV of every frame beside it. That of a run of one trial is the page of the trial.
    is_compared
        Whether it is about configurations that were named: it then goes one folder deeper, to
        ``<reports_dir>/<run_id>/compare/index.html``, and a configuration that several runs have
        is distinguished by run, unless the parameter ``separate_runs`` is False.
    details
        Also write the page of details, ``details/index.html`` beside it, and link it.
    renderer
        ``embedded``, or ``quarto``, which needs Quarto on PATH; ``auto`` is Quarto where it is,
        and where it fails the embedded one, with a ``FallbackWarning``.
    pdf
        Also write ``report.pdf``.
    trials
        Also write the page of every trial, as :func:`build_trial` does, and link them; those that
        nothing has changed for are not written again.
    jobs
        Processes to evaluate trials with.
    progress
        Called with steps done, steps in all, and what is being done.
    keep
        Called with the path of the page, and whether the one there was made from the same
        parameters, inputs and code; where it returns True, that one is kept.
    **given
        Parameters of the notebook; None means the default.

    Raises
    ------
    BadInputError
        When a run does not exist, or a parameter is unknown or of the wrong type.
    NothingToEvaluateError
        When there is no trial.
    RenderError
        When a cell fails or the page cannot be rendered, or, when all else is written, the page of
        a trial could not be.
    """
    notebook = "run_report"
    names = split_run_ids(run_ids)
    base = reports_dir / folder_name(names)
    values = {"run_id": ", ".join(names), **_given(given)}
    if is_demo(names, values.get("runs_root")):
        values.setdefault("output_dir", str(base / "data"))
    if is_compared:
        values.setdefault("separate_runs", True)
    run = _load(names, values, notebook, progress, jobs)
    folder = base / COMPARED if is_compared else base
    # Of hundreds of pages Quarto would take seconds for each, and show the same.
    of_trials: Renderer = "embedded" if renderer == "auto" else renderer
    own = _as_found(run, names, values, jobs) if is_compared else run
    pages = TrialPages(own, base, values, of_trials, pdf=pdf)
    pages.links["run_page"] = not is_compared or (base / PAGE).is_file()
    broken = pages.write_all(progress) if trials else []
    has_pages = trials or pages.are_current()
    values["trial_pages"] = (f"../{TRIALS}" if is_compared else TRIALS) if has_pages else ""
    listed = _listed(run, reports_dir)
    if len(run.trial_files) == 1 and not is_compared:
        return pages.write_only(folder, progress, keep=keep, listed=listed, renderer=renderer)
    own_page: dict[str, Any] = {"renderer": renderer, "pdf": pdf, "progress": progress}
    if details:
        places = values["trial_pages"] and f"../{values['trial_pages']}"
        more = {**values, "run_page": True, "trial_pages": places}
        _report("run_details", run, more, folder / DETAILS, None, keep=_same, **own_page)
    if details or (folder / DETAILS / PAGE).is_file():
        values["details"] = f"{DETAILS}/{PAGE}"
    page = _report(notebook, run, values, folder, listed, keep=keep, **own_page)
    if broken:
        raise RenderError(
            f"{len(broken)} of {len(run.trial_files)} pages of trials could not be made, and say "
            f"why; the others and the report, {page}, are there: {'; '.join(broken)}"
        )
    return page


def build_details(folder: Path) -> Path:
    """Write the page of details of a report that is there, and its link; return its path.

    ``folder`` is that of the report; its executed notebook says what it was made with.

    Raises
    ------
    BadInputError
        When the folder holds no report of a run, or a private one, which does not say what it was
        made with; otherwise as :func:`build`.
    """
    made_with = read_executed(folder / RUN_NOTEBOOK).metadata.get("papermill")
    given = made_with.get("parameters") if isinstance(made_with, Mapping) else None
    if not isinstance(given, Mapping):
        raise BadInputError(f"{folder}: a private report; retrieval-eval report RUN --details")
    own = of_notebook(notebook_files.notebook("run_report")).keys() - {"details", "trial_pages"}
    given = {name: given[name] for name in own & given.keys()}
    is_compared = folder.name == COMPARED
    build(
        str(given.pop("run_id", "")),
        reports_dir=folder.parent.parent if is_compared else folder.parent,
        is_compared=is_compared,
        details=True,
        pdf=(folder / "report.pdf").is_file(),
        **given,
    )
    return folder / DETAILS / PAGE


@kept_loaded()
def build_trial(
    run_ids: str | Path | Sequence[str | Path],
    trial: str,
    *,
    reports_dir: Path,
    config: str = "",
    batch: str = "",
    renderer: Renderer = "auto",
    pdf: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
    keep: Keep | None = None,
    **given: Any,
) -> Path:
    """Write the page of one trial, step by step, and return its path.

    ``trial`` is a trial name, or a task name, which means its first trial by config and name. The
    page goes to ``<reports_dir>/<run_id>/trials/<trial>@<config>/index.html``, whichever way the
    trial was named. It links the page of the run where there is one, and those of other trials
    where every trial has one. Other parameters and errors are those of :func:`build`.
    """
    names = split_run_ids(run_ids)
    base = reports_dir / folder_name(names)
    values = {"run_id": ", ".join(names), **_given(given)}
    if is_demo(names, values.get("runs_root")):
        values.setdefault("output_dir", str(base / "data"))
    run = _load(names, values, "trial_report", progress, jobs)
    found = run.trial(trial, config=config, batch=batch)
    pages = TrialPages(run, base, values, renderer, pdf=pdf)
    if found.place is None or not pages.are_current():
        pages.links = {"run_page": (base / PAGE).is_file(), "trial_pages": False}
    measured = newest(s.generated_at for s in run.summaries)
    listed = Listed(reports_dir, measured, n_trials=1)
    return pages.write(found, progress, keep=keep, listed=listed)


class TrialPages:
    """The pages of the trials of a run, each in a folder of its own below ``base``.

    ``links`` says which other pages they link: by default those of the run and of all trials.
    """

    def __init__(
        self, run: Run, base: Path, values: Mapping[str, Any], renderer: Renderer, *, pdf: bool
    ) -> None:
        self.run = run
        self.base = base
        # A program started for each of a thousand pages would take hours.
        self.renderer: Renderer = "embedded" if renderer == "auto" else renderer
        self.pdf = pdf
        self.links = {"run_page": True, "trial_pages": True}
        known = of_notebook(notebook_files.notebook("trial_report"))
        self.values = {k: v for k, v in values.items() if k in known}

    def folder(self, trial: Trial) -> Path:
        """Return where the page of a trial goes."""
        if trial.place is not None:
            return self.base / "trials" / self.run.trial_folders[trial.place]
        # No trial has this name, for theirs are of 120 characters or have an @.
        digest = combined([trial.name])[:12]
        return self.base / "trials" / f"excluded-{slug(trial.name)[:80].replace('@', '_')}-{digest}"

    def are_current(self) -> bool:
        """Return whether every trial has a page that nothing has changed for."""
        return all(map(self._is_current, range(len(self.run.trial_files))))

    def write_all(self, progress: Progress | None = None) -> list[str]:
        """Write the page of every trial; return those that could not be, each with the error.

        In place of such a page is one that says why, so that what links it does not lead nowhere.
        """
        broken = []
        n = len(self.run.trial_files)
        with Kernel() as kernel:
            for place in range(n):
                trial = Trial(self.run, place)
                if progress is not None:
                    progress(place, n, trial.name)
                try:
                    self.write(trial, kernel=kernel)
                except RetrievalEvalError as error:
                    broken.append(f"{visible(trial.name, 120)}: {visible(str(error), 300)}")
                    self._write_failure(trial, str(error))
        return broken

    def write(
        self,
        trial: Trial,
        progress: Progress | None = None,
        *,
        kernel: Kernel | None = None,
        keep: Keep | None = None,
        listed: Listed | None = None,
    ) -> Path:
        """Write the page of a trial and return its path; by default unless nothing has changed."""
        return publish(
            "trial_report",
            self._values(trial),
            self.folder(trial),
            title=visible(f"Trial {trial.name}", 120),
            is_simulated=trial.is_simulated,
            renderer=self.renderer,
            pdf=self.pdf,
            progress=progress,
            kernel=kernel,
            listed=listed,
            inputs=self._inputs(trial),
            keep=keep or (lambda _, is_same: is_same),
        )

    def write_only(self, folder: Path, progress: Progress | None, **page: Any) -> Path:
        """Write the page of the only trial of a run as that of the run, and return its path."""
        trial = Trial(self.run, 0)
        self.links = {"run_page": False, "trial_pages": False}
        return publish(
            "trial_report",
            self._values(trial),
            folder,
            title=visible(f"Trial {trial.name}", 120),
            is_simulated=trial.is_simulated,
            tables=lambda place: write_tables(self.run, place, privacy=trial.privacy),
            pdf=self.pdf,
            progress=progress,
            inputs=self._inputs(trial),
            **page,
        )

    def _values(self, trial: Trial) -> dict[str, Any]:
        """Return the parameters of the notebook for a trial, which name no other."""
        name, config = trial.name, trial.files.entry.config_name if trial.files else ""
        if trial.place is not None and self.run.trial(name, config=config).place != trial.place:
            name, config = self.run.trial_folders[trial.place], ""
        return {**self.values, "trial": name, "config": config, **self.links}

    def _is_current(self, place: int) -> bool:
        trial = Trial(self.run, place)
        return is_current(
            "trial_report",
            self._values(trial),
            self.folder(trial),
            renderer=self.renderer,
            pdf=self.pdf,
            inputs=self._inputs(trial),
        )

    def _inputs(self, trial: Trial) -> str:
        """Return a digest of the documents that the page of a trial is made from, and its links."""
        metrics = trial.files.metrics if trial.files else None
        fingerprint = metrics and metrics.input_fingerprint
        links = list(trial.linked_pages(**self.links))
        return digest_of(fingerprint, str(trial.excluded), links)

    def _write_failure(self, trial: Trial, reason: str) -> None:
        """Write a page that says why there is no other, and that is made again the next time."""
        folder = self.folder(trial)
        remove(folder / PARAMETERS, folder)
        said = f"This page could not be made: {reason.splitlines()[0].rstrip('.')}."
        pages = [
            (row["page"], row["trial_name"], row["href"])
            for row in trial.linked_pages(**self.links)
        ]
        rows = tuple((page, Link(name, href)) for page, name, href in pages)
        others = Table(
            "pages", "Other pages of this report", ("Page", "Of"), rows, ("left", "left")
        )
        shown = section("The page of this trial is missing", Empty("failure", said), others)
        notebook = notebook_of(f"# Trial {markdown_text(trial.name)}", shown)
        page = render.to_html(notebook, title=visible(f"Trial {trial.name}", 120), footer="")
        write_text(folder / PAGE, page)


def folder_name(names: Sequence[str]) -> str:
    """Return the name of the report folder of some runs.

    Examples
    --------
    >>> folder_name(["staging/a", "b"])
    'a+b'
    """
    return slug("+".join(_ids(names)))


def _ids(names: Sequence[str]) -> list[str]:
    """Return the ids of runs, of which some may be given as paths."""
    return [name_of_run(Path(name)) or name for name in names]


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
    check(values, of_notebook(notebook_files.notebook(notebook)))
    chosen = {name: values[name] for name in RUN_PARAMETERS if name in values}
    run = load_run(names, **chosen, jobs=jobs, progress=progress)
    _ = run.study
    return run


def _as_found(run: Run, names: Sequence[str], values: Mapping[str, Any], jobs: int) -> Run:
    """Return the runs with the names that they give their configurations.

    Each trial has one page, whatever a comparison calls its configuration.
    """
    if len(names) == 1 or not values.get("separate_runs", True):
        return run
    roots = ("runs_root", "benchmarks_root", "output_dir", "k_values", "seed")
    return load_run(names, **{name: values[name] for name in roots if name in values}, jobs=jobs)


def _listed(run: Run, reports_dir: Path) -> Listed:
    led = run.study.record
    verdict = VERDICTS.get(led.verdict, "") if led.comparison_config else ""
    measured = newest(s.generated_at for s in run.summaries)
    return Listed(reports_dir, measured, verdict, n_trials=len(run.trial_files))


def _report(
    notebook: str,
    run: Run,
    values: dict[str, Any],
    folder: Path,
    listed: Listed | None,
    **page: Any,
) -> Path:
    def tables(place: Path) -> Files:
        return write_tables(run, place, privacy=values.get("privacy") is True)

    return publish(
        notebook,
        values,
        folder,
        title=_title(notebook, folder, values),
        is_simulated=run.n_simulated > 0,
        tables=tables if notebook == "run_report" else None,
        inputs=input_digest(run),
        listed=listed,
        **page,
    )


def _title(notebook: str, folder: Path, values: Mapping[str, Any]) -> str:
    runs = ", ".join(_ids(split_run_ids(values["run_id"])))
    kind = "Comparison" if folder.name == COMPARED else "Retrieval report"
    return visible(f"{'Details' if notebook == 'run_details' else kind}: {runs}", 120)


def _same(_: Path, is_same: bool) -> bool:
    """Keep a page that was made of the same."""
    return is_same


def write_tables(run: Run, folder: Path, *, privacy: bool) -> Files:
    """Write every frame and the table of all tasks as CSV; return file names and meanings."""
    appendix = task_means(run.trials, SHOWN, run.configs)
    if run.study.comparison:
        pairs = run.study.pairs[run.study.pairs["metric"] == "file_recall"]
        keys = ["benchmark", "task_name"]
        found = pairs[[*keys, "difference"]].rename(
            columns={"difference": "file_recall:difference"}
        )
        appendix = appendix.merge(found, on=keys, how="left")
    return [
        *write_frames(run, FRAMES, folder, without=("arguments", *QUOTING) if privacy else ()),
        write_frame(
            "appendix",
            "one row a task: the means of every configuration",
            appendix,
            folder,
            is_simulated=run.n_simulated > 0,
        ),
    ]


# --- search ---


def build_search(
    run: str | Path,
    *,
    reports_dir: Path,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    keep: Keep | None = None,
    **given: Any,
) -> Path:
    """Write the report of a search run and return the path of its page.

    Parameters
    ----------
    run, given
        As for :func:`retrieval_eval.report.load_search`: ``given`` are its other arguments.
    reports_dir
        The report goes to ``<reports_dir>/search/<label>/index.html``, named after the file where
        the run has no label, with pages of every query and document, the executed notebook and the
        CSV of every frame beside it; the demonstration's to
        ``<reports_dir>/search-demo/index.html``. A backlog is counted once and kept beside the page
        as ``backlog.json``, so that no address of a database is in it.
    renderer, pdf, progress, keep
        As for :func:`build`.

    Raises
    ------
    BadInputError
        When a file does not exist or is of the wrong kind.
    RenderError
        When a cell fails or the page cannot be rendered.
    """
    page: dict[str, Any] = {"renderer": renderer, "pdf": pdf, "progress": progress}
    if is_search_demo(str(run)):
        return build_demo(reports_dir=reports_dir, privacy=given.get("privacy", False), **page)[0]
    values = _given({"run": as_text(run), **given})
    loaded = load_search(**values, pages=True)
    folder = reports_dir / SEARCH_FOLDER / slug(loaded.name)
    return _search_report(loaded, values, folder, reports_dir, keep=keep, **page)


def build_demo(
    *, reports_dir: Path, privacy: bool = False, progress: Progress | None = None, **page: Any
) -> tuple[Path, MeasuredDemo]:
    """Measure the demonstration, write its report, and return its page and what was measured."""
    folder = reports_dir / DEMO_FOLDER
    made = measured_demo(folder / "data", progress=progress)
    past = measured_history(folder / "data", progress=progress)
    command = shlex.join(("retrieval-eval", "search", "history", str(past)))
    made = replace(made, commands=(*made.commands, command))
    values: dict[str, Any] = {**made.sources, "privacy": privacy}
    loaded = load_search(**values, pages=True)
    return _search_report(loaded, values, folder, reports_dir, progress=progress, **page), made


def build_diff(
    a: str | Path,
    b: str | Path = "",
    *,
    reports_dir: Path,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    keep: Keep | None = None,
    loaded: SearchDiff | None = None,
    **given: Any,
) -> Path:
    """Write the report of what changed from one search run to another; return its page.

    Parameters
    ----------
    a, b, given
        As for :func:`retrieval_eval.report.load_diff`: ``given`` are its other arguments.
    reports_dir
        The report goes to ``<reports_dir>/search/diff/<A>-<B>/index.html``, by the labels, with
        pages of every query and document, the executed notebook, the CSV of every frame and
        ``diff.json`` beside it; the demonstration's to
        ``<reports_dir>/search-demo/diff/index.html``. A private one has no ``diff.json``.
    renderer, pdf, progress, keep
        As for :func:`build`.
    loaded
        What :func:`retrieval_eval.report.load_diff` returned for these arguments and ``pages``,
        so that large runs are not compared again; None: it is loaded here.

    Raises
    ------
    BadInputError
        When a run does not exist or is of the wrong kind.
    NothingToEvaluateError
        When the runs did not measure the same thing, and that was not accepted.
    RenderError
        When a cell fails or the page cannot be rendered.
    """
    values = _given({"a": as_text(a), "b": as_text(b), **given})
    made = reports_dir / DEMO_FOLDER if is_demo_diff(values["a"], values["b"]) else None
    if made is not None:
        values = of_demo(measured_demo(made / "data", progress=progress), values)
    loaded = loaded or load_diff(**values, pages=True)
    own = reports_dir / SEARCH_FOLDER / "diff" / slug("-".join(loaded.labels))
    page: dict[str, Any] = {"renderer": renderer, "pdf": pdf, "progress": progress}
    folder = own if made is None else made / "diff"
    return _search_report(loaded, values, folder, reports_dir, keep=keep, **page)


def _search_report(
    loaded: SearchRun | SearchDiff,
    given: Mapping[str, Any],
    folder: Path,
    reports_dir: Path,
    **page: Any,
) -> Path:
    """Write the report of what was loaded, with its pages of queries and documents."""
    is_run = isinstance(loaded, SearchRun)
    notebook = "search_report" if is_run else "search_diff"
    known = of_notebook(notebook_files.notebook(notebook))
    values = {name: given.get(name, p.default) for name, p in known.items()} | {"pages": True}
    if isinstance(loaded, SearchRun):
        title = f"Search report: {loaded.name}"
        counted = folder / "backlog.json"
        remove(counted, folder)
        if values["backlog"] and loaded.backlog is not None:
            names = ("other_statuses",) if loaded.privacy else ()
            kept = {name: n for name, n in loaded.backlog.items() if name not in names}
            write_json(counted, kept, indent=1)
            values["backlog"] = str(counted)
        documents: list[Any] = [loaded.backlog]
    else:
        title = f"Search difference: {' to '.join(loaded.labels)}"
        values["flag_points"] = float(values["flag_points"])
        guard = loaded.guard
        documents = [loaded.document, guard]
    title = visible(title, 120)
    files = [Path(values[name]) for name in SEARCH_FILES if values.get(name)]

    def tables(place: Path) -> Files:
        return [*write_pages(loaded, place, title=title), *write_search_tables(loaded, place)]

    measured = newest(run.generated_at for run in loaded.runs)
    return publish(
        notebook,
        values,
        folder,
        title=title,
        is_simulated=loaded.n_simulated > 0,
        tables=tables,
        inputs=digest_of(*documents, loaded.before, *loaded.runs, *files),
        listed=Listed(
            reports_dir,
            measured,
            n_queries=loaded.n_compared,
            n_queries_moved=None if loaded.change is None else len(loaded.moved),
        ),
        **page,
    )


def write_search_tables(loaded: Searched, folder: Path) -> Files:
    """Write every frame as CSV, of a difference also it itself; return files and meanings."""
    without = PRIVATE_COLUMNS if loaded.privacy else ()
    if not isinstance(loaded, SearchDiff):
        return write_frames(loaded, SEARCH_FRAMES, folder, without=without)
    found = list(write_frames(loaded, DIFF_FRAMES, folder, without=without))
    # What an earlier report left there has the texts of queries.
    remove(folder / WHOLE, folder)
    if not loaded.privacy:
        write_json(folder / WHOLE, to_builtins(loaded.document), indent=1)
        found.append((WHOLE, "the whole difference"))
    return found
