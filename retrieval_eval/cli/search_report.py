"""Pages of search runs, which `report` and `demo` make: their options, and the making."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import click

from retrieval_eval.cli.common import FILE, KeepUnchanged, echo, print_json, progress_bar
from retrieval_eval.cli.search_options import (
    NOISE,
    THRESHOLDS,
    backlog_at_hand,
    backlog_options,
    data_option,
    run_files,
)
from retrieval_eval.io.project import GOLD

F = TypeVar("F", bound=Callable[..., Any])

_NAMES: Final = (
    "data",
    "baseline",
    "backlog",
    "gold",
    "corpus_file",
    "noise",
    "thresholds",
    "justification",
    "mapping",
    "old_gold",
)


def searched_options(function: F) -> F:
    """Add what only pages of search runs take; the command gets it as ``searched``."""

    @wraps(function)
    def command(*args: Any, **given: Any) -> Any:
        searched = {name: given.pop(name) for name in _NAMES}
        return function(*args, searched=searched, **given)

    for option in (
        click.option("--old-gold", type=FILE, help="With --mapping: the gold set of the baseline."),
        click.option(
            "--mapping",
            type=FILE,
            help="relabel.json of `gold relabel`, if labels moved since the baseline.",
        ),
        click.option(
            "--justification", type=FILE, help="Breaches accepted in writing (TOML or JSON)."
        ),
        click.option(
            "--thresholds",
            type=FILE,
            help=f"Of the guard. Default: {THRESHOLDS}, if any, else the shipped ones.",
        ),
        click.option(
            "--noise",
            type=FILE,
            help=f"Noise file, to compare changes with. Default: {NOISE}, if any.",
        ),
        click.option(
            "--corpus-file",
            type=FILE,
            help="Documents that were searched, to find stale labels. Default: corpus.jsonl beside "
            "the gold set, if any.",
        ),
        click.option(
            "--gold",
            type=FILE,
            help="Gold set that was asked: with it, relevant documents that were not retrieved are "
            f"named. Default: {GOLD}, if any.",
        ),
        click.option(
            "--baseline",
            type=FILE,
            help="Search run to compare with. Default: what the run was compared with.",
        ),
        data_option,
    ):
        command = option(command)
    return backlog_options(command)  # type: ignore[return-value]


def searched_runs(runs: Sequence[str], data: Path) -> list[Path] | None:
    """Return the files of search runs that are named by file or label; None where one is not."""
    from retrieval_eval.errors import BadInputError
    from retrieval_eval.io.files import probe

    if not runs or any(probe(Path(run).is_dir) for run in runs):
        return None
    try:
        return run_files(runs, data)
    except BadInputError:
        return None


def report_searches(
    paths: Sequence[Path],
    searched: Mapping[str, Any],
    *,
    reports_dir: Path,
    as_json: bool,
    force: bool,
    **page: Any,
) -> None:
    """Write the page of a search run, or of two the page of their difference, and print its path.

    A page that is there and whole is kept where files, parameters, notebook and versions are those
    it was made with.
    """
    from retrieval_eval.report import build_diff, build_search

    labels = searched["gold"] or _if_there(GOLD)
    noise = searched["noise"] or _if_there(NOISE)
    keep = KeepUnchanged(force)
    given = {"reports_dir": reports_dir, "noise": noise, "keep": keep, **page}
    with progress_bar("cell") as progress:
        if len(paths) == 2:
            made = build_diff(
                *paths,
                data=searched["data"],
                gold=searched["gold"] or "",
                old_gold=searched["old_gold"] or "",
                mapping=searched["mapping"] or "",
                progress=progress,
                **given,
            )
        else:
            corpus = _if_there(labels.with_name("corpus.jsonl")) if labels else ""
            made = build_search(
                paths[0],
                baseline=searched["baseline"] or "",
                backlog=backlog_at_hand(searched["backlog"]) or "",
                gold=labels,
                corpus=searched["corpus_file"] or corpus,
                thresholds=searched["thresholds"] or _if_there(THRESHOLDS),
                justification=searched["justification"] or "",
                mapping=searched["mapping"] or "",
                old_gold=searched["old_gold"] or "",
                progress=progress,
                **given,
            )
    keep.show(made, as_json=as_json)


def _if_there(path: Path) -> Path | Literal[""]:
    return path if path.exists() else ""


def show_search_demo(*, reports_dir: Path, as_json: bool, **page: Any) -> None:
    """Measure search on an invented collection, and print its page and the same steps by hand."""
    from retrieval_eval.report.building import build_demo

    with progress_bar("step") as progress:
        made, demo = build_demo(reports_dir=reports_dir, progress=progress, **page)
    if as_json:
        commands = list(demo.commands)
        print_json({"report": str(made), "run": demo.sources["run"], "commands": commands})
        return
    echo("The same by hand:")
    for command in demo.commands:
        echo(f"  {command}")
    echo(made)
