"""Gold commands for labellers: sheets, reading their grades, and agreement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from retrieval_eval.cli.common import (
    FILE,
    FOLDER,
    echo,
    json_option,
    number,
    print_json,
    print_table,
)
from retrieval_eval.cli.search_options import (
    corpus_file_option,
    folder_option,
    gold_option,
    key_option,
    labellers_option,
    print_notes,
    print_paths,
    run_files,
    sheets_argument,
    written_option,
)
from retrieval_eval.io.files import json_bytes, write_atomically
from retrieval_eval.model import to_builtins
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.gold import changing, load_gold_set, write_gold_set
from retrieval_eval.search.gold.agreement import (
    MIN_OF_CORPUS,
    Compared,
    Disagreement,
    adjudication_sheet,
    agreement,
    disagreements,
    settle,
)
from retrieval_eval.search.gold.chunks import REASONS
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.labelling import (
    DEFAULT_DEPTH,
    Ranking,
    build_pool,
    csv_sheet,
    jsonl_sheet,
    write_pool,
)
from retrieval_eval.search.gold.relabel import STATUSES, Relabelling, relabel, relabel_files
from retrieval_eval.search.run.document import load_search_run
from retrieval_eval.search.run.judging_queue import DEEPEST, judging_queue
from retrieval_eval.values import DEFAULT_SEED, counted

_MOST_SHOWN: Final = 10
_READ: Final = ("n_items", "n_graded", "n_added", "n_changed", "n_comments", "n_absent")
_NAMES: Final = {"none": "unweighted", "linear": "linear", "quadratic": "quadratic"}


@click.command(short_help="Make labelling sheets of what runs found.")
@gold_option
@click.option(
    "--run",
    "runs",
    metavar="RUN",
    multiple=True,
    required=True,
    help="A search run: a file, or a label in data/eval. Repeatable, to pool retrievers.",
)
@corpus_file_option(is_required=True)
@labellers_option("Names of the labellers, comma-separated.", is_required=True)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEFAULT_DEPTH,
    show_default=True,
    help="How many documents of each run go into the pool.",
)
@click.option(
    "--by-gain",
    type=click.IntRange(min=1),
    metavar="N",
    help="In place of --depth: the N unjudged documents whose judgement could move P@5 and "
    "Recall@20 most.",
)
@folder_option("Folder for the sheets.")
@click.option(
    "--key", type=FILE, help="Where the key goes, which no labeller may see. Default: OUT/key.json"
)
@json_option
def pool(
    gold_path: Path,
    runs: tuple[str, ...],
    corpus_file: Path,
    labellers: list[str],
    depth: int,
    by_gain: int | None,
    out: Path,
    key: Path | None,
    as_json: bool,
) -> None:
    """Make labelling sheets of what one or several search runs found.

    Every labeller gets each pair of query and document once, in an order of their own, as CSV
    and as JSONL. Nothing in a sheet shows which run found a document, or where; the key does.
    Labellers fill in the column `grade` (0 not relevant, 1 relevant, 2 highly relevant; empty:
    undecided) and perhaps `comment`; `gold settle` takes the sheets back.
    """
    files = run_files(runs)
    documents = [load_search_run(path) for path in files]
    gold = load_gold_set(gold_path)
    rankings: list[Ranking] = [_ranking(document) for document in documents]
    notes = []
    if by_gain is not None:
        queue = judging_queue(gold, documents, n=by_gain)
        rankings = [queue.part_of(ranking) for ranking in rankings]
        depth, notes = DEEPEST, queue.notes()
    found = build_pool(
        gold,
        rankings,
        read_corpus(corpus_file),
        labellers,
        depth=depth,
        names=[document.run.retriever.name for document in documents],
    )
    paths = write_pool(found, out, key)
    notes += _run_notes(files, documents, depth)
    if found.n_without:
        notes.append(f"{counted(found.n_without, 'query')} of the gold set without a candidate")
    if as_json:
        counts = {name: getattr(found, name) for name in ("n_queries", "n_pairs", "n_without")}
        print_json({**counts, "files": [str(path) for path in paths], "notes": notes})
        return
    pairs, queries = counted(found.n_pairs, "pair"), counted(found.n_queries, "query")
    echo(f"{pairs} of {queries} for each labeller")
    print_paths(paths)
    print_notes(notes)


def _ranking(run: SearchRun) -> Ranking:
    return {query.id: [found.doc for found in query.ranking] for query in run.queries}


def _run_notes(paths: Sequence[Path], documents: Sequence[SearchRun], depth: int) -> list[str]:
    notes = []
    for path, document in zip(paths, documents, strict=True):
        own, n_failed = document.run.settings.depth, document.status.n_failed
        if own < depth:
            notes.append(f"{path}: was made to a depth of {own}, less than {depth}")
        if n_failed:
            notes.append(
                f"{path}: {counted(n_failed, 'query')} failed, with nothing to add to the pool"
            )
    return notes


@click.command("agreement", short_help="Measure how far labellers agree.")
@gold_option
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    metavar="A,B",
    help="Only these two labellers, in the sheet, too.",
)
@click.option(
    "--adjudicate",
    "sheet",
    type=FILE,
    metavar="OUT",
    help="Write the open disagreements as a sheet (.csv or .jsonl) for a third reviewer.",
)
@click.option("--adjudicator", metavar="NAME", help="Who will fill in that sheet.")
@corpus_file_option("Corpus with the texts to show in the sheet.")
@json_option
def agreement_command(
    gold_path: Path,
    pairs: tuple[str, ...],
    sheet: Path | None,
    adjudicator: str | None,
    corpus_file: Path | None,
    as_json: bool,
) -> None:
    """Measure how far labellers agree, and write the disagreements as a sheet.

    For each two labellers, over the documents both graded: Cohen's kappa, unweighted and weighted
    by the distance of the grades, with intervals that resample queries, the share of equal
    grades, and the table of grades. The sheet for a third reviewer shows query and document and
    not who graded what; `gold settle` reads it back.
    """
    gold = load_gold_set(gold_path)
    chosen = [_two(pair) for pair in pairs] or None
    found = agreement(gold, pairs=chosen)
    apart = disagreements(gold, chosen)
    written = _adjudicate(gold, chosen, sheet, adjudicator, corpus_file)
    if as_json:
        print_json(
            {
                "gold_fingerprint": gold.fingerprint,
                "seed": DEFAULT_SEED,
                "pairs": [pair.to_json() for pair in found],
                "disagreements": [to_builtins(one) for one in apart],
                "files": [str(path) for path in written],
            }
        )
        return
    for pair in found:
        echo(f"{pair.first} and {pair.second}")
        _print_compared({"all": pair.overall, **pair.corpora})
        _print_grades(pair.overall, pair.first, pair.second)
        echo("")
    _print_disagreements(apart)
    print_paths(written)


@click.command("settle", short_help="Make unanimous grades final.")
@sheets_argument
@key_option
@gold_option
@written_option
@json_option
def settle_command(
    sheets: tuple[Path, ...], key: Path, gold_path: Path, out: Path | None, as_json: bool
) -> None:
    """Read sheets back and make final the grades on which all assigned labellers agree.

    Works on the sheets of `gold pool`, `gold agreement --adjudicate` and `gold relabel`. Grades
    become labels of the person named in the key, with digests of the texts that were shown, and
    comments go to the field `label_comments`. A grade that all of them gave goes to `relevant`, and
    the field `decisions` records who decided what, why, and over which other grades. Such rows
    become reviewed rows. Faults are named by line, and then nothing is written.
    """
    target = out or gold_path
    with changing(target):
        found = settle(load_gold_set(gold_path), sheets, key)
        write_gold_set(target, found.queries)
    counts = {
        name: getattr(found, name) for name in ("n_settled", "n_moved", "n_apart", "n_waiting")
    }
    if as_json:
        print_json(
            {
                "gold": str(target),
                "purpose": found.purpose,
                **counts,
                **{name: getattr(found.reading, name) for name in _READ},
                "promoted": list(found.reading.promoted),
            }
        )
        return
    echo(
        f"{target}: {counted(found.n_settled, 'grade')} settled, {found.n_moved} of them new;"
        f" {found.n_apart} graded differently, {found.n_waiting} still without a grade"
    )
    notes = []
    if found.reading.n_absent:
        notes.append(
            f"{counted(found.reading.n_absent, 'item')} of the key in none of these sheets"
        )
    if found.reading.promoted:
        rows = counted(len(found.reading.promoted), "bootstrap row")
        notes.append(f"{rows} became reviewed rows")
    print_notes(notes)


def _two(pair: str) -> tuple[str, str]:
    names = [name.strip() for name in pair.split(",")]
    if len(names) != 2 or not all(names):
        raise click.BadParameter(f"{pair!r} does not name two labellers", param_hint="--pair")
    return names[0], names[1]


def _adjudicate(
    gold: GoldSet,
    pairs: list[tuple[str, str]] | None,
    sheet: Path | None,
    adjudicator: str | None,
    corpus_file: Path | None,
) -> list[Path]:
    if sheet is None:
        if adjudicator is not None or corpus_file is not None:
            raise click.UsageError("--adjudicator and --corpus-file go with --adjudicate")
        return []
    if adjudicator is None or corpus_file is None:
        raise click.UsageError("--adjudicate needs --adjudicator and --corpus-file")
    if sheet.suffix.lower() not in (".csv", ".jsonl"):
        raise click.UsageError("--adjudicate: the sheet is a .csv or a .jsonl file")
    key = sheet.with_name(f"{sheet.stem}.key.json")
    corpus = read_corpus(corpus_file)
    made = adjudication_sheet(gold, corpus, adjudicator, pairs=pairs)
    as_bytes = jsonl_sheet if sheet.suffix.lower() == ".jsonl" else csv_sheet
    write_atomically(
        {sheet: as_bytes(made.sheets[adjudicator]), key: json_bytes(dict(made.key), indent=1)}
    )
    return [sheet, key]


def _print_compared(parts: dict[str, Compared]) -> None:
    """Print a table of agreement, one row for each name."""
    names = list(next(iter(parts.values())).kappas)
    rows = [("", "pairs", "queries", "equal", *(f"κ {_NAMES[name]}" for name in names))]
    for name, part in parts.items():
        kappas = [_kappa(part, weights) for weights in names]
        equal = number(part.agreement.value, 3)
        rows.append((name, str(part.n), str(part.n_queries), equal, *kappas))
    print_table(rows)
    if any(part.n < MIN_OF_CORPUS for part in parts.values()):
        echo(f"  note: no kappa below {MIN_OF_CORPUS} pairs of a corpus")


def _kappa(part: Compared, weights: str) -> str:
    if weights not in part.kappas:
        return "—"
    kappa = part.kappas[weights]
    low, high = kappa.interval.low.value, kappa.interval.high.value
    ends = "" if low is None or high is None else f" [{number(low, 3)}, {number(high, 3)}]"
    return f"{number(kappa.value.value, 3)}{ends}"


def _print_grades(part: Compared, first: str, second: str) -> None:
    echo(f"grades of {first} (rows) by grades of {second}")
    head = ("", *map(str, range(len(part.table))))
    print_table([head, *((str(g), *map(str, row)) for g, row in enumerate(part.table))])


def _print_disagreements(apart: Sequence[Disagreement]) -> None:
    n_open = sum(not one.decided_by for one in apart)
    n = counted(len(apart), "disagreement")
    echo(f"{n}, {n_open} without an adjudicator on record")
    for one in apart[:_MOST_SHOWN]:
        grades: Any = ", ".join(f"{name} {grade}" for name, grade in one.grades.items())
        by = f" (by {', '.join(one.decided_by)})" if one.decided_by else ""
        final = "—" if one.final is None else f"{one.final}{by}"
        echo(f"  {one.query}  {one.doc}: {grades}; final {final}")
    if len(apart) > _MOST_SHOWN:
        echo(f"  and {len(apart) - _MOST_SHOWN} more (--json lists them all)")


# --------------------------------------------------------------------------------------------------
# ``gold relabel``: gold sets after re-chunking.


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
