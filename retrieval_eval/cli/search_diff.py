"""``retrieval-eval search diff``: two runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retrieval_eval.cli.common import (
    EXIT_NO_VERDICT,
    FILE,
    echo,
    json_option,
    print_json,
    print_short,
    print_table,
    table_lines,
)
from retrieval_eval.cli.search_options import (
    NOISE,
    accept_option,
    found_in_data,
    mapping_option,
    old_gold_option,
    run_files,
    verbose_option,
)
from retrieval_eval.values import DEFAULT_SEED

if TYPE_CHECKING:
    from retrieval_eval.model.guard import GuardRuling
    from retrieval_eval.model.search_diff import SearchDiff
    from retrieval_eval.model.search_run import SearchRun

_MOST = 10
_MOST_SHORT = 3
_WIDTH = 60


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@accept_option
@click.option("--queries", type=FILE, help="Pinned list of queries, shown as a slice of its own.")
@click.option(
    "--query",
    "names",
    multiple=True,
    metavar="ID",
    help="This query alone, with both rankings side by side. Repeatable.",
)
@click.option("--out", type=FILE, metavar="FILE.md", help="Also write the diff as Markdown.")
@click.option("--gold", type=FILE, help="Gold set of B, to split the change: labels or retrieval.")
@old_gold_option
@mapping_option
@verbose_option
@json_option
@click.pass_context
def diff(
    context: click.Context,
    a: str,
    b: str,
    accept: tuple[str, ...],
    queries: Path | None,
    names: tuple[str, ...],
    out: Path | None,
    gold: Path | None,
    old_gold: Path | None,
    mapping: Path | None,
    is_verbose: bool,
    as_json: bool,
) -> None:
    """Show what changed from run A to run B, queries first.

    A and B are files, or labels of runs in data/eval. Where they share several corpora it
    also says of each whether the change on the others holds on it (--json: `transfer`). Metrics
    that moved by more than 0.5 points are flagged. `retrieval-eval report A B` makes a page of it.

    Exit code 0: compared. 2: a run has no verdict, or the runs did not measure the same thing and
    that was not accepted. 3: no such run or query, or no valid one.
    """
    from retrieval_eval.io.files import write_text
    from retrieval_eval.model import to_builtins
    from retrieval_eval.search.change import diff as diff_of
    from retrieval_eval.search.change.anew import read_relabelled, transfer
    from retrieval_eval.search.change.diff_text import diff_markdown
    from retrieval_eval.search.decide.guard.files import guard_of
    from retrieval_eval.search.gold.identity import read_pinned
    from retrieval_eval.search.run import HEADLINE
    from retrieval_eval.search.run.document import load_search_run

    if names and out is not None:
        raise click.UsageError("--query prints single queries; leave out --out")
    paths = run_files([a, b])
    first, second = map(load_search_run, paths)
    found = diff_of(
        first,
        second,
        accept=accept,
        seed=DEFAULT_SEED,
        pinned=None if queries is None else read_pinned(queries).ids,
        relabelled=read_relabelled(old_gold, gold, mapping),
    )
    if names:
        from retrieval_eval.search.change.diff_text import compare_queries, query_lines

        compared = compare_queries(found, first, second, names)
        if as_json:
            print_json(to_builtins(compared))
        else:
            for line in query_lines(compared):
                echo(line)
        context.exit(EXIT_NO_VERDICT if found.no_verdict else 0)
    if out is not None:
        write_text(out, diff_markdown(found))
    guarded = None
    if found.banner is None and not as_json:
        at_hand = dict(zip(paths, (first, second), strict=True))
        before, after = paths
        guarded = guard_of(before, after, found_in_data(NOISE), known=at_hand)
    if as_json:
        held_out = transfer(first, second, accept=accept, seed=DEFAULT_SEED)
        print_json({**to_builtins(found), "transfer": held_out})
    elif not is_verbose:
        _print_short(found, guarded, first, second, out)
    else:
        if guarded is not None:
            echo(_guard_line(guarded))
            echo()
        _print(found)
        held_out = transfer(first, second, metrics=HEADLINE, accept=accept, seed=DEFAULT_SEED)
        _print_transfer(held_out, second.run.settings.confidence)
        _print_latency(first, second)
        if out is not None:
            echo()
            echo(out)
    if found.no_verdict:
        context.exit(EXIT_NO_VERDICT)


def _guard_line(verdict: GuardRuling | str) -> str:
    from retrieval_eval.search.decide.guard.files import UNJUSTIFIED

    if isinstance(verdict, str):
        return f"Guard not asked: {verdict}"
    line = f"Guard, B against A: {verdict.headline}"
    return f"{line} ({UNJUSTIFIED})" if verdict.verdict == "breach" else line


def _print_short(
    found: SearchDiff,
    guarded: GuardRuling | str | None,
    first: SearchRun,
    second: SearchRun,
    out: Path | None,
) -> None:
    """Print the verdict, what explains the change, the metrics, and the queries behind it."""
    from retrieval_eval.search.change import diff_text as tables
    from retrieval_eval.search.change.causes import TITLE
    from retrieval_eval.search.change.paired_change import change_sentence, latency_change

    lines = tables.side_lines(found)
    width = max(len(name) for name, _ in lines)
    rows = (tables.mover_rows(found, name) for name in tables.headline(found))
    movers = next((own for own in rows if len(own) > 1), [])
    slower = latency_change(first, second)
    print_short(
        [
            [
                *([] if guarded is None else [_guard_line(guarded)]),
                *([] if found.banner is None else [found.banner]),
                *found.notices,
            ],
            [f"{name:<{width}} : {value}" for name, value in lines],
            [*([f"{TITLE}:"] if found.causes else []), *(f"- {c.sentence}." for c in found.causes)],
            [
                tables.moved_sentence(found),
                *table_lines(tables.metric_changes(found, tables.short_metrics(found))),
            ],
            [
                *(table_lines(_short(movers[: _MOST_SHORT + 1]), numbers_from=3) if movers else []),
                *([] if slower is None else [change_sentence(slower)]),
            ],
        ],
        "Every query, metric, slice and corpus left out: --verbose, --json; `retrieval-eval report"
        f" {found.a.label or 'A'} {found.b.label or 'B'}`.",
        [] if out is None else [out],
        cut=4,
    )


def _print_latency(first: SearchRun, second: SearchRun) -> None:
    from retrieval_eval.search.change.paired_change import change_sentence, latency_change

    if (change := latency_change(first, second)) is not None:
        echo()
        echo(change_sentence(change))


def _print_transfer(found: Mapping[str, Any], confidence: float) -> None:
    """Print whether what happened to the other corpora also happened to each one left out."""
    from retrieval_eval.search.run.summary import points, signed_span

    if not found["computable"]:
        return
    rows = [["Metric", "Corpus left out", "Others, points", "Pairs", "Here, points"]]
    rows[0] += [f"{confidence:.0%} interval", "Pairs", "Verdict"]
    for name, row in found["metrics"].items():
        for corpus, cells in row["corpora"].items():
            others, here = cells["others"], cells["held_out"]
            ends = signed_span(here["ci_low_points"], here["ci_high_points"])
            changes = [points(one["delta_points"]) for one in (others, here)]
            pairs = [str(one["n_pairs"]) for one in (others, here)]
            words = str(cells["verdict"]).replace("_", " ")
            is_open = cells["verdict"] in ("holds", "reverses") and not cells["is_clear"]
            verdict = f"{words}, unclear" if is_open else words
            rows.append([name, corpus, changes[0], pairs[0], changes[1], ends, pairs[1], verdict])
    echo()
    echo("Does the change of the other corpora hold on each one left out?")
    print_table(rows, numbers_from=2)
    for name, row in found["metrics"].items():
        answer = {True: "yes", False: "no", None: "no answer"}[row["holds_everywhere"]]
        n_clear = sum(cells["is_clear"] is True for cells in row["corpora"].values())
        echo(
            f"{name} holds on every corpus left out: {answer} "
            f"(the sign is clear on {n_clear} of {len(row['corpora'])})"
        )


def _print(found: SearchDiff) -> None:
    from retrieval_eval.search.change import diff_text as tables
    from retrieval_eval.search.change.causes import TITLE

    for sentence in [*([found.banner] if found.banner else []), *found.notices]:
        echo(sentence)
        echo()
    lines = tables.side_lines(found)
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        echo(f"{name:<{width}} : {value}")
    echo("")
    for sentence in tables.summary_sentences(found):
        echo(sentence)
    if found.causes:
        echo("")
        echo(f"{TITLE}:")
    for cause in found.causes:
        echo(f"- {cause.sentence}.")
    for name in tables.headline(found):
        _print_queries(f"Queries behind {name}", tables.mover_rows(found, name), texts=3)
    title = "Failed, refused, empty or asked in one run only"
    _print_queries(title, tables.outcome_rows(found), texts=4)
    if split := tables.split_rows(found):
        echo()
        echo("By labels and by retrieval, in points")
        print_table(split)
    _print_queries("Another first document", tables.top1_rows(found), texts=4)
    echo("")
    print_table(tables.metric_changes(found, tables.shown_metrics(found)))
    for dimension in tables.sliced_by(found):
        echo("")
        print_table(_short(tables.slice_rows(found, dimension)))


def _print_queries(title: str, rows: list[list[str]], *, texts: int) -> None:
    if len(rows) == 1:
        return
    left_out = len(rows) - 1 - _MOST
    echo()
    echo(title + (f" (the first {_MOST} of {len(rows) - 1})" if left_out > 0 else ""))
    print_table(_short(rows[: _MOST + 1]), numbers_from=texts)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _short(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with the text of queries cut off."""
    may_be_cut = [head == "text" for head in rows[0]]
    return [
        [_cut(cell) if cut else cell for cell, cut in zip(row, may_be_cut, strict=True)]
        for row in rows
    ]
