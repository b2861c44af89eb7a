"""``search abstention``: refusals of a retriever, and the threshold to refuse at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from retrieval_eval.cli.common import echo, json_option, number, print_json, print_table
from retrieval_eval.cli.search_options import data_option, run_files

if TYPE_CHECKING:
    from pathlib import Path

    from retrieval_eval.model.search_run import Abstention
    from retrieval_eval.search.abstention import HalvedChoice, Kinds, OperatingPoint


@click.command(short_help="Show refusals, and which threshold to use.")
@click.argument("run")
@data_option
@click.option("--at", type=float, help="Look at this threshold of the top score.")
@click.option(
    "--target-frr",
    type=click.FloatRange(min=0, max=1, max_open=True),
    default=0.05,
    show_default=True,
    help="Share of answerable queries that may be refused.",
)
@json_option
def abstention(run: str, data: Path, at: float | None, target_frr: float, as_json: bool) -> None:
    """Show what a search run refuses, and what thresholds of the top score would; recommend one.

    RUN is a file, or the label of a run in the folder --data.

    The recommended threshold refuses most unanswerable queries while at most --target-frr of the
    answerable ones are refused. It was chosen on the queries it is shown for; the split-half check
    estimates its performance on other queries.

    Exit code 2: nothing to evaluate, because the run has no unanswerable or no answerable query,
    queries failed, or the retriever gives no scores.
    """
    from retrieval_eval.errors import NothingToEvaluateError
    from retrieval_eval.search.abstention import (
        CAPS,
        Kinds,
        abstention_of,
        halved,
        operating_points,
    )
    from retrieval_eval.search.run_files import load_search_run
    from retrieval_eval.search.trust import require_trust

    (path,) = run_files([run], data)
    document = load_search_run(path)
    require_trust(document, str(path))
    settings = document.run.settings
    confidence = settings.confidence
    threshold = document.abstention.threshold if at is None and document.abstention else at
    block = abstention_of(document.queries, threshold=threshold, confidence=confidence)
    if block is None:
        raise NothingToEvaluateError(f"{path}: no unanswerable query was asked")
    kinds = Kinds.of(document.queries)
    points = operating_points(kinds, (*CAPS, target_frr), confidence=confidence)
    check = halved(kinds, target_frr, seed=settings.seed)
    chosen = next((point for point in points if point.cap == target_frr), None)
    if as_json:
        print_json(
            msgspec.to_builtins(
                {
                    "abstention": block,
                    "operating_points": points,
                    "recommended": chosen,
                    "split_half": check,
                }
            )
        )
        return
    _print(block, kinds, points, confidence)
    echo("")
    for line in _recommendation(chosen, check, target_frr):
        echo(line)


def _print(
    block: Abstention, kinds: Kinds, points: tuple[OperatingPoint, ...], confidence: float
) -> None:
    from retrieval_eval.search.abstention import operating_point, rate_text, sentences

    for line in sentences(block):
        echo(line)
    gate = block.gate
    echo(
        f"gate: ungrounded TP rate at least {number(gate.min_true_positive_rate)} and "
        f"answerable FR rate at most {number(gate.max_false_refusal_rate)}"
    )
    echo("")
    now = operating_point(kinds, block.threshold, confidence=confidence)
    rows = [["refuse below", "chosen for", "ungrounded TP rate", "answerable FR rate", "gate"]]
    for purpose, point in [("these decisions", now), *((_purpose(p), p) for p in points)]:
        rows.append(
            [
                number(point.threshold, 4),
                purpose,
                rate_text(point.true_positive_rate),
                rate_text(point.false_refusal_rate),
                _verdict(point.passes),
            ]
        )
    for name, control in (
        ("always answer", block.controls.always_answer),
        ("always refuse", block.controls.always_refuse),
    ):
        rates = (control.true_positive_rate, control.false_refusal_rate)
        rows.append(["—", name, *(number(rate, 3) for rate in rates), _verdict(control.passes)])
    print_table(rows, numbers_from=len(rows[0]))


def _purpose(point: OperatingPoint) -> str:
    return f"FR rate ≤ {point.cap:g}"


def _verdict(passes: bool | None) -> str:
    return {True: "passes", False: "fails", None: "—"}[passes]


def _recommendation(
    chosen: OperatingPoint | None, check: HalvedChoice | None, target: float
) -> list[str]:
    if chosen is None:
        none = f"No threshold keeps the false refusal rate within {target:g}:"
        return [f"{none} more answerable queries than that come back empty."]
    lines = [
        f"Recommended for a false refusal rate within {target:g}: --abstain-at {chosen.threshold}",
        "It was chosen on these queries, so it looks better here than on new ones.",
    ]
    if check is None:
        return [*lines, "Too few queries to choose on one half and test on the other."]
    tried = (
        f"ungrounded TP rate {check.true_positive_rate:.3f}, answerable FR rate"
        f" {check.false_refusal_rate:.3f}, above {target:g} in {check.share_over:.0%} of them"
    )
    n = check.n_halvings
    return [*lines, f"Chosen on one half and tested on the other ({n} halvings): {tried}."]
