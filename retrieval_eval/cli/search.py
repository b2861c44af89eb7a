"""``retrieval-eval search``: measure a retriever, and manage its baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click
import msgspec

from retrieval_eval.cli.common import (
    EXIT_NO_VERDICT,
    FILE,
    FOLDER,
    LazyGroup,
    echo,
    json_option,
    number,
    parse_k,
    parse_options,
    print_json,
    print_short,
    print_table,
    progress_bar,
    table_lines,
)
from retrieval_eval.cli.search_options import (
    BASELINE,
    RetrieverOption,
    asked_at_once_option,
    backlog_option,
    backlog_source,
    baseline_option,
    documents_option,
    found_in_data,
    gold_option,
    in_data,
    queries_option,
    run_files,
    shown,
    verbose_option,
)
from retrieval_eval.io.user_files import DATA, project
from retrieval_eval.records import BaselineMismatch
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.model.search_run import SearchRun
    from retrieval_eval.search.run.abstention import Choice

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
        "noise": "retrieval_eval.cli.search_guard:noise",
        "show": "retrieval_eval.cli.search:show",
    },
    gone=GONE,
)
def search() -> None:
    """Measure a retriever against a gold set.

    Run it before and after any change of the retrieval layer, and attach the difference.

    What the help calls data/eval is the data folder: retrieval-eval.toml may state another one, and
    gold set, corpus and backlog too.
    """


@search.command(short_help="Ask every gold query and score the answers.")
@click.option("--retriever", cls=RetrieverOption, required=True, metavar="SPEC")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of the retriever. Repeatable.",
)
@gold_option
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    metavar="NAME",
    help="Only queries of this corpus. Repeatable.",
)
@documents_option
@click.option(
    "--k",
    "k_values",
    default="1,3,5,10,20",
    show_default=True,
    help="Cut-offs of P, Recall and nDCG.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Documents requested, each query.",
)
@click.option("--floor", type=float, help="Drop documents scored below; none left: refused.")
@click.option(
    "--without-own",
    is_flag=True,
    help="Leave the document that has the id of the query out of its ranking.",
)
@click.option("--no-rerank", is_flag=True, help="Leave out the second stage.")
@asked_at_once_option
@click.option("--label", default="", help="What to call this run, such as after-rerank-change.")
@click.option(
    "--abstain-at", type=float, help="Count a query as refused when its top score lies below."
)
@queries_option
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
    help="Queries asked twice, to see whether answers are the same.",
)
@baseline_option
@backlog_option
@click.option(
    "--out",
    type=FOLDER,
    default=lambda: project().data_folder,
    help=f"Folder of the reports. Default: {DATA}.",
)
@click.option("--fresh", is_flag=True, help="Do not continue an interrupted run.")
@verbose_option
@json_option
@click.pass_context
def run(
    context: click.Context,
    /,
    retriever: str,
    options: tuple[str, ...],
    gold_path: Path,
    corpora: tuple[str, ...],
    corpus_file: Path | None,
    k_values: str,
    depth: int,
    floor: float | None,
    without_own: bool,
    no_rerank: bool,
    jobs: int,
    label: str,
    abstain_at: float | None,
    queries: Path | None,
    max_failed: float,
    ask_twice: int,
    baseline: Path | None,
    backlog: str | None,
    out: Path,
    fresh: bool,
    is_verbose: bool,
    as_json: bool,
) -> None:
    """Ask the retriever every gold query, score the answers and write the reports.

    Writes eval-report-UTC.json and .md, and continues an interrupted run. Exit code 0: measured. 2:
    no verdict, because queries failed or there was nothing to measure. 3: bad input.
    """
    from retrieval_eval.search.measure import Request, measure_request
    from retrieval_eval.search.run import Settings
    from retrieval_eval.search.run.document import document_of

    request = Request(
        gold_path,
        retriever,
        options=parse_options(options),
        corpora=corpora,
        corpus_file=corpus_file,
        settings=Settings(k_values=parse_k(k_values), depth=depth, without_own=without_own),
        floor=floor,
        use_rerank=not no_rerank,
        jobs=jobs,
        label=label,
        abstain_at=abstain_at,
        queries=queries,
        max_failed=max_failed,
        ask_twice=ask_twice,
        baseline=baseline or found_in_data(BASELINE),
        backlog=backlog_source(backlog),
        out=out,
        fresh=fresh,
    )
    with progress_bar("query") as progress:
        measured = measure_request(request, progress=progress, on_resume=_say_resumed)
    if as_json:
        print_json(document_of(measured.run))
    elif is_verbose:
        print_run(measured.run)
        _print_delta(measured.run)
        echo("")
        for path in (measured.json_path, measured.markdown_path):
            echo(path)
    else:
        _print_short(measured.run, [measured.json_path, measured.markdown_path])
    if not measured.run.status.has_verdict:
        context.exit(EXIT_NO_VERDICT)


@search.command(short_help="Show the baseline, or replace it by a run.")
@click.option("--update", "new", metavar="RUN", help="Make this run the baseline.")
@click.option(
    "--baseline",
    type=FILE,
    default=in_data(BASELINE),
    help=f"The baseline. Default: {shown(BASELINE)}.",
)
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(get_args(BaselineMismatch)),
    help="Make a run the baseline although it differs in this. Repeatable.",
)
@json_option
def baseline(new: str | None, baseline: Path, accept: tuple[str, ...], as_json: bool) -> None:
    """Show the baseline, or replace it by a run after showing the difference.

    RUN is a file, or the label of a run in data/eval.

    Exit code 2: the run has no verdict, asked some queries only, or measured something else than
    the old baseline, and the baseline stays as it is. 3: a file is no valid search run.
    """
    if new is None:
        from retrieval_eval.errors import BadInputError
        from retrieval_eval.search.run.document import document_of, load_search_run

        if not baseline.is_file():
            how = "`retrieval-eval search baseline --update RUN` makes one"
            raise BadInputError(f"{baseline}: no such file; {how}")
        found = load_search_run(baseline)
        if as_json:
            print_json(document_of(found))
        else:
            print_run(found)
        return
    from msgspec.structs import replace

    from retrieval_eval.model import to_builtins
    from retrieval_eval.search.change.baseline import plan_update, write_update

    (path,) = run_files([new])
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
    from retrieval_eval.search.run import HEADLINE
    from retrieval_eval.search.run.abstention import sentences
    from retrieval_eval.search.run.composite import sentence as composite_sentence
    from retrieval_eval.search.run.random_documents import random_sentences
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


def _print_short(run: SearchRun, paths: Sequence[Path]) -> None:
    """Print what was measured, the metrics with their change, and what a reader must not miss."""
    from retrieval_eval.search.run.abstention import sentences
    from retrieval_eval.search.run.composite import sentence as composite_sentence
    from retrieval_eval.search.run.random_documents import not_beaten
    from retrieval_eval.search.run.summary import (
        delta_sentences,
        header,
        no_delta,
        notices,
        short_rows,
    )

    is_circular = run.labels is not None and run.labels.circularity.share is not None
    lines = [
        (name, value)
        for name, value in header(run)
        if value != "none" and (name != "labels" or is_circular)
    ]
    width = max(len(name) for name, _ in lines)
    abstention = sentences(run.abstention)
    if abstention and (composite := composite_sentence(run.composite)):
        abstention.append(composite)
    if failed := not_beaten(run):
        abstention.append(f"Not better than random documents: {', '.join(failed)}.")
    delta = run.delta
    print_short(
        [
            [
                f"search run: {run.label or 'no label'}",
                *(f"{name:<{width}} : {value}" for name, value in lines),
            ],
            table_lines(short_rows(run)),
            abstention,
            [no_delta(run.delta_withheld)] if delta is None else delta_sentences(delta),
            notices(run),
        ],
        "All metrics and bounds: --verbose, --json.",
        paths,
        cut=4,
    )


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


# --------------------------------------------------------------------------------------------------
# ``search show``: a stored run, and the threshold at which it had better refuse.


@click.command(short_help="Print a stored run.")
@click.argument("run")
@click.option(
    "--target-frr",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.05,
    show_default=True,
    help="False refusal rate that the recommended threshold stays within.",
)
@json_option
def show(run: str, target_frr: float, as_json: bool) -> None:
    """Print a stored run as `search run` did.

    RUN is a file, or the label of a run in data/eval.

    Where unanswerable queries were asked it also says, for several false refusal rates, at which
    top score to refuse. The recommended threshold refuses most unanswerable queries while at most
    --target-frr of the answerable ones are refused. It was chosen on the queries it is shown for;
    the split-half check estimates what it does to other queries. With --json these are the member
    `thresholds` beside the document of the run.

    Exit code 3: no such run, or no valid one.
    """
    from retrieval_eval.errors import NothingToEvaluateError
    from retrieval_eval.search.run.abstention import choice_of
    from retrieval_eval.search.run.document import document_of, load_search_run
    from retrieval_eval.search.run.trust import require_trust

    (path,) = run_files([run])
    found = load_search_run(path)
    choice, why = None, None
    if found.abstention is not None:
        try:
            require_trust(found, str(path))
            choice = choice_of(found, target_frr)
        except NothingToEvaluateError as error:
            why = str(error)
    if as_json:
        more = {} if choice is None else {"thresholds": msgspec.to_builtins(choice)}
        print_json({**document_of(found), **more})
        return
    print_run(found)
    if choice is not None:
        _print(choice)
    elif why is not None:
        echo("")
        echo(f"no threshold to choose: {why}")


def _print(choice: Choice) -> None:
    from retrieval_eval.search.run.abstention import rate_text

    verdicts = {True: "passes", False: "fails", None: "—"}
    rows = [["refuse below", "chosen for", "ungrounded TP rate", "answerable FR rate", "gate"]]
    for purpose, point in [
        ("these decisions", choice.now),
        *((f"FR rate ≤ {point.cap:g}", point) for point in choice.points),
    ]:
        rates = (rate_text(point.true_positive_rate), rate_text(point.false_refusal_rate))
        rows.append([number(point.threshold, 4), purpose, *rates, verdicts[point.passes]])
    for name, caught in (("always answer", 0.0), ("always refuse", 1.0)):
        rows.append(["—", name, number(caught, 3), number(caught, 3), "fails"])
    echo("")
    print_table(rows, numbers_from=len(rows[0]))
    echo("")
    chosen, check = choice.recommended, choice.split_half
    if chosen is None:
        echo(
            f"No threshold keeps the false refusal rate within {choice.target:g}: more answerable "
            "queries than that come back empty."
        )
        return
    echo(
        f"Recommended for a false refusal rate within {choice.target:g}: "
        f"--abstain-at {chosen.threshold}"
    )
    echo("It was chosen on these queries, so it looks better here than on new ones.")
    if check is None:
        echo("Too few queries to choose on one half and test on the other.")
        return
    tried = (
        f"ungrounded TP rate {check.true_positive_rate:.3f}, answerable FR rate "
        f"{check.false_refusal_rate:.3f}, above {choice.target:g} in {check.share_over:.0%} of them"
    )
    n = check.n_halvings
    echo(f"Chosen on one half and tested on the other ({n} halvings): {tried}.")
