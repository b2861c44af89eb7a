"""``retrieval-eval search noise``: how much metrics vary between runs of one system."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retrieval_eval.cli.common import (
    FILE,
    echo,
    echo_lines,
    json_option,
    print_json,
    print_table,
    progress_bar,
)
from retrieval_eval.cli.search_options import (
    NOISE,
    asked_at_once_option,
    documents_option,
    gold_option,
    in_data,
    queries_option,
    run_files,
    shown,
)
from retrieval_eval.values import DEFAULT_SEED

if TYPE_CHECKING:
    from retrieval_eval.model.guard import NoiseFloor


@click.command(short_help="Measure how much runs vary by themselves.")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--retriever", metavar="SPEC", help="Repeat a run of this retriever.")
@gold_option
@documents_option
@asked_at_once_option
@click.option(
    "--repeats",
    type=click.IntRange(min=2),
    help="How many runs. Default: 10, and with RUN only those that are named.",
)
@queries_option
@click.option(
    "--change",
    nargs=2,
    metavar="A B",
    help="Two runs that differ like a typical change, to say how large a detectable one is.",
)
@click.option(
    "--out",
    type=FILE,
    default=in_data(NOISE),
    help=f"Where to write. Default: {shown(NOISE)}.",
)
@json_option
def noise(
    runs: tuple[str, ...],
    retriever: str | None,
    gold_path: Path,
    corpus_file: Path | None,
    jobs: int,
    repeats: int | None,
    queries: Path | None,
    change: tuple[str, str] | None,
    out: Path,
    as_json: bool,
) -> None:
    """Measure the noise of a system from runs in which nothing changed, and write it to --out.

    RUN... are finished runs: files, or labels of runs in data/eval. With --repeats the
    retriever of the first is asked again, with its options, cut-offs, depth and corpora; with
    --retriever another one is, or without RUN that one alone. No report is written.

    Exit code 0: measured. 2: the runs are not of one system, or have no verdict. 3: bad input.

    \b
    Examples:
      retrieval-eval search noise RUN --repeats 10
      retrieval-eval search noise --retriever bm25:corpus.jsonl
    """  # noqa: D301  click reads the control character
    if not runs and retriever is None:
        raise click.UsageError("name a --retriever to repeat, or runs")
    from retrieval_eval.io.files import write_json
    from retrieval_eval.model import to_builtins
    from retrieval_eval.schema import now
    from retrieval_eval.search.decide.noise import DEFAULT_REPEATS, check_distinct, repeated_runs
    from retrieval_eval.search.decide.noise import noise as noise_of
    from retrieval_eval.search.gold.pinned import read_pinned
    from retrieval_eval.search.measure import Request, again
    from retrieval_eval.search.run.run_files import load_search_run

    pinned = None if queries is None else read_pinned(queries)
    documents = [load_search_run(path) for path in run_files(runs)]
    check_distinct(documents)
    pair = [load_search_run(path) for path in run_files(change or ())]
    if retriever is not None or repeats is not None:
        given: dict[str, Any] = {"corpus_file": corpus_file, "jobs": jobs}
        if documents:
            request = again(documents[0], gold_path, retriever, **given)
        else:
            request = Request(gold_path, retriever or "", **given)
        with progress_bar("query") as progress:
            documents += repeated_runs(
                request, repeats=repeats or DEFAULT_REPEATS, progress=progress
            )
    found = noise_of(
        documents,
        generated_at=now(),
        seed=DEFAULT_SEED,
        change=(pair[0], pair[1]) if pair else None,
        pinned=pinned,
    )
    document = to_builtins(found)
    write_json(out, document, indent=1)
    if as_json:
        print_json(document)
    else:
        _print(found)
        echo()
        echo(out)


def _print(found: NoiseFloor) -> None:
    from retrieval_eval.search.decide.noise import (
        detectable_rows,
        level_rows,
        noise_sentences,
        shown_metrics,
        snippet,
    )

    for sentence in noise_sentences(found):
        echo(sentence)
    names = shown_metrics(found)
    for title, rows in (
        ("Noise, in points", level_rows(found, names)),
        ("Smallest change that 80 % of comparisons find, in points", detectable_rows(found)),
    ):
        echo()
        echo(title)
        print_table(rows)
    echo_lines("\nFor guard.toml:\n\n" + snippet(found))
