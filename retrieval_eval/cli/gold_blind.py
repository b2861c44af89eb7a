"""``gold blind-pack`` and ``gold blind-read``: how far labellers agree with themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from retrieval_eval.cli.common import echo, json_option, print_json, seed_option
from retrieval_eval.cli.gold_agreement import key_option, print_compared
from retrieval_eval.cli.search_options import FILE, gold_option
from retrieval_eval.gold.agreement import blind_pack, read_blind
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.gold_set import load_gold_set
from retrieval_eval.gold.labelling import write_pool
from retrieval_eval.values import counted

_FOLDER: Final = click.Path(path_type=Path, file_okay=False)


@click.command("blind-pack", short_help="Make sheets to grade own pairs again.")
@gold_option
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.1,
    show_default=True,
    help="Share of each labeller's pairs, rounded up.",
)
@click.option("--labeller", "labellers", multiple=True, help="Only this one; several times.")
@click.option("--corpus-file", type=FILE, required=True, help="Corpus with the texts to show.")
@seed_option(0, "Seed of choice and order.")
@click.option("--out", type=_FOLDER, required=True, help="Folder for the sheets and the key.")
@json_option
def blind_pack_command(
    gold_path: Path,
    share: float,
    labellers: tuple[str, ...],
    corpus_file: Path,
    seed: int,
    out: Path,
    as_json: bool,
) -> None:
    """Make sheets in which labellers grade a share of their own pairs again.

    Ids and order are new, and neither sheets nor key hold a grade. `gold blind-read` says how far
    each labeller agrees with themselves; the labels of the gold set stay the first ones.
    """
    pack = blind_pack(
        load_gold_set(gold_path),
        read_corpus(corpus_file),
        share=share,
        labellers=labellers or None,
        seed=seed,
    )
    paths = write_pool(pack, out, out / "blind-key.json")
    if as_json:
        print_json({"n_pairs": pack.n_pairs, "files": [str(path) for path in paths]})
        return
    for labeller, items in pack.sheets.items():
        echo(f"{labeller}: {counted(len(items), 'pair')} to grade again")
    for path in paths:
        echo(f"  {path}")


@click.command("blind-read", short_help="Measure agreement with oneself.")
@click.argument("sheets", metavar="SHEET...", type=FILE, nargs=-1, required=True)
@key_option
@gold_option
@seed_option()
@json_option
def blind_read_command(
    sheets: tuple[Path, ...], key: Path, gold_path: Path, seed: int, as_json: bool
) -> None:
    """Measure how far labellers agree with themselves; the gold set is not changed."""
    found = read_blind(load_gold_set(gold_path), sheets, key, seed=seed)
    if as_json:
        print_json({"seed": seed, "labellers": [one.to_json() for one in found]})
        return
    print_compared({one.labeller: one.compared for one in found})
    for one in found:
        echo(
            f"{one.labeller}: {counted(len(one.changed), 'grade')} changed,"
            f" {counted(one.n_undecided, 'item')} without a grade, {one.n_forgotten} without"
            " an earlier one"
        )
