"""``retrieval-eval search plan``: how many queries a guard needs to catch a drop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieval_eval.cli.common import FILE, echo, json_option, print_json, print_table
from retrieval_eval.cli.search_options import DATA, data_option, run_files

if TYPE_CHECKING:
    from retrieval_eval.model.search_plan import MetricPlan, SearchPlan

_BAR = 40
_THRESHOLDS = DATA / "guard.toml"


@click.command(short_help="How many queries a drop takes to be caught.")
@click.option(
    "--change",
    nargs=2,
    metavar="A B",
    help="Two runs that differ like a typical change: files, or labels of runs in --data.",
)
@click.option("--noise", type=FILE, help="Run-to-run noise, of `search noise`.")
@click.option(
    "--moved", type=float, help="In place of --change: share of queries that move, from 0 to 1."
)
@click.option(
    "--sd",
    type=float,
    help="In place of --change: standard deviation of the change over all queries, in points.",
)
@click.option(
    "--points", type=float, default=2.0, show_default=True, help="The drop to catch, in points."
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Only this metric; may be given several times. Default: all that have a threshold.",
)
@click.option(
    "--thresholds",
    type=FILE,
    help=f"Of the guard. Default: {_THRESHOLDS}, if any, else the shipped ones.",
)
@click.option("--n-queries", type=click.IntRange(min=1), help="Say what so many queries catch too.")
@click.option(
    "--runs",
    "n_runs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Runs on either side whose means are compared.",
)
@click.option(
    "--deterministic",
    "is_deterministic",
    is_flag=True,
    help="The system answers the same every time. Default: what runs and noise file say.",
)
@click.option("--power", type=float, default=0.8, show_default=True, help="Wanted power.")
@data_option
@json_option
def plan(
    change: tuple[str, str] | None,
    noise: Path | None,
    moved: float | None,
    sd: float | None,
    points: float,
    metrics: tuple[str, ...],
    thresholds: Path | None,
    n_queries: int | None,
    n_runs: int,
    is_deterministic: bool,
    power: float,
    data: Path,
    as_json: bool,
) -> None:
    """Say how many queries the guard needs to catch a drop, before anything is run.

    What hides a drop is how queries move, and how much runs vary by themselves. Both come from
    former runs (--change, --noise) or are stated (--moved, --sd). Caught means a breach under the
    guard's own rule.

    Exit code 0, or 3: no such run or metric, or numbers that no guard has.
    """
    from retrieval_eval.model import to_builtins
    from retrieval_eval.search.guard.thresholds import SHIPPED, read_thresholds
    from retrieval_eval.search.noise import read_noise
    from retrieval_eval.search.plan import plan_search
    from retrieval_eval.search.run_files import load_search_run

    pair = [load_search_run(path) for path in run_files(change or (), data)]
    usual = _THRESHOLDS if _THRESHOLDS.exists() else SHIPPED
    found = plan_search(
        (pair[0], pair[1]) if pair else None,
        None if noise is None else read_noise(noise),
        thresholds=read_thresholds(thresholds or usual),
        metrics=metrics,
        points=points,
        moved=moved,
        sd=sd,
        n_queries=n_queries,
        n_runs=n_runs,
        is_deterministic=is_deterministic or None,
        power=power,
    )
    if as_json:
        print_json(to_builtins(found))
    else:
        _print(found)


def _print(found: SearchPlan) -> None:
    from retrieval_eval.search.plan import plan_sentences

    for sentence in plan_sentences(found):
        echo(sentence)
    for row in found.metrics:
        if row.curve:
            _print_row(row, found.power)


def _print_row(row: MetricPlan, power: float) -> None:
    """Print what a plan rests on, and its power by number of queries as bars."""
    echo()
    echo(row.name)
    rows = [["assumption", "value", "95 % from", "to", "source"]]
    for each in row.assumptions:
        ends = ["—" if end is None else f"{end:.3g}" for end in (each.low, each.high)]
        rows.append([each.meaning, f"{each.value:.3g}", *ends, each.source])
    print_table(rows)
    for note in row.notes:
        echo(note)
    bars = [["queries", "power", ""]]
    goal = min(round(_BAR * power), _BAR - 1)
    for point in row.curve:
        filled = round(_BAR * point.power)
        bar = ["#" if i < filled else "." for i in range(_BAR)]
        bar[goal] = "|" if filled <= goal else "#"
        bars.append([f"{point.n_queries:,}", f"{point.power:.0%}", "".join(bar)])
    print_table(bars, numbers_from=0)
