"""``search judge-next``: the documents whose judgement could move the headline measures most."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieval_eval.cli.common import (
    FILE,
    FOLDER,
    echo,
    json_option,
    print_json,
    print_table,
    seed_option,
)
from retrieval_eval.cli.search_options import data_option, gold_option, run_files
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.model.gold import GoldSet
    from retrieval_eval.search.judging_queue import JudgingQueue


@click.command("judge-next", short_help="List the documents to judge next.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@data_option
@gold_option
@click.option(
    "--n", type=click.IntRange(min=1), default=50, show_default=True, help="Documents to judge."
)
@click.option("--out", type=FOLDER, help="Folder for labelling sheets. Default: none are written.")
@click.option("--corpus-file", type=FILE, help="Corpus with the texts to show; --out needs it.")
@click.option(
    "--labellers", metavar="A,B", help="Names of the labellers, comma-separated; --out needs them."
)
@click.option(
    "--key", type=FILE, help="Where the key goes, which no labeller may see. Default: OUT/key.json"
)
@seed_option(0, "Seed of the sheets' order.")
@json_option
def judge_next(
    runs: tuple[str, ...],
    data: Path,
    gold_path: Path,
    n: int,
    out: Path | None,
    corpus_file: Path | None,
    labellers: str | None,
    key: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """List the unjudged documents of search runs whose judgement could move P@5 and Recall@20 most.

    RUN is a file, or the label of a run in the folder --data.

    With --out they become labelling sheets, shuffled, without rank, score, gain or run, which
    `gold pool-read` takes back.

    Exit code 2: no document is left to judge.
    """
    from retrieval_eval.errors import NothingToEvaluateError
    from retrieval_eval.gold.gold_set import load_gold_set
    from retrieval_eval.search.judging_queue import judging_queue
    from retrieval_eval.search.run_files import load_search_run

    if out is not None and (corpus_file is None or labellers is None):
        raise click.UsageError("--out needs --corpus-file and --labellers")
    if out is None and (corpus_file or labellers or key):
        raise click.UsageError("--corpus-file, --labellers and --key need --out")
    gold = load_gold_set(gold_path)
    queue = judging_queue(gold, [load_search_run(path) for path in run_files(runs, data)], n=n)
    if not queue.candidates:
        raise NothingToEvaluateError(
            "no unjudged document can move a headline measure; " + "; ".join(_notes(queue))
        )
    files: list[Path] = []
    if out is not None and corpus_file is not None and labellers is not None:
        files = _write(gold, queue, corpus_file, labellers, out=out, key=key, seed=seed)
    if as_json:
        print_json({**asdict(queue), "files": [str(path) for path in files]})
        return
    rows = [["query", "document", "gain, points", "best rank", "runs"]]
    rows += [
        [c.query, c.doc, f"{c.gain_points:.4f}", str(c.best_rank), str(c.n_runs)]
        for c in queue.candidates
    ]
    print_table(rows, numbers_from=2)
    echo("")
    for note in _notes(queue):
        echo(note)
    for path in files:
        echo(f"  {path}")


def _write(
    gold: GoldSet,
    queue: JudgingQueue,
    corpus_file: Path,
    labellers: str,
    *,
    out: Path,
    key: Path | None,
    seed: int,
) -> list[Path]:
    from retrieval_eval.gold.corpus import read_corpus
    from retrieval_eval.gold.labelling import build_pool, write_pool

    docs: dict[str, list[str]] = {}
    for candidate in queue.candidates:
        docs.setdefault(candidate.query, []).append(candidate.doc)
    names = [name.strip() for name in labellers.split(",")]
    depth = len(queue.candidates)
    pool = build_pool(gold, [docs], read_corpus(corpus_file), names, depth=depth, seed=seed)
    return write_pool(pool, out, key)


def _notes(queue: JudgingQueue) -> list[str]:
    notes = [f"{len(queue.candidates)} of {counted(queue.n_candidates, 'document')}"]
    for n, noun, words in (
        (queue.n_unlabelled, "query", "without a relevant document yet, and so without bounds"),
        (queue.n_awaiting, "document", "left out: their labels are not settled"),
        (queue.n_failed, "answer", "missing because the retriever failed"),
    ):
        if n:
            notes.append(f"{counted(n, noun)} {words}")
    return notes
