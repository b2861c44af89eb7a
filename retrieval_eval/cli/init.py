"""``retrieval-eval init``: the table of trials that a folder was recognised as."""

from __future__ import annotations

import os
from pathlib import Path

import click

from retrieval_eval.cli.common import FILE, PATH, echo, json_option, print_json
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.values import counted


@click.command()
@click.argument("place", metavar="FOLDER", type=PATH)
@click.option(
    "--output",
    type=FILE,
    default="trials.csv",
    show_default=True,
    help="The table to write. One that is there is not overwritten.",
)
@json_option
def init(place: Path, output: Path, as_json: bool) -> None:
    """Write the table of trials that FOLDER was recognised as, to be corrected and used again.

    FOLDER holds traces as SWE-bench, SWE-agent, OpenHands, Harbor or Inspect publish them,
    trajectories in a folder for each configuration, sessions of agents, or a run tree; a single
    log of several trials will do as well. Nothing is measured.

    Each row is a trial: its trace, task and configuration, and as far as they are known reward and
    cost. Give the table to evaluate, report and compare in place of FOLDER.

    \b
    Example:
      retrieval-eval init results/ --output trials.csv
      retrieval-eval evaluate trials.csv --truth truth.jsonl

    Exit code 2: there is no trial. 3: the table is there already.
    """  # noqa: D301  click reads the control character
    from retrieval_eval.agents.door import nearest, opened, table_text
    from retrieval_eval.io.files import probe, write_text

    if not probe(place.exists):
        raise BadInputError(f"{place}: no such file or folder")
    if probe(output.exists):
        raise BadInputError(f"{output}: is there already; name another file with --output")
    found = opened(place.absolute())
    if not found.rows:
        raise NothingToEvaluateError(f"no trial found in {place}: {nearest(place.absolute())}")
    write_text(output, table_text(found, Path(os.path.abspath(output.parent))))  # noqa: PTH100
    tasks = {row.task for row in found.rows}
    configs = list(dict.fromkeys(row.config for row in found.rows))
    rewards = sum(row.reward is not None for row in found.rows)
    notes = [*found.problems, *(f"left out: {one.detail}" for one in found.excluded)]
    if as_json:
        print_json(
            {
                "table": str(output),
                "layout": found.layout,
                "trials": len(found.rows),
                "tasks": len(tasks),
                "configs": configs,
                "rewards": rewards,
                "notes": notes,
            }
        )
        return
    what = f"{counted(len(found.rows), 'trial')} of {counted(len(tasks), 'task')}"
    echo(f"{found.layout}: {what}, {rewards} with a reward")
    for config in configs:
        echo(f"  {config}: {sum(row.config == config for row in found.rows)}")
    for note in notes:
        echo(f"  note: {note}")
    echo(output)
