"""``gold agreement`` and ``gold settle``: how far labellers agree, and who has the last word."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from retrieval_eval.cli.common import (
    echo,
    json_option,
    number,
    print_json,
    print_table,
    seed_option,
)
from retrieval_eval.cli.search_options import FILE, gold_option
from retrieval_eval.gold.agreement import (
    MIN_OF_CORPUS,
    WEIGHTS,
    Compared,
    Disagreement,
    adjudication_sheet,
    agreement,
    disagreements,
    settle,
)
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.gold_set import load_gold_set, write_gold_set
from retrieval_eval.gold.labelling import csv_sheet, jsonl_sheet
from retrieval_eval.io.files import json_bytes
from retrieval_eval.io.together import write_together
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.values import counted

_MOST_SHOWN: Final = 10
_NAMES: Final = {"none": "unweighted", "linear": "linear", "quadratic": "quadratic"}

key_option = click.option(
    "--key", type=FILE, required=True, help="The key that was written with the sheets."
)


@click.command("agreement", short_help="Measure how far labellers agree.")
@gold_option
@click.option("--pair", "pairs", multiple=True, metavar="A,B", help="Only these two labellers.")
@click.option(
    "--weights",
    multiple=True,
    type=click.Choice(list(WEIGHTS)),
    help="How disagreements count in kappa; several times for several. Default: all three.",
)
@click.option(
    "--adjudicate",
    "sheet",
    type=FILE,
    metavar="OUT",
    help="Write the open disagreements as a sheet (.csv or .jsonl) for a third reviewer.",
)
@click.option("--adjudicator", metavar="NAME", help="Who will fill in that sheet.")
@click.option("--corpus-file", type=FILE, help="Corpus with the texts to show in the sheet.")
@click.option("--key", type=FILE, help="Where the sheet's key goes. Default: OUT.key.json")
@seed_option()
@json_option
def agreement_command(
    gold_path: Path,
    pairs: tuple[str, ...],
    weights: tuple[str, ...],
    sheet: Path | None,
    adjudicator: str | None,
    corpus_file: Path | None,
    key: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure how far labellers agree, and hand out what they disagree on.

    For each two labellers, over the documents both graded: Cohen's kappa, unweighted and weighted
    by the distance of the grades, with intervals that resample queries, the share of equal
    grades, and the table of grades. The sheet for a third reviewer shows query and document and
    not who graded what; `gold settle` reads it back.
    """
    gold = load_gold_set(gold_path)
    found = agreement(
        gold,
        pairs=[_two(pair) for pair in pairs] or None,
        weights=weights or tuple(WEIGHTS),
        seed=seed,
    )
    apart = disagreements(gold)
    written = _adjudicate(gold, sheet, adjudicator, corpus_file, key, seed)
    if as_json:
        print_json(
            {
                "gold_fingerprint": gold.fingerprint,
                "seed": seed,
                "pairs": [pair.to_json() for pair in found],
                "disagreements": [one.to_json() for one in apart],
                "files": [str(path) for path in written],
            }
        )
        return
    for pair in found:
        echo(f"{pair.first} and {pair.second}")
        print_compared({"all": pair.overall, **pair.corpora})
        _print_grades(pair.overall, pair.first, pair.second)
        echo("")
    _print_disagreements(apart)
    for path in written:
        echo(f"  {path}")


@click.command("settle", short_help="Make final what everybody asked agrees on.")
@click.argument("sheets", metavar="SHEET...", type=FILE, nargs=-1, required=True)
@key_option
@gold_option
@click.option("--out", type=FILE, help="Gold set to write. Default: the one that is read.")
@json_option
def settle_command(
    sheets: tuple[Path, ...], key: Path, gold_path: Path, out: Path | None, as_json: bool
) -> None:
    """Read sheets back and make final what everybody who was asked agrees on.

    Works on the sheets of `gold agreement --adjudicate`, `gold relabel` and `gold pool`. Grades
    become labels of the person named in the key. A grade that all of them gave goes to `relevant`,
    and the field `decisions` says who decided what, why, and over which other grades. Such rows
    become chair rows. Faults are named by line, and then nothing is written.
    """
    found = settle(load_gold_set(gold_path), sheets, key)
    target = out or gold_path
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
                "n_added": found.reading.n_added,
                "n_changed": found.reading.n_changed,
                "promoted": list(found.reading.promoted),
            }
        )
        return
    echo(
        f"{target}: {counted(found.n_settled, 'grade')} settled, {found.n_moved} of them new;"
        f" {found.n_apart} graded differently, {found.n_waiting} still without a grade"
    )
    if found.reading.promoted:
        rows = counted(len(found.reading.promoted), "bootstrap row")
        echo(f"  note: {rows} turned into chair rows")


def _two(pair: str) -> tuple[str, str]:
    names = [name.strip() for name in pair.split(",")]
    if len(names) != 2 or not all(names):
        raise click.BadParameter(f"{pair!r} does not name two labellers", param_hint="--pair")
    return names[0], names[1]


def _adjudicate(
    gold: GoldSet,
    sheet: Path | None,
    adjudicator: str | None,
    corpus_file: Path | None,
    key: Path | None,
    seed: int,
) -> list[Path]:
    if sheet is None:
        if adjudicator is not None or corpus_file is not None or key is not None:
            raise click.UsageError("--adjudicator, --corpus-file and --key go with --adjudicate")
        return []
    if adjudicator is None or corpus_file is None:
        raise click.UsageError("--adjudicate needs --adjudicator and --corpus-file")
    if sheet.suffix.lower() not in (".csv", ".jsonl"):
        raise click.UsageError("--adjudicate: the sheet is a .csv or a .jsonl file")
    key = key or sheet.with_name(f"{sheet.stem}.key.json")
    if key.resolve() == sheet.resolve():
        raise click.UsageError("--adjudicate and --key name the same file")
    made = adjudication_sheet(gold, read_corpus(corpus_file), adjudicator, seed=seed)
    as_bytes = jsonl_sheet if sheet.suffix.lower() == ".jsonl" else csv_sheet
    write_together(
        {sheet: as_bytes(made.sheets[adjudicator]), key: json_bytes(dict(made.key), indent=1)}
    )
    return [sheet, key]


def print_compared(parts: dict[str, Compared]) -> None:
    """Print a table of agreement, one row for each name."""
    asked = list(next(iter(parts.values())).kappas)
    rows = [("", "pairs", "queries", "equal", *(f"κ {_NAMES[name]}" for name in asked))]
    for name, part in parts.items():
        kappas = [_kappa(part, weights) for weights in asked]
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
    echo(f"{n}, {n_open} without a record of who settled them")
    for one in apart[:_MOST_SHOWN]:
        grades: Any = ", ".join(f"{name} {grade}" for name, grade in one.grades.items())
        by = f" (by {', '.join(one.decided_by)})" if one.decided_by else ""
        final = "—" if one.final is None else f"{one.final}{by}"
        echo(f"  {one.query}  {one.doc}: {grades}; final {final}")
    if len(apart) > _MOST_SHOWN:
        echo(f"  and {len(apart) - _MOST_SHOWN} more (--json lists them all)")
