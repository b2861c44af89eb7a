"""``retrieval-eval plan``: how many tasks and repeats a comparison needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from retrieval_eval.cli.common import (
    FOLDER_OR_URL,
    echo,
    jobs_option,
    json_option,
    page_options,
    print_json,
    print_table,
    progress_bar,
    reports_dir_option,
    root_options,
)
from retrieval_eval.model import to_builtins
from retrieval_eval.model.plan import PlanPoint, StudyPlan
from retrieval_eval.records import Renderer
from retrieval_eval.study.plan import Plan

_BAR = 40
_POINTS = 9


@click.command()
@click.option(
    "--pilot",
    default="",
    metavar="RUN[:A:B]",
    help="Run of a former study whose spread is used, and its configurations A and B; by default "
    "the pair that shares most tasks. demo: built in.",
)
@click.option(
    "--metric", default="file_recall", show_default=True, help="Metric that the verdict is about."
)
@click.option(
    "--difference", type=float, help="Mean difference to see. Default: 0.05 of metrics from 0 to 1."
)
@click.option(
    "--ratio",
    type=float,
    help="Ratio to see, of metrics such as cost and time. Default for these: 1.2.",
)
@click.option(
    "--sd",
    type=float,
    help="Standard deviation of the paired differences of tasks; for a ratio, of its logarithms.",
)
@click.option(
    "--between",
    type=float,
    help="In place of --sd: the same without the noise of repeats.",
)
@click.option(
    "--within",
    type=float,
    help="Standard deviation of single trials around the mean of their task.",
)
@click.option("--icc", type=float, help="Correlation of two tasks of a cluster (repository).")
@click.option("--cluster-size", type=float, help="Mean tasks of a cluster.")
@click.option("--share-zero", type=float, help="Share of tasks without any difference.")
@click.option("--tasks", type=int, help="Number of tasks: what it shows is printed too.")
@click.option(
    "--repeats",
    type=int,
    help="Trials of a task in each configuration. Default: those of the pilot, else 1.",
)
@click.option("--power", type=float, default=0.8, show_default=True, help="Wanted power.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Two-sided level.")
@click.option(
    "--mcp",
    "mcp_configs",
    multiple=True,
    metavar="CONFIG",
    help="Configuration of the pilot that is meant to use MCP; may be given several times.",
)
@root_options
@click.option(
    "--output-dir",
    type=FOLDER_OR_URL,
    help="Where the artefacts of the pilot are: OUTPUT_DIR/<run_id>/. Default: inside the run.",
)
@jobs_option
@click.option(
    "--report", "is_reported", is_flag=True, help="Also write the plan as a page with its curve."
)
@reports_dir_option("plan/index.html, of a pilot plan/<run_id>/index.html")
@page_options
@json_option
def plan(
    pilot: str,
    mcp_configs: tuple[str, ...],
    runs_root: Path | None,
    benchmarks_root: Path | None,
    output_dir: Path | None,
    jobs: int,
    is_reported: bool,
    reports_dir: Path,
    renderer: Renderer,
    pdf: bool,
    as_json: bool,
    **numbers: Any,
) -> None:
    """Say how many tasks and repeats a comparison needs to see a difference.

    The spread comes from a former study (--pilot) or is stated (--sd, or --between and --within);
    what is stated replaces what the pilot shows. With --tasks it also says which difference that
    many tasks show. The power is that of a clear verdict, better or worse.

    Exit code 0, or 3: no such run, configuration or metric, or numbers that no study has.
    """
    from retrieval_eval.pipeline.planning import plan_from
    from retrieval_eval.pipeline.roots import DEMO, is_demo

    if not is_reported and (renderer != "auto" or pdf):
        raise click.UsageError("--renderer and --pdf are for the page; add --report")
    if is_reported and is_demo([pilot.partition(":")[0]], runs_root):
        # The place the page uses, so that the demo is not written twice.
        output_dir = output_dir or reports_dir / DEMO / "data"
    places: dict[str, Any] = {
        "runs_root": runs_root,
        "benchmarks_root": benchmarks_root,
        "output_dir": output_dir,
    }
    with progress_bar("trial") as progress:
        found = plan_from(
            pilot,
            mcp_configs=mcp_configs or None,
            jobs=jobs,
            progress=progress,
            **places,
            **numbers,
        )
    if as_json:
        print_json(to_builtins(found.plan.record))
    else:
        _print(found.plan)
    if is_reported:
        from retrieval_eval.report import build_plan

        with progress_bar("cell") as progress:
            page = build_plan(
                pilot,
                mcp_configs=",".join(mcp_configs),
                reports_dir=reports_dir,
                renderer=renderer,
                pdf=pdf,
                jobs=jobs,
                progress=progress,
                **places,
                **numbers,
            )
        # Under --json the standard output is one document.
        echo(page, err=as_json)


def _print(made: Plan) -> None:
    record = made.record
    for sentence in made.sentences():
        echo(sentence)
    echo("")
    rows = [["assumption", "value", "95 % from", "to", "source"]]
    for each in record.assumptions:
        ends = [_short(end) for end in (each.low, each.high)]
        rows.append([each.meaning, _short(each.value), *ends, each.source])
    print_table(rows, numbers_from=1)
    if len(record.needs) > 1:
        echo("")
        head = ["repeats", "tasks", "trials"]
        body = [[str(n.repeats), _count(n.n_tasks), _count(n.n_trials)] for n in record.needs]
        print_table([head, *body], numbers_from=0)
    echo("")
    _print_curve(record)


def _print_curve(record: StudyPlan) -> None:
    """Print the power by number of tasks as bars, with a mark where it is reached."""
    own = [point for point in record.curve if point.repeats == record.repeats]
    rows = [["tasks", "power", ""]]
    for point in _spread_out(own):
        filled = round(_BAR * point.power)
        goal = min(round(_BAR * record.power), _BAR - 1)
        bar = ["#" if i < filled else "." for i in range(_BAR)]
        bar[goal] = "|" if filled <= goal else "#"
        rows.append([f"{point.n_tasks:,}", f"{point.power:.0%}", "".join(bar)])
    print_table(rows, numbers_from=0)


def _spread_out(points: Sequence[PlanPoint]) -> list[PlanPoint]:
    if len(points) <= _POINTS:
        return list(points)
    steps = {round(i * (len(points) - 1) / (_POINTS - 1)) for i in range(_POINTS)}
    return [points[i] for i in sorted(steps)]


def _short(value: float | None) -> str:
    return "—" if value is None else f"{value:.3g}"


def _count(value: int | None) -> str:
    return "—" if value is None else f"{value:,}"
