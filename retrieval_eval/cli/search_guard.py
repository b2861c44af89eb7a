"""``retrieval-eval search guard``: fail a build on retrieval quality."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from retrieval_eval.cli.common import (
    FILE,
    PATH,
    echo,
    echo_lines,
    json_option,
    print_json,
    progress_bar,
)
from retrieval_eval.cli.search_options import (
    BASELINE,
    NOISE,
    THRESHOLDS,
    data_option,
    gold_option,
    run_files,
)
from retrieval_eval.io.project import DATA

_JUSTIFICATION = DATA / "justification.toml"
_PINNED = DATA / "pinned.txt"
_DIMENSIONS = ("corpus", "area", "origin", "source")


def _print_thresholds(context: click.Context, _parameter: click.Parameter, is_asked: Any) -> None:
    if not is_asked or context.resilient_parsing:
        return
    from retrieval_eval.search.decide.guard.thresholds import SHIPPED

    echo_lines(SHIPPED.read_text(encoding="utf-8"))
    context.exit()


def _no_workflow(_context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value == "github":
        raise click.UsageError(
            "no workflow is written any more; copy docs/github-workflow/retrieval-guard.yml"
        )


@click.command(short_help="Compare a run with the baseline.")
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "--workflow",
    type=click.Choice(["auto", "github", "none"]),
    hidden=True,
    expose_value=False,
    callback=_no_workflow,
    help="Kept so that commands which state `none` still run.",
)
@click.option(
    "--init",
    is_flag=True,
    help="Begin: make RUN the baseline and write the thresholds that it supports.",
)
@click.option(
    "--retriever",
    metavar="SPEC",
    help="With --init, in place of RUN: ask this retriever first, as `search run` does.",
)
@click.option(
    "--pin",
    "n_pinned",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"With --init --retriever: ask N queries alone, drawn at random; their list is {_PINNED}.",
)
@click.option(
    "--slices",
    multiple=True,
    type=click.Choice(_DIMENSIONS),
    help="With --init: judge the worst slice of this, too; may be given several times.",
)
@click.option("--force", is_flag=True, help="With --init: overwrite what is there.")
@click.option(
    "--accept-weak-baseline",
    "accept_weak",
    is_flag=True,
    help="With --init: take a run that is no better than chance, too.",
)
@data_option
@click.option(
    "--baseline",
    "baselines",
    type=PATH,
    multiple=True,
    default=[BASELINE],
    show_default=True,
    help="The baseline; a folder, or several files: the mean of several runs of it.",
)
@click.option(
    "--thresholds",
    type=FILE,
    help=f"What may change by how much. Default: {THRESHOLDS}, if any, else the shipped ones.",
)
@click.option("--queries", type=FILE, help="Look at the queries of this pinned list only.")
@gold_option
@click.option(
    "--justification",
    type=FILE,
    help="Breaches accepted in writing, with their sizes (TOML or JSON). Default: "
    f"{_JUSTIFICATION}, if there is one.",
)
@click.option(
    "--noise",
    type=FILE,
    help=f"Run-to-run noise, of `search noise`. Default: {NOISE}, if there is one.",
)
@click.option("--comment", type=FILE, metavar="OUT.md", help="Write a pull-request comment.")
@click.option(
    "--today",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Day on which justifications must be valid. Default: today (UTC).",
)
@click.option(
    "--print-thresholds",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_thresholds,
    help="Print the shipped thresholds, to begin a file of your own with.",
)
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
    data: Path,
    baselines: tuple[Path, ...],
    thresholds: Path | None,
    queries: Path | None,
    gold_path: Path,
    justification: Path | None,
    noise: Path | None,
    comment: Path | None,
    today: datetime | None,
    as_json: bool,
) -> None:
    """Compare a search run with the baseline, threshold by threshold.

    RUN is a file, or the label of a run in the folder --data. Of several runs of one system the
    mean is compared with the baseline, and how much they vary shows what is real.

    With --init nothing is compared: RUN, or a run of --retriever, becomes the baseline, and the
    thresholds file is written. Without either the baseline that is there is taken. Nothing is
    overwritten without --force. A run whose metrics are all 0, or no better than those of random
    documents, is refused.

    Exit code 0: passed. 1: a threshold is breached. 2: no verdict, because the run is empty,
    truncated, failed on queries, lacks a metric or a corpus, or measured something other than
    the baseline. 3: bad input.
    """
    if init:
        if n_pinned is not None and (retriever is None or queries is not None):
            raise click.UsageError("--pin goes with --retriever, and without --queries")
        if len(runs) + (retriever is not None) > 1 or len(baselines) > 1:
            raise click.UsageError("--init takes one run or retriever, and one baseline to write")
        (baseline,) = baselines
        run_path = run_files(runs, data)[0] if runs else baseline
        if retriever is not None:
            from retrieval_eval.search.decide.guard.adoption import refuse_overwriting

            if not force:  # before every query is asked
                new = [] if n_pinned is None else [_PINNED]
                refuse_overwriting([baseline, thresholds or THRESHOLDS, *new])
            if n_pinned is not None:
                from retrieval_eval.search.decide.guard.files import write_pinned

                queries = write_pinned(_PINNED, gold_path, size=n_pinned)
            run_path = _measured(retriever, gold_path, queries, data)
        files = baseline, thresholds, gold_path, queries
        _init(
            run_path,
            *files,
            slices,
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

    paths = run_files(runs, data)
    request = Request(
        paths,
        baselines,
        thresholds,
        queries,
        gold_path,
        justification or (_JUSTIFICATION if _JUSTIFICATION.exists() else None),
        noise,
    )
    verdict = guard_files(request, today=(today or datetime.now(UTC)).date())
    if comment is not None:
        write_comment(verdict, comment)
    if as_json:
        print_json(to_builtins(verdict))
    else:
        echo_lines(to_text(verdict))
    context.exit(verdict.exit_code)


def _measured(retriever: str, gold: Path, queries: Path | None, data: Path) -> Path:
    """Make a run of a retriever under the usual settings and return its file."""
    from retrieval_eval.search.measure import Request, measure_request

    request = Request(gold, retriever, label="baseline", queries=queries, out=data)
    with progress_bar("query") as progress:
        return measure_request(request, progress=progress).json_path


def _init(
    run: Path,
    baseline: Path,
    thresholds: Path | None,
    gold: Path,
    queries: Path | None,
    slices: tuple[str, ...],
    *,
    force: bool,
    accept_weak: bool,
    as_json: bool,
) -> None:
    from retrieval_eval.search.decide.guard.adoption import (
        next_steps,
        plan_adoption,
        write_adoption,
    )
    from retrieval_eval.search.decide.guard.rendering import allowed, one_line

    adoption = plan_adoption(
        run,
        today=datetime.now(UTC).date(),
        baseline=baseline,
        thresholds=thresholds or THRESHOLDS,
        gold=gold,
        queries=queries,
        slices=slices,
        accept_weak=accept_weak,
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
