"""``retrieval-eval search noise``: how much a run moves when nothing changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from retrieval_eval.cli.common import (
    FOLDER,
    json_option,
    parse_k,
    parse_options,
    plain,
    print_json,
    print_table,
    progress_bar,
)
from retrieval_eval.values import DEFAULT_SEED

_FILE = click.Path(path_type=Path, dir_okay=False)
_DATA = Path("data/eval")


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--retriever", metavar="SPEC", help="Repeat a run of this retriever.")
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the retriever."
)
@click.option(
    "--repeats", type=click.IntRange(min=2), default=5, show_default=True, help="How many runs."
)
@click.option(
    "--gold", type=_FILE, default=_DATA / "gold-set.jsonl", show_default=True, help="Gold set."
)
@click.option(
    "--corpus", "corpora", multiple=True, metavar="NAME", help="Only queries of this corpus."
)
@click.option("--corpus-file", type=_FILE, help="Documents, to be on record.")
@click.option("--k", "k_values", default="1,3,5,10,20", show_default=True, help="Cut-offs.")
@click.option("--depth", type=click.IntRange(min=1), default=50, show_default=True)
@click.option("--floor", type=float, help="Drop documents scored below.")
@click.option("--no-rerank", is_flag=True, help="Leave out the second stage.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--change",
    nargs=2,
    metavar="A B",
    help="Two runs that differ as changes to come will, to tell what such a change would need.",
)
@click.option("--data", type=FOLDER, default=_DATA, show_default=True, help="Folder of labels.")
@click.option("--out", type=_FILE, default=_DATA / "noise.json", show_default=True)
@click.option("--seed", type=int, default=DEFAULT_SEED, show_default=True, help="Of resampling.")
@json_option
def noise(
    runs: tuple[str, ...],
    retriever: str | None,
    options: tuple[str, ...],
    repeats: int,
    gold: Path,
    corpora: tuple[str, ...],
    corpus_file: Path | None,
    k_values: str,
    depth: int,
    floor: float | None,
    no_rerank: bool,
    jobs: int,
    change: tuple[str, str] | None,
    data: Path,
    out: Path,
    seed: int,
    as_json: bool,
) -> None:
    """Measure the noise of a system from runs in which nothing changed, and write it to --out.

    The runs are repeated now (--retriever), or finished ones are named: files, or labels of runs in
    the folder --data; with both, they are taken together. No report is written.

    Exit code 0: measured. 2: the runs are not of one system, or have no verdict. 3: bad input.
    """
    if not runs and retriever is None:
        raise click.UsageError("name a --retriever to repeat, or finished runs")
    from retrieval_eval.errors import BadInputError
    from retrieval_eval.io.files import write_json
    from retrieval_eval.schema import now
    from retrieval_eval.search.measure import Request
    from retrieval_eval.search.noise import check_distinct, repeated_runs
    from retrieval_eval.search.noise import noise as noise_of
    from retrieval_eval.search.run_names import named_run
    from retrieval_eval.search.settings import Settings

    documents = [named_run(name, data).document for name in runs]
    check_distinct(documents)
    pair = [named_run(name, data).document for name in change or ()]
    if retriever is not None:
        request = Request(
            gold,
            retriever,
            options=parse_options(options),
            corpora=corpora,
            corpus_file=corpus_file,
            settings=Settings(k_values=parse_k(k_values), depth=depth, seed=seed),
            floor=floor,
            use_rerank=not no_rerank,
            jobs=jobs,
        )
        with progress_bar("query") as progress:
            documents += repeated_runs(request, repeats=repeats, progress=progress)
    found = noise_of(
        documents, generated_at=now(), seed=seed, change=(pair[0], pair[1]) if pair else None
    )
    try:
        write_json(out, found, indent=1)
    except OSError as error:
        raise BadInputError(f"{out}: cannot be written ({error.strerror or error})") from error
    if as_json:
        print_json(found)
    else:
        _print(found)
        click.echo(f"\n{plain(str(out))}")


def _print(found: Mapping[str, Any]) -> None:
    from retrieval_eval.search.noise_tables import (
        detectable_rows,
        level_rows,
        noise_sentences,
        shown_metrics,
    )
    from retrieval_eval.search.noise_thresholds import snippet

    for sentence in noise_sentences(found):
        click.echo(plain(sentence))
    names = shown_metrics(found)
    for title, rows in (
        ("Noise, in points", level_rows(found, names)),
        ("Smallest change that 80 % of comparisons find, in points", detectable_rows(found)),
    ):
        click.echo(f"\n{title}")
        print_table(rows)
    click.echo("\nFor guard.toml:\n")
    click.echo(snippet(found), nl=False)
