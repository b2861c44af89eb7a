"""``gold digest`` and ``gold drift``: whether labelled documents are those that were labelled."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from retrieval_eval.cli.common import echo, json_option, print_json, print_table
from retrieval_eval.cli.gold_options import corpus_file_option, print_notes, written_option
from retrieval_eval.cli.search_options import gold_option
from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.drift import DRIFTS, drift, drift_rows, with_digests
from retrieval_eval.gold.gold_set import changing, load_gold_set, max_grade_of, write_gold_set
from retrieval_eval.model import to_builtins
from retrieval_eval.values import counted

EXIT_DRIFT: Final = 1
_MOST_SHOWN: Final = 20


@click.command("digest", short_help="Record which text each label was given to.")
@gold_option
@corpus_file_option("The corpus that the labels were given to.", is_required=True)
@click.option("--renew", is_flag=True, help="Replace digests of other texts: the labels hold.")
@written_option
@json_option
def digest_command(
    gold_path: Path, corpus_file: Path, renew: bool, out: Path | None, as_json: bool
) -> None:
    """Record digests of the labelled documents, so that `gold drift` sees when they change.

    A row gets the field `digests`: for each labelled document the SHA-256 of its text (Unicode NFC,
    white space collapsed), its number of words, and hashes of up to 64 of its runs of five words.
    The text itself is not stored. Digests that a row has are kept, unless --renew is given.
    `gold pool-read`, `gold settle` and `gold relabel` record digests by themselves.
    """
    target = out or gold_path
    with changing(target):
        gold = load_gold_set(gold_path)
        found = with_digests(gold, read_corpus(corpus_file), renew=renew)
        write_gold_set(target, found.queries, max_grade=max_grade_of(gold))
    counts = {name: getattr(found, name) for name in ("n_added", "n_kept", "n_other", "n_unknown")}
    if as_json:
        print_json({"gold": str(target), **counts, "is_renewed": renew})
        return
    echo(f"{target}: {counted(found.n_added, 'digest')} added, {found.n_kept} as they were")
    notes = []
    if found.n_other:
        done = "replaced" if renew else "kept; `gold drift` shows what became of them"
        notes.append(f"{counted(found.n_other, 'digest')} of another text {done}")
    if found.n_unknown:
        n = counted(found.n_unknown, "labelled pair")
        notes.append(f"{n} without a digest, because the corpus has no such document")
    print_notes(notes)


@click.command("drift", short_help="See which labelled documents changed.")
@gold_option
@corpus_file_option("The corpus of now.", is_required=True)
@json_option
@click.pass_context
def drift_command(
    context: click.Context, gold_path: Path, corpus_file: Path, as_json: bool
) -> None:
    """Class every labelled document by what became of its text, without the old corpus.

    The classes are same, moved, split, merged, changed and gone. Equal digests of whole texts
    prove the first two, and a merge; splits and changes are found by a sample of the text's runs of
    words. Labels of documents that drifted say nothing of the documents of now: `gold relabel`
    moves them, if the old corpus is at hand.

    Exit code 0: nothing drifted. 1: something did. 2: the gold set has no digest. 3: bad input.
    """
    report = drift(load_gold_set(gold_path), read_corpus(corpus_file))
    if not report.n_recorded:
        raise NothingToEvaluateError(
            f"{gold_path} has no digest of a labelled document; `gold digest` with the corpus that"
            " was labelled records them"
        )
    counts = report.counts()
    if as_json:
        documents = [to_builtins(one) for one in report.drifted]
        print_json({"gold": str(gold_path), "pairs": counts, "documents": documents})
    else:
        echo(
            f"{gold_path}: {len(report.drifted)} of {counted(report.n_recorded, 'labelled pair')}"
            " drifted"
        )
        print_table(
            [("", "pairs"), *((words, str(counts[name])) for name, words in DRIFTS.items())]
        )
        rows = list(drift_rows(report))
        if rows:
            echo("")
            print_table([("query", "document", "class", "now"), *rows[:_MOST_SHOWN]])
        if len(rows) > _MOST_SHOWN:
            echo(f"  and {len(rows) - _MOST_SHOWN} more (--json lists them all)")
    if report.drifted:
        context.exit(EXIT_DRIFT)
