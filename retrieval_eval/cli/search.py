"""``retrieval-eval search``: measure a retriever, and manage its baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retrieval_eval.cli.common import (
    EXIT_NO_VERDICT,
    FILE,
    FOLDER,
    echo,
    json_option,
    print_json,
    print_table,
    progress_bar,
    seed_option,
)
from retrieval_eval.cli.lazy import LazyGroup
from retrieval_eval.cli.search_options import (
    BASELINE,
    RetrieverOption,
    asking_options,
    backlog_at_hand,
    backlog_options,
    data_option,
    request_of,
    run_files,
)
from retrieval_eval.io.project import DATA
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.model.search_run import SearchRun
    from retrieval_eval.search.gold.backlog import BacklogSource

_CODES = ("gold_set", "convention", "empty_ranking", "depth", "measures", "queries")


# Removed commands, each with what does its work now.
GONE: dict[str, str] = {
    "abstention": "`retrieval-eval search show RUN --target-frr RATE` says at which threshold to "
    "refuse.",
    "audit": "nothing compares published numbers with a run any more. `retrieval-eval search guard "
    "RUN` refuses a run whose numbers do not follow from its own queries.",
    "demo": "`retrieval-eval demo search`.",
    "judge-next": "`retrieval-eval gold pool --by-gain N` makes sheets of the documents to judge "
    "next.",
    "pin": "`retrieval-eval search guard --init --retriever SPEC --pin N` pins N queries, and asks "
    "these alone.",
    "plan": "`retrieval-eval search noise` prints the smallest change that a number of queries "
    "can show.",
    "report": "`retrieval-eval report RUN` takes search runs too, two of them for what changed.",
    "transfer": "`retrieval-eval search diff A B` says whether a change holds on every corpus.",
}


@click.group(
    cls=LazyGroup,
    lazy={
        "claims": "retrieval_eval.cli.search_claims:claims",
        "diff": "retrieval_eval.cli.search_diff:diff",
        "guard": "retrieval_eval.cli.search_guard:guard",
        "history": "retrieval_eval.cli.search_history:history",
        "noise": "retrieval_eval.cli.search_noise:noise",
        "show": "retrieval_eval.cli.search_show:show",
    },
    gone=GONE,
)
def search() -> None:
    """Measure a retriever against a gold set.

    Run it before and after any change of the retrieval layer, and attach the
    difference.
    """


@search.command(short_help="Ask every gold query and score the answers.")
@click.option(
    "--retriever",
    cls=RetrieverOption,
    required=True,
    metavar="SPEC",
)
@asking_options
@click.option("--label", default="", help="What to call this run, such as after-rerank-change.")
@click.option(
    "--abstain-at",
    type=float,
    help="Count a query as refused when its top score lies below. Default: when nothing came back.",
)
@click.option(
    "--queries",
    type=FILE,
    help="Ask only the queries of this list; `search guard --init --pin` writes one.",
)
@click.option(
    "--max-failed",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Up to this share of failed queries the run has a verdict.",
)
@click.option(
    "--ask-twice",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Queries asked a second time, to see whether the answers are the same.",
)
@click.option("--baseline", type=FILE, help=f"Run to compare with. Default: {BASELINE}, if any.")
@backlog_options
@click.option("--out", type=FOLDER, default=DATA, show_default=True, help="Folder of the reports.")
@click.option("--fresh", is_flag=True, help="Do not continue an interrupted run.")
@seed_option()
@json_option
@click.pass_context
def run(
    context: click.Context,
    /,
    retriever: str,
    label: str,
    abstain_at: float | None,
    queries: Path | None,
    max_failed: float,
    ask_twice: int,
    baseline: Path | None,
    backlog: BacklogSource | None,
    out: Path,
    fresh: bool,
    seed: int,
    as_json: bool,
    **asked: Any,
) -> None:
    """Ask the retriever every gold query, score the answers and write the reports.

    Writes eval-report-UTC.json and .md. Queries that an interrupted run had answered are not asked
    again.

    Exit code 0: measured. 2: no verdict, because queries failed or there was nothing to measure.
    3: bad input.
    """
    from retrieval_eval.search.measure import measure_request
    from retrieval_eval.search.run.run_files import document_of

    request = request_of(
        retriever,
        seed,
        asked,
        label=label,
        abstain_at=abstain_at,
        queries=queries,
        max_failed=max_failed,
        ask_twice=ask_twice,
        baseline=baseline or (BASELINE if BASELINE.exists() else None),
        backlog=backlog_at_hand(backlog),
        out=out,
        fresh=fresh,
    )
    with progress_bar("query") as progress:
        measured = measure_request(request, progress=progress, on_resume=_say_resumed)
    if as_json:
        print_json(document_of(measured.run))
    else:
        print_run(measured.run)
        _print_delta(measured.run)
        echo("")
        for path in (measured.json_path, measured.markdown_path):
            echo(path)
    if not measured.run.status.has_verdict:
        context.exit(EXIT_NO_VERDICT)


@search.command(short_help="Show the baseline, or replace it by a run.")
@click.option("--show", is_flag=True, help="Print the baseline. This is also the default.")
@click.option("--update", "new", metavar="RUN", help="Make this run the baseline.")
@click.option("--baseline", type=FILE, default=BASELINE, show_default=True, help="The baseline.")
@data_option
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(_CODES),
    help="Make a run the baseline although it differs in this; may be given several times.",
)
@json_option
def baseline(
    show: bool,
    new: str | None,
    baseline: Path,
    data: Path,
    accept: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show the baseline, or replace it by a run after showing the difference.

    RUN is a file, or the label of a run in the folder --data.

    Exit code 2: the run has no verdict, asked some queries only, or measured something else than
    the old baseline, and the baseline stays as it is. 3: a file is no valid search run.
    """
    if new is None:
        from retrieval_eval.errors import BadInputError
        from retrieval_eval.search.run.run_files import document_of, load_search_run

        if not baseline.is_file():
            how = "`retrieval-eval search baseline --update RUN` makes one"
            raise BadInputError(f"{baseline}: no such file; {how}")
        found = load_search_run(baseline)
        if as_json:
            print_json(document_of(found))
        else:
            print_run(found)
        return
    if show:
        raise click.UsageError("--show and --update exclude each other")
    from msgspec.structs import replace

    from retrieval_eval.model import to_builtins
    from retrieval_eval.search.change.baseline import plan_update, write_update

    (path,) = run_files([new], data)
    update = plan_update(baseline, path)
    if as_json:
        print_json(None if update.delta is None else to_builtins(update.delta))
    elif update.delta is not None or update.delta_withheld:
        compared = replace(update.run, delta=update.delta, delta_withheld=update.delta_withheld)
        _print_delta(compared)
    write_update(update, accept=accept)
    echo(f"{baseline} is now the run {path}", err=as_json)


def _say_resumed(n_answered: int, n_queries: int) -> None:
    answered = (
        f"continuing an interrupted run: {n_answered} of {counted(n_queries, 'query')} answered"
    )
    echo(f"{answered}; --fresh asks every query again", err=True)


def print_run(run: SearchRun) -> None:
    """Print a run: what was measured, its means, and what is remarkable."""
    from retrieval_eval.search.run.abstention import sentences
    from retrieval_eval.search.run.composite import sentence as composite_sentence
    from retrieval_eval.search.run.random_documents import random_sentences
    from retrieval_eval.search.run.settings import HEADLINE
    from retrieval_eval.search.run.summary import header, metric_rows, notices, shown_measures

    echo(f"search run: {run.label or 'no label'}")
    lines = header(run)
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        echo(f"{name:<{width}} : {value}")
    echo("")
    confidence = run.run.settings.confidence
    print_table(metric_rows(run.metrics, shown_measures(run), confidence=confidence))
    if abstention := sentences(run.abstention):
        echo("")
    for sentence in abstention:
        echo(sentence)
    if abstention and (composite := composite_sentence(run.composite)):
        echo(composite)
    if at_random := random_sentences(run, HEADLINE):
        echo("")
    for sentence in at_random:
        echo(sentence)
    for notice in notices(run):
        echo("")
        echo(notice)


def _print_delta(run: SearchRun) -> None:
    from retrieval_eval.search.run.summary import (
        delta_rows,
        delta_sentences,
        no_delta,
        shown_measures,
    )

    delta = run.delta
    echo("")
    if delta is None:
        echo(no_delta(run.delta_withheld))
        return
    for sentence in delta_sentences(delta):
        echo(sentence)
    if delta.is_comparable:
        echo("")
        confidence = run.run.settings.confidence
        print_table(delta_rows(delta.metrics, shown_measures(run), confidence=confidence))
