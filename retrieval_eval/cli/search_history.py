"""``retrieval-eval search history``: committed runs over time, and what the guard caught."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieval_eval.cli.common import (
    EXIT_BAD_INPUT,
    EXIT_NO_VERDICT,
    FOLDER,
    echo,
    json_option,
    print_json,
    print_table,
    progress_bar,
)
from retrieval_eval.io.user_files import project

if TYPE_CHECKING:
    from retrieval_eval.model.search_history import PastChange, PastRun, SearchHistory

_MOST = 40


@click.command(short_help="Show all runs of a folder over time.")
@click.argument("data", type=FOLDER, default=lambda: project().data_folder, required=False)
@click.option("--all", "show_all", is_flag=True, help=f"List every run, not the last {_MOST} only.")
@json_option
@click.pass_context
def history(context: click.Context, data: Path, show_all: bool, as_json: bool) -> None:
    """Show the search runs, guard verdicts and noise files of the folder DATA over time.

    Which regressions the guard catches and what became of them, whether the thresholds were
    re-validated in every quarter, and how the gold set grew. DATA is data/eval by default, or
    demo: invented dates on an invented collection. Its guard.toml and justification.toml are read.
    Nothing is measured again, and nothing is compared across a change of the gold set.
    `retrieval-eval report DATA` makes a page of it.

    Exit code 0: shown; files that cannot be read are listed. 2: DATA holds no search run. 3: none
    of its files can be read, there is no such folder, or the thresholds cannot be used.
    """
    from retrieval_eval.model import to_builtins
    from retrieval_eval.search.decide.history import search_history
    from retrieval_eval.search.demo import DEMO, DEMO_FOLDER, measured_history

    if str(data) == DEMO:
        with progress_bar("run") as progress:
            data = measured_history(
                project().reports_folder / DEMO_FOLDER / "data", progress=progress
            )
    with progress_bar("file") as progress:
        found = search_history(data, progress=progress)
    if as_json:
        print_json(to_builtins(found))
    else:
        _print(found, data, most=None if show_all else _MOST)
    if not found.runs:
        echo(f"{data}: no search run; `retrieval-eval search run` writes one", err=True)
        context.exit(EXIT_BAD_INPUT if found.unread else EXIT_NO_VERDICT)


def _print(found: SearchHistory, data: Path, *, most: int | None) -> None:
    from retrieval_eval.search.decide.history import change_sentences, outcome_words
    from retrieval_eval.values import counted

    runs = found.runs
    if runs:
        span = f"{runs[0].generated_at[:10]} to {runs[-1].generated_at[:10]}"
        echo(f"search history: {counted(len(runs), 'run')} of {data}, {span}")
        if n := sum(run.is_simulated for run in runs):
            echo(f"Simulated data: {n:,} of {counted(len(runs), 'run')} asked invented queries.")
        echo()
        _print_runs(found, most)
        echo()
        for sentence in change_sentences(found):
            echo(sentence)
        for change in found.changes:
            if change.outcome is not None:
                echo(f"  {change.generated_at[:10]} {_breach(change)}; {outcome_words(change)}")
        echo()
        echo(f"Thresholds re-validated by quarter (as of {found.as_of}, {found.thresholds}):")
        for quarter in found.quarters:
            echo(f"  {quarter.sentence}")
        echo()
        _print_gold(found)
    if found.unread:
        echo()
        echo(f"{counted(len(found.unread), 'file')} could not be read:")
        for file in found.unread:
            echo(f"  {file.source}: {file.reason}")


def _breach(change: PastChange) -> str:
    from retrieval_eval.search.run.summary import points

    sides = f"{change.run} against {change.against}"
    if change.worst is None:
        return f"{sides}: {', '.join(change.overridden)}"
    others = [name for name in change.breaches if name != change.worst]
    more = f", and {', '.join(others)}" if others else ""
    return f"{sides}: {change.worst} {points(change.worst_points)} points{more}"


def _print_runs(found: SearchHistory, most: int | None) -> None:
    """Print a row a run, under the names of the headline metrics; a gap is a change of basis."""
    from retrieval_eval.values import counted

    changes = {(change.source, change.generated_at): change for change in found.changes}
    runs = found.runs if most is None else found.runs[-most:]
    if len(runs) < len(found.runs):
        echo(f"The last {counted(len(runs), 'run')} of {len(found.runs):,}; --all lists every one.")
    rows: list[list[str]] = []
    breaks: dict[int, str] = {}
    before: PastRun | None = None
    for run in runs:
        if before is not None and before.basis != run.basis:
            breaks[len(rows)] = _break(before, run)
        change = changes.get((run.source, run.generated_at))
        rows.append(_row(run, change.verdict if change else None))
        before = run
    head = ["date", "run", *_headline(), "queries", "guard"]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    print_table([_padded(head, widths)], numbers_from=len(head))
    for number, row in enumerate(rows):
        if number in breaks:
            echo(f"-- {breaks[number]} --")
        print_table([_padded(row, widths)], numbers_from=len(head))


def _padded(row: list[str], widths: list[int]) -> list[str]:
    return [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]


def _headline() -> list[str]:
    from retrieval_eval.search.run import HEADLINE

    return list(HEADLINE)


def _row(run: PastRun, verdict: str | None) -> list[str]:
    from retrieval_eval.escape import made_visible
    from retrieval_eval.search.decide.guard.rendering import WORDS
    from retrieval_eval.search.run.summary import DASH, number, span

    cells = []
    for name in _headline():
        mean = run.metrics.get(name)
        cells.append(
            DASH
            if mean is None or mean.value is None
            else f"{number(mean.value)} {span(mean.ci_low, mean.ci_high)}"
        )
    failed = f" ({run.n_failed:,} failed)" if run.n_failed else ""
    said = WORDS[verdict] if verdict else "first run"
    name = made_visible(run.name)
    return [
        run.generated_at[:10],
        name if len(name) <= 32 else f"{name[:31]}…",
        *cells,
        f"{run.n_queries:,}{failed}",
        said if run.has_verdict else f"{said}; run without a verdict",
    ]


def _break(before: PastRun, after: PastRun) -> str:
    if before.gold.fingerprint != after.gold.fingerprint:
        return "another gold set: not comparable with the rows above"
    return "other queries, documents or settings: not comparable with the rows above"


def _print_gold(found: SearchHistory) -> None:
    from retrieval_eval.search.decide.history import gold_words

    echo("Gold set, whenever it changed:")
    for state in found.gold:
        echo(f"  {state.generated_at[:10]} {state.gold.fingerprint[:12]}: {gold_words(state)}")
        for name, parts in (("corpora", state.by_corpus), ("origins", state.by_origin)):
            if parts:
                listed = ", ".join(f"{part} {n:,}" for part, n in parts.items())
                echo(f"    {name}: {listed}")
