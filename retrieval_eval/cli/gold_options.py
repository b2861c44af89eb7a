"""Options and output that gold commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from retrieval_eval.cli.common import FILE, FOLDER, echo

F = TypeVar("F", bound=Callable[..., Any])

sheets_argument = click.argument("sheets", metavar="SHEET...", type=FILE, nargs=-1, required=True)

key_option = click.option(
    "--key", type=FILE, required=True, help="The key that was written with the sheets."
)

written_option = click.option(
    "--out", type=FILE, help="Gold set to write. Default: the one that is read."
)


def corpus_file_option(
    text: str = "Corpus with the texts to show.", *, is_required: bool = False
) -> Callable[[F], F]:
    """Return a decorator that adds ``--corpus-file``."""
    return click.option("--corpus-file", type=FILE, required=is_required, help=text)


def folder_option(text: str, *, is_required: bool = True) -> Callable[[F], F]:
    """Return a decorator that adds ``--out`` for commands that write into a folder."""
    return click.option("--out", type=FOLDER, required=is_required, help=text)


def labellers_option(text: str, *, is_required: bool = False) -> Callable[[F], F]:
    """Return a decorator that adds ``--labellers``; the command gets a list of names."""
    return click.option(
        "--labellers", metavar="A,B", required=is_required, callback=_names, help=text
    )


def _names(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]


def print_notes(notes: Iterable[str], mark: str = "note") -> None:
    """Print notes about a result, a line each."""
    for note in notes:
        echo(f"  {mark}: {note}")


def print_paths(paths: Iterable[object]) -> None:
    """Print the files that were written, a line each."""
    for path in paths:
        echo(f"  {path}")
