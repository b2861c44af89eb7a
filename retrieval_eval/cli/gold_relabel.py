"""``gold relabel``: gold sets after re-chunking."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.cli.common import (
    FILE,
    FOLDER,
    echo,
    json_option,
    print_json,
    print_table,
)
from retrieval_eval.cli.gold_options import (
    folder_option,
    labellers_option,
    print_notes,
    print_paths,
)
from retrieval_eval.cli.search_options import gold_option
from retrieval_eval.io.atomic_write import write_atomically
from retrieval_eval.search.gold.chunks import REASONS
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.gold_set import load_gold_set
from retrieval_eval.search.gold.relabel import STATUSES, Relabelling, relabel, relabel_files
from retrieval_eval.values import counted


@click.command("relabel", short_help="Move labels to a re-chunked corpus.")
@gold_option
@click.option(
    "--old-corpus", type=FILE, required=True, help="The corpus that the labels were given to."
)
@click.option("--new-corpus", type=FILE, required=True, help="The corpus after re-chunking.")
@click.option(
    "--sources",
    type=FOLDER,
    help="Folder of the new source texts, to check where documents stand. Nothing outside it is"
    " read, and no link is followed.",
)
@folder_option(
    "Folder for the new gold set, the queue and the mapping. Default: relabel, beside the gold "
    "set.",
    is_required=False,
)
@labellers_option(
    "Who grades the queue, comma-separated: each gets a sheet. `gold settle` reads them."
)
@json_option
def relabel_command(
    gold_path: Path,
    old_corpus: Path,
    new_corpus: Path,
    sources: Path | None,
    out: Path | None,
    labellers: list[str],
    as_json: bool,
) -> None:
    """Move the labels of a gold set to a re-chunked corpus; queue only what was cut differently.

    A label belongs to a text, not to an id or a place. Documents with the same text (up to white
    space) keep their grades. A document that contains all of a relevant text gets its grade.
    Everything else is queued to be graded again, or dropped where nothing of the text is left.
    Grades of reviewed rows are kept like all others; only the ids of their documents change.

    The gold set itself is never changed. The new one has its name, in the folder --out. The field
    `relabelled` of a row names the documents that have their grade from another one.
    """
    gold = load_gold_set(gold_path)
    old, new = read_corpus(old_corpus), read_corpus(new_corpus)
    found = relabel(gold, old, new, sources=sources)
    target = out or gold_path.parent / "relabel"
    files = relabel_files(found, gold, old, new, target, labellers=labellers)
    write_atomically(files)
    if as_json:
        print_json({**found.to_json(), "files": [str(path) for path in files]})
        return
    _print_counts(found)
    print_paths(files)
    if found.queue and not labellers:
        print_notes(["name --labellers to get sheets for the queue"])


def _print_counts(found: Relabelling) -> None:
    counts = found.counts()
    echo(
        f"{counted(counts['pairs']['total'], 'graded pair')} with"
        f" {counted(counts['labels']['total'], 'label')};"
        f" {counted(len(found.queue), 'pair')} of the new corpus to grade"
    )
    head = ("", "pairs", "labels")
    rows = [
        (words, str(counts["pairs"][name]), str(counts["labels"][name]))
        for name, words in STATUSES.items()
    ]
    print_table([head, *rows])
    for reason, n in found.reasons().items():
        echo(f"  {n} because {REASONS[reason]}")
    print_notes(found.notes)
