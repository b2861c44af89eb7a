"""The command group, and how errors become sentences and exit codes."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from retrieval_eval import __version__
from retrieval_eval.cli.common import (
    EXIT_BAD_INPUT,
    EXIT_INTERRUPTED,
    EXIT_PIPE_CLOSED,
    EXIT_USAGE,
    LazyGroup,
    echo_lines,
    exit_code_of,
    refused,
    unexpected,
)
from retrieval_eval.distribution import conflict
from retrieval_eval.errors import FallbackWarning, RetrievalEvalError

_HERE = "retrieval_eval.cli"
COMMANDS = {
    "evaluate": f"{_HERE}.evaluate:evaluate",
    "report": f"{_HERE}.report:report",
    "compare": f"{_HERE}.compare:compare",
    "demo": f"{_HERE}.report:demo",
    "init": f"{_HERE}.evaluate:init",
    "validate": f"{_HERE}.validate:validate",
    "trace": f"{_HERE}.trace:trace",
    "gold": f"{_HERE}.gold:gold",
    "search": f"{_HERE}.search:search",
    "serve": f"{_HERE}.serve:serve",
}
# Removed commands, each with what does its work now.
GONE = {
    "history": "`retrieval-eval report FOLDER` lists the runs of agents in a folder with their "
    "verdicts; `retrieval-eval search history` shows search runs over time.",
    "mcp": "`retrieval-eval serve --mcp` does it.",
    "plan": "`retrieval-eval compare --pilot` says how many tasks the next comparison needs.",
    "render": "`retrieval-eval report NOTEBOOK` writes the page of an executed notebook.",
    "trial": "`retrieval-eval trace PATH` shows a trial, `retrieval-eval report RUN --trial NAME` "
    "makes its page.",
}
# Removed options, of whichever command, each with what does its work now.
GONE_OPTIONS = {
    name: instead
    for names, instead in {
        "--runs-root": "name the path of a run, or set $RETRIEVAL_EVAL_RUNS_ROOT.",
        "--data --jobs --reports-dir --corpus-file --backlog": "retrieval-eval.toml states it.",
        "--seed": "it is fixed; in Python it is a parameter.",
        "--pdf --renderer --privacy": "`retrieval-eval report` has it; with --pdf it takes the "
        "notebook beside a page, too.",
        "--trials": "a table of trials is named as RUN; pages of trials are written by "
        "`retrieval-eval report`.",
        "--force": "remove a page to have it made again.",
        "--report": "`retrieval-eval report A B` makes the page of two search runs, "
        "`retrieval-eval report DATA` that of a folder of them.",
        "--baseline-config --mcp-config": "`retrieval-eval compare A B --report` is about the two "
        "that are named.",
        "--option --corpus --k --depth --floor --no-rerank": "`retrieval-eval search noise RUN "
        "--repeats N` asks as RUN was asked.",
        "--thresholds --justification --today --as-of": "guard.toml and justification.toml of the "
        "folder are read, as of today.",
        "--table --column --score": "gold.toml beside the gold set states it.",
        "--show": "`retrieval-eval search baseline` shows it.",
        "--workflow --print-thresholds": "`retrieval-eval search guard --init` writes the "
        "thresholds; a workflow to copy is docs/github-workflow/retrieval-guard.yml.",
    }.items()
    for name in names.split()
}


class _Program(LazyGroup):
    """The root group of all commands; only click itself may raise `SystemExit`."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; called directly it ends with the exit codes of :func:`run`."""
        if standalone_mode:
            main(args)
        return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SystemExit as error:
            raise RuntimeError(f"a command left with the code {error.code}") from error


@click.group(
    cls=_Program,
    lazy=COMMANDS,
    gone=GONE,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="retrieval-eval")
def group() -> None:
    """Know whether retrieval works: in the traces of coding agents, and in search.

    \b
    Measure agents  trace FILE, evaluate RUN, compare A B
    Measure search  search run, search diff A B, search guard RUN
    Label queries   gold bootstrap, gold pool, gold settle, validate FILE

    `report` makes the page of whatever is measured. Start with `demo`, or `demo search`.

    Exit codes: 0 ok, 1 regressed or breached, 2 nothing to evaluate or no verdict, 3 bad input,
    4 rendering failed, 64 wrong usage, 70 a fault of this program.
    """  # noqa: D301  click reads the control character


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    sys.exit(_written_out(run(arguments)))


def _written_out(code: int) -> int:
    """Write out what was printed, and return the exit code: 0 becomes 3 where that is refused.

    The interpreter would try once more when it ends, and change the code.
    """
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except BrokenPipeError:
            code = code or EXIT_PIPE_CLOSED
        except OSError:
            code = code or EXIT_BAD_INPUT
        else:
            continue
        setattr(sys, name, None)
    return code


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    _print_anything()
    if (problem := conflict()) is not None:
        _complain(f"retrieval-eval: {problem}")
        return EXIT_BAD_INPUT
    try:
        with _warnings_in_words():
            code = group.main(args, prog_name="retrieval-eval", standalone_mode=False)
    except click.UsageError as error:
        if isinstance(error, click.NoSuchOption) and error.option_name in GONE_OPTIONS:
            removed = f"{error.option_name} is gone: {GONE_OPTIONS[error.option_name]}"
            error = click.UsageError(removed, error.ctx)
        text = io.StringIO()
        error.show(text)
        _complain(text.getvalue())
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted; finished work is kept, run again to continue")
        return EXIT_INTERRUPTED
    except RetrievalEvalError as error:
        _complain(f"retrieval-eval: {error}")
        return exit_code_of(error)
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not error.code:
            return 0  # click has printed what a shell needs for completion
        # On a closed pipe click exits with 1, which is the exit code of a breach.
        return EXIT_PIPE_CLOSED
    except Exception as error:  # noqa: BLE001  a user gets a message, not a traceback
        if (sentence := refused(error)) is not None:
            _complain(f"retrieval-eval: {sentence}")
            return EXIT_BAD_INPUT
        _complain(f"retrieval-eval: {unexpected(error)}")
        return exit_code_of(error)
    return code if isinstance(code, int) else 0


def _complain(text: str) -> None:
    """Print to stderr; where that is refused the exit code alone says what happened."""
    with suppress(OSError):
        echo_lines(text, err=True)


@contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Print our own warnings as sentences, without the line of code that warned."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def shown(message: Any, category: Any, *where: Any, **more: Any) -> None:
            if issubclass(category, FallbackWarning):
                echo_lines(f"retrieval-eval: {message}", err=True)
            else:
                show(message, category, *where, **more)

        warnings.simplefilter("always", FallbackWarning)
        warnings.showwarning = shown
        yield


def _print_anything() -> None:
    """Escape characters that the output encoding lacks, such as the minus sign."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
