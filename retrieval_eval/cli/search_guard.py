"""``retrieval-eval search guard`` and ``search pin``: fail a build on retrieval quality."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from retrieval_eval.cli.common import json_option, plain, print_json

_FILE = click.Path(path_type=Path, dir_okay=False)
_BASELINE = Path("data/eval/baseline.json")
_GOLD = Path("data/eval/gold-set.jsonl")
_THRESHOLDS = Path("data/eval/guard.toml")


def _print_thresholds(context: click.Context, _parameter: click.Parameter, is_asked: Any) -> None:
    if not is_asked or context.resilient_parsing:
        return
    from retrieval_eval.search.guard.thresholds import SHIPPED

    click.echo(SHIPPED.read_text(encoding="utf-8"), nl=False)
    context.exit()


@click.command()
@click.argument("run", type=_FILE, metavar="RUN.json")
@click.option("--baseline", type=_FILE, default=_BASELINE, show_default=True, help="The baseline.")
@click.option(
    "--thresholds",
    type=_FILE,
    help=f"What may change by how much. Default: {_THRESHOLDS}, if any, else the shipped ones.",
)
@click.option("--queries", type=_FILE, help="Look at these pinned queries only; see `search pin`.")
@click.option(
    "--gold", type=_FILE, default=_GOLD, show_default=True, help="Gold set of the pinned queries."
)
@click.option("--justification", type=_FILE, help="Breaches accepted in writing (TOML or JSON).")
@click.option("--noise", type=_FILE, help="Noise floor, of `search noise`.")
@click.option("--comment", type=_FILE, metavar="OUT.md", help="Write a pull-request comment.")
@click.option("--junit", type=_FILE, metavar="OUT.xml", help="Write JUnit XML.")
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
    run: Path,
    baseline: Path,
    thresholds: Path | None,
    queries: Path | None,
    gold: Path,
    justification: Path | None,
    noise: Path | None,
    comment: Path | None,
    junit: Path | None,
    today: datetime | None,
    as_json: bool,
) -> None:
    """Hold a search run against the baseline, threshold by threshold.

    Exit code 0: passed. 1: a threshold is breached. 2: no verdict, because the run is empty,
    truncated, failed on queries, lacks a metric or a corpus, or measured something else than the
    baseline. 3: bad input.
    """
    from retrieval_eval.search.guard.files import Request, write_reports
    from retrieval_eval.search.guard.files import guard as hold
    from retrieval_eval.search.guard.table import to_text

    request = Request(run, baseline, thresholds, queries, gold, justification, noise)
    verdict = hold(request, today=(today or datetime.now(UTC)).date())
    write_reports(verdict, comment=comment, junit=junit)
    if as_json:
        print_json(verdict.to_json())
    else:
        for line in to_text(verdict).splitlines():
            click.echo(plain(line))
    context.exit(verdict.exit_code)


@click.command()
@click.argument("out", type=_FILE, metavar="OUT.txt")
@click.option("--gold", type=_FILE, default=_GOLD, show_default=True, help="Gold set.")
@click.option("--ids", type=_FILE, metavar="FILE", help="Pin these: one id a line.")
@click.option("--sample", "size", type=click.IntRange(min=1), help="Pin this many, at random.")
@click.option("--seed", type=int, default=20260101, show_default=True, help="Seed of the sample.")
@json_option
def pin(
    out: Path, gold: Path, ids: Path | None, size: int | None, seed: int, as_json: bool
) -> None:
    """Write a pinned list: query ids, and a fingerprint of exactly what they ask and accept.

    Without --ids and --sample all queries are pinned.
    """
    if ids is not None and size is not None:
        raise click.UsageError("--ids and --sample exclude each other")
    from retrieval_eval.search.guard.files import write_pinned

    n = write_pinned(out, gold, ids=ids, size=size, seed=seed)
    if as_json:
        print_json({"pinned": str(out), "n_queries": n})
    else:
        click.echo(plain(f"{out}: {n} queries pinned"))
