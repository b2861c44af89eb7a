"""Options, exit codes and output that several commands share."""

from __future__ import annotations

import ast
import errno
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import click

from retrieval_eval import __version__
from retrieval_eval.errors import (
    BadInputError,
    NothingToEvaluateError,
    RenderError,
    RetrievalEvalError,
)
from retrieval_eval.escape import json_escape, made_visible
from retrieval_eval.io.remote import is_url
from retrieval_eval.io.user_files import project, write_log
from retrieval_eval.records import Progress
from retrieval_eval.values import counted

F = TypeVar("F", bound=Callable[..., Any])


class _LocalPath(click.Path):
    """A local path; a URL, which would make folders of its name, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if is_url(value):
            # It is not named, for it may hold a password.
            name = f"{param.get_error_hint(ctx)}: " if param and ctx else ""
            raise BadInputError(f"{name}a URL is not taken here, only a local path")
        return super().convert(value, param, ctx)


PATH = _LocalPath(path_type=Path)
FILE = _LocalPath(path_type=Path, dir_okay=False)
FOLDER = _LocalPath(path_type=Path, file_okay=False)


class _FolderOrUrl(click.Path):
    name = "folder or URL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if is_url(value) else super().convert(value, param, ctx)


PLACE_OR_URL = _FolderOrUrl(path_type=Path)
FOLDER_OR_URL = _FolderOrUrl(path_type=Path, file_okay=False)
"""A local folder, or a URL such as ``s3://bucket/folder``, which stays text."""

EXIT_REGRESSED = 1
EXIT_NO_VERDICT = 2
EXIT_BAD_INPUT = 3
EXIT_RENDERING = 4
EXIT_USAGE = 64
EXIT_UNEXPECTED = 70
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141


def exit_code_of(error: BaseException) -> int:
    """Return the exit code of a command that ended with an error."""
    for kind, code in (
        (NothingToEvaluateError, EXIT_NO_VERDICT),
        (RenderError, EXIT_RENDERING),
        (RetrievalEvalError, EXIT_BAD_INPUT),
    ):
        if isinstance(error, kind):
            return code
    return EXIT_UNEXPECTED


def unexpected(error: BaseException) -> str:
    """Return the sentence about an error that is none of ours, and write its traceback to a log."""
    what = traceback.format_exception_only(error)[-1].strip()
    versions = f"retrieval-eval {__version__}, Python {platform.python_version()}"
    log = write_log("".join([versions, "\n\n", *traceback.format_exception(error)]))
    where = f"; the traceback is in {log}, to be added to a report of this fault" if log else ""
    return f"an unexpected fault ({what}){where}"


_REFUSED = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "EIO", "EMFILE", "ENFILE")
    if hasattr(errno, name)
)
"""What a system refuses for lack of space, rights or files, whatever the program."""


def refused(error: BaseException) -> str | None:
    """Return the sentence about something that the system refused, or None for a fault."""
    if not isinstance(error, OSError) or error.errno not in _REFUSED:
        return None
    place = error.filename if isinstance(error.filename, str) else "the output"
    return f"{place}: the system refuses it ({error.strerror})"


class Decorator(Protocol):
    """What adds options to a command."""

    def __call__(self, function: F, /) -> F:
        """Return the function with the options."""


def together(*options: Decorator) -> Decorator:
    """Return one decorator that adds several options, in this order."""

    def add(function: F, /) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
)

design_options = together(
    click.option(
        "--design",
        type=FILE,
        help="Design of the study, if not in retrieval-eval.toml or study.toml.",
    ),
    click.option("--no-design", is_flag=True, help="Read no such file."),
)

evaluation_options = together(
    click.option(
        "--benchmarks-root",
        "--truth",
        type=PLACE_OR_URL,
        help="Folder of tasks, or table of truth. Default: 'benchmarks'.",
    ),
    click.option(
        "--output-dir",
        type=FOLDER_OR_URL,
        help="Write to OUTPUT_DIR/<run_id>/. Default: retrieval_events/ in the run.",
    ),
)

k_option = click.option(
    "--k",
    "k_values",
    default="1,3,5,10",
    show_default=True,
    help="Cut-offs of the @k metrics, besides 5 and 10.",
)

reports_dir_option = click.option(
    "--reports-dir",
    type=FOLDER,
    default=lambda: project().reports_folder,
    help="Folder of the pages. Default: reports.",
)


def chosen_design(names: Sequence[str], design: Path | None, no_design: bool) -> Path | None:
    """Return the file of the design that was named, or that lies beside a run or here."""
    from retrieval_eval.agents.runs.layout import stated_design

    if design is not None and no_design:
        raise click.UsageError("--design names a file and --no-design wants none; give one of them")
    return design if design is not None or no_design else stated_design(names, None)


def processes() -> int:
    """Return how many processes to evaluate trials with, as the project file states it."""
    return project().jobs or os.cpu_count() or 1


@dataclass(slots=True)
class KeepUnchanged:
    """Keeps a page that was made of the same before, and notes it."""

    is_kept: bool = False

    def __call__(self, _page: Path, is_current: bool) -> bool:
        """Return whether the page that is there is kept."""
        self.is_kept = is_current
        return self.is_kept

    def show(self, page: Path, *, as_json: bool) -> None:
        """Print the path of the page, and whether it was made."""
        if as_json:
            print_json({"report": str(page), "status": "unchanged" if self.is_kept else "made"})
            return
        self.note()
        echo(page)

    def note(self) -> None:
        """Print on standard error that the page was not made again."""
        if self.is_kept:
            echo("unchanged, and not made again:", err=True)


def parse_k(text: str) -> tuple[int, ...]:
    """Return the cut-offs of ``1,3,5,10``; raises a usage error for anything else."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a comma-separated list of whole numbers", param_hint="--k"
        ) from None


def parse_options(given: Sequence[str]) -> dict[str, str]:
    """Return retriever options from ``NAME=VALUE`` texts; raises a usage error for other texts."""
    pairs = [entry.partition("=") for entry in given]
    for name, sign, value in pairs:
        if not name or not sign:
            raise click.BadParameter(f"{name or value!r} is not NAME=VALUE", param_hint="--option")
    return {name: value for name, _, value in pairs}


def print_json(value: Any) -> None:
    """Print a document as JSON, with control characters escaped as JSON escapes them."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    click.echo("\n".join(made_visible(line, json_escape) for line in text.split("\n")))


def print_table(rows: Sequence[Sequence[str]], *, numbers_from: int = 1) -> None:
    """Print rows as aligned columns, the first one as head, numbers to the right."""
    for line in table_lines(rows, numbers_from=numbers_from):
        click.echo(line)


def table_lines(rows: Sequence[Sequence[str]], *, numbers_from: int = 1) -> list[str]:
    """Return the lines that `print_table` prints."""
    rows = [[made_visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if place >= numbers_from else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


SHORT: Final = 25
"""Lines that a command prints of one result, unless with --verbose."""


def print_short(
    parts: Sequence[Sequence[str]], more: str, files: Sequence[Path] = (), *, cut: int
) -> None:
    """Print parts of a text in :data:`SHORT` lines, with blank lines between them if there is room.

    ``cut`` is the place of the part that loses lines where there are too many, ``more`` says what
    prints the rest, and ``files`` were written.
    """
    kept = [list(part) for part in parts]
    n_last = 1 + len(files)
    n_over = sum(map(len, kept)) + n_last - SHORT
    if n_over > 0:
        n_left = max(len(kept[cut]) - n_over - 1, 0)
        left_out = len(kept[cut]) - n_left
        kept[cut] = [*kept[cut][:n_left], f"… and {counted(left_out, 'line')} more"]
    kept = [part for part in kept if part]
    has_room = sum(map(len, kept)) + len(kept) - 1 + n_last <= SHORT
    for place, part in enumerate(kept):
        if place and has_room:
            click.echo("")
        for line in part:
            echo(line)
    for last in (more, *files):
        echo(last)


def echo(line: object = "", *, err: bool = False) -> None:
    """Print one line; line ends and control characters in it are escaped."""
    click.echo(made_visible(str(line)), err=err)


def echo_lines(text: str, *, err: bool = False) -> None:
    """Print a text of several lines as :func:`echo` prints one."""
    for line in text.removesuffix("\n").split("\n"):
        echo(line, err=err)


def number(value: float | None, digits: int = 2) -> str:
    """Return a number for a table, or a dash for what is not computable.

    Examples
    --------
    >>> number(-0.5), number(-0.001), number(None)
    ('−0.50', '0.00', '—')
    """
    return "—" if value is None else f"{value:z.{digits}f}".replace("-", "−")


@contextmanager
def progress_bar(unit: str) -> Iterator[Progress | None]:
    """Give a progress callback that draws on a terminal, or None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(unit=unit, file=sys.stderr, leave=False) as bar:

        def report(done: int, total: int, name: str) -> None:
            bar.total = total
            bar.set_postfix_str(made_visible(name[:40]), refresh=False)
            if done == bar.n:
                bar.refresh()
            bar.update(done - bar.n)

        yield report


# --------------------------------------------------------------------------------------------------
# A command group that imports a command when it is used, so that every other starts at once.


class LazyGroup(click.Group):
    """A group that also lists commands by name and place, ``module:attribute``.

    ``gone`` holds the names of removed commands and, for each, what does its work now.
    """

    def __init__(
        self,
        *arguments: Any,
        lazy: Mapping[str, str],
        gone: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._lazy = dict(lazy)
        self._gone = dict(gone or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *self._lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, importing it first if it is lazy; None if there is none."""
        if cmd_name in self._lazy:
            module, attribute = self._lazy[cmd_name].split(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        if cmd_name in self._gone:
            raise click.UsageError(f"`{cmd_name}` was removed: {self._gone[cmd_name]}", ctx)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; lazy ones are read, not imported."""
        names = self.list_commands(ctx)
        limit = formatter.width - 6 - max(map(len, names))
        rows = [(name, self._short_help(ctx, name, limit)) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _short_help(self, ctx: click.Context, name: str, limit: int) -> str:
        if name in self._lazy:
            text = _described(*self._lazy[name].split(":"))
            return click.Command(name, help=text).get_short_help_str(limit)
        command = super().get_command(ctx, name)
        return command.get_short_help_str(limit) if command is not None else ""


def _described(module: str, attribute: str) -> str:
    """Return the ``short_help`` of a command, or its docstring, from its source."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == attribute:
            calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
            given = [k.value for c in calls for k in c.keywords if k.arg == "short_help"]
            stated = [v.value for v in given if isinstance(v, ast.Constant)]
            return str(stated[0]) if stated else ast.get_docstring(node) or ""
    return ""
