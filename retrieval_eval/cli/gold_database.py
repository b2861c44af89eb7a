"""``gold bootstrap`` and ``gold backlog``: what a database knows about labels."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from retrieval_eval.cli.common import json_option, number, plain, print_json, progress_bar
from retrieval_eval.gold.backlog import CREATED_COLUMN, STATUS_COLUMN, TABLE, read_backlog
from retrieval_eval.gold.bootstrap import BootstrapResult
from retrieval_eval.gold.bootstrap import bootstrap as regenerate
from retrieval_eval.gold.feedback_tables import feedback_settings

F = TypeVar("F", bound=Callable[..., Any])

DATABASE_VARIABLE = "RETRIEVAL_EVAL_DATABASE_URL"


def database_option(function: F) -> F:
    """Add ``--database``."""
    return click.option(
        "--database",
        metavar="URL",
        envvar=DATABASE_VARIABLE,
        help="SQLAlchemy URL, such as postgresql://user@host/name or sqlite:///file.db; it is only "
        f"read, and its password never shown. Default: ${DATABASE_VARIABLE}, which keeps the "
        "password out of process lists.",
    )(function)


@click.command()
@click.argument(
    "gold",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("data/eval/gold-set.jsonl"),
)
@database_option
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME=OWN",
    help="Your name of the table search_logs or search_relevance_feedback, with its schema as "
    "schema.name.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=OWN",
    help="Your name of a documented column, such as query=query_text; practice_area= and corpus= "
    "say that there is none.",
)
@click.option(
    "--score",
    "scores",
    multiple=True,
    metavar="SCORE[=GRADE]",
    help="A relevance score that counts and the grade it is worth (1 unless said). Default: 3=1.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@json_option
def bootstrap(
    gold: Path,
    database: str | None,
    tables: tuple[str, ...],
    columns: tuple[str, ...],
    scores: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make gold queries from the relevance feedback of a database.

    GOLD (default data/eval/gold-set.jsonl) gets one row of source 'bootstrap' for each query
    that has feedback. Rows of source 'chair' keep their bytes and win. Run it as often as you
    like: the same database gives the same file. Tables, columns and scores can also be set in
    gold.toml beside GOLD. See docs/gold-database.md.
    """
    if not database:
        raise click.UsageError(f"which database? Give --database or set ${DATABASE_VARIABLE}")
    renamed = {"tables": _pairs(tables, "--table"), "columns": _pairs(columns, "--column")}
    settings = feedback_settings(gold)
    with progress_bar("row") as progress:
        result = regenerate(
            database,
            gold,
            tables=settings.tables.renamed(**renamed),
            scores=_scores(scores) or settings.scores,
            dry_run=dry_run,
            progress=progress,
        )
    if as_json:
        print_json(result.to_json())
    else:
        _show(result, dry_run)


def _pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if not all(sign for _, sign, _ in pairs):
        raise click.BadParameter("expected NAME=OWN", param_hint=option)
    return {name.strip(): own.strip() for name, _, own in pairs}


def _scores(texts: tuple[str, ...]) -> dict[int, int]:
    found = {}
    for text in texts:
        score, _, grade = text.partition("=")
        try:
            found[int(score)] = int(grade or 1)
        except ValueError:
            raise click.BadParameter(
                f"{text!r}; expected whole numbers such as 3=1", param_hint="--score"
            ) from None
    return found


def _show(result: BootstrapResult, dry_run: bool) -> None:
    if dry_run:
        for change in result.changes:
            for sign, row in (("-", change.before), ("+", change.after)):
                if row is not None:
                    click.echo(f"{sign} {plain(row)}")
    click.echo(
        f"{result.path}: {result.n_found} queries from {result.n_feedback} feedback rows of "
        f"{result.database}"
    )
    click.echo(
        f"bootstrap rows: {result.n_added} added, {result.n_changed} changed, "
        f"{result.n_unchanged} unchanged, {result.n_dropped} dropped; {result.n_covered} not made, "
        f"a chair row has the query; chair rows: {result.n_chair} kept"
    )
    for reason, n in result.skipped.items():
        click.echo(f"feedback rows without use: {n} ({reason})")
    if dry_run:
        click.echo("nothing written (--dry-run)")
    elif not result.is_written:
        click.echo("the file is up to date; nothing written")


@click.command()
@database_option
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSONL file of the items instead of a database.",
)
@click.option(
    "--table",
    metavar="NAME",
    default=TABLE,
    show_default=True,
    help="Table or view of the items, with its schema as schema.name.",
)
@click.option(
    "--status",
    metavar="NAME",
    default=STATUS_COLUMN,
    show_default=True,
    help="Column or key of the review status.",
)
@click.option(
    "--created",
    metavar="NAME",
    default=CREATED_COLUMN,
    show_default=True,
    help="Column or key of the time an item was made.",
)
@click.option(
    "--as-of",
    metavar="TIME",
    help="Moment the age is counted to, such as 2026-05-31T08:00:00Z. Default: now.",
)
@json_option
@click.pass_context
def backlog(
    context: click.Context,
    database: str | None,
    file: Path | None,
    table: str,
    status: str,
    created: str,
    as_of: str | None,
    as_json: bool,
) -> None:
    """Count what waits for review, and say for how long the oldest has waited.

    Items are counted by review status: pending_review, approved, rejected, published; any other
    status is counted as 'other' and named. The counts sum to the total.
    """
    # A database from the environment must not compete with a file that was asked for.
    is_asked = context.get_parameter_source("database") is ParameterSource.COMMANDLINE
    if file is not None and is_asked:
        raise click.UsageError("--database and --file exclude each other")
    source = str(file) if file is not None else database
    if not source:
        raise click.UsageError(
            f"backlog of what? Give --database or --file, or set ${DATABASE_VARIABLE}"
        )
    found = read_backlog(source, table=table, status=status, created=created, as_of=_time(as_of))
    if as_json:
        print_json(found.to_json())
        return
    block = found.to_json()
    for name in ("pending_review", "approved", "rejected", "published", "other", "total"):
        click.echo(f"{name:<15}{block[name]:>9}")
    for name, n in found.other_statuses.items():
        click.echo(f"  other: {plain(name)} {n}")
    if found.oldest_pending_at is not None:
        click.echo(
            f"oldest pending since {block['oldest_pending_at']}, "
            f"{number(found.oldest_pending_age_days, 1)} days before {block['as_of']}"
        )
    if found.n_pending_undated:
        click.echo(f"pending without a time: {found.n_pending_undated}")


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no time; expected one such as 2026-05-31T08:00:00Z", param_hint="--as-of"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
