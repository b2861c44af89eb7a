"""Options of gold and search commands: one name and one meaning wherever they occur."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import click
from msgspec.structs import replace

from retrieval_eval.cli.common import FILE, FOLDER, Decorator, echo
from retrieval_eval.io.user_files import DATA, GOLD, Project, project
from retrieval_eval.records import Mismatch

if TYPE_CHECKING:
    from retrieval_eval.search.gold.database import BacklogPreset, BacklogSource

BASELINE: Final = "baseline.json"
NOISE: Final = "noise.json"
THRESHOLDS: Final = "guard.toml"
JUSTIFICATION: Final = "justification.toml"
DATABASE_VARIABLE: Final = "RETRIEVAL_EVAL_DATABASE_URL"


class RetrieverOption(click.Option):
    """An option for a retriever, whose help lists the kinds there are."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return name and help; only the help needs the kinds, so they are loaded here."""
        from retrieval_eval.search.ask.retrievers import shown_kinds

        self.help = f"{shown_kinds()}."
        return super().get_help_record(ctx)


def shown(name: str) -> str:
    """Return a file of the data folder as the help names it."""
    return f"{DATA / name}"


def in_data(name: str) -> Callable[[], Path]:
    """Return what names a file of the data folder, which the project file may state."""
    return lambda: project().data_folder / name


def found_in_data(name: str) -> Path | None:
    """Return a file of the data folder; None where there is none."""
    path = in_data(name)()
    return path if path.exists() else None


gold_option = click.option(
    "--gold",
    "gold_path",
    type=FILE,
    default=lambda: project().gold_set,
    help=f"The gold set. Default: {GOLD}.",
)
data_option = click.option(
    "--data",
    type=FOLDER,
    default=lambda: project().data_folder,
    help=f"Folder of the search runs. Default: {DATA}.",
)
documents_option = click.option(
    "--corpus-file",
    type=FILE,
    default=lambda: project().corpus_file,
    help="Documents; an answer that names another one fails.",
)
asked_at_once_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Queries asked at once, of a retriever that allows it.",
)
queries_option = click.option("--queries", type=FILE, help="Only the queries of this pinned list.")
verbose_option = click.option(
    "--verbose", "is_verbose", is_flag=True, help="Print all of it, not the first 25 lines."
)
baseline_option = click.option(
    "--baseline",
    type=FILE,
    help=f"Run to compare with. Default: {shown(BASELINE)}, if any.",
)
noise_option = click.option(
    "--noise",
    type=FILE,
    help=f"What `search noise` wrote. Default: {shown(NOISE)}, if any.",
)
accept_option = click.option(
    "--accept",
    multiple=True,
    type=click.Choice(get_args(Mismatch)),
    help="Compare two runs although this differs, which a banner names.",
)
old_gold_option = click.option("--old-gold", type=FILE, help="Gold set of A, or of the baseline.")
mapping_option = click.option(
    "--mapping", type=FILE, help="relabel.json of `gold relabel`, if labels moved since."
)
backlog_option = click.option(
    "--backlog",
    metavar="SOURCE",
    help="Items under review: a JSONL file, or the URL of a database. Default: "
    f"${DATABASE_VARIABLE}.",
)


def run_files(names: Sequence[str]) -> list[Path]:
    """Return the files of runs, each named by its file or its label in the data folder.

    Notes about a choice go to standard error. Raises `BadInputError` for a name
    that is neither.
    """
    from retrieval_eval.search.run.document import run_file

    data = project().data_folder
    found = [run_file(name, data) for name in names]
    for notice in (notice for _, notices in found for notice in notices):
        echo(notice, err=True)
    return [path for path, _ in found]


def backlog_source(given: str | None = None, *, is_needed: bool = False) -> BacklogSource | None:
    """Return the backlog that is given, else stated in the project file, else in the environment.

    The environment variable may name a database that holds feedback but no backlog. Unless it
    ``is_needed``, that one is left out then, and a note goes to standard error.
    """
    from retrieval_eval.errors import BadInputError
    from retrieval_eval.search.gold.database import BacklogSource, read_backlog

    stated = project()
    source = given or stated.backlog.source
    is_stated = source is not None
    if not given and source is not None and "://" not in source:
        source = str(stated.place(source))
    source = source or os.environ.get(DATABASE_VARIABLE)
    if not source:
        return None
    # A URL without its beginning may hold a password, so it is not repeated as a missing file is.
    if "://" not in source and "@" in source and not Path(source).exists():
        raise click.BadParameter(
            "is no file, and no database URL such as sqlite:///file.db", param_hint="--backlog"
        )
    names = backlog_names(stated)
    found = BacklogSource(source, table=names.table, status=names.status, created=names.created)
    if is_stated or is_needed:
        return found
    try:
        read_backlog(found)
    except BadInputError as error:
        echo(f"backlog not counted ({DATABASE_VARIABLE}): {error}", err=True)
        return None
    return found


def backlog_names(stated: Project) -> BacklogPreset:
    """Return what table, columns and block are called: as stated, else as the preset has it.

    Raises `BadInputError` for a preset that there is not.
    """
    from retrieval_eval.errors import BadInputError
    from retrieval_eval.search.gold.database import PRESETS

    names = stated.backlog
    if names.preset not in PRESETS:
        what = f"no preset {names.preset!r} of [backlog]; known: {', '.join(PRESETS)}"
        raise BadInputError(f"{stated.path}: {what}")
    stated_names = {
        name: value
        for name in ("table", "status", "created", "block")
        if (value := getattr(names, name)) is not None
    }
    return replace(PRESETS[names.preset], **stated_names)


# --------------------------------------------------------------------------------------------------
# Options and output that gold commands share.

sheets_argument = click.argument("sheets", metavar="SHEET...", type=FILE, nargs=-1, required=True)

key_option = click.option(
    "--key", type=FILE, required=True, help="The key that was written with the sheets."
)

written_option = click.option(
    "--out", type=FILE, help="Gold set to write. Default: the one that is read."
)


def corpus_file_option(
    text: str = "Corpus with the texts to show.", *, is_required: bool = False
) -> Decorator:
    """Return a decorator that adds ``--corpus-file``."""
    return click.option("--corpus-file", type=FILE, required=is_required, help=text)


def folder_option(text: str, *, is_required: bool = True) -> Decorator:
    """Return a decorator that adds ``--out`` for commands that write into a folder."""
    return click.option("--out", type=FOLDER, required=is_required, help=text)


def labellers_option(text: str, *, is_required: bool = False) -> Decorator:
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
