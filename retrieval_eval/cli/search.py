"""``retrieval-eval search``: measure a retriever, and keep the baseline it is held against."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from retrieval_eval.cli.common import (
    FOLDER,
    json_option,
    parse_k,
    parse_options,
    plain,
    print_json,
    print_table,
    progress_bar,
)
from retrieval_eval.cli.lazy import LazyGroup

EXIT_NO_VERDICT = 2

_FILE = click.Path(path_type=Path, dir_okay=False)
_GOLD = Path("data/eval/gold-set.jsonl")
_BASELINE = Path("data/eval/baseline.json")
_OUT = Path("data/eval")
_CODES = ("gold_set", "convention", "empty_ranking", "depth", "measures", "queries")


@click.group(
    cls=LazyGroup,
    lazy={
        "abstention": "retrieval_eval.cli.search_abstention:abstention",
        "claims": "retrieval_eval.cli.search_claims:claims",
        "diff": "retrieval_eval.cli.search_diff:diff",
        "guard": "retrieval_eval.cli.search_guard:guard",
        "pin": "retrieval_eval.cli.search_guard:pin",
        "judge-next": "retrieval_eval.cli.search_judge_next:judge_next",
        "noise": "retrieval_eval.cli.search_noise:noise",
        "transfer": "retrieval_eval.cli.search_transfer:transfer",
        "report": "retrieval_eval.cli.search_report:report",
        "demo": "retrieval_eval.cli.search_report:demo",
    },
)
def search() -> None:
    """Measure a retriever against a gold set.

    Run it before and after any change of the retrieval layer, and attach the delta.
    """


@search.command()
@click.option(
    "--retriever",
    required=True,
    metavar="SPEC",
    help="bm25:FILE, http(s)://..., postgresql://..., run:FILE or package.module:name.",
)
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the retriever."
)
@click.option("--gold", type=_FILE, default=_GOLD, show_default=True, help="Gold set.")
@click.option(
    "--corpus", "corpora", multiple=True, metavar="NAME", help="Only queries of this corpus."
)
@click.option(
    "--corpus-file", type=_FILE, help="Documents, to notice unknown ones and to be on record."
)
@click.option("--label", default="", help="What to call this run, such as after-rerank-change.")
@click.option(
    "--k",
    "k_values",
    default="1,3,5,10,20",
    show_default=True,
    help="Cut-offs of P, Recall and nDCG, comma-separated; the usual ones are always measured.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Documents asked for, each query.",
)
@click.option("--floor", type=float, help="Drop documents scored below; none left: refused.")
@click.option(
    "--abstain-at",
    type=float,
    help="Count a query as refused when its top score lies below. Default: when nothing came back.",
)
@click.option("--no-rerank", is_flag=True, help="Leave out the second stage.")
@click.option("--baseline", type=_FILE, help=f"Run to compare with. Default: {_BASELINE}, if any.")
@click.option("--backlog", metavar="SOURCE", help="Labels under review: database URL or JSONL.")
@click.option("--out", type=FOLDER, default=_OUT, show_default=True, help="Folder of the reports.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Queries asked at once, of a retriever that allows it.",
)
@click.option("--fresh", is_flag=True, help="Do not take up an interrupted run.")
@click.option("--seed", type=int, default=20260101, show_default=True, help="Seed of resampling.")
@json_option
@click.pass_context
def run(
    context: click.Context,
    retriever: str,
    options: tuple[str, ...],
    gold: Path,
    corpora: tuple[str, ...],
    corpus_file: Path | None,
    label: str,
    k_values: str,
    depth: int,
    floor: float | None,
    abstain_at: float | None,
    no_rerank: bool,
    baseline: Path | None,
    backlog: str | None,
    out: Path,
    jobs: int,
    fresh: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Ask the retriever every gold query, score the answers and write the reports.

    Writes eval-report-UTC.json and .md. What an interrupted run had answered is not asked again.

    Exit code 0: measured. 2: no verdict, because queries failed or there was nothing to measure.
    3: bad input.
    """
    from retrieval_eval.search.measure import JOURNAL, Request, measure_request
    from retrieval_eval.search.settings import Settings

    request = Request(
        gold,
        retriever,
        options=parse_options(options),
        corpora=corpora,
        corpus_file=corpus_file,
        label=label,
        settings=Settings(k_values=parse_k(k_values), depth=depth, seed=seed),
        floor=floor,
        abstain_at=abstain_at,
        use_rerank=not no_rerank,
        baseline=baseline or (_BASELINE if _BASELINE.exists() else None),
        backlog=backlog,
        out=out,
        jobs=jobs,
        fresh=fresh,
    )
    if not fresh and (out / JOURNAL).exists():
        click.echo("taking up an interrupted run; --fresh asks every query again", err=True)
    with progress_bar("query") as progress:
        measured = measure_request(request, progress=progress)
    if as_json:
        print_json(measured.document)
    else:
        _print_run(measured.document)
        _print_delta(measured.document["delta"], measured.document)
        click.echo("")
        for path in (measured.json_path, measured.markdown_path):
            click.echo(plain(str(path)))
    if not measured.document["status"]["has_verdict"]:
        context.exit(EXIT_NO_VERDICT)


@search.command()
@click.option("--show", is_flag=True, help="Print the baseline. This is also the default.")
@click.option("--update", "new", type=_FILE, metavar="RUN.json", help="Make this run the baseline.")
@click.option("--baseline", type=_FILE, default=_BASELINE, show_default=True, help="The baseline.")
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(_CODES),
    help="Replace a baseline that differs in this; may be given several times.",
)
@json_option
def baseline(
    show: bool, new: Path | None, baseline: Path, accept: tuple[str, ...], as_json: bool
) -> None:
    """Show the baseline, or replace it by a run after showing the delta.

    Exit code 2: the run has no verdict, or measured something else than the old baseline, and the
    baseline stays as it is. 3: a file is no valid search run.
    """
    if new is None:
        from retrieval_eval.errors import BadInputError
        from retrieval_eval.search.run_files import read_search_run

        if not baseline.is_file():
            how = "`retrieval-eval search baseline --update RUN.json` makes one"
            raise BadInputError(f"{baseline}: no such file; {how}")
        document = read_search_run(baseline)
        if as_json:
            print_json(document)
        else:
            _print_run(document)
        return
    if show:
        raise click.UsageError("--show and --update exclude each other")
    from retrieval_eval.search.baseline import plan_update, write_update

    update = plan_update(baseline, new)
    if as_json:
        print_json(update.delta)
    elif update.delta is not None:
        _print_delta(update.delta, update.document)
    write_update(update, accept=accept)
    click.echo(plain(f"{baseline} is now the run {new}"), err=as_json)


def _print_run(document: Mapping[str, Any]) -> None:
    from retrieval_eval.search.abstention import sentences
    from retrieval_eval.search.composite import sentence as composite_sentence
    from retrieval_eval.search.summary import header, metric_rows, notices, shown_measures

    click.echo(plain(f"search run: {document['label'] or 'no label'}"))
    lines = header(document)
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        click.echo(plain(f"{name:<{width}} : {value}"))
    click.echo("")
    confidence = document["run"]["settings"]["confidence"]
    print_table(metric_rows(document["metrics"], shown_measures(document), confidence=confidence))
    if abstention := sentences(document.get("abstention")):
        click.echo("")
    for sentence in abstention:
        click.echo(plain(sentence))
    if abstention and (composite := composite_sentence(document.get("composite"))):
        click.echo(plain(composite))
    for notice in notices(document):
        click.echo("")
        click.echo(plain(notice))


def _print_delta(delta: Mapping[str, Any] | None, document: Mapping[str, Any]) -> None:
    from retrieval_eval.search.summary import (
        NO_BASELINE,
        delta_rows,
        delta_sentences,
        shown_measures,
    )

    click.echo("")
    if delta is None:
        click.echo(NO_BASELINE)
        return
    for sentence in delta_sentences(delta):
        click.echo(plain(sentence))
    if delta["is_comparable"]:
        click.echo("")
        confidence = document["run"]["settings"]["confidence"]
        print_table(delta_rows(delta["metrics"], shown_measures(document), confidence=confidence))
