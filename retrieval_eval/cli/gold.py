"""``retrieval-eval gold``: import, export and share gold sets; the group of their commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from retrieval_eval.cli.common import (
    FILE,
    FOLDER,
    PATH,
    LazyGroup,
    echo,
    json_option,
    number,
    print_json,
    progress_bar,
)
from retrieval_eval.cli.search_options import (
    DATABASE_VARIABLE,
    backlog_option,
    backlog_source,
    corpus_file_option,
    folder_option,
    gold_option,
    print_notes,
    run_files,
)
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import write_atomically
from retrieval_eval.model import to_builtins
from retrieval_eval.model.gold import DEFAULT_CORPUS, STYLES
from retrieval_eval.search.gold import gold_set_bytes, load_gold_set
from retrieval_eval.search.gold.bootstrap import BootstrapResult, feedback_settings
from retrieval_eval.search.gold.bootstrap import bootstrap as regenerate
from retrieval_eval.search.gold.corpus import corpus_bytes, read_corpus
from retrieval_eval.search.gold.database import STATUSES, read_backlog
from retrieval_eval.search.gold.exchange import (
    TREC_QRELS,
    TREC_TOPICS,
    Imported,
    export_beir,
    export_trec,
    import_beir,
    import_trec,
    run_bytes,
)
from retrieval_eval.search.run.document import document_of, load_search_run
from retrieval_eval.values import counted

# Removed commands, each with what does its work now.
_VALIDATE: Final = "`retrieval-eval validate FILE --corpus-file CORPUS`"
GONE: dict[str, str] = {
    "blind-pack": "nothing measures agreement with oneself any more; `retrieval-eval gold "
    "agreement` measures that of labellers with each other.",
    "blind-read": "see `retrieval-eval gold agreement`.",
    "digest": "`retrieval-eval gold settle`, and `retrieval-eval gold bootstrap --corpus-file "
    "CORPUS`, record which texts the labels of the rows they write were given to.",
    "drift": f"{_VALIDATE} names the labels whose text changed or went.",
    "label-split": "`retrieval-eval search diff A B --old-gold OLD --gold NEW --mapping MAPPING "
    "--accept gold_set` shows what labels and retrieval did.",
    "pool-read": "`retrieval-eval gold settle` reads the sheets.",
    "stats": f"{_VALIDATE} shows what a gold set is made of.",
    "validate": f"{_VALIDATE} checks any file, gold sets included.",
}


@click.group(
    cls=LazyGroup,
    lazy={
        "agreement": "retrieval_eval.cli.gold_labelling:agreement_command",
        "settle": "retrieval_eval.cli.gold_labelling:settle_command",
        "relabel": "retrieval_eval.cli.gold_labelling:relabel_command",
        "bootstrap": "retrieval_eval.cli.gold:bootstrap",
        "backlog": "retrieval_eval.cli.gold:backlog",
        "pool": "retrieval_eval.cli.gold_labelling:pool",
    },
    gone=GONE,
)
def gold() -> None:
    """Gold sets: queries with judged documents, one a line of --gold.

    What the help calls data/eval is the data folder: retrieval-eval.toml may state another one, and
    gold set, corpus and backlog too.
    """


@gold.command("import")
@click.option(
    "--from",
    "form",
    type=click.Choice(["trec", "beir"]),
    required=True,
    help="trec: the files QRELS TOPICS (topics as TSV), or a folder with qrels.txt and"
    " topics.tsv. beir: a folder.",
)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=PATH)
@click.option("--gold", "gold_path", type=FILE, required=True, help="Gold set to write.")
@corpus_file_option("Corpus to write (beir).")
@click.option(
    "--corpus", default=DEFAULT_CORPUS, show_default=True, help="Name of the queries' corpus."
)
@json_option
def import_(
    form: str,
    sources: tuple[Path, ...],
    gold_path: Path,
    corpus_file: Path | None,
    corpus: str,
    as_json: bool,
) -> None:
    """Make a gold set of a TREC or BEIR collection.

    Imported rows are reviewed rows: no bootstrap changes them. Files that exist are not replaced.
    """
    if corpus_file is not None and corpus_file.resolve() == gold_path.resolve():
        raise click.UsageError("--gold and --corpus-file name the same file")
    for path in (gold_path, corpus_file):
        if path is not None and path.exists():
            raise BadInputError(f"{path}: exists; name another file, or remove it first")
    found = _import_beir(sources, corpus) if form == "beir" else _import_trec(sources, corpus)
    if corpus_file is not None and found.documents is None:
        raise BadInputError("there is no corpus.jsonl to write as --corpus-file")
    files = {gold_path: gold_set_bytes(gold_path, found.queries, max_grade=found.max_grade)}
    facts = {"gold": str(gold_path), "n_queries": len(found.queries)}
    facts |= {"corpus_file": None, "n_documents": None, "notes": list(found.notes)}
    written = [f"{gold_path}: {counted(len(found.queries), 'query')}"]
    if corpus_file is not None and found.documents is not None:
        files[corpus_file] = corpus_bytes(found.documents)
        facts |= {"corpus_file": str(corpus_file), "n_documents": len(found.documents)}
        written.append(f"{corpus_file}: {counted(len(found.documents), 'document')}")
    write_atomically(files)
    if as_json:
        print_json(facts)
    else:
        _print_sentences(written, found.notes, "note")


@gold.command(short_help="Write a gold set as TREC or BEIR files.")
@click.option("--to", "form", type=click.Choice(["trec", "beir"]), required=True)
@click.argument("target", type=FOLDER)
@gold_option
@corpus_file_option("Corpus to export along with it (beir).")
@click.option(
    "--run",
    metavar="RUN",
    help="Search run to export along with it (trec): a file, or a label in data/eval.",
)
@json_option
def export(
    form: str,
    target: Path,
    gold_path: Path,
    corpus_file: Path | None,
    run: str | None,
    as_json: bool,
) -> None:
    """Write a gold set into the folder TARGET, as TREC or BEIR files.

    Prints what the format does not keep. Files of the same names in the folder are replaced.
    """
    if (form == "trec" and corpus_file is not None) or (form == "beir" and run is not None):
        raise click.UsageError("--corpus-file goes with --to beir, --run with --to trec")
    found = load_gold_set(gold_path)
    if form == "beir":
        corpus = None if corpus_file is None else read_corpus(corpus_file)
        lost = export_beir(found, target, corpus=corpus)
    else:
        rows, lost_of_run = (None, []) if run is None else _run_rows(run_files([run])[0])
        lost = [*export_trec(found, target, run=rows), *lost_of_run]
    if as_json:
        print_json({"target": str(target), "n_queries": len(found.queries), "lost": list(lost)})
    else:
        _print_sentences([f"{target}: {counted(len(found.queries), 'query')}"], lost, "lost")


@gold.command(short_help="Hide listed names in gold set and corpus.")
@gold_option
@corpus_file_option("The corpus, to rename alike.")
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
    help="The secret file: key, names and pseudonyms, with mode 0600. Reused if it exists.",
)
@folder_option("Folder for the files to give away.")
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
    translations, inflected forms, or descriptions that identify a person without the name. Names
    of up to four letters are found as words of their own only (`match = "anywhere"` changes that).
    Numbers in shapes that no pattern knows stay. Nothing inside pictures or encoded attachments is
    seen. Read the result before you give it away.
    """
    # Imported here, so that no other command loads the code that reads the mapping.
    from retrieval_eval.search.gold.pseudonyms import pseudonymize as hide

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
    print_notes(notes)


def _import_trec(sources: tuple[Path, ...], corpus: str) -> Imported:
    if len(sources) == 1 and sources[0].is_dir():
        sources = (sources[0] / TREC_QRELS, sources[0] / TREC_TOPICS)
    if len(sources) == 1 and not sources[0].exists():
        raise BadInputError(f"{sources[0]}: no such folder")
    if len(sources) != 2:
        raise click.UsageError("--from trec takes the files QRELS TOPICS, or one folder")
    return import_trec(*sources, corpus=corpus)


def _import_beir(sources: tuple[Path, ...], corpus: str) -> Imported:
    if len(sources) != 1:
        raise click.UsageError("--from beir takes one folder")
    if not sources[0].is_dir():
        raise BadInputError(f"{sources[0]}: no such folder")
    return import_beir(sources[0], corpus=corpus)


def _run_rows(path: Path) -> tuple[bytes, list[str]]:
    found = load_search_run(path)
    try:
        return run_bytes(document_of(found), "_".join(found.label.split()) or "retrieval-eval")
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}") from error


def _print_sentences(heads: Sequence[str], sentences: Sequence[str], mark: str) -> None:
    for head in heads:
        echo(head)
    print_notes(sentences, mark)


# --------------------------------------------------------------------------------------------------
# ``gold bootstrap`` and ``gold backlog``: feedback and review status from a database.


@click.command(short_help="Make gold queries from feedback in a database.")
@gold_option
@click.option(
    "--database",
    metavar="URL",
    envvar=DATABASE_VARIABLE,
    help="SQLAlchemy URL, such as postgresql://user@host/name; it is only read. Default: "
    f"${DATABASE_VARIABLE}, which keeps a password out of process lists.",
)
@click.option(
    "--names",
    type=click.Choice(list(STYLES)),
    help="Field names of rows in a new set; case-law: practice_area, relevant_case_law_ids, note.",
)
@click.option(
    "--found-by",
    metavar="NAME",
    help="Retriever of the logged searches, to see which labels came from the one under test.",
)
@corpus_file_option("Documents of the searches, to record which texts new labels were given to.")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@json_option
def bootstrap(
    gold_path: Path,
    database: str | None,
    names: str | None,
    found_by: str | None,
    corpus_file: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make gold queries from the relevance feedback of a database.

    The gold set gets one row of source 'bootstrap' for each query that has feedback. Reviewed rows
    keep their bytes and take precedence. Run it as often as you like: the same database
    gives the same file. gold.toml beside the gold set names your tables and columns, and the
    scores that count. See docs/gold-database.md.
    """
    if not database:
        raise click.UsageError(f"no database: give --database or set ${DATABASE_VARIABLE}")
    settings = feedback_settings(gold_path)
    with progress_bar("row") as progress:
        result = regenerate(
            database,
            gold_path,
            tables=settings.tables,
            scores=settings.scores,
            names=names,
            found_by=found_by,
            corpus=None if corpus_file is None else read_corpus(corpus_file),
            dry_run=dry_run,
            progress=progress,
        )
    if as_json:
        print_json(to_builtins(result))
    else:
        _show(result, dry_run)


def _show(result: BootstrapResult, dry_run: bool) -> None:
    if dry_run:
        for change in result.changes:
            for sign, row in (("-", change.before), ("+", change.after)):
                if row is not None:
                    echo(f"{sign} {row}")
    echo(
        f"{result.gold}: {counted(result.n_found, 'query')} from "
        f"{counted(result.n_feedback, 'feedback row')} of {result.database}"
    )
    echo(
        f"bootstrap rows: {result.n_added} added, {result.n_changed} changed, "
        f"{result.n_unchanged} unchanged, {result.n_dropped} dropped; {result.n_covered} not made, "
        f"a reviewed row has the query; reviewed rows: {result.n_chair} kept"
    )
    for reason, n in result.skipped.items():
        echo(f"feedback rows without use: {n} ({reason})")
    if dry_run:
        echo("nothing written (--dry-run)")
    elif not result.is_written:
        echo("the file is up to date; nothing written")


@click.command(short_help="Count items waiting for review, by age.")
@backlog_option
@json_option
def backlog(backlog: str | None, as_json: bool) -> None:
    """Count the items waiting for review, and show how long the oldest has waited.

    Items are counted by review status: pending_review, approved, rejected, published; any other
    status is counted as 'other' and named. The counts sum to the total.
    """
    source = backlog_source(backlog, is_needed=True)
    if source is None:
        raise click.UsageError(f"no backlog source: give --backlog or set ${DATABASE_VARIABLE}")
    found = read_backlog(source)
    if as_json:
        print_json(to_builtins(found))
        return
    block = to_builtins(found)
    for name in (*STATUSES, "other", "total"):
        echo(f"{name:<15}{block[name]:>9}")
    for name, n in found.other_statuses.items():
        echo(f"  other: {name} {n}")
    if found.oldest_pending_at is not None:
        echo(
            f"oldest pending since {block['oldest_pending_at']}, "
            f"{number(found.oldest_pending_age_days, 1)} days before "
            f"{found.as_of:%Y-%m-%dT%H:%M:%SZ}"
        )
    if found.n_pending_undated:
        echo(f"pending without a time: {found.n_pending_undated}")
