"""``retrieval-eval search claims``: how much of drafted answers labelled documents support."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.cli.common import (
    FILE,
    echo,
    json_option,
    number,
    print_json,
    print_table,
    progress_bar,
)
from retrieval_eval.cli.search_options import gold_option, run_files
from retrieval_eval.errors import BadInputError
from retrieval_eval.model.search_run import Claims, ShareWithInterval
from retrieval_eval.search.claims import (
    agreement_words,
    bounds_words,
    unproved_words,
    why_advisory_of,
)
from retrieval_eval.search.claims.judge import JUDGES, MODULE

_CACHE = "claim-judgements.jsonl"


@click.command(short_help="Measure the claim coverage of drafts.")
@click.argument("run")
@click.option("--drafts", type=FILE, required=True, help="Drafted answers, one a line.")
@click.option(
    "--corpus-file", type=FILE, help="Documents. Default: corpus.jsonl beside the gold set."
)
@gold_option
@click.option(
    "--judge",
    "judge_name",
    metavar="|".join([*JUDGES, MODULE]),
    help="Who decides whether a document supports a claim; must be named. "
    + " ".join(f"{name} {kind.summary}." for name, kind in JUDGES.items())
    + f" {MODULE} calls your own code.",
)
@click.option(
    "--judge-option",
    "judge_options",
    multiple=True,
    metavar="NAME=VALUE",
    help=" ".join(f"Of {name}: {', '.join(kind.options)}." for name, kind in JUDGES.items()),
)
@click.option("--human-labels", type=FILE, help="Labels of people, to compare the judge with.")
@click.option("--out", type=FILE, help="Where to write. Default: RUN.claims.json beside RUN.")
@json_option
def claims(
    run: str,
    drafts: Path,
    corpus_file: Path | None,
    gold_path: Path,
    judge_name: str | None,
    judge_options: tuple[str, ...],
    human_labels: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure the claim coverage of drafts, and write RUN with it to a new file.

    RUN is a file, or the label of a run in data/eval; it stays as it is.

    A claim called supported without proof is unproved: it widens the coverage to a range.

    Exit code 0: measured. 2: the judge failed three times, or no draft could be judged; nothing
    is written. 3: bad input, or no judge named.
    """
    from retrieval_eval.search.claims import ClaimsRequest, measure_claims
    from retrieval_eval.search.run.document import WITH_CLAIMS, document_of

    if judge_name is None:
        raise BadInputError(
            "name who judges the claims: "
            + "; ".join(f"--judge {name} {kind.summary}" for name, kind in JUDGES.items())
            + f"; --judge {MODULE} calls your own code"
        )
    (path,) = run_files([run])
    plain_run = path.with_name(f"{path.name.removesuffix(WITH_CLAIMS)}.json")
    if path.name.endswith(WITH_CLAIMS) and run != str(path) and plain_run.is_file():
        path = plain_run  # a label names the run, whose claims are judged anew
    target = out or path.with_name(f"{path.stem}{WITH_CLAIMS}")
    if target.resolve() == path.resolve():
        raise click.UsageError("--out is RUN itself, which stays as it is")
    request = ClaimsRequest(
        run=path,
        drafts=drafts,
        corpus=corpus_file or gold_path.with_name("corpus.jsonl"),
        gold=gold_path,
        judge=judge_name,
        judge_options=_options(judge_options),
        cache=path.with_name(_CACHE),
        human_labels=human_labels,
        out=target,
    )
    with progress_bar("claim") as progress:
        measured = measure_claims(request, progress=progress)
    if as_json:
        print_json(document_of(measured))
        return
    if measured.claims is not None:
        _print_claims(measured.claims)
    echo("")
    echo(target)


def _options(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in given]
    for name, sign, _ in pairs:
        if not name or not sign:
            # The value may be a secret, so it is not repeated.
            raise click.BadParameter("expected NAME=VALUE", param_hint="--judge-option")
    return {name: value for name, _, value in pairs}


def _print_claims(block: Claims) -> None:
    judge, agreement = block.judge, block.agreement
    settings = ", ".join(f"{name}={value}" for name, value in judge.settings.items())
    echo(f"judge  : {judge.name} {judge.version} ({settings})")
    echo(f"         {agreement_words(agreement)}")
    echo(
        f"drafts : {block.n_drafts} ({block.n_refused} refused, {block.n_unlabelled} of"
        f" unlabelled queries, {block.n_without_draft} queries without a draft)"
    )
    unproved = unproved_words(block)
    echo(
        f"claims : {block.n_claims}, {block.n_substantive} of them substantive"
        + (f"; {unproved}" if unproved else "")
    )
    echo("")
    rows = [("", "value", "interval", "n", "unproved")]
    rows += [_row("claim coverage", block.coverage), _row("faithfulness", block.faithfulness)]
    if agreement is not None:
        rows.append(_row("judge-human kappa", agreement.kappa))
        rows.append(_row("judge-human accuracy", agreement.accuracy))
    # A column only where there is something in it.
    print_table(rows if unproved else [row[:4] for row in rows])
    if agreement is not None:
        counts = agreement.confusion
        echo("")
        echo(
            f"supported, say both {counts.both}, the judge only {counts.judge_only}, "
            f"people only {counts.human_only}, neither {counts.neither}"
        )
    why = why_advisory_of(agreement)
    if why:
        echo("")
        echo(f"The guard does not block on these numbers: {why}.")


def _row(name: str, share: ShareWithInterval) -> tuple[str, str, str, str, str]:
    low, high = share.ci_low, share.ci_high
    interval = "—" if low is None else f"{number(low, 3)} to {number(high, 3)}"
    return name, number(share.value, 3), interval, str(share.n), bounds_words(share)
