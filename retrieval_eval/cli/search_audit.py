"""``retrieval-eval search audit``: does a published number follow from a run file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieval_eval.cli.common import FILE, echo, json_option, print_json, print_table
from retrieval_eval.cli.search_options import GOLD, data_option, run_files

if TYPE_CHECKING:
    from retrieval_eval.model.search_audit import SearchAudit

_MOST = 20


@click.command(short_help="Check that published numbers follow from a run.")
@click.argument("run")
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="METRIC=NUMBER",
    help="A published number, such as P@5=0.712 or P@5[corpus docs]=71.2%. May be repeated.",
)
@click.option(
    "--published",
    type=FILE,
    multiple=True,
    help="A Markdown, CSV or JSON file with numbers: a README, a report, a baseline.",
)
@click.option("--gold", type=FILE, help=f"Gold set that the run asked. Default: {GOLD}, if any.")
@click.option("--corpus-file", type=FILE, help="Documents that were searched: checks their digest.")
@data_option
@json_option
@click.pass_context
def audit(
    context: click.Context,
    run: str,
    claims: tuple[str, ...],
    published: tuple[Path, ...],
    gold: Path | None,
    corpus_file: Path | None,
    data: Path,
    as_json: bool,
) -> None:
    """Check that the numbers in a run file follow from its rankings, and published ones from it.

    RUN is a file, or the label of a run in the folder --data. Every metric is recomputed from the
    stored rankings and the gold set, and compared with what the file states; each published number
    is compared with it at its printed rounding.

    Exit code 0: everything follows. 1: a stored or published number does not follow. 2: something
    could not be checked, and nothing is wrong. 3: bad input.
    """
    from retrieval_eval.model import to_builtins
    from retrieval_eval.search.audit import audit_run, part_names
    from retrieval_eval.search.published import claimed, read_published
    from retrieval_eval.search.run_files import load_search_run

    given = [claimed(text) for text in claims]
    (path,) = run_files([run], data)
    if published:
        stored = load_search_run(path)
        parts = sorted(set(part_names(stored)))
        for file in published:
            given += read_published(file, parts, label=stored.label)
    labels = gold or (GOLD if GOLD.is_file() else None)
    found = audit_run(path, gold=labels, corpus=corpus_file, published=given)
    if as_json:
        print_json(to_builtins(found))
    else:
        _print(found)
        if published and len(given) == len(claims):
            echo("No number of a known metric was found in what was published.")
    is_empty = bool(published) and not given
    context.exit(2 if is_empty and not found.exit_code else found.exit_code)


_WORDS = {
    "follows": "follows",
    "does_not_follow": "DOES NOT FOLLOW",
    "cannot_be_checked": "cannot be checked",
}


def _print(found: SearchAudit) -> None:
    from retrieval_eval.values import counted

    echo(f"search audit: {found.run} ({found.label or 'no label'}, {found.generated_at})")
    recomputed = f"{counted(found.n_values, 'stored value')} recomputed"
    echo(f"{recomputed} over {counted(found.n_queries, 'query')}: {found.n_differences:,} differ.")
    for sentence in found.notes:
        echo(f"Note: {sentence}.")
    for sentence in found.unchecked:
        echo(f"Not checked: {sentence}.")
    if found.differences:
        echo()
        rows = [["what", "where", "stored", "recomputed"]]
        rows += [
            [each.kind.replace("_", " "), each.place, _cut(each.stored), _cut(each.recomputed)]
            for each in found.differences[:_MOST]
        ]
        print_table(rows, numbers_from=2)
        if found.n_differences > _MOST:
            echo(f"and {found.n_differences - _MOST:,} more; --json lists the first 50.")
    if found.published:
        echo()
        shown = [one for one in found.published if one.verdict != "follows"]
        if len(found.published) <= _MOST:
            shown = list(found.published)
        rows = [["published", "metric", "where", "verdict", "because"]]
        for one in shown:
            metric = f"{one.metric} [{one.part}]" if one.part else one.metric
            metric += "" if one.what == "mean" else f" {one.what}"
            rows.append(
                [one.printed, metric, _cut(one.place), _WORDS[one.verdict], one.reason or ""]
            )
        if shown:
            print_table(rows, numbers_from=len(rows[0]))
        counts = [
            f"{sum(one.verdict == name for one in found.published):,} {words.lower()}"
            for name, words in _WORDS.items()
        ]
        echo(f"{counted(len(found.published), 'published number')}: {', '.join(counts)}.")
    echo()
    echo(f"Verdict: {_WORDS[found.verdict]}")


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
