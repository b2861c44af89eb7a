"""Pages of search runs, which `report` and `demo` make: their options, and the making."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from retrieval_eval.cli.common import FILE, echo, print_json, progress_bar, together
from retrieval_eval.cli.search_options import (
    JUSTIFICATION,
    NOISE,
    THRESHOLDS,
    accept_option,
    backlog_source,
    found_in_data,
    mapping_option,
    noise_option,
    old_gold_option,
    run_files,
)
from retrieval_eval.io.user_files import project

searched_options = together(
    click.option(
        "--baseline",
        type=FILE,
        help="Search run to compare with, if not what the run was compared with.",
    ),
    click.option(
        "--gold",
        type=FILE,
        help="Gold set that was asked, to name what was missed.",
    ),
    noise_option,
    accept_option,
    mapping_option,
    old_gold_option,
)
"""What only pages of search runs take."""


def searched_runs(runs: Sequence[str]) -> list[Path] | None:
    """Return the files of search runs that are named by file or label; None where one is not."""
    from retrieval_eval.agents.door import is_table
    from retrieval_eval.errors import BadInputError
    from retrieval_eval.io.files import probe

    if not runs or any(probe(Path(run).is_dir) or is_table(run) for run in runs):
        return None
    try:
        return run_files(runs)
    except BadInputError:
        return None


def report_searches(
    paths: Sequence[Path],
    *,
    baseline: Path | None,
    gold: Path | None,
    accept: Sequence[str],
    mapping: Path | None,
    old_gold: Path | None,
    noise: Path | None,
    **page: Any,
) -> Path:
    """Write the page of a search run, or of two the page of their difference; return its path."""
    from retrieval_eval.report import build_diff, build_search

    stated = project()
    page |= {"noise": noise or found_in_data(NOISE) or ""}
    page |= {"mapping": mapping or "", "old_gold": old_gold or ""}
    if len(paths) == 2:
        page["accept"] = ",".join(accept)
        return build_diff(*paths, data=stated.data_folder, gold=gold or "", **page)
    labels = gold or _if_there(stated.gold_set)
    beside = labels and _if_there(labels.with_name("corpus.jsonl"))
    return build_search(
        paths[0],
        baseline=baseline or "",
        backlog=backlog_source() or "",
        gold=labels or "",
        corpus=stated.corpus_file or beside or "",
        thresholds=found_in_data(THRESHOLDS) or "",
        justification=found_in_data(JUSTIFICATION) or "",
        **page,
    )


def _if_there(path: Path) -> Path | None:
    return path if path.exists() else None


def holds_searches(folder: Path) -> bool:
    """Return whether a folder holds search runs, of which `search history` tells."""
    return next(folder.glob("eval-report-*.json"), None) is not None


def show_search_demo(*, reports_dir: Path, as_json: bool) -> None:
    """Measure search on an invented collection, and print its page and the same steps by hand."""
    from retrieval_eval.report.building import build_demo

    with progress_bar("step") as progress:
        made, demo = build_demo(
            reports_dir=reports_dir, renderer=project().renderer, progress=progress
        )
    if as_json:
        commands = list(demo.commands)
        print_json({"report": str(made), "run": demo.sources["run"], "commands": commands})
        return
    echo("The same by hand:")
    for command in demo.commands:
        echo(f"  {command}")
    echo(made)
