"""``search show``: a stored run, and the threshold at which it had better refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from retrieval_eval.cli.common import echo, json_option, number, print_json, print_table
from retrieval_eval.cli.search_options import run_files

if TYPE_CHECKING:
    from retrieval_eval.search.run.abstention import Choice


@click.command(short_help="Print a stored run.")
@click.argument("run")
@click.option(
    "--target-frr",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.05,
    show_default=True,
    help="False refusal rate that the recommended threshold stays within.",
)
@json_option
def show(run: str, target_frr: float, as_json: bool) -> None:
    """Print a stored run as `search run` did.

    RUN is a file, or the label of a run in data/eval.

    Where unanswerable queries were asked it also says, for several false refusal rates, at which
    top score to refuse. The recommended threshold refuses most unanswerable queries while at most
    --target-frr of the answerable ones are refused. It was chosen on the queries it is shown for;
    the split-half check estimates what it does to other queries. With --json these are the member
    `thresholds` beside the document of the run.

    Exit code 3: no such run, or no valid one.
    """
    from retrieval_eval.cli.search import print_run
    from retrieval_eval.errors import NothingToEvaluateError
    from retrieval_eval.search.run.abstention import choice_of
    from retrieval_eval.search.run.run_files import document_of, load_search_run
    from retrieval_eval.search.run.trust import require_trust

    (path,) = run_files([run])
    found = load_search_run(path)
    choice, why = None, None
    if found.abstention is not None:
        try:
            require_trust(found, str(path))
            choice = choice_of(found, target_frr)
        except NothingToEvaluateError as error:
            why = str(error)
    if as_json:
        more = {} if choice is None else {"thresholds": msgspec.to_builtins(choice)}
        print_json({**document_of(found), **more})
        return
    print_run(found)
    if choice is not None:
        _print(choice)
    elif why is not None:
        echo("")
        echo(f"no threshold to choose: {why}")


def _print(choice: Choice) -> None:
    from retrieval_eval.search.run.abstention import rate_text

    verdicts = {True: "passes", False: "fails", None: "—"}
    rows = [["refuse below", "chosen for", "ungrounded TP rate", "answerable FR rate", "gate"]]
    for purpose, point in [
        ("these decisions", choice.now),
        *((f"FR rate ≤ {point.cap:g}", point) for point in choice.points),
    ]:
        rates = (rate_text(point.true_positive_rate), rate_text(point.false_refusal_rate))
        rows.append([number(point.threshold, 4), purpose, *rates, verdicts[point.passes]])
    for name, caught in (("always answer", 0.0), ("always refuse", 1.0)):
        rows.append(["—", name, number(caught, 3), number(caught, 3), "fails"])
    echo("")
    print_table(rows, numbers_from=len(rows[0]))
    echo("")
    chosen, check = choice.recommended, choice.split_half
    if chosen is None:
        echo(
            f"No threshold keeps the false refusal rate within {choice.target:g}: more answerable "
            "queries than that come back empty."
        )
        return
    echo(
        f"Recommended for a false refusal rate within {choice.target:g}: "
        f"--abstain-at {chosen.threshold}"
    )
    echo("It was chosen on these queries, so it looks better here than on new ones.")
    if check is None:
        echo("Too few queries to choose on one half and test on the other.")
        return
    tried = (
        f"ungrounded TP rate {check.true_positive_rate:.3f}, answerable FR rate "
        f"{check.false_refusal_rate:.3f}, above {choice.target:g} in {check.share_over:.0%} of them"
    )
    n = check.n_halvings
    echo(f"Chosen on one half and tested on the other ({n} halvings): {tried}.")
