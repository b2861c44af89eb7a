"""The command group, and how errors become sentences and exit codes."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import click

from retrieval_eval import __version__
from retrieval_eval.cli.lazy import LazyGroup
from retrieval_eval.errors import (
    BadInputError,
    NothingToEvaluateError,
    RenderError,
    RetrievalEvalError,
)

EXIT_NO_VERDICT = 2
EXIT_BAD_INPUT = 3
EXIT_RENDERING = 4
EXIT_USAGE = 64
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141

_EXIT_CODES: tuple[tuple[type[RetrievalEvalError], int], ...] = (
    (NothingToEvaluateError, EXIT_NO_VERDICT),
    (BadInputError, EXIT_BAD_INPUT),
    (RenderError, EXIT_RENDERING),
)


_HERE = "retrieval_eval.cli"
COMMANDS = {
    "evaluate": f"{_HERE}.evaluate:evaluate",
    "report": f"{_HERE}.report:report",
    "compare": f"{_HERE}.compare:compare",
    "demo": f"{_HERE}.demo:demo",
    "validate": f"{_HERE}.validate:validate",
    "trial": f"{_HERE}.trial:trial",
    "gold": f"{_HERE}.gold:gold",
    "search": f"{_HERE}.search:search",
    "serve": f"{_HERE}.serve:serve",
    "mcp": f"{_HERE}.serve:mcp",
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="retrieval-eval")
def group() -> None:
    """Know whether retrieval works: in the traces of coding agents, and in search.

    Agents: start with `retrieval-eval demo`. Search: start with `retrieval-eval search demo`.

    Exit codes: 0 ok, 1 regressed or breached, 2 nothing to evaluate or no verdict, 3 bad input,
    4 rendering failed, 64 wrong usage.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    _print_anything()
    try:
        code = group.main(arguments, prog_name="retrieval-eval", standalone_mode=False)
    except click.UsageError as error:
        error.show()
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; what was finished is kept, run again to go on", err=True)
        return EXIT_INTERRUPTED
    except RetrievalEvalError as error:
        click.echo(f"retrieval-eval: {error}", err=True)
        return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)
    except (BrokenPipeError, SystemExit):
        # click leaves with 1 when nobody reads on, and that would say that a guard was breached.
        return EXIT_PIPE_CLOSED
    return code if isinstance(code, int) else 0


def _print_anything() -> None:
    """Let output escape what its encoding lacks: a minus sign must not end in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
