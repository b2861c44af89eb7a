"""Running a notebook: its parameters are checked, papermill runs it, and it really ran."""

from __future__ import annotations

import ast
import difflib
import io
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval import errors
from retrieval_eval.errors import BadInputError, RenderError
from retrieval_eval.io.files import write_bytes
from retrieval_eval.io.locks import private_folder
from retrieval_eval.records import Progress
from retrieval_eval.report.notebook_files import read_notebook

# --------------------------------------------------------------------------------------------------
# Notebook parameters: read from the tagged cell, and checked before anything runs.

TAG = "parameters"

OF_PAGE: Final = ("notebook", "renderer", "pdf")
"""Names in ``params.yml`` that are about the page and no parameters of the notebook."""

_INJECTED: Final = re.compile(r"\s*# *(?:injected[ -])?parameters *(?:\n|$)", re.IGNORECASE)
"""The comment with which papermill and Quarto begin the cell of given parameters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter: its name, default value and the comment of its line."""

    name: str
    default: Any
    meaning: str


def declared(source: str) -> dict[str, Parameter]:
    """Return the parameters of a cell of assignments with literal values.

    Examples
    --------
    >>> declared("seed: int = 7  # of every bootstrap")["seed"].meaning
    'of every bootstrap'
    """
    lines = source.splitlines()
    found = {}
    for node in ast.parse(source).body:
        target = node.target if isinstance(node, ast.AnnAssign) else _only_target(node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name):
            comment = lines[(node.end_lineno or 1) - 1].partition("  # ")[2]
            try:
                default = ast.literal_eval(node.value) if node.value else None
            except ValueError:
                default = None  # computed, and so of a type that is not known here
            found[target.id] = Parameter(target.id, default, comment.strip())
    return found


def _only_target(node: ast.stmt) -> ast.expr | None:
    return node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None


def check_parameters() -> None:
    """Check the parameters that papermill or Quarto gave to the notebook that is running.

    They only warn of a name that the notebook does not declare, or inject it in silence, and the
    notebook would run with its defaults. What was given is in the cell behind the declarations.
    Where nothing was given, as in a session of Jupyter, there is nothing to check.

    Raises
    ------
    BadInputError
        As for :func:`check`.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        check_cells(shell.user_ns.get("In", ()), shell.user_ns)


def check_cells(cells: Sequence[str], values: Mapping[str, Any]) -> None:
    """Check the last cell of given parameters among the executed ``cells``.

    The declarations are in the nearest cell before it that has annotated ones; ``values`` are those
    of the names in the notebook.
    """
    given: str | None = None
    for cell in reversed(cells):
        is_declaration = _is_annotated(cell)
        if given is None and not is_declaration and _INJECTED.match(cell):
            given = cell
        elif given is not None and is_declaration:
            known = declared(cell)
            of_page = set(OF_PAGE) - set(known)  # papermill was given a whole params.yml
            names = [name for name in _names(given) if name in values and name not in of_page]
            hint = " (papermill: -r in place of -p gives text)"
            check({name: values[name] for name in names}, known, text_hint=hint)
            return


def _is_annotated(cell: str) -> bool:
    return any(isinstance(node, ast.AnnAssign) for node in _statements(cell))


def _names(cell: str) -> list[str]:
    nodes = (node for statement in _statements(cell) for node in ast.walk(statement))
    return [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _statements(cell: str) -> list[ast.stmt]:
    try:
        return ast.parse(cell).body
    except (SyntaxError, ValueError):
        return []  # a cell that is no Python, such as a magic


def of_notebook(path: Path) -> dict[str, Parameter]:
    """Return the parameters a notebook declares in its cell tagged ``parameters``."""
    for cell in read_notebook(path).cells:
        if TAG in cell.metadata.get("tags", []):
            return declared(cell.source)
    raise RenderError(f"{path.name} has no cell tagged '{TAG}'")


def check(
    given: Mapping[str, Any], known: Mapping[str, Parameter], *, text_hint: str = ""
) -> dict[str, Any]:
    """Return ``given`` when every name is declared and every value of its default's type.

    ``text_hint`` says, after what was given in place of text, how text is given.

    Raises
    ------
    BadInputError
        Naming the parameter, what was expected, and the closest declared names.
    """
    for name, value in given.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=2, cutoff=0.4) or sorted(known)
            raise BadInputError(
                f"the notebook has no parameter '{name}'; did you mean {' or '.join(close)}?"
            )
        if not _fits(value, known[name].default):
            expected = _kind(known[name].default)
            said = text_hint if isinstance(known[name].default, str) else ""
            raise BadInputError(f"parameter '{name}' is {expected}, not {value!r}{said}")
    return dict(given)


def _fits(value: Any, default: Any) -> bool:
    if default is None:
        return True
    if isinstance(default, float):
        return type(value) in (int, float)
    if isinstance(default, list):
        return (
            isinstance(value, list)
            and bool(value)
            and all(type(item) is type(default[0]) for item in value)
        )
    return type(value) is type(default)


def _kind(default: Any) -> str:
    match default:
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case float():
            return "a number"
        case list():
            return f"a list of one or more items, each {_kind(default[0])}"
        case _:
            return "text"


# --------------------------------------------------------------------------------------------------
# Running a notebook with papermill, and making sure that it really ran.

KERNEL = "python3"
_ENGINE = "retrieval-eval"
_QUIET = ["--IPKernelApp.log_level=40"]
"""The kernel warns about loopback connections on every start; errors are still printed."""

_EMPTY = """
from retrieval_eval.report.loading import keep_loaded
keep_loaded()
get_ipython().reset(new_session=True)
"""


def execute(
    source: Path,
    target: Path,
    parameters: Mapping[str, Any],
    *,
    progress: Progress | None = None,
    kernel: Kernel | None = None,
    here: bool = False,
) -> Path:
    """Execute a notebook and write the executed one to ``target``, whole or not at all.

    Parameters
    ----------
    source
        The notebook, stored without outputs.
    parameters
        Values of declared parameters; checked before a kernel starts.
    progress
        Called for every finished cell.
    kernel
        A kernel to execute it in, whose namespace is emptied before; by default one of its own.
    here
        Execute it in this process instead, which the notebook must leave as it was; not where
        this is a notebook's own process, or another thread than the first.

    Raises
    ------
    BadInputError
        When a parameter is unknown or of the wrong type, or the notebook reports it.
    NothingToEvaluateError
        When the notebook finds nothing to report.
    RenderError
        When a cell fails (the message holds the cell and its error) or the kernel dies.
    """
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillException, PapermillExecutionError
    from papermill.execute import execute_notebook

    values = check(parameters, of_notebook(source))
    with private_folder() as private, _environment(private):
        executed = private / target.name
        is_here = here and _is_plain_process()
        _register(progress, private if kernel is None else kernel.private, kernel, here=is_here)
        try:
            execute_notebook(
                str(source),
                str(executed),
                parameters=values,
                engine_name=_ENGINE,
                kernel_name=KERNEL,
                language="python",
                progress_bar=False,
                request_save_on_cell_execute=False,
                autosave_cell_every=0,
                extra_arguments=_QUIET,
                cwd=str(Path.cwd()),
            )
        except PapermillExecutionError as error:
            raise _translated(error, source) from error
        except (DeadKernelError, PapermillException) as error:
            raise RenderError(f"{source.name} could not be executed: {error}") from error
        check_outputs(executed)
        write_bytes(target, executed.read_bytes())
    return target


def check_outputs(path: Path) -> None:
    """Raise ``RenderError`` unless every code cell after the parameters left an output."""
    notebook = read_notebook(path)
    silent = [
        cell.source.splitlines()[0]
        for cell in notebook.cells
        if cell.cell_type == "code"
        and cell.source.strip()
        and not {"parameters", "injected-parameters"} & set(cell.metadata.get("tags", []))
        and not cell.outputs
    ]
    if silent:
        raise RenderError(f"{path.name}: no output after executing the cell '{silent[0]}'")


class Kernel:
    """A kernel for many notebooks: started for the first, closed at the end of the ``with``.

    Each begins with an empty namespace and the count of cells at 1, and finds the modules that
    those before it have loaded, and the run too.
    """

    def __init__(self) -> None:
        self._ending = ExitStack()
        self.private = self._ending.enter_context(private_folder())
        self._manager: Any = None
        self._client: Any = None

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()
        self._ending.close()

    def run(self, manager: Any, new: Callable[..., Any], **options: Any) -> Any:
        """Execute a notebook that papermill manages, in an empty namespace."""
        import nbformat
        from nbclient import NotebookClient
        from papermill.clientwrap import PapermillNotebookClient

        library: Any = nbformat.v4
        empty = library.new_notebook(cells=[library.new_code_cell(_EMPTY)])
        options |= {"extra_arguments": _QUIET, "startup_timeout": 60}
        with _environment(self.private):
            self._manager = self._manager or new(kernel_name=KERNEL)
            try:
                first = NotebookClient(empty, km=self._manager, **options)
                first.kc = self._client
                with first.setup_kernel():
                    self._client = first.kc
                    first.execute_cell(empty.cells[0], 0, store_history=False)
                client = PapermillNotebookClient(manager, km=self._manager, **options)
                client.kc = self._client
                return client.execute()
            except BaseException:
                self._close()  # what failed may have left anything behind
                raise

    def _close(self) -> None:
        from jupyter_core.utils import run_sync

        if self._client is not None:
            self._client.stop_channels()
        if self._manager is not None and self._manager.has_kernel:
            run_sync(self._manager.shutdown_kernel)(now=True)
        self._manager = self._client = None


def _is_plain_process() -> bool:
    """Return whether nothing else runs cells or requests here."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is None and threading.current_thread() is threading.main_thread()


def _run_here(manager: Any) -> Any:
    """Execute a notebook that papermill manages in this process, in a namespace of its own."""
    import nbformat

    library: Any = nbformat.v4
    space: dict[str, Any] = {"__name__": "__main__"}
    cells = [c for c in manager.nb.cells if c.cell_type == "code" and c.source.strip()]
    for count, cell in enumerate(cells, start=1):
        at = manager.nb.cells.index(cell)
        manager.cell_start(cell, at)
        outputs: list[Any] = []
        said, wrong = io.StringIO(), io.StringIO()
        try:
            with redirect_stdout(said), redirect_stderr(wrong):
                shown = _shown(cell.source, space)
        except Exception as error:  # noqa: BLE001  papermill raises what the cell says
            lines = traceback.format_exception(error)
            outputs = [library.new_output("error", ename=type(error).__name__, evalue=str(error))]
            outputs[0].traceback = lines
        else:
            if shown is not None:
                known = {"data": shown, "execution_count": count}
                outputs = [library.new_output("execute_result", **known)]
        streams = {"stdout": said.getvalue(), "stderr": wrong.getvalue()}
        cell.outputs = [
            *(
                library.new_output("stream", name=n, text=text)
                for n, text in streams.items()
                if text
            ),
            *outputs,
        ]
        cell.execution_count = count
        if outputs and outputs[0].output_type == "error":
            manager.cell_exception(cell, at)
            break
        manager.cell_complete(cell, at)
    return manager.nb


def _shown(source: str, space: dict[str, Any]) -> Any:
    """Run a cell and return what its last expression shows; None where there is none."""
    tree = ast.parse(source)
    match tree.body:
        case [*_, ast.Expr() as last]:
            name = ast.Name("_", ast.Store())
            tree.body[-1] = ast.copy_location(ast.Assign([name], last.value), last)
            ast.fix_missing_locations(tree)
    exec(compile(tree, "cell", "exec"), space)  # noqa: S102  what a kernel does
    value = space.pop("_", None)
    if value is None:
        return None
    bundle = getattr(value, "_repr_mimebundle_", None)
    return {"text/plain": repr(value)} if bundle is None else bundle()


def _register(
    progress: Progress | None, private: Path, kernel: Kernel | None, *, here: bool
) -> None:
    """Register the engine that reports finished cells; papermill has no callback of its own."""
    from jupyter_client.manager import AsyncKernelManager
    from papermill.engines import NBClientEngine, papermill_engines

    class Manager(AsyncKernelManager):
        def __init__(self, **options: Any) -> None:
            # By default a file of its own among the temporary ones, which a kill leaves for good.
            super().__init__(connection_file=str(private / "connection.json"), **options)

        async def _async_interrupt_kernel(self) -> None:
            """Let a kernel end in peace: interrupted while it tidies up, it complains on stderr."""

    class Engine(NBClientEngine):  # type: ignore[misc]
        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
            if progress is not None:
                _report_cells(nb_man, progress)
            if here:
                return _run_here(nb_man)
            if kernel is not None:
                return kernel.run(nb_man, Manager)
            # Nothing is left to tidy up in a kernel of ours, and one in a long cell does not hear.
            options |= {"kernel_manager_class": Manager, "shutdown_kernel": "immediate"}
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    papermill_engines.register(_ENGINE, Engine)


def _report_cells(manager: Any, progress: Progress) -> None:
    complete = manager.cell_complete
    total = len(manager.nb.cells)
    headings = _headings(manager.nb.cells)

    def reported(cell: Any, cell_index: int, **options: Any) -> None:
        complete(cell, cell_index, **options)
        progress(cell_index + 1, total, headings[cell_index])

    manager.cell_complete = reported


def _headings(cells: list[Any]) -> list[str]:
    headings, current = [], ""
    for cell in cells:
        if cell.cell_type == "markdown" and cell.source.startswith("#"):
            current = cell.source.splitlines()[0].lstrip("# ")
        headings.append(current)
    return headings


def _translated(error: Any, source: Path) -> Exception:
    """Return our own error that the notebook raised, else a RenderError with the failing cell."""
    kind = getattr(errors, str(error.ename), None)
    if isinstance(kind, type) and issubclass(kind, errors.RetrievalEvalError):
        return kind(str(error.evalue))
    return RenderError(
        f"{source.name}: cell {error.cell_index} failed with {error.ename}: {error.evalue}\n"
        f"The cell was:\n{error.source}"
    )


@contextmanager
def _environment(private: Path) -> Iterator[None]:
    """Keep the kernel's own files out of the user's home, and let it import this package."""
    package = Path(__file__).resolve().parents[2]
    changed = {
        "IPYTHONDIR": str(private),
        "JUPYTER_RUNTIME_DIR": str(private),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    if "site-packages" not in package.parts:
        paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
        changed["PYTHONPATH"] = os.pathsep.join(paths)
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
