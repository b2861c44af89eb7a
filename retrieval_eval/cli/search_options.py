"""Options of gold and search commands: one name and one meaning wherever they occur."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource
from msgspec.structs import replace

from retrieval_eval.cli.common import FILE, FOLDER, echo, parse_k, parse_options
from retrieval_eval.io.project import DATA, GOLD, Project, project

if TYPE_CHECKING:
    from retrieval_eval.search.gold.backlog import BacklogPreset, BacklogSource
    from retrieval_eval.search.measure import Request

F = TypeVar("F", bound=Callable[..., Any])

BASELINE: Final = DATA / "baseline.json"
NOISE: Final = DATA / "noise.json"
THRESHOLDS: Final = DATA / "guard.toml"
DATABASE_VARIABLE: Final = "RETRIEVAL_EVAL_DATABASE_URL"


class RetrieverOption(click.Option):
    """An option for a retriever, whose help lists the kinds there are."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return name and help; only the help needs the kinds, so they are loaded here."""
        from retrieval_eval.search.ask.retrievers import shown_kinds

        self.help = f"{shown_kinds()}."
        return super().get_help_record(ctx)


def _stated_gold() -> Path:
    return project().gold_set


def _stated_data() -> Path:
    return project().data_folder


def _stated_corpus() -> Path | None:
    return project().corpus_file


def gold_option(function: F) -> F:
    """Add ``--gold``."""
    return click.option(
        "--gold",
        "gold_path",
        type=FILE,
        default=_stated_gold,
        show_default=f"{GOLD}, or gold in the project file",
        help="The gold set.",
    )(function)


def data_option(function: F) -> F:
    """Add ``--data``, the folder where runs are found by label."""
    return click.option(
        "--data",
        type=FOLDER,
        default=_stated_data,
        show_default=f"{DATA}, or data in the project file",
        help="Folder of the runs that are named by their label.",
    )(function)


def run_files(names: Sequence[str], data: Path) -> list[Path]:
    """Return the files of runs, each named by its file or its label in ``data``.

    Notes about a choice go to standard error. Raises `BadInputError` for a name
    that is neither.
    """
    from retrieval_eval.search.run.run_names import run_file

    found = [run_file(name, data) for name in names]
    for notice in (notice for _, notices in found for notice in notices):
        echo(notice, err=True)
    return [path for path, _ in found]


def asking_options(function: F) -> F:
    """Add what `search run` and its repetitions ask with; `request_of` reads it."""
    for option in (
        click.option(
            "--jobs",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Queries asked at once, of a retriever that allows it.",
        ),
        click.option("--no-rerank", is_flag=True, help="Leave out the second stage."),
        click.option(
            "--floor", type=float, help="Drop documents scored below; none left: refused."
        ),
        click.option(
            "--depth",
            type=click.IntRange(min=1),
            default=50,
            show_default=True,
            help="Documents requested, each query.",
        ),
        click.option(
            "--k",
            "k_values",
            default="1,3,5,10,20",
            show_default=True,
            help="Cut-offs of P, Recall and nDCG, comma-separated; the usual ones are always "
            "measured.",
        ),
        click.option(
            "--corpus-file",
            type=FILE,
            default=_stated_corpus,
            help="Documents; an answer that names another one fails. Default: corpus in the "
            "project file, if any.",
        ),
        click.option(
            "--corpus",
            "corpora",
            multiple=True,
            metavar="NAME",
            help="Only queries of this corpus; may be given several times.",
        ),
        gold_option,
        click.option(
            "--option",
            "options",
            multiple=True,
            metavar="NAME=VALUE",
            help="Option of the retriever; may be given several times.",
        ),
    ):
        function = option(function)
    return function


def request_of(retriever: str, seed: int, asked: Mapping[str, Any], **more: Any) -> Request:
    """Return the request that the values of `asking_options` and further fields make."""
    from retrieval_eval.search.measure import Request
    from retrieval_eval.search.run.settings import Settings

    k_values = parse_k(asked["k_values"])
    return Request(
        asked["gold_path"],
        retriever,
        options=parse_options(asked["options"]),
        corpora=asked["corpora"],
        corpus_file=asked["corpus_file"],
        settings=Settings(k_values=k_values, depth=asked["depth"], seed=seed),
        floor=asked["floor"],
        use_rerank=not asked["no_rerank"],
        jobs=asked["jobs"],
        **more,
    )


def _checked_source(
    _context: click.Context, _option: click.Parameter, source: str | None
) -> str | None:
    # A URL without its beginning may hold a password, so it is not repeated as a missing file is.
    if source and "://" not in source and "@" in source and not Path(source).exists():
        raise click.BadParameter("is no file, and no database URL such as sqlite:///file.db")
    return source or None


def backlog_options(function: F) -> F:
    """Add ``--backlog``; the command gets ``backlog``, a source or None.

    What its table and columns are called stands in the project file, in the section ``[backlog]``.
    """

    @wraps(function)
    def command(*args: Any, backlog: str | None, **given: Any) -> Any:
        return function(*args, backlog=_backlog_source(backlog), **given)

    return click.option(
        "--backlog",
        metavar="SOURCE",
        envvar=DATABASE_VARIABLE,
        callback=_checked_source,
        help="Items under review: a JSONL file, or a database as a SQLAlchemy URL; it is only "
        "read, and its password never shown. Default: source below [backlog] in the project file, "
        f"else ${DATABASE_VARIABLE}, which keeps the password out of process lists.",
    )(command)  # type: ignore[return-value]


def _backlog_source(given: str | None) -> BacklogSource | None:
    """Return the backlog that is given or stated in the project file, with its names."""
    from retrieval_eval.search.gold.backlog import BacklogSource

    stated = project()
    source = given
    if stated.backlog.source is not None and not _is_given("backlog"):
        source = stated.backlog.source
        if "://" not in source:
            source = str(stated.place(source))
    if source is None:
        return None
    names = backlog_names(stated)
    return BacklogSource(source, table=names.table, status=names.status, created=names.created)


def backlog_names(stated: Project) -> BacklogPreset:
    """Return what table, columns and block are called: as stated, else as the preset has it.

    Raises `BadInputError` for a preset that there is not.
    """
    from retrieval_eval.errors import BadInputError
    from retrieval_eval.search.gold.backlog import PRESETS

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


def _is_given(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def backlog_at_hand(source: BacklogSource | None) -> BacklogSource | None:
    """Return the source of a backlog, or None for an unusable one from the environment.

    The environment variable may name a database that holds feedback but no backlog. That must not
    stop a run; a note goes to standard error.
    """
    from retrieval_eval.errors import BadInputError
    from retrieval_eval.search.gold.backlog import read_backlog

    given = click.get_current_context().get_parameter_source("backlog")
    if source is None or given is not ParameterSource.ENVIRONMENT:
        return source
    try:
        read_backlog(source)
    except BadInputError as error:
        echo(f"backlog not counted ({DATABASE_VARIABLE}): {error}", err=True)
        return None
    return source
