"""``retrieval-eval search guard``: fail a build on retrieval quality."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retrieval_eval.cli.common import (
    FILE,
    PATH,
    echo,
    echo_lines,
    json_option,
    print_json,
    print_table,
    progress_bar,
)
from retrieval_eval.cli.search_options import (
    BASELINE,
    JUSTIFICATION,
    NOISE,
    THRESHOLDS,
    asked_at_once_option,
    documents_option,
    found_in_data,
    gold_option,
    in_data,
    noise_option,
    queries_option,
    run_files,
    shown,
)
from retrieval_eval.io.user_files import project
from retrieval_eval.values import DEFAULT_SEED

if TYPE_CHECKING:
    from retrieval_eval.model.guard import NoiseFloor

_PINNED = "pinned.txt"
_DIMENSIONS = ("corpus", "area", "origin", "source")


@click.command(short_help="Compare a run with the baseline.")
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "--workflow",
    type=click.Choice(["none"]),
    hidden=True,
    expose_value=False,
    help="Kept so that commands which state `none` still run.",
)
@click.option(
    "--init", is_flag=True, help="Make RUN the baseline, and write the thresholds it supports."
)
@click.option(
    "--retriever", metavar="SPEC", help="With --init, in place of RUN: ask this retriever first."
)
@click.option(
    "--pin",
    "n_pinned",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"With --retriever: ask N queries alone, drawn at random, and list them in {_PINNED}.",
)
@click.option(
    "--slices",
    multiple=True,
    type=click.Choice(_DIMENSIONS),
    help="With --init: judge the worst slice of this, too. Repeatable.",
)
@click.option("--force", is_flag=True, help="With --init: overwrite what is there.")
@click.option(
    "--accept-weak-baseline",
    "accept_weak",
    is_flag=True,
    help="With --init: take a run that is no better than chance, too.",
)
@click.option(
    "--baseline",
    "baselines",
    type=PATH,
    multiple=True,
    default=lambda: [in_data(BASELINE)()],
    help=f"The baseline; several files, or a folder: their mean. Default: {shown(BASELINE)}.",
)
@click.option(
    "--thresholds",
    type=FILE,
    help=f"What may change by how much. Default: {shown(THRESHOLDS)}, or shipped.",
)
@queries_option
@gold_option
@click.option(
    "--justification",
    type=FILE,
    help=f"Breaches accepted in writing. Default: {shown(JUSTIFICATION)}.",
)
@noise_option
@click.option("--comment", type=FILE, metavar="OUT.md", help="Write a pull-request comment.")
@json_option
@click.pass_context
def guard(
    context: click.Context,
    runs: tuple[str, ...],
    init: bool,
    retriever: str | None,
    n_pinned: int | None,
    slices: tuple[str, ...],
    force: bool,
    accept_weak: bool,
    baselines: tuple[Path, ...],
    thresholds: Path | None,
    queries: Path | None,
    gold_path: Path,
    justification: Path | None,
    noise: Path | None,
    comment: Path | None,
    as_json: bool,
) -> None:
    """Compare a search run with the baseline, threshold by threshold.

    RUN is a file, or the label of a run in data/eval. Of several runs of one system the mean
    is compared. With --init nothing is compared, and a run that is no better than random documents
    is refused; without RUN the baseline that is there is taken.

    Exit code 0: passed. 1: a threshold is breached. 2: no verdict, because the run is empty,
    truncated, failed on queries, lacks a metric or a corpus, or measured something other than
    the baseline. 3: bad input.
    """
    thresholds_file = thresholds or in_data(THRESHOLDS)()
    if init:
        if n_pinned is not None and (retriever is None or queries is not None):
            raise click.UsageError("--pin goes with --retriever, and without --queries")
        if len(runs) + (retriever is not None) > 1 or len(baselines) > 1:
            raise click.UsageError("--init takes one run or retriever, and one baseline to write")
        (baseline,) = baselines
        run_path = run_files(runs)[0] if runs else baseline
        if retriever is not None:
            from retrieval_eval.search.decide.guard.files import refuse_overwriting

            pinned = in_data(_PINNED)()
            if not force:  # before every query is asked
                refuse_overwriting([baseline, thresholds_file, *([pinned] if n_pinned else [])])
            if n_pinned is not None:
                from retrieval_eval.search.decide.guard.files import write_pinned

                queries = write_pinned(pinned, gold_path, size=n_pinned)
            run_path = _measured(retriever, gold_path, queries)
        files = baseline, thresholds_file, gold_path, queries
        _init(
            run_path,
            *files,
            slices,
            noise or found_in_data(NOISE),
            force=force,
            accept_weak=accept_weak,
            as_json=as_json,
        )
        return
    if not runs or retriever is not None or n_pinned is not None:
        raise click.UsageError(
            "--retriever and --pin go with --init" if runs else "Missing argument 'RUN...'."
        )
    from retrieval_eval.model import to_builtins
    from retrieval_eval.search.decide.guard.files import Request, write_comment
    from retrieval_eval.search.decide.guard.files import guard as guard_files
    from retrieval_eval.search.decide.guard.rendering import to_text

    request = Request(
        run_files(runs),
        baselines,
        thresholds or found_in_data(THRESHOLDS),
        queries,
        gold_path,
        justification or found_in_data(JUSTIFICATION),
        noise or found_in_data(NOISE),
    )
    verdict = guard_files(request, today=datetime.now(UTC).date())
    if comment is not None:
        write_comment(verdict, comment)
    if as_json:
        print_json(to_builtins(verdict))
    else:
        echo_lines(to_text(verdict))
    context.exit(verdict.exit_code)


def _measured(retriever: str, gold: Path, queries: Path | None) -> Path:
    """Make a run of a retriever under the usual settings and return its file."""
    from retrieval_eval.search.measure import Request, measure_request

    out = project().data_folder
    request = Request(
        gold,
        retriever,
        corpus_file=project().corpus_file,
        label="baseline",
        queries=queries,
        out=out,
    )
    with progress_bar("query") as progress:
        return measure_request(request, progress=progress).json_path


def _init(
    run: Path,
    baseline: Path,
    thresholds: Path,
    gold: Path,
    queries: Path | None,
    slices: tuple[str, ...],
    noise: Path | None,
    *,
    force: bool,
    accept_weak: bool,
    as_json: bool,
) -> None:
    from retrieval_eval.search.decide.guard.files import (
        next_steps,
        plan_adoption,
        write_adoption,
    )
    from retrieval_eval.search.decide.guard.rendering import allowed, one_line

    adoption = plan_adoption(
        run,
        today=datetime.now(UTC).date(),
        baseline=baseline,
        thresholds=thresholds,
        gold=gold,
        queries=queries,
        slices=slices,
        accept_weak=accept_weak,
        noise=noise,
    )
    steps = next_steps(adoption, [gold, *([] if queries is None else [queries])])
    written = write_adoption(adoption, force=force)
    pairs = zip(adoption.thresholds.rows, adoption.verdict.rows, strict=True)
    rows = [f"{threshold.name} {allowed(row)}" for threshold, row in pairs]
    if as_json:
        print_json(
            {
                "written": [str(path) for path in written],
                "unchanged": [str(path) for path in adoption.files if path not in written],
                "thresholds": rows,
                "left_out": dict(adoption.left_out),
                "verdict": adoption.verdict.verdict,
                "notes": steps,
            }
        )
        return
    for path in adoption.files:
        echo(f"{'written' if path in written else 'unchanged'}: {path}")
    echo("")
    for row in rows:
        echo(f"checked: {row}")
    for name, why in adoption.left_out.items():
        echo(f"left out: {name}: {one_line(why)}")
    echo("")
    echo(f"the baseline against itself: {adoption.verdict.headline}")
    for line in steps:
        echo(line)


# --------------------------------------------------------------------------------------------------
# ``retrieval-eval search noise``: how much metrics vary between runs of one system.


@click.command(short_help="Measure how much runs vary by themselves.")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--retriever", metavar="SPEC", help="Repeat a run of this retriever.")
@gold_option
@documents_option
@asked_at_once_option
@click.option(
    "--repeats",
    type=click.IntRange(min=2),
    help="How many runs. Default: 10, and with RUN only those that are named.",
)
@queries_option
@click.option(
    "--change",
    nargs=2,
    metavar="A B",
    help="Two runs that differ like a typical change, to say how large a detectable one is.",
)
@click.option(
    "--out",
    type=FILE,
    default=in_data(NOISE),
    help=f"Where to write. Default: {shown(NOISE)}.",
)
@json_option
def noise(
    runs: tuple[str, ...],
    retriever: str | None,
    gold_path: Path,
    corpus_file: Path | None,
    jobs: int,
    repeats: int | None,
    queries: Path | None,
    change: tuple[str, str] | None,
    out: Path,
    as_json: bool,
) -> None:
    """Measure the noise of a system from runs in which nothing changed, and write it to --out.

    RUN... are finished runs: files, or labels of runs in data/eval. With --repeats the
    retriever of the first is asked again, with its options, cut-offs, depth and corpora; with
    --retriever another one is, or without RUN that one alone. No report is written.

    Exit code 0: measured. 2: the runs are not of one system, or have no verdict. 3: bad input.

    \b
    Examples:
      retrieval-eval search noise RUN --repeats 10
      retrieval-eval search noise --retriever bm25:corpus.jsonl
    """  # noqa: D301  click reads the control character
    if not runs and retriever is None:
        raise click.UsageError("name a --retriever to repeat, or runs")
    from retrieval_eval.io.files import write_json
    from retrieval_eval.model import to_builtins
    from retrieval_eval.schema import now
    from retrieval_eval.search.decide.noise import DEFAULT_REPEATS, check_distinct, repeated_runs
    from retrieval_eval.search.decide.noise import noise as noise_of
    from retrieval_eval.search.gold.identity import read_pinned
    from retrieval_eval.search.measure import Request, again
    from retrieval_eval.search.run.document import load_search_run

    pinned = None if queries is None else read_pinned(queries)
    documents = [load_search_run(path) for path in run_files(runs)]
    check_distinct(documents)
    pair = [load_search_run(path) for path in run_files(change or ())]
    if retriever is not None or repeats is not None:
        given: dict[str, Any] = {"corpus_file": corpus_file, "jobs": jobs}
        if documents:
            request = again(documents[0], gold_path, retriever, **given)
        else:
            request = Request(gold_path, retriever or "", **given)
        with progress_bar("query") as progress:
            documents += repeated_runs(
                request, repeats=repeats or DEFAULT_REPEATS, progress=progress
            )
    found = noise_of(
        documents,
        generated_at=now(),
        seed=DEFAULT_SEED,
        change=(pair[0], pair[1]) if pair else None,
        pinned=pinned,
    )
    document = to_builtins(found)
    write_json(out, document, indent=1)
    if as_json:
        print_json(document)
    else:
        _print(found)
        echo()
        echo(out)


def _print(found: NoiseFloor) -> None:
    from retrieval_eval.search.decide.noise import (
        detectable_rows,
        level_rows,
        noise_sentences,
        shown_metrics,
        snippet,
    )

    for sentence in noise_sentences(found):
        echo(sentence)
    names = shown_metrics(found)
    for title, rows in (
        ("Noise, in points", level_rows(found, names)),
        ("Smallest change that 80 % of comparisons find, in points", detectable_rows(found)),
    ):
        echo()
        echo(title)
        print_table(rows)
    echo_lines("\nFor guard.toml:\n\n" + snippet(found))
