"""Numbers of metrics as people publish them: in Markdown, CSV, JSON or as ``P@5=0.712``.

A number is only taken where it stands beside the name of a metric: in its row or column of a table,
behind it in a sentence, or as its member in JSON. What a line says about another system, or about a
part that it names, is kept with the reason why it is unclear.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any, Final, Literal

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode, probe, read_text
from retrieval_eval.search.named_metrics import BLOCK_OF
from retrieval_eval.search.scoring import DIMENSIONS

What = Literal["mean", "ci_low", "ci_high", "n"]


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it is printed, and the metric and part it is about.

    ``unclear`` says why it cannot be looked up in a run; empty where it can. ``n_pairs`` are the
    queries of two runs that it is over, of a table of changes.
    """

    place: str
    metric: str
    text: str
    part: str | None = None
    what: What = "mean"
    unclear: str = ""
    n_pairs: int | None = None


_NAMES: Final = {
    "precision": "P",
    "p": "P",
    "recall": "Recall",
    "r": "Recall",
    "ndcg": "nDCG",
    "judged": "Judged",
    "mrr": "RR",
    "rr": "RR",
    "f1": "F1",
    "map": "AP",
    "success": "Success",
}
_WORDS: Final = {
    "claim coverage": "claim_coverage",
    "claim faithfulness": "claim_faithfulness",
    "ungrounded true positive rate": "ungrounded_true_positive_rate",
    "ungrounded tp rate": "ungrounded_true_positive_rate",
    "answerable false refusal rate": "answerable_false_refusal_rate",
    "answerable fr rate": "answerable_false_refusal_rate",
    "auc": "auc",
    "auc over all thresholds": "auc",
}
_METRIC: Final = re.compile(
    r"(?<![\w@.])(?:(?P<word>"
    + "|".join(sorted((re.escape(w).replace(r"\ ", "[ _]") for w in _WORDS), key=len, reverse=True))
    + r")|(?P<name>precision|recall|ndcg|judged|success|mrr|map|rr|f1|p(?=\s?@)|r(?=\s?@))"
    r"(?:\s?@\s?(?P<k>\d{1,6}))?)(?![\w@])",
    re.IGNORECASE,
)
_NUMBER: Final = r"(?:\d+\.\d+|\d+(?=\s?%)|[01](?![\d.]))"
_BEHIND: Final = re.compile(
    r"[\s*_`]{0,20}(?:[=:→]|is|was|of|at|mean)?[\s*_`]{0,20}(?P<value>" + _NUMBER + r"\s?%?)"
    r"(?!\d|\s*points)(?:[\s,]*\[(?P<low>\d*\.\d+), ?(?P<high>\d*\.\d+)\])?"
    r"(?:[\s,(]*n ?= ?(?P<n>\d[\d,]*))?",
    re.IGNORECASE,
)
_CELL: Final = re.compile(
    rf"[*_` ]*(?P<value>{_NUMBER}\s?%?)(?: ?\[(?P<low>\d*\.\d+), ?(?P<high>\d*\.\d+)\])?"
    r"(?: ?\((?P<n>\d[\d,]*)\))?[*_` ]*$"
)
_INTERVAL: Final = re.compile(r"\[(?P<low>\d*\.\d+), ?(?P<high>\d*\.\d+)\]$")
_CLAIM: Final = re.compile(
    r"(?P<metric>[^=\[\]]+?)\s*(?:\[(?P<part>[^\]]+)\])?\s*=\s*(?P<text>\S+)$"
)
_PRINTED: Final = re.compile(r"\d+(?:\.(?P<decimals>\d+))?(?:e-?\d+)?\s?(?P<percent>%)?$")
_SEPARATOR: Final = re.compile(r"^\|?[\s:|-]+\|?$")
_VALUE_HEADS: Final = frozenset({"mean", "value", "score", "now", "result", "current"})
_WHOLE: Final = frozenset({"", "all", "overall", "total", "mean", "all queries"})
_OTHER: Final = re.compile(r"\b(?:baseline|before|previously)\b", re.IGNORECASE)
_NULL: Final = ("Without skill", "Not better than")
"""How the lines of our reports begin that are about systems without skill."""
_OTHER_SYSTEM: Final = "it may be about the baseline, or about another system"


def agrees(text: str, value: float, *, is_count: bool = False) -> bool:
    """Return whether a printed number is a value, rounded to its printed digits.

    A half may be rounded either way. A number above 1 without a sign is read as per cent.

    Examples
    --------
    >>> agrees("0.71", 0.7149), agrees("0.71", 0.7151), agrees("71.5 %", 0.7149)
    (True, False, True)
    """
    match = _PRINTED.match(text.strip().replace(",", ""))
    if match is None:
        return False
    number = float(text.strip().replace(",", "").rstrip("% ").strip())
    if is_count:
        return number == value
    step = 10.0 ** -len(match["decimals"] or "")
    scale = 100.0 if match["percent"] or number > 1 else 1.0
    return abs(number - value * scale) <= step / 2 + 1e-9 * scale


def claimed(text: str) -> Printed:
    """Return a number that is given as ``P@5=0.712`` or ``P@5[corpus docs]=71.2%``.

    Raises
    ------
    BadInputError
        When it is none.

    Examples
    --------
    >>> claimed("precision@5 = 0.712").metric
    'P@5'
    """
    match = _CLAIM.match(text.strip())
    if match is None or not _PRINTED.match(match["text"]):
        raise BadInputError(f"{text!r} is no claim such as P@5=0.712 or P@5[corpus docs]=71.2%")
    name = match["metric"].strip()
    found = _METRIC.fullmatch(name)
    metric = name if found is None else _canonical(found)
    return Printed(f"--claim {text.strip()}", metric, match["text"], match["part"])


def read_published(path: Path, parts: Collection[str] = (), *, label: str = "") -> list[Printed]:
    """Return the numbers of metrics in a Markdown, text, CSV or JSON file, with their lines.

    Parameters
    ----------
    parts
        Names of slices: a row of a table that begins with one is about it, and a sentence that
        names one is unclear.
    label
        The label of the run: of a table whose rows are systems, that row is about it.

    Raises
    ------
    BadInputError
        When the file cannot be read, or is no JSON although it is called so.
    """
    if not probe(path.is_file):
        raise BadInputError(f"{path}: no such file")
    text = read_text(path, path.parent)
    if text.value is None:
        raise BadInputError(str(text.problem))
    if path.suffix.lower() == ".json":
        document, problem = decode(text.value)
        if problem is not None:
            raise BadInputError(f"{path}: {problem}")
        return list(_in_json(document, path.name))
    if path.suffix.lower() in {".csv", ".tsv"}:
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        rows = list(enumerate(csv.reader(text.value.splitlines(), delimiter=delimiter), 1))
        return list(_in_table(rows, path.name, parts, label))
    return list(_in_text(text.value, path.name, parts, label))


def _canonical(match: re.Match[str]) -> str:
    if match["word"]:
        return _WORDS[match["word"].lower().replace("_", " ")]
    name = _NAMES[match["name"].lower()]
    return f"{name}@{int(match['k'])}" if match["k"] else name


def _in_text(text: str, name: str, parts: Collection[str], label: str) -> Iterator[Printed]:
    block: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("|"):
            if not _SEPARATOR.match(line.strip()):
                block.append(
                    (number, [_plain(cell) for cell in line.strip().strip("|").split("|")])
                )
            continue
        yield from _in_table(block, name, parts, label)
        block = []
        yield from _in_sentence(_plain(line), f"{name}:{number}", parts)
    yield from _in_table(block, name, parts, label)


def _plain(text: str) -> str:
    return re.sub(r"\\(?=[^\w\s])", "", unescape(text)).strip()


def _in_sentence(line: str, place: str, parts: Collection[str]) -> Iterator[Printed]:
    if line.startswith(_NULL):
        return
    named = next((p for p in parts if re.search(rf"(?<!\w){re.escape(p)}(?!\w)", line)), None)
    unclear = _OTHER_SYSTEM if _OTHER.search(line) else ""
    if named is not None:
        unclear = f"the line also names {named!r}; claim it as METRIC[{named}]=NUMBER"
    for match in _METRIC.finditer(line):
        behind = _BEHIND.match(line, match.end())
        if behind is None:
            continue
        yield from _numbers(behind, Printed(place, _canonical(match), "", unclear=unclear))


def _numbers(match: re.Match[str], about: Printed) -> Iterator[Printed]:
    groups: Sequence[tuple[str, What]] = (
        *(("value", "mean"), ("low", "ci_low")),
        *(("high", "ci_high"), ("n", "n")),
    )
    for group, what in groups:
        if group in match.re.groupindex and match[group]:
            yield replace(about, text=match[group].strip(), what=what)


def _in_table(
    rows: Sequence[tuple[int, Sequence[str]]], name: str, parts: Collection[str], label: str
) -> Iterator[Printed]:
    """Yield the numbers of a table whose rows, or whose columns, are metrics."""
    if len(rows) < 2:
        return
    head = [cell.strip() for cell in rows[0][1]]
    columns = {
        place: metric for place, cell in enumerate(head) if (metric := _metric_of_head(cell))
    }
    for number, cells in rows[1:]:
        place = f"{name}:{number}"
        first = cells[0].strip() if cells else ""
        of_row = _METRIC.fullmatch(first.strip("*_` "))
        if of_row is not None:
            yield from _of_row(head, cells, Printed(place, _canonical(of_row), ""))
        elif columns:
            is_only = len(rows) == 2 or 0 in columns
            known = {*_WHOLE, label.lower()} | ({first.lower()} if is_only else set())
            part, unclear = _row_part(head[0], first, parts, known)
            for column, of in columns.items():
                cell = _CELL.match(cells[column].strip()) if column < len(cells) else None
                if cell is not None:
                    yield from _numbers(cell, Printed(place, of, "", part, unclear=unclear))


def _metric_of_head(cell: str) -> str | None:
    cell = cell.strip("*_` ").removesuffix("(n)").rstrip()
    match = _METRIC.fullmatch(cell)
    return None if match is None else _canonical(match)


def _row_part(
    head: str, first: str, parts: Collection[str], whole: Collection[str]
) -> tuple[str | None, str]:
    """Return the part that a row is about (None: all queries), and why that is unclear."""
    name = first.strip("*_` ")
    if head.lower() in DIMENSIONS:
        return f"{head.lower()} {name}", ""
    if name in parts:
        return name, ""
    if _OTHER.search(name):
        return None, _OTHER_SYSTEM
    return None, "" if name.lower() in whole else f"the row {name!r} may be about another system"


def _of_row(head: Sequence[str], cells: Sequence[str], about: Printed) -> Iterator[Printed]:
    """Yield the numbers of a row that is about one metric, by the heads of its columns."""
    heads = [cell.lower().strip("*_` ") for cell in head]
    is_change = "baseline" in heads or "points" in heads
    numbers = [place for place, cell in enumerate(cells) if place and _CELL.match(cell.strip())]
    chosen = [place for place, cell in enumerate(heads) if cell in _VALUE_HEADS]
    if not chosen and len(numbers) == 1:
        chosen = numbers
    pairs = cells[heads.index("pairs")].strip() if "pairs" in heads[: len(cells)] else ""
    n_pairs = int(pairs) if pairs.isdecimal() else None
    unclear = "it is over the pairs of two runs" if is_change and n_pairs is None else ""
    for place in chosen:
        cell = _CELL.match(cells[place].strip()) if place < len(cells) else None
        if cell is not None:
            yield from _numbers(cell, replace(about, unclear=unclear, n_pairs=n_pairs))
    if is_change or not chosen:
        return
    for place, text in enumerate(map(str.strip, cells)):
        interval = _INTERVAL.match(text)
        if interval is not None and heads[place : place + 1] and "interval" in heads[place]:
            yield replace(about, text=interval["low"], what="ci_low")
            yield replace(about, text=interval["high"], what="ci_high")
        elif heads[place : place + 1] == ["n"] and text.replace(",", "").isdecimal():
            yield replace(about, text=text, what="n")


def _in_json(document: Any, name: str) -> Iterator[Printed]:
    """Yield the numbers of metrics in JSON: members named by a metric, with what is inside."""
    rest: list[tuple[Any, tuple[str, ...]]] = [(document, ())]
    while rest:
        value, path = rest.pop()
        if isinstance(value, list):
            rest += [(item, (*path, str(number))) for number, item in enumerate(value)]
        if not isinstance(value, dict):
            continue
        for key, item in value.items():
            # Values of single queries are no published means, and a change is about two runs.
            if key in {"queries", "delta", "baseline", "components", "thresholds", "null_systems"}:
                continue
            metric = _metric_of_head(str(key)) or (key if key in BLOCK_OF else None)
            if metric is None or metric == "composite":
                rest.append((item, (*path, str(key))))
                continue
            about = Printed(f"{name}:/{'/'.join((*path, str(key)))}", metric, "", _part_in(path))
            yield from _of_member(item, about)


def _part_in(path: Sequence[str]) -> str | None:
    for place, step in enumerate(path[:-1]):
        if step in DIMENSIONS:
            return f"{step} {path[place + 1]}"
    return None


def _of_member(item: Any, about: Printed) -> Iterator[Printed]:
    members: dict[str, What] = {"value": "mean", "mean": "mean"}
    members |= {"ci_low": "ci_low", "ci_high": "ci_high", "n": "n"}
    given = item if isinstance(item, dict) else {"value": item}
    for key, what in members.items():
        number = given.get(key)
        if isinstance(number, int | float) and not isinstance(number, bool):
            yield replace(about, text=repr(number), what=what)
