"""``search transfer``: whether a change generalises to every corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from retrieval_eval.cli.common import echo, json_option, print_json, print_table
from retrieval_eval.cli.search_options import data_option, run_files

if TYPE_CHECKING:
    from pathlib import Path

EXIT_NO_VERDICT = 2

_CODES = ("gold_set", "convention", "empty_ranking", "depth", "corpus", "queries")


@click.command(short_help="Hold out every corpus once.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@data_option
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="Metric to compare; may be given several times. Default: the headline measures, RR,"
    " nDCG@10 and the two rates of refusal.",
)
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(_CODES),
    help="Compare runs that differ in this; may be given several times.",
)
@json_option
@click.pass_context
def transfer(
    context: click.Context,
    a: str,
    b: str,
    data: Path,
    metrics: tuple[str, ...],
    accept: tuple[str, ...],
    as_json: bool,
) -> None:
    """Hold out every corpus once, and test whether the change on the others holds on it.

    A and B are files, or labels of runs in the folder --data.

    Exit code 2: fewer than two corpora, a run without a verdict, runs that did not measure the
    same thing, or nothing that both of them measured.
    """
    from retrieval_eval.search.run_files import load_search_run
    from retrieval_eval.search.transfer import transfer as compare

    before, after = map(load_search_run, run_files([a, b], data))
    seed = after.run.settings.seed
    found = compare(before, after, metrics=metrics, accept=accept, seed=seed)
    if as_json:
        print_json(found)
    else:
        _print(found, after.run.settings.confidence)
    cells = [cell for row in found["metrics"].values() for cell in row["corpora"].values()]
    if found["reasons"] or all(cell["verdict"] == "not_computable" for cell in cells):
        context.exit(EXIT_NO_VERDICT)


def _print(found: Mapping[str, Any], confidence: float) -> None:
    from retrieval_eval.search.summary import points, signed_span

    for code, text in found["accepted"].items():
        echo(f"ACCEPTED {code}: {text}")
    for reason in found["reasons"]:
        echo(f"No verdict: {reason}")
    if not found["computable"]:
        return
    interval = f"{confidence:.0%} interval"
    rows = [["metric", "held out", "others, points", "pairs", "here, points", interval]]
    rows[0] += ["pairs", "verdict"]
    for name, row in found["metrics"].items():
        for corpus, cells in row["corpora"].items():
            others, here = cells["others"], cells["held_out"]
            rows.append(
                [
                    name,
                    corpus,
                    points(others["delta_points"]),
                    str(others["n_pairs"]),
                    points(here["delta_points"]),
                    signed_span(here["ci_low_points"], here["ci_high_points"]),
                    str(here["n_pairs"]),
                    _verdict(cells),
                ]
            )
    print_table(rows, numbers_from=2)
    echo("")
    for name, row in found["metrics"].items():
        answer = {True: "yes", False: "no", None: "no answer"}[row["holds_everywhere"]]
        n_clear = sum(cells["is_clear"] is True for cells in row["corpora"].values())
        counts = f"the sign is clear on {n_clear} of {len(row['corpora'])}"
        echo(f"{name}: holds on every corpus held out: {answer} ({counts})")
    echo("unclear: the interval here contains 0 or does not exist, so the sign may be chance")


def _verdict(cells: Mapping[str, Any]) -> str:
    words = str(cells["verdict"]).replace("_", " ")
    is_sign = cells["verdict"] in ("holds", "reverses")
    return f"{words}, unclear" if is_sign and not cells["is_clear"] else words
