"""Options of gold and search commands: one name and one meaning wherever they occur."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from retrieval_eval.cli.common import FILE, FOLDER, echo, parse_k, parse_options

if TYPE_CHECKING:
    from retrieval_eval.gold.backlog import BacklogSource
    from retrieval_eval.search.measure import Request

F = TypeVar("F", bound=Callable[..., Any])

DATA: Final = Path("data/eval")
GOLD: Final = DATA / "gold-set.jsonl"
BASELINE: Final = DATA / "baseline.json"
DATABASE_VARIABLE: Final = "RETRIEVAL_EVAL_DATABASE_URL"


class RetrieverOption(click.Option):
    """An option for a retriever, whose help lists the kinds there are."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return name and help; only the help needs the kinds, so they are loaded here."""
        from retrieval_eval.search.retrievers import shown_kinds

        self.help = f"{shown_kinds()}."
        return super().get_help_record(ctx)


def gold_option(function: F) -> F:
    """Add ``--gold``."""
    return click.option(
        "--gold", "gold_path", type=FILE, default=GOLD, show_default=True, help="The gold set."
    )(function)


def data_option(function: F) -> F:
    """Add ``--data``, the folder where runs are found by label."""
    return click.option(
        "--data",
        type=FOLDER,
        default=DATA,
        show_default=True,
        help="Folder of the runs that are named by their label.",
    )(function)


def run_files(names: Sequence[str], data: Path) -> list[Path]:
    """Return the files of runs, each named by its file or its label in ``data``.

    Notes about a choice go to standard error. Raises `BadInputError` for a name
    that is neither.
    """
    from retrieval_eval.search.run_names import run_file

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
            help="Documents; an answer that names another one fails.",
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
    from retrieval_eval.search.settings import Settings

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
    """Add ``--backlog`` and its names; the command gets ``backlog``, a source or None."""
    from retrieval_eval.gold.backlog import PRESETS, BacklogSource

    @wraps(function)
    def command(*args: Any, backlog: str | None, **given: Any) -> Any:
        names = {name: given.pop(f"backlog_{name}") for name in ("table", "status", "created")}
        preset = PRESETS[given.pop("backlog_preset")]
        if "backlog_name" in given:
            given["backlog_name"] = given["backlog_name"] or preset.block
        chosen = {name: value or getattr(preset, name) for name, value in names.items()}
        place = None if backlog is None else BacklogSource(backlog, **chosen)
        return function(*args, backlog=place, **given)

    for name, meaning in (
        ("created", "Column or key of the time an item was made"),
        ("status", "Column or key of the review status"),
        ("table", "Table or view of the items in a database, or schema.name"),
    ):
        option = click.option(
            f"--backlog-{name}", metavar="NAME", help=f"{meaning}. Default: {_listed(name)}."
        )
        command = option(command)
    command = click.option(
        "--backlog-preset",
        type=click.Choice(list(PRESETS)),
        default="standard",
        show_default=True,
        help="Names of table, columns and block that are not given.",
    )(command)
    return click.option(
        "--backlog",
        metavar="SOURCE",
        envvar=DATABASE_VARIABLE,
        callback=_checked_source,
        help="Items under review: a JSONL file, or a database as a SQLAlchemy URL; it is only "
        f"read, and its password never shown. Default: ${DATABASE_VARIABLE}, which keeps the "
        "password out of process lists.",
    )(command)  # type: ignore[return-value]


def _listed(name: str) -> str:
    """Return the default of a name, and the presets that have another one."""
    from retrieval_eval.gold.backlog import PRESETS

    values = {preset: getattr(names, name) for preset, names in PRESETS.items()}
    usual = values.pop("standard")
    others = (f"{value} for {preset}" for preset, value in values.items() if value != usual)
    return ", ".join([usual, *others])


def backlog_at_hand(source: BacklogSource | None) -> BacklogSource | None:
    """Return the source of a backlog, or None for an unusable one from the environment.

    The environment variable may name a database that holds feedback but no backlog. That must not
    stop a run; a note goes to standard error.
    """
    from retrieval_eval.errors import BadInputError
    from retrieval_eval.gold.backlog import read_backlog

    given = click.get_current_context().get_parameter_source("backlog")
    if source is None or given is not ParameterSource.ENVIRONMENT:
        return source
    try:
        read_backlog(source)
    except BadInputError as error:
        echo(f"backlog not counted ({DATABASE_VARIABLE}): {error}", err=True)
        return None
    return source
