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
    seed_option,
)
from retrieval_eval.cli.search_options import (
    NOISE,
    asking_options,
    data_option,
    request_of,
    run_files,
)

if TYPE_CHECKING:
    from retrieval_eval.model.noise import NoiseFloor


@click.command(short_help="Measure how much runs vary by themselves.")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--retriever", metavar="SPEC", help="Repeat a run of this retriever.")
@asking_options
@click.option(
    "--repeats", type=click.IntRange(min=2), default=10, show_default=True, help="How many runs."
)
@click.option("--queries", type=FILE, help="Look at the queries of this pinned list only.")
@click.option(
    "--change",
    nargs=2,
    metavar="A B",
    help="Two runs that differ like a typical change, to compute how large a detectable change is.",
)
@data_option
@click.option("--out", type=FILE, default=NOISE, show_default=True, help="Where to write.")
@seed_option()
@json_option
def noise(
    runs: tuple[str, ...],
    retriever: str | None,
    repeats: int,
    queries: Path | None,
    change: tuple[str, str] | None,
    data: Path,
    out: Path,
    seed: int,
    as_json: bool,
    **asked: Any,
) -> None:
    """Measure the noise of a system from runs in which nothing changed, and write it to --out.

    The runs are repeated now (--retriever), or finished ones are named: files, or labels of runs in
    the folder --data; with both, they are taken together. No report is written.

    Exit code 0: measured. 2: the runs are not of one system, or have no verdict. 3: bad input.
    """
    if not runs and retriever is None:
        raise click.UsageError("name a --retriever to repeat, or finished runs")
    from retrieval_eval.io.files import write_json
    from retrieval_eval.model import to_builtins
    from retrieval_eval.schema import now
    from retrieval_eval.search.decide.noise import check_distinct, repeated_runs
    from retrieval_eval.search.decide.noise import noise as noise_of
    from retrieval_eval.search.gold.pinned import read_pinned
    from retrieval_eval.search.run.run_files import load_search_run

    pinned = None if queries is None else read_pinned(queries)
    documents = [load_search_run(path) for path in run_files(runs, data)]
    check_distinct(documents)
    pair = [load_search_run(path) for path in run_files(change or (), data)]
    if retriever is not None:
        request = request_of(retriever, seed, asked)
        with progress_bar("query") as progress:
            documents += repeated_runs(request, repeats=repeats, progress=progress)
    found = noise_of(
        documents,
        generated_at=now(),
        seed=seed,
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
