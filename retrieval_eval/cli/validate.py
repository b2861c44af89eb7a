"""``retrieval-eval validate``: check documents, gold sets and files of items under review."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retrieval_eval.cli.common import (
    EXIT_BAD_INPUT,
    PATH,
    echo,
    json_option,
    number,
    print_json,
    print_table,
)
from retrieval_eval.cli.search_options import corpus_file_option
from retrieval_eval.errors import BadInputError, NothingToEvaluateError, SchemaError
from retrieval_eval.io.artefacts import DAMAGED, DIGEST, is_whole
from retrieval_eval.io.files import read_json
from retrieval_eval.schema import SCHEMAS, check_version, faults, kind_of
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.search.gold.corpus import Corpus

EXIT_DRIFT = 1
_MOST_FAULTS = 20


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@corpus_file_option("Corpus of now, to see which labels of gold sets lost their text.")
@json_option
@click.pass_context
def validate(
    context: click.Context,
    files: tuple[Path, ...],
    corpus_file: Path | None,
    as_json: bool,
) -> None:
    """Check documents and gold sets, and name each fault by file and place.

    Of documents any 1.x version is accepted, and 2.x of kinds that have one. A .jsonl file is a
    gold set, whose composition is shown, or the items of a review backlog, which are counted. With
    --corpus-file, labels of documents that are gone from the corpus are faults, labels whose
    document has another text than the one labelled are listed, and texts under several ids are
    counted.

    Exit code 1: the text of a label changed. 2: a gold set holds no query. 3: a fault.
    """
    corpus = None
    if corpus_file is not None:
        from retrieval_eval.search.gold.corpus import read_corpus

        corpus = read_corpus(corpus_file)
    found = {str(path): _checked(path, corpus) for path in files}
    if as_json:
        print_json(found)
    else:
        for name, one in found.items():
            _print(name, one)
    if any(one["faults"] for one in found.values()):
        context.exit(EXIT_BAD_INPUT)
    if any(one.get("changed") for one in found.values()):
        context.exit(EXIT_DRIFT)
    for name, one in found.items():
        if "gold" in one and not one["gold"]["n_queries"]:
            raise NothingToEvaluateError(f"{name} holds no query")


def _checked(path: Path, corpus: Corpus | None) -> dict[str, Any]:
    if path.suffix == ".jsonl":
        if _is_backlog(path):
            from retrieval_eval.model import to_builtins
            from retrieval_eval.search.gold.database import read_backlog

            return {"valid": True, "faults": [], "backlog": to_builtins(read_backlog(str(path)))}
        return _checked_gold(path, corpus)
    problems = _problems(path)
    return {"valid": not problems, "faults": problems}


def _is_backlog(path: Path) -> bool:
    """Return whether the first row of a file has a review status."""
    from retrieval_eval.search.gold.database import PRESETS
    from retrieval_eval.search.gold.faults import user_lines

    row = next((line.value for line in user_lines(path)), None)
    return isinstance(row, dict) and any(one.status in row for one in PRESETS.values())


def _checked_gold(path: Path, corpus: Corpus | None) -> dict[str, Any]:
    from retrieval_eval.model import to_builtins
    from retrieval_eval.search.gold import gold_faults, gold_stats, load_gold_set
    from retrieval_eval.search.gold.chunks import DRIFTS, drift
    from retrieval_eval.search.run.trust import equal_texts

    problems = gold_faults(path, corpus=corpus)
    if problems:
        return {"valid": False, "faults": [str(fault) for fault in problems]}
    gold = load_gold_set(path)
    found: dict[str, Any] = {"valid": True, "faults": [], "gold": gold_stats(gold)}
    if corpus is not None:
        labels = drift(gold, corpus)
        counts = Counter(one.drift for one in labels)
        found["labels"] = {name: counts[name] for name in DRIFTS}
        equal = equal_texts(gold, corpus)
        found["equal_texts"] = None if equal is None else to_builtins(equal)
        found["changed"] = [to_builtins(one) for one in labels if one.drift in ("changed", "gone")]
    return found


def _print(name: str, one: dict[str, Any]) -> None:
    for problem in one["faults"][:_MOST_FAULTS]:
        echo(f"{name}: {problem}")
    if len(one["faults"]) > _MOST_FAULTS:
        echo(f"{name}: and {len(one['faults']) - _MOST_FAULTS} more")
    if one["faults"]:
        return
    if "gold" in one:
        _print_gold(name, one)
    elif "backlog" in one:
        from retrieval_eval.search.gold.database import STATUSES

        block = one["backlog"]
        parts = [f"{block[status]:,} {status}" for status in (*STATUSES, "other")]
        age = number(block["oldest_pending_age_days"], 1)
        oldest = f", the oldest pending for {age} days" if block["oldest_pending_at"] else ""
        echo(f"{name}: {counted(block['total'], 'item')} under review: {', '.join(parts)}{oldest}")
    else:
        echo(f"{name}: valid")


def _print_gold(name: str, one: dict[str, Any]) -> None:
    from retrieval_eval.model import from_builtins
    from retrieval_eval.model.gold import SOURCE_WORDS
    from retrieval_eval.model.search_run import EqualTexts
    from retrieval_eval.search.run.trust import equal_texts_sentence

    stats = one["gold"]
    sources = {part["value"]: part["n"] for part in stats["composition"]["source"]["parts"]}
    reviewed = f"{sources.get('chair', 0)} of {counted(stats['n_queries'], 'query')} reviewed"
    echo(
        f"{name}: valid, {counted(stats['n_queries'], 'query')},"
        f" {counted(stats['n_labelled_pairs'], 'judged pair')}"
        f" ({stats['n_relevant_pairs']:,} relevant), {reviewed}"
        f"{': provisional' if stats['is_provisional'] else ''}"
    )
    echo(
        f"{counted(stats['n_unlabelled'], 'query')} still to label,"
        f" {counted(stats['n_labels'], 'label')}, {counted(stats['n_anchors'], 'anchor')}"
    )
    for dimension, block in stats["composition"].items():
        if block["n"]:
            names = SOURCE_WORDS if dimension == "source" else {}
            echo("")
            head = (dimension, block["unit"], "share")
            print_table([head, *(_row(part, names) for part in block["parts"])])
    if "labels" in one:
        echo("")
        counts = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in one["labels"].items())
        echo(f"texts of labels: {counts}")
        if (equal := one["equal_texts"]) is not None:
            echo(equal_texts_sentence(from_builtins(equal, EqualTexts, name, strict=False)))
        changed = one["changed"]
        if changed:
            rows = [(row["query"], row["doc"], row["drift"]) for row in changed[:_MOST_FAULTS]]
            print_table([("query", "document", "text"), *rows])
        if len(changed) > _MOST_FAULTS:
            echo(f"  and {len(changed) - _MOST_FAULTS} more (--json lists them all)")


def _row(part: dict[str, Any], names: dict[str, str]) -> tuple[str, str, str]:
    words = {None: "(not stated)", True: "yes", False: "no"}
    value = part["value"]
    is_word = value is None or isinstance(value, bool)
    shown = words[value] if is_word else names.get(str(value), str(value))
    return shown, str(part["n"]), f"{part['percent']:.1f} %"


def _problems(path: Path) -> list[str]:
    if not path.is_file():
        raise BadInputError(f"{path}: no such file")
    document = read_json(path, path.parent)
    if document.problem is not None:
        return [document.problem.removeprefix(f"{path.name}: ")]
    kind = kind_of(document.value)
    if kind is None:
        return [f"/: not a file this tool writes (kinds: {', '.join(sorted(SCHEMAS))})"]
    try:
        check_version(document.value, "document")
    except SchemaError as error:
        return [str(error)]
    found = [str(fault) for fault in faults(document.value, kind)]
    if is_whole(document.value) is False:
        found.append(f"/{DIGEST}: does not fit the rest: {DAMAGED}")
    return found
