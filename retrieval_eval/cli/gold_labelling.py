"""``gold pool``, ``gold pool-read`` and ``gold pseudonymize``: gold sets and other people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from retrieval_eval.cli.common import echo, json_option, print_json, seed_option
from retrieval_eval.cli.search_options import FILE, data_option, gold_option, run_files
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.gold_set import load_gold_set, write_gold_set
from retrieval_eval.gold.labelling import DEFAULT_DEPTH, Ranking, build_pool, read_pool, write_pool
from retrieval_eval.gold.pseudonyms import pseudonymize as hide
from retrieval_eval.search.run_files import read_search_run
from retrieval_eval.values import counted

_FOLDER: Final = click.Path(path_type=Path, file_okay=False)


@click.command(short_help="Make labelling sheets of what runs found.")
@gold_option
@click.option(
    "--run",
    "runs",
    metavar="RUN",
    multiple=True,
    required=True,
    help="A search run: a file, or a label in the folder --data; several times to pool several "
    "retrievers.",
)
@data_option
@click.option("--corpus-file", type=FILE, required=True, help="Corpus with the texts to show.")
@click.option(
    "--labellers", required=True, metavar="A,B", help="Names of the labellers, comma-separated."
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEFAULT_DEPTH,
    show_default=True,
    help="How many documents of each run go into the pool.",
)
@seed_option(0, "Seed of the order.")
@click.option("--out", type=_FOLDER, required=True, help="Folder for the sheets.")
@click.option(
    "--key", type=FILE, help="Where the key goes, which no labeller may see. Default: OUT/key.json"
)
@json_option
def pool(
    gold_path: Path,
    runs: tuple[str, ...],
    data: Path,
    corpus_file: Path,
    labellers: str,
    depth: int,
    seed: int,
    out: Path,
    key: Path | None,
    as_json: bool,
) -> None:
    """Make labelling sheets of what one or several search runs found.

    Every labeller gets each pair of query and document once, in an order of their own, as CSV
    and as JSONL. Nothing in a sheet tells which run found a document, or where. Labellers fill
    in the column `grade` (0 not relevant, 1 relevant, 2 highly relevant; empty: undecided) and
    perhaps `comment`; `gold pool-read` takes the sheets back.
    """
    files = run_files(runs, data)
    documents = [read_search_run(path) for path in files]
    found = build_pool(
        load_gold_set(gold_path),
        [_ranking(document) for document in documents],
        read_corpus(corpus_file),
        [name.strip() for name in labellers.split(",")],
        depth=depth,
        seed=seed,
    )
    paths = write_pool(found, out, key)
    notes = [*_run_notes(files, documents, depth)]
    if found.n_without:
        notes.append(f"{counted(found.n_without, 'query')} of the gold set without a candidate")
    if as_json:
        counts = {name: getattr(found, name) for name in ("n_queries", "n_pairs", "n_without")}
        print_json({**counts, "files": [str(path) for path in paths], "notes": notes})
        return
    pairs, queries = counted(found.n_pairs, "pair"), counted(found.n_queries, "query")
    echo(f"{pairs} of {queries} for each labeller")
    for path in paths:
        echo(f"  {path}")
    _print_notes(notes)


@click.command("pool-read", short_help="Read the grades of filled-in sheets.")
@click.argument("sheets", metavar="SHEET...", type=FILE, nargs=-1, required=True)
@click.option("--key", type=FILE, required=True, help="The key that was written with the sheets.")
@gold_option
@click.option("--out", type=FILE, help="Gold set to write. Default: the one that is read.")
@json_option
def pool_read(
    sheets: tuple[Path, ...], key: Path, gold_path: Path, out: Path | None, as_json: bool
) -> None:
    """Put the grades of filled-in sheets into the gold set, as labels.

    The judgements (`relevant`) stay as they are until somebody settles them. A bootstrap row
    that gets labels becomes a chair row, because the next bootstrap would drop them. Comments
    go to the field `label_comments`. Faults are named by line, and then nothing is written.
    """
    found = read_pool(load_gold_set(gold_path), sheets, key)
    target = out or gold_path
    write_gold_set(target, found.queries)
    counts = {
        name: getattr(found, name)
        for name in ("n_items", "n_graded", "n_added", "n_changed", "n_comments", "n_absent")
    }
    if as_json:
        print_json({"gold": str(target), **counts, "promoted": list(found.promoted)})
        return
    echo(
        f"{target}: {found.n_graded} of {counted(found.n_items, 'item')} graded,"
        f" {counted(found.n_added, 'label')} added, {found.n_changed} changed,"
        f" {counted(found.n_comments, 'comment')}"
    )
    notes = []
    if found.n_absent:
        notes.append(f"{counted(found.n_absent, 'item')} of the key in none of these sheets")
    if found.promoted:
        notes.append(f"{counted(len(found.promoted), 'bootstrap row')} turned into chair rows")
    _print_notes(notes)


@click.command(short_help="Hide listed names in gold set and corpus.")
@gold_option
@click.option("--corpus-file", type=FILE, help="The corpus, to rename alike.")
@click.option(
    "--entities",
    type=FILE,
    required=True,
    help="TOML ([[entity]] with kind, name, aliases; [identifier] with further patterns) or JSONL.",
)
@click.option(
    "--mapping",
    type=FILE,
    required=True,
    help="The secret: key, names and pseudonyms, with mode 0600. Used again if it exists.",
)
@click.option("--out", type=_FOLDER, required=True, help="Folder for the files to give away.")
@json_option
def pseudonymize(
    gold_path: Path,
    corpus_file: Path | None,
    entities: Path,
    mapping: Path,
    out: Path,
    as_json: bool,
) -> None:
    """Write gold set and corpus with pseudonyms for the listed entities.

    The same entity has the same pseudonym everywhere, also in ids and paths. E-mail and IP
    addresses, telephone, account and contract numbers, IBANs and digests get stand-ins of the
    same length and shape. Anchors are left out, for their digests would let anyone check a guess.

    What it cannot do: it does not find names that are not listed, misspelt names, initials,
    translations, inflected forms, or what describes somebody without a name. Names of up to four
    letters are found as words of their own only (`match = "anywhere"` changes that). Numbers in
    shapes that no pattern knows stay. Nothing inside pictures or encoded attachments is seen.
    Read the result before you give it away.
    """
    found = hide(gold_path, entities, out, mapping, corpus=corpus_file)
    missing = found.n_entities - found.n_found
    if as_json:
        print_json(
            {
                "gold": str(found.gold),
                "corpus": None if found.corpus is None else str(found.corpus),
                "mapping": str(found.mapping),
                "hidden": dict(found.n_hidden),
                "n_entities": found.n_entities,
                "n_entities_found": found.n_found,
                "n_queries": found.n_queries,
                "n_documents": found.n_documents,
                "n_anchors_left_out": found.n_anchors,
                "n_ids_renewed": found.n_ids,
            }
        )
        return
    echo(f"{found.gold}: {counted(found.n_queries, 'query')}")
    if found.corpus is not None:
        echo(f"{found.corpus}: {counted(found.n_documents or 0, 'document')}")
    for kind, n in found.n_hidden.items():
        echo(f"  {kind}: {n} replaced")
    echo(f"{found.mapping}: the mapping; keep it to yourself")
    notes = ["names that are not listed were not looked for; read the files before they leave"]
    if missing:
        notes.append(f"{missing} of {counted(found.n_entities, 'listed entity')} not found")
    if found.n_anchors:
        notes.append(f"{counted(found.n_anchors, 'anchor')} left out")
    _print_notes(notes)


def _ranking(document: dict[str, Any]) -> Ranking:
    return {q["id"]: [found["doc"] for found in q["ranking"]] for q in document["queries"]}


def _run_notes(paths: Sequence[Path], documents: Sequence[dict[str, Any]], depth: int) -> list[str]:
    notes = []
    for path, document in zip(paths, documents, strict=True):
        own, n_failed = document["run"]["settings"]["depth"], document["status"]["n_failed"]
        if own < depth:
            notes.append(f"{path}: was made to a depth of {own}, less than {depth}")
        if n_failed:
            notes.append(
                f"{path}: {counted(n_failed, 'query')} failed, with nothing to add to the pool"
            )
    return notes


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        echo(f"  note: {note}")
