"""``gold bootstrap`` and ``gold backlog``: feedback and review status from a database."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.cli.common import echo, json_option, number, print_json, progress_bar
from retrieval_eval.cli.search_options import (
    DATABASE_VARIABLE,
    backlog_option,
    backlog_source,
    corpus_file_option,
    gold_option,
)
from retrieval_eval.model import to_builtins
from retrieval_eval.model.gold import STYLES
from retrieval_eval.search.gold.backlog import STATUSES, read_backlog
from retrieval_eval.search.gold.bootstrap import BootstrapResult, feedback_settings
from retrieval_eval.search.gold.bootstrap import bootstrap as regenerate
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.values import counted


@click.command(short_help="Make gold queries from feedback in a database.")
@gold_option
@click.option(
    "--database",
    metavar="URL",
    envvar=DATABASE_VARIABLE,
    help="SQLAlchemy URL, such as postgresql://user@host/name; it is only read. Default: "
    f"${DATABASE_VARIABLE}, which keeps a password out of process lists.",
)
@click.option(
    "--names",
    type=click.Choice(list(STYLES)),
    help="Field names of rows in a new set; case-law: practice_area, relevant_case_law_ids, note.",
)
@click.option(
    "--found-by",
    metavar="NAME",
    help="Retriever of the logged searches, to see which labels came from the one under test.",
)
@corpus_file_option("Documents of the searches, to record which texts new labels were given to.")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@json_option
def bootstrap(
    gold_path: Path,
    database: str | None,
    names: str | None,
    found_by: str | None,
    corpus_file: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make gold queries from the relevance feedback of a database.

    The gold set gets one row of source 'bootstrap' for each query that has feedback. Reviewed rows
    keep their bytes and take precedence. Run it as often as you like: the same database
    gives the same file. gold.toml beside the gold set names your tables and columns, and the
    scores that count. See docs/gold-database.md.
    """
    if not database:
        raise click.UsageError(f"no database: give --database or set ${DATABASE_VARIABLE}")
    settings = feedback_settings(gold_path)
    with progress_bar("row") as progress:
        result = regenerate(
            database,
            gold_path,
            tables=settings.tables,
            scores=settings.scores,
            names=names,
            found_by=found_by,
            corpus=None if corpus_file is None else read_corpus(corpus_file),
            dry_run=dry_run,
            progress=progress,
        )
    if as_json:
        print_json(to_builtins(result))
    else:
        _show(result, dry_run)


def _show(result: BootstrapResult, dry_run: bool) -> None:
    if dry_run:
        for change in result.changes:
            for sign, row in (("-", change.before), ("+", change.after)):
                if row is not None:
                    echo(f"{sign} {row}")
    echo(
        f"{result.gold}: {counted(result.n_found, 'query')} from "
        f"{counted(result.n_feedback, 'feedback row')} of {result.database}"
    )
    echo(
        f"bootstrap rows: {result.n_added} added, {result.n_changed} changed, "
        f"{result.n_unchanged} unchanged, {result.n_dropped} dropped; {result.n_covered} not made, "
        f"a reviewed row has the query; reviewed rows: {result.n_chair} kept"
    )
    for reason, n in result.skipped.items():
        echo(f"feedback rows without use: {n} ({reason})")
    if dry_run:
        echo("nothing written (--dry-run)")
    elif not result.is_written:
        echo("the file is up to date; nothing written")


@click.command(short_help="Count items waiting for review, by age.")
@backlog_option
@json_option
def backlog(backlog: str | None, as_json: bool) -> None:
    """Count the items waiting for review, and show how long the oldest has waited.

    Items are counted by review status: pending_review, approved, rejected, published; any other
    status is counted as 'other' and named. The counts sum to the total.
    """
    source = backlog_source(backlog, is_needed=True)
    if source is None:
        raise click.UsageError(f"no backlog source: give --backlog or set ${DATABASE_VARIABLE}")
    found = read_backlog(source)
    if as_json:
        print_json(to_builtins(found))
        return
    block = to_builtins(found)
    for name in (*STATUSES, "other", "total"):
        echo(f"{name:<15}{block[name]:>9}")
    for name, n in found.other_statuses.items():
        echo(f"  other: {name} {n}")
    if found.oldest_pending_at is not None:
        echo(
            f"oldest pending since {block['oldest_pending_at']}, "
            f"{number(found.oldest_pending_age_days, 1)} days before "
            f"{found.as_of:%Y-%m-%dT%H:%M:%SZ}"
        )
    if found.n_pending_undated:
        echo(f"pending without a time: {found.n_pending_undated}")
