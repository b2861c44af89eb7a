"""From a notebook and its parameters to a report folder, which has these conventions.

===================  ==============================================================================
``index.html``       the page; ``report.pdf`` the same in print
``report.json``      what the index of all reports says of it
``<notebook>.ipynb`` the executed notebook
``params.yml``       what it was made with; executing it again gives the same page
``versions.csv``     this package, Python and libraries, digests of the inputs, the code, the page
``<frame>.csv``      every frame
``figures/*.csv``    the data of every figure
===================  ==============================================================================
"""

from __future__ import annotations

import hashlib
import platform
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from retrieval_eval import __version__
from retrieval_eval.agents.runs.fingerprint import combined
from retrieval_eval.distribution import NAME
from retrieval_eval.errors import BadInputError, FallbackWarning, RenderError
from retrieval_eval.escape import slug, visible
from retrieval_eval.io.artefacts import canonical
from retrieval_eval.io.files import (
    csv_text,
    decode,
    entries,
    files_below,
    probe,
    read_bytes,
    read_text,
    remove,
    write_bytes,
    write_text,
    yaml_text,
)
from retrieval_eval.io.locks import alone
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report import index, notebook_files, quarto, render, simulated
from retrieval_eval.report.columns import Frames
from retrieval_eval.report.execute import OF_PAGE, Kernel, execute, of_notebook
from retrieval_eval.report.exhibits import FIGURE_DATA
from retrieval_eval.report.notebook_files import notebook_text, read_notebook
from retrieval_eval.report.provenance import (
    FOLDERS,
    LIBRARIES,
    commit,
    library_version,
    package_version,
)
from retrieval_eval.report.render import to_pdf

if TYPE_CHECKING:
    import pandas as pd

Files = list[tuple[str, str]]
"""Names of files beside the page, and what they hold."""

Keep = Callable[[Path, bool], bool]
"""Called before a page is made, with its path and whether the one there was made from the same
parameters, inputs and code; it returns whether that one is kept."""

PARAMETERS: Final = "params.yml"
VERSIONS: Final = "versions.csv"
FIGURE_FOLDER: Final = "figures"
SHORT: Final = ("run_report", "trial_report", "search_report", "search_diff")
"""Notebooks whose pages leave out what has nothing to show, and only count the files beside."""


def publish(
    notebook: str,
    values: Mapping[str, Any],
    folder: Path,
    *,
    title: str,
    is_simulated: bool = False,
    tables: Callable[[Path], Files] | None = None,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    kernel: Kernel | None = None,
    inputs: str = "",
    keep: Keep | None = None,
    listed: index.Listed | None = None,
) -> Path:
    """Execute a shipped notebook, render it into ``folder`` and return the path of the page.

    Parameters
    ----------
    notebook
        Its name, such as ``run_report``.
    values
        Parameters of the notebook.
    title
        Title of the page; also in its footer.
    is_simulated
        Whether simulated data is in it, which the titles of page and notebook then say.
    tables
        Writes files into the folder and says which; they are linked at the end of the page.
    renderer, pdf, progress
        As for :func:`retrieval_eval.report.build`.
    kernel
        As for :func:`~retrieval_eval.report.execute.execute`.
    inputs
        Digest of everything the page is made from but the parameters and the code.
    keep
        Decides whether a page that is there is kept.
    listed
        What the index of all reports says of it; by default it is not entered there.

    Raises
    ------
    BadInputError
        When another process makes the page now, or a file cannot be written.
    RenderError
        When the renderer is unknown or missing, a cell fails or the page cannot be rendered.
    """
    chosen = chosen_renderer(renderer)
    executed = folder / f"{notebook}.ipynb"
    page, printed = folder / "index.html", folder / "report.pdf"
    if keep is not None:
        is_same = is_current(notebook, values, folder, renderer=renderer, pdf=pdf, inputs=inputs)
        if keep(page, is_same):
            return page
    with alone(page, "makes this page"):
        source = notebook_files.notebook(notebook)
        execute(source, executed, values, progress=progress, kernel=kernel, here=True)
        # The tables are about to change: no former page may lie beside them, whatever fails below.
        for former in (folder / PARAMETERS, page, printed, folder / index.ENTRY):
            remove(former, folder)
        done = read_notebook(executed)
        if values.get("privacy") is True:
            _hide_folders(done, values)
        if is_simulated:
            title = f"{simulated.TITLE}{title}"
            simulated.mark_title(done)
        files = [
            (executed.name, "the executed notebook"),
            (PARAMETERS, "the parameters it was made with"),
            (VERSIONS, "versions of this package and of libraries, digests of inputs and code"),
            *(tables(folder) if tables else []),
            *write_figure_data(done, folder, is_simulated=is_simulated),
        ]
        footer = f"{title} · {package_version()}"
        up = "../" if notebook == "run_details" else "../../"
        back = [("Run report", f"{up}index.html")] if values.get("run_page") else []
        back += index.way_back(folder, listed.reports_dir) if listed else []
        is_short = notebook in SHORT
        shown = render.with_files(render.gathered(done) if is_short else done, files, is_short)
        document = quarto.with_front_matter(shown, title=title, footer=footer, back=back)
        write_text(executed, notebook_text(document))
        targets = {"html": page, "pdf": printed} if pdf else {"html": page}
        by = render_document(document, targets, chosen, title, footer, back)
        if listed is not None:
            index.enter(page, notebook, title, listed, simulated=is_simulated)
        # Last of all, the parameters at the end: by them `is_current` knows a page that is whole.
        # Where Quarto failed the page is not the one that was requested, and is made again.
        made_with = _made_with(notebook, values, folder, by, pdf, inputs)
        for name in (VERSIONS, PARAMETERS):
            write_text(folder / name, made_with[name])
    return page


def is_current(
    notebook: str,
    values: Mapping[str, Any],
    folder: Path,
    *,
    renderer: Renderer = "auto",
    pdf: bool = False,
    inputs: str,
) -> bool:
    """Return whether a folder holds the page of these parameters, inputs and code, and whole.

    Without a digest of the inputs nothing is known to be the same.
    """
    names = ["index.html", f"{notebook}.ipynb", *(["report.pdf"] if pdf else [])]
    if not inputs or not all(probe((folder / name).is_file) for name in names):
        return False
    made_with = _made_with(notebook, values, folder, chosen_renderer(renderer), pdf, inputs)
    return all(read_text(folder / name, folder).value == t for name, t in made_with.items())


def _made_with(
    notebook: str,
    values: Mapping[str, Any],
    folder: Path,
    renderer: Renderer,
    pdf: bool,
    inputs: str,
) -> dict[str, str]:
    pages = [folder / name for name in ("index.html", *(["report.pdf"] if pdf else []))]
    return {
        PARAMETERS: _parameters(notebook, values, renderer, pdf),
        VERSIONS: _versions(notebook, inputs, pages),
    }


def render_document(
    document: Any,
    targets: Mapping[str, Path],
    chosen: Renderer,
    title: str,
    footer: str,
    back: render.Back,
) -> Renderer:
    """Write the page (``html``), the PDF (``pdf``) or both; by Quarto where it is chosen and can.

    Returns the renderer that did it. A title and a footer of an executed notebook are those of its
    front matter too.
    """
    if chosen != "embedded":
        try:
            # The page first: what the PDF lacks must not take it away.
            for suffix, path in targets.items():
                write_bytes(path, quarto.to_file(document, suffix))
        except RenderError as error:
            if chosen == "quarto":
                raise
            shown = next(iter(targets.values()))
            said = f"Quarto could not render {shown}, so the embedded renderer did: {error}"
            warnings.warn(said, FallbackWarning, stacklevel=2)
        else:
            return chosen
    by = f"{footer} · rendered by the embedded renderer"
    html = render.to_html(document, title=title, footer=by, back=back)
    if "html" in targets:
        write_text(targets["html"], html)
    if "pdf" in targets:
        write_bytes(targets["pdf"], to_pdf(html))
    return "embedded"


def _parameters(notebook: str, values: Mapping[str, Any], renderer: Renderer, pdf: bool) -> str:
    """Return ``params.yml``: every parameter of the notebook, and how the page was rendered."""
    known = of_notebook(notebook_files.notebook(notebook))
    values = _without_folders(values) if values.get("privacy") is True else values
    given = {name: values.get(name, p.default) for name, p in known.items()}
    page = dict(zip(OF_PAGE, (notebook, renderer, pdf), strict=True))
    again = (
        f"# This page again: papermill {notebook}.ipynb OUT.ipynb -f {PARAMETERS}\n"
        "# and retrieval-eval report OUT.ipynb\n"
    )
    return again + yaml_text({**page, **given})


def _without_folders(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of which those that name folders are empty, and runs have their names."""
    shown = {name: "" if name in FOLDERS else value for name, value in values.items()}
    if isinstance(run_id := shown.get("run_id"), str):
        shown["run_id"] = ", ".join(Path(name.strip()).name for name in run_id.split(","))
    return shown


def _hide_folders(notebook: Any, values: Mapping[str, Any]) -> None:
    """Leave folders out of the cell of an executed notebook in which its parameters were given."""
    from papermill.translators import PythonTranslator

    for cell in notebook.cells:
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.source = PythonTranslator.codify(_without_folders(values))
    notebook.metadata.pop("papermill", None)


def _versions(notebook: str, inputs: str, pages: Sequence[Path]) -> str:
    """Return ``versions.csv``."""
    files = [notebook_files.notebook(notebook), *files_below(notebook_files.extension())]
    code = combined(map(_bytes_of, files))
    rows = [
        (NAME, __version__),
        ("commit", commit() or ""),
        ("Python", platform.python_version()),
        *((name, library_version(name)) for name in (*LIBRARIES, "seaborn", "msgspec")),
        ("inputs", inputs),
        ("code", f"sha256 {code}"),
        *((page.name, f"sha256 {_bytes_of(page)}") for page in pages),
    ]
    return csv_text(("name", "version"), rows)


def digest_of(*parts: Any) -> str:
    """Return a digest of everything a page is made from: files by their paths, and documents."""
    # One after the other: of a large search run a text is as large as its file.
    found = (_bytes_of(p) if isinstance(p, Path) else canonical(p).decode() for p in parts)
    return f"sha256 {combined(found)}"


def _bytes_of(path: Path) -> str:
    data, problem = read_bytes(path, path.parent)
    return problem or hashlib.sha256(data).hexdigest()


def write_figure_data(notebook: Any, folder: Path, *, is_simulated: bool = False) -> Files:
    """Write the data of every figure of an executed notebook as CSV; return files and meanings.

    Raises ``RenderError`` when two figures have one key: links to one would lead to the other.
    """
    place = folder / FIGURE_FOLDER
    for former in entries(place):
        if former.suffix == ".csv":
            remove(former, folder)
    found: dict[str, Any] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            for key, data in output.get("data", {}).get(FIGURE_DATA, {}).items():
                if key in found:
                    raise RenderError(f"two figures have the key '{key}'; give one another: key=")
                found[key] = data
    mark = [simulated.COLUMN] if is_simulated else []
    files = []
    for key, data in found.items():
        rows = ([*("true" for _ in mark), *row] for row in data["rows"])
        name = f"{FIGURE_FOLDER}/{slug(key)}.csv"
        write_text(folder / name, csv_text([*mark, *data["header"]], rows))
        files.append((name, f"data of [a figure](#fig-{key})"))
    return files


def chosen_renderer(renderer: Renderer) -> Renderer:
    """Return the renderer, ``auto`` being the embedded one where there is no Quarto."""
    renderers = get_args(Renderer)
    if renderer not in renderers:
        raise RenderError(f"there is no renderer '{renderer}'; choose {', '.join(renderers)}")
    if renderer != "embedded" and quarto.executable() is None:
        if renderer == "quarto":
            raise RenderError(f"Quarto is not on PATH; install it with: {quarto.INSTALL}")
        return "embedded"
    return renderer


def write_frames(run: Any, declared: Frames, folder: Path, *, without: Sequence[str] = ()) -> Files:
    """Write the frames of a run but for the columns ``without``; return files and meanings."""
    return [
        write_frame(
            name,
            meaning,
            run.frame(name).drop(columns=list(without), errors="ignore"),
            folder,
            is_simulated=run.n_simulated > 0,
        )
        for name, (meaning, _) in declared.items()
    ]


def write_frame(
    name: str, meaning: str, frame: pd.DataFrame, folder: Path, *, is_simulated: bool = False
) -> tuple[str, str]:
    """Write a frame as CSV; lists become text separated by semicolons.

    One made from simulated data has a column of its own that marks every row.
    """
    if is_simulated:
        frame = simulated.mark_rows(frame)
    columns: list[list[Any]] = []
    for i in range(frame.shape[1]):
        cells = frame.iloc[:, i]
        column = cells.astype(object).where(cells.notna(), None).tolist()
        if list in set(map(type, column)):
            column = [_listed(value) if isinstance(value, list) else value for value in column]
        columns.append(column)
    rows = zip(*columns, strict=True)
    text = csv_text(map(str, frame.columns), rows)
    write_text(folder / f"{name}.csv", text)
    return f"{name}.csv", meaning


def _listed(values: Sequence[str | tuple[Any, ...]]) -> str:
    return "; ".join(v if isinstance(v, str) else " ".join(map(str, v)) for v in values)


# The page of a notebook that a user has copied, changed and executed.

_USES_PACKAGE: Final = re.compile(r"^[ \t]*(?:import|from)[ \t]+retrieval_eval\b", re.MULTILINE)
_UNFORESEEN: Final = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What nbformat raises for values of other types: it completes a notebook before it checks it."""
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)


def render_notebook(notebook: Path, target: Path, *, renderer: Renderer = "auto") -> Path:
    """Render an executed notebook to a page or a PDF and return its path.

    The page shows Markdown, figures, tables and pictures in the look of a report, without code
    and without printed text. Its title is the first heading of the notebook. Where an output is
    about simulated data, the title says it too.

    Parameters
    ----------
    notebook
        An executed notebook that uses this package. It is neither executed nor changed.
    target
        Where the page (``.html``) or the PDF (``.pdf``) goes.
    renderer
        As for :func:`retrieval_eval.report.build`.

    Raises
    ------
    BadInputError
        When it is no notebook, was not executed to its end, or does not use this package.
    RenderError
        When the renderer is missing or fails, or the page would load something from outside.
    """
    suffix = target.suffix.lower().removeprefix(".")
    if suffix not in quarto.FORMATS:
        raise BadInputError(f"{target}: a page ends in .html, a PDF in .pdf")
    chosen = chosen_renderer(renderer)
    document = read_executed(notebook)
    titles = (_TITLE.search(c.source) for c in document.cells if c.cell_type == "markdown")
    title = visible(next((found[1] for found in titles if found), notebook.stem), 120)
    if _is_simulated(document) and not title.startswith(simulated.TITLE):
        simulated.mark_title(document)
        title = f"{simulated.TITLE}{title}"
    footer = f"{title} · {package_version()}"
    quarto.with_front_matter(document, title=title, footer=footer)
    render_document(document, {suffix: target}, chosen, title, footer, ())
    return target


def read_executed(path: Path) -> Any:
    """Return a notebook that was executed to its end; errors are those of `render_notebook`."""
    text = read_text(path, path.parent)
    if text.value is None:
        raise BadInputError(f"{path.parent}: {text.problem}")
    notebook = _parsed(text.value, path)
    cells = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    if not any(_USES_PACKAGE.search(cell.source) for cell in cells):
        raise BadInputError(
            f"{path}: no cell imports retrieval_eval; other notebooks are rendered by Quarto, or "
            "by `jupyter nbconvert --to html`"
        )
    remedy = f"execute it first: papermill {path.name} OUT.ipynb"
    for cell in cells:
        first = visible(cell.source.strip().splitlines()[0], 60)
        for output in cell.outputs:
            if output.output_type == "error":
                said = visible(f"{output.ename}: {output.evalue}", 300)
                raise BadInputError(f"{path}: the cell '{first}' ended with {said}")
        if cell.execution_count is None and not cell.outputs:
            raise BadInputError(f"{path}: the cell '{first}' was not executed; {remedy}")
    return notebook


def _parsed(text: str, path: Path) -> Any:
    import nbformat

    library: Any = nbformat
    value, problem = decode(text)
    if problem is None and not (isinstance(value, dict) and value.get("nbformat") == 4):
        problem = "it has not the format of a notebook, nbformat 4"
    if problem is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ids of cells are younger than the format
            try:
                try:
                    library.validate(value)
                    return library.v4.reads_json(text)
                except (library.ValidationError, *_UNFORESEEN) as error:
                    problem = visible(error, 200)
            except RecursionError:
                problem = "nested too deeply"
    raise BadInputError(f"{path}: is no notebook: {problem}")


def _is_simulated(notebook: Any) -> bool:
    shown = (o.get("data", {}) for cell in notebook.cells for o in cell.get("outputs", ()))
    return any(simulated.TITLE in str(text) for data in shown for text in data.values())
